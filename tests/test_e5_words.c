/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records against public programs: the registers of an expanded descriptor are those that Apple's compiler
 * writes for such a task (oracle sheet, sections 2 and 3).
 */
#include "support.h"

#include <string.h>

#include "graphrig.h"

/* One descriptor of a program, expanded and read. */
struct words {
    struct pr_td td;
    struct pr_image image;
};

static void expand(struct gr *g, uint32_t value, struct words *words, uint32_t count)
{
    static struct pr_e5 e5;
    static uint8_t text[8 * 0x300];
    struct cc_program *program;
    struct pr_problem problem;
    uint32_t size;

    gr_output(g, value);
    program = gr_lower(g);
    assert_int_equal(program->records, count);
    e5 = (struct pr_e5){.ports = program->ports,
                        .records = program->records,
                        .record = (const uint8_t *)program->record,
                        .intermediate_bytes = program->intermediate_bytes,
                        .constant_bytes = program->constant_bytes};
    memcpy(e5.port, program->port, sizeof(e5.port));
    assert_true(pr_e5_place(&e5, &problem));
    assert_true(sizeof(text) >= (size_t)count * 0x300);
    if (!pr_e5_expand(&e5, text, sizeof(text), &size, &problem))
        fail_msg("%s", problem.text);
    for (uint32_t i = 0; i < count; i++) {
        if (!pr_td_read(text + (size_t)i * 0x300, size, &words[i].td, &problem))
            fail_msg("%s", problem.text);
        memset(&words[i].image, 0, sizeof(words[i].image));
        pr_td_apply(&words[i].td, &words[i].image);
    }
    cc_program_destroy(program);
    gr_close(g);
}

static void has(const struct words *w, uint32_t address, uint32_t value)
{
    uint32_t found = w->image.word[pr_image_index(address)];

    if (found != value)
        fail_msg("register %x is %x, expected %x", address, found, value);
}

enum {
    CONV_CFG = 0x1c,
    GROUP_CFG = 0x24,
    BROADCAST = 0x30,
    L2_CFG = 0x4800,
    PE_CFG = 0x8800,
    BIAS_SCALE = 0x8804
};
enum { PRE_SCALE = 0x8808, FINAL_SCALE = 0x880c, KERNEL_CFG = 0xc800, MAC_CFG = 0xc804, ACC_BIAS = 0xc80c };
enum { CFG = 0x34, SOURCE_CFG = 0x4804, RESULT_CFG = 0x4830, DST_DMA = 0x17800 };
enum { POST_SCALE = 0xc810, KDMA_CFG = 0x1f800, COEFF_SIZE = 0x1f888, DST_FMT = 0x17818 };

static uint32_t task_type(const struct words *w)
{
    return w->image.word[pr_image_index(0x34)] >> 4 & 0xf;
}

static void tables(void **state)
{
    struct cc_attributes a = {.epsilon = 1e-6f};
    struct words w[2];
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_EXP, gr_input(&g, "x", CC_FP16, GR(10, 100)), NULL), w, 1);
    has(w, MAC_CFG, 0x121c0c);
    has(w, KERNEL_CFG, 0x82);
    has(w, GROUP_CFG, 0x14001);
    has(w, POST_SCALE, 0x3dc5);
    has(w, KDMA_CFG, 0x40);
    has(w, COEFF_SIZE, 0x80);
    assert_int_equal(w->td.word[9], 0x21);
    gr_open(&g, 2, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_RSQRT, gr_input(&g, "x", CC_FP16, GR(10, 100)), &a), w, 1);
    has(w, MAC_CFG, 0x121c08);
    has(w, GROUP_CFG, 0x14001);
    has(w, ACC_BIAS, 0x11);
    gr_open(&g, 3, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_LOG, gr_input(&g, "x", CC_FP16, GR(10, 100)), NULL), w, 2);
    has(&w[1], BIAS_SCALE, 0x398c0000);
    gr_open(&g, 4, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_ABS, gr_input(&g, "x", CC_FP16, GR(10, 100)), NULL), w, 1);
    has(w, PE_CFG, 0x40);
    gr_open(&g, 5, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_SQUARE, gr_input(&g, "x", CC_FP16, GR(10, 100)), NULL), w, 1);
    has(w, PE_CFG, 0x10);
}

static void softmax(void **state)
{
    struct cc_attributes a = {.axis = 1};
    struct words w[5];
    struct gr g;

    (void)state;
    gr_open(&g, 10, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_SOFTMAX, gr_input(&g, "x", CC_FP16, GR(64, 64)), &a), w, 5);
    assert_int_equal(task_type(&w[0]), 5);
    has(&w[0], PE_CFG, 0x2);
    has(&w[0], L2_CFG, 0x4);
    assert_int_equal(task_type(&w[1]), 3);
    has(&w[1], PE_CFG, 0xc0000);
    has(&w[1], BROADCAST, 0x10);
    has(&w[1], BIAS_SCALE, 0x3dc50000);
    has(&w[2], MAC_CFG, 0x121c0c);
    has(&w[3], PE_CFG, 0x1000);
    has(&w[4], PE_CFG, 0x80004);
    has(&w[4], BROADCAST, 0x10);
}

