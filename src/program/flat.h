/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small FlatBuffer reader for unchecked bytes. Every access is bounds-checked; the first that
 * would leave the bytes sets `broken`, and from then on everything reads as absent. So a reader asks for what
 * it wants and looks at `broken` once in a while. All positions are offsets from the start of the bytes; 0
 * means "none".
 */
#ifndef PROGRAM_FLAT_H
#define PROGRAM_FLAT_H

#include "protocol/bits.h"

struct pr_flat {
    const uint8_t *bytes;
    uint32_t size;
    bool broken;
    uint32_t where; /* position of the first access that was refused */
};

struct pr_flat_table {
    uint32_t at;                   /* 0: absent */
    uint32_t vtable, vtable_bytes; /* its table of field offsets */
    uint32_t bytes;                /* of the table itself */
};

struct pr_flat_vector {
    uint32_t at; /* of the first element; 0: absent */
    uint32_t count;
    uint32_t element; /* bytes of each */
};

/* The root table of a buffer that carries this file identifier. An absent table when it does not. */
struct pr_flat_table pr_flat_begin(struct pr_flat *flat, const void *bytes, size_t size,
                                   const char identifier[4]);

/*
 * A scalar field by its slot (0 is the first field of the schema's table), or `fallback` when it is absent.
 */
uint8_t pr_flat_u8(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot, uint8_t fallback);
uint32_t pr_flat_u32(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot,
                     uint32_t fallback);
uint64_t pr_flat_u64(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot,
                     uint64_t fallback);
struct pr_flat_table pr_flat_sub(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot);
/* All `count` elements lie inside the bytes. */
struct pr_flat_vector pr_flat_vector(struct pr_flat *flat, const struct pr_flat_table *table, unsigned slot,
                                     uint32_t element_bytes);
/* Elements of a vector of offsets (element_bytes 4). An index past the end breaks the buffer. */
struct pr_flat_table pr_flat_vector_table(struct pr_flat *flat, const struct pr_flat_vector *vector,
                                          uint32_t index);
struct pr_flat_vector pr_flat_vector_string(struct pr_flat *flat, const struct pr_flat_vector *vector,
                                            uint32_t index);
uint32_t pr_flat_vector_u32(struct pr_flat *flat, const struct pr_flat_vector *vector, uint32_t index);
uint64_t pr_flat_vector_u64(struct pr_flat *flat, const struct pr_flat_vector *vector, uint32_t index);

#endif
