/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published experiments on an M1: every single-register change of experiments.def, run by the bare driver on
 * a machine of its own and compared with what was published. Those that do not agree are listed here with the
 * reason. Then the programs that run on an M1, and what a lenient machine runs.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bare.h"
#include "listing/check.h"
#include "program/experiment.h"
#include "program/task.h"
#include "programs.h"
#include "tdpatch.h"

enum { WIDTH = 77, PAGES = 64, SOURCE_BAR = 5, RESULT_BAR = 4, SECOND_BAR = 6 };
enum { HALF_ZERO = 0, HALF_ONE = 0x3c00, HALF_MINUS_THREE = 0xc200, HALF_FIVE = 0x4500 };

enum outcome { SAME, CHANGED, STUCK };
static const char *const outcome_name[] = {"same", "changed", "stuck"};

struct seen {
    enum outcome outcome;
    uint16_t y[PR_EXPERIMENT_OUTPUTS];
    struct ane_machine_problem problem; /* when stuck */
};

struct rig {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_buffer source, second, result;
    char trace[4096];
};

static void keep_trace(void *context, const char *line, size_t length)
{
    struct rig *rig = context;
    size_t at = strlen(rig->trace);

    (void)length;
    if (strstr(line, "ignored"))
        snprintf(rig->trace + at, sizeof(rig->trace) - at, "%s\n", line);
}

static void begin_with(struct rig *rig, uint32_t lenient, uint32_t numerics)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .chip = ANE_CHIP_T8103,
                                        .lenient = lenient,
                                        .numerics = numerics,
                                        .trace = 1,
                                        .trace_fn = keep_trace,
                                        .trace_context = rig};

    rig->trace[0] = 0;
    assert_int_equal(ane_machine_create(&config, &rig->machine), 0);
    bare_start(&rig->bare, rig->machine, PAGES);
    rig->source = bare_buffer(&rig->bare, BARE_PAGE);
    rig->second = bare_buffer(&rig->bare, BARE_PAGE);
    rig->result = bare_buffer(&rig->bare, BARE_PAGE);
}

static void begin(struct rig *rig, uint32_t lenient)
{
    begin_with(rig, lenient, ANE_NUMERICS_M1);
}

static void end(struct rig *rig)
{
    ane_machine_destroy(rig->machine);
}

static bool run(struct rig *rig, const uint8_t *stream, uint32_t bytes, uint32_t words, uint32_t count)
{
    struct bare_request request = bare_load(&rig->bare, stream, bytes, bytes, words, count, 4);

    request.bar[SOURCE_BAR] = rig->source.iova;
    request.bar[SECOND_BAR] = rig->second.iova;
    request.bar[RESULT_BAR] = rig->result.iova;
    return bare_run(&rig->bare, &request);
}

static void put(struct rig *rig, const struct bare_buffer *buffer, uint32_t offset, uint16_t half)
{
    bare_put(&rig->bare, buffer->iova + offset, &half, sizeof(half));
}

static uint16_t get(struct rig *rig, uint32_t offset)
{
    uint16_t half;

    bare_get(&rig->bare, rig->result.iova + offset, &half, sizeof(half));
    return half;
}

/* The working descriptor with one word changed; offset 0: unchanged. */
static struct seen try(uint32_t offset, uint32_t value, uint32_t lenient)
{
    uint8_t words[4 * PR_TD_WORDS_FULL];
    struct seen seen = {.problem.size = sizeof(seen.problem)};
    struct rig rig;

    begin(&rig, lenient);
    pr_experiment_descriptor(words);
    if (offset)
        td_set(words, offset, value);
    put(&rig, &rig.source, 0, HALF_MINUS_THREE);
    put(&rig, &rig.source, 2, HALF_FIVE);
    if (!run(&rig, words, sizeof(words), PR_TD_WORDS_FULL, 1)) {
        seen.outcome = STUCK;
        assert_int_equal(ane_machine_problem(rig.machine, &seen.problem), 0);
    } else {
        for (unsigned i = 0; i < PR_EXPERIMENT_OUTPUTS; i++)
            seen.y[i] = get(&rig, 2 * i);
        seen.outcome = seen.y[0] == HALF_ZERO && seen.y[1] == HALF_FIVE ? SAME : CHANGED;
    }
    end(&rig);
    return seen;
}

