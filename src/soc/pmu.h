/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power-state registers of the engine's partitions. Switching any of them off loses the engine's state.
 */
#ifndef SOC_PMU_H
#define SOC_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/board.h"
#include "soc/bus.h"

struct soc_trace;

struct soc_pmu {
    struct soc_trace *trace;
    uint32_t state[PR_PMU_DOMAINS];
    void (*lost)(void *context); /* a partition went off: wired to the engine's reset */
    void *context;
};

/* All partitions on: the state in which the boot loader leaves them (chosen). */
void soc_pmu_init(struct soc_pmu *pmu, struct soc_trace *trace, void (*lost)(void *context), void *context);
bool soc_pmu_on(const struct soc_pmu *pmu); /* all partitions */
uint32_t soc_pmu_read32(void *pmu, enum soc_master master, uint32_t offset);
void soc_pmu_write32(void *pmu, enum soc_master master, uint32_t offset, uint32_t value);

#endif
