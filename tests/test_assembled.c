/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole operations as the public programs make them, several descriptors each, assembled from text and run on
 * the bare machine: through L2, through streams between descriptors, through the scratch buffer (BAR 3).
 * Results against the mathematics in double precision; each operation says how far off its tables and
 * roundings may leave it.
 *
 * An operation is a row of the table below: the shapes and numbers it is tried with, its activation tables,
 * a function that writes its steps, and one that says what an element should be.
 */
#include "taskrig.h"

#define PRODUCT    "ElementwiseOp=1 Src2Mode=2"
#define DIFFERENCE "Src2Mode=3"
#define LOG2_E     0x3dc5
/* Limits of a tensor that the program writes: the result, or scratch. */
#define EMPTY 1, 0

enum { STEPS = 5, OPERANDS = 4, TABLES = 2, TABLE_BYTES = 128 };

struct wanted {
    double value, tolerance;
};

struct operation {
    const char *name;
    uint64_t stream; /* of random numbers */
    struct {
        uint32_t c, h, least_w, w;
    } most;
    const char *table[TABLES];
    struct {
        unsigned bar;
        double low, high;
    } operand[OPERANDS]; /* the result is the last one */
    unsigned (*steps)(struct step step[STEPS], const struct td_shape *s);
    struct wanted (*want)(const struct tensor *in, size_t i);
};

/*
 * Softmax. x - max is rounded to fp16 and so is log2 e, both in an exponent: the larger the distance, the
 * larger the error, of the element and, weighted, of the sum. All else is five roundings to fp16: three
 * tasks, the exp2 table with its knots, and the reciprocal, which a table makes within one.
 */
static double softmax_tolerance(double y, double distance, double mean_distance)
{
    return y * (5 * ULP + (distance + mean_distance) * (ULP + 2.3e-4)) + 0x1p-20;
}

/* Of `count` elements that are `step` apart from the first. */
static struct wanted softmax(const double *x, size_t i, size_t first, size_t step, size_t count)
{
    double most = -INFINITY, sum = 0, distances = 0, y;

    for (size_t k = 0; k < count; k++)
        most = fmax(most, x[first + k * step]);
    for (size_t k = 0; k < count; k++) {
        double distance = most - x[first + k * step];

        sum += exp(-distance);
        distances += distance * exp(-distance);
    }
    y = exp(x[i] - most) / sum;
    return (struct wanted){y, softmax_tolerance(y, most - x[i], distances / sum)};
}

static struct wanted softmax_w(const struct tensor *in, size_t i)
{
    uint32_t w = in->shape.w;

    return softmax(in->x, i, i / w * w, 1, w);
}

static struct wanted softmax_c(const struct tensor *in, size_t i)
{
    size_t plane = (size_t)in->shape.h * in->shape.w;

    return softmax(in->x, i, i % plane, plane, in->shape.c);
}

/* Rows as groups, one number of each. */
static struct step reduce_rows(const struct td_shape *s, unsigned bar, struct spot dst, const char *pe)
{
    struct step step = step_planar(s, dram(bar, s), dst);

    step.type = REDUCTION;
    step.h = 1, step.groups = s->h;
    step.src.group = td_row(s);
    step.pe = pe;
    return step;
}

/* max; (x - max) log2 e, streamed; exp2 to the scratch buffer; 1 / sum; product. */
static unsigned softmax_w_steps(struct step step[STEPS], const struct td_shape *s)
{
    /* A value for each row and channel: rows 0x10 apart. As the result of a reduction rows are groups. */
    struct spot stats = {.type = IN_L2, .l2_channel = 0x10 * s->h, .l2_row = 0x10, .l2_group = 0x10};

    step[0] = reduce_rows(s, 5, stats, "ReduceOp=2");
    step[0].l2_cfg = "PaddingMode=1";
    step[1] = step_two(s, dram(5, s), stats, streamed, DIFFERENCE);
    step[1].broadcast = "Src2WHDC=1", step[1].scale = LOG2_E;
    step[2] = step_lookup(s, streamed, dram(3, s), 0);
    step[3] = reduce_rows(s, 3, stats, "Function=1");
    step[4] = step_two(s, stats, dram(3, s), dram(4, s), PRODUCT);
    step[4].broadcast = "Src1WHDC=1";
    return 5;
}

