/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of kernel_list.h: mutexes and inherited priorities, arenas, pools, state machines, the log. */
#include "kernel_bench.h"
#include "rtkernel/format.h"
#include "rtkernel/fsm.h"
#include "rtkernel/heap.h"
#include "rtkernel/log.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/memory.h"
#include "rtkernel/mutex.h"
#include "rtkernel/pool.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"

static void contend(struct kernel_actor *actor)
{
    struct kernel_bench *bench = actor->bench;

    kernel_bench_note_status(bench, rt_mutex_lock(bench->mutex[0], RT_NO_WAIT));
    kernel_bench_note_status(bench, rt_mutex_unlock(bench->mutex[0]));
    kernel_bench_note_status(bench, rt_mutex_lock(bench->mutex[0], bench->step));
    kernel_bench_note_status(bench, rt_mutex_lock(bench->mutex[0], RT_FOREVER));
    kernel_bench_note_status(bench, rt_mutex_unlock(bench->mutex[0]));
}

int kernel_case_mutex_owner(struct kernel_bench *bench)
{
    rt_mutex_lock(bench->mutex[0], RT_FOREVER);
    kernel_bench_note_status(bench, rt_mutex_lock(bench->mutex[0], RT_FOREVER));
    kernel_bench_note_status(bench, rt_mutex_delete(bench->mutex[0]));
    kernel_bench_actor(bench, 'c', 3, contend);
    kernel_bench_sleep(bench, 4);
    kernel_bench_note(bench, "| ");
    rt_mutex_unlock(bench->mutex[0]);
    kernel_bench_note(bench,
                      rt_mutex_owner(bench->mutex[0]) == bench->actor[0].task ? "handed " : "[owner] ");
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "EDEADLK EBUSY EAGAIN EPERM ETIMEDOUT | handed OK OK ");
}

static void lock_one_two(struct kernel_actor *actor)
{
    struct kernel_bench *bench = actor->bench;

    rt_mutex_lock(bench->mutex[1], RT_FOREVER);
    rt_mutex_lock(bench->mutex[2], RT_FOREVER);
    kernel_bench_say(actor);
    rt_mutex_unlock(bench->mutex[2]);
    rt_mutex_unlock(bench->mutex[1]);
}

static void lock_zero_one(struct kernel_actor *actor)
{
    struct kernel_bench *bench = actor->bench;

    rt_mutex_lock(bench->mutex[0], RT_FOREVER);
    rt_mutex_lock(bench->mutex[1], RT_FOREVER);
    kernel_bench_say(actor);
    rt_mutex_unlock(bench->mutex[1]);
    rt_mutex_unlock(bench->mutex[0]);
}

/* 'b' waits for 'a', which waits for the caller: the caller may not wait for 'b'. */
int kernel_case_mutex_circle(struct kernel_bench *bench)
{
    rt_mutex_lock(bench->mutex[2], RT_FOREVER);
    kernel_bench_actor(bench, 'a', 3, lock_one_two);
    kernel_bench_actor(bench, 'b', 4, lock_zero_one);
    kernel_bench_sleep(bench, 1);
    kernel_bench_note_status(bench, rt_mutex_lock(bench->mutex[1], RT_FOREVER));
    kernel_bench_note_status(bench, rt_mutex_lock(bench->mutex[0], RT_FOREVER));
    rt_mutex_unlock(bench->mutex[2]);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "EDEADLK EDEADLK ab");
}

/*
 * Priority inversion. 'l' has what 'h' waits for, and could go on; 'm' is between the two and computes until
 * 'h' has run, or gives up. It is the same scenario twice, with a semaphore of one unit and with a mutex.
 */
#define PATIENCE 1000u

static void enter(struct kernel_bench *bench)
{
    if (bench->inherits)
        rt_mutex_lock(bench->mutex[0], RT_FOREVER);
    else
        rt_semaphore_take(bench->semaphore, RT_FOREVER);
}

