/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage codes. The table in the header is the only list of them; 0 is never a class, so it can mean
 * "unknown".
 */
#include "driver/usage.h"

uint32_t drv_usage_class(uint32_t usage)
{
    switch (usage) {
#define X(id, code, class, role) \
    case code: return class;
        DRV_USAGES(X)
#undef X
    default: return 0;
    }
}
