/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycles. A state outside its table is never allowed, neither before nor after a transition. */
#include "driver/lifecycle.h"

#include <stdio.h>
#include <stdlib.h>

bool drv_lifecycle_allows(const struct drv_lifecycle *cycle, unsigned from, unsigned to)
{
    return from < cycle->states && to < cycle->states && cycle->state[from].next >> to & 1;
}

static const char *state_name(const struct drv_lifecycle *cycle, unsigned state)
{
    return state < cycle->states ? cycle->state[state].name : "no state";
}

void drv_lifecycle_check(const struct drv_lifecycle *cycle, unsigned from, unsigned to)
{
    if (drv_lifecycle_allows(cycle, from, to))
        return;
    fprintf(stderr,
            "The driver was about to change a %s from state %u (%s) to state %u (%s), which its table of "
            "transitions does not allow. This is an error of the driver; please report it.\n",
            cycle->noun, from, state_name(cycle, from), to, state_name(cycle, to));
    abort();
}
