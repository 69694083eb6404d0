/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole operations as the public programs make them, several descriptors each, assembled from text and run on the bare machine: through L2, through
 * streams between descriptors, through the scratch buffer (BAR 3). Results against the mathematics in double precision; each operation says
 * how far off its tables and roundings may leave it.
 */
#include "taskrig.h"

#include <math.h>

#define LOOKUP    "OpMode=4 KernelMode=1 NonlinearMode=2"
#define COPY      "OpMode=4 KernelMode=1"
#define DEPTHWISE "UnicastEn=1 UnicastCin=1"
#define ULP       0x1p-11 /* half a unit of halfs, relatively: one rounding */
#define ROUNDS    4

/* A tensor in a buffer of its own, rows on 64-byte boundaries, and its numbers. */
struct tensor {
    struct td_shape shape;
    uint8_t *bytes;
    double *x;
};

static size_t elements(const struct td_shape *s)
{
    return (size_t)s->n * s->c * s->h * s->w;
}

static uint32_t offset(const struct td_shape *s, size_t i)
{
    uint32_t w = (uint32_t)(i % s->w), h = (uint32_t)(i / s->w % s->h),
             c = (uint32_t)(i / s->w / s->h % s->c);

    return td_at(s, (uint32_t)(i / s->w / s->h / s->c), c, h, w);
}

/* Random numbers in [low, high]; or, with high below low, bytes of NaNs for a result. */
static struct tensor tensor(struct test_rng *rng, struct td_shape shape, double low, double high)
{
    struct tensor t = {shape, malloc(td_total(&shape)), malloc(sizeof(double) * elements(&shape))};

    assert_true(t.bytes && t.x);
    memset(t.bytes, 0x7e, td_total(&shape));
    for (size_t i = 0; low <= high && i < elements(&shape); i++) {
        uint16_t half = test_half_from_double(low + (high - low) * test_rng_unit(rng));

        memcpy(t.bytes + offset(&shape, i), &half, 2);
        t.x[i] = test_half_to_double(half);
    }
    return t;
}

static void tensor_free(struct tensor *t)
{
    free(t->bytes);
    free(t->x);
}

static struct surface bind(unsigned bar, const struct tensor *t)
{
    return (struct surface){bar, td_total(&t->shape), t->bytes};
}

static void expect(const char *what, const struct tensor *y, size_t i, double want, double tolerance)
{
    uint16_t half;

    memcpy(&half, y->bytes + offset(&y->shape, i), 2);
    if (!(fabs(test_half_to_double(half) - want) <= tolerance))
        fail_msg("%s [%u, %u, %u, %u], element %zu: %.8g, expected %.8g within %.2g", what, y->shape.n,
                 y->shape.c, y->shape.h, y->shape.w, i, test_half_to_double(half), want, tolerance);
}

/* Where a dense tensor is: in a buffer ... */
static struct spot dram(unsigned bar, const struct td_shape *s)
{
    return (struct spot){
        .type = BY_DMA, .bar = bar, .row = td_row(s), .plane = td_plane(s), .group = td_tensor(s)};
}

/* ... or in L2, channel beside channel in each row, rows 0x20 apart from each other's ends. */
static uint32_t l2_row(const struct td_shape *s)
{
    return (2 * s->w + 15) / 16 * 16;
}

static uint32_t l2_bytes(const struct td_shape *s)
{
    return (l2_row(s) * s->c + 0x20) * s->h;
}

static struct spot l2(uint32_t base, const struct td_shape *s)
{
    return (struct spot){
        .type = IN_L2, .l2 = base, .l2_channel = l2_row(s), .l2_row = l2_row(s) * s->c + 0x20};
}

static struct spot kept(unsigned bar, const struct td_shape *s, uint32_t base)
{
    struct spot spot = dram(bar, s), in = l2(base, s);

    spot.type = KEPT;
    spot.l2 = in.l2, spot.l2_channel = in.l2_channel, spot.l2_row = in.l2_row;
    return spot;
}

