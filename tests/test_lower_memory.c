/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where intermediates are, and in which order operations run: results are the same bits with L2 and without,
 * in the graph's order and in the schedule's; L2 is used as far as it reaches; and modelled time falls.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "lower_machine.h"
#include "program/cost.h"

enum { PLAIN = CC_LOWER_DRAM | CC_LOWER_IN_ORDER };

/* What a program does with memory. */
struct use {
    uint32_t records, dram, l2; /* operands that are intermediates in DRAM, in L2 */
    uint32_t bytes;             /* of DRAM */
    uint64_t ns;                /* modelled, without the floor of a dispatch */
};

static uint64_t cost_of(const struct cc_program *program)
{
    static struct pr_e5 e5;
    struct pr_problem problem = {0};
    uint8_t *text = malloc((size_t)program->records * 0x300);
    struct pr_task task;
    struct pr_td td;
    uint64_t sum = 0;
    uint32_t words;

    assert_non_null(text);
    e5 = (struct pr_e5){.ports = program->ports,
                        .records = program->records,
                        .record = (const uint8_t *)program->record,
                        .intermediate_bytes = program->intermediate_bytes,
                        .constant_bytes = program->constant_bytes};
    memcpy(e5.port, program->port, sizeof(e5.port));
    assert_true(pr_e5_place(&e5, &problem));
    if (!pr_e5_expand(&e5, text, (size_t)program->records * 0x300, &words, &problem))
        fail_msg("%s", problem.text);
    for (uint32_t i = 0; i < program->records; i++) {
        struct pr_image image = {{0}};

        assert_true(pr_td_read(text + (size_t)i * 0x300, words, &td, &problem));
        pr_td_apply(&td, &image);
        assert_true(pr_task_decode(&td, &image, &task, &problem));
        sum += pr_cost_ns(&pr_cost_m1, &task);
    }
    free(text);
    return sum;
}

static struct use use_of(struct gr *g, unsigned flags)
{
    struct cc_program *program;
    struct use use = {0};

    g->flags = flags;
    program = gr_lower(g);
    use.records = program->records;
    use.bytes = program->intermediate_bytes;
    for (uint32_t i = 0; i < program->records; i++) {
        const struct pr_e5_record *r = &program->record[i];
        const uint32_t place[4] = {r->src[0].place, r->src[1].place, r->dst.place, r->kernel_place};

        for (unsigned k = 0; k < 4; k++) {
            use.dram += place[k] == PR_E5_INTERMEDIATE;
            use.l2 += place[k] == PR_E5_L2;
        }
    }
    use.ns = cost_of(program);
    cc_program_destroy(program);
    return use;
}

static size_t elements(const struct cc_value *v)
{
    return v->bytes / cc_type_bytes(v->type);
}

/* Runs the graph both ways on the same random inputs; every output is the same bits. */
static void check_bits(struct gr *g)
{
    const struct cc_graph *graph = g->graph;
    uint16_t *in[8], *out[2][8];

    assert_true(graph->inputs <= 8 && graph->outputs <= 8);
    for (uint32_t i = 0; i < graph->inputs; i++) {
        size_t count = elements(&graph->value[graph->input[i]]);

        in[i] = malloc(count * 2);
        for (size_t k = 0; k < count; k++)
            in[i][k] = test_half_from_double((double)test_rng_range(&g->rng, -300, 300) / 128);
    }
    for (unsigned way = 0; way < 2; way++) {
        for (uint32_t i = 0; i < graph->outputs; i++)
            out[way][i] = malloc(elements(&graph->value[graph->output[i]]) * 2);
        g->flags = way ? PLAIN : 0;
        gr_run(g, &client, (const uint16_t *const *)in, out[way]);
    }
    for (uint32_t i = 0; i < graph->outputs; i++) {
        assert_memory_equal(out[0][i], out[1][i], elements(&graph->value[graph->output[i]]) * 2);
        free(out[0][i]);
        free(out[1][i]);
    }
    for (uint32_t i = 0; i < graph->inputs; i++)
        free(in[i]);
}

