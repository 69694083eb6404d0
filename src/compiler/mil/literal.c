/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and typed constants of MIL text: `tensor<int32, [4]>([1, 1, 1, 1])`, `fp16(0x1.8p+1)`,
 * `string("valid")`, BLOBFILE. A floating-point number goes by way of double to its type, in the same way in
 * every locale. Memory grows with the elements that are in the text, never with a declared size alone.
 */
#include "compiler/mil/mil.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/store/blob.h"

#define EXPONENT_MAX   100000L /* far outside what a double holds, and safe to add to */
#define ELEMENTS_FIRST 16u

static const char *const scalars[] = {
    [CC_MIL_FP16] = "fp16",     [CC_MIL_FP32] = "fp32",   [CC_MIL_INT32] = "int32",
    [CC_MIL_BOOL] = "bool",     [CC_MIL_TEXT] = "string", [CC_MIL_UINT64] = "uint64",
    [CC_MIL_UINT32] = "uint32", [CC_MIL_INT8] = "int8",   [CC_MIL_UINT8] = "uint8",
    [CC_MIL_INT4] = "int4",     [CC_MIL_UINT6] = "uint6", [CC_MIL_UINT4] = "uint4",
    [CC_MIL_UINT3] = "uint3",   [CC_MIL_UINT2] = "uint2", [CC_MIL_UINT1] = "uint1",
};

static const char *scalar_name(enum cc_mil_scalar scalar)
{
    return scalars[scalar];
}

static size_t scalar_bytes(enum cc_mil_scalar scalar)
{
    if (scalar <= CC_MIL_BOOL)
        return cc_type_bytes((enum cc_type)scalar);
    return scalar == CC_MIL_UINT64 ? sizeof(uint64_t) : scalar == CC_MIL_UINT32 ? sizeof(uint32_t) : 1;
}

unsigned cc_mil_scalar_bits(enum cc_mil_scalar scalar)
{
    return cc_blob_bits(scalar_name(scalar));
}

int cc_mil_check_rank(struct cc_mil *mil, const struct cc_mil_token *at, const struct cc_mil_type *type)
{
    if (type->rank <= CC_RANK_MAX)
        return 0;
    return cc_mil_fail(mil, at, EINVAL,
                       "found a tensor of more than %u axes, the limit of the M1 engine (N, D, C, H, W).",
                       CC_RANK_MAX);
}

struct cc_shape_text cc_mil_type_text(const struct cc_mil_type *type)
{
    struct cc_shape_text shape;
    size_t at;

    if (type->scalar <= CC_MIL_BOOL && type->rank <= CC_RANK_MAX)
        return cc_shape_text((enum cc_type)type->scalar, type->rank, type->dim);
    at = (size_t)snprintf(shape.text, sizeof(shape.text), type->rank ? "tensor<%s, [" : "%s",
                          scalar_name(type->scalar));
    for (uint32_t i = 0; i < type->rank && at < sizeof(shape.text); i++)
        at += (size_t)snprintf(shape.text + at, sizeof(shape.text) - at, i ? ", %u" : "%u", type->dim[i]);
    if (type->rank && at < sizeof(shape.text))
        snprintf(shape.text + at, sizeof(shape.text) - at, "]>");
    return shape;
}

