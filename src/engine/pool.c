/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pool of workers. A run's pieces are cut into one share for each thread, of pieces that follow each
 * other. A thread takes those of its own share, and then those that are left in others: every piece is taken
 * exactly once, from the counter of its share. A run ends only when no worker is inside it. So a thread
 * has the same part of every tensor in run after run, as far as pieces follow the tensor: what it reads is in
 * its own caches, and so is its counter. Between processors a cache line takes 0.1 to 0.3 us.
 *
 * A worker that is awake looks for a run by reading `gate` and joins by one atomic operation on it, so
 * handing over work costs a cache line, not a system call. It looks for SPIN_NS after its last run and then
 * sleeps on `calls`. The caller works alone until that has taken as long as waking the workers takes, and
 * wakes them then: it never loses more than that time, and work that is shorter wakes none. Workers that
 * were of use the last time are woken at once by the next run.
 */
#include "engine/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/pause.h"
#include "engine/compute.h"

#define SPIN_NS   100000u /* how long a worker looks for the next run, and how long its caller waits awake */
#define PAUSE_NS  2000u   /* then it gives its processor away at each turn */
#define WAKE_NS   50000u  /* work done alone before workers are woken: about what waking one takes */
#define START_NS  500000u /* and before threads are made */
#define USEFUL_NS 30000u  /* workers that took part in runs of so much are woken at once the next time */
#define LOOKS     16u     /* at a word, between two looks at the clock */
#define LINE      64u

/* The word `gate`: run number, and the state of that run. */
enum {
    INSIDE = 0x7f,   /* workers that joined */
    ASLEEP = 0x80,   /* the caller sleeps until none is inside */
    OPEN = 0x100,    /* a worker may join */
    JOINED = 0x200,  /* one has */
    RUN_ONE = 0x400, /* the number of the run, so that a worker joins each once */
};
_Static_assert(ENG_POOL_THREADS_MAX <= INSIDE, "threads inside");

struct worker {
    struct eng_pool *pool;
    unsigned number; /* 0 is the thread that calls eng_pool_run */
    pthread_t thread;
};

/* Lines are fetched in pairs. */
struct share {
    atomic_size_t next; /* piece to take */
    size_t end;
    uint8_t rest[2 * LINE - 2 * sizeof(size_t)];
};

struct eng_pool {
    unsigned threads;

    /* The caller's own. */
    unsigned started; /* workers that have a thread */
    bool refused;     /* a thread could not be made: no more are asked for */
    uint64_t ran;     /* when the last run ended */
    uint64_t alone;   /* nanoseconds of work, without long pauses, that workers could have shared */
    uint64_t woken;   /* when they were woken last */
    uint64_t shared;  /* nanoseconds of runs since then that they took part in */

    /* The run, for those that joined it. */
    eng_pool_fn *fn;
    void *context;

    uint8_t line0[LINE];
    atomic_uint gate;
    atomic_bool stop;
    uint8_t line1[LINE];
    atomic_uint sleepers; /* workers that sleep or are about to */
    atomic_uint calls;    /* changed to wake them */

    uint8_t line2[LINE];
    struct share *share; /* one for each thread, behind the workers */
    struct worker worker[];
};

static atomic_bool eager;