static void leave(struct kernel_bench *bench)
{
    if (bench->inherits)
        rt_mutex_unlock(bench->mutex[0]);
    else
        rt_semaphore_give(bench->semaphore);
}

static void low(struct kernel_actor *actor)
{
    enter(actor->bench);
    rt_task_suspend(actor->task); /* until the others are there */
    kernel_bench_say(actor);
    leave(actor->bench);
}

static void middle(struct kernel_actor *actor)
{
    unsigned rounds = 0;

    while (!actor->bench->count && rounds < PATIENCE) {
        rt_task_yield(actor->bench->kernel); /* to its own level only */
        rounds++;
    }
    kernel_bench_note(actor->bench, rounds < PATIENCE ? "m" : "[starved]");
}

static void high(struct kernel_actor *actor)
{
    enter(actor->bench);
    actor->bench->count++;
    kernel_bench_say(actor);
    leave(actor->bench);
}

static void invert(struct kernel_bench *bench, bool inherits)
{
    struct rt_task *holder;

    bench->inherits = inherits;
    holder = kernel_bench_actor(bench, 'l', 6, low);
    kernel_bench_sleep(bench, 1);
    kernel_bench_actor(bench, 'h', 2, high);
    kernel_bench_sleep(bench, 1);
    rt_task_resume(holder);
    kernel_bench_actor(bench, 'm', 4, middle);
    kernel_bench_join(bench);
}

int kernel_case_inversion_with_semaphore(struct kernel_bench *bench)
{
    rt_semaphore_give(bench->semaphore);
    invert(bench, false);
    return kernel_bench_expect(bench, "[starved]lh");
}

int kernel_case_inversion_with_mutex(struct kernel_bench *bench)
{
    invert(bench, true);
    return kernel_bench_expect(bench, "lhm");
}

static void note_priority(void *arg, const struct rt_task_info *info)
{
    struct kernel_bench *bench = arg;

    if (info->name[1] == '\0')
        kernel_bench_note_number(bench, info->priority);
}

static void note_priorities(struct kernel_bench *bench)
{
    rt_task_list(bench->kernel, note_priority, bench);
    kernel_bench_note(bench, " ");
}

static void hold_second(struct kernel_actor *actor)
{
    rt_mutex_lock(actor->bench->mutex[1], RT_FOREVER);
    rt_semaphore_take(actor->bench->semaphore, RT_FOREVER);
    rt_mutex_unlock(actor->bench->mutex[1]);
    kernel_bench_say(actor);
}

static void want_first(struct kernel_actor *actor)
{
    kernel_bench_sleep(actor->bench, 2);
    rt_mutex_lock(actor->bench->mutex[0], RT_FOREVER);
    kernel_bench_say(actor);
    rt_mutex_unlock(actor->bench->mutex[0]);
}

/* 'h' waits for 'm', which waits for 'l': both have h's priority until they unlock. */
int kernel_case_inherit_along_chain(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'l', 7, hold_second);
    kernel_bench_sleep(bench, 1);
    kernel_bench_actor(bench, 'm', 5, lock_zero_one);
    kernel_bench_actor(bench, 'h', 2, want_first);
    kernel_bench_sleep(bench, 1);
    note_priorities(bench);
    kernel_bench_sleep(bench, 4);
    note_priorities(bench);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "552 222 mhl");
}

static void hold_two(struct kernel_actor *actor)
{
    struct kernel_bench *bench = actor->bench;

    rt_mutex_lock(bench->mutex[0], RT_FOREVER);
    rt_mutex_lock(bench->mutex[1], RT_FOREVER);
    rt_semaphore_take(bench->semaphore, RT_FOREVER);
    rt_mutex_unlock(bench->mutex[0]); /* the more urgent waiter's */
    rt_semaphore_take(bench->semaphore, RT_FOREVER);
    rt_mutex_unlock(bench->mutex[1]);
    kernel_bench_say(actor);
}

static void want_second(struct kernel_actor *actor)
{
    rt_mutex_lock(actor->bench->mutex[1], RT_FOREVER);
    kernel_bench_say(actor);
    rt_mutex_unlock(actor->bench->mutex[1]);
}

