/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images. The bytes are a private copy. Every check comes before anything is made from what it
 * checks; on failure no block is left. Texts, kernels and constants of all procedures are one block each, a
 * kernel that is equal to an earlier one once. Of the caller's bytes only these are copied to memory that the
 * firmware or the engine reads.
 */
#include "driver/image.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "driver/container.h"
#include "listing/check.h"
#include "program/chain.h"
#include "program/hwx.h"
#include "program/uses.h"

#define TDS_MAX    0x10000u
#define PART_ALIGN 64u /* of kernels and constants, as in a bundle's weights */

IOReturn drv_image_refuse(struct drv *d, const struct drv_program *program, uint32_t procedure,
                          const char *format, ...)
{
    char text[sizeof(((struct pr_problem *)0)->text) + 64], where[32] = "";
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (program->procedures > 1)
        snprintf(where, sizeof(where), "procedure %u: ", procedure);
    return drv_refuse(d, kIOReturnBadArgument, "Program create: %s%s", where, text);
}

/* The images of a program while they are read: what of each goes where. */
struct source {
    struct drv_program *program;
    const struct drv_image *image;
    struct pr_hwx hwx; /* of the procedure being read */
    struct {
        struct pr_hwx_span text, kernel, constants;
    } span[];
};

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
static IOReturn check_inputs(struct drv *d, const struct source *source, uint32_t i)
{
    const uint8_t *bytes = source->image[i].bytes;
    const struct pr_hwx *hwx = &source->hwx;
    struct pr_uses uses;

    pr_uses_trace(bytes + hwx->text.offset, hwx->text.size, hwx->first_td_words, hwx->td_count, &uses);
    for (uint32_t k = 0; k < hwx->port_count; k++)
        if (hwx->port[k].direction == PR_HWX_INPUT && uses.stored >> hwx->port[k].bar & 1)
            return drv_image_refuse(d, source->program, i,
                                    "a descriptor writes to buffer %u, which is the input %s; results go to "
                                    "outputs and to the intermediate buffer.",
                                    hwx->port[k].bar, hwx->port[k].short_name);
    return kIOReturnSuccess;
}

static IOReturn read_image(struct drv *d, struct source *source, uint32_t i)
{
    const uint8_t *bytes = source->image[i].bytes;
    struct pr_hwx *hwx = &source->hwx;
    struct pr_problem problem = {0};

    if (!pr_hwx_read(bytes, source->image[i].size, hwx, &problem))
        return drv_image_refuse(d, source->program, i, "%s", problem.text);
    memset(&problem, 0, sizeof(problem));
    if (!pr_check_stream(bytes + hwx->text.offset, hwx->text.size, hwx->first_td_words, hwx->td_count,
                         keep_first, &problem))
        return drv_image_refuse(d, source->program, i, "descriptor %u: %s", problem.descriptor, problem.text);
    if (hwx->td_count > TDS_MAX)
        return drv_image_refuse(d, source->program, i, "%u descriptors; the limit is %u.", hwx->td_count,
                                TDS_MAX);
    return check_inputs(d, source, i);
}

/* A buffer that calls bind; false when that buffer register has a buffer already. */
static bool add_buffer(struct drv_procedure *p, uint32_t *taken, uint32_t type, uint32_t bar, uint64_t bytes)
{
    if (*taken >> bar & 1)
        return false;
    *taken |= 1u << bar;
    p->type[p->buffers] = (uint8_t)type;
    p->bar[p->buffers] = (uint8_t)bar;
    p->bytes[p->buffers++] = bytes;
    return true;
}

static bool add_ports(struct drv_procedure *p, uint32_t *taken, const struct pr_hwx *hwx,
                      enum pr_hwx_direction direction, uint32_t type, uint32_t *count)
{
    for (uint32_t i = 0; i < hwx->port_count; i++) {
        if (hwx->port[i].direction != direction)
            continue;
        snprintf(p->port[p->buffers], DRV_PORT_NAME, "%.*s", (int)DRV_PORT_NAME - 1, hwx->port[i].short_name);
        if (!add_buffer(p, taken, type, hwx->port[i].bar, hwx->port[i].bytes))
            return false;
        ++*count;
    }
    return true;
}

/* What calls bind, and the buffer registers of the procedure's own parts. */
static IOReturn read_buffers(struct drv *d, const struct source *source, uint32_t i, struct drv_procedure *p)
{
    const struct pr_hwx *hwx = &source->hwx;
    uint32_t taken = 0;

    if (!add_ports(p, &taken, hwx, PR_HWX_INPUT, PR_BUFFER_IN, &p->inputs) ||
        !add_ports(p, &taken, hwx, PR_HWX_OUTPUT, PR_BUFFER_OUT, &p->outputs))
        return drv_image_refuse(d, source->program, i, "two surfaces share one buffer register.");
    if (hwx->intermediate_bytes) {
        if (!add_buffer(p, &taken, PR_BUFFER_INTERMEDIATE, PR_HWX_BAR_INTERMEDIATE, hwx->intermediate_bytes))
            return drv_image_refuse(d, source->program, i,
                                    "a surface uses the buffer register of the intermediate buffer.");
        p->intermediates = 1;
    }
    if (hwx->scratch_bytes && !add_buffer(p, &taken, PR_BUFFER_MUTABLE, hwx->scratch_bar, hwx->scratch_bytes))
        return drv_image_refuse(d, source->program, i,
                                "a surface has buffer %u, which is the scratch buffer's.", hwx->scratch_bar);
    p->scratch_bytes = hwx->scratch_bytes;
    if (hwx->literal.size && taken >> PR_HWX_BAR_LITERAL & 1)
        return drv_image_refuse(d, source->program, i, "a surface has buffer %u, which is the constants'.",
                                PR_HWX_BAR_LITERAL);
    return kIOReturnSuccess;
}

