/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's registers. The level of each line follows from what is pending for that side: every access
 * that changes it updates the lines before it returns.
 */
#include "soc/controller.h"

#include <string.h>

#include "base/array.h"
#include "soc/clock.h"
#include "soc/lines.h"
#include "soc/trace.h"

static void update_lines(struct soc_controller *c)
{
    soc_lines_set(c->lines, c->doorbell_line, c->doorbell_pending || c->scratch_rang);
    soc_lines_set(c->lines, c->host_line, c->host_pending != 0);
}

/* Doorbells on their way. */

static void arrive(void *context);

static void await_oldest(struct soc_controller *c)
{
    const uint64_t now = soc_clock_now(c->clock), due = c->way.doorbell[c->way.first].due;

    c->way.event = c->way.count
                       ? soc_clock_after(c->clock, due > now ? due - now : 0, SOC_EVENT_FOREGROUND, arrive, c)
                       : 0;
}

static void arrive(void *context)
{
    struct soc_controller *c = context;

    c->doorbell_pending |= c->way.doorbell[c->way.first].value;
    c->way.first = (c->way.first + 1) % SOC_CONTROLLER_ON_WAY;
    c->way.count--;
    await_oldest(c);
    update_lines(c);
}

/* Without an event of the clock for it, a doorbell arrives at once. */
static void take_doorbell(struct soc_controller *c, uint32_t value)
{
    uint32_t last = c->way.first + c->way.count;

    if (!c->pick_up_ns) {
        c->doorbell_pending |= value;
    } else if (c->way.count == SOC_CONTROLLER_ON_WAY) {
        c->way.doorbell[(last - 1) % SOC_CONTROLLER_ON_WAY].value |= value;
    } else {
        last %= SOC_CONTROLLER_ON_WAY;
        c->way.doorbell[last].due = soc_clock_now(c->clock) + c->pick_up_ns;
        c->way.doorbell[last].value = value;
        c->way.count++;
        if (!c->way.event)
            await_oldest(c);
        if (!c->way.event)
            arrive(c);
    }
}

/* The controller was reset or started: what was rung before is not for it. */
static void forget_doorbells(struct soc_controller *c)
{
    if (c->way.event)
        soc_clock_cancel(c->clock, c->way.event);
    c->way.event = 0;
    c->way.count = 0;
    c->doorbell_pending = 0;
}

void soc_controller_reset(struct soc_controller *c)
{
    memset(c->scratch, 0, sizeof(c->scratch));
    forget_doorbells(c);
    c->host_pending = 0;
    c->scratch_rang = false;
    if (!(c->rvbar & PR_RVBAR_LOCK))
        c->rvbar = 0;
    if (c->cpu_control & PR_CPU_RUN)
        c->processor(c->context, false);
    c->cpu_control = 0;
    update_lines(c);
}

_Static_assert((int)PR_CTRL_RVBAR_LO == (int)PR_CTRL_WINDOW_VECTOR, "the low word is first in its window");

static uint32_t vector_read(void *context, enum soc_master master, uint32_t offset)
{
    const struct soc_controller *c = context;

    (void)master;
    switch (offset + PR_CTRL_WINDOW_VECTOR) {
    case PR_CTRL_RVBAR_LO: return (uint32_t)c->rvbar;
    case PR_CTRL_RVBAR_HI: return (uint32_t)(c->rvbar >> 32);
    case PR_CTRL_CHIP_REVISION: return c->revision;
    default: return 0;
    }
}

/* After the low word has been written with bit 0 set, the register is locked. */
static void vector_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct soc_controller *c = context;

    (void)master;
    if (c->rvbar & PR_RVBAR_LOCK)
        return;
    if (offset == 0)
        c->rvbar = (c->rvbar & ~0xffffffffull) | value;
    if (offset == 4)
        c->rvbar = (c->rvbar & 0xffffffffull) | (uint64_t)value << 32;
}

static uint32_t cpu_status(const struct soc_controller *c)
{
    if (!(c->cpu_control & PR_CPU_RUN))
        return PR_CPU_STATUS_PARKED;
    return c->alive(c->context) ? PR_CPU_STATUS_RUNNING : PR_CPU_STATUS_STOPPED;
}

static uint32_t cpu_read(void *context, enum soc_master master, uint32_t offset)
{
    const struct soc_controller *c = context;

    (void)master;
    if (offset == PR_CTRL_CPU_CONTROL - PR_CTRL_WINDOW_CPU)
        return c->cpu_control;
    if (offset == PR_CTRL_CPU_STATUS - PR_CTRL_WINDOW_CPU)
        return cpu_status(c);
    return 0;
}

