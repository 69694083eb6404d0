/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .npy files: what is read, what is refused and how it is said, what is written; conversions against the
 * test's own.
 */
#include "tool/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

struct file {
    uint8_t bytes[4096];
    size_t size;
};

/* A file of this version with this header text, padded as numpy does, and `data` bytes that count up. */
static struct file make(unsigned version, const char *header, size_t data)
{
    struct file file = {.size = 0};
    size_t length = strlen(header), start = version == 1 ? 10 : 12;

    memcpy(file.bytes, "\x93NUMPY", 6);
    file.bytes[6] = (uint8_t)version;
    file.bytes[8] = (uint8_t)length;
    file.bytes[9] = (uint8_t)(length >> 8);
    memcpy(file.bytes + start, header, length);
    for (size_t i = 0; i < data; i++)
        file.bytes[start + length + i] = (uint8_t)i;
    file.size = start + length + data;
    return file;
}

/* The header, and then as much data as it states: none when that cannot be in the file. */
static int read_stream(FILE *stream, const struct file *file, struct tool_npy *npy, struct base_error *error)
{
    uint8_t data[sizeof(file->bytes)];
    int result = tool_npy_read_header(stream, npy, error);

    if (result)
        return result;
    if (npy->bytes > sizeof(data))
        return -EFBIG;
    result = tool_npy_read_data(stream, npy, data, error);
    if (!result)
        assert_memory_equal(data, file->bytes + file->size - npy->bytes, npy->bytes);
    return result;
}

/* Reads from an allocation of exactly that size, so that a sanitizer sees the end. */
static int read_file(const struct file *file, struct tool_npy *npy, struct base_error *error)
{
    uint8_t *bytes = malloc(file->size ? file->size : 1);
    FILE *stream;
    int result;

    memcpy(bytes, file->bytes, file->size);
    stream = file->size ? fmemopen(bytes, file->size, "rb") : fopen("/dev/null", "rb");
    assert_non_null(stream);
    result = read_stream(stream, file, npy, error);
    fclose(stream);
    free(bytes);
    return result;
}

static void accepted(unsigned version, const char *header, size_t data, enum tool_type type, unsigned rank,
                     const uint64_t *dim)
{
    struct file file = make(version, header, data);
    struct base_error error = {{0}};
    struct tool_npy npy;

    if (read_file(&file, &npy, &error))
        fail_msg("%s: %s", header, error.text);
    assert_int_equal(npy.type, type);
    assert_int_equal(npy.shape.rank, rank);
    for (unsigned i = 0; i < rank; i++)
        assert_int_equal(npy.shape.dim[i], dim[i]);
}

static void refused(unsigned version, const char *header, size_t data, int code, const char *words)
{
    struct file file = make(version, header, data);
    struct base_error error = {{0}};
    struct tool_npy npy;

    assert_int_equal(read_file(&file, &npy, &error), -code);
    if (!strstr(error.text, words))
        fail_msg("%s: said \"%s\", expected \"%s\"", header, error.text, words);
    assert_int_equal(error.text[strlen(error.text) - 1], '.');
}

static void reads(void **state)
{
    const uint64_t nchw[] = {1, 2, 3, 4}, three[] = {3};

    (void)state;
    accepted(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }      \n", 96, TOOL_FP32, 4,
             nchw);
    accepted(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }\n", 96, TOOL_FP32, 4,
             nchw);
    accepted(3, "{\"shape\":(1,2,3,4,),\"descr\":\"<f2\",\"fortran_order\":False}", 48, TOOL_FP16, 4, nchw);
    accepted(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n", 6, TOOL_FP16, 1, three);
    accepted(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (), }\n", 2, TOOL_FP16, 0, NULL);
    accepted(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (0,), }\n", 0, TOOL_FP16, 1,
             (const uint64_t[]){0});
    accepted(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", 3, TOOL_UINT8, 1, three);
    accepted(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 2, 3, 4), }\n", 24, TOOL_INT8, 4,
             nchw);
    accepted(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", 3, TOOL_UINT8, 1, three);
}

static void refuses_kinds(void **state)
{
    (void)state;
    refused(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", 24, ENOTSUP,
            "its type is <f8; fp16 (<f2), fp32 (<f4), uint8 (|u1), int8 (|i1), int32 (<i4), int64 (<i8) or "
            "bool (|b1) are taken");
    refused(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }\n", 6, ENOTSUP, "its type is <u2");
    refused(1, "{'descr': '|S1', 'fortran_order': False, 'shape': (3,), }\n", 3, ENOTSUP, "its type is |S1");
    refused(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", 6, EINVAL,
            "more than the 3 bytes that 3 elements of uint8 need");
    refused(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }\n", 12, ENOTSUP, "big-endian");
    refused(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }\n", 12, ENOTSUP,
            "it holds records");
    refused(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }\n", 24, ENOTSUP, "Fortran order");
    refused(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12, ENOTSUP,
            "version 4.0; 1.0, 2.0 and 3.0 are known");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }\n", 4, ENOTSUP,
            "more than 8 dimensions");
}

