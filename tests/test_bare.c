/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare driver runs what Apple's compiler wrote: sum.hwx and relu.hwx, on both boards, with all three leaf
 * forms, on scattered pages, as compiled and with other shapes, batches and odd widths.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "tdpatch.h"

static const char *const board_name[] = {"t6000", "t8103"};

struct setting {
    uint32_t chip, form;
};

static const struct setting settings[] = {
    {ANE_CHIP_T6000, ANE_PAGE_TABLE_SEED},  {ANE_CHIP_T6000, ANE_PAGE_TABLE_T8020},
    {ANE_CHIP_T6000, ANE_PAGE_TABLE_T6000}, {ANE_CHIP_T8103, ANE_PAGE_TABLE_SEED},
    {ANE_CHIP_T8103, ANE_PAGE_TABLE_T8020}, {ANE_CHIP_T8103, ANE_PAGE_TABLE_T6000},
};

static struct ane_machine *make(const struct setting *setting, struct bare *bare, uint32_t pool_pages)
{
    struct ane_machine_config config = {
        .size = sizeof(config),
        .chip = setting->chip,
        .page_table = setting->form,
        .strict_tlb = 1,
        .trace = 1,
    };
    struct ane_machine *machine;

    assert_int_equal(ane_machine_create(&config, &machine), 0);
    bare_start(bare, machine, pool_pages);
    assert_string_equal(bare->map.board, board_name[setting->chip]);
    return machine;
}

static uint8_t *read_program(const char *name, struct bare_program *program)
{
    const char *path = test_program_path(name);
    size_t size;
    uint8_t *file;

    if (!path) {
        print_message("%s is not here\n", name);
        skip();
    }
    file = test_file_read(path, &size);
    assert_non_null(file);
    assert_true(bare_program_read(file, size, program));
    return file;
}

/* The engine echoes -0 as +0. */
static uint16_t rounded(double value)
{
    uint16_t half = test_half_from_double(value);

    return half == 0x8000 ? 0 : half;
}

static uint16_t add(uint16_t a, uint16_t b)
{
    return rounded(test_half_to_double(a) + test_half_to_double(b));
}

static uint16_t relu(uint16_t a, uint16_t b)
{
    (void)b;
    return test_half_to_double(a) > 0 ? a : 0;
}

struct operands {
    uint16_t *a, *b, *y;
    struct bare_buffer src1, src2, dst;
};

static void fill(struct test_rng *rng, uint16_t *values, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes / 2; i++)
        values[i] = test_rng_fp16_finite(rng, 1000.0);
}

static void compare(const struct td_shape *s, const struct operands *o,
                    uint16_t (*expect)(uint16_t, uint16_t), bool zero_tail)
{
    for (uint32_t n = 0; n < s->n; n++)
        for (uint32_t c = 0; c < s->c; c++)
            for (uint32_t h = 0; h < s->h; h++) {
                uint32_t row = td_at(s, n, c, h, 0) / 2;

                for (uint32_t w = 0; w < s->w; w++)
                    assert_int_equal(o->y[row + w], expect(o->a[row + w], o->b[row + w]));
                /* Row tails: zeros where the descriptor asks for them, untouched otherwise. */
                for (uint32_t w = s->w; w < td_row(s) / 2; w++)
                    assert_int_equal(o->y[row + w], zero_tail ? 0 : 0xcccc);
            }
}

/* Runs the program's descriptor on random tensors of a shape and compares every element. */
static void run_shape(struct bare *bare, const struct bare_program *program, const struct td_shape *s,
                      struct test_rng *rng, uint16_t (*expect)(uint16_t, uint16_t), bool two_sources)
{
    uint8_t *blob = malloc(program->blob_bytes);
    uint32_t bytes = td_total(s);
    struct operands o = {malloc(bytes),
                         malloc(bytes),
                         malloc(bytes),
                         bare_buffer(bare, bytes),
                         bare_buffer(bare, bytes),
                         bare_buffer(bare, bytes)};
    struct bare_request request;
    bool zero_tail;

