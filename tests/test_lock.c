/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All schedules of three threads over src/machine/lock.c: threads that wait for events, that wait for each
 * other, that complete the waits of others without driving (as a close does), that only pass through, that
 * run out of time, and injected calls.
 */
#include "support.h"

#include <errno.h>

#include "explorer.h"

static const struct mach_deadline no_deadline = {.wall = true, .ns = MACH_HOST_FOREVER};

static void set(void *flag)
{
    *(bool *)flag = true;
}

static void arm(struct explorer_run *run, uint64_t delay, bool *flag)
{
    explorer_expect(soc_clock_after(run->clock, delay, SOC_EVENT_FOREGROUND, set, flag) != 0,
                    "the clock is full");
}

/* Inside: a wait without a deadline, which must end well. */
static void wait_for(struct explorer_run *run, const bool *flag)
{
    struct mach_deadline deadline = no_deadline;

    explorer_expect(mach_lock_wait(&run->lock, flag, &deadline) == 0 && *flag,
                    "a wait ended without its event");
}

/* A request: an event completes it. */
static void request(struct explorer_run *run, unsigned flag, uint64_t delay)
{
    mach_lock_enter(&run->lock);
    arm(run, delay, &run->flag[flag]);
    wait_for(run, &run->flag[flag]);
    mach_lock_leave(&run->lock);
}

static void request_a(struct explorer_run *run)
{
    request(run, 0, 10);
}

static void request_b(struct explorer_run *run)
{
    request(run, 1, 20);
}

static void request_c(struct explorer_run *run)
{
    request(run, 2, 15);
}

/* A wait that no event completes. */
static void await(struct explorer_run *run, unsigned flag)
{
    mach_lock_enter(&run->lock);
    wait_for(run, &run->flag[flag]);
    mach_lock_leave(&run->lock);
}

static void await_a(struct explorer_run *run)
{
    await(run, 0);
}

static void await_b(struct explorer_run *run)
{
    await(run, 1);
}

/* A close: it completes the waits of others, and does not drive. */
static void close_both(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    run->flag[0] = run->flag[1] = true;
    mach_lock_leave(&run->lock);
}

static void pass_through(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    mach_lock_leave(&run->lock);
    mach_lock_enter(&run->lock);
    mach_lock_leave(&run->lock);
}

/* Waits for its event, then completes another's wait: a caller that is about to act. */
static void request_then_complete_b(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    run->flag[3] = true; /* the others may begin */
    arm(run, 10, &run->flag[0]);
    wait_for(run, &run->flag[0]);
    run->flag[1] = true;
    mach_lock_leave(&run->lock);
}

/*
 * In virtual time: the event is at 10, the deadline at 1000, and whoever
 * completes the wait is inside already.
 */
static void await_b_in_virtual_time(struct explorer_run *run)
{
    struct mach_deadline deadline = {.ns = 1000};

    explorer_await_flag(&run->flag[3]);
    mach_lock_enter(&run->lock);
    explorer_expect(mach_lock_wait(&run->lock, &run->flag[1], &deadline) == 0,
                    "time passed a thread that was about to act");
    mach_lock_leave(&run->lock);
}

static void run_to_idle(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    explorer_expect(mach_lock_run(&run->lock, UINT64_MAX) == MACH_RAN_IDLE,
                    "the clock is not idle after a run");
    mach_lock_leave(&run->lock);
}

static void run_a_little(struct explorer_run *run)
{
    uint64_t end;

    mach_lock_enter(&run->lock);
    end = soc_clock_now(run->clock) + 12;
    explorer_expect(mach_lock_run(&run->lock, 12) == MACH_RAN_IDLE || soc_clock_now(run->clock) >= end,
                    "a run ended too early");
    mach_lock_leave(&run->lock);
}

/* The driver's own timer: it ends by itself. */
static void time_out(struct explorer_run *run)
{
    struct mach_deadline timer = {.ns = 100};

    mach_lock_enter(&run->lock);
    explorer_expect(mach_lock_wait(&run->lock, &run->flag[3], &timer) == -ETIMEDOUT, "a timer did not end");
    mach_lock_leave(&run->lock);
}

