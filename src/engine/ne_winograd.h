/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by Winograd's F(2x2, 3x3): fewer products, other rounding. The result differs from that of the
 * sum of products, and is the same for every instruction set and number of threads.
 */
#ifndef ENGINE_NE_WINOGRAD_H
#define ENGINE_NE_WINOGRAD_H

#include "engine/ne.h"

/*
 * Whether a group may be computed so: the task has the form, is large enough to gain, and its numbers are
 * such that neither a partial sum nor a result can reach the ceiling or be other than finite. That depends on
 * the task and its data alone.
 */
bool eng_winograd_fits(const struct eng_ne *ne);
/* -ENOMEM when there is no working memory; nothing was written then. */
int eng_ne_winograd(const struct eng_ne *ne);

#endif
