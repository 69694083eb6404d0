/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing are the same functions over a stream, so that the two cannot differ. A stream that
 * failed does nothing more. While reading, a count or a size is compared with what is left of the bytes
 * before memory is taken for it.
 */
#include "compiler/graph/file.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

static const char MAGIC[8] = {'A', 'N', 'E', 'G', 'R', 'A', 'P', 'H'};

struct stream {
    bool writing;
    const uint8_t *from; /* reading */
    uint8_t *to;         /* writing; NULL: only the size is counted */
    size_t size, at;
    int status; /* 0, -EBADMSG for bad bytes, -ENOMEM */
};

static void fail(struct stream *s, int status)
{
    if (!s->status)
        s->status = status;
}

static void pass_bytes(struct stream *s, void *bytes, size_t count)
{
    if (s->status)
        return;
    if (!s->writing && count > s->size - s->at) {
        fail(s, -EBADMSG);
        return;
    }
    if (!s->writing)
        memcpy(bytes, s->from + s->at, count);
    else if (s->to)
        memcpy(s->to + s->at, bytes, count);
    s->at += count;
}

/* A number below or equal to `most`. */
static void pass_number(struct stream *s, uint32_t *number, uint32_t most)
{
    uint8_t little[4] = {(uint8_t)*number, (uint8_t)(*number >> 8), (uint8_t)(*number >> 16),
                         (uint8_t)(*number >> 24)};

    pass_bytes(s, little, sizeof(little));
    if (s->status || s->writing)
        return;
    *number = (uint32_t)little[0] | (uint32_t)little[1] << 8 | (uint32_t)little[2] << 16 |
              (uint32_t)little[3] << 24;
    if (*number > most)
        fail(s, -EBADMSG);
}

static void pass_any(struct stream *s, uint32_t *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pass_number(s, &numbers[i], UINT32_MAX);
}

static void pass_bool(struct stream *s, bool *value)
{
    uint32_t number = *value;

    pass_number(s, &number, 1);
    *value = number != 0;
}

static void pass_float(struct stream *s, float *value)
{
    uint32_t bits;

    memcpy(&bits, value, sizeof(bits));
    pass_any(s, &bits, 1);
    memcpy(value, &bits, sizeof(bits));
}

/* How many things follow, each of at least `bytes` bytes. */
static void pass_count(struct stream *s, uint32_t *count, size_t bytes)
{
    pass_any(s, count, 1);
    if (!s->status && !s->writing && *count > (s->size - s->at) / bytes)
        fail(s, -EBADMSG);
}

/* NULL while writing is an empty one. While reading *name is new memory. */
static void pass_name(struct stream *s, char **name)
{
    uint32_t length = s->writing && *name ? (uint32_t)strlen(*name) : 0;
    char *text = *name;

    pass_number(s, &length, CC_GRAPH_FILE_NAME);
    if (length > CC_GRAPH_FILE_NAME)
        fail(s, -E2BIG);
    if (!s->writing && !s->status && length > s->size - s->at)
        fail(s, -EBADMSG);
    if (s->status)
        return;
    if (!s->writing) {
        text = base_alloc((size_t)length + 1);
        if (!text) {
            fail(s, -ENOMEM);
            return;
        }
    }
    if (length)
        pass_bytes(s, text, length);
    if (!s->writing && memchr(text, 0, length))
        fail(s, -EBADMSG);
    *name = text;
}

#define PASS_ENUM(s, member, most)                       \
    do {                                                 \
        uint32_t number_ = (uint32_t)(member);           \
        pass_number(s, &number_, (uint32_t)(most));      \
        if (!(s)->writing && !(s)->status)               \
            memcpy(&(member), &number_, sizeof(member)); \
    } while (0)

