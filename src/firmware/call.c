/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procedure calls. Entries are taken from the free list only after the message has passed every check of its
 * own; a call that is refused later, because of one of its requests or for want of entries, gives all back.
 * So an accepted call is always complete.
 */
#include "firmware/call.h"

#include "firmware/dartmgr.h"
#include "firmware/log.h"
#include "firmware/order.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "firmware/rebase.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "firmware/tail.h"
#include "protocol/log_line.h"
#include "protocol/stats.h"
#include "rtkernel/heap.h"
#include "rtkernel/kernel.h"

void fw_call_put(struct fw *fw, struct fw_list *list, uint16_t number)
{
    fw->call[number].next = FW_NO_CALL;
    if (list->head == FW_NO_CALL)
        list->head = number;
    else
        fw->call[list->tail].next = number;
    list->tail = number;
}

uint16_t fw_call_take(struct fw *fw, struct fw_list *list)
{
    const uint16_t number = list->head;

    if (number != FW_NO_CALL)
        list->head = fw->call[number].next;
    return number;
}

void fw_call_init(struct fw *fw)
{
    const struct fw_list empty = {FW_NO_CALL, FW_NO_CALL};

    fw->exeloop.free = fw->exeloop.events = empty;
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        fw->exeloop.level[i] = (struct fw_level){.waiting = empty, .running = empty, .credit = FW_CREDIT};
    for (uint16_t i = 0; i < FW_CALLS; i++)
        fw_call_put(fw, &fw->exeloop.free, i);
    /* Each call begins as a copy of the draft: without words of the engine's. */
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        fw->exeloop.draft.error[i] = PR_TM_ERROR_FINE;
}

enum pr_status fw_call_content(struct fw *fw, const struct fw_program *program, uint32_t procedure)
{
    const uint32_t content = program->container.procedure[procedure].content;

    return fw_rule(fw, PR_RULE_CONTENT_TYPE, content == 0 || content == 3 || content == 4, content);
}

static enum pr_status check_procedure(struct fw *fw, const struct fw_program *program, uint32_t procedure)
{
    const uint32_t count = program->container.procedures;

    if (procedure < count)
        return fw_call_content(fw, program, procedure);
    fw_log(fw, RT_LOG_WARNING, PR_LINE_PROCEDURE, (int)procedure, (int)count);
    return fw_rule_broken(fw, PR_RULE_PROCEDURE_ID, procedure);
}

/* What is not loaded or not running is no broken rule: the call is dropped. */
enum pr_status fw_call_target(struct fw *fw, uint32_t program_id, uint32_t process_id, uint32_t procedure)
{
    enum pr_status status = fw_rule(fw, PR_RULE_PROGRAM_ID, program_id < PR_PROGRAMS_MAX, program_id);
    const struct fw_process *process;

    if (status)
        return status;
    if (!fw_program_get(fw, program_id))
        return PR_STATUS_NO_PROGRAM;
    status = fw_rule(fw, PR_RULE_PROCESS_ID, process_id < PR_PROCESSES_MAX, process_id);
    if (status)
        return status;
    process = &fw->process[process_id];
    if (!fw_process_running(process) || process->program != program_id)
        return PR_STATUS_NO_PROCESS;
    return check_procedure(fw, fw->program[program_id], procedure);
}

static bool has_stats(const struct pr_call *message)
{
    return message->stats.address && message->stats.bytes;
}

/* The maximum of Table 29.4 is one above what the procedure has: the count is below it. */
static enum pr_status check_shape(struct fw *fw, const struct pr_call *message)
{
    const struct pr_procedure *procedure =
        &fw->program[message->program_id]->container.procedure[message->procedure];
    enum pr_status status =
        fw_rule(fw, PR_RULE_PRIORITY, message->priority < PR_PRIORITIES, message->priority);

