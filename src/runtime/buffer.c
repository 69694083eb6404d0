/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer object. Its surface exists as long as its handle; its size is a multiple of E5_BUFFER_ALIGN. */
#include "runtime/buffer.h"

#include <inttypes.h>

#include "protocol/bits.h"
#include "runtime/device.h"

#define BYTES_MAX (1ull << 32)

static void end(void *handle)
{
    e5rt_buffer_object_t buffer = handle;

    if (buffer->surface)
        ane_surface_release(buffer->surface);
}

int64_t e5_buffer_make(uint64_t bytes, uint32_t type, const struct e5_form *form,
                       e5rt_buffer_object_t *buffer)
{
    e5rt_buffer_object_t made;
    int64_t status;

    if (type > E5RT_BUFFER_IOSURFACE)
        return e5_fail(E5RT_INVALID_TYPE, "Invalid BufferType @ AllocMemory: %u; there are 0, 1 and 2.",
                       type);
    if (!bytes || bytes > BYTES_MAX)
        return e5_fail(E5RT_INVALID_ARGUMENT,
                       "A buffer of %" PRIu64 " bytes cannot be made: 1 byte to 4 GiB.", bytes);
    made = e5_handle_make(E5_BUFFER, sizeof(*made), end);
    if (!made)
        return e5_fail_memory("a buffer object");
    made->type = type;
    made->bytes = pr_round_up(bytes, E5_BUFFER_ALIGN);
    if (form) {
        made->engine = true;
        made->form = *form;
    }
    status = e5_device_surface(made->bytes, "The buffer object", &made->surface, &made->base);
    if (status)
        e5_handle_drop(made);
    else
        *buffer = made;
    return status;
}

int64_t e5rt_buffer_object_alloc(e5rt_buffer_object_t *buffer, size_t bytes, uint32_t type)
{
    int64_t status = e5_check_given(buffer, "the place for the buffer", __func__);

    if (status)
        return status;
    *buffer = NULL;
    return e5_buffer_make(bytes, type, NULL, buffer);
}

int64_t e5rt_buffer_object_get_data_ptr(e5rt_buffer_object_t buffer, void **data)
{
    int64_t status = e5_check(buffer, E5_BUFFER, __func__);

    if (!status)
        status = e5_check_given(data, "the place for the address", __func__);
    if (!status)
        *data = buffer->base;
    return status;
}

int64_t e5rt_buffer_object_get_size(e5rt_buffer_object_t buffer, size_t *bytes)
{
    int64_t status = e5_check(buffer, E5_BUFFER, __func__);

    if (!status)
        status = e5_check_given(bytes, "the place for the size", __func__);
    if (!status)
        *bytes = buffer->bytes;
    return status;
}

int64_t e5rt_buffer_object_get_type(e5rt_buffer_object_t buffer, uint32_t *type)
{
    int64_t status = e5_check(buffer, E5_BUFFER, __func__);

    if (!status)
        status = e5_check_given(type, "the place for the type", __func__);
    if (!status)
        *type = buffer->type;
    return status;
}

int64_t e5rt_buffer_object_release(e5rt_buffer_object_t *buffer)
{
    return e5_handle_release(buffer, E5_BUFFER, __func__);
}
