/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of tasks that are bound by bytes or conversions: elementwise operations, copies, activations by
 * table, transposes and reductions, over the shapes that networks have. Beside each: the time of a memcpy of
 * the bytes it reads and writes, and of a conversion of its elements to fp32 and back.
 * Arguments: the highest instruction set (0 portable, 1 AVX2, 2 AVX-512), then a part of the names to run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "engine/ne.h"
#include "engine/pe.h"

enum { ONE = 0x3c00, ROUNDS = 24 };

enum kind {
    ADD,
    MUL,
    ADD_CHANNEL,
    AFFINE,
    RELU,
    TABLE,
    EXPONENT,
    COPY,
    TRANSPOSE,
    SUM,
    SQUARES,
    SUM_LAST,
    MAX_LAST
};

static const char *const kind_name[] = {
    "add",  "multiply",  "add per channel", "affine",       "relu (bypass)", "sigmoid table", "exp2 table",
    "copy", "transpose", "sum of planes",   "norm squares", "sum over C",    "maximum over C"};

struct shape {
    uint32_t w, h, c;
};

struct subject {
    struct pr_task task;
    const struct eng_table *table;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rows at 64-byte steps, as surfaces in DRAM have them. */
static struct pr_tensor surface(struct shape s)
{
    uint32_t row = (uint32_t)pr_round_up((uint64_t)s.w * 2, PR_ROW_ALIGN);

    return (struct pr_tensor){.home = PR_HOME_DRAM,
                              .extent = {s.w, s.h, 1, s.c, 1},
                              .stride = {2, row, row * s.h, row * s.h, row * s.h * s.c},
                              .zero_tail = true};
}

/* The surface of a shape, seen with its channels as columns and its columns as channels; rows are groups. */
static struct pr_tensor turned(struct shape s)
{
    struct pr_tensor t = surface(s);

    t.zero_tail = false;
    t.transposed = true;
    memcpy(t.extent, (uint32_t[PR_AXES]){s.c, 1, 1, s.w, s.h}, sizeof(t.extent));
    memcpy(t.stride, (uint32_t[PR_AXES]){t.stride[PR_AXIS_C], 0, 0, 2, t.stride[PR_AXIS_H]},
           sizeof(t.stride));
    return t;
}

static void set_affine(struct pr_task *task, struct shape s)
{
    task->src[1] = surface((struct shape){1, 2, s.c});
    task->pe.op = PR_PE_AFFINE;
    task->pe.negate2 = true;
}

static void set_reduction(struct pr_task *task, enum kind kind, struct shape s)
{
    task->dst = surface((struct shape){1, 1, s.c});
    task->pe.reduce = kind == MAX_LAST ? PR_PE_REDUCE_MAX : PR_PE_REDUCE_SUM;
    if (kind == SQUARES) {
        task->pe.op = PR_PE_SQUARE_OF_SUM;
        task->pe.negate2 = true;
        task->src[1] = surface((struct shape){1, 1, s.c});
        memcpy(task->src[1].extent, task->src[0].extent, sizeof(task->src[1].extent));
        task->src[1].stride[PR_AXIS_W] = task->src[1].stride[PR_AXIS_H] = task->src[1].stride[PR_AXIS_D] = 0;
    }
    if (kind == SUM_LAST || kind == MAX_LAST) {
        task->src[0] = turned(s);
        task->dst = turned((struct shape){s.w, s.h, 1});
    }
}

static void set_planar(struct pr_task *task, enum kind kind, struct shape s)
{
    task->unit = PR_UNIT_PE;
    task->src[1] = task->src[0];
    task->pe = (struct pr_pe){.scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};
    task->pe.op = kind == MUL ? PR_PE_MUL : PR_PE_ADD;
    if (kind == ADD_CHANNEL) {
        uint32_t row = task->src[1].stride[PR_AXIS_H];

        memcpy(task->src[1].stride, (uint32_t[PR_AXES]){0, 0, 0, row, 0}, sizeof(task->src[1].stride));
    }
    if (kind == AFFINE)
        set_affine(task, s);
    if (kind >= SUM)
        set_reduction(task, kind, s);
    task->pe.two_sources = kind < SUM || kind == SQUARES;
    if (!task->pe.two_sources)
        task->src[1] = (struct pr_tensor){0};
}

static struct subject subject_of(enum kind kind, struct shape s, const struct eng_table *table)
{
    struct subject made = {.task = {.unit = PR_UNIT_NE, .src = {surface(s)}, .dst = surface(s)}};

    made.task.ne = (struct pr_ne){.mode = PR_NE_BYPASS, .post_scale = ONE, .relu = kind == RELU};
    if (kind == TABLE || kind == EXPONENT)
        made.table = &table[kind == EXPONENT];
    if (kind == TRANSPOSE) {
        made.task.src[0] = turned(s);
        made.task.dst = surface((struct shape){s.c, 1, s.w});
        made.task.dst.extent[PR_AXIS_G] = s.h;
    }
    if (kind < RELU || kind >= SUM)
        set_planar(&made.task, kind, s);
    return made;
}

static uint8_t *memory_of(uint64_t bytes)
{
    uint8_t *memory = base_alloc_aligned(4096, pr_round_up(bytes + 4096, 4096));

    if (!memory) {
        fprintf(stderr, "bench_planes: no memory\n");
        exit(1);
    }
    for (uint64_t i = 0; i + 1 < bytes; i += 2) {
        memory[i] = (uint8_t)(i * 37);
        memory[i + 1] = (uint8_t)(0x30 + i / 2 % 8); /* between 1/8 and 1 */
    }
    return memory;
}

static void run(struct eng_compute *compute, const struct subject *s, const struct eng_operands *operands)
{
    if (s->task.unit == PR_UNIT_PE)
        eng_pe_run(compute, &s->task, operands);
    else if (eng_ne_compute(compute, &s->task, operands, NULL, s->table))
        exit(1);
}

struct floors {
    uint8_t *from, *to;
    float *floats;
    uint64_t read, written; /* bytes, row tails included */
    uint64_t elements;
};

static void copy(const struct floors *f)
{
    uint64_t half = (f->read + f->written) / 2;

    memcpy(f->to, f->from, half);
    __asm__ volatile("" : : "r"(f->to) : "memory");
}

static void convert(const struct floors *f)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    struct eng_load load = {.scale = 1};

