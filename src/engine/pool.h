/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pool of workers that run numbered pieces of one job. Which thread runs which piece is not
 * determined, so pieces must not depend on each other, and the way a job is cut must not depend on the number
 * of threads.
 */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include <stddef.h>

struct eng_pool;

/* `worker` is below eng_pool_workers and belongs to one thread at a time: the index of its working memory. */
typedef void eng_pool_fn(void *context, size_t piece, unsigned worker);

#define ENG_POOL_THREADS_MAX 64u

/*
 * `threads` counts the calling thread: 1 makes none. -EINVAL outside 1..ENG_POOL_THREADS_MAX, -ENOMEM, or the
 * error of pthread_create.
 */
int eng_pool_create(unsigned threads, struct eng_pool **pool);
void eng_pool_destroy(struct eng_pool *pool);
/* Threads that work, the caller's included; 1 for NULL. */
unsigned eng_pool_workers(const struct eng_pool *pool);

/*
 * Runs fn for every piece in [0, count) and returns when all are done. One run at a time per pool. Without a
 * second thread, or with one piece, it is a plain loop: no lock, no system call. Does not allocate.
 */
void eng_pool_run(struct eng_pool *pool, size_t count, eng_pool_fn *fn, void *context);

#endif
