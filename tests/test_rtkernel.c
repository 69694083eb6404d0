/* SPDX-License-Identifier: Apache-2.0 */
/* The real-time kernel's scheduling: priorities, waits, queues, interrupts, timers, task ends, several kernels at once. */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/task.h"
#include "rtport.h"

#define CARVE_OUT (4u << 20)
#define STACK     4096u
#define TASKS     8

struct rig;

struct actor {
    struct rig *rig;
    struct rt_task *task;
    char letter;
};

/* One kernel with a handful of objects; tasks write what they do into the trace, the test compares it. */
struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_semaphore *semaphore;
    struct rt_queue *queue, *back;
    struct actor actor[TASKS];
    unsigned actors;
    char trace[512];
    size_t length;
    int result[8];
    uint64_t time[8];
    uint64_t count;
};

static void note(struct rig *rig, const char *text)
{
    const size_t room = sizeof(rig->trace) - rig->length;

    rig->length += (size_t)snprintf(rig->trace + rig->length, room, "%s", text);
    if (rig->length >= sizeof(rig->trace))
        rig->length = sizeof(rig->trace) - 1;
}

static void note_char(struct rig *rig, char c)
{
    note(rig, (char[]){c, '\0'});
}

static struct rt_task *add(struct rig *rig, char letter, unsigned priority, void (*entry)(void *arg))
{
    struct actor *actor = &rig->actor[rig->actors++];

    actor->rig = rig;
    actor->letter = letter;
    if (rt_task_create(rig->kernel, &actor->task, (char[]){letter, '\0'}, priority, STACK, entry, actor))
        note(rig, "[not created]");
    return actor->task;
}

static void begin(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->port = rtport_create(CARVE_OUT, 64u << 10);
}

static void end(struct rig *rig)
{
    rtport_destroy(rig->port);
}

/* Boots with that setup, runs to the end and compares the trace. */
static void run(struct rig *rig, void (*setup)(struct rt_kernel *kernel, void *arg), const char *expected)
{
    begin(rig);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig->trace, expected);
    end(rig);
}

static struct rig *enter(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = arg;

    rig->kernel = kernel;
    rt_semaphore_create(kernel, &rig->semaphore, 0, 100);
    rt_queue_create(kernel, &rig->queue, 16, 2);
    rt_queue_create(kernel, &rig->back, 16, 2);
    return rig;
}

static void say(void *arg)
{
    struct actor *actor = arg;

    note_char(actor->rig, actor->letter);
}

static void say_twice(void *arg)
{
    struct actor *actor = arg;

    say(arg);
    rt_task_yield(actor->rig->kernel);
    say(arg);
}

static void order_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, '5', 5, say);
    add(rig, '7', 7, say);
    add(rig, '0', 0, say);
    add(rig, '3', 3, say);
    add(rig, '4', 5, say); /* behind the other one of level 5 */
}

static void the_most_urgent_runs_first(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, order_setup, "03547");
}

static void fifo_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'a', 4, say_twice);
    add(rig, 'b', 4, say_twice);
    add(rig, 'c', 4, say_twice);
    add(rig, 'd', 5, say_twice); /* alone on its level: yielding changes nothing */
}

static void a_level_is_served_in_order(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, fifo_setup, "abcabcdd");
}

static void take_and_say(void *arg)
{
    struct actor *actor = arg;

    if (rt_semaphore_take(actor->rig->semaphore, RT_FOREVER) == RT_OK)
        say(arg);
}

static void give_between(void *arg)
{
    struct actor *actor = arg;

    note(actor->rig, "<");
    rt_semaphore_give(actor->rig->semaphore);
    note(actor->rig, "|");
    rt_semaphore_give(actor->rig->semaphore);
    note(actor->rig, "|");
    rt_semaphore_give(actor->rig->semaphore);
    note(actor->rig, ">");
}

static void preempt_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'h', 2, take_and_say);
    add(rig, 'e', 4, take_and_say); /* as urgent as the giver */
    add(rig, 'g', 4, give_between);
    add(rig, 'l', 6, take_and_say);
}

