/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random calls of eight tasks, of interrupt handlers and of timers, against a model of the kernel. Before
 * each call the task compares: it is the one that the model lets run, the clock is the model's, its last call
 * has returned what the model says, and all tasks and objects are in the states they should be in.
 */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rtkernel/mailbox.h"
#include "rtkernel/mutex.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/state.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"
#include "rtmodel.h"
#include "rtport.h"

#define CARVE_OUT (2u << 20)
#define STACK     4096u
#define LINE      9u
#define LONG_RUN  100000u
#define SHORT_RUN 20000u

struct run;

struct player {
    struct run *run;
    int number;
    bool called; /* has made a call whose result is to be compared */
    bool gets_value;
    int result;
    uint64_t value;
};

struct run {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rtmodel model;
    struct test_rng rng;
    struct player player[RTMODEL_TASKS];
    struct rt_task *task[RTMODEL_TASKS];
    struct rt_semaphore *semaphore[RTMODEL_EACH];
    struct rt_queue *queue[RTMODEL_EACH];
    struct rt_mailbox *mailbox[RTMODEL_EACH];
    struct rt_signal *signal[RTMODEL_EACH];
    struct rt_mutex *mutex[RTMODEL_EACH];
    struct rt_timer *timer[RTMODEL_EACH];
    struct rtmodel_op op; /* of the handler */
    unsigned calls, limit;
    unsigned made[RTMODEL_CALLS];
    uint64_t story; /* a hash of who did what, when */
    char difference[160];
};

static void differ(struct run *run, const char *what, int64_t kernel, int64_t model)
{
    if (!run->difference[0])
        snprintf(run->difference, sizeof(run->difference),
                 "call %u: %s: %" PRId64 " in the kernel, %" PRId64 " in the model", run->calls, what, kernel,
                 model);
}

static void compare(struct run *run, const char *what, int64_t kernel, int64_t model)
{
    if (kernel != model)
        differ(run, what, kernel, model);
}

static void compare_tasks(struct run *run)
{
    for (int t = 0; t < RTMODEL_TASKS; t++) {
        if (!run->model.task[t].exists)
            continue;
        compare(run, "priority", run->task[t]->priority, run->model.task[t].priority);
        compare(run, "base priority", run->task[t]->base, run->model.task[t].base);
        if (!rtmodel_has_state(&run->model, t, rt_task_state(run->task[t])))
            differ(run, rt_task_state_name(rt_task_state(run->task[t])), t, -1);
    }
}

static int number_of(const struct run *run, const struct rt_task *task)
{
    for (int t = 0; task && t < RTMODEL_TASKS; t++) {
        if (run->model.task[t].exists && run->task[t] == task)
            return t;
    }
    return RTMODEL_NONE;
}

static void compare_objects(struct run *run)
{
    for (int i = 0; i < RTMODEL_EACH; i++) {
        compare(run, "units", rt_semaphore_count(run->semaphore[i]), run->model.units[i]);
        compare(run, "messages", rt_queue_count(run->queue[i]), run->model.queue[i].messages);
        compare(run, "mailbox", run->mailbox[i]->full, run->model.mailbox[i].full);
        compare(run, "flags", run->signal[i]->flags, run->model.flags[i]);
        compare(run, "owner", number_of(run, rt_mutex_owner(run->mutex[i])), run->model.owner[i]);
        compare(run, "timer", rt_timer_running(run->timer[i]), run->model.event[RTMODEL_TASKS + i].set);
    }
}

/* A task is out of its call: the model must agree that it is this one, now, with that result. */
static void check_in(struct player *player)
{
    struct run *run = player->run;
    const struct rtmodel_task *expected = &run->model.task[player->number];

    compare(run, "running task", player->number, run->model.current);
    compare(run, "time", (int64_t)rtport_now(run->port), (int64_t)run->model.now);
    if (player->called) {
        compare(run, "result", player->result, expected->result);
        if (player->gets_value && !player->result)
            compare(run, "value", (int64_t)player->value, (int64_t)expected->value);
    }
    compare_tasks(run);
    compare_objects(run);
    run->story = (run->story ^ (uint64_t)player->number ^ (uint64_t)player->result << 8 ^
                  player->value << 24 ^ rtport_now(run->port) << 40) *
                 0x100000001b3ull;
}

static uint64_t below(struct run *run, uint32_t end)
{
    return test_rng_u32(&run->rng) % end;
}

/* The first player can always go on, by itself, after a while: so the others never stop for good. */
static uint64_t some_timeout(struct run *run, int player)
{
    switch (below(run, 4)) {
    case 0: return RT_NO_WAIT;
    case 1: return player ? RT_FOREVER : 40;
    default: return 1 + below(run, 60);
    }
}