/* The descriptor is the published one: words of that page's table, by their offsets. */
static void working_descriptor(void **state)
{
    static const struct {
        uint32_t offset, value;
    } published[] = {
        {0x128, 0x0001004d}, {0x130, 0x22},       {0x144, 0x5000a021}, {0x148, 0x2041},     {0x14c, 0x14001},
        {0x150, 1},          {0x15c, 0x04010101}, {0x160, 0x00100000}, {0x16c, 0x33881},    {0x170, 0x8880},
        {0x178, 0xc0},       {0x1a4, 0x01002031}, {0x1ac, 0x100},      {0x1e4, 0x00500172}, {0x1ec, 0xa0},
        {0x1f0, 0xa0},       {0x1f4, 0xa0},       {0x1f8, 0xa0},       {0x210, 0x0050017a}, {0x214, 0xa0},
        {0x240, 0x80},       {0x244, 0x0011000c}, {0x250, 0x3c00},     {0x258, 0x040000c1}, {0x260, 0xc0},
        {0x270, 0x01302031}, {0x2c + 8, 0x80},    {0x2c + 0x88, 0x40},
    };
    uint8_t words[4 * PR_TD_WORDS_FULL];
    struct seen seen = try(0, 0, 0);

    (void)state;
    pr_experiment_descriptor(words);
    assert_int_equal(sizeof(words), TD_BYTES);
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
        assert_int_equal(td_get(words, published[i].offset), published[i].value);
    assert_int_equal(seen.outcome, SAME);
}

/* Offset and register of every row name the same word. */
static void offsets_name_registers(void **state)
{
    uint8_t words[4 * PR_TD_WORDS_FULL];

    (void)state;
    pr_experiment_descriptor(words);
    for (unsigned i = 0; i < pr_experiment_count; i++) {
        const struct pr_experiment *row = &pr_experiment_table[i];
        struct pr_td td;
        bool found = false;

        assert_true(pr_td_read(words, PR_TD_WORDS_FULL, &td, NULL));
        for (uint32_t r = 0; r < td.record_count; r++) {
            uint32_t first = 4u * (td.record[r].offset + 1u);

            if (row->offset >= first && row->offset < first + 4u * td.record[r].count) {
                assert_int_equal(td.record[r].address + row->offset - first, pr_experiment_address(row));
                found = true;
            }
        }
        if (!found)
            fail_msg("%s: offset %x is in no record", row->name, row->offset);
        assert_int_not_equal(td_get(words, row->offset), row->value);
    }
}

/* Rows that this machine does not follow, and why. */
static const struct {
    const char *name;
    uint32_t value;
    const char *why;
} apart[] = {
    {"SrcBaseAddr", 0xffffffff, "bits 5:0 have no meaning, and an address does not wrap"},
    {"DstBaseAddr", 0xffffffff, "bits 5:0 have no meaning, and an address does not wrap"},
    {"MACCfg", 0x0011000d, "OpMode 5 is not decoded"},
    {"MACCfg", 0x0011000b, "OpMode 3 is the largest element of a window, in programs of Apple's compiler"},
    {"SrcDMAConfig", 0x00033882, "the source's DMA is off, and the same page has 0 as a hang"},
    {"SrcDMAConfig", 0x00033880, "the source's DMA is off, and the same page has 0 as a hang"},
    {"DstDMAConfig", 0x040000c2, "the result's DMA is off: its buffer held the result of the run before"},
    {"DstDMAConfig", 0x040000c0, "the result's DMA is off: its buffer held the result of the run before"},
};

static bool is_apart(const struct pr_experiment *row)
{
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
        if (!strcmp(apart[i].name, row->name) && apart[i].value == row->value &&
            row->series == PR_SERIES_EXPT2)
            return true;
    return false;
}

