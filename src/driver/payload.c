/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads. The image is read from a copy of the driver's own: nothing the client does to its surface
 * meanwhile matters. Every procedure becomes an image, a bundle by expansion; the images of all procedures
 * are there at once, because the container is made from all of them. The weights of a bundle that is alone
 * pass through a small buffer of the driver's: what is hashed there is what goes to the memory that the
 * engine reads them from, and neither is in a view, so no page of either is touched a second time.
 */
#include "driver/payload.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "driver/block.h"
#include "driver/bundle.h"
#include "driver/image.h"
#include "driver/signature.h"
#include "driver/surface.h"

#define IMAGE_BYTES_MAX PR_CONTAINER_BYTES_MAX
#define PIECE           BASE_TREE_PIECE /* of weights, at a time: what stays in a cache */

_Static_assert(ANE_PROGRAM_PROCEDURES == PR_PROCEDURES_MAX, "a container has as many");

/* Weights in a surface of their own. */
static IOReturn check_apart(struct drv *d, struct drv_payload *payload)
{
    const struct ane_program_args *args = &payload->args;
    const struct ane_program_bundle *head = &payload->head;

    if (args->representation != ANE_PROGRAM_RT || args->procedures > 1 || args->image_size < sizeof(*head))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: surface %u for weights; only a bundle of one procedure has one.",
                          args->weights);
    memcpy(&payload->head, payload->image, sizeof(*head));
    if (!d->platform.surface_read || head->main_bytes != args->image_size - sizeof(*head) ||
        !head->weights_bytes || head->weights_bytes > IMAGE_BYTES_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: main.e5 of %" PRIu64 " bytes and weights of %" PRIu64
                          " in surface %u; the image has %" PRIu64 ".",
                          head->main_bytes, head->weights_bytes, args->weights, args->image_size);
    return kIOReturnSuccess;
}

uint64_t drv_payload_bytes(const struct drv_payload *payload)
{
    return payload->args.image_size + (payload->args.weights ? payload->head.weights_bytes : 0);
}

IOReturn drv_payload_check(struct drv *d, struct drv_payload *payload)
{
    const struct ane_program_args *args = &payload->args;

    if (args->version != 1)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: arguments of version %u; the driver knows 1.", args->version);
    if (args->reserved0 || args->reserved2[0] || args->reserved2[1] || args->reserved2[2])
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: reserved words of the arguments are not 0.");
    if (args->procedures > ANE_PROGRAM_PROCEDURES)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %u procedures; the limit is %u.",
                          args->procedures, ANE_PROGRAM_PROCEDURES);
    if (args->image_size == 0 || args->image_size > payload->bytes || args->image_size > IMAGE_BYTES_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: an image of %" PRIu64 " bytes; the arguments leave %" PRIu64 ".",
                          args->image_size, payload->bytes);
    if (args->representation != ANE_PROGRAM_LEGACY && args->representation != ANE_PROGRAM_RT)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: representation %u is neither 1 (image) nor 2 (bundle).",
                          args->representation);
    return args->weights ? check_apart(d, payload) : kIOReturnSuccess;
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
    struct drv_pages pages; /* of the copy; none when it is on the heap */
    uint8_t *copy;          /* of a bundle that is alone: without its weights */
    uint64_t size;
    bool bundles;
    uint32_t procedures;
    struct drv_image image[PR_PROCEDURES_MAX];
};

/* Where a procedure is in the copy; one that is alone is all of it. */
static IOReturn find_procedure(struct drv *d, const struct reading *r, uint32_t i, struct drv_image *found)
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
    *found = (struct drv_image){.bytes = r->copy + at.offset, .size = at.size};
    return kIOReturnSuccess;
}

/* A bundle with its weights behind it. */
static IOReturn expand_whole(struct drv *d, const struct drv_image *bundle, struct drv_image *image)
{
    struct ane_program_bundle head;
    uint64_t weights;
    IOReturn result;

    if (!drv_bundle_find(bundle->bytes, bundle->size, &head, &weights))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: the two parts of the bundle do not fill its %" PRIu64 " bytes.",
                          bundle->size);
    result = drv_bundle_expand(d, bundle->bytes, image);
    image->constants = result ? NULL : (const uint8_t *)bundle->bytes + weights;
    return result;
}

static IOReturn read_procedure(struct drv *d, struct reading *r, uint32_t i,
                               const struct drv_program *program)
{
    struct drv_image found = {0};
    IOReturn result = find_procedure(d, r, i, &found);

    if (result)
        return result;
    if (!r->bundles) {
        r->image[i] = found;
        return kIOReturnSuccess;
    }
    if (!r->pages.host) {
        result = drv_bundle_expand(d, found.bytes, &r->image[i]);
        r->image[i].constants = result ? NULL : program->kernel.host;
        return result;
    }
    return expand_whole(d, &found, &r->image[i]);
}

static IOReturn read_copy(struct drv *d, struct reading *r, struct drv_program *program)
{
    IOReturn result = kIOReturnSuccess;

    for (uint32_t i = 0; i < r->procedures && !result; i++)
        result = read_procedure(d, r, i, program);
    program->procedures = r->procedures;
    if (!result)
        result = drv_image_load(d, r->image, program);
    for (uint32_t i = 0; i < r->procedures && r->bundles; i++)
        if (r->image[i].bytes)
            drv_bundle_drop(&r->image[i]);
    return result;
}