static const struct spot streamed = {.type = STREAMED};

static struct td_shape random_shape(struct test_rng *rng, uint32_t c, uint32_t h, uint32_t w)
{
    return (struct td_shape){1, (uint32_t)test_rng_range(rng, 1, c), (uint32_t)test_rng_range(rng, 1, h),
                             (uint32_t)test_rng_range(rng, 1, w)};
}

/*
 * Softmax. x - max is rounded to a half and so is log2 e, both in an exponent: the larger the distance, the larger the error. All else is the exp2 table (6e-5), the
 * reciprocal (5e-4 from its table), and a rounding for each task. Below 2^-14 a MAC loses numbers.
 */
static double softmax_tolerance(double y, double distance)
{
    return y * (10 * ULP + 1.5 * distance * (ULP + 2.3e-4)) + 0x1p-13;
}

static void check_softmax(const char *what, const struct tensor *x, const struct tensor *y,
                          bool over_channels)
{
    const struct td_shape *s = &x->shape;
    size_t step = over_channels ? (size_t)s->h * s->w : 1, count = over_channels ? s->c : s->w;

    for (size_t i = 0; i < elements(s); i++) {
        size_t first = over_channels ? i % step : i / s->w * s->w;
        double most = -INFINITY, sum = 0;

        for (size_t k = 0; k < count; k++)
            most = fmax(most, x->x[first + k * step]);
        for (size_t k = 0; k < count; k++)
            sum += exp(x->x[first + k * step] - most);
        expect(what, y, i, exp(x->x[i] - most) / sum,
               softmax_tolerance(exp(x->x[i] - most) / sum, most - x->x[i]));
    }
}

/* Five tasks, rows as groups: max; (x - max) log2 e, streamed; exp2 to the scratch buffer; 1 / sum; product. */
static void softmax_over_width(void **state)
{
    struct test_rng rng;
    uint8_t table[128];

    (void)state;
    test_rng_init(&rng, 0x7001);
    rig_table(table, "exp2");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 4, 12, 100);
        struct tensor x = tensor(&rng, s, -6, 6), scratch = tensor(&rng, s, 1, 0), y = tensor(&rng, s, 1, 0);
        /* A half for each row and channel: rows 0x10 apart. As the result of a reduction rows are groups. */
        struct spot stats = {.type = IN_L2, .l2_channel = 0x10 * s.h, .l2_row = 0x10, .l2_group = 0x10};
        struct spot by_rows = dram(5, &s), scratch_rows = dram(3, &s);

        by_rows.group = scratch_rows.group = td_row(&s);
        rig_run(round % RIGS,
                (struct step[]){
                    {.type = REDUCTION,
                     .w = s.w,
                     .h = 1,
                     .cin = s.c,
                     .groups = s.h,
                     .src = by_rows,
                     .dst = stats,
                     .pe = "ReduceOp=2",
                     .l2_cfg = "PaddingMode=1"},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(5, &s),
                     .src2 = stats,
                     .dst = streamed,
                     .broadcast = "Src2WHDC=1",
                     .pe = "Src2Mode=3",
                     .scale = 0x3dc5},
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = streamed,
                     .dst = dram(3, &s),
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream_bytes = 0x80},
                    {.type = REDUCTION,
                     .w = s.w,
                     .h = 1,
                     .cin = s.c,
                     .groups = s.h,
                     .src = scratch_rows,
                     .dst = stats,
                     .pe = "Function=1"},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = stats,
                     .src2 = dram(3, &s),
                     .dst = dram(4, &s),
                     .broadcast = "Src1WHDC=1",
                     .pe = "ElementwiseOp=1 Src2Mode=2"},
                },
                5, table, sizeof(table), (struct surface[]){bind(5, &x), bind(3, &scratch), bind(4, &y)}, 3);
        check_softmax("softmax over W", &x, &y, false);
        tensor_free(&x), tensor_free(&scratch), tensor_free(&y);
    }
}

