/* SPDX-License-Identifier: Apache-2.0 */
/* The direction mapper. 0 is not a protection, so it can mean "unknown". */
#include "driver/usage.h"

#include "protocol/dart_regs.h"

static uint32_t direction_protection(enum pr_dma direction, uint32_t config)
{
    if (direction == PR_DMA_WRITE)
        return PR_PROT_DEVICE_WRITE;
    if (direction == PR_DMA_READ && !(config & PR_DART_CONFIG_NO_READ_ONLY))
        return PR_PROT_READ_ONLY;
    return PR_PROT_READ_WRITE;
}

uint32_t drv_usage_protection(uint32_t usage, uint32_t config)
{
    switch (usage) {
#define X(id, code, direction, protection, words, role) \
    case code: return direction_protection(PR_DMA_##direction, config);
        PR_USAGES(X)
#undef X
    default: return 0;
    }
}
