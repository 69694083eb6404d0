/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compute operation. A new binding clears `arranged`; stages and request are built again before the
 * operation is encoded. An encoded operation takes no new binding.
 */
#include "runtime/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cast.h"
#include "runtime/chain.h"
#include "runtime/composite.h"
#include "runtime/port.h"

static uint32_t port_count(e5rt_execution_stream_operation_t operation)
{
    return operation->library->inputs + operation->library->outputs;
}

static void end(void *handle)
{
    e5rt_execution_stream_operation_t operation = handle;

    for (uint32_t i = 0; i < port_count(operation); i++) {
        e5_handle_drop(operation->binding[i].buffer);
        if (operation->binding[i].stage)
            ane_surface_release(operation->binding[i].stage);
    }
    if (operation->shared_in.surface)
        ane_surface_release(operation->shared_in.surface);
    if (operation->shared_out.surface)
        ane_surface_release(operation->shared_out.surface);
    e5_chain_end(operation->chain);
    e5_relay_end(operation->relay);
    e5_event_drop(operation->completion);
    for (size_t i = 0; i < operation->dependents; i++)
        e5_event_drop(operation->dependent[i]);
    e5_handle_drop(operation->library);
}

int64_t e5_operation_make(e5rt_program_library_t library, const char *name,
                          e5rt_execution_stream_operation_t *operation)
{
    e5rt_execution_stream_operation_t made;
    int64_t status = e5_library_load(library);

    if (status)
        return status;
    made = e5_handle_make(E5_OPERATION, sizeof(*made), end);
    if (!made)
        return e5_fail_memory("an operation");
    made->library = e5_handle_keep(library);
    snprintf(made->name, sizeof(made->name), "%s", name);
    *operation = made;
    return E5RT_OK;
}

int64_t e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(
    e5rt_execution_stream_operation_t *operation, e5rt_precompiled_compute_op_create_options_t options)
{
    int64_t status = e5_check_given(operation, "the place for the operation", __func__);

    if (status)
        return status;
    *operation = NULL;
    status = e5_check(options, E5_OP_OPTIONS, __func__);
    return status ? status : e5_operation_make(options->function->library, options->name, operation);
}

/* Binding. */

static int64_t check_form(const struct e5_layout *layout, e5rt_buffer_object_t buffer)
{
    uint64_t need = buffer->engine ? layout->form.bytes : layout->packed;

    if (buffer->bytes < need)
        return e5_fail(E5RT_OUT_OF_BOUNDS, "Port %s needs %" PRIu64 " bytes; the buffer has %zu.",
                       layout->name, need, buffer->bytes);
    if (buffer->engine && !e5_form_equal(&buffer->form, &layout->form))
        return e5_fail(E5RT_INVALID_ARGUMENT,
                       "Port %s has %ux%ux%ux%u elements of %s in rows of %" PRIu64
                       " bytes; the buffer was allocated for %ux%ux%ux%u of %s in rows of %" PRIu64 ".",
                       layout->name, layout->form.n, layout->form.c, layout->form.h, layout->form.w,
                       e5_type_name(layout->form.type), layout->form.row, buffer->form.n, buffer->form.c,
                       buffer->form.h, buffer->form.w, e5_type_name(buffer->form.type), buffer->form.row);
    return E5RT_OK;
}

int64_t e5_operation_bind(e5rt_execution_stream_operation_t operation, uint32_t port,
                          e5rt_buffer_object_t buffer)
{
    const struct e5_layout *layout = &operation->library->port[port];
    struct e5_binding *binding = &operation->binding[port];
    int64_t status;

    if (operation->encoded)
        return e5_fail(
            E5RT_INVALID_OPERATION,
            "Op %s has been encoded and hence the binding of port %s cannot change before its stream is "
            "reset.",
            operation->name, layout->name);
    status = check_form(layout, buffer);
    if (status || binding->buffer == buffer)
        return status;
    e5_handle_keep(buffer);
    e5_handle_drop(binding->buffer);
    binding->buffer = buffer;
    operation->arranged = false;
    return E5RT_OK;
}

static bool in_engine_form(const struct e5_layout *layout, e5rt_buffer_object_t buffer)
{
    return buffer->engine || (layout->same && buffer->bytes >= layout->form.bytes);
}

/*
 * The engine would write an output into this input's memory before it has read the input for the last time.
 */
static bool overwritten(e5rt_execution_stream_operation_t operation, uint32_t input)
{
    e5rt_program_library_t library = operation->library;
    e5rt_buffer_object_t buffer = operation->binding[input].buffer;

    for (uint32_t i = library->inputs; i < port_count(operation); i++)
        if (operation->binding[i].buffer == buffer && !library->port[i].shared &&
            in_engine_form(&library->port[i], buffer) &&
            !e5_layout_may_share(&library->port[input], &library->port[i]))
            return true;
    return false;
}

