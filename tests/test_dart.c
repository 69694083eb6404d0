/* SPDX-License-Identifier: Apache-2.0 */
/* The DART's registers, page-table walk, faults and invalidates. */
#include "dartrig.h"

#define DRAM (64ull << 20)

enum { NO_TTBR = 1 << 0, NO_PMD = 1 << 1, NO_PTE = 1 << 2, WRITE_FAULT = 1 << 3, READ_FAULT = 1 << 4 };
enum { PTE_READ = 1 << 6, SUBPAGE = 1 << 7, WAS_WRITE = 1 << 10 };
#define FLAG 0x80000000u

static const enum pr_leaf_form forms[] = {PR_LEAF_SEED, PR_LEAF_T8020, PR_LEAF_T6000};
static const uint64_t bases[] = {DARTRIG_T6000_DRAM, DARTRIG_T8103_DRAM};

static void start(struct dartrig *rig, enum pr_leaf_form form)
{
    dartrig_start(rig, &(struct dart_config){.form = form}, DARTRIG_T6000_DRAM, DRAM);
}

static uint32_t reg(struct dartrig *rig, uint32_t offset)
{
    return dart_read32(rig->dart, DART_PORT_SOURCE, offset);
}

/* The source port's capture registers, then cleared. */
static void expect_capture(struct dartrig *rig, uint32_t status, uint64_t address)
{
    assert_int_equal(reg(rig, 0x40), status);
    assert_int_equal(reg(rig, 0x50), (uint32_t)address);
    assert_int_equal(reg(rig, 0x54), address >> 32);
    assert_int_equal(reg(rig, 0x100c), status & FLAG);
    dart_write32(rig->dart, DART_PORT_SOURCE, 0x40, status);
    assert_int_equal(reg(rig, 0x40), 0);
    assert_int_equal(reg(rig, 0x100c), 0);
}

static void expect_fault(struct dartrig *rig, uint64_t iova, uint64_t bytes, enum dart_access access,
                         uint32_t code, uint64_t address)
{
    struct dart_range range = {.host = (uint8_t *)rig, .bytes = 1};

    assert_int_equal(dartrig_get(rig, iova, bytes, access, &range), -EFAULT);
    assert_null(range.host);
    assert_int_equal(range.bytes, 0);
    expect_capture(rig, FLAG | code | (access == DART_WRITE ? WAS_WRITE : 0), address);
}

static uint8_t *expect_grant(struct dartrig *rig, uint64_t iova, uint64_t bytes, enum dart_access access)
{
    struct dart_range range;

    assert_int_equal(dartrig_get(rig, iova, bytes, access, &range), 0);
    assert_int_equal(range.iova, iova);
    assert_int_equal(range.bytes, bytes);
    assert_non_null(range.host);
    return range.host;
}

/* The base measured live (ch. 28): 0x90022320 is valid and names the table at 0x10022320000. */
static void live_table_base(void **state)
{
    struct dartrig rig;
    uint64_t *first, *second;

    (void)state;
    dartrig_start(&rig, &(struct dart_config){0}, DARTRIG_T6000_DRAM, 1ull << 30);
    first = dartrig_at(&rig, 0x10022320000ull, DARTRIG_PAGE);
    second = dartrig_at(&rig, 0x10022324000ull, DARTRIG_PAGE);
    first[2] = 1ull << 63 | 0x10022324000ull;
    second[3] = 1ull << 63 | 0x10022328000ull;
    strcpy(dartrig_at(&rig, 0x10022328000ull + 0x40, 8), "anemone");
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x200, 0x90022320u);
    assert_int_equal(reg(&rig, 0x200), 0x90022320u);
    assert_string_equal((char *)expect_grant(&rig, (2u << 25 | 3u << 14) + 0x40, 8, DART_READ), "anemone");
    dartrig_end(&rig);
}