/* With two mutexes, each unlock takes back what that mutex's waiters gave. */
int kernel_case_inherit_from_two(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'l', 7, hold_two);
    kernel_bench_sleep(bench, 1);
    kernel_bench_actor(bench, 'h', 2, want_first);
    kernel_bench_actor(bench, 'm', 4, want_second);
    kernel_bench_sleep(bench, 1);
    note_priorities(bench);
    kernel_bench_sleep(bench, 4);
    note_priorities(bench);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_sleep(bench, 1);
    note_priorities(bench);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "424 224 h44 ml");
}

static void hold_first(struct kernel_actor *actor)
{
    rt_mutex_lock(actor->bench->mutex[0], RT_FOREVER);
    rt_semaphore_take(actor->bench->semaphore, RT_FOREVER);
    rt_mutex_unlock(actor->bench->mutex[0]);
    kernel_bench_say(actor);
}

static void want_briefly(struct kernel_actor *actor)
{
    const unsigned steps = actor->letter == 'h' ? 4 : 8;

    kernel_bench_note_status(actor->bench, rt_mutex_lock(actor->bench->mutex[0], steps * actor->bench->step));
    rt_semaphore_take(actor->bench->semaphore, RT_FOREVER);
}

/* A waiter that gives up takes its priority along. */
int kernel_case_inherit_until_timeout(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'l', 7, hold_first);
    kernel_bench_sleep(bench, 1);
    kernel_bench_actor(bench, 'h', 2, want_briefly);
    kernel_bench_actor(bench, 'm', 4, want_briefly);
    kernel_bench_sleep(bench, 2);
    note_priorities(bench);
    kernel_bench_sleep(bench, 4);
    note_priorities(bench);
    kernel_bench_sleep(bench, 6);
    note_priorities(bench);
    for (unsigned i = 0; i < 3; i++)
        rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "224 ETIMEDOUT 424 ETIMEDOUT 724 l");
}

/* So does one that is ended. */
int kernel_case_inherit_until_deleted(struct kernel_bench *bench)
{
    struct rt_task *urgent;

    kernel_bench_actor(bench, 'l', 7, hold_first);
    kernel_bench_sleep(bench, 1);
    urgent = kernel_bench_actor(bench, 'h', 2, want_first);
    kernel_bench_sleep(bench, 4);
    note_priorities(bench);
    kernel_bench_note_status(bench, rt_task_delete(bench->actor[0].task)); /* it has a mutex */
    kernel_bench_note_status(bench, rt_task_delete(urgent));
    rt_semaphore_give(bench->done); /* in its place */
    kernel_bench_sleep(bench, 1);
    note_priorities(bench);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "22 EBUSY OK 7 l");
}

static void take_and_say(struct kernel_actor *actor)
{
    rt_semaphore_take(actor->bench->semaphore, RT_FOREVER);
    kernel_bench_say(actor);
}

static void hold_and_take(struct kernel_actor *actor)
{
    rt_mutex_lock(actor->bench->mutex[0], RT_FOREVER);
    take_and_say(actor);
    rt_mutex_unlock(actor->bench->mutex[0]);
}

/* A task that waits for a semaphore moves up among its waiters when it inherits a priority. */
int kernel_case_inherited_order(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'l', 7, hold_and_take);
    kernel_bench_actor(bench, 'm', 4, take_and_say);
    kernel_bench_sleep(bench, 1);
    kernel_bench_actor(bench, 'h', 2, want_first);
    kernel_bench_sleep(bench, 4);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_sleep(bench, 1);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "lhm");
}

static void wait_somewhere(struct kernel_actor *actor)
{
    struct kernel_bench *bench = actor->bench;
    uint8_t message[16];
    uint64_t word;

    switch (actor->letter) {
    case 's': rt_semaphore_take(bench->semaphore, RT_FOREVER); break;
    case 'q': rt_queue_receive(bench->queue, message, sizeof(message), RT_FOREVER); break;
    case 'm': rt_mailbox_fetch(bench->mailbox, &word, RT_FOREVER); break;
    default: rt_signal_wait(bench->signal, 1, NULL, RT_FOREVER); break;
    }
}