void eng_pool_wake_always(bool always)
{
    atomic_store(&eager, always);
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* One turn of a thread that looks for something, and when it began to. False when it has looked for long. */
static bool look_again(uint64_t begin)
{
    uint64_t spent = now() - begin;

    if (spent >= PAUSE_NS)
        sched_yield();
    else
        base_pause();
    return spent < SPIN_NS;
}

static void futex_wait(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* ---- Workers ---- */

/* Joins the run that is open, unless it has joined that one before. */
static bool join(struct eng_pool *pool, unsigned *joined)
{
    unsigned gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);

    while (gate & OPEN && gate / RUN_ONE != *joined)
        if (atomic_compare_exchange_weak(&pool->gate, &gate, (gate + 1) | JOINED)) {
            *joined = gate / RUN_ONE;
            return true;
        }
    return false;
}

static void leave(struct eng_pool *pool)
{
    unsigned gate = atomic_fetch_sub(&pool->gate, 1);

    if (gate & ASLEEP && (gate & INSIDE) == 1)
        futex_wake(&pool->gate, 1);
}

/* Until the caller wakes it; a run that is open is looked at before. */
static bool sleep_or_join(struct eng_pool *pool, unsigned *joined)
{
    unsigned calls = atomic_load(&pool->calls);
    bool found;

    atomic_fetch_add(&pool->sleepers, 1);
    found = join(pool, joined);
    if (!found && !atomic_load(&pool->stop))
        futex_wait(&pool->calls, calls);
    atomic_fetch_sub(&pool->sleepers, 1);
    return found;
}

/* True when it has joined a run; false when the pool stops. */
static bool find_run(struct eng_pool *pool, unsigned *joined)
{
    uint64_t begin = now();

    for (;;) {
        for (unsigned i = 0; i < LOOKS; i++) {
            if (join(pool, joined))
                return true;
            base_pause();
        }
        if (atomic_load_explicit(&pool->stop, memory_order_acquire))
            return false;
        if (look_again(begin))
            continue;
        if (sleep_or_join(pool, joined))
            return true;
        begin = now();
    }
}

/* A piece that nobody has taken, from `*from` on; false when none is left. */
static bool take(struct eng_pool *pool, unsigned *from, size_t *piece)
{
    for (unsigned tried = 0; tried < pool->threads; tried++) {
        struct share *share = &pool->share[*from];

        if (atomic_load_explicit(&share->next, memory_order_relaxed) < share->end) {
            *piece = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
            if (*piece < share->end)
                return true;
        }
        *from = (*from + 1) % pool->threads;
    }
    return false;
}

static void *worker_main(void *argument)
{
    const struct worker *self = argument;
    struct eng_pool *pool = self->pool;
    unsigned joined = 0;
    size_t piece;

    eng_float_begin();
    while (find_run(pool, &joined)) {
        unsigned from = self->number;

        while (take(pool, &from, &piece))
            pool->fn(pool->context, piece, self->number);
        leave(pool);
    }
    return NULL;
}

/* Signals belong to the application; none is delivered to a worker. */
static void start_workers(struct eng_pool *pool)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started < pool->threads - 1 && !pool->refused) {
        struct worker *worker = &pool->worker[pool->started + 1];

        *worker = (struct worker){.pool = pool, .number = pool->started + 1};
        pool->refused =
            !base_alloc_allowed() || pthread_create(&worker->thread, NULL, worker_main, worker) != 0;
        pool->started += !pool->refused;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- The caller ---- */

int eng_pool_create(unsigned threads, struct eng_pool **pool)
{
    struct eng_pool *made;

    if (threads < 1 || threads > ENG_POOL_THREADS_MAX)
        return -EINVAL;
    made = base_alloc(sizeof(*made) + threads * (sizeof(made->worker[0]) + sizeof(made->share[0])));
    if (!made)
        return -ENOMEM;
    made->share = (struct share *)(void *)(made->worker + threads);
    made->threads = threads;
    *pool = made;
    return 0;
}

static void wake_sleepers(struct eng_pool *pool)
{
    atomic_fetch_add(&pool->calls, 1);
    if (atomic_load(&pool->sleepers))
        futex_wake(&pool->calls, INT_MAX);
}

void eng_pool_destroy(struct eng_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stop, true);
    wake_sleepers(pool);
    for (unsigned i = 1; i <= pool->started; i++)
        pthread_join(pool->worker[i].thread, NULL);
    base_free(pool);
}

unsigned eng_pool_workers(const struct eng_pool *pool)
{
    return pool ? pool->threads : 1;
}

/* Some workers sleep, or have no thread yet. */
static bool lacks_workers(struct eng_pool *pool)
{
    return atomic_load(&pool->sleepers) || (pool->started < pool->threads - 1 && !pool->refused);
}

/*
 * What workers were good for the last time says how soon they are woken; not again before they could sleep.
 */
