/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DART's host windows: scattered pages made contiguous, the budget of host mappings, what happens
 * when the host refuses.
 */
#include "dartrig.h"

#include <stdlib.h>

#define DRAM (256ull << 20)

static void start(struct dartrig *rig, uint32_t budget)
{
    dartrig_start(rig, &(struct dart_config){.vma_budget = budget}, DARTRIG_T6000_DRAM, DRAM);
}

/* Each 8-byte word of a run holds its own physical address. */
static void fill(struct dartrig *rig, uint64_t address, uint64_t pages)
{
    uint64_t *words = dartrig_at(rig, address, pages * DARTRIG_PAGE);

    for (uint64_t i = 0; i < pages * DARTRIG_PAGE / 8; i++)
        words[i] = address + i * 8;
}

/* Looks at one word per page, through the host address if there is one, and through copies. */
static void expect_page(const struct dart_range *range, uint64_t page, uint64_t address)
{
    uint64_t offset = page * DARTRIG_PAGE + 0x18, word, old;

    dart_copy_in(range, offset, &word, sizeof(word));
    assert_int_equal(word, address + 0x18);
    if (!range->host)
        return;
    memcpy(&old, range->host + offset, sizeof(old));
    assert_int_equal(old, address + 0x18);
    word = ~old;
    memcpy(range->host + offset, &word, sizeof(word));
    dart_copy_in(range, offset, &word, sizeof(word));
    assert_int_equal(word, ~old);
    dart_copy_out(range, offset, &old, sizeof(old));
    memcpy(&word, range->host + offset, sizeof(word));
    assert_int_equal(word, old);
}

static void expect_backwards(const struct dart_range *range, uint64_t address, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        expect_page(range, i, address + (pages - 1 - i) * DARTRIG_PAGE);
}

static void contiguous_pages_need_no_window(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    start(&rig, 0);
    page = dartrig_alloc(&rig, 100);
    dartrig_map_run(&rig, 0x4000, page, 100);
    assert_int_equal(dartrig_get(&rig, 0x4100, 99 * DARTRIG_PAGE, DART_WRITE, &range), 0);
    assert_ptr_equal(range.host, dartrig_at(&rig, page + 0x100, 1));
    assert_int_equal(dart_stats_get(rig.dart).vmas, 0);
    dartrig_end(&rig);
}

static void scattered_pages_are_contiguous(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    start(&rig, 0);
    page = dartrig_alloc(&rig, 100);
    fill(&rig, page, 100);
    dartrig_map_backwards(&rig, 0x1ff8000, page,
                          100); /* across a second-level table and a chunk of the window */
    assert_int_equal(dartrig_get(&rig, 0x1ff8000, 100 * DARTRIG_PAGE, DART_WRITE, &range), 0);
    assert_non_null(range.host);
    expect_backwards(&range, page, 100);
    /* The window, a hundred pages, and what is left of the window behind them. */
    assert_int_equal(dart_stats_get(rig.dart).vmas, 102);
    /* Unaligned, over a page's end. */
    assert_int_equal(dartrig_get(&rig, 0x1ffbffe, 4, DART_WRITE, &range), 0);
    memcpy(range.host, "abcd", 4);
    assert_memory_equal(dartrig_at(&rig, page + 99 * DARTRIG_PAGE + 0x3ffe, 2), "ab", 2);
    assert_memory_equal(dartrig_at(&rig, page + 98 * DARTRIG_PAGE, 2), "cd", 2);
    dartrig_end(&rig);
}

/* Surfaces have files of their own: neighbours in physical memory, strangers to the host. */
static void neighbouring_banks(void **state)
{
    struct dartrig rig;
    struct base_error error;
    struct dart_range range;
    uint64_t a, b;

    (void)state;
    start(&rig, 0);
    assert_int_equal(soc_memory_bank_add(rig.memory, 2 * DARTRIG_PAGE, &a, &error), 0);
    assert_int_equal(soc_memory_bank_add(rig.memory, 2 * DARTRIG_PAGE, &b, &error), 0);
    fill(&rig, a, 2);
    fill(&rig, b, 2);
    dartrig_map_run(&rig, 0x4000, a, 2);
    dartrig_map_run(&rig, 0xc000, b, 2);
    assert_int_equal(dartrig_get(&rig, 0x4000, 4 * DARTRIG_PAGE, DART_WRITE, &range), 0);
    assert_non_null(range.host);
    expect_page(&range, 1, a + DARTRIG_PAGE);
    expect_page(&range, 2, b);
    assert_int_equal(dart_stats_get(rig.dart).vmas, 4); /* two files between two ends of the window */
    dartrig_end(&rig);
}

