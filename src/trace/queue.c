/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes of a queue run one after the other, so their spans follow each other: one begins when it is pushed,
 * or when the one before it has retired if that is later.
 */
#include "trace/queue.h"

#include <string.h>

void trace_queue_push(struct trace_queue *queue, uint64_t ns, uint64_t priority)
{
    queue->next.ns = ns;
    queue->next.priority = priority;
    if (queue->count < TRACE_PUSHES)
        queue->push[queue->count++] = queue->next;
    queue->next = (struct trace_push){0};
}

struct trace_push *trace_queue_start(struct trace_queues *queues, unsigned number, uint64_t ns, uint64_t cost,
                                     uint64_t *gap, unsigned *by)
{
    struct trace_queue *queue = &queues->queue[number];
    struct trace_push *push = queue->count ? &queue->push[0] : NULL;

    *by = queues->running;
    *gap = 0;
    queues->running = number;
    queue->until = ns + cost;
    if (!push)
        return NULL;
    if (push->end && push->end < ns && *by != number) {
        *gap = push->end;
        push->interrupted++;
    }
    push->end = ns + cost;
    return push;
}

bool trace_queue_retire(struct trace_queue *queue, uint64_t ns, struct trace_push *push)
{
    if (!queue->count)
        return false;
    *push = queue->push[0];
    queue->count--;
    memmove(queue->push, queue->push + 1, queue->count * sizeof(queue->push[0]));
    if (queue->count)
        queue->push[0].ns = ns;
    return true;
}

uint64_t trace_queue_end(struct trace_queue *queue, uint64_t ns)
{
    const uint64_t end = queue->until < ns ? queue->until : ns;

    queue->until = 0;
    return end;
}
