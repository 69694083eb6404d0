/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands that share bytes, and tensors that stay in L2: a task reads everything before it writes anything,
 * and what is kept is what the next descriptor expects to find.
 */
#include "taskrig.h"

static void expect_all(const char *what, const struct tensor *y, const double *want)
{
    for (size_t i = 0; i < elements(&y->shape); i++)
        expect(what, y, i, want[i], fabs(want[i]) * ULP);
}

/* Numbers whose sums and products are halfs. */
static struct tensor small_numbers(struct test_rng *rng, struct td_shape shape)
{
    struct tensor t = tensor(rng, shape, 1, 0);

    for (size_t i = 0; i < elements(&shape); i++) {
        uint16_t half;

        t.x[i] = (double)test_rng_range(rng, 0, 8) - 4;
        half = test_half_from_double(t.x[i]);
        memcpy(t.bytes + offset(&shape, i), &half, 2);
    }
    return t;
}

/* The result lies on the two rows: both are read for each of its elements. */
static void two_rows_under_their_result(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5a01);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = {1, (uint32_t)test_rng_range(&rng, 1, 60), 2, 1};
        struct tensor x = small_numbers(&rng, s), rows = small_numbers(&rng, s), y = tensor(&rng, s, 1, 0);
        double want[120];

        for (uint32_t i = 0; i < 2 * s.c; i++)
            want[i] = (x.x[i] + rows.x[i / 2 * 2]) * rows.x[i / 2 * 2 + 1];
        taskrig_run(round % RIGS,
                    (struct step[]){step_copy(&s, dram(5, &s), l2(0x100, &s)),
                                    {.type = AFFINE,
                                     .w = s.w,
                                     .h = s.h,
                                     .cin = s.c,
                                     .src = dram(6, &s),
                                     .src2 = l2(0x100, &s),
                                     .dst = l2(0x100, &s),
                                     .pe = "Src2Mode=2"},
                                    step_copy(&s, l2(0x100, &s), dram(4, &s))},
                    3, NULL, 0, (struct surface[]){bind(5, &rows), bind(6, &x), bind(4, &y)}, 3);
        expect_all("two rows", &y, want);
        tensor_free(&x), tensor_free(&rows), tensor_free(&y);
    }
}

/* Source 1 is kept where source 2 lies: the task still reads source 2, the next one finds what was kept. */
static void kept_over_the_other_source(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5a02);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 20, 6, 40);
        struct tensor a = small_numbers(&rng, s), b = small_numbers(&rng, s);
        struct tensor sum = tensor(&rng, s, 1, 0), left = tensor(&rng, s, 1, 0);
        double *want = calloc(elements(&s), sizeof(*want));

        assert_non_null(want);
        for (size_t i = 0; i < elements(&s); i++)
            want[i] = a.x[i] + b.x[i];
        taskrig_run(round % RIGS,
                    (struct step[]){step_copy(&s, dram(5, &s), l2(0x40, &s)),
                                    step_two(&s, kept(6, &s, 0x40), l2(0x40, &s), dram(4, &s), "Src2Mode=2"),
                                    step_copy(&s, l2(0x40, &s), dram(7, &s))},
                    3, NULL, 0, (struct surface[]){bind(5, &b), bind(6, &a), bind(4, &sum), bind(7, &left)},
                    4);
        expect_all("sum", &sum, want);
        expect_all("kept", &left, a.x);
        free(want);
        tensor_free(&a), tensor_free(&b), tensor_free(&sum), tensor_free(&left);
    }
}

/*
 * The result goes over a kept source in memory, or over its copy in L2:
 * the copy is of the source, the result is whole.
 */