/* The machine should invalidate before it takes a surface away. If it does not, nothing crashes. */
static void bank_removed_under_an_entry(void **state)
{
    struct dartrig rig;
    struct base_error error;
    struct dart_range range;
    uint64_t a, word = 1;

    (void)state;
    start(&rig, 0);
    assert_int_equal(soc_memory_bank_add(rig.memory, 2 * DARTRIG_PAGE, &a, &error), 0);
    dartrig_map_run(&rig, 0x4000, a, 2);
    assert_int_equal(dartrig_get(&rig, 0x4000, 2 * DARTRIG_PAGE, DART_WRITE, &range), 0);
    assert_int_equal(soc_memory_bank_remove(rig.memory, a, &error), 0);
    assert_int_equal(dartrig_get(&rig, 0x4000, 2 * DARTRIG_PAGE, DART_WRITE, &range), 0);
    assert_null(range.host);
    dart_copy_out(&range, 0, &word, sizeof(word));
    dart_copy_in(&range, 0, &word, sizeof(word));
    assert_int_equal(word, 0);
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    assert_int_equal(dartrig_get(&rig, 0x4000, 2 * DARTRIG_PAGE, DART_WRITE, &range), -EFAULT);
    assert_int_equal(dart_read32(rig.dart, DART_PORT_SOURCE, 0x40) & 0x3ff, 1 << 6);
    dartrig_end(&rig);
}

static void budget_is_held(void **state)
{
    enum { PAGES = 4096, RANGES = 400 };
    struct test_rng rng;
    struct dartrig rig;
    struct dart_stats stats;
    uint64_t page, with_host = 0;

    (void)state;
    test_rng_init(&rng, 2);
    start(&rig, 64);
    page = dartrig_alloc(&rig, PAGES);
    fill(&rig, page, PAGES);
    dartrig_map_backwards(&rig, 0x10000000, page, PAGES);
    for (unsigned i = 0; i < RANGES; i++) {
        uint64_t first = (uint64_t)test_rng_range(&rng, 0, PAGES - 100),
                 count = (uint64_t)test_rng_range(&rng, 1, 100);
        struct dart_range range;

        assert_int_equal(
            dartrig_get(&rig, 0x10000000 + first * DARTRIG_PAGE, count * DARTRIG_PAGE, DART_WRITE, &range),
            0);
        for (uint64_t k = 0; k < count; k++)
            expect_page(&range, k, page + (PAGES - 1 - first - k) * DARTRIG_PAGE);
        /* One window, the range and the rest of the window: 62 scattered pages are the most that fit. */
        if (count <= 62)
            assert_non_null(range.host);
        else
            assert_null(range.host);
        with_host += range.host != NULL;
        assert_true(dart_stats_get(rig.dart).vmas <= 64);
    }
    stats = dart_stats_get(rig.dart);
    assert_true(stats.vmas_peak <= 64);
    assert_true(stats.window_drops > 0);
    assert_int_equal(stats.slow_grants + with_host, RANGES);
    assert_true(stats.slow_grants > 50 && with_host > 50);
    dartrig_end(&rig);
}