static bool agrees(const struct pr_experiment *row, const struct seen *seen)
{
    switch (row->did) {
    case PR_DID_SAME: return seen->outcome == SAME;
    case PR_DID_HANG: return seen->outcome == STUCK;
    default: return seen->outcome == CHANGED && !memcmp(seen->y, row->y, sizeof(seen->y));
    }
}

static void every_experiment(void **state)
{
    unsigned rows[PR_SERIES_COUNT] = {0}, agreed[PR_SERIES_COUNT] = {0};

    (void)state;
    for (unsigned i = 0; i < pr_experiment_count; i++) {
        const struct pr_experiment *row = &pr_experiment_table[i];
        struct seen seen = try(row->offset, row->value, 0);

        rows[row->series]++;
        agreed[row->series] += agrees(row, &seen);
        if (agrees(row, &seen) == is_apart(row))
            fail_msg("%s %s = 0x%x: %s, %04x %04x; expected %s\n%s", pr_experiment_series_name(row->series),
                     row->name, row->value, outcome_name[seen.outcome], seen.y[0], seen.y[1],
                     is_apart(row) ? "to disagree" : outcome_name[row->did], seen.problem.text);
    }
    assert_int_equal(rows[PR_SERIES_EXPT1], 81);
    assert_int_equal(agreed[PR_SERIES_EXPT1], 81);
    assert_int_equal(rows[PR_SERIES_MODES], 2);
    assert_int_equal(agreed[PR_SERIES_MODES], 2);
    assert_int_equal(rows[PR_SERIES_EXPT2], 98);
    assert_int_equal(agreed[PR_SERIES_EXPT2], 98 - sizeof(apart) / sizeof(apart[0]));
}

/* What hangs an M1 is said to: by the judgement of the stream. */
static void take_outcome(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    (void)finding;
    if (problem->outcome == PR_OUTCOME_PUBLISHED_HANG)
        *(unsigned *)context += 1;
}

static void hangs_are_named(void **state)
{
    (void)state;
    for (unsigned i = 0; i < pr_experiment_count; i++) {
        const struct pr_experiment *row = &pr_experiment_table[i];
        uint8_t words[4 * PR_TD_WORDS_FULL];
        unsigned named = 0;

        if (row->did != PR_DID_HANG || !strcmp(row->name, "MACCfg"))
            continue; /* those of MACCfg lack kernel data, and are refused for that */
        pr_experiment_descriptor(words);
        td_set(words, row->offset, row->value);
        assert_false(pr_check_stream(words, sizeof(words), PR_TD_WORDS_FULL, 1, take_outcome, &named));
        if (!named)
            fail_msg("%s = 0x%x is not said to hang an M1", row->name, row->value);
    }
    assert_string_equal(pr_outcome_text(PR_OUTCOME_PUBLISHED_HANG), "It hangs on an M1 (published).");
}

/* A rule is wider than its experiment: a value that was not tried is refused, and not said to hang. */
static void rules_are_not_published(void **state)
{
    static const struct {
        uint32_t offset, value;
    } rows[] = {{0x154, 3}, {0x1ec, 0x20}, {0x15c, 0x04010111}, {0x210, 0x00500178}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t words[4 * PR_TD_WORDS_FULL];
        unsigned named = 0;

        pr_experiment_descriptor(words);
        td_set(words, rows[i].offset, rows[i].value);
        assert_false(pr_check_stream(words, sizeof(words), PR_TD_WORDS_FULL, 1, take_outcome, &named));
        assert_int_equal(named, 0);
        for (uint32_t lenient = 0; lenient < 2; lenient++) {
            struct seen seen = try(rows[i].offset, rows[i].value, lenient);

            assert_int_equal(seen.outcome, STUCK);
            assert_non_null(strstr(seen.problem.text, "another value against this rule hangs an M1"));
        }
    }
}

