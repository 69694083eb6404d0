/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor streams without a container: the size of the first descriptor is found, or what was tried is
 * said. Streams are assembled, cut and altered here; sizes and offsets are those of the published layout.
 *
 *     test_raw --seeds FOLDER    writes the streams made here as seeds for the fuzzer
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "programs.h"
#include "program/raw.h"
#include "protocol/bits.h"

#define PAGE 0x4000u

static uint8_t page[PAGE];
static struct pr_problem problem;

/* The network number that libane and the public scripts put into a btsp buffer. */
static void set_network(uint8_t *bytes, uint32_t network)
{
    pr_put_le32(bytes, (pr_le32(bytes) & ~0xff0000u) | network << 16);
}

/* A stream of `tds` descriptors at the start of the page, zeros behind. Returns its size. */
static uint32_t make(unsigned tds)
{
    struct test_program p;

    assert_true(tds <= 3);
    test_assemble(&p, "chain\n%s%s%s", test_text_relu, tds > 1 ? test_text_relu : "",
                  tds > 2 ? test_text_relu : "");
    memset(page, 0, sizeof(page));
    memcpy(page, p.bytes, p.size);
    return p.size;
}

static struct pr_raw find(size_t size, uint32_t words, uint32_t count)
{
    struct pr_raw raw;

    if (!pr_raw_find(page, size, words, count, &raw, &problem))
        fail_msg("at 0x%x: %s", problem.offset, problem.text);
    return raw;
}

static void refuse(size_t size, uint32_t words, enum pr_problem_kind kind, const char *text)
{
    struct pr_raw raw;

    if (pr_raw_find(page, size, words, 0, &raw, &problem))
        fail_msg("found %u words; expected: %s", raw.first_words, text);
    if (problem.kind != kind || !strstr(problem.text, text))
        fail_msg("kind %d at 0x%x: %s\nexpected kind %d: %s", problem.kind, problem.offset, problem.text,
                 kind, text);
    assert_int_equal(problem.text[strlen(problem.text) - 1], '.');
    assert_false(pr_raw_find(page, size, words, 0, &raw, NULL));
}

/* 0x274 bytes each, 0x300 apart: the sizes of every published kernel of one to three descriptors. */
static void published_layout(void **state)
{
    static const uint32_t ends[] = {0x274, 0x574, 0x874};

    (void)state;
    for (unsigned tds = 1; tds <= 3; tds++) {
        uint32_t size = make(tds);
        const size_t sizes[] = {size, PAGE};

        assert_int_equal(size, ends[tds - 1]);
        for (unsigned i = 0; i < 2; i++) {
            struct pr_raw raw = find(sizes[i], 0, 0);

            assert_int_equal(raw.first_words, 157);
            assert_int_equal(raw.basis, PR_RAW_FRAMED);
            assert_int_equal(raw.descriptors, tds);
            assert_int_equal(raw.end, ends[tds - 1]);
            assert_int_equal(raw.behind, sizes[i]);
            assert_int_equal(raw.network, 0);
            assert_int_equal(raw.next, 0);
            assert_true(raw.plausible);
        }
    }
}

/* Of a short descriptor, 126 words, and of sizes that no compiler uses. */
static void other_sizes(void **state)
{
    static const struct {
        const char *text;
        uint32_t words;
    } forms[] = {
        /* 10 header words, and a header word per record */
        {"descriptor\n  write Common\n  write TileDMASrc\n  write L2\n", 10 + 17 + 29 + 19},
        {"descriptor\n  write 0x1f800 18\n  write 0x1f8c8 12\n  write Common\n  write TileDMASrc\n"
         "  write L2\n  write PE\n  write NE\n  write TileDMADst\n",
         126},
        {"descriptor\n  TDE=1\n  write KernelDMASrc\n  write Common\n  write TileDMASrc\n  write L2\n"
         "  write PE\n  write NE\n  write TileDMADst\n",
         158},
        {"descriptor\n  TID=3\n  write NE\n", 10 + 6},
    };
    struct test_program p;

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct pr_raw raw;

        test_assemble(&p, "chain\n%s", forms[i].text);
        memset(page, 0, sizeof(page));
        memcpy(page, p.bytes, p.size);
        assert_int_equal(p.size, 4 * forms[i].words);
        raw = find(PAGE, 0, 0);
        assert_int_equal(raw.first_words, forms[i].words);
        assert_int_equal(raw.plausible, forms[i].words != 16);
        raw = find(p.size, 0, 0);
        assert_int_equal(raw.first_words, forms[i].words);
    }
}