static void leaf_words(void **state)
{
    const struct pr_leaf whole = {.valid = true, .frame = 0x812344000ull, .sub_end = 0xfff};
    struct pr_leaf leaf = {.valid = true, .no_read = true, .no_write = true, .frame = 0x812344000ull};

    (void)state;
    leaf.sub_start = 0x123;
    leaf.sub_end = 0x456;
    for (unsigned i = 0; i < 3; i++) {
        struct pr_leaf back = pr_leaf_decode(forms[i], dartrig_word(forms[i], 0x812344000ull));

        assert_int_equal(pr_leaf_encode(forms[i], &whole), dartrig_word(forms[i], 0x812344000ull));
        assert_true(back.valid && !back.no_read && !back.no_write && !back.sub_start &&
                    back.sub_end == 0xfff);
        assert_int_equal(back.frame, 0x812344000ull);
        assert_false(pr_leaf_decode(forms[i], 0).valid);
    }
    for (unsigned i = 1; i < 3; i++) {
        uint64_t word =
            dartrig_word_sub(forms[i], leaf.frame, DARTRIG_READ_ONLY | DARTRIG_WRITE_ONLY, 0x123, 0x456);
        struct pr_leaf back = pr_leaf_decode(forms[i], word);

        assert_int_equal(pr_leaf_encode(forms[i], &leaf), word);
        assert_true(back.no_read && back.no_write && back.sub_start == 0x123 && back.sub_end == 0x456);
    }
}

static void every_form_walks_on_every_board(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 3; f++)
        for (unsigned b = 0; b < 2; b++) {
            struct dartrig rig;
            uint64_t page;

            dartrig_start(&rig, &(struct dart_config){.form = forms[f]}, bases[b], DRAM);
            page = dartrig_alloc(&rig, 2);
            memset(dartrig_at(&rig, page, DARTRIG_PAGE), 0x5a, 2 * DARTRIG_PAGE);
            dartrig_map(&rig, 0x0, page);
            dartrig_map(&rig, 0xdfffc000, page + DARTRIG_PAGE);
            assert_ptr_equal(expect_grant(&rig, 0x10, 0x20, DART_READ), dartrig_at(&rig, page + 0x10, 0x20));
            assert_ptr_equal(expect_grant(&rig, 0xdfffc000, DARTRIG_PAGE, DART_WRITE),
                             dartrig_at(&rig, page + DARTRIG_PAGE, DARTRIG_PAGE));
            assert_int_equal(dart_stats_get(rig.dart).walks, 2);
            dartrig_end(&rig);
        }
}

static void reset_values(void **state)
{
    struct dartrig rig;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0xfc, 0);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x100, 0);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x68, 0x1234);
    assert_int_equal(reg(&rig, 0x68), 0x1234);
    dart_reset(rig.dart, DART_ALL_PORTS);
    for (unsigned i = 0; i < DART_PORTS; i++) {
        enum dart_port port = (enum dart_port)i;

        assert_int_equal(dart_read32(rig.dart, port, 0x00) >> 24 & 0xf, 14);
        assert_int_equal(dart_read32(rig.dart, port, 0x04) & 1, 1);
        assert_int_equal(dart_read32(rig.dart, port, 0x60), 0x80000025u);
        assert_int_equal(dart_read32(rig.dart, port, 0x68), 0);
        assert_int_equal(dart_read32(rig.dart, port, 0xfc), 0xa007);
        for (uint32_t s = 0; s < 16; s++) {
            uint32_t tcr = s < 3 ? 1u << 7 : s == 13 || s == 15 ? 1u << 8 : 0;

            assert_int_equal(dart_read32(rig.dart, port, 0x100 + 4 * s), tcr);
            assert_int_equal(dart_read32(rig.dart, port, 0x200 + 16 * s), 0);
        }
    }
    expect_fault(&rig, 0, 1, DART_READ, NO_TTBR, 0);
    dartrig_end(&rig);
}

static void unknown_and_read_only_registers(void **state)
{
    static const uint32_t fixed[] = {0x00, 0x04, 0x50, 0x54, 0x100c, 0x1020, 0x1028};
    static const uint32_t unknown[] = {0x08, 0x24, 0x90, 0x140, 0x300, 0x1004, 0x3ffc, 0x42, 0xfffffffc};
    struct dartrig rig;
    uint64_t lines;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        uint32_t before = reg(&rig, fixed[i]);

        dart_write32(rig.dart, DART_PORT_SOURCE, fixed[i], 0x5a5a5a5a);
        assert_int_equal(reg(&rig, fixed[i]), before);
    }
    lines = rig.trace.lines;
    for (unsigned i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        dart_write32(rig.dart, DART_PORT_SOURCE, unknown[i], 0xffffffff);
        assert_int_equal(reg(&rig, unknown[i]), 0);
    }
    assert_int_equal(rig.trace.lines - lines, sizeof(unknown) / sizeof(unknown[0]));
    assert_non_null(strstr(
        rig.lines, "write-ignored port=0x1 offset=0x50 value=0x5a5a5a5a reg=ERROR_ADDR_LO why=read-only"));
    dartrig_end(&rig);
}

