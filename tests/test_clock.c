/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual clock: order, kinds, cancelling, limits. */
#include "support.h"

#include "soc/clock.h"

struct log {
    struct soc_clock *clock;
    int order[64];
    uint64_t time[64];
    unsigned count;
    soc_event_id chained;
};

struct mark {
    struct log *log;
    int name;
};

static void note(void *context)
{
    struct mark *mark = context;
    struct log *log = mark->log;

    log->order[log->count] = mark->name;
    log->time[log->count++] = soc_clock_now(log->clock);
}

static void events_fire_by_time_then_by_order(void **state)
{
    struct log log = {0};
    struct mark a = {&log, 1}, b = {&log, 2}, c = {&log, 3}, d = {&log, 4};

    (void)state;
    assert_int_equal(soc_clock_create(&log.clock, NULL), 0);
    soc_clock_after(log.clock, 20, SOC_EVENT_FOREGROUND, note, &a);
    soc_clock_after(log.clock, 10, SOC_EVENT_FOREGROUND, note, &b);
    soc_clock_after(log.clock, 20, SOC_EVENT_FOREGROUND, note, &c);
    soc_clock_after(log.clock, 0, SOC_EVENT_FOREGROUND, note, &d);
    assert_true(soc_clock_run(log.clock, 1000));
    assert_int_equal(log.count, 4);
    assert_int_equal(log.order[0], 4);
    assert_int_equal(log.order[1], 2);
    assert_int_equal(log.order[2], 1);
    assert_int_equal(log.order[3], 3);
    assert_int_equal(log.time[3], 20);
    assert_int_equal(soc_clock_now(log.clock), 20);
    assert_int_equal(soc_clock_fired(log.clock), 4);
    soc_clock_destroy(log.clock);
}

static void background_events_wait_for_a_reason(void **state)
{
    struct log log = {0};
    struct mark work = {&log, 1}, monitor = {&log, 2};

    (void)state;
    assert_int_equal(soc_clock_create(&log.clock, NULL), 0);
    soc_clock_after(log.clock, 5, SOC_EVENT_BACKGROUND, note, &monitor);
    assert_true(soc_clock_idle(log.clock));
    assert_true(soc_clock_run(log.clock, 1000));
    assert_int_equal(log.count, 0);
    assert_int_equal(soc_clock_now(log.clock), 0);
    soc_clock_after(log.clock, 10, SOC_EVENT_FOREGROUND, note, &work);
    assert_true(soc_clock_run(log.clock, 1000));
    assert_int_equal(log.count, 2);
    assert_int_equal(log.order[0], 2);
    assert_int_equal(log.time[0], 5);
    soc_clock_destroy(log.clock);
}

static void a_run_stops_at_its_limit(void **state)
{
    struct log log = {0};
    struct mark mark = {&log, 1};

    (void)state;
    assert_int_equal(soc_clock_create(&log.clock, NULL), 0);
    soc_clock_after(log.clock, 100, SOC_EVENT_FOREGROUND, note, &mark);
    assert_false(soc_clock_run(log.clock, 99));
    assert_int_equal(log.count, 0);
    assert_int_equal(soc_clock_now(log.clock), 99);
    assert_true(soc_clock_run(log.clock, 1));
    assert_int_equal(log.count, 1);
    soc_clock_destroy(log.clock);
}

static void a_cancelled_event_does_not_fire(void **state)
{
    struct log log = {0};
    struct mark mark = {&log, 1};
    soc_event_id id;

    (void)state;
    assert_int_equal(soc_clock_create(&log.clock, NULL), 0);
    id = soc_clock_after(log.clock, 10, SOC_EVENT_FOREGROUND, note, &mark);
    assert_true(soc_clock_cancel(log.clock, id));
    assert_false(soc_clock_cancel(log.clock, id));
    assert_false(soc_clock_cancel(log.clock, 0));
    /* The slot is used again; the old identity must not reach it. */
    soc_clock_after(log.clock, 10, SOC_EVENT_FOREGROUND, note, &mark);
    assert_false(soc_clock_cancel(log.clock, id));
    assert_true(soc_clock_run(log.clock, 10));
    assert_int_equal(log.count, 1);
    soc_clock_destroy(log.clock);
}

static uint64_t last_time;
static unsigned disorder;

static void ascending(void *context)
{
    struct soc_clock *clock = context;

    disorder += soc_clock_now(clock) < last_time;
    last_time = soc_clock_now(clock);
}

static void a_full_clock_refuses_and_random_loads_stay_sorted(void **state)
{
    struct test_rng rng;
    struct soc_clock *clock;
    soc_event_id id[SOC_CLOCK_EVENTS];

    (void)state;
    test_rng_init(&rng, 1);
    assert_int_equal(soc_clock_create(&clock, NULL), 0);
    for (unsigned round = 0; round < 20; round++) {
        unsigned kept = SOC_CLOCK_EVENTS;
        uint64_t fired = soc_clock_fired(clock);

        for (unsigned i = 0; i < SOC_CLOCK_EVENTS; i++)
            assert_int_not_equal(id[i] = soc_clock_after(clock, (uint64_t)test_rng_range(&rng, 0, 500),
                                                         SOC_EVENT_FOREGROUND, ascending, clock),
                                 0);
        assert_int_equal(soc_clock_after(clock, 1, SOC_EVENT_FOREGROUND, ascending, clock), 0);
        for (unsigned i = 0; i < SOC_CLOCK_EVENTS; i += 3)
            kept -= soc_clock_cancel(clock, id[i]);
        last_time = soc_clock_now(clock);
        assert_true(soc_clock_run(clock, 1000));
        assert_int_equal(soc_clock_fired(clock) - fired, kept);
    }
    assert_int_equal(disorder, 0);
    soc_clock_destroy(clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_fire_by_time_then_by_order),
        cmocka_unit_test(background_events_wait_for_a_reason),
        cmocka_unit_test(a_run_stops_at_its_limit),
        cmocka_unit_test(a_cancelled_event_does_not_fire),
        cmocka_unit_test(a_full_clock_refuses_and_random_loads_stay_sorted),
    };

    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
