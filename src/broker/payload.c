/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are read with pread and not mapped: a file of another process may become shorter at any time.
 */
#include "broker/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signing.h"
#include "base/tree.h"
#include "broker/device.h"
#include "protocol/bits.h"

IOReturn brk_payload_size(int descriptor, const char *what, uint64_t most, uint64_t *bytes,
                          struct base_error *error)
{
    struct stat about;

    *bytes = 0;
    if (fcntl(descriptor, F_GET_SEALS) < 0 || fstat(descriptor, &about) || !S_ISREG(about.st_mode))
        return brk_refuse(error, kIOReturnBadArgument, "%s: the descriptor is not a memory file.", what);
    if (about.st_size <= 0 || (uint64_t)about.st_size > most)
        return brk_refuse(error, kIOReturnBadArgument,
                          "%s: a file of %lld bytes; 1 to %" PRIu64 " are possible.", what,
                          (long long)about.st_size, most);
    *bytes = (uint64_t)about.st_size;
    return kIOReturnSuccess;
}

IOReturn brk_payload_read(int descriptor, uint64_t offset, void *bytes, uint64_t size,
                          struct base_error *error)
{
    for (uint64_t done = 0; done < size;) {
        ssize_t part = pread(descriptor, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));

        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return brk_refuse(error, kIOReturnBadArgument, "A file could not be read: %s.", strerror(errno));
        if (part == 0)
            return brk_refuse(error, kIOReturnBadArgument,
                              "A file ends at %" PRIu64 " bytes; %" PRIu64 " were announced.", offset + done,
                              offset + size);
        done += (uint64_t)part;
    }
    return kIOReturnSuccess;
}

static IOReturn make_surface(uint32_t task, uint64_t bytes, uint32_t *surface, uint8_t **base,
                             struct base_error *error)
{
    if (ane_surface_create(task, bytes, surface))
        return brk_refuse(error, kIOReturnNoMemory, "No surface for the arguments: %s", ane_machine_error());
    *base = ane_surface_base(*surface);
    if (*base)
        return kIOReturnSuccess;
    ane_surface_release(*surface);
    return brk_refuse(error, kIOReturnNoMemory,
                      "The surface of the arguments, %" PRIu64 " bytes, has no memory in the broker.", bytes);
}

/* ---- Programs ---- */

/* Where the parts are behind ANE_PROGRAM_IMAGE. */
struct layout {
    uint64_t part[2];
    uint64_t image_bytes, signature;
    uint64_t bytes; /* of all, from the arguments */
};

static struct layout layout_of(const struct brk_payload *payload)
{
    struct layout layout = {.image_bytes = payload->bytes[0]};

    layout.bytes = ANE_PROGRAM_IMAGE + layout.image_bytes;
    if (payload->representation != ANE_PROGRAM_RT)
        return layout;
    layout.part[0] = sizeof(struct ane_program_bundle);
    layout.part[1] = pr_round_up(layout.part[0] + payload->bytes[0], ANE_PROGRAM_BUNDLE_ALIGN);
    layout.image_bytes = layout.part[1] + payload->bytes[1];
    layout.signature = pr_round_up(layout.image_bytes, 8);
    layout.bytes = ANE_PROGRAM_IMAGE + layout.signature + sizeof(struct ane_program_signature);
    return layout;
}

/*
 * What is signed are the sealed files, not the bytes in the surface: that belongs to the client's task, which
 * may bind it to a request and change it. A key that is in memory alone is the broker's own, and the driver
 * will say so.
 */
static IOReturn sign(const struct brk_payload *payload, const struct layout *layout, uint8_t *image,
                     struct ane_program_args *args, struct base_error *error)
{
    struct base_hashes hashes = {0};
    struct base_signature signature;

    for (unsigned i = 0; i < 2; i++)
        if (base_tree_of_file(payload->file[i], payload->bytes[i], hashes.part[i]))
            return brk_refuse(error, kIOReturnError, "A file of the compiled model could not be hashed.");
    base_signing_sign(&hashes, &signature, NULL);
    memcpy(args->hash, &hashes, sizeof(args->hash));
    memcpy(image + layout->signature, &signature, sizeof(struct ane_program_signature));
    return kIOReturnSuccess;
}
_Static_assert(sizeof(struct base_signature) == sizeof(struct ane_program_signature), "one form");
_Static_assert(sizeof(struct base_hashes) == sizeof(((struct ane_program_args *)0)->hash), "one form");

