/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operating system's kernel gives its driver: memory, surfaces, time, waiting, a trace. Every
 * function is called inside the machine's lock; only system_wait releases it. The host's interrupt is an
 * event of the clock of its own: the driver is never entered from inside the store that raised the line, and
 * at most one such event is pending.
 */
#include <errno.h>

#include "base/file.h"
#include "base/signing.h"
#include "machine/internal.h"
#include "protocol/timing.h"

static struct drv_pages pages_of(const struct soc_buffer *buffer)
{
    return (struct drv_pages){buffer->extent, buffer->extents, buffer->bytes, buffer->host};
}

static int system_alloc(void *context, uint64_t bytes, bool view, struct drv_pages *pages)
{
    struct ane_machine *m = context;
    struct soc_buffer buffer;
    int status = soc_memory_buffer_alloc(m->memory, SOC_OWNER_DRIVER, bytes, view, &buffer, NULL);

    if (!status)
        *pages = pages_of(&buffer);
    return status;
}

static void system_free(void *context, struct drv_pages *pages)
{
    struct ane_machine *m = context;
    struct soc_buffer buffer = {pages->extent, pages->extents, pages->bytes, pages->host};

    soc_memory_buffer_free(m->memory, &buffer);
}

/* Into the file of DRAM: the host clears a page that is first touched by a store, but not for a write. */
static bool system_fill(void *context, const struct drv_pages *pages, uint64_t offset, const void *from,
                        uint64_t bytes)
{
    const struct ane_machine *m = context;
    const uint8_t *at = from;

    for (uint32_t i = 0; i < pages->extents && bytes; i++) {
        const struct pr_extent *extent = &pages->extent[i];
        uint64_t part;

        if (offset >= extent->bytes) {
            offset -= extent->bytes;
            continue;
        }
        part = bytes < extent->bytes - offset ? bytes : extent->bytes - offset;
        if (base_file_put_at(soc_memory_dram_file(m->memory), at, part,
                             (off_t)(extent->physical + offset - soc_memory_base(m->memory))))
            return false;
        offset = 0;
        at += part;
        bytes -= part;
    }
    return !bytes;
}

static int system_surface_get(void *context, uint32_t id, uint32_t task, struct drv_pages *pages,
                              struct base_error *error)
{
    struct soc_buffer buffer;
    int status = mach_surface_get(context, id, task, &buffer, error);

    if (!status)
        *pages = pages_of(&buffer);
    return status;
}

static int system_surface_read(void *context, uint32_t id, uint32_t task, uint64_t offset, void *to,
                               uint64_t bytes, struct base_error *error)
{
    (void)context;
    return mach_surface_read(id, task, offset, to, bytes, error);
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
        own = (struct mach_deadline){.wall = !deadline->timer && !m->closed_clock,
                                     .quiet = deadline->quiet,
                                     .ns = deadline->ns,
                                     .at = deadline->at};
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
            soc_clock_after(m->clock, PR_TIMING_HOST_NS, SOC_EVENT_FOREGROUND, host_interrupt, m);
}

/* That of the process's user, for every machine of the process. */
static bool system_trusted_key(void *context, uint8_t *key)
{
    (void)context;
    base_signing_key(key, NULL);
    return true;
}

static void dart_interrupt(void *context)
{
    struct ane_machine *m = context;

    m->dart_interrupt = 0;
    drv_fault_interrupt(m->driver);
}

static void dart_line_rose(void *context)
{
    struct ane_machine *m = context;

    if (!m->dart_interrupt)
        m->dart_interrupt =
            soc_clock_after(m->clock, PR_TIMING_HOST_NS, SOC_EVENT_FOREGROUND, dart_interrupt, m);
}

static int system_after(void *context, uint64_t ns, void (*fn)(void *argument), void *argument)
{
    struct ane_machine *m = context;

    return soc_clock_after(m->clock, ns, SOC_EVENT_FOREGROUND, fn, argument) ? 0 : -ENOSPC;
}

/* The kernel's view of the firmware's image; nothing else is reserved. */
static void *system_memory_at(void *context, uint64_t address, uint64_t bytes)
{
    const struct ane_machine *m = context;

    if (address < m->image || bytes > PR_IMAGE_RUN_BYTES || address - m->image > PR_IMAGE_RUN_BYTES - bytes)
        return NULL;
    return soc_memory_at(m->memory, address, bytes);
}

int mach_driver_start(struct ane_machine *m, struct base_error *error)
{
    struct drv_platform platform = {
        .context = m,
        .bus = m->bus,
        .trace = &m->trace,
        .board = m->board,
        .firmware_image = m->image,
        .firmware_bytes = m->core.bytes,
        .firmware_size = m->core.size,
        .memory_at = system_memory_at,
        .leaf_form = m->leaf_form,
        .engines = m->engines,
        .internal_build = m->internal_build,
        .one_in_flight = m->in_flight == ANE_IN_FLIGHT_ONE,
        /* With a closed clock no caller is about to send a request, and a wait would cost virtual time. */
        .turns = !m->closed_clock,
        .timed = m->timed,
        .alloc = system_alloc,
        .free = system_free,
        .fill = system_fill,
        .surface_get = system_surface_get,
        .surface_put = system_surface_put,
        .surface_read = system_surface_read,
        .trusted_key = system_trusted_key,
        .now = system_now,
        .wait = system_wait,
        .after = system_after,
        .panic = m->panic_on_fault ? mach_panic : NULL,
        .dump = mach_dump_take,
        .port_reserve = system_port_reserve,
        .port_cancel = system_port_cancel,
        .port_watch = system_port_watch,
        .port_deliver = system_port_deliver,
    };
    int status = drv_create(&platform, &m->driver, error);

    if (status)
        return status;
    soc_lines_wire(&m->lines, MACH_LINE_HOST, host_line_rose, m);
    soc_lines_wire(&m->lines, MACH_LINE_DART, dart_line_rose, m);
    return drv_start(m->driver, error);
}
