/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances. An instance is a program with a base, so that prepare, requests and destroy take its token as
 * any other. Its base counts it, and is neither destroyed nor unloaded before it. Without weight files it is
 * a further process slot on the base's slot in the firmware. With them the firmware loads a container of its
 * own, which differs from the base's in the place of the kernel alone.
 */
#include "driver/instance.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/block.h"
#include "driver/overlay.h"
#include "driver/program.h"
#include "driver/quota.h"
#include "driver/reclaim.h"
#include "driver/session.h"
#include "driver/surface.h"
#include "driver/wiring.h"

#define ALIGN 64u
#define ALL_FLAGS                                                                                 \
    (ANE_INSTANCE_POWER_SAVING | ANE_INSTANCE_AGGRESSIVE_POWER_SAVING | ANE_INSTANCE_KEEP_WIRED | \
     ANE_INSTANCE_SHARE_INTERMEDIATE)

/* The arguments, copied; `files` is what follows them in the caller's surface, read once. */
struct order {
    struct ane_instance_args args;
    struct ane_instance_weights weights[ANE_INSTANCE_WEIGHTS];
    const uint8_t *from; /* the arguments in the surface: files are counted from there */
    uint64_t size;
};

bool drv_instance_adopts(const struct drv_program *program)
{
    return program->base && !program->weighted;
}

const struct drv_program *drv_instance_intermediate(const struct drv_program *program)
{
    return program->base && program->flags & ANE_INSTANCE_SHARE_INTERMEDIATE ? program->base : program;
}

bool drv_instance_shares(const struct drv_program *program, const struct drv_block *block)
{
    return program->base && (block == &program->text || block == &program->constants ||
                             (block == &program->kernel && !program->weighted));
}

void drv_instance_share(struct drv_program *program)
{
    program->text = program->base->text;
    program->constants = program->base->constants;
    if (!program->weighted)
        program->kernel = program->base->kernel;
}

void drv_instance_unshare(struct drv_program *program)
{
    struct drv_block none = {0};

    if (drv_instance_shares(program, &program->kernel))
        program->kernel = none;
    program->text = program->constants = none;
    program->procedure = NULL;
}

static bool is_inside(uint64_t offset, uint64_t size, uint64_t limit)
{
    return offset <= limit && size <= limit - offset;
}

static IOReturn check_args(struct drv *d, const struct ane_instance_args *args)
{
    if (args->version != ANE_INSTANCE_ARGS_VERSION)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Instance create: arguments of version %u; the driver knows %u.", args->version,
                          ANE_INSTANCE_ARGS_VERSION);
    if (args->flags & ~(uint32_t)ALL_FLAGS || !base_is_zero(args->reserved, sizeof(args->reserved)))
        return drv_refuse(
            d, kIOReturnBadArgument,
            "Instance create: flags 0x%x are not all known (0x%x), or reserved bytes are not 0.", args->flags,
            (unsigned)ALL_FLAGS);
    if (args->flags & ANE_INSTANCE_AGGRESSIVE_POWER_SAVING && !(args->flags & ANE_INSTANCE_POWER_SAVING))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Instance create: aggressive power saving is asked for without power saving.");
    if (args->queue_depth > DRV_REQUESTS_PER_CLIENT)
        return drv_refuse(d, kIOReturnBadArgument, "Instance create: a queue depth of %u; the limit is %u.",
                          args->queue_depth, DRV_REQUESTS_PER_CLIENT);
    if (args->weights > ANE_INSTANCE_WEIGHTS)
        return drv_refuse(d, kIOReturnBadArgument, "Instance create: %u weight files; the limit is %u.",
                          args->weights, ANE_INSTANCE_WEIGHTS);
    return kIOReturnSuccess;
}

