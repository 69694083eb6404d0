/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: task manager, eight task queues, descriptor walker and datapath behind one register window. It
 * touches memory only through the DART. docs/machine.md describes the registers.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/compute.h"
#include "program/cost.h"
#include "protocol/problem.h"

struct eng;
struct dart;
struct soc_clock;
struct soc_lines;
struct soc_trace;

struct eng_config {
    enum eng_policy policy;
    enum eng_path path;
    unsigned threads;                 /* 0 = 1 */
    uint64_t max_work;                /* 0 = ENG_MAX_WORK */
    unsigned line;                    /* interrupt line */
    bool lenient;                     /* what no public source explains is ignored, traced and run */
    const struct pr_cost_model *cost; /* NULL = pr_cost_m1_max */
    /*
     * A request whose address the DART refuses stays, and its queue is stuck until eng_restart finds the page
     * mapped. Otherwise it ends with an error event, as the firmware expects.
     */
    bool faults_stall;
};

/*
 * Limits of a descriptor's steps (pr_task_work); one that needs more is refused. Chosen so that a hostile
 * descriptor stops the host for a minute or two at most.
 */
/* Multiply-accumulates whose weights are used for many outputs. */
#define ENG_MAX_WORK (1ull << 40)
/* All other tasks: elements, and products made one at a time. */
#define ENG_MAX_ELEMENTS (1ull << 33)
/* Either kind, where few elements are contiguous or few outputs use a weight. */
#define ENG_MAX_NARROW (1ull << 31)

int eng_create(const struct eng_config *config, struct dart *dart, struct soc_clock *clock,
               struct soc_lines *lines, struct soc_trace *trace, struct eng **engine,
               struct base_error *error);
void eng_destroy(struct eng *engine);
/* Power was lost: registers, queues and L2 are as after power-on. */
void eng_reset(struct eng *engine);

/* The clock of a partition is gated: registers answer, a descriptor that runs ends, and none is started. */
void eng_gate(struct eng *engine, bool gated);

/*
 * A TLB was invalidated or a DART's error cleared: requests that wait for a page are tried again, from the
 * beginning of the descriptor that faulted.
 */
void eng_restart(struct eng *engine);

/* A request is there and none runs: a queue is stuck, or a clock is gated. */
bool eng_stuck(const struct eng *engine);

/* The register window, offsets from PR_ENGINE_REGS of the container. */
uint32_t eng_read32(void *engine, uint32_t offset);
void eng_write32(void *engine, uint32_t offset, uint32_t value);

/* What the engine is at, for the board's status word. */
enum eng_condition { ENG_IDLE, ENG_RUNNING, ENG_FAULTED };
enum eng_condition eng_condition(const struct eng *engine);

/* The last thing that stopped a request or a push: the model's own finding, which no register shows. */
struct eng_problem {
    uint64_t count; /* so far; 0: none */
    uint32_t queue;
    uint32_t address; /* of the descriptor */
    struct pr_problem problem;
};
const struct eng_problem *eng_problem_get(const struct eng *engine);

struct pr_task;

/*
 * Whoever measures descriptors: called around the execution of each, with its address and its place in the
 * request. Both are set, or neither.
 */
struct eng_watch {
    void (*begin)(void *context);
    void (*end)(void *context, uint32_t address, uint32_t index, const struct pr_task *task);
    void *context;
};
/* NULL ends it. */
void eng_watch_set(struct eng *engine, const struct eng_watch *watch);

struct eng_stats {
    uint64_t descriptors; /* completed */
    uint64_t reused;      /* of them, run from a prepared form */
    uint64_t requests;    /* finished without an error */
    uint64_t faulted;     /* ended or stopped by a DART fault, each time */
    uint64_t stuck;       /* stopped by a bad descriptor or chain, or by a limit */
    uint64_t aborted;
    uint64_t ignored; /* findings that a lenient engine did not refuse */
    uint64_t gated;   /* pushes that came while a clock was gated: they wait until it is not */
};
struct eng_stats eng_stats_get(const struct eng *engine);

#endif
