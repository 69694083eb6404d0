/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small FlatBuffer builder. It writes from the end of the buffer to its start, as the builders of the
 * format do: children first, then the tables that refer to them. Every function returns or takes a reference:
 * a distance from the end, 0 = none. Fields are always written, even when they equal a default, so that sizes
 * do not depend on values. After a failed allocation every call does nothing, and cc_flat_end returns NULL.
 */
#ifndef COMPILER_STORE_FLATBUILD_H
#define COMPILER_STORE_FLATBUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CC_FLAT_SLOTS_MAX 16u

struct cc_flat {
    uint8_t *bytes;
    size_t capacity, size; /* the last `size` bytes are written */
    bool failed;
};

uint32_t cc_flat_string(struct cc_flat *flat, const char *string);
uint32_t cc_flat_bytes(struct cc_flat *flat, const void *bytes, uint32_t count);
uint32_t cc_flat_u32s(struct cc_flat *flat, const uint32_t *values, uint32_t count);
uint32_t cc_flat_u64s(struct cc_flat *flat, const uint64_t *values, uint32_t count);
uint32_t cc_flat_refs(struct cc_flat *flat, const uint32_t *refs, uint32_t count);

/* A table: fields by slot, then one cc_flat_table call that writes them. */
struct cc_flat_fields {
    struct {
        uint64_t value;
        uint8_t bytes; /* 0: absent */
        bool reference;
    } slot[CC_FLAT_SLOTS_MAX];
};
void cc_flat_put(struct cc_flat_fields *fields, unsigned slot, unsigned bytes, uint64_t value);
void cc_flat_put_ref(struct cc_flat_fields *fields, unsigned slot, uint32_t ref);
uint32_t cc_flat_table(struct cc_flat *flat, const struct cc_flat_fields *fields, unsigned slots);

/* The whole buffer, for the caller to base_free; NULL when memory ran out. */
uint8_t *cc_flat_end(struct cc_flat *flat, uint32_t root, const char identifier[4], size_t *size);

#endif
