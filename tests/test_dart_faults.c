/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a DART fault leaves behind: the capture block, the walk's place in it, the interrupt line; and streams
 * that bypass or are denied.
 */
#include "dartrig.h"

#include "soc/lines.h"

#define DRAM (64ull << 20)
#define FLAG 0x80000000u
#define LINE 5u

/* Bits of ERROR, from the published driver's layout. */
enum {
    NO_TTBR = 1,
    NO_PMD = 2,
    NO_PTE = 4,
    NO_WRITE = 8,
    NO_READ = 16,
    PTE_READ = 64,
    SUB_PAGE = 128,
    WRITE = 1024,
    NO_FILTER = 2048
};

struct wired {
    struct dartrig rig;
    struct soc_lines lines;
};

static void start(struct wired *w, enum pr_leaf_form form, bool strict)
{
    struct dart_config config = {.form = form, .strict_tlb = strict, .lines = &w->lines, .line = LINE};

    memset(&w->lines, 0, sizeof(w->lines));
    dartrig_start(&w->rig, &config, DARTRIG_T6000_DRAM, DRAM);
    soc_lines_init(&w->lines, &w->rig.trace);
}

static uint32_t reg(struct wired *w, enum dart_port port, uint32_t offset)
{
    return dart_read32(w->rig.dart, port, offset);
}

static bool get(struct wired *w, enum dart_port port, uint32_t stream, uint64_t iova, uint64_t bytes,
                enum dart_access access)
{
    struct dart_range range;

    return dart_range_get(w->rig.dart, port, stream, iova, bytes, access, &range) == 0;
}

/* What a capture of the source port has to show; then it is cleared. */
static void expect(struct wired *w, uint32_t status, uint64_t address, uint32_t walk, uint32_t level)
{
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x40), status);
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x50), (uint32_t)address);
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x54), (uint32_t)(address >> 32));
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x100c) & FLAG, FLAG);
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x1020), walk);
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x1028), level);
    assert_true(soc_lines_level(&w->lines, LINE));
    dart_write32(w->rig.dart, DART_PORT_SOURCE, 0x40, status);
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x1020), 0);
    assert_int_equal(reg(w, DART_PORT_SOURCE, 0x1028), 0);
    assert_false(soc_lines_level(&w->lines, LINE));
}

static uint32_t walk_word(uint32_t l2, uint32_t l3)
{
    return l2 << 11 | l3;
}

static void each_cause_has_its_code_and_its_place(void **state)
{
    struct wired w;
    uint64_t page;

    (void)state;
    start(&w, PR_LEAF_T6000, false);
    page = dartrig_alloc(&w.rig, 2);
    /* No second table; no page; a page that may not be read, written, or only in part. */
    assert_false(get(&w, DART_PORT_SOURCE, 0, 3u << 25 | 5u << 14 | 8, 4, DART_READ));
    expect(&w, FLAG | NO_PMD, 3u << 25 | 5u << 14 | 8, walk_word(3, 5), 1);
    dartrig_map(&w.rig, 3u << 25, page);
    assert_false(get(&w, DART_PORT_SOURCE, 2, 3u << 25 | 5u << 14, 4, DART_WRITE));
    expect(&w, FLAG | 2u << 24 | WRITE | NO_PTE, 3u << 25 | 5u << 14, walk_word(3, 5), 2);
    *dartrig_leaf(&w.rig, w.rig.table, 0x4000) =
        dartrig_word_sub(PR_LEAF_T6000, page, DARTRIG_READ_ONLY, 0, 0xfff);
    assert_true(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x4010, 4, DART_WRITE));
    expect(&w, FLAG | WRITE | NO_WRITE, 0x4010, walk_word(0, 1), 3);
    *dartrig_leaf(&w.rig, w.rig.table, 0x8000) =
        dartrig_word_sub(PR_LEAF_T6000, page, DARTRIG_WRITE_ONLY, 0, 0xfff);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x8010, 4, DART_READ));
    expect(&w, FLAG | NO_READ, 0x8010, walk_word(0, 2), 3);
    *dartrig_leaf(&w.rig, w.rig.table, 0xc000) = dartrig_word_sub(PR_LEAF_T6000, page, 0, 0, 3);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0xc000, 20, DART_READ));
    expect(&w, FLAG | SUB_PAGE, 0xc010, walk_word(0, 3), 3);
    /* A page, a second table and a first table outside memory. */
    *dartrig_leaf(&w.rig, w.rig.table, 0x10000) = dartrig_word(PR_LEAF_T6000, DARTRIG_T6000_DRAM + DRAM);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x10000, 4, DART_READ));
    expect(&w, FLAG | PTE_READ, 0x10000, walk_word(0, 4), 3);
    ((uint64_t *)dartrig_at(&w.rig, w.rig.table, DARTRIG_PAGE))[7] =
        dartrig_word(PR_LEAF_T6000, DARTRIG_T6000_DRAM + DRAM);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 7u << 25, 4, DART_READ));
    expect(&w, FLAG | PTE_READ, 7u << 25, walk_word(7, 0), 2);
    dartrig_ttbr(&w.rig, DART_PORT_SOURCE, 1, DARTRIG_T6000_DRAM + DRAM);
    assert_false(get(&w, DART_PORT_SOURCE, 1, 7u << 25 | 1u << 14, 4, DART_READ));
    expect(&w, FLAG | 1u << 24 | PTE_READ, 7u << 25 | 1u << 14, walk_word(7, 1), 1);
    /* A stream that is not enabled: no walk begins. */
    dart_write32(w.rig.dart, DART_PORT_SOURCE, 0xfc, 0xa006);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    expect(&w, FLAG | NO_TTBR, 0x4000, 0, 0);
    dartrig_end(&w.rig);
}

