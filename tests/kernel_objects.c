/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of kernel_list.h: semaphores, queues, mailboxes, signals, timers. */
#include "kernel_bench.h"
#include "rtkernel/irq.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

int kernel_case_semaphore_limits(struct kernel_bench *bench)
{
    struct rt_semaphore *semaphore;

    kernel_bench_note_status(bench, rt_semaphore_create(bench->kernel, &semaphore, 3, 2));
    kernel_bench_note_status(bench, rt_semaphore_create(bench->kernel, &semaphore, 0, 0));
    kernel_bench_note_status(bench, rt_semaphore_create(bench->kernel, &semaphore, 1, 2));
    kernel_bench_note_status(bench, rt_semaphore_give(semaphore));
    kernel_bench_note_status(bench, rt_semaphore_give(semaphore));
    kernel_bench_note_number(bench, rt_semaphore_count(semaphore));
    kernel_bench_note(bench, " ");
    for (unsigned i = 0; i < 3; i++)
        kernel_bench_note_status(bench, rt_semaphore_take(semaphore, RT_NO_WAIT));
    kernel_bench_note_status(bench, rt_semaphore_delete(semaphore));
    return kernel_bench_expect(bench, "EINVAL EINVAL OK OK EOVERFLOW 2 OK OK EAGAIN OK ");
}

static void take_and_say(struct kernel_actor *actor)
{
    if (!rt_semaphore_take(actor->bench->semaphore, RT_FOREVER))
        kernel_bench_say(actor);
}

static void give_six(struct kernel_actor *actor)
{
    for (unsigned i = 0; i < 6; i++)
        rt_semaphore_give(actor->bench->semaphore);
}

int kernel_case_semaphore_waiters(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'a', 5, take_and_say);
    kernel_bench_actor(bench, 'b', 3, take_and_say);
    kernel_bench_actor(bench, 'c', 5, take_and_say);
    kernel_bench_actor(bench, 'd', 2, take_and_say);
    kernel_bench_actor(bench, 'e', 3, take_and_say);
    kernel_bench_actor(bench, 'f', 5, take_and_say);
    kernel_bench_actor(bench, 'g', 6, give_six); /* the least urgent: all of them wait before it runs */
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "dbeacf");
}

/* A unit that was given to a waiter cannot be taken by another task before the waiter runs. */
int kernel_case_semaphore_handoff(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'w', 6, take_and_say);
    kernel_bench_sleep(bench, 1);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, RT_NO_WAIT));
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "EAGAIN w");
}

static void take_late(struct kernel_actor *actor)
{
    kernel_bench_note_status(actor->bench, rt_semaphore_take(actor->bench->semaphore, actor->bench->step));
    kernel_bench_note_status(actor->bench,
                             rt_semaphore_take(actor->bench->semaphore, 100 * actor->bench->step));
}

int kernel_case_semaphore_timeout(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 't', 3, take_late);
    kernel_bench_sleep(bench, 4);
    kernel_bench_note(bench, "give ");
    rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "ETIMEDOUT give OK ");
}

static void send_four(struct kernel_actor *actor)
{
    for (uint8_t i = 1; i <= 4; i++) {
        rt_queue_send(actor->bench->queue, &i, 1, RT_FOREVER);
        kernel_bench_note(actor->bench, "s");
        kernel_bench_note_number(actor->bench, i);
    }
}

static void receive_four(struct kernel_actor *actor)
{
    uint8_t message[16];

    for (unsigned i = 0; i < 4; i++) {
        if (rt_queue_receive(actor->bench->queue, message, sizeof(message), RT_FOREVER) != 1)
            kernel_bench_note(actor->bench, "[length]");
        kernel_bench_note(actor->bench, "r");
        kernel_bench_note_number(actor->bench, message[0]);
    }
}

int kernel_case_queue_full(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 's', 3, send_four);
    kernel_bench_actor(bench, 'r', 5, receive_four);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "s1s2s3r1s4r2r3r4");
}

int kernel_case_queue_empty(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'r', 3, receive_four);
    kernel_bench_actor(bench, 's', 5, send_four);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "r1s1r2s2r3s3r4s4");
}