/* Runs over several chunks: taking one out of the middle would cost mappings instead of freeing them. */
static void long_runs_in_the_budget(void **state)
{
    enum { PAGES = 4000 };
    struct test_rng rng;
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    test_rng_init(&rng, 5);
    start(&rig, 16);
    page = dartrig_alloc(&rig, PAGES);
    fill(&rig, page, PAGES);
    for (uint64_t i = 0; i < PAGES; i++) /* two halves, exchanged: one break in the middle */
        dartrig_map(&rig, i * DARTRIG_PAGE, page + (i + PAGES / 2) % PAGES * DARTRIG_PAGE);
    dartrig_map_backwards(&rig, 0x10000000, page, PAGES);
    for (unsigned i = 0; i < 300; i++) {
        bool halves = i % 3 == 0;
        uint64_t count = (uint64_t)test_rng_range(&rng, 2, halves ? PAGES / 2 : 12);
        uint64_t first = halves ? PAGES / 2 - 1 - (uint64_t)test_rng_range(&rng, 0, (int64_t)count - 2)
                                : (uint64_t)test_rng_range(&rng, 0, PAGES - 12);

        assert_int_equal(dartrig_get(&rig, (halves ? 0 : 0x10000000) + first * DARTRIG_PAGE,
                                     count * DARTRIG_PAGE, DART_WRITE, &range),
                         0);
        assert_non_null(range.host);
        for (uint64_t k = 0; k < count; k++)
            expect_page(&range, k,
                        page + (halves ? (first + k + PAGES / 2) % PAGES : PAGES - 1 - first - k) *
                                   DARTRIG_PAGE);
        assert_true(dart_stats_get(rig.dart).vmas_peak <= 16);
    }
    assert_true(dart_stats_get(rig.dart).window_drops > 10);
    dartrig_end(&rig);
}

/* What was granted since begin stays, however many more are asked for. */
static void bracketed_grants_stay(void **state)
{
    enum { SETS = 12, PAGES = 10 };
    struct dartrig rig;
    struct dart_range range[SETS];
    uint64_t page;
    unsigned with_host = 0;

    (void)state;
    start(&rig, 64);
    page = dartrig_alloc(&rig, SETS * PAGES);
    fill(&rig, page, SETS * PAGES);
    for (unsigned i = 0; i < SETS; i++) /* each in a chunk of its own */
        dartrig_map_backwards(&rig, 0x4000 + i * 0x2000000ull, page + i * PAGES * DARTRIG_PAGE, PAGES);
    for (unsigned round = 0; round < 3; round++) {
        dart_grants_begin(rig.dart);
        with_host = 0;
        for (unsigned k = 0; k < SETS; k++) {
            unsigned i = (k + round) % SETS;

            assert_int_equal(
                dartrig_get(&rig, 0x4000 + i * 0x2000000ull, PAGES * DARTRIG_PAGE, DART_WRITE, &range[i]), 0);
            with_host += range[i].host != NULL;
        }
        for (unsigned i = 0; i < SETS; i++)
            expect_backwards(&range[i], page + i * PAGES * DARTRIG_PAGE, PAGES);
        dart_grants_end(rig.dart);
        assert_int_equal(with_host, 5); /* 11 mappings each and one for the window */
        assert_true(dart_stats_get(rig.dart).vmas_peak <= 64);
    }
    dartrig_end(&rig);
}

/* Whether a grant of ten pages had to map them. */
static bool maps(struct dartrig *rig, uint64_t iova)
{
    unsigned long acquired = base_alloc_count();
    struct dart_range range;

    assert_int_equal(dartrig_get(rig, iova, 10 * DARTRIG_PAGE, DART_READ, &range), 0);
    assert_non_null(range.host);
    return base_alloc_count() != acquired;
}

static void oldest_goes_first(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page, drops;

    (void)state;
    start(&rig, 40); /* three sets of eleven mappings and one for the window */
    page = dartrig_alloc(&rig, 100);
    for (unsigned i = 1; i <= 4; i++)
        dartrig_map_backwards(&rig, i * 0x2000000ull, page, 10);
    dartrig_map_backwards(&rig, 0x10000000, page, 100);
    for (unsigned i = 1; i <= 3; i++)
        assert_true(maps(&rig, i * 0x2000000ull));
    assert_false(maps(&rig, 1 * 0x2000000ull));
    assert_true(maps(&rig, 4 * 0x2000000ull)); /* drops the second */
    assert_int_equal(dart_stats_get(rig.dart).window_drops, 1);
    assert_false(maps(&rig, 1 * 0x2000000ull));
    assert_false(maps(&rig, 3 * 0x2000000ull));
    assert_true(maps(&rig, 2 * 0x2000000ull)); /* drops the fourth */
    assert_false(maps(&rig, 1 * 0x2000000ull));
    /* What cannot fit drops nothing. */
    drops = dart_stats_get(rig.dart).window_drops;
    assert_int_equal(dartrig_get(&rig, 0x10000000, 100 * DARTRIG_PAGE, DART_READ, &range), 0);
    assert_null(range.host);
    assert_int_equal(dart_stats_get(rig.dart).window_drops, drops);
    dartrig_end(&rig);
}

