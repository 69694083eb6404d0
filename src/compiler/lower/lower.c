/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering: passes in order, and what the families share. */
#include "compiler/lower/lowering.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/half.h"

_Static_assert(CC_HASH_BYTES == crypto_hash_sha256_BYTES, "a blob is named by its SHA-256");

enum { ELEMENT_BYTES = 2 };

int cc_refuse(const struct cc_lowering *l, const char *format, ...)
{
    char text[320], where[48] = "";
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!l->op)
        return base_fail(l->error, EINVAL, "%s.", text);
    if (l->op->line)
        snprintf(where, sizeof(where), "Line %u, column %u: ", l->op->line, l->op->column);
    return base_fail(l->error, EINVAL, "%s%s `%.64s`: %s.", where, cc_op_name(l->op->kind), l->op->name,
                     text);
}

int cc_no_memory(const struct cc_lowering *l)
{
    return base_fail(l->error, ENOMEM, "There is no memory to compile a graph of %u operations.",
                     l->graph->ops);
}

/* Room for `more` elements after `count`. */
static int grow(const struct cc_lowering *l, void **array, uint32_t *capacity, uint64_t count, uint64_t more,
                size_t size)
{
    uint64_t wanted = *capacity ? *capacity : 16;
    void *larger;

    if (count + more <= *capacity)
        return 0;
    while (wanted < count + more)
        wanted *= 2;
    larger = wanted > UINT32_MAX ? NULL : base_realloc(*array, wanted * size);
    if (!larger)
        return cc_no_memory(l);
    *array = larger;
    *capacity = (uint32_t)wanted;
    return 0;
}

void cc_note(struct cc_lowering *l, const char *format, ...)
{
    char text[256];
    size_t length;
    char *longer;
    va_list args;

    if (!l->reports)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    length = strlen(text);
    if (l->report_length + length + 1 > l->report_capacity) {
        l->report_capacity = 2 * l->report_capacity + length + 256;
        longer = base_realloc(l->program->report, l->report_capacity);
        if (!longer) {
            l->reports = false;
            return;
        }
        l->program->report = longer;
    }
    memcpy(l->program->report + l->report_length, text, length + 1);
    l->report_length += length;
}

const struct cc_value *cc_value_of(const struct cc_lowering *l, uint32_t value)
{
    return &l->graph->value[value];
}

uint32_t cc_root(const struct cc_lowering *l, uint32_t value)
{
    while (l->home[value].root != value)
        value = l->home[value].root;
    return value;
}

const struct cc_op *cc_maker(const struct cc_lowering *l, uint32_t value)
{
    uint32_t maker = l->home[value].maker;

    return maker ? &l->graph->op[maker - 1] : NULL;
}

