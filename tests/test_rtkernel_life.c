/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real-time kernel's life: boot and its refusals, tasks that come,
 * pause and go, full pools, and a long run.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/heap.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/mutex.h"
#include "rtkernel/pool.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"
#include "rtport.h"

#define CARVE_OUT (4u << 20)
#define STACK     4096u

struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_task *task[4];
    struct rt_semaphore *semaphore;
    struct rt_queue *queue;
    char trace[512];
    int result[16];
    uint64_t number[8];
};

static void note(struct rig *rig, const char *text)
{
    const size_t length = strlen(rig->trace);

    snprintf(rig->trace + length, sizeof(rig->trace) - length, "%s", text);
}

static void run(struct rig *rig, void (*setup)(struct rt_kernel *kernel, void *arg), const char *expected)
{
    memset(rig, 0, sizeof(*rig));
    rig->port = rtport_create(CARVE_OUT, 64u << 10);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig->trace, expected);
}

static struct rig *enter(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = arg;

    rig->kernel = kernel;
    rt_semaphore_create(kernel, &rig->semaphore, 0, 3);
    rt_queue_create(kernel, &rig->queue, 16, 3);
    return rig;
}

/* Boot: what it refuses and what it says. */
static void the_heap_must_exceed_twice_the_reservation(void **state)
{
    struct rt_port *port = rtport_create(CARVE_OUT, 0);
    struct rt_boot boot = *rtport_boot_arguments(port);
    const size_t heap = boot.bytes - rt_kernel_bytes();
    struct rt_kernel *kernel = NULL;
    struct rt_refusal refusal;
    char expected[RT_TEXT_BYTES + 1];

    (void)state;
    boot.framework_bytes = heap / 2;
    snprintf(expected, sizeof(expected), "heap 0x%zx must exceed twice the framework reservation 0x%zx\n",
             heap, heap / 2);
    assert_int_equal(rt_kernel_boot(&boot, &kernel, &refusal), RT_ENOMEM);
    assert_null(kernel);
    assert_string_equal(rtport_log(port), expected);
    expected[strlen(expected) - 1] = '\0';
    assert_string_equal(refusal.text, expected);

    boot.framework_bytes = SIZE_MAX;
    assert_int_equal(rt_kernel_boot(&boot, &kernel, NULL), RT_ENOMEM);
    boot.framework_bytes = heap / 2 - 16;
    assert_int_equal(rt_kernel_boot(&boot, &kernel, &refusal), RT_OK);
    assert_ptr_equal(kernel, boot.base);
    assert_int_equal(rt_heap_info(kernel, RT_ARENA_FRAMEWORK).total, heap / 2 - 16);
    assert_int_equal(rt_heap_info(kernel, RT_ARENA_SYSTEM).total, heap - (heap / 2 - 16));
    rt_kernel_close(kernel);
    rtport_destroy(port);
}

static void boot_refuses_a_bad_carve_out(void **state)
{
    struct rt_port *port = rtport_create(CARVE_OUT, 0);
    struct rt_boot boot = *rtport_boot_arguments(port);
    struct rt_refusal refusal;
    struct rt_kernel *kernel;

    (void)state;
    boot.base = (uint8_t *)boot.base + 32;
    assert_int_equal(rt_kernel_boot(&boot, &kernel, &refusal), RT_EINVAL);
    assert_string_equal(refusal.text, "carve-out must begin at a multiple of 64");
    boot.base = rtport_boot_arguments(port)->base;
    boot.bytes = rt_kernel_bytes() - 1;
    assert_int_equal(rt_kernel_boot(&boot, &kernel, &refusal), RT_ENOMEM);
    assert_non_null(strstr(refusal.text, "no room for the kernel"));
    boot.bytes = rt_kernel_bytes() + 1;
    assert_int_equal(rt_kernel_boot(&boot, &kernel, &refusal), RT_ENOMEM);
    assert_non_null(strstr(refusal.text, "no room for the stacks"));
    boot.bytes = rt_kernel_bytes() + boot.stack_extra + RT_STACK_SYSTEM + 64; /* one of the two */
    assert_int_equal(rt_kernel_boot(&boot, &kernel, &refusal), RT_ENOMEM);
    assert_non_null(strstr(refusal.text, "no room for the stacks"));
    rtport_destroy(port);
}

