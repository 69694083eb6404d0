/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is published of the engine's sums of products, from MIL text through the runtime to the
 * machine: exact sums, lost and surviving lanes, the ceiling at 2^15, flushed denormals, and the
 * relative errors of matrix products and convolutions. Most rows hold under m1 and m1-exact
 * alike; where only the engine's own accumulator shows a figure, m1 must show that of a plain
 * fp32 sum (ANEMONE_NUMERICS says which policy runs).
 */
#include "probe.h"

#include <math.h>

#include "base/error.h"
#include "graphrig.h"

static const struct probe_shape none = {NULL, 0}, one = {"[1, 1]", 1};

/* x [rows, depth] times the weights [outputs, depth] that probe_weights has written. */
static void linear(unsigned rows, unsigned depth, unsigned outputs, const uint16_t *x, uint16_t *y)
{
    char in[32], out[32], call[256];

    snprintf(in, sizeof(in), "[%u, %u]", rows, depth);
    snprintf(out, sizeof(out), "[%u, %u]", rows, outputs);
    snprintf(call, sizeof(call), "linear(x = x, weight = tensor<fp16, [%u, %u]>(" PROBE_WEIGHTS "))", outputs,
             depth);
    probe_call(call, (struct probe_shape){in, (size_t)rows * depth}, x, none, NULL,
               (struct probe_shape){out, (size_t)rows * outputs}, y);
}

/* The dot product of k fp16 values: as a layer with constant weights, or as a product of two inputs. */
static uint16_t dot(unsigned k, const uint16_t *x, const uint16_t *w, bool constant)
{
    char row[32], column[32];
    uint16_t y;

    if (constant) {
        probe_weights(w, k);
        linear(1, k, 1, x, &y);
    } else {
        snprintf(row, sizeof(row), "[1, %u]", k);
        snprintf(column, sizeof(column), "[%u, 1]", k);
        probe_call("matmul(x = x, y = b)", (struct probe_shape){row, k}, x, (struct probe_shape){column, k},
                   w, one, &y);
    }
    return y;
}

static void fill(uint16_t *halfs, unsigned count, double value)
{
    for (unsigned i = 0; i < count; i++)
        halfs[i] = test_half_from_double(value);
}

/* Dots the vector with ones both ways. */
static void expect_sum(const char *what, unsigned k, const uint16_t *x, double sum)
{
    static uint16_t ones[16384];

    fill(ones, k, 1);
    for (unsigned constant = 0; constant < 2; constant++) {
        uint16_t y = dot(k, x, ones, constant);

        if (y != test_half_from_double(sum))
            fail_msg("%s, K = %u, %s weights: %g, published is %g", what, k,
                     constant ? "constant" : "runtime", test_half_to_double(y), sum);
    }
}

static void ones_are_counted(void **state)
{
    static uint16_t x[16384];

    (void)state;
    fill(x, 16384, 1);
    expect_sum("ones", 16000, x, 16000);
    expect_sum("ones", 16384, x, 16384);
}

/* Ones beside 4096 in a group of four lanes are lost: three of them here, and what is left rounds to 5116. */
static void a_large_lane_hides_small_ones(void **state)
{
    static uint16_t x[1025];

    (void)state;
    fill(x, 1025, 1);
    x[0] = test_half_from_double(4096);
    expect_sum("4096 and 1024 ones", 1025, x, probe_exact() ? 5116 : 5120);
}

static void survivors(void **state)
{
    static const struct {
        double b, sum;
    } known[] = {{1024, 16}, {3000, 16}, {4000, 16}, {4090, 16},
                 {4096, 4},  {8000, 4},  {16000, 4}, {30000, 4}};

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (unsigned last = 0; last < 2; last++) {
            uint16_t x[48];

            for (unsigned k = 0; k < 48; k += 3) {
                x[k] = test_half_from_double(known[i].b);
                x[k + 1 + last] = test_half_from_double(-known[i].b);
                x[k + 2 - last] = test_half_from_double(1);
            }
            expect_sum(last ? "16 x [B, 1, -B]" : "16 x [B, -B, 1]", 48, x,
                       probe_exact() ? known[i].sum : 16);
        }
}

