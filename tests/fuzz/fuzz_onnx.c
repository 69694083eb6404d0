/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ONNX file, read as it is and with a shape for an input `x`. There is no folder of external data. What is
 * accepted passes the graph's check, and what is refused is refused in one line.
 */
#include <stdint.h>
#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/onnx/onnx.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_once(const uint8_t *data, size_t size, const struct cc_binding *bindings, uint32_t count)
{
    struct base_error error = {""};
    struct cc_graph *graph;

    if (cc_onnx_read(data, size, NULL, bindings, count, &graph, &error)) {
        require(!graph && error.text[0] && !strchr(error.text, '\n'));
        return;
    }
    require(cc_graph_check(graph, &error) == 0 && graph->outputs > 0);
    cc_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cc_binding square = {.name = "x", .rank = 4, .dim = {1, 2, 4, 4}};

    read_once(data, size, NULL, 0);
    read_once(data, size, &square, 1);
    return 0;
}