/* Five tasks in L2: max of the channels, x kept; (x - max) log2 e; exp2 in place; sum by a kernel of ones and its reciprocal by table; product. */
static void softmax_over_channels(void **state)
{
    struct test_rng rng;
    uint8_t tables[256];

    (void)state;
    test_rng_init(&rng, 0x7002);
    rig_table(tables, "exp2");
    rig_table(tables + 128, "reciprocal");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 70, 9, 30), one = {1, 1, s.h, s.w};
        struct tensor x = tensor(&rng, s, -6, 6), y = tensor(&rng, s, 1, 0);
        uint32_t at_x = 0, at_e = at_x + l2_bytes(&s), at_one = at_e + l2_bytes(&s);
        char all[64];

        snprintf(all, sizeof(all), "UnicastEn=1 UnicastCin=%u", s.c);
        rig_run(round % RIGS,
                (struct step[]){
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .cout = 1,
                     .src = kept(5, &s, at_x),
                     .dst = l2(at_one, &one),
                     .group_cfg = all,
                     .mac = "OpMode=3 KernelMode=1",
                     .l2_cfg = "PaddingMode=1"},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = l2(at_x, &s),
                     .src2 = l2(at_one, &one),
                     .dst = l2(at_e, &s),
                     .broadcast = "Src2WHDC=8",
                     .pe = "Src2Mode=3",
                     .scale = 0x3dc5},
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = l2(at_e, &s),
                     .dst = l2(at_e, &s),
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .engines_log2 = 4,
                     .streams = 16,
                     .kernel_bar = 1,
                     .stream_bytes = 0x80},
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .cout = 1,
                     .src = l2(at_e, &s),
                     .dst = l2(at_one, &one),
                     .mac = "KernelMode=1 NonlinearMode=2",
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream = 0x80,
                     .stream_bytes = 0x80},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = l2(at_one, &one),
                     .src2 = l2(at_e, &s),
                     .dst = dram(4, &s),
                     .broadcast = "Src1WHDC=8",
                     .pe = "ElementwiseOp=1 Src2Mode=2"},
                },
                5, tables, sizeof(tables), (struct surface[]){bind(5, &x), bind(4, &y)}, 2);
        check_softmax("softmax over C", &x, &y, true);
        tensor_free(&x), tensor_free(&y);
    }
}

/*
 * Layer norm over the width, three planar tasks: mean into row 0 of two rows of numbers, one beside the other for the channels (transposed); 1 / sqrt(var + eps)
 * into row 1; (x - row 0) * row 1. The mean and the factor are rounded to halfs before they are used.
 */
static void layer_norm(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x7003);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = {1, (uint32_t)test_rng_range(&rng, 1, 40), 1,
                             (uint32_t)test_rng_range(&rng, 8, 300)};
        struct tensor x = tensor(&rng, s, -3, 5), y = tensor(&rng, s, 1, 0);
        uint32_t row = (2 * s.c + 15) / 16 * 16 + 16, at_x = 2 * row;
        struct spot mean = {.type = IN_L2, .l2_channel = 0x10, .l2_row = row}, factor = mean;

        factor.l2 = row;
        rig_run(round % RIGS,
                (struct step[]){
                    {.type = REDUCTION,
                     .w = s.w,
                     .h = 1,
                     .cin = s.c,
                     .src = kept(5, &s, at_x),
                     .dst = mean,
                     .broadcast = "OutTranspose=1",
                     .divide = s.w},
                    {.type = TWO_REDUCED,
                     .w = s.w,
                     .h = 1,
                     .cin = s.c,
                     .src = mean,
                     .src2 = l2(at_x, &s),
                     .dst = factor,
                     .broadcast = "Src1WHDC=1 Src1Transpose=1 OutTranspose=1",
                     .pe = "ElementwiseOp=4 Function=2 Src1Subtract=1 Src2Mode=2",
                     .epsilon = 0x00a8,
                     .divide = s.w},
                    {.type = AFFINE,
                     .w = s.w,
                     .h = 1,
                     .cin = s.c,
                     .src = l2(at_x, &s),
                     .src2 = mean,
                     .dst = dram(4, &s),
                     .broadcast = "Src2Transpose=1",
                     .pe = "Src2Mode=3"},
                },
                3, NULL, 0, (struct surface[]){bind(5, &x), bind(4, &y)}, 2);
        for (size_t i = 0; i < elements(&s); i++) {
            const double *in = x.x + i / s.w * s.w;
            double middle = 0, variance = 0, factor_true, want;

            for (uint32_t k = 0; k < s.w; k++)
                middle += in[k] / s.w;
            for (uint32_t k = 0; k < s.w; k++)
                variance += (in[k] - middle) * (in[k] - middle) / s.w;
            factor_true = 1 / sqrt(variance + 1e-5);
            want = (x.x[i] - middle) * factor_true;
            expect("layer norm", &y, i, want, 4 * ULP * (fabs(want) + fabs(middle) * factor_true) + 0x1p-14);
        }
        tensor_free(&x), tensor_free(&y);
    }
}

