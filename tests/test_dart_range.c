/* SPDX-License-Identifier: Apache-2.0 */
/* Granted ranges: copies, repeated grants, overlap. */
#include "dart_rig.h"

#define DRAM (64ull << 20)

static void start(struct rig *rig, uint32_t budget)
{
    rig_start(rig, &(struct dart_config){.vma_budget = budget}, RIG_T6000_DRAM, DRAM);
}

static void copies_cross_pages(void **state)
{
    static uint8_t bytes[5 * RIG_PAGE], back[5 * RIG_PAGE];
    struct test_rng rng;
    struct rig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    test_rng_init(&rng, 1);
    start(&rig, 1); /* no window fits: copies only */
    page = rig_alloc(&rig, 6);
    rig_map_backwards(&rig, 0x8000, page, 6);
    assert_int_equal(rig_get(&rig, 0x8100, sizeof(bytes), DART_WRITE, &range), 0);
    assert_null(range.host);
    assert_int_equal(dart_stats_get(rig.dart).slow_grants, 1);
    test_rng_bytes(&rng, bytes, sizeof(bytes));
    dart_copy_out(&range, 0, bytes, sizeof(bytes));
    for (uint64_t i = 0; i < sizeof(bytes); i++) {
        uint64_t at = 0x100 + i;

        assert_int_equal(*(uint8_t *)rig_at(&rig, page + (5 - at / RIG_PAGE) * RIG_PAGE + at % RIG_PAGE, 1),
                         bytes[i]);
    }
    dart_copy_in(&range, 1, back, sizeof(bytes) - 1);
    assert_memory_equal(back, bytes + 1, sizeof(bytes) - 1);
    dart_copy_in(&range, sizeof(bytes), back, 0);
    rig_end(&rig);
}

static void warm_grants_are_free(void **state)
{
    struct rig rig;
    struct dart_range range;
    struct dart_stats before;
    unsigned long acquired;
    uint64_t page;
    uint8_t *host[2] = {NULL, NULL};

    (void)state;
    start(&rig, 0);
    page = rig_alloc(&rig, 64);
    rig_map_run(&rig, 0x4000, page, 32);
    rig_map_backwards(&rig, 0x4000000, page + 32 * RIG_PAGE, 32);
    for (unsigned round = 0; round < 3; round++) {
        before = dart_stats_get(rig.dart);
        acquired = base_alloc_count();
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(rig_get(&rig, i ? 0x4000000 : 0x4000, 32 * RIG_PAGE, DART_READ, &range), 0);
            assert_true(!round || range.host == host[i]);
            host[i] = range.host;
            assert_int_equal(rig_get(&rig, i ? 0x4004000 : 0x8000, 30 * RIG_PAGE, DART_WRITE, &range), 0);
            assert_ptr_equal(range.host, host[i] + RIG_PAGE);
        }
        if (round) {
            assert_int_equal(base_alloc_count(), acquired);
            assert_int_equal(dart_stats_get(rig.dart).walks, before.walks);
        }
    }
    rig_end(&rig);
}

static void get(struct rig *rig, uint64_t iova, uint64_t pages, struct dart_range *range)
{
    assert_int_equal(rig_get(rig, iova, pages * RIG_PAGE, DART_READ, range), 0);
}

static bool overlap(struct dart_range *a, struct dart_range *b)
{
    bool there = dart_ranges_overlap(a, b);

    assert_int_equal(dart_ranges_overlap(b, a), there);
    assert_int_equal(dart_ranges_overlap(a, b), there);
    return there;
}

