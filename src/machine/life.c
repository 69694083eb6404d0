/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the firmware from outside: sleep, wake, and what it says of itself. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "machine/internal.h"
#include "protocol/message.h"

int mach_refuse_bare(void)
{
    return base_fail(mach_error(), ENODEV,
                     "The machine has no firmware: its configuration did not ask for it.");
}

int ane_machine_sleep(struct ane_machine *machine)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = machine->driver ? drv_sleep(machine->driver, mach_error()) : mach_refuse_bare();
    mach_leave(machine);
    return status;
}

int ane_machine_wake(struct ane_machine *machine)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = machine->driver ? drv_wake(machine->driver, mach_error()) : mach_refuse_bare();
    mach_leave(machine);
    return status;
}

static int report_get(struct ane_machine *m, const char *name, char *buffer, size_t *bytes)
{
    static const char *const names[PR_REPORTS] = {[PR_REPORT_TASKS] = "tasks",
                                                  [PR_REPORT_POOLS] = "pools",
                                                  [PR_REPORT_ARENAS] = "arenas",
                                                  [PR_REPORT_COUNTERS] = "counters",
                                                  [PR_REPORT_CACHE] = "cache"};

    if (!name || !buffer || !bytes)
        return base_fail(mach_error(), EINVAL, "Report: no name, no buffer or no size was given.");
    if (!m->driver)
        return mach_refuse_bare();
    for (uint32_t i = 0; i < BASE_COUNT_OF(names); i++)
        if (!strcmp(names[i], name))
            return drv_debug_report(m->driver, i, buffer, bytes, mach_error());
    return base_fail(mach_error(), EINVAL, "There is no report \"%s\"; there are %s.", name,
                     ANE_MACHINE_REPORTS);
}

int ane_machine_report(struct ane_machine *machine, const char *name, char *buffer, size_t *bytes)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = report_get(machine, name, buffer, bytes);
    mach_leave(machine);
    return status;
}
