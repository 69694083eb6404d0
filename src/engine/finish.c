/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a neural-engine task: the reference, whose bits the fast finish must reproduce. */
#include "engine/finish.h"

#include <math.h>

float eng_finish_enter(float value, unsigned rules)
{
    if (isnan(value))
        return rules & ENG_RULE_NAN_IS_ZERO ? 0 : value;
    if (fabsf(value) >= ENG_CEILING && rules & ENG_RULE_CEILING)
        return copysignf(INFINITY, value);
    return value;
}

/* Separate fp32 operations, in this order; the constant of an absent step leaves the value unchanged. */
float eng_finish_value(const struct eng_finish *finish, float sum, float bias)
{
    float v = sum * finish->unscale + bias;

    v = v + finish->acc_bias;
    v = v * finish->post_scale;
    if (finish->table)
        return eng_table_value(finish->table, eng_finish_enter(v, finish->enter));
    return finish->relu ? eng_relu(v) : v;
}
