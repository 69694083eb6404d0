/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: random graphs of each operation, run through driver, firmware and engine as bundles, against a
 * computation of their own; chains, ports, sharing of intermediates; and what is refused, by name.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "lower_machine.h"

/* Some axes of length 1, leading axes left away. */
static struct gr_shape thin(struct gr *g, struct gr_shape s)
{
    struct gr_shape t = {.rank = pick(g, 0, s.rank)};

    for (uint32_t i = 0; i < t.rank; i++)
        t.dim[i] = pick(g, 0, 2) ? s.dim[s.rank - t.rank + i] : 1;
    return t;
}

static void elementwise_broadcasts(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 150; round++) {
        static const enum cc_op_kind kind[] = {CC_OP_ADD, CC_OP_SUB, CC_OP_MUL, CC_OP_MAXIMUM, CC_OP_MINIMUM};
        struct gr_shape shape, other;
        uint32_t x, y, z;
        struct gr g;

        gr_open(&g, 0x1000 + round, round % 2 ? GR_REAL : GR_WHOLE);
        shape = random_shape(&g);
        other = round % 3 ? thin(&g, shape) : shape;
        x = gr_input(&g, "x", CC_FP16, round % 5 ? shape : thin(&g, shape));
        y = pick(&g, 0, 1) ? gr_input(&g, "y", CC_FP16, other) : gr_const(&g, other);
        z = pick(&g, 0, 1) ? gr_binary(&g, kind[round % 5], x, y) : gr_binary(&g, kind[round % 5], y, x);
        gr_output(&g, pick(&g, 0, 1) ? gr_relu(&g, z) : z);
        assert_int_equal(gr_check(&g, &client), 1);
        gr_close(&g);
    }
}

static void scalars_stand_in_registers(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_ADD, CC_OP_SUB, CC_OP_MUL};

    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        struct cc_program *program;
        uint32_t x, c;
        struct gr g;

        gr_open(&g, 0x2000 + round, GR_WHOLE);
        x = gr_input(&g, "x", CC_FP16, random_shape(&g));
        c = gr_scalar(&g, round % 2 ? 3 : -5);
        gr_output(&g, round / 3 % 2 ? gr_binary(&g, kind[round % 3], x, c)
                                    : gr_binary(&g, kind[round % 3], c, x));
        assert_int_equal(gr_check(&g, &client), 1);
        program = gr_lower(&g);
        assert_int_equal(program->record[0].kind, PR_E5_ELEMENTWISE1);
        assert_int_equal(program->constant_bytes, 0);
        cc_program_destroy(program);
        gr_close(&g);
    }
}

static void wide_rows_are_cut(void **state)
{
    struct gr g;

    (void)state;
    gr_open(&g, 0x2100, GR_WHOLE);
    gr_output(&g, gr_binary(&g, CC_OP_ADD, gr_input(&g, "x", CC_FP16, GR(2, 40000)),
                            gr_input(&g, "y", CC_FP16, GR(40000))));
    gr_output(&g, gr_binary(&g, CC_OP_MUL, 0, gr_input(&g, "z", CC_FP16, GR(2, 1))));
    assert_int_equal(gr_check(&g, &client), 6);
    gr_close(&g);
}

static void large_batches_are_cut(void **state)
{
    struct gr g;

    (void)state;
    gr_open(&g, 0x2200, GR_WHOLE);
    gr_output(&g, gr_relu(&g, gr_input(&g, "x", CC_FP16, GR(9000, 1, 1, 2))));
    assert_in_range(gr_check(&g, &client), 1, 2);
    gr_close(&g);
}

static void relu_alone(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct gr g;

        gr_open(&g, 0x3000 + round, GR_REAL);
        gr_output(&g, gr_relu(&g, gr_input(&g, "x", CC_FP16, random_shape(&g))));
        assert_int_equal(gr_check(&g, &client), 1);
        gr_close(&g);
    }
}

