/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. A slot is either empty or holds a program that has passed every check. What calls use of it is a
 * private copy of its container, which the host cannot change. It is unloaded only when no process has it.
 */
#include "firmware/program.h"

#include "firmware/builtin.h"
#include "firmware/log.h"
#include "firmware/prefetch.h"
#include "firmware/reservation.h"
#include "firmware/shared.h"
#include "protocol/td_frame.h"
#include "rtkernel/heap.h"
#include "rtkernel/irq.h"

/* A descriptor of a procedure's chain, from its header. Next pointers count from the base. */
struct link {
    uint32_t base;                    /* of the chain, in the text */
    uint32_t offset, words;           /* in the text */
    uint32_t next_offset, next_words; /* from the base; 0: the last */
};

/* What the text BAR of an operation points at: the part of the text that its buffer is, or all of it. */
static uint32_t chain_base(const struct fw_program *program, const struct pr_operation *operation)
{
    const struct pr_generic_buffer *buffer;

    for (uint32_t b = 0; b < operation->bars; b++) {
        if (operation->bar[b].bar != PR_REBASE_BAR_TEXT)
            continue;
        buffer = &program->container.buffer[program->place[operation->bar[b].buffer]];
        if (buffer->type == PR_BUFFER_TEXT && buffer->address)
            return (uint32_t)(buffer->address - program->container.section[PR_SECTION_TEXT]->address);
    }
    return 0;
}

/* Reads the header of a link; what is wrong with it, or NULL. */
static const char *read_link(struct fw *fw, const struct fw_program *program, struct link *link)
{
    const struct pr_container_section *text = program->container.section[PR_SECTION_TEXT];
    uint32_t header[PR_TD_HEADER_WORDS], needed = PR_TD_HEADER_WORDS;

    if (link->words < needed)
        return "is smaller than a header";
    if (!fw_shared_in(fw, header, text->address + link->offset, sizeof(header)))
        return "is not mapped";
    if (header[pr_header_table[PR_H_TDE].owner] >> pr_header_table[PR_H_TDE].lo & 1)
        needed = PR_TD_HEADER_WORDS_EXTENDED;
    if (link->words < needed)
        return "is smaller than its extended header";
    link->next_offset = header[pr_header_table[PR_H_NEXT_POINTER].owner];
    link->next_words =
        pr_bits_get(header[pr_header_table[PR_H_NEXT_SIZE].owner], pr_header_table[PR_H_NEXT_SIZE].lo,
                    pr_header_table[PR_H_NEXT_SIZE].width) +
        1;
    if (link->next_offset % PR_TD_ALIGN || link->next_offset > text->address_bytes - link->base ||
        4ull * link->next_words > text->address_bytes - link->base - link->next_offset)
        return "has a next pointer outside the text";
    return NULL;
}

/*
 * Walks a procedure's chain in the text, headers only. The operation says how many descriptors there are, and
 * that bounds the walk. The engine reads the text again and judges all of it; here a program that could never
 * run is refused early.
 */
static bool check_chain(struct fw *fw, const struct fw_program *program, uint32_t index)
{
    const struct pr_procedure *procedure = &program->container.procedure[index];
    const struct pr_operation *operation = &program->container.operation[procedure->operation];
    const uint32_t count = (uint32_t)operation->last_td - operation->first_td + 1;
    const uint32_t base = chain_base(program, operation);
    struct link link = {.words = procedure->first_words, .offset = procedure->text_offset};

    for (uint32_t i = 0; i < count; i++) {
        const char *wrong;

        if (i)
            link = (struct link){.offset = base + link.next_offset, .words = link.next_words};
        link.base = base;
        wrong = read_link(fw, program, &link);
        if (!wrong && i + 1 == count && link.next_offset)
            wrong = "should be the last";
        if (!wrong && i + 1 < count && !link.next_offset)
            wrong = "ends the chain too early";
        if (wrong) {
            fw_log(fw, RT_LOG_ERROR, "procedure %u: descriptor %u of %u, %u words at 0x%x of the text, %s",
                   index, i, count, link.words, link.offset, wrong);
            return false;
        }
    }
    return true;
}

