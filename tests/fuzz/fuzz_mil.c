/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MIL text; what follows the first zero byte, if there is one, is the weight file `@model_path/100`. What is
 * accepted passes the graph's check, and what is refused is refused in one line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/graph/graph.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WEIGHT_FILE 100 /* a descriptor number, and so a name in FOLDER */
#define FOLDER      "/proc/self/fd"

static void put_weights(const uint8_t *bytes, size_t size)
{
    int file = memfd_create("weights", MFD_CLOEXEC);

    require(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    require(dup2(file, WEIGHT_FILE) == WEIGHT_FILE);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    struct base_error error = {""};
    struct cc_graph *graph;

    if (end)
        put_weights(end + 1, size - length - 1);
    if (cc_mil_read((const char *)data, length, end ? FOLDER : NULL, &graph, &error)) {
        require(!graph && error.text[0] && !strchr(error.text, '\n'));
    } else {
        require(cc_graph_check(graph, &error) == 0 && graph->outputs > 0);
        cc_graph_destroy(graph);
    }
    if (end)
        close(WEIGHT_FILE);
    return 0;
}