static void kept_under_the_result(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5a03);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 20, 6, 40);
        struct tensor a = small_numbers(&rng, s), in_memory = small_numbers(&rng, s);
        struct tensor left = tensor(&rng, s, 1, 0), result = tensor(&rng, s, 1, 0);
        double *want = calloc(elements(&s), sizeof(*want)), *before = calloc(elements(&s), sizeof(*before));
        uint32_t shift = (uint32_t)test_rng_range(&rng, 0, 3) * 0x10;

        assert_true(want && before);
        memcpy(before, in_memory.x, elements(&s) * sizeof(*before));
        for (size_t i = 0; i < elements(&s); i++)
            want[i] = 2 * before[i];
        taskrig_run(round % RIGS,
                    (struct step[]){{.type = ONE_SOURCE,
                                     .w = s.w,
                                     .h = s.h,
                                     .cin = s.c,
                                     .src = kept(6, &s, 0x40),
                                     .dst = dram(6, &s),
                                     .scale = 0x4000},
                                    step_copy(&s, l2(0x40, &s), dram(7, &s)),
                                    {.type = ONE_SOURCE,
                                     .w = s.w,
                                     .h = s.h,
                                     .cin = s.c,
                                     .src = kept(5, &s, 0x40),
                                     .dst = l2(0x40 + shift, &s),
                                     .scale = 0x4000},
                                    step_copy(&s, l2(0x40 + shift, &s), dram(4, &s))},
                    4, NULL, 0,
                    (struct surface[]){bind(5, &a), bind(6, &in_memory), bind(4, &result), bind(7, &left)},
                    4);
        expect_all("in memory", &in_memory, want);
        expect_all("kept", &left, before);
        for (size_t i = 0; i < elements(&s); i++)
            want[i] = 2 * a.x[i];
        expect_all("over the copy", &result, want);
        free(want), free(before);
        tensor_free(&a), tensor_free(&in_memory), tensor_free(&left), tensor_free(&result);
    }
}

/* A dense tensor as its bytes with k channels side by side. */
static uint8_t *interleaved(const struct tensor *t, unsigned k, struct spot *spot, uint32_t *bytes)
{
    const struct td_shape *s = &t->shape;
    uint8_t *data;

    spot->row = (2 * k * s->w + 63) / 64 * 64;
    spot->plane = spot->row * s->h;
    spot->interleave = k;
    *bytes = spot->plane * ((s->c + k - 1) / k);
    data = calloc(1, *bytes);
    assert_non_null(data);
    for (size_t i = 0; i < elements(s); i++) {
        uint32_t w = (uint32_t)(i % s->w), h = (uint32_t)(i / s->w % s->h), c = (uint32_t)(i / s->w / s->h);

        memcpy(data + c / k * spot->plane + h * spot->row + 2 * (w * k + c % k), t->bytes + offset(s, i), 2);
    }
    return data;
}

/*
 * Interleaved channels are kept in L2 as any other tensor: the
 * next descriptor reads them by the strides of L2.
 */
static void interleaved_and_kept(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5a04);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 20, 6, 40);
        struct tensor x = small_numbers(&rng, s), y = tensor(&rng, s, 1, 0), z = tensor(&rng, s, 1, 0);
        struct tensor none = tensor(&rng, s, 1, 0);
        struct spot source = kept(5, &s, 0x40), result = kept(6, &s, 0x100000);
        uint32_t bytes, room;
        unsigned k = (unsigned)test_rng_range(&rng, 2, 5);
        uint8_t *data = interleaved(&x, k, &source, &bytes), *out = interleaved(&none, k, &result, &room);

        taskrig_run(round % RIGS,
                    (struct step[]){step_copy(&s, source, result), step_copy(&s, l2(0x40, &s), dram(4, &s)),
                                    step_copy(&s, l2(0x100000, &s), dram(7, &s))},
                    3, NULL, 0,
                    (struct surface[]){{5, bytes, data}, {6, room, out}, bind(4, &y), bind(7, &z)}, 4);
        expect_all("kept source", &y, x.x);
        expect_all("kept result", &z, x.x);
        free(data), free(out);
        tensor_free(&x), tensor_free(&y), tensor_free(&z), tensor_free(&none);
    }
}