static enum e5_passage passage(e5rt_execution_stream_operation_t operation, uint32_t port)
{
    const struct e5_layout *layout = &operation->library->port[port];
    e5rt_buffer_object_t buffer = operation->binding[port].buffer;

    if (!in_engine_form(layout, buffer))
        return E5_CAST;
    if (!layout->shared && (!layout->input || !overwritten(operation, port)))
        return E5_DIRECT;
    return buffer->engine ? E5_COPY : E5_CAST;
}

/* The bytes of the surface that ports of a direction share: to the end of the last of them. */
static uint64_t shared_bytes(e5rt_program_library_t library, bool input)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < library->inputs + library->outputs; i++) {
        const struct e5_layout *layout = &library->port[i];

        if (layout->input == input && layout->shared && layout->offset + layout->form.bytes > bytes)
            bytes = layout->offset + layout->form.bytes;
    }
    return bytes;
}

static struct e5_shared *shared_of(e5rt_execution_stream_operation_t operation,
                                   const struct e5_layout *layout)
{
    return layout->input ? &operation->shared_in : &operation->shared_out;
}

static int64_t make_shared(e5rt_execution_stream_operation_t operation, struct e5_binding *binding,
                           const struct e5_layout *layout)
{
    struct e5_shared *shared = shared_of(operation, layout);
    int64_t status = shared->surface
                         ? E5RT_OK
                         : e5_device_surface(shared_bytes(operation->library, layout->input),
                                             "The surface of several ports", &shared->surface, &shared->base);

    if (!status)
        binding->stage_base = (uint8_t *)shared->base + layout->offset;
    return status;
}

static int64_t make_stage(e5rt_execution_stream_operation_t operation, uint32_t port)
{
    const struct e5_layout *layout = &operation->library->port[port];
    struct e5_binding *binding = &operation->binding[port];
    char what[sizeof(layout->name) + 8];

    if (layout->shared)
        return make_shared(operation, binding, layout);
    if (binding->passage == E5_DIRECT || binding->stage)
        return E5RT_OK;
    snprintf(what, sizeof(what), "Port %s", layout->name);
    return e5_device_surface(layout->form.bytes, what, &binding->stage, &binding->stage_base);
}

static void build_request(e5rt_execution_stream_operation_t operation)
{
    struct ane_request *request = &operation->request;

    e5_device_request_init(request, &operation->library->program);
    request->inputs = operation->library->buffers_in;
    request->outputs = operation->library->buffers_out;
    for (uint32_t i = 0; i < port_count(operation); i++) {
        const struct e5_layout *layout = &operation->library->port[i];
        const struct e5_binding *binding = &operation->binding[i];

        request->surface[layout->buffer] = layout->shared ? shared_of(operation, layout)->surface
                                           : binding->passage == E5_DIRECT ? binding->buffer->surface
                                                                           : binding->stage;
    }
}

int64_t e5_operation_arrange(e5rt_execution_stream_operation_t operation)
{
    int64_t status;

    if (operation->arranged)
        return E5RT_OK;
    for (uint32_t i = 0; i < port_count(operation); i++) {
        const struct e5_layout *layout = &operation->library->port[i];

        if (!operation->binding[i].buffer)
            return e5_fail(E5RT_INVALID_OPERATION,
                           "Op %s cannot be encoded: %s port %s has no buffer bound to it.", operation->name,
                           layout->input ? "input" : "output", layout->name);
    }
    if (operation->library->composite) {
        status = e5_relay_arrange(operation);
        operation->arranged = !status;
        return status;
    }
    for (uint32_t i = 0; i < port_count(operation); i++) {
        operation->binding[i].passage = passage(operation, i);
        status = make_stage(operation, i);
        if (status)
            return status;
    }
    build_request(operation);
    status = e5_chain_arrange(operation);
    operation->arranged = !status;
    return status;
}

/* Running. */

static void pass_in(const struct e5_layout *layout, const struct e5_binding *binding)
{
    if (binding->passage == E5_CAST)
        e5_cast_in(layout, binding->buffer->base, binding->stage_base);
    else if (binding->passage == E5_COPY)
        memcpy(binding->stage_base, binding->buffer->base, layout->form.bytes);
}

static void pass_out(const struct e5_layout *layout, const struct e5_binding *binding)
{
    if (binding->passage == E5_CAST)
        e5_cast_out(layout, binding->stage_base, binding->buffer->base);
    else if (binding->passage == E5_COPY)
        memcpy(binding->buffer->base, binding->stage_base, layout->form.bytes);
}

static void pass_all_in(e5rt_execution_stream_operation_t operation)
{
    e5rt_program_library_t library = operation->library;

    for (uint32_t i = 0; i < library->inputs; i++)
        pass_in(&library->port[i], &operation->binding[i]);
    e5_device_bind_stage(&library->program);
}

static void pass_all_out(e5rt_execution_stream_operation_t operation)
{
    e5rt_program_library_t library = operation->library;

    if (library->composite)
        e5_relay_take(operation);
    for (uint32_t i = library->inputs; i < port_count(operation) && !library->composite; i++)
        pass_out(&library->port[i], &operation->binding[i]);
}