static const enum rtmodel_call handler_calls[] = {RTMODEL_GIVE, RTMODEL_SEND, RTMODEL_POST, RTMODEL_RAISE,
                                                  RTMODEL_RESUME};

static void aim(struct run *run, struct rtmodel_op *op)
{
    const enum rtmodel_call call = op->call == RTMODEL_INTERRUPT ? op->inside : op->call;

    switch (call) {
    case RTMODEL_SLEEP: op->timeout = 1 + below(run, 50); break;
    case RTMODEL_SUSPEND:
    case RTMODEL_DELETE:
    case RTMODEL_RESUME:
    case RTMODEL_CREATE: op->object = 1 + (int)below(run, RTMODEL_TASKS - 1); break;
    case RTMODEL_RAISE:
    case RTMODEL_WAIT: op->value = 1 + below(run, 15); break;
    case RTMODEL_START: op->period = below(run, 2) ? 5 + below(run, 90) : 0; break;
    default: break;
    }
    if (call == RTMODEL_CREATE)
        op->value = 2 + below(run, 6);
}

static struct rtmodel_op choose(struct player *player)
{
    struct run *run = player->run;
    struct rtmodel_op op = {.call = (enum rtmodel_call)below(run, RTMODEL_CALLS),
                            .object = (int)below(run, RTMODEL_EACH),
                            .timeout = some_timeout(run, player->number),
                            .value = 1 + below(run, 40)};

    op.inside = handler_calls[below(run, sizeof(handler_calls) / sizeof(handler_calls[0]))];
    aim(run, &op);
    return op;
}

/* What may be called depends on whether the task that is meant exists. */
static bool possible(const struct run *run, const struct rtmodel_op *op)
{
    const enum rtmodel_call call = op->call == RTMODEL_INTERRUPT ? op->inside : op->call;

    switch (call) {
    case RTMODEL_SUSPEND:
    case RTMODEL_DELETE:
    case RTMODEL_RESUME: return run->model.task[op->object].exists;
    case RTMODEL_CREATE: return !run->model.task[op->object].exists;
    default: return true;
    }
}

static void play(void *arg);

static int create(struct run *run, int number, unsigned priority)
{
    run->player[number] = (struct player){.run = run, .number = number};
    return rt_task_create(run->kernel, &run->task[number], "player", priority, STACK, play,
                          &run->player[number]);
}

static void spend(struct run *run, uint64_t nanoseconds)
{
    rtport_spend(run->port, nanoseconds);
    rt_irq_restore(run->kernel, rt_irq_mask(run->kernel)); /* where this port delivers */
}

static int receive(struct run *run, const struct rtmodel_op *op, uint64_t *value)
{
    const int result = rt_queue_receive(run->queue[op->object], value, sizeof(*value), op->timeout);

    return result == (int)sizeof(*value) ? RT_OK : result;
}

static int wait_flags(struct run *run, const struct rtmodel_op *op, uint64_t *value)
{
    uint32_t taken = 0;
    const int result = rt_signal_wait(run->signal[op->object], (uint32_t)op->value, &taken, op->timeout);

    *value = taken;
    return result;
}

/* The calls that return nothing. */
static int other_call(struct run *run, const struct rtmodel_op *op)
{
    switch (op->call) {
    case RTMODEL_RAISE: rt_signal_raise(run->signal[op->object], (uint32_t)op->value); break;
    case RTMODEL_SLEEP: rt_task_sleep(run->kernel, op->timeout); return RT_ETIMEDOUT;
    case RTMODEL_YIELD: rt_task_yield(run->kernel); break;
    case RTMODEL_START: rt_timer_start(run->timer[op->object], op->value, op->period); break;
    case RTMODEL_STOP: rt_timer_stop(run->timer[op->object]); break;
    case RTMODEL_SPEND: spend(run, op->value); break;
    case RTMODEL_INTERRUPT: return rt_irq_raise(run->kernel, LINE);
    default: break;
    }
    return RT_OK;
}

