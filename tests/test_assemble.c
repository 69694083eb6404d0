/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor streams written by hand: comfort, refusals with line and column, hostile texts. */
#include "support.h"

#include <stdio.h>

#include "listing_text.h"

#define CAPACITY 0x4000u

static struct pr_assembly assemble(const char *text, uint8_t bytes[CAPACITY])
{
    struct pr_assembly result;
    struct pr_problem problem;

    if (!pr_assemble(text, strlen(text), bytes, CAPACITY, &result, &problem))
        fail_msg("%s", problem.text);
    assert_true(result.size <= CAPACITY);
    return result;
}

static uint32_t word(const uint8_t *bytes, uint32_t offset)
{
    return pr_le32(bytes + offset);
}

static void nothing(void **state)
{
    static const char *const texts[] = {
        "", "\n", "# only a comment", "\r\n\t \r\n", "end 0", "listing 1\nend 0\n"};
    uint8_t bytes[CAPACITY];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pr_assembly result = assemble(texts[i], bytes);

        assert_int_equal(result.size, 0);
        assert_int_equal(result.descriptors, 0);
        assert_int_equal(result.first_words, 0);
    }
}

static void headers(void **state)
{
    uint8_t bytes[CAPACITY];
    struct pr_assembly result;

    (void)state;
    result =
        assemble("descriptor\nEON=1 NID=0x40 # any order\nWBase=4 WBE=1\n w8 RBase0=5 RBE0=1\nTID=7", bytes);
    assert_int_equal(result.size, 40);
    assert_int_equal(result.descriptors, 1);
    assert_int_equal(result.first_words, 10);
    assert_int_equal(word(bytes, 0), 0x02400007);
    assert_int_equal(word(bytes, 32), 0x00024025);
    assert_int_equal(word(bytes, 4), 0);

    result = assemble("descriptor\nw6 0x30009800 TDE=1\nw10 DTID=8 +bits=0x80000000", bytes);
    assert_int_equal(result.first_words, 11);
    assert_int_equal(word(bytes, 24), 0x31009800);
    assert_int_equal(word(bytes, 40), 0x80000008);

    result = assemble("descriptor\nheader 11\n", bytes);
    assert_int_equal(result.size, 44);
    result = assemble("descriptor words 512\n", bytes);
    assert_int_equal(result.size, 2048);
    assert_int_equal(result.first_words, 512);
}

static void writes(void **state)
{
    uint8_t bytes[CAPACITY];
    struct pr_assembly result;

    (void)state;
    result = assemble("descriptor\n"
                      "write L2\n"
                      "  SourceCfg 0x172\n"
                      "write L2.ResultCfg\n"
                      "  ResultCfg ResultType=2 DMAFmt=1\n"
                      "write 0x1f848 8\n"
                      "  CoeffBaseAddr[1-3] Addr=2\n"
                      "  CoeffBaseAddr[2] Addr=3\n"
                      "write NE 2\n"
                      "  MACCfg OpMode=4 OpMode=3\n",
                      bytes);
    assert_int_equal(result.first_words, 10 + 19 + 2 + 9 + 3);
    assert_int_equal(word(bytes, 40), 0x44004800);
    assert_int_equal(word(bytes, 48), 0x172);
    assert_int_equal(word(bytes, 40 + 4 * 19), 0x4830);
    assert_int_equal(word(bytes, 40 + 4 * 20), 0x42);
    assert_int_equal(word(bytes, 40 + 4 * 21), 7u << 26 | 0x1f848);
    assert_int_equal(word(bytes, 40 + 4 * 22), 0);
    assert_int_equal(word(bytes, 40 + 4 * 23), 0x80);
    assert_int_equal(word(bytes, 40 + 4 * 24), 0xc0);
    assert_int_equal(word(bytes, 40 + 4 * 25), 0x80);
    assert_int_equal(word(bytes, 40 + 4 * 30), 1u << 26 | 0xc800);
    assert_int_equal(word(bytes, 40 + 4 * 32), 3);
}

/* As long as can be: 512 words, and a stream that ends at the limit. */
static void longest(void **state)
{
    static const char end[] = "descriptor at 0x3ffffd8\n";
    uint8_t bytes[CAPACITY];
    struct pr_assembly result;

    (void)state;
    result = assemble("descriptor\nwrite 0 64\nwrite 0 64\nwrite 0 64\nwrite 0 64\nwrite 0 64\nwrite 0 64\n"
                      "write 0 64\nwrite 0 46\n",
                      bytes);
    assert_int_equal(result.first_words, 512);
    assert_int_equal(word(bytes, 4 * (10 + 7 * 65)), 45u << 26);
    assert_true(pr_assemble(end, strlen(end), NULL, 0, &result, NULL));
    assert_int_equal(result.size, 0x4000000);
}