/* The next part of a block behind those that have `end` bytes. */
static struct drv_part next_part(const struct pr_hwx_span *span, uint64_t align, uint64_t *end)
{
    struct drv_part part = {.offset = pr_round_up(*end, align), .bytes = span->size};

    if (!part.bytes)
        return (struct drv_part){0};
    *end = part.offset + part.bytes;
    return part;
}

static const uint8_t *kernel_bytes(const struct source *source, uint32_t i)
{
    const struct drv_image *image = &source->image[i];

    return image->constants ? image->constants
                            : (const uint8_t *)image->bytes + source->span[i].kernel.offset;
}

/* An earlier procedure with the same bytes of kernel, or `i`. */
static uint32_t find_kernel(const struct source *source, uint32_t i)
{
    const struct pr_hwx_span *span = &source->span[i].kernel;
    uint32_t k = 0;

    while (k < i && (source->span[k].kernel.size != span->size ||
                     memcmp(kernel_bytes(source, k), kernel_bytes(source, i), span->size) != 0))
        k++;
    return k;
}

/* Block sizes so far. */
struct ends {
    uint64_t text, kernel, constants;
};

static IOReturn read_procedure(struct drv *d, struct source *source, uint32_t i, struct ends *ends)
{
    struct drv_program *program = source->program;
    struct drv_procedure *p = &program->procedure[i];
    IOReturn result = read_image(d, source, i);
    uint32_t same;

    if (!result)
        result = read_buffers(d, source, i, p);
    if (result)
        return result;
    p->td_count = source->hwx.td_count;
    p->first_words = source->hwx.first_td_words;
    program->td_count += p->td_count;
    if (p->intermediates && p->bytes[p->inputs + p->outputs] > program->intermediate_bytes)
        program->intermediate_bytes = p->bytes[p->inputs + p->outputs];
    if (p->scratch_bytes > program->scratch_bytes)
        program->scratch_bytes = p->scratch_bytes;
    source->span[i].text = source->hwx.text;
    source->span[i].kernel = source->hwx.constant;
    source->span[i].constants = source->hwx.literal;
    same = find_kernel(source, i);
    p->text = next_part(&source->hwx.text, PR_TD_ALIGN, &ends->text);
    p->kernel = same < i ? program->procedure[same].kernel
                         : next_part(&source->hwx.constant, PART_ALIGN, &ends->kernel);
    p->constants = next_part(&source->hwx.literal, PART_ALIGN, &ends->constants);
    return kIOReturnSuccess;
}

static IOReturn make_block(struct drv *d, uint32_t usage, uint64_t bytes, const char *what,
                           struct drv_block *block)
{
    if (!bytes || block->bytes)
        return kIOReturnSuccess;
    if (drv_block_make(d, usage, bytes, block))
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for the %s, %" PRIu64 " bytes.",
                          what, bytes);
    memset(block->host, 0, bytes);
    return kIOReturnSuccess;
}

static void copy_part(const struct drv_block *block, const struct drv_part *part, const uint8_t *from)
{
    uint8_t *to = (uint8_t *)block->host + part->offset;

    if (part->bytes && to != from)
        memcpy(to, from, part->bytes);
}

/* The sections of the images, and the memory in which the firmware says where it sees them. */
static IOReturn load_spans(struct drv *d, const struct source *source, const struct ends *ends)
{
    struct drv_program *program = source->program;
    IOReturn result = make_block(d, PR_USAGE_TEXT, ends->text, "text", &program->text);

    if (!result)
        result = make_block(d, PR_USAGE_KERNEL, ends->kernel, "kernel", &program->kernel);
    if (!result)
        result = make_block(d, PR_USAGE_CONSTANTS, ends->constants, "constants", &program->constants);
    if (!result)
        result =
            make_block(d, PR_USAGE_TEXT, sizeof(struct pr_working_set), "working set", &program->working);
    if (result)
        return result;
    for (uint32_t i = 0; i < program->procedures; i++) {
        const struct drv_procedure *p = &program->procedure[i];
        const uint8_t *image = source->image[i].bytes;

        copy_part(&program->text, &p->text, image + source->span[i].text.offset);
        copy_part(&program->kernel, &p->kernel, kernel_bytes(source, i));
        copy_part(&program->constants, &p->constants, image + source->span[i].constants.offset);
    }
    return kIOReturnSuccess;
}

static IOReturn load_images(struct drv *d, struct source *source)
{
    struct ends ends = {0};
    IOReturn result = kIOReturnSuccess;

    for (uint32_t i = 0; i < source->program->procedures && !result; i++)
        result = read_procedure(d, source, i, &ends);
    if (!result)
        result = load_spans(d, source, &ends);
    return result ? result : drv_container_make(d, source->program);
}

IOReturn drv_image_load(struct drv *d, const struct drv_image *image, struct drv_program *program)
{
    struct source *source = base_alloc(sizeof(*source) + program->procedures * sizeof(source->span[0]));
    IOReturn result;

    program->procedure = base_alloc_array(program->procedures, sizeof(program->procedure[0]));
    if (source && program->procedure) {
        source->program = program;
        source->image = image;
        result = load_images(d, source);
    } else {
        result = drv_refuse(d, kIOReturnNoMemory, "Program create: no memory to read the image.");
    }
    base_free(source);
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
    base_free(program->procedure);
    program->procedure = NULL;
}