/* The urgent one runs inside give; the equal one is woken but waits its turn; the less urgent one too. */
static void giving_lets_a_more_urgent_task_run_at_once(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, preempt_setup, "<h||>el");
}

static void create_from_task(void *arg)
{
    struct actor *actor = arg;

    note(actor->rig, "<");
    add(actor->rig, 'x', 1, say);
    note(actor->rig, "|");
    add(actor->rig, 'y', 6, say);
    note(actor->rig, ">");
}

static void create_setup(struct rt_kernel *kernel, void *arg)
{
    add(enter(kernel, arg), 'c', 3, create_from_task);
}

static void a_created_task_may_preempt_its_creator(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, create_setup, "<x|>y");
}

static void give_six(void *arg)
{
    struct actor *actor = arg;

    for (unsigned i = 0; i < 6; i++)
        rt_semaphore_give(actor->rig->semaphore);
}

static void waiters_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'a', 5, take_and_say);
    add(rig, 'b', 3, take_and_say);
    add(rig, 'c', 5, take_and_say);
    add(rig, 'd', 1, take_and_say);
    add(rig, 'e', 3, take_and_say);
    add(rig, 'f', 5, take_and_say);
    add(rig, 'g', 6, give_six); /* the least urgent: all of them wait before it runs */
}

static void waiters_are_served_by_priority_then_arrival(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, waiters_setup, "dbeacf");
}

static void give_then_try(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;

    rt_task_sleep(rig->kernel, 10); /* lets the less urgent one begin to wait */
    rt_semaphore_give(rig->semaphore);
    rig->result[0] = rt_semaphore_take(rig->semaphore, RT_NO_WAIT);
    rig->result[1] = (int)rt_semaphore_count(rig->semaphore);
}

static void handoff_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'g', 2, give_then_try);
    add(rig, 'w', 6, take_and_say);
}

static void a_given_unit_cannot_be_stolen_from_its_waiter(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, handoff_setup, "w");
    assert_int_equal(rig.result[0], RT_EAGAIN);
    assert_int_equal(rig.result[1], 0);
}

static void semaphore_limits(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;
    struct rt_semaphore *semaphore = NULL;

    rig->result[0] = rt_semaphore_create(rig->kernel, &semaphore, 3, 2);
    rig->result[1] = rt_semaphore_create(rig->kernel, &semaphore, 0, 0);
    rt_semaphore_create(rig->kernel, &semaphore, 1, 2);
    rig->result[2] = rt_semaphore_give(semaphore);
    rig->result[3] = rt_semaphore_give(semaphore);
    rig->result[4] = rt_semaphore_take(semaphore, RT_NO_WAIT);
    rig->result[5] = rt_semaphore_take(semaphore, RT_NO_WAIT);
    rig->result[6] = rt_semaphore_take(semaphore, RT_NO_WAIT);
    rig->result[7] = rt_semaphore_delete(semaphore);
}

static void semaphore_setup(struct rt_kernel *kernel, void *arg)
{
    add(enter(kernel, arg), 's', 2, semaphore_limits);
}

static void a_semaphore_counts_between_its_limits(void **state)
{
    static const int expected[8] = {RT_EINVAL, RT_EINVAL, RT_OK,     RT_EOVERFLOW,
                                    RT_OK,     RT_OK,     RT_EAGAIN, RT_OK};
    struct rig rig;

    (void)state;
    run(&rig, semaphore_setup, "");
    assert_memory_equal(rig.result, expected, sizeof(expected));
}

static void take_with_timeouts(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;

    rig->result[0] = rt_semaphore_take(rig->semaphore, 1000);
    rig->time[0] = rtport_now(rig->port);
    rig->result[1] = rt_semaphore_take(rig->semaphore, 1000000);
    rig->time[1] = rtport_now(rig->port);
    rig->time[2] = rtport_timer(rig->port); /* nothing is waited for any more */
    rt_task_sleep(rig->kernel, 500);
    rig->time[3] = rtport_now(rig->port);
    rt_task_sleep(rig->kernel, 0);
    rig->time[4] = rtport_now(rig->port);
}

