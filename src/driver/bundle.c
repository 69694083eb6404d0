/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles. A bundle takes the same path as a raw image, on purpose: it is expanded to an image in DRAM of the
 * driver's own, which drv_image_load reads, so that nothing is loaded that the image's checks have not seen.
 * The bytes are a private copy; no pointer into them is kept afterwards.
 */
#include "driver/bundle.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/block.h"
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

/* The image, in DRAM for as long as the caller reads it. */
static IOReturn write_image(struct drv *d, const struct expansion *x, struct drv_pages *image,
                            uint64_t *bytes)
{
    size_t size = pr_hwx_write(&x->image.program, NULL, 0);

    if (!size)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: the bundle's ports do not fit into an image.");
    if (drv_pages_take(d, size, true, image))
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for an image of %zu bytes.", size);
    *bytes = pr_hwx_write(&x->image.program, image->host, size);
    return kIOReturnSuccess;
}

static IOReturn expand_bundle(struct drv *d, struct expansion *x, const struct ane_program_bundle *head,
                              const uint8_t *main, const uint8_t *weights, struct drv_pages *image,
                              uint64_t *bytes)
{
    struct pr_problem problem = {0};

    if (!pr_e5_read(main, head->main_bytes, &x->e5, &problem) ||
        !pr_e5_image_measure(&x->e5, &x->parts, &problem))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %s", problem.text);
    if (x->e5.constant_bytes != head->weights_bytes)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: the bundle wants %u bytes of constants and brings %" PRIu64 ".",
                          x->e5.constant_bytes, head->weights_bytes);
    x->parts.text = base_alloc(x->parts.text_bytes);
    x->parts.scalars = base_alloc(x->parts.scalars_bytes);
    if (!x->parts.text || !x->parts.scalars)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for %u descriptors.",
                          x->e5.records);
    if (!pr_e5_image_make(&x->e5, weights, &x->parts, &x->image, &problem))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %s", problem.text);
    return write_image(d, x, image, bytes);
}

IOReturn drv_bundle_expand(struct drv *d, const void *payload, uint64_t size, struct drv_pages *image,
                           uint64_t *image_bytes)
{
    const uint8_t *bytes = payload;
    struct ane_program_bundle head;
    struct expansion *x;
    uint64_t weights;
    IOReturn result;

    if (!drv_bundle_find(bytes, size, &head, &weights))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: the two parts of the bundle do not fill its %" PRIu64 " bytes.",
                          size);
    x = base_alloc(sizeof(*x));
    if (!x)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory to read the bundle.");
    result = expand_bundle(d, x, &head, bytes + sizeof(head), bytes + weights, image, image_bytes);
    base_free(x->parts.scalars);
    base_free(x->parts.text);
    base_free(x);
    return result;
}
