/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seven public programs that Apple's compiler wrote, through machine.h alone: a bare driver loads
 * them, page tables in all three forms on both boards. Their published results; the weights they carry;
 * and, for the matrix product and the convolution, weights of the test's own, written into the
 * constants in DRAM by the published packing rule.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"

static const struct setting {
    const char *name;
    uint32_t chip, form, numerics;
} settings[] = {
    {"t6000, seed leaves, m1", ANE_CHIP_T6000, ANE_PAGE_TABLE_SEED, ANE_NUMERICS_M1},
    {"t6000, its own leaves, ieee", ANE_CHIP_T6000, ANE_PAGE_TABLE_T6000, ANE_NUMERICS_IEEE},
    {"t6000, t8020 leaves, m1", ANE_CHIP_T6000, ANE_PAGE_TABLE_T8020, ANE_NUMERICS_M1},
    {"t8103, t8020 leaves, m1", ANE_CHIP_T8103, ANE_PAGE_TABLE_T8020, ANE_NUMERICS_M1},
    {"t8103, seed leaves, ieee", ANE_CHIP_T8103, ANE_PAGE_TABLE_SEED, ANE_NUMERICS_IEEE},
    {"t8103, t6000 leaves, m1", ANE_CHIP_T8103, ANE_PAGE_TABLE_T6000, ANE_NUMERICS_M1},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* A surface: its buffer register, its elements, and the bytes from one to the next. */
struct port {
    uint32_t bar, count, pitch;
};

/* As the files' own tensor descriptors state them. */
static const struct program {
    const char *name;
    struct port in[2], out;
} sum = {"sum.hwx", {{6, 64, 64}, {5, 64, 64}}, {4, 64, 64}}, relu = {"relu.hwx", {{5, 77, 2}}, {4, 77, 2}},
  sigmoid = {"sigmoid.hwx", {{5, 77, 2}}, {4, 77, 2}},
  concat = {"concat.hwx", {{6, 16384, 64}, {5, 16, 64}}, {4, 16400, 64}},
  conv = {"conv.hwx", {{5, 3, 64}}, {4, 3, 64}}, golden = {"golden.hwx", {{5, 3, 64}}, {4, 3, 64}},
  gemm = {"gemm.hwx", {{5, 512, 64}}, {4, 512, 64}};

enum { MOST = 16400, POOL_PAGES = 1000 };

/* A program on a machine of its own, its surfaces bound. */
struct loaded {
    const struct program *program;
    uint8_t *file;
    struct ane_machine *machine;
    struct bare bare;
    struct bare_request request;
    struct bare_buffer in[2], out;
};

static struct bare_buffer bind(struct loaded *l, const struct port *port)
{
    struct bare_buffer buffer = bare_buffer(&l->bare, port->count * port->pitch);

    l->request.bar[port->bar] = buffer.iova;
    return buffer;
}

static void load(struct loaded *l, const struct program *program, const struct setting *setting)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .chip = setting->chip,
                                        .page_table = setting->form,
                                        .numerics = setting->numerics,
                                        .strict_tlb = 1};
    const char *path = test_program_path(program->name);
    struct bare_program image;
    size_t size;

    if (!path) {
        print_message("%s is not here\n", program->name);
        skip();
    }
    memset(l, 0, sizeof(*l));
    l->program = program;
    l->file = test_file_read(path, &size);
    assert_non_null(l->file);
    assert_true(bare_program_read(l->file, size, &image));
    assert_int_equal(ane_machine_create(&config, &l->machine), 0);
    bare_start(&l->bare, l->machine, POOL_PAGES);
    l->request = bare_load(&l->bare, l->file + image.text, image.blob_bytes, image.constants,
                           image.first_words, image.count, 4);
    l->in[0] = bind(l, &program->in[0]);
    if (program->in[1].count)
        l->in[1] = bind(l, &program->in[1]);
    l->out = bind(l, &program->out);
}

static void unload(struct loaded *l)
{
    assert_int_equal(ane_machine_counter(l->machine, "dart.missing_invalidates"), 0);
    assert_int_equal(ane_machine_counter(l->machine, "dart.faults"), 0);
    ane_machine_destroy(l->machine);
    free(l->file);
}

