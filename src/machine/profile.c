/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall and virtual time of requests by stage. A request counts only when it has passed every point in order,
 * from call to return.
 */
#include <errno.h>
#include <time.h>

#include "machine/internal.h"
#include "protocol/tm_regs.h"

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

static bool see_store(void *context, struct soc_access *access)
{
    struct ane_machine *m = context;
    uint64_t offset = access->address - m->board->container;

    if (access->write && offset == PR_CTRL_DOORBELL)
        mach_profile_note(m, MACH_POINT_DOORBELL);
    if (access->write && offset == PR_ENGINE_TM + PR_TM_REQ_PUSH)
        mach_profile_note(m, MACH_POINT_PUSH);
    return true;
}

static bool see_line(void *context, unsigned line, bool level)
{
    struct ane_machine *m = context;

    if (level && line == MACH_LINE_ENGINE)
        mach_profile_note(m, MACH_POINT_ENGINE);
    if (level && line == MACH_LINE_HOST)
        mach_profile_note(m, MACH_POINT_HOST);
    return true;
}

static void start(struct ane_machine *m)
{
    m->profile.on = true;
    m->profile.stores = (struct soc_bus_tap){.see = see_store, .context = m};
    m->profile.lines = (struct soc_lines_tap){.see = see_line, .context = m};
    soc_bus_tap_add(m->bus, &m->profile.stores);
    soc_lines_tap_add(&m->lines, &m->profile.lines);
}

static void stop(struct ane_machine *m)
{
    if (m->profile.on) {
        soc_bus_tap_remove(m->bus, &m->profile.stores);
        soc_lines_tap_remove(&m->lines, &m->profile.lines);
    }
    if (m->profile.descriptors.on)
        mach_descriptors_stop(m);
    m->profile = (struct mach_profile){.on = false};
}

static int measured(const struct mach_profile *p)
{
    return (p->on ? ANE_PROFILE_STAGES : 0) | (p->descriptors.on ? ANE_PROFILE_DESCRIPTORS : 0);
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
    on &= ANE_PROFILE_STAGES | ANE_PROFILE_DESCRIPTORS;
    if (on != measured(&machine->profile)) {
        stop(machine);
        if (on & ANE_PROFILE_STAGES)
            start(machine);
        if (on & ANE_PROFILE_DESCRIPTORS)
            mach_descriptors_start(machine);
    }
    mach_leave(machine);
    return 0;
}
