/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a neural-engine task, one value at a time: the reference for the kernels' finish. */
#ifndef ENGINE_FINISH_H
#define ENGINE_FINISH_H

#include "engine/kernels.h"

/* From the sum and the kernel's bias to the value that is stored. */
float eng_finish_value(const struct eng_finish *finish, float sum, float bias);
/*
 * The value that enters an activation table. Under the rules of a multiply-accumulate (`enter`): an
 * indeterminate form is +0, and 2^15 and above is infinite. That is decided on the fp32 value, which is not
 * rounded to fp16 before the table (chosen) and keeps small magnitudes, because an epsilon of 1e-6 is an fp16
 * denormal.
 */
float eng_finish_enter(float value, unsigned rules);

#endif
