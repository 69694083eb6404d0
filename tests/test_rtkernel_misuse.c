/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the real-time kernel refuses with a fault: with an object that was deleted, and in a context
 * where they may not be made. The fault names the call.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/fsm.h"
#include "rtkernel/heap.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/mutex.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"
#include "rtport.h"

#define CARVE_OUT (1u << 20)
#define STACK     4096u
#define LINE      7u

struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_task *task, *other;
    struct rt_semaphore *semaphore;
    struct rt_mailbox *mailbox;
    struct rt_queue *queue;
    struct rt_signal *signal;
    struct rt_timer *timer;
    struct rt_mutex *mutex;
    struct rt_fsm fsm;
    void (*body)(struct rig *rig);
    uint8_t message[16];
    uint64_t word;
    bool after;
};

/* Where the body of a case runs. */
enum place { IN_TASK, IN_HANDLER, MASKED, AT_BOOT };

struct rig_run {
    struct rig rig;
    enum place place;
};

static void handler(void *arg, unsigned line)
{
    struct rig *rig = arg;

    (void)line;
    rig->body(rig);
}

static void victim(void *arg)
{
    struct rig_run *run = arg;
    struct rig *rig = &run->rig;
    uint32_t previous;

    switch (run->place) {
    case IN_HANDLER: rt_irq_raise(rig->kernel, LINE); break;
    case MASKED:
        previous = rt_irq_mask(rig->kernel);
        rig->body(rig);
        rt_irq_restore(rig->kernel, previous);
        break;
    default: rig->body(rig); break;
    }
    rig->after = true;
    rt_task_sleep(rig->kernel, RT_FOREVER);
}

static void wait_forever(void *arg)
{
    struct rig_run *run = arg;

    rt_task_sleep(run->rig.kernel, RT_FOREVER);
}

static const struct rt_fsm_row rows[] = {{0, 0, 0, NULL}};
static const char *const names[] = {"ONLY"};
static const struct rt_fsm_table table = {.name = "one",
                                          .state_names = names,
                                          .event_names = names,
                                          .states = 1,
                                          .events = 1,
                                          .strict = RT_FSM_STRICT,
                                          .rows = rows,
                                          .row_count = 1};

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct rig_run *run = arg;
    struct rig *rig = &run->rig;

    rig->kernel = kernel;
    rt_semaphore_create(kernel, &rig->semaphore, 1, 2);
    rt_mailbox_create(kernel, &rig->mailbox);
    rt_queue_create(kernel, &rig->queue, 16, 2);
    rt_signal_create(kernel, &rig->signal);
    rt_timer_create_give(kernel, &rig->timer, rig->semaphore);
    rt_mutex_create(kernel, &rig->mutex);
    rt_fsm_init(&rig->fsm, kernel, &table, rig);
    rt_irq_attach(kernel, LINE, handler, rig);
    rt_task_create(kernel, &rig->other, "other", 2, STACK, wait_forever, run);
    rt_task_create(kernel, &rig->task, "victim", 3, STACK, victim, run);
    if (run->place == AT_BOOT)
        rig->body(rig);
}

static enum rtport_end start(struct rig_run *run, void (*body)(struct rig *rig), enum place place)
{
    memset(run, 0, sizeof(*run));
    run->place = place;
    run->rig.body = body;
    run->rig.port = rtport_create(CARVE_OUT, 4096);
    return rtport_start(run->rig.port, setup, run, RT_FOREVER);
}

struct misuse {
    void (*body)(struct rig *rig);
    const char *text;
};

static void expect_faults(const struct misuse *misuse, unsigned count, enum place place, const char *tail)
{
    struct rig_run run;
    char expected[RT_TEXT_BYTES];

    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(start(&run, misuse[i].body, place), RTPORT_FAULTED);
        snprintf(expected, sizeof(expected), "%s%s", misuse[i].text, tail);
        assert_string_equal(rtport_fault(run.rig.port)->text, expected);
        assert_int_equal(rtport_fault(run.rig.port)->in_interrupt, place == IN_HANDLER);
        assert_false(run.rig.after);
        rtport_destroy(run.rig.port);
    }
}
#define EXPECT_FAULTS(table, place, tail) \
    expect_faults((table), sizeof(table) / sizeof((table)[0]), (place), (tail))

/* A body per call. The name of the function is that of the call. */
#define CALL(name, ...)                      \
    static void call_##name(struct rig *rig) \
    {                                        \
        __VA_ARGS__;                         \
    }