int cc_layout_of(const struct cc_lowering *l, uint32_t value, struct cc_layout *layout)
{
    const struct cc_value *v = cc_value_of(l, value);
    uint32_t extent[4] = {1, 1, 1, 1};
    uint64_t bytes;

    *layout = (struct cc_layout){0};
    if (v->rank > 4)
        return cc_refuse(l, "`%.64s` has rank %u; the engine's tensors have at most 4 axes here (N, C, H, W)",
                         v->name, v->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        extent[4 - v->rank + i] = v->dim[i];
    layout->n = extent[0];
    layout->c = extent[1];
    layout->h = extent[2];
    layout->w = extent[3];
    bytes = pr_round_up((uint64_t)layout->w * ELEMENT_BYTES, PR_ROW_ALIGN);
    for (int i = 3; i >= 0 && bytes <= PR_E5_BYTES_MAX; i--) {
        if (i == 3)
            layout->row = (uint32_t)bytes;
        else
            bytes *= extent[i];
        if (i == 2)
            layout->plane = (uint32_t)bytes;
        if (i == 1)
            layout->batch = (uint32_t)bytes;
    }
    if (bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "`%.64s` has more than %u bytes with its rows on 64-byte boundaries", v->name,
                         PR_E5_BYTES_MAX);
    layout->bytes = (uint32_t)bytes;
    return 0;
}

static void take_strides(struct pr_e5_operand *operand, const struct cc_layout *layout)
{
    operand->row = layout->row;
    operand->plane = layout->plane;
    operand->depth = layout->batch;
    operand->group = layout->batch;
}

int cc_constant(struct cc_lowering *l, const void *bytes, uint32_t size, uint32_t *offset)
{
    struct cc_program *p = l->program;
    struct cc_blob blob = {.offset = p->constant_bytes, .bytes = size};
    void *array;
    int status;

    crypto_hash_sha256(blob.hash, bytes, size);
    for (uint32_t i = 0; i < p->blobs; i++)
        if (p->blob[i].bytes == blob.bytes && !memcmp(p->blob[i].hash, blob.hash, CC_HASH_BYTES)) {
            *offset = p->blob[i].offset;
            return 0;
        }
    if ((uint64_t)p->constant_bytes + blob.bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "the program's constants are more than %u bytes", PR_E5_BYTES_MAX);
    array = p->constant;
    status = grow(l, &array, &p->constant_capacity, p->constant_bytes, blob.bytes, 1);
    p->constant = array;
    if (status)
        return status;
    array = p->blob;
    status = grow(l, &array, &p->blob_capacity, p->blobs, 1, sizeof(*p->blob));
    p->blob = array;
    if (status)
        return status;
    memcpy(p->constant + p->constant_bytes, bytes, size);
    p->constant_bytes += size;
    p->blob[p->blobs++] = blob;
    *offset = blob.offset;
    return 0;
}

/* A constant tensor with its rows on 64-byte boundaries. */
static int place_constant(struct cc_lowering *l, struct cc_home *home, const struct cc_layout *layout)
{
    uint8_t *bytes = base_alloc(layout->bytes);
    uint32_t rows = layout->bytes / layout->row, offset = 0;
    int status;

    if (!bytes)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(bytes + (size_t)i * layout->row, home->data + (size_t)i * layout->w,
               (size_t)layout->w * ELEMENT_BYTES);
    status = cc_constant(l, bytes, layout->bytes, &offset);
    base_free(bytes);
    home->at = (struct pr_e5_operand){.place = PR_E5_CONSTANT, .offset = offset};
    home->placed = !status;
    return status;
}

int cc_source(struct cc_lowering *l, uint32_t value, struct pr_e5_operand *operand, struct cc_layout *layout)
{
    struct cc_home *home = &l->home[cc_root(l, value)];
    int status = cc_layout_of(l, value, layout);

    if (!status && !home->placed && home->data)
        status = place_constant(l, home, layout);
    if (status)
        return status;
    *operand = home->at;
    take_strides(operand, layout);
    return 0;
}

int cc_scratch(struct cc_lowering *l, uint64_t bytes, uint32_t *buffer)
{
    void *array = l->buffer;
    int status;

    if (bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "an intermediate tensor has more than %u bytes", PR_E5_BYTES_MAX);
    status = grow(l, &array, &l->buffer_capacity, l->buffers, 1, sizeof(*l->buffer));
    l->buffer = array;
    if (status)
        return status;
    l->buffer[l->buffers] = (struct cc_buffer){.bytes = (uint32_t)pr_round_up(bytes, PR_ROW_ALIGN)};
    *buffer = l->buffers++;
    return 0;
}

int cc_result(struct cc_lowering *l, struct pr_e5_operand *operand, struct cc_layout *layout)
{
    uint32_t value = cc_root(l, l->step[l->op - l->graph->op].output);
    struct cc_home *home = &l->home[value];
    int status = cc_layout_of(l, value, layout);

    if (!status && !home->placed) {
        home->at = (struct pr_e5_operand){.place = PR_E5_INTERMEDIATE};
        status = cc_scratch(l, layout->bytes, &home->at.index);
        home->placed = !status;
    }
    *operand = home->at;
    take_strides(operand, layout);
    return status;
}

struct pr_e5_record cc_record(enum pr_e5_kind kind)
{
    return (struct pr_e5_record){.kind = kind,
                                 .scale = PR_HALF_ONE,
                                 .pre_scale = PR_HALF_ONE,
                                 .post_scale = PR_HALF_ONE,
                                 .final_scale = cc_float_bits(1)};
}

int cc_emit(struct cc_lowering *l, const struct pr_e5_record *record)
{
    static const char *const axis[4] = {"width", "height", "channels", "batch"};
    static const uint32_t limit[4] = {PR_WIDTH_MAX, PR_HEIGHT_MAX, PR_CHANNELS_MAX, PR_GROUPS_MAX};
    struct cc_program *p = l->program;
    void *array = p->record;
    int status;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t most = record->in[i] > record->out[i] ? record->in[i] : record->out[i];

        if (most > limit[i])
            return cc_refuse(l,
                             "a descriptor would have %u on the axis of its %s; the engine takes at most %u",
                             most, axis[i], limit[i]);
    }
    if (p->records == PR_E5_RECORDS_MAX)
        return cc_refuse(l, "the program needs more than %u descriptors", PR_E5_RECORDS_MAX);
    status = grow(l, &array, &p->record_capacity, p->records, 1, sizeof(*p->record));
    p->record = array;
    if (!status)
        p->record[p->records++] = *record;
    return status;
}

