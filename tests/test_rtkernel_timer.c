/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of the real-time kernel, and interrupts that software raises. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"
#include "rtport.h"

#define CARVE_OUT (1u << 20)
#define STACK     4096u
#define LINE      12u

struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_task *task[1];
    struct rt_semaphore *semaphore;
    struct rt_queue *queue;
    struct rt_timer *timer;
    char trace[256];
    int result[4];
    uint64_t number[4];
};

static void note(struct rig *rig, const char *text)
{
    const size_t length = strlen(rig->trace);

    snprintf(rig->trace + length, sizeof(rig->trace) - length, "%s", text);
}

static struct rig *enter(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = arg;

    rig->kernel = kernel;
    rt_semaphore_create(kernel, &rig->semaphore, 0, 3);
    rt_queue_create(kernel, &rig->queue, 16, 3);
    return rig;
}

static void run(struct rig *rig, void (*setup)(struct rt_kernel *kernel, void *arg), const char *expected)
{
    memset(rig, 0, sizeof(*rig));
    rig->port = rtport_create(CARVE_OUT, 0);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig->trace, expected);
}

static void collect(void *arg)
{
    struct rig *rig = arg;
    char message[17] = "";
    char text[64];

    for (;;) {
        const int length = rt_queue_receive(rig->queue, message, 16, RT_FOREVER);

        snprintf(text, sizeof(text), "%.*s@%u ", length, message, (unsigned)rtport_now(rig->port));
        note(rig, text);
    }
}

static void timer_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);
    struct rt_timer *once, *stopped;

    rt_task_create(kernel, &rig->task[0], "collect", 2, STACK, collect, rig);
    rt_timer_create_post(kernel, &rig->timer, rig->queue, "tick", 4);
    rt_timer_create_post(kernel, &once, rig->queue, "once", 4);
    rt_timer_create_post(kernel, &stopped, rig->queue, "never", 5);
    rt_timer_start(rig->timer, 100, 250);
    rt_timer_start(once, 350, 0);
    rt_timer_start(stopped, 200, 10);
    rt_timer_stop(stopped);
    rt_timer_start(once, 400, 0); /* instead of 350 */
    rig->result[0] = rt_timer_running(rig->timer);
    rig->result[1] = rt_timer_running(stopped);
    rig->result[2] = rt_timer_create_post(kernel, &stopped, rig->queue, "seventeen letters", 17);
}

static void timers_post_once_or_again(void **state)
{
    struct rig rig;

    (void)state;
    memset(&rig, 0, sizeof(rig));
    rig.port = rtport_create(CARVE_OUT, 64u << 10);
    assert_int_equal(rtport_start(rig.port, timer_setup, &rig, 1000), RTPORT_IDLE);
    assert_string_equal(rig.trace, "tick@100 tick@350 once@400 tick@600 tick@850 ");
    assert_int_equal(rig.result[0], true);
    assert_int_equal(rig.result[1], false);
    assert_int_equal(rig.result[2], RT_EMSGSIZE);
    assert_int_equal(rtport_timer(rig.port), 1100);
    rt_timer_delete(rig.timer);
    assert_int_equal(rtport_timer(rig.port), 0);
    assert_int_equal(rtport_run(rig.port, RT_FOREVER), RTPORT_IDLE);
    assert_int_equal(rtport_now(rig.port), 1000);
    rtport_destroy(rig.port);
}

static void late(void *arg)
{
    struct rig *rig = arg;

    rtport_spend(rig->port, 1049); /* over periods at 100, 200, ... 1000 */
    rt_task_sleep(rig->kernel, 1);
    rig->number[0] = rt_semaphore_count(rig->semaphore);
    rig->number[1] = rt_timer_missed(rig->timer);
    rt_task_sleep(rig->kernel, 350); /* 1100, 1200, 1300, 1400: the limit is 3 */
    rig->number[2] = rt_semaphore_count(rig->semaphore);
    rig->number[3] = rt_timer_missed(rig->timer);
    rt_timer_stop(rig->timer);
}