/* A caller's patience: it may end at any moment, also when the wait has just been completed. */
static void lose_patience(struct explorer_run *run)
{
    struct mach_deadline deadline = {.wall = true, .ns = 100};
    int status;

    mach_lock_enter(&run->lock);
    status = mach_lock_wait(&run->lock, &run->flag[0], &deadline);
    explorer_expect(status == (run->flag[0] ? 0 : -ETIMEDOUT), "a wait's answer is not what happened");
    mach_lock_leave(&run->lock);
}

/* A quiet wait, which others complete: it does not drive, and they do not need it to. */
static void await_a_quietly(struct explorer_run *run)
{
    struct mach_deadline deadline = {.wall = true, .quiet = true, .ns = MACH_HOST_FOREVER};

    mach_lock_enter(&run->lock);
    explorer_expect(mach_lock_wait(&run->lock, &run->flag[0], &deadline) == 0 && run->flag[0],
                    "a quiet wait ended without its event");
    mach_lock_leave(&run->lock);
}

static void lose_patience_quietly(struct explorer_run *run)
{
    struct mach_deadline deadline = {.wall = true, .quiet = true, .ns = 100};
    int status;

    mach_lock_enter(&run->lock);
    status = mach_lock_wait(&run->lock, &run->flag[0], &deadline);
    explorer_expect(status == (run->flag[0] ? 0 : -ETIMEDOUT), "a wait's answer is not what happened");
    mach_lock_leave(&run->lock);
}

/* Injected: released at 5, it arms its own event and waits, then looks at the time. */
static bool released;

static void release_injected(void *context)
{
    struct explorer_run *run = context;

    mach_lock_act_begin(&run->lock);
    released = true;
}

static void announce_injected(struct explorer_run *run)
{
    released = false;
    soc_clock_after(run->clock, 5, SOC_EVENT_FOREGROUND, release_injected, run);
    arm(run, 6, &run->flag[1]);
}

static void injected(struct explorer_run *run)
{
    struct mach_act act;

    explorer_await_flag(&released);
    mach_lock_act_adopt(&run->lock, &act);
    mach_lock_enter(&run->lock);
    explorer_expect(soc_clock_now(run->clock) == 5, "time passed before an injected call began");
    mach_lock_leave(&run->lock);
    mach_lock_enter(&run->lock);
    explorer_expect(soc_clock_now(run->clock) == 5, "time passed between two calls of an injected one");
    arm(run, 5, &run->flag[0]);
    wait_for(run, &run->flag[0]);
    explorer_expect(soc_clock_now(run->clock) == 10, "an injected call waited too long");
    mach_lock_leave(&run->lock);
    mach_lock_enter(&run->lock);
    explorer_expect(soc_clock_now(run->clock) == 10, "time passed before an injected call ended");
    mach_lock_leave(&run->lock);
    mach_lock_act_end(&act);
}

/* A queue is stuck: time passes for those that gave a limit, and only so far. */
static bool always_stuck(void *context)
{
    (void)context;
    return true;
}

static void make_stuck(struct explorer_run *run)
{
    run->lock.stuck = always_stuck;
    run->lock.context = run;
}

static void run_stuck(struct explorer_run *run)
{
    uint64_t end;

    mach_lock_enter(&run->lock);
    end = soc_clock_now(run->clock) + 12;
    explorer_expect(mach_lock_run(&run->lock, 12) != MACH_RAN_IDLE, "a stuck machine was idle");
    explorer_expect(soc_clock_now(run->clock) >= end, "no time passed while a queue was stuck");
    mach_lock_leave(&run->lock);
}

static void run_stuck_without_limit(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    explorer_expect(mach_lock_run(&run->lock, UINT64_MAX) == MACH_RAN_STUCK, "a stuck machine was idle");
    mach_lock_leave(&run->lock);
}

/*
 * An event is reported outside at its own time, by whoever drives: flag 1 before, flag 2 after. The function
 * that is called looks at the time twice and lets some pass in between.
 */
static void change(void *context)
{
    struct explorer_run *run = context;

    run->lock.due = true;
    run->flag[1] = true;
}

