/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the datapath: tensors of random layout in memory between guard pages, and the instruction sets
 * and thread counts that must agree. Values are computed here from bits by support.h's conversions, not by
 * the code under test.
 */
#ifndef TESTS_TENSORS_H
#define TESTS_TENSORS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/compute.h"
#include "support.h"

/*
 * Memory whose last (or first) byte is the last (first) of an accessible page: one byte too far is a crash.
 */
struct guarded {
    uint8_t *map;
    size_t mapped;
    uint8_t *bytes;
    size_t size;
    uint8_t *before; /* a copy of the bytes, to compare with */
};

static inline void guarded_open(struct guarded *g, size_t size, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;

    g->mapped = room + 2 * page;
    g->map = mmap(NULL, g->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g->map != MAP_FAILED);
    if (room)
        assert_int_equal(mprotect(g->map + page, room, PROT_READ | PROT_WRITE), 0);
    g->bytes = at_end ? g->map + page + room - size : g->map + page;
    g->size = size;
    g->before = malloc(size + 1);
    assert_non_null(g->before);
}

static inline void guarded_close(struct guarded *g)
{
    munmap(g->map, g->mapped);
    free(g->before);
    memset(g, 0, sizeof(*g));
}

/* From now on a store is a crash too. */
static inline void guarded_protect(struct guarded *g)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (g->mapped > 2 * page)
        assert_int_equal(mprotect(g->map + page, g->mapped - 2 * page, PROT_READ), 0);
}

static inline uint32_t pick(struct test_rng *rng, uint32_t lo, uint32_t hi)
{
    return (uint32_t)test_rng_range(rng, lo, hi);
}

/*
 * What random fp16 values are made of: ordinary numbers; large ones; large ones that cancel and small ones
 * that are lost or kept depending on the order of a sum; or everything there is.
 */
enum palette { SMALL, LARGE, CANCELLING, ANY, PALETTES };

static inline uint16_t random_half(struct test_rng *rng, enum palette palette)
{
    static const uint16_t edge[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x83ff,
                                    0x8400, 0x3c00, 0xbc00, 0x77ff, 0x7800, 0xf7ff, 0xf800,
                                    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01};
    static const uint16_t cancelling[] = {0x7400, 0xf400, 0x7400, 0xf400, 0x3c00, 0xbc00};

    if (palette == ANY)
        return test_rng_bool(rng) ? edge[pick(rng, 0, sizeof(edge) / sizeof(edge[0]) - 1)]
                                  : test_rng_fp16_any(rng);
    if (palette == CANCELLING && test_rng_bool(rng))
        return cancelling[pick(rng, 0, sizeof(cancelling) / sizeof(cancelling[0]) - 1)];
    return test_rng_fp16_finite(rng, palette == LARGE ? 300 : palette == SMALL ? 4 : 0.001);
}

static inline void random_fp16(struct test_rng *rng, uint8_t *bytes, size_t size, enum palette palette)
{
    test_rng_bytes(rng, bytes, size);
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t half = random_half(rng, palette);

        memcpy(bytes + i, &half, 2);
    }
}

/* Bytes of an element, and of the channels that stand side by side. */
static inline uint32_t element_bytes(const struct pr_tensor *t)
{
    return t->format == PR_FP16 ? 2 : 1;
}

static inline uint32_t bundle_of(const struct pr_tensor *t)
{
    return t->interleave > 1 ? t->interleave : 1;
}

/*
 * Strides for the extents: axes nest in a random order, W inside all others more often than not, with random
 * gaps. Axes whose bit is set in `broadcast` get stride 0.
 */
static inline void random_layout(struct test_rng *rng, struct pr_tensor *t, uint32_t broadcast)
{
    unsigned order[PR_AXES] = {PR_AXIS_W, PR_AXIS_H, PR_AXIS_D, PR_AXIS_C, PR_AXIS_G};
    unsigned first = pick(rng, 0, 3) ? 1 : 0;
    bool gaps = pick(rng, 0, 3) != 0;
    uint32_t reach = element_bytes(t) * bundle_of(t), unit = element_bytes(t);

    for (unsigned i = first; i < PR_AXES; i++) {
        unsigned other = pick(rng, i, PR_AXES - 1), axis = order[other];

        order[other] = order[i];
        order[i] = axis;
    }
    t->home = PR_HOME_DRAM;
    for (unsigned i = 0; i < PR_AXES; i++) {
        if (broadcast >> order[i] & 1) {
            t->stride[order[i]] = 0;
            continue;
        }
        t->stride[order[i]] = reach;
        if (gaps && i > 0)
            t->stride[order[i]] += unit * pick(rng, 0, 20);
        reach = t->stride[order[i]] * t->extent[order[i]];
        if (order[i] == PR_AXIS_C)
            reach = t->stride[PR_AXIS_C] * ((t->extent[PR_AXIS_C] + bundle_of(t) - 1) / bundle_of(t));
    }
}

static inline uint64_t element_offset(const struct pr_tensor *t, const uint32_t index[PR_AXES])
{
    uint32_t bundle = bundle_of(t), channel = index[PR_AXIS_C];
    uint64_t offset = (uint64_t)(channel / bundle) * t->stride[PR_AXIS_C];

    offset += (uint64_t)(channel % bundle) * element_bytes(t);
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (axis != PR_AXIS_C)
            offset += (uint64_t)index[axis] * t->stride[axis];
    return offset;
}