static void conv_once(uint64_t stream, enum gr_numbers numbers, struct gr_shape in, struct gr_shape kernel,
                      bool bias, bool relu)
{
    uint32_t pad[4], x, y, b = GR_NONE;
    struct gr g;

    gr_open(&g, stream, numbers);
    g.most = 2;
    x = gr_input(&g, "x", CC_FP16, in);
    for (unsigned i = 0; i < 4; i++)
        pad[i] = pick(&g, 0, kernel.dim[2 + i / 2] / 2 + 1);
    while (in.dim[2] + pad[0] + pad[1] < kernel.dim[2])
        pad[0]++;
    while (in.dim[3] + pad[2] + pad[3] < kernel.dim[3])
        pad[2]++;
    if (bias)
        b = gr_const(&g, GR(kernel.dim[0]));
    y = gr_conv(&g, x, gr_const(&g, kernel), b, pad);
    gr_output(&g, relu ? gr_relu(&g, y) : y);
    gr_check(&g, &client);
    gr_close(&g);
}

static void conv_of_every_size(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x4000);
    for (unsigned round = 0; round < 60; round++) {
        uint32_t channels = (uint32_t)test_rng_range(&rng, 1, 9), out = (uint32_t)test_rng_range(&rng, 1, 70);
        uint32_t h = (uint32_t)test_rng_range(&rng, 1, 9), w = (uint32_t)test_rng_range(&rng, 1, 37);
        uint32_t kh = (uint32_t)test_rng_range(&rng, 1, 4), kw = (uint32_t)test_rng_range(&rng, 1, 5);
        uint32_t n = round % 4 ? 1 : 3;

        conv_once(0x4001 + round, round % 2 ? GR_REAL : GR_WHOLE, GR(n, channels, h, w),
                  GR(out, channels, kh, kw), round % 3 == 0, round % 5 == 0);
    }
    conv_once(0x4100, GR_WHOLE, GR(1, 2, 30, 20), GR(3, 2, 29, 13), true, false);
    conv_once(0x4101, GR_WHOLE, GR(1, 3, 5, 33), GR(600, 3, 1, 1), true, true);
}

/* More weights than an engine's memory: several descriptors, one after another. */
static void conv_is_split(void **state)
{
    uint32_t none[4] = {0}, x;
    struct gr g;

    (void)state;
    gr_open(&g, 0x4200, GR_WHOLE);
    g.most = 1;
    x = gr_input(&g, "x", CC_FP16, GR(2, 600, 3, 3));
    gr_output(&g, gr_conv(&g, x, gr_const(&g, GR(150, 600, 3, 3)), gr_const(&g, GR(150)), none));
    assert_true(gr_check(&g, &client) > 2);
    gr_close(&g);
}

static void linear_of_every_rank(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        uint32_t x, weight, bias = GR_NONE, y, out;
        struct gr_shape shape;
        struct gr g;

        gr_open(&g, 0x5000 + round, round % 2 ? GR_REAL : GR_WHOLE);
        shape = random_shape(&g);
        out = pick(&g, 1, 80);
        x = gr_input(&g, "x", CC_FP16, shape);
        weight = gr_const(&g, GR(out, shape.dim[shape.rank - 1]));
        if (round % 3)
            bias = gr_const(&g, GR(out));
        y = gr_linear(&g, x, weight, bias);
        gr_output(&g, round % 4 ? y : gr_relu(&g, y));
        assert_int_equal(gr_check(&g, &client), 2);
        gr_close(&g);
    }
}

static void linear_is_split(void **state)
{
    struct gr g;
    uint32_t x;

    (void)state;
    gr_open(&g, 0x5100, GR_WHOLE);
    g.most = 1;
    x = gr_input(&g, "x", CC_FP16, GR(3, 17000));
    gr_output(&g, gr_linear(&g, x, gr_const(&g, GR(40, 17000)), GR_NONE));
    assert_true(gr_check(&g, &client) > 2);
    gr_close(&g);
    gr_open(&g, 0x5101, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(4, 5000, 3));
    gr_output(&g, gr_linear(&g, x, gr_const(&g, GR(5, 3)), gr_const(&g, GR(5))));
    assert_int_equal(gr_check(&g, &client), 4);
    gr_close(&g);
}

