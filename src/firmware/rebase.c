/* SPDX-License-Identifier: Apache-2.0 */
/* The rebase. What a process has is made with it, before the process can be found, and ends with it. */
#include "firmware/rebase.h"

#include "firmware/log.h"
#include "firmware/program.h"
#include "firmware/rule.h"
#include "protocol/dart_regs.h"
#include "rtkernel/heap.h"
#include "rtkernel/irq.h"
#include "rtkernel/memory.h"

/* Makes the region hold a range of device addresses; false when that is outside the DART's aperture. */
static bool cover(struct fw_rebase *rebase, uint64_t address, uint64_t bytes)
{
    uint64_t first = address, end;

    if (address >= PR_SECTION_LIMIT || bytes > PR_SECTION_LIMIT - address)
        return false;
    end = address + bytes;
    if (rebase->region_size) {
        const uint64_t old_end = rebase->dva_base + rebase->region_size;

        first = first < rebase->dva_base ? first : rebase->dva_base;
        end = end > old_end ? end : old_end;
    }
    rebase->dva_base = first;
    rebase->region_size = end - first;
    return true;
}

/*
 * Buffer-map time: the engine's object gets the region of the process, and the address is translated with it.
 * 0 when it cannot be. Both tasks get here.
 */
static uint64_t map(struct fw *fw, struct fw_rebase *rebase, uint64_t address, uint64_t bytes)
{
    struct pr_rebase_region *region = &fw->engine.region;
    const uint32_t previous = rt_irq_mask(fw->kernel);
    uint64_t mapped = 0;

    if (cover(rebase, address, bytes)) {
        region->dva_base = rebase->dva_base;
        region->region_size = rebase->region_size;
        region->mapped_base = PR_MAPPED_BASE | rebase->dva_base;
        if (pr_rebase_translate(region, address, bytes, &mapped))
            rebase->rebased++;
    }
    rt_irq_restore(fw->kernel, previous);
    return mapped;
}

/* Where the mapped address of one of the program's own buffers goes, and how large that buffer is. */
struct own {
    uint64_t *mapped; /* NULL: the program has no such buffer of its own */
    uint64_t bytes;
};

static struct own own_section(const struct fw_program *program, enum pr_section kind, uint64_t *mapped)
{
    const struct pr_container_section *section = program->container.section[kind];

    return section ? (struct own){mapped, section->address_bytes} : (struct own){0};
}

static struct own find_own(struct fw_rebase *rebase, const struct fw_program *program, uint32_t index)
{
    uint32_t place;

    if (index == PR_PROCESS_TEXT)
        return own_section(program, PR_SECTION_TEXT, &rebase->text);
    if (index == PR_PROCESS_KERNEL)
        return own_section(program, PR_SECTION_KERNEL, &rebase->kernel);
    place = index < PR_GENERIC_BUFFERS_MAX ? program->place[index] : FW_NO_PLACE;
    if (place == FW_NO_PLACE || !fw_program_fixed(&program->container.buffer[place]))
        return (struct own){0};
    return (struct own){&rebase->own[place], program->container.buffer[place].bytes};
}

/* What is wrong with a buffer of the body, or NULL; its mapped address is then known. */
static const char *take_own(struct fw *fw, struct fw_rebase *rebase, const struct fw_program *program,
                            const struct pr_process_buffer *buffer)
{
    const struct own own = find_own(rebase, program, buffer->index);

    if (!own.mapped)
        return "is not one of the program's own";
    if (*own.mapped)
        return "is there twice";
    if (buffer->reserved || buffer->address % PR_DMA_GRANULE)
        return "has a reserved word that is not 0, or is not aligned to 16 bytes";
    if (buffer->bytes < own.bytes)
        return "is smaller than the container says";
    if (buffer->address >> 32)
        return "is above 4 GiB: (buffer >> 32) == 0 does not hold";
    *own.mapped = map(fw, rebase, buffer->address, buffer->bytes);
    return *own.mapped ? NULL : "ends above 0xe0000000";
}

/* Where a buffer that is a part of a section begins in it. */
static uint64_t part_offset(const struct fw_program *program, const struct pr_generic_buffer *buffer,
                            enum pr_section kind)
{
    return buffer->address ? buffer->address - program->container.section[kind]->address : 0;
}