    if (!status)
        status = fw_rule(fw, PR_RULE_OUTPUT_SETS, message->output_sets == PR_CALL_OUTPUT_SETS,
                         message->output_sets);
    if (!status)
        status = fw_rule(fw, PR_RULE_PARTITIONS_LEAST, message->partitions, message->partitions);
    return status ? status
                  : fw_rule(fw, PR_RULE_PARTITIONS_MOST, message->partitions < procedure->partitions + 1,
                            message->partitions);
}

/* Table 30.3. Of a process that has mapped no statistics buffer there is no base to compare with. */
static enum pr_status check_stats(struct fw *fw, const struct pr_call *message)
{
    const uint64_t base = fw->process[message->process_id].rebase->statistics.base;
    enum pr_status status;

    if (!has_stats(message))
        return PR_STATUS_OK;
    status = fw_rule(fw, PR_RULE_STATS_BASE, message->stats.address >= base, message->stats.address);
    return status ? status
                  : fw_rule(fw, PR_RULE_STATS_SIZE, message->stats.bytes >= PR_STATS_HEADER_BYTES,
                            message->stats.bytes);
}

/* What is wrong with a buffer of the draft, or NULL. */
static const char *bind(struct fw *fw, const struct fw_program *program, struct fw_rebase *rebase,
                        const struct pr_buffer *buffer)
{
    struct fw_exeloop *e = &fw->exeloop;
    const char *wrong = fw_rebase_wrong(program, buffer);
    uint32_t place;

    if (wrong)
        return wrong;
    place = program->place[buffer->index];
    if (e->bound[place / 64] >> (place % 64) & 1)
        return "is bound twice";
    e->bound[place / 64] |= 1ull << (place % 64);
    e->bound_as[place] = (struct fw_bound){.mapped = fw_rebase_bind(fw, rebase, buffer),
                                           .bytes = buffer->bytes,
                                           .wide = buffer->valid & PR_BUFFER_WIDE};
    return e->bound_as[place].mapped ? NULL : "ends above 0xe0000000";
}

void fw_call_unbind(struct fw *fw)
{
    rt_memset(fw->exeloop.bound, 0, sizeof(fw->exeloop.bound));
    fw->exeloop.custom = 0;
}

enum pr_status fw_call_bind(struct fw *fw, uint32_t process_id, const struct pr_buffer *buffer,
                            uint32_t count)
{
    const struct fw_process *process = &fw->process[process_id];
    const struct fw_program *program = fw->program[process->program];

    for (uint32_t i = 0; i < count; i++) {
        const enum pr_status status =
            fw_rule(fw, PR_RULE_BUFFER_HIGH, !(buffer[i].address >> 32), buffer[i].address);
        const char *wrong;

        if (status)
            return status;
        wrong = bind(fw, program, process->rebase, &buffer[i]);
        if (wrong) {
            fw_log(fw, RT_LOG_WARNING, "buffer %u, 0x%llx bytes at 0x%llx, %s", buffer[i].index,
                   (unsigned long long)buffer[i].bytes, (unsigned long long)buffer[i].address, wrong);
            return PR_STATUS_BAD_ARGUMENT;
        }
    }
    return PR_STATUS_OK;
}

/* A host may ask for a wide BAR only where the container has one. */
static bool wide_allowed(struct fw *fw, const struct fw_program *program,
                         const struct pr_rebase_record *record)
{
    const struct fw_exeloop *e = &fw->exeloop;
    uint32_t place;

    if (record->flags & PR_REBASE_WIDE || record->buffer >= PR_GENERIC_BUFFERS_MAX)
        return true;
    place = program->place[record->buffer];
    if (!(e->bound[place / 64] >> (place % 64) & 1) || !e->bound_as[place].wide)
        return true;
    fw_log(fw, RT_LOG_WARNING, "bar %u of operation %u is not wide: buffer %u asks for that", record->bar,
           record->operation, record->buffer);
    return false;
}

/*
 * The words of the BARs are the low halves of the records' operands; a record's register says which BAR. A
 * BAR that the call sets itself needs no buffer, and is a register even where the record's is wide.
 */
