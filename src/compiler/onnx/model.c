/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding with protobuf-c. The decoder calls itself for a message in a message, so the depth is measured
 * before; and it takes memory as the file says, so its allocator has a budget. Each allocation has its size
 * before it, because the decoder does not give sizes back.
 *
 * The decoder would copy the bytes of every tensor. Those of the graph's tensors, which are nearly all of a
 * file, are left out of what it reads, and the decoded tensors lead to them in the file.
 */
#include "compiler/onnx/model.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "compiler/onnx/onnx.h"

struct span {
    const uint8_t *at, *end;
};

static bool take_varint(struct span *s, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        uint8_t byte = *s->at++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Passes over the value of a field; a message or bytes are returned in `inner`. */
static bool take_value(struct span *s, unsigned wire, struct span *inner)
{
    uint64_t number;
    size_t fixed = wire == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4;

    *inner = (struct span){0};
    switch (wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT: return take_varint(s, &number);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        if ((size_t)(s->end - s->at) < fixed)
            return false;
        s->at += fixed;
        return true;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        if (!take_varint(s, &number) || number > (uint64_t)(s->end - s->at))
            return false;
        *inner = (struct span){s->at, s->at + number};
        s->at += number;
        return true;
    default: return false;
    }
}

/* Whether every length fits, and no message is deeper than the limit. */
static int measure(const ProtobufCMessageDescriptor *kind, struct span s, unsigned depth,
                   struct base_error *error)
{
    const uint8_t *begin = s.at;
    int status = 0;

    if (depth == 0)
        return base_fail(error, EINVAL, "The file has messages in messages, more than %u deep.",
                         CC_ONNX_NESTING_MAX);
    while (s.at < s.end && !status) {
        const ProtobufCFieldDescriptor *field;
        struct span inner;
        uint64_t key;

        if (!take_varint(&s, &key) || !take_value(&s, key & 7, &inner))
            return base_fail(error, EINVAL,
                             "The file is damaged or not an ONNX model: %s ends within a field, after %zu of "
                             "its bytes.",
                             kind->short_name, (size_t)(s.at - begin));
        field = protobuf_c_message_descriptor_get_field(kind, (unsigned)(key >> 3));
        if (field && inner.at && field->type == PROTOBUF_C_TYPE_MESSAGE)
            status = measure(field->descriptor, inner, depth - 1, error);
    }
    return status;
}

#define BEFORE sizeof(max_align_t)

static void *take(void *data, size_t size)
{
    struct cc_onnx_model *model = data;
    uint8_t *memory;

    if (size > model->limit - model->used)
        return NULL;
    memory = base_alloc(size + BEFORE);
    if (!memory)
        return NULL;
    memcpy(memory, &size, sizeof(size));
    model->used += size;
    return memory + BEFORE;
}

static void give_back(void *data, void *memory)
{
    struct cc_onnx_model *model = data;
    size_t size;

    if (!memory)
        return;
    memcpy(&size, (uint8_t *)memory - BEFORE, sizeof(size));
    model->used -= size;
    base_free((uint8_t *)memory - BEFORE);
}

/* Whether a field is there; a member of a union may be another. */
static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const uint8_t *base = (const uint8_t *)message;
    uint32_t which;

    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return true;
    memcpy(&which, base + field->quantifier_offset, sizeof(which));
    return which == field->id;
}

static void make_printable(ProtobufCMessage *message);

static void make_member_printable(const ProtobufCFieldDescriptor *field, void *member)
{
    if (field->type == PROTOBUF_C_TYPE_STRING && member)
        base_printable_make(member, strlen(member));
    if (field->type == PROTOBUF_C_TYPE_MESSAGE && member)
        make_printable(member);
}

/* Names become parts of messages and reports. As deep as measure() allows. */
static void make_printable(ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        uint8_t *at = (uint8_t *)message + field->offset;
        size_t count = 1;
        void **member;

        if ((field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE) ||
            !is_set(message, field))
            continue;
        memcpy(&member, at, sizeof(member));
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            make_member_printable(field, member);
            continue;
        }
        memcpy(&count, (uint8_t *)message + field->quantifier_offset, sizeof(count));
        for (size_t k = 0; k < count; k++)
            make_member_printable(field, member[k]);
    }
}

/* Fields of messages in model.proto. */
enum { MODEL_GRAPH = 7, GRAPH_TENSOR = 5, TENSOR_BYTES = 9 };

/* The next field of a message that measure() has seen; `inner` is its value if that is a message or bytes. */
static bool next_field(struct span *s, uint64_t *number, struct span *inner)
{
    uint64_t key;

    if (s->at == s->end || !take_varint(s, &key) || !take_value(s, key & 7, inner))
        return false;
    *number = key >> 3;
    return true;
}

/* How often a message has a field; `last` is the last of them. */
static size_t count_fields(struct span message, uint64_t wanted, struct span *last)
{
    struct span inner;
    uint64_t number;
    size_t count = 0;

    while (next_field(&message, &number, &inner))
        if (number == wanted && inner.at) {
            *last = inner;
            count++;
        }
    return count;
}

