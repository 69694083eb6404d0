/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images made by hand, in the forms of both compiler generations, and what every reading of an image
 * must keep: for the tests of the image reader.
 */
#ifndef TESTS_HWX_IMAGE_H
#define TESTS_HWX_IMAGE_H

#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "program/hwx.h"

/* An image under construction. */
struct image {
    uint8_t bytes[0x4000];
    uint32_t at;    /* end of the commands so far */
    uint32_t end;   /* of the file */
    uint32_t count; /* commands */
};

/* What a made image looks like. The old form is that of compiler 4.x, the new one that of 9.x. */
struct form {
    bool modern;     /* 64-bit bindings, long descriptors, surfaces before the text */
    bool no_tensors; /* shapes in the symbol table alone */
    bool no_shapes;
    uint32_t intermediate;
};

#define TEXT_AT    0x3000u
#define TEXT_BYTES 0x274u
#define TEXT_VM    0x30010000u
#define INPUT_VM   0x30004000u
#define OUTPUT_VM  0x30008000u
#define SCRATCH_VM 0x3000c000u

static inline void put32(struct image *image, uint32_t offset, uint32_t value)
{
    pr_put_le32(image->bytes + offset, value);
}

static inline void put64(struct image *image, uint32_t offset, uint64_t value)
{
    pr_put_le64(image->bytes + offset, value);
}

static inline uint32_t add_command(struct image *image, uint32_t type, uint32_t size)
{
    uint32_t at = image->at;

    put32(image, at, type);
    put32(image, at + 4, size);
    image->at += size;
    image->count++;
    return at;
}

static inline uint32_t add_segment(struct image *image, const char *name, uint32_t sections)
{
    uint32_t at = add_command(image, 0x19, 72 + 80 * sections);

    strncpy((char *)image->bytes + at + 8, name, 16);
    put32(image, at + 64, sections);
    return at + 72;
}

static inline void set_section(struct image *image, uint32_t at, const char *name, uint32_t vmaddr,
                               uint32_t size, uint32_t offset, uint32_t flags)
{
    strncpy((char *)image->bytes + at, name, 16);
    put64(image, at + 32, vmaddr);
    put64(image, at + 40, size);
    put32(image, at + 48, offset);
    put32(image, at + 64, flags);
}

static inline void add_binding(struct image *image, const struct form *form, const char *name,
                               uint32_t vmaddr)
{
    uint32_t at = add_command(image, form->modern ? 0x40 : 0x6, 0x30);

    put32(image, at + 8, form->modern ? 0x18 : 0x14);
    put32(image, at + 16, vmaddr);
    strcpy((char *)image->bytes + at + (form->modern ? 0x18 : 0x14), name);
}

static inline void add_program(struct image *image, const struct form *form)
{
    uint32_t at = add_command(image, 0x4, form->modern ? 0x880 : 0x868);

    put32(image, at + 8, 1);
    put64(image, at + 0x10, TEXT_VM);
    put64(image, at + 0x18, TEXT_VM + 0x280);
    if (form->intermediate)
        put64(image, at + 0x28, SCRATCH_VM);
    /* Old: the output first; new: the inputs first. */
    put64(image, at + 0x30, form->modern ? INPUT_VM : OUTPUT_VM);
    put64(image, at + 0x38, form->modern ? OUTPUT_VM : INPUT_VM);
    put64(image, at + 0x810, TEXT_VM);
    put32(image, at + 0x818, 0x9c);
    put32(image, at + 0x81c, 1);
    put64(image, at + 0x848, form->intermediate / 2);
}