/*
 * Terms whose sum is at or below the ceiling, or whose partial sums are not. The guide has the ceiling for K
 * = 1 too, and has none for a 1x1 convolution of one channel, which is the same task: here the second holds
 * (see below), so K is 2 and more.
 */
static void sums_have_a_ceiling(void **state)
{
    static const struct {
        const char *what;
        double x[4], sum;
    } known[] = {
        {"32752 passes", {32752, 0, 0, 0}, 32752},
        {"32768 is infinite", {32768, 0, 0, 0}, INFINITY},
        {"-32752 passes", {0, -32752, 0, 0}, -32752},
        {"-32768 is infinite", {0, -32768, 0, 0}, -INFINITY},
        {"32752 in two terms", {16384, 16368, 0, 0}, 32752},
        {"32768 in two terms", {16384, 16384, 0, 0}, INFINITY},
        {"65504 is infinite", {65504, 0, 0, 0}, INFINITY},
        {"a partial sum above 2^15", {30000, 30000, -30000, 0}, INFINITY},
        {"a partial sum below -2^15", {-30000, -30000, 30000, 0}, -INFINITY},
        {"inf - inf", {INFINITY, -INFINITY, 0, 0}, 0},
    };
    static const unsigned depth[] = {2, 4, 64};

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (unsigned d = 0; d < 3; d++) {
            uint16_t x[64] = {0};

            if (depth[d] == 2 && (known[i].x[2] != 0 || known[i].x[3] != 0))
                continue;
            for (unsigned k = 0; k < 4 && k < depth[d]; k++)
                x[k] = test_half_from_double(known[i].x[k]);
            expect_sum(known[i].what, depth[d], x, known[i].sum);
        }
}

/* 0 * inf inside a sum. */
static void indeterminate_products_are_zero(void **state)
{
    static const uint16_t x[2] = {INF, 0}, w[2] = {0, 0x3c00};

    (void)state;
    assert_int_equal(dot(2, x, w, false), 0);
    assert_int_equal(dot(2, x, w, true), 0);
}

/* Two channels accumulate and have the ceiling; one channel with one tap does not accumulate. */
static void convolutions_have_it_from_two_taps(void **state)
{
    static const struct {
        const char *call, *in, *out;
        unsigned channels;
        double x, y;
    } known[] = {
        {"conv(x = x, weight = tensor<fp16, [1, 1, 1, 1]>([1]))", "[1, 1, 2, 3]", "[1, 1, 2, 3]", 1, 60000,
         60000},
        {"conv(x = x, weight = tensor<fp16, [1, 1, 1, 1]>([1]))", "[1, 1, 2, 3]", "[1, 1, 2, 3]", 1, -65504,
         -65504},
        {"conv(x = x, weight = tensor<fp16, [1, 2, 1, 1]>([1, 1]))", "[1, 2, 2, 3]", "[1, 1, 2, 3]", 2, 16368,
         32736},
        {"conv(x = x, weight = tensor<fp16, [1, 2, 1, 1]>([1, 1]))", "[1, 2, 2, 3]", "[1, 1, 2, 3]", 2, 16384,
         INFINITY},
        {"conv(x = x, weight = tensor<fp16, [1, 2, 1, 1]>([1, 0]))", "[1, 2, 2, 3]", "[1, 1, 2, 3]", 2, 60000,
         INFINITY},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint16_t x[12], y[6];

        fill(x, 12, known[i].x);
        probe_call(known[i].call, (struct probe_shape){known[i].in, 6 * known[i].channels}, x, none, NULL,
                   (struct probe_shape){known[i].out, 6}, y);
        for (unsigned k = 0; k < 6; k++)
            if (y[k] != test_half_from_double(known[i].y))
                fail_msg("%s of %g gives %g, published is %g", known[i].call, known[i].x,
                         test_half_to_double(y[k]), known[i].y);
    }
}

