/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images. The bytes are a private copy. Every check comes before anything is made from what it
 * checks; on failure no block is left. The container is written here from checked values, with zeroes between
 * them; of the caller's bytes only text and kernel are copied to memory that the firmware or the engine
 * reads.
 */
#include "driver/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "listing/check.h"
#include "program/chain.h"
#include "program/hwx.h"
#include "program/uses.h"

#define SECTION_ALIGN 16u
#define ENGINES       16u /* neural-engine lanes */
#define TDS_MAX       0x10000u

/* The first finding that is a problem and not a remark. */
static void keep_first(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    struct pr_problem *first = context;

    if (finding == PR_FINDING_PROBLEM && first->kind == PR_PROBLEM_NONE)
        *first = *problem;
}

/*
 * The leaf word does not protect an input (seeds ch. 28): a program whose results go to one is refused here.
 * In place means one surface at two ports, which is the request's choice.
 */
static IOReturn check_inputs(struct drv *d, const uint8_t *bytes, const struct pr_hwx *hwx)
{
    struct pr_uses uses;

    pr_uses_trace(bytes + hwx->text.offset, hwx->text.size, hwx->first_td_words, hwx->td_count, &uses);
    for (uint32_t i = 0; i < hwx->port_count; i++)
        if (hwx->port[i].direction == PR_HWX_INPUT && uses.stored >> hwx->port[i].bar & 1)
            return drv_refuse(d, kIOReturnBadArgument,
                              "Program create: a descriptor writes to buffer %u, which is the input %s; "
                              "results go to outputs and to the intermediate buffer.",
                              hwx->port[i].bar, hwx->port[i].short_name);
    return kIOReturnSuccess;
}

static IOReturn read_image(struct drv *d, const uint8_t *bytes, uint64_t size, struct pr_hwx *hwx)
{
    struct pr_problem problem = {0};

    if (!pr_hwx_read(bytes, size, hwx, &problem))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %s", problem.text);
    memset(&problem, 0, sizeof(problem));
    if (!pr_check_stream(bytes + hwx->text.offset, hwx->text.size, hwx->first_td_words, hwx->td_count,
                         keep_first, &problem))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: descriptor %u: %s", problem.descriptor,
                          problem.text);
    if (hwx->td_count > TDS_MAX)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %u descriptors; the limit is %u.",
                          hwx->td_count, TDS_MAX);
    return check_inputs(d, bytes, hwx);
}

/* What the container is made from: the generic buffers in the order calls bind them, then text and kernel. */
struct plan {
    uint32_t buffers, io;
    uint32_t type[PR_TQ_BARS], bar[PR_TQ_BARS];
    uint64_t bytes[PR_TQ_BARS], address[PR_TQ_BARS];
    uint32_t bars_used;
};

/* False when that buffer register has a buffer already. */
static bool plan_add(struct plan *plan, uint32_t type, uint32_t bar, uint64_t bytes, uint64_t address)
{
    uint32_t i = plan->buffers;

    if (plan->bars_used >> bar & 1)
        return false;
    plan->bars_used |= 1u << bar;
    plan->type[i] = type;
    plan->bar[i] = bar;
    plan->bytes[i] = bytes;
    plan->address[i] = address;
    plan->buffers++;
    return true;
}

static uint32_t plan_ports(struct plan *plan, const struct pr_hwx *hwx, enum pr_hwx_direction direction,
                           uint32_t type, struct drv_program *program)
{
    uint32_t before = plan->buffers;

    for (uint32_t i = 0; i < hwx->port_count; i++) {
        if (hwx->port[i].direction != direction)
            continue;
        snprintf(program->port[plan->buffers], DRV_PORT_NAME, "%.*s", (int)DRV_PORT_NAME - 1,
                 hwx->port[i].short_name);
        if (!plan_add(plan, type, hwx->port[i].bar, hwx->port[i].bytes, 0))
            return UINT32_MAX;
    }
    return plan->buffers - before;
}

