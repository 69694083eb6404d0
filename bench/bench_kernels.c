/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of the datapath: multiply-accumulates per second of convolutions, matrix products and folds,
 * bytes per second of an elementwise sum, a copy and a reduction, for each instruction set of the machine.
 * Arguments: threads (1), then the instruction sets at most (0 portable, 1 AVX2, 2 AVX-512).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "engine/ne.h"
#include "engine/pe.h"

enum { ONE = 0x3c00 };

static const char *const isa_name[] = {"portable", "avx2", "avx512"};

struct subject {
    const char *name;
    const char *unit;
    double amount; /* of the unit, times 10^9, in one run */
    struct pr_task task;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rows at 64-byte steps, as surfaces in DRAM have them. */
static struct pr_tensor surface(uint32_t w, uint32_t h, uint32_t c)
{
    uint32_t row = (uint32_t)pr_round_up((uint64_t)w * 2, PR_ROW_ALIGN);

    return (struct pr_tensor){.home = PR_HOME_DRAM,
                              .extent = {w, h, 1, c, 1},
                              .stride = {2, row, row * h, row * h, row * h * c},
                              .zero_tail = true};
}

static struct subject convolution(const char *name, uint32_t size_w, uint32_t size_h, uint32_t cin,
                                  uint32_t cout, uint32_t k, uint32_t lanes)
{
    struct subject s = {.name = name, .unit = "GMAC/s"};

    s.task.unit = PR_UNIT_NE;
    s.task.src[0] = surface(size_w, size_h, cin);
    s.task.dst = surface(size_w, size_h, cout);
    s.task.ne = (struct pr_ne){.mode = PR_NE_MAC,
                               .kw = k,
                               .kh = k,
                               .px = k / 2,
                               .py = k / 2,
                               .sx = 1,
                               .ox = 1,
                               .sy = 1,
                               .lanes = lanes,
                               .engines = 16,
                               .bias = true,
                               .post_scale = ONE};
    s.amount = 1e-9 * (double)pr_task_work(&s.task);
    return s;
}

/* Every output channel has one input channel for itself. */
static struct subject unicast(const char *name, uint32_t size, uint32_t channels, uint32_t step,
                              enum pr_ne_mode mode)
{
    struct subject s = convolution(name, size, size, channels, channels, 3, 1);

    s.task.ne.mode = mode;
    s.task.ne.unicast = 1;
    s.task.ne.sx = s.task.ne.sy = step;
    s.task.ne.bias = mode == PR_NE_MAC;
    s.task.ne.pad_lowest = s.task.ne.ones = mode == PR_NE_MAX;
    s.task.dst = surface(size / step, size / step, channels);
    s.amount = 1e-9 * (double)pr_task_work(&s.task);
    return s;
}

static struct subject strided(const char *name, uint32_t size, uint32_t cin, uint32_t cout)
{
    struct subject s = convolution(name, size, size, cin, cout, 3, 4);

    s.task.ne.sx = s.task.ne.sy = 2;
    s.task.dst = surface(size / 2, size / 2, cout);
    s.amount = 1e-9 * (double)pr_task_work(&s.task);
    return s;
}

static struct subject planar(const char *name, uint32_t w, uint32_t h, uint32_t c, bool two,
                             enum pr_pe_reduce reduce)
{
    struct subject s = {.name = name, .unit = "GB/s"};