/*
 * All in L2: max of the channels, x kept; (x - max) log2 e; exp2 in place; sum by a kernel of ones and its
 * reciprocal by table; product.
 */
static unsigned softmax_c_steps(struct step step[STEPS], const struct td_shape *s)
{
    static char all[64];
    struct td_shape one = {1, 1, s->h, s->w};
    uint32_t at_x = 0, at_e = at_x + l2_bytes(s), at_one = at_e + l2_bytes(s);

    snprintf(all, sizeof(all), "UnicastEn=1 UnicastCin=%u", s->c);
    step[0] = step_neural(s, kept(5, s, at_x), l2(at_one, &one), "OpMode=3 KernelMode=1");
    step[0].cout = 1, step[0].group_cfg = all, step[0].l2_cfg = "PaddingMode=1";
    step[1] = step_two(s, l2(at_x, s), l2(at_one, &one), l2(at_e, s), DIFFERENCE);
    step[1].broadcast = "Src2WHDC=8", step[1].scale = LOG2_E;
    step[2] = step_lookup(s, l2(at_e, s), l2(at_e, s), 0);
    step[2].engines_log2 = 4, step[2].streams = 16;
    step[3] = step_lookup(s, l2(at_e, s), l2(at_one, &one), TABLE_BYTES);
    step[3].cout = 1, step[3].group_cfg = NULL, step[3].mac = "KernelMode=1 NonlinearMode=2";
    step[4] = step_two(s, l2(at_one, &one), l2(at_e, s), dram(4, s), PRODUCT);
    step[4].broadcast = "Src1WHDC=8";
    return 5;
}

/*
 * Layer norm over the width, three planar tasks: mean into row 0 of two rows of numbers, one beside the other
 * for the channels (transposed); 1 / sqrt(var + eps) into row 1; (x - row 0) * row 1.
 */
static unsigned layer_norm_steps(struct step step[STEPS], const struct td_shape *s)
{
    uint32_t row = (2 * s->c + 15) / 16 * 16 + 16, at_x = 2 * row;
    struct spot mean = {.type = IN_L2, .l2_channel = 0x10, .l2_row = row}, factor = mean;

    factor.l2 = row;
    step[0] = step_planar(s, kept(5, s, at_x), mean);
    step[0].type = REDUCTION;
    step[0].broadcast = "OutTranspose=1", step[0].divide = s->w;
    step[1] = step_two(s, mean, l2(at_x, s), factor, "ElementwiseOp=4 Function=2 Src1Subtract=1 Src2Mode=2");
    step[1].type = TWO_REDUCED;
    step[1].broadcast = "Src1WHDC=1 Src1Transpose=1 OutTranspose=1";
    step[1].epsilon = 0x00a8, step[1].divide = s->w;
    step[2] = step_two(s, l2(at_x, s), mean, dram(4, s), DIFFERENCE);
    step[2].type = AFFINE;
    step[2].broadcast = "Src2Transpose=1";
    return 3;
}

/* The mean and the factor are rounded to fp16 before they are used. */
static struct wanted layer_norm(const struct tensor *in, size_t i)
{
    uint32_t w = in->shape.w;
    const double *x = in->x + i / w * w;
    double mean = 0, variance = 0, factor, y;

    for (uint32_t k = 0; k < w; k++)
        mean += x[k] / w;
    for (uint32_t k = 0; k < w; k++)
        variance += (x[k] - mean) * (x[k] - mean) / w;
    factor = 1 / sqrt(variance + 0xa8 * 0x1p-24);
    y = (in->x[i] - mean) * factor;
    return (struct wanted){y, 4 * ULP * (fabs(y) + fabs(mean) * factor) + 0x1p-14};
}