bool cc_mil_type_equal(const struct cc_mil_type *a, const struct cc_mil_type *b)
{
    return a->scalar == b->scalar && a->rank == b->rank &&
           memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

static int read_scalar(struct cc_mil *mil, enum cc_mil_scalar *scalar)
{
    for (size_t i = 0; i < BASE_COUNT_OF(scalars); i++) {
        if (cc_mil_is_name(mil, scalars[i])) {
            *scalar = (enum cc_mil_scalar)i;
            return cc_mil_advance(mil);
        }
    }
    return cc_mil_expected(
        mil, "a type: fp16, fp32, int32, bool, string, uint64, tensor<type, [lengths]>, or one of "
             "compressed weights");
}

int cc_mil_token_uint(struct cc_mil *mil, const struct cc_mil_token *token, uint64_t most, uint64_t *value)
{
    int shown = token->length > 40 ? 40 : (int)token->length;

    *value = 0;
    for (size_t i = 0; i < token->length; i++) {
        unsigned digit = (unsigned char)token->text[i] - (unsigned)'0';

        if (digit > 9)
            return cc_mil_fail(mil, token, EINVAL, "found `%.*s`, expected a whole number in decimal digits.",
                               shown, token->text);
        if (digit > most || *value > (most - digit) / 10)
            return cc_mil_fail(mil, token, ERANGE, "found `%.*s`, expected at most %" PRIu64 ".", shown,
                               token->text, most);
        *value = *value * 10 + digit;
    }
    return 0;
}

static int read_dims(struct cc_mil *mil, struct cc_mil_type *type)
{
    struct cc_mil_token token;
    uint64_t extent;
    int status = cc_mil_take(mil, '[');

    while (status == 0 && !cc_mil_is(mil, ']')) {
        if (type->rank && (status = cc_mil_take(mil, ',')))
            return status;
        token = mil->token;
        if (token.kind != CC_MIL_NUMBER)
            return cc_mil_expected(mil, "the length of an axis as a number: shapes are fixed on this engine");
        if (type->rank == CC_MIL_RANK_MAX)
            return cc_mil_fail(
                mil, &token, EINVAL,
                "found a tensor of more than %u axes, the limit of the M1 engine (N, D, C, H, W).",
                CC_RANK_MAX);
        if ((status = cc_mil_token_uint(mil, &token, INT32_MAX, &extent)))
            return status;
        if (extent == 0)
            return cc_mil_fail(mil, &token, EINVAL,
                               "found an axis of length 0: empty tensors do not exist on this engine.");
        type->dim[type->rank++] = (uint32_t)extent;
        status = cc_mil_advance(mil);
    }
    return status ? status : cc_mil_take(mil, ']');
}

int cc_mil_read_type(struct cc_mil *mil, struct cc_mil_type *type)
{
    struct cc_mil_token start = mil->token;
    int status;

    *type = (struct cc_mil_type){.rank = 0};
    if (!cc_mil_is_name(mil, "tensor"))
        return read_scalar(mil, &type->scalar);
    if ((status = cc_mil_advance(mil)) || (status = cc_mil_take(mil, '<')) ||
        (status = read_scalar(mil, &type->scalar)) || (status = cc_mil_take(mil, ',')) ||
        (status = read_dims(mil, type)) || (status = cc_mil_take(mil, '>')))
        return status;
    if (type->rank && (type->scalar == CC_MIL_TEXT || type->scalar == CC_MIL_UINT64))
        return cc_mil_fail(mil, &start, EINVAL, "found a tensor of %s with %u axes, expected [].",
                           scalar_name(type->scalar), type->rank);
    return 0;
}

/*
 * The number of a token. The point is removed and the exponent adjusted, so that the decimal point of the
 * locale, which strtod expects, does not matter.
 */
static double token_double(const struct cc_mil_token *token)
{
    char text[CC_MIL_NUMBER_MAX + 32];
    bool hex = memchr(token->text, 'x', token->length) || memchr(token->text, 'X', token->length),
         point = false;
    long exponent = 0, given = 0;
    size_t at = 0;

    for (size_t i = 0; i < token->length; i++) {
        char c = token->text[i];

        if (hex ? c == 'p' || c == 'P' : (c == 'e' || c == 'E')) {
            bool negative = token->text[i + 1] == '-';

            for (i += 1; i < token->length; i++)
                if (token->text[i] >= '0' && given < EXPONENT_MAX)
                    given = given * 10 + (token->text[i] - '0');
            exponent += negative ? -given : given;
        } else if (c == '.') {
            point = true;
        } else {
            text[at++] = c;
            exponent -= point ? (hex ? 4 : 1) : 0;
        }
    }
    snprintf(text + at, sizeof(text) - at, "%c%ld", hex ? 'p' : 'e', exponent);
    return strtod(text, NULL);
}

uint16_t cc_mil_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value), fraction;
    int exponent;

    if (isnan(value))
        return 0x7e00;
    if (magnitude >= 65520.0)
        return sign | 0x7c00;
    if (magnitude < 0x1p-14)
        return sign | (uint16_t)rint(magnitude * 0x1p24);
    fraction = frexp(magnitude, &exponent);
    return (uint16_t)(sign | (((exponent + 14) << 10) + (int)rint(fraction * 2048.0) - 1024));
}

