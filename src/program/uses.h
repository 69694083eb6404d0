/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chain of descriptors does with each buffer: reads it, writes it, and what elements it takes it to
 * hold. For files that say less about their surfaces than the descriptors do.
 */
#ifndef PROGRAM_USES_H
#define PROGRAM_USES_H

#include "protocol/problem.h"
#include "program/td.h"

/*
 * What a buffer holds: enum pr_hwx_element, and the first descriptor that says so, by its index in the chain.
 */
struct pr_buffer_use {
    uint32_t element, descriptor; /* the first descriptor that says; an element of 0: none does */
    /* The first descriptor that uses the buffer with another element type; 0: none does. */
    uint32_t other, other_descriptor;
};

struct pr_uses {
    uint32_t read, written; /* sets of buffers: bit b is buffer b */
    uint32_t stored;        /* of those written, the ones that a result is transferred to */
    struct pr_buffer_use buffer[PR_TQ_BARS];
};

/*
 * Walks the chain as far as it can be walked; what is wrong with it is not reported here (see chain.h). A
 * buffer's elements are known from transfers that a descriptor enables, by the format in memory: a buffer
 * that is only named, or whose format is a code without a known meaning, stays unknown.
 */
void pr_uses_trace(const void *text, size_t size, uint32_t first_words, uint32_t count, struct pr_uses *uses);

/*
 * What the buffer holds: fp16 when no descriptor says, because nearly all surfaces are. False and a
 * sentence when two contradict each other.
 */
bool pr_uses_element(const struct pr_uses *uses, uint32_t bar, uint32_t *element, struct pr_problem *problem);

#endif