static enum pr_status fill_bars(struct fw *fw, const struct fw_program *program, struct fw_rebase *rebase,
                                uint32_t operation)
{
    const uint64_t first = pr_rebase_register(fw->registers, 0, 0);
    const uint32_t custom = fw->exeloop.custom & program->custom[operation];
    struct fw_call *draft = &fw->exeloop.draft;

    rt_memset(draft->bar, 0, sizeof(draft->bar));
    draft->wide = 0;
    for (uint32_t i = program->record[operation]; i < program->record[operation + 1]; i++) {
        struct pr_rebase_record *record = &rebase->record[i];
        const uint32_t bar = (uint32_t)(pr_rebase_get(record->reg) - first) / 4;

        if (custom >> bar & 1) {
            draft->bar[bar] = fw->exeloop.custom_value[bar];
            continue;
        }
        if (!fw_rebase_fill(rebase, program, &fw->exeloop, record) || !wide_allowed(fw, program, record))
            return PR_STATUS_BAD_ARGUMENT;
        draft->bar[bar] = (uint32_t)pr_rebase_get(record->first);
        if (record->flags & PR_REBASE_WIDE)
            draft->wide |= 1u << bar;
    }
    return PR_STATUS_OK;
}

enum pr_status fw_call_draft(struct fw *fw, uint32_t process_id, uint32_t procedure_id, uint32_t priority)
{
    const struct fw_process *process = &fw->process[process_id];
    const struct fw_program *program = fw->program[process->program];
    const struct pr_procedure *procedure = &program->container.procedure[procedure_id];
    const struct pr_operation *operation = &program->container.operation[procedure->operation];
    struct fw_call *draft = &fw->exeloop.draft;

    draft->address = (uint32_t)process->rebase->text + procedure->text_offset;
    draft->info = (procedure->first_words - 1) << PR_TM_INFO_SIZE_LO |
                  (((uint32_t)operation->last_td - operation->first_td + 1) & 0xffffu) << PR_TM_INFO_COUNT_LO;
    draft->cookie = 0;
    draft->stats = draft->stats_bytes = 0;
    draft->accepted = rt_port_now(fw->port);
    draft->engine_ns = 0;
    draft->procedure = procedure_id;
    draft->program = process->program;
    draft->process = (uint16_t)process_id;
    draft->level = (uint8_t)priority;
    draft->stream = process->stream;
    draft->network = 0;
    draft->status = PR_STATUS_OK;
    draft->origin = FW_ORIGIN_CALL;
    draft->events = NULL;
    draft->dispatched = false;
    return fill_bars(fw, program, process->rebase, procedure->operation);
}

static enum pr_status check_size(struct fw *fw, const struct pr_call *message, uint64_t length)
{
    enum pr_status status = fw_rule(fw, PR_RULE_CALL_SIZE, length >= sizeof(*message), length);
    uint64_t bytes;

    if (!status)
        status = fw_rule(fw, PR_RULE_BUFFER_COUNT, message->buffers <= PR_CALL_BUFFERS_MAX, message->buffers);
    if (status)
        return status;
    bytes = PR_CALL_BYTES(message->buffers);
    if (message->head.id == PR_EXE_PROCEDURE_CALL)
        return fw_rule(fw, PR_RULE_CALL_SIZE, length == bytes, length);
    return fw_rule(fw, PR_RULE_CALL_SIZE, length >= bytes + sizeof(struct pr_call_tail), length);
}

/* Leaves the buffers bound, and the requests and bars of the call in exeloop. */
static enum pr_status check(struct fw *fw, const struct pr_call *message, uint64_t length)
{
    enum pr_status status = check_size(fw, message, length);

    if (!status)
        status = fw_call_target(fw, message->program_id, message->process_id, message->procedure);
    if (!status)
        status = check_shape(fw, message);
    if (!status)
        status = check_stats(fw, message);
    if (status)
        return status;
    fw_call_unbind(fw);
    status = fw_call_bind(fw, message->process_id, message->buffer, message->buffers);
    if (status || message->head.id != PR_EXE_PROCEDURE_CALL)
        return status ? status : fw_tail_take(fw, message, length);
    fw_order_own(fw, message->procedure, message->partitions);
    return PR_STATUS_OK;
}

