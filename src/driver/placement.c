/* SPDX-License-Identifier: Apache-2.0 */
/* Placements. An address of 0 is none: a process has all of its program mapped, or nothing. */
#include "driver/placement.h"

#include <errno.h>
#include <inttypes.h>

#include "driver/domain.h"
#include "driver/mapping.h"

/* What the engine reads of a program, and where a process has it in its client's domain. */
struct part {
    const struct drv_block *block;
    uint64_t *iova;
};
#define PARTS 3u
static void list_parts(struct drv_process *process, struct part part[PARTS])
{
    const struct drv_program *program = process->program;

    part[0] = (struct part){&program->text, &process->text};
    part[1] = (struct part){&program->kernel, &process->kernel};
    part[2] = (struct part){&program->constants, &process->constants};
}

void drv_placement_unmap(struct drv_process *process)
{
    struct drv_client *client = process->client;
    struct part part[PARTS];

    list_parts(process, part);
    for (unsigned i = 0; i < PARTS; i++) {
        if (*part[i].iova)
            drv_mapping_displace(client->driver, client->domain, *part[i].iova, part[i].block->bytes);
        *part[i].iova = 0;
    }
}

static IOReturn refuse(const struct drv_process *process, int status)
{
    const struct drv_domain *domain = process->client->domain;
    const struct drv_program *program = process->program;
    struct drv *d = program->driver;

    if (status != -ENOSPC)
        return drv_refuse(d, kIOReturnNoMemory, "Program prepare: no memory for page tables.");
    return drv_refuse(
        d, kIOReturnNoResources,
        "Program prepare: text, kernel and constants of %" PRIu64 " bytes do not fit: what must be mapped "
        "at once takes %" PRIu64 " of the %" PRIu64 " bytes of device addresses of domain %u.",
        program->text.bytes + program->kernel.bytes + program->constants.bytes,
        drv_space_used(&domain->space), domain->space.end - domain->space.first, domain->number);
}

/* They have addresses of their own for every process, also where instances share the pages. */
IOReturn drv_placement_map(struct drv_process *process)
{
    struct drv_client *client = process->client;
    struct part part[PARTS];
    int status = 0;

    list_parts(process, part);
    for (unsigned i = 0; i < PARTS && !status; i++) {
        const struct drv_block *block = part[i].block;
        uint64_t iova = 0;

        if (block->bytes)
            status = drv_mapping_place(client->driver, client->domain, block->usage, &block->pages,
                                       DRV_SPACE_HIGH, &iova);
        if (!status)
            *part[i].iova = iova;
    }
    if (!status)
        return kIOReturnSuccess;
    drv_placement_unmap(process);
    return refuse(process, status);
}

static void add_own(struct pr_body_process *body, uint32_t index, uint64_t address, uint64_t bytes)
{
    if (bytes)
        body->buffer[body->buffers++] =
            (struct pr_process_buffer){.index = index, .address = address, .bytes = bytes};
}

uint32_t drv_placement_describe(const struct drv_process *process, struct pr_body_process *body)
{
    const struct drv_program *program = process->program;

    body->stream = drv_domain_stream(process->client->domain) | PR_PROCESS_USER_BITS(process->client->number);
    body->buffers = 0;
    add_own(body, PR_PROCESS_TEXT, process->text, program->text.bytes);
    add_own(body, PR_PROCESS_KERNEL, process->kernel, program->kernel.bytes);
    for (uint32_t i = 0; i < program->procedures; i++) {
        const struct drv_procedure *p = &program->procedure[i];

        add_own(body, p->constants_index, process->constants + p->constants.offset, p->constants.bytes);
    }
    return PR_PROCESS_BYTES(body->buffers);
}