/* Kernel data 16-aligned behind the text, as drivers place it; and at once, as one public script does. */
static void kernel_behind(void **state)
{
    struct pr_problem note;
    struct pr_raw raw;

    (void)state;
    make(1);
    memset(page + 0x280, 0x38, 0x80);
    raw = find(0x300, 0, 0);
    assert_int_equal(raw.basis, PR_RAW_FRAMED);
    assert_int_equal(raw.first_words, 157);
    assert_int_equal(raw.behind, 0x280);
    assert_true(pr_raw_explain_rest(&raw, 0x300, &note));
    assert_non_null(strstr(note.text, "140 bytes follow the stream, which ends at 0x274; from 0x280 on"));
    memset(page + 0x274, 0x38, 0x8c);
    raw = find(0x300, 0, 0);
    assert_int_equal(raw.basis, PR_RAW_PUBLISHED);
    assert_int_equal(raw.first_words, 157);
    assert_int_equal(raw.behind, 0x274);
    pr_raw_explain(&raw, &note);
    assert_non_null(strstr(note.text, "157 words (td_size 0x274), because its records end there and"));
    assert_false(pr_raw_explain_rest(&raw, 0x274, &note));
}

/* A record of registers that were written before is not part of the descriptor, as in one public script. */
static void written_twice(void **state)
{
    struct pr_raw raw;

    (void)state;
    make(1);
    memcpy(page + 0x274, page + 0x28, 4 * 63);
    raw = find(PAGE, 0, 0);
    assert_int_equal(raw.first_words, 157);
    assert_int_equal(raw.basis, PR_RAW_PUBLISHED);
    assert_int_equal(raw.behind, 0x275); /* 0xf401f800 */
}

/* Bytes that follow at once a descriptor of a size that no compiler uses: not certain. */
static void uncertain(void **state)
{
    struct test_program p;
    struct pr_raw raw;

    (void)state;
    test_assemble(&p, "chain\ndescriptor\n  write Common\n  write TileDMASrc\n  write L2\n");
    memset(page, 0x38, sizeof(page));
    memcpy(page, p.bytes, p.size);
    refuse(PAGE, 0, PR_PROBLEM_FORMAT,
           "whole up to word 75; the word there (0x38383838) is neither a new record");
    assert_non_null(strstr(problem.text, "Tried: 157, 158, 126, 75 words; --words N gives the size."));
    assert_int_equal(problem.offset, 4 * 75);
    raw = find(PAGE, 75, 0);
    assert_int_equal(raw.basis, PR_RAW_GIVEN);
    assert_int_equal(raw.first_words, 75);
    assert_int_equal(raw.descriptors, 1);
}

static void cut_streams(void **state)
{
    struct pr_raw raw;

    (void)state;
    make(1);
    refuse(0x270, 0, PR_PROBLEM_TRUNCATED, "whole up to word 149; the one there (0x18017800) does not end");
    /* Every whole record is a size; a cut inside one is none. */
    for (uint32_t words = 0; words < 157; words++) {
        bool whole = words == 10 + 63 || words == 73 + 17 || words == 90 + 29 || words == 119 + 19 ||
                     words == 138 + 5 || words == 143 + 6;

        assert_int_equal(pr_raw_find(page, 4ul * words, 0, 0, &raw, NULL), whole);
    }
    refuse(0x28, 0, PR_PROBLEM_TRUNCATED, "there are 40");
    refuse(0, 0, PR_PROBLEM_TRUNCATED, "there are 0");
    refuse(PAGE, 513, PR_PROBLEM_LIMIT, "A descriptor has 10 to 512 words, not 513.");
    refuse(PAGE, 9, PR_PROBLEM_LIMIT, "not 9.");
    refuse(0x270, 157, PR_PROBLEM_TRUNCATED, "given 157 words; there are 624 bytes");
    memset(page, 0, sizeof(page));
    refuse(PAGE, 0, PR_PROBLEM_FORMAT, "There are zeros");
    refuse(PAGE, 157, PR_PROBLEM_FORMAT, "There are zeros");
    memset(page, 0xff, sizeof(page));
    refuse(PAGE, 0, PR_PROBLEM_FORMAT, "No record follows a header of 11 words");
}

/* The next descriptor ends the first, also without zeros between them. */
static void next_descriptor(void **state)
{
    struct pr_raw raw;

    (void)state;
    make(2);
    memset(page + 0x274, 0x38, 0x300 - 0x274);
    raw = find(PAGE, 0, 0);
    assert_int_equal(raw.first_words, 157);
    assert_int_equal(raw.basis, PR_RAW_PUBLISHED);
    assert_int_equal(raw.descriptors, 2);
    raw = find(PAGE, 0, 1);
    assert_int_equal(raw.descriptors, 1);
    assert_int_equal(raw.end, 0x274);
    /* NextPointer inside the first descriptor: its records cannot be whole */
    td_set(page, TD_NEXT, 0x100);
    refuse(PAGE, 0, PR_PROBLEM_TRUNCATED,
           "whole up to word 10; the one there (0xf401f800) does not end before word 64");
}