static void matmul_with_a_constant(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 64; round++) {
        bool tx = round & 1, ty = round >> 1 & 1, first = round >> 2 & 1, both = round >> 3 & 1;
        struct gr_shape a = {.rank = 4}, b = {.rank = 4};
        uint32_t m, k, n, x, y;
        struct gr g;

        gr_open(&g, 0x6000 + round, round & 16 ? GR_REAL : GR_WHOLE);
        m = pick(&g, 1, 40);
        k = pick(&g, 1, 40);
        n = pick(&g, 1, 40);
        /* Leading axes: both have them, or only the runtime operand, or the constant alone. */
        for (unsigned i = 0; i < 2; i++) {
            a.dim[i] = pick(&g, 1, 3);
            b.dim[i] = both || round & 32 ? a.dim[i] : 1;
            if (round & 32 && !both)
                a.dim[i] = 1;
        }
        if (first) {
            struct gr_shape t = a;

            a = b;
            b = t;
        }
        a.dim[2] = tx ? k : m;
        a.dim[3] = tx ? m : k;
        b.dim[2] = ty ? n : k;
        b.dim[3] = ty ? k : n;
        x = first ? gr_const(&g, a) : gr_input(&g, "x", CC_FP16, a);
        y = first ? gr_input(&g, "x", CC_FP16, b) : gr_const(&g, b);
        gr_output(&g, gr_matmul(&g, x, y, tx, ty));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void mean_over_any_axes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2 * 15 * 4; round++) {
        uint32_t axes = round / 2 % 15 + 1, x;
        struct gr_shape s = {.rank = 4};
        struct gr g;

        gr_open(&g, 0x7000 + round, GR_REAL);
        for (unsigned i = 0; i < 4; i++)
            s.dim[i] = pick(&g, 0, 4) ? pick(&g, 2, i == 3 ? 40 : 6) : 1;
        x = gr_input(&g, "x", CC_FP16, s);
        gr_output(&g, gr_mean(&g, x, axes, round % 2));
        assert_true(gr_check(&g, &client) <= 2);
        gr_close(&g);
    }
    for (uint32_t rank = 1; rank <= 3; rank++)
        for (uint32_t axes = 1; axes < 1u << rank; axes++) {
            struct gr_shape s = {.rank = rank, .dim = {3, 5, 33}};
            struct gr g;

            gr_open(&g, 0x7800 + 8 * rank + axes, GR_REAL);
            gr_output(&g, gr_mean(&g, gr_input(&g, "x", CC_FP16, s), axes, axes % 2));
            gr_check(&g, &client);
            gr_close(&g);
        }
}

/* Rows stay apart: planes are channels and rows are groups, as in public programs. */
static void mean_over_width_has_the_known_form(void **state)
{
    struct cc_program *program;
    struct gr g;

    (void)state;
    gr_open(&g, 0x7900, GR_REAL);
    gr_output(&g, gr_mean(&g, gr_input(&g, "x", CC_FP16, GR(1, 64, 8, 8)), 8, true));
    program = gr_lower(&g);
    assert_int_equal(program->records, 1);
    assert_int_equal(program->record[0].in[0], 8);
    assert_int_equal(program->record[0].in[1], 1);
    assert_int_equal(program->record[0].in[2], 64);
    assert_int_equal(program->record[0].in[3], 8);
    assert_int_equal(program->record[0].src[0].plane, 0x200);
    assert_int_equal(program->record[0].src[0].group, 0x40);
    cc_program_destroy(program);
    gr_close(&g);
}

/*
 * A residual block with a tail: values used twice, an output that is read again, an input that is an output.
 */
static void a_chain_runs(void **state)
{
    const uint32_t one[4] = {1, 1, 1, 1};
    uint32_t x, y, z, m;
    struct gr g;

    (void)state;
    gr_open(&g, 0x8000, GR_WHOLE);
    g.most = 1;
    x = gr_input(&g, "x", CC_FP16, GR(2, 8, 7, 9));
    y = gr_relu(&g, gr_conv(&g, x, gr_const(&g, GR(8, 8, 3, 3)), gr_const(&g, GR(8)), one));
    z = gr_conv(&g, y, gr_const(&g, GR(8, 8, 1, 1)), GR_NONE, (uint32_t[4]){0});
    z = gr_binary(&g, CC_OP_ADD, z, x);
    gr_output(&g, z);
    z = gr_relu(&g, z);
    m = gr_binary(&g, CC_OP_MUL, z, gr_const(&g, GR(8, 1, 1)));
    gr_output(&g, gr_binary(&g, CC_OP_SUB, m, y));
    gr_output(&g, x);
    gr_output(&g, z);
    assert_true(gr_check(&g, &client) >= 6);
    gr_close(&g);
}

