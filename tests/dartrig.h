/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DART on a board of its own, for its tests: memory, trace, page tables built by hand. Leaf words are
 * put together here from the public layouts and share nothing with the decoder under test.
 */
#ifndef TESTS_DARTRIG_H
#define TESTS_DARTRIG_H

#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "dart/dart.h"
#include "soc/clock.h"
#include "soc/memory.h"
#include "soc/trace.h"

#define DARTRIG_PAGE       0x4000u
#define DARTRIG_T6000_DRAM 0x10000000000ull
#define DARTRIG_T8103_DRAM 0x800000000ull
#define DARTRIG_READ_ONLY  1u
#define DARTRIG_WRITE_ONLY 2u

struct dartrig {
    enum pr_leaf_form form;
    struct soc_memory *memory;
    struct soc_clock *clock;
    struct soc_trace trace;
    struct dart *dart;
    uint64_t table;   /* of streams 0-2 on every port */
    char lines[8192]; /* the trace, as long as there is room */
    size_t length;
};

static inline void dartrig_sink(void *context, const char *line, size_t length)
{
    struct dartrig *rig = context;

    if (rig->length + length < sizeof(rig->lines)) {
        memcpy(rig->lines + rig->length, line, length + 1);
        rig->length += length;
    }
}

static inline uint64_t dartrig_alloc(struct dartrig *rig, uint64_t pages)
{
    struct base_error error;
    uint64_t address = 0;

    assert_int_equal(soc_memory_alloc(rig->memory, SOC_OWNER_CALLER, pages * DARTRIG_PAGE, &address, &error),
                     0);
    return address;
}

static inline void *dartrig_at(struct dartrig *rig, uint64_t address, uint64_t bytes)
{
    void *at = soc_memory_at(rig->memory, address, bytes);

    assert_non_null(at);
    return at;
}

/* Seeds Table 28.4, and the two hardware layouts of the public drivers. */
static inline uint64_t dartrig_word_sub(enum pr_leaf_form form, uint64_t address, unsigned protection,
                                        uint64_t start, uint64_t end)
{
    uint64_t no_write = protection & DARTRIG_READ_ONLY ? 1 : 0,
             no_read = protection & DARTRIG_WRITE_ONLY ? 1 : 0;

    switch (form) {
    case PR_LEAF_T8020:
        return 1 | no_write << 7 | no_read << 8 | (address & 0xffffff000ull) | start << 52 | end << 40;
    case PR_LEAF_T6000:
        return 1 | no_write << 2 | no_read << 3 | (address >> 4 & 0x3ffffffc00ull) | start << 52 | end << 40;
    default: return 1ull << 63 | address;
    }
}

static inline uint64_t dartrig_word(enum pr_leaf_form form, uint64_t address)
{
    return dartrig_word_sub(form, address, 0, 0, 0xfff);
}

/* Where the leaf word of a device address stands; makes the second-level table when it is missing. */
static inline uint64_t *dartrig_leaf(struct dartrig *rig, uint64_t table, uint64_t iova)
{
    uint64_t *first = (uint64_t *)dartrig_at(rig, table, DARTRIG_PAGE) + (iova >> 25);
    uint64_t second;

    if (!*first) {
        second = dartrig_alloc(rig, 1);
        *first = dartrig_word(rig->form, second);
    } else if (rig->form == PR_LEAF_SEED) {
        second = *first & 0x7fffffffc000ull;
    } else if (rig->form == PR_LEAF_T6000) {
        second = (*first & 0x3ffffffc00ull) << 4;
    } else {
        second = (*first & 0xfffffc000ull) | (soc_memory_base(rig->memory) & ~0xfffffffffull);
    }
    return (uint64_t *)dartrig_at(rig, second, DARTRIG_PAGE) + (iova >> 14) % 2048;
}

static inline void dartrig_map(struct dartrig *rig, uint64_t iova, uint64_t address)
{
    *dartrig_leaf(rig, rig->table, iova) = dartrig_word(rig->form, address);
}

static inline void dartrig_map_run(struct dartrig *rig, uint64_t iova, uint64_t address, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        dartrig_map(rig, iova + i * DARTRIG_PAGE, address + i * DARTRIG_PAGE);
}

/* Maps pages of a run backwards, so that no two neighbours follow each other in memory. */
static inline void dartrig_map_backwards(struct dartrig *rig, uint64_t iova, uint64_t address, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        dartrig_map(rig, iova + i * DARTRIG_PAGE, address + (pages - 1 - i) * DARTRIG_PAGE);
}

static inline void dartrig_ttbr(struct dartrig *rig, enum dart_port port, uint32_t stream, uint64_t table)
{
    dart_write32(rig->dart, port, 0x200 + stream * 16, 0x80000000u | (uint32_t)(table >> 12));
}

static inline void dartrig_invalidate(struct dartrig *rig, enum dart_port port, uint32_t streams)
{
    dart_write32(rig->dart, port, 0x34, streams);
    dart_write32(rig->dart, port, 0x20, 1u << 20);
}

static inline void dartrig_start(struct dartrig *rig, const struct dart_config *config, uint64_t base,
                                 uint64_t bytes)
{
    struct base_error error;

    memset(rig, 0, sizeof(*rig));
    rig->form = config->form;
    assert_int_equal(soc_memory_create(base, bytes, &rig->memory, &error), 0);
    assert_int_equal(soc_clock_create(&rig->clock, &error), 0);
    soc_trace_init(&rig->trace, rig->clock);
    soc_trace_start(&rig->trace, &(struct soc_trace_out){.line = dartrig_sink, .context = rig});
    assert_int_equal(dart_create(config, rig->memory, &rig->trace, &rig->dart, &error), 0);
    rig->table = dartrig_alloc(rig, 1);
    for (unsigned port = 0; port < DART_PORTS; port++)
        for (uint32_t stream = 0; stream < 3; stream++)
            dartrig_ttbr(rig, (enum dart_port)port, stream, rig->table);
}

static inline void dartrig_end(struct dartrig *rig)
{
    dart_destroy(rig->dart);
    soc_clock_destroy(rig->clock);
    soc_memory_destroy(rig->memory);
}

/* Grants on the source port's stream 0. */
static inline int dartrig_get(struct dartrig *rig, uint64_t iova, uint64_t bytes, enum dart_access access,
                              struct dart_range *range)
{
    return dart_range_get(rig->dart, DART_PORT_SOURCE, 0, iova, bytes, access, range);
}

#endif