/* A btsp buffer of libane: the first descriptor alone, numbered; zeros where the next would be. */
static void btsp_buffers(void **state)
{
    struct pr_problem note;
    struct pr_raw raw;

    (void)state;
    make(1);
    set_network(page, 0x40);
    raw = find(PAGE, 0, 0);
    assert_int_equal(raw.network, 0x40);
    assert_int_equal(raw.next, 0);
    assert_false(pr_raw_explain_next(&raw, &note));

    make(2);
    set_network(page, 0x40);
    raw = find(PAGE, 0, 0);
    assert_int_equal(raw.descriptors, 2);
    memset(page + 0x300, 0, PAGE - 0x300);
    for (unsigned i = 0; i < 2; i++) {
        raw = find(i ? 0x274 : PAGE, 0, 0);
        assert_int_equal(raw.first_words, 157);
        assert_int_equal(raw.descriptors, 1);
        assert_int_equal(raw.next, 0x300);
        assert_true(pr_raw_explain_next(&raw, &note));
        assert_non_null(strstr(note.text, "the next one, at 0x300, is fetched from the buffer"));
    }
    /* without a network number it is a stream with a hole */
    set_network(page, 0);
    assert_int_equal(find(PAGE, 0, 0).next, 0);
    /* and a pointer that no stream can have is a mistake in any form */
    set_network(page, 0x40);
    td_set(page, TD_NEXT, 0x340);
    assert_int_equal(find(PAGE, 0, 0).next, 0);
}

/* Files of other kinds are not taken for streams without being asked. */
static void plausible(void **state)
{
    (void)state;
    make(1);
    assert_true(find(PAGE, 0, 0).plausible);
    page[3] = 0x80; /* a bit of header word 0 that no field covers */
    assert_false(find(PAGE, 0, 0).plausible);
}

/* Any altered word is found or refused with a sentence; what is found is inside the bytes. */
static void altered(void **state)
{
    struct pr_raw raw;
    static uint8_t good[PAGE];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    make(2);
    memcpy(good, page, sizeof(good));
    for (unsigned i = 0; i < 20000; i++) {
        size_t size;

        memcpy(page, good, sizeof(page));
        for (unsigned k = test_rng_u32(&rng) % 3 + 1; k; k--)
            pr_put_le32(page + 4 * (test_rng_u32(&rng) % 0x180),
                        test_rng_u32(&rng) >> test_rng_u32(&rng) % 32);
        size = i % 2 ? PAGE : 4 * (test_rng_u32(&rng) % 0x180);
        if (pr_raw_find(page, size, 0, 0, &raw, &problem)) {
            assert_in_range(raw.first_words, 11, 512);
            assert_true(raw.descriptors >= 1 && raw.end <= size && raw.behind <= size);
            assert_true(4ull * raw.first_words <= raw.end);
        } else {
            assert_true(problem.kind != PR_PROBLEM_NONE && problem.text[0]);
            assert_int_equal(problem.text[strlen(problem.text) - 1], '.');
        }
    }
}

static int write_seed(const char *folder, const char *name, size_t size)
{
    static const char asked[2] = {0, 0}; /* the fuzzer's own: nothing is asked for */
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (!file || fwrite(asked, 1, sizeof(asked), file) != sizeof(asked) ||
        fwrite(page, 1, size, file) != size || fclose(file))
        return 1;
    return 0;
}

static int write_seeds(const char *folder)
{
    int failed = write_seed(folder, "one", make(1));

    failed |= write_seed(folder, "chain", make(3));
    make(2);
    set_network(page, 0x40);
    memset(page + 0x300, 0, PAGE - 0x300);
    failed |= write_seed(folder, "btsp", 0x400);
    make(1);
    memset(page + 0x274, 0x38, 0x8c);
    return failed | write_seed(folder, "kernel", 0x300);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_layout), cmocka_unit_test(other_sizes),  cmocka_unit_test(kernel_behind),
        cmocka_unit_test(written_twice),    cmocka_unit_test(uncertain),    cmocka_unit_test(cut_streams),
        cmocka_unit_test(next_descriptor),  cmocka_unit_test(btsp_buffers), cmocka_unit_test(plausible),
        cmocka_unit_test(altered),
    };

    if (argc == 3 && !strcmp(argv[1], "--seeds"))
        return write_seeds(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
