/* SPDX-License-Identifier: Apache-2.0 */
/* A run of bytes of a file, which cannot be read past its end. Readers of files use only these. */
#ifndef PROGRAM_SLICE_H
#define PROGRAM_SLICE_H

#include "protocol/problem.h"

struct pr_slice {
    const uint8_t *bytes;
    size_t size;
    uint64_t at; /* offset of the bytes in the file */
};

/*
 * The part of `from` at an offset: false, saying that `what` ends too early, when it is not all inside. `out`
 * may be `from` itself; on failure it is left alone.
 */
bool pr_slice_cut(const struct pr_slice *from, uint64_t offset, uint64_t size, const char *what,
                  struct pr_slice *out, struct pr_problem *problem);

/* A little-endian number; 0 when it is not all inside. */
uint32_t pr_slice_u32(const struct pr_slice *slice, uint64_t offset);
uint64_t pr_slice_u64(const struct pr_slice *slice, uint64_t offset);

/* Moves the slice's start on. False, and no move, when there are not so many bytes. */
bool pr_slice_skip(struct pr_slice *slice, uint64_t bytes);
/* Moves past a string or past a decimal number if the slice begins with one. */
bool pr_slice_take(struct pr_slice *slice, const char *string);
bool pr_slice_take_number(struct pr_slice *slice, uint64_t *number);

/* pr_problem_set with the file offset of a place in the slice; returns false. */
bool pr_slice_problem(const struct pr_slice *slice, uint64_t offset, struct pr_problem *problem,
                      enum pr_problem_kind kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