/* Registers of the same name in two blocks: the record says which is meant. */
static void same_names(void **state)
{
    uint8_t bytes[CAPACITY];

    (void)state;
    assemble("descriptor\nwrite TileDMASrc 1\nDMAConfig DependencyMode=1\n"
             "write TileDMADst 1\nDMAConfig L2BfrMode=1\n",
             bytes);
    assert_int_equal(word(bytes, 44), 1u << 18);
    assert_int_equal(word(bytes, 52), 1u << 26);
}

static void placement(void **state)
{
    uint8_t bytes[CAPACITY];
    struct pr_assembly result;

    (void)state;
    result = assemble("descriptor 9\nTID=1\n"
                      "data 0x80 0xdeadbeef 1\n"
                      "bytes 0x89 255\n"
                      "descriptor 7\nTID=2\n"
                      "descriptor at 0x204 words 12\nTID=3\n"
                      "descriptor\nTID=4\n"
                      "end 0x1000\n",
                      bytes);
    assert_int_equal(result.size, 0x1000);
    assert_int_equal(result.descriptors, 4);
    assert_int_equal(result.first_words, 10);
    assert_int_equal(word(bytes, 0), 1);
    assert_int_equal(word(bytes, 0x80), 0xdeadbeef);
    assert_int_equal(word(bytes, 0x84), 1);
    assert_int_equal(word(bytes, 0x88), 0xff00);
    assert_int_equal(word(bytes, 0x100), 2);
    assert_int_equal(word(bytes, 0x204), 3);
    assert_int_equal(word(bytes, 0x300), 4);
}

static void chains(void **state)
{
    uint8_t bytes[CAPACITY];
    struct pr_assembly result;

    (void)state;
    result = assemble("descriptor\nEON=1 NextPointer=0x500 NextSize=3 TID=1\n"
                      "descriptor\nTDE=1\nwrite NE\n"
                      "chain\n"
                      "descriptor at 0x400\nLNID=0 NextPointer=4\n",
                      bytes);
    assert_int_equal(result.descriptors, 3);
    assert_int_equal(word(bytes, 0), 1);
    assert_int_equal(word(bytes, 4), 16u << 16);
    assert_int_equal(word(bytes, 28), 0x100);
    assert_int_equal(word(bytes, 0x100), 0x01000000);
    assert_int_equal(word(bytes, 0x104), 9u << 16);
    assert_int_equal(word(bytes, 0x11c), 0x400);
    assert_int_equal(word(bytes, 0x400), 0x03000000);
    assert_int_equal(word(bytes, 0x404), 0);
    assert_int_equal(word(bytes, 0x41c), 0);

    assemble("chain\ndescriptor\n", bytes);
    assert_int_equal(word(bytes, 0), 0x02000000);
    assemble("descriptor # chain\nNextPointer=0x100\n", bytes);
    assert_int_equal(word(bytes, 28), 0x100);
}

/* Each capacity gives the same size, and bytes only within it. With too little, a later call gives all. */
static void capacities(void **state)
{
    static const char text[] =
        "chain\ndescriptor\nTID=1\ndescriptor\nTID=2\ndata 0x130 1 2 3\nbytes 0x13d 7\n";
    uint8_t all[CAPACITY];
    struct pr_assembly full = assemble(text, all);

    (void)state;
    assert_int_equal(full.size, 0x13e);
    for (size_t capacity = 0; capacity <= full.size + 8; capacity++) {
        uint8_t *some = malloc(capacity ? capacity : 1);
        struct pr_assembly result;

        assert_non_null(some);
        assert_true(pr_assemble(text, sizeof(text) - 1, capacity ? some : NULL, capacity, &result, NULL));
        assert_memory_equal(&result, &full, sizeof(full));
        if (capacity >= full.size)
            assert_memory_equal(some, all, full.size);
        free(some);
    }
}

