/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two gigabytes of pages scattered on purpose: more host mappings than a process may have.
 * The budget holds and the results are right, through windows that come and go and, for an
 * operand larger than the budget, page by page.
 */
#include "support.h"

#include <string.h>

#include "bare.h"
#include "programs.h"

#define MIB    (1u << 20)
#define BUDGET 24000u

/* 2 GiB of DRAM pages; AddressSanitizer's shadow makes them dear, so that build takes a quarter. */
#if defined(__SANITIZE_ADDRESS__)
#define TOTAL_PAGES 32768u
#define SETS        10u
#define LARGE_MIB   128u
#else
#define TOTAL_PAGES 131072u
#define SETS        41u
#define LARGE_MIB   544u
#endif
#define SET_MIB 16u

/* An operand of whole megabytes as channels of 32 x 16384: 1 MiB each. */
static struct td_shape shape_of(uint32_t mib)
{
    return (struct td_shape){1, mib, 32, 16384};
}

struct scatter {
    struct bare bare;
    uint64_t pool; /* physical address of the pages to scatter over */
    uint32_t next; /* of them */
};

/* Every page apart from its neighbours: an odd stride walks the whole pool. */
static uint32_t map_operand(struct scatter *s, uint32_t iova, uint32_t mib)
{
    for (uint32_t i = 0; i < mib * (MIB / BARE_PAGE); i++) {
        uint64_t page = (uint64_t)s->next++ * 40503 % TOTAL_PAGES;

        bare_map(&s->bare, iova + i * BARE_PAGE, s->pool + page * BARE_PAGE);
    }
    return iova;
}

static void fill(struct scatter *s, uint32_t iova, uint32_t mib, uint16_t first)
{
    uint16_t page[BARE_PAGE / 2];

    for (uint32_t p = 0; p < mib * (MIB / BARE_PAGE); p++) {
        for (uint32_t i = 0; i < BARE_PAGE / 2; i++)
            page[i] = test_half_from_double((first + p * 7 + i) % 1000);
        bare_put(&s->bare, iova + p * BARE_PAGE, page, BARE_PAGE);
    }
}

static void judge(struct scatter *s, uint32_t iova, uint32_t mib, uint16_t first_a, uint16_t first_b)
{
    uint16_t page[BARE_PAGE / 2];
    uint16_t table[2000];

    for (unsigned i = 0; i < 2000; i++)
        table[i] = test_half_from_double(i);
    for (uint32_t p = 0; p < mib * (MIB / BARE_PAGE); p++) {
        bare_get(&s->bare, iova + p * BARE_PAGE, page, BARE_PAGE);
        for (uint32_t i = 0; i < BARE_PAGE / 2; i++)
            if (page[i] != table[(first_a + p * 7 + i) % 1000 + (first_b + p * 7 + i) % 1000])
                fail_msg("page %u element %u is 0x%04x", p, i, page[i]);
    }
}

static struct bare_request add_request(struct scatter *s, uint32_t mib)
{
    static struct test_program program;
    struct td_shape shape = shape_of(mib);

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &shape);
    return bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
}

static struct ane_machine *make(struct scatter *s)
{
    struct ane_machine_config config = {.size = sizeof(config), .threads = 2};
    struct ane_machine *machine;

    assert_int_equal(ane_machine_create(&config, &machine), 0);
    memset(s, 0, sizeof(*s));
    bare_start(&s->bare, machine, 64);
    assert_int_equal(ane_machine_dram_alloc(machine, (uint64_t)TOTAL_PAGES * BARE_PAGE, &s->pool), 0);
    return machine;
}

static void windows_come_and_go_within_the_budget(void **state)
{
    struct scatter s;
    struct ane_machine *machine = make(&s);
    struct bare_request request = add_request(&s, SET_MIB);
    uint32_t iova[SETS][3];
    uint32_t next = 0x4000000;

    (void)state;
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < 3; k++, next += SET_MIB * MIB)
            iova[i][k] = map_operand(&s, next, SET_MIB);
    bare_invalidate(&s.bare);
    assert_true(s.next <= TOTAL_PAGES);
    for (unsigned i = 0; i < SETS; i++) {
        fill(&s, iova[i][0], SET_MIB, (uint16_t)i);
        fill(&s, iova[i][1], SET_MIB, (uint16_t)(3 * i));
    }
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < SETS; i++) {
            request.bar[6] = iova[i][0];
            request.bar[5] = iova[i][1];
            request.bar[4] = iova[i][2];
            assert_true(bare_run(&s.bare, &request));
        }
    for (unsigned i = 0; i < SETS; i++)
        judge(&s, iova[i][2], SET_MIB, (uint16_t)i, (uint16_t)(3 * i));
    assert_true(ane_machine_counter(machine, "dart.vmas_peak") <= BUDGET);
    assert_true(ane_machine_counter(machine, "dart.vmas_peak") > 1000);
    assert_true(ane_machine_counter(machine, "dart.window_drops") > 0);
    assert_int_equal(ane_machine_counter(machine, "dart.slow_grants"), 0);
    ane_machine_destroy(machine);
}

static void an_operand_beyond_the_budget_is_read_page_by_page(void **state)
{
    struct scatter s;
    struct ane_machine *machine = make(&s);
    struct bare_request request = add_request(&s, LARGE_MIB);

    (void)state;
    request.bar[6] = map_operand(&s, 0x4000000, LARGE_MIB);
    request.bar[5] = map_operand(&s, 0x4000000 + LARGE_MIB * MIB, LARGE_MIB);
    request.bar[4] = map_operand(&s, 0x4000000 + 2 * LARGE_MIB * MIB, LARGE_MIB);
    bare_invalidate(&s.bare);
    fill(&s, request.bar[6], LARGE_MIB, 1);
    fill(&s, request.bar[5], LARGE_MIB, 2);
    assert_true(bare_run(&s.bare, &request));
    judge(&s, request.bar[4], LARGE_MIB, 1, 2);
    assert_true(ane_machine_counter(machine, "dart.vmas_peak") <= BUDGET);
    assert_true(ane_machine_counter(machine, "dart.slow_grants") > 0);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_come_and_go_within_the_budget),
        cmocka_unit_test(an_operand_beyond_the_budget_is_read_page_by_page),
    };

    return cmocka_run_group_tests_name("scatter", tests, NULL, NULL);
}
