/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor of a test's port of the real-time kernel: tasks on the host's context switch, interrupt
 * lines, a virtual clock with one timer, and the log. The test's thread drives it: what runs inside goes on
 * until it waits and no event is due before the limit. hostcpu.c defines the calls of rtkernel/port.h that
 * need nothing else; memory, registers and faults are the rig's.
 */
#ifndef TESTS_HOSTCPU_H
#define TESTS_HOSTCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/context.h"
#include "rtkernel/kernel.h"
#include "rtkernel/port.h"

#define HOSTCPU_STACK_EXTRA (32u << 10) /* printf, and the sanitizers' frames */
#define HOSTCPU_MARK_WORDS  8u
#define HOSTCPU_RAISES      1024u

struct hostcpu {
    const char *rig;              /* named in messages */
    struct rt_kernel *kernel;     /* takes the interrupts */
    struct host_context host;     /* the test's own stack */
    struct host_context booting;  /* the boot code's */
    struct host_context *running; /* inside */
    void *boot_stack;
    int end; /* of the last run; 0 when it can go on */

    bool masked;
    uint64_t pending; /* a bit per line */
    uint64_t now, limit;
    uint64_t timer; /* 0 when it is not set */
    struct {
        uint64_t time;
        unsigned line;
    } raise[HOSTCPU_RAISES];
    unsigned raises;

    int contexts; /* made and not dropped */
    const void *last_stack;
    char log[65536]; /* a full log begins again */
    size_t logged;

    /* The last mark, and how many there were. */
    unsigned marks;
    uint32_t mark;
    uint64_t mark_word[HOSTCPU_MARK_WORDS];
};

/* The rig's own. */
struct hostcpu *hostcpu_of(struct rt_port *port);

void hostcpu_create(struct hostcpu *cpu, const char *rig);
void hostcpu_destroy(struct hostcpu *cpu);
/* Aborts the program with a message: inside, an assertion of cmocka would jump between stacks. */
void hostcpu_check(const struct hostcpu *cpu, bool good, const char *what);

/* The next run begins with this function, interrupts masked. */
void hostcpu_reset(struct hostcpu *cpu, void (*entry)(void *arg), void *arg);
/* From outside: runs until the limit or the end, which it returns. */
int hostcpu_run(struct hostcpu *cpu, uint64_t limit);
/* From inside: back to the test. Returns in the next run. */
void hostcpu_leave(struct hostcpu *cpu, int end);
/* Raises a line when the clock is there. */
void hostcpu_raise_at(struct hostcpu *cpu, uint64_t time, unsigned line);
/* Takes what is pending and not masked. A handler may switch tasks: returns when this one is back. */
void hostcpu_deliver(struct hostcpu *cpu);
/* rt_port_irq_mask. */
uint32_t hostcpu_mask(struct hostcpu *cpu);
/* rt_port_wait. */
void hostcpu_wait(struct hostcpu *cpu);

#endif