/* One operation of many kinds on a tensor of rank 4; the shape may change. */
static uint32_t any_op(struct gr *g, uint32_t x, uint32_t other)
{
    const struct cc_value *v = &g->graph->value[x];
    const uint32_t perm[4] = {0, 2, 3, 1}, pad[4] = {1, 1, 1, 1};
    uint32_t c = v->dim[1], h = v->dim[2], w = v->dim[3], n = v->dim[0];
    struct cc_attributes soft = {.axis = pick(g, 1, 3)};

    switch (pick(g, 0, 11)) {
    case 0: return gr_binary(g, CC_OP_ADD, x, gr_const(g, GR(c, 1, 1)));
    case 1: return gr_unary(g, CC_OP_SIGMOID, x, NULL);
    case 2: return gr_conv(g, x, gr_const(g, GR(pick(g, 1, 20), c, 3, 3)), GR_NONE, pad);
    case 3: return gr_conv(g, x, gr_const(g, GR(pick(g, 1, 20), c, 1, 1)), GR_NONE, (uint32_t[4]){0});
    case 4: return gr_transpose(g, x, perm);
    case 5: return gr_reshape(g, x, GR(n, h, c, w));
    case 6: return gr_binary(g, CC_OP_MUL, x, gr_reduce(g, CC_OP_REDUCE_MEAN, x, 1u << pick(g, 1, 3), true));
    case 7: return gr_unary(g, CC_OP_SOFTMAX, x, &soft);
    case 8: return gr_concat(g, 2, (uint32_t[2]){x, x}, pick(g, 1, 3));
    case 9: {
        uint32_t begin[4] = {0, c / 2, h / 2, w / 2};

        return gr_slice(g, x, begin, GR(n, c - c / 2, h - h / 2, w - w / 2));
    }
    case 10:
        if (v->rank == g->graph->value[other].rank &&
            !memcmp(v->dim, g->graph->value[other].dim, sizeof(v->dim[0]) * 4))
            return gr_binary(g, CC_OP_MAXIMUM, x, other);
        return gr_relu(g, x);
    default: return gr_binary(g, CC_OP_SUB, x, gr_unary(g, CC_OP_TANH, x, NULL));
    }
}

static void bits_do_not_depend_on_memory(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        uint32_t value[16], values = 1;
        struct gr g;

        gr_open(&g, 0xa000 + round, GR_REAL);
        value[0] =
            gr_input(&g, "x", CC_FP16, GR(pick(&g, 1, 3), pick(&g, 1, 24), pick(&g, 1, 14), pick(&g, 1, 40)));
        while (values < 10) {
            uint32_t from = value[pick(&g, values > 3 ? values - 3 : 0, values - 1)];

            value[values] = any_op(&g, from, value[pick(&g, 0, values - 1)]);
            if (elements(&g.graph->value[value[values]]) > 100000)
                break;
            values++;
        }
        gr_output(&g, value[values - 1]);
        if (values > 4)
            gr_output(&g, value[values / 2]);
        check_bits(&g);
        gr_close(&g);
    }
}

/* The records of a concatenation of concatenations, and its result against double precision. */
static uint32_t joined_records(uint32_t batch, uint32_t axis, bool twice, bool of_input)
{
    struct gr g;
    uint32_t x, a, b, c, records;
    struct cc_program *program;

    gr_open(&g, 0xc000, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(batch, 6, 5, 20));
    a = gr_binary(&g, CC_OP_ADD, x, x);
    b = gr_binary(&g, CC_OP_MUL, x, x);
    c = gr_concat(&g, 2, (uint32_t[2]){a, twice ? a : b}, axis);
    c = gr_concat(&g, 3, (uint32_t[3]){b, c, of_input ? x : gr_binary(&g, CC_OP_ADD, a, b)}, axis);
    gr_output(&g, c);
    gr_output(&g, gr_binary(&g, CC_OP_MUL, c, c));
    program = gr_lower(&g);
    records = program->records;
    cc_program_destroy(program);
    gr_check(&g, &client);
    gr_close(&g);
    return records;
}

