/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table has at least twice as many slots as names, so a search always ends. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/reader.h"

#define NAMES_FIRST 32u

/* FNV-1a. Names come from one file: colliding names can only slow down that file. */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* The slot that holds the name, or the empty one where it belongs. */
static uint32_t *slot_of(const struct cc_onnx_names *names, const char *name)
{
    uint32_t at = hash(name) & (names->slots - 1);

    while (names->slot[at] && strcmp(names->name[names->slot[at] - 1].name, name) != 0)
        at = (at + 1) & (names->slots - 1);
    return &names->slot[at];
}

static int make_room(struct cc_onnx_names *names)
{
    uint32_t capacity = names->capacity ? 2 * names->capacity : NAMES_FIRST;
    struct cc_onnx_name *larger;
    uint32_t *slots;

    if (names->count < names->capacity)
        return 0;
    larger = base_realloc(names->name, capacity * sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    names->name = larger;
    slots = base_alloc_array(2 * (size_t)capacity, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    base_free(names->slot);
    names->capacity = capacity;
    names->slot = slots;
    names->slots = 2 * capacity;
    for (uint32_t i = 0; i < names->count; i++)
        *slot_of(names, names->name[i].name) = i + 1;
    return 0;
}

struct cc_onnx_value *cc_onnx_names_own(struct cc_onnx_names *names, const char *name)
{
    uint32_t number = names->slots ? *slot_of(names, name) : 0;

    return number ? &names->name[number - 1].value : NULL;
}

struct cc_onnx_value *cc_onnx_names_find(struct cc_onnx_names *names, const char *name)
{
    struct cc_onnx_value *found = NULL;

    for (; names && !found; names = names->outer)
        found = cc_onnx_names_own(names, name);
    return found;
}

int cc_onnx_names_add(struct cc_onnx_names *names, const char *name, const struct cc_onnx_value *value)
{
    int status = cc_onnx_names_own(names, name) ? -EEXIST : make_room(names);

    if (status)
        return status;
    names->name[names->count] = (struct cc_onnx_name){.name = name, .value = *value};
    *slot_of(names, name) = names->count + 1;
    names->count++;
    return 0;
}

void cc_onnx_names_release(struct cc_onnx_names *names)
{
    base_free(names->name);
    base_free(names->slot);
    *names = (struct cc_onnx_names){0};
}
