/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of descriptors: walks that end, break, loop; and the judgement of whole streams. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listing/check.h"
#include "listing/assemble.h"
#include "program/chain.h"
#include "program/hwx.h"

#define PLACES 8u
#define STREAM (PLACES * 0x100u)
#define SHORT  10u /* words: a header and nothing else */

/* A stream of bare headers, one at each multiple of 0x100 that link() names. */
struct stream {
    uint8_t bytes[STREAM];
};

static void set_link(struct stream *s, uint32_t offset, uint32_t next, uint32_t next_words, bool last)
{
    pr_put_le32(s->bytes + offset, last ? 1u << 25 : 0);
    pr_put_le32(s->bytes + offset + 4, (next_words ? next_words - 1 : 0) << 16);
    pr_put_le32(s->bytes + offset + 28, next);
}

/* count descriptors, one after the other */
static void make_chain(struct stream *s, uint32_t count)
{
    memset(s, 0, sizeof(*s));
    for (uint32_t i = 0; i + 1 < count; i++)
        set_link(s, i * 0x100, (i + 1) * 0x100, SHORT, false);
    set_link(s, (count - 1) * 0x100, 0, 0, true);
}

static void expect_fault(const struct stream *s, size_t size, uint32_t words, uint32_t count,
                         enum pr_problem_kind kind, uint32_t descriptor, const char *text)
{
    struct pr_chain_link links[PLACES];
    struct pr_problem problem;
    uint32_t found;

    if (pr_chain_read(s->bytes, size, words, count, links, PLACES, &found, &problem))
        fail_msg("accepted; expected: %s", text);
    if (problem.kind != kind || problem.descriptor != descriptor || !strstr(problem.text, text))
        fail_msg("kind %d, descriptor %u: %s\nexpected kind %d, descriptor %u: %s", problem.kind,
                 problem.descriptor, problem.text, kind, descriptor, text);
    assert_false(pr_chain_read(s->bytes, size, words, count, NULL, 0, &found, NULL));
}

static void good_chains(void **state)
{
    struct pr_chain_link links[PLACES];
    struct stream s;
    uint32_t found;

    (void)state;
    for (uint32_t count = 1; count <= PLACES; count++) {
        make_chain(&s, count);
        assert_true(pr_chain_read(s.bytes, STREAM, SHORT, count, links, PLACES, &found, NULL));
        assert_int_equal(found, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(links[i].index, i);
            assert_int_equal(links[i].offset, 0x100 * i);
            assert_int_equal(links[i].words, SHORT);
        }
        assert_true(pr_chain_read(s.bytes, STREAM, SHORT, 0, links, 1, &found, NULL));
        assert_int_equal(found, count);
        /* the stream may end with the last header */
        assert_true(pr_chain_read(s.bytes, 0x100 * (count - 1) + 40, SHORT, count, NULL, 0, &found, NULL));
    }
}

/* A chain need not ascend. */
static void backwards(void **state)
{
    struct pr_chain_link links[PLACES];
    struct stream s;
    uint32_t found;

    (void)state;
    memset(&s, 0, sizeof(s));
    set_link(&s, 0, 0x500, 20, false);
    set_link(&s, 0x500, 0x200, 12, false);
    set_link(&s, 0x200, 0, 0, true);
    assert_true(pr_chain_read(s.bytes, STREAM, SHORT, 3, links, PLACES, &found, NULL));
    assert_int_equal(links[1].offset, 0x500);
    assert_int_equal(links[1].words, 20);
    assert_int_equal(links[2].offset, 0x200);
    assert_int_equal(links[2].words, 12);
}

static void first_descriptor(void **state)
{
    struct stream s;
    uint32_t found;

    (void)state;
    make_chain(&s, 1);
    assert_true(pr_chain_read(s.bytes, STREAM, 512, 1, NULL, 0, &found, NULL));
    expect_fault(&s, STREAM, 9, 1, PR_PROBLEM_LIMIT, 0, "declares 9 words");
    expect_fault(&s, STREAM, 0, 1, PR_PROBLEM_LIMIT, 0, "10 to 512");
    expect_fault(&s, STREAM, 513, 1, PR_PROBLEM_LIMIT, 0, "declares 513 words");
    expect_fault(&s, STREAM, UINT32_MAX, 1, PR_PROBLEM_LIMIT, 0, "4294967295");
    expect_fault(&s, 39, 10, 1, PR_PROBLEM_TRUNCATED, 0, "39 bytes");
    expect_fault(&s, 0, 10, 1, PR_PROBLEM_TRUNCATED, 0, "0 bytes");
    expect_fault(&s, 0x273, 157, 1, PR_PROBLEM_TRUNCATED, 0, "157 words");
}

