/* SPDX-License-Identifier: Apache-2.0 */
/* What every test may use; see support.h. */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SEED UINT64_C(0x414e454d4f4e45)

const char *test_program_path(const char *name)
{
    static const char *const beside[] = {
        TEST_SOURCE_ROOT "/../shared/programs",
        TEST_SOURCE_ROOT "/../../shared/programs",
    };
    static char path[4096];
    const char *folder = getenv("ANEMONE_PROGRAMS");

    if (folder != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return access(path, R_OK) == 0 ? path : NULL;
    }
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", beside[i], name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

uint8_t *test_file_read(const char *path, size_t *size)
{
    uint8_t *bytes = NULL;
    FILE *file = fopen(path, "rb");
    long end;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
        goto out;
    rewind(file);
    *size = (size_t)end;
    bytes = malloc(*size > 0 ? *size : 1);
    if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
        free(bytes);
        bytes = NULL;
    }
out:
    fclose(file);
    return bytes;
}

char *test_env_save(const char *name)
{
    const char *value = getenv(name);
    char *copy = value != NULL ? strdup(value) : NULL;

    assert_true(value == NULL || copy != NULL);
    return copy;
}

void test_env_restore(const char *name, char *saved)
{
    if (saved != NULL)
        setenv(name, saved, 1);
    else
        unsetenv(name);
    free(saved);
}

uint64_t test_seed(void)
{
    static bool known;
    static uint64_t seed;

    if (!known) {
        const char *text = getenv("ANEMONE_TEST_SEED");

        known = true;
        seed = text != NULL ? strtoull(text, NULL, 0) : DEFAULT_SEED;
        fprintf(stderr, "# ANEMONE_TEST_SEED=%" PRIu64 "\n", seed);
    }
    return seed;
}

uint64_t test_splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void test_rng_init(struct test_rng *rng, uint64_t stream)
{
    uint64_t state = stream;

    state = test_seed() ^ test_splitmix64(&state);
    for (int i = 0; i < 4; i++)
        rng->s[i] = test_splitmix64(&state);
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t test_rng_u64(struct test_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint32_t test_rng_u32(struct test_rng *rng)
{
    return (uint32_t)(test_rng_u64(rng) >> 32);
}

bool test_rng_bool(struct test_rng *rng)
{
    return test_rng_u64(rng) >> 63;
}

int64_t test_rng_range(struct test_rng *rng, int64_t lo, int64_t hi)
{
    uint64_t span = (uint64_t)hi - (uint64_t)lo;
    uint64_t mask = span == 0 ? 0 : UINT64_MAX >> __builtin_clzll(span);
    uint64_t offset;

    do {
        offset = test_rng_u64(rng) & mask;
    } while (offset > span);
    return (int64_t)((uint64_t)lo + offset);
}

double test_rng_unit(struct test_rng *rng)
{
    return (double)(test_rng_u64(rng) >> 11) * 0x1p-53;
}

void test_rng_bytes(struct test_rng *rng, void *bytes, size_t size)
{
    uint8_t *out = bytes;

    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(test_rng_u64(rng) >> 56);
}

uint16_t test_rng_fp16_finite(struct test_rng *rng, double scale)
{
    double limit = scale > 65504.0 ? 65504.0 : scale;

    return test_half_from_double((2.0 * test_rng_unit(rng) - 1.0) * limit);
}

uint16_t test_rng_fp16_any(struct test_rng *rng)
{
    return (uint16_t)(test_rng_u64(rng) >> 48);
}

bool test_half_is_nan(uint16_t half)
{
    return (half & 0x7fff) > 0x7c00;
}

double test_half_to_double(uint16_t half)
{
    uint64_t sign = (uint64_t)(half >> 15) << 63;
    uint64_t exponent = (half >> 10) & 0x1f;
    uint64_t fraction = half & 0x3ff;
    uint64_t bits;
    double value;

    if (exponent == 0x1f) {
        bits = UINT64_C(0x7ff) << 52 | fraction << 42;
        if (fraction != 0)
            bits |= UINT64_C(1) << 51;
    } else if (exponent != 0) {
        bits = (exponent - 15 + 1023) << 52 | fraction << 42;
    } else if (fraction != 0) {
        /* subnormal: its top bit becomes the hidden one */
        int top = 63 - __builtin_clzll(fraction);

        bits = (uint64_t)(top - 24 + 1023) << 52 | (fraction << (52 - top) & ((UINT64_C(1) << 52) - 1));
    } else {
        bits = 0;
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* significand >> shift, half to even; 0 < shift < 64 */
static uint64_t shift_to_even(uint64_t significand, int shift)
{
    uint64_t kept = significand >> shift;
    uint64_t dropped = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);

    return kept + (dropped > half || (dropped == half && (kept & 1)));
}

uint16_t test_half_from_double(double value)
{
    uint64_t bits;
    uint64_t fraction;
    uint16_t sign;
    int exponent;

    memcpy(&bits, &value, sizeof(bits));
    sign = (uint16_t)(bits >> 48 & 0x8000);
    exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    fraction = bits & ((UINT64_C(1) << 52) - 1);

    if (exponent == 1024)
        return (uint16_t)(sign | 0x7c00 | (fraction != 0 ? 0x200 | fraction >> 42 : 0));
    if (exponent > 15)
        return sign | 0x7c00;
    if (exponent >= -14) {
        /* a carry out of the fraction moves into the exponent, up to infinity, as it should */
        uint64_t rounded = shift_to_even((uint64_t)(exponent + 15) << 52 | fraction, 42);

        return (uint16_t)(sign | rounded);
    }
    if (exponent < -25)
        return sign;
    return (uint16_t)(sign | shift_to_even(fraction | UINT64_C(1) << 52, 42 + (-14 - exponent)));
}