int kernel_case_delete_with_waiter(struct kernel_bench *bench)
{
    for (const char *letter = "sqmf"; *letter; letter++)
        kernel_bench_actor(bench, *letter, 3, wait_somewhere);
    kernel_bench_sleep(bench, 1);
    kernel_bench_note_status(bench, rt_semaphore_delete(bench->semaphore));
    kernel_bench_note_status(bench, rt_queue_delete(bench->queue));
    kernel_bench_note_status(bench, rt_mailbox_delete(bench->mailbox));
    kernel_bench_note_status(bench, rt_signal_delete(bench->signal));
    rt_semaphore_give(bench->semaphore);
    rt_queue_send(bench->queue, "", 0, RT_FOREVER);
    rt_mailbox_post(bench->mailbox, 0);
    rt_signal_raise(bench->signal, 1);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "EBUSY EBUSY EBUSY EBUSY ");
}

int kernel_case_heap_blocks(struct kernel_bench *bench)
{
    struct rt_heap_info before = rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK), after;
    uint8_t *block[4];

    for (unsigned i = 0; i < 4; i++) {
        block[i] = rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, 100 * i + 1);
        bench->count += block[i] && !((uintptr_t)block[i] % 16) && !block[i][100 * i];
        rt_memset(block[i], 0xff, 100 * i + 1);
    }
    kernel_bench_note_number(bench, bench->count);
    kernel_bench_note_number(bench, rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK).blocks - before.blocks);
    rt_heap_free(bench->kernel, block[1]);
    rt_heap_free(bench->kernel, block[3]);
    rt_heap_free(bench->kernel, block[2]);
    rt_heap_free(bench->kernel, block[0]);
    rt_heap_free(bench->kernel, NULL);
    after = rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK);
    kernel_bench_note(bench, after.free == before.free && after.largest == before.largest ? " whole" : "");
    return kernel_bench_expect(bench, "44 whole");
}

int kernel_case_heap_exhausted(struct kernel_bench *bench)
{
    const uint64_t largest = rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK).largest;
    void *all;

    kernel_bench_note(bench, rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, largest + 1) ? "[more]" : "-");
    kernel_bench_note(bench, rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, SIZE_MAX) ? "[more]" : "-");
    all = rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, largest);
    kernel_bench_note(bench, all ? "+" : "[none]");
    kernel_bench_note(bench, rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, 0) ? "[more]" : "-");
    rt_heap_free(bench->kernel, all);
    return kernel_bench_expect(bench, "--+-");
}

int kernel_case_heap_statistics(struct kernel_bench *bench)
{
    struct rt_heap_info before = rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK), info;
    void *block = rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, before.largest - 1000);

    info = rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK);
    kernel_bench_note(bench, info.used > before.used && info.used + info.free == info.total ? "used " : "");
    kernel_bench_note(bench, rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, 1001) ? "[more]" : "full ");
    rt_heap_check(bench->kernel);
    rt_heap_free(bench->kernel, block);
    info = rt_heap_info(bench->kernel, RT_ARENA_FRAMEWORK);
    kernel_bench_note(bench, info.used == before.used && info.peak >= info.total - 1100 ? "peak " : "");
    kernel_bench_note_number(bench, info.failures - before.failures);
    return kernel_bench_expect(bench, "used full peak 1");
}