static void refuses_damage(void **state)
{
    struct file file = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12);
    size_t whole = file.size;
    struct base_error error;
    struct tool_npy npy;

    (void)state;
    for (file.size = 0; file.size < whole; file.size++)
        assert_true(read_file(&file, &npy, &error) < 0);
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 13, EINVAL,
            "more than the 12 bytes that 3 elements of fp32 need");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 11, EINVAL,
            "its data ends after 11 of the 12 bytes that 3 elements of fp32 need");
    refused(1, "{'descr': '<f4', 'shape': (3,), }\n", 12, EINVAL, "lacks fortran_order");
    refused(1, "{'descr': '<f4', 'descr': '<f4', 'shape': (3,), }\n", 12, EINVAL, "descr twice");
    refused(1, "{'descr': '<f4', 'order': 1}\n", 12, EINVAL, "the key order");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }\n", 12, EINVAL,
            "a number, not a tuple");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }\n", 12, EINVAL,
            "where a dimension should be");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x\n", 12, EINVAL,
            "the end of the header");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3", 0, EINVAL, "ends where");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", 12,
            EOVERFLOW, "a dimension is larger");
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", 12,
            EOVERFLOW, "more elements");
    /* 2^62 elements of four bytes: the bytes overflow, the elements do not. */
    refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }\n", 0, EOVERFLOW,
            "more elements");
    file = make(1, "", 0);
    file.bytes[0] = 0x92;
    assert_int_equal(read_file(&file, &npy, &error), -EINVAL);
    assert_non_null(strstr(error.text, "not a .npy file"));
}

static void refuses_a_huge_header(void **state)
{
    struct file file = make(2, "{}", 0);
    struct base_error error;
    struct tool_npy npy;

    (void)state;
    file.bytes[11] = 0x7f;
    assert_int_equal(read_file(&file, &npy, &error), -EINVAL);
    assert_non_null(strstr(error.text, "65536 is the limit"));
}

/* What numpy.save writes for these shapes: 128 bytes with this text. */
static void writes(void **state)
{
    static const struct {
        enum tool_type type;
        struct tool_shape shape;
        const char *text;
    } cases[] = {
        {TOOL_FP16,
         {4, {1, 8, 16, 16}},
         "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 8, 16, 16), }"},
        {TOOL_FP32, {1, {5}}, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }"},
        {TOOL_FP32, {0, {0}}, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
        {TOOL_UINT8, {2, {3, 4}}, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }"},
        {TOOL_INT8, {1, {7}}, "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char header[TOOL_NPY_HEADER_BYTES];
        size_t size = tool_npy_header(cases[i].type, &cases[i].shape, header);

        assert_int_equal(size, 128);
        assert_memory_equal(header, "\x93NUMPY\x01\x00\x76\x00", 10);
        assert_memory_equal(header + 10, cases[i].text, strlen(cases[i].text));
        for (size_t at = 10 + strlen(cases[i].text); at < 127; at++)
            assert_int_equal(header[at], ' ');
        assert_int_equal(header[127], '\n');
    }
}

static void writes_the_largest(void **state)
{
    struct tool_shape shape = {.rank = TOOL_NPY_RANK_MAX};
    char header[TOOL_NPY_HEADER_BYTES];
    struct file file = {.size = 0};
    struct base_error error;
    struct tool_npy npy;

    (void)state;
    for (unsigned i = 0; i < shape.rank; i++)
        shape.dim[i] = UINT64_MAX;
    file.size = tool_npy_header(TOOL_FP16, &shape, header);
    assert_true(file.size <= TOOL_NPY_HEADER_BYTES && file.size % 64 == 0);
    memcpy(file.bytes, header, file.size);
    assert_int_equal(read_file(&file, &npy, &error), -EOVERFLOW);
}

static void shapes(void **state)
{
    const struct tool_shape port = {4, {1, 8, 1, 32}}, squeezed = {2, {8, 32}}, other = {2, {32, 8}},
                            more = {5, {1, 1, 8, 1, 32}}, half = {3, {8, 1, 32}}, one = {4, {1, 1, 1, 1}},
                            scalar = {0, {0}};
    char text[64], small[8];

    (void)state;
    assert_true(tool_shape_fits(&port, &port));
    assert_true(tool_shape_fits(&squeezed, &port));
    assert_true(tool_shape_fits(&scalar, &one));
    assert_false(tool_shape_fits(&other, &port));
    assert_false(tool_shape_fits(&more, &port));
    assert_false(tool_shape_fits(&half, &port));
    assert_string_equal(tool_shape_text(&port, text, sizeof(text)), "[1, 8, 1, 32]");
    assert_string_equal(tool_shape_text(&scalar, text, sizeof(text)), "[]");
    assert_true(strlen(tool_shape_text(&port, small, sizeof(small))) < sizeof(small));
}

static void converts_every_half(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x10000; half++) {
        uint16_t from = (uint16_t)half, back;
        float single;

        tool_convert_float(TOOL_FP32, &single, TOOL_FP16, &from, 1);
        tool_convert_float(TOOL_FP16, &back, TOOL_FP32, &single, 1);
        if (test_half_is_nan(from)) {
            assert_true(single != single);
            assert_true(test_half_is_nan(back));
            continue;
        }
        assert_true((double)single == test_half_to_double(from));
        assert_int_equal(back, from);
    }
}

static void rounds(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 2000000; i++) {
        /* Mostly near the halfs' range: exponents 90 to 145. */
        uint32_t bits = test_rng_u32(&rng) & 0x807fffff;
        float single;
        uint16_t half;

        bits |= (uint32_t)test_rng_range(&rng, 90, 145) << 23;
        if (i % 3 == 0)
            bits &= ~0xfffu; /* ties */
        memcpy(&single, &bits, sizeof(single));
        tool_convert_float(TOOL_FP16, &half, TOOL_FP32, &single, 1);
        if (half != test_half_from_double((double)single))
            fail_msg("0x%08x became 0x%04x, not 0x%04x", bits, half, test_half_from_double((double)single));
    }
}