static void layer_norm(void **state)
{
    struct cc_attributes a = {.axes = 6, .epsilon = 1e-5f};
    struct words w[3];
    struct gr g;

    (void)state;
    gr_open(&g, 20, GR_WHOLE);
    expand(&g, gr_unary(&g, CC_OP_LAYER_NORM, gr_input(&g, "x", CC_FP16, GR(64, 8, 8)), &a), w, 3);
    assert_int_equal(task_type(&w[0]), 5);
    has(&w[0], PE_CFG, 0);
    has(&w[0], FINAL_SCALE, 0x3c800000); /* 1 / 64 */
    assert_int_equal(task_type(&w[1]), 6);
    has(&w[1], PE_CFG, 0x92010);
    has(&w[1], PRE_SCALE, 0x3c0000a8);
    assert_int_equal(task_type(&w[2]), 4);
    has(&w[2], PE_CFG, 0xc0000);
}

static void convolutions(void **state)
{
    struct cc_attributes a = {.stride = {2, 2}, .dilation = {1, 1}, .pad = {0, 1, 0, 1}, .groups = 64};
    struct words w[1];
    struct gr g;

    (void)state;
    gr_open(&g, 30, GR_WHOLE);
    a.weight = gr_const(&g, GR(64, 1, 3, 3)) + 1;
    expand(&g, gr_window(&g, CC_OP_CONV, gr_input(&g, "x", CC_FP16, GR(1, 64, 16, 16)), &a), w, 1);
    has(w, CONV_CFG, 0x50014063);
    has(w, GROUP_CFG, 0x14001);
    has(w, MAC_CFG, 0x101c00);
    gr_open(&g, 31, GR_WHOLE);
    a.groups = 4;
    a.stride[0] = a.stride[1] = a.pad[0] = a.pad[2] = 1;
    a.weight = gr_const(&g, GR(64, 16, 3, 3)) + 1;
    a.bias = gr_const(&g, GR(64)) + 1;
    expand(&g, gr_window(&g, CC_OP_CONV, gr_input(&g, "x", CC_FP16, GR(1, 64, 16, 16)), &a), w, 1);
    has(w, CONV_CFG, 0x5042a063);
    has(w, GROUP_CFG, 0x10004);
    has(w, MAC_CFG, 0x101c10);
}

static void products(void **state)
{
    struct words w[2];
    struct gr g;
    uint32_t x;

    (void)state;
    gr_open(&g, 40, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(16, 2048));
    expand(&g, gr_matmul(&g, x, gr_input(&g, "y", CC_FP16, GR(2048, 64)), false, false), w, 1);
    has(w, KERNEL_CFG, 0x10082);
    has(w, COEFF_SIZE, 0x1000);
    has(w, 0x1f848 + 4 * 15, 15 * 0x1000);
    assert_int_equal(w->td.word[9], 0x25); /* the output has buffer 4 here */
    gr_open(&g, 41, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(64, 128));
    expand(&g, gr_matmul(&g, x, gr_input(&g, "y", CC_FP16, GR(128, 64)), false, false), w, 2);
    has(&w[0], DST_FMT, 0x04002031); /* public programs also fill row tails: 0x04302031 */
    has(&w[1], KERNEL_CFG, 0x10082);
    assert_int_equal(w[1].td.word[9], 0x23);
}

/* A result that stays in L2, and the two kinds of tasks that read it there (oracle sheet, 2.1 and 2.6). */
static void residents(void **state)
{
    enum { BASE = 0x40000 }; /* the first address that is not left to staging */
    struct words w[3];
    struct gr g;
    uint32_t x, y, z;

    (void)state;
    gr_open(&g, 50, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(1, 64, 8, 8));
    y = gr_conv(&g, x, gr_const(&g, GR(64, 64, 1, 1)), GR_NONE, (uint32_t[4]){0});
    z = gr_binary(&g, CC_OP_ADD, y, x);
    expand(&g, gr_conv(&g, z, gr_const(&g, GR(16, 64, 1, 1)), GR_NONE, (uint32_t[4]){0}), w, 3);
    has(&w[0], SOURCE_CFG, 0x500172);
    has(&w[0], RESULT_CFG, 0x140);
    has(&w[0], RESULT_CFG + 4, BASE);
    has(&w[0], RESULT_CFG + 8, 8 * 16); /* from channel to channel: 8 rows of 16 bytes */
    has(&w[0], RESULT_CFG + 12, 16);
    has(&w[0], DST_DMA, 0xc0);
    assert_int_equal(w[0].td.word[6] >> 28, 1); /* the source is in DRAM, the result is not */
    has(&w[1], SOURCE_CFG, 0x01000104);         /* source 1 was made by the neural task before */
    has(&w[1], SOURCE_CFG + 4, BASE);
    has(&w[1], CFG, 0x32); /* source 1 in L2, source 2 by DMA */
    has(&w[1], RESULT_CFG, 0x140);
    assert_int_equal(w[1].td.word[6] >> 28, 0);
    has(&w[2], SOURCE_CFG, 0x108); /* by the planar task before */
    has(&w[2], RESULT_CFG, 0x50017a);
    assert_int_equal(w[2].td.word[6] >> 28, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),       cmocka_unit_test(softmax),  cmocka_unit_test(layer_norm),
        cmocka_unit_test(convolutions), cmocka_unit_test(products), cmocka_unit_test(residents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