/* The same, with the object deleted before. */
#define AFTER_DELETE(name, kind, ...)           \
    static void deleted_##name(struct rig *rig) \
    {                                           \
        rt_##kind##_delete(rig->kind);          \
        __VA_ARGS__;                            \
    }

static void end_other(struct rig *rig)
{
    if (!rt_task_delete(rig->other))
        rt_task_sleep(rig->kernel, 1); /* the terminator reaps it */
}

AFTER_DELETE(semaphore_delete, semaphore, rt_semaphore_delete(rig->semaphore))
AFTER_DELETE(semaphore_take, semaphore, rt_semaphore_take(rig->semaphore, RT_NO_WAIT))
AFTER_DELETE(semaphore_give, semaphore, rt_semaphore_give(rig->semaphore))
AFTER_DELETE(semaphore_count, semaphore, (void)rt_semaphore_count(rig->semaphore))
AFTER_DELETE(mailbox_delete, mailbox, rt_mailbox_delete(rig->mailbox))
AFTER_DELETE(mailbox_post, mailbox, rt_mailbox_post(rig->mailbox, 1))
AFTER_DELETE(mailbox_fetch, mailbox, rt_mailbox_fetch(rig->mailbox, &rig->word, 5))
AFTER_DELETE(queue_delete, queue, rt_queue_delete(rig->queue))
AFTER_DELETE(queue_send, queue, rt_queue_send(rig->queue, "x", 1, RT_FOREVER))
AFTER_DELETE(queue_try_send, queue, rt_queue_try_send(rig->queue, "x", 1))
AFTER_DELETE(queue_receive, queue, rt_queue_receive(rig->queue, rig->message, 16, 5))
AFTER_DELETE(queue_count, queue, (void)rt_queue_count(rig->queue))
AFTER_DELETE(queue_width, queue, (void)rt_queue_width(rig->queue))
AFTER_DELETE(signal_delete, signal, rt_signal_delete(rig->signal))
AFTER_DELETE(signal_raise, signal, rt_signal_raise(rig->signal, 1))
AFTER_DELETE(signal_wait, signal, rt_signal_wait(rig->signal, 1, NULL, RT_NO_WAIT))
AFTER_DELETE(timer_delete, timer, rt_timer_delete(rig->timer))
AFTER_DELETE(timer_start, timer, rt_timer_start(rig->timer, 1, 0))
AFTER_DELETE(timer_stop, timer, rt_timer_stop(rig->timer))
AFTER_DELETE(timer_running, timer, (void)rt_timer_running(rig->timer))
AFTER_DELETE(timer_missed, timer, (void)rt_timer_missed(rig->timer))
AFTER_DELETE(timer_create_post, queue, rt_timer_create_post(rig->kernel, &rig->timer, rig->queue, "x", 1))
AFTER_DELETE(timer_create_give, semaphore, rt_timer_create_give(rig->kernel, &rig->timer, rig->semaphore))
AFTER_DELETE(mutex_delete, mutex, rt_mutex_delete(rig->mutex))
AFTER_DELETE(mutex_lock, mutex, rt_mutex_lock(rig->mutex, RT_NO_WAIT))
AFTER_DELETE(mutex_unlock, mutex, rt_mutex_unlock(rig->mutex))
AFTER_DELETE(mutex_owner, mutex, (void)rt_mutex_owner(rig->mutex))

#define AFTER_END(name, ...)                    \
    static void deleted_##name(struct rig *rig) \
    {                                           \
        end_other(rig);                         \
        __VA_ARGS__;                            \
    }
AFTER_END(task_name, (void)rt_task_name(rig->other))
AFTER_END(task_state, (void)rt_task_state(rig->other))
AFTER_END(task_suspend, rt_task_suspend(rig->other))
AFTER_END(task_resume, rt_task_resume(rig->other))
AFTER_END(task_delete, rt_task_delete(rig->other))
AFTER_END(task_queues, rt_task_queues(rig->other, 8, 1, 1))
AFTER_END(task_input, (void)rt_task_input(rig->other))
AFTER_END(task_interrupts, (void)rt_task_interrupts(rig->other))

#define DELETED(name, kind)                                       \
    {                                                             \
        deleted_##name, "rt_" #name ": the " #kind " was deleted" \
    }

