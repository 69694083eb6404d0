/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sum of products, computed in the way that the published error figures of the engine suggest. All state
 * is integers in units of 2^-17, so the order of lanes matters only through groups, gaps and the ceiling.
 * Once `special` is set, only further infinities and NaNs change it. It is an inference (docs/provenance.md):
 * the constants are changed only with a published figure that contradicts them.
 */
#include "engine/exact.h"

#include <math.h>
#include <string.h>

#include "engine/kernels.h"

enum {
    GAP = 12,          /* exponents this far apart: the smaller of two products is lost inside a group */
    PRODUCT_MIN = -16, /* a product whose operands' exponents sum to less is lost */
};
#define UNITS   0x1p17 /* of the grid, in 1 */
#define CEILING ((int64_t)(ENG_CEILING * UNITS))
_Static_assert(ENG_EXACT_LEAST == (1 << (17 + PRODUCT_MIN)), "the kernels lose the same products");

void eng_exact_begin(struct eng_exact *exact)
{
    memset(exact, 0, sizeof(*exact));
}

/*
 * The value must not be zero, an fp32 denormal or infinite. No finite fp16 value other than 0 is any of
 * these.
 */
static int exponent_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (int)(bits >> 23 & 0xff) - 127;
}

/*
 * The product on the grid, cut towards zero; it is exact before that, because fp16 significands have 11 bits
 * each.
 */
static int64_t product_of(float x, float weight)
{
    if (x == 0 || weight == 0 || exponent_of(x) + exponent_of(weight) < PRODUCT_MIN)
        return 0;
    return (int64_t)((double)x * weight * UNITS);
}

static int exponent_of_units(int64_t units)
{
    return 63 - __builtin_clzll((unsigned long long)(units < 0 ? -units : units));
}

static int64_t group_add(int64_t group, int64_t product)
{
    int gap;

    if (group == 0 || product == 0)
        return group + product;
    gap = exponent_of_units(group) - exponent_of_units(product);
    if (gap >= GAP)
        return group;
    return gap <= -GAP ? product : group + product;
}

void eng_exact_add(struct eng_exact *exact, float x, float weight)
{
    int64_t sum;

    if (!isfinite(x) || !isfinite(weight))
        exact->special += x * weight;
    if (exact->special != 0)
        return;
    exact->group = group_add(exact->group, product_of(x, weight));
    sum = exact->sum + exact->group;
    /*
     * The sum is checked after every lane. Published is that a partial sum above 2^15 stays infinite even if
     * the rest would reduce it, but not at which lane of a group that is decided.
     */
    if (sum >= CEILING || sum <= -CEILING)
        exact->special = sum < 0 ? -INFINITY : INFINITY;
    if (++exact->lane == ENG_EXACT_GROUP) {
        exact->sum = sum;
        exact->group = 0;
        exact->lane = 0;
    }
}

float eng_exact_end(struct eng_exact *exact)
{
    if (exact->special != 0)
        return exact->special;
    return (float)((double)(exact->sum + exact->group) / UNITS);
}
