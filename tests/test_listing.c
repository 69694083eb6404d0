/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of descriptor streams, and the way back to bytes. */
#include "support.h"

#include <stdio.h>

#include "listing_text.h"
#include "program/hwx.h"
#include "protocol/text.h"

static void put(uint8_t *bytes, uint32_t offset, uint32_t value)
{
    pr_put_le32(bytes + offset, value);
}

static void expect_survives(const uint8_t *bytes, size_t size, uint32_t first_words, const char *what)
{
    struct pr_problem problem;

    if (!listing_text_survives(bytes, size, first_words, &problem))
        fail_msg("%s (%zu bytes, first %u words) came back different: %s", what, size, first_words,
                 problem.text);
}

/* A stream with a bit of everything, and its listing as the grammar says it must look. */
static void known_listing(void **state)
{
    static const char expected[] = "listing 1\n"
                                   "descriptor 0 at 0x0 words 29\n"
                                   "  header 10\n"
                                   "    w0 TID=0x7 NID=64 +bits=0x80000000\n"
                                   "    w1 NextSize=12\n"
                                   "    w7 NextPointer=0x100\n"
                                   "  write 0x1f800 18      # KernelDMASrc\n"
                                   "    Unknown4 +bits=0x5\n"
                                   "    CoeffDMAConfig[0-1] En=1 CacheHint=2\n"
                                   "    CoeffDMAConfig[15] PrefetchParticipateEn=1\n"
                                   "data 0x7c 0x00000001 0x00000002\n"
                                   "data 0x88 0x00000003\n"
                                   "descriptor 1 at 0x100 words 13\n"
                                   "  header 11\n"
                                   "    w0 EON=1\n"
                                   "    w6 TDE=1\n"
                                   "    w10 DTID=0x8\n"
                                   "  write 0x13808 1       # TileDMASrc\n"
                                   "    BaseAddr Addr=0x3  # 0xc0 bytes\n"
                                   "bytes 0x134 0x00 0x9a\n"
                                   "end 0x136\n";
    uint8_t bytes[0x136] = {0};
    struct listing_text t = {0};

    (void)state;
    put(bytes, 0, 0x80400007);
    put(bytes, 4, 12u << 16);
    put(bytes, 28, 0x100);
    put(bytes, 40, 17u << 26 | 0x1f800);
    put(bytes, 44 + 4, 5);
    put(bytes, 44 + 8, 0x81);
    put(bytes, 44 + 12, 0x81);
    put(bytes, 44 + 8 + 60, 0x10000000);
    put(bytes, 0x7c, 1);
    put(bytes, 0x80, 2);
    put(bytes, 0x88, 3);
    put(bytes, 0x100, 0x02000000);
    put(bytes, 0x118, 0x01000000);
    put(bytes, 0x128, 8);
    put(bytes, 0x12c, 0x13808);
    put(bytes, 0x130, 0xc0);
    bytes[0x135] = 0x9a;
    assert_true(pr_listing_write(bytes, sizeof(bytes), 29, listing_text_line, &t, NULL));
    listing_text_line(&t, "", 0);
    t.text[t.length - 1] = '\0';
    assert_string_equal(t.text, expected);
    listing_text_free(&t);
    expect_survives(bytes, sizeof(bytes), 29, "known stream");
}

/* Whatever the bytes are, and whatever size the first descriptor is said to have. */
static void noise_survives(void **state)
{
    struct test_rng rng;
    uint8_t bytes[0x900];

    (void)state;
    test_rng_init(&rng, 1);
    for (int round = 0; round < 3000; round++) {
        size_t size = (size_t)test_rng_range(&rng, 0, round % 3 ? 64 : sizeof(bytes));

        test_rng_bytes(&rng, bytes, size);
        if (test_rng_bool(&rng))
            for (size_t i = 0; i < size; i++)
                bytes[i] = test_rng_range(&rng, 0, 3) ? 0 : bytes[i];
        expect_survives(bytes, size, (uint32_t)test_rng_range(&rng, 0, 520), "noise");
    }
}