int cc_emit_copy(struct cc_lowering *l, uint32_t value, const struct pr_e5_operand *to)
{
    struct cc_pass pass = {.relu = l->relu};
    struct cc_layout layout;
    struct pr_e5_operand at;
    struct cc_view from, dst;
    int status = cc_source(l, value, &at, &layout);

    if (status)
        return status;
    from = cc_view_of(&at, &layout);
    dst = cc_view_of(to, &layout);
    return cc_move(l, &from, &dst, &pass);
}

int cc_lower_relu(struct cc_lowering *l)
{
    struct pr_e5_operand to;
    struct cc_layout layout;
    int status = cc_result(l, &to, &layout);

    l->relu = true;
    return status ? status : cc_emit_copy(l, l->op->input[0], &to);
}

/* Ports. */

static int add_port(struct cc_lowering *l, uint32_t value, enum pr_hwx_direction direction)
{
    const struct cc_value *v = cc_value_of(l, value);
    struct pr_e5_port *port = &l->program->port[l->program->ports];
    struct cc_layout layout;
    int status;

    l->op = NULL;
    if (l->program->ports == PR_E5_PORTS_MAX)
        return cc_refuse(l, "The function has more than %u inputs and outputs", PR_E5_PORTS_MAX);
    l->op = cc_maker(l, value);
    if (v->type != CC_FP16 && v->type != CC_FP32)
        return cc_refuse(l, "`%.64s` is %s; inputs and outputs are fp16 or fp32", v->name,
                         cc_type_name(v->type));
    if (!v->name[0] || strlen(v->name) >= sizeof(port->name))
        return cc_refuse(l, "`%.64s`: the name of an input or output has 1 to %u characters", v->name,
                         PR_E5_NAME_BYTES - 1);
    for (uint32_t i = 0; i < l->program->ports; i++)
        if (l->program->port[i].direction == direction && strcmp(l->program->port[i].name, v->name) == 0)
            return cc_refuse(l, "`%.64s` is %s twice", v->name,
                             direction == PR_HWX_INPUT ? "an input" : "an output");
    status = cc_layout_of(l, value, &layout);
    if (status)
        return status;
    *port = (struct pr_e5_port){.direction = direction,
                                .type = v->type,
                                .rank = v->rank,
                                .n = layout.n,
                                .c = layout.c,
                                .h = layout.h,
                                .w = layout.w,
                                .bytes = layout.bytes,
                                .plane = layout.plane,
                                .row = layout.row};
    memcpy(port->name, v->name, strlen(v->name) + 1);
    memcpy(port->dim, v->dim, v->rank * sizeof(v->dim[0]));
    l->program->ports++;
    return 0;
}

static int place_ports(struct cc_lowering *l)
{
    const struct cc_graph *g = l->graph;
    int status = 0;

    for (uint32_t i = 0; i < g->inputs && !status; i++) {
        l->home[g->input[i]].at = (struct pr_e5_operand){.place = PR_E5_PORT, .index = i};
        l->home[g->input[i]].placed = true;
        status = add_port(l, g->input[i], PR_HWX_INPUT);
    }
    for (uint32_t i = 0; i < g->outputs && !status; i++) {
        struct cc_home *home = &l->home[cc_root(l, g->output[i])];

        status = add_port(l, g->output[i], PR_HWX_OUTPUT);
        if (home->placed || home->data)
            continue; /* an input, a constant or an earlier output: copied at the end */
        home->at = (struct pr_e5_operand){.place = PR_E5_PORT, .index = g->inputs + i};
        home->placed = true;
    }
    return status;
}

static int copy_outputs(struct cc_lowering *l)
{
    const struct cc_graph *g = l->graph;
    int status = 0;

    l->op = NULL;
    l->relu = false;
    for (uint32_t i = 0; i < g->outputs && !status; i++) {
        const struct cc_home *home = &l->home[cc_root(l, g->output[i])];
        struct pr_e5_operand to = {.place = PR_E5_PORT, .index = g->inputs + i};
        struct cc_layout layout;

        if (home->at.place == PR_E5_PORT && home->at.index == to.index)
            continue;
        status = cc_layout_of(l, g->output[i], &layout);
        take_strides(&to, &layout);
        if (!status)
            status = cc_emit_copy(l, g->output[i], &to);
        cc_note(l, "%s: output, copied\n", cc_value_of(l, g->output[i])->name);
    }
    return status;
}

