/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and power of programs from outside: one pass of the driver's worker. */
#include <errno.h>

#include "machine/internal.h"

static int reclaim(struct ane_machine *m, uint64_t limit, uint32_t passes, struct ane_machine_residency *now)
{
    struct drv_reclaimed figures;
    int status;

    if (now && now->size != sizeof(*now))
        return base_fail(mach_error(), EINVAL, "Reclaim: a residency record of %zu bytes; it has %zu.",
                         now->size, sizeof(*now));
    if (!m->driver)
        return mach_refuse_bare();
    status = drv_reclaim_pass(m->driver, limit, passes, &figures, mach_error());
    if (!status && now)
        *now = (struct ane_machine_residency){.size = sizeof(*now),
                                              .wired = figures.wired,
                                              .pageable = figures.pageable,
                                              .unwired = figures.unwired,
                                              .rewired = figures.rewired,
                                              .sleeps = figures.sleeps,
                                              .programs = figures.programs,
                                              .asleep = figures.asleep};
    return status;
}

int ane_machine_reclaim(struct ane_machine *machine, uint64_t limit, uint32_t passes,
                        struct ane_machine_residency *now)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = reclaim(machine, limit, passes, now);
    mach_leave(machine);
    return status;
}
