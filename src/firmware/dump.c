/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump. It runs in the context that failed, with interrupts masked, and calls nothing that blocks or can
 * fail again: a second fault ends in the port, without the rest of the dump. Sections are built in the state
 * and copied out, so that the host sees no half of one.
 */
#include "firmware/dump.h"

#include "base/array.h"
#include "firmware/doorbell.h"
#include "firmware/log.h"
#include "firmware/queue.h"
#include "firmware/retained.h"
#include "firmware/shared.h"
#include "rtkernel/fault.h"
#include "rtkernel/pool.h"
#include "rtkernel/task.h"

_Static_assert(RT_CALL_STACK_FRAMES <= PR_DUMP_FRAMES_MAX && RT_NAME_BYTES <= PR_DUMP_NAME_BYTES &&
                   RT_TEXT_BYTES <= PR_DUMP_TEXT_BYTES && (int)RT_TASK_COUNT <= (int)PR_DUMP_TASKS_MAX,
               "the kernel's records fit into the sections");
/* The numbers of the classes cross to the host as they are. */
_Static_assert(BASE_COUNT_OF(((struct pr_dump_call *)0)->key) == PR_KEY_PARTS, "a dump has the whole key");
#define X(id, number, name) _Static_assert((int)RT_FAULT_##id == (number), "a fault class of the protocol's");
PR_FAULT_CLASSES(X)
#undef X

static size_t exception(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_exception *section = to;

    section->fault_class = fault->fault_class;
    section->time = fault->time;
    section->host_time = fault->time + (uint64_t)fw->server.host_time_offset;
    rt_memory_copy_name(section->class_name, sizeof(section->class_name),
                        pr_fault_class_name(fault->fault_class));
    rt_memory_copy_name(section->text, sizeof(section->text), fault->text);
    return sizeof(*section);
}

static size_t syndrome(struct fw *fw, const struct rt_fault *fault, void *to)
{
    (void)fw;
    if (fault->has_registers)
        *(struct pr_dump_syndrome *)to =
            (struct pr_dump_syndrome){.far = fault->registers.far, .esr = fault->registers.esr};
    return sizeof(struct pr_dump_syndrome);
}

static size_t registers(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_registers *section = to;

    (void)fw;
    if (fault->has_registers) {
        section->valid = 1;
        rt_memcpy(section->x, fault->registers.x, sizeof(section->x));
        section->sp = fault->registers.sp;
        section->pc = fault->registers.pc;
        section->pstate = fault->registers.pstate;
    }
    return sizeof(*section);
}

static size_t cache(struct fw *fw, const struct rt_fault *fault, void *to)
{
    (void)fault;
    *(struct pr_dump_cache *)to =
        (struct pr_dump_cache){.l2c_err_sts = rt_port_sysreg_read(fw->port, PR_SYSREG_L2C_ERR_STS),
                               .l2c_err_adr = rt_port_sysreg_read(fw->port, PR_SYSREG_L2C_ERR_ADR),
                               .l2c_err_inf = rt_port_sysreg_read(fw->port, PR_SYSREG_L2C_ERR_INF),
                               .lsu_err_sts = rt_port_sysreg_read(fw->port, PR_SYSREG_LSU_ERR_STS),
                               .fed_err_sts = rt_port_sysreg_read(fw->port, PR_SYSREG_FED_ERR_STS),
                               .mmu_err_sts = rt_port_sysreg_read(fw->port, PR_SYSREG_MMU_ERR_STS),
                               .pwr_dn_save = rt_port_sysreg_read(fw->port, PR_SYSREG_PWR_DN_SAVE)};
    return sizeof(struct pr_dump_cache);
}

static size_t restarts(struct fw *fw, const struct rt_fault *fault, void *to)
{
    (void)fault;
    *(struct pr_dump_restarts *)to = (struct pr_dump_restarts){.count = fw->count[FW_FAULTED]};
    return sizeof(struct pr_dump_restarts);
}

static size_t commands(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_commands *section = to;

    (void)fault;
    fw_retained_list(fw, section);
    return offsetof(struct pr_dump_commands, command) + section->count * sizeof(section->command[0]);
}

static size_t task(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_task *section = to;

    (void)fw;
    rt_memory_copy_name(section->name, sizeof(section->name), fault->task);
    section->in_interrupt = fault->in_interrupt;
    section->line = fault->line;
    section->processor = fault->processor;
    section->thread = fault->thread;
    return sizeof(*section);
}

static size_t stack(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_stack *section = to;

    (void)fw;
    section->count = fault->frames;
    rt_memcpy(section->frame, fault->frame, fault->frames * sizeof(section->frame[0]));
    return offsetof(struct pr_dump_stack, frame) + section->count * sizeof(section->frame[0]);
}

static void add_call(struct fw *fw, struct pr_dump_engine *section, const struct fw_call *call,
                     enum pr_dump_call_state place)
{
    struct pr_dump_call *row = &section->call[section->count++];
    uint64_t key[PR_KEY_PARTS];

    *row = (struct pr_dump_call){.cookie = call->cookie,
                                 .age_ns = rt_port_now(fw->port) - call->accepted,
                                 .program = call->program,
                                 .process = call->process,
                                 .procedure = call->procedure,
                                 .level = call->level,
                                 .network = call->network,
                                 .place = (uint8_t)place,
                                 .stream = call->stream,
                                 .text = call->address,
                                 .descriptors =
                                     pr_bits_get(call->info, PR_TM_INFO_COUNT_LO, PR_TM_INFO_COUNT_WIDTH)};
    fw_queue_key(fw, call, key);
    for (unsigned i = 0; i < PR_KEY_PARTS; i++)
        row->key[i] = (uint32_t)key[i];
}

