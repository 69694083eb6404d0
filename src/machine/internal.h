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
#include "machine/async.h"
#include "machine/core.h"
#include "machine/line.h"
#include "machine/lock.h"
#include "protocol/board.h"
#include "soc/bus.h"
#include "soc/clock.h"
#include "soc/controller.h"
#include "soc/gpu.h"
#include "soc/lines.h"
#include "soc/memory.h"
#include "soc/pmu.h"
#include "soc/trace.h"

/* Interrupt lines of the board. */
enum { MACH_LINE_ENGINE, MACH_LINE_DOORBELL, MACH_LINE_HOST, MACH_LINE_DART };

struct rt_port;
struct mach_injection;
struct mach_tracing;
struct ane_port_message;

struct mach_window {
    struct ane_machine *machine;
    enum dart_port port;
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

/* profile_descriptors.c: what each descriptor took. */
struct mach_descriptors {
    bool on;
    struct ane_machine_descriptor *row;
    uint32_t rows, capacity;
    uint32_t next;  /* the row that is expected: descriptors run in the same order again and again */
    uint64_t begun; /* wall time */
};

struct mach_profile {
    bool on;
    unsigned next; /* the point expected; others (slots given back, other doorbells) are not the request's */
    uint64_t wall[MACH_POINTS], virtual_time[MACH_POINTS];
    struct ane_machine_profile sums;
    struct soc_bus_tap stores; /* installed while on */
    struct soc_lines_tap lines;
    struct mach_descriptors descriptors;
};

/* Dumps of the firmware (dump.c). */
struct mach_dump {
    char *folder;       /* NULL: none */
    uint8_t *bytes;     /* the last one */
    size_t size;        /* 0: none so far */
    uint64_t count;     /* so far */
    uint64_t unwritten; /* of those, not in the folder */
};

struct mach_bank; /* bank.c */

struct ane_machine {
    struct mach_lock lock; /* one caller at a time inside */
    unsigned long family;  /* fork generation it was made in */
    bool internal_build;   /* the debug surfaces are open */
    bool closed_clock;     /* callers' deadlines are in virtual time too */
    bool timed;            /* the stages of a dispatch take their time (protocol/timing.h) */
    bool panic_on_fault;
    struct base_error panic; /* why the machine has stopped; "" while it runs */
    struct mach_injection *injections;

    /* Under the lock of the tables: */
    unsigned holds; /* open connections, and calls that found the machine through a table */
    bool ending;    /* no new hold */

    const struct pr_board *board;
    uint32_t leaf_form; /* enum pr_leaf_form */
    uint32_t engines;
    uint32_t in_flight; /* enum ane_in_flight */
    struct soc_memory *memory;
    struct mach_bank *banks; /* of the caller */
    struct soc_clock *clock;
    struct soc_trace trace;
    struct mach_tracing *tracing; /* the file that the environment asks for; NULL: none */
    struct soc_lines lines;
    struct mach_lines watch; /* who watches them from outside */
    struct soc_pmu pmu;
    struct soc_gpu gpu;
    struct soc_bus *bus;
    struct soc_controller controller;
    struct dart *dart;
    struct eng *engine;
    struct mach_window window[PR_DART_COUNT];

