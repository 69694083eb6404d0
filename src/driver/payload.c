/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads. The image is read from a copy of the driver's own: nothing the client does to its surface
 * meanwhile matters. Every procedure becomes an image, a bundle by expansion; the images of all procedures
 * are there at once, because the container is made from all of them.
 */
#include "driver/payload.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "driver/block.h"
#include "driver/bundle.h"
#include "driver/image.h"
#include "driver/signature.h"

#define IMAGE_BYTES_MAX PR_CONTAINER_BYTES_MAX

_Static_assert(ANE_PROGRAM_PROCEDURES == PR_PROCEDURES_MAX, "a container has as many");

/*
 * What a program can be made from: the two resource classes, the first as it is. The second is expanded.
 */
static const struct resource {
    uint32_t representation;
    const char *name;
    IOReturn (*expand)(struct drv *driver, const void *bytes, uint64_t size, struct drv_pages *image,
                       uint64_t *image_bytes);
} resources[] = {
    {ANE_PROGRAM_LEGACY, "ANEProgramLegacyResource", NULL},
    {ANE_PROGRAM_RT, "ANEProgramRTResource", drv_bundle_expand},
};

static const struct resource *find_resource(uint32_t representation)
{
    for (size_t i = 0; i < BASE_COUNT_OF(resources); i++)
        if (resources[i].representation == representation)
            return &resources[i];
    return NULL;
}

IOReturn drv_payload_check(struct drv *d, const struct drv_payload *payload)
{
    const struct ane_program_args *args = &payload->args;

    if (args->version != 1)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: arguments of version %u; the driver knows 1.", args->version);
    if (args->reserved0 || args->reserved1 || args->reserved2[0] || args->reserved2[1] || args->reserved2[2])
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: reserved words of the arguments are not 0.");
    if (args->procedures > ANE_PROGRAM_PROCEDURES)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %u procedures; the limit is %u.",
                          args->procedures, ANE_PROGRAM_PROCEDURES);
    if (args->image_size == 0 || args->image_size > payload->bytes || args->image_size > IMAGE_BYTES_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: an image of %" PRIu64 " bytes; the arguments leave %" PRIu64 ".",
                          args->image_size, payload->bytes);
    if (!find_resource(args->representation))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: representation %u is neither 1 (image) nor 2 (bundle).",
                          args->representation);
    return kIOReturnSuccess;
}

/* The signature behind the image, copied; false when none is there. */
static bool copy_signature(const struct drv_payload *payload, struct ane_program_signature *signature)
{
    uint64_t at = pr_round_up(payload->args.image_size, 8);

    if (!drv_signature_present(&payload->args) || at > payload->bytes ||
        payload->bytes - at < sizeof(*signature))
        return false;
    memcpy(signature, payload->image + at, sizeof(*signature));
    return true;
}

/* The images of a program's procedures while it is loaded. */
struct reading {
    const uint8_t *copy;
    uint64_t size;
    uint32_t procedures;
    struct drv_image image[PR_PROCEDURES_MAX];
    struct drv_pages expanded[PR_PROCEDURES_MAX]; /* of a bundle */
};

/* Where a procedure is in the copy; one that is alone is all of it. */
static IOReturn find_procedure(struct drv *d, struct reading *r, uint32_t i)
{
    const uint64_t table = r->procedures * sizeof(struct ane_program_procedure);
    struct ane_program_procedure at = {.size = r->size};

    if (r->procedures > 1) {
        if (table > r->size)
            return drv_refuse(d, kIOReturnBadArgument,
                              "Program create: %" PRIu64 " bytes have no room for %u procedures.", r->size,
                              r->procedures);
        memcpy(&at, r->copy + i * sizeof(at), sizeof(at));
        if (at.offset < table || at.offset % ANE_PROGRAM_BUNDLE_ALIGN || at.offset > r->size || !at.size ||
            at.size > r->size - at.offset)
            return drv_refuse(d, kIOReturnBadArgument,
                              "Program create: procedure %u has %" PRIu64 " bytes at %" PRIu64
                              "; there are %" PRIu64 ", the first %" PRIu64
                              " are the table, and places are multiples of %u.",
                              i, at.size, at.offset, r->size, table, ANE_PROGRAM_BUNDLE_ALIGN);
    }
    r->image[i] = (struct drv_image){r->copy + at.offset, at.size};
    return kIOReturnSuccess;
}

static IOReturn read_procedure(struct drv *d, const struct resource *resource, struct reading *r, uint32_t i)
{
    IOReturn result = find_procedure(d, r, i);

    if (result || !resource->expand)
        return result;
    result = resource->expand(d, r->image[i].bytes, r->image[i].size, &r->expanded[i], &r->image[i].size);
    r->image[i].bytes = r->expanded[i].host;
    return result;
}

static IOReturn read_copy(struct drv *d, const struct resource *resource, struct reading *r,
                          struct drv_program *program)
{
    IOReturn result = kIOReturnSuccess;

    for (uint32_t i = 0; i < r->procedures && !result; i++)
        result = read_procedure(d, resource, r, i);
    program->procedures = r->procedures;
    if (!result)
        result = drv_image_load(d, r->image, program);
    for (uint32_t i = 0; i < r->procedures; i++)
        if (r->expanded[i].host)
            drv_pages_give(d, &r->expanded[i]);
    return result;
}

IOReturn drv_payload_load(struct drv_client *client, const struct drv_payload *payload,
                          struct drv_program *program)
{
    struct drv *d = client->driver;
    const struct ane_program_args *args = &payload->args;
    struct ane_program_signature signature;
    const bool has_signature = copy_signature(payload, &signature);
    struct reading *reading = base_alloc(sizeof(*reading));
    struct drv_pages copy;
    IOReturn result;

    if (!reading || drv_pages_take(d, args->image_size, true, &copy)) {
        base_free(reading);
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for a copy of the image.");
    }
    memcpy(copy.host, payload->image, args->image_size);
    result = drv_signature_check(client, args, copy.host, has_signature ? &signature : NULL);
    if (!result) {
        reading->copy = copy.host;
        reading->size = args->image_size;
        reading->procedures = args->procedures ? args->procedures : 1;
        result = read_copy(d, find_resource(args->representation), reading, program);
    }
    drv_pages_give(d, &copy);
    base_free(reading);
    return result;
}