/* Two ranges in one chunk: the first, granted in the bracket, holds the chunk. */
static void bracketed_chunk_is_kept(void **state)
{
    struct dartrig rig;
    struct dart_range a, b;
    uint64_t page;

    (void)state;
    start(&rig, 64);
    page = dartrig_alloc(&rig, 80);
    fill(&rig, page, 80);
    dartrig_map_backwards(&rig, 0x4000, page, 40);
    dartrig_map_backwards(&rig, 0x400000, page + 40 * DARTRIG_PAGE, 40);
    dart_grants_begin(rig.dart);
    assert_int_equal(dartrig_get(&rig, 0x4000, 40 * DARTRIG_PAGE, DART_WRITE, &a), 0);
    assert_int_equal(dartrig_get(&rig, 0x400000, 40 * DARTRIG_PAGE, DART_WRITE, &b), 0);
    assert_non_null(a.host);
    assert_null(b.host);
    expect_backwards(&a, page, 40);
    expect_backwards(&b, page + 40 * DARTRIG_PAGE, 40);
    dart_grants_end(rig.dart);
    assert_int_equal(dartrig_get(&rig, 0x400000, 40 * DARTRIG_PAGE, DART_WRITE, &b), 0);
    assert_non_null(b.host);
    expect_backwards(&b, page + 40 * DARTRIG_PAGE, 40);
    dartrig_end(&rig);
}

/* Whichever acquisition fails, every grant is made, right and within the budget. */
static void host_refuses(void **state)
{
    unsigned slow = 0;

    (void)state;
    for (unsigned n = 1; n < 120; n++) {
        struct dartrig rig;
        struct dart_range range;
        uint64_t page;

        start(&rig, 32);
        page = dartrig_alloc(&rig, 80);
        fill(&rig, page, 80);
        for (unsigned i = 0; i < 8; i++)
            dartrig_map_backwards(&rig, 0x4000 + i * 0x2000000ull, page + i * 10ull * DARTRIG_PAGE, 10);
        base_alloc_fail_nth(n);
        for (unsigned i = 0; i < 16; i++) {
            assert_int_equal(
                dartrig_get(&rig, 0x4000 + i % 8 * 0x2000000ull, 10 * DARTRIG_PAGE, DART_WRITE, &range), 0);
            expect_backwards(&range, page + i % 8 * 10ull * DARTRIG_PAGE, 10);
            if (i == 11)
                dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
        }
        base_alloc_fail_nth(0);
        slow += dart_stats_get(rig.dart).slow_grants != 0;
        assert_true(dart_stats_get(rig.dart).vmas_peak <= 32);
        dartrig_end(&rig);
    }
    assert_true(slow > 0);
}

static void invalidate_empties_the_window(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;

    (void)state;
    start(&rig, 0);
    page = dartrig_alloc(&rig, 64);
    fill(&rig, page, 64);
    dartrig_map_backwards(&rig, 0x4000, page, 20);
    dartrig_map_backwards(&rig, 0x40000000, page + 20 * DARTRIG_PAGE, 20);
    assert_int_equal(dartrig_get(&rig, 0x4000, 20 * DARTRIG_PAGE, DART_READ, &range), 0);
    assert_int_equal(dartrig_get(&rig, 0x40000000, 20 * DARTRIG_PAGE, DART_READ, &range), 0);
    assert_int_equal(dart_stats_get(rig.dart).vmas, 43);
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    assert_int_equal(dart_stats_get(rig.dart).vmas, 1);
    dartrig_map_backwards(&rig, 0x4000, page + 30 * DARTRIG_PAGE, 20);
    assert_int_equal(dartrig_get(&rig, 0x4000, 20 * DARTRIG_PAGE, DART_READ, &range), 0);
    expect_backwards(&range, page + 30 * DARTRIG_PAGE, 20);
    dart_reset(rig.dart, DART_ALL_PORTS);
    assert_int_equal(dart_stats_get(rig.dart).vmas, 1);
    dartrig_end(&rig);
}

