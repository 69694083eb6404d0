/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of records. A value is placed once, at its root: at a port, in the constants or in an intermediate
 * buffer; every later record refers to that place. Constants are stored once per content. Strides are always
 * those of cc_layout_of, so two values with one root must have the same rows, or rows without padding.
 */
#include "compiler/lower/operand.h"

#include <string.h>

#include "base/alloc.h"
#include "base/tree.h"

enum { BLOB_SLOTS_MIN = 64 }; /* of the hash table; a power of two */
_Static_assert(CC_HASH_BYTES == BASE_HASH_BYTES, "a blob is named by its SHA-256");

int cc_layout_of(const struct cc_lowering *l, uint32_t value, struct cc_layout *layout)
{
    const struct cc_value *v = cc_value_of(l, value);
    uint32_t extent[CC_AXES] = {1, 1, 1, 1};
    uint64_t bytes;

    *layout = (struct cc_layout){0};
    for (uint32_t i = 0; i < v->rank; i++)
        extent[i + CC_AXES < v->rank ? 0 : i + CC_AXES - v->rank] *= v->dim[i];
    layout->n = extent[0];
    layout->c = extent[1];
    layout->h = extent[2];
    layout->w = extent[3];
    bytes = pr_round_up((uint64_t)layout->w * CC_ELEMENT, PR_ROW_ALIGN);
    for (int i = 3; i >= 0 && bytes <= PR_E5_BYTES_MAX; i--) {
        if (i == 3)
            layout->row = (uint32_t)bytes;
        else
            bytes *= extent[i];
        if (i == 2)
            layout->plane = (uint32_t)bytes;
        if (i == 1)
            layout->batch = (uint32_t)bytes;
    }
    if (bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "`%.64s` has more than %u bytes with its rows on 64-byte boundaries", v->name,
                         PR_E5_BYTES_MAX);
    layout->bytes = (uint32_t)bytes;
    return 0;
}

static void take_strides(struct pr_e5_operand *operand, const struct cc_layout *layout)
{
    operand->row = layout->row;
    operand->plane = layout->plane;
    operand->depth = layout->batch;
    operand->group = layout->batch;
}

/*
 * The slot of the hash table that has this blob, or the free one where it goes. SHA-256 is uniform, so its
 * first bytes are the place; the table is never more than half full.
 */
static uint32_t *find_slot(const struct cc_lowering *l, const struct cc_blob *blob)
{
    uint32_t at;

    memcpy(&at, blob->hash, sizeof(at));
    for (at &= l->blob_slots - 1; l->blob_slot[at]; at = (at + 1) & (l->blob_slots - 1)) {
        const struct cc_blob *other = &l->program->blob[l->blob_slot[at] - 1];

        if (other->bytes == blob->bytes && !memcmp(other->hash, blob->hash, CC_HASH_BYTES))
            break;
    }
    return &l->blob_slot[at];
}

/* Makes room for one more blob in the hash table. */
static int grow_slots(struct cc_lowering *l)
{
    uint32_t slots = l->blob_slots ? 2 * l->blob_slots : BLOB_SLOTS_MIN;
    uint32_t *table;

    if (2 * (l->program->blobs + 1) < l->blob_slots)
        return 0;
    table = base_alloc_array(slots, sizeof(*table));
    if (!table)
        return cc_no_memory(l);
    base_free(l->blob_slot);
    l->blob_slot = table;
    l->blob_slots = slots;
    for (uint32_t i = 0; i < l->program->blobs; i++)
        *find_slot(l, &l->program->blob[i]) = i + 1;
    return 0;
}

