/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "protocol/bits.h"
#include "protocol/half.h"

#define MAGIC        "\x93NUMPY"
#define MAGIC_BYTES  6u
#define HEADER_LIMIT 65536u /* numpy's own limit for what it trusts is 10000 */
#define HEADER_ALIGN 64u
#define WORD_BYTES   64u

static const struct {
    const char *name, *descr;
    size_t bytes;
} types[] = {
    [TOOL_FP16] = {"fp16", "<f2", 2}, [TOOL_FP32] = {"fp32", "<f4", 4},   [TOOL_UINT8] = {"uint8", "|u1", 1},
    [TOOL_INT8] = {"int8", "|i1", 1}, [TOOL_INT32] = {"int32", "<i4", 4}, [TOOL_INT64] = {"int64", "<i8", 8},
};
#define TYPES       BASE_COUNT_OF(types)
#define TYPES_TAKEN "fp16 (<f2), fp32 (<f4), uint8 (|u1), int8 (|i1), int32 (<i4), int64 (<i8) or bool (|b1)"

size_t tool_type_bytes(enum tool_type type)
{
    return types[type].bytes;
}

const char *tool_type_name(enum tool_type type)
{
    return types[type].name;
}

/* The header: a Python dictionary, in text. */
struct text {
    const char *at, *end;
    struct base_error *error;
};

static void skip_space(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r'))
        t->at++;
}

static bool take_char(struct text *t, char c)
{
    skip_space(t);
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static int malformed(struct text *t, const char *wanted)
{
    skip_space(t);
    if (t->at == t->end)
        return base_fail(t->error, EINVAL, "the header ends where %s should be.", wanted);
    return base_fail(t->error, EINVAL, "the header has 0x%02x where %s should be.", (unsigned char)*t->at,
                     wanted);
}

static int take_string(struct text *t, char word[WORD_BYTES])
{
    size_t length = 0;
    char quote;

    skip_space(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"'))
        return malformed(t, "a quoted word");
    quote = *t->at++;
    while (t->at < t->end && *t->at != quote) {
        if (length + 1 == WORD_BYTES || *t->at < 0x20 || *t->at == 0x7f || *t->at == '\\')
            return malformed(t, "a short, plain word");
        word[length++] = *t->at++;
    }
    word[length] = '\0';
    return take_char(t, quote) ? 0 : malformed(t, "a closing quote");
}

static int take_descr(struct text *t, struct tool_npy *npy)
{
    char word[WORD_BYTES] = "";
    int result;

    skip_space(t);
    if (t->at < t->end && *t->at == '[')
        return base_fail(t->error, ENOTSUP,
                         "it holds records; a tensor of one type is needed: " TYPES_TAKEN ".");
    result = take_string(t, word);
    if (result)
        return result;
    for (unsigned i = 0; i < TYPES; i++)
        if (!strcmp(word, types[i].descr)) {
            npy->type = (enum tool_type)i;
            return 0;
        }
    if (strcmp(word, "|b1") != 0)
        return base_fail(t->error, ENOTSUP, "its type is %s%s; " TYPES_TAKEN " are taken.", word,
                         word[0] == '>' ? ", big-endian" : "");
    npy->type = TOOL_UINT8; /* a byte each, 0 or 1 */
    return 0;
}

static int take_order(struct text *t)
{
    skip_space(t);
    if (t->end - t->at >= 5 && !memcmp(t->at, "False", 5)) {
        t->at += 5;
        return 0;
    }
    if (t->end - t->at >= 4 && !memcmp(t->at, "True", 4))
        return base_fail(t->error, ENOTSUP,
                         "it is in Fortran order; C order is needed (numpy.ascontiguousarray).");
    return malformed(t, "True or False");
}

static int take_number(struct text *t, uint64_t *number)
{
    const char *start;

    skip_space(t);
    start = t->at;
    *number = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (__builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*t->at - '0'), number))
            return base_fail(t->error, EOVERFLOW, "a dimension is larger than any memory.");
    return t->at == start ? malformed(t, "a dimension") : 0;
}