/* Generic buffers that are the text or the kernel, or parts of them. */
static void alias_sections(struct fw_rebase *rebase, const struct fw_program *program)
{
    for (uint32_t i = 0; i < program->container.generic->buffers; i++) {
        const struct pr_generic_buffer *buffer = &program->container.buffer[i];

        if (buffer->type == PR_BUFFER_TEXT)
            rebase->own[i] = rebase->text + part_offset(program, buffer, PR_SECTION_TEXT);
        else if (buffer->type == PR_BUFFER_KERNEL)
            rebase->own[i] = rebase->kernel + part_offset(program, buffer, PR_SECTION_KERNEL);
    }
}

static void fill_record(struct pr_rebase_record *record, uint64_t mapped, uint64_t bytes)
{
    pr_rebase_put(record->first, mapped);
    pr_rebase_put(record->end, mapped + bytes);
}

/* The operands that do not change any more: those of the program's own buffers. */
static void fill_own_records(struct fw_rebase *rebase, const struct fw_program *program)
{
    const struct pr_container *container = &program->container;

    rt_memcpy(rebase->record, container->record, container->records * sizeof(rebase->record[0]));
    for (uint32_t i = 0; i < container->records; i++) {
        struct pr_rebase_record *record = &rebase->record[i];
        const uint32_t index = record->buffer;

        if (index == PR_PROCESS_TEXT)
            fill_record(record, rebase->text, container->section[PR_SECTION_TEXT]->address_bytes);
        else if (index == PR_PROCESS_KERNEL)
            fill_record(record, rebase->kernel, container->section[PR_SECTION_KERNEL]->address_bytes);
        else if (rebase->own[program->place[index]])
            fill_record(record, rebase->own[program->place[index]],
                        container->buffer[program->place[index]].bytes);
    }
}

bool fw_rebase_fill(struct fw_rebase *rebase, const struct fw_program *program, const struct fw_exeloop *e,
                    struct pr_rebase_record *record)
{
    uint32_t place;

    if (record->buffer >= PR_GENERIC_BUFFERS_MAX)
        return true;
    place = program->place[record->buffer];
    if (rebase->own[place])
        return true;
    if (!(e->bound[place / 64] >> (place % 64) & 1))
        return false;
    fill_record(record, e->bound_as[place].mapped, e->bound_as[place].bytes);
    return true;
}

static bool fill(struct fw *fw, struct fw_rebase *rebase, const struct fw_program *program,
                 const struct pr_body_process *body)
{
    if (body->buffers != program->own) {
        fw_log(fw, RT_LOG_ERROR, "a process has %u buffers of its program, which has %u of its own",
               body->buffers, program->own);
        return false;
    }
    for (uint32_t i = 0; i < body->buffers; i++) {
        const struct pr_process_buffer *buffer = &body->buffer[i];
        const char *wrong = take_own(fw, rebase, program, buffer);

        if (wrong) {
            fw_log(fw, RT_LOG_ERROR, "buffer 0x%x of a process, 0x%llx bytes at 0x%llx, %s", buffer->index,
                   (unsigned long long)buffer->bytes, (unsigned long long)buffer->address, wrong);
            return false;
        }
    }
    alias_sections(rebase, program);
    fill_own_records(rebase, program);
    return true;
}

enum pr_status fw_rebase_make(struct fw *fw, const struct fw_program *program,
                              const struct pr_body_process *body, struct fw_rebase **rebase)
{
    const size_t own = program->container.generic->buffers * sizeof((*rebase)->own[0]);
    const size_t records = program->container.records * sizeof((*rebase)->record[0]);

    *rebase = rt_heap_alloc(fw->kernel, RT_ARENA_SYSTEM, sizeof(**rebase) + own + records);
    if (!*rebase)
        return PR_STATUS_NO_RESOURCES;
    (*rebase)->own = (uint64_t *)(*rebase + 1);
    (*rebase)->record = (void *)((*rebase)->own + program->container.generic->buffers);
    if (fill(fw, *rebase, program, body))
        return PR_STATUS_OK;
    rt_heap_free(fw->kernel, *rebase);
    return PR_STATUS_BAD_ARGUMENT;
}

const char *fw_rebase_wrong(const struct fw_program *program, const struct pr_buffer *buffer)
{
    const struct pr_generic_buffer *generic;
    uint32_t place;

    if (!(buffer->valid & PR_BUFFER_VALID))
        return "is not valid";
    place = buffer->index < PR_GENERIC_BUFFERS_MAX ? program->place[buffer->index] : FW_NO_PLACE;
    if (place == FW_NO_PLACE)
        return "is not a buffer of the program";
    generic = &program->container.buffer[place];
    if (generic->address || generic->type == PR_BUFFER_KERNEL || generic->type == PR_BUFFER_TEXT)
        return "is one of the program's own";
    if (buffer->address >> 32)
        return "is above 4 GiB: (buffer >> 32) == 0 does not hold";
    if (buffer->address % PR_DMA_GRANULE)
        return "is not aligned to 16 bytes";
    return buffer->bytes < generic->bytes ? "is smaller than the container says" : NULL;
}

