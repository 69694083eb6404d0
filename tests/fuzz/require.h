/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target asserts: a fuzzer takes an abort for a finding. */
#ifndef TESTS_FUZZ_REQUIRE_H
#define TESTS_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void require_that(bool condition, const char *text, const char *file, int line)
{
    if (condition)
        return;
    fprintf(stderr, "%s:%d: it is not so that %s.\n", file, line, text);
    abort();
}
#define require(condition) require_that(condition, #condition, __FILE__, __LINE__)

/* A range of a file of `size` bytes. */
static inline void require_inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
    require(offset <= size && bytes <= size - offset);
}

#endif
