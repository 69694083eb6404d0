/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power-state registers of the engine's partitions. When the host switches any of them off, the engine's
 * state is lost. When the controller does, the partition's clock is gated and its state is kept (CHOSEN).
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
    uint32_t gated;                          /* a bit per partition whose clock the controller gates */
    uint32_t off;                            /* a bit per partition without power */
    void (*lost)(void *context);             /* a partition went off: wired to the engine's reset */
    void (*gate)(void *context, bool gated); /* the first clock is gated, or the last no longer is */
    void *context;
};

/* All partitions on: the state in which the boot loader leaves them (chosen). */
void soc_pmu_init(struct soc_pmu *pmu, struct soc_trace *trace, void (*lost)(void *context),
                  void (*gate)(void *context, bool gated), void *context);
/* All partitions have power; the clocks of some may be gated. */
static inline bool soc_pmu_on(const struct soc_pmu *pmu)
{
    return !pmu->off;
}

uint32_t soc_pmu_read32(void *pmu, enum soc_master master, uint32_t offset);
void soc_pmu_write32(void *pmu, enum soc_master master, uint32_t offset, uint32_t value);

#endif
