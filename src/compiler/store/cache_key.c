/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a graph: everything that determines the bundle, and nothing else. A new member of struct
 * cc_attributes must be added to add_attributes, or two different graphs share an entry. The compiler itself
 * is part of the key by its version and the fingerprint of its sources.
 */
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/tree.h"
#include "compiler/store/cache.h"
#include "compiler/store/manifest.h"
#include "protocol/bits.h"

struct hasher {
    struct base_hash state;
};

static void add(struct hasher *h, const void *bytes, size_t size)
{
    base_hash_add(&h->state, bytes, size);
}

static void add_number(struct hasher *h, uint64_t value)
{
    uint8_t little[8];

    pr_put_le64(little, value);
    add(h, little, sizeof(little));
}

/* Of data their own hash, which takes half the time of the same bytes in the stream. */
static void add_data(struct hasher *h, const void *bytes, size_t size)
{
    uint8_t digest[BASE_HASH_BYTES];

    base_tree_of(bytes, size, digest);
    add(h, digest, sizeof(digest));
}

/* Lengths come before their elements, so that no two graphs hash the same bytes. */
static void add_text(struct hasher *h, const char *text)
{
    add_number(h, strlen(text));
    add(h, text, strlen(text));
}

static void add_shape(struct hasher *h, const struct cc_value *v)
{
    add_number(h, v->type);
    add_number(h, v->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        add_number(h, v->dim[i]);
}

static void add_numbers(struct hasher *h, const uint32_t *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add_number(h, numbers[i]);
}

static void add_float(struct hasher *h, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    add_number(h, bits);
}

static void add_attributes(struct hasher *h, const struct cc_attributes *a)
{
    const uint32_t number[] = {a->weight,      a->bias,        a->mean,    a->variance,        a->groups,
                               a->transpose_x, a->transpose_y, a->axes,    a->keep_dims,       a->axis,
                               a->gelu,        a->to,          a->ceil,    a->exclude_padding, a->pad_mode,
                               a->resize,      a->coordinate,  a->nearest, a->order,           a->exclusive,
                               a->reverse,     a->indices};

    add_numbers(h, number, BASE_COUNT_OF(number));
    add_numbers(h, a->kernel, 2);
    add_numbers(h, a->stride, 2);
    add_numbers(h, a->dilation, 2);
    add_numbers(h, a->pad, 4);
    add_numbers(h, a->perm, CC_RANK_MAX);
    add_numbers(h, a->begin, CC_RANK_MAX);
    add_numbers(h, a->size, CC_RANK_MAX);
    add_numbers(h, a->end, CC_RANK_MAX);
    add_numbers(h, a->step, CC_RANK_MAX);
    add_numbers(h, a->block, 2);
    add_numbers(h, a->reps, CC_RANK_MAX);
    add_float(h, a->alpha);
    add_float(h, a->beta);
    add_float(h, a->epsilon);
    add_float(h, a->gamma);
    add_float(h, a->scale[0]);
    add_float(h, a->scale[1]);
    add_float(h, a->cubic);
}

static void add_ports(struct hasher *h, const struct cc_graph *g, const uint32_t *list, uint32_t count)
{
    add_number(h, count);
    for (uint32_t i = 0; i < count; i++) {
        add_number(h, list[i]);
        add_text(h, g->value[list[i]].name);
    }
}

static void add_op(struct hasher *h, const struct cc_op *op)
{
    add_number(h, op->kind);
    add_number(h, op->inputs);
    for (uint32_t i = 0; i < op->inputs; i++)
        add_number(h, op->input[i]);
    add_number(h, op->output);
    add_attributes(h, &op->a);
}

void cc_cache_key(const struct cc_graph *g, char key[CC_KEY_BYTES])
{
    uint8_t hash[CC_HASH_BYTES];
    struct hasher h;

    base_hash_begin(&h.state);
    add_text(&h, "anemone " ANEMONE_VERSION);
    add_text(&h, cc_fingerprint);
    add_number(&h, PR_E5_FORMAT_VERSION);
    add_number(&h, CC_MANIFEST_VERSION);
    add_text(&h, g->function ? g->function : "main");
    add_number(&h, g->values);
    for (uint32_t i = 0; i < g->values; i++) {
        const struct cc_value *v = &g->value[i];

        add_shape(&h, v);
        add_number(&h, v->data ? v->bytes : 0);
        if (v->data)
            add_data(&h, v->data, v->bytes);
    }
    add_ports(&h, g, g->input, g->inputs);
    add_ports(&h, g, g->output, g->outputs);
    add_number(&h, g->ops);
    for (uint32_t i = 0; i < g->ops; i++)
        add_op(&h, &g->op[i]);
    base_hash_end(&h.state, hash);
    cc_hex(hash, sizeof(hash), key);
}

void cc_cache_key_option(const char *option, char key[CC_KEY_BYTES])
{
    uint8_t hash[CC_HASH_BYTES];
    struct hasher h;

    base_hash_begin(&h.state);
    add_text(&h, option);
    add_text(&h, key);
    base_hash_end(&h.state, hash);
    cc_hex(hash, sizeof(hash), key);
}

void cc_cache_key_fallback(char key[CC_KEY_BYTES])
{
    cc_cache_key_option("fallback", key);
}