static IOReturn plan_buffers(struct drv *d, struct plan *plan, const struct pr_hwx *hwx,
                             struct drv_program *program)
{
    program->inputs = plan_ports(plan, hwx, PR_HWX_INPUT, PR_BUFFER_IN, program);
    program->outputs = program->inputs == UINT32_MAX
                           ? UINT32_MAX
                           : plan_ports(plan, hwx, PR_HWX_OUTPUT, PR_BUFFER_OUT, program);
    if (program->outputs == UINT32_MAX)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: two surfaces share one buffer register.");
    if (hwx->intermediate_bytes) {
        if (!plan_add(plan, PR_BUFFER_INTERMEDIATE, PR_HWX_BAR_INTERMEDIATE, hwx->intermediate_bytes, 0))
            return drv_refuse(
                d, kIOReturnBadArgument,
                "Program create: a surface uses the buffer register of the intermediate buffer.");
        program->intermediates = 1;
    }
    if (hwx->scratch_bytes) {
        if (!plan_add(plan, PR_BUFFER_MUTABLE, hwx->scratch_bar, hwx->scratch_bytes, 0))
            return drv_refuse(d, kIOReturnBadArgument,
                              "Program create: a surface has buffer %u, which is the scratch buffer's.",
                              hwx->scratch_bar);
        program->scratch_bytes = hwx->scratch_bytes;
    }
    plan->io = plan->buffers;
    memcpy(program->bytes, plan->bytes, plan->io * sizeof(plan->bytes[0]));
    plan_add(plan, PR_BUFFER_TEXT, PR_HWX_BAR_TEXT, program->text.bytes, program->text.iova);
    if (program->kernel.bytes)
        plan_add(plan, PR_BUFFER_KERNEL, PR_HWX_BAR_CONST, program->kernel.bytes, program->kernel.iova);
    program->constants_index = plan->buffers;
    if (program->constants.bytes &&
        !plan_add(plan, PR_BUFFER_IN, PR_HWX_BAR_LITERAL, program->constants.bytes, program->constants.iova))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: a surface has buffer %u, which is the constants'.",
                          PR_HWX_BAR_LITERAL);
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
    at.operation_bytes = 4 + sizeof(struct pr_operation);
    at.procedure = (uint32_t)pr_round_up(at.operation + at.operation_bytes, SECTION_ALIGN);
    at.procedure_bytes = 8 + sizeof(struct pr_procedure);
    at.rebase = (uint32_t)pr_round_up(at.procedure + at.procedure_bytes, SECTION_ALIGN);
    at.rebase_bytes = (uint32_t)(8 + plan->buffers * sizeof(struct pr_rebase_record));
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

static void write_sections(uint8_t *to, const struct layout *at, const struct plan *plan,
                           const struct drv_program *program)
{
    struct pr_generic generic = {.max_ane_used = 1, .engines = ENGINES, .buffers = plan->buffers};
    struct pr_operation operation = {
        .last_td = (uint16_t)(program->td_count - 1), .engines = ENGINES, .bars = plan->buffers};
    const struct pr_procedure procedure = {
        .first_words = program->first_words, .io_buffers = plan->io, .partitions = 1};

    memcpy(to + at->generic, &generic, sizeof(generic));
    for (uint32_t i = 0; i < plan->buffers; i++) {
        const struct pr_generic_buffer buffer = {.valid = 1,
                                                 .index = i,
                                                 .type = plan->type[i],
                                                 .address = plan->address[i],
                                                 .bytes = plan->bytes[i]};

        memcpy(to + at->generic + sizeof(generic) + i * sizeof(buffer), &buffer, sizeof(buffer));
        operation.bar[i].bar = plan->bar[i];
        operation.bar[i].buffer = i;
    }
    pr_put_le32(to + at->operation, 1);
    memcpy(to + at->operation + 4, &operation, sizeof(operation));
    pr_put_le32(to + at->procedure, 1);
    memcpy(to + at->procedure + 8, &procedure, sizeof(procedure));
}

