/* SPDX-License-Identifier: Apache-2.0 */
/* Wall and virtual time of requests by stage. */
#include <errno.h>
#include <time.h>

#include "machine/internal.h"

static uint64_t wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add_request(struct mach_profile *p)
{
    p->sums.requests++;
    for (unsigned i = 0; i < ANE_STAGES; i++) {
        p->sums.wall_ns[i] += p->wall[i + 1] - p->wall[i];
        p->sums.virtual_ns[i] += p->virtual_time[i + 1] - p->virtual_time[i];
    }
}

void mach_profile_note(struct ane_machine *m, enum mach_point point)
{
    struct mach_profile *p = &m->profile;

    if (point != MACH_POINT_CALL && point != p->next)
        return;
    p->next = point + 1;
    p->wall[point] = wall_ns();
    p->virtual_time[point] = soc_clock_now(m->clock);
    if (point == MACH_POINT_RETURN)
        add_request(p);
}

const char *ane_machine_stage_name(unsigned stage)
{
    static const char *const name[ANE_STAGES] = {"driver submit", "firmware take", "engine",
                                                 "firmware complete", "driver complete"};

    return stage < ANE_STAGES ? name[stage] : "";
}

int ane_machine_profile(struct ane_machine *machine, int on, struct ane_machine_profile *sums)
{
    if (!mach_enter(machine))
        return -EPERM;
    if (sums)
        *sums = machine->profile.sums;
    if (machine->profile.on != !!on)
        machine->profile = (struct mach_profile){.on = on};
    mach_leave(machine);
    return 0;
}