/* A word is explained as a whole, in its register, in a task of the neural engines: nothing near it is. */
static void nothing_more_is_explained(void **state)
{
    static const struct {
        uint32_t offset, value;
    } near[] = {
        {0x1e0, 0x101}, {0x1e0, 0x200},      {0x220, 2},          {0x19c, 2},
        {0x1a0, 3},     {0x1a4, 0x01102031}, {0x21c, 0x01002033}, {0x248, 0xfffeffff},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        struct seen seen = try(near[i].offset, near[i].value, 0);

        assert_int_equal(seen.outcome, STUCK);
        assert_non_null(strstr(seen.problem.text, "which no public source explains"));
    }
    assert_true(pr_experiment_explains(0x4800, 0x100, false));
    assert_false(pr_experiment_explains(0x4800, 0x100, true));
    assert_false(pr_experiment_explains(0xc804, 0x30, false));
    assert_true(pr_experiment_explains(0xc804, 0x30, true));
}

/* Widths that differ: 3 columns in, 5 out, and the other way around; columns without a source are zeros. */
static void widths_of_a_bypass(void **state)
{
    static const struct {
        uint32_t in, out;
        uint16_t y[6];
    } rows[] = {
        {3, 5, {0x3c00, 0x4000, 0x4200, 0, 0, 0x1234}},
        {5, 3, {0x3c00, 0x4000, 0x4200, 0x1234, 0x1234, 0x1234}},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        uint8_t words[4 * PR_TD_WORDS_FULL];
        struct rig rig;

        begin(&rig, 0);
        pr_experiment_descriptor(words);
        td_set(words, TD_IN_DIM, 1u << 16 | rows[r].in);
        td_set(words, TD_OUT_DIM, 1u << 16 | rows[r].out);
        td_set(words, TD_DST_FMT, 0x01002031); /* rows have no tail of zeros */
        for (uint32_t i = 0; i < 6; i++) {
            put(&rig, &rig.source, 2 * i, test_half_from_double(i + 1.0));
            put(&rig, &rig.result, 2 * i, 0x1234);
        }
        assert_true(run(&rig, words, sizeof(words), PR_TD_WORDS_FULL, 1));
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(get(&rig, 2 * i), rows[r].y[i]);
        end(&rig);
    }
}

/* With the rules of ieee a NaN passes, whatever the widths are. */
static void nan_of_a_bypass(void **state)
{
    (void)state;
    for (uint32_t width = 2; width < 4; width++) {
        uint8_t words[4 * PR_TD_WORDS_FULL];
        struct rig rig;

        begin_with(&rig, 0, ANE_NUMERICS_IEEE);
        pr_experiment_descriptor(words);
        td_set(words, TD_IN_DIM, 0x10002);
        td_set(words, TD_OUT_DIM, 1u << 16 | width);
        td_set(words, TD_MAC_CFG, 0x0010000c); /* no ReLU */
        put(&rig, &rig.source, 0, 0x7e00);
        put(&rig, &rig.source, 2, 0x8000);
        assert_true(run(&rig, words, sizeof(words), PR_TD_WORDS_FULL, 1));
        assert_in_range(get(&rig, 0) & 0x7fff, 0x7c01, 0x7fff);
        assert_int_equal(get(&rig, 2), 0x8000);
        end(&rig);
    }
}

/* Over a depth, a bypass has the extents of its source: nothing shows what others do. */
static void depth_of_a_bypass(void **state)
{
    static const struct {
        uint32_t offset, value;
        bool runs;
    } rows[] = {{TD_IN_DIM, 0x1004d, true}, {TD_IN_DIM, 0x10003, false}, {TD_CIN, 0x40, false}};

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        uint8_t words[4 * PR_TD_WORDS_FULL];
        struct ane_machine_problem problem = {.size = sizeof(problem)};
        struct rig rig;

        begin(&rig, 0);
        pr_experiment_descriptor(words);
        td_set(words, 0x12c, 2);
        td_set(words, 0x140, 2);
        td_set(words, rows[r].offset, rows[r].value);
        assert_int_equal(run(&rig, words, sizeof(words), PR_TD_WORDS_FULL, 1), rows[r].runs);
        if (!rows[r].runs) {
            assert_int_equal(ane_machine_problem(rig.machine, &problem), 0);
            assert_string_equal(problem.reg_name, "Common.InDepth");
        }
        end(&rig);
    }
}