/* Copies a message without a field of it; returns the bytes. `to` NULL only counts them. */
static size_t copy_without(struct span message, uint64_t unwanted, uint8_t *to)
{
    const uint8_t *begin = message.at;
    struct span inner;
    uint64_t number;
    size_t size = 0;

    for (; next_field(&message, &number, &inner); begin = message.at) {
        const size_t part = (size_t)(message.at - begin);

        if (number == unwanted && inner.at)
            continue;
        if (to)
            memcpy(to + size, begin, part);
        size += part;
    }
    return size;
}

static void *unpack_without(struct cc_onnx_model *model, const ProtobufCMessageDescriptor *kind,
                            struct span message, uint64_t unwanted)
{
    const size_t size = copy_without(message, unwanted, NULL);
    uint8_t *copy = base_alloc(size);
    void *made = NULL;

    if (copy) {
        copy_without(message, unwanted, copy);
        made = protobuf_c_message_unpack(kind, &model->allocator, size, copy);
    }
    base_free(copy);
    return made;
}

static CcTensor *unpack_tensor(struct cc_onnx_model *model, struct span message)
{
    CcTensor *tensor = unpack_without(model, &cc__onnx_tensor__descriptor, message, TENSOR_BYTES);
    struct span raw = {0};

    if (tensor && count_fields(message, TENSOR_BYTES, &raw) && raw.at < raw.end)
        tensor->raw_data = (ProtobufCBinaryData){(size_t)(raw.end - raw.at), (uint8_t *)(uintptr_t)raw.at};
    return tensor;
}

static bool unpack_tensors(struct cc_onnx_model *model, CcGraph *graph, struct span message)
{
    struct span inner = {0};
    const size_t count = count_fields(message, GRAPH_TENSOR, &inner);
    uint64_t number;

    if (!count)
        return true;
    graph->initializer = take(model, count * sizeof(CcTensor *));
    while (graph->initializer && next_field(&message, &number, &inner)) {
        if (number != GRAPH_TENSOR || !inner.at)
            continue;
        graph->initializer[graph->n_initializer] = unpack_tensor(model, inner);
        if (!graph->initializer[graph->n_initializer])
            return false;
        graph->n_initializer++;
    }
    return graph->initializer != NULL;
}

/* False: it could not be decoded; what was is in the model. */
static bool unpack(struct cc_onnx_model *model, struct span all)
{
    struct span graph = {0};

    if (count_fields(all, MODEL_GRAPH, &graph) != 1) { /* several are merged */
        model->file = cc__onnx_model__unpack(&model->allocator, (size_t)(all.end - all.at), all.at);
        return model->file != NULL;
    }
    model->file = unpack_without(model, &cc__onnx_model__descriptor, all, MODEL_GRAPH);
    if (!model->file)
        return false;
    model->file->graph = unpack_without(model, &cc__onnx_graph__descriptor, graph, GRAPH_TENSOR);
    return model->file->graph && unpack_tensors(model, model->file->graph, graph);
}

int cc_onnx_open(const void *bytes, size_t size, struct cc_onnx_model **opened, struct base_error *error)
{
    struct span all = {bytes, (const uint8_t *)bytes + size};
    struct cc_onnx_model *model;
    int status = measure(&cc__onnx_model__descriptor, all, CC_ONNX_NESTING_MAX, error);

    *opened = NULL;
    if (status)
        return status;
    model = base_alloc(sizeof(*model));
    if (!model)
        return base_fail(error, ENOMEM, "There is no memory to read an ONNX model.");
    model->allocator = (ProtobufCAllocator){take, give_back, model};
    model->limit = (uint64_t)size * CC_ONNX_MEMORY_FACTOR + CC_ONNX_MEMORY_CONSTANT;
    model->bytes = bytes;
    model->size = size;
    if (!unpack(model, all)) {
        cc_onnx_close(model);
        return base_fail(error, EINVAL,
                         "The file is damaged, not an ONNX model, or needs more memory than the limit of %u "
                         "times its size and %u MB.",
                         CC_ONNX_MEMORY_FACTOR, CC_ONNX_MEMORY_CONSTANT >> 20);
    }
    make_printable(&model->file->base);
    *opened = model;
    return 0;
}

void cc_onnx_give(struct cc_onnx_model *model, uint8_t *bytes)
{
    model->owned = bytes;
}

static bool is_in_file(const struct cc_onnx_model *model, const uint8_t *data)
{
    return data && data >= model->bytes && data < model->bytes + model->size;
}

void cc_onnx_model_drop(struct cc_onnx_model *model, ProtobufCBinaryData *data)
{
    if (!is_in_file(model, data->data))
        give_back(model, data->data);
    else if (model->owned)
        base_discard(data->data, data->len);
    *data = (ProtobufCBinaryData){0};
}

void cc_onnx_close(struct cc_onnx_model *model)
{
    const CcGraph *graph = model && model->file ? model->file->graph : NULL;

    if (!model)
        return;
    for (size_t i = 0; graph && i < graph->n_initializer; i++)
        if (is_in_file(model, graph->initializer[i]->raw_data.data))
            graph->initializer[i]->raw_data = (ProtobufCBinaryData){0};
    if (model->file)
        cc__onnx_model__free_unpacked(model->file, &model->allocator);
    base_free(model->owned);
    base_free(model);
}