int64_t e5_operation_send(e5rt_execution_stream_operation_t operation)
{
    if (operation->library->composite)
        return e5_relay_run(operation);
    pass_all_in(operation);
    return e5_chain_serves(operation)
               ? e5_chain_run(operation)
               : e5_device_request_send(&operation->request, &operation->library->program, operation->name);
}

int64_t e5_operation_run(e5rt_execution_stream_operation_t operation)
{
    int64_t status = e5_operation_send(operation);

    if (!status)
        pass_all_out(operation);
    return status;
}

int64_t e5_operation_begin(e5rt_execution_stream_operation_t operation, ane_port_t port, uint64_t reference)
{
    pass_all_in(operation);
    return e5_device_request_post(&operation->request, &operation->library->program, operation->name, port,
                                  reference);
}

int64_t e5_operation_end(e5rt_execution_stream_operation_t operation, const struct ane_port_message *message)
{
    int64_t status = e5_device_request_result(message, operation->name);

    if (!status)
        pass_all_out(operation);
    return status;
}

/* The calls about ports. */

static int64_t count_of(e5rt_execution_stream_operation_t operation, bool input, uint64_t *count,
                        const char *call)
{
    int64_t status = e5_check(operation, E5_OPERATION, call);

    if (!status)
        status = e5_check_given(count, "the place for the count", call);
    if (!status)
        *count = input ? operation->library->inputs : operation->library->outputs;
    return status;
}

int64_t e5rt_execution_stream_operation_get_num_inputs(e5rt_execution_stream_operation_t operation,
                                                       uint64_t *count)
{
    return count_of(operation, true, count, __func__);
}

int64_t e5rt_execution_stream_operation_get_num_outputs(e5rt_execution_stream_operation_t operation,
                                                        uint64_t *count)
{
    return count_of(operation, false, count, __func__);
}

static int64_t names_of(e5rt_execution_stream_operation_t operation, bool input, uint64_t count,
                        const char **names, const char *call)
{
    uint64_t there = 0;
    int64_t status = count_of(operation, input, &there, call);

    if (!status && count)
        status = e5_check_given(names, "the place for the names", call);
    if (status)
        return status;
    if (count > there)
        return e5_fail(E5RT_OUT_OF_BOUNDS,
                       "%s: %" PRIu64 " names were asked for; there are %" PRIu64 " ports.", call, count,
                       there);
    for (uint64_t i = 0; i < count; i++)
        names[i] = operation->library->port[(input ? 0 : operation->library->inputs) + i].name;
    return E5RT_OK;
}

int64_t e5rt_execution_stream_operation_get_input_names(e5rt_execution_stream_operation_t operation,
                                                        uint64_t count, const char **names)
{
    return names_of(operation, true, count, names, __func__);
}

int64_t e5rt_execution_stream_operation_get_output_names(e5rt_execution_stream_operation_t operation,
                                                         uint64_t count, const char **names)
{
    return names_of(operation, false, count, names, __func__);
}

static int64_t retain(e5rt_execution_stream_operation_t operation, bool input, const char *name,
                      e5rt_io_port_t *port, const char *call)
{
    int64_t status = e5_check_given(port, "the place for the port", call);
    int index;

    if (status)
        return status;
    *port = NULL;
    status = e5_check(operation, E5_OPERATION, call);
    if (!status)
        status = e5_check_given(name, "the port's name", call);
    if (status)
        return status;
    index = e5_library_find(operation->library, input, name);
    if (index < 0)
        return e5_fail(E5RT_INVALID_ARGUMENT, "Op %s has no %s port %.128s.", operation->name,
                       input ? "input" : "output", name);
    *port = e5_port_make(operation, (uint32_t)index);
    return *port ? E5RT_OK : e5_fail_memory("a port");
}

int64_t e5rt_execution_stream_operation_retain_input_port(e5rt_execution_stream_operation_t operation,
                                                          const char *name, e5rt_io_port_t *port)
{
    return retain(operation, true, name, port, __func__);
}

int64_t e5rt_execution_stream_operation_retain_output_port(e5rt_execution_stream_operation_t operation,
                                                           const char *name, e5rt_io_port_t *port)
{
    return retain(operation, false, name, port, __func__);
}

/* The device rejects it for an operation that was never encoded; here that is accepted without effect. */
int64_t e5rt_execution_stream_operation_prepare_op_for_encode(e5rt_execution_stream_operation_t operation)
{
    int64_t status = e5_check(operation, E5_OPERATION, __func__);

    if (!status && operation->encoded)
        return e5_fail(
            E5RT_INVALID_OPERATION,
            "Op %s is encoded and hence cannot be reset to 'ReadyForEncode' before its stream is reset.",
            operation->name);
    return status;
}

int64_t e5rt_execution_stream_operation_release(e5rt_execution_stream_operation_t *operation)
{
    return e5_handle_release(operation, E5_OPERATION, __func__);
}
