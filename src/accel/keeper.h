/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's side of launch.h: a forked child that makes system calls only, because its parent may have
 * threads.
 */
#ifndef ACCEL_KEEPER_H
#define ACCEL_KEEPER_H

#include <signal.h>
#include <stdint.h>

/* Messages to `anemone accel`: of the keeper, and of the program before it is executed. */
enum acc_launch_word {
    ACC_LAUNCH_LISTENER = 1, /* a descriptor comes with it; value is the process, address a word to read */
    ACC_LAUNCH_REFUSED,      /* no filter: value is the errno */
    ACC_LAUNCH_NOT_EXECUTED, /* value is the errno */
    ACC_LAUNCH_ENDED,        /* value is what waitpid gave for the program */
};
struct acc_launch_message {
    uint32_t word;
    int32_t value;
    uint64_t address;
};
/* What is at that address. */
#define ACC_LAUNCH_PROOF 0x616e656d6f6e6521ull

/* Signals that are passed on to the program. SIGINT and SIGQUIT of a terminal reach it without that. */
void acc_keeper_signals(sigset_t *set);
/* Whether one that was received is to be passed on: `code` is its si_code. */
int acc_keeper_passes(uint32_t signal, int32_t code);

struct acc_keeper {
    char *const *argv; /* NULL: a trial */
    int keeper_socket, program_socket;
    sigset_t mask;                 /* the program's */
    struct sigaction child_action; /* the program's, of SIGCHLD */
};
/* In the forked child. Makes the program, keeps it and ends with the last of its processes. */
_Noreturn void acc_keeper_run(const struct acc_keeper *keeper);

#endif