    s.task.unit = PR_UNIT_PE;
    s.task.src[0] = s.task.dst = surface(w, h, c);
    if (two)
        s.task.src[1] = s.task.src[0];
    if (reduce)
        s.task.dst = surface(1, 1, c);
    s.task.pe = (struct pr_pe){.two_sources = two, .reduce = reduce, .scale = ONE, .pre_scale = ONE};
    s.task.pe.final_scale = 0x3f800000;
    s.amount = 2e-9 * w * h * c * (reduce ? 1 : two ? 3 : 2);
    return s;
}

static uint8_t *memory_of(uint64_t bytes)
{
    uint8_t *memory = base_alloc_aligned(64, bytes + 64);

    if (!memory) {
        fprintf(stderr, "bench_kernels: no memory\n");
        exit(1);
    }
    for (uint64_t i = 0; i + 1 < bytes; i += 2) {
        memory[i] = (uint8_t)(i * 37);
        memory[i + 1] = (uint8_t)(0x30 + i / 2 % 8); /* between 1/8 and 1 */
    }
    return memory;
}

static void run(struct eng_compute *compute, const struct subject *s, const struct eng_operands *operands,
                const struct pr_kernel_bytes *streams)
{
    if (s->task.unit == PR_UNIT_PE)
        eng_pe_run(compute, &s->task, operands);
    else if (eng_ne_run(compute, &s->task, operands, streams, NULL))
        exit(1);
}

/* The best of many runs: what the code does when nothing else disturbs. */
static void measure(struct eng_compute *compute, const struct subject *s)
{
    struct pr_kernel_bytes streams[PR_ENGINES_MAX] = {{0}};
    struct eng_operands operands = {0};
    uint8_t *memory[3] = {memory_of(pr_tensor_span(&s->task.src[0])),
                          memory_of(pr_tensor_span(&s->task.src[1])),
                          memory_of(pr_tensor_span(&s->task.dst))};
    double best = 1e9, begin = now();

    eng_view_of_host(&operands.src[0], &s->task.src[0], memory[0]);
    if (s->task.pe.two_sources)
        eng_view_of_host(&operands.src[1], &s->task.src[1], memory[1]);
    eng_view_of_host(&operands.dst, &s->task.dst, memory[2]);
    for (uint32_t e = 0; s->task.unit == PR_UNIT_NE && s->task.ne.mode == PR_NE_MAC && e < PR_ENGINES_MAX;
         e++) {
        streams[e].size = pr_kernel_stream_bytes(&s->task, e);
        streams[e].bytes = memory_of(streams[e].size);
    }
    for (unsigned i = 0; i < 3 || now() - begin < 0.4; i++) {
        double start = now(), took;

        run(compute, s, &operands, streams);
        took = now() - start;
        best = took < best ? took : best;
    }
    printf("%-9s %u threads  %-40s %9.1f us %8.2f %s\n", isa_name[eng_isa_get()],
           eng_pool_workers(compute->pool), s->name, 1e6 * best, s->amount / best, s->unit);
    for (unsigned i = 0; i < 3; i++)
        base_free(memory[i]);
    for (uint32_t e = 0; e < PR_ENGINES_MAX; e++)
        base_free((void *)(uintptr_t)streams[e].bytes);
}

int main(int argc, char **argv)
{
    const struct subject subject[] = {
        convolution("conv 3x3, 64x64, 64 to 64", 64, 64, 64, 64, 3, 4),
        convolution("conv 3x3, 8x8, 512 to 512", 8, 8, 512, 512, 3, 32),
        convolution("conv 1x1, 56x56, 256 to 64", 56, 56, 256, 64, 1, 4),
        convolution("gemm 512x512, 512 columns", 512, 1, 512, 512, 1, 16),
        convolution("gemm 512x512, 1 column", 1, 1, 512, 512, 1, 32),
        strided("conv 3x3 in steps of 2, 64x64, 64 to 64", 64, 64, 64),
        unicast("depthwise 3x3, 64x64, 64 channels", 64, 64, 1, PR_NE_MAC),
        unicast("depthwise 3x3 in steps of 2", 64, 64, 2, PR_NE_MAC),
        unicast("max of 3x3 in steps of 2", 64, 64, 2, PR_NE_MAX),
        planar("add, 64x64, 64 channels", 64, 64, 64, true, PR_PE_REDUCE_NONE),
        planar("add, 50x50, 64 channels", 50, 50, 64, true, PR_PE_REDUCE_NONE),
        planar("add, 1x1, 4096 channels", 1, 1, 4096, true, PR_PE_REDUCE_NONE),
        planar("add, 1024x1024, 16 channels", 1024, 1024, 16, true, PR_PE_REDUCE_NONE),
        planar("scale, 64x64, 64 channels", 64, 64, 64, false, PR_PE_REDUCE_NONE),
        planar("sum of 64x64, 64 channels", 64, 64, 64, false, PR_PE_REDUCE_SUM),
        planar("sum of 8x8, 64 channels", 8, 8, 64, false, PR_PE_REDUCE_SUM),
    };
    struct eng_compute compute = {.policy = ENG_M1, .path = ENG_PATH_FAST};
    unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    int highest = argc > 2 ? (int)strtol(argv[2], NULL, 10) : ENG_ISA_AVX512;

    if (eng_pool_create(threads, &compute.pool)) {
        fprintf(stderr, "usage: bench_kernels [threads [instruction set]]\n");
        return 2;
    }
    for (int isa = highest < 0 ? 0 : highest; isa >= ENG_ISA_PORTABLE; isa--) {
        eng_isa_limit((enum eng_isa)isa);
        if ((int)eng_isa_get() != isa)
            continue;
        for (unsigned i = 0; i < BASE_COUNT_OF(subject); i++)
            measure(&compute, &subject[i]);
    }
    eng_compute_free(&compute);
    eng_pool_destroy(compute.pool);
    return 0;
}