static void streams_must_be_ready(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    page = dartrig_alloc(&rig, 1);
    dartrig_map(&rig, 0x8000, page);
    expect_grant(&rig, 0x8000, 4, DART_READ);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0xfc, 0xa006); /* stream 0 not enabled */
    expect_fault(&rig, 0x8004, 4, DART_READ, NO_TTBR, 0x8004);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0xfc, 0xffffffff);
    assert_int_equal(reg(&rig, 0xfc), 0xffff);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x100, 0); /* not translating */
    expect_fault(&rig, 0x8000, 4, DART_WRITE, NO_TTBR, 0x8000);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x100, 1u << 7 | 1u << 8); /* both at once are refused */
    expect_fault(&rig, 0x8000, 4, DART_READ, NO_TTBR, 0x8000);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x100, 1u << 7);
    expect_grant(&rig, 0x8000, 4, DART_READ);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x200, (uint32_t)(rig.table >> 12)); /* not valid */
    expect_fault(&rig, 0x8000, 4, DART_READ, NO_TTBR, 0x8000);
    /* The other bases of the stream do not count. */
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x204, 0x80000000u | (uint32_t)(rig.table >> 12));
    expect_fault(&rig, 0x8000, 4, DART_READ, NO_TTBR, 0x8000);
    /* Streams 5 and 14 stand in the ERROR word; 16 does not exist. */
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, 5, 0x8000, 4, DART_READ, &range), -EFAULT);
    expect_capture(&rig, FLAG | 5u << 24 | NO_TTBR, 0x8000);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, 14, 0x8000, 4, DART_READ, &range), -EFAULT);
    expect_capture(&rig, FLAG | 14u << 24 | NO_TTBR, 0x8000);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, 16, 0x8000, 4, DART_READ, &range), -EFAULT);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, ~0u, 0x8000, 4, DART_READ, &range), -EFAULT);
    dartrig_end(&rig);
}

static void remap_chooses_the_slot(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    page = dartrig_alloc(&rig, 1);
    dartrig_map(&rig, 0x8000, page);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x84, 0x02u << 8); /* stream 5 uses slot 2 */
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, 5, 0x8000, 4, DART_READ, &range), 0);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, 4, 0x8000, 4, DART_READ, &range), -EFAULT);
    expect_capture(&rig, FLAG | 4u << 24 | NO_TTBR, 0x8000);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x84, 0x07u << 8);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_SOURCE, 5, 0x8000, 4, DART_READ, &range), -EFAULT);
    expect_capture(&rig, FLAG | 7u << 24 | NO_TTBR, 0x8000);
    dartrig_end(&rig);
}

static void missing_mappings(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 3; f++)
        for (unsigned b = 0; b < 2; b++) {
            struct dartrig rig;
            uint64_t page, *leaf, *first;

            dartrig_start(&rig, &(struct dart_config){.form = forms[f]}, bases[b], DRAM);
            page = dartrig_alloc(&rig, 3);
            expect_fault(&rig, 0x2000010, 1, DART_READ, NO_PMD, 0x2000010);
            dartrig_map_run(&rig, 0x2000000, page, 3);
            leaf = dartrig_leaf(&rig, rig.table, 0x2004000);
            *leaf = 0;
            expect_fault(&rig, 0x2000010, 0x8000, DART_WRITE, NO_PTE, 0x2004000);
            expect_fault(&rig, 0x2004123, 1, DART_READ, NO_PTE, 0x2004123);
            /* A page, a second-level table and a table base outside memory. */
            *leaf = dartrig_word(rig.form, bases[b] + DRAM);
            expect_fault(&rig, 0x2000010, 0x8000, DART_READ, PTE_READ, 0x2004000);
            first = (uint64_t *)dartrig_at(&rig, rig.table, DARTRIG_PAGE) + 2;
            *first = dartrig_word(rig.form, bases[b] + DRAM);
            expect_fault(&rig, 0x4000000, 1, DART_READ, PTE_READ, 0x4000000);
            dartrig_ttbr(&rig, DART_PORT_SOURCE, 0, bases[b] + DRAM);
            expect_fault(&rig, 0x4000000, 1, DART_READ, PTE_READ, 0x4000000);
            assert_int_equal(dart_stats_get(rig.dart).faults, 6);
            dartrig_end(&rig);
        }
}

