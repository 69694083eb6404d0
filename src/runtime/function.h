/* SPDX-License-Identifier: Apache-2.0 */
/* A function of a program library, and the options an operation is made from. */
#ifndef RUNTIME_FUNCTION_H
#define RUNTIME_FUNCTION_H

#include "runtime/library.h"

struct e5rt_program_function {
    struct e5_handle handle;
    e5rt_program_library_t library; /* kept */
};

struct e5rt_precompiled_compute_op_create_options {
    struct e5_handle handle;
    e5rt_program_function_t function; /* kept */
    char name[128];
    int allocate_intermediates;
};

/* NULL when there is no memory. */
e5rt_program_function_t e5_function_make(e5rt_program_library_t library);

#endif