static void other_paths_keep_the_range(void **state)
{
    static const struct probe_shape pair = {"[2]", 2}, single = {"[1]", 1};
    static const struct {
        double x[2], sum;
    } known[] = {
        {{32768, 16384}, 49152}, {{32768, 32736}, 65504}, {{65504, 8}, 65504}, {{65504, 32}, INFINITY}};
    static const double products[][3] = {
        {256, 255, 65280}, {256, 256, INFINITY}, {32768, 1, 32768}, {-32768, 1.5, -49152}, {65504, 1, 65504}};

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint16_t x[2] = {test_half_from_double(known[i].x[0]), test_half_from_double(known[i].x[1])}, y;

        probe_call("reduce_sum(x = x, axes = tensor<int32, [1]>([0]), keep_dims = bool(true))", pair, x, none,
                   NULL, single, &y);
        if (y != test_half_from_double(known[i].sum))
            fail_msg("reduce_sum of %g and %g is %g", known[i].x[0], known[i].x[1], test_half_to_double(y));
    }
    for (unsigned i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
        uint16_t x = test_half_from_double(products[i][0]), b = test_half_from_double(products[i][1]), y;

        probe_call("mul(x = x, y = b)", single, &x, single, &b, single, &y);
        if (y != test_half_from_double(products[i][2]))
            fail_msg("%g * %g is %g", products[i][0], products[i][1], test_half_to_double(y));
    }
}

/* A pair of denormals whose sum is a denormal too: nothing is left of it. */
static void denormals_are_flushed(void **state)
{
    static const uint16_t pairs[][2] = {{0x0001, 0x0001}, {0x0001, 0x03fe}, {0x0100, 0x0100},
                                        {0x8001, 0x8001}, {0x01ff, 0x0200}, {0x8200, 0x0100}};

    (void)state;
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        expect_sum("a pair of denormals", 2, pairs[i], 0);
}

/* A row gives the same bytes alone and at every position of a batch. */
static void batches_do_not_matter(void **state)
{
    enum { K = 300, N = 20, MOST = 128 };
    static const unsigned sizes[] = {1, 2, 8, 16, 32, 128};
    static uint16_t w[N * K], x[MOST * K], y[MOST * N], alone[N];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5001);
    for (unsigned i = 0; i < N * K; i++)
        w[i] = test_rng_fp16_finite(&rng, 1);
    for (unsigned i = 0; i < MOST * K; i++)
        x[i] = i < K ? test_rng_fp16_finite(&rng, 1) : x[i - K];
    probe_weights(w, N * K);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        linear(sizes[i], K, N, x, y);
        if (!i)
            memcpy(alone, y, sizeof(alone));
        for (unsigned m = 0; m < sizes[i]; m++)
            assert_memory_equal(y + m * N, alone, sizeof(alone));
    }
}

/*
 * Normal numbers, always the same ones: what is measured with them has a
 * tolerance, which must not depend on a run's seed.
 */