static void ports_cast(void **state)
{
    struct cc_program *program;
    uint32_t x, y;
    struct gr g;

    (void)state;
    gr_open(&g, 0x8100, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP32, GR(1, 3, 5));
    y = gr_binary(&g, CC_OP_ADD, gr_cast(&g, x, CC_FP16), gr_scalar(&g, 1));
    gr_output(&g, gr_cast(&g, y, CC_FP32));
    gr_output(&g, y);
    gr_output(&g, gr_cast(&g, x, CC_FP16));
    assert_int_equal(gr_check(&g, &client), 3); /* one computes, two copy */
    program = gr_lower(&g);
    assert_int_equal(program->port[0].type, CC_FP32);
    assert_int_equal(program->port[1].type, CC_FP32);
    assert_int_equal(program->port[2].type, CC_FP16);
    cc_program_destroy(program);
    gr_close(&g);
}

/* Ten steps in a row need two buffers, not nine. */
static void intermediates_share(void **state)
{
    struct cc_program *program;
    uint32_t x, y;
    struct gr g;

    (void)state;
    gr_open(&g, 0x8200, GR_WHOLE);
    g.flags = CC_LOWER_DRAM;
    x = y = gr_input(&g, "x", CC_FP16, GR(1, 4, 8, 32));
    for (unsigned i = 0; i < 10; i++)
        y = gr_binary(&g, CC_OP_ADD, y, x);
    gr_output(&g, y);
    assert_int_equal(gr_check(&g, &client), 10);
    program = gr_lower(&g);
    assert_int_equal(program->intermediate_bytes, 2 * 4 * 8 * 64);
    cc_program_destroy(program);
    gr_close(&g);
}

/* A pass that searches for the operation before would need quadratic time here. */
static void a_long_chain_is_one_descriptor(void **state)
{
    struct cc_program *program;
    uint32_t x;
    struct gr g;

    (void)state;
    gr_open(&g, 0x8300, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(4));
    for (unsigned i = 0; i < 200000; i++)
        x = gr_relu(&g, x);
    gr_output(&g, x);
    program = gr_lower(&g);
    assert_int_equal(program->records, 1);
    assert_int_equal(program->intermediate_bytes, 0);
    cc_program_destroy(program);
    gr_close(&g);
}

/* Every tensor is in use until its maximum is taken, so no two may overlap. */
static void many_intermediates_live_together(void **state)
{
    enum { COUNT = 4000, BYTES = 64 };
    struct cc_program *program;
    uint32_t *value = calloc(COUNT, sizeof(*value)), x;
    struct gr g;

    (void)state;
    assert_non_null(value);
    gr_open(&g, 0x8400, GR_WHOLE);
    g.flags = CC_LOWER_DRAM | CC_LOWER_IN_ORDER;
    x = gr_input(&g, "x", CC_FP16, GR(3));
    for (unsigned i = 0; i < COUNT; i++)
        value[i] = gr_binary(&g, CC_OP_ADD, x, gr_scalar(&g, (double)((i * 7) % 2000 + 1)));
    x = value[0];
    for (unsigned i = 1; i < COUNT; i++)
        x = gr_binary(&g, CC_OP_MAXIMUM, x, value[i]);
    gr_output(&g, x);
    program = gr_lower(&g);
    assert_true(program->intermediate_bytes >= COUNT * BYTES);
    assert_true(program->intermediate_bytes <= (COUNT + 2) * BYTES);
    cc_program_destroy(program);
    assert_int_equal(gr_check(&g, &client), 2 * COUNT - 1);
    gr_close(&g);
    free(value);
}

static void dead_operations_are_left_out(void **state)
{
    struct gr g;
    uint32_t x;

    (void)state;
    gr_open(&g, 0x8300, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(4, 4));
    gr_binary(&g, CC_OP_MUL, gr_relu(&g, x), x);
    gr_output(&g, gr_binary(&g, CC_OP_ADD, x, x));
    assert_int_equal(gr_check(&g, &client), 1);
    gr_close(&g);
}

