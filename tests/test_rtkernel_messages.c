/* SPDX-License-Identifier: Apache-2.0 */
/* The real-time kernel's queues and interrupts, message pumps, and several kernels at once. */
#include "rtrig.h"

#include <pthread.h>

struct record {
    uint32_t number;
    char letter;
};

static void send_five(void *arg)
{
    struct rtrig_actor *actor = arg;

    for (uint32_t i = 1; i <= 5; i++) {
        struct record record = {i, actor->letter};

        rt_queue_send(actor->rig->queue, &record, sizeof(record), RT_FOREVER);
        rtrig_note(actor->rig, "s");
        rtrig_note_char(actor->rig, (char)('0' + i));
    }
}

static void receive_five(void *arg)
{
    struct rtrig_actor *actor = arg;
    uint8_t message[16];
    struct record record;

    for (unsigned i = 0; i < 5; i++) {
        if (rt_queue_receive(actor->rig->queue, message, sizeof(message), RT_FOREVER) != (int)sizeof(record))
            rtrig_note(actor->rig, "[length]");
        memcpy(&record, message, sizeof(record));
        rtrig_note(actor->rig, "r");
        rtrig_note_char(actor->rig, (char)('0' + record.number));
    }
}

static void look_at(void *arg)
{
    struct rtrig_actor *actor = arg;

    rtrig_note(actor->rig, rt_task_state_name(rt_task_state(actor->rig->actor[0].task)));
}

static void full_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'p', 3, send_five); /* fills the two slots, then waits */
    rtrig_add(rig, 'l', 4, look_at);
    rtrig_add(rig, 'c', 5, receive_five);
}

static void empty_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'c', 3, receive_five); /* waits at once */
    rtrig_add(rig, 'l', 4, look_at);
    rtrig_add(rig, 'p', 5, send_five);
}

static void a_full_queue_blocks_its_sender(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, full_setup, "s1s2WAITINGs3r1s4r2s5r3r4r5");
}

static void an_empty_queue_blocks_its_receiver(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, empty_setup, "WAITINGr1s1r2s2r3s3r4s4r5s5");
}

static void queue_edges(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;
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
    rtrig_note(rig, (char *)message);
}

static void edges_setup(struct rt_kernel *kernel, void *arg)
{
    rtrig_add(rtrig_enter(kernel, arg), 'q', 3, queue_edges);
}

static void a_queue_keeps_lengths_and_limits(void **state)
{
    static const int expected[8] = {RT_EMSGSIZE, RT_EINVAL,    RT_EAGAIN, RT_ETIMEDOUT,
                                    RT_EAGAIN,   RT_ETIMEDOUT, 16,        0};
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, edges_setup, "0123456789abcdef");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.time[0], 300);
    assert_int_equal(rig.time[1], 500);
    assert_int_equal(rig.count, 2);
}

/* The shape of every subsystem: a handler that only posts, and a pump with two queues. */
static void post_line(void *arg, unsigned line)
{
    struct rtrig *rig = arg;
    struct record record = {line, 'i'};

    rtrig_note(rig, rt_kernel_in_interrupt(rig->kernel) ? "!" : "[not in interrupt]");
    if (rt_queue_try_send(rt_task_interrupts(rig->actor[0].task), &record, sizeof(record)))
        rig->count++;
}

static void pump(void *arg)
{
    struct rtrig_actor *actor = arg;
    struct rt_queue *from;
    uint8_t message[16];
    struct record record;

    while (rt_task_wait_any(actor->rig->kernel, message, sizeof(message), &from, RT_FOREVER) > 0) {
        memcpy(&record, message, sizeof(record));
        rtrig_note(actor->rig, from == rt_task_interrupts(actor->task) ? "i" : "t");
        rtrig_note_char(actor->rig, (char)('0' + record.number));
    }
}

static void ring_doorbells(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;

    rtrig_note(rig, "<");
    rt_port_write32(rig->port, RTPORT_DOORBELL, 5); /* the pump runs inside this access */
    rtrig_note(rig, "|");
    rtport_raise(rig->port, 6);
    rtrig_note(rig, "~");
    rt_semaphore_give(rig->semaphore); /* inside this call */
    rtrig_note(rig, ">");
}

