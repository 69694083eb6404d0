/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: every piece once, by a worker that exists. */
#include "engine/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <dirent.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/processor.h"
#include "support.h"

enum { PIECES = 1000 };

struct tally {
    atomic_uint times[PIECES];
    unsigned plain[PIECES]; /* written by whoever runs the piece, read after the run */
    unsigned workers;
    atomic_uint wrong;
    pthread_t caller;
    size_t last;
};

static void count_piece(void *context, size_t piece, unsigned worker)
{
    struct tally *t = context;

    atomic_fetch_add(&t->times[piece], 1);
    t->plain[piece] += (unsigned)piece + 1;
    if (worker >= t->workers || (worker == 0) != (pthread_equal(t->caller, pthread_self()) != 0))
        atomic_fetch_add(&t->wrong, 1);
}

static void every_piece_once(void **state)
{
    static struct tally t;
    struct eng_pool *pool;

    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++) {
        memset(&t, 0, sizeof(t));
        t.workers = threads;
        t.caller = pthread_self();
        assert_int_equal(eng_pool_create(threads, &pool), 0);
        assert_int_equal(eng_pool_workers(pool), threads);
        for (unsigned run = 1; run <= 200; run++) {
            eng_pool_run(pool, run * 5, count_piece, &t);
            for (size_t i = 0; i < run * 5; i++) {
                assert_int_equal(atomic_load(&t.times[i]), run - i / 5);
                assert_int_equal(t.plain[i], (run - i / 5) * (i + 1));
            }
        }
        assert_int_equal(atomic_load(&t.wrong), 0);
        eng_pool_destroy(pool);
    }
}

/* Shares of any size: fewer pieces than threads, and counts that no number of threads divides. */
static void any_count_of_pieces(void **state)
{
    static struct tally t;
    struct eng_pool *pool;

    (void)state;
    for (unsigned threads = 2; threads <= 7; threads++) {
        assert_int_equal(eng_pool_create(threads, &pool), 0);
        for (size_t count = 0; count < 40; count++) {
            memset(&t, 0, sizeof(t));
            t.workers = threads;
            t.caller = pthread_self();
            eng_pool_run(pool, count, count_piece, &t);
            for (size_t i = 0; i < 50; i++)
                assert_int_equal(atomic_load(&t.times[i]), i < count);
            assert_int_equal(atomic_load(&t.wrong), 0);
        }
        eng_pool_destroy(pool);
    }
}

/* Whoever comes late to its piece is waited for. */
static void slow_piece(void *context, size_t piece, unsigned worker)
{
    struct tally *t = context;

    usleep(worker ? 3000 : 1000);
    t->plain[piece]++;
}

static void waits_for_the_last(void **state)
{
    static struct tally t;
    struct eng_pool *pool;

    (void)state;
    assert_int_equal(eng_pool_create(3, &pool), 0);
    for (unsigned run = 1; run <= 10; run++) {
        eng_pool_run(pool, 4, slow_piece, &t);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(t.plain[i], run);
    }
    eng_pool_destroy(pool);
}

static void in_order(void *context, size_t piece, unsigned worker)
{
    struct tally *t = context;

    if (piece != t->last++ || worker != 0 || !pthread_equal(t->caller, pthread_self()))
        atomic_fetch_add(&t->wrong, 1);
}

static void one_thread_is_a_loop(void **state)
{
    static struct tally t;
    struct eng_pool *pool;

    (void)state;
    t.caller = pthread_self();
    eng_pool_run(NULL, 7, in_order, &t);
    assert_int_equal(eng_pool_workers(NULL), 1);
    assert_int_equal(eng_pool_create(1, &pool), 0);
    t.last = 0;
    eng_pool_run(pool, 9, in_order, &t);
    eng_pool_run(pool, 0, in_order, &t);
    eng_pool_destroy(pool);
    /* One piece is not worth waking anybody. */
    assert_int_equal(eng_pool_create(3, &pool), 0);
    t.last = 0;
    eng_pool_run(pool, 1, in_order, &t);
    eng_pool_destroy(pool);
    assert_int_equal(t.last, 1);
    assert_int_equal(atomic_load(&t.wrong), 0);
}

static void idle_pools(void **state)
{
    struct eng_pool *pool;

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(eng_pool_create(1 + i % 4, &pool), 0);
        eng_pool_destroy(pool);
    }
    eng_pool_destroy(NULL);
}

static void warm_runs_allocate_nothing(void **state)
{
    static struct tally t;
    struct eng_pool *pool;
    unsigned long before;

    (void)state;
    t.workers = 3;
    t.caller = pthread_self();
    assert_int_equal(eng_pool_create(3, &pool), 0);
    eng_pool_run(pool, PIECES, count_piece, &t);
    before = base_alloc_count();
    for (unsigned i = 0; i < 100; i++)
        eng_pool_run(pool, PIECES, count_piece, &t);
    assert_int_equal(base_alloc_count(), before);
    eng_pool_destroy(pool);
}

static unsigned threads_now(void)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

/* A thread that was joined is listed until the kernel has removed it. */
static void wait_for_threads(unsigned count)
{
    for (unsigned i = 0; i < 5000 && threads_now() != count; i++)
        usleep(1000);
    assert_int_equal(threads_now(), count);
}

/* Whether runs that are short make threads. They do when the caller loses its processor inside one. */
static bool short_runs_make_threads(struct eng_pool *pool, struct tally *t)
{
    unsigned before = threads_now();

    for (unsigned i = 0; i < 20; i++) {
        eng_pool_run(pool, 2, count_piece, t);
        usleep(500);
    }
    return threads_now() != before;
}