/* Lines of the kernel's own list. */
static unsigned host_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned lines = 0;

    if (!file)
        return 0;
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

/*
 * The count is the kernel's: islands, holes filled later, neighbours in the file mapped one after the
 * other, drops.
 */
static void count_is_the_kernels(void **state)
{
    enum { PAGES = 3000 };
    struct test_rng rng;
    struct dartrig rig;
    struct dart_range range;
    uint64_t page;
    unsigned before;

    (void)state;
    if (!host_mappings())
        skip();
    test_rng_init(&rng, 3);
    start(&rig, 700);
    page = dartrig_alloc(&rig, PAGES);
    for (unsigned i = 0; i < PAGES; i++) /* runs of two or three pages among single ones */
        dartrig_map(&rig, 0x4000 + i * (uint64_t)DARTRIG_PAGE,
                    page + (i % 7 < 4 ? i : PAGES - 1 - i) * DARTRIG_PAGE);
    before = host_mappings();
    for (unsigned i = 0; i < 300; i++) {
        uint64_t first = (uint64_t)test_rng_range(&rng, 0, PAGES - 60);
        unsigned now;

        assert_int_equal(dartrig_get(&rig, 0x4000 + first * DARTRIG_PAGE,
                                     (uint64_t)test_rng_range(&rng, 1, 60) * DARTRIG_PAGE, DART_READ, &range),
                         0);
        now = host_mappings() - before;
        /* The reservation may have joined a neighbour, and an allocator may have grown. */
        assert_in_range(now, dart_stats_get(rig.dart).vmas - 1, dart_stats_get(rig.dart).vmas + 3);
        if (i % 100 == 99)
            dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    }
    assert_true(dart_stats_get(rig.dart).window_drops > 0);
    dartrig_end(&rig);
}

static unsigned long kernel_limit(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    char text[32] = "";

    if (file) {
        if (!fgets(text, sizeof(text), file))
            text[0] = '\0';
        fclose(file);
    }
    return strtoul(text, NULL, 10);
}

/* A budget above what the kernel allows: the kernel refuses, and everything goes on. */
static void kernel_is_exhausted(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    uint64_t page, pages = kernel_limit() + 4096;

    (void)state;
    if (pages < 8192 || pages > 80000) /* unknown, or too many for a quick test */
        skip();
    dartrig_start(&rig, &(struct dart_config){.vma_budget = 1000000}, DARTRIG_T6000_DRAM, 4ull << 30);
    page = dartrig_alloc(&rig, pages);
    dartrig_map_backwards(&rig, 0, page, pages);
    assert_int_equal(dartrig_get(&rig, 0, pages * DARTRIG_PAGE, DART_WRITE, &range), 0);
    assert_null(range.host);
    dart_copy_out(&range, pages * DARTRIG_PAGE - 4, "end", 4);
    assert_string_equal((char *)dartrig_at(&rig, page + DARTRIG_PAGE - 4, 4), "end");
    assert_int_equal(dart_stats_get(rig.dart).vmas, 1); /* nothing is left that would starve the process */
    for (uint64_t i = 0; i + 4000 <= pages; i += 4000) {
        assert_int_equal(dartrig_get(&rig, i * DARTRIG_PAGE, 4000 * DARTRIG_PAGE, DART_WRITE, &range), 0);
        assert_non_null(range.host);
        memcpy(range.host, &i, sizeof(i));
        assert_memory_equal(dartrig_at(&rig, page + (pages - 1 - i) * DARTRIG_PAGE, sizeof(i)), &i,
                            sizeof(i));
    }
    assert_int_equal(dart_stats_get(rig.dart).slow_grants, 1);
    dartrig_end(&rig);
}

/* A plain copy of what the DART may have cached, against which random traffic is checked. */
enum { MODEL_PAGES = 1200, MODEL_FRAMES = 900 };

struct model {
    int table[MODEL_PAGES];  /* frame or -1 */
    int cached[MODEL_PAGES]; /* frame or -1 */
};

