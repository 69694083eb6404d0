/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles. A bundle takes the same path as a raw image, on purpose: it is expanded to an image of the
 * driver's own, which drv_image_load reads, so that nothing is loaded that the image's checks have not seen.
 * The constants, which those checks do not read, are left out of it. The bytes are a private copy; no pointer
 * into them is kept afterwards.
 */
#include "driver/bundle.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "program/e5_image.h"

/* What is needed while a bundle is expanded. */
struct expansion {
    struct pr_e5 e5;
    struct pr_e5_parts parts;
    struct pr_e5_image image;
};

bool drv_bundle_find(const void *bytes, uint64_t size, struct ane_program_bundle *head, uint64_t *weights)
{
    if (size < sizeof(*head))
        return false;
    memcpy(head, bytes, sizeof(*head));
    if (head->main_bytes > size - sizeof(*head))
        return false;
    *weights = pr_round_up(sizeof(*head) + head->main_bytes, ANE_PROGRAM_BUNDLE_ALIGN);
    return *weights <= size && head->weights_bytes == size - *weights;
}

/*
 * The image, for as long as the caller reads it. The place of its constants in it is never touched, so it
 * takes no memory.
 */
static IOReturn write_image(struct drv *d, const struct expansion *x, struct drv_image *image)
{
    size_t size = pr_hwx_write(&x->image.program, NULL, 0);
    void *bytes;

    if (!size)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: the bundle's ports do not fit into an image.");
    bytes = base_pages(size);
    if (!bytes)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for an image of %zu bytes.", size);
    pr_hwx_write(&x->image.program, bytes, size);
    *image = (struct drv_image){.bytes = bytes, .size = size};
    return kIOReturnSuccess;
}

static IOReturn expand_bundle(struct drv *d, struct expansion *x, const struct ane_program_bundle *head,
                              const uint8_t *main, struct drv_image *image)
{
    struct pr_problem problem = {0};

    if (!pr_e5_read(main, head->main_bytes, &x->e5, &problem))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %s", problem.text);
    pr_e5_image_measure(&x->e5, &x->parts);
    if (x->e5.constant_bytes != head->weights_bytes)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: the bundle wants %u bytes of constants and brings %" PRIu64 ".",
                          x->e5.constant_bytes, head->weights_bytes);
    x->parts.text = base_alloc(x->parts.text_bytes);
    x->parts.scalars = base_alloc(x->parts.scalars_bytes);
    if (!x->parts.text || !x->parts.scalars)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for %u descriptors.",
                          x->e5.records);
    if (!pr_e5_image_make(&x->e5, NULL, &x->parts, &x->image, &problem))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %s", problem.text);
    return write_image(d, x, image);
}

IOReturn drv_bundle_expand(struct drv *d, const void *bytes, struct drv_image *image)
{
    struct ane_program_bundle head;
    struct expansion *x = base_alloc(sizeof(*x));
    IOReturn result;

    if (!x)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory to read the bundle.");
    memcpy(&head, bytes, sizeof(head));
    result = expand_bundle(d, x, &head, (const uint8_t *)bytes + sizeof(head), image);
    base_free(x->parts.scalars);
    base_free(x->parts.text);
    base_free(x);
    return result;
}

void drv_bundle_drop(struct drv_image *image)
{
    base_pages_free((void *)image->bytes, image->size);
    *image = (struct drv_image){0};
}
