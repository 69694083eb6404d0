/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction sets, working memory, the floating-point environment. The processor's instruction sets are
 * detected once per process; working memory only grows until it is freed.
 */
#include "engine/compute.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/processor.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static atomic_int isa_limit = ENG_ISA_AVX512;

#if defined(__x86_64__)
static enum eng_isa isa_of_processor(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !base_processor_has_f16c())
        return ENG_ISA_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return ENG_ISA_AVX2;
    return ENG_ISA_AVX512;
}
#else
static enum eng_isa isa_of_processor(void)
{
#if defined(__aarch64__)
    return ENG_ISA_NEON;
#else
    return ENG_ISA_PORTABLE;
#endif
}
#endif

enum eng_isa eng_isa_get(void)
{
    static atomic_int found = -1; /* asked once: under a hypervisor the question is not cheap */
    int best = atomic_load_explicit(&found, memory_order_relaxed);
    int limit = atomic_load_explicit(&isa_limit, memory_order_relaxed);

    if (best < 0) {
        best = (int)isa_of_processor();
        atomic_store_explicit(&found, best, memory_order_relaxed);
    }
    return (enum eng_isa)(best < limit ? best : limit);
}

void eng_isa_limit(enum eng_isa limit)
{
    atomic_store_explicit(&isa_limit, limit, memory_order_relaxed);
}

void *eng_scratch_reserve(struct eng_scratch *scratch, size_t bytes)
{
    uint8_t *memory;

    if (bytes <= scratch->bytes)
        return scratch->memory;
    memory = base_alloc_aligned(64, bytes);
    if (!memory)
        return NULL;
    base_free(scratch->memory);
    scratch->memory = memory;
    scratch->bytes = bytes;
    return memory;
}

void eng_scratch_free(struct eng_scratch *scratch)
{
    base_free(scratch->memory);
    scratch->memory = NULL;
    scratch->bytes = 0;
}

void eng_compute_free(struct eng_compute *compute)
{
    eng_scratch_free(&compute->scratch);
    eng_scratch_free(&compute->kernel);
}

static bool has_no_host(const struct eng_view *view)
{
    return !view->host && view->range.bytes;
}

struct eng_pool *eng_compute_pool(const struct eng_compute *compute, const struct eng_operands *operands)
{
    if (has_no_host(&operands->src[0]) || has_no_host(&operands->src[1]) || has_no_host(&operands->dst))
        return NULL;
    return compute->pool;
}

/* The control word alone: the sticky exception flags of the caller are put back with it. */
#if defined(__x86_64__)
enum { CONTROL_DEFAULT = 0x1f80 }; /* all exceptions masked, round to nearest, denormals kept */

static uint64_t control_get(void)
{
    return _mm_getcsr();
}

static void control_set(uint64_t word)
{
    _mm_setcsr((unsigned)word);
}
#elif defined(__aarch64__)
enum { CONTROL_DEFAULT = 0 };

static uint64_t control_get(void)
{
    uint64_t word;

    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}

static void control_set(uint64_t word)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(word));
}
#else
enum { CONTROL_DEFAULT = 0 };

static uint64_t control_get(void)
{
    return CONTROL_DEFAULT;
}

static void control_set(uint64_t word)
{
    (void)word;
}
#endif

struct eng_float_state eng_float_begin(void)
{
    struct eng_float_state state = {control_get()};

    if (state.word != CONTROL_DEFAULT)
        control_set(CONTROL_DEFAULT);
    return state;
}

void eng_float_end(struct eng_float_state state)
{
    control_set(state.word);
}
