/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's state, shared by the files of this room alone. */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include "dart/dart.h"
#include "engine/compute.h"
#include "engine/engine.h"
#include "engine/prepared.h"
#include "engine/stream.h"
#include "protocol/tm_regs.h"
#include "soc/clock.h"
#include "soc/lines.h"
#include "soc/trace.h"

#define ENG_SLOTS       2  /* requests a queue holds: one running, one staged */
#define ENG_EVENTS      64 /* completion events kept per line until they are read */
#define ENG_EVENT_LINES 2

/* A pushed request: everything it needs, latched at the push. */
struct eng_request {
    bool present;
    uint32_t address;  /* of its first descriptor */
    uint32_t words;    /* size of that descriptor */
    uint32_t count;    /* maximum number of descriptors to run */
    uint32_t stream;   /* DART stream slot */
    uint32_t priority; /* parameter of the push: smaller is more urgent */
    bool named;        /* the queue's NID register names the network ... */
    uint32_t nid;      /* ... else its first descriptor does */
    uint64_t arrival;
    uint32_t bar[PR_TQ_BARS];
};

/* The walker's position in the running request. */
struct eng_cursor {
    uint32_t index;   /* descriptors completed */
    uint32_t address; /* of the current descriptor */
    uint32_t words;
    uint32_t nid;
    bool opened; /* the first descriptor has been read: image and L2 were reset for this network */
    /* Loop detection (Brent): a landmark address, moved at powers of two. */
    uint32_t landmark, power, steps;
};

struct eng_queue {
    uint32_t reg[PR_TQ_STRIDE / 4];
    struct eng_request slot[ENG_SLOTS]; /* slot 0 runs */
    struct eng_cursor cursor;
    const struct pr_image *image; /* that of the form applied last, or `own` */
    uint64_t image_number;        /* its name (prepared.h) */
    struct pr_image own;
    uint8_t *l2;
    struct eng_stream stream[2]; /* one may be read while the other is written */
    uint32_t l2_low, l2_high;    /* what was written since the network started: [low, high) */
    /* What earlier networks wrote, which has to read as 0 and does not yet: [low, high), high 0: none. */
    uint32_t stale_low, stale_high;
    bool stuck;
    bool waits; /* stuck for a page: */
    struct dart_refusal refusal;
};

struct eng_event {
    uint32_t info, detail; /* INFO and UNK1 */
    uint32_t time;
};

/* A transfer, by its first address. */
struct eng_dma {
    enum pr_tm_dma dma;
    uint32_t address;
};

struct eng_event_line {
    uint32_t count, first;
    bool pending; /* raised and not acknowledged */
    struct eng_event event[ENG_EVENTS];
};

struct eng {
    struct eng_config config;
    struct dart *dart;
    struct soc_clock *clock;
    struct soc_lines *lines;
    struct soc_trace *trace;
    struct eng_compute compute;
    struct eng_scratch staged, gathered; /* a result beside its place; kernel bytes made contiguous */
    struct eng_stats stats;
    struct eng_watch watch; /* .begin is NULL: none */

    /* Task manager registers that are plain storage. */
    uint32_t req_addr, req_info, tq_en, irq_en1, irq_en2, committed;
    uint32_t error[PR_TM_ERRORS];
    bool error_captured;
    bool faulted;            /* the DART refused an address, and no push was accepted since */
    struct eng_dma refused;  /* the transfer of the last refusal */
    struct eng_problem last; /* what the model found, for whoever looks at it from outside */
    uint64_t arrivals;
    struct eng_event_line line[ENG_EVENT_LINES];
    struct eng_queue queue[PR_TQ_COUNT];
    uint32_t taken;                /* a bit for each queue that has a request in slot 0 */
    const struct eng_queue *shown; /* whose image the register window shows: that of the last started */

    /* The descriptor in the datapath. */
    int running; /* queue, or -1 */
    bool gated;  /* none is started: the board's, so that a reset keeps it */
    struct eng_prepared *current;
    soc_event_id completion;

    uint32_t fetch[PR_TD_WORDS_MAX]; /* the one copy of a descriptor's words */
    struct pr_td td;
    struct eng_prepared_store prepared;
};

/* taskmgr.c: the datapath finished its descriptor, or could not start it. */
void eng_taskmgr_reset(struct eng *e);
void eng_taskmgr_push(struct eng *e, uint32_t value);
void eng_taskmgr_abort(struct eng *e, uint32_t queues);
void eng_taskmgr_restart(struct eng *e);
bool eng_taskmgr_idle(const struct eng *e);
bool eng_taskmgr_stuck(const struct eng *e);
/* Starts the next descriptor if the datapath is free. */
void eng_taskmgr_schedule(struct eng *e);

/*
 * walker.c: reads, checks and prepares the descriptor at the queue's cursor. NULL and a problem when it
 * cannot be run.
 */
struct eng_prepared *eng_walker_prepare(struct eng *e, struct eng_queue *q, struct pr_problem *problem);
/*
 * Moves the cursor past a completed descriptor. False when the request is finished; problem->kind is set when
 * the chain is bad.
 */
bool eng_walker_advance(struct eng *e, struct eng_queue *q, const struct eng_prepared *p,
                        struct pr_problem *problem);

/* The queue's registers and its L2 are as after reset. */
void eng_walker_clear(struct eng_queue *q);

/* execute.c: grants operands and computes. False and a problem when the task was not run. */
bool eng_execute(struct eng *e, struct eng_queue *q, struct eng_prepared *p, struct pr_problem *problem);

/* event.c: completion events and the interrupt line. */
void eng_event_post(struct eng *e, uint32_t info, uint32_t detail);
uint32_t eng_event_read(struct eng *e, unsigned line, uint32_t offset);
void eng_event_ack(struct eng *e, uint32_t value);
void eng_event_update_line(struct eng *e);

#endif
