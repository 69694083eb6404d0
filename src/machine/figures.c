/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's clients from outside: what each has, and what it has used. */
#include <errno.h>

#include "base/alloc.h"
#include "machine/internal.h"

static long copy_clients(struct ane_machine *m, struct ane_machine_client *clients, size_t room)
{
    const size_t count = drv_stats_get(m->driver).clients;
    struct drv_figures *figures = base_alloc((count + 1) * sizeof(*figures));
    size_t open;

    if (!figures)
        return base_fail(mach_error(), ENOMEM, "No memory for the figures of %zu clients.", count);
    open = drv_figures_get(m->driver, figures, count);
    for (size_t i = 0; i < open && i < room; i++)
        clients[i] = (struct ane_machine_client){.number = figures[i].number,
                                                 .task = figures[i].task,
                                                 .type = figures[i].type,
                                                 .programs = figures[i].programs,
                                                 .in_flight = figures[i].in_flight,
                                                 .queue_depth = figures[i].queue_depth,
                                                 .completed = figures[i].completed,
                                                 .engine_ns = figures[i].engine_ns,
                                                 .bytes = figures[i].bytes};
    base_free(figures);
    return (long)open;
}

long ane_machine_clients(struct ane_machine *machine, struct ane_machine_client *clients, size_t room)
{
    long count;

    if (!mach_enter(machine))
        return -EPERM;
    if (!machine->driver)
        count = mach_refuse_bare();
    else if (!clients && room)
        count =
            base_fail(mach_error(), EINVAL, "Clients: there is room for %zu records, and no place.", room);
    else
        count = copy_clients(machine, clients, room);
    mach_leave(machine);
    return count;
}