static bool is_due(const struct eng_pool *pool, uint64_t time, uint64_t alone)
{
    if (atomic_load_explicit(&eager, memory_order_relaxed))
        return true;
    if (!pool->started)
        return alone >= START_NS;
    if (time - pool->woken < SPIN_NS)
        return false;
    return pool->shared >= USEFUL_NS || alone >= WAKE_NS;
}

/* Workers lack; `alone` is the work done without them up to now. True when they are on their way. */
static bool wake_when_due(struct eng_pool *pool, uint64_t time, uint64_t alone)
{
    if (!is_due(pool, time, alone))
        return false;
    if (pool->started < pool->threads - 1)
        start_workers(pool);
    pool->woken = time;
    pool->alone = pool->shared = 0;
    wake_sleepers(pool);
    return true;
}

/*
 * Workers that were awake since the last run would still be if no longer than this has passed. After a longer
 * pause work begins again, and what it was before, it is expected to be.
 */
static void count_gap(struct eng_pool *pool, uint64_t begin)
{
    if (begin - pool->ran > SPIN_NS)
        pool->alone = pool->started && pool->alone >= 2 * WAKE_NS ? WAKE_NS : 0;
}

/* True when workers lack to the end. */
static bool take_pieces(struct eng_pool *pool, uint64_t begin)
{
    bool lacks = lacks_workers(pool) && !wake_when_due(pool, begin, pool->alone);
    unsigned from = 0;
    size_t piece;

    while (take(pool, &from, &piece)) {
        pool->fn(pool->context, piece, 0);
        if (lacks) {
            uint64_t time = now();

            lacks = !wake_when_due(pool, time, pool->alone + (time - begin));
        }
    }
    return lacks;
}

/* The first shares have a piece more where the count is no multiple: how many such are before share i. */
static size_t extra_before(const struct eng_pool *pool, size_t count, unsigned i)
{
    const size_t extra = count % pool->threads;

    return i < extra ? i : extra;
}

static void open_run(struct eng_pool *pool, size_t count, eng_pool_fn *fn, void *context)
{
    unsigned run = atomic_load_explicit(&pool->gate, memory_order_relaxed) / RUN_ONE + 1;

    pool->fn = fn;
    pool->context = context;
    for (unsigned i = 0; i < pool->threads; i++) {
        atomic_store_explicit(&pool->share[i].next, count / pool->threads * i + extra_before(pool, count, i),
                              memory_order_relaxed);
        pool->share[i].end = count / pool->threads * (i + 1) + extra_before(pool, count, i + 1);
    }
    atomic_store(&pool->gate, run * RUN_ONE | OPEN);
}

/* Only those that joined are waited for, so that a worker that wakes late delays no run. True: one has. */
static bool close_run(struct eng_pool *pool)
{
    unsigned gate = atomic_fetch_and(&pool->gate, ~(unsigned)OPEN);
    uint64_t begin;

    if (!(gate & INSIDE))
        return gate & JOINED;
    begin = now();
    do {
        for (unsigned i = 0; i < LOOKS; i++) {
            if (!(atomic_load(&pool->gate) & INSIDE))
                return true;
            base_pause();
        }
    } while (look_again(begin));
    gate = atomic_fetch_or(&pool->gate, ASLEEP) | ASLEEP;
    while (gate & INSIDE) {
        futex_wait(&pool->gate, gate);
        gate = atomic_load(&pool->gate);
    }
    return true;
}

void eng_pool_run(struct eng_pool *pool, size_t count, eng_pool_fn *fn, void *context)
{
    bool lacks, joined;
    uint64_t begin;

    if (count <= 1 || eng_pool_workers(pool) == 1) {
        for (size_t piece = 0; piece < count; piece++)
            fn(context, piece, 0);
        return;
    }
    begin = now();
    count_gap(pool, begin);
    open_run(pool, count, fn, context);
    lacks = take_pieces(pool, begin);
    joined = close_run(pool);
    pool->ran = now();
    pool->alone += lacks ? pool->ran - begin : 0;
    pool->shared += joined ? pool->ran - begin : 0;
}