static void give_later(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;

    rt_task_sleep(rig->kernel, 2500);
    rt_semaphore_give(rig->semaphore);
}

static void timeout_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 't', 2, take_with_timeouts);
    add(rig, 'g', 3, give_later);
}

static void timeouts_pass_in_virtual_time(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, timeout_setup, "");
    assert_int_equal(rig.result[0], RT_ETIMEDOUT);
    assert_int_equal(rig.time[0], 1000);
    assert_int_equal(rig.result[1], RT_OK);
    assert_int_equal(rig.time[1], 2500);
    assert_int_equal(rig.time[2], 0);
    assert_int_equal(rig.time[3], 3000);
    assert_int_equal(rig.time[4], 3000);
}

static void sleep_and_say(void *arg)
{
    struct actor *actor = arg;

    rt_task_sleep(actor->rig->kernel, 700);
    say(arg);
}

static void doze_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'c', 6, sleep_and_say);
    add(rig, 'a', 5, sleep_and_say);
    add(rig, 'b', 5, sleep_and_say);
    add(rig, 'u', 0, sleep_and_say);
}

static void equal_deadlines_are_met_by_priority_then_arrival(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, doze_setup, "uabc");
}

struct record {
    uint32_t number;
    char letter;
};

static void send_five(void *arg)
{
    struct actor *actor = arg;

    for (uint32_t i = 1; i <= 5; i++) {
        struct record record = {i, actor->letter};

        rt_queue_send(actor->rig->queue, &record, sizeof(record), RT_FOREVER);
        note(actor->rig, "s");
        note_char(actor->rig, (char)('0' + i));
    }
}

static void receive_five(void *arg)
{
    struct actor *actor = arg;
    uint8_t message[16];
    struct record record;

    for (unsigned i = 0; i < 5; i++) {
        if (rt_queue_receive(actor->rig->queue, message, sizeof(message), RT_FOREVER) != (int)sizeof(record))
            note(actor->rig, "[length]");
        memcpy(&record, message, sizeof(record));
        note(actor->rig, "r");
        note_char(actor->rig, (char)('0' + record.number));
    }
}

static void look_at(void *arg)
{
    struct actor *actor = arg;

    note(actor->rig, rt_task_state_name(rt_task_state(actor->rig->actor[0].task)));
}

static void full_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'p', 3, send_five); /* fills the two slots, then waits */
    add(rig, 'l', 4, look_at);
    add(rig, 'c', 5, receive_five);
}

static void empty_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'c', 3, receive_five); /* waits at once */
    add(rig, 'l', 4, look_at);
    add(rig, 'p', 5, send_five);
}

static void a_full_queue_blocks_its_sender(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, full_setup, "s1s2WAITINGs3r1s4r2s5r3r4r5");
}

static void an_empty_queue_blocks_its_receiver(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, empty_setup, "WAITINGr1s1r2s2r3s3r4s4r5s5");
}

static void queue_edges(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;
    uint8_t message[17] = "0123456789abcdef";

    rig->result[0] = rt_queue_send(rig->queue, message, 17, RT_FOREVER);
    rig->result[1] = rt_queue_receive(rig->queue, message, 15, RT_FOREVER);
    rig->result[2] = rt_queue_receive(rig->queue, message, 16, RT_NO_WAIT);
    rig->result[3] = rt_queue_receive(rig->queue, message, 16, 300);
    rig->time[0] = rtport_now(rig->port);
    rt_queue_send(rig->queue, message, 16, RT_FOREVER);
    rt_queue_send(rig->queue, NULL, 0, RT_FOREVER);
    rig->result[4] = rt_queue_try_send(rig->queue, message, 1);
    rig->result[5] = rt_queue_send(rig->queue, message, 1, 200);
    rig->time[1] = rtport_now(rig->port);
    rig->count = rt_queue_count(rig->queue);
    rig->result[6] = rt_queue_receive(rig->queue, message, 17, RT_NO_WAIT);
    rig->result[7] = rt_queue_receive(rig->queue, message, 17, RT_NO_WAIT);
    note(rig, (char *)message);
}

static void edges_setup(struct rt_kernel *kernel, void *arg)
{
    add(enter(kernel, arg), 'q', 3, queue_edges);
}

