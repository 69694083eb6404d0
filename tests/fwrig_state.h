/* SPDX-License-Identifier: Apache-2.0 */
/* The port of fwrig.h from inside: for fwrig.c, the board, and fwrig_host.c, the host. */
#ifndef TESTS_FWRIG_STATE_H
#define TESTS_FWRIG_STATE_H

#include <stdio.h>
#include <stdlib.h>

#include "fwrig.h"
#include "hostcpu.h"
#include "rtkernel/fault.h"
#include "rtkernel/rt_limits.h"

#define EVENTS        64u
#define FWRIG_SYSREGS 6u

/* The words INFO and UNK1 of an event line. */
struct fwrig_end_event {
    uint32_t info, detail;
};

struct rt_port {
    /* processor */
    struct hostcpu cpu;
    struct fw_reset reset;
    bool entered;
    char fault[RT_TEXT_BYTES];
    const char *except; /* the text of an exception that waits */
    unsigned except_class;
    struct rt_registers except_registers;
    void (*inside)(struct fw *fw); /* waits for the next guard of a doorbell */
    uint64_t accesses, power_reads;

    /* memory */
    uint8_t *memory;
    uint64_t hole, hole_bytes;
    uint64_t flip, flip_bytes, flip_window, flip_window_bytes, flips;
    uint8_t flip_byte;

    /* registers */
    uint32_t scratch[PR_SCRATCH_COUNT];
    uint32_t doorbell_pending, host_pending;
    uint64_t fabric, sysreg[FWRIG_SYSREGS];
    unsigned rejects, gpu_rings;
    uint32_t power[PR_PMU_DOMAINS];
    bool uncorrectable;
    struct fwrig_fabric history[FWRIG_FABRIC];
    size_t history_count;

    /* task manager */
    uint32_t tm[0x100 / 4];
    uint32_t tq[PR_TQ_COUNT][FWRIG_TQ_WORDS];
    unsigned held[PR_TQ_COUNT], foreign[PR_TQ_COUNT];
    struct fwrig_push push[FWRIG_PUSHES];
    size_t pushes;
    uint32_t aborted, error1, error2;
    bool drop_pushes, keep_aborted;
    uint32_t network[PR_TQ_COUNT][2]; /* of the requests that a queue holds, oldest first */
    struct fwrig_end_event event[2][EVENTS];
    unsigned events[2];

    /* host */
    uint32_t cursor[PR_CHANNEL_COUNT];
    uint32_t rang;
    bool warm;
    char line[256];
};

/* The type tests see is the port itself. */
static inline struct rt_port *port_of(const struct fwrig *rig)
{
    return (struct rt_port *)(uintptr_t)rig;
}

static inline struct fwrig *fwrig_of(struct rt_port *port)
{
    return (struct fwrig *)(void *)port;
}

static inline void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fwrig: %s\n", what);
        abort();
    }
}

#endif