static bool check_text(struct fw *fw, const struct fw_program *program)
{
    const struct pr_container_section *text = program->container.section[PR_SECTION_TEXT];

    if (!rt_port_window(fw->port, text->address, text->address_bytes)) {
        fw_log(fw, RT_LOG_ERROR, "text 0x%llx bytes at 0x%llx is not mapped",
               (unsigned long long)text->address_bytes, (unsigned long long)text->address);
        return false;
    }
    for (uint32_t i = 0; i < program->container.procedures; i++)
        if (!check_chain(fw, program, i))
            return false;
    return true;
}

/* What calls look up, so that they need not search. */
static void index_buffers(struct fw_program *program)
{
    for (uint32_t i = 0; i < PR_GENERIC_BUFFERS_MAX; i++)
        program->place[i] = FW_NO_PLACE;
    for (uint32_t i = 0; i < program->container.generic->buffers; i++)
        program->place[program->container.buffer[i].index] = (uint16_t)i;
    program->own = program->container.section[PR_SECTION_KERNEL] ? 2 : 1;
    for (uint32_t i = 0; i < program->container.generic->buffers; i++) {
        program->own += fw_program_fixed(&program->container.buffer[i]);
        program->mutable |= program->container.buffer[i].type == PR_BUFFER_MUTABLE;
    }
}

/* Without a section of custom bars a call may set every BAR that the operation names. */
static void index_bars(struct fw_program *program)
{
    const struct pr_container *container = &program->container;

    for (uint32_t i = 0; i < container->operations && !container->custom_bars; i++)
        for (uint32_t b = 0; b < container->operation[i].bars; b++)
            program->custom[i] |= 1u << container->operation[i].bar[b].bar;
    for (uint32_t i = 0; i < container->custom_bars; i++)
        program->custom[container->custom_bar[i].operation] |= 1u << container->custom_bar[i].bar;
}

/* A record names the register of its BAR on this board. */
static bool check_records(struct fw *fw, struct fw_program *program)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < program->container.records; i++) {
        const struct pr_rebase_record *record = &program->container.record[i];
        const uint64_t reg = pr_rebase_get(record->reg),
                       expected = pr_rebase_register(fw->registers, 0, record->bar);

        if (reg != expected) {
            fw_log(fw, RT_LOG_ERROR, "rebase record %u: bar %u is at 0x%llx, not at 0x%llx", i, record->bar,
                   (unsigned long long)expected, (unsigned long long)reg);
            return false;
        }
        while (next <= record->operation)
            program->record[next++] = (uint16_t)i;
    }
    while (next <= program->container.operations)
        program->record[next++] = (uint16_t)program->container.records;
    return true;
}

static enum pr_status check(struct fw *fw, struct fw_program *program, const void *copy, size_t bytes)
{
    struct pr_problem problem;

    if (!pr_container_read(copy, bytes, &program->container, &problem)) {
        fw_log(fw, RT_LOG_ERROR, "container: %s", problem.text);
        return PR_STATUS_BAD_CONTAINER;
    }
    index_buffers(program);
    index_bars(program);
    return check_records(fw, program) && check_text(fw, program) ? PR_STATUS_OK : PR_STATUS_BAD_CONTAINER;
}

/* A container: of the host's at a device address, or the firmware's own. */
struct source {
    const void *own;
    uint64_t address;
    size_t bytes;
};

static bool copy_in(struct fw *fw, void *copy, const struct source *source)
{
    if (!source->own)
        return fw_shared_in(fw, copy, source->address, source->bytes);
    rt_memcpy(copy, source->own, source->bytes);
    return true;
}

/* The slot has this program from now on, or none. The execution loop may preempt this task. */
static void enter(struct fw *fw, uint32_t number, struct fw_program *program)
{
    struct fw_program_slot *slot = &fw->program_slot[number];
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw->program[number] = program;
    slot->valid = program != NULL;
    if (program) {
        slot->loads++;
        slot->since = rt_port_now(fw->port);
    }
    rt_irq_restore(fw->kernel, previous);
}