static IOReturn check_weights(struct drv *d, const struct order *order, const struct drv_program *base)
{
    for (uint32_t i = 0; i < order->args.weights; i++) {
        const struct ane_instance_weights *w = &order->weights[i];

        if (w->reserved || !w->size || w->target % ALIGN || w->offset % ALIGN)
            return drv_refuse(d, kIOReturnBadArgument,
                              "Instance create: weight file %u is empty, has reserved bytes that are not 0, "
                              "or is not at multiples of %u.",
                              i, ALIGN);
        if (!is_inside(w->offset, w->size, order->size))
            return drv_refuse(d, kIOReturnBadArgument,
                              "Instance create: weight file %u has %" PRIu64 " bytes at %" PRIu64
                              "; the arguments end at %" PRIu64 ".",
                              i, w->size, w->offset, order->size);
        if (!is_inside(w->target, w->size, base->kernel.bytes))
            return drv_refuse(d, kIOReturnBadArgument,
                              "Instance create: weight file %u goes to %" PRIu64 " bytes at %" PRIu64
                              "; the base program has %" PRIu64 " bytes of weights.",
                              i, w->size, w->target, base->kernel.bytes);
    }
    return kIOReturnSuccess;
}

static IOReturn find_base(struct drv_client *client, uint64_t token, struct drv_program **base)
{
    *base = drv_program_find(client, token);
    if (!*base)
        return drv_program_not_found(client->driver, token);
    if ((*base)->base)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Instance create: 0x%" PRIx64 " is an instance; name its base program.", token);
    return kIOReturnSuccess;
}

static IOReturn no_memory(struct drv *d, const char *what, uint64_t bytes)
{
    return drv_refuse(d, kIOReturnNoMemory, "Instance create: no memory for the %s, %" PRIu64 " bytes.", what,
                      bytes);
}

/* A part of the container in the program's own block, to be written. */
static void *own_part(const struct drv_program *program, const void *part)
{
    uint8_t *host = program->container.host;

    return host + ((const uint8_t *)part - host);
}

/* The base's container, with another identity and another place of the kernel. */
IOReturn drv_instance_container(struct drv *d, struct drv_program *program)
{
    const struct drv_block *from = &program->base->container;
    struct pr_container_program *head;
    struct pr_container_section *section;
    struct pr_container container = {0};
    struct pr_problem problem = {0};

    if (drv_block_make(d, from->usage, from->bytes, &program->container))
        return no_memory(d, "container", from->bytes);
    memcpy(program->container.host, from->host, from->bytes);
    if (!pr_container_read(program->container.host, from->bytes, &container, &problem) ||
        !container.section[PR_SECTION_KERNEL])
        return drv_refuse(d, kIOReturnError, "Instance create: the base's container was changed: %s",
                          problem.text);
    head = own_part(program, container.program);
    section = own_part(program, container.section[PR_SECTION_KERNEL]);
    pr_put_le64(head->identity, program->token);
    for (uint32_t i = 0; i < container.generic->buffers; i++)
        if (container.buffer[i].type == PR_BUFFER_KERNEL) {
            struct pr_generic_buffer *buffer = own_part(program, &container.buffer[i]);

            buffer->address += program->kernel.iova - section->address;
        }
    section->address = program->kernel.iova;
    return kIOReturnSuccess;
}

/*
 * The base's weights with the bytes of the files in their places, later files over earlier ones. Pages that
 * no file touches are the base's.
 */
static IOReturn copy_kernel(struct drv *d, struct drv_program *program, const struct order *order,
                            const struct drv_overlay_plan *plan)
{
    const struct drv_block *from = &program->base->kernel;
    const struct drv_block none = {0};

    program->weighted = true;
    program->kernel = none;
    if (drv_overlay_make(d, from, plan, &program->kernel))
        return no_memory(d, "weights", (uint64_t)plan->own * PR_PAGE_BYTES);
    for (uint32_t i = 0; i < order->args.weights; i++)
        drv_overlay_write(&program->kernel, order->weights[i].target, order->from + order->weights[i].offset,
                          order->weights[i].size);
    if (drv_block_make(d, PR_USAGE_TEXT, sizeof(struct pr_working_set), &program->working))
        return no_memory(d, "working set", sizeof(struct pr_working_set));
    return drv_instance_container(d, program);
}

/* What it has in common with its base. */
static void share_base(struct drv_program *program, struct drv_program *base,
                       const struct ane_instance_args *args)
{
    program->base = base;
    base->instances++;
    program->flags = args->flags;
    program->queue_depth = args->queue_depth;
    memcpy(program->name, base->name, sizeof(program->name));
    program->qos = base->qos;
    program->procedures = base->procedures;
    program->procedure = base->procedure;
    program->td_count = base->td_count;
    program->intermediate_bytes = base->intermediate_bytes;
    program->scratch_bytes = base->scratch_bytes;
    drv_instance_share(program);
}