/* Every byte as every type and back. */
static void converts_every_byte(void **state)
{
    static const enum tool_type wider[] = {TOOL_FP16, TOOL_FP32};
    uint8_t all[256], back[256];
    float singles[256];
    uint16_t halfs[256];

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    for (unsigned sign = 0; sign < 2; sign++) {
        enum tool_type bytes = sign ? TOOL_INT8 : TOOL_UINT8;

        assert_int_equal(tool_convert(TOOL_FP16, halfs, bytes, all, 256, NULL), 0);
        assert_int_equal(tool_convert(TOOL_FP32, singles, bytes, all, 256, NULL), 0);
        for (unsigned i = 0; i < 256; i++) {
            double value = sign && i > 127 ? (double)i - 256 : (double)i;

            assert_true((double)singles[i] == value && test_half_to_double(halfs[i]) == value);
        }
        for (unsigned k = 0; k < 2; k++) {
            const void *from = wider[k] == TOOL_FP16 ? (const void *)halfs : (const void *)singles;

            memset(back, 0x55, sizeof(back));
            assert_int_equal(tool_convert(bytes, back, wider[k], from, 256, NULL), 0);
            assert_memory_equal(back, all, sizeof(all));
        }
        memset(back, 0x55, sizeof(back));
        assert_int_equal(tool_convert(bytes, back, bytes, all, 256, NULL), 0);
        assert_memory_equal(back, all, sizeof(all));
    }
    assert_int_equal(tool_convert(TOOL_INT8, back, TOOL_UINT8, all, 128, NULL), 0);
    assert_memory_equal(back, all, 128);
}

static void one_refused(enum tool_type to, enum tool_type from, const void *element, const char *words)
{
    uint8_t elements[12] = {0}, got[3];
    struct base_error error = {{0}};

    memcpy(elements + 2 * tool_type_bytes(from), element, tool_type_bytes(from)); /* the last of three */
    assert_int_equal(tool_convert(to, got, from, elements, 3, &error), -ERANGE);
    if (!strstr(error.text, words))
        fail_msg("said \"%s\", expected \"%s\"", error.text, words);
}

static void refuses_what_a_byte_cannot_hold(void **state)
{
    static const struct {
        enum tool_type to;
        float value;
        const char *words;
    } each[] = {
        {TOOL_UINT8, 256, "its element 2 is 256; uint8 holds whole numbers from 0 to 255."},
        {TOOL_UINT8, -1, "its element 2 is -1; uint8 holds whole numbers from 0 to 255."},
        {TOOL_UINT8, 1.5f, "its element 2 is 1.5;"},
        {TOOL_UINT8, 255.5f, "255.5"},
        {TOOL_UINT8, 1e30f, "e+30; uint8"},
        {TOOL_INT8, 128, "its element 2 is 128; int8 holds whole numbers from -128 to 127."},
        {TOOL_INT8, -129, "-129"},
        {TOOL_INT8, -0.5f, "-0.5"},
        {TOOL_INT8, -__builtin_inff(), "-inf"},
        {TOOL_UINT8, __builtin_nanf(""), "nan"},
    };
    const uint16_t half = test_half_from_double(300.0);
    const uint8_t byte = 200;
    const float zero = -0.0f;
    uint8_t got = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
        one_refused(each[i].to, TOOL_FP32, &each[i].value, each[i].words);
    one_refused(TOOL_UINT8, TOOL_FP16, &half, "300");
    one_refused(TOOL_INT8, TOOL_UINT8, &byte, "its element 2 is 200; int8");
    one_refused(TOOL_UINT8, TOOL_INT8, &byte, "its element 2 is -56; uint8");
    assert_int_equal(tool_convert(TOOL_UINT8, &got, TOOL_FP32, &zero, 1, NULL), 0);
    assert_int_equal(got, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses_kinds),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(refuses_a_huge_header),
        cmocka_unit_test(writes),
        cmocka_unit_test(writes_the_largest),
        cmocka_unit_test(shapes),
        cmocka_unit_test(converts_every_half),
        cmocka_unit_test(rounds),
        cmocka_unit_test(converts_every_byte),
        cmocka_unit_test(refuses_what_a_byte_cannot_hold),
    };

    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