static int read_float(struct cc_mil *mil, enum cc_mil_scalar scalar, void *element)
{
    const struct cc_mil_token token = mil->token;
    double value, most = scalar == CC_MIL_FP16 ? 65520.0 : 0x1.ffffffp+127;
    float single;
    uint16_t half;

    if (cc_mil_is_name(mil, "inf") || cc_mil_is_name(mil, "nan")) {
        value = token.text[0] == 'i' ? (double)INFINITY : (double)NAN;
    } else if (token.kind != CC_MIL_NUMBER) {
        return cc_mil_expected(mil,
                               scalar == CC_MIL_FP16 ? "a number of type fp16" : "a number of type fp32");
    } else if (token.length == 4 && token.text[1] == 'n') {
        value = (double)NAN;
    } else if (token.length == 4 && token.text[1] == 'i') {
        value = token.text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    } else {
        value = token_double(&token);
        if (fabs(value) >= most)
            return cc_mil_fail(mil, &token, ERANGE, "found `%.*s`, which is more than %s holds.",
                               token.length > 40 ? 40 : (int)token.length, token.text, scalar_name(scalar));
    }
    single = (float)value;
    half = cc_mil_half(value);
    memcpy(element, scalar == CC_MIL_FP16 ? (void *)&half : (void *)&single, scalar_bytes(scalar));
    return cc_mil_advance(mil);
}

/* The greatest number of a type, and whether it has numbers below 0. */
static uint64_t greatest(enum cc_mil_scalar scalar, bool *negative)
{
    unsigned bits = scalar == CC_MIL_UINT64 ? 64 : cc_mil_scalar_bits(scalar);

    *negative = scalar == CC_MIL_INT32 || scalar == CC_MIL_INT8 || scalar == CC_MIL_INT4;
    return UINT64_MAX >> (64 - bits + *negative);
}

static int read_integer(struct cc_mil *mil, enum cc_mil_scalar scalar, void *element)
{
    struct cc_mil_token token = mil->token;
    char what[48];
    uint64_t value, most;
    bool negative;
    int status;

    most = greatest(scalar, &negative);
    if (token.kind != CC_MIL_NUMBER) {
        snprintf(what, sizeof(what), "a whole number of type %s", scalar_name(scalar));
        return cc_mil_expected(mil, what);
    }
    negative = negative && token.text[0] == '-';
    if (negative || token.text[0] == '+') {
        token.text++;
        token.length--;
    }
    if ((status = cc_mil_token_uint(mil, &token, most + negative, &value)))
        return status;
    value = negative ? 0 - value : value;
    memcpy(element, &value, scalar_bytes(scalar));
    return cc_mil_advance(mil);
}

/* One element: bare, or in its type: `fp16(1)` in a list of fp16. */
static int read_element(struct cc_mil *mil, enum cc_mil_scalar scalar, void *element)
{
    bool typed = cc_mil_is_name(mil, scalar_name(scalar));
    uint8_t boolean;
    int status;

    if (typed && ((status = cc_mil_advance(mil)) || (status = cc_mil_take(mil, '('))))
        return status;
    if (scalar == CC_MIL_FP16 || scalar == CC_MIL_FP32) {
        status = read_float(mil, scalar, element);
    } else if (scalar == CC_MIL_BOOL) {
        boolean = cc_mil_is_name(mil, "true");
        memcpy(element, &boolean, sizeof(boolean));
        status = boolean || cc_mil_is_name(mil, "false") ? cc_mil_advance(mil)
                                                         : cc_mil_expected(mil, "`true` or `false`");
    } else {
        status = read_integer(mil, scalar, element);
    }
    return status || !typed ? status : cc_mil_take(mil, ')');
}

/*
 * A list that is being read. Memory grows with the elements in the text, not with the size of the declared
 * type.
 */
struct list {
    struct cc_mil_literal *literal;
    uint64_t count, wanted, capacity;
    bool flat;
};

static uint64_t element_count(const struct cc_mil_type *type)
{
    uint64_t count = 1;

    for (uint32_t i = 0; i < type->rank; i++)
        count *= type->dim[i];
    return count;
}

static int list_element(struct cc_mil *mil, struct list *list)
{
    enum cc_mil_scalar scalar = list->literal->type.scalar;
    uint64_t capacity = list->capacity ? 2 * list->capacity : ELEMENTS_FIRST;
    void *larger;
    int status;

    if (list->count == list->wanted)
        return cc_mil_fail(mil, &mil->token, EINVAL, "found more elements than the %" PRIu64 " of %s.",
                           list->wanted, cc_mil_type_text(&list->literal->type).text);
    if (list->count == list->capacity) {
        if (capacity > list->wanted)
            capacity = list->wanted;
        larger = base_realloc(list->literal->data, capacity * scalar_bytes(scalar));
        if (!larger)
            return cc_mil_no_memory(mil);
        list->literal->data = larger;
        list->capacity = capacity;
    }
    status = read_element(mil, scalar, (uint8_t *)list->literal->data + list->count * scalar_bytes(scalar));
    list->count += status == 0;
    return status;
}

