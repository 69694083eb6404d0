/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of a node, by name. An attribute of a node in a function may refer to one of the node that calls
 * the function. One of another type than asked for is refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "compiler/onnx/reader.h"

/* Types of attributes, by their numbers in the specification. */
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_INTS = 7 };

const CcAttribute *cc_onnx_attribute(const struct cc_onnx_node *n, const char *name)
{
    for (; n; n = n->caller) {
        const CcAttribute *found = NULL;

        for (size_t i = 0; i < n->proto->n_attribute && !found; i++)
            if (!strcmp(n->proto->attribute[i]->name, name))
                found = n->proto->attribute[i];
        if (!found || !found->ref_attr_name[0])
            return found;
        name = found->ref_attr_name;
    }
    return NULL;
}

/* Of the type asked for; files of the first versions do not say it. */
static const CcAttribute *typed(const struct cc_onnx_node *n, const char *name, int type, const char *what)
{
    const CcAttribute *found = cc_onnx_attribute(n, name);

    if (found && found->type && found->type != type) {
        cc_build_refuse(n->b, "attribute %s has type %d, expected %d (%s)", name, (int)found->type, type,
                        what);
        return NULL;
    }
    return found;
}

int64_t cc_onnx_int(const struct cc_onnx_node *n, const char *name, int64_t otherwise)
{
    const CcAttribute *found = typed(n, name, TYPE_INT, "one whole number");

    return found ? found->i : otherwise;
}

float cc_onnx_float(const struct cc_onnx_node *n, const char *name, float otherwise)
{
    const CcAttribute *found = typed(n, name, TYPE_FLOAT, "one float");

    return found ? found->f : otherwise;
}

bool cc_onnx_ints(const struct cc_onnx_node *n, const char *name, struct cc_onnx_list *list)
{
    const CcAttribute *found = typed(n, name, TYPE_INTS, "a list of whole numbers");

    *list = (struct cc_onnx_list){0};
    if (!found)
        return false;
    if (found->n_ints > 2 * CC_ONNX_AXES_MAX) {
        cc_build_refuse(n->b, "attribute %s has %zu numbers, more than %u", name, found->n_ints,
                        2 * CC_ONNX_AXES_MAX);
        return false;
    }
    list->count = (uint32_t)found->n_ints;
    for (uint32_t i = 0; i < list->count; i++)
        list->number[i] = found->ints[i];
    return true;
}

struct cc_onnx_word cc_onnx_string(const struct cc_onnx_node *n, const char *name, const char *otherwise)
{
    const CcAttribute *found = typed(n, name, TYPE_STRING, "a word");
    struct cc_onnx_word word;

    if (found)
        snprintf(word.text, sizeof(word.text), "%.*s",
                 (int)(found->s.len < sizeof(word.text) ? found->s.len : sizeof(word.text) - 1),
                 found->s.data ? (const char *)found->s.data : "");
    else
        snprintf(word.text, sizeof(word.text), "%s", otherwise);
    base_printable_make(word.text, strlen(word.text));
    return word;
}

unsigned cc_onnx_choice(const struct cc_onnx_node *n, const char *name, const char *const *words,
                        const char *otherwise)
{
    struct cc_onnx_word word = cc_onnx_string(n, name, otherwise);
    char all[200] = "";
    size_t used = 0;

    for (unsigned i = 0; words[i]; i++) {
        if (!strcmp(words[i], word.text))
            return i;
        used += (size_t)snprintf(all + used, used < sizeof(all) ? sizeof(all) - used : 0, "%s%s",
                                 i ? ", " : "", words[i]);
        used = used < sizeof(all) ? used : sizeof(all) - 1;
    }
    cc_build_refuse(n->b, "%s is \"%s\", expected one of %s", name, word.text, all);
    return 0;
}

uint32_t cc_onnx_axis(const struct cc_onnx_node *n, int64_t axis, uint32_t rank)
{
    int64_t counted = axis < 0 ? axis + rank : axis;

    if (counted >= 0 && counted < rank)
        return (uint32_t)counted;
    cc_build_refuse(n->b, "axis %lld is not one of rank %u", (long long)axis, rank);
    return 0;
}

uint32_t cc_onnx_axes(const struct cc_onnx_node *n, const struct cc_onnx_list *list, uint32_t rank)
{
    uint32_t axes = 0;

    for (uint32_t i = 0; i < list->count && !n->b->status; i++) {
        uint32_t axis = cc_onnx_axis(n, list->number[i], rank);

        if (!n->b->status && axes >> axis & 1)
            cc_build_refuse(n->b, "axis %u is named twice", axis);
        axes |= 1u << axis;
    }
    return axes;
}

bool cc_onnx_axes_or_input(const struct cc_onnx_node *n, int64_t since, const char *name, uint32_t i,
                           struct cc_onnx_list *list)
{
    *list = (struct cc_onnx_list){0};
    if (n->opset < since)
        return cc_onnx_ints(n, name, list);
    return cc_onnx_has(n, i) && cc_onnx_list(n, i, name, list);
}