static void model_change(struct dartrig *rig, struct model *model, struct test_rng *rng, uint64_t frames)
{
    int first = (int)test_rng_range(rng, 0, MODEL_PAGES - 1), count = (int)test_rng_range(rng, 1, 40);
    int frame = (int)test_rng_range(rng, 0, MODEL_FRAMES - 41), kind = (int)test_rng_range(rng, 0, 4);

    for (int i = 0; i < count && first + i < MODEL_PAGES; i++) {
        uint64_t *leaf =
            dartrig_leaf(rig, rig->table,
                         0x1f00000ull / DARTRIG_PAGE * DARTRIG_PAGE + (uint64_t)(first + i) * DARTRIG_PAGE);

        model->table[first + i] = kind == 0 ? -1 : kind == 1 ? frame + count - i : frame + i;
        *leaf = kind == 0
                    ? 0
                    : dartrig_word(rig->form, frames + (uint64_t)model->table[first + i] * DARTRIG_PAGE);
    }
}

static void model_grant(struct dartrig *rig, struct model *model, struct test_rng *rng, uint64_t frames)
{
    int first = (int)test_rng_range(rng, 0, MODEL_PAGES - 60), count = (int)test_rng_range(rng, 1, 59);
    uint64_t iova = 0x1f00000ull / DARTRIG_PAGE * DARTRIG_PAGE + (uint64_t)first * DARTRIG_PAGE;
    struct dart_range range;
    int status = dartrig_get(rig, iova, (uint64_t)count * DARTRIG_PAGE, DART_WRITE, &range);

    for (int i = 0; i < count; i++) {
        int *cached = &model->cached[first + i];

        if (*cached < 0)
            *cached = model->table[first + i];
        if (*cached < 0) {
            assert_int_equal(status, -EFAULT);
            assert_int_equal(dart_read32(rig->dart, DART_PORT_SOURCE, 0x50),
                             iova + (uint64_t)i * DARTRIG_PAGE);
            dart_write32(rig->dart, DART_PORT_SOURCE, 0x40, 0x80000000u);
            return;
        }
    }
    assert_int_equal(status, 0);
    for (int i = 0; i < count; i++)
        expect_page(&range, (uint64_t)i, frames + (uint64_t)model->cached[first + i] * DARTRIG_PAGE);
}

static void random_traffic(void **state)
{
    static struct model model;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 4);
    for (unsigned round = 0; round < 6; round++) {
        struct dartrig rig;
        uint64_t frames;

        start(&rig, round % 2 ? 0 : 200);
        frames = dartrig_alloc(&rig, MODEL_FRAMES);
        fill(&rig, frames, MODEL_FRAMES);
        memset(&model, 0xff, sizeof(model));
        for (unsigned i = 0; i < 100; i++)
            model_change(&rig, &model, &rng, frames);
        for (unsigned i = 0; i < 3000; i++) {
            if (i % 5 == 0)
                model_change(&rig, &model, &rng, frames);
            if (test_rng_range(&rng, 0, 99) == 0) {
                dartrig_invalidate(&rig, (enum dart_port)test_rng_range(&rng, 0, 2), 4);
                memset(model.cached, 0xff, sizeof(model.cached));
            }
            model_grant(&rig, &model, &rng, frames);
            if (round == 4 && i % 50 == 0)
                base_alloc_fail_nth((unsigned long)test_rng_range(&rng, 1, 60));
        }
        base_alloc_fail_nth(0);
        if (round % 2 == 0)
            assert_true(dart_stats_get(rig.dart).vmas_peak <= 200);
        assert_true(dart_stats_get(rig.dart).faults > 10 && dart_stats_get(rig.dart).faults < 2900);
        dartrig_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_pages_need_no_window),
        cmocka_unit_test(scattered_pages_are_contiguous),
        cmocka_unit_test(neighbouring_banks),
        cmocka_unit_test(bank_removed_under_an_entry),
        cmocka_unit_test(budget_is_held),
        cmocka_unit_test(long_runs_in_the_budget),
        cmocka_unit_test(oldest_goes_first),
        cmocka_unit_test(bracketed_grants_stay),
        cmocka_unit_test(bracketed_chunk_is_kept),
        cmocka_unit_test(host_refuses),
        cmocka_unit_test(invalidate_empties_the_window),
        cmocka_unit_test(count_is_the_kernels),
        cmocka_unit_test(kernel_is_exhausted),
        cmocka_unit_test(random_traffic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