static double normal(struct test_rng *rng)
{
    double u = 1 - test_rng_unit(rng), v = test_rng_unit(rng);

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void fixed_rng(struct test_rng *rng, uint64_t number)
{
    for (unsigned i = 0; i < 4; i++)
        rng->s[i] = test_splitmix64(&number);
}

/*
 * About 31 percent of the elements differ between (a + b) + c and a + (b + c), by a unit in the last place.
 * The numbers are not published; the largest difference, 2^-7, is an fp16 unit in [8, 16), which sums of
 * three normal numbers just reach.
 */
static void order_of_additions_matters(void **state)
{
    enum { COUNT = 16384 };
    static uint16_t a[COUNT], b[COUNT], c[COUNT], left[COUNT], right[COUNT];
    struct probe_port port[4] = {
        {"a", COUNT, a, NULL}, {"b", COUNT, b, NULL}, {"c", COUNT, c, NULL}, {"y", COUNT, NULL, left}};
    static const char *const text[2] = {
        "program(1.3)\n{func main<ios18>(tensor<fp16, [16384]> a, tensor<fp16, [16384]> b, tensor<fp16, [16384]> c) {"
        "tensor<fp16, [16384]> s = add(x = a, y = b); tensor<fp16, [16384]> y = add(x = s, y = c);} -> (y);}",
        "program(1.3)\n{func main<ios18>(tensor<fp16, [16384]> a, tensor<fp16, [16384]> b, tensor<fp16, [16384]> c) {"
        "tensor<fp16, [16384]> s = add(x = b, y = c); tensor<fp16, [16384]> y = add(x = a, y = s);} -> (y);}"};
    struct test_rng rng;
    unsigned differ = 0;

    (void)state;
    fixed_rng(&rng, 1);
    for (unsigned i = 0; i < COUNT; i++) {
        a[i] = test_half_from_double(normal(&rng));
        b[i] = test_half_from_double(normal(&rng));
        c[i] = test_half_from_double(normal(&rng));
    }
    probe_program(text[0], port, 4);
    port[3].out = right;
    probe_program(text[1], port, 4);
    for (unsigned i = 0; i < COUNT; i++)
        differ += left[i] != right[i];
    print_message("# %.1f percent differ\n", 100.0 * differ / COUNT);
    assert_true(differ > 0.26 * COUNT && differ < 0.36 * COUNT);
}

/*
 * The ten published errors: L2 of the result's error over L2 of the result, against fp64 of the operands
 * before they were rounded to fp16. GEMM: x and W are N(0, 1) / sqrt(K); convolution 3x3: x is N(0, 1), w is
 * N(0, 1) * sqrt(2 / 9C), C input channels. Each must be met within 5 percent. The counts of outputs keep the
 * noise of the measurement well below that; sanitized builds make fewer and allow 15 percent.
 */
struct layer {
    /* GEMM: x is rows x depth. Convolution: depth is C, rows the side of the result. */
    unsigned rows, depth, outputs;
    float *x, *w;
    uint16_t *half_x, *half_w, *y;
};

static void layer_open(struct layer *l, size_t xs, size_t ws, size_t ys, double x_scale, double w_scale)
{
    struct test_rng rng;

    fixed_rng(&rng, l->depth);
    l->x = malloc(4 * xs), l->w = malloc(4 * ws);
    l->half_x = malloc(2 * xs), l->half_w = malloc(2 * ws), l->y = malloc(2 * ys);
    assert_true(l->x && l->w && l->half_x && l->half_w && l->y);
    for (size_t i = 0; i < xs; i++)
        l->half_x[i] = test_half_from_double(l->x[i] = (float)(x_scale * normal(&rng)));
    for (size_t i = 0; i < ws; i++)
        l->half_w[i] = test_half_from_double(l->w[i] = (float)(w_scale * normal(&rng)));
    probe_weights(l->half_w, ws);
}

static void layer_close(struct layer *l)
{
    free(l->x), free(l->w), free(l->half_x), free(l->half_w), free(l->y);
}

struct error {
    double wrong, right;
};

static void error_add(struct error *e, uint16_t got, double expected)
{
    double off = test_half_to_double(got) - expected;

    e->wrong += off * off;
    e->right += expected * expected;
}

static double gemm_error(unsigned depth, unsigned rows, unsigned outputs)
{
    struct layer l = {.rows = rows, .depth = depth, .outputs = outputs};
    struct error e = {0, 0};

    layer_open(&l, (size_t)rows * depth, (size_t)outputs * depth, (size_t)rows * outputs, 1 / sqrt(depth),
               1 / sqrt(depth));
    linear(rows, depth, outputs, l.half_x, l.y);
    for (unsigned m = 0; m < rows; m++)
        for (unsigned n = 0; n < outputs; n++) {
            double sum = 0;

            for (unsigned k = 0; k < depth; k++)
                sum += (double)l.x[(size_t)m * depth + k] * l.w[(size_t)n * depth + k];
            error_add(&e, l.y[m * outputs + n], sum);
        }
    layer_close(&l);
    return sqrt(e.wrong / e.right);
}

static double conv_sum(const struct layer *l, unsigned n, unsigned row, unsigned column)
{
    unsigned side = l->rows + 2;
    double sum = 0;

    for (unsigned c = 0; c < l->depth; c++)
        for (unsigned t = 0; t < 9; t++)
            sum += (double)l->x[((size_t)c * side + row + t / 3) * side + column + t % 3] *
                   l->w[((size_t)n * l->depth + c) * 9 + t];
    return sum;
}

static double conv_error(unsigned channels, unsigned side, unsigned outputs)
{
    struct layer l = {.rows = side, .depth = channels, .outputs = outputs};
    size_t xs = (size_t)channels * (side + 2) * (side + 2), ys = (size_t)outputs * side * side;
    struct error e = {0, 0};
    char in[48], out[48], call[256];

    layer_open(&l, xs, (size_t)outputs * channels * 9, ys, 1, sqrt(2 / (9.0 * channels)));
    snprintf(in, sizeof(in), "[1, %u, %u, %u]", channels, side + 2, side + 2);
    snprintf(out, sizeof(out), "[1, %u, %u, %u]", outputs, side, side);
    snprintf(call, sizeof(call), "conv(x = x, weight = tensor<fp16, [%u, %u, 3, 3]>(" PROBE_WEIGHTS "))",
             outputs, channels);
    probe_call(call, (struct probe_shape){in, xs}, l.half_x, none, NULL, (struct probe_shape){out, ys}, l.y);
    for (unsigned n = 0; n < outputs; n++)
        for (unsigned i = 0; i < side * side; i++)
            error_add(&e, l.y[n * side * side + i], conv_sum(&l, n, i / side, i % side));
    layer_close(&l);
    return sqrt(e.wrong / e.right);
}

/*
 * What an fp32 sum leaves of the error. Two operands and a result are rounded to fp16: sqrt(3) times
 * 2.07e-4, which devices show for one rounding. And what is below 2^-14 is lost in a MAC, as
 * published: of normal numbers with deviation s that is a part of 2 / (3 sqrt(2 pi)) * (2^-14 / s)^3
 * of the square, for each operand and the result.
 */
static double plain_error(double x_scale, double w_scale, double taps)
{
    double y_scale = x_scale * w_scale * sqrt(taps);
    double lost = pow(0x1p-14 / x_scale, 3) + pow(0x1p-14 / w_scale, 3) + pow(0x1p-14 / y_scale, 3);

    return sqrt(3 * 2.07e-4 * 2.07e-4 + 2 / (3 * sqrt(2 * M_PI)) * lost);
}

#define ERROR_TOLERANCE (PROBE_SANITIZED ? 0.15 : 0.05)

static void expect_error(const char *what, unsigned depth, double got, double expected)
{
    print_message("# %s %u: %.4g, expected %.4g (%+.1f percent)\n", what, depth, got, expected,
                  100 * (got / expected - 1));
    if (!(fabs(got / expected - 1) <= ERROR_TOLERANCE))
        fail_msg("%s %u: a relative error of %.4g, expected is %.4g", what, depth, got, expected);
}

static void errors_of_products(void **state)
{
    static const struct {
        unsigned depth;
        double error;
    } known[] = {{256, 1.252e-3},  {512, 2.578e-3},  {1024, 5.528e-3},
                 {2048, 1.213e-2}, {4096, 2.724e-2}, {8192, 6.303e-2}};

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        expect_error("GEMM K", known[i].depth,
                     gemm_error(known[i].depth, PROBE_SANITIZED ? 16 : 96, PROBE_SANITIZED ? 32 : 128),
                     probe_exact()
                         ? known[i].error
                         : plain_error(1 / sqrt(known[i].depth), 1 / sqrt(known[i].depth), known[i].depth));
}

static void errors_of_convolutions(void **state)
{
    static const struct {
        unsigned channels;
        double error;
    } known[] = {{64, 3.672e-4}, {128, 3.752e-4}, {256, 3.901e-4}, {512, 4.191e-4}};

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        expect_error("conv 3x3 C", known[i].channels,
                     conv_error(known[i].channels, PROBE_SANITIZED ? 4 : 10, PROBE_SANITIZED ? 16 : 64),
                     probe_exact()
                         ? known[i].error
                         : plain_error(1, sqrt(2 / (9.0 * known[i].channels)), 9 * known[i].channels));
}

/* A program that has all kinds of work in it: products of both kinds, a convolution, tables, reductions. */
static const char chain[] =
    "program(1.3)\n{func main<ios18>(tensor<fp16, [1, 8, 12, 16]> x) {\n"
    "tensor<fp16, [8, 8, 3, 3]> w = const()[val = tensor<fp16, [8, 8, 3, 3]>(" PROBE_WEIGHTS ")];\n"
    "tensor<fp16, [1, 8, 12, 16]> c = conv(x = x, weight = w, pad_type = string(\"same\"));\n"
    "tensor<fp16, [1, 8, 12, 16]> g = gelu(x = c);\n"
    "tensor<fp16, [1, 8, 12, 12]> s = matmul(x = g, y = x, transpose_y = bool(true));\n"
    "tensor<fp16, [1, 8, 12, 12]> p = softmax(x = s, axis = int32(-1));\n"
    "tensor<fp16, [1, 8, 12, 16]> m = matmul(x = p, y = g);\n"
    "tensor<fp16, [1, 8, 12, 16]> y = layer_norm(x = m, axes = tensor<int32, [1]>([3]), epsilon = "
    "fp16(0.001));\n} -> (y);}";
enum { CHAIN_BYTES = 8 * 12 * 64 }; /* rows of 16 halfs stand on 64-byte boundaries */

static void run_on(uint32_t threads, const uint8_t *payload, size_t size, uint32_t in, uint32_t out)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .threads = threads};
    struct ane_program_prepare prepare;
    struct ane_request_reply reply = {0};
    uint32_t surfaces[2] = {in, out};
    struct ane_machine *machine;
    struct iorig_client client;
    uint64_t token;

    config.numerics = (uint32_t)ane_numerics_named(getenv("ANEMONE_NUMERICS"));
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &client),
                     kIOReturnSuccess);
    assert_int_equal(gr_create(&client, payload, size, &token), kIOReturnSuccess);
    assert_int_equal(iorig_prepare(&client, token, &prepare), kIOReturnSuccess);
    for (uint64_t i = 1; i <= 2; i++) {
        static uint8_t first[CHAIN_BYTES];

        memset(ane_surface_base(out), 0x7e, CHAIN_BYTES);
        assert_int_equal(iorig_request(&client, token, i, 5, surfaces, 1, 1, &reply), kIOReturnSuccess);
        if (i == 1)
            memcpy(first, ane_surface_base(out), CHAIN_BYTES);
        assert_memory_equal(first, ane_surface_base(out), CHAIN_BYTES);
    }
    assert_int_equal(iorig_unprepare(&client, token), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&client, token), kIOReturnSuccess);
    IOServiceClose(client.connect);
    ane_machine_destroy(machine);
}

