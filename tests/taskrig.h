/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of several descriptors for tests: each task written as its fields, made into
 * the text form, assembled, and run by the bare driver on a machine of its own. Nothing
 * here knows how the engine decodes or computes.
 */
#ifndef TESTS_TASKRIG_H
#define TESTS_TASKRIG_H

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "programs.h"
#include "table_facts.h"

#define LOOKUP    "OpMode=4 KernelMode=1 NonlinearMode=2"
#define COPY      "OpMode=4 KernelMode=1"
#define DEPTHWISE "UnicastEn=1 UnicastCin=1"
#define ULP       0x1p-11 /* half an fp16 unit in the last place, relatively: one rounding */
#define ROUNDS    4

/* Where an operand is: SourceType and ResultType. */
enum { IN_L2 = 0, KEPT = 1, BY_DMA = 2, STREAMED = 3 };
/* TaskType of planar tasks; 0 is the neural engines'. */
enum { NEURAL = 0, ONE_SOURCE = 2, TWO_SOURCES = 3, AFFINE = 4, REDUCTION = 5, TWO_REDUCED = 6 };

struct spot {
    unsigned type;
    unsigned bar;                              /* of a tensor in DRAM */
    uint32_t base, row, plane, group;          /* there, in bytes */
    uint32_t l2, l2_channel, l2_row, l2_group; /* in L2, in bytes */
    unsigned interleave;                       /* 0 means 1 */
    bool bytes;                                /* 8-bit elements, not fp16 */
};

/* A task. What is NULL or 0 has the value that most public descriptors have. */
struct step {
    unsigned type;
    uint32_t w, h, cin, cout, wout, hout; /* of a group; outputs of 0 are as the inputs */
    uint32_t groups;
    struct spot src, src2, dst;
    const char *header, *conv, *group_cfg, *broadcast, *cfg, *l2_cfg; /* more fields of these words */
    const char *pe, *kernel, *mac;
    uint32_t scale, bias, epsilon; /* planar: fp16; scale 0 means 1 */
    uint32_t divide;               /* planar: FinalScale is 1 / divide */
    unsigned engines_log2;
    unsigned streams, kernel_bar; /* kernel streams, and their buffer */
    uint32_t stream, stream_step, stream_bytes;
};

static inline bool spot_dram(const struct spot *s)
{
    return s->type == KEPT || s->type == BY_DMA;
}

static inline const char *words(const char *fields)
{
    return fields ? fields : "";
}

static inline uint32_t or_one(uint32_t value)
{
    return value ? value : 1;
}

struct listing {
    char text[48 << 10];
    size_t at;
};