static void operands_are_computed_in_their_place(void **state)
{
    (void)state;
    /* Four operations; b is an operand of both, and its second place needs a copy. */
    assert_int_equal(joined_records(1, 1, true, false), 4 + 1);
    assert_int_equal(joined_records(1, 1, false, false), 4 + 1);
    assert_int_equal(joined_records(1, 1, true, true), 3 + 2);
    /* Planes of a batch do not follow each other, and neither do columns. */
    assert_true(joined_records(2, 1, false, false) > 4 + 1);
    assert_true(joined_records(1, 3, false, false) > 4 + 1);
    assert_int_equal(joined_records(2, 0, true, false), 4 + 1);
}

static uint32_t conv_relu(struct gr *g, uint32_t x, uint32_t channels)
{
    const uint32_t pad[4] = {1, 1, 1, 1};

    return gr_relu(g,
                   gr_conv(g, x, gr_const(g, GR(channels, g->graph->value[x].dim[1], 3, 3)), GR_NONE, pad));
}

/* A chain of small layers: no intermediate is in DRAM, and the modelled time is less. */
static void a_chain_stays_in_l2(void **state)
{
    struct use l2, dram;
    uint32_t x;
    struct gr g;

    (void)state;
    gr_open(&g, 0xb000, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(1, 16, 28, 28));
    for (unsigned i = 0; i < 8; i++)
        x = conv_relu(&g, x, 16);
    gr_output(&g, x);
    l2 = use_of(&g, 0);
    dram = use_of(&g, PLAIN);
    assert_int_equal(l2.records, dram.records);
    assert_int_equal(dram.dram, 14);
    assert_int_equal(l2.dram, 0);
    assert_int_equal(l2.bytes, 0);
    assert_int_equal(l2.l2, 14);
    assert_true(l2.ns < dram.ns);
    gr_close(&g);
}

/* Rows of 7 elements have 16 bytes in L2, not 64: what would be 3.4 MiB in DRAM's layout fits. */
static void rows_are_packed_in_l2(void **state)
{
    struct use use;
    uint32_t x;
    struct gr g;

    (void)state;
    gr_open(&g, 0xb100, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(1, 8000, 7, 7));
    x = gr_binary(&g, CC_OP_MUL, gr_binary(&g, CC_OP_ADD, x, gr_scalar(&g, 2)), x);
    gr_output(&g, x);
    use = use_of(&g, 0);
    assert_int_equal(use.dram, 0);
    assert_int_equal(use.l2, 2);
    assert_true(use_of(&g, PLAIN).bytes > PR_L2_BYTES);
    check_bits(&g);
    gr_close(&g);
}

/* What does not fit is in DRAM; what is needed last makes room. */
static void l2_is_shared_by_need(void **state)
{
    enum { BIG = 400 }; /* channels of 28x28: 0.7 MB each; two of them fit, three do not */
    uint32_t x, late, y;
    struct use use;
    struct gr g;

    (void)state;
    gr_open(&g, 0xb200, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(1, BIG, 28, 28));
    late = gr_binary(&g, CC_OP_ADD, x, gr_scalar(&g, 1));
    y = late;
    for (unsigned i = 0; i < 4; i++)
        y = gr_binary(&g, CC_OP_MUL, y, gr_scalar(&g, 0.5));
    gr_output(&g, gr_binary(&g, CC_OP_ADD, y, late));
    use = use_of(&g, 0);
    assert_int_equal(use.bytes, BIG * 28 * 64); /* `late`, and no other */
    assert_int_equal(use.dram, 3);              /* written once, read twice */
    assert_true(use.l2 > 0);
    check_bits(&g);
    gr_close(&g);
    gr_open(&g, 0xb300, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(1, 64, 160, 160));
    gr_output(&g, conv_relu(&g, conv_relu(&g, x, 64), 8));
    use = use_of(&g, 0);
    assert_int_equal(use.l2, 0); /* 64 * 160 * 320 bytes are more than there are */
    assert_int_equal(use.bytes, 64 * 160 * 320);
    gr_close(&g);
}

