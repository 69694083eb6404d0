/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pool of workers that run numbered pieces of one job. Which thread runs which piece is not
 * determined, so pieces must not depend on each other. A job may be cut differently for other numbers of
 * threads, but its result must not depend on the cut.
 */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct eng_pool;

/* `worker` is below eng_pool_workers and belongs to one thread at a time: the index of its working memory. */
typedef void eng_pool_fn(void *context, size_t piece, unsigned worker);

#define ENG_POOL_THREADS_MAX 64u

/*
 * `threads` counts the calling thread. Threads are made when runs have taken so long that they are worth it,
 * and where the host refuses one, runs have fewer. -EINVAL outside 1..ENG_POOL_THREADS_MAX, or -ENOMEM.
 */
int eng_pool_create(unsigned threads, struct eng_pool **pool);
void eng_pool_destroy(struct eng_pool *pool);
/* Threads that work, the caller's included; 1 for NULL. */
unsigned eng_pool_workers(const struct eng_pool *pool);

/*
 * Runs fn for every piece in [0, count) and returns when all are done. One run at a time per pool, from any
 * thread. Without a second thread, or with one piece, it is a plain loop: no lock, no system call. Workers
 * look for the next run for a bounded time before they sleep; none is woken for runs that are over sooner
 * than it would come.
 */
void eng_pool_run(struct eng_pool *pool, size_t count, eng_pool_fn *fn, void *context);

/* For tests: every run of every pool makes and wakes workers, however short it is. */
void eng_pool_wake_always(bool always);

#endif
