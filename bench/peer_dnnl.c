/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation is one primitive, or two for the tiny graph: the convolution with its relu, and the mean. Each
 * memory object of a primitive is allocated with the descriptor that the primitive chose; what it was
 * filled from is reordered once, outside the timing.
 */
#include "peer.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define STEPS_MAX 2u
#define ARGS_MAX  5u

struct step {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[ARGS_MAX];
    int args;
};

struct bench_peer {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct step step[STEPS_MAX];
    unsigned steps;
    enum bench_form form;
    dnnl_memory_t result; /* of the last step, which the step frees */
};

static bool fine(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        fprintf(stderr, "bench: oneDNN: %s: status %d\n", what, (int)status);
    return status == dnnl_success;
}

const char *bench_peer_name(void)
{
    static char name[48];
    const dnnl_version_t *version = dnnl_version();

    snprintf(name, sizeof(name), "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return name;
}

static void describe(dnnl_memory_desc_t *md, const uint32_t dim[4], bool any)
{
    const dnnl_dims_t dims = {dim[0], dim[1], dim[2], dim[3]};

    dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, any ? dnnl_format_tag_any : dnnl_nchw);
}

static void describe_matrix(dnnl_memory_desc_t *md, uint32_t rows, uint32_t columns, bool any)
{
    const dnnl_dims_t dims = {rows, columns};

    dnnl_memory_desc_init_by_tag(md, 2, dims, dnnl_f32, any ? dnnl_format_tag_any : dnnl_ab);
}

/* OIHW, or GOIHW with groups. */
static void describe_weights(dnnl_memory_desc_t *md, const struct bench_operation *o, bool any)
{
    const dnnl_dims_t plain = {o->outputs, o->in[1], o->kernel, o->kernel};
    const dnnl_dims_t grouped = {o->groups, o->outputs / o->groups, o->in[1] / o->groups, o->kernel,
                                 o->kernel};

    if (o->groups == 1)
        dnnl_memory_desc_init_by_tag(md, 4, plain, dnnl_f32, any ? dnnl_format_tag_any : dnnl_oihw);
    else
        dnnl_memory_desc_init_by_tag(md, 5, grouped, dnnl_f32, any ? dnnl_format_tag_any : dnnl_goihw);
}

static dnnl_memory_t allocate(struct bench_peer *peer, const dnnl_memory_desc_t *md)
{
    dnnl_memory_t memory = NULL;

    fine(dnnl_memory_create(&memory, md, peer->engine, DNNL_MEMORY_ALLOCATE), "memory");
    return memory;
}

static bool reorder(struct bench_peer *peer, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *from_md, *to_md;
    const dnnl_exec_arg_t arg[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    bool good =
        fine(dnnl_memory_get_memory_desc(from, &from_md), "descriptor") &&
        fine(dnnl_memory_get_memory_desc(to, &to_md), "descriptor") &&
        fine(dnnl_reorder_primitive_desc_create(&desc, from_md, peer->engine, to_md, peer->engine, NULL),
             "reorder") &&
        fine(dnnl_primitive_create(&primitive, desc), "reorder") &&
        fine(dnnl_primitive_execute(primitive, peer->stream, 2, arg), "reorder") &&
        fine(dnnl_stream_wait(peer->stream), "reorder");

    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(desc);
    return good;
}

/* A memory object of `md` with the values of operand `which`, in the order of `plain`. */
static dnnl_memory_t filled(struct bench_peer *peer, const struct bench_operation *o,
                            const dnnl_memory_desc_t *md, const dnnl_memory_desc_t *plain, unsigned which)
{
    dnnl_memory_t memory = allocate(peer, md), source = allocate(peer, plain);
    const uint64_t count = dnnl_memory_desc_get_size(plain) / sizeof(float);
    void *data = NULL;

    if (memory && source && fine(dnnl_memory_get_data_handle(source, &data), "data")) {
        for (uint64_t i = 0; i < count; i++)
            ((float *)data)[i] = which == 2 ? bench_weight(o, i) : bench_value(i, which);
        reorder(peer, source, memory);
    }
    dnnl_memory_destroy(source);
    return memory;
}

static bool add_arg(struct step *step, int name, dnnl_memory_t memory)
{
    step->arg[step->args++] = (dnnl_exec_arg_t){name, memory};
    return memory != NULL;
}

static struct step *add_step(struct bench_peer *peer, const void *op_desc, const dnnl_primitive_attr_t attr)
{
    struct step *step = &peer->step[peer->steps++];

    return fine(dnnl_primitive_desc_create(&step->desc, op_desc, attr, peer->engine, NULL), "primitive") &&
                   fine(dnnl_primitive_create(&step->primitive, step->desc), "primitive")
               ? step
               : NULL;
}

static const dnnl_memory_desc_t *chosen(const struct step *step, dnnl_query_t query)
{
    return dnnl_primitive_desc_query_md(step->desc, query, 0);
}

static bool add_output(struct bench_peer *peer, struct step *step)
{
    peer->result = allocate(peer, chosen(step, dnnl_query_dst_md));
    return add_arg(step, DNNL_ARG_DST, peer->result);
}

static dnnl_primitive_attr_t relu_attr(void)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t after = NULL;

    if (dnnl_primitive_attr_create(&attr) || dnnl_post_ops_create(&after) ||
        dnnl_post_ops_append_eltwise(after, 1.0f, dnnl_eltwise_relu, 0, 0) ||
        dnnl_primitive_attr_set_post_ops(attr, after))
        fine(dnnl_runtime_error, "relu");
    dnnl_post_ops_destroy(after);
    return attr;
}

