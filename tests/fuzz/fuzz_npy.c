/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a .npy file: read or refused in a sentence; what was read is inside, and its own header reads
 * back as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tool/npy.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file in both steps; its data is for the caller to free. */
static bool read_file(const uint8_t *bytes, size_t size, struct tool_npy *npy, uint8_t **data,
                      struct base_error *error)
{
    FILE *file = size ? fmemopen((void *)(uintptr_t)bytes, size, "rb") : fopen("/dev/null", "rb");
    bool good;

    require(file != NULL);
    *data = NULL;
    good = !tool_npy_read_header(file, npy, error);
    if (good && npy->bytes > size) {
        snprintf(error->text, sizeof(error->text), "It claims more data than there is.");
        good = false;
    }
    if (good) {
        *data = malloc(npy->bytes + 1);
        require(*data != NULL);
        good = !tool_npy_read_data(file, npy, *data, error);
    }
    fclose(file);
    if (good)
        require(!memcmp(*data, bytes + size - npy->bytes, npy->bytes));
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char header[TOOL_NPY_HEADER_BYTES], shape[64];
    struct base_error error = {{0}};
    struct tool_npy npy, again;
    uint8_t *body, *copy, *back;
    size_t head;
    void *other;

    if (!read_file(data, size, &npy, &body, &error)) {
        require(error.text[0] != '\0' && error.text[strlen(error.text) - 1] == '.');
        free(body);
        return 0;
    }
    require(npy.bytes == npy.elements * tool_type_bytes(npy.type));
    require(strlen(tool_shape_text(&npy.shape, shape, sizeof(shape))) < sizeof(shape));
    require(tool_shape_fits(&npy.shape, &npy.shape));

    head = tool_npy_header(npy.type, &npy.shape, header);
    copy = malloc(head + npy.bytes);
    other = malloc(npy.elements * 4 + 1);
    require(copy && other);
    memcpy(copy, header, head);
    memcpy(copy + head, body, npy.bytes);
    require(read_file(copy, head + npy.bytes, &again, &back, &error));
    require(again.type == npy.type && again.elements == npy.elements &&
            !memcmp(&again.shape, &npy.shape, sizeof(npy.shape)));
    for (int type = TOOL_FP16; type <= TOOL_INT8; type++)
        require(!tool_convert((enum tool_type)type, other, npy.type, body, npy.elements, &error) ||
                error.text[strlen(error.text) - 1] == '.');
    free(back);
    free(body);
    free(copy);
    free(other);
    return 0;
}
