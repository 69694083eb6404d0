/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test may use: cmocka with the headers it needs, the shared real programs, files, seeded random
 * input, and half-precision conversions that share nothing with the ones under test.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * The path of a shared real program ("relu.hwx"), or NULL when it is not there: then skip(). Looks in the
 * folder named by ANEMONE_PROGRAMS, or else beside the source tree. Valid until the next call.
 */
const char *test_program_path(const char *name);

/* The whole file, for the caller to free; NULL when it cannot be read. Never NULL for an empty file. */
uint8_t *test_file_read(const char *path, size_t *size);

/* An environment variable's value, or NULL; and put back, or unset when it was NULL. Frees the copy. */
char *test_env_save(const char *name);
void test_env_restore(const char *name, char *saved);

/* The seed of this run: ANEMONE_TEST_SEED, or a fixed default. Printed to stderr when first asked for. */
uint64_t test_seed(void);

/* xoshiro256**, by Blackman and Vigna; splitmix64 fills its state. */
struct test_rng {
    uint64_t s[4];
};

/* Each stream number gives an independent generator of this run's seed. */
void test_rng_init(struct test_rng *rng, uint64_t stream);
uint64_t test_splitmix64(uint64_t *state);

uint64_t test_rng_u64(struct test_rng *rng);
uint32_t test_rng_u32(struct test_rng *rng);
bool test_rng_bool(struct test_rng *rng);
int64_t test_rng_range(struct test_rng *rng, int64_t lo, int64_t hi); /* both ends included */
double test_rng_unit(struct test_rng *rng);                           /* in [0, 1) */
void test_rng_bytes(struct test_rng *rng, void *bytes, size_t size);

/* Bits of a half: uniform in [-scale, scale] and finite; or any of the 65536, infinities and NaNs too. */
uint16_t test_rng_fp16_finite(struct test_rng *rng, double scale);
uint16_t test_rng_fp16_any(struct test_rng *rng);

/* Exact; and rounded once, half to even. A NaN keeps its sign and becomes quiet. */
double test_half_to_double(uint16_t half);
uint16_t test_half_from_double(double value);
bool test_half_is_nan(uint16_t half);

#endif