static bool make_conv(struct bench_peer *peer, const struct bench_operation *o)
{
    const dnnl_dims_t stride = {o->stride, o->stride}, pad = {o->kernel / 2, o->kernel / 2};
    const bool any = peer->form == BENCH_CHOSEN, tiny = o->kind == BENCH_TINY;
    const uint32_t image[4] = {1, o->outputs, o->in[2], o->in[3]};
    dnnl_memory_desc_t src, weights, dst, src_plain, weights_plain;
    dnnl_primitive_attr_t attr = tiny ? relu_attr() : NULL;
    dnnl_convolution_desc_t desc;
    struct step *step;
    uint32_t out[4];

    bench_operation_out(o, out);
    describe(&src, o->in, any);
    describe(&src_plain, o->in, false);
    describe(&dst, tiny ? image : out, any);
    describe_weights(&weights, o, true);
    describe_weights(&weights_plain, o, false);
    step = fine(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_auto, &src,
                                                   &weights, NULL, &dst, stride, pad, pad),
                "convolution")
               ? add_step(peer, &desc, attr)
               : NULL;
    dnnl_primitive_attr_destroy(attr);
    return step &&
           add_arg(step, DNNL_ARG_SRC, filled(peer, o, chosen(step, dnnl_query_src_md), &src_plain, 0)) &&
           add_arg(step, DNNL_ARG_WEIGHTS,
                   filled(peer, o, chosen(step, dnnl_query_weights_md), &weights_plain, 2)) &&
           add_output(peer, step);
}

static bool make_linear(struct bench_peer *peer, const struct bench_operation *o)
{
    const bool any = peer->form == BENCH_CHOSEN;
    dnnl_memory_desc_t src, weights, dst, src_plain, weights_plain;
    dnnl_inner_product_desc_t desc;
    struct step *step;

    describe_matrix(&src, o->in[2], o->in[3], any);
    describe_matrix(&src_plain, o->in[2], o->in[3], false);
    describe_matrix(&weights, o->outputs, o->in[3], true);
    describe_matrix(&weights_plain, o->outputs, o->in[3], false);
    describe_matrix(&dst, o->in[2], o->outputs, any);
    step =
        fine(dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &src, &weights, NULL, &dst),
             "inner product")
            ? add_step(peer, &desc, NULL)
            : NULL;
    return step &&
           add_arg(step, DNNL_ARG_SRC, filled(peer, o, chosen(step, dnnl_query_src_md), &src_plain, 0)) &&
           add_arg(step, DNNL_ARG_WEIGHTS,
                   filled(peer, o, chosen(step, dnnl_query_weights_md), &weights_plain, 2)) &&
           add_output(peer, step);
}