/* A random descriptor whose framing is right, at `offset`; returns its words. */
static uint32_t make_descriptor(uint8_t *bytes, uint32_t offset, struct test_rng *rng)
{
    uint32_t at = test_rng_bool(rng) ? 10 : 11, records = (uint32_t)test_rng_range(rng, 0, 8), header = at;

    for (uint32_t i = 0; i < at; i++)
        put(bytes, offset + 4 * i, test_rng_bool(rng) ? test_rng_u32(rng) : 0);
    put(bytes, offset + 24, (pr_le32(bytes + offset + 24) & ~(1u << 24)) | (header == 11 ? 1u << 24 : 0));
    for (uint32_t r = 0; r < records; r++) {
        const struct pr_block_info *block = &pr_block_table[test_rng_range(rng, 0, PR_BLOCK_COUNT - 1)];
        uint32_t first = (uint32_t)test_rng_range(rng, 0, block->words - 1);
        uint32_t count = (uint32_t)test_rng_range(rng, 1, block->words - first);
        bool dense = test_rng_bool(rng);

        if (at + 1 + count > PR_TD_WORDS_MAX)
            break;
        if (block->base + 4 * first == 0 && count == 1)
            continue; /* a zero word is padding, not a record */
        put(bytes, offset + 4 * at, (count - 1) << 26 | (block->base + 4 * first));
        for (uint32_t i = 1; i <= count; i++)
            put(bytes, offset + 4 * (at + i),
                dense ? test_rng_u32(rng) : (uint32_t)test_rng_range(rng, 0, 1) * 0x80);
        at += 1 + count;
    }
    return at;
}

static unsigned count_descriptors(const uint8_t *bytes, size_t size, uint32_t first_words)
{
    struct listing_text t = {0};
    unsigned count = 0;

    assert_true(pr_listing_write(bytes, size, first_words, listing_text_line, &t, NULL));
    for (size_t i = 0; i + 10 < t.length; i++)
        count += (i == 0 || t.text[i - 1] == '\n') && memcmp(t.text + i, "descriptor", 10) == 0;
    listing_text_free(&t);
    return count;
}

#define RANDOM_STREAM 0x6000u

/*
 * A chain of random descriptors with dirt between them; returns the size of the first, and how many there
 * are.
 */
static uint32_t make_stream(uint8_t *bytes, size_t *size, unsigned *count, struct test_rng *rng)
{
    uint32_t offset = 0, first = 0, last = 0, words;

    memset(bytes, 0, RANDOM_STREAM);
    *count = (unsigned)test_rng_range(rng, 1, 6);
    for (unsigned i = 0; i < *count; i++) {
        words = make_descriptor(bytes, offset, rng);
        if (i == 0)
            first = words;
        else {
            put(bytes, last + 4, (pr_le32(bytes + last + 4) & ~0x01ff0000u) | (words - 1) << 16);
            put(bytes, last + 28, offset);
        }
        put(bytes, offset + 28, 0);
        last = offset;
        offset =
            (uint32_t)pr_round_up(offset + 4 * words, 0x100) + 0x100 * (uint32_t)test_rng_range(rng, 0, 2);
        if (test_rng_bool(rng))
            put(bytes, last + 4 * words + 4 * (uint32_t)test_rng_range(rng, 0, 3), test_rng_u32(rng));
        *size = last + 4 * words + 16 + (size_t)test_rng_range(rng, 0, 9);
    }
    return first;
}

static void random_streams_survive(void **state)
{
    static uint8_t bytes[RANDOM_STREAM + 0x1000];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    for (int round = 0; round < 400; round++) {
        size_t size = 0;
        unsigned count;
        uint32_t first = make_stream(bytes, &size, &count, &rng);

        assert_true(size <= sizeof(bytes));
        assert_int_equal(count_descriptors(bytes, size, first), count);
        expect_survives(bytes, size, first, "random stream");
        for (int flips = 0; flips < 8; flips++) {
            bytes[test_rng_range(&rng, 0, (int64_t)size - 1)] ^= (uint8_t)(1u << test_rng_range(&rng, 0, 7));
            expect_survives(bytes, size, first, "damaged stream");
        }
    }
}

