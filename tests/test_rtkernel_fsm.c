/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State machines of the real-time kernel: what they refuse. test_rtkernel_parts has one that runs its table.
 */
#include "support.h"

#include <string.h>

#include "rtkernel/fsm.h"
#include "rtkernel/task.h"
#include "rtport.h"

#define CARVE_OUT (1u << 20)
#define STACK     4096u

struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    void (*body)(struct rig *rig); /* what the task does */
    unsigned actions;
};

static void task(void *arg)
{
    struct rig *rig = arg;

    rig->body(rig);
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = arg;
    struct rt_task *made;

    rig->kernel = kernel;
    rt_task_create(kernel, &made, "victim", 3, STACK, task, rig);
}

/* Runs until the fault, which must say that and happen there. */
static void expect(struct rig *rig, const char *text, const char *task_name)
{
    rig->port = rtport_create(CARVE_OUT, 4096);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_FAULTED);
    assert_string_equal(rtport_fault(rig->port)->text, text);
    assert_string_equal(rtport_fault(rig->port)->task, task_name);
    rtport_destroy(rig->port);
}

/*
 * Ch. 29: an event delivered in PAUSE is an invariant violation; elsewhere an event without a row is nothing.
 */
enum { RUN, PAUSE };
enum { DISPATCH, DRAIN };
static const char *const state_names[] = {"RUN", "PAUSE"};
static const char *const event_names[] = {"dispatch", "drain"};
static const struct rt_fsm_row rows[] = {{RUN, DRAIN, PAUSE, NULL}};
static const struct rt_fsm_table pausing = {
    .name = "exeloop",
    .state_names = state_names,
    .event_names = event_names,
    .states = 2,
    .events = 2,
    .first = RUN,
    .strict = 1u << PAUSE,
    .rows = rows,
    .row_count = 1,
};

static void post_in_pause(struct rig *rig)
{
    struct rt_fsm fsm;

    rt_fsm_init(&fsm, rig->kernel, &pausing, rig);
    rt_fsm_post(&fsm, DISPATCH, 0); /* ignored */
    rt_fsm_post(&fsm, DRAIN, 0);
    rt_fsm_post(&fsm, DISPATCH, 0);
}

static void post_foreign(struct rig *rig)
{
    struct rt_fsm fsm;

    rt_fsm_init(&fsm, rig->kernel, &pausing, rig);
    rt_fsm_post(&fsm, 2, 0);
}

static void ambiguous(struct rig *rig)
{
    static const struct rt_fsm_row twice[] = {{RUN, DRAIN, PAUSE, NULL}, {RUN, DRAIN, RUN, NULL}};
    struct rt_fsm_table table = pausing;
    struct rt_fsm fsm;

    table.rows = twice;
    table.row_count = 2;
    rt_fsm_init(&fsm, rig->kernel, &table, rig);
}

static void a_strict_state_machine_faults_on_what_it_does_not_expect(void **state)
{
    struct rig pause = {.body = post_in_pause}, foreign = {.body = post_foreign}, bad = {.body = ambiguous};

    (void)state;
    expect(&pause, "exeloop: event dispatch in state PAUSE", "victim");
    expect(&foreign, "exeloop: event 2 is out of range", "victim");
    expect(&bad, "exeloop: bad row 1", "victim");
}

/*
 * A transient state has no rows: an event there is a fault, and it is left by crossing it. Nothing else is
 * crossed, and not to a state that is transient itself.
 */
static struct rt_fsm_table crossed(void)
{
    struct rt_fsm_table table = pausing;

    table.transient = 1u << PAUSE;
    return table;
}

static void cross(struct rig *rig)
{
    const struct rt_fsm_table table = crossed();
    struct rt_fsm fsm;

    rt_fsm_init(&fsm, rig->kernel, &table, rig);
    rt_fsm_post(&fsm, DRAIN, 0);
    rig->actions += rt_fsm_state(&fsm) == PAUSE;
    rt_fsm_cross(&fsm, RUN);
    rig->actions += rt_fsm_state(&fsm) == RUN;
    rt_fsm_post(&fsm, DRAIN, 0);
    rig->actions += rt_fsm_state(&fsm) == PAUSE;
    rt_fsm_post(&fsm, DRAIN, 0);
}

static void cross_from_run(struct rig *rig)
{
    const struct rt_fsm_table table = crossed();
    struct rt_fsm fsm;

    rt_fsm_init(&fsm, rig->kernel, &table, rig);
    rt_fsm_cross(&fsm, RUN);
}

static void cross_to(struct rig *rig, unsigned next)
{
    const struct rt_fsm_table table = crossed();
    struct rt_fsm fsm;

    rt_fsm_init(&fsm, rig->kernel, &table, rig);
    rt_fsm_post(&fsm, DRAIN, 0);
    rt_fsm_cross(&fsm, next);
}

