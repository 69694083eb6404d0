/* SPDX-License-Identifier: Apache-2.0 */
/* Finite-state machines. Actions do not nest: an event posted by one waits until the action has returned. */
#include "rtkernel/fsm.h"

#include <stddef.h>

#include "rtkernel/sched.h"

static const struct rt_fsm_row *find_row(const struct rt_fsm_table *table, unsigned state, unsigned event)
{
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (table->rows[i].state == state && table->rows[i].event == event)
            return &table->rows[i];
    }
    return NULL;
}

static bool row_is_sound(const struct rt_fsm_table *table, const struct rt_fsm_row *row)
{
    return row->state < table->states && row->next < table->states && row->event < table->events &&
           !(table->transient >> row->state & 1) && find_row(table, row->state, row->event) == row;
}

void rt_fsm_init(struct rt_fsm *fsm, struct rt_kernel *kernel, const struct rt_fsm_table *table,
                 void *context)
{
    if (table->states > 32 || table->events > 32 || table->first >= table->states)
        rt_fault_assert(kernel, "%s: bad machine", table->name);
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (!row_is_sound(table, &table->rows[i]))
            rt_fault_assert(kernel, "%s: bad row %u", table->name, i);
    }
    *fsm = (struct rt_fsm){.kernel = kernel, .table = table, .context = context, .state = table->first};
}

static void step(struct rt_fsm *fsm, unsigned event, uint64_t argument)
{
    const struct rt_fsm_table *table = fsm->table;
    const struct rt_fsm_row *row = find_row(table, fsm->state, event);

    if (row) {
        fsm->state = row->next;
        if (row->action)
            row->action(fsm->context, event, argument);
    } else if (table->strict >> fsm->state & 1) {
        rt_fault_assert(fsm->kernel, "%s: event %s in state %s", table->name, table->event_names[event],
                        table->state_names[fsm->state]);
    } else {
        fsm->ignored++;
    }
}

static void check_poster(const struct rt_fsm *fsm, unsigned event)
{
    struct rt_task *poster = fsm->kernel->current;

    if (poster != fsm->poster)
        rt_fault_assert(fsm->kernel, "%s: event %s posted by %s in the middle of an action of %s",
                        fsm->table->name, fsm->table->event_names[event], poster ? poster->name : "boot",
                        fsm->poster ? fsm->poster->name : "boot");
}

static void leave_for_later(struct rt_fsm *fsm, unsigned event, uint64_t argument)
{
    const unsigned at = (fsm->oldest + fsm->pending) % RT_FSM_PENDING;

    if (fsm->pending == RT_FSM_PENDING)
        rt_fault_assert(fsm->kernel, "%s: more than %d events posted by actions", fsm->table->name,
                        RT_FSM_PENDING);
    fsm->ring[at].event = (uint8_t)event;
    fsm->ring[at].argument = argument;
    fsm->pending++;
}

void rt_fsm_post(struct rt_fsm *fsm, unsigned event, uint64_t argument)
{
    rt_sched_check_context(fsm->kernel, __func__);
    if (event >= fsm->table->events)
        rt_fault_assert(fsm->kernel, "%s: event %u is out of range", fsm->table->name, event);
    if (fsm->running) {
        check_poster(fsm, event);
        leave_for_later(fsm, event, argument);
        return;
    }
    fsm->running = true;
    fsm->poster = fsm->kernel->current;
    step(fsm, event, argument);
    while (fsm->pending) {
        const unsigned at = fsm->oldest;

        fsm->oldest = (uint8_t)((at + 1) % RT_FSM_PENDING);
        fsm->pending--;
        step(fsm, fsm->ring[at].event, fsm->ring[at].argument);
    }
    fsm->running = false;
}

void rt_fsm_cross(struct rt_fsm *fsm, unsigned next)
{
    const struct rt_fsm_table *table = fsm->table;

    rt_sched_check_context(fsm->kernel, __func__);
    if (fsm->running || next >= table->states || table->transient >> next & 1 ||
        !(table->transient >> fsm->state & 1))
        rt_fault_assert(fsm->kernel, "%s: state %s is not crossed to %s", table->name,
                        table->state_names[fsm->state],
                        next < table->states ? table->state_names[next] : "none");
    fsm->state = (uint8_t)next;
}

unsigned rt_fsm_state(const struct rt_fsm *fsm)
{
    return fsm->state;
}

const char *rt_fsm_state_name(const struct rt_fsm *fsm)
{
    return fsm->table->state_names[fsm->state];
}