static inline void add_tensor(struct image *image, const struct form *form, const char *symbol,
                              uint32_t direction)
{
    uint32_t names = form->modern ? 0xd38 : 0x88;
    uint32_t at = add_command(image, 0x4, names + 0x30);

    put32(image, at + 8, 3);
    put32(image, at + 0x14, direction);
    put32(image, at + 0x20, names);
    put32(image, at + 0x24, 5);
    put32(image, at + 0x28, 1);
    put32(image, at + 0x2c, 3);
    put32(image, at + 0x30, 2);
    put32(image, at + 0x34, 7);
    put32(image, at + 0x38, 1);
    put64(image, at + 0x50, 0x180);
    put64(image, at + 0x58, 0x80);
    put64(image, at + 0x60, 0x40);
    put64(image, at + 0x68, 2);
    put32(image, at + 0x7c, names + 0x10);
    strcpy((char *)image->bytes + at + names, "model name");
    strcpy((char *)image->bytes + at + names + 0x10, symbol);
}

static inline void add_symbols(struct image *image, bool shapes)
{
    static const char text[] =
        "\0float16:t5=r1;2;0\0x:t11=ar1;0;1;12=s384n:ar1;0;3;13=s128c:ar1;0;2;14=s64h:ar1;"
        "0;7;15=s2w:5\0y@output:t16=ar1;0;1;19=s384n:ar1;0;3;13=s128c:ar1;0;2;14=s64h:ar1;0;"
        "7;15=s2w:5";
    uint32_t at = add_command(image, 0x2, 0x18), table = image->at + 8, strings = table + 48;

    put32(image, at + 8, table);
    put32(image, at + 12, 3);
    put32(image, at + 16, strings);
    put32(image, at + 20, sizeof(text));
    memcpy(image->bytes + strings, text, sizeof(text));
    put32(image, table, 1);
    image->bytes[table + 4] = 0x80;
    put32(image, table + 16, 19);
    image->bytes[table + 20] = shapes ? 0x20 : 0x80;
    put32(image, table + 32, (uint32_t)(strlen(text + 19) + 20));
    image->bytes[table + 36] = shapes ? 0x20 : 0x80;
}

static inline void add_surfaces(struct image *image, const struct form *form)
{
    set_section(image, add_segment(image, "__FVMLIB", 1), "__const", INPUT_VM, 0x180, 0, 0x21);
    set_section(image, add_segment(image, "__FVMLIB", 1), "__data", OUTPUT_VM, 0x180, 0, 0x23);
    if (form->intermediate)
        set_section(image, add_segment(image, "__DATA", 1), "__bss", SCRATCH_VM, form->intermediate, 0, 0x25);
}

static inline void add_text(struct image *image)
{
    uint32_t at = add_segment(image, "__TEXT", 2);

    set_section(image, at, "__text", TEXT_VM, TEXT_BYTES, TEXT_AT, 0x28);
    set_section(image, at + 80, "__const", TEXT_VM + 0x280, 0x40, TEXT_AT + 0x280, 0x26);
    put32(image, TEXT_AT, 0x02000000); /* one descriptor, so the fuzzer gets past the framing */
    put32(image, TEXT_AT + 0x28, 0xf401f800);
    put32(image, TEXT_AT + 0x124, 0x3c000000);
    put32(image, TEXT_AT + 0x168, 0x6c013800);
    put32(image, TEXT_AT + 0x1dc, 0x44004800);
    put32(image, TEXT_AT + 0x228, 0x0c008800);
    put32(image, TEXT_AT + 0x23c, 0x1000c800);
    put32(image, TEXT_AT + 0x254, 0x18017800);
}

static inline void finish_image(struct image *image)
{
    put32(image, 0, 0xbeefface);
    put32(image, 4, 0x80);
    put32(image, 8, 4);
    put32(image, 12, 2);
    put32(image, 16, image->count);
    put32(image, 20, image->at - 32);
    put32(image, 24, 0x200000);
    assert_true(image->at < TEXT_AT);
    image->end = TEXT_AT + 0x2c0;
}