static int make_call(struct run *run, const struct rtmodel_op *op, uint64_t *value)
{
    const int o = op->object;

    switch (op->call) {
    case RTMODEL_TAKE: return rt_semaphore_take(run->semaphore[o], op->timeout);
    case RTMODEL_GIVE: return rt_semaphore_give(run->semaphore[o]);
    case RTMODEL_SEND: return rt_queue_send(run->queue[o], &op->value, sizeof(op->value), op->timeout);
    case RTMODEL_RECEIVE: return receive(run, op, value);
    case RTMODEL_POST: return rt_mailbox_post(run->mailbox[o], op->value);
    case RTMODEL_FETCH: return rt_mailbox_fetch(run->mailbox[o], value, op->timeout);
    case RTMODEL_WAIT: return wait_flags(run, op, value);
    case RTMODEL_LOCK: return rt_mutex_lock(run->mutex[o], op->timeout);
    case RTMODEL_UNLOCK: return rt_mutex_unlock(run->mutex[o]);
    case RTMODEL_SUSPEND: return rt_task_suspend(run->task[o]);
    case RTMODEL_RESUME: return rt_task_resume(run->task[o]);
    case RTMODEL_DELETE: return rt_task_delete(run->task[o]);
    case RTMODEL_CREATE: return create(run, o, (unsigned)op->value);
    default: return other_call(run, op);
    }
}

static void handler(void *arg, unsigned line)
{
    struct run *run = arg;
    struct rtmodel_op op = run->op;
    uint64_t value;

    (void)line;
    op.call = op.inside;
    op.timeout = RT_NO_WAIT;
    (void)make_call(run, &op, &value);
}

static void play(void *arg)
{
    struct player *player = arg;
    struct run *run = player->run;

    for (;;) {
        struct rtmodel_op op;

        check_in(player);
        if (run->difference[0] || run->calls == run->limit)
            rt_port_halt(run->port);
        do
            op = choose(player);
        while (!possible(run, &op));
        run->calls++;
        run->made[op.call]++;
        run->op = op;
        player->called = true;
        player->gets_value =
            op.call == RTMODEL_RECEIVE || op.call == RTMODEL_FETCH || op.call == RTMODEL_WAIT;
        player->value = 0;
        rtmodel_step(&run->model, &op);
        player->result = make_call(run, &op, &player->value);
    }
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct run *run = arg;

    run->kernel = kernel;
    rtmodel_init(&run->model);
    for (int i = 0; i < RTMODEL_EACH; i++) {
        rt_semaphore_create(kernel, &run->semaphore[i], 0, RTMODEL_LIMIT);
        rt_queue_create(kernel, &run->queue[i], sizeof(uint64_t), RTMODEL_DEPTH);
        rt_mailbox_create(kernel, &run->mailbox[i]);
        rt_signal_create(kernel, &run->signal[i]);
        rt_mutex_create(kernel, &run->mutex[i]);
        rt_timer_create_give(kernel, &run->timer[i], run->semaphore[i]);
    }
    rt_irq_attach(kernel, LINE, handler, run);
    for (int t = 0; t < RTMODEL_TASKS; t++) {
        const unsigned priority = 2 + (unsigned)below(run, 6);

        rtmodel_add(&run->model, t, priority);
        create(run, t, priority);
    }
    rtmodel_start(&run->model);
}

static void run_calls(struct run *run, uint64_t stream, unsigned limit)
{
    memset(run, 0, sizeof(*run));
    run->limit = limit;
    run->story = 0xcbf29ce484222325ull;
    test_rng_init(&run->rng, stream);
    run->port = rtport_create(CARVE_OUT, 0);
    assert_int_equal(rtport_start(run->port, setup, run, RT_FOREVER), RTPORT_HALTED);
    assert_string_equal(run->difference, "");
    assert_int_equal(run->calls, limit);
    rt_heap_check(run->kernel);
    rtport_destroy(run->port);
}

static void the_kernel_does_what_the_model_does(void **state)
{
    struct run run;

    (void)state;
    run_calls(&run, 1, LONG_RUN);
    for (unsigned call = 0; call < RTMODEL_CALLS; call++)
        assert_true(run.made[call] > LONG_RUN / 200);
    /* the run came to what is hard */
    assert_true(run.model.preemptions > LONG_RUN / 200);
    assert_true(run.model.timeouts > LONG_RUN / 200);
    assert_true(run.model.inheritances > LONG_RUN / 200);
    assert_true(run.model.circles > 0);
    assert_true(run.model.deletions > LONG_RUN / 200);
    printf("# %u calls: %" PRIu64 " preemptions, %" PRIu64 " timeouts, %" PRIu64
           " changes of priority, %" PRIu64 " circles, %" PRIu64 " tasks ended\n",
           run.calls, run.model.preemptions, run.model.timeouts, run.model.inheritances, run.model.circles,
           run.model.deletions);
}

static void a_seed_is_a_story(void **state)
{
    struct run run;
    uint64_t story;

    (void)state;
    for (uint64_t stream = 2; stream < 4; stream++) {
        run_calls(&run, stream, SHORT_RUN);
        story = run.story;
        run_calls(&run, stream, SHORT_RUN);
        assert_true(run.story == story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_does_what_the_model_does),
        cmocka_unit_test(a_seed_is_a_story),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
