/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as bytes. What is accepted passes the graph's check, gives bytes that are accepted again, and is
 * computed, folded and passed through the passes if it is small; what is refused is refused in one line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/file.h"
#include "compiler/pass/passes.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ELEMENTS_MAX = 1 << 10, OPS_MAX = 64 };

static bool is_small(const struct cc_graph *graph)
{
    for (uint32_t i = 0; i < graph->values; i++)
        if (cc_value_elements(&graph->value[i]) > ELEMENTS_MAX)
            return false;
    for (uint32_t i = 0; i < graph->ops; i++)
        for (unsigned k = 0; k < 2; k++)
            if (graph->op[i].a.kernel[k] > ELEMENTS_MAX || graph->op[i].a.pad[2 * k] > ELEMENTS_MAX ||
                graph->op[i].a.pad[2 * k + 1] > ELEMENTS_MAX)
                return false;
    return graph->ops <= OPS_MAX;
}

static void compute(const struct cc_graph *graph)
{
    static const double zeros[ELEMENTS_MAX];
    struct base_error error;
    struct cc_eval eval;

    require(cc_eval_open(&eval, graph, &error) == 0);
    for (uint32_t i = 0; i < graph->inputs; i++)
        require(cc_eval_set(&eval, graph->input[i], zeros, &error) == 0);
    require(cc_eval_run(&eval, 0, &error) == 0);
    cc_eval_close(&eval);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct base_error error = {""};
    struct cc_graph *graph, *again;
    uint8_t *bytes;
    size_t written;

    if (cc_graph_file_read(data, size, &graph, &error)) {
        require(!graph && error.text[0] && !strchr(error.text, '\n'));
        return 0;
    }
    require(cc_graph_check(graph, &error) == 0);
    require(cc_graph_file_write(graph, &bytes, &written, &error) == 0 && written == size);
    require(cc_graph_file_read(bytes, written, &again, &error) == 0);
    base_free(bytes);
    cc_graph_destroy(again);
    if (is_small(graph)) {
        compute(graph);
        if (cc_passes(&graph, &error))
            require(error.text[0] && !strchr(error.text, '\n'));
    }
    cc_graph_destroy(graph);
    return 0;
}