/* x / z: reciprocal table to the scratch buffer, product. The table is 5e-4 off, its knots, the quotient and the product are rounded. */
static void division(void **state)
{
    struct test_rng rng;
    uint8_t table[128];

    (void)state;
    test_rng_init(&rng, 0x7004);
    rig_table(table, "reciprocal");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 9, 12, 90);
        bool negative = round / RIGS % 2;
        struct tensor x = tensor(&rng, s, -20, 20),
                      z = tensor(&rng, s, negative ? -40 : 0.05, negative ? -0.05 : 40);
        struct tensor scratch = tensor(&rng, s, 1, 0), y = tensor(&rng, s, 1, 0);

        rig_run(round % RIGS,
                (struct step[]){
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(6, &s),
                     .dst = dram(3, &s),
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream_bytes = 0x80},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(5, &s),
                     .src2 = dram(3, &s),
                     .dst = dram(4, &s),
                     .pe = "ElementwiseOp=1 Src2Mode=2"},
                },
                2, table, sizeof(table),
                (struct surface[]){bind(5, &x), bind(6, &z), bind(3, &scratch), bind(4, &y)}, 4);
        for (size_t i = 0; i < elements(&s); i++)
            expect("x / z", &y, i, x.x[i] / z.x[i], (5e-4 + 3 * ULP) * fabs(x.x[i] / z.x[i]) + 0x1p-20);
        tensor_free(&x), tensor_free(&z), tensor_free(&scratch), tensor_free(&y);
    }
}

/*
 * silu as the older compiler makes it: half tanh(x / 2) by table, streamed; plus 0.5, to the scratch buffer; times x. Knots are 1/4 apart and the curve's second derivative
 * is below 0.1: 8e-4 of the factor, and a rounding of each of three numbers.
 */
static void silu(void **state)
{
    struct test_rng rng;
    uint8_t table[128];

    (void)state;
    test_rng_init(&rng, 0x7005);
    rig_table(table, "half tanh");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 9, 12, 90);
        struct tensor x = tensor(&rng, s, -12, 12), scratch = tensor(&rng, s, 1, 0),
                      y = tensor(&rng, s, 1, 0);

        rig_run(round % RIGS,
                (struct step[]){
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(5, &s),
                     .dst = streamed,
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream_bytes = 0x80},
                    {.type = ONE_SOURCE,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = streamed,
                     .dst = dram(3, &s),
                     .bias = 0x3800},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(5, &s),
                     .src2 = dram(3, &s),
                     .dst = dram(4, &s),
                     .pe = "ElementwiseOp=1 Src2Mode=2"},
                },
                3, table, sizeof(table), (struct surface[]){bind(5, &x), bind(3, &scratch), bind(4, &y)}, 3);
        for (size_t i = 0; i < elements(&s); i++)
            expect("silu", &y, i, x.x[i] / (1 + exp(-x.x[i])), fabs(x.x[i]) * (8e-4 + 3 * ULP) + 0x1p-14);
        tensor_free(&x), tensor_free(&scratch), tensor_free(&y);
    }
}