/* One record for each BAR; the firmware has the operands. */
static void write_records(uint8_t *to, const struct layout *at, const struct plan *plan,
                          const struct pr_board *board)
{
    pr_put_le32(to + at->rebase, plan->buffers);
    for (uint32_t i = 0; i < plan->buffers; i++) {
        struct pr_rebase_record record = {.bar = plan->bar[i], .buffer = i};

        pr_rebase_put(record.reg, pr_rebase_register(board->container, 0, record.bar));
        memcpy(to + at->rebase + 8 + i * sizeof(record), &record, sizeof(record));
    }
}

static IOReturn make_block(struct drv *d, uint32_t usage, uint64_t bytes, const char *what,
                           struct drv_block *block)
{
    if (!drv_block_make(d, usage, bytes, block))
        return kIOReturnSuccess;
    return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for the %s, %" PRIu64 " bytes.", what,
                      bytes);
}

static IOReturn load_span(struct drv *d, const uint8_t *bytes, const struct pr_hwx_span *span, uint32_t usage,
                          const char *what, struct drv_block *block)
{
    IOReturn result = span->size ? make_block(d, usage, span->size, what, block) : kIOReturnSuccess;

    if (!result && span->size)
        memcpy(block->host, bytes + span->offset, span->size);
    return result;
}

/* The sections of the image, and the memory in which the firmware says where it sees them. */
static IOReturn load_spans(struct drv *d, const uint8_t *bytes, const struct pr_hwx *hwx,
                           struct drv_program *program)
{
    IOReturn result = load_span(d, bytes, &hwx->text, PR_USAGE_TEXT, "text", &program->text);

    if (!result)
        result = load_span(d, bytes, &hwx->constant, PR_USAGE_KERNEL, "kernel", &program->kernel);
    if (!result)
        result = load_span(d, bytes, &hwx->literal, PR_USAGE_CONSTANTS, "constants", &program->constants);
    if (!result)
        result =
            make_block(d, PR_USAGE_TEXT, sizeof(struct pr_working_set), "working set", &program->working);
    return result;
}

static IOReturn load_image(struct drv *d, const uint8_t *bytes, uint64_t size, struct drv_program *program,
                           struct pr_hwx *hwx)
{
    struct plan plan = {0};
    struct layout at;
    IOReturn result = read_image(d, bytes, size, hwx);

    if (!result)
        result = load_spans(d, bytes, hwx, program);
    if (result)
        return result;
    program->td_count = hwx->td_count;
    program->first_words = hwx->first_td_words;
    result = plan_buffers(d, &plan, hwx, program);
    if (result)
        return result;
    at = lay_out(&plan, program->kernel.bytes);
    result = make_block(d, PR_USAGE_FIRMWARE_SURFACE, at.bytes, "container", &program->container);
    if (result)
        return result;
    /* Padding has to be zero, whatever a bare driver or a stray store left in the pages. */
    memset(program->container.host, 0, at.bytes);
    write_headers(program->container.host, &at, program);
    write_sections(program->container.host, &at, &plan, program);
    write_records(program->container.host, &at, &plan, d->platform.board);
    return kIOReturnSuccess;
}

IOReturn drv_image_load(struct drv *d, const void *bytes, uint64_t size, struct drv_program *program)
{
    struct pr_hwx *hwx = base_alloc(sizeof(*hwx));
    IOReturn result;

    if (!hwx)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory to read the image.");
    result = load_image(d, bytes, size, program, hwx);
    base_free(hwx);
    if (result)
        drv_image_drop(d, program);
    return result;
}

void drv_image_drop(struct drv *d, struct drv_program *program)
{
    drv_block_drop(d, &program->container);
    drv_block_drop(d, &program->working);
    drv_block_drop(d, &program->constants);
    drv_block_drop(d, &program->kernel);
    drv_block_drop(d, &program->text);
}