/* Appends a blob that is not there yet, and enters it into the table's free slot. */
static int add_blob(struct cc_lowering *l, const struct cc_blob *blob, const void *bytes, uint32_t *slot)
{
    struct cc_program *p = l->program;
    void *array = p->constant;
    int status;

    if ((uint64_t)p->constant_bytes + blob->bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "the program's constants are more than %u bytes", PR_E5_BYTES_MAX);
    status = cc_grow(l, &array, &p->constant_capacity, p->constant_bytes, blob->bytes, 1);
    p->constant = array;
    if (status)
        return status;
    array = p->blob;
    status = cc_grow(l, &array, &p->blob_capacity, p->blobs, 1, sizeof(*p->blob));
    p->blob = array;
    if (status)
        return status;
    memcpy(p->constant + p->constant_bytes, bytes, blob->bytes);
    p->constant_bytes += blob->bytes;
    p->blob[p->blobs++] = *blob;
    *slot = p->blobs;
    return 0;
}

int cc_constant(struct cc_lowering *l, const void *bytes, uint32_t size, uint32_t *offset)
{
    struct cc_blob blob = {.offset = l->program->constant_bytes, .bytes = size};
    uint32_t *slot;
    int status = grow_slots(l);

    if (status)
        return status;
    base_tree_of(bytes, size, blob.hash);
    slot = find_slot(l, &blob);
    if (!*slot)
        status = add_blob(l, &blob, bytes, slot);
    if (!status)
        *offset = l->program->blob[*slot - 1].offset;
    return status;
}

/* A constant tensor with its rows on 64-byte boundaries. */
static int place_constant(struct cc_lowering *l, struct cc_tensor *tensor, const struct cc_layout *layout)
{
    uint8_t *bytes = base_alloc(layout->bytes);
    uint32_t rows = layout->bytes / layout->row, offset = 0;
    int status;

    if (!bytes)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(bytes + (size_t)i * layout->row, tensor->data + (size_t)i * layout->w,
               (size_t)layout->w * CC_ELEMENT);
    status = cc_constant(l, bytes, layout->bytes, &offset);
    base_free(bytes);
    tensor->at = (struct pr_e5_operand){.place = PR_E5_CONSTANT, .offset = offset};
    tensor->placed = !status;
    return status;
}

int cc_source(struct cc_lowering *l, uint32_t value, struct pr_e5_operand *operand, struct cc_layout *layout)
{
    struct cc_tensor *tensor = &l->tensor[cc_root(l, value)];
    int status = cc_layout_of(l, value, layout);

    if (!status && !tensor->placed && tensor->data)
        status = place_constant(l, tensor, layout);
    if (status)
        return status;
    *operand = tensor->at;
    take_strides(operand, layout);
    return 0;
}

int cc_scratch(struct cc_lowering *l, uint64_t bytes, uint32_t *buffer)
{
    void *array = l->buffer;
    int status;

    if (bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "an intermediate tensor has more than %u bytes", PR_E5_BYTES_MAX);
    status = cc_grow(l, &array, &l->buffer_capacity, l->buffers, 1, sizeof(*l->buffer));
    l->buffer = array;
    if (status)
        return status;
    l->buffer[l->buffers] = (struct cc_buffer){.bytes = (uint32_t)pr_round_up(bytes, PR_ROW_ALIGN)};
    *buffer = l->buffers++;
    return 0;
}

int cc_result(struct cc_lowering *l, uint32_t value, struct pr_e5_operand *operand, struct cc_layout *layout)
{
    struct cc_tensor *tensor = &l->tensor[cc_root(l, value)];
    int status = cc_layout_of(l, value, layout);

    if (!status && !tensor->placed) {
        tensor->at = (struct pr_e5_operand){.place = PR_E5_INTERMEDIATE};
        status = cc_scratch(l, layout->bytes, &tensor->at.index);
        tensor->placed = !status;
    }
    *operand = tensor->at;
    take_strides(operand, layout);
    return status;
}

struct pr_e5_operand cc_output_port(uint32_t port, const struct cc_layout *layout)
{
    struct pr_e5_operand operand = {.place = PR_E5_PORT, .index = port};

    take_strides(&operand, layout);
    return operand;
}
