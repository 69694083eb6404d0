/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd's algorithm: results within its bound of the reference, the same bits from every instruction set
 * and number of threads, and the reference's bits where it may not be used.
 */
#include "ne_layer.h"

#include "engine/kernels.h"
#include "program/kernel.h"

/* Magnitudes that the bound of an output is made of. */
struct bound {
    double products; /* sum of abs(x * w) */
    double tile;     /* the largest input of the tile times the sum of abs(w), summed over channels */
};

static double input_at(const struct layer *l, long x, long y, uint32_t channel, uint32_t group)
{
    const struct pr_tensor *src = &l->task.src[0];
    uint32_t index[PR_AXES] = {(uint32_t)x, (uint32_t)y, 0, channel, group};

    if (x < 0 || y < 0 || x >= (long)src->extent[PR_AXIS_W] || y >= (long)src->extent[PR_AXIS_H])
        return 0;
    return fabs(model_element(l, ENG_M1, true, index));
}

static struct bound bound_of(const struct layer *l, const uint32_t out[PR_AXES])
{
    const struct pr_ne *ne = &l->task.ne;
    struct bound bound = {0, 0};

    for (uint32_t c = 0; c < channels_of(l); c++) {
        double largest = 0, weights = 0;

        for (long i = 0; i < 16; i++) {
            long x = (long)(out[PR_AXIS_W] & ~1u) - (long)ne->px + i % 4;
            long y = (long)(out[PR_AXIS_H] & ~1u) - (long)ne->py + i / 4;

            largest = fmax(largest, input_at(l, x, y, c, out[PR_AXIS_G]));
        }
        for (uint32_t tap = 0; tap < 9; tap++) {
            uint16_t half = *weight_at(l, out[PR_AXIS_G], c * 9 + tap, out[PR_AXIS_C], 0);
            double weight = fabs(model_load(half, true, true, false));
            long x = (long)out[PR_AXIS_W] - (long)ne->px + tap % 3;
            long y = (long)out[PR_AXIS_H] - (long)ne->py + tap / 3;

            weights += weight;
            bound.products += weight * input_at(l, x, y, c, out[PR_AXIS_G]);
        }
        bound.tile += largest * weights;
    }
    return bound;
}

static double ulp_of(double value)
{
    return value < 0x1p-14 ? 0x1p-24 : ldexp(1, ilogb(value) - 10);
}

/* Results below 2^-14 are stored as 0, so that one beside that limit may be on either side of it. */
static bool is_within(double a, double b, double error)
{
    error += ulp_of(fmax(fabs(a), fabs(b)));
    if (a == 0 || b == 0)
        error += 0x1p-14;
    return fabs(a - b) <= error;
}

/* Compares all outputs with l->expected; returns how many differ. `ordinary`: by the narrower bound. */
static unsigned check_bound(const struct layer *l, bool ordinary, uint64_t round)
{
    double scale = fabs(model_load(l->task.ne.post_scale, true, false, false));
    uint32_t index[PR_AXES] = {0};
    unsigned differing = 0;

    do {
        uint16_t got = element_get(&l->task.dst, l->y.bytes, index);
        uint16_t expected = element_get(&l->task.dst, l->expected, index);
        struct bound bound;
        double error;

        if (got == expected)
            continue;
        differing++;
        bound = bound_of(l, index);
        error = 0x1p-20 * scale * (ordinary ? bound.products : bound.tile);
        if (!is_within(test_half_to_double(got), test_half_to_double(expected), error))
            fail_msg("round %llu: w%u h%u c%u g%u is %04x, not %04x; products %g, tile %g",
                     (unsigned long long)round, index[0], index[1], index[3], index[4], got, expected,
                     bound.products, bound.tile);
    } while (next_index(index, l->task.dst.extent));
    return differing;
}

static struct eng_pool *three_threads;

/* Runs the layer in every fast way. All must give the bytes of the first, which stay in l->y. */
static void run_ways(struct layer *l, enum eng_winograd winograd, uint64_t round)
{
    struct eng_compute compute = {.policy = ENG_M1, .winograd = winograd};
    uint8_t *first = malloc(l->y.size);
    struct way way;

    assert_non_null(first);
    for (unsigned i = 1; way_get(i, &way); i++) {
        compute.pool = way_begin(&way);
        if (compute.pool && round % 2)
            compute.pool = three_threads;
        memcpy(l->y.bytes, l->y.before, l->y.size);
        assert_int_equal(layer_run(l, &compute), 0);
        if (i == 1)
            memcpy(first, l->y.bytes, l->y.size);
        check_bytes(&l->task.dst, l->y.bytes, first, l->y.size, &way, round);
    }
    eng_isa_limit(ENG_ISA_AVX512);
    free(first);
    eng_compute_free(&compute);
}

