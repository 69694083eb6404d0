/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power-state registers. A partition that leaves the state on calls `lost` once, after its register has
 * changed.
 */
#include "soc/pmu.h"

#include "soc/trace.h"

#define TARGET_MASK 0xfu

void soc_pmu_init(struct soc_pmu *pmu, struct soc_trace *trace, void (*lost)(void *context), void *context)
{
    *pmu = (struct soc_pmu){.trace = trace, .lost = lost, .context = context};
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        pmu->state[i] = PR_PMU_READY;
}

bool soc_pmu_on(const struct soc_pmu *pmu)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        if ((pmu->state[i] & 0xff) != PR_PMU_READY)
            return false;
    return true;
}

static bool domain_at(uint32_t offset, uint32_t *domain)
{
    *domain = offset / PR_PMU_STRIDE;
    return offset % PR_PMU_STRIDE == 0 && *domain < PR_PMU_DOMAINS;
}

uint32_t soc_pmu_read32(void *context, enum soc_master master, uint32_t offset)
{
    const struct soc_pmu *pmu = context;
    uint32_t domain;

    (void)master;
    return domain_at(offset, &domain) ? pmu->state[domain] : 0;
}

void soc_pmu_write32(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct soc_pmu *pmu = context;
    uint32_t domain, target = value & TARGET_MASK;
    bool was_on;

    (void)master;
    if (!domain_at(offset, &domain))
        return;
    was_on = (pmu->state[domain] & 0xff) == PR_PMU_READY;
    /* The actual state follows the target at once, because switching time is not modelled. */
    pmu->state[domain] = (value & ~0xffu) | target << 4 | target;
    SOC_TRACE(pmu->trace, PMU_STATE, domain, pmu->state[domain]);
    if (was_on && target != PR_PMU_ON)
        pmu->lost(pmu->context);
}