/* As a half, which integers of 8 bits are without loss. */
static inline uint16_t element_get(const struct pr_tensor *t, const uint8_t *bytes,
                                   const uint32_t index[PR_AXES])
{
    const uint8_t *at = bytes + element_offset(t, index);
    uint16_t half;

    if (t->format != PR_FP16)
        return test_half_from_double(t->format == PR_I8 ? (int8_t)*at : *at);
    memcpy(&half, at, 2);
    return half;
}

/* A half as an integer of the tensor's format. */
static inline uint8_t byte_of_half(const struct pr_tensor *t, uint16_t half)
{
    double low = t->format == PR_I8 ? -128 : 0, high = t->format == PR_I8 ? 127 : 255;
    double value = test_half_is_nan(half) ? 0 : nearbyint(test_half_to_double(half));

    value = value < low ? low : value > high ? high : value;
    return (uint8_t)(int)value;
}

/* Stores an element, and the zeros after the last one of a row. */
static inline void element_put(const struct pr_tensor *t, uint8_t *bytes, const uint32_t index[PR_AXES],
                               uint16_t half)
{
    uint8_t *at = bytes + element_offset(t, index);
    uint32_t bundle = element_bytes(t) * bundle_of(t), lane = index[PR_AXIS_C] % bundle_of(t);

    if (t->format == PR_FP16)
        memcpy(at, &half, 2);
    else
        *at = byte_of_half(t, half);
    if (t->zero_tail && t->stride[PR_AXIS_W] == bundle && index[PR_AXIS_W] + 1 == t->extent[PR_AXIS_W])
        memset(at - lane * element_bytes(t) + bundle, 0,
               pr_tensor_tail_end(t) - bundle * t->extent[PR_AXIS_W]);
}

/* Steps through all indices, W first. False after the last. */
static inline bool next_index(uint32_t index[PR_AXES], const uint32_t extent[PR_AXES])
{
    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        if (++index[axis] < extent[axis])
            return true;
        index[axis] = 0;
    }
    return false;
}

/* Of a half. Not `value < 0 ? 0 : value`: clang 14 for AArch64 would make 0 of -0. */
static inline double model_relu(double value)
{
    return value <= -0x1p-24 ? 0 : value;
}

/* What the policies say about values, in other words than the code under test. */
static inline double model_load(uint16_t half, bool m1, bool mac, bool relu)
{
    double value = test_half_to_double(half);

    if (m1 && test_half_is_nan(half))
        value = INFINITY;
    if (m1 && mac && (half & 0x7c00) == 0)
        value = 0;
    return relu ? model_relu(value) : value;
}

static inline uint16_t model_store(float value, bool m1, bool mac, bool ceiling)
{
    uint16_t half = isnan(value) ? 0x7e00 : test_half_from_double(value);

    if (!m1)
        return half;
    if (isnan(value))
        return 0;
    if (ceiling && fabs(test_half_to_double(half)) >= 32768)
        half = value < 0 ? 0xfc00 : 0x7c00;
    if (mac && fabs(test_half_to_double(half)) < ldexp(1, -14))
        half = 0;
    return half == 0x8000 ? 0 : half;
}

/*
 * Every way to run a task: the reference first, then each instruction set of this machine with one and two
 * threads.
 */
struct way {
    enum eng_path path;
    enum eng_isa isa;
    unsigned threads;
};

static struct eng_pool *two_threads;

static inline bool way_get(unsigned number, struct way *way)
{
    enum eng_isa best;

    eng_isa_limit(ENG_ISA_AVX512);
    best = eng_isa_get();
    *way = (struct way){ENG_PATH_REFERENCE, best, 1};
    if (number == 0)
        return true;
    way->path = ENG_PATH_FAST;
    way->isa = (enum eng_isa)((number - 1) / 2);
    way->threads = 1 + (number - 1) % 2;
    return way->isa <= best;
}

static inline struct eng_pool *way_begin(const struct way *way)
{
    if (!two_threads)
        assert_int_equal(eng_pool_create(2, &two_threads), 0);
    eng_pool_wake_always(true);
    eng_isa_limit(way->isa);
    return way->threads == 2 ? two_threads : NULL;
}

static inline void ways_end(void)
{
    eng_isa_limit(ENG_ISA_AVX512);
    eng_pool_wake_always(false);
    eng_pool_destroy(two_threads);
    two_threads = NULL;
}

/* Compares a result with the expected bytes, between elements too; says which element differs. */
static inline void check_bytes(const struct pr_tensor *t, const uint8_t *got, const uint8_t *expected,
                               size_t size, const struct way *way, uint64_t round)
{
    uint32_t index[PR_AXES] = {0};

    if (!memcmp(got, expected, size))
        return;
    do {
        uint16_t a = element_get(t, got, index), b = element_get(t, expected, index);

        if (a != b)
            fail_msg(
                "round %llu, path %d isa %d threads %u: element w%u h%u d%u c%u g%u of %ux%ux%ux%ux%u is %04x, not %04x",
                (unsigned long long)round, way->path, way->isa, way->threads, index[0], index[1], index[2],
                index[3], index[4], t->extent[0], t->extent[1], t->extent[2], t->extent[3], t->extent[4], a,
                b);
    } while (next_index(index, t->extent));
    fail_msg("round %llu, path %d isa %d threads %u: a byte between the elements has changed",
             (unsigned long long)round, way->path, way->isa, way->threads);
}

#endif