static void a_deleted_object_is_refused_by_every_call(void **state)
{
    static const struct misuse cases[] = {
        DELETED(semaphore_delete, semaphore),
        DELETED(semaphore_take, semaphore),
        DELETED(semaphore_give, semaphore),
        DELETED(semaphore_count, semaphore),
        DELETED(mailbox_delete, mailbox),
        DELETED(mailbox_post, mailbox),
        DELETED(mailbox_fetch, mailbox),
        DELETED(queue_delete, queue),
        DELETED(queue_send, queue),
        DELETED(queue_try_send, queue),
        DELETED(queue_receive, queue),
        DELETED(queue_count, queue),
        DELETED(queue_width, queue),
        DELETED(signal_delete, signal),
        DELETED(signal_raise, signal),
        DELETED(signal_wait, signal),
        DELETED(timer_delete, timer),
        DELETED(timer_start, timer),
        DELETED(timer_stop, timer),
        DELETED(timer_running, timer),
        DELETED(timer_missed, timer),
        DELETED(timer_create_post, queue),
        DELETED(timer_create_give, semaphore),
        DELETED(mutex_delete, mutex),
        DELETED(mutex_lock, mutex),
        DELETED(mutex_unlock, mutex),
        DELETED(mutex_owner, mutex),
        DELETED(task_name, task),
        DELETED(task_state, task),
        DELETED(task_suspend, task),
        DELETED(task_resume, task),
        DELETED(task_delete, task),
        DELETED(task_queues, task),
        DELETED(task_input, task),
        DELETED(task_interrupts, task),
    };

    (void)state;
    EXPECT_FAULTS(cases, IN_TASK, "");
}

static void fire_at_semaphore(struct rig *rig)
{
    rt_timer_start(rig->timer, 5, 0);
    rt_semaphore_delete(rig->semaphore);
    rt_task_sleep(rig->kernel, 10);
}

static void fire_at_queue(struct rig *rig)
{
    struct rt_timer *timer;

    rt_timer_create_post(rig->kernel, &timer, rig->queue, "x", 1);
    rt_timer_start(timer, 5, 0);
    rt_queue_delete(rig->queue);
    rt_task_sleep(rig->kernel, 10);
}

static void a_timer_that_outlives_its_target_is_a_fault(void **state)
{
    static const struct misuse cases[] = {
        {fire_at_semaphore, "a timer fired: the semaphore was deleted"},
        {fire_at_queue, "a timer fired: the queue was deleted"},
    };
    struct rig_run run;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(start(&run, cases[i].body, IN_TASK), RTPORT_FAULTED);
        assert_string_equal(rtport_fault(run.rig.port)->text, cases[i].text);
        assert_true(rtport_fault(run.rig.port)->in_interrupt);
        assert_int_equal(rtport_fault(run.rig.port)->line, RT_IRQ_TIMER);
        rtport_destroy(run.rig.port);
    }
}

static void take_mailbox(struct rig *rig)
{
    rt_semaphore_take((struct rt_semaphore *)(void *)rig->mailbox, RT_NO_WAIT);
}

static void an_object_of_another_kind_is_refused(void **state)
{
    static const struct misuse cases[] = {
        {take_mailbox, "rt_semaphore_take: not a semaphore, or its memory was overwritten"}};

    (void)state;
    EXPECT_FAULTS(cases, IN_TASK, "");
}

static void do_nothing(void *arg)
{
    (void)arg;
}

CALL(semaphore_take, rt_semaphore_take(rig->semaphore, RT_FOREVER))
CALL(mailbox_fetch, rt_mailbox_fetch(rig->mailbox, &rig->word, 1))
CALL(queue_send, rt_queue_send(rig->queue, "x", 1, RT_FOREVER))
CALL(queue_receive, rt_queue_receive(rig->queue, rig->message, 16, 1))
CALL(signal_wait, rt_signal_wait(rig->signal, 1, NULL, 1))
CALL(mutex_lock, rt_mutex_lock(rig->mutex, 1))
CALL(mutex_try, rt_mutex_lock(rig->mutex, RT_NO_WAIT))
CALL(mutex_unlock, rt_mutex_unlock(rig->mutex))
CALL(task_sleep, rt_task_sleep(rig->kernel, 1))
CALL(task_yield, rt_task_yield(rig->kernel))
CALL(task_exit, rt_task_exit(rig->kernel))
CALL(task_suspend, rt_task_suspend(rig->other))
CALL(task_suspend_self, rt_task_suspend(rig->task))
CALL(task_delete, rt_task_delete(rig->other))
CALL(task_create, rt_task_create(rig->kernel, &rig->other, "new", 2, STACK, do_nothing, NULL))
CALL(task_queues, rt_task_queues(rig->other, 8, 1, 1))
CALL(task_wait_any, rt_task_wait_any(rig->kernel, rig->message, 16, NULL, 1))
CALL(task_try_any, rt_task_wait_any(rig->kernel, rig->message, 16, NULL, RT_NO_WAIT))
CALL(queue_create, rt_queue_create(rig->kernel, &rig->queue, 8, 1))
CALL(queue_delete, rt_queue_delete(rig->queue))
CALL(heap_alloc, (void)rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 8))
CALL(heap_free, rt_heap_free(rig->kernel, NULL))
CALL(fsm_post, rt_fsm_post(&rig->fsm, 0, 0))

