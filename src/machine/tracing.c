/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that the environment asks for. Those that are open are in a list, for the exit of the process, which
 * completes them while machines may still run, and for a fork: lines that are still in a buffer would be
 * written twice, by the parent and at the child's exit. The list is under a lock of its own, the last one in
 * the order of locks.
 */
#include "machine/tracing.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/file.h"

struct mach_tracing {
    struct mach_tracing *next;
    unsigned number; /* of the machine, from 1 */
    struct trace_file trace;
};

static pthread_mutex_t tracing_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mach_tracing *tracings; /* open */
static char traced_path[PATH_MAX];    /* what the environment said last; the numbers are those of this path */
static unsigned traced_machines;
static bool ends_at_exit; /* a forked child has its parent's exit handlers */

static void end_all(void)
{
    pthread_mutex_lock(&tracing_lock);
    for (struct mach_tracing *tracing = tracings; tracing; tracing = tracing->next)
        trace_file_end(&tracing->trace);
    pthread_mutex_unlock(&tracing_lock);
}

/* The number comes before the ending of the file's name, because that chooses the form. */
static int numbered(char *name, size_t size, const char *path, unsigned number)
{
    static const char *const endings[] = {".json", ".bin", ""};
    size_t length = strlen(path), tail = 0;
    int written;

    for (unsigned i = 0; !tail && i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i]);

        if (length > ending && !strcmp(path + length - ending, endings[i]))
            tail = ending;
    }
    written = number > 1 ? snprintf(name, size, "%.*s.%u%s", (int)(length - tail), path, number,
                                    path + length - tail)
                         : snprintf(name, size, "%s", path);
    return written < 0 || (size_t)written >= size ? -ENAMETOOLONG : 0;
}

/* Under the lock. */
static int open_next(struct mach_tracing *tracing, const char *path, struct ane_machine_config *config,
                     struct base_error *error)
{
    char name[PATH_MAX];
    int status;

    if (strcmp(path, traced_path) != 0)
        traced_machines = 0;
    tracing->number = traced_machines + 1;
    status = numbered(name, sizeof(name), path, tracing->number);
    if (!status)
        status = trace_file_open(&tracing->trace, name, config);
    if (status)
        return base_fail(error, -status, "ANEMONE_TRACE: %s cannot be written: %s.", path, strerror(-status));
    snprintf(traced_path, sizeof(traced_path), "%s", path);
    traced_machines++;
    tracing->next = tracings;
    tracings = tracing;
    if (!ends_at_exit)
        ends_at_exit = !atexit(end_all);
    return 0;
}

int mach_tracing_open(struct ane_machine_config *config, struct mach_tracing **tracing,
                      struct base_error *error)
{
    const char *path = getenv("ANEMONE_TRACE");
    struct mach_tracing *made;
    int status;

    *tracing = NULL;
    if (config->trace || !path || !path[0])
        return 0;
    made = base_alloc(sizeof(*made));
    if (!made)
        return base_fail(error, ENOMEM, "No memory for the trace that ANEMONE_TRACE asks for.");
    pthread_mutex_lock(&tracing_lock);
    status = open_next(made, path, config, error);
    pthread_mutex_unlock(&tracing_lock);
    if (status)
        base_free(made);
    else
        *tracing = made;
    return status;
}

void mach_tracing_close(struct mach_tracing *tracing)
{
    struct mach_tracing **link = &tracings;

    if (!tracing)
        return;
    pthread_mutex_lock(&tracing_lock);
    while (*link && *link != tracing)
        link = &(*link)->next;
    if (*link)
        *link = tracing->next;
    pthread_mutex_unlock(&tracing_lock);
    trace_file_close(&tracing->trace);
    base_free(tracing);
}

void mach_tracing_drop(struct mach_tracing *tracing)
{
    if (!tracing)
        return;
    pthread_mutex_lock(&tracing_lock);
    if (traced_machines == tracing->number)
        traced_machines--;
    pthread_mutex_unlock(&tracing_lock);
    mach_tracing_close(tracing);
}

void mach_tracing_fork_begin(void)
{
    pthread_mutex_lock(&tracing_lock);
    for (struct mach_tracing *tracing = tracings; tracing; tracing = tracing->next)
        trace_file_flush(&tracing->trace);
}

/* The child's machines have other files than its parent's. */
void mach_tracing_fork_end(bool child)
{
    if (child)
        tracings = NULL;
    pthread_mutex_unlock(&tracing_lock);
}
