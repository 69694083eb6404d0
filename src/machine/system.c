/* SPDX-License-Identifier: Apache-2.0 */
/* What an operating system's kernel gives its driver: memory, surfaces, time, waiting, a trace. */
#include "base/signing.h"
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

/* That of the process's user, for every machine of the process. */
static bool system_trusted_key(void *context, uint8_t *key)
{
    (void)context;
    base_signing_key(key, NULL);
    return true;
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
        .alloc = system_alloc,
        .free = system_free,
        .memory = system_memory,
        .surface_get = system_surface_get,
        .surface_put = system_surface_put,
        .trusted_key = system_trusted_key,
        .now = system_now,
        .wait = system_wait,
    };
    int status = drv_create(&platform, &m->driver, error);

    if (status)
        return status;
    soc_lines_wire(&m->lines, MACH_LINE_HOST, host_line_rose, m);
    return drv_start(m->driver, error);
}