static void protection(void **state)
{
    (void)state;
    for (unsigned f = 1; f < 3; f++) {
        struct dartrig rig;
        uint64_t page;

        start(&rig, forms[f]);
        page = dartrig_alloc(&rig, 4);
        dartrig_map_run(&rig, 0x4000, page, 4);
        *dartrig_leaf(&rig, rig.table, 0x8000) =
            dartrig_word_sub(forms[f], page + 0x4000, DARTRIG_READ_ONLY, 0, 0xfff);
        *dartrig_leaf(&rig, rig.table, 0xc000) =
            dartrig_word_sub(forms[f], page + 0x8000, DARTRIG_WRITE_ONLY, 0, 0xfff);
        expect_grant(&rig, 0x4000, 0x8000, DART_READ);
        expect_fault(&rig, 0x4000, 0x8000, DART_WRITE, WRITE_FAULT, 0x8000);
        expect_fault(&rig, 0x7000, 0xd000, DART_READ, READ_FAULT, 0xc000);
        expect_grant(&rig, 0xc000, 0x8000, DART_WRITE);
        /* What was granted for reading is not remembered as writable. */
        expect_grant(&rig, 0x8000, 0x10, DART_READ);
        expect_fault(&rig, 0x8000, 0x10, DART_WRITE, WRITE_FAULT, 0x8000);
        dartrig_end(&rig);
    }
}

static void sub_pages(void **state)
{
    (void)state;
    for (unsigned f = 1; f < 3; f++) {
        struct dartrig rig;
        uint64_t page;

        start(&rig, forms[f]);
        page = dartrig_alloc(&rig, 2);
        /* Units of 4 bytes: 0x100 to 0x1ff are the bytes 0x400 to 0x7ff. */
        *dartrig_leaf(&rig, rig.table, 0x4000) = dartrig_word_sub(forms[f], page, 0, 0x100, 0x1ff);
        dartrig_map(&rig, 0x8000, page + DARTRIG_PAGE);
        expect_grant(&rig, 0x4400, 0x400, DART_WRITE);
        expect_grant(&rig, 0x47ff, 1, DART_READ);
        expect_fault(&rig, 0x43ff, 1, DART_READ, SUBPAGE, 0x43ff);
        expect_fault(&rig, 0x43ff, 0x10, DART_WRITE, SUBPAGE, 0x43ff);
        expect_fault(&rig, 0x4400, 0x401, DART_WRITE, SUBPAGE, 0x4800);
        expect_fault(&rig, 0x4800, 1, DART_READ, SUBPAGE, 0x4800);
        expect_fault(&rig, 0x5000, 8, DART_READ, SUBPAGE, 0x5000);
        expect_fault(&rig, 0x4400, 0x4000, DART_READ, SUBPAGE, 0x4800);
        /* An empty range lets nothing through. */
        *dartrig_leaf(&rig, rig.table, 0xc000) = dartrig_word_sub(forms[f], page, 0, 0x200, 0x1ff);
        expect_fault(&rig, 0xc800, 1, DART_READ, SUBPAGE, 0xc800);
        expect_fault(&rig, 0xc7ff, 1, DART_READ, SUBPAGE, 0xc7ff);
        dartrig_end(&rig);
    }
}

/* t8020: bit 1 switches the sub-page range off. */
static void sub_page_disable(void **state)
{
    struct dartrig rig;

    (void)state;
    start(&rig, PR_LEAF_T8020);
    *dartrig_leaf(&rig, rig.table, 0x4000) =
        dartrig_word_sub(PR_LEAF_T8020, dartrig_alloc(&rig, 1), 0, 0x200, 0x1ff) | 2;
    expect_grant(&rig, 0x4000, DARTRIG_PAGE, DART_READ);
    dartrig_end(&rig);
}

