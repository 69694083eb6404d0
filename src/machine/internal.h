/* SPDX-License-Identifier: Apache-2.0 */
/* One machine's parts, shared by the files of this room. */
#ifndef MACHINE_INTERNAL_H
#define MACHINE_INTERNAL_H

#include <anemone/machine.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "dart/dart.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "machine/sabotage.h"
#include "protocol/board.h"
#include "soc/bus.h"
#include "soc/clock.h"
#include "soc/controller.h"
#include "soc/lines.h"
#include "soc/memory.h"
#include "soc/pmu.h"
#include "soc/trace.h"

/* Interrupt lines of the board. */
enum { MACH_LINE_ENGINE, MACH_LINE_DOORBELL, MACH_LINE_HOST };

struct rt_port;

struct mach_window {
    struct ane_machine *machine;
    enum dart_port port;
};

/* A thread that waits for something the machine will do. */
struct mach_waiter {
    struct mach_waiter *next;
    const bool *done;
    bool expired;
    atomic_uint woken; /* the thread's own futex word */
};

/* Where a request passes: the ends of the stages. */
enum mach_point {
    MACH_POINT_CALL,
    MACH_POINT_DOORBELL,
    MACH_POINT_PUSH,
    MACH_POINT_ENGINE,
    MACH_POINT_HOST,
    MACH_POINT_RETURN,
    MACH_POINTS
};
_Static_assert(MACH_POINTS == ANE_STAGES + 1, "stages lie between points");

struct mach_profile {
    bool on;
    unsigned next; /* the point expected; others (slots given back, other doorbells) are not the request's */
    uint64_t wall[MACH_POINTS], virtual_time[MACH_POINTS];
    struct ane_machine_profile sums;
};

struct ane_machine {
    pthread_mutex_t lock;        /* one caller at a time inside */
    atomic_uint entering;        /* callers on their way in: the one who drives lets them in between events */
    bool driving;                /* somebody steps the clock; others that wait sleep. Protected by lock */
    struct mach_waiter *waiters; /* those who sleep, oldest first. Protected by lock */
    unsigned long family;        /* fork generation it was made in */

    const struct pr_board *board;
    uint32_t leaf_form; /* enum pr_leaf_form */
    struct soc_memory *memory;
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_lines lines;
    struct soc_pmu pmu;
    struct soc_bus *bus;
    struct soc_controller controller;
    struct dart *dart;
    struct eng *engine;
    struct mach_window window[PR_DART_COUNT];

    /* With a controller: its processor, and the driver above it. */
    struct rt_port *port;
    uint64_t image, image_bytes; /* the firmware's carve-out */
    struct drv *driver;
    soc_event_id host_interrupt; /* the host's interrupt line rose and its handler has not run yet */
    io_service_t service;
    struct mach_sabotage sabotage;
    struct mach_profile profile;
};

/* lock.c: admits a call; false (with a sentence in the thread's error) in a forked child or from the trace function. */
bool mach_enter(struct ane_machine *m);
void mach_leave(struct ane_machine *m);
int mach_lock_init(struct ane_machine *m);
/* The calling thread's last error. */
struct base_error *mach_error(void);
unsigned long mach_fork_generation(void);
/* With the lock held: drives the machine, or sleeps while another thread does, until *done or `timeout_ns` of virtual time passed. */
int mach_wait(struct ane_machine *m, const bool *done, uint64_t timeout_ns);

/* profile.c: notes that a request passes a point; nothing while profiling is off. */
void mach_profile_note(struct ane_machine *m, enum mach_point point);
static inline void mach_profile_pass(struct ane_machine *m, enum mach_point point)
{
    if (m->profile.on)
        mach_profile_note(m, point);
}

/* port.c: the controller's processor on this host. */
int mach_port_create(struct ane_machine *m, struct base_error *error);
void mach_port_destroy(struct rt_port *port);
void mach_port_run(struct rt_port *port, bool run); /* CPU_CONTROL's run bit */
void mach_port_raise(struct rt_port *port, unsigned line);
/* It has been started and has neither faulted nor halted. */
bool mach_port_alive(const struct rt_port *port);

/* system.c: the driver's platform. */
int mach_driver_start(struct ane_machine *m, struct base_error *error);

/* iokit.c, surface.c */
io_service_t mach_service_add(struct ane_machine *m);
void mach_service_remove(struct ane_machine *m);
int mach_surface_get(struct ane_machine *m, uint32_t id, uint64_t *address, uint64_t *bytes);
void mach_surface_put(struct ane_machine *m, uint32_t id);
/* The machine goes: surfaces still attached to it are let go. */
void mach_surfaces_detach(struct ane_machine *m);

#endif
