/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace: a record for each event of protocol/trace_events.def. It is a function of the machine's inputs
 * alone: no host pointer, wall time or thread order. A running hash covers the text line of every record,
 * whether or not a function takes the lines.
 */
#ifndef SOC_TRACE_H
#define SOC_TRACE_H

#include "protocol/trace.h"

struct soc_clock;

/* The functions that take the trace; either may be NULL. */
struct soc_trace_out {
    void (*line)(void *context, const char *line, size_t length);
    void (*record)(void *context, const void *bytes, size_t length); /* the file header first */
    void *context;
};

/* One event on its way out. */
struct soc_trace_entry {
    const char *line; /* ends in a newline and a NUL */
    size_t line_bytes;
    const uint8_t *record;
    size_t record_bytes; /* 0 when no function takes records */
};

struct soc_trace {
    const struct soc_clock *clock;
    bool on; /* no record is formed while off */
    uint64_t hash;
    uint64_t lines;
    struct soc_trace_out out;
    void (*detour)(void *context, const struct soc_trace_entry *entry);
    void *detour_context;
};

void soc_trace_init(struct soc_trace *trace, const struct soc_clock *clock);
/* Switches tracing on; out may be NULL (only the hash runs). */
void soc_trace_start(struct soc_trace *trace, const struct soc_trace_out *out);
/* Entries go to `detour`, which calls soc_trace_deliver for each; NULL ends that. */
void soc_trace_divert(struct soc_trace *trace,
                      void (*detour)(void *context, const struct soc_trace_entry *entry), void *context);
void soc_trace_deliver(const struct soc_trace *trace, const struct soc_trace_entry *entry);
/*
 * The event's field values follow: uint64_t for a number, const char * for text. Called by SOC_TRACE alone,
 * which ensures these types. Separate arguments, unlike an array, take no memory on the caller's stack.
 */
void soc_trace_emit(struct soc_trace *trace, enum pr_trace_event_id event, ...) __attribute__((cold));

static inline uint64_t soc_trace_number(uint64_t number)
{
    return number;
}

static inline const char *soc_trace_text(const char *text)
{
    return text;
}

/*
 * SOC_TRACE(trace, EVENT, field values...). Number and kinds of the values are those of the table, or it does
 * not compile. The warm path pays one test when tracing is off.
 */
#ifdef ANE_LINT /* cppcheck cannot read the expansion; scripts/lint defines it */
#define SOC_TRACE(trace, ...) ((void)(trace))
#else
#define SOC_TRACE(trace, ...)                                                                    \
    SOC_TRACE_PICK(__VA_ARGS__, SOC_TRACE_7, SOC_TRACE_6, SOC_TRACE_5, SOC_TRACE_4, SOC_TRACE_3, \
                   SOC_TRACE_2, SOC_TRACE_1, SOC_TRACE_0, 0)                                     \
    (trace, __VA_ARGS__)
#endif
#define SOC_TRACE_PICK(event, a, b, c, d, e, f, g, macro, ...) macro

#define SOC_TRACE_EMIT(trace, event, count, texts, ...)                                                    \
    do {                                                                                                   \
        _Static_assert((count) == PR_TRACE_COUNT_##event, #event " has another number of fields");         \
        _Static_assert((texts) == PR_TRACE_TEXTS_##event, #event " has text and numbers in other places"); \
        if ((trace)->on)                                                                                   \
            soc_trace_emit((trace), __VA_ARGS__);                                                          \
    } while (0)

#define SOC_TRACE_IS(x) _Generic((x), char * : 1, const char * : 1, default : 0)
#define SOC_TRACE_V(x) \
    _Generic((x), char * : soc_trace_text, const char * : soc_trace_text, default : soc_trace_number)(x)

#define SOC_TRACE_0(trace, event) SOC_TRACE_EMIT(trace, event, 0, 0, PR_TRACE_##event)
#define SOC_TRACE_1(trace, event, a) \
    SOC_TRACE_EMIT(trace, event, 1, SOC_TRACE_IS(a), PR_TRACE_##event, SOC_TRACE_V(a))
#define SOC_TRACE_2(trace, event, a, b)                                                       \
    SOC_TRACE_EMIT(trace, event, 2, SOC_TRACE_IS(a) | SOC_TRACE_IS(b) << 1, PR_TRACE_##event, \
                   SOC_TRACE_V(a), SOC_TRACE_V(b))
#define SOC_TRACE_3(trace, event, a, b, c)                                                         \
    SOC_TRACE_EMIT(trace, event, 3, SOC_TRACE_IS(a) | SOC_TRACE_IS(b) << 1 | SOC_TRACE_IS(c) << 2, \
                   PR_TRACE_##event, SOC_TRACE_V(a), SOC_TRACE_V(b), SOC_TRACE_V(c))
#define SOC_TRACE_4(trace, event, a, b, c, d)                                                            \
    SOC_TRACE_EMIT(trace, event, 4,                                                                      \
                   SOC_TRACE_IS(a) | SOC_TRACE_IS(b) << 1 | SOC_TRACE_IS(c) << 2 | SOC_TRACE_IS(d) << 3, \
                   PR_TRACE_##event, SOC_TRACE_V(a), SOC_TRACE_V(b), SOC_TRACE_V(c), SOC_TRACE_V(d))
#define SOC_TRACE_5(trace, event, a, b, c, d, e)                                                          \
    SOC_TRACE_EMIT(trace, event, 5,                                                                       \
                   SOC_TRACE_IS(a) | SOC_TRACE_IS(b) << 1 | SOC_TRACE_IS(c) << 2 | SOC_TRACE_IS(d) << 3 | \
                       SOC_TRACE_IS(e) << 4,                                                              \
                   PR_TRACE_##event, SOC_TRACE_V(a), SOC_TRACE_V(b), SOC_TRACE_V(c), SOC_TRACE_V(d),      \
                   SOC_TRACE_V(e))
#define SOC_TRACE_6(trace, event, a, b, c, d, e, f)                                                       \
    SOC_TRACE_EMIT(trace, event, 6,                                                                       \
                   SOC_TRACE_IS(a) | SOC_TRACE_IS(b) << 1 | SOC_TRACE_IS(c) << 2 | SOC_TRACE_IS(d) << 3 | \
                       SOC_TRACE_IS(e) << 4 | SOC_TRACE_IS(f) << 5,                                       \
                   PR_TRACE_##event, SOC_TRACE_V(a), SOC_TRACE_V(b), SOC_TRACE_V(c), SOC_TRACE_V(d),      \
                   SOC_TRACE_V(e), SOC_TRACE_V(f))
#define SOC_TRACE_7(trace, event, a, b, c, d, e, f, g)                                                    \
    SOC_TRACE_EMIT(trace, event, 7,                                                                       \
                   SOC_TRACE_IS(a) | SOC_TRACE_IS(b) << 1 | SOC_TRACE_IS(c) << 2 | SOC_TRACE_IS(d) << 3 | \
                       SOC_TRACE_IS(e) << 4 | SOC_TRACE_IS(f) << 5 | SOC_TRACE_IS(g) << 6,                \
                   PR_TRACE_##event, SOC_TRACE_V(a), SOC_TRACE_V(b), SOC_TRACE_V(c), SOC_TRACE_V(d),      \
                   SOC_TRACE_V(e), SOC_TRACE_V(f), SOC_TRACE_V(g))

#endif