static const struct {
    const char *text, *place, *says;
} mistakes[] = {
    {"lsting 1", "Line 1, column 1:", "`lsting` is not a statement here"},
    {"listing 2", "Line 1, column 10:", "version 2; version 1 is read here"},
    {"listing", "Line 1, column 8:", "version is missing"},
    {"\n\n  listing x", "Line 3, column 11:", "`x` is not a number of 32 bits"},
    {"listing 1 1", "Line 1, column 11:", "`1` is more than this statement takes"},
    {"TID=1", "Line 1, column 1:", "before the first descriptor"},
    {"descriptor foo", "Line 1, column 12:", "`foo` is not `at`, `words`"},
    {"descriptor at", "Line 1, column 14:", "offset is missing"},
    {"descriptor at 0x10000000000", "Line 1, column 15:", "not a number of 32 bits"},
    {"descriptor at 0x4000001", "Line 1, column 15:", "the limit is 67108864"},
    {"descriptor at 2", "Line 1", "not a multiple of 4"},
    {"descriptor words 9", "Line 1", "at least 10 words"},
    {"descriptor words 513", "Line 1", "the limit is 512"},
    {"descriptor\ndescriptor at 0x24", "Line 2", "the item before it ends at 0x28"},
    {"descriptor at 0x4000000", "Line 1", "the limit is 0x4000000"},
    {"descriptor words 10\nheader 11", "Line 2", "declares 10 words; its header has 11"},
    {"descriptor\nheader 9", "Line 2", "10 or 11 words, not 9"},
    {"descriptor\nheader 12", "Line 2", "the limit is 11"},
    {"descriptor\nw11 1", "Line 2", "words 0 to 10"},
    {"descriptor\nw10 1", "Line 2", "TDE is not set"},
    {"descriptor\nw0 EON=2", "Line 2, column 4:", "field EON holds at most 1; the value is 2"},
    {"descriptor\nw1 EON=1", "Line 2, column 4:", "no field called `EON` here"},
    {"descriptor\nFoo=1", "Line 2", "no field called `Foo`"},
    {"descriptor\nEON=", "Line 2", "the value in `EON=` is not a number"},
    {"descriptor\nEON=1 LNID", "Line 2, column 7:", "not of the form FIELD=VALUE"},
    {"descriptor\n+bits=1", "Line 2", "needs the number of its word"},
    {"descriptor\nw0 EON=1 7", "Line 2, column 10:", "not of the form FIELD=VALUE"},
    {"descriptor\nSourceCfg 1", "Line 2", "not a statement of a header"},
    {"descriptor\nwrite", "Line 2", "register address is missing"},
    {"descriptor\nwrite Foo", "Line 2, column 7:", "`Foo` is not an address, a block or a register"},
    {"descriptor\nwrite L2.Foo", "Line 2", "or a register"},
    {"descriptor\nwrite 0x4000000", "Line 2", "the limit is 0x3ffffff"},
    {"descriptor\nwrite L2 0", "Line 2", "1 to 64 words"},
    {"descriptor\nwrite L2 65", "Line 2", "1 to 64 words"},
    {"descriptor\nwrite L2 1 1", "Line 2, column 12:", "more than this statement takes"},
    {"descriptor at 0x3ffffdc", "Line 1", "ends at 0x4000004; the limit is 0x4000000"},
    {"descriptor\nwrite 0 64\nwrite 0 64\nwrite 0 64\nwrite 0 64\n"
     "write 0 64\nwrite 0 64\nwrite 0 64\nwrite 0 47",
     "Line 9", "ends at word 513 of a descriptor of 512"},
    {"descriptor words 12\nwrite L2", "Line 2", "ends at word 29 of a descriptor of 12"},
    {"descriptor\nwrite L2\nTID=1", "Line 3", "ends at the first write"},
    {"descriptor\nwrite L2\nheader 11", "Line 3", "ends at the first write"},
    {"descriptor\nwrite L2\nw0 1", "Line 3", "ends at the first write"},
    {"descriptor\nwrite L2\nInDim Win=1", "Line 3",
     "18 registers written from 0x4800 have none called `InDim`"},
    {"descriptor\nwrite L2\nSourceCfg Foo=1", "Line 3, column 11:", "no field called `Foo`"},
    {"descriptor\nwrite L2\nSourceCfg[1] 1", "Line 3", "elements 0 to 0"},
    {"descriptor\nwrite 0x1f808 16\nCoeffDMAConfig[16] 1", "Line 3", "elements 0 to 15"},
    {"descriptor\nwrite 0x1f810 4\nCoeffDMAConfig[1] 1", "Line 3",
     "not all among the 4 registers written from 0x1f810"},
    {"descriptor\nwrite 0x1f810 4\nCoeffDMAConfig[2-6] 1", "Line 3", "not all among"},
    {"descriptor\nwrite 0x1f810 4\nCoeffDMAConfig[4-3] 1", "Line 3", "not of the form NAME[FROM-TO]"},
    {"descriptor\nwrite 0x1f810 4\nCoeffDMAConfig[2 1", "Line 3", "not of the form"},
    {"descriptor\nwrite 0x1f810 4\nCoeffDMAConfig[ 1", "Line 3", "not of the form"},
    {"descriptor\nwrite 0x1f810 4\nCoeffDMAConfig[-] 1", "Line 3", "not of the form"},
    {"data", "Line 1", "offset is missing"},
    {"data 2 1", "Line 1", "not a multiple of 4"},
    {"data 0 0x1g", "Line 1, column 8:", "`0x1g` is not a number of 32 bits"},
    {"bytes 0 256", "Line 1, column 9:", "`256` is not a number of 8 bits"},
    {"data 0x3fffffc 1 2", "Line 1", "past 0x4000000, the limit"},
    {"data 0 1 2\ndata 4 1", "Line 2", "the item before it ends at 0x8"},
    {"end", "Line 1", "size is missing"},
    {"end 0x4000001", "Line 1", "the limit is 67108864"},
    {"descriptor\nend 39", "Line 2", "ends at 0x27, but its contents end at 0x28"},
    {"end 0\ndescriptor", "Line 2, column 1:", "`descriptor` comes after `end`"},
    {"chain 1", "Line 1", "more than this statement takes"},
    {"\x01\x02", "Line 1, column 1:", "`??` is not a statement"},
    {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "Line 1",
     "`abcdefghijklmnopqrstuvwxyzabcdefghijklmn...`"},
};