/* Sums in fp32, rounded once: a rounding, a unit of fp32 for each tap, and what a MAC loses below 2^-14. */
static double sum_tolerance(double y, double of_absolutes, uint32_t taps)
{
    return ULP * fabs(y) + taps * (0x1p-24 * of_absolutes + 0x1p-13 * 0x1p-14) + 0x1p-14;
}

/* One record of a zero-skipping stream of a 3x3 kernel with steps of 2: bias, count, a zero byte, masks and halfs; two slots for each position. */
static uint32_t put_record(uint8_t *at, uint16_t bias, const uint16_t weight[9])
{
    static const int order[16] = {0, 2, 6, 8, 1, -1, 7, -1, 3, 5, -1, -1, 4, -1, -1, -1};
    uint32_t n = 0;
    uint8_t *body = at + 5;

    for (unsigned four = 0; four < 16; four += 4) {
        uint8_t *mask = body + n++;

        *mask = 0;
        for (unsigned i = 0; i < 4; i++) {
            int tap = order[four + i];

            if (tap < 0 || !(weight[tap] & 0x7fff))
                continue;
            *mask |= (uint8_t)(1 << 2 * i);
            memcpy(body + n, &weight[tap], 2);
            n += 2;
        }
    }
    memcpy(at, &bias, 2);
    at[2] = (uint8_t)n, at[3] = (uint8_t)(n >> 8), at[4] = 0;
    return 5 + n;
}

static uint16_t random_weight(struct test_rng *rng)
{
    return test_rng_range(rng, 0, 3) ? test_rng_fp16_finite(rng, 1) : 0;
}

/* Depthwise 3x3 with steps of 2, a sparse kernel and bias: engine e has channels e, e + 16, ... back to back. */
static void strided_depthwise(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x7006);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = {1, (uint32_t)test_rng_range(&rng, 16, 50),
                             2 * (uint32_t)test_rng_range(&rng, 1, 8),
                             2 * (uint32_t)test_rng_range(&rng, 1, 20)};
        struct td_shape out = {1, s.c, s.h / 2, s.w / 2}; /* one row and column of padding, below and right */
        struct tensor x = tensor(&rng, s, -2, 2), y = tensor(&rng, out, 1, 0);
        uint8_t streams[16 * 0x100] = {0};
        uint16_t weight[50][9], bias[50];

        for (uint32_t e = 0; e < 16; e++) {
            uint8_t *at = streams + e * 0x100;

            for (uint32_t c = e; c < s.c; c += 16) {
                for (unsigned i = 0; i < 9; i++)
                    weight[c][i] = random_weight(&rng);
                bias[c] = test_rng_fp16_finite(&rng, 1);
                at += put_record(at, bias[c], weight[c]);
            }
        }
        rig_run(round % RIGS,
                (struct step[]){{.w = s.w,
                                 .h = s.h,
                                 .cin = s.c,
                                 .wout = out.w,
                                 .hout = out.h,
                                 .src = dram(5, &s),
                                 .dst = dram(4, &out),
                                 .conv = "Kw=3 Kh=3 Sx=2 Sy=2",
                                 .group_cfg = DEPTHWISE,
                                 .kernel = "KernelFmt=2 SparseFmt=1",
                                 .mac = "BiasMode=1",
                                 .engines_log2 = 4,
                                 .streams = 16,
                                 .kernel_bar = 1,
                                 .stream_step = 0x100,
                                 .stream_bytes = 0x100}},
                1, streams, sizeof(streams), (struct surface[]){bind(5, &x), bind(4, &y)}, 2);
        for (size_t i = 0; i < elements(&out); i++) {
            uint32_t c = (uint32_t)(i / out.w / out.h);
            double want = test_half_to_double(bias[c]), most = fabs(want);

            for (unsigned t = 0; t < 9; t++) {
                size_t row = 2 * (i / out.w % out.h) + t / 3, column = 2 * (i % out.w) + t % 3;
                double product;

                if (row >= s.h || column >= s.w)
                    continue;
                product = x.x[(c * s.h + row) * s.w + column] * test_half_to_double(weight[c][t]);
                want += product;
                most += fabs(product);
            }
            expect("strided depthwise", &y, i, want, sum_tolerance(want, most, 10));
        }
        tensor_free(&x), tensor_free(&y);
    }
}

