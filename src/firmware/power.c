/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power. The power-state register of domain 0 is the controller's own and is left alone; the others are the
 * compute islands (CHOSEN). A register follows its target at once on this board, so that one read is enough
 * to see whether it did. What an island forgets while it is off is written again when it is on.
 */
#include "firmware/power.h"

#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/prefetch.h"
#include "firmware/queue.h"
#include "firmware/secure.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"

#define FIRST_ISLAND 1u

#define BIT(device) (1u << PR_POWER_##device)

void fw_power_init(struct fw *fw)
{
    fw->power.on = BIT(ISLANDS);
}

static void write_islands(struct fw *fw, uint32_t value)
{
    for (unsigned i = FIRST_ISLAND; i < PR_PMU_DOMAINS; i++)
        rt_port_write32(fw->port, fw->power.pmu + i * PR_PMU_STRIDE, value);
}

/* The first island that is not on; PR_PMU_DOMAINS when all are. */
static unsigned find_off(struct fw *fw)
{
    for (unsigned i = FIRST_ISLAND; i < PR_PMU_DOMAINS; i++)
        if ((rt_port_read32(fw->port, fw->power.pmu + i * PR_PMU_STRIDE) & 0xff) != PR_PMU_READY)
            return i;
    return PR_PMU_DOMAINS;
}

static void switch_on(struct fw *fw)
{
    unsigned off;

    write_islands(fw, PR_PMU_ON);
    off = find_off(fw);
    if (off < PR_PMU_DOMAINS)
        fw_log(fw, RT_LOG_ERROR, "island %u stays off after its power was switched on", off);
    fw->power.on |= BIT(ISLANDS);
}

void fw_power_ungate(struct fw *fw)
{
    if (fw->power.on & BIT(ISLANDS))
        return;
    switch_on(fw);
    fw_queue_start(fw);
}

void fw_power_gate(struct fw *fw)
{
    if (!(fw->power.on & BIT(ISLANDS)))
        return;
    write_islands(fw, PR_PMU_OFF);
    fw->power.on &= ~BIT(ISLANDS);
    fw->power.gated++;
}

bool fw_power_islands(const struct fw *fw)
{
    return fw->power.on & BIT(ISLANDS);
}

void fw_power_cycle(struct fw *fw)
{
    fw_power_gate(fw);
    switch_on(fw);
}

static uint64_t fabric(struct fw *fw)
{
    return rt_port_sysreg_read(fw->port, PR_SYSREG_L2C_ERR_STS);
}

bool fw_power_gate_allowed(struct fw *fw)
{
    const uint64_t status = fabric(fw);

    if ((status & PR_FABRIC_GATE_MASK) == PR_FABRIC_GATE)
        return true;
    fw_log(
        fw, RT_LOG_WARNING,
        "the processor's power is not gated: the fabric register 0x%llx must have bit 2 set and bit 4 clear",
        (unsigned long long)status);
    return false;
}

_Noreturn void fw_power_down(struct fw *fw)
{
    (void)rt_irq_mask(fw->kernel);
    rt_port_sysreg_write(fw->port, PR_SYSREG_L2C_ERR_STS,
                         fabric(fw) & ~(PR_FABRIC_PATH | PR_FABRIC_LINK | PR_FABRIC_LINK2));
    rt_port_barrier(fw->port);
    rt_port_halt(fw->port);
}

/* The power-state registers of the board whose engine this is; 0: no board has an engine here. */
static uint64_t board_pmu(const struct fw *fw)
{
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++)
        if (pr_board_table[i].container == fw->registers)
            return pr_board_table[i].pmu;
    return 0;
}

/* Any other base would be an access to registers that may not exist, which the processor does not survive. */
enum pr_status fw_power_set_base(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_pmu *arguments = body;
    const uint64_t pmu = board_pmu(fw);

    (void)header;
    if (!arguments->base || arguments->base != pmu) {
        fw_log(fw, RT_LOG_WARNING, "PMU base 0x%llx is refused: the board's is 0x%llx",
               (unsigned long long)arguments->base, (unsigned long long)pmu);
        return PR_STATUS_BAD_ARGUMENT;
    }
    fw->power.pmu = arguments->base;
    return PR_STATUS_OK;
}

