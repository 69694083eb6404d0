/* SPDX-License-Identifier: Apache-2.0 */
/* What `anemone inspect` says of tasks and tables, against sentences and tables written by hand. */
#include "support.h"

#include <string.h>

#include "program/activation.h"
#include "tool/sentence.h"

static void expect(const struct pr_task *task, const char *wanted)
{
    char buffer[TOOL_SENTENCE_BYTES];
    struct pr_text text;

    pr_text_init(&text, buffer, sizeof(buffer));
    tool_task_sentence(task, &text);
    assert_false(text.full);
    assert_string_equal(buffer, wanted);
}

static struct pr_tensor tensor(enum pr_home home, uint32_t place, uint32_t c, uint32_t h, uint32_t w)
{
    struct pr_tensor t = {.home = home, .extent = {w, h, 1, c, 1}, .stride = {2, 64, 64, 64, 64}};

    if (home == PR_HOME_DRAM)
        t.bar = place;
    else
        t.base = place;
    return t;
}

static void neural(void **state)
{
    struct pr_task task = {.unit = PR_UNIT_NE};

    (void)state;
    task.src[0] = tensor(PR_HOME_DRAM, 5, 64, 16, 16);
    task.dst = tensor(PR_HOME_DRAM, 4, 64, 16, 16);
    task.ne = (struct pr_ne){.mode = PR_NE_MAC,
                             .kw = 3,
                             .kh = 3,
                             .px = 1,
                             .py = 1,
                             .sx = 1,
                             .sy = 1,
                             .ox = 1,
                             .lanes = 4,
                             .engines = 16,
                             .bias = true,
                             .relu = true,
                             .post_scale = 0x3c00,
                             .kernel_bar = 1};
    expect(
        &task,
        "NE 3x3 convolution, stride 1, pad 1: 64x16x16 from buffer 5 -> 64x16x16 to buffer 4, 16 engines x 4 lanes, "
        "kernel in buffer 1, bias, ReLU");
    task.ne.kh = 1;
    task.ne.unicast = 1;
    task.ne.sx = 2;
    task.ne.ox = 2;
    task.ne.py = 0;
    task.ne.lanes = 1;
    task.ne.engines = 1;
    task.ne.sparse = true;
    task.ne.bias = task.ne.relu = false;
    task.ne.post_scale = 0x3000;
    task.src[0].base = 0x400;
    expect(
        &task,
        "NE 1x3 depthwise convolution, stride 1x2, pad 0x1, 2 columns a step: 64x16x16 from buffer 5 at 0x400 -> "
        "64x16x16 to buffer 4, 1 engine x 1 lane, kernel in buffer 1, zeros left out, post-scale 0.125");
    task.ne = (struct pr_ne){
        .mode = PR_NE_BYPASS, .engines = 4, .table = true, .post_scale = 0x3dc5, .acc_bias = 0xbc00};
    task.src[0] = tensor(PR_HOME_STREAM, 0, 2, 1, 8);
    task.dst = tensor(PR_HOME_L2, 0x20, 2, 1, 8);
    expect(
        &task,
        "NE copy: 2x1x8 streamed from the one before -> 2x1x8 to L2 at 0x20, 4 engines, accumulator bias -1, "
        "post-scale 1.44238, activation table");
    task.ne = (struct pr_ne){.mode = PR_NE_MAX,
                             .kw = 2,
                             .kh = 2,
                             .sx = 2,
                             .sy = 2,
                             .ox = 1,
                             .unicast = 1,
                             .engines = 1,
                             .post_scale = 0x3c00,
                             .pad_lowest = true};
    expect(
        &task,
        "NE max over 2x2, stride 2, pad 0, padding left out: 2x1x8 streamed from the one before -> 2x1x8 to L2 at 0x20, "
        "1 engine");
}