static void limits(void **state)
{
    struct pr_problem problem = {0};
    struct listing_text t = {0};
    uint8_t byte = 0;

    (void)state;
    assert_false(pr_listing_write(&byte, PR_LISTING_BYTES_MAX + 1, 10, listing_text_line, &t, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_LIMIT);
    assert_int_equal(t.length, 0);
    expect_survives(&byte, 0, 10, "empty stream");
    expect_survives(&byte, 1, 10, "one zero byte");
}

/* No line is ever cut: the register with the most fields, all of them at their most. */
static void longest_lines(void **state)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX];

    (void)state;
    for (unsigned b = 0; b < PR_BLOCK_COUNT; b++) {
        uint32_t words = 11 + pr_block_table[b].words;

        memset(bytes, 0xff, sizeof(bytes));
        put(bytes, 24, 0xfeffffff);
        put(bytes, 40, (pr_block_table[b].words - 1) << 26 | pr_block_table[b].base);
        assert_int_equal(count_descriptors(bytes, 4 * words, words), 1);
        expect_survives(bytes, 4 * words, words, pr_block_table[b].name);
    }
}

/* The same text for the same bytes, and fields where the facts sheet sees them in this program. */
static void real_programs_survive(void **state)
{
    static const char *const files[] = {"relu.hwx", "sum.hwx",  "sigmoid.hwx", "concat.hwx",
                                        "conv.hwx", "gemm.hwx", "golden.hwx"};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const char *path = test_program_path(files[i]);
        struct pr_hwx hwx;
        struct test_rng rng;
        uint8_t *bytes, *text;
        size_t size;

        if (!path) {
            print_message("# %s is not here\n", files[i]);
            skip();
        }
        bytes = test_file_read(path, &size);
        assert_non_null(bytes);
        assert_true(pr_hwx_read(bytes, size, &hwx, NULL));
        text = bytes + hwx.text.offset;
        expect_survives(text, (size_t)hwx.text.size, hwx.first_td_words, files[i]);
        assert_int_equal(count_descriptors(text, (size_t)hwx.text.size, hwx.first_td_words), hwx.td_count);
        expect_survives(bytes, size < 0x9000 ? size : 0x9000, hwx.first_td_words, "a whole file");
        test_rng_init(&rng, 10 + i);
        for (int round = 0; round < 200; round++) {
            text[test_rng_range(&rng, 0, (int64_t)hwx.text.size - 1)] ^=
                (uint8_t)(1u << test_rng_range(&rng, 0, 7));
            expect_survives(text, (size_t)hwx.text.size, hwx.first_td_words, files[i]);
        }
        free(bytes);
    }
}

static void real_listing_reads_well(void **state)
{
    const char *path = test_program_path("gemm.hwx");
    struct listing_text t = {0};
    struct pr_hwx hwx;
    uint8_t *bytes;
    size_t size;

    (void)state;
    if (!path) {
        print_message("# gemm.hwx is not here\n");
        skip();
    }
    bytes = test_file_read(path, &size);
    assert_non_null(bytes);
    assert_true(pr_hwx_read(bytes, size, &hwx, NULL));
    assert_true(pr_listing_write(bytes + hwx.text.offset, (size_t)hwx.text.size, hwx.first_td_words,
                                 listing_text_line, &t, NULL));
    listing_text_line(&t, "", 0);
    t.text[t.length - 1] = '\0';
    assert_non_null(strstr(t.text, "    CoeffDMAConfig[0-15] En=1 CacheHint=2\n"));
    assert_non_null(strstr(t.text, "    CoeffBfrSize[0-15] MemBfrSize=0x200  # 0x8000 bytes\n"));
    assert_non_null(strstr(t.text, "    Cin Cin=512\n"));
    assert_non_null(strstr(t.text, "ENE=5\n"));
    assert_non_null(strstr(t.text, "OCGSize=5"));
    listing_text_free(&t);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_listing),           cmocka_unit_test(noise_survives),
        cmocka_unit_test(random_streams_survive),  cmocka_unit_test(limits),
        cmocka_unit_test(longest_lines),           cmocka_unit_test(real_programs_survive),
        cmocka_unit_test(real_listing_reads_well),
    };

    return cmocka_run_group_tests_name("listing", tests, NULL, NULL);
}
