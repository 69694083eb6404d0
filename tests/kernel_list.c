/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the cases, each with new objects. Afterwards every object can be deleted, because no task waits there,
 * and pools and arena are as before.
 */
#include "kernel_list.h"

#include "kernel_bench.h"
#include "rtkernel/format.h"
#include "rtkernel/heap.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/memory.h"
#include "rtkernel/mutex.h"
#include "rtkernel/pool.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

#define ACTORS 8u

const struct kernel_case kernel_list[] = {
#define X(name) {#name, kernel_case_##name},
    KERNEL_CASES(X)
#undef X
};
const unsigned kernel_list_count = sizeof(kernel_list) / sizeof(kernel_list[0]);

void kernel_bench_note_char(struct kernel_bench *bench, char c)
{
    if (bench->length + 1 < sizeof(bench->trace))
        bench->trace[bench->length++] = c;
}

void kernel_bench_note(struct kernel_bench *bench, const char *text)
{
    while (*text)
        kernel_bench_note_char(bench, *text++);
}

void kernel_bench_note_number(struct kernel_bench *bench, uint64_t number)
{
    char text[24];

    rt_format(text, sizeof(text), "%llu", (unsigned long long)number);
    kernel_bench_note(bench, text);
}

void kernel_bench_note_status(struct kernel_bench *bench, int status)
{
    const char *text = "?";

    switch (status) {
    case RT_OK: text = "OK"; break;
    case RT_EPERM: text = "EPERM"; break;
    case RT_EAGAIN: text = "EAGAIN"; break;
    case RT_ENOMEM: text = "ENOMEM"; break;
    case RT_EBUSY: text = "EBUSY"; break;
    case RT_EINVAL: text = "EINVAL"; break;
    case RT_ENOSPC: text = "ENOSPC"; break;
    case RT_EDEADLK: text = "EDEADLK"; break;
    case RT_EOVERFLOW: text = "EOVERFLOW"; break;
    case RT_EMSGSIZE: text = "EMSGSIZE"; break;
    case RT_ETIMEDOUT: text = "ETIMEDOUT"; break;
    default: break;
    }
    kernel_bench_note(bench, text);
    kernel_bench_note_char(bench, ' ');
}

void kernel_bench_say(struct kernel_actor *actor)
{
    kernel_bench_note_char(actor->bench, actor->letter);
}

void kernel_bench_sleep(struct kernel_bench *bench, unsigned steps)
{
    rt_task_sleep(bench->kernel, steps * bench->step);
}

static void act(void *arg)
{
    struct kernel_actor *actor = arg;

    actor->body(actor);
    rt_semaphore_give(actor->bench->done);
}

struct rt_task *kernel_bench_actor(struct kernel_bench *bench, char letter, unsigned priority,
                                   void (*body)(struct kernel_actor *actor))
{
    struct kernel_actor *actor = &bench->actor[bench->actors];

    *actor = (struct kernel_actor){.bench = bench, .letter = letter, .body = body};
    bench->actors++;
    if (rt_task_create(bench->kernel, &actor->task, (char[]){letter, '\0'}, priority, KERNEL_STACK, act,
                       actor)) {
        bench->actors--;
        kernel_bench_note(bench, "[not created]");
    }
    return actor->task;
}

/* The caller, idle and the terminator remain. */
static bool all_reaped(const struct kernel_bench *bench)
{
    return rt_pool_info(bench->kernel, RT_POOL_TASK).available == RT_TASK_COUNT - 3;
}

void kernel_bench_join(struct kernel_bench *bench)
{
    for (; bench->actors; bench->actors--)
        rt_semaphore_take(bench->done, RT_FOREVER);
    while (!all_reaped(bench))
        kernel_bench_sleep(bench, 1);
}

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

int kernel_bench_expect(struct kernel_bench *bench, const char *trace)
{
    bench->trace[bench->length] = '\0';
    return equal(bench->trace, trace) ? 0 : 1;
}

static int make_objects(struct kernel_bench *bench)
{
    struct rt_kernel *kernel = bench->kernel;
    int failed = rt_semaphore_create(kernel, &bench->semaphore, 0, 3);

    failed |= rt_semaphore_create(kernel, &bench->done, 0, ACTORS);
    failed |= rt_queue_create(kernel, &bench->queue, 16, 2);
    failed |= rt_mailbox_create(kernel, &bench->mailbox);
    failed |= rt_signal_create(kernel, &bench->signal);
    failed |= rt_timer_create_give(kernel, &bench->timer, bench->semaphore);
    for (unsigned i = 0; i < 3; i++)
        failed |= rt_mutex_create(kernel, &bench->mutex[i]);
    bench->actors = bench->count = 0;
    bench->length = 0;
    return failed;
}

static int delete_objects(struct kernel_bench *bench)
{
    int failed = 0;

    rt_timer_delete(bench->timer);
    failed |= rt_semaphore_delete(bench->semaphore);
    failed |= rt_semaphore_delete(bench->done);
    failed |= rt_queue_delete(bench->queue);
    failed |= rt_mailbox_delete(bench->mailbox);
    failed |= rt_signal_delete(bench->signal);
    for (unsigned i = 0; i < 3; i++)
        failed |= rt_mutex_delete(bench->mutex[i]);
    return failed;
}

/* One number of everything that a case could leave behind. */
static uint64_t in_use(const struct kernel_bench *bench)
{
    uint64_t sum = rt_heap_info(bench->kernel, RT_ARENA_SYSTEM).blocks +
                   rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK).blocks;

    for (unsigned i = 0; i < RT_POOL_KINDS; i++)
        sum = sum * 100 + rt_pool_info(bench->kernel, (enum rt_pool_kind)i).available;
    return sum;
}

static bool run_case(struct kernel_bench *bench, const struct kernel_case *one)
{
    const uint64_t before = in_use(bench);
    bool failed = make_objects(bench);

    failed |= one->run(bench) != 0;
    bench->trace[bench->length] = '\0';
    failed |= delete_objects(bench) || in_use(bench) != before;
    return failed;
}

unsigned kernel_list_run(struct kernel_bench *bench)
{
    unsigned failures = 0;
    char line[128];

    for (unsigned i = 0; i < kernel_list_count; i++) {
        const bool failed = run_case(bench, &kernel_list[i]);

        rt_format(line, sizeof(line), "%sok %u - %s: %s", failed ? "not " : "", i + 1, kernel_list[i].name,
                  bench->trace);
        bench->print(bench, line);
        failures += failed;
    }
    return failures;
}

void kernel_list_fault(struct kernel_bench *bench, unsigned number)
{
    if (!make_objects(bench))
        kernel_fault_list[number].run(bench);
}
