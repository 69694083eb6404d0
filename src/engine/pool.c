/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pool of workers. Every piece is taken exactly once, from one counter; a run ends only when no
 * worker is inside it.
 */
#include "engine/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "engine/compute.h"

struct worker {
    struct eng_pool *pool;
    unsigned number; /* 0 is the thread that calls eng_pool_run */
    pthread_t thread;
};

struct eng_pool {
    unsigned threads;
    unsigned started;   /* workers that have a thread */
    atomic_size_t next; /* piece to take */

    /* Guards what follows. */
    pthread_mutex_t lock;
    pthread_cond_t open_changed, inside_changed;
    bool open; /* there is a run that a worker may join */
    bool stop;
    unsigned inside;   /* workers that joined */
    unsigned long run; /* number of the run, so that a worker joins each once */
    size_t count;
    eng_pool_fn *fn;
    void *context;

    struct worker worker[];
};

static void take_pieces(struct eng_pool *pool, size_t count, eng_pool_fn *fn, void *context, unsigned worker)
{
    for (;;) {
        size_t piece = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);

        if (piece >= count)
            return;
        fn(context, piece, worker);
    }
}

/*
 * A worker joins a run only while the caller still keeps it open, and the caller waits only for those that
 * joined, so that a worker that wakes late delays no run.
 */
static void *worker_main(void *argument)
{
    struct worker *self = argument;
    struct eng_pool *pool = self->pool;
    unsigned long joined = 0;

    eng_float_begin();
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && (!pool->open || pool->run == joined))
            pthread_cond_wait(&pool->open_changed, &pool->lock);
        if (pool->stop)
            break;
        size_t count = pool->count;
        eng_pool_fn *fn = pool->fn;
        void *context = pool->context;

        joined = pool->run;
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);
        take_pieces(pool, count, fn, context, self->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->inside == 0)
            pthread_cond_signal(&pool->inside_changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Signals belong to the application; none is delivered to a worker. */
static int start_workers(struct eng_pool *pool)
{
    sigset_t all, before;
    int error = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 1; i < pool->threads && !error; i++) {
        pool->worker[i] = (struct worker){.pool = pool, .number = i};
        error = base_alloc_allowed()
                    ? pthread_create(&pool->worker[i].thread, NULL, worker_main, &pool->worker[i])
                    : EAGAIN;
        if (!error)
            pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int eng_pool_create(unsigned threads, struct eng_pool **pool)
{
    struct eng_pool *made;
    int error;

    if (threads < 1 || threads > ENG_POOL_THREADS_MAX)
        return -EINVAL;
    made = base_alloc(sizeof(*made) + threads * sizeof(made->worker[0]));
    if (!made)
        return -ENOMEM;
    made->threads = threads;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->open_changed, NULL);
    pthread_cond_init(&made->inside_changed, NULL);
    error = threads > 1 ? start_workers(made) : 0;
    if (error) {
        eng_pool_destroy(made);
        return error;
    }
    *pool = made;
    return 0;
}

void eng_pool_destroy(struct eng_pool *pool)
{
    if (!pool)
        return;
    if (pool->started) {
        pthread_mutex_lock(&pool->lock);
        pool->stop = true;
        pthread_cond_broadcast(&pool->open_changed);
        pthread_mutex_unlock(&pool->lock);
    }
    for (unsigned i = 1; i <= pool->started; i++)
        pthread_join(pool->worker[i].thread, NULL);
    pthread_cond_destroy(&pool->inside_changed);
    pthread_cond_destroy(&pool->open_changed);
    pthread_mutex_destroy(&pool->lock);
    base_free(pool);
}

unsigned eng_pool_workers(const struct eng_pool *pool)
{
    return pool ? pool->threads : 1;
}

void eng_pool_run(struct eng_pool *pool, size_t count, eng_pool_fn *fn, void *context)
{
    if (count <= 1 || eng_pool_workers(pool) == 1) {
        for (size_t piece = 0; piece < count; piece++)
            fn(context, piece, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->count = count;
    pool->fn = fn;
    pool->context = context;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->run++;
    pool->open = true;
    pthread_cond_broadcast(&pool->open_changed);
    pthread_mutex_unlock(&pool->lock);

    take_pieces(pool, count, fn, context, 0);

    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    while (pool->inside)
        pthread_cond_wait(&pool->inside_changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