static void pass_attributes(struct stream *s, struct cc_attributes *a)
{
    _Static_assert(sizeof(enum cc_gelu) == sizeof(uint32_t), "an enum is passed as a word");
    uint32_t *const words[] = {&a->weight, &a->bias, &a->mean, &a->variance,
                               &a->groups, &a->axes, &a->axis, &a->indices};
    bool *const flags[] = {&a->ceil,      &a->exclude_padding, &a->transpose_x, &a->transpose_y,
                           &a->keep_dims, &a->exclusive,       &a->reverse};
    float *const numbers[] = {&a->alpha,    &a->beta,     &a->epsilon, &a->gamma,
                              &a->scale[0], &a->scale[1], &a->cubic};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        pass_any(s, words[i], 1);
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        pass_bool(s, flags[i]);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        pass_float(s, numbers[i]);
    pass_any(s, a->kernel, 2);
    pass_any(s, a->stride, 2);
    pass_any(s, a->dilation, 2);
    pass_any(s, a->block, 2);
    pass_any(s, a->pad, 4);
    pass_any(s, a->perm, CC_RANK_MAX);
    pass_any(s, a->begin, CC_RANK_MAX);
    pass_any(s, a->size, CC_RANK_MAX);
    pass_any(s, a->end, CC_RANK_MAX);
    pass_any(s, a->step, CC_RANK_MAX);
    pass_any(s, a->reps, CC_RANK_MAX);
    PASS_ENUM(s, a->gelu, CC_GELU_SIGMOID);
    PASS_ENUM(s, a->pad_mode, CC_PAD_REPLICATE);
    PASS_ENUM(s, a->resize, CC_RESIZE_CUBIC);
    PASS_ENUM(s, a->coordinate, CC_ASYMMETRIC);
    PASS_ENUM(s, a->nearest, CC_ROUND_CEIL);
    PASS_ENUM(s, a->order, CC_DEPTH_CHANNEL_FIRST);
    PASS_ENUM(s, a->to, CC_BOOL);
}

/* Of a value: everything but its data. */
struct head {
    char *name;
    uint32_t type, rank, dim[CC_RANK_MAX];
    bool constant;
};

static void pass_head(struct stream *s, struct head *h)
{
    pass_name(s, &h->name);
    pass_number(s, &h->type, CC_BOOL);
    pass_number(s, &h->rank, CC_RANK_MAX);
    if (!s->status)
        pass_any(s, h->dim, h->rank);
    pass_bool(s, &h->constant);
}

static void write_value(struct stream *s, const struct cc_value *v)
{
    struct head h = {.name = v->name, .type = v->type, .rank = v->rank, .constant = v->data != NULL};

    memcpy(h.dim, v->dim, sizeof(h.dim));
    pass_head(s, &h);
    if (v->data)
        pass_bytes(s, v->data, v->bytes);
}

static void read_value(struct stream *s, struct cc_graph *g)
{
    struct head h = {0};
    int value = -EBADMSG;

    pass_head(s, &h);
    if (!s->status) {
        value = cc_graph_add_value(g, h.name, (enum cc_type)h.type, h.rank, h.dim);
        if (value < 0)
            fail(s, value == -ENOMEM ? -ENOMEM : -EBADMSG);
    }
    base_free(h.name);
    if (s->status || !h.constant)
        return;
    if (g->value[value].bytes > s->size - s->at) {
        fail(s, -EBADMSG);
        return;
    }
    g->value[value].data = base_alloc(g->value[value].bytes);
    if (!g->value[value].data)
        fail(s, -ENOMEM);
    else
        pass_bytes(s, g->value[value].data, g->value[value].bytes);
}

static void pass_op(struct stream *s, struct cc_op *op)
{
    PASS_ENUM(s, op->kind, CC_OP_COUNT - 1);
    pass_name(s, &op->name);
    pass_any(s, &op->line, 1);
    pass_any(s, &op->column, 1);
    pass_any(s, &op->origin, 1);
    pass_number(s, &op->inputs, CC_INPUTS_MAX);
    if (!s->status)
        pass_any(s, op->input, op->inputs);
    pass_any(s, &op->output, 1);
    pass_attributes(s, &op->a);
}

static void read_op(struct stream *s, struct cc_graph *g)
{
    struct cc_op op = {0};
    int number = 0;
    char *name;

    pass_op(s, &op);
    if (!s->status && op.origin > g->origins)
        fail(s, -EBADMSG);
    if (!s->status) {
        number = cc_graph_add_op(g, op.kind, op.name, op.line);
        if (number < 0)
            fail(s, number);
    }
    name = op.name;
    if (!s->status) {
        op.name = g->op[number].name;
        g->op[number] = op;
    }
    base_free(name);
}

static void read_origin(struct stream *s, struct cc_graph *g)
{
    struct cc_origin o = {0};
    int number;

    pass_name(s, &o.name);
    pass_name(s, &o.kind);
    pass_any(s, &o.line, 1);
    pass_any(s, &o.column, 1);
    if (!s->status) {
        number = cc_graph_add_origin(g, o.name, o.kind, o.line, o.column);
        if (number < 0)
            fail(s, number);
    }
    base_free(o.name);
    base_free(o.kind);
}