/* x / z: reciprocal table to the scratch buffer, product. */
static unsigned division_steps(struct step step[STEPS], const struct td_shape *s)
{
    step[0] = step_lookup(s, dram(6, s), dram(3, s), 0);
    step[1] = step_two(s, dram(5, s), dram(3, s), dram(4, s), PRODUCT);
    return 2;
}

/* The table is 5e-4 off, its knots, the quotient and the product are rounded. */
static struct wanted division(const struct tensor *in, size_t i)
{
    double y = in[0].x[i] / in[1].x[i];

    return (struct wanted){y, (5e-4 + 3 * ULP) * fabs(y) + 0x1p-20};
}

/* As the older compiler makes it: half tanh(x / 2) by table, streamed; plus 0.5, to scratch; times x. */
static unsigned silu_steps(struct step step[STEPS], const struct td_shape *s)
{
    step[0] = step_lookup(s, dram(5, s), streamed, 0);
    step[1] = step_planar(s, streamed, dram(3, s));
    step[1].bias = 0x3800;
    step[2] = step_two(s, dram(5, s), dram(3, s), dram(4, s), PRODUCT);
    return 3;
}

/*
 * Knots are 1/4 apart and the curve's second derivative is below 0.1: 8e-4 of the factor, and a rounding of
 * each of three numbers.
 */
static struct wanted silu(const struct tensor *in, size_t i)
{
    double x = in->x[i];

    return (struct wanted){x / (1 + exp(-x)), fabs(x) * (8e-4 + 3 * ULP) + 0x1p-14};
}

/* x to the power of z: z and log2 x as alternate channels in L2, their product, exp2. */
static unsigned power_steps(struct step step[STEPS], const struct td_shape *s)
{
    struct td_shape both = {1, 2 * s->c, s->h, s->w};
    struct spot even = l2(0, &both), odd;

    even.l2_channel *= 2;
    odd = even;
    odd.l2 = l2_row(&both);
    step[0] = step_copy(s, dram(6, s), odd);
    step[1] = step_lookup(s, dram(5, s), even, 0);
    step[2] = step_lookup(&both, l2(0, &both), dram(4, s), TABLE_BYTES);
    step[2].cout = s->c;
    step[2].group_cfg = "UnicastEn=1 UnicastCin=2 ElemMultMode=1";
    step[2].mac = "OpMode=2 KernelMode=1 NonlinearMode=2";
    return 3;
}

/*
 * The log2 table and its knots are 4.3e-4 off and log2 x is rounded to fp16; exp2 multiplies that by z ln 2,
 * and has 6e-5 and two roundings of its own.
 */
static struct wanted power(const struct tensor *in, size_t i)
{
    double x = in[0].x[i], z = in[1].x[i], y = pow(x, z);

    return (struct wanted){y, y * (fabs(z) * M_LN2 * (4.3e-4 + ULP * fabs(log2(x))) + 6e-5 + 2 * ULP)};
}