/* Grouped 3x3, channels of a group by strides: an engine's stream has for each group a plane for each of its channels, the group padded to 64 bytes. */
static void grouped_convolution(void **state)
{
    enum { GROUPS = 3, CIN = 5, MOST = 20, CHUNK = GROUPS * 0x100 };
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x7007);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        uint32_t cout = (uint32_t)test_rng_range(&rng, 1, MOST), planes = (cout + 15) / 16;
        struct td_shape s = {GROUPS, CIN, (uint32_t)test_rng_range(&rng, 1, 9),
                             (uint32_t)test_rng_range(&rng, 1, 30)};
        struct td_shape out = {GROUPS, cout, s.h, s.w};
        struct tensor x = tensor(&rng, s, -2, 2), y = tensor(&rng, out, 1, 0);
        uint32_t group_bytes = (planes * (1 + 9 * CIN) * 2 + 63) / 64 * 64;
        uint8_t *streams = calloc(16, CHUNK);
        static double weight[GROUPS][MOST][CIN * 9], bias[GROUPS][MOST];

        assert_true(streams && group_bytes <= 0x100);
        for (uint32_t i = 0; i < GROUPS * cout; i++) {
            uint32_t g = i / cout, n = i % cout;
            /* The last plane of a group is only in engines that have a channel left for it. */
            uint32_t mine = (cout - n % 16 + 15) / 16, bytes = (mine * (1 + 9 * CIN) * 2 + 63) / 64 * 64;
            uint8_t *plane = streams + n % 16 * CHUNK + g * bytes + n / 16 * (1 + 9 * CIN) * 2;

            for (unsigned r = 0; r <= 9 * CIN; r++) {
                uint16_t half = test_rng_fp16_finite(&rng, 1);

                memcpy(plane + 2 * r, &half, 2);
                *(r ? &weight[g][n][r - 1] : &bias[g][n]) = test_half_to_double(half);
            }
        }
        rig_run(round % RIGS,
                (struct step[]){{.w = s.w,
                                 .h = s.h,
                                 .cin = CIN,
                                 .cout = cout,
                                 .groups = GROUPS,
                                 .src = dram(5, &s),
                                 .dst = dram(4, &out),
                                 .conv = "Kw=3 Kh=3 Sx=1 Sy=1 Px=1 Py=1",
                                 .kernel = "KernelFmt=2",
                                 .mac = "BiasMode=1",
                                 .engines_log2 = 4,
                                 .streams = 16,
                                 .kernel_bar = 1,
                                 .stream_step = CHUNK,
                                 .stream_bytes = CHUNK}},
                1, streams, 16 * CHUNK, (struct surface[]){bind(5, &x), bind(4, &y)}, 2);
        for (size_t i = 0; i < elements(&out); i++) {
            uint32_t n = (uint32_t)(i / out.w / out.h % cout), g = (uint32_t)(i / out.w / out.h / cout);
            double want = bias[g][n], most = fabs(want);

            for (unsigned t = 0; t < CIN * 9; t++) {
                long row = (long)(i / out.w % out.h) + t % 9 / 3 - 1, column = (long)(i % out.w) + t % 3 - 1;
                double product;

                if (row < 0 || column < 0 || row >= (long)s.h || column >= (long)s.w)
                    continue;
                product = x.x[((size_t)(g * CIN + t / 9) * s.h + (size_t)row) * s.w + (size_t)column] *
                          weight[g][n][t];
                want += product;
                most += fabs(product);
            }
            expect("grouped convolution", &y, i, want, sum_tolerance(want, most, 9 * CIN + 1));
        }
        free(streams);
        tensor_free(&x), tensor_free(&y);
    }
}