static enum pr_status load(struct fw *fw, const struct source *source, uint32_t wanted, uint32_t *slot)
{
    const size_t head = pr_round_up(sizeof(struct fw_program), 16), bytes = source->bytes;
    struct fw_program *program;
    enum pr_status status;
    uint8_t *copy;

    status = fw_reservation_program(fw, wanted, slot);
    if (status)
        return status;
    program = rt_heap_alloc(fw->kernel, RT_ARENA_SYSTEM, head + bytes);
    if (!program)
        return PR_STATUS_NO_RESOURCES;
    copy = (uint8_t *)program + head;
    status = copy_in(fw, copy, source) ? check(fw, program, copy, bytes) : PR_STATUS_BAD_ARGUMENT;
    if (status) {
        rt_heap_free(fw->kernel, program);
        return status;
    }
    enter(fw, *slot, program);
    fw_log(fw, RT_LOG_INFO, "program %u: %u procedures, text at 0x%llx", *slot, program->container.procedures,
           (unsigned long long)program->container.section[PR_SECTION_TEXT]->address);
    return PR_STATUS_OK;
}

enum pr_status fw_program_load(struct fw *fw, uint64_t address, uint64_t bytes, uint32_t wanted,
                               uint32_t *slot)
{
    const struct source source = {.address = address, .bytes = bytes};

    if (bytes > PR_CONTAINER_BYTES_MAX || address >= PR_SECTION_LIMIT || bytes > PR_SECTION_LIMIT - address)
        return PR_STATUS_BAD_ARGUMENT;
    return load(fw, &source, wanted, slot);
}

enum pr_status fw_program_load_own(struct fw *fw, const void *container, size_t bytes, uint32_t *slot)
{
    const struct source source = {.own = container, .bytes = bytes};

    return load(fw, &source, PR_NO_ID, slot);
}

/* A section of the program's image has a byte of the working set. */
static bool in_section(const struct pr_container_section *section, uint64_t working)
{
    return section && working < section->address + section->address_bytes &&
           section->address < working + sizeof(struct pr_working_set);
}

/* What the host has mapped read-only (property READ_ONLY) is not written. */
static bool is_read_only(struct fw *fw, const struct pr_container *container, uint64_t working)
{
    if (!fw->setting.property[PR_PROPERTY_READ_ONLY] ||
        !(in_section(container->section[PR_SECTION_TEXT], working) ||
          in_section(container->section[PR_SECTION_KERNEL], working)))
        return false;
    fw_log(fw, RT_LOG_WARNING, "the working set at 0x%llx is in the program's image, which is read-only",
           (unsigned long long)working);
    return true;
}

bool fw_program_show(struct fw *fw, uint32_t slot, uint64_t working)
{
    const struct pr_container *container = &fw->program[slot]->container;
    const struct pr_container_section *text = container->section[PR_SECTION_TEXT],
                                      *kernel = container->section[PR_SECTION_KERNEL];
    struct pr_working_set set = {.text = PR_MAPPED_BASE | text->address, .text_bytes = text->address_bytes};

    if (kernel) {
        set.kernel = PR_MAPPED_BASE | kernel->address;
        set.kernel_bytes = kernel->address_bytes;
    }
    return working < PR_SECTION_LIMIT && !is_read_only(fw, container, working) &&
           fw_shared_out(fw, working, &set, sizeof(set));
}

enum pr_status fw_program_unload(struct fw *fw, uint32_t slot)
{
    struct fw_program *program = fw_program_get(fw, slot);

    if (!program)
        return PR_STATUS_NO_PROGRAM;
    if (fw_builtin_has_program(fw, slot)) {
        fw_log(fw, RT_LOG_WARNING, "program %u is a built-in network and is not unloaded", slot);
        return PR_STATUS_WRONG_STATE;
    }
    if (program->processes)
        return PR_STATUS_BUSY;
    enter(fw, slot, NULL);
    fw_reservation_drop(fw, slot);
    fw_prefetch_unload(fw, program);
    rt_heap_free(fw->kernel, program);
    return PR_STATUS_OK;
}