static void called_outside(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    explorer_expect(soc_clock_now(run->clock) == 10, "a change was reported at another time");
    mach_lock_leave(&run->lock);
    mach_lock_enter(&run->lock);
    explorer_expect(soc_clock_now(run->clock) == 10, "time passed while a change was reported");
    mach_lock_run(&run->lock, 3);
    explorer_expect(soc_clock_now(run->clock) >= 13, "a report could not let time pass");
    mach_lock_leave(&run->lock);
}

static void report_change(void *context)
{
    struct explorer_run *run = context;
    struct mach_act act;

    run->lock.due = false;
    mach_lock_step_out(&run->lock, &act);
    called_outside(run);
    mach_lock_step_in(&act);
    explorer_expect(!run->flag[2], "a change was reported twice");
    run->flag[2] = true;
}

static void announce_change(struct explorer_run *run)
{
    run->lock.report = report_change;
    run->lock.context = run;
    soc_clock_after(run->clock, 10, SOC_EVENT_FOREGROUND, change, run);
    soc_clock_after(run->clock, 40, SOC_EVENT_FOREGROUND, set, &run->flag[0]);
}

static void run_over_a_change(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    explorer_expect(mach_lock_run(&run->lock, UINT64_MAX) == MACH_RAN_IDLE && run->flag[2] && run->flag[0],
                    "a run ended before a change was reported");
    mach_lock_leave(&run->lock);
}

static void await_change(struct explorer_run *run)
{
    mach_lock_enter(&run->lock);
    wait_for(run, &run->flag[1]);
    mach_lock_leave(&run->lock);
}

static const struct explorer_scenario scenarios[] = {
    {"three requests", NULL, 3, {request_a, request_b, request_c}, false},
    {"two requests and a passer-by", NULL, 3, {request_a, request_b, pass_through}, false},
    {"two waits and a close", NULL, 3, {await_a, await_b, close_both}, false},
    {"a request, a wait and a close", NULL, 3, {request_a, await_b, close_both}, false},
    {"two requests and a close", NULL, 3, {request_a, request_b, close_both}, false},
    {"a run, a request and a close", NULL, 3, {run_to_idle, request_b, close_both}, false},
    {"a short run, a request and a passer-by", NULL, 3, {run_a_little, request_b, pass_through}, false},
    {"a timer, a request and a passer-by", NULL, 3, {time_out, request_b, pass_through}, false},
    {"a timer, a wait and a close", NULL, 3, {time_out, await_b, close_both}, false},
    {"a caller about to act", NULL, 3, {request_then_complete_b, await_b_in_virtual_time, request_c}, false},
    {"impatience, a request and a close", NULL, 3, {lose_patience, request_b, close_both}, true},
    {"two impatient and a close", NULL, 3, {lose_patience, lose_patience, close_both}, true},
    {"a quiet wait, a request and a close", NULL, 3, {await_a_quietly, request_b, close_both}, false},
    {"a quiet wait and two requests", NULL, 3, {await_a_quietly, request_a, request_b}, false},
    {"quiet impatience, a request and a close",
     NULL,
     3,
     {lose_patience_quietly, request_b, close_both},
     true},
    {"an injected call, a run and a request",
     announce_injected,
     3,
     {injected, run_to_idle, request_c},
     false},
    {"an injected call and two runs", announce_injected, 3, {injected, run_to_idle, run_a_little}, false},
    {"a stuck run, a request and a passer-by", make_stuck, 3, {run_stuck, request_b, pass_through}, false},
    {"stuck runs with and without a limit",
     make_stuck,
     3,
     {run_stuck, run_stuck_without_limit, request_c},
     false},
    {"a change and two runs", announce_change, 2, {run_over_a_change, run_over_a_change}, false},
    {"a change, a run and a wait", announce_change, 3, {run_over_a_change, await_change, request_b}, false},
    {"a change, a run and a timer", announce_change, 2, {run_over_a_change, time_out}, false},
};

static void every_schedule_ends_well(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* one host thread, and a switch of coroutines costs this sanitizer milliseconds */
#endif
    for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        struct explorer_result result = explorer_explore(&scenarios[i]);

        print_message("# %s: %lu schedules, %lu states, longest %u\n", scenarios[i].name,
                      (unsigned long)result.schedules, (unsigned long)result.states, result.longest);
        assert_true(result.schedules > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_ends_well),
    };

    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
