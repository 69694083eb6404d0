/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program under the filter, and the process that keeps it. The keeper is the parent of the program and of
 * every descendant that loses its own parent; when this process ends, however it does, the keeper kills them
 * all, and ends. So nothing of a program outlives `anemone accel`.
 *
 *   this process -> keeper -> program -> ...
 */
#ifndef ACCEL_LAUNCH_H
#define ACCEL_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"

struct acc_launch {
    pid_t keeper;
    int keeper_socket;  /* its end is the end of all processes */
    int program_socket; /* until it is executed; -1 then */
    int listener;       /* of the program's system calls */
    int signals;        /* those that are passed on */
    sigset_t mask;      /* the caller's, put back by acc_launch_end */
};

/*
 * Makes both processes. The program is under the filter, its memory can be read from here, and it waits to
 * be executed; argv NULL: it will end instead, for a trial. Signals that are passed on are blocked in the
 * calling thread, which is the one that makes the other calls too. 0, or a negative errno with a sentence
 * that names the reason and what to do; then nothing is left.
 */
int acc_launch_begin(struct acc_launch *launch, char *const argv[], struct base_error *error);
/* Executes the program: 0, or a negative errno of exec with a sentence. */
int acc_launch_execute(struct acc_launch *launch, const char *name, struct base_error *error);
/*
 * Waits until all processes have ended, and passes SIGTERM, SIGHUP and what other processes send of SIGINT
 * and SIGQUIT on to the program. Then signals are the caller's again. What waitpid gave for the program.
 */
int acc_launch_wait(struct acc_launch *launch);
/* Kills what still runs, and closes everything. */
void acc_launch_end(struct acc_launch *launch);

#endif
