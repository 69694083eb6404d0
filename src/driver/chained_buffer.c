/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/chained_buffer.h"

#include <inttypes.h>
#include <string.h>

#include "driver/surface.h"

/* A caller cannot name a surface of the owner's that it may not use itself. */
static IOReturn check_surface(const struct drv_client *caller, uint32_t surface)
{
    const struct drv_platform *platform = &caller->driver->platform;
    struct drv_pages pages;
    IOReturn result = drv_surface_get(caller, surface, &pages);

    if (!result)
        platform->surface_put(platform->context, surface);
    return result;
}

static IOReturn check_buffer(struct drv *d, const struct ane_chained_buffer *buffer, uint32_t index)
{
    if (buffer->value)
        return drv_refuse(d, kIOReturnUnsupported,
                          "Chaining: buffer %u is guarded by value %" PRIu64
                          " of a shared event. The record does not name the event, and the message has no "
                          "place for one: the value must be 0. Wait for the event before this call.",
                          index, buffer->value);
    if (buffer->reserved || buffer->offset % PR_DMA_GRANULE)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Chaining: buffer %u has an offset that is not a multiple of %u, or reserved bytes "
                          "that are not 0.",
                          index, PR_DMA_GRANULE);
    return kIOReturnSuccess;
}

IOReturn drv_chained_buffer_bind(const struct drv_chained_role *role, const struct ane_chained_buffer *buffer,
                                 uint32_t index, uint64_t least, struct drv_mapping **mapping,
                                 struct pr_buffer *to)
{
    struct drv *d = role->owner->driver;
    IOReturn result = check_buffer(d, buffer, index);

    if (!result)
        result = check_surface(role->caller, buffer->surface);
    if (!result)
        result = drv_surface_map(role->owner, buffer->surface, role->usage, false, mapping);
    if (result)
        return result;
    if (buffer->offset > (*mapping)->bytes || least > (*mapping)->bytes - buffer->offset)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Chaining: buffer %u needs %" PRIu64 " bytes at %" PRIu64
                          " of surface %u, which has %" PRIu64 ".",
                          index, least, buffer->offset, buffer->surface, (*mapping)->bytes);
    *to = (struct pr_buffer){.valid = PR_BUFFER_VALID,
                             .index = index,
                             .type = role->type,
                             .address = (*mapping)->iova + buffer->offset,
                             .bytes = (*mapping)->bytes - buffer->offset};
    return kIOReturnSuccess;
}

IOReturn drv_chained_buffer_copy(const struct drv_client *caller, uint32_t surface, uint64_t offset, void *to,
                                 uint64_t bytes, const char *what)
{
    struct drv *d = caller->driver;
    struct drv_pages pages;
    IOReturn result = drv_surface_get(caller, surface, &pages);

    if (result)
        return result;
    if (offset % 8 || offset > pages.bytes || bytes > pages.bytes - offset)
        result = drv_refuse(d, kIOReturnBadArgument,
                            "%s: %" PRIu64 " bytes at %" PRIu64 " of surface %u, which has %" PRIu64
                            " bytes; they are at a multiple of 8.",
                            what, bytes, offset, surface, pages.bytes);
    else
        memcpy(to, (const uint8_t *)pages.host + offset, bytes);
    d->platform.surface_put(d->platform.context, surface);
    return result;
}