static inline void say(struct listing *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void say(struct listing *l, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    l->at += (size_t)vsnprintf(l->text + l->at, sizeof(l->text) - l->at, format, args);
    va_end(args);
    assert_true(l->at < sizeof(l->text));
}

static inline void say_header(struct listing *l, const struct step *s, bool last)
{
    bool two = s->src2.bar || s->type == TWO_SOURCES;

    say(l, "descriptor\n  SrcLoc=%d DstLoc=%d TBE=%d ENE=%u %s", spot_dram(&s->src), spot_dram(&s->dst),
        !last, s->type == NEURAL ? s->engines_log2 + 1 : 0, words(s->header));
    if (spot_dram(&s->src))
        say(l, " RBase0=%u RBE0=1", s->src.bar);
    if (two && spot_dram(&s->src2))
        say(l, " RBase1=%u RBE1=1", s->src2.bar);
    if (spot_dram(&s->dst))
        say(l, " WBase=%u WBE=1", s->dst.bar);
    if (s->streams)
        say(l, " KBase0=%u KBE0=1", s->kernel_bar);
    say(l, "\n");
}

static inline void say_kernel_dma(struct listing *l, const struct step *s)
{
    say(l, "  write KernelDMASrc\n    CoeffDMAConfig[0-15] CacheHint=2\n    CoeffBfrSize[0-15] 0x40\n");
    for (unsigned i = 0; i < s->streams; i++)
        say(l,
            "    CoeffDMAConfig[%u] En=1 CacheHint=2\n    CoeffBaseAddr[%u] 0x%x\n    CoeffBfrSize[%u] 0x%x\n",
            i, i, s->stream + i * s->stream_step, i, s->stream_bytes);
}

static inline void say_common(struct listing *l, const struct step *s)
{
    uint32_t cout = s->cout ? s->cout : s->cin;

    say(l, "  write Common\n    InDim Win=%u Hin=%u\n    InDepth Din=1\n", s->w, s->h);
    say(l, "    ChCfg InFmt=%d Src2InFmt=2 OutFmt=%d\n", s->src.bytes ? 0 : 2, s->dst.bytes ? 0 : 2);
    say(l, "    Cin Cin=%u\n    Cout Cout=%u\n    OutDim Wout=%u Hout=%u\n    OutDepth Dout=1\n", s->cin,
        cout, s->wout ? s->wout : s->w, s->hout ? s->hout : s->h);
    say(l, "    ConvCfg %s Ox=1 Oy=1\n    ConvCfg3D Kd=1 Sz=1 Oz=1\n",
        s->conv ? s->conv : "Kw=1 Kh=1 Sx=1 Sy=1");
    say(l, "    GroupConvCfg NumGroups=%u %s\n", or_one(s->groups),
        s->group_cfg ? s->group_cfg : "UnicastCin=1");
    say(l, "    TileCfg TileHeight=%u\n", s->hout ? s->hout : s->h);
    say(l, "    PEBroadcast %s\n    Cfg Sources=1 TaskType=%u ActiveNE=%u %s\n",
        s->broadcast ? s->broadcast : "0", s->type, s->engines_log2, words(s->cfg));
}

static inline void say_source(struct listing *l, const struct step *s)
{
    unsigned interleave = or_one(s->src.interleave);

    say(l, "  write TileDMASrc\n    DMAConfig En=%d CacheHint=2\n", spot_dram(&s->src));
    say(l, "    BaseAddr 0x%x\n    RowStride 0x%x\n    PlaneStride 0x%x\n    GroupStride 0x%x\n", s->src.base,
        s->src.row, s->src.plane, s->src.group);
    say(l,
        "    Src2BaseAddr 0x%x\n    Src2RowStride 0x%x\n    Src2PlaneStride 0x%x\n    Src2GroupStride 0x%x\n",
        s->src2.base, s->src2.row, s->src2.plane, s->src2.group);
    say(l, "    Fmt %s Interleave=%u\n", s->src.bytes ? "FmtMode=0" : "FmtMode=1 Truncate=3 MemFmt=2",
        interleave);
    say(l, "    Src2Fmt Truncate=3 MemFmt=2\n");
}

/* What a staged source needs in L2: a row, or 0x100 bytes of a longer one. */
static inline uint32_t strip(const struct step *s)
{
    return s->src.type != BY_DMA ? s->src.l2_channel : s->w < 128 ? (2 * s->w + 15) / 16 * 16 : 0x100;
}

static inline void say_l2(struct listing *l, const struct step *s)
{
    say(l, "  write L2\n    L2Cfg %s\n", s->l2_cfg ? s->l2_cfg : "0");
    say(l, "    SourceCfg SourceType=%u DMAFmt=%d DMAInterleave=%u Source2ByDMA=%d\n", s->src.type,
        !s->src.bytes, or_one(s->src.interleave), spot_dram(&s->src2));
    say(l,
        "    SourceBase 0x%x\n    SourceChannelStride 0x%x\n    SourceRowStride 0x%x\n    SourceGroupStride 0x%x\n",
        s->src.l2, strip(s), s->src.l2_row, s->src.l2_group);
    say(l,
        "    Source2Base 0x%x\n    Source2ChannelStride 0x%x\n    Source2RowStride 0x%x\n    Source2GroupStride "
        "0x%x\n",
        s->src2.l2, s->src2.l2_channel, s->src2.l2_row, s->src2.l2_group);
    say(l, "    ResultCfg ResultType=%u DMAFmt=%d DMAInterleave=%u\n", s->dst.type, !s->dst.bytes,
        or_one(s->dst.interleave));
    say(l,
        "    ResultBase 0x%x\n    ConvResultChannelStride 0x%x\n    ConvResultRowStride 0x%x\n    ResultGroupStride "
        "0x%x\n",
        s->dst.l2, s->dst.l2_channel, s->dst.l2_row, s->dst.l2_group);
}

static inline void say_units(struct listing *l, const struct step *s)
{
    float final = 1.0f / (float)or_one(s->divide);
    uint32_t bits;

    memcpy(&bits, &final, 4);
    say(l, "  write PE\n");
    if (s->type != NEURAL)
        say(l,
            "    PECfg %s\n    BiasScale Scale=0x%x Bias=0x%x\n    PreScale PreScale=0x3c00 Epsilon=0x%x\n"
            "    FinalScale 0x%x\n",
            s->pe ? s->pe : "0", s->scale ? s->scale : 0x3c00, s->bias, s->epsilon, bits);
    say(l, "  write NE\n");
    if (s->type == NEURAL)
        say(l,
            "    KernelCfg PalettizedBits=8 %s\n    MACCfg BinaryPoint=0x1c Bit20=1 %s\n    PostScale PostScale=0x3c00\n",
            words(s->kernel), words(s->mac));
}

static inline void say_result(struct listing *l, const struct step *s)
{
    say(l, "  write TileDMADst\n    DMAConfig En=%d CacheHint=3\n", spot_dram(&s->dst));
    say(l, "    BaseAddr 0x%x\n    RowStride 0x%x\n    PlaneStride 0x%x\n    GroupStride 0x%x\n", s->dst.base,
        s->dst.row, s->dst.plane, s->dst.group);
    say(l, "    Fmt %s Interleave=%u\n", s->dst.bytes ? "FmtMode=0" : "FmtMode=1 Truncate=3 MemFmt=2",
        or_one(s->dst.interleave));
}

static inline void taskrig_assemble(struct test_program *program, const struct step *step, unsigned steps)
{
    static struct listing l;

    l.at = 0;
    say(&l, "chain\n");
    for (unsigned i = 0; i < steps; i++) {
        say_header(&l, &step[i], i + 1 == steps);
        say_kernel_dma(&l, &step[i]);
        say_common(&l, &step[i]);
        say_source(&l, &step[i]);
        say_l2(&l, &step[i]);
        say_units(&l, &step[i]);
        say_result(&l, &step[i]);
    }
    test_assemble(program, "%s", l.text);
    assert_int_equal(program->count, steps);
}

/* What a program is bound to. */
struct surface {
    unsigned bar;
    uint32_t bytes;
    uint8_t *data;
};

/* The machines that every program is run on; rounds of a test take them in turn. */
static const struct {
    uint32_t chip, form, numerics, threads;
} rigs[] = {
    {ANE_CHIP_T6000, ANE_PAGE_TABLE_SEED, ANE_NUMERICS_M1, 1},
    {ANE_CHIP_T8103, ANE_PAGE_TABLE_T8020, ANE_NUMERICS_IEEE, 2},
    {ANE_CHIP_T6000, ANE_PAGE_TABLE_T6000, ANE_NUMERICS_M1_EXACT, 2},
};
#define RIGS (sizeof(rigs) / sizeof(rigs[0]))

/* Runs it; the surfaces hold afterwards what is in memory. */
static inline void taskrig_run(unsigned rig, const struct step *step, unsigned steps, const void *constants,
                               uint32_t constant_bytes, const struct surface *surface, unsigned surfaces)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .chip = rigs[rig].chip,
                                        .page_table = rigs[rig].form,
                                        .numerics = rigs[rig].numerics,
                                        .threads = rigs[rig].threads};
    static struct test_program program;
    struct ane_machine *machine;
    struct bare bare;
    struct bare_request request;
    struct bare_buffer buffer[8];
    uint32_t text;
    uint8_t *blob;

    taskrig_assemble(&program, step, steps);
    text = (program.size + 63) / 64 * 64;
    blob = calloc(1, text + constant_bytes + 64);
    assert_non_null(blob);
    memcpy(blob, program.bytes, program.size);
    if (constant_bytes)
        memcpy(blob + text, constants, constant_bytes);
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    bare_start(&bare, machine, 1000);
    request = bare_load(&bare, blob, text + constant_bytes, text, program.first_words, program.count, 4);
    for (unsigned i = 0; i < surfaces; i++) {
        buffer[i] = bare_buffer(&bare, surface[i].bytes);
        request.bar[surface[i].bar] = buffer[i].iova;
        bare_put(&bare, buffer[i].iova, surface[i].data, surface[i].bytes);
    }
    if (!bare_run(&bare, &request))
        fail_msg("the machine refuses the program (task manager error words %x %x %x)", bare_tm(&bare, 0x58),
                 bare_tm(&bare, 0x5c), bare_tm(&bare, 0x60));
    for (unsigned i = 0; i < surfaces; i++)
        bare_get(&bare, buffer[i].iova, surface[i].data, surface[i].bytes);
    ane_machine_destroy(machine);
    free(blob);
}