/* A restart: the same carve-out, whatever it holds, boots again. */
static void wait_forever(void *arg)
{
    rt_semaphore_take(((struct rig *)arg)->semaphore, RT_FOREVER);
}

static void restart_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_create(kernel, &rig->task[0], "waiter", 3, STACK, wait_forever, rig);
    note(rig, "b");
}

static void a_kernel_restarts_in_its_carve_out(void **state)
{
    struct rt_boot boot;
    struct rt_kernel *again;
    struct rig rig;

    (void)state;
    run(&rig, restart_setup, "b");
    boot = *rtport_boot_arguments(rig.port);
    rt_kernel_close(rig.kernel);
    assert_int_equal(rtport_contexts(rig.port), 0);
    assert_int_equal(rt_kernel_boot(&boot, &again, NULL), RT_OK);
    assert_ptr_equal(again, rig.kernel);
    assert_int_equal(rt_pool_info(again, RT_POOL_TASK).available, RT_TASK_COUNT - 2);
    rtport_destroy(rig.port);
}

/* Tasks that end. */
static void short_life(void *arg)
{
    struct rig *rig = arg;

    rig->number[0]++;
    if (rig->number[0] % 2)
        rt_task_exit(rig->kernel);
}

static void parent(void *arg)
{
    struct rig *rig = arg;

    rig->number[1] = rt_heap_info(rig->kernel, RT_ARENA_SYSTEM).free;
    for (unsigned i = 0; i < 200; i++) {
        if (rt_task_create(rig->kernel, &rig->task[1], "child", 3 + i % 4, STACK + 16 * i, short_life, rig) ||
            (i % 3 && rt_task_queues(rig->task[1], 8, 2, 2)))
            rig->result[0]++;
        rt_task_sleep(rig->kernel, 1); /* it runs, ends, and is reaped */
    }
    rig->number[2] = rt_heap_info(rig->kernel, RT_ARENA_SYSTEM).free;
    rig->number[3] = rt_pool_info(rig->kernel, RT_POOL_TASK).available;
    rig->number[4] = rt_pool_info(rig->kernel, RT_POOL_QUEUE).available;
    rig->number[5] = (uint64_t)rtport_contexts(rig->port);
}

static void parent_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_create(kernel, &rig->task[0], "parent", 2, STACK, parent, rig);
}

static void a_task_that_ends_gives_everything_back(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, parent_setup, "");
    assert_int_equal(rig.number[0], 200);
    assert_int_equal(rig.result[0], 0);
    assert_int_equal(rig.number[2], rig.number[1]);
    assert_int_equal(rig.number[3], RT_TASK_COUNT - 3); /* idle, terminator, parent */
    assert_int_equal(rig.number[4], RT_QUEUE_COUNT - 1);
    assert_int_equal(rig.number[5], 3);
    assert_int_equal(rt_pool_info(rig.kernel, RT_POOL_TASK).available, RT_TASK_COUNT - 2);
    rtport_destroy(rig.port);
}

/* Suspending. */
static void counting(void *arg)
{
    struct rig *rig = arg;

    for (;;) {
        rt_semaphore_take(rig->semaphore, RT_FOREVER);
        note(rig, "x");
    }
}

static void note_state(struct rig *rig, const struct rt_task *task)
{
    note(rig, " ");
    note(rig, rt_task_state_name(rt_task_state(task)));
    note(rig, " ");
}

static void suspender(void *arg)
{
    struct rig *rig = arg;

    note_state(rig, rig->task[0]);
    rt_semaphore_give(rig->semaphore); /* less urgent: it becomes runnable only */
    note_state(rig, rig->task[0]);
    rt_task_suspend(rig->task[0]);
    note_state(rig, rig->task[0]);
    rt_task_sleep(rig->kernel, 10); /* it could have run here */
    note(rig, "r");
    rt_task_resume(rig->task[0]);
    rt_task_sleep(rig->kernel, 10);
    rt_task_suspend(rig->task[0]); /* while it waits */
    rt_semaphore_give(rig->semaphore);
    rt_task_sleep(rig->kernel, 10);
    note_state(rig, rig->task[0]);
    rt_task_resume(rig->task[0]);
    rt_task_resume(rig->task[0]);
    rt_task_sleep(rig->kernel, 10);
    note(rig, "s");
    rt_task_suspend(rt_task_current(rig->kernel));
    note(rig, "t");
    rig->result[0] = rt_task_suspend(rig->task[0]);
}

