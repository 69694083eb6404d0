/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the datapath computes: which instruction set, which path, and the memory and threads it may use.
 *
 * Every operation has two paths. The reference is plain scalar C and says what the operation is; the fast
 * path is chosen by the processor's instruction sets. They give the same bits for every policy, instruction
 * set and number of threads.
 */
#ifndef ENGINE_COMPUTE_H
#define ENGINE_COMPUTE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/numerics.h"
#include "engine/pool.h"
#include "engine/view.h"

enum eng_path { ENG_PATH_FAST, ENG_PATH_REFERENCE };

/*
 * Whether the fast path of ENG_M1 uses Winograd's algorithm (ne_winograd.h), the exception to the rule above:
 * never, where it is faster, or, for tests, for every task that has the form.
 */
enum eng_winograd { ENG_WINOGRAD_OFF, ENG_WINOGRAD_ON, ENG_WINOGRAD_ALWAYS };

/* In rising order for each kind of processor. */
enum eng_isa { ENG_ISA_PORTABLE, ENG_ISA_AVX2, ENG_ISA_AVX512, ENG_ISA_NEON = ENG_ISA_AVX2 };

/* The best instruction set that the processor and the limit allow. */
enum eng_isa eng_isa_get(void);
/* For tests: no instruction set above `limit` is used from now on, in the whole process. */
void eng_isa_limit(enum eng_isa limit);

/* Working memory of the kernels: it grows to what the largest task needed, and is kept for the next one. */
struct eng_scratch {
    uint8_t *memory;
    size_t bytes;
};

/*
 * At least `bytes` on a 64-byte boundary; the previous contents are lost. NULL when there is no memory; the
 * old block is kept then.
 */
void *eng_scratch_reserve(struct eng_scratch *scratch, size_t bytes);
void eng_scratch_free(struct eng_scratch *scratch);

struct eng_compute {
    enum eng_policy policy;
    enum eng_path path;
    enum eng_winograd winograd;
    struct eng_pool *pool; /* NULL: the calling thread alone */
    struct eng_scratch scratch;
    struct eng_scratch kernel; /* a kernel that cannot be read in place */
};
/* Gives back the working memory. */
void eng_compute_free(struct eng_compute *compute);

/*
 * A task's operands. The destination may lie exactly on a source of an elementwise task (same address and
 * strides); any other overlap of destination and sources must be resolved by the caller before.
 */
struct eng_operands {
    struct eng_view src[2]; /* the second is all zero when the task has one source */
    struct eng_view dst;
    bool kernel_whole; /* the kernel's streams have the bytes that the task needs: no second check */
};

/*
 * The pool for a task: none when an operand has no host address, because a DART is used by one thread at a
 * time.
 */
struct eng_pool *eng_compute_pool(const struct eng_compute *compute, const struct eng_operands *operands);

/*
 * The floating-point environment is the thread's, and a caller may have changed it (flush to zero, rounding):
 * kernels run between these two, in the default one.
 */
struct eng_float_state {
    uint64_t word;
};
struct eng_float_state eng_float_begin(void);
void eng_float_end(struct eng_float_state state);

#endif
