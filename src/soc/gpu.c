/* SPDX-License-Identifier: Apache-2.0 */
/* The graphics processor's doorbell: one word, which counts. */
#include "soc/gpu.h"

#include "protocol/controller.h"
#include "soc/trace.h"

uint32_t soc_gpu_read32(void *context, enum soc_master master, uint32_t offset)
{
    (void)context;
    (void)master;
    (void)offset;
    return 0;
}

void soc_gpu_write32(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct soc_gpu *gpu = context;

    (void)master;
    if (offset || value != PR_GPU_DOORBELL_VALUE) {
        gpu->bad++;
        SOC_TRACE(gpu->trace, GPU_STORE_BAD, offset, value);
        return;
    }
    gpu->doorbells++;
    SOC_TRACE(gpu->trace, GPU_DOORBELL, gpu->doorbells);
}