/* A tensor that is broadcast along C has one channel, also where others could stand beside it. */
static void interleaved_and_broadcast(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5a05);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 20, 6, 40), beside = {1, 4, s.h, s.w};
        struct tensor x = small_numbers(&rng, beside), y = tensor(&rng, s, 1, 0);
        double *want = calloc(elements(&s), sizeof(*want));
        struct spot source = dram(5, &beside);
        uint32_t bytes;
        uint8_t *data = interleaved(&x, 4, &source, &bytes);

        assert_non_null(want);
        for (size_t i = 0; i < elements(&s); i++)
            want[i] = x.x[i % (s.h * s.w)];
        taskrig_run(round % RIGS,
                    (struct step[]){{.type = ONE_SOURCE,
                                     .w = s.w,
                                     .h = s.h,
                                     .cin = s.c,
                                     .src = source,
                                     .dst = dram(4, &s),
                                     .broadcast = "Src1WHDC=8"}},
                    1, NULL, 0, (struct surface[]){{5, bytes, data}, bind(4, &y)}, 2);
        expect_all("broadcast", &y, want);
        free(want), free(data);
        tensor_free(&x), tensor_free(&y);
    }
}

/* Rows of memory that are one and the same, because their stride is 0, are rows of their own in L2. */
static void one_row_kept_as_many(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x5a06);
    for (unsigned round = 0; round < ROUNDS * RIGS; round++) {
        struct td_shape s = random_shape(&rng, 20, 6, 40), row = {1, s.c, 1, s.w};
        struct tensor x = small_numbers(&rng, row), y = tensor(&rng, s, 1, 0), z = tensor(&rng, s, 1, 0);
        double *want = calloc(elements(&s), sizeof(*want));
        struct spot source = kept(5, &s, 0x40);

        assert_non_null(want);
        for (size_t i = 0; i < elements(&s); i++)
            want[i] = x.x[i / (s.h * s.w) * s.w + i % s.w];
        source.row = 0;
        source.plane = td_plane(&row);
        taskrig_run(
            round % RIGS,
            (struct step[]){step_copy(&s, source, dram(4, &s)), step_copy(&s, l2(0x40, &s), dram(7, &s))}, 2,
            NULL, 0, (struct surface[]){bind(5, &x), bind(4, &y), bind(7, &z)}, 3);
        expect_all("read", &y, want);
        expect_all("kept", &z, want);
        free(want);
        tensor_free(&x), tensor_free(&y), tensor_free(&z);
    }
}

/*
 * The pages of a tensor are one and the same: its result is that of one page, however often
 * it is mapped and whichever access comes first.
 */
static void one_page_many_times(void **state)
{
    enum { PAGES = 32, HALFS = BARE_PAGE / 2 };
    struct td_shape s = {1, PAGES, 1, HALFS};
    struct step step = {.type = ONE_SOURCE,
                        .w = s.w,
                        .h = s.h,
                        .cin = s.c,
                        .src = dram(5, &s),
                        .dst = dram(5, &s),
                        .bias = 0x3c00};
    struct ane_machine_config config = {
        .size = sizeof(config), .page_table = ANE_PAGE_TABLE_SEED, .threads = 2};
    static struct test_program program;
    struct bare_request request;
    struct ane_machine *machine;
    uint16_t page[HALFS];
    struct bare bare;
    uint64_t frame;

    (void)state;
    taskrig_assemble(&program, &step, 1);
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    bare_start(&bare, machine, 64);
    request = bare_load(&bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
    assert_int_equal(ane_machine_dram_alloc(machine, BARE_PAGE, &frame), 0);
    request.bar[5] = 0x4000000;
    for (uint32_t i = 0; i < PAGES; i++)
        bare_map(&bare, request.bar[5] + i * BARE_PAGE, frame);
    bare_invalidate(&bare);
    for (uint32_t i = 0; i < HALFS; i++)
        page[i] = test_half_from_double(i % 100);
    bare_put(&bare, request.bar[5], page, sizeof(page));
    assert_true(bare_run(&bare, &request));
    bare_get(&bare, request.bar[5], page, sizeof(page));
    for (uint32_t i = 0; i < HALFS; i++)
        assert_int_equal(page[i], test_half_from_double(i % 100 + 1));
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_rows_under_their_result), cmocka_unit_test(kept_over_the_other_source),
        cmocka_unit_test(kept_under_the_result),       cmocka_unit_test(interleaved_and_kept),
        cmocka_unit_test(interleaved_and_broadcast),   cmocka_unit_test(one_row_kept_as_many),
        cmocka_unit_test(one_page_many_times),
    };

    return cmocka_run_group_tests_name("sharing", tests, NULL, NULL);
}