static void wrong_length(void **state)
{
    struct stream s;

    (void)state;
    make_chain(&s, 3);
    expect_fault(&s, STREAM, SHORT, 4, PR_PROBLEM_CHAIN, 2,
                 "declares 4 descriptors, but the chain ends after 3");
    expect_fault(&s, STREAM, SHORT, UINT32_MAX, PR_PROBLEM_CHAIN, 2, "ends after 3");
    expect_fault(&s, STREAM, SHORT, 2, PR_PROBLEM_CHAIN, 1,
                 "declares 2 descriptors, but descriptor 1 goes on");
    expect_fault(&s, STREAM, SHORT, 1, PR_PROBLEM_CHAIN, 0, "another one at 0x100");
}

static void broken_links(void **state)
{
    struct stream s;

    (void)state;
    make_chain(&s, 3);
    set_link(&s, 0x100, 0x210, SHORT, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_CHAIN, 1, "0x210, which is not a multiple of 0x100");
    set_link(&s, 0x100, 0x201, SHORT, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_CHAIN, 1, "not a multiple");
    set_link(&s, 0x100, STREAM, SHORT, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_CHAIN, 1, "ends at 0x800");
    set_link(&s, 0x100, 0x700, 65, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_CHAIN, 1, "0x700 for 65 words");
    set_link(&s, 0x100, 0xffffff00, SHORT, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_CHAIN, 1, "0xffffff00");
    set_link(&s, 0x100, 0x200, 9, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_CHAIN, 1, "NextSize 8, so 9 words");
    set_link(&s, 0x100, 0x200, 0, false);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_INCONSISTENT, 1, "NextPointer 0x200, but NextSize 0");
    set_link(&s, 0x100, 0, SHORT, true);
    expect_fault(&s, STREAM, SHORT, 2, PR_PROBLEM_INCONSISTENT, 1, "NextSize 9, but NextPointer 0");
    set_link(&s, 0x100, 0, 0, false);
    expect_fault(&s, STREAM, SHORT, 2, PR_PROBLEM_INCONSISTENT, 1, "EON is not set");
    make_chain(&s, 3);
    set_link(&s, 0x100, 0x200, SHORT, true);
    expect_fault(&s, STREAM, SHORT, 3, PR_PROBLEM_INCONSISTENT, 1, "EON set");
}

/* Every loop of every entry and length: the link that closes it is named, whatever count is declared. */
static void loops(void **state)
{
    static const uint32_t counts[] = {0, 1000};

    (void)state;
    for (uint32_t start = 1; start < PLACES; start++)
        for (uint32_t end = start; end < PLACES; end++) {
            struct pr_chain_link links[PLACES];
            struct pr_problem problem;
            struct stream s;
            uint32_t found;

            make_chain(&s, PLACES);
            set_link(&s, end * 0x100, start * 0x100, SHORT, false);
            for (size_t c = 0; c < 2; c++) {
                assert_false(
                    pr_chain_read(s.bytes, STREAM, SHORT, counts[c], links, PLACES, &found, &problem));
                assert_int_equal(problem.kind, PR_PROBLEM_LOOP);
                assert_int_equal(problem.descriptor, end);
                assert_int_equal(problem.offset, 28);
                assert_int_equal(problem.bits, start * 0x100);
                assert_int_equal(found, end + 1);
            }
        }
}

