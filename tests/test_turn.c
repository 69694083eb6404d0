/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies whose rows are the source's columns: extents and distances at the limits of blocks and tiles, all
 * ways through memory, rows with tails, and the rules on NaN, -0, slices and ReLU.
 */
#include "ne_layer.h"

static const uint32_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 40, 56, 63, 64, 65, 71, 100};

static uint32_t random_size(struct test_rng *rng)
{
    return sizes[pick(rng, 0, sizeof(sizes) / sizeof(sizes[0]) - 1)];
}

/* Axes nest in the order given, each with a gap after it but for the first; `crowd` rounds the second up. */
static void set_layout(struct test_rng *rng, struct pr_tensor *t, const enum pr_axis order[PR_AXES],
                       uint32_t crowd)
{
    uint32_t reach = 2;

    t->home = PR_HOME_DRAM;
    for (unsigned i = 0; i < PR_AXES; i++) {
        if (i > 0 && pick(rng, 0, 1))
            reach += 2 * pick(rng, 0, 40);
        if (i == 1 && pick(rng, 0, 1))
            reach = (reach + 63) / 64 * 64;
        if (i == 1 && crowd)
            reach = (reach + crowd - 1) / crowd * crowd;
        t->stride[order[i]] = reach;
        reach *= t->extent[order[i]];
    }
}

