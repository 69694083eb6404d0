/* SPDX-License-Identifier: Apache-2.0 */
/* The real-time kernel's scheduling: priorities, semaphores, timeouts. */
#include "rtrig.h"

static void say(void *arg)
{
    struct rtrig_actor *actor = arg;

    rtrig_note_char(actor->rig, actor->letter);
}

static void say_twice(void *arg)
{
    struct rtrig_actor *actor = arg;

    say(arg);
    rt_task_yield(actor->rig->kernel);
    say(arg);
}

static void order_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, '5', 5, say);
    rtrig_add(rig, '7', 7, say);
    rtrig_add(rig, '0', 0, say);
    rtrig_add(rig, '3', 3, say);
    rtrig_add(rig, '4', 5, say); /* behind the other one of level 5 */
}

static void the_most_urgent_runs_first(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, order_setup, "03547");
}

static void fifo_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'a', 4, say_twice);
    rtrig_add(rig, 'b', 4, say_twice);
    rtrig_add(rig, 'c', 4, say_twice);
    rtrig_add(rig, 'd', 5, say_twice); /* alone on its level: yielding changes nothing */
}

static void a_level_is_served_in_order(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, fifo_setup, "abcabcdd");
}

static void take_and_say(void *arg)
{
    struct rtrig_actor *actor = arg;

    if (rt_semaphore_take(actor->rig->semaphore, RT_FOREVER) == RT_OK)
        say(arg);
}

static void give_between(void *arg)
{
    struct rtrig_actor *actor = arg;

    rtrig_note(actor->rig, "<");
    rt_semaphore_give(actor->rig->semaphore);
    rtrig_note(actor->rig, "|");
    rt_semaphore_give(actor->rig->semaphore);
    rtrig_note(actor->rig, "|");
    rt_semaphore_give(actor->rig->semaphore);
    rtrig_note(actor->rig, ">");
}

static void preempt_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'h', 2, take_and_say);
    rtrig_add(rig, 'e', 4, take_and_say); /* as urgent as the giver */
    rtrig_add(rig, 'g', 4, give_between);
    rtrig_add(rig, 'l', 6, take_and_say);
}

/* The urgent one runs inside give; the equal one is woken but waits its turn; the less urgent one too. */
static void giving_lets_a_more_urgent_task_run_at_once(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, preempt_setup, "<h||>el");
}

static void give_once(void *arg)
{
    struct rtrig_actor *actor = arg;

    rtrig_note(actor->rig, "<");
    rt_semaphore_give(actor->rig->semaphore);
    rtrig_note(actor->rig, ">");
}

static void place_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'h', 2, take_and_say);
    rtrig_add(rig, 'g', 5, give_once);
    rtrig_add(rig, 'n', 5, say);
}

static void a_preempted_task_keeps_its_place(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, place_setup, "<h>n");
}

static void create_from_task(void *arg)
{
    struct rtrig_actor *actor = arg;

    rtrig_note(actor->rig, "<");
    rtrig_add(actor->rig, 'x', 1, say);
    rtrig_note(actor->rig, "|");
    rtrig_add(actor->rig, 'y', 6, say);
    rtrig_note(actor->rig, ">");
}

static void create_setup(struct rt_kernel *kernel, void *arg)
{
    rtrig_add(rtrig_enter(kernel, arg), 'c', 3, create_from_task);
}

static void a_created_task_may_preempt_its_creator(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, create_setup, "<x|>y");
}

static void give_six(void *arg)
{
    struct rtrig_actor *actor = arg;

    for (unsigned i = 0; i < 6; i++)
        rt_semaphore_give(actor->rig->semaphore);
}

static void waiters_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'a', 5, take_and_say);
    rtrig_add(rig, 'b', 3, take_and_say);
    rtrig_add(rig, 'c', 5, take_and_say);
    rtrig_add(rig, 'd', 1, take_and_say);
    rtrig_add(rig, 'e', 3, take_and_say);
    rtrig_add(rig, 'f', 5, take_and_say);
    rtrig_add(rig, 'g', 6, give_six); /* the least urgent: all of them wait before it runs */
}

static void waiters_are_served_by_priority_then_arrival(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, waiters_setup, "dbeacf");
}

static void give_then_try(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;

    rt_task_sleep(rig->kernel, 10); /* lets the less urgent one begin to wait */
    rt_semaphore_give(rig->semaphore);
    rig->result[0] = rt_semaphore_take(rig->semaphore, RT_NO_WAIT);
    rig->result[1] = (int)rt_semaphore_count(rig->semaphore);
}

static void handoff_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'g', 2, give_then_try);
    rtrig_add(rig, 'w', 6, take_and_say);
}

static void a_given_unit_cannot_be_stolen_from_its_waiter(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, handoff_setup, "w");
    assert_int_equal(rig.result[0], RT_EAGAIN);
    assert_int_equal(rig.result[1], 0);
}

static void semaphore_limits(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;
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
    rtrig_add(rtrig_enter(kernel, arg), 's', 2, semaphore_limits);
}

static void a_semaphore_counts_between_its_limits(void **state)
{
    static const int expected[8] = {RT_EINVAL, RT_EINVAL, RT_OK,     RT_EOVERFLOW,
                                    RT_OK,     RT_OK,     RT_EAGAIN, RT_OK};
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, semaphore_setup, "");
    assert_memory_equal(rig.result, expected, sizeof(expected));
}

static void take_with_timeouts(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;

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
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;

    rt_task_sleep(rig->kernel, 2500);
    rt_semaphore_give(rig->semaphore);
}

static void timeout_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 't', 2, take_with_timeouts);
    rtrig_add(rig, 'g', 3, give_later);
}

static void timeouts_pass_in_virtual_time(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, timeout_setup, "");
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
    struct rtrig_actor *actor = arg;

    rt_task_sleep(actor->rig->kernel, 700);
    say(arg);
}

static void doze_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rtrig_add(rig, 'c', 6, sleep_and_say);
    rtrig_add(rig, 'a', 5, sleep_and_say);
    rtrig_add(rig, 'b', 5, sleep_and_say);
    rtrig_add(rig, 'u', 0, sleep_and_say);
}

static void equal_deadlines_are_met_by_priority_then_arrival(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_run(&rig, doze_setup, "uabc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_urgent_runs_first),
        cmocka_unit_test(a_level_is_served_in_order),
        cmocka_unit_test(giving_lets_a_more_urgent_task_run_at_once),
        cmocka_unit_test(a_preempted_task_keeps_its_place),
        cmocka_unit_test(a_created_task_may_preempt_its_creator),
        cmocka_unit_test(waiters_are_served_by_priority_then_arrival),
        cmocka_unit_test(a_given_unit_cannot_be_stolen_from_its_waiter),
        cmocka_unit_test(a_semaphore_counts_between_its_limits),
        cmocka_unit_test(timeouts_pass_in_virtual_time),
        cmocka_unit_test(equal_deadlines_are_met_by_priority_then_arrival),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
