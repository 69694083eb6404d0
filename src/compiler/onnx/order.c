/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which nodes are read: that of the file, except that a node comes after those whose results it
 * uses, also in graphs inside it. Depth first without recursion; a node that is met again while what it needs
 * is still being looked for is on a cycle.
 */
#include <errno.h>

#include "base/alloc.h"
#include "compiler/onnx/reader.h"

/* What each node needs: numbers of nodes in need[first[i]] to need[first[i + 1] - 1]. */
struct needs {
    struct cc_onnx_names makers; /* per result: the node, in `value` */
    uint32_t *first, *need;
    uint32_t count, capacity;
};

static int add_need(struct needs *needs, const char *name)
{
    const struct cc_onnx_value *maker = name[0] ? cc_onnx_names_own(&needs->makers, name) : NULL;
    uint32_t *larger, capacity = needs->capacity ? 2 * needs->capacity : 256;

    if (!maker)
        return 0;
    if (needs->count == needs->capacity) {
        larger = base_realloc(needs->need, capacity * sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        needs->need = larger;
        needs->capacity = capacity;
    }
    needs->need[needs->count++] = maker->value;
    return 0;
}

/* The operands of a node, and of those in graphs that are its attributes. */
static int add_needs(struct needs *needs, const CcNode *node)
{
    int status = 0;

    for (size_t i = 0; i < node->n_input && !status; i++)
        status = add_need(needs, node->input[i]);
    for (size_t i = 0; i < node->n_attribute && !status; i++) {
        const CcGraph *inner = node->attribute[i]->g;

        for (size_t k = 0; inner && k < inner->n_node && !status; k++)
            status = add_needs(needs, inner->node[k]);
        for (size_t k = 0; inner && k < inner->n_output && !status; k++)
            status = add_need(needs, inner->output[k]->name);
    }
    return status;
}

static int collect(struct needs *needs, size_t count, CcNode *const *node)
{
    int status = 0;

    needs->first = base_alloc_array(count + 1, sizeof(*needs->first));
    if (!needs->first)
        return -ENOMEM;
    for (size_t i = 0; i < count && !status; i++)
        for (size_t k = 0; k < node[i]->n_output && !status; k++) {
            struct cc_onnx_value maker = {.value = (uint32_t)i};

            /* a name that is there twice is found when the second node is read */
            status =
                node[i]->output[k][0] ? cc_onnx_names_add(&needs->makers, node[i]->output[k], &maker) : 0;
            status = status == -EEXIST ? 0 : status;
        }
    for (size_t i = 0; i < count && !status; i++) {
        needs->first[i] = needs->count;
        status = add_needs(needs, node[i]);
    }
    needs->first[count] = needs->count;
    return status;
}

enum visit { NOT_SEEN, OPEN, DONE };

/* stack[] has the nodes that are open; next[] where each goes on. Returns the node of a cycle, or `count`. */
static uint32_t visit_all(const struct needs *needs, uint32_t count, uint8_t *seen, uint32_t *next,
                          uint32_t *stack, uint32_t *order)
{
    uint32_t ordered = 0;

    for (uint32_t start = 0; start < count; start++) {
        uint32_t depth = 0;

        if (seen[start] == NOT_SEEN) {
            seen[start] = OPEN;
            stack[depth++] = start;
        }
        while (depth) {
            uint32_t at = stack[depth - 1], place = needs->first[at] + next[at]++;

            if (place == needs->first[at + 1]) {
                seen[at] = DONE;
                order[ordered++] = at;
                depth--;
            } else if (seen[needs->need[place]] == OPEN) {
                return at;
            } else if (seen[needs->need[place]] == NOT_SEEN) {
                seen[needs->need[place]] = OPEN;
                stack[depth++] = needs->need[place];
            }
        }
    }
    return count;
}

int cc_onnx_order(size_t count, CcNode *const *node, uint32_t **order, struct base_error *error)
{
    uint8_t *seen = base_alloc_array(count + 1, sizeof(*seen));
    uint32_t *next = base_alloc_array(count + 1, sizeof(*next));
    uint32_t *stack = base_alloc_array(count + 1, sizeof(*stack));
    struct needs needs = {0};
    uint32_t bad;
    int status;

    *order = base_alloc_array(count + 1, sizeof(**order));
    if (!seen || !next || !stack || !*order || (status = collect(&needs, count, node))) {
        status = base_fail(error, ENOMEM, "There is no memory to sort %zu nodes.", count);
    } else {
        bad = visit_all(&needs, (uint32_t)count, seen, next, stack, *order);
        if (bad < count)
            status = base_fail(
                error, EINVAL, "%.64s `%.64s`: it needs its own result, by way of other nodes.",
                node[bad]->op_type,
                node[bad]->name[0] || !node[bad]->n_output ? node[bad]->name : node[bad]->output[0]);
    }
    base_free(seen);
    base_free(next);
    base_free(stack);
    base_free(needs.first);
    base_free(needs.need);
    cc_onnx_names_release(&needs.makers);
    if (status) {
        base_free(*order);
        *order = NULL;
    }
    return status;
}