/* Leaves the reference's bytes in l->expected. */
static void run_reference(struct layer *l)
{
    struct eng_compute compute = {
        .policy = ENG_M1, .path = ENG_PATH_REFERENCE, .winograd = ENG_WINOGRAD_ALWAYS};

    memcpy(l->y.bytes, l->y.before, l->y.size);
    assert_int_equal(layer_run(l, &compute), 0);
    memcpy(l->expected, l->y.bytes, l->y.size);
    eng_compute_free(&compute);
}

static void random_layer(struct layer *l, struct test_rng *rng, const uint32_t in[4], uint32_t cout)
{
    struct pr_ne *ne = &l->task.ne;
    uint32_t groups = in[3];

    memset(l, 0, sizeof(*l));
    l->task.unit = PR_UNIT_NE;
    ne->mode = PR_NE_MAC;
    ne->kw = ne->kh = 3;
    ne->sx = ne->sy = ne->ox = 1;
    ne->px = pick(rng, 0, 2);
    ne->py = pick(rng, 0, 2);
    ne->lanes = 1u << pick(rng, 0, 5);
    ne->engines = 1u << pick(rng, 0, 4);
    ne->bias = test_rng_bool(rng);
    ne->reuse = groups > 1 && test_rng_bool(rng);
    ne->relu = pick(rng, 0, 3) == 0;
    ne->acc_bias = pick(rng, 0, 2) ? 0 : random_half(rng, SMALL);
    ne->post_scale = pick(rng, 0, 2) ? ONE : 0x3555;
    memcpy(l->task.src[0].extent, (uint32_t[]){in[0], in[1], 1, in[2], groups},
           sizeof(l->task.src[0].extent));
    memcpy(l->task.dst.extent,
           (uint32_t[]){pick(rng, in[0] > 2 ? in[0] - 2 : 1, in[0] + ne->px),
                        pick(rng, in[1] > 2 ? in[1] - 2 : 1, in[1] + ne->py), 1, cout, groups},
           sizeof(l->task.dst.extent));
    l->task.dst.interleave = pick(rng, 0, 5) ? 1 : pick(rng, 2, 4);
    random_layout(rng, &l->task.src[0], 0);
    random_layout(rng, &l->task.dst, 0);
    l->task.src[0].relu = pick(rng, 0, 4) == 0;
    l->task.dst.zero_tail = test_rng_bool(rng);
}

/* Finite numbers of all magnitudes, denormals and zeros among them, that keep sums below the ceiling. */
static void mixed_numbers(struct layer *l, struct test_rng *rng)
{
    size_t count = (size_t)(l->task.ne.reuse ? 1 : l->task.dst.extent[PR_AXIS_G]) * taps_of(l) *
                   l->task.dst.extent[PR_AXIS_C];

    for (size_t i = 0; i < count; i++) {
        uint32_t exponent = pick(rng, 0, 7) ? pick(rng, 0, 12) : 0;

        l->weight[i] = (uint16_t)(pick(rng, 0, 1) << 15 | exponent << 10 | pick(rng, 0, 1023));
        if (!pick(rng, 0, 3))
            l->weight[i] = 0;
    }
    for (size_t i = 0; i + 1 < l->x.size; i += 2) {
        uint16_t half = (uint16_t)(pick(rng, 0, 1) << 15 | pick(rng, 0, 20) << 10 | pick(rng, 0, 1023));

        memcpy(l->x.bytes + i, pick(rng, 0, 3) ? &half : &(uint16_t){0}, 2);
    }
}

/* What layer_open has protected is written once more. */
static void unprotect(struct guarded *g)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (g->mapped > 2 * page)
        assert_int_equal(mprotect(g->map + page, g->mapped - 2 * page, PROT_READ | PROT_WRITE), 0);
}

static void replace_numbers(struct layer *l, struct test_rng *rng)
{
    unprotect(&l->x);
    mixed_numbers(l, rng);
    guarded_protect(&l->x);
    for (unsigned e = 0; e < PR_ENGINES_MAX; e++)
        if (l->kernel[e].map)
            guarded_close(&l->kernel[e]);
    pack_weights(l, rng);
}