static void add_list(struct fw *fw, struct pr_dump_engine *section, const struct fw_list *list,
                     enum pr_dump_call_state place)
{
    for (uint16_t n = list->head; n != FW_NO_CALL && section->count < PR_DUMP_CALLS_MAX; n = fw->call[n].next)
        add_call(fw, section, &fw->call[n], place);
}

static void add_calls(struct fw *fw, struct pr_dump_engine *section)
{
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        add_list(fw, section, &fw->exeloop.level[i].running, PR_DUMP_CALL_RUNNING);
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        add_list(fw, section, &fw->exeloop.level[i].waiting, PR_DUMP_CALL_WAITING);
    add_list(fw, section, &fw->events.held, PR_DUMP_CALL_HELD);
    add_list(fw, section, &fw->secure.held, PR_DUMP_CALL_OUTSIDE);
}

static size_t engine(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_engine *section = to;

    (void)fault;
    section->tm_status = fw_register_read(fw, PR_ENGINE_TM + PR_TM_STATUS);
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        section->error[i] = fw_register_read(fw, PR_ENGINE_TM + PR_TM_ERROR1 + 4 * i);
    section->state = rt_fsm_state(&fw->exeloop.machine);
    section->power = fw->power.on;
    add_calls(fw, section);
    return offsetof(struct pr_dump_engine, call) + section->count * sizeof(section->call[0]);
}

static void add_task(void *arg, const struct rt_task_info *info)
{
    struct pr_dump_tasks *section = arg;
    struct pr_dump_task_row *row = &section->row[section->count++];

    rt_memory_copy_name(row->name, sizeof(row->name), info->name);
    row->state = info->state;
    row->priority = info->priority;
    row->base_priority = info->base_priority;
    row->stack_bytes = (uint32_t)info->stack_bytes;
    row->stack_free = (uint32_t)info->stack_free;
    row->thread = info->thread;
    row->runs = info->runs;
}

static size_t tasks(struct fw *fw, const struct rt_fault *fault, void *to)
{
    struct pr_dump_tasks *section = to;

    (void)fault;
    rt_task_list(fw->kernel, add_task, section);
    return offsetof(struct pr_dump_tasks, row) + section->count * sizeof(section->row[0]);
}

/* In the fixed order; what each writes to the cleared buffer, and its bytes. */
static size_t (*const sections[])(struct fw *fw, const struct rt_fault *fault, void *to) = {
    [PR_DUMP_EXCEPTION] = exception, [PR_DUMP_SYNDROME] = syndrome, [PR_DUMP_REGISTERS] = registers,
    [PR_DUMP_CACHE] = cache,         [PR_DUMP_RESTARTS] = restarts, [PR_DUMP_COMMANDS] = commands,
    [PR_DUMP_TASK] = task,           [PR_DUMP_STACK] = stack,       [PR_DUMP_ENGINE] = engine,
    [PR_DUMP_TASKS] = tasks,
};
_Static_assert(BASE_COUNT_OF(sections) == PR_DUMP_SECTION_COUNT + 1, "every section is made");

static void announce(struct fw *fw, uint64_t address, size_t bytes, uint32_t section)
{
    rt_port_barrier(fw->port);
    fw_register_write(fw, PR_CTRL_SCRATCH(0), (uint32_t)address);
    fw_register_write(fw, PR_CTRL_SCRATCH(1), (uint32_t)(address >> 32));
    fw_register_write(fw, PR_CTRL_SCRATCH(2), (uint32_t)bytes);
    fw_register_write(fw, PR_CTRL_SCRATCH(PR_SCRATCH_DUMP), PR_DUMP_STAGED | section);
    fw_doorbell_crash(fw);
}

/*
 * The host's write raises the line of the doorbells, but only if that is low: a ring that was not
 * acknowledged when the fault came, or comes meanwhile, is taken back.
 */
static bool taken(struct fw *fw, uint32_t section)
{
    fw_register_write(fw, PR_CTRL_DOORBELL_ACK, fw_register_read(fw, PR_CTRL_DOORBELL_PENDING));
    return fw_register_read(fw, PR_CTRL_SCRATCH(7)) == (PR_DUMP_TAKEN | section);
}

/* False when the area is not mapped any more: the host has given up. */
static bool stage(struct fw *fw, const struct rt_fault *fault, uint32_t section)
{
    const uint64_t area = PR_DUMP_AREA(fw->heap, PR_EXTRA_HEAP_BYTES);
    size_t bytes;

    rt_memset(fw->dump, 0, sizeof(fw->dump));
    bytes = sections[section](fw, fault, fw->dump);
    if (!fw_shared_out(fw, area, fw->dump, bytes))
        return false;
    announce(fw, area, bytes, section);
    while (!taken(fw, section))
        rt_port_wait(fw->port);
    return true;
}

static void dump(void *arg, const struct rt_fault *fault)
{
    struct fw *fw = arg;

    for (uint32_t section = PR_DUMP_EXCEPTION; section <= PR_DUMP_SECTION_COUNT; section++)
        if (!stage(fw, fault, section)) {
            fw_log_quiet(fw, RT_LOG_ERROR, "the dump ends at section %u: its area is not mapped", section);
            return;
        }
    announce(fw, 0, 0, PR_DUMP_END);
}

void fw_dump_install(struct fw *fw)
{
    rt_fault_hook(fw->kernel, dump, fw);
}
