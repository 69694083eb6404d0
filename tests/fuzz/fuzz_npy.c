/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a .npy file: read or refused in a sentence; what was read is inside, and its own header reads
 * back as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tool/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char header[TOOL_NPY_HEADER_BYTES], shape[64];
    struct base_error error = {{0}};
    struct tool_npy npy, again;
    size_t head, body;
    uint8_t *copy;
    void *other;

    if (tool_npy_read(data, size, &npy, &error)) {
        require(error.text[0] != '\0' && error.text[strlen(error.text) - 1] == '.');
        return 0;
    }
    body = npy.elements * tool_type_bytes(npy.type);
    require(npy.data >= data && npy.data + body == data + size);
    require(strlen(tool_shape_text(&npy.shape, shape, sizeof(shape))) < sizeof(shape));
    require(tool_shape_fits(&npy.shape, &npy.shape));

    head = tool_npy_header(npy.type, &npy.shape, header);
    copy = malloc(head + body);
    other = malloc(npy.elements * 4 + 1);
    require(copy && other);
    memcpy(copy, header, head);
    memcpy(copy + head, npy.data, body);
    require(!tool_npy_read(copy, head + body, &again, NULL));
    require(again.type == npy.type && again.elements == npy.elements &&
            !memcmp(&again.shape, &npy.shape, sizeof(npy.shape)));
    for (int type = TOOL_FP16; type <= TOOL_INT8; type++)
        require(!tool_convert((enum tool_type)type, other, npy.type, npy.data, npy.elements, &error) ||
                error.text[strlen(error.text) - 1] == '.');
    free(copy);
    free(other);
    return 0;
}