static void small_sizes(void **state)
{
    struct test_rng rng;
    struct layer l;
    unsigned differing = 0;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(300); round++) {
        uint32_t groups;

        test_rng_init(&rng, 7000 + round);
        groups = pick(&rng, 0, 4) ? 1 : pick(&rng, 2, 3);
        random_layer(&l, &rng, (uint32_t[]){pick(&rng, 1, 17), pick(&rng, 1, 17), pick(&rng, 1, 70), groups},
                     pick(&rng, 1, 70 / groups));
        layer_open(&l, &rng, SMALL);
        if (round % 3 == 0)
            replace_numbers(&l, &rng);
        run_reference(&l);
        run_ways(&l, ENG_WINOGRAD_ALWAYS, round);
        differing += check_bound(&l, false, round);
        layer_close(&l);
    }
    ways_end();
    assert_true(differing > 100);
}

/* Sizes beyond one block, and those of networks; the data is of one magnitude. */
static void large_sizes(void **state)
{
    static const struct {
        uint32_t in[4], cout, lanes, engines;
    } shape[] = {
        {{56, 20, 16, 1}, 16, 1, 16}, {{28, 28, 32, 1}, 40, 2, 16},  {{14, 14, 64, 1}, 48, 4, 16},
        {{13, 13, 48, 1}, 96, 8, 16}, {{300, 6, 16, 1}, 16, 16, 16}, {{8, 200, 16, 1}, 17, 32, 16},
        {{24, 24, 16, 2}, 24, 2, 8},  {{7, 7, 300, 1}, 64, 4, 16},   {{30, 9, 24, 1}, 32, 2, 16},
        {{31, 34, 24, 1}, 32, 2, 16}, {{62, 7, 20, 1}, 40, 2, 16},
    };
    unsigned differing = 0;

    (void)state;
    for (uint64_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
        struct test_rng rng;
        struct layer l;

        test_rng_init(&rng, 7500 + i);
        random_layer(&l, &rng, shape[i].in, shape[i].cout);
        l.task.ne.lanes = shape[i].lanes;
        l.task.ne.engines = shape[i].engines;
        layer_open(&l, &rng, SMALL);
        run_reference(&l);
        run_ways(&l, i % 2 ? ENG_WINOGRAD_ON : ENG_WINOGRAD_ALWAYS, i);
        differing += check_bound(&l, true, i);
        layer_close(&l);
    }
    ways_end();
    assert_true(differing > 50);
}

/* Square maps with a border of zeros, among them those whose last tile is computed apart. */
static void maps_of_networks(void **state)
{
    static const uint32_t side[] = {2, 5, 6, 7, 8, 13, 14, 26, 28, 30};
    unsigned differing = 0;

    (void)state;
    for (uint64_t round = 0; round < 4 * sizeof(side) / sizeof(side[0]); round++) {
        uint32_t n = side[round / 4];
        struct test_rng rng;
        struct layer l;

        test_rng_init(&rng, 7600 + round);
        random_layer(&l, &rng, (uint32_t[]){n, n, pick(&rng, 20, 40), 1}, pick(&rng, 16, 48));
        l.task.ne.px = l.task.ne.py = 1;
        l.task.dst.extent[PR_AXIS_W] = l.task.dst.extent[PR_AXIS_H] = n;
        random_layout(&rng, &l.task.dst, 0);
        layer_open(&l, &rng, SMALL);
        run_reference(&l);
        run_ways(&l, ENG_WINOGRAD_ALWAYS, round);
        differing += check_bound(&l, true, round);
        layer_close(&l);
    }
    ways_end();
    assert_true(differing > 50);
}

/* Kernels that are not read in place, and tables. */
static void other_kernels(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < 20; round++) {
        test_rng_init(&rng, 7700 + round);
        random_layer(&l, &rng, (uint32_t[]){pick(&rng, 4, 20), pick(&rng, 4, 12), pick(&rng, 4, 20), 1},
                     pick(&rng, 4, 20));
        l.task.ne.bias = false;
        l.task.ne.kernel_format = PR_I8;
        assert_false(pr_kernel_is_plain(&l.task));
        layer_open(&l, &rng, SMALL);
        for (size_t i = 0; i < l.task.dst.extent[PR_AXIS_C]; i++)
            l.bias[i] = 0x8000;
        run_reference(&l);
        run_ways(&l, ENG_WINOGRAD_ALWAYS, round);
        check_bound(&l, false, round);
        layer_close(&l);
    }
    ways_end();
}