/* Sums of many terms, all of which the graph computes first: each is made when it is added. */
static void terms_are_made_when_they_are_used(void **state)
{
    enum { TERMS = 300 };
    uint32_t x, y, term[TERMS];
    struct use use;
    struct gr g;

    (void)state;
    gr_open(&g, 0xb400, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(32));
    for (unsigned i = 0; i < TERMS; i++)
        term[i] = gr_binary(&g, CC_OP_MUL, x, gr_scalar(&g, (double)(i % 30) / 32));
    y = term[0];
    for (unsigned i = 1; i < TERMS; i++)
        y = gr_binary(&g, CC_OP_ADD, y, term[i]);
    gr_output(&g, y);
    assert_true(use_of(&g, PLAIN).bytes >= TERMS * 64);
    use = use_of(&g, CC_LOWER_DRAM);
    assert_int_equal(use.records, 2 * TERMS - 1);
    assert_true(use.bytes <= 3 * 64);
    check_bits(&g);
    gr_close(&g);
}

/* Two branches that the graph computes in turns: one is followed to its end before the other begins. */
static void a_branch_is_followed_to_its_end(void **state)
{
    uint32_t x, first, second;
    struct use graph, schedule;
    struct gr g;

    (void)state;
    gr_open(&g, 0xb500, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(1, 8, 32, 32));
    first = second = gr_relu(&g, x);
    for (unsigned i = 0; i < 3; i++) {
        first = conv_relu(&g, first, 64); /* the larger footprint of the two */
        second = conv_relu(&g, second, 32);
        first = conv_relu(&g, first, 8);
        second = conv_relu(&g, second, 8);
    }
    gr_output(&g, gr_binary(&g, CC_OP_ADD, first, second));
    graph = use_of(&g, PLAIN);
    schedule = use_of(&g, CC_LOWER_DRAM);
    assert_int_equal(schedule.records, graph.records);
    assert_true(graph.bytes >= (64 + 32 + 8) * 32 * 64);      /* both are wide at once */
    assert_int_equal(schedule.bytes, (64 + 8 + 8) * 32 * 64); /* the wider one first, then the other */
    check_bits(&g);
    gr_close(&g);
}

/* Many operations of many operands are ready at once: the order stays the graph's, and compiling ends. */
static void a_wide_graph_keeps_its_order(void **state)
{
    enum { WIDE = 280, OPERANDS = 32 };
    uint32_t x[OPERANDS], z[WIDE], y;
    struct gr g;

    (void)state;
    gr_open(&g, 0xb600, GR_REAL);
    x[0] = gr_input(&g, "x", CC_FP16, GR(1, 32));
    for (unsigned i = 1; i < OPERANDS; i++)
        x[i] = gr_binary(&g, CC_OP_MUL, x[0], gr_scalar(&g, (double)i / 16));
    for (unsigned i = 0; i < WIDE; i++)
        z[i] = gr_concat(&g, OPERANDS, x, 0);
    y = z[0];
    for (unsigned i = 1; i < WIDE; i++)
        y = gr_binary(&g, CC_OP_ADD, y, z[i]);
    gr_output(&g, y);
    assert_true(use_of(&g, PLAIN).bytes >= WIDE * OPERANDS * 64);
    assert_int_equal(use_of(&g, CC_LOWER_DRAM).bytes, use_of(&g, PLAIN).bytes);
    gr_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_do_not_depend_on_memory),
        cmocka_unit_test(operands_are_computed_in_their_place),
        cmocka_unit_test(a_chain_stays_in_l2),
        cmocka_unit_test(rows_are_packed_in_l2),
        cmocka_unit_test(l2_is_shared_by_need),
        cmocka_unit_test(terms_are_made_when_they_are_used),
        cmocka_unit_test(a_branch_is_followed_to_its_end),
        cmocka_unit_test(a_wide_graph_keeps_its_order),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