/* A table of a public program as its 128 bytes. */
static inline void taskrig_table(uint8_t bytes[128], const char *name)
{
    const struct table_fact *t = table_fact_find(name);
    uint16_t half[64] = {0};

    memcpy(half, t->clamp, sizeof(t->clamp));
    memcpy(half + 4, t->knot, sizeof(t->knot));
    memcpy(half + 37, t->tail, sizeof(t->tail));
    half[41] = t->exponent;
    half[42] = t->code;
    memcpy(bytes, half, sizeof(half));
}

/* A tensor in a buffer of its own, rows on 64-byte boundaries, and its numbers. */
struct tensor {
    struct td_shape shape;
    uint8_t *bytes;
    double *x;
};

static inline size_t elements(const struct td_shape *s)
{
    return (size_t)s->n * s->c * s->h * s->w;
}

static inline uint32_t offset(const struct td_shape *s, size_t i)
{
    uint32_t w = (uint32_t)(i % s->w), h = (uint32_t)(i / s->w % s->h),
             c = (uint32_t)(i / s->w / s->h % s->c);

    return td_at(s, (uint32_t)(i / s->w / s->h / s->c), c, h, w);
}

/* Random numbers in [low, high]; or, with high below low, bytes of NaNs for a result. */
static inline struct tensor tensor(struct test_rng *rng, struct td_shape shape, double low, double high)
{
    struct tensor t = {shape, malloc(td_total(&shape)), malloc(sizeof(double) * elements(&shape))};

    assert_true(t.bytes && t.x);
    memset(t.bytes, 0x7e, td_total(&shape));
    for (size_t i = 0; low <= high && i < elements(&shape); i++) {
        uint16_t half = test_half_from_double(low + (high - low) * test_rng_unit(rng));

        memcpy(t.bytes + offset(&shape, i), &half, 2);
        t.x[i] = test_half_to_double(half);
    }
    return t;
}

