/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container is made from a plan of its tables. A procedure has one operation. Its buffers follow each
 * other in the table of generic ones: those that calls bind, in the order of ane_request, then its parts of
 * text, kernel and constants. Procedures with the same part of the kernel have one buffer for it.
 */
#include "driver/container.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "driver/image.h"
#include "program/hwx.h"

#define SECTION_ALIGN 16u
#define ENGINES       16u /* neural-engine lanes */

struct plan {
    uint32_t buffers, procedures, records;
    struct pr_generic_buffer buffer[PR_GENERIC_BUFFERS_MAX];
    struct pr_operation operation[PR_OPERATIONS_MAX];
    struct pr_procedure procedure[PR_PROCEDURES_MAX];
};

/* The new buffer's index, or PR_GENERIC_BUFFERS_MAX when the table is full. */
static uint32_t add_buffer(struct plan *plan, uint32_t type, uint64_t address, uint64_t bytes)
{
    const uint32_t index = plan->buffers;

    if (index < PR_GENERIC_BUFFERS_MAX)
        plan->buffer[plan->buffers++] = (struct pr_generic_buffer){
            .valid = 1, .index = index, .type = type, .address = address, .bytes = bytes};
    return index;
}

static uint32_t find_kernel(const struct plan *plan, uint64_t address, uint64_t bytes)
{
    uint32_t i = 0;

    while (i < plan->buffers && (plan->buffer[i].type != PR_BUFFER_KERNEL ||
                                 plan->buffer[i].address != address || plan->buffer[i].bytes != bytes))
        i++;
    return i;
}

static bool add_bar(struct plan *plan, struct pr_operation *operation, uint32_t bar, uint32_t buffer)
{
    if (buffer >= PR_GENERIC_BUFFERS_MAX)
        return false;
    operation->bar[operation->bars].bar = bar;
    operation->bar[operation->bars++].buffer = buffer;
    plan->records++;
    return true;
}

/* The buffers of a procedure; false when the table has no room for them. */
static bool plan_buffers(struct plan *plan, const struct drv_program *program, struct drv_procedure *p,
                         struct pr_operation *o)
{
    const uint64_t text = program->text.iova + p->text.offset,
                   kernel = program->kernel.iova + p->kernel.offset;
    uint32_t index;

    p->first_buffer = plan->buffers;
    for (uint32_t i = 0; i < p->buffers; i++)
        if (!add_bar(plan, o, p->bar[i], add_buffer(plan, p->type[i], 0, p->bytes[i])))
            return false;
    if (!add_bar(plan, o, PR_HWX_BAR_TEXT, add_buffer(plan, PR_BUFFER_TEXT, text, p->text.bytes)))
        return false;
    if (p->kernel.bytes) {
        index = find_kernel(plan, kernel, p->kernel.bytes);
        if (index == plan->buffers)
            index = add_buffer(plan, PR_BUFFER_KERNEL, kernel, p->kernel.bytes);
        if (!add_bar(plan, o, PR_HWX_BAR_CONST, index))
            return false;
    }
    p->constants_index = plan->buffers;
    return !p->constants.bytes ||
           add_bar(plan, o, PR_HWX_BAR_LITERAL,
                   add_buffer(plan, PR_BUFFER_IN, program->constants.iova + p->constants.offset,
                              p->constants.bytes));
}

static IOReturn plan_procedures(struct drv *d, struct plan *plan, struct drv_program *program)
{
    for (uint32_t i = 0; i < program->procedures; i++) {
        struct drv_procedure *p = &program->procedure[i];
        struct pr_operation *o = &plan->operation[i];

        *o = (struct pr_operation){.last_td = (uint16_t)(p->td_count - 1), .engines = ENGINES};
        if (!plan_buffers(plan, program, p, o))
            return drv_image_refuse(d, program, i, "the program has more than %u buffers.",
                                    PR_GENERIC_BUFFERS_MAX);
        plan->procedure[i] = (struct pr_procedure){.operation = i,
                                                   .first_words = p->first_words,
                                                   .text_offset = (uint32_t)p->text.offset,
                                                   .io_buffers = p->buffers,
                                                   .partitions = 1};
    }
    plan->procedures = program->procedures;
    return kIOReturnSuccess;
}

#define IMAGE_SECTIONS 6u /* of a container from here: it has no custom bars */

/* Where things are in the container. */
struct layout {
    uint32_t sections, headers, generic, generic_bytes, operation, operation_bytes, procedure,
        procedure_bytes, rebase, rebase_bytes, bytes;
};

static struct layout lay_out(const struct plan *plan, bool kernel)
{
    struct layout at = {.sections = kernel ? IMAGE_SECTIONS : IMAGE_SECTIONS - 1};

