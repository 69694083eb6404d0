/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight programs for clients of a service, as MIL texts, with what each computes in plain C. Every one has
 * inputs a and b and an output y of SERVED_VALUES values of fp16, in rows of 64 bytes, so that a buffer has
 * the packed layout. Values are small whole numbers: every sum is exact, and results are equal or wrong.
 */
#ifndef TESTS_SERVED_MODELS_H
#define TESTS_SERVED_MODELS_H

#include <stdbool.h>
#include <stdint.h>

#define SERVED_MODELS   9u
#define SERVED_CHANNELS 4u
#define SERVED_WIDTH    32u
#define SERVED_VALUES   (SERVED_CHANNELS * SERVED_WIDTH)
#define SERVED_BYTES    (2 * SERVED_VALUES)

struct served_model {
    const char *name; /* of its file, with .mil behind it */
    const char *body; /* of its function: defines y */
    int (*expected)(const int *a, const int *b, unsigned place);
};
extern const struct served_model served_models[SERVED_MODELS];
#define SERVED_LONG (SERVED_MODELS - 1) /* keeps the engine busy for longer than a process needs to send it */

/* Writes NAME.mil of each, and what they read, into a folder that exists. False when that fails. */
bool served_models_write(const char *folder);

/* Operands from a generator's state, and as halfs. */
struct served_operands {
    int a[SERVED_VALUES], b[SERVED_VALUES];
};
void served_operands_make(struct served_operands *operands, uint64_t *random);
void served_operands_put(const struct served_operands *operands, void *a, void *b);

/* The first place of y that is wrong; SERVED_VALUES when all are right. */
unsigned served_model_check(const struct served_model *model, const struct served_operands *operands,
                            const void *y);

/* splitmix64, by Vigna. */
uint64_t served_random(uint64_t *state);

#endif