static void mistakes_are_placed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        const char *text = mistakes[i].text;
        struct pr_assembly result;
        struct pr_problem problem;
        uint8_t bytes[64];

        if (pr_assemble(text, strlen(text), bytes, sizeof(bytes), &result, &problem))
            fail_msg("accepted: %s", text);
        if (strncmp(problem.text, mistakes[i].place, strlen(mistakes[i].place)) != 0 ||
            !strstr(problem.text, mistakes[i].says))
            fail_msg("%s\nexpected: %s ... %s", problem.text, mistakes[i].place, mistakes[i].says);
        assert_int_equal(problem.kind, PR_PROBLEM_FORMAT);
        assert_int_equal(problem.text[strlen(problem.text) - 1], '.');
        assert_false(pr_assemble(text, strlen(text), NULL, 0, &result, NULL));
    }
}

/* Words of the grammar in any order, and bytes of any kind: never more than a refusal. */
static void hostile_texts(void **state)
{
    static const char *const words[] = {"listing",    "descriptor",
                                        "at",         "words",
                                        "header",     "write",
                                        "data",       "bytes",
                                        "chain",      "end",
                                        "w0",         "w10",
                                        "w6",         "TDE=1",
                                        "EON=1",      "+bits=7",
                                        "0",          "10",
                                        "11",         "0x100",
                                        "0x1f800",    "0x3ffffff",
                                        "64",         "512",
                                        "L2",         "NE",
                                        "L2.L2Cfg",   "SourceCfg",
                                        "[",          "]",
                                        "=",          "-",
                                        "#",          "CoeffDMAConfig[0-15]",
                                        "\n",         "\n",
                                        "\n",         "\n",
                                        "\n",         "MACCfg[0]",
                                        "En=1",       "OpMode=9",
                                        "0xffffffff", "1e9",
                                        "TID=65535",  "KernelDMASrc"};
    struct test_rng rng;
    unsigned accepted = 0;

    (void)state;
    test_rng_init(&rng, 3);
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[600];
        struct pr_assembly result;
        char *text = malloc(2048);
        size_t length = 0;

        assert_non_null(text);
        for (int64_t i = test_rng_range(&rng, 0, 40); i > 0; i--) {
            const char *next = words[test_rng_range(&rng, 0, sizeof(words) / sizeof(words[0]) - 1)];

            memcpy(text + length, next, strlen(next));
            length += strlen(next);
            text[length++] = test_rng_range(&rng, 0, 40) ? ' ' : (char)test_rng_u32(&rng);
        }
        text = realloc(text, length ? length : 1); /* so that a sanitizer sees the end */
        assert_non_null(text);
        if (pr_assemble(text, length, bytes, sizeof(bytes), &result, NULL)) {
            accepted++;
            assert_true(result.size <= PR_LISTING_BYTES_MAX);
        }
        free(text);
    }
    assert_true(accepted > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),       cmocka_unit_test(headers),    cmocka_unit_test(writes),
        cmocka_unit_test(longest),       cmocka_unit_test(same_names), cmocka_unit_test(placement),
        cmocka_unit_test(chains),        cmocka_unit_test(capacities), cmocka_unit_test(mistakes_are_placed),
        cmocka_unit_test(hostile_texts),
    };

    return cmocka_run_group_tests_name("assemble", tests, NULL, NULL);
}
