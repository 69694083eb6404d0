/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer object: a surface, in the packed form of whatever port it is bound to, or in one engine form. */
#ifndef RUNTIME_BUFFER_H
#define RUNTIME_BUFFER_H

#include "runtime/handle.h"
#include "runtime/layout.h"

#define E5_BUFFER_ALIGN 64u

struct e5rt_buffer_object {
    struct e5_handle handle;
    uint32_t surface;
    uint32_t type;
    void *base;
    size_t bytes;
    bool engine; /* it was allocated from a tensor descriptor and has that form */
    struct e5_form form;
};

/* form NULL: packed. */
int64_t e5_buffer_make(uint64_t bytes, uint32_t type, const struct e5_form *form,
                       e5rt_buffer_object_t *buffer);

#endif