/* AccBias is added where the window is multiplied, and not by a bypass. */
static void bias_of_a_bypass(void **state)
{
    uint8_t words[4 * PR_TD_WORDS_FULL];
    struct rig rig;

    (void)state;
    for (unsigned bypass = 0; bypass < 2; bypass++) {
        begin(&rig, 0);
        pr_experiment_descriptor(words);
        td_set(words, TD_MAC_CFG, bypass ? 0x0011000c : 0x00110008); /* KernelMode 1: a kernel of ones */
        td_set(words, TD_ACC_BIAS, HALF_ONE);
        put(&rig, &rig.source, 2, HALF_FIVE);
        assert_true(run(&rig, words, sizeof(words), PR_TD_WORDS_FULL, 1));
        assert_int_equal(get(&rig, 2), bypass ? HALF_FIVE : test_half_from_double(6));
        end(&rig);
    }
}

/*
 * The planar multiply that public scripts push: MACCfg 0x30, which no sample of Apple's compiler has; 64
 * channels, 64 bytes apart, 3 * 2.
 */
static void planar_multiply(void **state)
{
    static const struct td_shape shape = {1, 64, 1, 1};
    struct test_program program;
    struct rig rig;

    (void)state;
    begin(&rig, 0);
    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &shape);
    td_set(program.bytes, TD_PE_CFG, 2u << 18 | 1u << 2);
    td_set(program.bytes, TD_MAC_CFG, 0x30);
    for (uint32_t c = 0; c < shape.c; c++) {
        put(&rig, &rig.second, 64 * c, test_half_from_double(3));
        put(&rig, &rig.source, 64 * c, test_half_from_double(2 + c));
    }
    assert_true(run(&rig, program.bytes, program.size, program.first_words, 1));
    for (uint32_t c = 0; c < shape.c; c++)
        assert_int_equal(get(&rig, 64 * c), test_half_from_double(3 * (2.0 + c)));
    end(&rig);
}

/* Concatenation as public scripts push it: two copies, DMAFmt 0 though elements are fp16. */
static void concatenation(void **state)
{
    static const uint32_t first = 10, second = 6; /* channels */
    static struct test_program part[2];
    static uint8_t stream[2 * 0x300];
    struct rig rig;

    (void)state;
    begin(&rig, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct td_shape shape = {1, i ? second : first, 1, 1};

        test_assemble(&part[i], "%s", test_text_relu);
        td_set_shape(part[i].bytes, &shape);
        td_set(part[i].bytes, TD_SOURCE_CFG, 0x132);
        td_set(part[i].bytes, TD_RESULT_CFG, 0x13a);
        memcpy(stream + 0x300 * i, part[i].bytes, TD_BYTES);
    }
    td_set(stream, TD_W1, (TD_WORDS - 1u) << 16);
    td_set(stream, TD_NEXT, 0x300);
    td_set(stream, TD_W8, td_get(stream, TD_W8) | 1u << 23); /* TBE: the next descriptor is in buffer 0 */
    td_set(stream + 0x300, TD_W8, (td_get(stream + 0x300, TD_W8) & ~0x1fu) | SECOND_BAR);
    td_set(stream + 0x300, TD_DST_BASE, 64 * first);
    for (uint32_t c = 0; c < first; c++)
        put(&rig, &rig.source, 64 * c, test_half_from_double(1.5 + c));
    for (uint32_t c = 0; c < second; c++)
        put(&rig, &rig.second, 64 * c, test_half_from_double(100.0 + c));
    assert_true(run(&rig, stream, sizeof(stream), TD_WORDS, 2));
    for (uint32_t c = 0; c < first + second; c++)
        assert_int_equal(get(&rig, 64 * c), test_half_from_double(c < first ? 1.5 + c : 100.0 + c - first));
    end(&rig);
}

