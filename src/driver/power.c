/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power. `powered` is true from the moment every domain is on until the first is switched off. In between the
 * registers of the DARTs hold what the driver wrote; page tables are in DRAM and outlive a power cycle, so
 * after one only page-table roots and stream enables are written again, for each domain that is open.
 */
#include "driver/power.h"

#include <errno.h>

#include "driver/domain.h"
#include "driver/protection.h"

static uint64_t power_word(const struct drv *d, unsigned domain)
{
    return d->aperture[PR_APERTURE_PS].base + domain * PR_PMU_STRIDE;
}

static uint32_t power_state(struct drv *d, unsigned domain)
{
    return soc_bus_read32(d->platform.bus, SOC_MASTER_HOST, power_word(d, domain)) & 0xff;
}

bool drv_power_is_on(struct drv *d)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        if (power_state(d, i) != PR_PMU_READY)
            return false;
    return true;
}

void drv_power_off(struct drv *d)
{
    d->powered = false;
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, power_word(d, i), PR_PMU_OFF);
}

void drv_power_request(struct drv *d)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, power_word(d, i), PR_PMU_ON);
}

/* The base domain always; a client's when it has one. */
static int restore_darts(struct drv *d, struct base_error *error)
{
    for (unsigned i = 0; i < PR_DART_DOMAINS; i++)
        if ((i == 0 || drv_protection_is_open(&d->domain[i])) && drv_domain_open(d, &d->domain[i]))
            return base_fail(error, ENOMEM, "No memory for the base domain's page table.");
    return 0;
}

int drv_power_resume(struct drv *d, bool late, struct base_error *error)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++) {
        uint32_t state = power_state(d, i);

        if (state != PR_PMU_READY)
            return late ? base_fail(error, ETIMEDOUT,
                                    "Power domain %u did not come on: its state is 0x%x, not 0x%x.", i, state,
                                    PR_PMU_READY)
                        : 1;
    }
    d->powered = true;
    return restore_darts(d, error);
}