/* Either side may be the one whose channels are packed; the other one's columns are. */
static void tasks(void **state)
{
    static const enum pr_axis orders[][PR_AXES] = {
        {PR_AXIS_W, PR_AXIS_H, PR_AXIS_D, PR_AXIS_C, PR_AXIS_G},
        {PR_AXIS_C, PR_AXIS_W, PR_AXIS_H, PR_AXIS_D, PR_AXIS_G},
        {PR_AXIS_W, PR_AXIS_C, PR_AXIS_H, PR_AXIS_D, PR_AXIS_G},
        {PR_AXIS_H, PR_AXIS_W, PR_AXIS_C, PR_AXIS_D, PR_AXIS_G},
        {PR_AXIS_C, PR_AXIS_H, PR_AXIS_W, PR_AXIS_D, PR_AXIS_G},
    };
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(240); round++) {
        struct pr_task *task = &l.task;

        test_rng_init(&rng, 90000 + round);
        memset(&l, 0, sizeof(l));
        task->unit = PR_UNIT_NE;
        task->ne = (struct pr_ne){.mode = PR_NE_BYPASS, .post_scale = ONE, .relu = pick(&rng, 0, 5) == 0};
        memcpy(task->dst.extent,
               (uint32_t[]){random_size(&rng), pick(&rng, 1, 4), 1, random_size(&rng), pick(&rng, 1, 2)},
               sizeof(task->dst.extent));
        if (round % 40 == 0) /* more than one band along both axes */
            task->dst.extent[PR_AXIS_C] = 1024 + random_size(&rng);
        memcpy(task->src[0].extent, task->dst.extent, sizeof(task->dst.extent));
        set_layout(&rng, &task->src[0], orders[pick(&rng, 0, 4)], pick(&rng, 0, 7) ? 0 : 2048);
        set_layout(&rng, &task->dst, orders[pick(&rng, 0, 4)], 0);
        task->src[0].relu = pick(&rng, 0, 5) == 0;
        task->src[0].slice = pick(&rng, 0, 5) == 0;
        task->dst.zero_tail = test_rng_bool(&rng);
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

struct copy {
    struct guarded from, to;
    struct eng_turn turn;
    struct eng_load load;
    struct eng_finish finish;
    bool m1;
};

static uint16_t expected_half(const struct copy *c, uint16_t half)
{
    double value = model_load(half, c->m1, false, false);

    if (c->load.rules & ENG_RULE_SLICE && fabs(value) >= 4096)
        value = copysign(INFINITY, value);
    if (c->load.relu || c->finish.relu)
        value = model_relu(value);
    return model_store((float)value, c->m1, false, false);
}

static void expect(const struct copy *c, uint8_t *bytes)
{
    const struct eng_turn *t = &c->turn;

    for (size_t column = 0; column < t->columns; column++) {
        uint8_t *to = bytes + (t->to - c->to.bytes) + column * t->to_row;

        for (size_t row = 0; row < t->rows; row++) {
            uint16_t half;

            memcpy(&half, t->from + row * t->from_row + 2 * column, 2);
            half = expected_half(c, half);
            memcpy(to + 2 * row, &half, 2);
        }
        memset(to + 2 * t->rows, 0, t->tail);
    }
}

/* Mostly numbers that no rule changes, and one element of any other kind among them. */
static void fill(struct test_rng *rng, struct guarded *g)
{
    static const uint16_t one[] = {0x8000, 0x7c00, 0xfc00, 0x7c01, 0x7fff, 0xfc01, 0xffff, 0};
    uint16_t half = one[pick(rng, 0, sizeof(one) / sizeof(one[0]) - 1)];

    random_fp16(rng, g->bytes, g->size, (enum palette)pick(rng, 0, PALETTES - 1));
    memcpy(g->bytes + 2 * pick(rng, 0, (uint32_t)(g->size / 2 - 1)), &half, 2);
}

/* Rows that begin anywhere, or where lines of the caches do. */
static void open_copy(struct copy *c, struct test_rng *rng)
{
    struct eng_turn *t = &c->turn;
    bool lines = test_rng_bool(rng);
    size_t offset = lines ? 0 : 2 * pick(rng, 0, 5);

    *t = (struct eng_turn){.rows = random_size(rng), .columns = random_size(rng)};
    t->tail = pick(rng, 0, 2) ? 0 : 2 * pick(rng, 1, 40);
    t->from_row = 2 * t->columns + 2 * pick(rng, 0, 9);
    t->to_row = 2 * t->rows + t->tail + 2 * pick(rng, 0, 9);
    if (lines)
        t->to_row = (t->to_row + 63) / 64 * 64;
    guarded_open(&c->from, (t->rows - 1) * t->from_row + 2 * t->columns, test_rng_bool(rng));
    guarded_open(&c->to, offset + (t->columns - 1) * t->to_row + 2 * t->rows + t->tail,
                 !lines && test_rng_bool(rng));
    fill(rng, &c->from);
    guarded_protect(&c->from);
    t->from = c->from.bytes;
    t->to = c->to.bytes + offset;
    c->m1 = test_rng_bool(rng);
    c->load = (struct eng_load){
        .rules = c->m1 ? ENG_RULE_NAN_IS_INFINITY : 0, .relu = pick(rng, 0, 4) == 0, .scale = 1};
    if (c->m1 && pick(rng, 0, 3) == 0)
        c->load.rules |= ENG_RULE_SLICE;
    c->finish = (struct eng_finish){
        .unscale = 1, .bias = -0.0f, .acc_bias = -0.0f, .post_scale = 1, .relu = pick(rng, 0, 4) == 0};
    c->finish.store = c->m1 ? ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO : 0;
}

static void check_copy(struct copy *c, uint64_t round)
{
    uint8_t *expected = malloc(c->to.size);
    struct way way;

    assert_non_null(expected);
    assert_true(eng_finish_is_identity(&c->load, &c->finish));
    for (size_t i = 0; i < c->to.size; i++)
        c->to.before[i] = (uint8_t)(0x55 + i);
    memcpy(expected, c->to.before, c->to.size);
    expect(c, expected);
    for (unsigned i = 1; way_get(i, &way); i += 2) {
        eng_isa_limit(way.isa);
        memcpy(c->to.bytes, c->to.before, c->to.size);
        eng_kernels_get()->turn(&c->turn, &c->load, &c->finish);
        for (size_t at = 0; at < c->to.size; at++)
            if (c->to.bytes[at] != expected[at])
                fail_msg("round %llu, isa %d, way %d, %zux%zu: byte %zu is %02x, not %02x",
                         (unsigned long long)round, way.isa, c->turn.way, c->turn.rows, c->turn.columns, at,
                         c->to.bytes[at], expected[at]);
    }
    eng_isa_limit(ENG_ISA_AVX512);
    free(expected);
}

static void ways_through_memory(void **state)
{
    static const enum eng_turn_way each[] = {ENG_TURN_NEAR, ENG_TURN_FAR, ENG_TURN_STREAM};
    struct test_rng rng;
    struct copy c;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(3000); round++) {
        test_rng_init(&rng, 95000 + round);
        open_copy(&c, &rng);
        for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
            c.turn.way = each[i];
            check_copy(&c, round);
        }
        guarded_close(&c.from);
        guarded_close(&c.to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks),
        cmocka_unit_test(ways_through_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