/* The same numbers are stored once, whatever they are called. */
static void constants_are_shared(void **state)
{
    struct cc_program *program;
    uint32_t x, c, same;
    struct gr g;

    (void)state;
    gr_open(&g, 0x8400, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(4, 33));
    c = gr_const(&g, GR(4, 33));
    same = gr_const(&g, GR(4, 33));
    memcpy(g.graph->value[same].data, g.graph->value[c].data, g.graph->value[c].bytes);
    gr_output(&g, gr_binary(&g, CC_OP_MAXIMUM, gr_binary(&g, CC_OP_ADD, x, c), same));
    gr_check(&g, &client);
    program = gr_lower(&g);
    assert_int_equal(program->blobs, 1);
    assert_int_equal(program->constant_bytes, 4 * 128);
    cc_program_destroy(program);
    gr_close(&g);
}

/* More constants than the first hash table has places, each twice: every one is found again. */
static void many_constants_are_shared(void **state)
{
    enum { DIFFERENT = 150 };
    struct cc_program *program;
    struct gr g;
    uint32_t y;

    (void)state;
    gr_open(&g, 0x8500, GR_WHOLE);
    y = gr_input(&g, "x", CC_FP16, GR(40));
    for (unsigned i = 0; i < 2 * DIFFERENT; i++) {
        uint32_t c = gr_const(&g, GR(40));
        uint16_t *data = g.graph->value[c].data;

        data[0] = (uint16_t)(0x3c00 + i % DIFFERENT); /* from 1 up, each another number */
        memset(&data[1], 0, 39 * sizeof(*data));
        y = gr_binary(&g, CC_OP_MAXIMUM, y, c);
    }
    gr_output(&g, y);
    assert_int_equal(gr_check(&g, &client), 2 * DIFFERENT);
    program = gr_lower(&g);
    assert_int_equal(program->blobs, DIFFERENT);
    assert_int_equal(program->constant_bytes, DIFFERENT * 128);
    cc_program_destroy(program);
    gr_close(&g);
}

static void refused(struct gr *g, uint32_t output, const char *word)
{
    const char *text;

    gr_output(g, output);
    text = gr_refusal(g);
    if (!strstr(text, word))
        fail_msg("\"%s\" does not say \"%s\"", text, word);
    gr_close(g);
}

static void refusals_name_the_rule(void **state)
{
    uint32_t x, y;
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP32, GR(4));
    y = gr_relu(&g, x);
    g.graph->value[y].type = CC_FP32;
    g.graph->value[y].bytes = 16;
    refused(&g, y, "is fp32 and the engine computes in fp16");
}

/* A sum of constants is a constant, and an output may be one. */
static void constants_are_folded(void **state)
{
    struct gr g;

    (void)state;
    gr_open(&g, 6, GR_WHOLE);
    gr_output(&g, gr_relu(&g, gr_input(&g, "x", CC_FP16, GR(4))));
    gr_output(&g, gr_binary(&g, CC_OP_ADD, gr_const(&g, GR(4)), gr_const(&g, GR(4))));
    gr_check(&g, &client);
    gr_close(&g);
}

/*
 * An fp32 value may be renamed, but it cannot be an output before it has been cast to fp16: it would be
 * rounded without a cast in the program.
 */
static void fp32_does_not_pass_unchanged(void **state)
{
    uint32_t x;
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    refused(&g, gr_input(&g, "x", CC_FP32, GR(4)), "`x` is fp32 and reaches this output unchanged");
    gr_open(&g, 2, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP32, GR(4));
    refused(&g, gr_cast(&g, gr_cast(&g, x, CC_FP32), CC_FP32), "cast it first");
    gr_open(&g, 3, GR_WHOLE);
    x = gr_cast(&g, gr_input(&g, "x", CC_FP32, GR(4)), CC_FP32);
    gr_output(&g, gr_cast(&g, gr_cast(&g, gr_cast(&g, x, CC_FP16), CC_FP32), CC_FP32));
    gr_check(&g, &client);
    gr_close(&g);
    /* A constant is rounded as every constant is. */
    gr_open(&g, 4, GR_WHOLE);
    gr_output(&g, gr_relu(&g, gr_input(&g, "x", CC_FP16, GR(4))));
    gr_output(&g, gr_cast(&g, gr_const(&g, GR(4)), CC_FP32));
    gr_check(&g, &client);
    gr_close(&g);
}