static void overlap_is_physical(void **state)
{
    struct rig rig;
    struct dart_range run, alias, apart, scattered, same, other, empty, twice;
    uint64_t page;

    (void)state;
    start(&rig, 0);
    page = rig_alloc(&rig, 64);
    rig_map_run(&rig, 0x1000000, page, 8);
    rig_map_run(&rig, 0x2000000, page + 7 * RIG_PAGE, 8);
    rig_map_run(&rig, 0x3000000, page + 8 * RIG_PAGE, 8);
    rig_map_backwards(&rig, 0x4000000, page + 4 * RIG_PAGE, 4);
    rig_map_backwards(&rig, 0x5000000, page + 7 * RIG_PAGE, 4);
    rig_map_backwards(&rig, 0x6000000, page + 8 * RIG_PAGE, 4);
    get(&rig, 0x1000000, 8, &run);
    get(&rig, 0x2000000, 8, &alias);
    get(&rig, 0x3000000, 8, &apart);
    get(&rig, 0x4000000, 4, &scattered);
    get(&rig, 0x5000000, 4, &same);
    get(&rig, 0x6000000, 4, &other);
    get(&rig, 0x1000000, 0, &empty);
    assert_false(dart_range_repeats(&run) || dart_range_repeats(&scattered) || dart_range_repeats(&empty));
    rig_map_backwards(&rig, 0x7000000, page, 4);
    rig_map_run(&rig, 0x7000000 + 4 * RIG_PAGE, page + 2 * RIG_PAGE, 1);
    get(&rig, 0x7000000, 4, &twice);
    assert_false(dart_range_repeats(&twice));
    get(&rig, 0x7000000, 5, &twice);
    assert_true(dart_range_repeats(&twice));
    assert_true(dart_range_repeats(&twice)); /* nothing is left of the first time */
    assert_true(overlap(&run, &run));
    assert_true(overlap(&run, &alias));     /* two addresses of page 7 */
    assert_false(overlap(&run, &apart));    /* neighbours */
    assert_true(overlap(&run, &scattered)); /* pages 4 to 7 */
    assert_false(overlap(&apart, &scattered));
    assert_true(overlap(&scattered, &same)); /* page 7 */
    assert_false(overlap(&scattered, &other));
    assert_true(overlap(&same, &other));
    assert_false(overlap(&run, &empty));
    assert_true(overlap(&alias, &same));
    /* The unit is the page: bytes apart within one are reported. */
    assert_int_equal(rig_get(&rig, 0x1000000, 16, DART_READ, &run), 0);
    assert_int_equal(rig_get(&rig, 0x1001000, 16, DART_READ, &alias), 0);
    assert_true(overlap(&run, &alias));
    rig_end(&rig);
}

static void overlap_across_domains(void **state)
{
    struct rig rig;
    struct dart_range a, b;
    uint64_t page, table;

    (void)state;
    start(&rig, 0);
    page = rig_alloc(&rig, 8);
    table = rig_alloc(&rig, 1);
    rig_map_run(&rig, 0x4000, page, 4);
    for (uint64_t i = 0; i < 4; i++)
        *rig_leaf(&rig, table, 0x4000 + i * RIG_PAGE) = rig_word(rig.form, page + (4 + i) * RIG_PAGE);
    rig_ttbr(&rig, DART_PORT_RESULT, 2, table);
    get(&rig, 0x4000, 4, &a);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 2, 0x4000, 4 * RIG_PAGE, DART_WRITE, &b), 0);
    assert_false(overlap(&a, &b)); /* the same addresses, other pages */
    *rig_leaf(&rig, table, 0x8000) = rig_word(rig.form, page);
    rig_invalidate(&rig, DART_PORT_RESULT, 4);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 2, 0x4000, 4 * RIG_PAGE, DART_WRITE, &b), 0);
    assert_true(overlap(&a, &b));
    rig_end(&rig);
}

/* Page numbers that differ by a power of two above any scratch table's size. */
static void overlap_of_distant_pages(void **state)
{
    struct rig rig;
    struct dart_range a, b;

    (void)state;
    rig_start(&rig, &(struct dart_config){0}, RIG_T6000_DRAM, 17ull << 30);
    rig_map_backwards(&rig, 0x4000, RIG_T6000_DRAM + 0x1000000, 4);
    rig_map_backwards(&rig, 0x4000000, RIG_T6000_DRAM + 0x401000000, 4);
    get(&rig, 0x4000, 4, &a);
    get(&rig, 0x4000000, 4, &b);
    assert_false(overlap(&a, &b));
    rig_map(&rig, 0x4004000, RIG_T6000_DRAM + 0x1004000);
    rig_invalidate(&rig, DART_PORT_SOURCE, 1);
    get(&rig, 0x4000, 4, &a);
    get(&rig, 0x4000000, 4, &b);
    assert_true(overlap(&a, &b));
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_cross_pages),       cmocka_unit_test(warm_grants_are_free),
        cmocka_unit_test(overlap_is_physical),      cmocka_unit_test(overlap_across_domains),
        cmocka_unit_test(overlap_of_distant_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