/* Threads are made for work that is long enough to share, and not before. */
static void short_runs_make_no_thread(void **state)
{
    static struct tally t;
    struct eng_pool *pool = NULL;
    unsigned before = threads_now(), tries = 0;
    bool made;

    (void)state;
    eng_pool_wake_always(false);
    t.workers = 3;
    t.caller = pthread_self();
    do {
        eng_pool_destroy(pool);
        assert_int_equal(eng_pool_create(3, &pool), 0);
        made = short_runs_make_threads(pool, &t);
    } while (made && ++tries < 20);
    assert_false(made);
    t.plain[7] = 0;
    eng_pool_run(pool, 8, slow_piece, &t);
    assert_int_equal(threads_now(), before + 2);
    assert_int_equal(t.plain[7], 1);
    eng_pool_destroy(pool);
    wait_for_threads(before);
    eng_pool_wake_always(true);
}

static uint64_t processor_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Looking for the next run is bounded: an idle pool uses no processor. */
static void idle_workers_sleep(void **state)
{
    static struct tally t;
    struct eng_pool *pool;
    uint64_t before;

    (void)state;
    t.workers = 4;
    t.caller = pthread_self();
    assert_int_equal(eng_pool_create(4, &pool), 0);
    eng_pool_run(pool, PIECES, count_piece, &t);
    usleep(200000); /* they look for 0.1 ms, and may wait for a processor meanwhile */
    before = processor_us();
    usleep(200000);
    assert_true(processor_us() - before < 100000);
    for (unsigned i = 0; i < 20; i++) { /* and each of these wakes them */
        eng_pool_run(pool, PIECES, count_piece, &t);
        usleep(1000);
    }
    eng_pool_destroy(pool);
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(atomic_load(&t.times[i]), 21);
    assert_int_equal(atomic_load(&t.wrong), 0);
}

/* The end comes while workers look for a run, are on their way to sleep, or sleep. */
static void stops_at_any_time(void **state)
{
    static struct tally t;
    struct eng_pool *pool;

    (void)state;
    t.workers = 3;
    t.caller = pthread_self();
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(eng_pool_create(3, &pool), 0);
        eng_pool_run(pool, 6, count_piece, &t);
        if (i % 2)
            usleep(i * 3);
        eng_pool_destroy(pool);
    }
    assert_int_equal(atomic_load(&t.times[5]), 100);
}

/* More threads than processors: whoever looks gives its processor away. */
static void one_processor_is_enough(void **state)
{
    static struct tally t;
    cpu_set_t all, one;
    struct eng_pool *pool;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(base_processor_count(), CPU_COUNT(&all));
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(base_processor_count(), 1);
    t.workers = 4;
    t.caller = pthread_self();
    assert_int_equal(eng_pool_create(4, &pool), 0); /* its threads have this processor too */
    for (unsigned i = 0; i < 300; i++)
        eng_pool_run(pool, 20, count_piece, &t);
    eng_pool_destroy(pool);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(atomic_load(&t.times[i]), 300);
    assert_int_equal(atomic_load(&t.wrong), 0);
}

/* A forked child has none of the threads: its runs are made by the caller. */
static void a_forked_child_works_alone(void **state)
{
    static struct tally t;
    struct eng_pool *pool;
    int status;
    pid_t child;

    (void)state;
    t.workers = 3;
    t.caller = pthread_self();
    assert_int_equal(eng_pool_create(3, &pool), 0);
    for (unsigned round = 0; round < 2; round++) {
        eng_pool_run(pool, PIECES, count_piece, &t);
        usleep(round * 2000); /* workers look; workers sleep */
        child = fork();
        if (child == 0) {
            memset(&t, 0, sizeof(t));
            t.caller = pthread_self();
            eng_pool_run(pool, PIECES, in_order, &t);
            _exit(t.last == PIECES && !atomic_load(&t.wrong) ? 0 : 1);
        }
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    eng_pool_destroy(pool);
}

static void creation_can_fail(void **state)
{
    static struct tally t;
    struct eng_pool *pool = NULL;

    (void)state;
    assert_int_equal(eng_pool_create(0, &pool), -EINVAL);
    assert_int_equal(eng_pool_create(ENG_POOL_THREADS_MAX + 1, &pool), -EINVAL);
    base_alloc_fail_nth(1);
    assert_int_equal(eng_pool_create(3, &pool), -ENOMEM);
    base_alloc_fail_nth(0);
    assert_null(pool);
    t.workers = 3;
    t.caller = pthread_self();
    for (unsigned n = 1; n <= 2; n++) { /* without the first thread, and without the second */
        assert_int_equal(eng_pool_create(3, &pool), 0);
        base_alloc_fail_nth(n);
        for (unsigned i = 0; i < 3; i++)
            eng_pool_run(pool, PIECES, count_piece, &t);
        base_alloc_fail_nth(0);
        eng_pool_destroy(pool);
    }
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(atomic_load(&t.times[i]), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_once),
        cmocka_unit_test(any_count_of_pieces),
        cmocka_unit_test(waits_for_the_last),
        cmocka_unit_test(one_thread_is_a_loop),
        cmocka_unit_test(idle_pools),
        cmocka_unit_test(warm_runs_allocate_nothing),
        cmocka_unit_test(short_runs_make_no_thread),
        cmocka_unit_test(idle_workers_sleep),
        cmocka_unit_test(stops_at_any_time),
        cmocka_unit_test(one_processor_is_enough),
        cmocka_unit_test(a_forked_child_works_alone),
        cmocka_unit_test(creation_can_fail),
    };

    eng_pool_wake_always(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