static void pump_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rt_task_queues(rtrig_add(rig, 'p', 2, pump), 16, 4, 4);
    rt_irq_attach(kernel, 5, post_line, rig);
    rt_irq_attach(kernel, 6, post_line, rig);
    rtrig_add(rig, 'd', 6, ring_doorbells);
}

static void an_interrupt_wakes_its_pump_at_the_next_port_call(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, pump_setup, "<!i5|~!i6>");
    assert_int_equal(rig.count, 0);
}

static void send_then_interrupt(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;
    struct record one = {1, 't'}, two = {2, 't'};
    const uint32_t previous = rt_irq_mask(rig->kernel);

    rt_queue_try_send(rt_task_input(rig->actor[0].task), &one, sizeof(one));
    rt_queue_try_send(rt_task_input(rig->actor[0].task), &two, sizeof(two));
    rtport_raise(rig->port, 5);
    rtport_raise(rig->port, 6);
    rtrig_note(rig, "(");
    rt_irq_restore(rig->kernel, previous);
    rtrig_note(rig, ")");
}

static void any_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rt_task_queues(rtrig_add(rig, 'p', 4, pump), 16, 4, 4);
    rt_irq_attach(kernel, 5, post_line, rig);
    rt_irq_attach(kernel, 6, post_line, rig);
    rtrig_add(rig, 's', 4, send_then_interrupt);
}

/* As urgent as its sender, the pump finds all four messages when it runs. */
static void the_interrupt_queue_is_served_first(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, any_setup, "(!!)i5i6t1t2");
}

static void urgent_any_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rt_task_queues(rtrig_add(rig, 'p', 1, pump), 16, 4, 4);
    rt_irq_attach(kernel, 5, post_line, rig);
    rt_irq_attach(kernel, 6, post_line, rig);
    rtrig_add(rig, 's', 4, send_then_interrupt);
}

/*
 * More urgent than its sender, it runs at the end of the critical section, and has taken the first message by
 * the time its own return from the wait lets the interrupts in.
 */
static void a_critical_section_holds_back_tasks_and_interrupts(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, urgent_any_setup, "(!!t1i5i6t2)");
}

static void receive_anothers(void *arg)
{
    struct rtrig_actor *actor = arg;
    uint8_t message[16];

    if (rt_queue_receive(rt_task_input(actor->rig->actor[0].task), message, sizeof(message), RT_FOREVER) > 0)
        rtrig_note(actor->rig, "o");
}

static void send_two(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;
    struct record one = {1, 't'}, two = {2, 't'};

    rt_queue_send(rt_task_input(rig->actor[0].task), &one, sizeof(one), RT_FOREVER);
    rtrig_note(rig, "|");
    rt_queue_send(rt_task_input(rig->actor[0].task), &two, sizeof(two), RT_FOREVER);
}

static void shared_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rt_task_queues(rtrig_add(rig, 'p', 4, pump), 16, 4, 4);
    rtrig_add(rig, 'o', 5, receive_anothers);
    rtrig_add(rig, 's', 6, send_two);
}

/* Who waits on the queue itself is handed the message; the owner wakes, finds nothing and goes on waiting. */
static void an_owner_shares_its_queue(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, shared_setup, "o|t2");
}

static void any_edges(void *arg)
{
    struct rtrig_actor *actor = arg;
    struct rtrig *rig = actor->rig;
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
    rtrig_add(rtrig_enter(kernel, arg), 'e', 3, any_edges);
}

static void wait_any_has_its_edges(void **state)
{
    static const int expected[7] = {RT_EINVAL, RT_EINVAL, RT_OK,       RT_EBUSY,
                                    RT_EINVAL, RT_EAGAIN, RT_ETIMEDOUT};
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, any_edges_setup, "");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.time[0], 400);
}

static void idle_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rt_task_queues(rtrig_add(rig, 'p', 2, pump), 16, 2, 2);
    rt_irq_attach(kernel, 3, post_line, rig);
}

static void interrupts_reach_an_idle_kernel(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_begin(&rig);
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
    rtrig_end(&rig);
}

/* Ping and pong through two queues: each message is a send, a wake and a switch. */
#define ROUNDS 100000u