static inline void make_image(struct image *image, const struct form *form)
{
    memset(image, 0, sizeof(*image));
    image->at = 32;
    add_segment(image, "__PAGEZERO", 0);
    if (!form->modern)
        add_text(image);
    add_surfaces(image, form);
    if (form->modern)
        add_text(image);
    add_binding(image, form, "x", INPUT_VM);
    add_binding(image, form, "y@output", OUTPUT_VM);
    add_program(image, form);
    if (!form->no_tensors) {
        add_tensor(image, form, "y@output", 2);
        add_tensor(image, form, "x", 1);
    }
    strcpy((char *)image->bytes + add_command(image, 0x8, 0x20) + 8, "ANEC v1");
    add_command(image, 0x31, 0x30); /* a command nobody knows */
    add_symbols(image, !form->no_shapes);
    finish_image(image);
}

/* A copy that ends where its allocation ends, so that a sanitizer sees a byte read too many. */
static inline bool read_copy(const uint8_t *bytes, size_t size, struct pr_hwx *hwx,
                             struct pr_problem *problem)
{
    uint8_t *copy = malloc(size ? size : 1);
    bool good;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    good = pr_hwx_read(copy, size, hwx, problem);
    free(copy);
    return good;
}

static inline void expect_sound(const struct pr_hwx *hwx, size_t size)
{
    assert_true(hwx->text.offset <= size && hwx->text.size <= size - hwx->text.offset);
    assert_true(hwx->constant.offset <= size && hwx->constant.size <= size - hwx->constant.offset);
    assert_true(hwx->banner.offset <= size && hwx->banner.size <= size - hwx->banner.offset);
    assert_true(hwx->td_count > 0 && hwx->first_td_words >= 1 && hwx->first_td_words <= 512);
    assert_true(hwx->port_count <= PR_HWX_PORTS_MAX);
    for (uint32_t i = 0; i < hwx->port_count; i++) {
        const struct pr_hwx_port *port = &hwx->port[i];

        assert_true(strlen(port->name) > 0 && strlen(port->name) < PR_HWX_NAME_BYTES);
        assert_int_equal(strncmp(port->name, port->short_name, strlen(port->short_name)), 0);
        assert_true(port->bar < PR_TQ_BARS && hwx->bar[port->bar] == port->vmaddr);
        assert_true(port->direction == PR_HWX_INPUT || port->direction == PR_HWX_OUTPUT);
    }
}

static inline void try_length(const uint8_t *bytes, size_t length, size_t needed)
{
    struct pr_problem problem = {0};
    struct pr_hwx hwx;

    if (read_copy(bytes, length, &hwx, &problem)) {
        assert_true(length >= needed);
        expect_sound(&hwx, length);
    } else {
        assert_int_not_equal(problem.kind, PR_PROBLEM_NONE);
        assert_true(strlen(problem.text) > 20 && problem.text[strlen(problem.text) - 1] == '.');
    }
}

static inline void flip(uint8_t *bytes, size_t size, size_t end, struct test_rng *rng)
{
    for (int64_t i = test_rng_range(rng, 1, 6); i > 0; i--) {
        size_t at = (size_t)test_rng_range(rng, 0, (int64_t)(end < size ? end : size) - 1);

        if (test_rng_bool(rng))
            bytes[at] ^= (uint8_t)(1u << test_rng_range(rng, 0, 7));
        else
            bytes[at] = (uint8_t)test_rng_u32(rng);
    }
}

static inline void try_flips(const uint8_t *bytes, size_t size, size_t end, unsigned rounds, uint64_t stream)
{
    uint8_t *copy = malloc(size);
    struct test_rng rng;

    assert_non_null(copy);
    test_rng_init(&rng, stream);
    for (unsigned i = 0; i < rounds; i++) {
        struct pr_problem problem = {0};
        struct pr_hwx hwx;

        memcpy(copy, bytes, size);
        flip(copy, size, end, &rng);
        if (pr_hwx_read(copy, size, &hwx, &problem))
            expect_sound(&hwx, size);
        else
            assert_int_not_equal(problem.kind, PR_PROBLEM_NONE);
    }
    free(copy);
}

#endif
