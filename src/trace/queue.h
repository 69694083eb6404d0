/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task queues as the viewer shows them: which pushes a queue has, since when the first of them could run, and
 * whether another queue has interrupted it.
 */
#ifndef TRACE_QUEUE_H
#define TRACE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_QUEUES 8u
#define TRACE_PUSHES 2u /* that one queue has at once, in its two slots */

struct trace_push {
    uint64_t ns; /* when it was pushed, or when the one before it has retired */
    uint64_t priority;
    uint64_t client, job; /* of FW_SCHEDULE; 0: the engine is driven without firmware */
    uint64_t flow;        /* number of its arrows, 0 for none */
    bool trigger;         /* an execution of a chain */
    uint64_t end;         /* of its latest descriptor, 0 before the first */
    unsigned interrupted; /* so often */
};

struct trace_queue {
    struct trace_push push[TRACE_PUSHES]; /* the first is the one that runs */
    unsigned count;
    struct trace_push next; /* what FW_SCHEDULE has said of the next push */
    uint64_t until;         /* end of the descriptor whose span is not ended yet; 0: none */
};

struct trace_queues {
    struct trace_queue queue[TRACE_QUEUES];
    unsigned running; /* queue of the latest descriptor */
};

void trace_queue_push(struct trace_queue *queue, uint64_t ns, uint64_t priority);

/*
 * A descriptor starts. The push it belongs to, or NULL. *gap is since when that push has waited for another
 * queue, 0 when it has not; *by is that queue.
 */
struct trace_push *trace_queue_start(struct trace_queues *queues, unsigned number, uint64_t ns, uint64_t cost,
                                     uint64_t *gap, unsigned *by);

/* The first push has retired: *push is what it was. False when none is known. */
bool trace_queue_retire(struct trace_queue *queue, uint64_t ns, struct trace_push *push);

/* The end of the descriptor whose span is open, or `ns` when it is cut short; 0 when none is open. */
uint64_t trace_queue_end(struct trace_queue *queue, uint64_t ns);

#endif