/* Subsystem work in a handler: what blocks, what allocates, a pump, a state machine. */
static void a_handler_may_not_do_a_subsystems_work(void **state)
{
    static const struct misuse cases[] = {
        {call_semaphore_take, "rt_semaphore_take"}, {call_mailbox_fetch, "rt_mailbox_fetch"},
        {call_queue_send, "rt_queue_send"},         {call_queue_receive, "rt_queue_receive"},
        {call_signal_wait, "rt_signal_wait"},       {call_mutex_lock, "rt_mutex_lock"},
        {call_mutex_try, "rt_mutex_lock"},          {call_mutex_unlock, "rt_mutex_unlock"},
        {call_task_sleep, "rt_task_sleep"},         {call_task_yield, "rt_task_yield"},
        {call_task_exit, "rt_task_exit"},           {call_task_suspend, "rt_task_suspend"},
        {call_task_delete, "rt_task_delete"},       {call_task_create, "rt_task_create"},
        {call_task_queues, "rt_task_queues"},       {call_task_wait_any, "rt_task_wait_any"},
        {call_task_try_any, "rt_task_wait_any"},    {call_queue_create, "rt_queue_create"},
        {call_queue_delete, "rt_queue_delete"},     {call_heap_alloc, "rt_heap_alloc"},
        {call_heap_free, "rt_heap_free"},           {call_fsm_post, "rt_fsm_post"},
    };

    (void)state;
    EXPECT_FAULTS(cases, IN_HANDLER, " called in interrupt context");
}

static void what_blocks_may_not_be_called_in_a_critical_section(void **state)
{
    static const struct misuse cases[] = {
        {call_semaphore_take, "rt_semaphore_take"}, {call_mailbox_fetch, "rt_mailbox_fetch"},
        {call_queue_send, "rt_queue_send"},         {call_queue_receive, "rt_queue_receive"},
        {call_signal_wait, "rt_signal_wait"},       {call_mutex_lock, "rt_mutex_lock"},
        {call_task_sleep, "rt_task_sleep"},         {call_task_yield, "rt_task_yield"},
        {call_task_exit, "rt_task_exit"},           {call_task_suspend_self, "rt_task_suspend"},
        {call_task_wait_any, "rt_task_wait_any"},
    };

    (void)state;
    EXPECT_FAULTS(cases, MASKED, " called in a critical section");
}

static void what_blocks_may_not_be_called_by_boot_code(void **state)
{
    static const struct misuse cases[] = {
        {call_semaphore_take, "rt_semaphore_take"}, {call_mailbox_fetch, "rt_mailbox_fetch"},
        {call_queue_send, "rt_queue_send"},         {call_queue_receive, "rt_queue_receive"},
        {call_signal_wait, "rt_signal_wait"},       {call_mutex_lock, "rt_mutex_lock"},
        {call_mutex_try, "rt_mutex_lock"},          {call_mutex_unlock, "rt_mutex_unlock"},
        {call_task_sleep, "rt_task_sleep"},         {call_task_yield, "rt_task_yield"},
        {call_task_exit, "rt_task_exit"},           {call_task_wait_any, "rt_task_wait_any"},
        {call_task_try_any, "rt_task_wait_any"},
    };

    (void)state;
    EXPECT_FAULTS(cases, AT_BOOT, " called before the kernel is started");
}

