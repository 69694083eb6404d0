/* SPDX-License-Identifier: Apache-2.0 */
/* Granted ranges: copies, repeated grants, overlap. */
#include "dartrig.h"

#define DRAM (64ull << 20)

static void start(struct dartrig *rig, uint32_t budget)
{
    dartrig_start(rig, &(struct dart_config){.vma_budget = budget}, DARTRIG_T6000_DRAM, DRAM);
}

static void copies_cross_pages(void **state)
{
    static uint8_t bytes[5 * DARTRIG_PAGE], back[5 * DARTRIG_PAGE];
    struct test_rng rng;
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    test_rng_init(&rng, 1);
    start(&rig, 1); /* no window fits: copies only */
    page = dartrig_alloc(&rig, 6);
    dartrig_map_backwards(&rig, 0x8000, page, 6);
    assert_int_equal(dartrig_get(&rig, 0x8100, sizeof(bytes), DART_WRITE, &range), 0);
    assert_null(range.host);
    assert_int_equal(dart_stats_get(rig.dart).slow_grants, 1);
    test_rng_bytes(&rng, bytes, sizeof(bytes));
    dart_copy_out(&range, 0, bytes, sizeof(bytes));
    for (uint64_t i = 0; i < sizeof(bytes); i++) {
        uint64_t at = 0x100 + i;

        assert_int_equal(*(uint8_t *)dartrig_at(
                             &rig, page + (5 - at / DARTRIG_PAGE) * DARTRIG_PAGE + at % DARTRIG_PAGE, 1),
                         bytes[i]);
    }
    dart_copy_in(&range, 1, back, sizeof(bytes) - 1);
    assert_memory_equal(back, bytes + 1, sizeof(bytes) - 1);
    dart_copy_in(&range, sizeof(bytes), back, 0);
    dartrig_end(&rig);
}

static void warm_grants_are_free(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    struct dart_stats before;
    unsigned long acquired;
    uint64_t page;
    uint8_t *host[2] = {NULL, NULL};

    (void)state;
    start(&rig, 0);
    page = dartrig_alloc(&rig, 64);
    dartrig_map_run(&rig, 0x4000, page, 32);
    dartrig_map_backwards(&rig, 0x4000000, page + 32 * DARTRIG_PAGE, 32);
    for (unsigned round = 0; round < 3; round++) {
        before = dart_stats_get(rig.dart);
        acquired = base_alloc_count();
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(dartrig_get(&rig, i ? 0x4000000 : 0x4000, 32 * DARTRIG_PAGE, DART_READ, &range),
                             0);
            assert_true(!round || range.host == host[i]);
            host[i] = range.host;
            assert_int_equal(dartrig_get(&rig, i ? 0x4004000 : 0x8000, 30 * DARTRIG_PAGE, DART_WRITE, &range),
                             0);
            assert_ptr_equal(range.host, host[i] + DARTRIG_PAGE);
        }
        if (round) {
            assert_int_equal(base_alloc_count(), acquired);
            assert_int_equal(dart_stats_get(rig.dart).walks, before.walks);
        }
    }
    dartrig_end(&rig);
}

static void get(struct dartrig *rig, uint64_t iova, uint64_t pages, struct dart_range *range)
{
    assert_int_equal(dartrig_get(rig, iova, pages * DARTRIG_PAGE, DART_READ, range), 0);
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
    struct dartrig rig;
    struct dart_range run, alias, apart, scattered, same, other, empty, twice;
    uint64_t page;

    (void)state;
    start(&rig, 0);
    page = dartrig_alloc(&rig, 64);
    dartrig_map_run(&rig, 0x1000000, page, 8);
    dartrig_map_run(&rig, 0x2000000, page + 7 * DARTRIG_PAGE, 8);
    dartrig_map_run(&rig, 0x3000000, page + 8 * DARTRIG_PAGE, 8);
    dartrig_map_backwards(&rig, 0x4000000, page + 4 * DARTRIG_PAGE, 4);
    dartrig_map_backwards(&rig, 0x5000000, page + 7 * DARTRIG_PAGE, 4);
    dartrig_map_backwards(&rig, 0x6000000, page + 8 * DARTRIG_PAGE, 4);
    get(&rig, 0x1000000, 8, &run);
    get(&rig, 0x2000000, 8, &alias);
    get(&rig, 0x3000000, 8, &apart);
    get(&rig, 0x4000000, 4, &scattered);
    get(&rig, 0x5000000, 4, &same);
    get(&rig, 0x6000000, 4, &other);
    get(&rig, 0x1000000, 0, &empty);
    assert_false(dart_range_repeats(&run) || dart_range_repeats(&scattered) || dart_range_repeats(&empty));
    dartrig_map_backwards(&rig, 0x7000000, page, 4);
    dartrig_map_run(&rig, 0x7000000 + 4 * DARTRIG_PAGE, page + 2 * DARTRIG_PAGE, 1);
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
    assert_int_equal(dartrig_get(&rig, 0x1000000, 16, DART_READ, &run), 0);
    assert_int_equal(dartrig_get(&rig, 0x1001000, 16, DART_READ, &alias), 0);
    assert_true(overlap(&run, &alias));
    dartrig_end(&rig);
}

static void overlap_across_domains(void **state)
{
    struct dartrig rig;
    struct dart_range a, b;
    uint64_t page, table;

    (void)state;
    start(&rig, 0);
    page = dartrig_alloc(&rig, 8);
    table = dartrig_alloc(&rig, 1);
    dartrig_map_run(&rig, 0x4000, page, 4);
    for (uint64_t i = 0; i < 4; i++)
        *dartrig_leaf(&rig, table, 0x4000 + i * DARTRIG_PAGE) =
            dartrig_word(rig.form, page + (4 + i) * DARTRIG_PAGE);
    dartrig_ttbr(&rig, DART_PORT_RESULT, 2, table);
    get(&rig, 0x4000, 4, &a);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 2, 0x4000, 4 * DARTRIG_PAGE, DART_WRITE, &b),
                     0);
    assert_false(overlap(&a, &b)); /* the same addresses, other pages */
    *dartrig_leaf(&rig, table, 0x8000) = dartrig_word(rig.form, page);
    dartrig_invalidate(&rig, DART_PORT_RESULT, 4);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 2, 0x4000, 4 * DARTRIG_PAGE, DART_WRITE, &b),
                     0);
    assert_true(overlap(&a, &b));
    dartrig_end(&rig);
}

/* Page numbers that differ by a power of two above any scratch table's size. */
static void overlap_of_distant_pages(void **state)
{
    struct dartrig rig;
    struct dart_range a, b;

    (void)state;
    dartrig_start(&rig, &(struct dart_config){0}, DARTRIG_T6000_DRAM, 17ull << 30);
    dartrig_map_backwards(&rig, 0x4000, DARTRIG_T6000_DRAM + 0x1000000, 4);
    dartrig_map_backwards(&rig, 0x4000000, DARTRIG_T6000_DRAM + 0x401000000, 4);
    get(&rig, 0x4000, 4, &a);
    get(&rig, 0x4000000, 4, &b);
    assert_false(overlap(&a, &b));
    dartrig_map(&rig, 0x4004000, DARTRIG_T6000_DRAM + 0x1004000);
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    get(&rig, 0x4000, 4, &a);
    get(&rig, 0x4000000, 4, &b);
    assert_true(overlap(&a, &b));
    dartrig_end(&rig);
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
