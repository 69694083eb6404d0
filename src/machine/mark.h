/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's marks in the trace, from either core. */
#ifndef MACHINE_MARK_H
#define MACHINE_MARK_H

#include "machine/internal.h"
#include "protocol/execution.h"

/* A code that means nothing, or another number of words, comes from firmware that is not ours: ignored. */
static inline void mach_mark(struct ane_machine *m, uint32_t code, const uint64_t *word, size_t words)
{
    if (code == PR_MARK_SCHEDULE && words == PR_KEY_PARTS)
        SOC_TRACE(&m->trace, FW_SCHEDULE, word[PR_KEY_USER], word[PR_KEY_JOB], word[PR_KEY_PRIORITY],
                  word[PR_KEY_HWQ], word[PR_KEY_TQ], word[PR_KEY_QUEUE]);
}

#endif