static inline void tensor_free(struct tensor *t)
{
    free(t->bytes);
    free(t->x);
}

static inline struct surface bind(unsigned bar, const struct tensor *t)
{
    return (struct surface){bar, td_total(&t->shape), t->bytes};
}

static inline void expect(const char *what, const struct tensor *y, size_t i, double want, double tolerance)
{
    uint16_t half;

    memcpy(&half, y->bytes + offset(&y->shape, i), 2);
    if (!(fabs(test_half_to_double(half) - want) <= tolerance))
        fail_msg("%s [%u, %u, %u, %u], element %zu: %.8g, expected %.8g within %.2g", what, y->shape.n,
                 y->shape.c, y->shape.h, y->shape.w, i, test_half_to_double(half), want, tolerance);
}

/* Where a dense tensor is: in a buffer ... */
static inline struct spot dram(unsigned bar, const struct td_shape *s)
{
    return (struct spot){
        .type = BY_DMA, .bar = bar, .row = td_row(s), .plane = td_plane(s), .group = td_tensor(s)};
}

/* ... or in L2, channel beside channel in each row, rows 0x20 apart from each other's ends. */
static inline uint32_t l2_row(const struct td_shape *s)
{
    return (2 * s->w + 15) / 16 * 16;
}

static inline uint32_t l2_bytes(const struct td_shape *s)
{
    return (l2_row(s) * s->c + 0x20) * s->h;
}

static inline struct spot l2(uint32_t base, const struct td_shape *s)
{
    return (struct spot){
        .type = IN_L2, .l2 = base, .l2_channel = l2_row(s), .l2_row = l2_row(s) * s->c + 0x20};
}

static inline struct spot kept(unsigned bar, const struct td_shape *s, uint32_t base)
{
    struct spot spot = dram(bar, s), in = l2(base, s);

    spot.type = KEPT;
    spot.l2 = in.l2, spot.l2_channel = in.l2_channel, spot.l2_row = in.l2_row;
    return spot;
}

static const struct spot streamed = {.type = STREAMED};

/* A task of the neural engines over a tensor, each channel by itself. */
static inline struct step step_neural(const struct td_shape *s, struct spot src, struct spot dst,
                                      const char *mac)
{
    return (struct step){
        .w = s->w, .h = s->h, .cin = s->c, .src = src, .dst = dst, .group_cfg = DEPTHWISE, .mac = mac};
}

static inline struct step step_copy(const struct td_shape *s, struct spot src, struct spot dst)
{
    return step_neural(s, src, dst, COPY);
}

/* Through the activation table at that offset of the constants. */
static inline struct step step_lookup(const struct td_shape *s, struct spot src, struct spot dst,
                                      uint32_t table)
{
    struct step step = step_neural(s, src, dst, LOOKUP);

    step.streams = 1, step.kernel_bar = 1;
    step.stream = table, step.stream_bytes = 0x80;
    return step;
}

/* A planar task of one source, or of two. */
static inline struct step step_planar(const struct td_shape *s, struct spot src, struct spot dst)
{
    return (struct step){.type = ONE_SOURCE, .w = s->w, .h = s->h, .cin = s->c, .src = src, .dst = dst};
}

static inline struct step step_two(const struct td_shape *s, struct spot src, struct spot src2,
                                   struct spot dst, const char *pe)
{
    struct step step = step_planar(s, src, dst);

    step.type = TWO_SOURCES;
    step.src2 = src2;
    step.pe = pe;
    return step;
}

static inline struct td_shape random_shape(struct test_rng *rng, uint32_t c, uint32_t h, uint32_t w)
{
    return (struct td_shape){1, (uint32_t)test_rng_range(rng, 1, c), (uint32_t)test_rng_range(rng, 1, h),
                             (uint32_t)test_rng_range(rng, 1, w)};
}

#endif
