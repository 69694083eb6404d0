/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's processor from inside: for cpu.c, its life, and native.c, the port of the native core. */
#ifndef MACHINE_CPU_H
#define MACHINE_CPU_H

#include "firmware/firmware.h"
#include "machine/carveout.h"
#include "machine/context.h"
#include "machine/emulated.h"
#include "machine/internal.h"
#include "rtkernel/fault.h"

/*
 * What a store of the firmware asks of its own processor; done when the firmware's stack is no longer in use.
 */
enum mach_cpu_order { MACH_ORDER_NONE, MACH_ORDER_STOP, MACH_ORDER_START };

/* A range of shared memory that the firmware asked for before; good while the DART's generation stays. */
struct mach_cpu_window {
    uint64_t generation; /* 0: none */
    uint64_t address;
    size_t bytes;
    void *host;
};
#define MACH_CPU_WINDOWS 1024u

struct rt_port {
    struct ane_machine *machine;
    struct host_context host;       /* the thread that drives */
    struct host_context boot;       /* the reset vector's stack */
    struct host_context *running;   /* inside; NULL while parked */
    const void *image;              /* the run of DRAM that holds it */
    struct mach_emulated *emulated; /* NULL: the native core */
    struct mach_carveout carveout;
    size_t used;     /* bytes of it, from the start, that the last run may have written */
    uint64_t damage; /* physical address where the carve-out was changed; 0: nowhere */
    struct fw_reset reset;
    bool kernel_made; /* contexts exist */
    bool masked;
    bool stopped; /* faulted, halted or parked */
    bool inside;  /* the firmware runs right now */
    enum mach_cpu_order order;
    uint64_t pending; /* interrupt lines */
    struct {
        bool due;
        enum rt_fault_class fault_class;
        char text[RT_TEXT_BYTES];
    } injected;
    soc_event_id wake, timer;
    struct mach_cpu_window window[MACH_CPU_WINDOWS];
    const struct soc_trace_entry *entry; /* of the trace: it waits for the firmware's stack to be left */
};

static inline struct rt_kernel *mach_cpu_kernel(const struct rt_port *port)
{
    return port->reset.carve_out;
}

/* Back to the thread that drives. */
static inline void mach_cpu_leave(struct rt_port *port)
{
    host_context_switch(port->running, &port->host);
}

#endif