static void suspend_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_create(kernel, &rig->task[0], "counter", 4, STACK, counting, rig);
    rt_task_create(kernel, &rig->task[1], "suspender", 3, STACK, suspender, rig);
    rt_task_suspend(rig->task[1]);
}

static void a_suspended_task_waits_for_its_resumption(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, suspend_setup, "");
    assert_int_equal(rt_task_state(rig.task[1]), RT_TASK_SUSPENDED);
    assert_int_equal(rt_task_resume(rig.task[1]), RT_OK);
    rtport_raise(rig.port, 31); /* nobody's, but the exit of an interrupt looks for more urgent tasks */
    assert_int_equal(rtport_run(rig.port, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig.trace, " SEMWAIT  RUNNABLE  SUSPENDED rx SUSPENDED xs");
    rtport_destroy(rig.port);
}

/* The list. */
struct listing {
    char text[512];
    size_t used[8];
    unsigned count;
};

static void list_one(void *arg, const struct rt_task_info *info)
{
    struct listing *listing = arg;
    const size_t length = strlen(listing->text);

    snprintf(listing->text + length, sizeof(listing->text) - length, "%s %s %u%s;", info->name,
             rt_task_state_name(info->state), info->priority, info->running ? " running" : "");
    listing->used[listing->count++] = info->stack_used;
    if (info->stack_used > info->stack_bytes)
        listing->text[0] = '?';
}

/* Small frames, down to that far below: a sanitizer may keep one large array elsewhere. */
static __attribute__((noinline)) unsigned use_stack(uintptr_t from, size_t bytes)
{
    volatile uint8_t here[64];

    here[0] = 1;
    if (from - (uintptr_t)__builtin_frame_address(0) < bytes)
        return use_stack(from, bytes) + here[0];
    return here[0];
}

static void greedy(void *arg)
{
    struct rig *rig = arg;

    rig->result[0] = (int)use_stack((uintptr_t)__builtin_frame_address(0), 8000);
    rt_task_sleep(rig->kernel, RT_FOREVER);
}

static void hold_mutex(void *arg)
{
    struct rig *rig = arg;
    struct rt_mutex *mutex;

    if (!rt_mutex_create(rig->kernel, &mutex)) {
        memcpy(&rig->number[7], &mutex, sizeof(mutex));
        rt_mutex_lock(mutex, RT_FOREVER);
    }
    rt_task_sleep(rig->kernel, RT_FOREVER);
}

static void want_mutex(void *arg)
{
    struct rig *rig = arg;
    struct rt_mutex *mutex;

    memcpy(&mutex, &rig->number[7], sizeof(mutex));
    rt_mutex_lock(mutex, RT_FOREVER);
}

static void list_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rt_task_create(kernel, &rig->task[0], "a-name-that-is-too-long", 7, STACK, wait_forever, rig);
    rt_task_create(kernel, &rig->task[1], "greedy", 2, 3 * STACK, greedy, rig);
    rt_task_create(kernel, &rig->task[2], "holder", 2, STACK, hold_mutex, rig);
    rt_task_create(kernel, &rig->task[3], "wanter", 2, STACK, want_mutex, rig);
}

static void the_list_shows_states_and_stacks(void **state)
{
    struct listing listing = {.count = 0};
    struct rig rig;

    (void)state;
    run(&rig, list_setup, "");
    rt_task_list(rig.kernel, list_one, &listing);
    assert_string_equal(listing.text,
                        "idle RUNNABLE 8 running;terminator SEMWAIT 1;a-name-that-is- SEMWAIT 7;"
                        "greedy WAITING 2;holder WAITING 2;wanter BLOCKED 2;");
    assert_true(listing.used[2] > 0 && listing.used[2] < 8000);
    assert_true(listing.used[3] >= 8000);
    rtport_destroy(rig.port);
}