static int take_shape(struct text *t, struct tool_shape *shape)
{
    *shape = (struct tool_shape){0};
    if (!take_char(t, '('))
        return malformed(t, "the opening of the shape");
    while (!take_char(t, ')')) {
        int result;

        if (shape->rank == TOOL_NPY_RANK_MAX)
            return base_fail(t->error, ENOTSUP, "it has more than %u dimensions.", TOOL_NPY_RANK_MAX);
        result = take_number(t, &shape->dim[shape->rank]);
        if (result)
            return result;
        shape->rank++;
        if (take_char(t, ','))
            continue;
        if (!take_char(t, ')'))
            return malformed(t, "a comma or the end of the shape");
        /* In Python (3) is a number; numpy writes (3,). */
        if (shape->rank == 1)
            return base_fail(t->error, EINVAL, "the header's shape is a number, not a tuple.");
        break;
    }
    return 0;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static int take_entry(struct text *t, struct tool_npy *npy, unsigned *has)
{
    char key[WORD_BYTES];
    unsigned what;
    int result = take_string(t, key);

    if (result)
        return result;
    what = !strcmp(key, "descr")           ? HAS_DESCR
           : !strcmp(key, "fortran_order") ? HAS_ORDER
           : !strcmp(key, "shape")         ? HAS_SHAPE
                                           : 0;
    if (!what)
        return base_fail(t->error, EINVAL, "the header has the key %s, which no .npy file has.", key);
    if (*has & what)
        return base_fail(t->error, EINVAL, "the header has the key %s twice.", key);
    *has |= what;
    if (!take_char(t, ':'))
        return malformed(t, "a colon");
    return what == HAS_DESCR   ? take_descr(t, npy)
           : what == HAS_ORDER ? take_order(t)
                               : take_shape(t, &npy->shape);
}

static int read_header(struct text *t, struct tool_npy *npy)
{
    unsigned has = 0;

    if (!take_char(t, '{'))
        return malformed(t, "an opening brace");
    while (!take_char(t, '}')) {
        int result = take_entry(t, npy, &has);

        if (result)
            return result;
        if (take_char(t, ','))
            continue;
        if (!take_char(t, '}'))
            return malformed(t, "a comma or the closing brace");
        break;
    }
    skip_space(t);
    if (t->at != t->end)
        return malformed(t, "the end of the header");
    if (has != HAS_ALL)
        return base_fail(t->error, EINVAL, "the header lacks %s.",
                         !(has & HAS_DESCR)   ? "descr"
                         : !(has & HAS_ORDER) ? "fortran_order"
                                              : "shape");
    return 0;
}

static int fail_reading(struct base_error *error)
{
    int code = errno ? errno : EIO;

    if (code == EISDIR)
        return base_fail(error, code, "it is a folder; a file is needed here.");
    return base_fail(error, code, "reading failed: %s.", strerror(code));
}

/* 0 and how many bytes there were, up to `size`. */
static int take_bytes(FILE *file, void *bytes, size_t size, size_t *got, struct base_error *error)
{
    *got = fread(bytes, 1, size, file);
    return *got < size && ferror(file) ? fail_reading(error) : 0;
}

/* How long the header's text is: two bytes say so in version 1, four in 2 and 3. */
static int take_length(FILE *file, size_t *length, struct base_error *error)
{
    uint8_t head[MAGIC_BYTES + 2], little[4] = {0};
    size_t got, wide;
    int result = take_bytes(file, head, sizeof(head), &got, error);

    if (result)
        return result;
    if (got < sizeof(head) || memcmp(head, MAGIC, MAGIC_BYTES) != 0)
        return base_fail(error, EINVAL, "it is not a .npy file: it does not begin with \\x93NUMPY.");
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return base_fail(error, ENOTSUP, "it is a .npy file of version %u.%u; 1.0, 2.0 and 3.0 are known.",
                         head[6], head[7]);
    wide = head[6] == 1 ? 2 : 4;
    result = take_bytes(file, little, wide, &got, error);
    if (result)
        return result;
    if (got < wide)
        return base_fail(error, EINVAL, "it ends inside its header.");
    *length = pr_le32(little);
    if (*length > HEADER_LIMIT)
        return base_fail(error, EINVAL, "its header claims %zu bytes; %u is the limit.", *length,
                         HEADER_LIMIT);
    return 0;
}

static int read_text(FILE *file, char *text, size_t length, struct tool_npy *npy, struct base_error *error)
{
    struct text t = {.at = text, .end = text + length, .error = error};
    size_t got;
    int result = take_bytes(file, text, length, &got, error);

    if (!result && got < length)
        result = base_fail(error, EINVAL, "it ends inside its header.");
    return result ? result : read_header(&t, npy);
}

int tool_npy_read_header(FILE *file, struct tool_npy *npy, struct base_error *error)
{
    size_t length = 0;
    char *text;
    int result = take_length(file, &length, error);

    *npy = (struct tool_npy){0};
    if (result)
        return result;
    text = base_alloc(length);
    if (!text)
        return base_fail(error, ENOMEM, "there is no memory to read it.");
    result = read_text(file, text, length, npy, error);
    base_free(text);
    if (result)
        return result;
    npy->elements = 1;
    for (unsigned i = 0; i < npy->shape.rank; i++)
        if (__builtin_mul_overflow(npy->elements, npy->shape.dim[i], &npy->elements))
            return base_fail(error, EOVERFLOW, "its shape has more elements than any memory holds.");
    if (__builtin_mul_overflow(npy->elements, (uint64_t)tool_type_bytes(npy->type), &npy->bytes))
        return base_fail(error, EOVERFLOW, "its shape has more elements than any memory holds.");
    return 0;
}

int tool_npy_read_data(FILE *file, const struct tool_npy *npy, void *data, struct base_error *error)
{
    size_t got;
    int result = take_bytes(file, data, npy->bytes, &got, error);

    if (result)
        return result;
    if (got < npy->bytes)
        return base_fail(error, EINVAL,
                         "its data ends after %zu of the %" PRIu64 " bytes that %" PRIu64
                         " elements of %s need.",
                         got, npy->bytes, npy->elements, tool_type_name(npy->type));
    if (getc(file) != EOF)
        return base_fail(error, EINVAL,
                         "its data has more than the %" PRIu64 " bytes that %" PRIu64 " elements of %s need.",
                         npy->bytes, npy->elements, tool_type_name(npy->type));
    return ferror(file) ? fail_reading(error) : 0;
}

size_t tool_npy_header(enum tool_type type, const struct tool_shape *shape,
                       char header[TOOL_NPY_HEADER_BYTES])
{
    size_t length = MAGIC_BYTES + 4, end;

    memset(header, ' ', TOOL_NPY_HEADER_BYTES);
    memcpy(header, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    length += (size_t)snprintf(header + length, TOOL_NPY_HEADER_BYTES - length,
                               "{'descr': '%s', 'fortran_order': False, 'shape': (", types[type].descr);
    for (unsigned i = 0; i < shape->rank; i++)
        length +=
            (size_t)snprintf(header + length, TOOL_NPY_HEADER_BYTES - length, "%" PRIu64 "%s", shape->dim[i],
                             i + 1 < shape->rank ? ", "
                             : shape->rank == 1  ? ","
                                                 : "");
    length += (size_t)snprintf(header + length, TOOL_NPY_HEADER_BYTES - length, "), }");
    header[length] = ' ';
    end = (size_t)pr_round_up(length + 1, HEADER_ALIGN);
    header[end - 1] = '\n';
    header[8] = (char)((end - MAGIC_BYTES - 4) & 0xff);
    header[9] = (char)((end - MAGIC_BYTES - 4) >> 8);
    return end;
}

const char *tool_shape_text(const struct tool_shape *shape, char *text, size_t capacity)
{
    size_t length = (size_t)snprintf(text, capacity, "[");

    for (unsigned i = 0; i < shape->rank && length < capacity; i++)
        length +=
            (size_t)snprintf(text + length, capacity - length, "%s%" PRIu64, i ? ", " : "", shape->dim[i]);
    if (length < capacity)
        snprintf(text + length, capacity - length, "]");
    return text;
}

static bool same_shape(const struct tool_shape *a, const struct tool_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0]));
}