static void ping(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;
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
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;
    uint64_t word[2];

    while (rt_queue_receive(rig->queue, word, sizeof(word), RT_FOREVER) > 0) {
        word[0] *= 3;
        rt_queue_send(rig->back, word, sizeof(word[0]), RT_FOREVER);
    }
}

static void pingpong_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'o', 2, pong);
    rtrig_add(rig, 'i', 3, ping);
}

static void a_hundred_thousand_messages_go_and_return(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_begin(&rig);
    assert_int_equal(rtport_start(rig.port, pingpong_setup, &rig, RT_FOREVER), RTPORT_IDLE);
    assert_int_equal(rig.count, ROUNDS);
    /* terminator and pong wait at the start; two switches a round; ping's end, the terminator, idle */
    assert_int_equal(rt_kernel_switches(rig.kernel), 3 + 2 * ROUNDS + 2);
    rtrig_end(&rig);
}

static void *pingpong_thread(void *arg)
{
    struct rtrig *rig = arg;

    return (void *)(uintptr_t)rtport_start(rig->port, pingpong_setup, rig, RT_FOREVER);
}

static void kernels_run_side_by_side(void **state)
{
    struct rtrig rig[2];
    pthread_t thread[2];
    void *result[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        rtrig_begin(&rig[i]);
        assert_int_equal(pthread_create(&thread[i], NULL, pingpong_thread, &rig[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], &result[i]), 0);
        assert_int_equal((uintptr_t)result[i], RTPORT_IDLE);
        assert_int_equal(rig[i].count, ROUNDS);
        rtrig_end(&rig[i]);
    }
}

static void one_thread_runs_two_kernels_in_turn(void **state)
{
    struct rtrig rig[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        rtrig_begin(&rig[i]);
        assert_int_equal(rtport_start(rig[i].port, idle_setup, &rig[i], RT_FOREVER), RTPORT_IDLE);
    }
    for (unsigned round = 0; round < 10; round++) {
        rtport_raise(rig[round & 1].port, 3);
        assert_int_equal(rtport_run(rig[round & 1].port, RT_FOREVER), RTPORT_IDLE);
        assert_int_equal(strlen(rig[0].trace), 3 * (round / 2 + 1));
        assert_int_equal(strlen(rig[1].trace), 3 * ((round + 1) / 2));
    }
    rtrig_end(&rig[0]);
    rtrig_end(&rig[1]);
}

static void *raise_thread(void *arg)
{
    struct rtrig *rig = arg;

    rtport_raise(rig->port, 3);
    return (void *)(uintptr_t)rtport_run(rig->port, RT_FOREVER);
}

/* Whoever waits drives: the tasks of one kernel run on the threads of many. */
static void a_kernel_may_be_driven_by_several_threads_in_turn(void **state)
{
    struct rtrig rig;
    pthread_t thread;
    void *result;

    (void)state;
    rtrig_begin(&rig);
    assert_int_equal(rtport_start(rig.port, idle_setup, &rig, RT_FOREVER), RTPORT_IDLE);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread, NULL, raise_thread, &rig), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_int_equal((uintptr_t)result, RTPORT_IDLE);
        assert_int_equal((uintptr_t)raise_thread(&rig), RTPORT_IDLE);
    }
    assert_string_equal(rig.trace, "!i3!i3!i3!i3!i3!i3!i3!i3");
    rtrig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_queue_blocks_its_sender),
        cmocka_unit_test(an_empty_queue_blocks_its_receiver),
        cmocka_unit_test(a_queue_keeps_lengths_and_limits),
        cmocka_unit_test(an_interrupt_wakes_its_pump_at_the_next_port_call),
        cmocka_unit_test(the_interrupt_queue_is_served_first),
        cmocka_unit_test(a_critical_section_holds_back_tasks_and_interrupts),
        cmocka_unit_test(an_owner_shares_its_queue),
        cmocka_unit_test(wait_any_has_its_edges),
        cmocka_unit_test(interrupts_reach_an_idle_kernel),
        cmocka_unit_test(a_hundred_thousand_messages_go_and_return),
        cmocka_unit_test(kernels_run_side_by_side),
        cmocka_unit_test(one_thread_runs_two_kernels_in_turn),
        cmocka_unit_test(a_kernel_may_be_driven_by_several_threads_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