/* Pools. */
static int take_one(struct rt_kernel *kernel, enum rt_pool_kind kind, struct rig *rig)
{
    union {
        struct rt_task *task;
        struct rt_semaphore *semaphore;
        struct rt_mailbox *mailbox;
        struct rt_queue *queue;
        struct rt_signal *signal;
        struct rt_timer *timer;
        struct rt_mutex *mutex;
    } made;

    switch (kind) {
    case RT_POOL_TASK:
        return rt_task_create(kernel, &made.task, "filler", 5, RT_STACK_MIN, wait_forever, rig);
    case RT_POOL_SEMAPHORE: return rt_semaphore_create(kernel, &made.semaphore, 0, 1);
    case RT_POOL_MAILBOX: return rt_mailbox_create(kernel, &made.mailbox);
    case RT_POOL_QUEUE: return rt_queue_create(kernel, &made.queue, 8, 1);
    case RT_POOL_SIGNAL: return rt_signal_create(kernel, &made.signal);
    case RT_POOL_TIMER: return rt_timer_create_give(kernel, &made.timer, rig->semaphore);
    case RT_POOL_MUTEX: return rt_mutex_create(kernel, &made.mutex);
    default: return RT_EINVAL;
    }
}

static void pool_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);
    char text[64];

    for (enum rt_pool_kind kind = 0; kind < RT_POOL_KINDS; kind++) {
        const struct rt_pool_info before = rt_pool_info(kernel, kind);
        unsigned made = 0;

        while (!rig->result[kind]) {
            rig->result[kind] = take_one(kernel, kind, rig);
            made += !rig->result[kind];
        }
        if (made != before.available || rt_pool_info(kernel, kind).available)
            rig->number[0]++;
        snprintf(text, sizeof(text), "%s %u;", before.name, before.total);
        note(rig, text);
    }
}

static void an_exhausted_pool_says_so(void **state)
{
    struct rig rig;

    (void)state;
    run(&rig, pool_setup, "tasks 24;semaphores 64;mailboxes 16;queues 48;signals 16;timers 32;mutexes 16;");
    assert_int_equal(rig.number[0], 0);
    for (enum rt_pool_kind kind = 0; kind < RT_POOL_KINDS; kind++)
        assert_int_equal(rig.result[kind], RT_ENOSPC);
    rtport_destroy(rig.port);
}

static void arguments_setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = enter(kernel, arg);

    rig->result[0] = rt_task_create(kernel, &rig->task[0], "x", 8, STACK, wait_forever, rig);
    rig->result[1] = rt_task_create(kernel, &rig->task[0], "x", 3, RT_STACK_MIN - 1, wait_forever, rig);
    rig->result[2] = rt_task_create(kernel, &rig->task[0], "x", 3, CARVE_OUT, wait_forever, rig);
    rig->result[3] = rt_queue_create(kernel, &rig->queue, 0, 1);
    rig->result[4] = rt_queue_create(kernel, &rig->queue, 8, RT_QUEUE_DEPTH_MAX + 1);
    rig->result[5] = rt_queue_create(kernel, &rig->queue, RT_QUEUE_WIDTH_MAX, RT_QUEUE_DEPTH_MAX);
    rig->number[0] = rt_pool_info(kernel, RT_POOL_TASK).available;
    rig->number[1] = rt_pool_info(kernel, RT_POOL_QUEUE).available;
}

static void bad_arguments_change_nothing(void **state)
{
    static const int expected[6] = {RT_EINVAL, RT_EINVAL, RT_ENOMEM, RT_EINVAL, RT_EINVAL, RT_ENOMEM};
    struct rig rig;

    (void)state;
    run(&rig, arguments_setup, "");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.number[0], RT_TASK_COUNT - 2);
    assert_int_equal(rig.number[1], RT_QUEUE_COUNT - 1);
    rtport_destroy(rig.port);
}

/*
 * A long run: tokens wander through queues between tasks of all priorities, with timeouts, sleeps and
 * interrupts thrown in. None is lost or made, and the same seed gives the same story.
 */
#define WANDERERS 10
#define STATIONS  4
#define TOKENS    9u
#define HOPS      4000u

struct wander {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_queue *station[STATIONS];
    struct test_rng rng;
    bool carries;
    uint32_t pocket;
    uint64_t story; /* a hash of everything that happens, in order */
    unsigned hops, timeouts, interrupts;
};

struct wanderer {
    struct wander *wander;
    unsigned number;
};

static void tell(struct wander *wander, uint64_t what)
{
    wander->story = (wander->story ^ what ^ rtport_now(wander->port)) * 0x100000001b3ull;
}