static void read_ports(struct stream *s, struct cc_graph *g, int (*add)(struct cc_graph *, uint32_t))
{
    uint32_t count = 0, value = 0;
    int status;

    pass_count(s, &count, sizeof(value));
    for (uint32_t i = 0; i < count && !s->status; i++) {
        pass_any(s, &value, 1);
        if (!s->status && (status = add(g, value)))
            fail(s, status == -ENOMEM ? -ENOMEM : -EBADMSG);
    }
}

static void read_all(struct stream *s, struct cc_graph *g)
{
    uint32_t count = 0;

    pass_name(s, &g->function);
    pass_count(s, &count, 4 * sizeof(uint32_t));
    for (uint32_t i = 0; i < count && !s->status; i++)
        read_origin(s, g);
    pass_count(s, &count, 4 * sizeof(uint32_t));
    for (uint32_t i = 0; i < count && !s->status; i++)
        read_value(s, g);
    pass_count(s, &count, 8 * sizeof(uint32_t));
    for (uint32_t i = 0; i < count && !s->status; i++)
        read_op(s, g);
    read_ports(s, g, cc_graph_add_input);
    read_ports(s, g, cc_graph_add_output);
    if (s->at != s->size)
        fail(s, -EBADMSG);
}

/* The head is passed in both directions; the rest of a graph is only read while writing. */
static void pass_version(struct stream *s)
{
    char magic[sizeof(MAGIC)];
    uint32_t version = CC_GRAPH_FILE_VERSION;

    memcpy(magic, MAGIC, sizeof(magic));
    pass_bytes(s, magic, sizeof(magic));
    pass_any(s, &version, 1);
    if (!s->status && (memcmp(magic, MAGIC, sizeof(magic)) != 0 || version != CC_GRAPH_FILE_VERSION))
        fail(s, -EBADMSG);
}

static void write_numbers(struct stream *s, const uint32_t *list, uint32_t count)
{
    uint32_t number = count;

    pass_any(s, &number, 1);
    for (uint32_t i = 0; i < count; i++) {
        number = list[i];
        pass_any(s, &number, 1);
    }
}

static void write_all(struct stream *s, const struct cc_graph *g)
{
    struct cc_graph head = *g;

    pass_version(s);
    pass_name(s, &head.function);
    pass_any(s, &head.origins, 1);
    for (uint32_t i = 0; i < g->origins; i++) {
        struct cc_origin o = g->origin[i];

        pass_name(s, &o.name);
        pass_name(s, &o.kind);
        pass_any(s, &o.line, 1);
        pass_any(s, &o.column, 1);
    }
    pass_any(s, &head.values, 1);
    for (uint32_t i = 0; i < g->values; i++)
        write_value(s, &g->value[i]);
    pass_any(s, &head.ops, 1);
    for (uint32_t i = 0; i < g->ops; i++) {
        struct cc_op op = g->op[i];

        pass_op(s, &op);
    }
    write_numbers(s, g->input, g->inputs);
    write_numbers(s, g->output, g->outputs);
}

int cc_graph_file_write(const struct cc_graph *graph, uint8_t **bytes, size_t *size, struct base_error *error)
{
    struct stream count = {.writing = true}, s = {.writing = true};

    write_all(&count, graph);
    if (count.status)
        return base_fail(error, -count.status, "A name of the graph has more than %u characters.",
                         CC_GRAPH_FILE_NAME);
    s.to = base_alloc(count.at);
    if (!s.to)
        return base_fail(error, ENOMEM, "There is no memory for the %zu bytes of a graph.", count.at);
    write_all(&s, graph);
    *bytes = s.to;
    *size = s.at;
    return 0;
}

int cc_graph_file_read(const uint8_t *bytes, size_t size, struct cc_graph **graph, struct base_error *error)
{
    struct stream s = {.from = bytes, .size = size};
    struct cc_graph *g = cc_graph_create();
    int status;

    *graph = NULL;
    if (!g)
        return base_fail(error, ENOMEM, "There is no memory for a graph.");
    pass_version(&s);
    if (s.status) {
        cc_graph_destroy(g);
        return base_fail(error, EBADMSG, "These %zu bytes are not a graph of version %u.", size,
                         CC_GRAPH_FILE_VERSION);
    }
    read_all(&s, g);
    status = s.status;
    if (status == -ENOMEM)
        base_fail(error, ENOMEM, "There is no memory for a graph of %zu bytes.", size);
    else if (status)
        status = base_fail(error, EBADMSG, "The graph is damaged at byte %zu of %zu.", s.at, size);
    else
        status = cc_graph_check(g, error);
    if (status)
        cc_graph_destroy(g);
    else
        *graph = g;
    return status;
}
