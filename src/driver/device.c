/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device. The controller runs from a successful drv_start until drv_destroy; `running` and `interrupts`
 * are true exactly in between. What the firmware announces during boot is checked before anything is made
 * from it. After boot its surfaces are freed only when the controller has stopped. drv_wait releases the gate
 * around every wait; boot does not take it, because there are no clients yet.
 */
#include "driver/device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "driver/boot.h"
#include "driver/client.h"
#include "driver/domain.h"
#include "driver/fault.h"
#include "driver/firmware.h"
#include "driver/kext.h"
#include "driver/mailbox.h"
#include "driver/mapper.h"
#include "driver/power.h"
#include "driver/program.h"
#include "driver/quota.h"
#include "driver/recovery.h"
#include "driver/rtbuddy.h"

static const char *const aperture_name[PR_APERTURE_COUNT] = {
#define X(id, name, role) [PR_APERTURE_##id] = name,
    PR_APERTURES(X)
#undef X
};

IOReturn drv_refuse(struct drv *d, IOReturn code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(d->last.text, sizeof(d->last.text), format, args);
    va_end(args);
    if (d->error)
        *d->error = d->last;
    SOC_TRACE(d->platform.trace, DRV_REFUSED, (unsigned)code, d->last.text);
    return code;
}

const char *drv_last_error(const struct drv *d)
{
    return d->last.text;
}

struct drv_stats drv_stats_get(const struct drv *d)
{
    struct drv_stats stats = d->stats;

    stats.client_requests = DRV_REQUESTS_PER_CLIENT;
    stats.client_programs = drv_quota_programs(d);
    for (const struct drv_client *client = d->clients; client; client = client->next)
        stats.client_pages += drv_quota_pages(client);
    return stats;
}

bool drv_enter(struct drv *d, struct drv_deadline *deadline)
{
    if (d->gate.closed)
        drv_recovery_go_on(d);
    return drv_gate_enter(&d->gate, &d->platform, deadline);
}

int drv_wait(struct drv *d, const bool *done, struct drv_deadline *deadline)
{
    struct base_error *error = d->error;
    int status;

    d->error = NULL;
    drv_gate_leave(&d->gate);
    status = d->platform.wait(d->platform.context, done, deadline);
    drv_enter(d, NULL);
    d->error = error;
    /* What was waited for has been: *done may be false again, or true only now. */
    return *done ? 0 : status;
}

static void end_stage(void *context)
{
    bool *over = context;

    *over = true;
}

/* The wait has no end of its own: `over` is on this stack until its event has fired. */
void drv_spend(struct drv *d, uint64_t ns)
{
    struct base_error *error = d->error;
    bool over = false;

    if (!d->platform.timed || d->platform.after(d->platform.context, ns, end_stage, &over))
        return;
    d->error = NULL;
    d->platform.wait(d->platform.context, &over, NULL);
    d->error = error;
}

void drv_device_pause(struct drv *d)
{
    struct drv_deadline poll = {.timer = true, .ns = DRV_POLL_NS};
    const bool never = false;

    d->platform.wait(d->platform.context, &never, &poll);
}

int drv_create(const struct drv_platform *platform, struct drv **driver, struct base_error *error)
{
    struct drv *d;

    if (platform->leaf_form >= PR_LEAF_FORMS)
        return base_fail(error, EINVAL, "Page-table entry form %u is not one of the %u known.",
                         platform->leaf_form, PR_LEAF_FORMS);
    d = base_alloc(sizeof(*d));
    if (!d)
        return base_fail(error, ENOMEM, "No memory for the driver.");
    d->platform = *platform;
    d->token =
        0x100000000ull; /* tokens are never small numbers that a surface or a slot could be taken for */
    drv_mapper_init(d);
    d->page_quota = DRV_CLIENT_PAGES;
    drv_balancer_init(&d->balancer, PR_DEVICE_ENGINES);
    *driver = d;
    return 0;
}

/* Which entry of the board's list an aperture is. */
static uint32_t aperture_index(const struct pr_board *board, unsigned aperture)
{
    return aperture < PR_APERTURE_ANEHAL1 ? board->first_index + aperture
                                          : board->hal_index[aperture - PR_APERTURE_ANEHAL1];
}

static int map_apertures(struct drv *d, struct base_error *error)
{
    const struct pr_board *board = d->platform.board;

    for (unsigned i = 0; i < PR_APERTURE_COUNT; i++) {
        uint32_t index = aperture_index(board, i);

        if (index >= PR_APERTURE_COUNT)
            return base_fail(error, ENXIO, "Aperture %s is entry %u of a device tree that has %u.",
                             aperture_name[i], index, PR_APERTURE_COUNT);
        d->aperture[i] = (struct drv_aperture){board->reg[index].base, board->reg[index].bytes};
        SOC_TRACE(d->platform.trace, DRV_APERTURE, i + 1, aperture_name[i], d->aperture[i].base,
                  d->aperture[i].bytes);
    }
    return 0;
}

/* The controller stops and forgets; what it could reach may be given back. */
static void stop_hardware(struct drv *d)
{
    d->interrupts = d->running = d->ready = false;
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
    drv_mailbox_write(d, PR_CTRL_HOST_ACK, ~0u);
    drv_rtbuddy_disable(d);
    drv_fault_stop(d);
    drv_boot_drop_surfaces(d);
    drv_domain_close(d, &d->domain[0]);
    drv_power_off(d);
}

static int boot(struct drv *d, struct base_error *error)
{
    int status;

    drv_boot_begin(d, false);
    while ((status = drv_boot_step(d, error)) == 1)
        drv_device_pause(d);
    return status;
}

int drv_start(struct drv *d, struct base_error *error)
{
    struct base_error own;
    int status = 0;

    if (!error)
        error = &own;
    if (d->running)
        return base_fail(error, EALREADY, "The driver runs already.");
    status = drv_kext_check(&d->platform, error);
    if (!status)
        status = drv_firmware_load(d, error);
    if (status)
        return status;
    status = map_apertures(d, error);
    if (status)
        return status;
    status = drv_rtbuddy_attach(d, error);
    if (!status)
        status = boot(d, error);
    if (status) {
        drv_refuse(d, 0, "%s", error->text);
        stop_hardware(d);
        return status;
    }
    d->running = d->ready = true;
    return 0;
}

void drv_destroy(struct drv *d)
{
    if (!d)
        return;
    if (d->running) {
        /* Nothing is sent any more: the controller stops, then everything it could reach goes. */
        drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
        d->interrupts = d->running = d->ready = false;
        drv_client_drop_all(d);
        drv_program_drop_all(d);
        stop_hardware(d);
    }
    base_free(d);
}