bool tool_shape_fits(const struct tool_shape *shape, const struct tool_shape *port)
{
    struct tool_shape squeezed = {0};

    for (unsigned i = 0; i < port->rank; i++)
        if (port->dim[i] != 1)
            squeezed.dim[squeezed.rank++] = port->dim[i];
    return same_shape(shape, port) || same_shape(shape, &squeezed);
}

void tool_convert_float(enum tool_type to_type, void *to, enum tool_type from_type, const void *from,
                        uint64_t elements)
{
    if (to_type == from_type) {
        memcpy(to, from, elements * tool_type_bytes(to_type));
        return;
    }
    for (uint64_t i = 0; i < elements; i++) {
        uint32_t single;
        uint16_t half;

        if (to_type == TOOL_FP32) {
            memcpy(&half, (const uint8_t *)from + 2 * i, sizeof(half));
            single = pr_single_of_half(half);
            memcpy((uint8_t *)to + 4 * i, &single, sizeof(single));
        } else {
            memcpy(&single, (const uint8_t *)from + 4 * i, sizeof(single));
            half = pr_half_of_single(single);
            memcpy((uint8_t *)to + 2 * i, &half, sizeof(half));
        }
    }
}

int64_t tool_integer(enum tool_type type, const void *from, uint64_t index)
{
    const uint8_t *at = (const uint8_t *)from + index * tool_type_bytes(type);
    int64_t wide;
    int32_t word;

    switch (type) {
    case TOOL_UINT8: return *at;
    case TOOL_INT8: return (int8_t)*at;
    case TOOL_INT32: memcpy(&word, at, sizeof(word)); return word;
    case TOOL_INT64: memcpy(&wide, at, sizeof(wide)); return wide;
    case TOOL_FP16:
    case TOOL_FP32: break;
    }
    return 0;
}