    memcpy(blob, program->bytes + program->text, program->blob_bytes);
    td_set_shape(blob, s);
    zero_tail = td_get(blob, TD_DST_FMT) >> 20 & 3;
    fill(rng, o.a, bytes);
    fill(rng, o.b, bytes);
    bare_put(bare, o.src1.iova, o.a, bytes);
    bare_put(bare, o.src2.iova, o.b, bytes);
    bare_fill(bare, o.dst.iova, 0xcc, bytes);
    request = bare_load(bare, blob, program->blob_bytes, program->constants, program->first_words,
                        program->count, 4);
    request.bar[4] = o.dst.iova;
    request.bar[two_sources ? 6 : 5] = o.src1.iova; /* header word 8 of sum.hwx: RBase0 6, RBase1 5 */
    if (two_sources)
        request.bar[5] = o.src2.iova;
    assert_true(bare_run(bare, &request));
    bare_get(bare, o.dst.iova, o.y, bytes);
    compare(s, &o, expect, zero_tail);
    assert_int_equal(ane_machine_counter(bare->machine, "dart.missing_invalidates"), 0);
    free(o.a);
    free(o.b);
    free(o.y);
    free(blob);
}

static void run_everywhere(const char *name, const struct td_shape *compiled,
                           uint16_t (*expect)(uint16_t, uint16_t), bool two_sources)
{
    struct bare_program program;
    uint8_t *file = read_program(name, &program);
    struct test_rng rng;

    test_rng_init(&rng, 3);
    for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        struct bare bare;
        struct ane_machine *machine = make(&settings[i], &bare, 3000);

        run_shape(&bare, &program, compiled, &rng, expect, two_sources);
        for (unsigned k = 0; k < 12; k++) {
            struct td_shape s = {
                (uint32_t)test_rng_range(&rng, 1, 4),
                (uint32_t)test_rng_range(&rng, 1, 9),
                (uint32_t)test_rng_range(&rng, 1, 12),
                (uint32_t)test_rng_range(&rng, 1, 130),
            };

            run_shape(&bare, &program, &s, &rng, expect, two_sources);
        }
        ane_machine_destroy(machine);
    }
    free(file);
}

static void sum_adds(void **state)
{
    (void)state;
    run_everywhere("sum.hwx", &(struct td_shape){1, 64, 1, 1}, add, true);
}

static void relu_cuts(void **state)
{
    (void)state;
    run_everywhere("relu.hwx", &(struct td_shape){1, 1, 1, 77}, relu, false);
}

/* The values published with the files. */
static void published_results_hold(void **state)
{
    struct bare_program program;
    uint8_t *file = read_program("relu.hwx", &program);
    struct bare bare;
    struct ane_machine *machine = make(&settings[0], &bare, 200);
    struct bare_buffer src = bare_buffer(&bare, 0xc0), dst = bare_buffer(&bare, 0xc0);
    struct bare_request request = bare_load(&bare, file + program.text, program.blob_bytes, program.constants,
                                            program.first_words, program.count, 4);
    uint16_t x[77] = {0}, y[77];

    (void)state;
    x[0] = test_half_from_double(-3);
    x[1] = test_half_from_double(5);
    bare_put(&bare, src.iova, x, sizeof(x));
    request.bar[4] = dst.iova;
    request.bar[5] = src.iova;
    assert_true(bare_run(&bare, &request));
    bare_get(&bare, dst.iova, y, sizeof(y));
    assert_int_equal(y[0], 0);
    assert_int_equal(y[1], test_half_from_double(5));
    free(file);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_adds),
        cmocka_unit_test(relu_cuts),
        cmocka_unit_test(published_results_hold),
    };

    return cmocka_run_group_tests_name("bare", tests, NULL, NULL);
}