static IOReturn write_program(const struct brk_payload *payload, const struct layout *layout, uint8_t *to,
                              struct base_error *error)
{
    const struct ane_program_bundle bundle = {payload->bytes[0], payload->bytes[1]};
    struct ane_program_args args = {.representation = payload->representation,
                                    .version = ANE_PROGRAM_ARGS_VERSION,
                                    .image_size = layout->image_bytes,
                                    .procedures = 1,
                                    .qos = payload->qos,
                                    .flags = ANE_PROGRAM_ARGS_FLAGS};
    uint8_t *image = to + ANE_PROGRAM_IMAGE;
    bool is_bundle = payload->representation == ANE_PROGRAM_RT;
    IOReturn result;

    snprintf(args.name, sizeof(args.name), "%s", payload->name);
    result = brk_payload_read(payload->file[0], 0, image + layout->part[0], payload->bytes[0], error);
    if (!result && is_bundle)
        result = brk_payload_read(payload->file[1], 0, image + layout->part[1], payload->bytes[1], error);
    if (result)
        return result;
    if (is_bundle) {
        memcpy(image, &bundle, sizeof(bundle));
        result = sign(payload, layout, image, &args, error);
    }
    memcpy(to, &args, sizeof(args));
    return result;
}

IOReturn brk_payload_load(const struct brk_device *device, uint32_t task, const struct brk_payload *payload,
                          uint64_t *token, struct base_error *error)
{
    const struct layout layout = layout_of(payload);
    struct ane_program_create create = {.size = layout.bytes, .session = device->session};
    uint8_t *base = NULL;
    IOReturn result = make_surface(task, layout.bytes, &create.surface, &base, error);

    if (result || !base)
        return result;
    result = write_program(payload, &layout, base, error);
    if (!result)
        result = brk_device_call(device, ANE_CONTROL_ProgramCreate, &create, sizeof(create),
                                 "The program could not be created", error);
    if (!result)
        memcpy(token, base + offsetof(struct ane_program_args, token), sizeof(*token));
    ane_surface_release(create.surface);
    return result;
}

/* ---- Instances ---- */

/* Files follow the records in their order, each at the next multiple of PR_BROKER_FILE_ALIGN. */
static uint64_t first_file(const struct brk_instance_payload *payload)
{
    return pr_round_up(sizeof(struct ane_instance_args) +
                           payload->files * sizeof(struct ane_instance_weights),
                       PR_BROKER_FILE_ALIGN);
}

static uint64_t instance_bytes(const struct brk_instance_payload *payload)
{
    uint64_t bytes = first_file(payload);

    for (uint32_t i = 0; i < payload->files; i++)
        bytes += pr_round_up(payload->file[i].size, PR_BROKER_FILE_ALIGN);
    return bytes;
}

static IOReturn write_instance(const struct brk_instance_payload *payload, uint8_t *to,
                               struct base_error *error)
{
    const struct ane_instance_args args = {.base = payload->base,
                                           .flags = payload->flags,
                                           .queue_depth = payload->queue_depth,
                                           .weights = payload->files,
                                           .version = ANE_INSTANCE_ARGS_VERSION};
    uint64_t at = first_file(payload);
    IOReturn result = kIOReturnSuccess;

    memcpy(to, &args, sizeof(args));
    for (uint32_t i = 0; i < payload->files && !result; i++) {
        const struct pr_broker_file *file = &payload->file[i];
        const struct ane_instance_weights weights = {
            .target = file->target, .offset = at, .size = file->size};

        memcpy(to + sizeof(args) + i * sizeof(weights), &weights, sizeof(weights));
        result = brk_payload_read(payload->descriptor, file->offset, to + at, file->size, error);
        at += pr_round_up(file->size, PR_BROKER_FILE_ALIGN);
    }
    return result;
}

IOReturn brk_payload_instance(const struct brk_device *device, uint32_t task,
                              const struct brk_instance_payload *payload, uint64_t *token,
                              uint64_t *intermediate, struct base_error *error)
{
    struct ane_instance_create create = {.size = instance_bytes(payload), .session = device->session};
    struct ane_instance_args args;
    uint8_t *base = NULL;
    IOReturn result = make_surface(task, create.size, &create.surface, &base, error);

    if (result || !base)
        return result;
    result = write_instance(payload, base, error);
    if (!result)
        result = brk_device_call(device, ANE_CONTROL_ProgramCreateInstance, &create, sizeof(create),
                                 "The instance could not be created", error);
    if (!result) {
        memcpy(&args, base, sizeof(args));
        *token = args.token;
        *intermediate = args.intermediate;
    }
    ane_surface_release(create.surface);
    return result;
}