/* The entry in use is the old one, so the access is refused although the table allows it by now. */
static void a_stale_entry_refuses_what_the_table_allows(void **state)
{
    struct wired w;
    uint64_t page;

    (void)state;
    start(&w, PR_LEAF_T8020, true);
    page = dartrig_alloc(&w.rig, 1);
    *dartrig_leaf(&w.rig, w.rig.table, 0x4000) =
        dartrig_word_sub(PR_LEAF_T8020, page, DARTRIG_READ_ONLY, 0, 0xfff);
    assert_true(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    dartrig_map(&w.rig, 0x4000, page);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_WRITE));
    expect(&w, FLAG | WRITE | NO_WRITE, 0x4000, walk_word(0, 1), 3);
    assert_int_equal(dart_stats_get(w.rig.dart).missing_invalidates, 1);
    dartrig_invalidate(&w.rig, DART_PORT_SOURCE, 1);
    assert_true(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_WRITE));
    dartrig_end(&w.rig);
}

static void the_first_fault_is_kept_and_later_ones_are_counted(void **state)
{
    struct wired w;

    (void)state;
    start(&w, PR_LEAF_SEED, false);
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    assert_false(get(&w, DART_PORT_SOURCE, 1, 0x8000, 4, DART_WRITE));
    assert_false(get(&w, DART_PORT_SOURCE, 2, 0xc000, 4, DART_READ));
    expect(&w, FLAG | NO_PMD, 0x4000, walk_word(0, 1), 2u << 16 | 1);
    for (unsigned i = 0; i < 0x10002; i++)
        (void)get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ);
    assert_int_equal(reg(&w, DART_PORT_SOURCE, 0x1028) >> 16, 0xffff);
    dartrig_end(&w.rig);
}

static void the_line_is_high_while_any_controller_holds_a_fault(void **state)
{
    struct wired w;

    (void)state;
    start(&w, PR_LEAF_SEED, false);
    assert_false(get(&w, DART_PORT_TASK, 0, 0, 4, DART_READ));
    assert_false(get(&w, DART_PORT_RESULT, 0, 0, 4, DART_WRITE));
    assert_int_equal(w.lines.line[LINE].rises, 1);
    dart_write32(w.rig.dart, DART_PORT_TASK, 0x40, 0); /* without the flag nothing is cleared */
    dart_write32(w.rig.dart, DART_PORT_TASK, 0x40, FLAG);
    assert_true(soc_lines_level(&w.lines, LINE));
    dart_write32(w.rig.dart, DART_PORT_RESULT, 0x40, FLAG);
    assert_false(soc_lines_level(&w.lines, LINE));
    assert_false(get(&w, DART_PORT_TASK, 0, 0, 4, DART_READ));
    assert_int_equal(w.lines.line[LINE].rises, 2);
    dart_reset(w.rig.dart, DART_ALL_PORTS);
    assert_false(soc_lines_level(&w.lines, LINE));
    dartrig_end(&w.rig);
}