    for (uint64_t i = 0; i < f->elements; i += 1024) {
        uint64_t n = f->elements - i < 1024 ? f->elements - i : 1024;

        kernels->to_float(f->from + 2 * i, f->floats, n, &load);
        kernels->to_half(f->floats, f->to + 2 * i, n, 0);
    }
}

static double shortest(double best, double begin, unsigned runs)
{
    double took = (now() - begin) / runs;

    return took < best ? took : best;
}

/* The best of many runs, the three interleaved. */
static void measure(struct eng_compute *compute, const struct subject *s, const char *name,
                    struct shape shape)
{
    const struct pr_task *task = &s->task;
    struct eng_operands operands = {0};
    uint64_t span[3] = {pr_tensor_span(&task->src[0]), pr_tensor_span(&task->src[1]),
                        pr_tensor_span(&task->dst)};
    uint8_t *memory[3] = {memory_of(span[0]), memory_of(span[1]), memory_of(span[2])};
    struct floors f = {.read = span[0] + span[1], .written = span[2]};
    double best[3] = {1e9, 1e9, 1e9};
    unsigned runs;

    f.elements = (uint64_t)shape.w * shape.h * shape.c;
    f.from = memory_of(f.read + f.written + 2 * f.elements);
    f.to = memory_of(f.read + f.written + 2 * f.elements);
    f.floats = (float *)(void *)memory_of(4096);
    runs = f.elements < 20000 ? (unsigned)(20000 / f.elements + 1) : 1;
    eng_view_of_host(&operands.src[0], &task->src[0], memory[0]);
    if (task->src[1].home != PR_HOME_NONE)
        eng_view_of_host(&operands.src[1], &task->src[1], memory[1]);
    eng_view_of_host(&operands.dst, &task->dst, memory[2]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        double begin = now();

        for (unsigned i = 0; i < runs; i++)
            run(compute, s, &operands);
        best[0] = shortest(best[0], begin, runs);
        begin = now();
        for (unsigned i = 0; i < runs; i++)
            copy(&f);
        best[1] = shortest(best[1], begin, runs);
        begin = now();
        for (unsigned i = 0; i < runs; i++)
            convert(&f);
        best[2] = shortest(best[2], begin, runs);
    }
    printf(
        "%-16s %4ux%3ux%4u %10.2f us %7.3f ns/element   memcpy %9.2f us (%5.2f)   convert %9.2f us (%5.2f)\n",
        name, shape.w, shape.h, shape.c, 1e6 * best[0], 1e9 * best[0] / (double)f.elements, 1e6 * best[1],
        best[1] / best[0], 1e6 * best[2], best[2] / best[0]);
    for (unsigned i = 0; i < 3; i++)
        base_free(memory[i]);
    base_free(f.from);
    base_free(f.to);
    base_free(f.floats);
}

/* The logistic function from -8 to 8, and 2^x from 0 to 1. */
static void make_tables(struct eng_table table[2])
{
    table[0] = (struct eng_table){.kind = PR_ACTIVATION_PLAIN,
                                  .low = -INFINITY,
                                  .high = INFINITY,
                                  .first = -8,
                                  .scale = 2,
                                  .above = 1,
                                  .high_intercept = 1};
    table[1] = (struct eng_table){
        .kind = PR_ACTIVATION_EXP2, .low = -24, .high = 16, .above = INFINITY, .first = 0, .scale = 32};
    for (unsigned i = 0; i < ENG_TABLE_KNOTS; i++) {
        table[0].knot[i] = 1 / (1 + expf(8 - 0.5f * (float)i));
        table[1].knot[i] = exp2f((float)i / 32);
    }
    eng_table_derive(&table[0]);
    eng_table_derive(&table[1]);
}

int main(int argc, char **argv)
{
    static const struct shape shape[] = {{56, 56, 64},  {14, 14, 256}, {7, 7, 1280}, {1, 1, 64},
                                         {1, 1, 1024},  {1, 128, 64},  {4096, 1, 1}, {768, 1, 128},
                                         {768, 128, 1}, {64, 128, 12}, {64, 1, 1},   {224, 224, 32}};
    struct eng_compute compute = {.policy = ENG_M1, .path = ENG_PATH_FAST};
    int highest = argc > 1 ? (int)strtol(argv[1], NULL, 10) : ENG_ISA_AVX512;
    struct eng_table table[2];

    make_tables(table);
    eng_isa_limit((enum eng_isa)highest);
    for (unsigned kind = 0; kind < BASE_COUNT_OF(kind_name); kind++) {
        if (argc > 2 && !strstr(kind_name[kind], argv[2]))
            continue;
        for (unsigned i = 0; i < BASE_COUNT_OF(shape); i++) {
            struct subject s = subject_of((enum kind)kind, shape[i], table);

            measure(&compute, &s, kind_name[kind], shape[i]);
        }
    }
    eng_compute_free(&compute);
    return 0;
}