/* One bracket: as many of the next depth as the axis is long, or, when the list is flat, of elements. */
static int read_list(struct cc_mil *mil, struct list *list, uint32_t depth)
{
    const struct cc_mil_type *type = &list->literal->type;
    struct cc_mil_token start = mil->token;
    uint64_t count = 0;
    int status = cc_mil_take(mil, '[');

    if (status)
        return status;
    if (depth == 0)
        list->flat = !cc_mil_is(mil, '[');
    for (; !cc_mil_is(mil, ']'); count++) {
        if (count && (status = cc_mil_take(mil, ',')))
            return status;
        status =
            list->flat || depth + 1 == type->rank ? list_element(mil, list) : read_list(mil, list, depth + 1);
        if (status)
            return status;
    }
    if (!list->flat && count != type->dim[depth])
        return cc_mil_fail(mil, &start, EINVAL, "found a list of %" PRIu64 ", expected %u on axis %u of %s.",
                           count, type->dim[depth], depth, cc_mil_type_text(type).text);
    return cc_mil_advance(mil);
}

static int read_elements(struct cc_mil *mil, struct cc_mil_literal *literal)
{
    struct list list = {.literal = literal, .wanted = element_count(&literal->type)};
    struct cc_mil_token start = mil->token;
    int status;

    if (cc_mil_is(mil, '[') && literal->type.rank)
        status = read_list(mil, &list, 0);
    else
        status = list_element(mil, &list);
    if (status == 0 && list.count != list.wanted)
        status =
            cc_mil_fail(mil, &start, EINVAL, "found %" PRIu64 " elements, expected the %" PRIu64 " of %s.",
                        list.count, list.wanted, cc_mil_type_text(&literal->type).text);
    return status;
}

static int read_string(struct cc_mil *mil, struct cc_mil_literal *literal)
{
    if (mil->token.kind != CC_MIL_STRING)
        return cc_mil_expected(mil, "a string in quotes");
    literal->data = cc_mil_token_copy(&mil->token);
    return literal->data ? cc_mil_advance(mil) : cc_mil_no_memory(mil);
}

uint8_t cc_mil_packed(const uint8_t *packed, uint64_t i, unsigned bits)
{
    uint64_t bit = i * bits;
    unsigned word = packed[bit / 8], at = bit % 8;

    if (at + bits > 8)
        word |= (unsigned)packed[bit / 8 + 1] << 8;
    return (uint8_t)(word >> at & ((1u << bits) - 1));
}

/* Elements of less than a byte become a byte each. */
static int unpack(struct cc_mil *mil, struct cc_mil_literal *literal, uint64_t elements)
{
    unsigned bits = cc_mil_scalar_bits(literal->type.scalar);
    const uint8_t *packed = literal->data;
    uint8_t *bytes = base_alloc(elements);

    if (!bytes)
        return cc_mil_no_memory(mil);
    for (uint64_t i = 0; i < elements; i++) {
        bytes[i] = cc_mil_packed(packed, i, bits);
        if (literal->type.scalar == CC_MIL_INT4 && bytes[i] & 8)
            bytes[i] |= 0xf0;
    }
    base_free(literal->data);
    literal->data = bytes;
    return 0;
}

static int load_blob(struct cc_mil *mil, const struct cc_mil_token *at, const char *path, uint64_t offset,
                     struct cc_mil_literal *literal)
{
    enum cc_mil_scalar scalar = literal->type.scalar;
    uint64_t elements = element_count(&literal->type), bytes = elements * scalar_bytes(scalar);
    struct base_error problem;
    int status;

    if (mil->weight_bytes + bytes > CC_TENSOR_BYTES_MAX)
        return cc_mil_fail(mil, at, EFBIG,
                           "the weights of this program are more than the limit of %llu bytes.",
                           CC_TENSOR_BYTES_MAX);
    status = cc_blob_read(mil->folder, path, offset, scalar_name(scalar), elements, &literal->data, &problem);
    if (status)
        return cc_mil_fail(mil, at, -status, "%.420s.", problem.text);
    mil->weight_bytes += bytes;
    return cc_mil_scalar_bits(scalar) < 8 ? unpack(mil, literal, elements) : 0;
}

