/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong on a machine: the registers of the board that belong to faults, the panic, and what its
 * owner may read afterwards, the model's last finding and the driver's last fault.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine/internal.h"
#include "program/td.h"
#include "protocol/dart_error.h"
#include "protocol/tm_regs.h"

/* The DART's fourth window: what is in it is not public, so it reads 0 and a write has no effect. */
static uint32_t fourth_read(void *context, enum soc_master master, uint32_t offset)
{
    (void)master;
    (void)offset;
    (void)mach_powered(context, mach_dart_needs(context, 0), "dart");
    return 0;
}

static void fourth_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct ane_machine *m = context;

    (void)master;
    if (mach_powered(m, mach_dart_needs(m, 0), "dart"))
        SOC_TRACE(&m->trace, DART_WRITE_IGNORED, PR_DART_COUNT, offset, value, "?", "unknown");
}

/* The engine's status word: what the power states and the task manager make of it. */
static uint32_t status_read(void *context, enum soc_master master, uint32_t offset)
{
    static const uint32_t word[] = {[ENG_IDLE] = PR_ENGINE_STATUS_IDLE,
                                    [ENG_RUNNING] = PR_ENGINE_STATUS_RUNNING,
                                    [ENG_FAULTED] = PR_ENGINE_STATUS_FAULTED};
    struct ane_machine *m = context;

    (void)master;
    if (offset != PR_ENGINE_STATUS % SOC_BUS_GRANULE)
        return 0;
    return soc_pmu_serves(&m->pmu, PR_POWERED_BIT(PR_POWERED_ENGINE)) ? word[eng_condition(m->engine)]
                                                                      : PR_ENGINE_STATUS_OFF;
}

static void status_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    (void)context, (void)master, (void)offset, (void)value;
}

int mach_fault_attach(struct ane_machine *m, struct base_error *error)
{
    struct soc_block fourth = {
        .name = "dart3",
        .base = m->board->dapf,
        .bytes = PR_DART_WINDOW_BYTES,
        .read = fourth_read,
        .write = fourth_write,
        .context = m,
    };
    struct soc_block condition = {
        .name = "status",
        .base = m->board->container + PR_ENGINE_STATUS / SOC_BUS_GRANULE * SOC_BUS_GRANULE,
        .bytes = SOC_BUS_GRANULE,
        .read = status_read,
        .write = status_write,
        .context = m,
    };
    int status = soc_bus_attach(m->bus, &fourth, error);

    return status ? status : soc_bus_attach(m->bus, &condition, error);
}

void mach_panic(void *context, const char *sentence)
{
    struct ane_machine *m = context;

    if (!m->panic.text[0])
        snprintf(m->panic.text, sizeof(m->panic.text), "panic: REQUIRE failed in dart-ane0: %.400s",
                 sentence);
}

bool mach_panicked(const struct ane_machine *m)
{
    if (!m->panic.text[0])
        return false;
    base_fail(mach_error(), EIO, "The machine has stopped: \"%.440s\" Make a new one.", m->panic.text);
    return true;
}

static int refuse_size(const char *what, size_t size)
{
    return base_fail(mach_error(), EINVAL, "The %s's size must be %zu.", what, size);
}

/* The names of the place, and what is known of the kind. */
static void describe(struct ane_machine_problem *problem, const struct pr_problem *found)
{
    enum pr_outcome outcome = found->outcome ? found->outcome : pr_problem_outcome(found->kind);
    struct pr_text reg, field;

    pr_text_init(&reg, problem->reg_name, sizeof(problem->reg_name));
    pr_text_init(&field, problem->field_name, sizeof(problem->field_name));
    pr_td_place(found, &reg, &field);
    problem->reg = found->reg ? found->address : 0;
    problem->kind_name = pr_problem_kind_text(found->kind);
    problem->outcome = pr_outcome_text(outcome);
    problem->advice = pr_problem_advice(found->kind);
}

static int problem_get(struct ane_machine *m, struct ane_machine_problem *problem)
{
    const struct eng_problem *last = eng_problem_get(m->engine);

    if (!problem || problem->size != sizeof(*problem))
        return refuse_size("problem", sizeof(*problem));
    if (!last->count)
        return base_fail(mach_error(), ENOENT, "The engine has refused nothing so far.");
    *problem = (struct ane_machine_problem){
        .size = sizeof(*problem),
        .count = last->count,
        .kind = (uint32_t)last->problem.kind,
        .queue = last->queue,
        .descriptor = last->problem.descriptor,
        .address = last->address,
        .offset = last->problem.offset,
        .bits = last->problem.bits,
    };
    _Static_assert(sizeof(problem->text) == sizeof(last->problem.text), "one size of a sentence");
    memcpy(problem->text, last->problem.text, sizeof(problem->text));
    describe(problem, &last->problem);
    return 0;
}

int ane_machine_problem(struct ane_machine *machine, struct ane_machine_problem *problem)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = problem_get(machine, problem);
    mach_leave(machine);
    return status;
}

static int fault_get(struct ane_machine *m, struct ane_machine_fault *fault)
{
    const struct drv_fault_report *last;

    if (!fault || fault->size != sizeof(*fault))
        return refuse_size("fault", sizeof(*fault));
    last = m->driver ? drv_fault_last(m->driver) : NULL;
    if (!last || !last->count)
        return base_fail(mach_error(), ENOENT, "The driver has seen no DART fault.");
    *fault = (struct ane_machine_fault){
        .size = sizeof(*fault),
        .count = last->count,
        .time = last->time,
        .snapshot = last->snapshot,
        .address = last->address,
        .page = last->address & ~(uint64_t)(PR_PAGE_BYTES - 1),
        .dart = (uint32_t)last->info.axi_id[0],
        .status = last->info.hw_status,
        .stream = last->info.sid,
        .write = last->info.is_write,
        .ttbr_index = last->info.ttbr_index,
        .l2_index = last->info.l2_index,
        .l3_index = last->info.l3_index,
        .engine_status = last->engine_status,
        .benign = last->benign,
        .client = last->client,
        .program = last->program,
        .procedure = last->procedure,
        .descriptor = last->descriptor,
        .transfer = last->dma ? pr_tm_dma_text(last->dma) : "",
        .type = pr_dart_fault_type_text(last->info.type),
        .why = pr_dart_error_text(last->info.hw_status),
    };
    _Static_assert(sizeof(fault->name) == sizeof(last->name) && sizeof(fault->text) == sizeof(last->text) &&
                       sizeof(fault->tensor) == sizeof(last->tensor),
                   "one size of each text");
    memcpy(fault->name, last->name, sizeof(fault->name));
    memcpy(fault->tensor, last->tensor, sizeof(fault->tensor));
    memcpy(fault->text, last->text, sizeof(fault->text));
    return 0;
}

int ane_machine_fault(struct ane_machine *machine, struct ane_machine_fault *fault)
{
    int status;

    if (!mach_enter_dead(machine))
        return -EPERM;
    status = fault_get(machine, fault);
    mach_leave(machine);
    return status;
}
