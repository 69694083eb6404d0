/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judgement of a program: what pr_check_stream finds in its stream, and what takes its buffers to see.
 * Each finding has a sentence, and the outcome on the engine as far as it is known. No program is run
 * here.
 */
#ifndef LISTING_CHECK_H
#define LISTING_CHECK_H

#include "listing/flow.h"
#include "program/hwx.h"

/*
 * Judges a whole stream: the chain, the framing and the bits of every descriptor, and the task each one asks
 * for, with the register image carried from zeros along the chain. Every finding is reported with its
 * descriptor's index; what depends on a broken part is skipped. True when only remarks were found.
 */
bool pr_check_stream(const void *bytes, size_t size, uint32_t first_words, uint32_t count,
                     pr_check_report report, void *context);

struct pr_check_program {
    const uint8_t *text;
    size_t text_bytes;
    uint32_t first_words, count;
    bool lenient; /* what a lenient machine ignores is a remark */
    struct pr_flow_buffers buffers;
};

/* What to judge of a program that has been read from `file`. */
void pr_check_program_of(struct pr_check_program *program, const void *file, const struct pr_hwx *hwx);

/*
 * Judges a program. `flow` is room for what its descriptors leave behind for each other; what it held does
 * not matter. True when only remarks were found.
 */
bool pr_check_program(const struct pr_check_program *program, struct pr_flow *flow, pr_check_report report,
                      void *context);

#endif
