/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor descriptor. It keeps the library alive, which owns its layout. */
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>

#include "protocol/bits.h"
#include "runtime/buffer.h"

static const uint32_t dtypes[] = {
    [E5_UINT8] = E5RT_DTYPE_UINT8, [E5_INT8] = E5RT_DTYPE_INT8,   [E5_FP16] = E5RT_DTYPE_FP16,
    [E5_FP32] = E5RT_DTYPE_FP32,   [E5_INT32] = E5RT_DTYPE_INT32,
};

static void end(void *handle)
{
    e5rt_tensor_desc_t desc = handle;

    e5_handle_drop(desc->library);
}

e5rt_tensor_desc_t e5_tensor_make(e5rt_program_library_t library, const struct e5_layout *layout)
{
    e5rt_tensor_desc_t desc = e5_handle_make(E5_TENSOR, sizeof(*desc), end);

    if (!desc)
        return NULL;
    desc->library = e5_handle_keep(library);
    desc->layout = layout;
    return desc;
}

static int64_t check(e5rt_tensor_desc_t desc, const void *out, const char *call)
{
    int64_t status = e5_check(desc, E5_TENSOR, call);

    return status ? status : e5_check_given(out, "the place for the result", call);
}

int64_t e5rt_tensor_desc_alloc_buffer_object(e5rt_tensor_desc_t desc, uint32_t type, uint64_t count,
                                             e5rt_buffer_object_t *buffer)
{
    int64_t status = check(desc, buffer, __func__);
    uint64_t bytes;

    if (buffer)
        *buffer = NULL;
    if (status)
        return status;
    bytes = pr_round_up(desc->layout->form.bytes, E5_BUFFER_ALIGN);
    if (!count || count > UINT64_MAX / bytes)
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: a buffer for %" PRIu64 " tensors cannot be made.",
                       __func__, count);
    return e5_buffer_make(bytes * count, type, &desc->layout->form, buffer);
}

int64_t e5rt_tensor_desc_get_rank(e5rt_tensor_desc_t desc, uint64_t *rank)
{
    int64_t status = check(desc, rank, __func__);

    if (!status)
        *rank = desc->layout->rank;
    return status;
}

int64_t e5rt_tensor_desc_get_shape(e5rt_tensor_desc_t desc, uint64_t *shape)
{
    int64_t status = check(desc, shape, __func__);

    if (!status)
        memcpy(shape, desc->layout->dim, desc->layout->rank * sizeof(*shape));
    return status;
}

int64_t e5rt_tensor_desc_get_strides(e5rt_tensor_desc_t desc, uint64_t *strides)
{
    int64_t status = check(desc, strides, __func__);
    uint64_t all[E5_RANK_MAX];

    if (status)
        return status;
    if (!e5_layout_strides(desc->layout, all))
        return e5_fail(E5RT_INVALID_OPERATION,
                       "A dimension of port %s has no single stride in the engine's layout.",
                       desc->layout->name);
    memcpy(strides, all, desc->layout->rank * sizeof(*strides));
    return E5RT_OK;
}

int64_t e5rt_tensor_desc_get_size(e5rt_tensor_desc_t desc, size_t *bytes)
{
    int64_t status = check(desc, bytes, __func__);

    if (!status)
        *bytes = desc->layout->form.bytes;
    return status;
}

int64_t e5rt_tensor_desc_get_dtype(e5rt_tensor_desc_t desc, uint32_t *dtype)
{
    int64_t status = check(desc, dtype, __func__);

    if (!status)
        *dtype = dtypes[desc->layout->type];
    return status;
}

int64_t e5rt_tensor_desc_release(e5rt_tensor_desc_t *desc)
{
    return e5_handle_release(desc, E5_TENSOR, __func__);
}
