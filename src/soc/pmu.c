/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power-state registers. A partition that loses power calls `lost` once, after its register has changed. A
 * gated partition has power: only a store of the host takes it away. `off` follows every change of `state`
 * and `gated` before a function outside is called, so that an access to the engine tests one word.
 */
#include "soc/pmu.h"

#include "soc/trace.h"

#define TARGET_MASK 0xfu

void soc_pmu_init(struct soc_pmu *pmu, struct soc_trace *trace, void (*lost)(void *context),
                  void (*gate)(void *context, bool gated), void *context)
{
    *pmu = (struct soc_pmu){.trace = trace, .lost = lost, .gate = gate, .context = context};
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        pmu->state[i] = PR_PMU_READY;
}

static void update_off(struct soc_pmu *pmu, unsigned domain)
{
    const bool powered = (pmu->state[domain] & 0xff) == PR_PMU_READY || pmu->gated >> domain & 1;

    pmu->off = powered ? pmu->off & ~(1u << domain) : pmu->off | 1u << domain;
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

/* A store of the controller to a partition without power gates nothing. */
static void set_gate(struct soc_pmu *pmu, uint32_t domain, bool gated)
{
    const uint32_t before = pmu->gated;

    pmu->gated = gated ? before | 1u << domain : before & ~(1u << domain);
    update_off(pmu, domain);
    if (!before != !pmu->gated)
        pmu->gate(pmu->context, pmu->gated != 0);
}

void soc_pmu_write32(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct soc_pmu *pmu = context;
    uint32_t domain, target = value & TARGET_MASK;
    bool was_on, gates = master == SOC_MASTER_CONTROLLER;

    if (!domain_at(offset, &domain))
        return;
    was_on = !(pmu->off >> domain & 1);
    /* The actual state follows the target at once, because switching time is not modelled. */
    pmu->state[domain] = (value & ~0xffu) | target << 4 | target;
    update_off(pmu, domain);
    SOC_TRACE(pmu->trace, PMU_STATE, domain, pmu->state[domain]);
    if (was_on && !gates && target != PR_PMU_ON)
        pmu->lost(pmu->context);
    set_gate(pmu, domain, gates && was_on && target != PR_PMU_ON);
}