static void a_queue_keeps_lengths_and_limits(void **state)
{
    static const int expected[8] = {RT_EMSGSIZE, RT_EINVAL,    RT_EAGAIN, RT_ETIMEDOUT,
                                    RT_EAGAIN,   RT_ETIMEDOUT, 16,        0};
    struct rig rig;

    (void)state;
    run(&rig, edges_setup, "0123456789abcdef");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.time[0], 300);
    assert_int_equal(rig.time[1], 500);
    assert_int_equal(rig.count, 2);
}

/* The shape of every subsystem: a handler that only posts, and a pump with two queues. */
static void post_line(void *arg, unsigned line)
{
    struct rig *rig = arg;
    struct record record = {line, 'i'};

    note(rig, rt_kernel_in_interrupt(rig->kernel) ? "!" : "[not in interrupt]");
    if (rt_queue_try_send(rt_task_interrupts(rig->actor[0].task), &record, sizeof(record)))
        rig->count++;
}

static void pump(void *arg)
{
    struct actor *actor = arg;
    struct rt_queue *from;
    uint8_t message[16];
    struct record record;

    while (rt_task_wait_any(actor->rig->kernel, message, sizeof(message), &from, RT_FOREVER) > 0) {
        memcpy(&record, message, sizeof(record));
        note(actor->rig, from == rt_task_interrupts(actor->task) ? "i" : "t");
        note_char(actor->rig, (char)('0' + record.number));
    }
}

static void ring_doorbells(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;

    note(rig, "<");
    rt_port_write32(rig->port, RTPORT_DOORBELL, 5); /* the pump runs inside this access */
    note(rig, "|");
    rtport_raise(rig->port, 6);
    note(rig, "~");
    rt_semaphore_give(rig->semaphore); /* inside this call */
    note(rig, ">");
}

static void pump_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_queues(add(rig, 'p', 2, pump), 16, 4, 4);
    rt_irq_attach(kernel, 5, post_line, rig);
    rt_irq_attach(kernel, 6, post_line, rig);
    add(rig, 'd', 6, ring_doorbells);
}

static void an_interrupt_wakes_its_pump_at_the_next_port_call(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, pump_setup, "<!i5|~!i6>");
    assert_int_equal(rig.count, 0);
}

static void send_then_interrupt(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;
    struct record one = {1, 't'}, two = {2, 't'};
    const uint32_t previous = rt_irq_mask(rig->kernel);

    rt_queue_try_send(rt_task_input(rig->actor[0].task), &one, sizeof(one));
    rt_queue_try_send(rt_task_input(rig->actor[0].task), &two, sizeof(two));
    rtport_raise(rig->port, 5);
    rtport_raise(rig->port, 6);
    note(rig, "(");
    rt_irq_restore(rig->kernel, previous);
    note(rig, ")");
}

static void any_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_queues(add(rig, 'p', 4, pump), 16, 4, 4);
    rt_irq_attach(kernel, 5, post_line, rig);
    rt_irq_attach(kernel, 6, post_line, rig);
    add(rig, 's', 4, send_then_interrupt);
}

/* As urgent as its sender, the pump finds all four messages when it runs. */
static void the_interrupt_queue_is_served_first(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, any_setup, "(!!)i5i6t1t2");
}

static void urgent_any_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_queues(add(rig, 'p', 1, pump), 16, 4, 4);
    rt_irq_attach(kernel, 5, post_line, rig);
    rt_irq_attach(kernel, 6, post_line, rig);
    add(rig, 's', 4, send_then_interrupt);
}

/*
 * More urgent than its sender, it runs at the end of the critical section, and has taken the first message by the time its
 * own return from the wait lets the interrupts in.
 */
static void a_critical_section_holds_back_tasks_and_interrupts(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, urgent_any_setup, "(!!t1i5i6t2)");
}