/* The mean over the image, from the result of the step before. */
static bool add_mean(struct bench_peer *peer, const struct bench_operation *o)
{
    const dnnl_dims_t size = {o->in[2], o->in[3]}, pad = {0, 0};
    dnnl_memory_t image = peer->result;
    const dnnl_memory_desc_t *src;
    dnnl_memory_desc_t dst;
    dnnl_pooling_desc_t desc;
    struct step *step;
    uint32_t out[4];

    bench_operation_out(o, out);
    describe(&dst, out, peer->form == BENCH_CHOSEN);
    if (!fine(dnnl_memory_get_memory_desc(image, &src), "descriptor") ||
        !fine(dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, dnnl_pooling_avg_exclude_padding,
                                             src, &dst, size, size, pad, pad),
              "mean"))
        return false;
    step = add_step(peer, &desc, NULL);
    return step && add_arg(step, DNNL_ARG_SRC, image) && add_output(peer, step);
}

static bool make_max_pool(struct bench_peer *peer, const struct bench_operation *o)
{
    const dnnl_dims_t size = {o->kernel, o->kernel}, stride = {o->stride, o->stride},
                      pad = {o->kernel / 2, o->kernel / 2};
    /* Stored in that form: a pool does not choose one for its source. */
    const dnnl_dims_t dims = {o->in[0], o->in[1], o->in[2], o->in[3]};
    dnnl_memory_desc_t src, dst, plain;
    dnnl_pooling_desc_t desc;
    struct step *step;
    uint32_t out[4];

    bench_operation_out(o, out);
    describe(&plain, o->in, false);
    dnnl_memory_desc_init_by_tag(&src, 4, dims, dnnl_f32,
                                 peer->form == BENCH_CHOSEN ? dnnl_nChw16c : dnnl_nchw);
    describe(&dst, out, true);
    if (!fine(dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, dnnl_pooling_max, &src, &dst,
                                             stride, size, pad, pad),
              "pool"))
        return false;
    step = add_step(peer, &desc, NULL);
    return step && add_arg(step, DNNL_ARG_SRC, filled(peer, o, &src, &plain, 0)) && add_output(peer, step);
}

/* Operations of one input whose output has its shape. */
static bool make_same(struct bench_peer *peer, const struct bench_operation *o)
{
    dnnl_softmax_desc_t softmax;
    dnnl_eltwise_desc_t sigmoid;
    dnnl_layer_normalization_desc_t norm;
    dnnl_memory_desc_t md;
    const void *desc = NULL;
    struct step *step;

    describe(&md, o->in, false);
    if (o->kind == BENCH_SOFTMAX &&
        fine(dnnl_softmax_forward_desc_init(&softmax, dnnl_forward_inference, &md, 3), "softmax"))
        desc = &softmax;
    if (o->kind == BENCH_SIGMOID && fine(dnnl_eltwise_forward_desc_init(&sigmoid, dnnl_forward_inference,
                                                                        dnnl_eltwise_logistic, &md, 0, 0),
                                         "sigmoid"))
        desc = &sigmoid;
    if (o->kind == BENCH_LAYER_NORM && fine(dnnl_layer_normalization_forward_desc_init(
                                                &norm, dnnl_forward_inference, &md, NULL, 0x1p-10f, 0),
                                            "layer norm"))
        desc = &norm;
    step = desc ? add_step(peer, desc, NULL) : NULL;
    return step && add_arg(step, DNNL_ARG_SRC, filled(peer, o, &md, &md, 0)) && add_output(peer, step);
}

static bool make_add(struct bench_peer *peer, const struct bench_operation *o)
{
    dnnl_memory_desc_t md;
    dnnl_binary_desc_t desc;
    struct step *step;

    describe(&md, o->in, false);
    step = fine(dnnl_binary_desc_init(&desc, dnnl_binary_add, &md, &md, &md), "add")
               ? add_step(peer, &desc, NULL)
               : NULL;
    return step && add_arg(step, DNNL_ARG_SRC_0, filled(peer, o, &md, &md, 0)) &&
           add_arg(step, DNNL_ARG_SRC_1, filled(peer, o, &md, &md, 1)) && add_output(peer, step);
}