static void cpu_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct soc_controller *c = context;
    bool was = c->cpu_control & PR_CPU_RUN, run = value & PR_CPU_RUN;

    (void)master;
    if (offset != PR_CTRL_CPU_CONTROL - PR_CTRL_WINDOW_CPU)
        return;
    c->cpu_control = value;
    SOC_TRACE(c->trace, ASC_CPU, value);
    if (!was && run) {
        /* Otherwise the line would stay high, and the host's next doorbell would not make an edge. */
        forget_doorbells(c);
        update_lines(c);
    }
    if (was != run)
        c->processor(c->context, run);
}

#define REG(id) (PR_CTRL_##id - PR_CTRL_WINDOW_MAILBOX)

static bool scratch_at(uint32_t offset, uint32_t *number)
{
    *number = (offset - REG(SCRATCH0)) / 4;
    return offset >= REG(SCRATCH0) && *number < PR_SCRATCH_COUNT;
}

static uint32_t mailbox_read(void *context, enum soc_master master, uint32_t offset)
{
    struct soc_controller *c = context;
    uint32_t number;

    if (scratch_at(offset, &number)) {
        if (master == SOC_MASTER_CONTROLLER && c->scratch_rang) {
            c->scratch_rang = false;
            update_lines(c);
        }
        return c->scratch[number];
    }
    switch (offset) {
    case REG(HOST_PENDING): return c->host_pending;
    case REG(DOORBELL_PENDING): return c->doorbell_pending;
    default: return 0;
    }
}

static void scratch_write(struct soc_controller *c, enum soc_master master, uint32_t number, uint32_t value)
{
    c->scratch[number] = value;
    SOC_TRACE(c->trace, ASC_SCRATCH, master == SOC_MASTER_CONTROLLER ? "controller" : "host", number, value);
    if (master == SOC_MASTER_HOST && (number == 3 || number == 7))
        c->scratch_rang = true;
}

static void mailbox_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct soc_controller *c = context;
    uint32_t number;

    if (scratch_at(offset, &number)) {
        scratch_write(c, master, number, value);
    } else {
        switch (offset) {
        case REG(DOORBELL):
            SOC_TRACE(c->trace, ASC_DOORBELL, "host", value);
            take_doorbell(c, value);
            break;
        case REG(HOST_DOORBELL):
            SOC_TRACE(c->trace, ASC_DOORBELL, "controller", value);
            c->host_pending |= value;
            break;
        case REG(HOST_ACK): c->host_pending &= ~value; break;
        case REG(DOORBELL_ACK): c->doorbell_pending &= ~value; break;
        default: return;
        }
    }
    update_lines(c);
}

static void store_doorbell(struct soc_controller *c, uint64_t address, uint32_t value)
{
    if (!(c->sysreg.l2c_err_sts & PR_FABRIC_PATH)) {
        c->doorbells_lost++;
        SOC_TRACE(c->trace, ASC_DOORBELL_LOST, address, value);
        return;
    }
    if (c->sysreg.l2c_err_sts & PR_FABRIC_WINDOW) {
        c->sysreg.l2c_err_sts |= PR_FABRIC_REJECT;
        SOC_TRACE(c->trace, ASC_DOORBELL_REJECTED);
        return;
    }
    soc_bus_write32(c->bus, SOC_MASTER_CONTROLLER, address, value);
}

void soc_controller_store(struct soc_controller *c, uint64_t address, uint32_t value)
{
    if (address == c->container + PR_CTRL_HOST_DOORBELL || address == PR_GPU_DOORBELL)
        store_doorbell(c, address, value);
    else
        soc_bus_write32(c->bus, SOC_MASTER_CONTROLLER, address, value);
}

int soc_controller_attach(struct soc_controller *controller, struct soc_bus *bus, uint64_t container,
                          struct base_error *error)
{
    const struct soc_block blocks[] = {
        {"controller-vector", container + PR_CTRL_WINDOW_VECTOR, PR_CTRL_WINDOW_VECTOR_BYTES, vector_read,
         vector_write, controller, NULL},
        {"controller-cpu", container + PR_CTRL_WINDOW_CPU, PR_CTRL_WINDOW_CPU_BYTES, cpu_read, cpu_write,
         controller, NULL},
        {"controller-mailbox", container + PR_CTRL_WINDOW_MAILBOX, PR_CTRL_WINDOW_MAILBOX_BYTES, mailbox_read,
         mailbox_write, controller, NULL},
    };
    int status = 0;

    controller->bus = bus;
    controller->container = container;
    for (unsigned i = 0; i < BASE_COUNT_OF(blocks) && !status; i++)
        status = soc_bus_attach(bus, &blocks[i], error);
    return status;
}