static void planar(void **state)
{
    struct pr_task task = {.unit = PR_UNIT_PE};

    (void)state;
    task.src[0] = tensor(PR_HOME_DRAM, 5, 1, 2, 8);
    task.src[1] = tensor(PR_HOME_L2, 0x40, 1, 2, 8);
    task.src[1].stride[PR_AXIS_W] = 0;
    task.dst = tensor(PR_HOME_STREAM, 0, 1, 2, 8);
    task.pe = (struct pr_pe){.op = PR_PE_ADD,
                             .two_sources = true,
                             .negate2 = true,
                             .scale = 0x3800,
                             .pre_scale = 0x3c00,
                             .final_scale = 0x3f800000};
    expect(
        &task,
        "PE subtract: 1x2x8 from buffer 5 and 1x2x8 from L2 at 0x40 broadcast over W -> 1x2x8 streamed to the next, "
        "scale 0.5");
    task.src[1].home = PR_HOME_NONE;
    task.src[0].extent[PR_AXIS_G] = 3;
    task.src[0].relu = true;
    task.dst = tensor(PR_HOME_DRAM, 4, 1, 1, 1);
    task.dst.extent[PR_AXIS_G] = 3;
    task.pe = (struct pr_pe){.op = PR_PE_SQUARE_OF_SUM,
                             .reduce = PR_PE_REDUCE_SUM,
                             .scale = 0x3c00,
                             .pre_scale = 0x3c00,
                             .final_scale = 0x3d800000,
                             .epsilon = 0x0400,
                             .function = PR_PE_RSQRT};
    expect(
        &task,
        "PE sum over W, H and D of square: 1x2x8 in 3 groups from buffer 5 cut at zero -> 1x1x1 in 3 groups to buffer 4, "
        "final scale 0.0625, epsilon 6.10352e-05, reciprocal of the square root");
    task.pe = (struct pr_pe){.op = PR_PE_MAX,
                             .two_sources = true,
                             .compare = PR_PE_GREATER,
                             .relu = true,
                             .abs = true,
                             .scale = 0x3c00,
                             .bias = 0xc000,
                             .pre_scale = 0x3c00,
                             .final_scale = 0x3f800000};
    task.src[1] = task.src[0] = tensor(PR_HOME_DRAM, 6, 4, 1, 32);
    task.dst = tensor(PR_HOME_DRAM, 4, 4, 1, 32);
    task.dst.format = PR_U8;
    expect(
        &task,
        "PE max: 4x1x32 from buffer 6 and 4x1x32 from buffer 6 -> 4x1x32 uint8 to buffer 4, absolute value, > 0, bias -2, "
        "ReLU");
}

static void put_half(uint8_t *bytes, uint16_t half)
{
    bytes[0] = (uint8_t)half;
    bytes[1] = (uint8_t)(half >> 8);
}

/* The heads of public tables (oracle facts, section 4.5). */
static void tables(void **state)
{
    static const struct {
        uint16_t clamp[4], first, tail[4], shift, code;
        const char *function;
    } known[] = {
        {{0xc8f8, 0x4829, 0, 0x3c00}, 0x0d7f, {0x09ac, 0x170c, 0x163e, 0x3be6}, 1, 0x01, "sigmoid-like"},
        {{0, 0x4400, 0, 0x3c00}, 0, {0, 0, 0, 0x3c00}, 3, 0x60, "tanh-like"},
        {{0xc466, 0x7c00, 0, 0x7c00}, 0, {0, 0, 0x3c00, 0}, 2, 0x01, "GELU- or SiLU-like"},
        {{0xce40, 0x4c00, 0, 0x7c00}, 0x3c00, {0, 0, 0, 0}, 5, 0x0a, "exp2"},
        {{0, 0x7c00, 0x7c00, 0}, 0x4000, {0, 0, 0, 0}, 6, 0x67, "reciprocal"},
        {{0xfc00, 0x7c00, 0xfc00, 0x7c00}, 0, {0x211f, 0, 0x3c00, 0}, 0x40, 0x01, "leaky ReLU"},
        {{0, 0x4600, 0, 0x4600}, 0, {0x3c00, 0, 0x3c00, 0}, 0x40, 0x01, "clamp"},
        {{0x8001, 1, 0x3c00, 0}, 0, {0, 0x3c00, 0, 0}, 0x40, 0x01, "step at 0"},
        {{0, 0, 0, 0}, 0, {0, 0, 0, 0}, 5, 0x64, "truncation"},
        {{0, 0, 0, 0}, 0, {0, 0, 0, 0}, 5, 0x65, "unknown"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint8_t bytes[128] = {0};
        uint16_t table[PR_TABLE_VALUES];

        for (unsigned j = 0; j < 4; j++) {
            put_half(bytes + 2 * j, known[i].clamp[j]);
            put_half(bytes + 2 * (37 + j), known[i].tail[j]);
        }
        put_half(bytes + 8, known[i].first);
        put_half(bytes + 82, known[i].shift);
        put_half(bytes + 84, known[i].code);
        pr_activation_read(table, bytes);
        assert_string_equal(pr_activation_guess(table), known[i].function);
    }
    assert_null(pr_activation_form(0x65));
    assert_non_null(pr_activation_form(0xc9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(neural), cmocka_unit_test(planar),
                                       cmocka_unit_test(tables)};

    return cmocka_run_group_tests_name("sentence", tests, NULL, NULL);
}