static void any_edges(void *arg)
{
    struct actor *actor = arg;
    struct rig *rig = actor->rig;
    struct rt_queue *from;
    uint8_t message[16];

    rig->result[0] = rt_task_wait_any(rig->kernel, message, 16, &from, RT_FOREVER); /* has no queues */
    rig->result[1] = rt_task_queues(actor->task, 16, 0, 1);
    rig->result[2] = rt_task_queues(actor->task, 16, 1, 1);
    rig->result[3] = rt_task_queues(actor->task, 16, 1, 1);
    rig->result[4] = rt_task_wait_any(rig->kernel, message, 15, &from, RT_FOREVER);
    rig->result[5] = rt_task_wait_any(rig->kernel, message, 16, &from, RT_NO_WAIT);
    rig->result[6] = rt_task_wait_any(rig->kernel, message, 16, NULL, 400);
    rig->time[0] = rtport_now(rig->port);
}

static void any_edges_setup(struct rt_kernel *kernel, void *arg)
{
    add(enter(kernel, arg), 'e', 3, any_edges);
}

static void wait_any_has_its_edges(void **state)
{
    static const int expected[7] = {RT_EINVAL, RT_EINVAL, RT_OK,       RT_EBUSY,
                                    RT_EINVAL, RT_EAGAIN, RT_ETIMEDOUT};
    struct rig rig;

    (void)state;
    run(&rig, any_edges_setup, "");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.time[0], 400);
}

static void idle_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_queues(add(rig, 'p', 2, pump), 16, 2, 2);
    rt_irq_attach(kernel, 3, post_line, rig);
}

