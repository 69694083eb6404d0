/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphics processor as far as the engine sees it: the doorbell that the controller stores to. Reads
 * give 0.
 */
#ifndef SOC_GPU_H
#define SOC_GPU_H

#include <stdint.h>

#include "soc/bus.h"

struct soc_trace;

struct soc_gpu {
    struct soc_trace *trace;
    uint64_t doorbells; /* stores of the doorbell's value */
    uint64_t bad;       /* all other stores */
};

uint32_t soc_gpu_read32(void *gpu, enum soc_master master, uint32_t offset);
void soc_gpu_write32(void *gpu, enum soc_master master, uint32_t offset, uint32_t value);

#endif
