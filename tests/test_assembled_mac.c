/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products in forms beside the plain one, as the public programs have them: a zero-skipping kernel
 * with steps of 2, groups, a kernel that the program itself has staged. Assembled from text, run on the bare
 * machine, against sums in double precision.
 */
#include "taskrig.h"

static uint32_t policy(unsigned round)
{
    return rigs[round % RIGS].numerics;
}

/* A MAC takes a denormal for 0, but for the policy that follows IEEE. */
static double operand(unsigned round, double value)
{
    return fabs(value) < 0x1p-14 && policy(round) != ANE_NUMERICS_IEEE ? 0 : value;
}

/*
 * Sums in fp32, rounded once: a rounding, a unit of fp32 for each tap, and a result below 2^-14 is lost. The
 * engine's own accumulator (m1-exact) cuts each product to a grid of 2^-17, loses one of 2^-16 whole, and one
 * that is 2^-12 of its neighbours.
 */
static double sum_tolerance(unsigned round, double y, double of_absolutes, uint32_t taps)
{
    bool exact = policy(round) == ANE_NUMERICS_M1_EXACT;

    return ULP * fabs(y) + taps * (0x1p-24 * of_absolutes + (exact ? 0x1p-16 : 0)) +
           (exact ? 0x1p-11 * of_absolutes : 0) + 0x1p-14;
}

/*
 * One record of a zero-skipping stream of a 3x3 kernel with steps of 2: bias, count, a zero byte, masks and
 * fp16 values; two slots for each position.
 */
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

/*
 * Depthwise 3x3 with steps of 2, a sparse kernel and bias: engine e has channels e, e + 16, ... back to back.
 */
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
        taskrig_run(round % RIGS,
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
            double want = operand(round, test_half_to_double(bias[c])), most = fabs(want);

            for (unsigned t = 0; t < 9; t++) {
                size_t row = 2 * (i / out.w % out.h) + t / 3, column = 2 * (i % out.w) + t % 3;
                double product;

                if (row >= s.h || column >= s.w)
                    continue;
                product = operand(round, x.x[(c * s.h + row) * s.w + column]) *
                          operand(round, test_half_to_double(weight[c][t]));
                want += product;
                most += fabs(product);
            }
            expect("strided depthwise", &y, i, want, sum_tolerance(round, want, most, 10));
        }
        tensor_free(&x), tensor_free(&y);
    }
}

/*
 * Grouped 3x3, channels of a group by strides: an engine's stream has for each group a plane for each of its
 * channels, the group padded to 64 bytes.
 */
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
        taskrig_run(round % RIGS,
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
            double want = operand(round, bias[g][n]), most = fabs(want);

            for (unsigned t = 0; t < CIN * 9; t++) {
                long row = (long)(i / out.w % out.h) + t % 9 / 3 - 1, column = (long)(i % out.w) + t % 3 - 1;
                double product;

                if (row < 0 || column < 0 || row >= (long)s.h || column >= (long)s.w)
                    continue;
                product =
                    operand(round,
                            x.x[((size_t)(g * CIN + t / 9) * s.h + (size_t)row) * s.w + (size_t)column]) *
                    operand(round, weight[g][n][t]);
                want += product;
                most += fabs(product);
            }
            expect("grouped convolution", &y, i, want, sum_tolerance(round, want, most, 9 * CIN + 1));
        }
        free(streams);
        tensor_free(&x), tensor_free(&y);
    }
}

/*
 * x [M, K] times z [K, N], both inputs: x is staged in the scratch buffer, four of its
 * rows interleaved, and is the kernel from there.
 */
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
        taskrig_run(round % RIGS,
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
                    (struct surface[]){bind(6, &x), bind(5, &z), {3, m / 4 * bundle, scratch}, bind(4, &y)},
                    4);
        for (size_t i = 0; i < elements(&ys); i++) {
            double want = 0, most = 0;

            for (uint32_t r = 0; r < k; r++) {
                double product =
                    operand(round, x.x[i / n * k + r]) * operand(round, z.x[(size_t)r * n + i % n]);

                want += product;
                most += fabs(product);
            }
            expect("runtime product", &y, i, want, sum_tolerance(round, want, most, k));
        }
        free(scratch);
        tensor_free(&x), tensor_free(&z), tensor_free(&y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strided_depthwise),
        cmocka_unit_test(grouped_convolution),
        cmocka_unit_test(runtime_product),
    };

    return cmocka_run_group_tests_name("assembled_mac", tests, NULL, NULL);
}
