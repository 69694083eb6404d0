/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procedure calls. A call is taken from the free list only after its message has passed every check, so an
 * accepted call is always complete.
 */
#include "firmware/call.h"

#include "firmware/program.h"
#include "firmware/shared.h"
#include "protocol/stats.h"
#include "rtkernel/kernel.h"

#define TEXT_BAR     0u
#define KERNEL_BAR   1u
#define BUFFER_ALIGN 64u

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
}

static bool content_allowed(uint32_t content)
{
    return content == 0 || content == 3 || content == 4;
}

/* Whom the call is for. */
static enum pr_status check_target(struct fw *fw, const struct pr_call *message)
{
    const struct fw_program *program = fw_program_get(fw, message->program_id);
    const struct fw_process *process;

    if (!program)
        return PR_STATUS_NO_PROGRAM;
    if (message->process_id >= PR_PROCESSES_MAX)
        return PR_STATUS_NO_PROCESS;
    process = &fw->process[message->process_id];
    if (process->state != FW_PROCESS_RUNNING || process->program != message->program_id)
        return PR_STATUS_NO_PROCESS;
    if (message->procedure >= program->container.procedures ||
        !content_allowed(program->container.procedure[message->procedure].content))
        return PR_STATUS_BAD_ARGUMENT;
    return PR_STATUS_OK;
}

static bool has_stats(const struct pr_call *message)
{
    return message->stats.address && message->stats.bytes;
}

static enum pr_status check_shape(const struct pr_call *message)
{
    if (message->priority >= PR_PRIORITIES || message->output_sets != PR_CALL_OUTPUT_SETS ||
        !message->partitions)
        return PR_STATUS_BAD_ARGUMENT;
    if (has_stats(message) && message->stats.bytes < PR_STATS_HEADER_BYTES)
        return PR_STATUS_BAD_ARGUMENT;
    return PR_STATUS_OK;
}

static bool bind(struct fw_exeloop *e, const struct fw_program *program, const struct pr_buffer *buffer)
{
    const struct pr_generic_buffer *generic;
    uint32_t place;

    if (!(buffer->valid & 1) || buffer->index >= PR_GENERIC_BUFFERS_MAX)
        return false;
    place = program->place[buffer->index];
    if (place == FW_NO_PLACE || e->bound[place / 64] >> (place % 64) & 1)
        return false;
    generic = &program->container.buffer[place];
    if (generic->address || generic->type == PR_BUFFER_KERNEL || generic->type == PR_BUFFER_TEXT)
        return false;
    if (buffer->address > UINT32_MAX || buffer->address % BUFFER_ALIGN || buffer->bytes < generic->bytes)
        return false;
    e->bound[place / 64] |= 1ull << (place % 64);
    e->bound_address[place] = (uint32_t)buffer->address;
    return true;
}

static enum pr_status bind_buffers(struct fw_exeloop *e, const struct fw_program *program,
                                   const struct pr_call *message)
{
    rt_memset(e->bound, 0, sizeof(e->bound));
    for (uint32_t i = 0; i < message->buffers; i++)
        if (!bind(e, program, &message->buffer[i]))
            return PR_STATUS_BAD_ARGUMENT;
    return PR_STATUS_OK;
}

/* The address a BAR of the operation gets; false when that buffer has none. */
static bool buffer_address(const struct fw_exeloop *e, const struct fw_program *program, uint32_t place,
                           uint32_t *address)
{
    const struct pr_generic_buffer *generic = &program->container.buffer[place];

    if (generic->type == PR_BUFFER_TEXT)
        *address = (uint32_t)program->text.mapped;
    else if (generic->type == PR_BUFFER_KERNEL)
        *address = (uint32_t)program->kernel.mapped;
    else if (generic->address)
        *address = (uint32_t)generic->address;
    else if (e->bound[place / 64] >> (place % 64) & 1)
        *address = e->bound_address[place];
    else
        return false;
    return true;
}

static enum pr_status fill_bars(const struct fw_exeloop *e, const struct fw_program *program,
                                const struct pr_operation *operation, uint32_t *bar)
{
    rt_memset(bar, 0, PR_TQ_BARS * sizeof(*bar));
    bar[TEXT_BAR] = (uint32_t)program->text.mapped;
    bar[KERNEL_BAR] = (uint32_t)program->kernel.mapped;
    for (uint32_t i = 0; i < operation->bars; i++) {
        const uint32_t place = program->place[operation->bar[i].buffer];

        if (!buffer_address(e, program, place, &bar[operation->bar[i].bar]))
            return PR_STATUS_BAD_ARGUMENT;
    }
    return PR_STATUS_OK;
}

static enum pr_status fill_draft(struct fw *fw, const struct pr_call *message)
{
    const struct fw_program *program = fw->program[message->program_id];
    const struct pr_procedure *procedure = &program->container.procedure[message->procedure];
    const struct pr_operation *operation = &program->container.operation[procedure->operation];
    struct fw_call *draft = &fw->exeloop.draft;

    draft->address = (uint32_t)program->text.mapped + procedure->text_offset;
    draft->info = (procedure->first_words - 1) << PR_TM_INFO_SIZE_LO |
                  (((uint32_t)operation->last_td - operation->first_td + 1) & 0xffffu) << PR_TM_INFO_COUNT_LO;
    draft->cookie = message->cookie;
    draft->stats = has_stats(message) ? message->stats.address : 0;
    draft->stats_bytes = message->stats.bytes;
    draft->accepted = rt_port_now(fw->port);
    draft->procedure = message->procedure;
    draft->program = (uint16_t)message->program_id;
    draft->process = (uint16_t)message->process_id;
    draft->level = (uint8_t)message->priority;
    draft->stream = fw->process[message->process_id].stream;
    draft->network = 0;
    draft->status = PR_STATUS_OK;
    return fill_bars(&fw->exeloop, program, operation, draft->bar);
}

static enum pr_status check(struct fw *fw, const struct pr_call *message, uint64_t length)
{
    enum pr_status status;

    if (length < sizeof(*message) || message->buffers > PR_CALL_BUFFERS_MAX ||
        length != PR_CALL_BYTES(message->buffers))
        return PR_STATUS_BAD_SIZE;
    status = check_target(fw, message);
    if (!status)
        status = check_shape(message);
    if (!status)
        status = bind_buffers(&fw->exeloop, fw->program[message->program_id], message);
    return status ? status : fill_draft(fw, message);
}

enum pr_status fw_call_accept(struct fw *fw, uint64_t length, uint16_t *number)
{
    const struct pr_call *message = (const void *)fw->exeloop.message;
    enum pr_status status = check(fw, message, length);
    struct fw_process *process;

    if (status)
        return status;
    process = &fw->process[message->process_id];
    if (process->calls >= PR_IN_FLIGHT_MAX)
        return PR_STATUS_NO_RESOURCES;
    *number = fw_call_take(fw, &fw->exeloop.free);
    if (*number == FW_NO_CALL)
        return PR_STATUS_NO_RESOURCES;
    fw->call[*number] = fw->exeloop.draft;
    process->calls++;
    return PR_STATUS_OK;
}

void fw_call_release(struct fw *fw, uint16_t number)
{
    fw->process[fw->call[number].process].calls--;
    fw_call_put(fw, &fw->exeloop.free, number);
}
