/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite-state machines: a constant table of rows, and posted events that drive it. A row's next state is
 * entered first, then its action runs. An event posted by an action runs after that action.
 *
 * A machine is driven by posted events alone: there is no call that sets a state, except to leave a transient
 * one, which has no rows. One task at a time posts: an event that another task posts in the middle of an
 * action is a fault. With a machine for each message pump, that does not arise.
 */
#ifndef RTKERNEL_FSM_H
#define RTKERNEL_FSM_H

#include <stdbool.h>
#include <stdint.h>

#include "rtkernel/rt_limits.h"

struct rt_kernel;
struct rt_task;

struct rt_fsm_row {
    uint8_t state, event, next;
    void (*action)(void *context, unsigned event, uint64_t argument); /* or NULL */
};

struct rt_fsm_table {
    const char *name;
    const char *const *state_names;
    const char *const *event_names;
    uint8_t states, events; /* 32 at most, each */
    uint8_t first;          /* the state to begin with */
    uint32_t strict; /* a bit per state: there, an event without a row is a fault; elsewhere it is ignored */
    uint32_t transient; /* a bit per state that no event leaves: rt_fsm_cross does */
    const struct rt_fsm_row *rows;
    uint32_t row_count;
};
#define RT_FSM_STRICT  0xffffffffu
#define RT_FSM_LENIENT 0u

struct rt_fsm {
    struct rt_kernel *kernel;
    const struct rt_fsm_table *table;
    void *context;
    uint8_t state;
    bool running;           /* an action is */
    struct rt_task *poster; /* whose event it runs; NULL for boot code's */
    uint8_t pending, oldest;
    struct {
        uint8_t event;
        uint64_t argument;
    } ring[RT_FSM_PENDING];
    uint64_t ignored;
};

/*
 * A table that contradicts itself (a row outside its states or events, two rows for one pair, a row of a
 * transient state) is a fault.
 */
void rt_fsm_init(struct rt_fsm *fsm, struct rt_kernel *kernel, const struct rt_fsm_table *table,
                 void *context);
/*
 * Runs the event, and those its action posts; from within an action, leaves it for later. More than
 * RT_FSM_PENDING of those is a fault, and so is a call in interrupt context: actions are a subsystem's work.
 */
void rt_fsm_post(struct rt_fsm *fsm, unsigned event, uint64_t argument);
/*
 * Leaves a transient state. In any other state, to a transient one, or from within an action it is a fault:
 * what happens between the two sides of a transient state takes time, and ends outside of the machine.
 */
void rt_fsm_cross(struct rt_fsm *fsm, unsigned next);
unsigned rt_fsm_state(const struct rt_fsm *fsm);
const char *rt_fsm_state_name(const struct rt_fsm *fsm);

#endif