/* Where a partial sum could meet an edge the chain runs, and its bits are the reference's. */
static void edges_are_the_chains(void **state)
{
    static const uint16_t edge[] = {0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7bff, 0xfbff};
    struct test_rng rng;
    struct way way = {ENG_PATH_FAST, ENG_ISA_PORTABLE, 1};

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(120); round++) {
        struct layer l;

        test_rng_init(&rng, 7800 + round);
        random_layer(&l, &rng, (uint32_t[]){pick(&rng, 1, 17), pick(&rng, 1, 9), pick(&rng, 1, 20), 1},
                     pick(&rng, 1, 20));
        l.task.src[0].slice = round % 5 == 4;
        layer_open(&l, &rng, round % 5 < 4 ? (enum palette)(round % 5) : SMALL);
        unprotect(&l.x);
        if (round % 5 != 4) {
            uint32_t index[PR_AXES] = {pick(&rng, 0, l.task.src[0].extent[PR_AXIS_W] - 1),
                                       pick(&rng, 0, l.task.src[0].extent[PR_AXIS_H] - 1), 0,
                                       pick(&rng, 0, l.task.src[0].extent[PR_AXIS_C] - 1), 0};

            memcpy(l.x.bytes + element_offset(&l.task.src[0], index), &edge[round % 6], 2);
        }
        if (pr_kernel_is_plain(&l.task) && round % 5 == 0)
            for (unsigned e = 0; e < l.task.ne.engines; e++)
                if (l.kernel[e].size > 300) {
                    unprotect(&l.kernel[e]);
                    memcpy(l.kernel[e].bytes + 2 * pick(&rng, 0, (uint32_t)l.kernel[e].size / 2 - 1),
                           &edge[round % 4], 2);
                }
        run_reference(&l);
        run_ways(&l, ENG_WINOGRAD_ALWAYS, round);
        check_bytes(&l.task.dst, l.y.bytes, l.expected, l.y.size, &way, round);
        layer_close(&l);
    }
    ways_end();
}

/* So many weights that threads share the search for an infinite one. */
static void any_infinite_weight_counts(void **state)
{
    struct test_rng rng;
    struct way way = {ENG_PATH_FAST, ENG_ISA_PORTABLE, 1};

    (void)state;
    for (uint64_t round = 0; round < 4; round++) {
        struct layer l;

        test_rng_init(&rng, 7850 + round);
        random_layer(&l, &rng, (uint32_t[]){8, 8, 128, 1}, 70);
        layer_open(&l, &rng, SMALL);
        l.weight[round % 2 ? taps_of(&l) * 70 - 1 : pick(&rng, 0, (uint32_t)taps_of(&l) * 70 - 1)] = 0x7c00;
        for (unsigned e = 0; e < PR_ENGINES_MAX; e++)
            if (l.kernel[e].map)
                guarded_close(&l.kernel[e]);
        pack_weights(&l, &rng);
        run_reference(&l);
        run_ways(&l, ENG_WINOGRAD_ALWAYS, round);
        check_bytes(&l.task.dst, l.y.bytes, l.expected, l.y.size, &way, round);
        layer_close(&l);
    }
    ways_end();
}

/* The sum that decides is that of an output channel's weights, not that of the largest weight. */
static void the_limit_is_a_sum(void **state)
{
    /* 16 channels of 9 weights of 0.5 make 72; 2^14 / 72 is 227.6 */
    static const struct {
        uint16_t input;
        bool used;
    } table[] = {{0x5b00, true}, {0x5b20, false}}; /* 224, 228 */
    struct test_rng rng;
    struct way way = {ENG_PATH_FAST, ENG_ISA_PORTABLE, 1};
    unsigned differing = 0;

    (void)state;
    for (unsigned round = 0; round < 16; round++) {
        unsigned i = round % 2;
        struct layer l;

        test_rng_init(&rng, 7900 + round / 2);
        random_layer(&l, &rng, (uint32_t[]){16, 16, 16, 1}, 16);
        l.task.ne.bias = false;
        l.task.ne.acc_bias = 0;
        l.task.ne.post_scale = ONE;
        l.task.ne.relu = l.task.src[0].relu = false;
        layer_open(&l, &rng, SMALL);
        unprotect(&l.x);
        for (size_t k = 0; k + 1 < l.x.size; k += 2) {
            uint16_t half = (uint16_t)(0x5800 | pick(&rng, 0, 0x2ff));

            memcpy(l.x.bytes + k, k % 64 ? &half : &table[i].input, 2);
        }
        for (size_t k = 0; k < (size_t)taps_of(&l) * 16; k++)
            l.weight[k] = (uint16_t)(pick(&rng, 0, 1) << 15 | 0x3800);
        /* The other channels have one large weight each. */
        for (size_t c = 1; c < 16; c++)
            for (size_t tap = 0; tap < taps_of(&l); tap++)
                l.weight[tap * 16 + c] = tap == c ? 0x4000 : (uint16_t)(0x2c00 + (37 * tap + c) % 1024);
        for (unsigned e = 0; e < PR_ENGINES_MAX; e++)
            if (l.kernel[e].map)
                guarded_close(&l.kernel[e]);
        pack_weights(&l, &rng);
        run_reference(&l);
        run_ways(&l, ENG_WINOGRAD_ALWAYS, round);
        if (table[i].used)
            differing += check_bound(&l, true, round);
        else
            check_bytes(&l.task.dst, l.y.bytes, l.expected, l.y.size, &way, round);
        layer_close(&l);
    }
    /* fp16 hides most differences: few results of a round show one, or none. */
    assert_true(differing > 0);
    ways_end();
}

