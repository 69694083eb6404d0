/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels without zeros (CC_LOWER_SPARSE): convolutions and matrix products of all shapes, with few weights
 * that are not zero, give the same bits as dense kernels, from fewer bytes.
 */
#include <string.h>

#include "graphrig.h"
#include "lower_machine.h"
#include "program/e5.h"

/* Leaves one weight of `each`, beginning with the first. */
static void thin(struct gr *g, uint32_t weight, unsigned each)
{
    struct cc_value *v = &g->graph->value[weight];
    uint16_t *half = v->data;

    for (uint64_t i = 0; i < cc_value_elements(v); i++)
        if (i % each)
            half[i] = 0;
}

struct shape {
    uint32_t cin, cout, kh, kw, side, stride, groups;
    bool bias, relu;
    unsigned each;
};

static void build(struct gr *g, const struct shape *s, uint64_t stream)
{
    uint32_t x, w, y;
    struct cc_attributes a = {.stride = {s->stride, s->stride},
                              .dilation = {1, 1},
                              .groups = s->groups,
                              .pad = {s->kh / 2, s->kh / 2, s->kw / 2, s->kw / 2}};

    gr_open(g, stream, GR_WHOLE);
    g->most = 3;
    x = gr_input(g, "x", CC_FP16, GR(1, s->cin, s->side, s->side));
    w = gr_const(g, GR(s->cout, s->cin / s->groups, s->kh, s->kw));
    thin(g, w, s->each);
    a.weight = w + 1;
    if (s->bias)
        a.bias = gr_const(g, GR(s->cout)) + 1;
    y = gr_window(g, CC_OP_CONV, x, &a);
    if (s->relu)
        y = gr_relu(g, y);
    gr_output(g, y);
}

static struct cc_program *lowered(struct gr *g, unsigned flags)
{
    g->flags = flags;
    return gr_lower(g);
}

static unsigned sparse_records(const struct cc_program *program)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < program->records; i++)
        count += (program->record[i].flags & PR_E5_SPARSE) != 0;
    return count;
}

static void the_same_from_fewer_bytes(void **state)
{
    static const struct shape shapes[] = {
        {64, 64, 1, 1, 6, 1, 1, false, false, 5},  {64, 64, 3, 3, 6, 1, 1, true, true, 7},
        {48, 40, 3, 3, 9, 2, 1, true, false, 9},   {33, 17, 5, 3, 8, 1, 1, false, true, 11},
        {96, 200, 1, 1, 4, 1, 1, true, false, 13}, {64, 32, 3, 3, 7, 1, 2, true, false, 6},
        {200, 3, 3, 3, 5, 1, 1, true, false, 10},  {256, 1, 1, 1, 5, 1, 1, false, false, 4},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct cc_program *dense, *sparse;
        struct gr g;

        build(&g, &shapes[i], 100 + i);
        dense = lowered(&g, 0);
        sparse = lowered(&g, CC_LOWER_SPARSE);
        assert_int_equal(sparse_records(dense), 0);
        if (!sparse_records(sparse) || sparse->constant_bytes >= dense->constant_bytes)
            fail_msg("shape %u: %u sparse records, %u bytes of %u", i, sparse_records(sparse),
                     (unsigned)sparse->constant_bytes, (unsigned)dense->constant_bytes);
        cc_program_destroy(dense);
        cc_program_destroy(sparse);
        g.flags = CC_LOWER_SPARSE;
        gr_check(&g, &client); /* whole numbers: exact */
        gr_close(&g);
    }
}

/* A kernel without zeros would be larger with masks: it stays dense. */
static void full_kernels_stay(void **state)
{
    struct shape shape = {64, 64, 3, 3, 6, 1, 1, true, true, 1};
    struct cc_program *program;
    struct gr g;

    (void)state;
    build(&g, &shape, 200);
    for (uint64_t i = 0; i < cc_value_elements(&g.graph->value[1]); i++)
        if (!((uint16_t *)g.graph->value[1].data)[i])
            ((uint16_t *)g.graph->value[1].data)[i] = 0x3c00;
    program = lowered(&g, CC_LOWER_SPARSE);
    assert_int_equal(sparse_records(program), 0);
    cc_program_destroy(program);
    gr_close(&g);
}

/* A table precedes the planes, and weights have all their bits: the same bits as from the dense kernel. */
static void tables_precede(void **state)
{
    enum { IN = 64 * 36, OUT = 40 * 36 };
    struct shape shape = {64, 40, 3, 3, 6, 1, 1, true, false, 8};
    static uint16_t x[IN], dense[OUT], sparse[OUT];
    const uint16_t *const in[] = {x};
    struct cc_program *program;
    struct gr g;
    uint32_t y;

    (void)state;
    build(&g, &shape, 300);
    g.numbers = GR_REAL;
    for (uint64_t i = 0; i < cc_value_elements(&g.graph->value[1]); i++)
        if (((uint16_t *)g.graph->value[1].data)[i])
            ((uint16_t *)g.graph->value[1].data)[i] = (uint16_t)(0x2c00 + i % 0x400);
    for (unsigned i = 0; i < IN; i++)
        x[i] = (uint16_t)(0x3800 + test_rng_range(&g.rng, 0, 0x3ff) + 0x8000 * (i % 3 == 0));
    y = g.graph->output[0];
    g.graph->outputs = 0;
    gr_output(&g, gr_unary(&g, CC_OP_SIGMOID, y, NULL));
    program = lowered(&g, 0);
    gr_run_program(program, &client, 1, in, (uint16_t *const[]){dense});
    cc_program_destroy(program);
    program = lowered(&g, CC_LOWER_SPARSE);
    assert_int_equal(sparse_records(program), program->records);
    gr_run_program(program, &client, 1, in, (uint16_t *const[]){sparse});
    cc_program_destroy(program);
    assert_memory_equal(dense, sparse, sizeof(dense));
    gr_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_from_fewer_bytes),
        cmocka_unit_test(full_kernels_stay),
        cmocka_unit_test(tables_precede),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
