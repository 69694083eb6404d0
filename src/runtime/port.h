/* SPDX-License-Identifier: Apache-2.0 */
/* A port of an operation. */
#ifndef RUNTIME_PORT_H
#define RUNTIME_PORT_H

#include "runtime/operation.h"

struct e5rt_io_port {
    struct e5_handle handle;
    e5rt_execution_stream_operation_t operation; /* kept */
    uint32_t index;
};

/* NULL when there is no memory. */
e5rt_io_port_t e5_port_make(e5rt_execution_stream_operation_t operation, uint32_t index);

#endif
