/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FlatBuffers, from the end to the start. A reference is a distance from the end of the buffer, so it stays
 * valid when the buffer grows at its front. Alignment counts from the end too, and cc_flat_end rounds the
 * whole to the largest one. After a failure `failed` stays set and nothing is written.
 */
#include "compiler/store/flatbuild.h"

#include <string.h>

#include "base/alloc.h"
#include "protocol/bits.h"

enum { FIRST_CAPACITY = 4096, ALIGN_MAX = 8, REF_BYTES = 4, IDENTIFIER_BYTES = 4, VTABLE_HEAD = 4 };
#define BYTES_MAX 0x7fffffffu

static bool reserve(struct cc_flat *f, size_t bytes)
{
    size_t wanted = f->capacity ? f->capacity : FIRST_CAPACITY;
    uint8_t *larger;

    if (f->failed)
        return false;
    if (bytes <= f->capacity - f->size)
        return true;
    while (wanted - f->size < bytes)
        wanted *= 2;
    larger = wanted > BYTES_MAX ? NULL : base_alloc(wanted);
    if (!larger) {
        f->failed = true;
        return false;
    }
    if (f->size)
        memcpy(larger + wanted - f->size, f->bytes + f->capacity - f->size, f->size);
    base_free(f->bytes);
    f->bytes = larger;
    f->capacity = wanted;
    return true;
}

static void push(struct cc_flat *f, const void *bytes, size_t count)
{
    if (!count || !reserve(f, count))
        return;
    f->size += count;
    memcpy(f->bytes + f->capacity - f->size, bytes, count);
}

/* Zeros until `bytes` more bytes will end on the boundary. */
static void align(struct cc_flat *f, size_t bytes, size_t boundary)
{
    static const uint8_t zeros[ALIGN_MAX];

    push(f, zeros, (boundary - (f->size + bytes) % boundary) % boundary);
}

static void push_int(struct cc_flat *f, uint64_t value, unsigned bytes)
{
    uint8_t little[8];

    pr_put_le64(little, value);
    push(f, little, bytes);
}

/* An offset is relative to its own place, which is where the next four bytes go. */
static void push_ref(struct cc_flat *f, uint32_t ref)
{
    push_int(f, f->size + REF_BYTES - ref, REF_BYTES);
}

static uint32_t vector_end(struct cc_flat *f, uint32_t count)
{
    push_int(f, count, 4);
    return (uint32_t)f->size;
}

uint32_t cc_flat_string(struct cc_flat *f, const char *string)
{
    size_t length = strlen(string);

    align(f, length + 1, 4);
    push(f, string, length + 1);
    return vector_end(f, (uint32_t)length);
}

uint32_t cc_flat_bytes(struct cc_flat *f, const void *bytes, uint32_t count)
{
    align(f, count, 4);
    push(f, bytes, count);
    return vector_end(f, count);
}

uint32_t cc_flat_u32s(struct cc_flat *f, const uint32_t *values, uint32_t count)
{
    align(f, 0, 4);
    for (uint32_t i = count; i-- > 0;)
        push_int(f, values[i], 4);
    return vector_end(f, count);
}

uint32_t cc_flat_u64s(struct cc_flat *f, const uint64_t *values, uint32_t count)
{
    align(f, 0, 8); /* the elements, not the count before them */
    for (uint32_t i = count; i-- > 0;)
        push_int(f, values[i], 8);
    return vector_end(f, count);
}

uint32_t cc_flat_refs(struct cc_flat *f, const uint32_t *refs, uint32_t count)
{
    align(f, 0, 4);
    for (uint32_t i = count; i-- > 0;)
        push_ref(f, refs[i]);
    return vector_end(f, count);
}

void cc_flat_put(struct cc_flat_fields *fields, unsigned slot, unsigned bytes, uint64_t value)
{
    fields->slot[slot].bytes = (uint8_t)bytes;
    fields->slot[slot].value = value;
    fields->slot[slot].reference = false;
}

void cc_flat_put_ref(struct cc_flat_fields *fields, unsigned slot, uint32_t ref)
{
    cc_flat_put(fields, slot, ref ? REF_BYTES : 0, ref);
    fields->slot[slot].reference = true;
}

uint32_t cc_flat_table(struct cc_flat *f, const struct cc_flat_fields *fields, unsigned slots)
{
    uint32_t at[CC_FLAT_SLOTS_MAX] = {0}; /* distance of each field's first byte from the end */
    size_t end = f->size, table;

    /* Wide fields first: then none needs padding but the first. */
    for (unsigned bytes = ALIGN_MAX; bytes; bytes /= 2)
        for (unsigned i = 0; i < slots; i++) {
            if (fields->slot[i].bytes != bytes)
                continue;
            align(f, bytes, bytes);
            if (fields->slot[i].reference)
                push_ref(f, (uint32_t)fields->slot[i].value);
            else
                push_int(f, fields->slot[i].value, bytes);
            at[i] = (uint32_t)f->size;
        }
    align(f, 4, 4);
    table = f->size + 4;
    /* The reference to the vtable, which is directly before the table. */
    push_int(f, VTABLE_HEAD + 2 * slots, 4);
    for (unsigned i = slots; i-- > 0;)
        push_int(f, at[i] ? table - at[i] : 0, 2);
    push_int(f, table - end, 2);
    push_int(f, VTABLE_HEAD + 2 * slots, 2);
    return (uint32_t)table;
}

uint8_t *cc_flat_end(struct cc_flat *f, uint32_t root, const char identifier[4], size_t *size)
{
    uint8_t *bytes;

    align(f, IDENTIFIER_BYTES + REF_BYTES, ALIGN_MAX);
    push(f, identifier, IDENTIFIER_BYTES);
    push_ref(f, root);
    bytes = f->failed ? NULL : base_alloc(f->size);
    *size = bytes ? f->size : 0;
    if (bytes)
        memcpy(bytes, f->bytes + f->capacity - f->size, f->size);
    base_free(f->bytes);
    *f = (struct cc_flat){.failed = f->failed};
    return bytes;
}
