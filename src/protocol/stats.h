/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics record that the firmware writes for a call (seeds Table 29.9), and what may follow it. */
#ifndef PROTOCOL_STATS_H
#define PROTOCOL_STATS_H

#include <stddef.h>

#include "protocol/bits.h"

#define PR_STATS_HEADER_BYTES 0x28u
#define PR_STATS_EVENT_BYTES  0x14u
#define PR_STATS_DEBUG_BYTES  0x10u
#define PR_STATS_ENGINE_BYTES 0x20u
#define PR_STATS_MAGIC        0x0101u

/* The two words "from the call object" are chosen: its program, and its procedure. */
struct pr_stats_header {
    uint16_t magic;
    uint16_t zero0;
    uint64_t time; /* nanoseconds from acceptance to the end */
    uint32_t program;
    uint64_t zero1;
    uint32_t procedure;
    uint64_t counter; /* calls of the process that have ended, this one included */
    uint32_t descriptor_bytes;
} __attribute__((packed));

/* X(member, offset, bytes, the seed's words for it) */
#define PR_STATS_FIELDS(X)                                                        \
    X(magic, 0x00, 2, "magic 0x0101")                                             \
    X(time, 0x04, 8, "per-call timing value, from the real-time-kernel timebase") \
    X(program, 0x0c, 4, "word from the call object")                              \
    X(zero1, 0x10, 8, "reserved, cleared")                                        \
    X(procedure, 0x18, 4, "word from the call object")                            \
    X(counter, 0x1c, 8, "per-call counter value")                                 \
    X(descriptor_bytes, 0x24, 4, "descriptor-area byte length, the total size minus 0x28")

#define X(member, offset, bytes, words)                                          \
    _Static_assert(offsetof(struct pr_stats_header, member) == (offset) &&       \
                       sizeof(((struct pr_stats_header *)0)->member) == (bytes), \
                   "Table 29.9");
PR_STATS_FIELDS(X)
#undef X
_Static_assert(sizeof(struct pr_stats_header) == PR_STATS_HEADER_BYTES, "Table 29.9");

#endif