static void cross_to_itself(struct rig *rig)
{
    cross_to(rig, PAUSE);
}

static void cross_to_none(struct rig *rig)
{
    cross_to(rig, 2);
}

static void leave_by_a_row(struct rig *rig)
{
    static const struct rt_fsm_row leaving[] = {{RUN, DRAIN, PAUSE, NULL}, {PAUSE, DRAIN, RUN, NULL}};
    struct rt_fsm_table table = crossed();
    struct rt_fsm fsm;

    table.rows = leaving;
    table.row_count = 2;
    rt_fsm_init(&fsm, rig->kernel, &table, rig);
}

static void a_transient_state_is_crossed_and_takes_no_event(void **state)
{
    struct rig good = {.body = cross}, run = {.body = cross_from_run}, itself = {.body = cross_to_itself},
               none = {.body = cross_to_none}, row = {.body = leave_by_a_row};

    (void)state;
    expect(&good, "exeloop: event drain in state PAUSE", "victim");
    assert_int_equal(good.actions, 3);
    expect(&run, "exeloop: state RUN is not crossed to RUN", "victim");
    expect(&itself, "exeloop: state PAUSE is not crossed to PAUSE", "victim");
    expect(&none, "exeloop: state PAUSE is not crossed to none", "victim");
    expect(&row, "exeloop: bad row 1", "victim");
}

/* An action that posts one event too many, and one that is interrupted by another task's event. */
static struct rt_fsm shared;

static void post_many(void *context, unsigned event, uint64_t argument)
{
    (void)context;
    (void)event;
    (void)argument;
    for (unsigned i = 0; i <= RT_FSM_PENDING; i++)
        rt_fsm_post(&shared, DISPATCH, i);
}

static void act_slowly(void *context, unsigned event, uint64_t argument)
{
    struct rig *rig = context;

    (void)event;
    (void)argument;
    rt_task_sleep(rig->kernel, 10);
}

static const struct rt_fsm_row many_rows[] = {{RUN, DISPATCH, RUN, post_many}};
static const struct rt_fsm_row slow_rows[] = {{RUN, DISPATCH, RUN, act_slowly}};

static void init_shared(struct rig *rig, const struct rt_fsm_row *row)
{
    static struct rt_fsm_table table;

    table = pausing;
    table.rows = row;
    rt_fsm_init(&shared, rig->kernel, &table, rig);
}

static void overfill(struct rig *rig)
{
    init_shared(rig, many_rows);
    rt_fsm_post(&shared, DISPATCH, 0);
}

static void post_shared(void *arg)
{
    (void)arg;
    rt_fsm_post(&shared, DISPATCH, 0);
}

static void share(struct rig *rig)
{
    struct rt_task *other;

    init_shared(rig, slow_rows);
    rt_task_create(rig->kernel, &other, "other", 5, STACK, post_shared, rig);
    rt_fsm_post(&shared, DISPATCH, 0);
}

static void a_state_machine_faults_on_too_many_events_and_on_two_tasks(void **state)
{
    struct rig many = {.body = overfill}, two = {.body = share};

    (void)state;
    expect(&many, "exeloop: more than 8 events posted by actions", "victim");
    expect(&two, "exeloop: event dispatch posted by other in the middle of an action of victim", "other");
}

/* What an action posts waits until it has returned, in the order of posting. */
static void post_all_that_fit(void *context, unsigned event, uint64_t argument)
{
    struct rig *rig = context;

    (void)event;
    if (argument == 0) {
        for (unsigned i = 1; i <= RT_FSM_PENDING; i++)
            rt_fsm_post(&shared, DISPATCH, i);
        rig->actions = rig->actions == 0 ? 1 : 100;
    } else {
        rig->actions = rig->actions == argument ? rig->actions + 1 : 100;
    }
}

static const struct rt_fsm_row fitting_rows[] = {{RUN, DISPATCH, RUN, post_all_that_fit}};

static void fill(struct rig *rig)
{
    init_shared(rig, fitting_rows);
    rt_fsm_post(&shared, DISPATCH, 0);
}

static void pending_events_run_in_order(void **state)
{
    struct rig rig = {.body = fill};

    (void)state;
    rig.port = rtport_create(CARVE_OUT, 4096);
    assert_int_equal(rtport_start(rig.port, setup, &rig, RT_FOREVER), RTPORT_IDLE);
    assert_int_equal(rig.actions, RT_FSM_PENDING + 1);
    rtport_destroy(rig.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strict_state_machine_faults_on_what_it_does_not_expect),
        cmocka_unit_test(a_transient_state_is_crossed_and_takes_no_event),
        cmocka_unit_test(a_state_machine_faults_on_too_many_events_and_on_two_tasks),
        cmocka_unit_test(pending_events_run_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