static IOReturn make_instance(struct drv_client *client, const struct order *order,
                              const struct drv_overlay_plan *plan, struct drv_program *base,
                              struct drv_program **made)
{
    struct drv *d = client->driver;
    struct drv_program *program;
    IOReturn result = drv_program_check_quota(client);

    if (!result && order->args.weights)
        result = drv_quota_check(client, (uint64_t)plan->own * PR_PAGE_BYTES);
    if (!result)
        result = drv_wiring_wire(base);
    if (result)
        return result;
    program = drv_program_make(client);
    if (!program) {
        drv_refuse(d, kIOReturnNoMemory, "Instance create: no memory.");
        return kIOReturnNoMemory;
    }
    share_base(program, base, &order->args);
    if (order->args.weights)
        result = copy_kernel(d, program, order, plan);
    if (result) {
        drv_program_free(d, program);
        return result;
    }
    *made = program;
    return kIOReturnSuccess;
}

/* With a plan of the pages that the weight files touch. */
static IOReturn plan_instance(struct drv_client *client, const struct order *order, struct drv_program *base,
                              struct drv_program **made)
{
    struct drv_overlay_plan plan = drv_overlay_plan_make(&base->kernel);
    IOReturn result;

    if (!plan.mark) {
        no_memory(client->driver, "plan of its pages", plan.pages);
        return kIOReturnNoMemory;
    }
    for (uint32_t i = 0; i < order->args.weights; i++)
        drv_overlay_plan_mark(&plan, order->weights[i].target, order->weights[i].size);
    base->pins++; /* it stays, and stays wired, while others are unwired for this one */
    do
        result = make_instance(client, order, &plan, base, made);
    while (result == kIOReturnNoMemory && drv_reclaim_one(client->driver));
    base->pins--;
    drv_overlay_plan_free(&plan);
    return result ? result : drv_program_enter(*made);
}

static IOReturn create_from(struct drv_client *client, const struct ane_instance_create *create,
                            uint8_t *surface, uint64_t bytes)
{
    struct drv *d = client->driver;
    struct drv_program *base, *program = NULL;
    struct order order = {.from = surface + create->offset, .size = create->size};
    struct ane_instance_args *args = &order.args;
    IOReturn result;

    if (create->offset % 8 || !is_inside(create->offset, create->size, bytes) || create->size < sizeof(*args))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Instance create: %" PRIu64 " bytes at %" PRIu64 " of a surface of %" PRIu64
                          "; the arguments alone have %zu.",
                          create->size, create->offset, bytes, sizeof(*args));
    memcpy(args, order.from, sizeof(*args));
    result = check_args(d, args);
    if (result)
        return result;
    if (create->size - sizeof(*args) < args->weights * sizeof(order.weights[0]))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Instance create: %" PRIu64 " bytes have no room for %u weight files.",
                          create->size, args->weights);
    memcpy(order.weights, order.from + sizeof(*args), args->weights * sizeof(order.weights[0]));
    result = find_base(client, args->base, &base);
    if (!result)
        result = check_weights(d, &order, base);
    if (!result)
        result = plan_instance(client, &order, base, &program);
    if (result)
        return result;
    args->token = program->token;
    args->intermediate = program->intermediate_bytes ? drv_instance_intermediate(program)->token : 0;
    memcpy(surface + create->offset, args, sizeof(*args));
    return kIOReturnSuccess;
}

IOReturn drv_instance_create(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct ane_instance_create create;
    struct drv_pages pages;
    IOReturn result;

    memcpy(&create, args->structureInput, sizeof(create));
    result = drv_session_check(client, create.session);
    if (result)
        return result;
    if (create.flags)
        return drv_refuse(d, kIOReturnBadArgument, "Instance create: flags must be 0.");
    result = drv_surface_get(client, create.surface, &pages);
    if (result)
        return result;
    result = create_from(client, &create, pages.host, pages.bytes);
    d->platform.surface_put(d->platform.context, create.surface);
    return result;
}