static IOReturn no_copy(struct drv *d)
{
    return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for a copy of the image.");
}

/* Where the weights of a bundle that is alone are. */
struct weights {
    uint32_t surface;
    uint64_t offset;
    const uint8_t *view; /* NULL: there is none */
};

static IOReturn read_piece(struct drv_client *client, const struct weights *from, uint64_t at, uint8_t *to,
                           uint64_t bytes)
{
    if (client->driver->platform.surface_read)
        return drv_surface_read(client, from->surface, from->offset + at, to, bytes);
    memcpy(to, from->view + at, bytes);
    return kIOReturnSuccess;
}

/* To the program's kernel, with their hash on the way if that is wanted. */
static IOReturn copy_weights(struct drv_client *client, const struct weights *from,
                             const struct drv_block *kernel, uint8_t hash[BASE_HASH_BYTES])
{
    const uint64_t most = kernel->bytes < PIECE ? kernel->bytes : PIECE;
    uint8_t *piece = base_alloc(most);
    IOReturn result = piece ? kIOReturnSuccess : no_copy(client->driver);
    struct base_tree tree;

    base_tree_begin(&tree);
    for (uint64_t at = 0; at < kernel->bytes && !result; at += most) {
        const uint64_t bytes = kernel->bytes - at < most ? kernel->bytes - at : most;

        result = read_piece(client, from, at, piece, bytes);
        if (result)
            break;
        if (hash)
            base_tree_add(&tree, piece, bytes);
        drv_block_fill(client->driver, kernel, at, piece, bytes);
    }
    if (hash)
        base_tree_end(&tree, hash);
    base_free(piece);
    return result;
}

/* A bundle that is alone: main.e5 to the heap, the weights to the program's kernel. */
static IOReturn copy_bundle(struct drv_client *client, const struct drv_payload *payload,
                            const struct ane_program_bundle *head, const struct weights *from,
                            struct reading *r, struct drv_program *program, struct drv_signed *copied)
{
    struct drv *d = client->driver;

    r->size = sizeof(*head) + head->main_bytes;
    r->copy = base_alloc(r->size);
    if (!r->copy ||
        (head->weights_bytes && drv_block_make(d, PR_USAGE_KERNEL, head->weights_bytes, &program->kernel)))
        return no_copy(d);
    memcpy(r->copy, head, sizeof(*head));
    memcpy(r->copy + sizeof(*head), payload->image + sizeof(*head), head->main_bytes);
    *copied = (struct drv_signed){.part = {r->copy + sizeof(*head)},
                                  .bytes = {head->main_bytes, head->weights_bytes}};
    if (!head->weights_bytes)
        return kIOReturnSuccess;
    return copy_weights(client, from, &program->kernel,
                        drv_signature_present(&payload->args) ? copied->hash : NULL);
}

static IOReturn copy_whole(struct drv *d, const struct drv_payload *payload, struct reading *r,
                           struct drv_signed *copied)
{
    r->size = payload->args.image_size;
    if (drv_pages_take(d, r->size, true, &r->pages))
        return no_copy(d);
    r->copy = r->pages.host;
    memcpy(r->copy, payload->image, r->size);
    *copied = (struct drv_signed){.part = {r->copy}, .bytes = {r->size}};
    return kIOReturnSuccess;
}

/* One whose parts do not fill it is refused as every other program is, after its signature is judged. */
static IOReturn copy_payload(struct drv_client *client, const struct drv_payload *payload, struct reading *r,
                             struct drv_program *program, struct drv_signed *copied)
{
    struct weights from = {.surface = payload->args.weights};
    struct ane_program_bundle head;
    uint64_t at;

    r->procedures = payload->args.procedures ? payload->args.procedures : 1;
    r->bundles = payload->args.representation == ANE_PROGRAM_RT;
    if (from.surface)
        return copy_bundle(client, payload, &payload->head, &from, r, program, copied);
    if (!r->bundles || r->procedures != 1 ||
        !drv_bundle_find(payload->image, payload->args.image_size, &head, &at))
        return copy_whole(client->driver, payload, r, copied);
    from = (struct weights){payload->surface, payload->offset + at, payload->image + at};
    return copy_bundle(client, payload, &head, &from, r, program, copied);
}

IOReturn drv_payload_load(struct drv_client *client, const struct drv_payload *payload,
                          struct drv_program *program)
{
    struct drv *d = client->driver;
    struct ane_program_signature signature;
    const bool has_signature = copy_signature(payload, &signature);
    struct reading *reading = base_alloc(sizeof(*reading));
    struct drv_signed copied = {{NULL}, {0}, {0}};
    IOReturn result = reading ? copy_payload(client, payload, reading, program, &copied) : no_copy(d);

    if (!result)
        result = drv_signature_check(client, &payload->args, &copied, has_signature ? &signature : NULL);
    if (reading && !result)
        result = read_copy(d, reading, program);
    if (result)
        drv_image_drop(d, program);
    if (reading && reading->pages.host)
        drv_pages_give(d, &reading->pages);
    else if (reading)
        base_free(reading->copy);
    base_free(reading);
    return result;
}