/* What the headers allow in any context, with interrupts masked and unmasked, in handlers and at boot. */
static void call_allowed(struct rig *rig)
{
    struct rt_mailbox *mailbox;
    struct rt_timer *timer;
    uint64_t word;
    unsigned good = 0;

    good += !rt_mailbox_create(rig->kernel, &mailbox);
    good += !rt_mailbox_post(mailbox, 3);
    good += !rt_mailbox_fetch(mailbox, &word, RT_NO_WAIT);
    good += !rt_mailbox_delete(mailbox);
    good += !rt_semaphore_take(rig->semaphore, RT_NO_WAIT);
    good += !rt_semaphore_give(rig->semaphore);
    good += !rt_queue_try_send(rig->queue, "x", 1);
    good += rt_queue_receive(rig->queue, rig->message, 16, RT_NO_WAIT) == 1;
    rt_signal_raise(rig->signal, 2);
    good += !rt_signal_wait(rig->signal, 2, NULL, RT_NO_WAIT);
    good += !rt_timer_create_interrupt(rig->kernel, &timer, LINE + 1);
    rt_timer_start(timer, 1000, 0);
    rt_timer_delete(timer);
    good += !rt_task_resume(rig->other);
    good += rt_irq_raise(rig->kernel, RT_IRQ_LINES) == RT_EINVAL;
    good += rt_mutex_owner(rig->mutex) == NULL;
    good += rt_heap_info(rig->kernel, RT_ARENA_SYSTEM).blocks > 0;
    rt_heap_check(rig->kernel);
    rt_log(rig->kernel, RT_LOG_INFO, "%u", good);
}

static void what_does_not_block_may_be_called_anywhere(void **state)
{
    static const enum place places[] = {IN_TASK, IN_HANDLER, MASKED, AT_BOOT};
    struct rig_run run;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(start(&run, call_allowed, places[i]), RTPORT_IDLE);
        assert_true(run.rig.after);
        assert_non_null(strstr(rt_log_recent(run.rig.kernel, 0)->text, ": 14"));
        rtport_destroy(run.rig.port);
    }
}

/* What was posted is still there: the call says so, the first one stays, and it is counted. */
static void post_twice(struct rig *rig)
{
    uint64_t word = 0;
    unsigned good = 0;

    good += rt_kernel_refused_posts(rig->kernel) == 0;
    good += !rt_mailbox_post(rig->mailbox, 1) && rt_mailbox_post(rig->mailbox, 2) == RT_EAGAIN;
    good += rt_kernel_refused_posts(rig->kernel) == 1;
    good += !rt_mailbox_fetch(rig->mailbox, &word, RT_NO_WAIT) && word == 1;
    good += !rt_semaphore_give(rig->semaphore) && rt_semaphore_give(rig->semaphore) == RT_EOVERFLOW;
    good += rt_kernel_refused_posts(rig->kernel) == 2 && rt_semaphore_count(rig->semaphore) == 2;
    rt_queue_try_send(rig->queue, "a", 1);
    rt_queue_try_send(rig->queue, "b", 1);
    good += rt_queue_try_send(rig->queue, "c", 1) == RT_EAGAIN && rt_queue_count(rig->queue) == 2;
    good += rt_kernel_refused_posts(rig->kernel) == 3;
    good += rt_queue_send(rig->queue, "c", 1, 5) == RT_ETIMEDOUT;
    good += rt_kernel_refused_posts(rig->kernel) == 3; /* it waited: that is no double post */
    rig->word = good;
}

static void a_second_post_is_refused_and_counted(void **state)
{
    struct rig_run run;

    (void)state;
    assert_int_equal(start(&run, post_twice, IN_TASK), RTPORT_IDLE);
    assert_int_equal(run.rig.word, 10);
    rtport_destroy(run.rig.port);
}

/* A task's own queues go with the task. */
static void delete_own_queue(struct rig *rig)
{
    rt_task_queues(rig->task, 8, 1, 1);
    rig->word += rt_queue_delete(rt_task_input(rig->task)) == RT_EBUSY;
    rig->word += rt_queue_delete(rt_task_interrupts(rig->task)) == RT_EBUSY;
}

static void a_tasks_queue_cannot_be_deleted(void **state)
{
    struct rig_run run;

    (void)state;
    assert_int_equal(start(&run, delete_own_queue, IN_TASK), RTPORT_IDLE);
    assert_int_equal(run.rig.word, 2);
    rtport_destroy(run.rig.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_object_is_refused_by_every_call),
        cmocka_unit_test(a_timer_that_outlives_its_target_is_a_fault),
        cmocka_unit_test(an_object_of_another_kind_is_refused),
        cmocka_unit_test(a_handler_may_not_do_a_subsystems_work),
        cmocka_unit_test(what_blocks_may_not_be_called_in_a_critical_section),
        cmocka_unit_test(what_blocks_may_not_be_called_by_boot_code),
        cmocka_unit_test(what_does_not_block_may_be_called_anywhere),
        cmocka_unit_test(a_second_post_is_refused_and_counted),
        cmocka_unit_test(a_tasks_queue_cannot_be_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