static void wanderer(void *arg)
{
    struct wanderer *self = arg;
    struct wander *wander = self->wander;
    uint32_t token;

    while (wander->hops < HOPS) {
        const unsigned from = test_rng_u32(&wander->rng) % STATIONS;

        if (test_rng_u32(&wander->rng) % 8 == 0)
            rtport_raise_at(wander->port, rtport_now(wander->port) + test_rng_u32(&wander->rng) % 50, 4);
        if (rt_queue_receive(wander->station[from], &token, sizeof(token),
                             1 + test_rng_u32(&wander->rng) % 40) < 0) {
            wander->timeouts++;
            continue;
        }
        tell(wander, (uint64_t)self->number << 32 | token);
        rtport_spend(wander->port, test_rng_u32(&wander->rng) % 20);
        /* some station has room: there are fewer tokens than slots */
        while (
            rt_queue_send(wander->station[test_rng_u32(&wander->rng) % STATIONS], &token, sizeof(token), 30))
            wander->timeouts++;
        wander->hops++;
        if (test_rng_bool(&wander->rng))
            rt_task_sleep(wander->kernel, test_rng_u32(&wander->rng) % 30);
    }
}

/* Carries a token from one station to another, by way of its pocket. */
static void gust(void *arg, unsigned line)
{
    struct wander *wander = arg;

    if (!wander->carries)
        wander->carries =
            rt_queue_receive(wander->station[0], &wander->pocket, sizeof(uint32_t), RT_NO_WAIT) > 0;
    else
        wander->carries = rt_queue_try_send(wander->station[1], &wander->pocket, sizeof(uint32_t)) != 0;
    tell(wander, line);
    wander->interrupts++;
}

static struct wanderer wanderers[WANDERERS];

static void wander_setup(struct rt_kernel *kernel, void *arg)
{
    struct wander *wander = arg;
    struct rt_task *task;

    wander->kernel = kernel;
    for (unsigned i = 0; i < STATIONS; i++)
        rt_queue_create(kernel, &wander->station[i], sizeof(uint32_t), 3);
    for (uint32_t token = 0; token < TOKENS; token++)
        rt_queue_try_send(wander->station[token / 3], &token, sizeof(token));
    rt_irq_attach(kernel, 4, gust, wander);
    for (unsigned i = 0; i < WANDERERS; i++) {
        wanderers[i] = (struct wanderer){wander, i};
        rt_task_create(kernel, &task, "wanderer", test_rng_u32(&wander->rng) % 8, STACK, wanderer,
                       &wanderers[i]);
    }
}

static uint64_t wander_once(uint64_t stream)
{
    struct wander wander = {.story = 0xcbf29ce484222325ull};
    uint32_t token, seen = 0;

    test_rng_init(&wander.rng, stream);
    wander.port = rtport_create(CARVE_OUT, 0);
    assert_int_equal(rtport_start(wander.port, wander_setup, &wander, RT_FOREVER), RTPORT_IDLE);
    for (unsigned i = 0; i < STATIONS; i++) {
        while (rt_queue_receive(wander.station[i], &token, sizeof(token), RT_NO_WAIT) > 0) {
            assert_false(seen >> token & 1);
            seen |= 1u << token;
        }
    }
    if (wander.carries) {
        assert_false(seen >> wander.pocket & 1);
        seen |= 1u << wander.pocket;
    }
    assert_int_equal(seen, (1u << TOKENS) - 1);
    assert_true(wander.hops >= HOPS);
    assert_true(wander.timeouts > 0);
    assert_true(wander.interrupts > 0);
    assert_int_equal(rtport_timer(wander.port), 0);
    assert_int_equal(rt_pool_info(wander.kernel, RT_POOL_TASK).available, RT_TASK_COUNT - 2);
    rtport_destroy(wander.port);
    return wander.story;
}

static void tokens_are_neither_lost_nor_made(void **state)
{
    (void)state;
    for (uint64_t stream = 0; stream < 4; stream++)
        assert_int_equal(wander_once(stream), wander_once(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heap_must_exceed_twice_the_reservation),
        cmocka_unit_test(boot_refuses_a_bad_carve_out),
        cmocka_unit_test(a_kernel_restarts_in_its_carve_out),
        cmocka_unit_test(a_task_that_ends_gives_everything_back),
        cmocka_unit_test(a_suspended_task_waits_for_its_resumption),
        cmocka_unit_test(the_list_shows_states_and_stacks),
        cmocka_unit_test(an_exhausted_pool_says_so),
        cmocka_unit_test(bad_arguments_change_nothing),
        cmocka_unit_test(tokens_are_neither_lost_nor_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
