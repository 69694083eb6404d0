/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who outside the machine watches its interrupt lines: handlers and eventfds of machine.h. Only a machine
 * without firmware has them. A machine that no handler watches spends a test of one flag per call.
 */
#ifndef MACHINE_LINE_H
#define MACHINE_LINE_H

#include <anemone/machine.h>

#include <pthread.h>
#include <stdbool.h>

#include "soc/lines.h"

struct mach_line {
    ane_line_fn fn; /* NULL: none */
    void *context;
    int eventfd;      /* the machine's own descriptor; -1: none */
    bool reported;    /* the level that the handler knows */
    uint64_t changes; /* of the level since; they alternate, so that a number is enough */
};

/* All under the machine's lock. */
struct mach_lines {
    struct mach_line line[ANE_LINES];
    struct soc_lines_tap tap; /* in place while a line is watched */
    bool tapped;
    bool idle;        /* no handler runs */
    pthread_t thread; /* otherwise: on which one runs */
};

void mach_lines_init(struct ane_machine *m);
/* The machine ends: nothing is watched any more. No handler runs. */
void mach_lines_end(struct ane_machine *m);

/*
 * Inside, when the lock's `due` is set: calls the handlers of lines that have changed, one after the other,
 * outside. While a handler runs already, on this thread or another, its thread does that after it returned.
 */
void mach_lines_report(void *machine);
/* Inside: the calling thread is in a handler of this machine. */
bool mach_lines_in_handler(const struct ane_machine *m);

#endif
