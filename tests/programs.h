/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of our own for tests, written in the text form and assembled: no file from outside is needed. */
#ifndef TESTS_PROGRAMS_H
#define TESTS_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "program/hwx_write.h"
#include "tdpatch.h"

#define TEST_PROGRAM_BYTES 0x4000

struct test_program {
    uint8_t bytes[TEST_PROGRAM_BYTES];
    uint32_t size, first_words, count;
};

/* Assembles; fails the test with the assembler's sentence when it cannot. */
void test_assemble(struct test_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A port of an image: a dense tensor of fp16 values or bytes, rows on 64-byte boundaries. */
struct pr_hwx_port test_program_port(const char *name, enum pr_hwx_direction direction, uint32_t bar,
                                     uint32_t element, const struct td_shape *shape);
/* Writes an image whose text is the program; `rest` says what else is in it. Returns its size. */
size_t test_program_image(const struct test_program *program, const struct pr_hwx_program *rest,
                          uint8_t *bytes, size_t capacity);

/*
 * Full descriptors (157 words, every block), so that tdpatch.h fits
 * them. Sources: buffer 6, then 5; result: buffer 4.
 */

/* y = a + b. */
extern const char test_text_add[];
/* y = relu(x), source in buffer 5. */
extern const char test_text_relu[];
/*
 * Convolution with a kernel in buffer 1, source in buffer 5; shape and kernel are set by test_program_conv.
 */
extern const char test_text_conv[];

struct test_conv {
    uint32_t cin, cout, h, w, k, pad; /* output extents follow from them */
    uint32_t lanes_log2, engines_log2;
    int bias;
};

/* The program of one convolution. */
void test_program_conv(struct test_program *program, const struct test_conv *conv);
/*
 * Where weight (o, i, ky, kx) is in the kernel buffer, by the published
 * packing rule, written apart from the engine's.
 */
uint32_t test_conv_weight(const struct test_conv *conv, uint32_t o, uint32_t i, uint32_t ky, uint32_t kx);
uint32_t test_conv_bias(const struct test_conv *conv, uint32_t o);
uint32_t test_conv_kernel_bytes(const struct test_conv *conv);
struct td_shape test_conv_out(const struct test_conv *conv);

#endif
