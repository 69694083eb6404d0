/* SPDX-License-Identifier: Apache-2.0 */
/* 0 is not a class, so it can mean "unknown". */
#include "driver/usage.h"

uint32_t drv_usage_class(uint32_t usage)
{
    switch (usage) {
#define X(id, code, class, words, role) \
    case code: return class;
        PR_USAGES(X)
#undef X
    default: return 0;
    }
}