static const struct operation operations[] = {
    {"softmax over W",
     0x7001,
     {4, 12, 1, 100},
     {"exp2"},
     {{5, -6, 6}, {3, EMPTY}, {4, EMPTY}},
     softmax_w_steps,
     softmax_w},
    {"softmax over C",
     0x7002,
     {70, 9, 1, 30},
     {"exp2", "reciprocal"},
     {{5, -6, 6}, {4, EMPTY}},
     softmax_c_steps,
     softmax_c},
    {"layer norm", 0x7003, {40, 1, 8, 300}, {NULL}, {{5, -3, 5}, {4, EMPTY}}, layer_norm_steps, layer_norm},
    {"layer norm where epsilon counts",
     0x700b,
     {40, 1, 8, 300},
     {NULL},
     {{5, -0.006, 0.01}, {4, EMPTY}},
     layer_norm_steps,
     layer_norm},
    {"x / z with z above 0",
     0x7004,
     {9, 12, 1, 90},
     {"reciprocal"},
     {{5, -20, 20}, {6, 0.05, 40}, {3, EMPTY}, {4, EMPTY}},
     division_steps,
     division},
    {"x / z with z below 0",
     0x700c,
     {9, 12, 1, 90},
     {"reciprocal"},
     {{5, -20, 20}, {6, -40, -0.05}, {3, EMPTY}, {4, EMPTY}},
     division_steps,
     division},
    {"silu", 0x7005, {9, 12, 1, 90}, {"half tanh"}, {{5, -12, 12}, {3, EMPTY}, {4, EMPTY}}, silu_steps, silu},
    {"x to the power of z",
     0x7009,
     {40, 6, 1, 40},
     {"log2", "exp2"},
     {{5, 0.1, 6}, {6, -3, 3}, {4, EMPTY}},
     power_steps,
     power},
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void run_once(const struct operation *o, struct test_rng *rng, unsigned rig, const uint8_t *tables)
{
    struct td_shape s = {1, (uint32_t)test_rng_range(rng, 1, o->most.c),
                         (uint32_t)test_rng_range(rng, 1, o->most.h),
                         (uint32_t)test_rng_range(rng, o->most.least_w, o->most.w)};
    struct surface surface[OPERANDS];
    struct tensor t[OPERANDS];
    struct step step[STEPS];
    unsigned operands = 0;

    for (; operands < OPERANDS && o->operand[operands].bar; operands++) {
        t[operands] = tensor(rng, s, o->operand[operands].low, o->operand[operands].high);
        surface[operands] = bind(o->operand[operands].bar, &t[operands]);
    }
    taskrig_run(rig, step, o->steps(step, &s), tables, TABLES * TABLE_BYTES, surface, operands);
    for (size_t i = 0; i < elements(&s); i++) {
        struct wanted want = o->want(t, i);

        expect(o->name, &t[operands - 1], i, want.value, want.tolerance);
    }
    for (unsigned k = 0; k < operands; k++)
        tensor_free(&t[k]);
}

static void operation(void **state)
{
    const struct operation *o = *state;
    uint8_t tables[TABLES * TABLE_BYTES] = {0};
    struct test_rng rng;

    test_rng_init(&rng, o->stream);
    for (unsigned k = 0; k < TABLES && o->table[k]; k++)
        taskrig_table(tables + k * TABLE_BYTES, o->table[k]);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++)
        run_once(o, &rng, round % RIGS, tables);
}

/* cond ? a : b with a condition of bytes, kept in L2 for two tables that make 0 and 1 of it: exact. */
static void selection(void **state)
{
    struct test_rng rng;
    uint8_t tables[TABLES * TABLE_BYTES];

    (void)state;
    test_rng_init(&rng, 0x700a);
    taskrig_table(tables, "x == 0");
    taskrig_table(tables + TABLE_BYTES, "x != 0");
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 6, 8, 90);
        struct tensor a = tensor(&rng, s, -1000, 1000), b = tensor(&rng, s, -1000, 1000),
                      y = tensor(&rng, s, EMPTY);
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
        taskrig_run(round % RIGS,
                    (struct step[]){
                        step_lookup(&s, bytes, l2(at_mask, &s), 0),
                        step_two(&s, l2(at_mask, &s), dram(5, &s), l2(at_b, &s), PRODUCT),
                        step_lookup(&s, again, l2(at_mask, &s), TABLE_BYTES),
                        step_two(&s, l2(at_mask, &s), dram(4, &s), l2(at_a, &s), PRODUCT),
                        step_two(&s, l2(at_a, &s), l2(at_b, &s), dram(6, &s), "Src2Mode=2"),
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
    struct CMUnitTest tests[OPERATIONS + 1] = {[OPERATIONS] = cmocka_unit_test(selection)};

    for (unsigned i = 0; i < OPERATIONS; i++)
        tests[i] = (struct CMUnitTest){.name = operations[i].name,
                                       .test_func = operation,
                                       .initial_state = (void *)(uintptr_t)&operations[i]};
    return cmocka_run_group_tests_name("assembled", tests, NULL, NULL);
}