/* Random streams: every walk ends, visits no place twice, and stays inside. */
static void random_walks(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (int round = 0; round < 20000; round++) {
        bool seen[PLACES] = {false};
        struct pr_chain_link link;
        struct pr_chain chain;
        enum pr_chain_step step;
        struct stream s;
        size_t size = (size_t)test_rng_range(&rng, 0, STREAM);
        int steps = 0;

        memset(&s, 0, sizeof(s));
        for (uint32_t i = 0; i < PLACES; i++)
            set_link(&s, i * 0x100, 0x100 * (uint32_t)test_rng_range(&rng, 0, PLACES),
                     (uint32_t)test_rng_range(&rng, 8, 70), test_rng_bool(&rng));
        pr_chain_begin(&chain, s.bytes, size, (uint32_t)test_rng_range(&rng, 8, 70),
                       (uint32_t)test_rng_range(&rng, 0, PLACES));
        while ((step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END) {
            assert_true(steps++ < 3 * (int)PLACES + 3);
            if (step != PR_CHAIN_LINK)
                continue;
            assert_true(link.offset % 0x100 == 0 && link.offset + 4 * link.words <= size);
            assert_false(seen[link.offset / 0x100]);
            seen[link.offset / 0x100] = true;
        }
    }
}

/*
 * Two descriptors that copy a row of 77 elements, from buffer 5 to 6 and from 6 to 4: written by hand, in any
 * order.
 */
static const char two_copies[] =
    "chain\n"
    "descriptor\n"
    "  RBE0=1 RBase0=5 WBE=1 WBase=6 ENE=1\n"
    "  w6 SrcLoc=1 DstLoc=1\n"
    "  write Common\n"
    "    InDim Win=77 Hin=1\n    InDepth 1\n    OutDim Wout=77 Hout=1\n    OutDepth 1\n"
    "    ChCfg InFmt=2 OutFmt=2\n    Cin 1\n    Cout 1\n"
    "    ConvCfg 0x5000a021\n    ConvCfg3D 0x2041\n    GroupConvCfg 0x14001\n    TileCfg 1\n"
    "  write TileDMASrc\n"
    "    DMAConfig En=1\n    RowStride 0xc0\n    PlaneStride 0xc0\n"
    "    Fmt 0x01002031\n"
    "  write L2\n    SourceCfg 0x172\n    SourceChannelStride 0xa0\n    ResultCfg 0x172\n"
    "  write NE\n    MACCfg OpMode=4 KernelMode=1\n    PostScale 0x3c00\n"
    "  write TileDMADst\n    DMAConfig En=1\n    RowStride 0xc0\n"
    "    PlaneStride 0xc0\n    Fmt 0x01302031\n"
    "descriptor\n" /* the registers carry over */
    "  RBase0=6 RBE0=1 WBase=4 WBE=1 ENE=1\n";

static uint32_t assemble(const char *text, uint8_t *bytes, size_t capacity, size_t *size)
{
    struct pr_assembly result;
    struct pr_problem problem;

    if (!pr_assemble(text, strlen(text), bytes, capacity, &result, &problem))
        fail_msg("%s", problem.text);
    assert_true(result.size <= capacity);
    *size = result.size;
    return result.first_words;
}

struct findings {
    unsigned problems, remarks;
    struct pr_problem first[32]; /* problems and remarks, in order */
};

static void take_finding(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    struct findings *f = context;
    unsigned index = f->problems + f->remarks;

    assert_true(problem->kind != PR_PROBLEM_NONE && strlen(problem->text) > 0);
    if (index < 32)
        f->first[index] = *problem;
    if (finding == PR_FINDING_PROBLEM)
        f->problems++;
    else
        f->remarks++;
}

static void check_good_stream(void **state)
{
    struct findings f = {0};
    uint8_t bytes[0x800];
    size_t size;
    uint32_t words;

    (void)state;
    words = assemble(two_copies, bytes, sizeof(bytes), &size);
    if (!pr_check_stream(bytes, size, words, 2, take_finding, &f))
        fail_msg("%s", f.first[0].text);
    assert_int_equal(f.problems + f.remarks, 0);
}

/* Several things wrong at once: all of them are told, each with its descriptor. */
static void check_bad_stream(void **state)
{
    struct findings f = {0};
    uint8_t bytes[0x800];
    uint32_t words, next;
    size_t size;

    (void)state;
    words = assemble(two_copies, bytes, sizeof(bytes), &size);
    next = pr_le32(bytes + 28);
    assert_int_equal(next % 0x100, 0);
    bytes[3] |= 0x80;                /* descriptor 0: an unexplained header bit */
    bytes[3 * 4 + 3] |= 0x40;        /* and another */
    bytes[next + 3] = 0x02;          /* descriptor 1: LNID cleared */
    bytes[next + 6 * 4 + 1] |= 0x02; /* and TDSkip */
    assert_false(pr_check_stream(bytes, size, words, 3, take_finding, &f));
    assert_int_equal(f.problems, 4);
    assert_int_equal(f.remarks, 1);
    assert_int_equal(f.first[0].kind, PR_PROBLEM_UNEXPLAINED_BITS);
    assert_int_equal(f.first[0].bits, 0x80000000);
    assert_int_equal(f.first[1].kind, PR_PROBLEM_UNEXPLAINED_BITS);
    assert_int_equal(f.first[1].offset, 12);
    assert_int_equal(f.first[1].descriptor, 0);
    assert_non_null(strstr(f.first[2].text, "LNID"));
    assert_int_equal(f.first[2].descriptor, 1);
    assert_non_null(strstr(f.first[3].text, "TDSkip"));
    assert_int_equal(f.first[3].descriptor, 1);
    assert_non_null(strstr(f.first[4].text, "declares 3 descriptors"));
}

/* A descriptor that cannot be framed does not hide the next one. */
static void check_goes_on(void **state)
{
    struct findings f = {0};
    uint8_t bytes[0x800];
    uint32_t words, next;
    size_t size;

    (void)state;
    words = assemble(two_copies, bytes, sizeof(bytes), &size);
    next = pr_le32(bytes + 28);
    pr_put_le32(bytes + 40, 0x03fffffc);
    assert_false(pr_check_stream(bytes, size, words, 2, take_finding, &f));
    assert_int_equal(f.first[0].kind, PR_PROBLEM_UNKNOWN_RECORD);
    assert_int_equal(f.first[0].descriptor, 0);
    assert_int_equal(f.problems, 2); /* the second finds its registers empty */
    assert_int_equal(f.first[1].descriptor, 1);
    memset(&f, 0, sizeof(f));
    assert_false(pr_check_stream(bytes, next, words, 2, take_finding, &f));
    assert_non_null(strstr(f.first[f.problems - 1].text, "the stream ends at"));
}

/* Random bytes as a stream: the judgement always comes to an end. */
static void check_noise(void **state)
{
    struct test_rng rng;
    uint8_t bytes[0x1000];

    (void)state;
    test_rng_init(&rng, 2);
    for (int round = 0; round < 300; round++) {
        size_t size = (size_t)test_rng_range(&rng, 0, sizeof(bytes));
        struct findings f = {0};

        test_rng_bytes(&rng, bytes, size);
        if (!pr_check_stream(bytes, size, (uint32_t)test_rng_range(&rng, 0, 600), 3, take_finding, &f))
            assert_true(f.problems > 0);
    }
}

/* The real programs pass, but for what the model says it does not do. */
static void check_real_programs(void **state)
{
    static const struct {
        const char *file;
        const char *refused; /* part of the sentence that may refuse it, or NULL */
    } programs[] = {{"relu.hwx", NULL},
                    {"sum.hwx", NULL},
                    {"concat.hwx", NULL},
                    {"conv.hwx", NULL},
                    {"gemm.hwx", NULL},
                    {"golden.hwx", NULL},
                    {"sigmoid.hwx", "NonlinearMode"}};

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *path = test_program_path(programs[i].file);
        struct findings f = {0};
        struct pr_hwx hwx;
        uint8_t *bytes;
        size_t size;

        if (!path) {
            print_message("# %s is not here\n", programs[i].file);
            skip();
        }
        bytes = test_file_read(path, &size);
        assert_non_null(bytes);
        assert_true(pr_hwx_read(bytes, size, &hwx, NULL));
        pr_check_stream(bytes + hwx.text.offset, (size_t)hwx.text.size, hwx.first_td_words, hwx.td_count,
                        take_finding, &f);
        if (f.problems &&
            (f.problems > 1 || !programs[i].refused || !strstr(f.first[0].text, programs[i].refused)))
            fail_msg("%s: %s", programs[i].file, f.first[0].text);
        assert_int_equal(f.remarks, 0);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_chains),      cmocka_unit_test(backwards),
        cmocka_unit_test(first_descriptor), cmocka_unit_test(wrong_length),
        cmocka_unit_test(broken_links),     cmocka_unit_test(loops),
        cmocka_unit_test(random_walks),     cmocka_unit_test(check_good_stream),
        cmocka_unit_test(check_bad_stream), cmocka_unit_test(check_goes_on),
        cmocka_unit_test(check_noise),      cmocka_unit_test(check_real_programs),
    };

    return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