static void cache_on(struct fw *fw, bool on)
{
    fw->power.on = on ? fw->power.on | BIT(MCACHE) : fw->power.on & ~BIT(MCACHE);
    if (on)
        fw_exeloop_open(fw, FW_CLOSED_CACHE);
    else
        fw_exeloop_close(fw, FW_CLOSED_CACHE);
    if (!on)
        fw_prefetch_lose(fw);
}

enum pr_status fw_power_cache_size(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    cache_on(fw, true);
    *(struct pr_body_u32 *)body = (struct pr_body_u32){PR_MCACHE_BYTES};
    return PR_STATUS_OK;
}

/* What keeps a device from being switched by a command, or NULL. */
static const char *switch_wrong(struct fw *fw, uint32_t device, enum pr_status *status)
{
    *status = PR_STATUS_WRONG_STATE;
    if (device == PR_POWER_ISLANDS && !fw->power.pmu)
        return "the PMU's base is not set";
    if (device == PR_POWER_ISLANDS && fw->power.dynamic)
        return "the islands are switched by themselves";
    if (fw_secure_is_on(fw))
        return "the engine is in secure mode, or on the way";
    *status = PR_STATUS_BUSY;
    return fw->exeloop.active ? "calls are in flight" : NULL;
}

static enum pr_status switch_device(struct fw *fw, uint32_t device, bool on)
{
    enum pr_status status = PR_STATUS_BAD_ARGUMENT;
    const char *wrong = "there is no such device";

    if (device < PR_POWER_DEVICES) {
        if (on == (fw->power.on >> device & 1))
            return PR_STATUS_OK;
        wrong = switch_wrong(fw, device, &status);
    }
    if (wrong) {
        fw_log(fw, RT_LOG_WARNING, "power device %u is not switched %s: %s", device, on ? "on" : "off",
               wrong);
        return status;
    }
    if (device == PR_POWER_MCACHE) {
        cache_on(fw, on);
    } else if (on) {
        fw_power_ungate(fw);
        fw_exeloop_open(fw, FW_CLOSED_ISLANDS);
    } else {
        fw_exeloop_close(fw, FW_CLOSED_ISLANDS);
        fw_power_gate(fw);
    }
    return PR_STATUS_OK;
}

enum pr_status fw_power_device_on(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    return switch_device(fw, ((const struct pr_body_u32 *)body)->value, true);
}

enum pr_status fw_power_device_off(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    return switch_device(fw, ((const struct pr_body_u32 *)body)->value, false);
}

enum pr_status fw_power_dynamic(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t value = ((const struct pr_body_u32 *)body)->value;

    (void)header;
    if (value > 1) {
        fw_log(fw, RT_LOG_WARNING, "dynamic power gating is 0 or 1, not %u", value);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (!fw->power.pmu) {
        fw_log(fw, RT_LOG_WARNING, "dynamic power gating needs the PMU's base, which is not set");
        return PR_STATUS_WRONG_STATE;
    }
    if (fw_secure_is_on(fw)) {
        fw_log(fw, RT_LOG_WARNING, "dynamic power gating is not changed in secure mode, or on the way");
        return PR_STATUS_WRONG_STATE;
    }
    if (fw->exeloop.active) {
        fw_log(fw, RT_LOG_WARNING, "dynamic power gating is not changed while calls are in flight");
        return PR_STATUS_BUSY;
    }
    fw->power.dynamic = value;
    if (value && !fw->setting.property[PR_PROPERTY_PERFORMANCE])
        fw_power_gate(fw);
    else
        fw_power_ungate(fw);
    fw_exeloop_open(fw, FW_CLOSED_ISLANDS);
    return PR_STATUS_OK;
}
