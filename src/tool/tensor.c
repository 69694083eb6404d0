/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/tensor.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/tool.h"

#define SHAPE_TEXT 128u

static int check_shape(const struct tool_npy *npy, const struct tool_port *port, struct base_error *error)
{
    char have[SHAPE_TEXT], want[SHAPE_TEXT];

    if (tool_shape_fits(&npy->shape, &port->shape))
        return 0;
    return base_fail(error, EINVAL, "its shape is %s; input %s is %s.",
                     tool_shape_text(&npy->shape, have, sizeof(have)), port->name,
                     tool_shape_text(&port->shape, want, sizeof(want)));
}

static int read_data(FILE *file, const struct tool_npy *npy, struct tool_port *port, struct base_error *error)
{
    void *data = base_alloc(npy->bytes);
    int status;

    if (!data)
        return base_fail(error, ENOMEM, "there is no memory to read it.");
    status = tool_npy_read_data(file, npy, data, error);
    if (!status)
        status = tool_convert(port->type, port->data, npy->type, data, npy->elements, error);
    base_free(data);
    return status;
}

bool tool_tensor_read(struct tool_port *port, const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    struct base_error error;
    struct tool_npy npy;
    int status;

    if (!file) {
        tool_say("%s: %s.", path, strerror(errno));
        return false;
    }
    status = tool_npy_read_header(file, &npy, &error);
    if (!status)
        status = check_shape(&npy, port, &error);
    if (!status)
        status = read_data(file, &npy, port, &error);
    if (status)
        tool_say("%s: %s", path, error.text);
    if (file != stdin)
        fclose(file);
    return !status;
}

bool tool_tensor_write(const struct tool_port *port, const char *path)
{
    char header[TOOL_NPY_HEADER_BYTES];
    size_t head = tool_npy_header(port->type, &port->shape, header),
           body = port->elements * tool_type_bytes(port->type);
    uint8_t *bytes = base_alloc(head + body);
    bool good;

    if (!bytes) {
        tool_say("%s: no memory to write it.", path);
        return false;
    }
    memcpy(bytes, header, head);
    memcpy(bytes + head, port->data, body);
    good = tool_file_write(path, bytes, head + body);
    base_free(bytes);
    return good;
}