/* Other policies, and a machine where it is off, have the chain. */
static void off_is_the_chain(void **state)
{
    struct test_rng rng;
    struct layer l;
    struct way way = {ENG_PATH_FAST, ENG_ISA_PORTABLE, 1};

    (void)state;
    test_rng_init(&rng, 7950);
    random_layer(&l, &rng, (uint32_t[]){20, 20, 32, 1}, 32);
    layer_open(&l, &rng, SMALL);
    run_reference(&l);
    run_ways(&l, ENG_WINOGRAD_OFF, 0);
    check_bytes(&l.task.dst, l.y.bytes, l.expected, l.y.size, &way, 0);
    for (unsigned policy = ENG_IEEE; policy <= ENG_M1_EXACT; policy++) {
        struct eng_compute compute = {.policy = (enum eng_policy)policy, .path = ENG_PATH_REFERENCE};

        memcpy(l.y.bytes, l.y.before, l.y.size);
        assert_int_equal(layer_run(&l, &compute), 0);
        memcpy(l.expected, l.y.bytes, l.y.size);
        compute.path = ENG_PATH_FAST;
        compute.winograd = ENG_WINOGRAD_ALWAYS;
        assert_int_equal(layer_run(&l, &compute), 0);
        check_bytes(&l.task.dst, l.y.bytes, l.expected, l.y.size, &way, policy);
        eng_compute_free(&compute);
    }
    layer_close(&l);
    ways_end();
}

static void memory_is_kept(void **state)
{
    struct eng_compute compute = {.policy = ENG_M1, .winograd = ENG_WINOGRAD_ALWAYS};
    struct test_rng rng;
    struct layer l;

    (void)state;
    test_rng_init(&rng, 7960);
    random_layer(&l, &rng, (uint32_t[]){20, 20, 32, 1}, 32);
    layer_open(&l, &rng, SMALL);
    check_memory(&compute, &l, 1);
    layer_close(&l);
    eng_compute_free(&compute);
}

static int open_pool(void **state)
{
    (void)state;
    return eng_pool_create(3, &three_threads);
}

/* Channels are transformed by several threads at a time: none writes among the tiles of another. */
static void input_stays_in_its_channel(void **state)
{
    enum { COLUMNS = 3, ROWS = 2, TILES = COLUMNS * ROWS, SIDE = 2 * COLUMNS + 2, PLANE = TILES + 32 };
    static const uint8_t fp16[SIDE * SIDE * 2];
    static float to[16 * PLANE];
    struct way way;

    (void)state;
    for (unsigned number = 1; way_get(number, &way); number += 2) {
        struct eng_winograd_input in = {
            .fp16 = fp16,
            .stride = (size_t)SIDE * 2,
            .channels = 1,
            .lines = 2 * ROWS + 2,
            .n = SIDE,
            .columns = COLUMNS,
            .rows = ROWS,
            .to = to,
            .to_stride = TILES,
            .plane = PLANE,
        };

        eng_isa_limit(way.isa);
        for (unsigned i = 0; i < 16 * PLANE; i++)
            to[i] = 1;
        eng_kernels_get()->winograd_input(&in);
        for (unsigned i = 0; i < 16 * PLANE; i++)
            assert_true(to[i] == (i % PLANE < TILES ? 0 : 1));
    }
    eng_isa_limit(ENG_ISA_AVX512);
}

static int close_pool(void **state)
{
    (void)state;
    eng_pool_destroy(three_threads);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sizes),        cmocka_unit_test(large_sizes),
        cmocka_unit_test(maps_of_networks),   cmocka_unit_test(any_infinite_weight_counts),
        cmocka_unit_test(other_kernels),      cmocka_unit_test(edges_are_the_chains),
        cmocka_unit_test(the_limit_is_a_sum), cmocka_unit_test(off_is_the_chain),
        cmocka_unit_test(memory_is_kept),     cmocka_unit_test(input_stays_in_its_channel),
    };

    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