/* x [M, K] times z [K, N], both inputs: x is staged in the scratch buffer, four of its rows side by side, and is the kernel from there. */
static void runtime_product(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x7008);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        uint32_t engines_log2 = (uint32_t)test_rng_range(&rng, 0, 4), m = 4u << engines_log2;
        uint32_t k = (uint32_t)test_rng_range(&rng, 1, 90), n = (uint32_t)test_rng_range(&rng, 1, 70);
        uint32_t bundle = (8 * k + 63) / 64 * 64;
        struct td_shape xs = {1, m, 1, k}, zs = {1, k, 1, n}, ys = {1, m, 1, n};
        struct tensor x = tensor(&rng, xs, -1, 1), z = tensor(&rng, zs, -1, 1), y = tensor(&rng, ys, 1, 0);
        uint8_t *scratch = malloc(m / 4 * bundle);
        struct spot staged = {.type = BY_DMA, .bar = 3, .row = bundle, .plane = bundle, .interleave = 4};

        assert_non_null(scratch);
        memset(scratch, 0x7e, m / 4 * bundle);
        rig_run(round % RIGS,
                (struct step[]){
                    {.type = ONE_SOURCE, .w = k, .h = 1, .cin = m, .src = dram(6, &xs), .dst = staged},
                    {.w = n,
                     .h = 1,
                     .cin = k,
                     .cout = m,
                     .src = dram(5, &zs),
                     .dst = dram(4, &ys),
                     .header = "TDE=1",
                     .conv = "Kw=1 Kh=1 Sx=1 Sy=1 OCGSize=2",
                     .kernel = "KernelFmt=2 RuntimeKernel=1",
                     .engines_log2 = engines_log2,
                     .streams = m / 4,
                     .kernel_bar = 3,
                     .stream_step = bundle,
                     .stream_bytes = bundle},
                },
                2, NULL, 0,
                (struct surface[]){bind(6, &x), bind(5, &z), {3, m / 4 * bundle, scratch}, bind(4, &y)}, 4);
        for (size_t i = 0; i < elements(&ys); i++) {
            double want = 0, most = 0;

            for (uint32_t r = 0; r < k; r++) {
                double product = x.x[i / n * k + r] * z.x[(size_t)r * n + i % n];

                want += product;
                most += fabs(product);
            }
            expect("runtime product", &y, i, want, sum_tolerance(want, most, k));
        }
        free(scratch);
        tensor_free(&x), tensor_free(&z), tensor_free(&y);
    }
}

/*
 * x to the power of z: z and log2 x side by side as channels in L2, their product, exp2. The log2 table and its knots are 4.3e-4 off and log2 x is rounded to a half;
 * exp2 multiplies that by z ln 2, and has 6e-5 and two roundings of its own.
 */
static void power(void **state)
{
    struct test_rng rng;
    uint8_t tables[256];

    (void)state;
    test_rng_init(&rng, 0x7009);
    rig_table(tables, "log2");
    rig_table(tables + 128, "exp2");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 40, 6, 40), both = {1, 2 * s.c, s.h, s.w};
        struct tensor x = tensor(&rng, s, 0.1, 6), z = tensor(&rng, s, -3, 3), y = tensor(&rng, s, 1, 0);
        struct spot even = l2(0, &both), odd = even;

        even.l2_channel *= 2;
        odd = even;
        odd.l2 = l2_row(&both);
        rig_run(round % RIGS,
                (struct step[]){
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(6, &s),
                     .dst = odd,
                     .group_cfg = DEPTHWISE,
                     .mac = COPY},
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = dram(5, &s),
                     .dst = even,
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream_bytes = 0x80},
                    {.w = s.w,
                     .h = s.h,
                     .cin = 2 * s.c,
                     .cout = s.c,
                     .src = l2(0, &both),
                     .dst = dram(4, &s),
                     .group_cfg = "UnicastEn=1 UnicastCin=2 ElemMultMode=1",
                     .mac = "OpMode=2 KernelMode=1 NonlinearMode=2",
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream = 0x80,
                     .stream_bytes = 0x80},
                },
                3, tables, sizeof(tables), (struct surface[]){bind(5, &x), bind(6, &z), bind(4, &y)}, 3);
        for (size_t i = 0; i < elements(&s); i++) {
            double want = pow(x.x[i], z.x[i]);

            expect("power", &y, i, want,
                   want * (fabs(z.x[i]) * M_LN2 * (4.3e-4 + ULP * fabs(log2(x.x[i]))) + 6e-5 + 2 * ULP));
        }
        tensor_free(&x), tensor_free(&z), tensor_free(&y);
    }
}