/*
 * The driver believes nothing: sizes, bytes and places of a payload. What is not signed is for developers:
 * bundles and raw images.
 */
static void bad_payloads_are_refused(void **state)
{
    const char *const entitlement[] = {"com.apple.ane.iokit-user-access"};
    ane_task_t task = ane_task_create(entitlement, 1, NULL, NULL);
    struct cc_program *program;
    struct ane_program_bundle head;
    struct iorig_client plain;
    struct test_rng rng;
    uint64_t token;
    uint8_t *payload, *changed;
    size_t size;
    struct gr g;

    (void)state;
    gr_open(&g, 0x9000, GR_WHOLE);
    gr_output(&g, gr_linear(&g, gr_input(&g, "x", CC_FP16, GR(5, 6)), gr_const(&g, GR(7, 6)), GR_NONE));
    program = gr_lower(&g);
    payload = gr_payload(program, &size);
    changed = calloc(1, size + 64);
    assert_non_null(changed);
    memcpy(&head, payload, sizeof(head));
    test_rng_init(&rng, 0x9001);
    for (unsigned round = 0; round < 400; round++) {
        struct ane_program_bundle h = head;
        size_t cut = size;
        IOReturn status;

        memcpy(changed, payload, size);
        switch (round % 4) {
        case 0: cut = round % 8 ? (size_t)test_rng_range(&rng, 1, (int64_t)size - 1) : size + 64; break;
        case 1:
            h.main_bytes = test_rng_bool(&rng) ? test_rng_u64(&rng)
                                               : head.main_bytes + (uint64_t)test_rng_range(&rng, 64, 4096);
            break;
        case 2: h.weights_bytes = test_rng_bool(&rng) ? test_rng_u64(&rng) : head.weights_bytes + 64; break;
        default:
            changed[16 + test_rng_range(&rng, 0, (int64_t)head.main_bytes - 1)] ^=
                (uint8_t)(1u << test_rng_range(&rng, 0, 7));
        }
        memcpy(changed, &h, sizeof(h));
        status = gr_create(&client, changed, cut, &token);
        if (round % 4 < 3)
            assert_int_equal(status, kIOReturnBadArgument);
        else if (!status) /* a changed name, say */
            assert_int_equal(iorig_destroy(&client, token), kIOReturnSuccess);
    }
    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_CONTROL, &plain),
                     kIOReturnSuccess);
    assert_int_equal(iorig_create(&plain, payload, size, &token), kIOReturnNotPermitted);
    assert_int_equal(gr_create(&plain, payload, size, &token), kIOReturnNotPermitted);
    IOServiceClose(plain.connect);
    ane_task_release(task);
    free(changed);
    free(payload);
    cc_program_destroy(program);
    gr_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_broadcasts),
        cmocka_unit_test(scalars_stand_in_registers),
        cmocka_unit_test(wide_rows_are_cut),
        cmocka_unit_test(large_batches_are_cut),
        cmocka_unit_test(relu_alone),
        cmocka_unit_test(conv_of_every_size),
        cmocka_unit_test(conv_is_split),
        cmocka_unit_test(linear_of_every_rank),
        cmocka_unit_test(linear_is_split),
        cmocka_unit_test(matmul_with_a_constant),
        cmocka_unit_test(mean_over_any_axes),
        cmocka_unit_test(mean_over_width_has_the_known_form),
        cmocka_unit_test(a_chain_runs),
        cmocka_unit_test(ports_cast),
        cmocka_unit_test(intermediates_share),
        cmocka_unit_test(a_long_chain_is_one_descriptor),
        cmocka_unit_test(many_intermediates_live_together),
        cmocka_unit_test(dead_operations_are_left_out),
        cmocka_unit_test(constants_are_shared),
        cmocka_unit_test(many_constants_are_shared),
        cmocka_unit_test(refusals_name_the_rule),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(fp32_does_not_pass_unchanged),
        cmocka_unit_test(bad_payloads_are_refused),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