/* What a lenient machine runs with the right result, and a default one refuses; each is traced. */
static void lenient_runs(void **state)
{
    static const struct {
        uint32_t offset, value;
        const char *traced;
    } rows[] = {
        {0x1e0, 0x200, "L2Cfg, value 0x200"},
        {TD_DST_FMT, 0x81302031, "TileDMADst.Fmt.CmpVec"},
        {TD_MAC_CFG, 0x0011004c, "NE.MACCfg.MatrixBiasEn"},
        {0x1bc, 7, "TileDMASrc.PixelOffset[0].Offset is 7"},
        {0x1a0, 0xffff, "Unknown30, value 0xffff"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t words[4 * PR_TD_WORDS_FULL];
        struct rig rig;

        assert_int_equal(try(rows[i].offset, rows[i].value, 0).outcome, STUCK);
        begin(&rig, 1);
        pr_experiment_descriptor(words);
        td_set(words, rows[i].offset, rows[i].value);
        put(&rig, &rig.source, 2, HALF_FIVE);
        for (unsigned n = 0; n < 3; n++) {
            assert_true(run(&rig, words, sizeof(words), PR_TD_WORDS_FULL, 1));
            assert_int_equal(get(&rig, 2), HALF_FIVE);
        }
        if (!strstr(rig.trace, rows[i].traced))
            fail_msg("\"%s\" is not traced: %s", rows[i].traced, rig.trace);
        assert_true(ane_machine_counter(rig.machine, "engine.ignored") >= 1);
        end(&rig);
    }
}

/* A record outside the known blocks is skipped; the framing still counts. */
static void lenient_records(void **state)
{
    uint8_t words[4 * (PR_TD_WORDS_FULL + 3)];
    const uint32_t bytes = sizeof(words);
    struct rig rig;

    (void)state;
    for (unsigned lenient = 0; lenient < 2; lenient++) {
        begin(&rig, lenient);
        pr_experiment_descriptor(words);
        td_set(words, TD_BYTES, 1u << 26 | 0x2000);
        td_set(words, TD_BYTES + 4, 0xffffffff);
        td_set(words, TD_BYTES + 8, 0xffffffff);
        put(&rig, &rig.source, 2, HALF_FIVE);
        assert_int_equal(run(&rig, words, bytes, PR_TD_WORDS_FULL + 3, 1), lenient);
        if (lenient) {
            assert_int_equal(get(&rig, 2), HALF_FIVE);
            assert_non_null(strstr(rig.trace, "registers from 0x2000"));
        }
        end(&rig);
        begin(&rig, lenient);
        assert_false(run(&rig, words, bytes, PR_TD_WORDS_FULL + 2, 1));
        end(&rig);
    }
}

/* Hangs, contradictions and unknown operations stay refused. */
static void lenient_refuses(void **state)
{
    static const struct {
        uint32_t offset, value;
    } rows[] = {{TD_IN_DIM, 0},         {TD_MAC_CFG, 0x0011000d}, {TD_SRC_DMA, 0x33880},
                {TD_GROUPS, 0x14000},   {TD_DST_DMA, 0x040000c0}, {0x12c, 2},
                {TD_IN_DIM, 0x00017fff}};

    (void)state;
    for (unsigned i = 0; i < pr_experiment_count; i++) {
        const struct pr_experiment *row = &pr_experiment_table[i];

        if (row->did == PR_DID_HANG && try(row->offset, row->value, 1).outcome != STUCK)
            fail_msg("%s = 0x%x runs leniently", row->name, row->value);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (try(rows[i].offset, rows[i].value, 1).outcome != STUCK)
            fail_msg("offset %x = 0x%x runs leniently", rows[i].offset, rows[i].value);
}

static void lenient_is_checked(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .lenient = 2};
    struct ane_machine *machine;

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(working_descriptor),
        cmocka_unit_test(offsets_name_registers),
        cmocka_unit_test(every_experiment),
        cmocka_unit_test(hangs_are_named),
        cmocka_unit_test(rules_are_not_published),
        cmocka_unit_test(nothing_more_is_explained),
        cmocka_unit_test(widths_of_a_bypass),
        cmocka_unit_test(nan_of_a_bypass),
        cmocka_unit_test(depth_of_a_bypass),
        cmocka_unit_test(bias_of_a_bypass),
        cmocka_unit_test(planar_multiply),
        cmocka_unit_test(concatenation),
        cmocka_unit_test(lenient_runs),
        cmocka_unit_test(lenient_records),
        cmocka_unit_test(lenient_refuses),
        cmocka_unit_test(lenient_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