int kernel_case_queue_edges(struct kernel_bench *bench)
{
    uint8_t message[17] = "0123456789abcdef";
    struct rt_queue *queue;

    kernel_bench_note_status(bench, rt_queue_create(bench->kernel, &queue, 0, 1));
    kernel_bench_note_status(bench, rt_queue_create(bench->kernel, &queue, 1, RT_QUEUE_DEPTH_MAX + 1));
    kernel_bench_note_status(bench, rt_queue_send(bench->queue, message, 17, RT_FOREVER));
    kernel_bench_note_status(bench, rt_queue_receive(bench->queue, message, 15, RT_FOREVER));
    kernel_bench_note_status(bench, rt_queue_receive(bench->queue, message, 16, RT_NO_WAIT));
    rt_queue_send(bench->queue, message, 16, RT_FOREVER);
    rt_queue_send(bench->queue, NULL, 0, RT_FOREVER);
    kernel_bench_note_status(bench, rt_queue_try_send(bench->queue, message, 1));
    kernel_bench_note_number(bench, rt_queue_count(bench->queue));
    kernel_bench_note_number(bench, (uint64_t)rt_queue_receive(bench->queue, message, 16, RT_NO_WAIT));
    kernel_bench_note_number(bench, (uint64_t)rt_queue_receive(bench->queue, message, 16, RT_NO_WAIT));
    kernel_bench_note(bench, (const char *)message);
    return kernel_bench_expect(bench, "EINVAL EINVAL EMSGSIZE EINVAL EAGAIN EAGAIN 2160"
                                      "0123456789abcdef");
}

/* The pointers pass the end of the ring many times; the order stays. */
int kernel_case_queue_wraps(struct kernel_bench *bench)
{
    uint8_t message[16];

    for (uint8_t i = 0; i < 101; i++) {
        rt_queue_send(bench->queue, &i, 1, RT_FOREVER);
        if (i == 0)
            continue;
        rt_queue_receive(bench->queue, message, sizeof(message), RT_FOREVER);
        bench->count += message[0] == i - 1;
    }
    kernel_bench_note_number(bench, bench->count);
    return kernel_bench_expect(bench, "100");
}

int kernel_case_queue_timeout(struct kernel_bench *bench)
{
    uint8_t message[16] = {0};

    kernel_bench_note_status(bench, rt_queue_receive(bench->queue, message, 16, bench->step));
    rt_queue_send(bench->queue, message, 1, RT_FOREVER);
    rt_queue_send(bench->queue, message, 1, RT_FOREVER);
    kernel_bench_note_status(bench, rt_queue_send(bench->queue, message, 1, bench->step));
    kernel_bench_note_number(bench, rt_queue_count(bench->queue));
    return kernel_bench_expect(bench, "ETIMEDOUT ETIMEDOUT 2");
}

static void pump_four(struct kernel_actor *actor)
{
    struct rt_queue *from;
    uint8_t message[16];

    for (unsigned i = 0; i < 4; i++) {
        rt_task_wait_any(actor->bench->kernel, message, sizeof(message), &from, RT_FOREVER);
        kernel_bench_note(actor->bench, from == rt_task_interrupts(actor->task) ? "i" : "t");
        kernel_bench_note_number(actor->bench, message[0]);
    }
}

/* The interrupt queue goes first. */
int kernel_case_wait_any_order(struct kernel_bench *bench)
{
    struct rt_task *task = kernel_bench_actor(bench, 'p', 4, pump_four);

    rt_task_queues(task, 16, 2, 2);
    for (uint8_t i = 1; i <= 2; i++) {
        rt_queue_try_send(rt_task_input(task), &i, 1);
        rt_queue_try_send(rt_task_interrupts(task), &i, 1);
    }
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "i1i2t1t2");
}

static void wait_any_edges(struct kernel_actor *actor)
{
    struct kernel_bench *bench = actor->bench;
    uint8_t message[16];

    kernel_bench_note_status(bench, rt_task_wait_any(bench->kernel, message, 16, NULL, RT_FOREVER));
    kernel_bench_note_status(bench, rt_task_queues(actor->task, 16, 1, 1));
    kernel_bench_note_status(bench, rt_task_queues(actor->task, 16, 1, 1));
    kernel_bench_note_status(bench, rt_task_wait_any(bench->kernel, message, 15, NULL, RT_FOREVER));
    kernel_bench_note_status(bench, rt_task_wait_any(bench->kernel, message, 16, NULL, RT_NO_WAIT));
    kernel_bench_note_status(bench, rt_task_wait_any(bench->kernel, message, 16, NULL, bench->step));
}

