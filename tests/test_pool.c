/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: every piece once, by a worker that exists. */
#include "engine/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
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
    before = base_alloc_count();
    for (unsigned i = 0; i < 100; i++)
        eng_pool_run(pool, PIECES, count_piece, &t);
    assert_int_equal(base_alloc_count(), before);
    eng_pool_destroy(pool);
}

static void creation_can_fail(void **state)
{
    struct eng_pool *pool = NULL;

    (void)state;
    assert_int_equal(eng_pool_create(0, &pool), -EINVAL);
    assert_int_equal(eng_pool_create(ENG_POOL_THREADS_MAX + 1, &pool), -EINVAL);
    base_alloc_fail_nth(1);
    assert_int_equal(eng_pool_create(3, &pool), -ENOMEM);
    for (unsigned n = 2; n <= 3; n++) { /* the first and the second thread */
        base_alloc_fail_nth(n);
        assert_int_equal(eng_pool_create(3, &pool), -EAGAIN);
    }
    base_alloc_fail_nth(0);
    assert_null(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_once),           cmocka_unit_test(waits_for_the_last),
        cmocka_unit_test(one_thread_is_a_loop),       cmocka_unit_test(idle_pools),
        cmocka_unit_test(warm_runs_allocate_nothing), cmocka_unit_test(creation_can_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