/* The same bytes again, on another machine, from another compilation, with one thread and with two. */
static void results_are_reproducible(void **state)
{
    static uint8_t first[CHAIN_BYTES];
    uint16_t weights[8 * 8 * 9], *x;
    uint32_t in, out;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5002);
    for (unsigned i = 0; i < 8 * 8 * 9; i++)
        weights[i] = test_rng_fp16_finite(&rng, 1);
    probe_weights(weights, 8 * 8 * 9);
    assert_int_equal(ane_surface_create(0, CHAIN_BYTES, &in), 0);
    assert_int_equal(ane_surface_create(0, CHAIN_BYTES, &out), 0);
    x = ane_surface_base(in);
    for (unsigned i = 0; i < CHAIN_BYTES / 2; i++)
        x[i] = test_rng_fp16_finite(&rng, 2);
    for (unsigned i = 0; i < 4; i++) {
        struct gr g = {0};
        struct base_error error;
        struct cc_program *program;
        uint8_t *payload;
        size_t size;

        if (cc_mil_read(chain, strlen(chain), folder_name(), &g.graph, &error))
            fail_msg("%s", error.text);
        program = gr_lower(&g);
        payload = gr_payload(program, &size);
        run_on(1 + i % 2, payload, size, in, out);
        if (!i)
            memcpy(first, ane_surface_base(out), CHAIN_BYTES);
        assert_memory_equal(first, ane_surface_base(out), CHAIN_BYTES);
        free(payload);
        cc_program_destroy(program);
        gr_close(&g);
    }
    ane_surface_release(in);
    ane_surface_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ones_are_counted),
        cmocka_unit_test(a_large_lane_hides_small_ones),
        cmocka_unit_test(survivors),
        cmocka_unit_test(sums_have_a_ceiling),
        cmocka_unit_test(indeterminate_products_are_zero),
        cmocka_unit_test(convolutions_have_it_from_two_taps),
        cmocka_unit_test(other_paths_keep_the_range),
        cmocka_unit_test(denormals_are_flushed),
        cmocka_unit_test(batches_do_not_matter),
        cmocka_unit_test(order_of_additions_matters),
        cmocka_unit_test(errors_of_products),
        cmocka_unit_test(errors_of_convolutions),
        cmocka_unit_test(results_are_reproducible),
    };

    probe_policy_default();
    setenv("ANEMONE_THREADS", "2", 0);
    return cmocka_run_group_tests_name("probes_sums", tests, NULL, NULL);
}
