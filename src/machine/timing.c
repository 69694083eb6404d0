/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages of a dispatch that a thread spends. A stage is an event of the clock, so that the machine is not
 * idle meanwhile, and events of other work that are due before come before.
 */
#include <anemone/machine.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "machine/internal.h"

int ane_timing_named(const char *name)
{
    static const char *const names[] = {[ANE_TIMING_NONE] = "none", [ANE_TIMING_M1] = "m1"};

    for (unsigned i = 0; name && i < BASE_COUNT_OF(names); i++)
        if (!strcmp(name, names[i]))
            return (int)i;
    return -1;
}

static void end_stage(void *context)
{
    bool *over = context;

    *over = true;
}

/* Without an event the end of the wait moves the clock. */
void mach_timing_spend(struct ane_machine *m, uint64_t ns)
{
    struct mach_deadline deadline = {.wall = true, .ns = MACH_HOST_FOREVER};
    bool over = false;

    if (!m->timed)
        return;
    if (!soc_clock_after(m->clock, ns, SOC_EVENT_FOREGROUND, end_stage, &over))
        deadline = (struct mach_deadline){.ns = ns};
    mach_lock_wait(&m->lock, &over, &deadline);
}

int ane_machine_delay(struct ane_machine *machine, uint64_t ns)
{
    const bool never = false;
    struct mach_deadline deadline = {.ns = ns};
    int status = 0;

    if (!mach_enter(machine))
        return -EPERM;
    if (ns > ANE_DELAY_MAX || soc_clock_now(machine->clock) > ANE_DELAY_MAX)
        status = base_fail(mach_error(), EINVAL,
                           "A delay of %" PRIu64 " ns was asked for; delays and virtual time end at %" PRIu64
                           " ns.",
                           ns, ANE_DELAY_MAX);
    else
        mach_lock_wait(&machine->lock, &never, &deadline);
    mach_leave(machine);
    return status;
}

int ane_machine_spend(struct ane_machine *machine, uint64_t ns)
{
    if (!machine)
        return base_fail(mach_error_begin(), EPERM, "The machine is NULL.");
    if (!machine->timed)
        return 0;
    if (!mach_enter(machine))
        return -EPERM;
    mach_timing_spend(machine, ns);
    mach_leave(machine);
    return 0;
}
