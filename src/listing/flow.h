/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tasks of a program leave for each other: which bytes of L2 have been written, which buffers, and
 * what is handed over as a stream. One task after the other is judged against it, then added to it.
 */
#ifndef LISTING_FLOW_H
#define LISTING_FLOW_H

#include "listing/finding.h"
#include "program/chain.h"
#include "program/kernel.h"

#define PR_FLOW_GRANULE 16u  /* bytes of L2 that are marked together: the unit of its bases and strides */
#define PR_FLOW_WRITES  256u /* results in DRAM that are remembered; chosen */

enum pr_flow_role {
    PR_ROLE_NONE,
    PR_ROLE_TEXT,
    PR_ROLE_CONSTANT,
    PR_ROLE_SCRATCH,
    PR_ROLE_INPUT,
    PR_ROLE_OUTPUT
};

/* The buffers a program is bound to. With `known` false they are not judged. */
struct pr_flow_buffers {
    bool known;
    struct {
        enum pr_flow_role role;
        uint64_t bytes;
    } bar[PR_TQ_BARS];
    const uint8_t *constants; /* the bytes of PR_ROLE_CONSTANT, or NULL */
};

struct pr_flow_write {
    struct pr_tensor tensor;
    uint32_t descriptor;
    bool read;
};

struct pr_flow {
    const struct pr_flow_buffers *buffers;
    pr_check_report report;
    void *context;
    bool clean;
    uint32_t descriptor;     /* the one under judgement */
    bool guessing;           /* a task was not decoded: what it wrote is not known */
    bool overflowed;         /* more writes than are remembered */
    struct pr_tensor stream; /* the last task's result, when its home is a stream */
    uint32_t unwritten;      /* bit b: an output that no task has written yet */
    uint32_t writes;
    struct pr_flow_write write[PR_FLOW_WRITES];
    uint32_t l2[PR_L2_BYTES / PR_FLOW_GRANULE / 32];
};

void pr_flow_begin(struct pr_flow *flow, const struct pr_flow_buffers *buffers, pr_check_report report,
                   void *context);
void pr_flow_task(struct pr_flow *flow, uint32_t descriptor, const struct pr_task *task);
/*
 * Whether the tensors of a task fit their buffers, and nothing else: for a task of which only they are known.
 */
void pr_flow_places(struct pr_flow *flow, uint32_t descriptor, const struct pr_task *task);
/* A descriptor whose task is not known: from here on what was written before is not judged. */
void pr_flow_gap(struct pr_flow *flow);
/* After the last task. True when only remarks were found. */
bool pr_flow_end(struct pr_flow *flow);

#endif
