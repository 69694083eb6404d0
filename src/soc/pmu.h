/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the power managers that the engine and its DARTs need. A domain has power while its word asks
 * for it and its parent has power. A block (enum pr_powered) serves accesses while every domain that powers
 * it has power and is not under reset. When the host switches a domain off, what it and its children power
 * loses its state; what other domains power does not. When the controller does, the clock is gated and the
 * state kept (CHOSEN).
 */
#ifndef SOC_PMU_H
#define SOC_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/board.h"
#include "soc/bus.h"

struct soc_trace;

#define SOC_PMU_PAGES 2u

struct soc_pmu {
    const struct pr_board *board;
    struct soc_trace *trace;
    uint32_t word[PR_DOMAINS_MAX];
    uint32_t gated; /* a bit per domain whose clock is gated */
    uint32_t off;   /* a bit per domain without power */
    uint32_t dead;  /* a bit per enum pr_powered that serves no access */
    /* Blocks lost their state: a domain went off, or was reset. */
    void (*lost)(void *context, uint32_t blocks);
    void (*gate)(void *context, bool gated); /* the first clock is gated, or the last no longer is */
    void *context;
    struct soc_pmu_page {
        struct soc_pmu *pmu;
        uint64_t base;
    } page[SOC_PMU_PAGES];
};

/* All domains on: the state in which the boot loader leaves them (chosen). The context is that of both. */
void soc_pmu_init(struct soc_pmu *pmu, const struct pr_board *board, struct soc_trace *trace,
                  void (*lost)(void *context, uint32_t blocks), void (*gate)(void *context, bool gated),
                  void *context);
/* Attaches the pages that have a word; what else is in them reads 0. */
int soc_pmu_attach(struct soc_pmu *pmu, struct soc_bus *bus, struct base_error *error);

/* All of these blocks serve accesses; clocks may be gated. */
static inline bool soc_pmu_serves(const struct soc_pmu *pmu, uint32_t blocks)
{
    return !(pmu->dead & blocks);
}

/* A word by its physical address; one that no domain has reads 0, and a store to it has no effect. */
uint32_t soc_pmu_read32(const struct soc_pmu *pmu, uint64_t address);
void soc_pmu_write32(struct soc_pmu *pmu, enum soc_master master, uint64_t address, uint32_t value);

#endif
