/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guarded doorbell. The store is forwarded only while bit 39 of the fabric register is clear; the barrier
 * after it latches the answer in bits 1 and 7.
 */
#include "firmware/doorbell.h"

#include "firmware/log.h"
#include "firmware/shared.h"
#include "protocol/log_line.h"
#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/port.h"

static uint64_t fabric_read(struct fw *fw)
{
    return rt_port_sysreg_read(fw->port, RT_SYSREG_S3_3_C15_C8_0);
}

static void fabric_write(struct fw *fw, uint64_t value)
{
    rt_port_sysreg_write(fw->port, RT_SYSREG_S3_3_C15_C8_0, value);
}

/* Listing 29.3, step by step. False: the transaction was rejected. */
static bool emit(struct fw *fw, uint64_t target, uint32_t bits, bool dumping)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    bool accepted = true;
    uint64_t status;

    fabric_write(fw, fabric_read(fw) & ~PR_FABRIC_WINDOW);
    rt_port_write32(fw->port, target, bits);
    rt_port_barrier(fw->port);
    status = fabric_read(fw);
    if (status & PR_FABRIC_UNCORRECTABLE && !dumping)
        rt_fault_assert(fw->kernel, PR_LINE_L2C);
    if (status & PR_FABRIC_REJECT) {
        accepted = false;
        fabric_write(fw, status & ~(PR_FABRIC_UNCORRECTABLE | PR_FABRIC_REJECT));
    }
    fabric_write(fw, fabric_read(fw) | PR_FABRIC_WINDOW);
    rt_irq_restore(fw->kernel, previous);
    return accepted;
}

/* Bits whose store was rejected go with the next ring of that target. */
static void ring(struct fw *fw, struct fw_target *target, uint32_t bits)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    unsigned tries = 0;

    target->unrung |= bits;
    while (tries < FW_RING_TRIES && !emit(fw, target->address, target->unrung, false))
        tries++;
    if (tries < FW_RING_TRIES)
        target->unrung = 0;
    else
        fw_register_write(fw, PR_CTRL_SCRATCH(PR_SCRATCH_REJECTED), ++fw->rejected);
    if (target->unrung)
        fw_log_quiet(fw, RT_LOG_ERROR, "doorbell 0x%x was rejected %u times", target->unrung, FW_RING_TRIES);
    rt_irq_restore(fw->kernel, previous);
}

void fw_doorbell_ring(struct fw *fw, enum pr_channel channel)
{
    ring(fw, &fw->target[0], 1u << pr_channel_table[channel].bit);
}

void fw_doorbell_complete(struct fw *fw, enum pr_channel channel)
{
    ring(fw, &fw->target[0], 1u << pr_channel_table[channel].bit | fw->target[0].bits);
    for (unsigned i = 1; i < PR_DOORBELL_TARGETS; i++)
        if (fw->target[i].bits)
            ring(fw, &fw->target[i], fw->target[i].bits);
}

/* The targets may have been bound anew since a cache request named them. */
void fw_doorbell_signal(struct fw *fw, uint32_t targets)
{
    for (unsigned i = 0; i < PR_DOORBELL_TARGETS; i++)
        if (targets >> i & 1 && fw->target[i].bits)
            ring(fw, &fw->target[i], fw->target[i].bits);
}

void fw_doorbell_crash(struct fw *fw)
{
    for (unsigned tries = 0; tries < FW_RING_TRIES; tries++)
        if (emit(fw, fw->target[0].address, 1u << PR_DOORBELL_CRASH, true))
            return;
}