    at.headers = sizeof(struct pr_container_package) + sizeof(struct pr_container_program);
    at.generic =
        (uint32_t)pr_round_up(at.headers + at.sections * sizeof(struct pr_container_section), SECTION_ALIGN);
    at.generic_bytes =
        (uint32_t)(sizeof(struct pr_generic) + plan->buffers * sizeof(struct pr_generic_buffer));
    at.operation = (uint32_t)pr_round_up(at.generic + at.generic_bytes, SECTION_ALIGN);
    at.operation_bytes = (uint32_t)(4 + plan->procedures * sizeof(struct pr_operation));
    at.procedure = (uint32_t)pr_round_up(at.operation + at.operation_bytes, SECTION_ALIGN);
    at.procedure_bytes = (uint32_t)(8 + plan->procedures * sizeof(struct pr_procedure));
    at.rebase = (uint32_t)pr_round_up(at.procedure + at.procedure_bytes, SECTION_ALIGN);
    at.rebase_bytes = (uint32_t)(8 + plan->records * sizeof(struct pr_rebase_record));
    at.bytes = (uint32_t)pr_round_up(at.rebase + at.rebase_bytes, SECTION_ALIGN);
    return at;
}

static void write_headers(uint8_t *to, const struct layout *at, const struct drv_program *program)
{
    const struct pr_container_package package = {.magic = PR_CONTAINER_PACKAGE,
                                                 .version = PR_CONTAINER_VERSION,
                                                 .checksum = PR_CONTAINER_CHECKSUM_VALID,
                                                 .bytes = at->bytes,
                                                 .program_offset = sizeof(package)};
    struct pr_container_program head = {.magic = PR_CONTAINER_PROGRAM, .sections = at->sections};
    struct pr_container_section section[IMAGE_SECTIONS] = {
        {.kind = PR_SECTION_GENERIC, .offset = at->generic, .bytes = at->generic_bytes},
        {.kind = PR_SECTION_KERNEL, .address = program->kernel.iova, .address_bytes = program->kernel.bytes},
        {.kind = PR_SECTION_TEXT, .address = program->text.iova, .address_bytes = program->text.bytes},
        {.kind = PR_SECTION_OPERATION, .offset = at->operation, .bytes = at->operation_bytes},
        {.kind = PR_SECTION_PROCEDURE, .offset = at->procedure, .bytes = at->procedure_bytes},
        {.kind = PR_SECTION_REBASE, .offset = at->rebase, .bytes = at->rebase_bytes},
    };
    uint8_t *next = to + at->headers;

    pr_put_le64(head.identity, program->token);
    memcpy(to, &package, sizeof(package));
    memcpy(to + sizeof(package), &head, sizeof(head));
    for (unsigned i = 0; i < IMAGE_SECTIONS; i++) {
        if (section[i].kind == PR_SECTION_KERNEL && !program->kernel.bytes)
            continue;
        section[i].magic = PR_CONTAINER_SECTION;
        memcpy(next, &section[i], sizeof(section[i]));
        next += sizeof(section[i]);
    }
}

static void write_sections(uint8_t *to, const struct layout *at, const struct plan *plan)
{
    const struct pr_generic generic = {.max_ane_used = 1, .engines = ENGINES, .buffers = plan->buffers};

    memcpy(to + at->generic, &generic, sizeof(generic));
    memcpy(to + at->generic + sizeof(generic), plan->buffer, plan->buffers * sizeof(plan->buffer[0]));
    pr_put_le32(to + at->operation, plan->procedures);
    memcpy(to + at->operation + 4, plan->operation, plan->procedures * sizeof(plan->operation[0]));
    pr_put_le32(to + at->procedure, plan->procedures);
    memcpy(to + at->procedure + 8, plan->procedure, plan->procedures * sizeof(plan->procedure[0]));
}

/* One record for each BAR; the firmware has the operands. */
static void write_records(uint8_t *to, const struct layout *at, const struct plan *plan,
                          const struct pr_board *board)
{
    uint8_t *next = to + at->rebase + 8;

    pr_put_le32(to + at->rebase, plan->records);
    for (uint32_t i = 0; i < plan->procedures; i++)
        for (uint32_t b = 0; b < plan->operation[i].bars; b++) {
            struct pr_rebase_record record = {.operation = i,
                                              .bar = plan->operation[i].bar[b].bar,
                                              .buffer = plan->operation[i].bar[b].buffer};

            pr_rebase_put(record.reg, pr_rebase_register(board->container, 0, record.bar));
            memcpy(next, &record, sizeof(record));
            next += sizeof(record);
        }
}

static IOReturn write_container(struct drv *d, const struct plan *plan, struct drv_program *program)
{
    const struct layout at = lay_out(plan, program->kernel.bytes);

    if (drv_block_make(d, PR_USAGE_FIRMWARE_SURFACE, at.bytes, &program->container))
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for the container, %u bytes.",
                          at.bytes);
    /* Padding has to be zero, whatever a bare driver or a stray store left in the pages. */
    memset(program->container.host, 0, at.bytes);
    write_headers(program->container.host, &at, program);
    write_sections(program->container.host, &at, plan);
    write_records(program->container.host, &at, plan, d->platform.board);
    return kIOReturnSuccess;
}

IOReturn drv_container_make(struct drv *d, struct drv_program *program)
{
    struct plan *plan = base_alloc(sizeof(*plan));
    IOReturn result;

    if (!plan)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory to write the container.");
    result = plan_procedures(d, plan, program);
    if (!result)
        result = write_container(d, plan, program);
    base_free(plan);
    return result;
}