static void late_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_timer_create_give(kernel, &rig->timer, rig->semaphore);
    rt_timer_start(rig->timer, 100, 100);
    rt_task_create(kernel, &rig->task[0], "late", 2, STACK, late, rig);
}

static void a_timer_counts_what_it_could_not_deliver(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, late_setup, "");
    assert_int_equal(rig.number[0], 1);
    assert_int_equal(rig.number[1], 9);
    assert_int_equal(rig.number[2], 3);
    assert_int_equal(rig.number[3], 9 + 2);
    rtport_destroy(rig.port);
}

/* A timer that raises a line: the timeout interrupt of a subsystem. */
static void on_line(void *arg, unsigned line)
{
    struct rig *rig = arg;
    char text[32];

    snprintf(text, sizeof(text), "%s%u@%u ", rt_kernel_in_interrupt(rig->kernel) ? "!" : "?", line,
             (unsigned)rtport_now(rig->port));
    note(rig, text);
}

static void line_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rig->result[0] = rt_timer_create_interrupt(kernel, &rig->timer, RT_IRQ_LINES);
    rig->result[1] = rt_timer_create_interrupt(kernel, &rig->timer, LINE);
    rt_irq_attach(kernel, LINE, on_line, rig);
    rt_timer_start(rig->timer, 100, 200);
}

static void a_timer_raises_its_line(void **state)
{
    struct rig rig;

    (void)state;
    memset(&rig, 0, sizeof(rig));
    rig.port = rtport_create(CARVE_OUT, 0);
    assert_int_equal(rtport_start(rig.port, line_setup, &rig, 600), RTPORT_IDLE);
    assert_string_equal(rig.trace, "!12@100 !12@300 !12@500 ");
    assert_int_equal(rig.result[0], RT_EINVAL);
    assert_int_equal(rig.result[1], RT_OK);
    assert_int_equal(rt_timer_missed(rig.timer), 0);
    rt_irq_attach(rig.kernel, LINE, NULL, NULL); /* without a handler it is counted as spurious */
    assert_int_equal(rtport_run(rig.port, 800), RTPORT_IDLE);
    assert_int_equal(rt_irq_spurious(rig.kernel), 1);
    rtport_destroy(rig.port);
}

static void raise_lines(void *arg)
{
    struct rig *rig = arg;
    uint32_t previous;

    rig->result[0] = rt_irq_raise(rig->kernel, RT_IRQ_LINES);
    note(rig, "<");
    rig->result[1] = rt_irq_raise(rig->kernel, LINE);
    note(rig, "|");
    previous = rt_irq_mask(rig->kernel);
    rt_irq_raise(rig->kernel, LINE);
    rt_irq_raise(rig->kernel, LINE); /* not taken yet: taken once */
    note(rig, "(");
    rt_irq_restore(rig->kernel, previous);
    note(rig, ")>");
}

static void raise_again(void *arg, unsigned line)
{
    struct rig *rig = arg;

    note(rig, rig->number[0] ? "2" : "1");
    if (!rig->number[0]++)
        rt_irq_raise(rig->kernel, line); /* taken after this handler */
    note(rig, ".");
}

static void raise_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_irq_attach(kernel, LINE, raise_again, rig);
    rt_task_create(kernel, &rig->task[0], "raiser", 2, STACK, raise_lines, rig);
}

static void software_raises_a_line(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, raise_setup, "<1.2.|(2.)>");
    assert_int_equal(rig.result[0], RT_EINVAL);
    assert_int_equal(rig.result[1], RT_OK);
    rtport_destroy(rig.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_post_once_or_again),
        cmocka_unit_test(a_timer_counts_what_it_could_not_deliver),
        cmocka_unit_test(a_timer_raises_its_line),
        cmocka_unit_test(software_raises_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