int kernel_case_wait_any_timeout(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'e', 4, wait_any_edges);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "EINVAL OK EBUSY EINVAL EAGAIN ETIMEDOUT ");
}

int kernel_case_mailbox_word(struct kernel_bench *bench)
{
    uint64_t word = 0;

    kernel_bench_note_status(bench, rt_mailbox_fetch(bench->mailbox, &word, RT_NO_WAIT));
    kernel_bench_note_status(bench, rt_mailbox_fetch(bench->mailbox, &word, bench->step));
    kernel_bench_note_status(bench, rt_mailbox_post(bench->mailbox, 17));
    kernel_bench_note_status(bench, rt_mailbox_post(bench->mailbox, 18));
    kernel_bench_note_status(bench, rt_mailbox_fetch(bench->mailbox, &word, RT_FOREVER));
    kernel_bench_note_number(bench, word);
    return kernel_bench_expect(bench, "EAGAIN ETIMEDOUT OK EAGAIN OK 17");
}

static void fetch_and_say(struct kernel_actor *actor)
{
    uint64_t word = 0;

    rt_mailbox_fetch(actor->bench->mailbox, &word, RT_FOREVER);
    kernel_bench_say(actor);
    kernel_bench_note_number(actor->bench, word);
}

/* Two waiters, two words: neither is left in the mailbox. */
int kernel_case_mailbox_handoff(struct kernel_bench *bench)
{
    uint64_t word;

    kernel_bench_actor(bench, 'l', 6, fetch_and_say);
    kernel_bench_actor(bench, 'h', 3, fetch_and_say);
    kernel_bench_sleep(bench, 1);
    kernel_bench_note_status(bench, rt_mailbox_post(bench->mailbox, 1));
    kernel_bench_note_status(bench, rt_mailbox_post(bench->mailbox, 2));
    kernel_bench_note_status(bench, rt_mailbox_fetch(bench->mailbox, &word, RT_NO_WAIT));
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "OK OK EAGAIN h1l2");
}

static void wait_flags(struct kernel_actor *actor)
{
    uint32_t taken = 0;

    rt_signal_wait(actor->bench->signal, actor->letter == 'h' ? 0x0f : 0x3c, &taken, RT_FOREVER);
    kernel_bench_say(actor);
    kernel_bench_note_number(actor->bench, taken);
    kernel_bench_note(actor->bench, " ");
}

/* A flag that two tasks wait for goes to the more urgent one; one that no task waits for stays. */
int kernel_case_signal_flags(struct kernel_bench *bench)
{
    uint32_t taken = 0;

    kernel_bench_actor(bench, 'l', 6, wait_flags);
    kernel_bench_actor(bench, 'h', 3, wait_flags);
    kernel_bench_sleep(bench, 1);
    rt_signal_raise(bench->signal, 0x9c);
    kernel_bench_note_status(bench, rt_signal_wait(bench->signal, 0xff, &taken, RT_NO_WAIT));
    kernel_bench_note_number(bench, taken);
    kernel_bench_note(bench, " ");
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "OK 128 h12 l16 ");
}

int kernel_case_signal_timeout(struct kernel_bench *bench)
{
    kernel_bench_note_status(bench, rt_signal_wait(bench->signal, 0, NULL, RT_FOREVER));
    kernel_bench_note_status(bench, rt_signal_wait(bench->signal, 3, NULL, RT_NO_WAIT));
    kernel_bench_note_status(bench, rt_signal_wait(bench->signal, 3, NULL, bench->step));
    rt_signal_raise(bench->signal, 2);
    rt_signal_raise(bench->signal, 2); /* raised is raised */
    kernel_bench_note_status(bench, rt_signal_wait(bench->signal, 3, NULL, RT_FOREVER));
    kernel_bench_note_status(bench, rt_signal_wait(bench->signal, 3, NULL, RT_NO_WAIT));
    return kernel_bench_expect(bench, "EINVAL EAGAIN ETIMEDOUT OK EAGAIN ");
}