static void aperture_end(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    page = dartrig_alloc(&rig, 2);
    dartrig_map_run(&rig, 0xdfff8000, page, 2);
    dartrig_map(&rig, 0xe0000000, page);
    expect_grant(&rig, 0xdfff8000, 0x8000, DART_WRITE);
    expect_fault(&rig, 0xdfff8000, 0x8001, DART_WRITE, NO_TTBR, 0xe0000000);
    expect_fault(&rig, 0xdffffff0, UINT64_MAX, DART_READ, NO_TTBR, 0xe0000000);
    expect_fault(&rig, 0xe0000000, 1, DART_READ, NO_TTBR, 0xe0000000);
    expect_fault(&rig, 0x1000000000ull, 1, DART_READ, NO_TTBR, 0x1000000000ull);
    expect_fault(&rig, UINT64_MAX, UINT64_MAX, DART_WRITE, NO_TTBR, UINT64_MAX);
    /* The first failing byte may come before the end. */
    expect_fault(&rig, 0xdfff4000, UINT64_MAX, DART_READ, NO_PTE, 0xdfff4000);
    /* Nothing is asked for, nothing can be missing. */
    assert_int_equal(dartrig_get(&rig, 0xdfff4000, 0, DART_READ, &range), 0);
    assert_int_equal(range.bytes, 0);
    dartrig_end(&rig);
}

static void capture_is_single_shot(void **state)
{
    struct dartrig rig;
    struct dart_range range;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    assert_int_equal(dartrig_get(&rig, 0x4000, 1, DART_READ, &range), -EFAULT);
    assert_int_equal(dartrig_get(&rig, 0x8000, 1, DART_WRITE, &range), -EFAULT);
    assert_int_equal(dart_stats_get(rig.dart).faults, 2);
    assert_int_equal(dart_read32(rig.dart, DART_PORT_RESULT, 0x40), 0);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x40, 0x7fffffff); /* without the flag: nothing */
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x50, 0);
    expect_capture(&rig, FLAG | NO_PMD, 0x4000);
    assert_int_equal(reg(&rig, 0x50), 0);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 2, 0xc000, 1, DART_WRITE, &range), -EFAULT);
    assert_int_equal(reg(&rig, 0x40), 0);
    assert_int_equal(dart_read32(rig.dart, DART_PORT_RESULT, 0x40), FLAG | 2u << 24 | NO_PMD | WAS_WRITE);
    assert_int_equal(dart_read32(rig.dart, DART_PORT_RESULT, 0x50), 0xc000);
    dartrig_end(&rig);
}

static void entries_stay_until_invalidate(void **state)
{
    static const uint64_t bytes = 3ull * DARTRIG_PAGE;
    struct dartrig rig;
    uint64_t old, now;
    uint8_t *host;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    old = dartrig_alloc(&rig, 3);
    now = dartrig_alloc(&rig, 3);
    dartrig_map_run(&rig, 0x10000, old, 3);
    host = expect_grant(&rig, 0x10000, bytes, DART_READ);
    dartrig_map_run(&rig, 0x10000, now, 3);
    assert_ptr_equal(expect_grant(&rig, 0x10000, bytes, DART_READ), host);
    assert_ptr_equal(expect_grant(&rig, 0x10004, 8, DART_READ), host + 4);
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 0xfff8);      /* other streams */
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x20, 1u << 2); /* no command */
    assert_ptr_equal(expect_grant(&rig, 0x10000, bytes, DART_READ), host);
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    assert_int_equal(reg(&rig, 0x20) & 1u << 2, 0);
    assert_ptr_equal(expect_grant(&rig, 0x10000, bytes, DART_READ), dartrig_at(&rig, now, bytes));
    *dartrig_leaf(&rig, rig.table, 0x14000) = 0;
    expect_grant(&rig, 0x10000, bytes, DART_READ);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x1000, 1);
    expect_fault(&rig, 0x10000, bytes, DART_READ, NO_PTE, 0x14000);
    /* A missing page is not kept: a table that gains one needs no invalidate. */
    dartrig_map(&rig, 0x14000, now + DARTRIG_PAGE);
    expect_grant(&rig, 0x10000, bytes, DART_READ);
    dartrig_end(&rig);
}

