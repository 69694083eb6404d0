/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties: words that CH_PROPERTY_WRITE sets and CH_PROPERTY_READ gives (command facts 4.3). A property
 * has one value for all channels (CHOSEN). The high byte is its class. Numbers that are not listed here are
 * logged and not kept: 0x10a3, 0x10a9 and 0x1701 have no known values.
 */
#ifndef PROTOCOL_PROPERTY_H
#define PROTOCOL_PROPERTY_H

#include "protocol/bits.h"

#define PR_PROPERTY_CLASS(number) ((number)&0xff00u)

/* X(class, what its properties are about); the words are CHOSEN */
#define PR_PROPERTY_CLASSES(X) \
    X(0x0000, "calls")         \
    X(0x1000, "programs")      \
    X(0x1700, "power")         \
    X(0x1800, "load")

/* X(id, number, meaning, a bit per value that is allowed or 0, largest value, the values in words) */
#define PR_PROPERTIES(X)                                                           \
    X(CALL_LOG, 0x00a1, "procedure-call log level", 0xbu, 3u, "0, 1 or 3")         \
    X(READ_ONLY, 0x10a4, "program image mapped read-only", 0x3u, 1u, "0 or 1")     \
    X(SANITY, 0x10a6, "sanity checks, which are not switched off", 0x2u, 1u, "1")  \
    X(PERFORMANCE, 0x10aa, "performance mode", 0x3u, 1u, "0 or 1")                 \
    X(LOAD_LOW, 0x1803, "low watermark of the load score", 0u, 0xffffu, "16 bits") \
    X(LOAD_HIGH, 0x1804, "high watermark of the load score", 0u, 0xffffu, "16 bits")

enum pr_property {
#define X(id, number, meaning, allowed, most, words) PR_PROPERTY_##id,
    PR_PROPERTIES(X)
#undef X
        PR_PROPERTY_COUNT
};

struct pr_property_row {
    uint32_t number, allowed, most;
    const char *meaning, *words;
};
extern const struct pr_property_row pr_property_table[PR_PROPERTY_COUNT];

/* PR_PROPERTY_COUNT when there is none of that number. */
enum pr_property pr_property_find(uint32_t number);
/* What a class is about; NULL when no property of the class is known. */
const char *pr_property_class_name(uint32_t number);
bool pr_property_allows(enum pr_property property, uint32_t value);

#endif