/* Takes an entry for the draft. */
static enum pr_status take(struct fw *fw, uint16_t *number)
{
    *number = fw_call_take(fw, &fw->exeloop.free);
    if (*number == FW_NO_CALL)
        return PR_STATUS_NO_RESOURCES;
    fw->call[*number] = fw->exeloop.draft;
    fw->call[*number].follow = FW_NO_CALL;
    return PR_STATUS_OK;
}

enum pr_status fw_call_enter(struct fw *fw, uint16_t *number)
{
    struct fw_process *process = &fw->process[fw->exeloop.draft.process];
    enum pr_status status = fw_rule(fw, PR_RULE_IN_FLIGHT, process->calls < PR_IN_FLIGHT_MAX, process->calls);

    if (!status)
        status = take(fw, number);
    if (status)
        return status;
    fw->call[*number].lead = *number;
    fw->call[*number].left = 1;
    process->calls++;
    return PR_STATUS_OK;
}

/* One more request of the call, behind its last. */
static enum pr_status add(struct fw *fw, uint16_t lead, uint16_t *last)
{
    uint16_t number;
    const enum pr_status status = take(fw, &number);

    if (status)
        return status;
    fw->call[number].lead = lead;
    fw->call[*last].follow = number;
    fw->call[lead].left++;
    *last = number;
    return PR_STATUS_OK;
}

void fw_call_cut(struct fw *fw, uint16_t lead)
{
    uint16_t number = fw->call[lead].follow;

    fw->call[lead].follow = FW_NO_CALL;
    fw->call[lead].left = 1;
    while (number != FW_NO_CALL) {
        const uint16_t follow = fw->call[number].follow;

        fw_call_put(fw, &fw->exeloop.free, number);
        number = follow;
    }
}

static enum pr_status fill_draft(struct fw *fw, const struct pr_call *message, uint32_t ticket,
                                 uint32_t request)
{
    const uint32_t procedure = fw->exeloop.request[request];
    const enum pr_status status = fw_call_draft(fw, message->process_id, procedure, message->priority);

    fw->exeloop.draft.cookie = message->cookie;
    fw->exeloop.draft.ticket = ticket;
    return status;
}

/* The first request is the call, and has its statistics. */
static enum pr_status enter_first(struct fw *fw, const struct pr_call *message, uint32_t ticket,
                                  uint16_t *number)
{
    const struct fw_rebase *rebase = fw->process[message->process_id].rebase;
    struct fw_call *draft = &fw->exeloop.draft;
    const enum pr_status status = fill_draft(fw, message, ticket, 0);

    if (status)
        return status;
    if (has_stats(message) && fw_dartmgr_statistics(fw, rebase, &message->stats)) {
        draft->stats = message->stats.address;
        draft->stats_bytes = message->stats.bytes;
    }
    return fw_call_enter(fw, number);
}

enum pr_status fw_call_accept(struct fw *fw, uint64_t length, uint32_t ticket, uint16_t *number)
{
    const struct pr_call *message = (const void *)fw->exeloop.message;
    enum pr_status status = check(fw, message, length);
    uint16_t last;

    if (!status)
        status = enter_first(fw, message, ticket, number);
    if (status)
        return status;
    last = *number;
    for (uint32_t i = 1; i < fw->exeloop.requests && !status; i++) {
        status = fill_draft(fw, message, ticket, i);
        if (!status)
            status = add(fw, *number, &last);
    }
    if (!status && message->head.id != PR_EXE_PROCEDURE_CALL)
        status = fw_tail_attach(fw, message, *number);
    if (status) {
        fw_call_cut(fw, *number);
        fw_call_release(fw, *number);
    }
    return status;
}

void fw_call_release(struct fw *fw, uint16_t number)
{
    fw->process[fw->call[number].process].calls--;
    if (fw->call[number].events)
        rt_heap_free(fw->kernel, fw->call[number].events);
    fw_call_put(fw, &fw->exeloop.free, number);
}