static void strict_reports_missing_invalidates(void **state)
{
    struct dartrig rig;
    uint64_t page;
    uint8_t *host;

    (void)state;
    dartrig_start(&rig, &(struct dart_config){.form = PR_LEAF_T6000, .strict_tlb = true}, DARTRIG_T6000_DRAM,
                  DRAM);
    page = dartrig_alloc(&rig, 4);
    dartrig_map_run(&rig, 0x10000, page, 2);
    host = expect_grant(&rig, 0x10000, 0x8000, DART_READ);
    assert_ptr_equal(expect_grant(&rig, 0x10000, 0x8000, DART_READ), host);
    assert_int_equal(dart_stats_get(rig.dart).missing_invalidates, 0);
    dartrig_map(&rig, 0x14000, page + 2 * DARTRIG_PAGE);
    assert_ptr_equal(expect_grant(&rig, 0x10000, 0x8000, DART_READ), host);
    assert_int_equal(dart_stats_get(rig.dart).missing_invalidates, 1);
    *dartrig_leaf(&rig, rig.table, 0x10000) =
        dartrig_word_sub(PR_LEAF_T6000, page, DARTRIG_READ_ONLY, 0, 0xfff);
    assert_ptr_equal(expect_grant(&rig, 0x10000, 0x4000, DART_WRITE), host);
    assert_int_equal(dart_stats_get(rig.dart).missing_invalidates, 2);
    *dartrig_leaf(&rig, rig.table, 0x10000) = 0;
    assert_ptr_equal(expect_grant(&rig, 0x10000, 0x4000, DART_WRITE), host);
    assert_int_equal(dart_stats_get(rig.dart).missing_invalidates, 3);
    assert_non_null(strstr(rig.lines, "dart missing-invalidate table="));
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    expect_fault(&rig, 0x10000, 0x4000, DART_WRITE, NO_PTE, 0x10000);
    assert_int_equal(dart_stats_get(rig.dart).missing_invalidates, 3);
    dartrig_end(&rig);
}

static void table_switch(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page, other, *leaf;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    page = dartrig_alloc(&rig, 2);
    other = dartrig_alloc(&rig, 1);
    dartrig_map(&rig, 0x4000, page);
    *dartrig_leaf(&rig, other, 0x4000) = dartrig_word(PR_LEAF_SEED, page + DARTRIG_PAGE);
    expect_grant(&rig, 0x4000, 4, DART_READ);
    dartrig_ttbr(&rig, DART_PORT_SOURCE, 0, other);
    assert_ptr_equal(expect_grant(&rig, 0x4000, 4, DART_READ), dartrig_at(&rig, page + DARTRIG_PAGE, 4));
    /* Others still point to the old table, and keep its entries. */
    leaf = dartrig_leaf(&rig, rig.table, 0x4000);
    *leaf = 0;
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_TASK, 1, 0x4000, 4, DART_READ, &range), 0);
    assert_ptr_equal(range.host, dartrig_at(&rig, page, 4));
    /* When nobody does, the entries are gone. */
    for (unsigned port = 0; port < DART_PORTS; port++)
        for (uint32_t stream = 0; stream < 3; stream++)
            dartrig_ttbr(&rig, (enum dart_port)port, stream, other);
    dartrig_ttbr(&rig, DART_PORT_SOURCE, 0, rig.table);
    expect_fault(&rig, 0x4000, 4, DART_READ, NO_PTE, 0x4000);
    /* Writing the same base again changes nothing. */
    *leaf = dartrig_word(PR_LEAF_SEED, page);
    expect_grant(&rig, 0x4000, 4, DART_READ);
    *leaf = 0;
    dartrig_ttbr(&rig, DART_PORT_SOURCE, 0, rig.table);
    expect_grant(&rig, 0x4000, 4, DART_READ);
    dartrig_end(&rig);
}