/* cond ? a : b with a condition of bytes, kept in L2 for two tables that make 0 and 1 of it: exact. */
static void selection(void **state)
{
    struct test_rng rng;
    uint8_t tables[256];

    (void)state;
    test_rng_init(&rng, 0x700a);
    rig_table(tables, "x == 0");
    rig_table(tables + 128, "x != 0");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 6, 8, 90);
        struct tensor a = tensor(&rng, s, -1000, 1000), b = tensor(&rng, s, -1000, 1000),
                      y = tensor(&rng, s, 1, 0);
        uint32_t pitch = (s.w + 63) / 64 * 64, rows = s.c * s.h, at_mask = l2_bytes(&s),
                 at_b = 2 * l2_bytes(&s), at_a = 3 * l2_bytes(&s);
        uint8_t *cond = malloc((size_t)pitch * rows);
        struct spot bytes = {.type = KEPT, .bar = 7, .row = pitch, .plane = pitch * s.h, .bytes = true},
                    again;

        assert_non_null(cond);
        test_rng_bytes(&rng, cond, (size_t)pitch * rows);
        for (size_t i = 0; i < (size_t)pitch * rows; i++)
            cond[i] = test_rng_bool(&rng) ? cond[i] : 0;
        bytes.l2_channel = (s.w + 15) / 16 * 16;
        bytes.l2_row = bytes.l2_channel * s.c;
        again = bytes;
        again.type = IN_L2;
        rig_run(round % RIGS,
                (struct step[]){
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = bytes,
                     .dst = l2(at_mask, &s),
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream_bytes = 0x80},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = l2(at_mask, &s),
                     .src2 = dram(5, &s),
                     .dst = l2(at_b, &s),
                     .pe = "ElementwiseOp=1 Src2Mode=2"},
                    {.w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = again,
                     .dst = l2(at_mask, &s),
                     .group_cfg = DEPTHWISE,
                     .mac = LOOKUP,
                     .streams = 1,
                     .kernel_bar = 1,
                     .stream = 0x80,
                     .stream_bytes = 0x80},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = l2(at_mask, &s),
                     .src2 = dram(4, &s),
                     .dst = l2(at_a, &s),
                     .pe = "ElementwiseOp=1 Src2Mode=2"},
                    {.type = TWO_SOURCES,
                     .w = s.w,
                     .h = s.h,
                     .cin = s.c,
                     .src = l2(at_a, &s),
                     .src2 = l2(at_b, &s),
                     .dst = dram(6, &s),
                     .pe = "Src2Mode=2"},
                },
                5, tables, sizeof(tables),
                (struct surface[]){{7, pitch * rows, cond}, bind(4, &a), bind(5, &b), bind(6, &y)}, 4);
        for (size_t i = 0; i < elements(&s); i++)
            expect("select", &y, i, cond[i / s.w * pitch + i % s.w] ? a.x[i] : b.x[i], 0);
        free(cond);
        tensor_free(&a), tensor_free(&b), tensor_free(&y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_over_width),
        cmocka_unit_test(softmax_over_channels),
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(division),
        cmocka_unit_test(silu),
        cmocka_unit_test(strided_depthwise),
        cmocka_unit_test(grouped_convolution),
        cmocka_unit_test(runtime_product),
        cmocka_unit_test(power),
        cmocka_unit_test(selection),
    };

    return cmocka_run_group_tests_name("assembled", tests, NULL, NULL);
}
