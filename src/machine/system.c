/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operating system's kernel gives its driver: memory, surfaces, time, waiting, a trace. Every
 * function is called inside the machine's lock; only system_wait releases it. The host's interrupt is an
 * event of the clock of its own: the driver is never entered from inside the store that raised the line, and
 * at most one such event is pending.
 */
#include "machine/internal.h"

#define HOST_INTERRUPT_NS 100u /* from the line to the handler (chosen) */

static int system_alloc(void *context, uint64_t bytes, uint64_t *address)
{
    struct ane_machine *m = context;

    return soc_memory_alloc(m->memory, SOC_OWNER_DRIVER, bytes, address, NULL);
}

static void system_free(void *context, uint64_t address)
{
    struct ane_machine *m = context;

    soc_memory_free(m->memory, SOC_OWNER_DRIVER, address, NULL);
}

static void *system_memory(void *context, uint64_t address, uint64_t bytes)
{
    struct ane_machine *m = context;

    return soc_memory_at(m->memory, address, bytes);
}

static int system_surface_get(void *context, uint32_t id, uint32_t task, uint64_t *address, uint64_t *bytes,
                              struct base_error *error)
{
    return mach_surface_get(context, id, task, address, bytes, error);
}

static void system_surface_put(void *context, uint32_t id)
{
    mach_surface_put(context, id);
}

static uint64_t system_now(void *context)
{
    const struct ane_machine *m = context;

    return soc_clock_now(m->clock);
}

/* The driver's own timers are always virtual; a caller's deadline is virtual only with a closed clock. */
static int system_wait(void *context, const bool *done, struct drv_deadline *deadline)
{
    struct ane_machine *m = context;
    struct mach_deadline own = {.wall = true, .ns = MACH_HOST_FOREVER};
    int status;

    if (deadline)
        own = (struct mach_deadline){
            .wall = !deadline->timer && !m->closed_clock, .ns = deadline->ns, .at = deadline->at};
    status = mach_lock_wait(&m->lock, done, &own);
    if (deadline)
        deadline->at = own.at;
    return status;
}

static int system_port_reserve(void *context, uint32_t port, struct base_error *error)
{
    int status = mach_port_reserve(context, port, error);

    if (status)
        return status;
    status = mach_async_start(context, error);
    if (status)
        mach_port_cancel(port);
    return status;
}

static void system_port_cancel(void *context, uint32_t port)
{
    (void)context;
    mach_port_cancel(port);
}

static int system_port_watch(void *context, uint32_t request, const struct drv_deadline *deadline)
{
    return mach_async_watch(context, request, deadline);
}

static void system_port_deliver(void *context, uint32_t request, uint32_t port,
                                const struct drv_message *message)
{
    mach_async_unwatch(context, request);
    mach_port_deliver(context, port, message);
}

/* The host's processor takes the interrupt, never inside the store that raised it. */
static void host_interrupt(void *context)
{
    struct ane_machine *m = context;

    m->host_interrupt = 0;
    drv_interrupt(m->driver);
}

static void host_line_rose(void *context)
{
    struct ane_machine *m = context;

    if (!m->host_interrupt)
        m->host_interrupt =
            soc_clock_after(m->clock, HOST_INTERRUPT_NS, SOC_EVENT_FOREGROUND, host_interrupt, m);
}

int mach_driver_start(struct ane_machine *m, struct base_error *error)
{
    struct drv_platform platform = {
        .context = m,
        .bus = m->bus,
        .trace = &m->trace,
        .board = m->board,
        .firmware_image = m->image,
        .leaf_form = m->leaf_form,
        .one_in_flight = m->in_flight == ANE_IN_FLIGHT_ONE,
        .alloc = system_alloc,
        .free = system_free,
        .memory = system_memory,
        .surface_get = system_surface_get,
        .surface_put = system_surface_put,
        .now = system_now,
        .wait = system_wait,
        .port_reserve = system_port_reserve,
        .port_cancel = system_port_cancel,
        .port_watch = system_port_watch,
        .port_deliver = system_port_deliver,
    };
    int status = drv_create(&platform, &m->driver, error);

    if (status)
        return status;
    soc_lines_wire(&m->lines, MACH_LINE_HOST, host_line_rose, m);
    return drv_start(m->driver, error);
}
