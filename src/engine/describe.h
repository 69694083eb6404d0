/* SPDX-License-Identifier: Apache-2.0 */
/* A task in words and figures, for whoever measures it. */
#ifndef ENGINE_DESCRIBE_H
#define ENGINE_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

struct pr_task;

struct eng_description {
    uint64_t work;   /* multiply-accumulates, or elements where it makes none */
    uint64_t bytes;  /* of its operands and its kernel, each once */
    bool multiplies; /* work is multiply-accumulates */
    char text[96];   /* "mac 3x3/2 3x224x224 -> 64x112x112" */
};

void eng_describe(const struct pr_task *task, struct eng_description *description);

#endif