static void a_bypass_stream_has_physical_addresses(void **state)
{
    struct dart_range a, b, translated;
    struct wired w;
    char text[8] = "";
    uint64_t page;

    (void)state;
    start(&w, PR_LEAF_SEED, false);
    page = dartrig_alloc(&w.rig, 3);
    strcpy(dartrig_at(&w.rig, page + 0x3ffc, 8), "anemone");
    for (uint32_t stream = 13; stream <= 15; stream += 2) {
        assert_int_equal(
            dart_range_get(w.rig.dart, DART_PORT_SOURCE, stream, page + 0x3ffc, 8, DART_READ, &a), 0);
        assert_ptr_equal(a.host, dartrig_at(&w.rig, page + 0x3ffc, 8));
        dart_copy_in(&a, 0, text, 8);
        assert_string_equal(text, "anemone");
    }
    /* Sharing a page is seen between physical and translated addresses. */
    dartrig_map(&w.rig, 0x8000, page + DARTRIG_PAGE);
    assert_int_equal(dartrig_get(&w.rig, 0x8000, 4, DART_READ, &translated), 0);
    assert_true(dart_ranges_overlap(&a, &translated));
    assert_int_equal(
        dart_range_get(w.rig.dart, DART_PORT_SOURCE, 13, page + 2 * DARTRIG_PAGE, 4, DART_WRITE, &b), 0);
    assert_false(dart_ranges_overlap(&b, &translated) || dart_ranges_overlap(&a, &b));
    assert_false(dart_range_repeats(&a));
    dart_copy_out(&b, 0, "sea", 4);
    assert_string_equal((char *)dartrig_at(&w.rig, page + 2 * DARTRIG_PAGE, 4), "sea");
    /* The address is not a device address, and must be memory to its end. */
    assert_false(get(&w, DART_PORT_SOURCE, 13, 0x8000, 4, DART_READ));
    expect(&w, FLAG | 13u << 24 | NO_FILTER, 0x8000, 0, 0);
    assert_false(get(&w, DART_PORT_SOURCE, 15, DARTRIG_T6000_DRAM + DRAM - 4, 8, DART_WRITE));
    expect(&w, FLAG | 15u << 24 | WRITE | NO_FILTER, DARTRIG_T6000_DRAM + DRAM - 4, 0, 0);
    dartrig_end(&w.rig);
}

static void a_stream_can_be_denied_reading_or_writing(void **state)
{
    struct wired w;
    uint64_t page;

    (void)state;
    start(&w, PR_LEAF_SEED, false);
    page = dartrig_alloc(&w.rig, 1);
    dartrig_map(&w.rig, 0x4000, page);
    dart_write32(w.rig.dart, DART_PORT_SOURCE, 0x100, 1u << 7 | 1u << 16); /* no write */
    assert_true(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_WRITE));
    expect(&w, FLAG | WRITE | NO_WRITE, 0x4000, 0, 0);
    dart_write32(w.rig.dart, DART_PORT_SOURCE, 0x100, 1u << 7 | 1u << 17); /* no read */
    assert_true(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_WRITE));
    assert_false(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    expect(&w, FLAG | NO_READ, 0x4000, 0, 0);
    /* Other streams of the table, and other controllers, are not touched by it. */
    assert_true(get(&w, DART_PORT_SOURCE, 1, 0x4000, 4, DART_READ));
    assert_true(get(&w, DART_PORT_RESULT, 0, 0x4000, 4, DART_READ));
    dart_write32(w.rig.dart, DART_PORT_SOURCE, 0x100 + 4 * 13, 1u << 8 | 1u << 17);
    assert_false(get(&w, DART_PORT_SOURCE, 13, page, 4, DART_READ));
    expect(&w, FLAG | 13u << 24 | NO_READ, page, 0, 0);
    dart_write32(w.rig.dart, DART_PORT_SOURCE, 0x100, 1u << 7);
    assert_true(get(&w, DART_PORT_SOURCE, 0, 0x4000, 4, DART_READ));
    dartrig_end(&w.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_its_code_and_its_place),
        cmocka_unit_test(a_stale_entry_refuses_what_the_table_allows),
        cmocka_unit_test(the_first_fault_is_kept_and_later_ones_are_counted),
        cmocka_unit_test(the_line_is_high_while_any_controller_holds_a_fault),
        cmocka_unit_test(a_bypass_stream_has_physical_addresses),
        cmocka_unit_test(a_stream_can_be_denied_reading_or_writing),
    };

    return cmocka_run_group_tests_name("dart_faults", tests, NULL, NULL);
}
