/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics record that the firmware writes for a call. In this order, without gaps: the header (seeds
 * Table 29.9), a descriptor for each active engine, the totals, and with the profiler on the events of the
 * call and its debug events. The first part for which the buffer has no room ends the record. Sizes, the
 * order of a descriptor's words and the names of the totals are the seed's; all other places are CHOSEN.
 */
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

/* The firmware's table of engines: entries, bytes from one to the next, and where the counters of one are. */
#define PR_STATS_ENGINES_MAX   32u
#define PR_STATS_ENGINE_STRIDE 0x48u
#define PR_STATS_QUAD_OFFSET   0x30u
#define PR_STATS_QUAD_BYTES    16u

/* What the profiler counts, of calls with a statistics buffer, since the firmware was booted (CHOSEN). */
struct pr_stats_quad {
    uint32_t calls;
    uint32_t events; /* stat events of these calls */
    uint32_t busy_us;
    uint32_t latency_us;
};
_Static_assert(sizeof(struct pr_stats_quad) == PR_STATS_QUAD_BYTES, "four counters");

struct pr_stats_engine {
    uint32_t id;
    uint32_t type; /* enum pr_stats_engine_type */
    uint32_t call;
    uint32_t index;
    struct pr_stats_quad quad;
};
enum pr_stats_engine_type { PR_STATS_ENGINE_ABSENT, PR_STATS_ENGINE_NEURAL };

/* X(member, offset, bytes, meaning) */
#define PR_STATS_ENGINE_FIELDS(X)                                                          \
    X(id, 0x00, 4, "engine identifier")                                                    \
    X(type, 0x04, 4, "engine type: 1 is a neural engine")                                  \
    X(call, 0x08, 4, "call index: the firmware's number of the call object")               \
    X(index, 0x0c, 4, "engine index")                                                      \
    X(quad.calls, 0x10, 4, "calls with a statistics buffer since boot")                    \
    X(quad.events, 0x14, 4, "stat events of these calls")                                  \
    X(quad.busy_us, 0x18, 4, "microseconds from push to end, without those counted twice") \
    X(quad.latency_us, 0x1c, 4, "microseconds from acceptance to end, added up")

/*
 * Running totals of the process, which start at 0 with it. Events without a descriptor in a buffer are
 * counted as well.
 */
struct pr_stats_totals {
    uint32_t valid, log_events, stat_events;
};
#define PR_STATS_TOTALS_BYTES 0x0cu
#define PR_STATS_TOTALS_FIELDS(X)                                               \
    X(valid, 0x00, 4, "valid records: descriptors written, of all three kinds") \
    X(log_events, 0x04, 4, "log events")                                        \
    X(stat_events, 0x08, 4, "stat events")
/* Where they are in a record with so many engines. */
#define PR_STATS_TOTALS_OFFSET(engines) (PR_STATS_HEADER_BYTES + (engines)*PR_STATS_ENGINE_BYTES)

/* Stages of a call. X(id, kind, what `value` is) */
#define PR_STATS_EVENTS(X)                       \
    X(ACCEPTED, 0x0101, "priority level")        \
    X(PUSHED, 0x0102, "network id on the queue") \
    X(ENDED, 0x0103, "status of the call")
struct pr_stats_event {
    uint16_t kind;
    uint16_t engine; /* index */
    uint64_t time;   /* the kernel's timebase, nanoseconds */
    uint64_t value;
} __attribute__((packed));
#define PR_STATS_EVENT_FIELDS(X)                     \
    X(kind, 0x00, 2, "kind of stat event")           \
    X(engine, 0x02, 2, "engine index")               \
    X(time, 0x04, 8, "kernel timebase, nanoseconds") \
    X(value, 0x0c, 8, "what the kind says")

/* Log events of a call. X(id, kind, what `value` is) */
#define PR_STATS_LOGS(X)                                                                   \
    X(DEPTH, 0x0201, "calls that wait or run at the end of this one")                      \
    X(LATE, 0x0202, "microseconds of waiting, above the context-switch latency threshold") \
    X(FAILED, 0x0203, "ERROR1 of the task manager, of a call that did not end well")
struct pr_stats_debug {
    uint16_t kind;
    uint16_t engine; /* index */
    uint32_t value;
    uint64_t time; /* the kernel's timebase, nanoseconds */
};
#define PR_STATS_DEBUG_FIELDS(X)            \
    X(kind, 0x00, 2, "kind of log event")   \
    X(engine, 0x02, 2, "engine index")      \
    X(value, 0x04, 4, "what the kind says") \
    X(time, 0x08, 8, "kernel timebase, nanoseconds")

enum pr_stats_kind {
#define X(id, kind, value) PR_STATS_KIND_##id = kind,
    PR_STATS_EVENTS(X) PR_STATS_LOGS(X)
#undef X
};
#define X(id, kind, value) +1
enum { PR_STATS_EVENT_KINDS = 0 PR_STATS_EVENTS(X), PR_STATS_LOG_KINDS = 0 PR_STATS_LOGS(X) };
#undef X

#define PR_STATS_CHECK(type, member, offset, bytes)                   \
    _Static_assert(offsetof(struct type, member) == (offset) &&       \
                       sizeof(((struct type *)0)->member) == (bytes), \
                   "docs/protocol.md");
#define X(member, offset, bytes, words) PR_STATS_CHECK(pr_stats_engine, member, offset, bytes)
PR_STATS_ENGINE_FIELDS(X)
#undef X
#define X(member, offset, bytes, words) PR_STATS_CHECK(pr_stats_totals, member, offset, bytes)
PR_STATS_TOTALS_FIELDS(X)
#undef X
#define X(member, offset, bytes, words) PR_STATS_CHECK(pr_stats_event, member, offset, bytes)
PR_STATS_EVENT_FIELDS(X)
#undef X
#define X(member, offset, bytes, words) PR_STATS_CHECK(pr_stats_debug, member, offset, bytes)
PR_STATS_DEBUG_FIELDS(X)
#undef X
_Static_assert(sizeof(struct pr_stats_engine) == PR_STATS_ENGINE_BYTES &&
                   sizeof(struct pr_stats_event) == PR_STATS_EVENT_BYTES &&
                   sizeof(struct pr_stats_debug) == PR_STATS_DEBUG_BYTES &&
                   sizeof(struct pr_stats_totals) == PR_STATS_TOTALS_BYTES,
               "the size query");

/* The longest record. */
#define PR_STATS_BYTES_MAX                                                  \
    (PR_STATS_TOTALS_OFFSET(PR_STATS_ENGINES_MAX) + PR_STATS_TOTALS_BYTES + \
     PR_STATS_EVENT_KINDS * PR_STATS_EVENT_BYTES + PR_STATS_LOG_KINDS * PR_STATS_DEBUG_BYTES)

/*
 * Statistics buffers that a process may have mapped (CHOSEN); another one takes the place of the oldest. More
 * than a client may have requests under way.
 */
#define PR_STATS_MAPS 32u

/* From this level of property 0x00a1 on, events and debug events go to the buffer (CHOSEN). */
#define PR_STATS_PROFILE_LEVEL 3u

#endif