static void interrupts_reach_an_idle_kernel(void **state)
{
    struct rig rig;

    (void)state;
    begin(&rig);
    assert_int_equal(rtport_start(rig.port, idle_setup, &rig, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig.trace, "");
    rtport_raise(rig.port, 3);
    assert_int_equal(rtport_run(rig.port, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig.trace, "!i3");
    rtport_raise_at(rig.port, 9000, 3);
    assert_int_equal(rtport_run(rig.port, 8999), RTPORT_IDLE);
    assert_string_equal(rig.trace, "!i3");
    assert_int_equal(rtport_run(rig.port, 9000), RTPORT_IDLE);
    assert_string_equal(rig.trace, "!i3!i3");
    rtport_raise(rig.port, 30); /* nobody's */
    assert_int_equal(rtport_run(rig.port, RT_FOREVER), RTPORT_IDLE);
    assert_int_equal(rt_irq_spurious(rig.kernel), 1);
    assert_int_equal(rt_irq_attach(rig.kernel, RT_IRQ_LINES, post_line, &rig), RT_EINVAL);
    assert_int_equal(rt_irq_attach(rig.kernel, 3, post_line, &rig), RT_EBUSY);
    assert_int_equal(rt_irq_attach(rig.kernel, 3, NULL, NULL), RT_OK);
    assert_int_equal(rt_irq_attach(rig.kernel, 3, post_line, &rig), RT_OK);
    end(&rig);
}

/* Ping and pong through two queues: each message is a send, a wake and a switch. */
#define ROUNDS 100000u

static void ping(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;
    uint64_t word[2];

    for (uint32_t i = 0; i < ROUNDS; i++) {
        word[0] = i;
        rt_queue_send(rig->queue, word, sizeof(word[0]), RT_FOREVER);
        if (rt_queue_receive(rig->back, word, sizeof(word), RT_FOREVER) == (int)sizeof(word[0]))
            rig->count += word[0] == 3ull * i;
    }
}

static void pong(void *arg)
{
    struct rig *rig = ((struct actor *)arg)->rig;
    uint64_t word[2];

    while (rt_queue_receive(rig->queue, word, sizeof(word), RT_FOREVER) > 0) {
        word[0] *= 3;
        rt_queue_send(rig->back, word, sizeof(word[0]), RT_FOREVER);
    }
}

static void pingpong_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    add(rig, 'o', 2, pong);
    add(rig, 'i', 3, ping);
}

static void a_hundred_thousand_messages_go_and_return(void **state)
{
    struct rig rig;

    (void)state;
    begin(&rig);
    assert_int_equal(rtport_start(rig.port, pingpong_setup, &rig, RT_FOREVER), RTPORT_IDLE);
    assert_int_equal(rig.count, ROUNDS);
    /* terminator and pong wait at the start; two switches a round; ping's end, the terminator, idle */
    assert_int_equal(rt_kernel_switches(rig.kernel), 3 + 2 * ROUNDS + 2);
    end(&rig);
}

static void *pingpong_thread(void *arg)
{
    struct rig *rig = arg;

    return (void *)(uintptr_t)rtport_start(rig->port, pingpong_setup, rig, RT_FOREVER);
}

static void kernels_run_side_by_side(void **state)
{
    struct rig rig[2];
    pthread_t thread[2];
    void *result[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin(&rig[i]);
        assert_int_equal(pthread_create(&thread[i], NULL, pingpong_thread, &rig[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], &result[i]), 0);
        assert_int_equal((uintptr_t)result[i], RTPORT_IDLE);
        assert_int_equal(rig[i].count, ROUNDS);
        end(&rig[i]);
    }
}

static void one_thread_runs_two_kernels_in_turn(void **state)
{
    struct rig rig[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin(&rig[i]);
        assert_int_equal(rtport_start(rig[i].port, idle_setup, &rig[i], RT_FOREVER), RTPORT_IDLE);
    }
    for (unsigned round = 0; round < 10; round++) {
        rtport_raise(rig[round & 1].port, 3);
        assert_int_equal(rtport_run(rig[round & 1].port, RT_FOREVER), RTPORT_IDLE);
        assert_int_equal(strlen(rig[0].trace), 3 * (round / 2 + 1));
        assert_int_equal(strlen(rig[1].trace), 3 * ((round + 1) / 2));
    }
    end(&rig[0]);
    end(&rig[1]);
}

static void *raise_thread(void *arg)
{
    struct rig *rig = arg;

    rtport_raise(rig->port, 3);
    return (void *)(uintptr_t)rtport_run(rig->port, RT_FOREVER);
}

/* Whoever waits drives: the tasks of one kernel run on the threads of many. */
static void a_kernel_may_be_driven_by_several_threads_in_turn(void **state)
{
    struct rig rig;
    pthread_t thread;
    void *result;

    (void)state;
    begin(&rig);
    assert_int_equal(rtport_start(rig.port, idle_setup, &rig, RT_FOREVER), RTPORT_IDLE);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread, NULL, raise_thread, &rig), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_int_equal((uintptr_t)result, RTPORT_IDLE);
        assert_int_equal((uintptr_t)raise_thread(&rig), RTPORT_IDLE);
    }
    assert_string_equal(rig.trace, "!i3!i3!i3!i3!i3!i3!i3!i3");
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_urgent_runs_first),
        cmocka_unit_test(a_level_is_served_in_order),
        cmocka_unit_test(giving_lets_a_more_urgent_task_run_at_once),
        cmocka_unit_test(a_created_task_may_preempt_its_creator),
        cmocka_unit_test(waiters_are_served_by_priority_then_arrival),
        cmocka_unit_test(a_given_unit_cannot_be_stolen_from_its_waiter),
        cmocka_unit_test(a_semaphore_counts_between_its_limits),
        cmocka_unit_test(timeouts_pass_in_virtual_time),
        cmocka_unit_test(equal_deadlines_are_met_by_priority_then_arrival),
        cmocka_unit_test(a_full_queue_blocks_its_sender),
        cmocka_unit_test(an_empty_queue_blocks_its_receiver),
        cmocka_unit_test(a_queue_keeps_lengths_and_limits),
        cmocka_unit_test(an_interrupt_wakes_its_pump_at_the_next_port_call),
        cmocka_unit_test(the_interrupt_queue_is_served_first),
        cmocka_unit_test(a_critical_section_holds_back_tasks_and_interrupts),
        cmocka_unit_test(wait_any_has_its_edges),
        cmocka_unit_test(interrupts_reach_an_idle_kernel),
        cmocka_unit_test(a_hundred_thousand_messages_go_and_return),
        cmocka_unit_test(kernels_run_side_by_side),
        cmocka_unit_test(one_thread_runs_two_kernels_in_turn),
        cmocka_unit_test(a_kernel_may_be_driven_by_several_threads_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
