/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and options. A function keeps its library alive, and options keep their function alive. */
#include "runtime/function.h"

#include <stdio.h>

static void end_function(void *handle)
{
    e5rt_program_function_t function = handle;

    e5_handle_drop(function->library);
}

e5rt_program_function_t e5_function_make(e5rt_program_library_t library)
{
    e5rt_program_function_t function = e5_handle_make(E5_FUNCTION, sizeof(*function), end_function);

    if (function)
        function->library = e5_handle_keep(library);
    return function;
}

int64_t e5rt_program_function_get_name(e5rt_program_function_t function, const char **name)
{
    int64_t status = e5_check(function, E5_FUNCTION, __func__);

    if (!status)
        status = e5_check_given(name, "the place for the name", __func__);
    if (!status)
        *name = function->library->function;
    return status;
}

int64_t e5rt_program_function_load_for_execution(e5rt_program_function_t function)
{
    int64_t status = e5_check(function, E5_FUNCTION, __func__);

    return status ? status : e5_library_load(function->library);
}

int64_t e5rt_program_function_release(e5rt_program_function_t *function)
{
    return e5_handle_release(function, E5_FUNCTION, __func__);
}

/* Options. */

static void end_options(void *handle)
{
    e5rt_precompiled_compute_op_create_options_t options = handle;

    e5_handle_drop(options->function);
}

int64_t e5rt_precompiled_compute_op_create_options_create_with_program_function(
    e5rt_precompiled_compute_op_create_options_t *options, e5rt_program_function_t function)
{
    e5rt_precompiled_compute_op_create_options_t made;
    int64_t status = e5_check_given(options, "the place for the options", __func__);

    if (status)
        return status;
    *options = NULL;
    if (!function)
        return e5_fail(E5RT_INVALID_ARGUMENT, "Cannot provide program function as nullptr. @ Create");
    status = e5_check(function, E5_FUNCTION, __func__);
    if (status)
        return status;
    made = e5_handle_make(E5_OP_OPTIONS, sizeof(*made), end_options);
    if (!made)
        return e5_fail_memory("the operation's options");
    made->function = e5_handle_keep(function);
    snprintf(made->name, sizeof(made->name), "%s", function->library->function);
    *options = made;
    return E5RT_OK;
}

int64_t e5rt_precompiled_compute_op_create_options_set_operation_name(
    e5rt_precompiled_compute_op_create_options_t options, const char *name)
{
    int64_t status = e5_check(options, E5_OP_OPTIONS, __func__);

    if (!status)
        status = e5_check_given(name, "the operation's name", __func__);
    if (!status)
        snprintf(options->name, sizeof(options->name), "%s", name);
    return status;
}

/* The driver makes them when a request brings none, so the option has no effect. */
int64_t e5rt_precompiled_compute_op_create_options_set_allocate_intermediate_buffers(
    e5rt_precompiled_compute_op_create_options_t options, int allocate)
{
    int64_t status = e5_check(options, E5_OP_OPTIONS, __func__);

    if (!status)
        options->allocate_intermediates = allocate;
    return status;
}

int64_t e5rt_precompiled_compute_op_create_options_release(
    e5rt_precompiled_compute_op_create_options_t *options)
{
    return e5_handle_release(options, E5_OP_OPTIONS, __func__);
}
