/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor descriptor: what a port looks like. */
#ifndef RUNTIME_TENSOR_H
#define RUNTIME_TENSOR_H

#include "runtime/library.h"

struct e5rt_tensor_desc {
    struct e5_handle handle;
    e5rt_program_library_t library; /* kept: it owns the layout */
    const struct e5_layout *layout;
};

/* NULL when there is no memory. */
e5rt_tensor_desc_t e5_tensor_make(e5rt_program_library_t library, const struct e5_layout *layout);

#endif