/* Runs it once: halfs in, halfs out. b may be NULL. */
static void run(struct loaded *l, const uint16_t *a, const uint16_t *b, uint16_t *y)
{
    const struct program *p = l->program;

    for (uint32_t i = 0; i < p->in[0].count; i++)
        bare_put(&l->bare, l->in[0].iova + i * p->in[0].pitch, &a[i], 2);
    for (uint32_t i = 0; b && i < p->in[1].count; i++)
        bare_put(&l->bare, l->in[1].iova + i * p->in[1].pitch, &b[i], 2);
    bare_fill(&l->bare, l->out.iova, 0xcc, l->out.bytes);
    assert_true(bare_run(&l->bare, &l->request));
    for (uint32_t i = 0; i < p->out.count; i++)
        bare_get(&l->bare, l->out.iova + i * p->out.pitch, &y[i], 2);
}

static void fill(uint16_t *halfs, uint32_t count, double value)
{
    for (uint32_t i = 0; i < count; i++)
        halfs[i] = test_half_from_double(value);
}

static void expect_all(const struct setting *setting, const uint16_t *y, uint32_t count, double value)
{
    for (uint32_t i = 0; i < count; i++)
        if (y[i] != test_half_from_double(value))
            fail_msg("%s: element %u is %g, not %g", setting->name, i, test_half_to_double(y[i]), value);
}

/* One value in, one out, as published with the files. */
static void published_values(void **state)
{
    static const struct {
        const struct program *program;
        double a, b, y;
    } known[] = {
        {&sum, 1, 2, 3},       {&relu, -3, 0, 0}, {&relu, 5, 0, 5}, {&sigmoid, 3, 0, 0.95263671875},
        {&sigmoid, 0, 0, 0.5}, {&gemm, 1, 0, 0}, /* its weights are all zero */
    };
    uint16_t a[512], b[512], y[512];

    (void)state;
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (unsigned s = 0; s < SETTINGS; s++) {
            struct loaded l;

            load(&l, known[i].program, &settings[s]);
            fill(a, l.program->in[0].count, known[i].a);
            fill(b, l.program->in[1].count, known[i].b);
            run(&l, a, l.program->in[1].count ? b : NULL, y);
            expect_all(&settings[s], y, l.program->out.count, known[i].y);
            unload(&l);
        }
}

/*
 * All weights are 2 in conv.hwx, and a device made 12 of 1, 2 and 3;
 * golden.hwx is the same network with weights of 3.
 */
static void convolutions_as_stored(void **state)
{
    static const struct {
        const struct program *program;
        double y;
    } known[] = {{&conv, 12}, {&golden, 18}};
    uint16_t x[3] = {0x3c00, 0x4000, 0x4200}, y[3];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned s = 0; s < SETTINGS; s++) {
            struct loaded l;

            load(&l, known[i].program, &settings[s]);
            run(&l, x, NULL, y);
            expect_all(&settings[s], y, 3, known[i].y);
            unload(&l);
        }
}

/* Of a copy nothing but the sign of a zero and NaNs could change, and finite numbers have neither. */
static void concat_copies(void **state)
{
    static uint16_t a[16384], b[16], y[MOST];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x6001);
    for (unsigned s = 0; s < SETTINGS; s++) {
        struct loaded l;

        load(&l, &concat, &settings[s]);
        for (unsigned i = 0; i < 16384; i++)
            a[i] = (uint16_t)(test_rng_fp16_finite(&rng, 60000) | 1);
        for (unsigned i = 0; i < 16; i++)
            b[i] = (uint16_t)(test_rng_fp16_finite(&rng, 60000) | 1);
        run(&l, a, b, y);
        assert_memory_equal(y, a, sizeof(a));
        assert_memory_equal(y + 16384, b, sizeof(b));
        unload(&l);
    }
}

/* The table as it is in the file, over its whole domain: published is a worst error of 0.0034. */
static void sigmoid_is_close(void **state)
{
    uint16_t x[77], y[77];
    struct loaded l;

    (void)state;
    load(&l, &sigmoid, &settings[0]);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 77; i++)
            x[i] = test_half_from_double(-12 + 24 * (round * 77 + i) / (20.0 * 77));
        run(&l, x, NULL, y);
        for (unsigned i = 0; i < 77; i++)
            assert_true(fabs(test_half_to_double(y[i]) - 1 / (1 + exp(-test_half_to_double(x[i])))) <
                        0.00345);
    }
    unload(&l);
}