static struct fw_binding *find(struct fw_rebase *rebase, const struct pr_buffer *buffer, uint32_t set)
{
    for (uint32_t way = 0; way < FW_REBASE_WAYS; way++) {
        struct fw_binding *entry = &rebase->cache[set][way];

        if (entry->address == buffer->address && entry->bytes == buffer->bytes &&
            entry->index == buffer->index && entry->bytes)
            return entry;
    }
    return NULL;
}

/* The set of a buffer: pages, and places inside a page, spread over the sets. */
static uint32_t set_of(const struct pr_buffer *buffer)
{
    return (uint32_t)(buffer->index ^ buffer->address >> 6 ^ buffer->address >> PR_PAGE_SHIFT) %
           FW_REBASE_SETS;
}

static uint64_t keep(struct fw *fw, struct fw_rebase *rebase, const struct pr_buffer *buffer, uint32_t pool)
{
    const uint64_t mapped = map(fw, rebase, buffer->address, buffer->bytes);
    const uint32_t set = set_of(buffer);

    if (!mapped)
        return 0;
    rebase->cache[set][rebase->oldest[set]++ % FW_REBASE_WAYS] =
        (struct fw_binding){.index = buffer->index,
                            .pool = pool,
                            .address = buffer->address,
                            .bytes = buffer->bytes,
                            .mapped = mapped};
    return mapped;
}

uint64_t fw_rebase_bind(struct fw *fw, struct fw_rebase *rebase, const struct pr_buffer *buffer)
{
    const struct fw_binding *entry = find(rebase, buffer, set_of(buffer));

    return entry ? entry->mapped : keep(fw, rebase, buffer, PR_POOL_CALLS);
}

uint64_t fw_rebase_tag(struct fw *fw, struct fw_rebase *rebase, const struct pr_buffer *buffer, uint32_t pool)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    struct fw_binding *entry = find(rebase, buffer, set_of(buffer));
    uint64_t mapped;

    if (entry)
        entry->pool = pool;
    mapped = entry ? entry->mapped : keep(fw, rebase, buffer, pool);
    rt_irq_restore(fw->kernel, previous);
    return mapped;
}

/* What is wrong with a pre-map, or NULL. */
static const char *premap_wrong(const struct fw_program *program, const struct pr_body_premap *body)
{
    if (body->operations != 1)
        return "does not have exactly one operation";
    if (!body->pool || body->zero)
        return "is for the pool of calls, or has a reserved word that is not 0";
    if (!body->buffer.address || !body->buffer.bytes)
        return "has an address or a size of 0";
    return fw_rebase_wrong(program, &body->buffer);
}

enum pr_status fw_rebase_premap(struct fw *fw, const struct fw_program *program, struct fw_rebase *rebase,
                                const struct pr_body_premap *body)
{
    const struct pr_buffer *buffer = &body->buffer;
    const enum pr_status status = fw_rule(fw, PR_RULE_PREMAP_BUFFERS, body->buffers == 1, body->buffers);
    const char *wrong = premap_wrong(program, body);
    struct fw_binding *entry;
    uint32_t previous;

    if (status)
        return status;
    if (!wrong) {
        previous = rt_irq_mask(fw->kernel);
        entry = find(rebase, buffer, set_of(buffer));
        if (entry)
            entry->pool = body->pool;
        else if (keep(fw, rebase, buffer, body->pool))
            rebase->premapped++;
        else
            wrong = "ends above 0xe0000000";
        rt_irq_restore(fw->kernel, previous);
    }
    if (!wrong)
        return PR_STATUS_OK;
    fw_log(fw, RT_LOG_WARNING, "a pre-map of buffer %u, 0x%llx bytes at 0x%llx, %s", buffer->index,
           (unsigned long long)buffer->bytes, (unsigned long long)buffer->address, wrong);
    return PR_STATUS_BAD_ARGUMENT;
}

void fw_rebase_drop(struct fw *fw, struct fw_process *process)
{
    rt_heap_free(fw->kernel, process->rebase);
    process->rebase = NULL;
}
