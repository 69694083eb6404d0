/* SPDX-License-Identifier: Apache-2.0 */
/* FlatBuffers. No byte is read before its place has been checked against the size of the buffer. */
#include "program/flat.h"

#include <string.h>

enum { ROOT_BYTES = 8, IDENTIFIER_AT = 4, IDENTIFIER_BYTES = 4, VTABLE_HEAD = 4 };
#define SIZE_MAX_BYTES 0x7fffffffu /* offsets are signed in a vtable reference */

/* True when `bytes` bytes from `at` on are there. */
static bool there(struct pr_flat *flat, uint64_t at, uint64_t bytes)
{
    if (!flat->broken && at <= flat->size && bytes <= flat->size - at)
        return true;
    if (!flat->broken)
        flat->where = at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
    flat->broken = true;
    return false;
}

/* Where the offset at `at` points to; 0 when it is broken. Offsets go forward and are not 0. */
static uint32_t follow(struct pr_flat *flat, uint32_t at)
{
    uint64_t target;

    if (!there(flat, at, 4))
        return 0;
    target = (uint64_t)at + pr_le32(flat->bytes + at);
    if (target == at)
        target = UINT64_MAX;
    return there(flat, target, 4) ? (uint32_t)target : 0;
}

static struct pr_flat_table table_at(struct pr_flat *flat, uint32_t at)
{
    struct pr_flat_table table = {.at = at};
    int64_t vtable;

    if (!at || !there(flat, at, 4))
        return (struct pr_flat_table){0};
    vtable = (int64_t)at - (int32_t)pr_le32(flat->bytes + at);
    if (!there(flat, vtable < 0 ? UINT64_MAX : (uint64_t)vtable, VTABLE_HEAD))
        return (struct pr_flat_table){0};
    table.vtable = (uint32_t)vtable;
    table.vtable_bytes = pr_le16(flat->bytes + table.vtable);
    table.bytes = pr_le16(flat->bytes + table.vtable + 2);
    /* A table begins with the reference to its vtable, a vtable with two sizes. */
    if (table.vtable_bytes < VTABLE_HEAD || table.vtable_bytes % 2 || table.bytes < 4 ||
        !there(flat, table.vtable, table.vtable_bytes) || !there(flat, at, table.bytes)) {
        there(flat, UINT64_MAX, 0);
        return (struct pr_flat_table){0};
    }
    return table;
}

struct pr_flat_table pr_flat_begin(struct pr_flat *flat, const void *bytes, size_t size,
                                   const char identifier[4])
{
    *flat = (struct pr_flat){.bytes = bytes, .size = size > SIZE_MAX_BYTES ? 0 : (uint32_t)size};
    if (!there(flat, 0, ROOT_BYTES) ||
        memcmp(flat->bytes + IDENTIFIER_AT, identifier, IDENTIFIER_BYTES) != 0) {
        there(flat, UINT64_MAX, 0);
        return (struct pr_flat_table){0};
    }
    return table_at(flat, follow(flat, 0));
}

/* The place of a field of `bytes` bytes; 0 when the table does not have it. */
static uint32_t field(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot, uint32_t bytes)
{
    uint32_t entry = VTABLE_HEAD + 2 * slot, offset;

    if (flat->broken || !table->at || entry + 2 > table->vtable_bytes)
        return 0;
    offset = pr_le16(flat->bytes + table->vtable + entry);
    if (!offset)
        return 0;
    if (offset < 4 || offset + bytes > table->bytes)
        there(flat, UINT64_MAX, 0);
    return flat->broken ? 0 : table->at + offset;
}

uint8_t pr_flat_u8(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot, uint8_t fallback)
{
    uint32_t at = field(flat, table, slot, 1);

    return at ? flat->bytes[at] : fallback;
}

uint32_t pr_flat_u32(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot,
                     uint32_t fallback)
{
    uint32_t at = field(flat, table, slot, 4);

    return at ? pr_le32(flat->bytes + at) : fallback;
}

uint64_t pr_flat_u64(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot,
                     uint64_t fallback)
{
    uint32_t at = field(flat, table, slot, 8);

    return at ? pr_le64(flat->bytes + at) : fallback;
}

struct pr_flat_table pr_flat_sub(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot)
{
    uint32_t at = field(flat, table, slot, 4);

    return at ? table_at(flat, follow(flat, at)) : (struct pr_flat_table){0};
}

static struct pr_flat_vector vector_at(struct pr_flat *flat, uint32_t at, uint32_t element_bytes)
{
    struct pr_flat_vector vector = {.element = element_bytes};

    if (!at || !there(flat, at, 4))
        return (struct pr_flat_vector){0};
    vector.count = pr_le32(flat->bytes + at);
    vector.at = at + 4;
    if (!there(flat, vector.at, (uint64_t)vector.count * element_bytes))
        return (struct pr_flat_vector){0};
    return vector;
}

struct pr_flat_vector pr_flat_vector(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot,
                                     uint32_t element_bytes)
{
    uint32_t at = field(flat, table, slot, 4);

    return at ? vector_at(flat, follow(flat, at), element_bytes) : (struct pr_flat_vector){0};
}

static uint32_t element(struct pr_flat *flat, const struct pr_flat_vector *vector, uint32_t index,
                        uint32_t bytes)
{
    if (!flat->broken && index < vector->count && vector->element == bytes)
        return vector->at + index * bytes;
    there(flat, UINT64_MAX, 0);
    return 0;
}

struct pr_flat_table pr_flat_vector_table(struct pr_flat *flat, const struct pr_flat_vector *vector,
                                          uint32_t index)
{
    uint32_t at = element(flat, vector, index, 4);

    return at ? table_at(flat, follow(flat, at)) : (struct pr_flat_table){0};
}

struct pr_flat_vector pr_flat_vector_string(struct pr_flat *flat, const struct pr_flat_vector *vector,
                                            uint32_t index)
{
    uint32_t at = element(flat, vector, index, 4);
    struct pr_flat_vector string = {0};

    if (at)
        string = vector_at(flat, follow(flat, at), 1);
    /* A string has a NUL after its last character. */
    if (string.at &&
        (!there(flat, string.at, (uint64_t)string.count + 1) || flat->bytes[string.at + string.count]))
        there(flat, UINT64_MAX, 0);
    if (flat->broken)
        return (struct pr_flat_vector){0};
    return string;
}

uint32_t pr_flat_vector_u32(struct pr_flat *flat, const struct pr_flat_vector *vector, uint32_t index)
{
    uint32_t at = element(flat, vector, index, 4);

    return at ? pr_le32(flat->bytes + at) : 0;
}

uint64_t pr_flat_vector_u64(struct pr_flat *flat, const struct pr_flat_vector *vector, uint32_t index)
{
    uint32_t at = element(flat, vector, index, 8);

    return at ? pr_le64(flat->bytes + at) : 0;
}