/*
 * A layer's weights in its constants. Channel n of the output: lane n mod g of engine (n div g) mod NE; in an
 * engine's chunk, for each step of the reduction, g lanes. gemm.hwx: 16 engines of 32 lanes, 0x8000 bytes
 * each. conv.hwx: engines of one lane, 0x40 bytes each.
 */
struct layer {
    const struct program *program;
    uint32_t lanes, chunk;
};

static uint32_t place(const struct layer *layer, uint32_t n, uint32_t k)
{
    return n / layer->lanes * layer->chunk + 2 * (k * layer->lanes + n % layer->lanes);
}

static float operand(uint16_t half, bool m1)
{
    double value = test_half_to_double(half);

    return m1 && fabs(value) < 0x1p-14 ? 0 : (float)value;
}

/*
 * One chain of fused multiply-adds in fp32, rounded once; m1 flushes
 * denormals, and 2^15 and above is infinite.
 */
static uint16_t expected(const uint16_t *w, const uint16_t *x, uint32_t count, bool m1)
{
    float chain = 0;
    uint16_t half;

    for (uint32_t k = 0; k < count; k++) {
        chain = fmaf(operand(x[k], m1), operand(w[k], m1), chain);
        if (m1 && fabsf(chain) >= 32768)
            chain = copysignf(INFINITY, chain);
    }
    half = isnan(chain) ? 0x7e00 : test_half_from_double(chain);
    if (!m1)
        return half;
    if (isnan(chain) || fabs(test_half_to_double(half)) < 0x1p-14)
        return 0;
    return fabs(test_half_to_double(half)) >= 32768 ? (uint16_t)((half & 0x8000) | 0x7c00) : half;
}

static void run_layer(const struct layer *layer, const struct setting *setting, struct test_rng *rng,
                      double scale)
{
    static uint16_t w[512 * 512];
    uint32_t count = layer->program->out.count;
    bool m1 = setting->numerics == ANE_NUMERICS_M1;
    uint16_t x[512], y[512];
    struct loaded l;

    load(&l, layer->program, setting);
    for (uint32_t i = 0; i < count; i++)
        x[i] = test_rng_fp16_finite(rng, scale);
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t k = 0; k < count; k++) {
            w[n * count + k] = test_rng_fp16_finite(rng, scale);
            bare_put(&l.bare, l.request.bar[1] + place(layer, n, k), &w[n * count + k], 2);
        }
    run(&l, x, NULL, y);
    for (uint32_t n = 0; n < count; n++) {
        uint16_t want = expected(w + n * count, x, count, m1);
        double exact = 0, most = 0;

        if (y[n] != want)
            fail_msg("%s on %s: output %u is %g, not %g", layer->program->name, setting->name, n,
                     test_half_to_double(y[n]), test_half_to_double(want));
        for (uint32_t k = 0; k < count; k++) {
            exact += test_half_to_double(w[n * count + k]) * test_half_to_double(x[k]);
            most += fabs(test_half_to_double(w[n * count + k]) * test_half_to_double(x[k]));
        }
        /* And the true sum, within a rounding to fp16 and a unit of fp32 for each step. */
        if (most < 32000)
            assert_true(fabs(test_half_to_double(y[n]) - exact) <=
                        0x1p-11 * fabs(exact) + count * 0x1p-24 * most + 0x1p-14);
    }
    unload(&l);
}

static void layers_with_random_weights(void **state)
{
    static const struct layer layers[] = {{&gemm, 32, 0x8000}, {&conv, 1, 0x40}, {&golden, 1, 0x40}};
    static const double scales[] = {1, 0.001, 60};
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x6002);
    for (unsigned i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        for (unsigned s = 0; s < SETTINGS; s++)
            for (unsigned k = 0; k < sizeof(scales) / sizeof(scales[0]); k++)
                run_layer(&layers[i], &settings[s], &rng, scales[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(convolutions_as_stored),
        cmocka_unit_test(concat_copies),
        cmocka_unit_test(sigmoid_is_close),
        cmocka_unit_test(layers_with_random_weights),
    };

    return cmocka_run_group_tests_name("programs", tests, NULL, NULL);
}
