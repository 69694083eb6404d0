/* SPDX-License-Identifier: Apache-2.0 */
/* Field numbers are those of the public ONNX specification (onnx.proto3). */
#include "onnxfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "support.h"

struct bytes {
    const uint8_t *at, *end;
};

/* One field: its number, and a number or bytes. False at the end, and when the bytes are no message. */
struct field {
    unsigned number, form;
    uint64_t value;
    struct bytes body;
};

enum { ELEMENTS_MAX = 1 << 24 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static bool varint(struct bytes *b, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        uint8_t byte = *b->at++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take(struct bytes *b, size_t size, struct bytes *body)
{
    if ((size_t)(b->end - b->at) < size)
        return false;
    *body = (struct bytes){b->at, b->at + size};
    b->at += size;
    return true;
}

static bool next(struct bytes *b, struct field *f)
{
    uint64_t key, size;

    if (b->at == b->end || !varint(b, &key))
        return false;
    f->number = (unsigned)(key >> 3);
    f->form = key & 7;
    switch (f->form) {
    case VARINT: return varint(b, &f->value);
    case FIXED64: return take(b, 8, &f->body);
    case FIXED32: return take(b, 4, &f->body);
    case BYTES: return varint(b, &size) && take(b, size, &f->body);
    default: return false;
    }
}

static bool read_whole(const char *path, uint8_t **bytes, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long length;

    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    length = ftell(file);
    rewind(file);
    *size = (size_t)length;
    *bytes = malloc(*size + 1);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, *size, file), *size);
    fclose(file);
    return true;
}

bool of_type_is_float(enum of_type type)
{
    return type == OF_FLOAT || type == OF_FLOAT16 || type == OF_DOUBLE || type == OF_BFLOAT16;
}

static size_t type_bytes(enum of_type type)
{
    switch (type) {
    case OF_UINT8:
    case OF_INT8:
    case OF_BOOL: return 1;
    case OF_UINT16:
    case OF_INT16:
    case OF_FLOAT16:
    case OF_BFLOAT16: return 2;
    case OF_FLOAT:
    case OF_INT32:
    case OF_UINT32: return 4;
    case OF_INT64:
    case OF_DOUBLE:
    case OF_UINT64: return 8;
    case OF_STRING: break;
    }
    return 0;
}

/* One element of raw data, or a value of a typed field, whose bits are widened. */
static double number(enum of_type type, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    double wide;
    float single;

    switch (type) {
    case OF_INT8: return (int8_t)bits;
    case OF_INT16: return (int16_t)bits;
    case OF_INT32: return (int32_t)bits;
    case OF_INT64: return (double)(int64_t)bits;
    case OF_FLOAT16: return test_half_to_double((uint16_t)bits);
    case OF_BFLOAT16:
        low <<= 16;
        memcpy(&single, &low, 4);
        return (double)single;
    case OF_FLOAT: memcpy(&single, &low, 4); return (double)single;
    case OF_DOUBLE: memcpy(&wide, &bits, 8); return wide;
    default: return (double)bits;
    }
}

static uint64_t little(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* Appends the elements of one field: packed ones, or one by one. */
static bool append(struct of_tensor *t, size_t *count, const struct field *f)
{
    struct bytes b = f->body;
    size_t step = f->number == 4 ? 4 : f->number == 10 ? 8 : f->number == 9 ? type_bytes(t->type) : 0;
    uint64_t bits = f->value;

    if (f->form == VARINT)
        return *count < t->elements && (t->x[(*count)++] = number(t->type, bits), true);
    while (b.at < b.end) {
        if (step) {
            if ((size_t)(b.end - b.at) < step)
                return false;
            bits = little(b.at, step);
            b.at += step;
        } else if (!varint(&b, &bits)) {
            return false;
        }
        if (*count == t->elements)
            return false;
        t->x[(*count)++] = number(t->type, bits);
    }
    return true;
}

static bool tensor_head(struct bytes b, struct of_tensor *t)
{
    struct field f;

    *t = (struct of_tensor){.elements = 1};
    while (next(&b, &f)) {
        struct bytes dims = f.body;
        uint64_t dim = f.value;

        if (f.number == 2 && f.form == VARINT)
            t->type = (enum of_type)f.value;
        if (f.number != 1)
            continue;
        if (f.form == VARINT)
            dims = (struct bytes){NULL, NULL};
        while (f.form == VARINT || (dims.at < dims.end && varint(&dims, &dim))) {
            if (t->rank == OF_AXES_MAX)
                return false;
            t->dim[t->rank++] = (uint32_t)dim;
            t->elements *= dim <= ELEMENTS_MAX ? dim : ELEMENTS_MAX + 1;
            if (t->elements > ELEMENTS_MAX)
                return false;
            if (f.form == VARINT)
                break;
        }
    }
    return type_bytes(t->type) != 0 && t->elements <= ELEMENTS_MAX;
}

bool of_tensor_read(const char *path, struct of_tensor *tensor)
{
    size_t size, count = 0;
    uint8_t *bytes;
    struct bytes b;
    struct field f;
    bool good;

    if (!read_whole(path, &bytes, &size))
        return false;
    b = (struct bytes){bytes, bytes + size};
    good = tensor_head(b, tensor);
    /* a file of another kind may look like a tensor of any size */
    good = good && tensor->elements <= size * 8;
    tensor->x = good ? calloc(tensor->elements + 1, sizeof(double)) : NULL;
    good = good && tensor->x;
    while (good && next(&b, &f))
        if (f.number == 4 || f.number == 5 || f.number == 7 || (f.number >= 9 && f.number <= 11))
            good = append(tensor, &count, &f);
    good = good && count == tensor->elements;
    free(bytes);
    if (!good) {
        free(tensor->x);
        tensor->x = NULL;
    }
    return good;
}

static void copy_name(char to[OF_NAME_BYTES], struct bytes body)
{
    snprintf(to, OF_NAME_BYTES, "%.*s", (int)(body.end - body.at), (const char *)body.at);
}

/* The first bytes field of that number in a message. */
static bool find(struct bytes message, unsigned number_wanted, struct bytes *body)
{
    struct field f;

    while (next(&message, &f))
        if (f.number == number_wanted && f.form == BYTES) {
            *body = f.body;
            return true;
        }
    return false;
}

bool of_model_read(const char *path, struct of_model *model)
{
    struct bytes graph, body;
    struct field f;

    *model = (struct of_model){0};
    if (!read_whole(path, &model->bytes, &model->size))
        return false;
    if (!find((struct bytes){model->bytes, model->bytes + model->size}, 7, &graph))
        return false;
    while (next(&graph, &f)) {
        bool input = f.number == 11, output = f.number == 12, node = f.number == 1;
        uint32_t *count = input ? &model->inputs : output ? &model->outputs : &model->nodes;

        if (f.form != BYTES || !(input || output || node) || *count == OF_NAMES_MAX)
            continue;
        if (find(f.body, node ? 4 : 1, &body))
            copy_name(input    ? model->input[*count]
                      : output ? model->output[*count]
                               : model->kind[*count],
                      body);
        ++*count;
    }
    return true;
}