int kernel_case_timer_once(struct kernel_bench *bench)
{
    rt_timer_start(bench->timer, bench->step, 0);
    kernel_bench_note(bench, rt_timer_running(bench->timer) ? "running " : "[stopped]");
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, 100 * bench->step));
    kernel_bench_note(bench, rt_timer_running(bench->timer) ? "[running]" : "stopped ");
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, 2 * bench->step));
    return kernel_bench_expect(bench, "running OK stopped ETIMEDOUT ");
}

/* It gives until the semaphore is at its limit of 3, and counts what it could not deliver. */
int kernel_case_timer_period(struct kernel_bench *bench)
{
    rt_timer_start(bench->timer, bench->step, bench->step);
    kernel_bench_sleep(bench, 10);
    rt_timer_stop(bench->timer);
    kernel_bench_note_number(bench, rt_semaphore_count(bench->semaphore));
    kernel_bench_note(bench, rt_timer_missed(bench->timer) >= 6 ? " missed" : " [missed]");
    return kernel_bench_expect(bench, "3 missed");
}

int kernel_case_timer_stop(struct kernel_bench *bench)
{
    struct rt_timer *post;
    uint8_t message[16];

    kernel_bench_note_status(
        bench, rt_timer_create_post(bench->kernel, &post, bench->queue, "seventeen letters", 17));
    kernel_bench_note_status(bench, rt_timer_create_post(bench->kernel, &post, bench->queue, "tick", 4));
    rt_timer_start(post, 2 * bench->step, bench->step);
    rt_timer_start(bench->timer, bench->step, 0);
    rt_timer_stop(bench->timer);
    rt_timer_start(post, 4 * bench->step, 0); /* instead of the start before */
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, 3 * bench->step));
    kernel_bench_note_number(bench, (uint64_t)rt_queue_receive(bench->queue, message, 16, RT_FOREVER));
    rt_timer_delete(post);
    return kernel_bench_expect(bench, "EMSGSIZE OK ETIMEDOUT 4");
}

static void count_line(void *arg, unsigned line)
{
    struct kernel_bench *bench = arg;

    if (line == KERNEL_LINE && rt_kernel_in_interrupt(bench->kernel))
        rt_semaphore_give(bench->semaphore);
}

/* The handler of a line that a timer raises runs in interrupt context. */
int kernel_case_timer_interrupt(struct kernel_bench *bench)
{
    struct rt_timer *timer;

    kernel_bench_note_status(bench, rt_timer_create_interrupt(bench->kernel, &timer, RT_IRQ_LINES));
    kernel_bench_note_status(bench, rt_timer_create_interrupt(bench->kernel, &timer, KERNEL_LINE));
    rt_irq_attach(bench->kernel, KERNEL_LINE, count_line, bench);
    rt_timer_start(timer, bench->step, bench->step);
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, RT_FOREVER));
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, RT_FOREVER));
    rt_timer_stop(timer);
    while (!rt_semaphore_take(bench->semaphore, RT_NO_WAIT))
        ; /* what came before the stop */
    kernel_bench_note_status(bench, rt_semaphore_take(bench->semaphore, 3 * bench->step));
    rt_timer_delete(timer);
    rt_irq_attach(bench->kernel, KERNEL_LINE, NULL, NULL);
    return kernel_bench_expect(bench, "EINVAL OK OK OK ETIMEDOUT ");
}

/* A post that finds the last one still there is refused, and counted. */
int kernel_case_refused_posts(struct kernel_bench *bench)
{
    const uint64_t before = rt_kernel_refused_posts(bench->kernel);
    uint64_t word;

    rt_mailbox_post(bench->mailbox, 1);
    kernel_bench_note_status(bench, rt_mailbox_post(bench->mailbox, 2));
    rt_mailbox_fetch(bench->mailbox, &word, RT_NO_WAIT);
    for (unsigned i = 0; i < 4; i++)
        kernel_bench_note_status(bench, rt_semaphore_give(bench->semaphore));
    for (unsigned i = 0; i < 3; i++)
        kernel_bench_note_status(bench, rt_queue_try_send(bench->queue, "x", 1));
    kernel_bench_note_number(bench, rt_kernel_refused_posts(bench->kernel) - before);
    return kernel_bench_expect(bench, "EAGAIN OK OK OK EOVERFLOW OK OK EAGAIN 3");
}
