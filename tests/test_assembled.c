/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole operations as the public programs make them, several descriptors each, assembled from text
 * and run on the bare machine: through L2, through streams between descriptors, through the
 * scratch buffer (BAR 3). Results against the mathematics in double precision; each operation says
 * how far off its tables and roundings may leave it.
 */
#include "taskrig.h"

/*
 * Softmax. x - max is rounded to fp16 and so is log2 e, both in an exponent: the larger the distance, the
 * larger the error, of the element and, weighted, of the sum. All else is five roundings to fp16: three
 * tasks, the exp2 table with its knots, and the reciprocal, which a table makes within one.
 */
static double softmax_tolerance(double y, double distance, double mean_distance)
{
    return y * (5 * ULP + (distance + mean_distance) * (ULP + 2.3e-4)) + 0x1p-20;
}

static void check_softmax(const char *what, const struct tensor *x, const struct tensor *y,
                          bool over_channels)
{
    const struct td_shape *s = &x->shape;
    size_t step = over_channels ? (size_t)s->h * s->w : 1, count = over_channels ? s->c : s->w;

    for (size_t i = 0; i < elements(s); i++) {
        size_t first = over_channels ? i % step : i / s->w * s->w;
        double most = -INFINITY, sum = 0, distances = 0;

        for (size_t k = 0; k < count; k++)
            most = fmax(most, x->x[first + k * step]);
        for (size_t k = 0; k < count; k++) {
            double distance = most - x->x[first + k * step];

            sum += exp(-distance);
            distances += distance * exp(-distance);
        }
        expect(what, y, i, exp(x->x[i] - most) / sum,
               softmax_tolerance(exp(x->x[i] - most) / sum, most - x->x[i], distances / sum));
    }
}

/*
 * Five tasks, rows as groups: max; (x - max) log2 e, streamed; exp2 to the scratch buffer; 1 / sum; product.
 */
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

/*
 * Five tasks in L2: max of the channels, x kept; (x - max) log2 e; exp2 in place; sum by a kernel of ones and
 * its reciprocal by table; product.
 */
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
 * Layer norm over the width, three planar tasks: mean into row 0 of two rows of numbers, one beside the other
 * for the channels (transposed); 1 / sqrt(var + eps) into row 1; (x - row 0) * row 1. The mean and the factor
 * are rounded to fp16 before they are used.
 */
static void layer_norm(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x7003);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = {1, (uint32_t)test_rng_range(&rng, 1, 40), 1,
                             (uint32_t)test_rng_range(&rng, 8, 300)};
        double scale = round / RIGS % 2 ? 0.002 : 1; /* small numbers, so that epsilon counts */
        struct tensor x = tensor(&rng, s, -3 * scale, 5 * scale), y = tensor(&rng, s, 1, 0);
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
            factor_true = 1 / sqrt(variance + 0xa8 * 0x1p-24);
            want = (x.x[i] - middle) * factor_true;
            expect("layer norm", &y, i, want, 4 * ULP * (fabs(want) + fabs(middle) * factor_true) + 0x1p-14);
        }
        tensor_free(&x), tensor_free(&y);
    }
}

/*
 * x / z: reciprocal table to the scratch buffer, product. The table is 5e-4 off, its
 * knots, the quotient and the product are rounded.
 */
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
 * silu as the older compiler makes it: half tanh(x / 2) by table, streamed; plus 0.5, to the scratch buffer;
 * times x. Knots are 1/4 apart and the curve's second derivative is below 0.1: 8e-4 of the factor, and a
 * rounding of each of three numbers.
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

/*
 * x to the power of z: z and log2 x contiguous as channels in L2, their product, exp2. The log2
 * table and its knots are 4.3e-4 off and log2 x is rounded to fp16; exp2 multiplies that by z ln
 * 2, and has 6e-5 and two roundings of its own.
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
        cmocka_unit_test(power),
        cmocka_unit_test(selection),
    };

    return cmocka_run_group_tests_name("assembled", tests, NULL, NULL);
}
