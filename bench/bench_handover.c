/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a cache line takes to another processor and back: the shortest of many rounds between two
 * threads, each on a processor of its own. Two processors that share a last-level cache need less than half
 * of what two others need, and where a virtual machine's processors are can change while it runs. Times of
 * several threads depend on it, so they are printed beside this one. Without a second processor nothing is
 * printed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/pause.h"
#include "process.h"

enum { ROUNDS = 2000, BATCHES = 100 };

struct line {
    _Alignas(128) atomic_uint word; /* odd: the other thread's turn */
    atomic_bool stop;
};

static bool run_on(unsigned processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return !sched_setaffinity(0, sizeof(set), &set);
}

/* The number of processors this process may use, and the first two of them. */
static unsigned find_processors(unsigned found[2])
{
    cpu_set_t set;
    unsigned count = 0;

    if (sched_getaffinity(0, sizeof(set), &set))
        return 0;
    for (unsigned i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET(i, &set))
            found[count++] = i;
    return count;
}

struct other {
    struct line *line;
    unsigned processor;
};

static void *other_main(void *argument)
{
    const struct other *other = argument;
    struct line *line = other->line;

    run_on(other->processor);
    while (!atomic_load_explicit(&line->stop, memory_order_relaxed)) {
        unsigned word = atomic_load(&line->word);

        if (word % 2)
            atomic_store(&line->word, word + 1);
        else
            base_pause();
    }
    return NULL;
}

static double batch(struct line *line)
{
    double begin = bench_now();

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned word = atomic_load_explicit(&line->word, memory_order_relaxed) + 1;

        atomic_store(&line->word, word);
        while (atomic_load(&line->word) == word)
            base_pause();
    }
    return (bench_now() - begin) / ROUNDS;
}

int main(void)
{
    static struct line line;
    unsigned processor[2];
    struct other other = {.line = &line};
    pthread_t thread;
    double best = 1;

    if (find_processors(processor) < 2 || !run_on(processor[0]))
        return 0;
    other.processor = processor[1];
    if (pthread_create(&thread, NULL, other_main, &other))
        return 1;
    for (unsigned i = 0; i < BATCHES; i++) {
        double seconds = batch(&line);

        best = seconds < best ? seconds : best;
    }
    atomic_store(&line.stop, true);
    pthread_join(thread, NULL);
    printf("a line to another processor and back %8.1f ns\n", 1e9 * best);
    return 0;
}