int kernel_case_pool_counts(struct kernel_bench *bench)
{
    struct rt_mailbox *mailbox[RT_MAILBOX_COUNT];
    struct rt_pool_info info = rt_pool_info(bench->kernel, RT_POOL_MAILBOX);
    unsigned made = 0;
    int status;

    for (status = 0; !status; made += !status)
        status = rt_mailbox_create(bench->kernel, &mailbox[made]);
    kernel_bench_note(bench, info.name);
    kernel_bench_note(bench, made == info.available && made == info.total - 1 ? " all " : "[count]");
    kernel_bench_note_number(bench, rt_pool_info(bench->kernel, RT_POOL_MAILBOX).available);
    kernel_bench_note(bench, " ");
    kernel_bench_note_status(bench, status);
    while (made--)
        rt_mailbox_delete(mailbox[made]);
    return kernel_bench_expect(bench, "mailboxes all 0 ENOSPC ");
}

static unsigned count_lines(const char *text, size_t length)
{
    unsigned lines = 0;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Whole lines: a text that is too small for the last line ends before it. */
int kernel_case_report_lines(struct kernel_bench *bench)
{
    char text[512];
    size_t length = rt_pool_text(bench->kernel, text, sizeof(text));

    kernel_bench_note_number(bench, count_lines(text, length));
    length = rt_pool_text(bench->kernel, text, length);
    kernel_bench_note_number(bench, count_lines(text, length));
    kernel_bench_note(bench, text[length - 1] == '\n' && !text[length] ? " " : "?");
    length = rt_heap_text(bench->kernel, text, sizeof(text));
    kernel_bench_note_number(bench, count_lines(text, length));
    length = rt_task_list_text(bench->kernel, text, sizeof(text));
    kernel_bench_note_number(bench, count_lines(text, length));
    kernel_bench_note_number(bench, rt_task_list_text(bench->kernel, text, 1));
    return kernel_bench_expect(bench, "87 340");
}

/* The execution loop's shape: an action posts, and what it posts runs after it. */
enum { RUN, EXEC, STATES };
enum { DISPATCH, DRAIN, EVENTS };

struct loop {
    struct kernel_bench *bench;
    struct rt_fsm fsm;
};

static void on_dispatch(void *context, unsigned event, uint64_t argument)
{
    struct loop *loop = context;

    kernel_bench_note(loop->bench, event == DISPATCH ? "d" : "?");
    kernel_bench_note_number(loop->bench, argument);
    rt_fsm_post(&loop->fsm, DRAIN, 0);
    kernel_bench_note(loop->bench, ".");
}

static void on_drain(void *context, unsigned event, uint64_t argument)
{
    struct loop *loop = context;

    (void)event;
    (void)argument;
    kernel_bench_note(loop->bench, "r");
}

int kernel_case_machine_table(struct kernel_bench *bench)
{
    static const char *const state_names[STATES] = {"RUN", "EXEC"};
    static const char *const event_names[EVENTS] = {"dispatch", "drain"};
    static const struct rt_fsm_row rows[] = {{RUN, DISPATCH, EXEC, on_dispatch},
                                             {EXEC, DRAIN, RUN, on_drain}};
    static const struct rt_fsm_table table = {
        .name = "loop",
        .state_names = state_names,
        .event_names = event_names,
        .states = STATES,
        .events = EVENTS,
        .first = RUN,
        .strict = RT_FSM_STRICT,
        .rows = rows,
        .row_count = 2,
    };
    struct loop loop = {.bench = bench};

    rt_fsm_init(&loop.fsm, bench->kernel, &table, &loop);
    rt_fsm_post(&loop.fsm, DISPATCH, 1);
    rt_fsm_post(&loop.fsm, DISPATCH, 2);
    kernel_bench_note(bench, rt_fsm_state_name(&loop.fsm));
    return kernel_bench_expect(bench, "d1.rd2.rRUN");
}

int kernel_case_log_ring(struct kernel_bench *bench)
{
    rt_log(bench->kernel, RT_LOG_ERROR, "%s %u %04x", "one", 2u, 3u);
    kernel_bench_note(bench, rt_log_recent(bench->kernel, 0)->text);
    kernel_bench_note(bench, rt_log_recent(bench->kernel, RT_LOG_LINES) ? "[more]" : ";");
    return kernel_bench_expect(bench, "error bench: one 2 0003;");
}