    /* With a controller: its processor, and the driver above it. */
    struct rt_port *cpu;
    uint64_t image; /* the run of DRAM that holds the firmware's image; its carve-out is behind it */
    uint64_t carveout, carveout_bytes;
    struct mach_core core; /* what its processor runs */
    struct drv *driver;
    soc_event_id host_interrupt; /* the host's interrupt line rose and its handler has not run yet */
    soc_event_id dart_interrupt; /* the same of the DARTs' line */
    io_service_t service;
    struct mach_profile profile;
    struct mach_async async;
    struct mach_dump dump;
};

/*
 * entry.c: admits a call and clears the calling thread's error; false (with a sentence) for NULL, in a forked
 * child or from the trace function.
 */
bool mach_enter(struct ane_machine *m);
/* The same for what ends or examines a machine: also after a panic, which refuses all other calls. */
bool mach_enter_dead(struct ane_machine *m);
void mach_leave(struct ane_machine *m);
/* The calling thread's error; the second clears it first. */
struct base_error *mach_error(void);
struct base_error *mach_error_begin(void);
unsigned long mach_fork_generation(void);
/* True, with a sentence, when the machine belongs to a process this one was forked from. */
bool mach_is_inherited(const struct ane_machine *m);

/*
 * config.c: copies the caller's configuration (NULL: the defaults) and puts values where it has 0 for a
 * default. -EINVAL with a sentence for what is wrong.
 */
int mach_config_take(const struct ane_machine_config *from, struct ane_machine_config *config,
                     struct base_error *error);

/*
 * machine.c: ane_machine_create with taps. `install` is called once the parts are there, before the
 * controller boots; it adds taps to the bus and the lines. The machine may fail to boot afterwards, and is
 * then gone with its bus. NULL: none.
 */
int mach_create_tapped(const struct ane_machine_config *config,
                       void (*install)(void *context, struct ane_machine *machine), void *context,
                       struct ane_machine **machine);

/*
 * machine.c: these blocks (a bit per enum pr_powered) serve accesses; otherwise the access is traced, with
 * that name. The second is the set that a DART's registers need.
 */
bool mach_powered(struct ane_machine *m, uint32_t blocks, const char *name);
uint32_t mach_dart_needs(const struct ane_machine *m, unsigned dart);

/* fault.c: the DART's fourth window and the engine's status word. */
int mach_fault_attach(struct ane_machine *m, struct base_error *error);
/* The machine stops, with this reason. `context` is the machine. */
void mach_panic(void *context, const char *sentence);
/* Inside: true, with a sentence for the calling thread, once it has. */
bool mach_panicked(const struct ane_machine *m);

/* profile.c: notes that a call passes a point, while profiling is on. Taps see the other points. */
void mach_profile_note(struct ane_machine *m, enum mach_point point) __attribute__((cold));
static inline void mach_profile_pass(struct ane_machine *m, enum mach_point point)
{
    if (m->profile.on)
        mach_profile_note(m, point);
}

/* profile_descriptors.c: inside, begins or ends the measurement of descriptors. The end frees the rows. */
void mach_descriptors_start(struct ane_machine *m);
void mach_descriptors_stop(struct ane_machine *m);

/* timing.c: inside, lets the caller's stage pass in virtual time; nothing with timing none. */
void mach_timing_spend(struct ane_machine *m, uint64_t ns);

/* cpu.c: the controller's processor on this host. */
int mach_cpu_create(struct ane_machine *m, struct base_error *error);
void mach_cpu_destroy(struct rt_port *port);
void mach_cpu_run(struct rt_port *port, bool run); /* CPU_CONTROL's run bit */
void mach_cpu_raise(struct rt_port *port, unsigned line);
/* It has been started and has neither faulted nor halted. */
bool mach_cpu_alive(const struct rt_port *port);
/*
 * Inside the machine: the processor takes an exception of that class (enum rt_fault_class) at its next
 * instruction boundary, which is a call of the port; a processor that waits is woken for it. The first of
 * several is taken. No effect when it is stopped; a reset forgets it. For tests and fault injection.
 */
void mach_cpu_inject(struct ane_machine *m, unsigned fault_class, const char *text);

/* dump.c: the folder is the configuration's or the environment's; `context` is the machine. */
int mach_dump_init(struct ane_machine *m, const char *folder, struct base_error *error);
void mach_dump_free(struct ane_machine *m);
void mach_dump_take(void *context, const void *bytes, size_t size);

/* bank.c: the machine ends: the descriptors of its banks are closed, after its memory. */
void mach_banks_close(struct ane_machine *m);

/* life.c: -ENODEV with a sentence: the machine has no firmware. */
int mach_refuse_bare(void);

/* system.c: the driver's platform. */
int mach_driver_start(struct ane_machine *m, struct base_error *error);

/* tables.c: the lock of services, connections and tasks, and the holds that it guards. */
void mach_tables_lock(void);
void mach_tables_unlock(void);
void mach_tables_wait(void); /* locked: until the next change */
void mach_tables_changed(void);
void mach_tables_forked(void);
/* False once the machine's end has begun. The second form with the tables locked. */
bool mach_hold(struct ane_machine *m);
bool mach_hold_locked(struct ane_machine *m);
void mach_release(struct ane_machine *m);
void mach_release_locked(struct ane_machine *m);

/* service.c: machines with a driver, at most. */
#define MACH_SERVICES_MAX 64u
io_service_t mach_service_add(struct ane_machine *m);
void mach_service_remove(struct ane_machine *m);
/* The machine of a registry entry, held; or NULL. `device`: the entry is the device, which has clients. */
struct ane_machine *mach_service_hold(io_service_t service, bool *device);
/* The driver's number of that entry; and the number under which callers know it. */
uint32_t mach_service_entry(io_service_t service);
io_service_t mach_service_number(const struct ane_machine *m, uint32_t entry);
void mach_service_fork_begin(void);
void mach_service_fork_end(bool child);

/*
 * connect.c: refuses new holds, closes what is open on the machine, waits for the last hold. False when
 * called from the trace function.
 */
bool mach_connect_end_all(struct ane_machine *m);
/* A call on an open connection: an entry of the driver's, with the number in `selector`. */
typedef IOReturn (*mach_driver_entry)(struct drv_client *client, uint32_t number,
                                      struct IOExternalMethodArguments *arguments, struct base_error *error);
IOReturn mach_connect_call(mach_driver_entry enter, io_connect_t connect,
                           struct IOExternalMethodArguments *arguments);
void mach_connect_forked(void);

/* served.c: the same on a connection of the service. */
IOReturn mach_served_call(mach_driver_entry enter, io_connect_t connect,
                          const struct IOExternalMethodArguments *arguments);

/* task.c: false, with a sentence, when there is no such task. */
bool mach_task_identity(uint32_t task, struct drv_identity *identity);
/* Whose surfaces and events are a task's: a delegate's are another's. One that is not there is itself. */
uint32_t mach_task_acts_for(uint32_t task);

/* surface.c: -ENOENT, -EPERM for another task's that is not shared, -ENOMEM and others with a sentence. */
int mach_surface_get(struct ane_machine *m, uint32_t id, uint32_t task, struct soc_buffer *buffer,
                     struct base_error *error);
/* Copies from a surface, which may be of a file; the errors are the same, and -EINVAL for a place outside. */
int mach_surface_read(uint32_t id, uint32_t task, uint64_t offset, void *to, uint64_t bytes,
                      struct base_error *error);
void mach_surface_put(struct ane_machine *m, uint32_t id);
/* The machine ends: surfaces still attached to it are detached. */
void mach_surfaces_detach(struct ane_machine *m);
void mach_surface_fork_begin(void);
void mach_surface_fork_end(bool child);

/*
 * port.c, inside the machine's lock: room for one message (-ENOENT, -ENOSPC, with a sentence), which is given
 * back or filled. For requests of the service the machine is NULL.
 */
int mach_port_reserve(struct ane_machine *m, uint32_t port, struct base_error *error);
void mach_port_cancel(uint32_t port);
void mach_port_deliver(struct ane_machine *m, uint32_t port, const struct drv_message *message);
void mach_port_deliver_served(uint32_t port, const struct ane_port_message *message);
/* The service has ended, and no message of it comes any more. */
void mach_port_end_served(void);
/*
 * The machine ends. First: callers that wait inside for a message leave. False when called from the trace
 * function. Last: no port serves it any more.
 */
bool mach_port_end_waits(struct ane_machine *m);
void mach_port_detach(const struct ane_machine *m);
void mach_port_forked(void);

/* inject.c: cancel, inside, drops calls that have not begun; join, outside, waits for the others. */
void mach_injections_cancel(struct ane_machine *m);
void mach_injections_join(struct ane_machine *m);

#endif
