/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System registers of the controller's processor, and error capture. The fabric register (Table 29.5) has two
 * bits that software owns, the path and the window. Status bits are set by hardware alone: software clears
 * them by writing 0, and writing 1 has no effect.
 */
#include "soc/controller.h"
#include "soc/trace.h"

#define LINKS (PR_FABRIC_LINK | PR_FABRIC_LINK2)

void soc_controller_sysreg_reset(struct soc_controller *c)
{
    c->sysreg = (struct soc_sysregs){.l2c_err_sts = PR_FABRIC_RESET, .pwr_dn_save = c->sysreg.pwr_dn_save};
}

bool soc_controller_sysreg_read(const struct soc_controller *c, uint32_t id, uint64_t *value)
{
    switch (id) {
    case PR_SYSREG_L2C_ERR_STS: *value = c->sysreg.l2c_err_sts; return true;
    case PR_SYSREG_L2C_ERR_ADR: *value = c->sysreg.l2c_err_adr; return true;
    case PR_SYSREG_L2C_ERR_INF: *value = c->sysreg.l2c_err_inf; return true;
    case PR_SYSREG_LSU_ERR_STS: *value = c->sysreg.lsu_err_sts; return true;
    case PR_SYSREG_FED_ERR_STS: *value = c->sysreg.fed_err_sts; return true;
    case PR_SYSREG_MMU_ERR_STS: *value = c->sysreg.mmu_err_sts; return true;
    case PR_SYSREG_PWR_DN_SAVE: *value = c->sysreg.pwr_dn_save; return true;
    case PR_SYSREG_MPIDR: *value = 0; return true;
    case PR_SYSREG_CBAR: *value = c->container; return true;
    default: return false;
    }
}

/* The links train when the path is enabled: the first is up then, the second is not in use. */
static uint64_t fabric_written(uint64_t old, uint64_t value)
{
    uint64_t status = old & value & ~PR_FABRIC_WRITABLE;

    if (value & ~old & PR_FABRIC_PATH)
        status = (status & ~LINKS) | PR_FABRIC_LINK;
    return status | (value & PR_FABRIC_WRITABLE);
}

bool soc_controller_sysreg_write(struct soc_controller *c, uint32_t id, uint64_t value)
{
    switch (id) {
    case PR_SYSREG_L2C_ERR_STS:
        c->sysreg.l2c_err_sts = fabric_written(c->sysreg.l2c_err_sts, value);
        return true;
    case PR_SYSREG_L2C_ERR_ADR: c->sysreg.l2c_err_adr &= value; return true;
    case PR_SYSREG_L2C_ERR_INF: c->sysreg.l2c_err_inf &= value; return true;
    case PR_SYSREG_LSU_ERR_STS: c->sysreg.lsu_err_sts &= value; return true;
    case PR_SYSREG_FED_ERR_STS: c->sysreg.fed_err_sts &= value; return true;
    case PR_SYSREG_MMU_ERR_STS: c->sysreg.mmu_err_sts &= value; return true;
    case PR_SYSREG_PWR_DN_SAVE: c->sysreg.pwr_dn_save = value; return true;
    default: return false;
    }
}

void soc_controller_error(struct soc_controller *c, uint64_t address, uint64_t info)
{
    struct soc_sysregs *r = &c->sysreg;
    const bool overflow = r->l2c_err_sts & PR_FABRIC_UNCORRECTABLE;

    SOC_TRACE(c->trace, ASC_CACHE_ERROR, address, info, overflow);
    if (overflow) {
        r->l2c_err_inf |= PR_L2C_INF_OVERFLOW;
        return;
    }
    r->l2c_err_sts |= PR_FABRIC_UNCORRECTABLE;
    r->l2c_err_adr = address;
    r->l2c_err_inf = info & ~PR_L2C_INF_OVERFLOW;
}

bool soc_controller_capture(struct soc_controller *c, uint32_t id, uint64_t status)
{
    switch (id) {
    case PR_SYSREG_LSU_ERR_STS: c->sysreg.lsu_err_sts |= status; return true;
    case PR_SYSREG_FED_ERR_STS: c->sysreg.fed_err_sts |= status; return true;
    case PR_SYSREG_MMU_ERR_STS: c->sysreg.mmu_err_sts |= status; return true;
    default: return false;
    }
}