static bool is_float(enum tool_type type)
{
    return type == TOOL_FP16 || type == TOOL_FP32;
}

static float load(enum tool_type type, const void *from, uint64_t index)
{
    float value;

    if (!is_float(type))
        return (float)tool_integer(type, from, index);
    tool_convert_float(TOOL_FP32, &value, type, (const uint8_t *)from + index * tool_type_bytes(type), 1);
    return value;
}

/* To an integer, or to what holds every integer of 8 bits. */
static bool store(enum tool_type type, void *to, uint64_t index, float value)
{
    uint8_t *at = (uint8_t *)to + index * tool_type_bytes(type);

    if (is_float(type)) {
        tool_convert_float(type, at, TOOL_FP32, &value, 1);
        return true;
    }
    /* A NaN fails both comparisons. */
    if (!(value >= (type == TOOL_INT8 ? INT8_MIN : 0) && value <= (type == TOOL_INT8 ? INT8_MAX : UINT8_MAX)))
        return false;
    *at = (uint8_t)(int)value;
    return (float)(int)value == value;
}

int tool_convert(enum tool_type to_type, void *to, enum tool_type from_type, const void *from,
                 uint64_t elements, struct base_error *error)
{
    bool integers = !is_float(to_type) || !is_float(from_type);

    if (to_type == from_type || !integers) {
        tool_convert_float(to_type, to, from_type, from, elements);
        return 0;
    }
    for (uint64_t i = 0; i < elements; i++)
        if (!store(to_type, to, i, load(from_type, from, i)))
            return base_fail(error, ERANGE,
                             "its element %" PRIu64 " is %.9g; %s holds whole numbers from %s.", i,
                             (double)load(from_type, from, i), tool_type_name(to_type),
                             to_type == TOOL_INT8 ? "-128 to 127" : "0 to 255");
    return 0;
}