static int lower_op(struct cc_lowering *l)
{
    switch (l->op->kind) {
    case CC_OP_ADD:
    case CC_OP_SUB:
    case CC_OP_MUL:
    case CC_OP_MAXIMUM:
    case CC_OP_MINIMUM: return cc_lower_elementwise(l);
    case CC_OP_REAL_DIV:
    case CC_OP_FLOOR_DIV: return cc_lower_divide(l);
    case CC_OP_POW: return cc_lower_power(l);
    case CC_OP_RELU: return cc_lower_relu(l);
    case CC_OP_CONV: return cc_lower_conv(l);
    case CC_OP_MAX_POOL:
    case CC_OP_AVG_POOL: return cc_lower_pool(l);
    case CC_OP_LINEAR: return cc_lower_linear(l);
    case CC_OP_MATMUL: return cc_lower_matmul(l);
    case CC_OP_SOFTMAX: return cc_lower_softmax(l);
    case CC_OP_LAYER_NORM:
    case CC_OP_INSTANCE_NORM: return cc_lower_norm(l);
    case CC_OP_BATCH_NORM: return cc_lower_batch_norm(l);
    case CC_OP_SELECT: return cc_lower_logic(l);
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_COMPARE(X)
        CC_OPS_LOGICAL(X)
        return cc_lower_logic(l);
        CC_OPS_REDUCE(X)
        return cc_lower_reduce(l);
        CC_OPS_LAYOUT(X)
        return cc_lower_layout(l);
#undef X
    case CC_OP_INPUT:
    case CC_OP_CONST:
    case CC_OP_CAST:
    case CC_OP_COUNT: return cc_refuse(l, "this operation has no form on the engine");
    default: return cc_lower_unary(l);
    }
}

static int lower_ops(struct cc_lowering *l)
{
    for (uint32_t i = 0; i < l->graph->ops; i++) {
        uint32_t before = l->program->records;
        int status;

        l->op = &l->graph->op[i];
        if (!l->step[i].live || l->step[i].skip)
            continue;
        l->relu = l->step[i].relu;
        l->activation = l->step[i].activation;
        status = lower_op(l);
        if (status)
            return status;
        l->program->operations++;
        cc_note(l, "%s: %s%s%s -> %u descriptor%s\n", l->op->name, cc_op_name(l->op->kind),
                l->activation || l->relu ? " + " : "",
                l->activation ? cc_op_name(l->activation->kind)
                : l->relu     ? "relu"
                              : "",
                l->program->records - before, l->program->records - before == 1 ? "" : "s");
    }
    return copy_outputs(l);
}

static int run(struct cc_lowering *l)
{
    const char *name = l->graph->function ? l->graph->function : "main";
    int status;

    if (strlen(name) >= sizeof(l->program->function))
        return cc_refuse(l, "The function's name has more than %u characters", PR_E5_NAME_BYTES - 1);
    memcpy(l->program->function, name, strlen(name) + 1);
    status = cc_pass_casts(l);
    if (!status)
        status = cc_pass_live(l);
    if (!status)
        status = cc_pass_fuse(l);
    l->op = NULL;
    if (!status)
        status = place_ports(l);
    if (!status)
        status = lower_ops(l);
    l->op = NULL;
    return status ? status : cc_pass_plan(l);
}

int cc_lower(const struct cc_graph *graph, bool report, struct cc_program **program, struct base_error *error)
{
    struct cc_lowering l = {.graph = graph, .reports = report, .error = error};
    int status;

    l.home = base_alloc_array(graph->values ? graph->values : 1, sizeof(*l.home));
    l.step = base_alloc_array(graph->ops ? graph->ops : 1, sizeof(*l.step));
    l.program = base_alloc(sizeof(*l.program));
    if (!l.home || !l.step || !l.program)
        status = cc_no_memory(&l);
    else
        status = run(&l);
    for (uint32_t i = 0; l.home && i < graph->values; i++)
        base_free(l.home[i].owned);
    base_free(l.home);
    base_free(l.step);
    base_free(l.buffer);
    if (status) {
        cc_program_destroy(l.program);
        l.program = NULL;
    }
    *program = l.program;
    return status;
}

void cc_program_destroy(struct cc_program *program)
{
    if (!program)
        return;
    base_free(program->record);
    base_free(program->constant);
    base_free(program->blob);
    base_free(program->report);
    base_free(program);
}