/* Every stream of every controller may have a table of its own, again and again. */
static void many_domains(void **state)
{
    struct dartrig rig;
    uint64_t tables, page;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    tables = dartrig_alloc(&rig, 96);
    page = dartrig_alloc(&rig, 96);
    for (unsigned i = 0; i < 96; i++)
        *dartrig_leaf(&rig, tables + i * DARTRIG_PAGE, 0x4000) =
            dartrig_word(PR_LEAF_SEED, page + i * DARTRIG_PAGE);
    for (unsigned i = 0; i < 960; i++) {
        enum dart_port port = (enum dart_port)(i % DART_PORTS);
        uint32_t stream = i / DART_PORTS % 16;
        struct dart_range range;

        dart_write32(rig.dart, port, 0xfc, 0xffff);
        dart_write32(rig.dart, port, 0x100 + 4 * stream, 1u << 7);
        dartrig_ttbr(&rig, port, stream, tables + i * 7 % 96 * DARTRIG_PAGE);
        assert_int_equal(dart_range_get(rig.dart, port, stream, 0x4000, 16, DART_READ, &range), 0);
        assert_ptr_equal(range.host, dartrig_at(&rig, page + i * 7 % 96 * DARTRIG_PAGE, 16));
    }
    dartrig_end(&rig);
}

static void lock(void **state)
{
    struct dartrig rig;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x60, 0x80008025u);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x60, 0x25);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x100, 0);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0x200, 0);
    dart_write32(rig.dart, DART_PORT_SOURCE, 0xfc, 1);
    assert_int_equal(reg(&rig, 0x60), 0x80008025u);
    assert_int_equal(reg(&rig, 0x100), 1u << 7);
    assert_int_equal(reg(&rig, 0x200), 0x80000000u | rig.table >> 12);
    assert_int_equal(reg(&rig, 0xfc), 1);
    assert_non_null(strstr(rig.lines, "reg=TTBR why=locked"));
    dart_write32(rig.dart, DART_PORT_RESULT, 0x100, 0); /* each controller has a lock of its own */
    assert_int_equal(dart_read32(rig.dart, DART_PORT_RESULT, 0x100), 0);
    dart_reset(rig.dart, DART_ALL_PORTS);
    assert_int_equal(reg(&rig, 0x60), 0x80000025u);
    dartrig_end(&rig);
}

static void trace_lines(void **state)
{
    struct dartrig rig;
    struct dart_range range;

    (void)state;
    start(&rig, PR_LEAF_SEED);
    dartrig_map(&rig, 0x4000, dartrig_alloc(&rig, 1));
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 1, 0x4000, 0x8000, DART_WRITE, &range),
                     -EFAULT);
    assert_int_equal(dart_range_get(rig.dart, DART_PORT_RESULT, 1, 0x2000000, 1, DART_READ, &range), -EFAULT);
    dartrig_invalidate(&rig, DART_PORT_TASK, 5);
    assert_non_null(strstr(rig.lines,
                           "0 dart fault status=0x81000404 port=0x2 stream=0x1 code=NO_PTE address=0x8000 "
                           "access=write captured=yes\n"));
    assert_non_null(strstr(rig.lines,
                           "0 dart fault status=0x81000002 port=0x2 stream=0x1 code=NO_PMD address=0x2000000 "
                           "access=read captured=no\n"));
    assert_non_null(strstr(rig.lines, "0 dart invalidate port=0x0 streams=0x5\n"));
    assert_non_null(
        strstr(rig.lines, " dart ttbr port=0x2 stream=0x2 index=0x0 value=0x90000000 table=0x10000000000\n"));
    dartrig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_table_base),
        cmocka_unit_test(leaf_words),
        cmocka_unit_test(every_form_walks_on_every_board),
        cmocka_unit_test(reset_values),
        cmocka_unit_test(unknown_and_read_only_registers),
        cmocka_unit_test(streams_must_be_ready),
        cmocka_unit_test(remap_chooses_the_slot),
        cmocka_unit_test(missing_mappings),
        cmocka_unit_test(protection),
        cmocka_unit_test(sub_pages),
        cmocka_unit_test(sub_page_disable),
        cmocka_unit_test(aperture_end),
        cmocka_unit_test(capture_is_single_shot),
        cmocka_unit_test(entries_stay_until_invalidate),
        cmocka_unit_test(strict_reports_missing_invalidates),
        cmocka_unit_test(table_switch),
        cmocka_unit_test(many_domains),
        cmocka_unit_test(lock),
        cmocka_unit_test(trace_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