/* `string("...")` or `uint64(64)`: never a BLOBFILE, so nothing nests. */
static int read_plain(struct cc_mil *mil, enum cc_mil_scalar scalar, struct cc_mil_literal *literal)
{
    struct cc_mil_token at = mil->token;
    int status = cc_mil_read_type(mil, &literal->type);

    if (status)
        return status;
    if (literal->type.scalar != scalar)
        return cc_mil_fail(mil, &at, EINVAL, "found %s, expected %s.", cc_mil_type_text(&literal->type).text,
                           scalar_name(scalar));
    if ((status = cc_mil_take(mil, '(')) == 0)
        status = scalar == CC_MIL_TEXT ? read_string(mil, literal) : read_elements(mil, literal);
    return status ? status : cc_mil_take(mil, ')');
}

/* BLOBFILE(path = string("..."), offset = uint64(64)), in either order */
static int read_blob(struct cc_mil *mil, struct cc_mil_literal *literal)
{
    struct cc_mil_literal path = {.data = NULL}, offset = {.data = NULL};
    struct cc_mil_token start = mil->token;
    uint64_t at;
    int status = cc_mil_advance(mil);

    if (status == 0)
        status = cc_mil_take(mil, '(');
    for (int i = 0; status == 0 && i < 2; i++) {
        bool is_path;

        if (i && (status = cc_mil_take(mil, ',')))
            break;
        is_path = cc_mil_is_name(mil, "path");
        if ((!is_path && !cc_mil_is_name(mil, "offset")) || (is_path ? path.data : offset.data)) {
            status = cc_mil_expected(mil, "`path` and `offset`, each once");
            break;
        }
        if ((status = cc_mil_advance(mil)) || (status = cc_mil_take(mil, '=')))
            break;
        status = is_path ? read_plain(mil, CC_MIL_TEXT, &path) : read_plain(mil, CC_MIL_UINT64, &offset);
    }
    if (status == 0 && (status = cc_mil_take(mil, ')')) == 0 && path.data && offset.data) {
        memcpy(&at, offset.data, sizeof(at));
        status = load_blob(mil, &start, path.data, at, literal);
    }
    base_free(path.data);
    base_free(offset.data);
    return status;
}

static int check_size(const struct cc_mil_type *type, struct base_error *limit)
{
    enum cc_type stored = scalar_bytes(type->scalar) == 1 ? CC_BOOL : CC_INT32;
    uint64_t bytes = scalar_bytes(type->scalar);

    if (type->scalar == CC_MIL_TEXT || type->scalar == CC_MIL_UINT64)
        return 0;
    if (type->rank <= CC_RANK_MAX)
        return cc_shape_check(type->scalar <= CC_MIL_BOOL ? (enum cc_type)type->scalar : stored, type->rank,
                              type->dim, true, limit);
    for (uint32_t i = 0; i < type->rank && bytes <= CC_TENSOR_BYTES_MAX; i++)
        bytes *= type->dim[i];
    if (bytes > CC_TENSOR_BYTES_MAX)
        return base_fail(limit, EINVAL, "%s is larger than the limit of %llu bytes for one tensor",
                         cc_mil_type_text(type).text, CC_TENSOR_BYTES_MAX);
    return 0;
}

int cc_mil_read_constant(struct cc_mil *mil, struct cc_mil_literal *literal)
{
    struct cc_mil_token start = mil->token;
    struct base_error limit;
    int status = cc_mil_read_type(mil, &literal->type);

    if (status)
        return status;
    if (check_size(&literal->type, &limit))
        return cc_mil_fail(mil, &start, EINVAL, "%.400s.", limit.text);
    literal->data = NULL;
    if ((status = cc_mil_take(mil, '(')))
        return status;
    if (literal->type.scalar == CC_MIL_TEXT)
        status = read_string(mil, literal);
    else if (cc_mil_is_name(mil, "BLOBFILE") && literal->type.scalar != CC_MIL_UINT64)
        status = read_blob(mil, literal);
    else
        status = read_elements(mil, literal);
    if (status == 0)
        status = cc_mil_take(mil, ')');
    if (status) {
        base_free(literal->data);
        literal->data = NULL;
    }
    return status;
}