/* A reorder to a tensor of the input's shape whose strides are those of the transposed one. */
static bool make_transpose(struct bench_peer *peer, const struct bench_operation *o)
{
    const dnnl_dims_t dims = {o->in[0], o->in[1], o->in[2], o->in[3]};
    struct step *step = &peer->step[peer->steps++];
    dnnl_memory_desc_t from, to;

    describe(&from, o->in, false);
    dnnl_memory_desc_init_by_tag(&to, 4, dims, dnnl_f32,
                                 o->kind == BENCH_CHANNELS_LAST ? dnnl_nhwc : dnnl_abdc);
    peer->result = allocate(peer, &to);
    return fine(dnnl_reorder_primitive_desc_create(&step->desc, &from, peer->engine, &to, peer->engine, NULL),
                "transpose") &&
           fine(dnnl_primitive_create(&step->primitive, step->desc), "transpose") &&
           add_arg(step, DNNL_ARG_FROM, filled(peer, o, &from, &from, 0)) &&
           add_arg(step, DNNL_ARG_TO, peer->result);
}

static bool make(struct bench_peer *peer, const struct bench_operation *o)
{
    switch (o->kind) {
    case BENCH_TINY: return make_conv(peer, o) && add_mean(peer, o);
    case BENCH_CONV: return make_conv(peer, o);
    case BENCH_LINEAR: return make_linear(peer, o);
    case BENCH_SIGMOID:
    case BENCH_SOFTMAX:
    case BENCH_LAYER_NORM: return make_same(peer, o);
    case BENCH_MAX_POOL: return make_max_pool(peer, o);
    case BENCH_ADD: return make_add(peer, o);
    case BENCH_CHANNELS_LAST:
    case BENCH_SWAP_LAST: return make_transpose(peer, o);
    }
    return false;
}

/* Where the form of activations is given by the operation, the two are the same. */
static bool has_form(const struct bench_operation *o, enum bench_form form)
{
    return form == BENCH_PLAIN || o->kind == BENCH_CONV || o->kind == BENCH_TINY || o->kind == BENCH_LINEAR ||
           o->kind == BENCH_MAX_POOL;
}

struct bench_peer *bench_peer_make(const struct bench_operation *o, enum bench_form form)
{
    struct bench_peer *peer = has_form(o, form) ? base_alloc(sizeof(*peer)) : NULL;

    if (!peer)
        return NULL;
    *peer = (struct bench_peer){.form = form};
    if (fine(dnnl_engine_create(&peer->engine, dnnl_cpu, 0), "engine") &&
        fine(dnnl_stream_create(&peer->stream, peer->engine, dnnl_stream_default_flags), "stream") &&
        make(peer, o))
        return peer;
    bench_peer_free(peer);
    return NULL;
}

bool bench_peer_run(struct bench_peer *peer)
{
    for (unsigned i = 0; i < peer->steps; i++)
        if (dnnl_primitive_execute(peer->step[i].primitive, peer->stream, peer->step[i].args,
                                   peer->step[i].arg) != dnnl_success)
            return false;
    return dnnl_stream_wait(peer->stream) == dnnl_success;
}

const float *bench_peer_result(const struct bench_peer *peer)
{
    void *data = NULL;

    return dnnl_memory_get_data_handle(peer->result, &data) == dnnl_success ? data : NULL;
}

/* The first argument of a second step is the result of the first, which has freed it. */
void bench_peer_free(struct bench_peer *peer)
{
    if (!peer)
        return;
    for (unsigned i = 0; i < peer->steps; i++) {
        struct step *step = &peer->step[i];

        for (int j = i ? 1 : 0; j < step->args; j++)
            dnnl_memory_destroy(step->arg[j].memory);
        dnnl_primitive_destroy(step->primitive);
        dnnl_primitive_desc_destroy(step->desc);
    }
    dnnl_stream_destroy(peer->stream);
    dnnl_engine_destroy(peer->engine);
    base_free(peer);
}
