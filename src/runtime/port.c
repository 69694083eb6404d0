/* SPDX-License-Identifier: Apache-2.0 */
/* A port of an operation. It keeps the operation alive. */
#include "runtime/port.h"

#include "runtime/tensor.h"

static void end(void *handle)
{
    e5rt_io_port_t port = handle;

    e5_handle_drop(port->operation);
}

e5rt_io_port_t e5_port_make(e5rt_execution_stream_operation_t operation, uint32_t index)
{
    e5rt_io_port_t port = e5_handle_make(E5_PORT, sizeof(*port), end);

    if (!port)
        return NULL;
    port->operation = e5_handle_keep(operation);
    port->index = index;
    return port;
}

int64_t e5rt_io_port_bind_buffer_object(e5rt_io_port_t port, e5rt_buffer_object_t buffer)
{
    int64_t status = e5_check(port, E5_PORT, __func__);

    if (!status)
        status = e5_check(buffer, E5_BUFFER, __func__);
    return status ? status : e5_operation_bind(port->operation, port->index, buffer);
}

int64_t e5rt_io_port_retain_tensor_desc(e5rt_io_port_t port, e5rt_tensor_desc_t *desc)
{
    e5rt_program_library_t library;
    int64_t status = e5_check_given(desc, "the place for the descriptor", __func__);

    if (status)
        return status;
    *desc = NULL;
    status = e5_check(port, E5_PORT, __func__);
    if (status)
        return status;
    library = port->operation->library;
    *desc = e5_tensor_make(library, &library->port[port->index]);
    return *desc ? E5RT_OK : e5_fail_memory("a tensor descriptor");
}

int64_t e5rt_io_port_release(e5rt_io_port_t *port)
{
    return e5_handle_release(port, E5_PORT, __func__);
}
