/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs for tests. */
#include "graphrig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "listing/check.h"
#include "compiler/store/bundle.h"
#include "program/chain.h"

void gr_open(struct gr *g, uint64_t stream, enum gr_numbers numbers)
{
    *g = (struct gr){.graph = cc_graph_create(), .numbers = numbers, .most = 4, .slack = 1};
    assert_non_null(g->graph);
    test_rng_init(&g->rng, stream);
}

void gr_close(struct gr *g)
{
    cc_graph_destroy(g->graph);
}

static uint16_t number(struct gr *g)
{
    uint16_t real;

    if (g->numbers == GR_WHOLE)
        return test_half_from_double((double)test_rng_range(&g->rng, g->positive ? 1 : -g->most, g->most));
    real = test_rng_fp16_finite(&g->rng, 1);
    return g->positive ? test_half_from_double(fabs(test_half_to_double(real)) + 0.25) : real;
}

static uint32_t value(struct gr *g, const char *name, enum cc_type type, struct gr_shape shape)
{
    char own[16];
    int v;

    snprintf(own, sizeof(own), "v%u", g->names++);
    v = cc_graph_add_value(g->graph, name ? name : own, type, shape.rank, shape.dim);
    assert_true(v >= 0);
    return (uint32_t)v;
}

static struct cc_value *at(struct gr *g, uint32_t v)
{
    return &g->graph->value[v];
}

uint32_t gr_input(struct gr *g, const char *name, enum cc_type type, struct gr_shape shape)
{
    uint32_t v = value(g, name, type, shape);

    assert_int_equal(cc_graph_add_input(g->graph, v), 0);
    return v;
}

uint32_t gr_const(struct gr *g, struct gr_shape shape)
{
    uint32_t v = value(g, NULL, CC_FP16, shape);
    uint16_t *halfs = base_alloc(at(g, v)->bytes);

    assert_non_null(halfs);
    for (size_t i = 0; i < cc_value_elements(at(g, v)); i++)
        halfs[i] = number(g);
    at(g, v)->data = halfs;
    return v;
}

uint32_t gr_scalar(struct gr *g, double scalar)
{
    uint32_t v = gr_const(g, (struct gr_shape){0});

    *(uint16_t *)at(g, v)->data = test_half_from_double(scalar);
    return v;
}

uint32_t gr_op(struct gr *g, enum cc_op_kind kind, uint32_t inputs, const uint32_t *input,
               struct gr_shape out, const struct cc_attributes *a)
{
    uint32_t v = value(g, NULL,
                       cc_op_gives_bool(kind) ? CC_BOOL
                       : kind == CC_OP_CAST   ? CC_FP32
                                              : CC_FP16,
                       out);
    char name[32];
    int o;

    snprintf(name, sizeof(name), "%s_%u", cc_op_name(kind), v);
    o = cc_graph_add_op(g->graph, kind, name, v + 1);
    assert_true(o >= 0 && inputs <= CC_INPUTS_MAX);
    g->graph->op[o].inputs = inputs;
    memcpy(g->graph->op[o].input, input, inputs * sizeof(*input));
    g->graph->op[o].output = v;
    if (a)
        g->graph->op[o].a = *a;
    return v;
}

static struct cc_op *op(struct gr *g, enum cc_op_kind kind, uint32_t inputs, uint32_t a, uint32_t b,
                        struct gr_shape out)
{
    gr_op(g, kind, inputs, (const uint32_t[]){a, b}, out, NULL);
    return &g->graph->op[g->graph->ops - 1];
}

static struct gr_shape shape_of(struct gr *g, uint32_t v)
{
    struct gr_shape s = {.rank = at(g, v)->rank};

    memcpy(s.dim, at(g, v)->dim, sizeof(s.dim));
    return s;
}

/* Axes from the end; the last `fixed` are left at 1. */
static struct gr_shape broadcast(struct gr_shape a, struct gr_shape b, uint32_t fixed)
{
    struct gr_shape out = {.rank = a.rank > b.rank ? a.rank : b.rank};

    for (uint32_t i = 1; i <= out.rank; i++) {
        uint32_t x = i <= a.rank ? a.dim[a.rank - i] : 1, y = i <= b.rank ? b.dim[b.rank - i] : 1;

        out.dim[out.rank - i] = i <= fixed ? 1 : x > y ? x : y;
    }
    return out;
}

uint32_t gr_binary(struct gr *g, enum cc_op_kind kind, uint32_t a, uint32_t b)
{
    return op(g, kind, 2, a, b, broadcast(shape_of(g, a), shape_of(g, b), 0))->output;
}

uint32_t gr_relu(struct gr *g, uint32_t x)
{
    return op(g, CC_OP_RELU, 1, x, 0, shape_of(g, x))->output;
}

uint32_t gr_cast(struct gr *g, uint32_t x, enum cc_type to)
{
    struct cc_op *o = op(g, CC_OP_CAST, 1, x, 0, shape_of(g, x));
    struct cc_value *v = at(g, o->output);

    o->a.to = to;
    v->bytes = cc_value_elements(v) * cc_type_bytes(to);
    v->type = to;
    return o->output;
}

uint32_t gr_conv(struct gr *g, uint32_t x, uint32_t weight, uint32_t bias, const uint32_t pad[4])
{
    struct gr_shape in = shape_of(g, x), w = shape_of(g, weight);
    struct cc_op *o = op(g, CC_OP_CONV, 1, x, 0,
                         GR(in.dim[0], w.dim[0], in.dim[2] + pad[0] + pad[1] - w.dim[2] + 1,
                            in.dim[3] + pad[2] + pad[3] - w.dim[3] + 1));

    o->a.weight = weight + 1;
    o->a.bias = bias == GR_NONE ? 0 : bias + 1;
    o->a.stride[0] = o->a.stride[1] = o->a.dilation[0] = o->a.dilation[1] = o->a.groups = 1;
    memcpy(o->a.pad, pad, sizeof(o->a.pad));
    return o->output;
}

uint32_t gr_linear(struct gr *g, uint32_t x, uint32_t weight, uint32_t bias)
{
    struct gr_shape out = shape_of(g, x);
    struct cc_op *o;

    out.dim[out.rank - 1] = at(g, weight)->dim[0];
    o = op(g, CC_OP_LINEAR, 1, x, 0, out);
    o->a.weight = weight + 1;
    o->a.bias = bias == GR_NONE ? 0 : bias + 1;
    return o->output;
}

uint32_t gr_matmul(struct gr *g, uint32_t x, uint32_t y, bool transpose_x, bool transpose_y)
{
    struct gr_shape a = shape_of(g, x), b = shape_of(g, y), out = broadcast(a, b, 2);
    struct cc_op *o;

    out.dim[out.rank - 2] = a.dim[a.rank - (transpose_x ? 1 : 2)];
    out.dim[out.rank - 1] = b.dim[b.rank - (transpose_y ? 2 : 1)];
    o = op(g, CC_OP_MATMUL, 2, x, y, out);
    o->a.transpose_x = transpose_x;
    o->a.transpose_y = transpose_y;
    return o->output;
}

uint32_t gr_mean(struct gr *g, uint32_t x, uint32_t axes, bool keep)
{
    return gr_reduce(g, CC_OP_REDUCE_MEAN, x, axes, keep);
}

uint32_t gr_reduce(struct gr *g, enum cc_op_kind kind, uint32_t x, uint32_t axes, bool keep)
{
    struct gr_shape in = shape_of(g, x), out = {.rank = 0};
    struct cc_attributes a = {.axes = axes, .keep_dims = keep};

    for (uint32_t i = 0; i < in.rank; i++)
        if (!(axes >> i & 1))
            out.dim[out.rank++] = in.dim[i];
        else if (keep)
            out.dim[out.rank++] = 1;
    return gr_op(g, kind, 1, &x, out, &a);
}

uint32_t gr_unary(struct gr *g, enum cc_op_kind kind, uint32_t x, const struct cc_attributes *a)
{
    return gr_op(g, kind, 1, &x, shape_of(g, x), a);
}

uint32_t gr_select(struct gr *g, uint32_t cond, uint32_t a, uint32_t b)
{
    struct gr_shape out = broadcast(broadcast(shape_of(g, a), shape_of(g, b), 0), shape_of(g, cond), 0);

    return gr_op(g, CC_OP_SELECT, 3, (const uint32_t[]){cond, a, b}, out, NULL);
}

uint32_t gr_window(struct gr *g, enum cc_op_kind kind, uint32_t x, const struct cc_attributes *a)
{
    const uint32_t *kernel = kind == CC_OP_CONV ? at(g, a->weight - 1)->dim + 2 : a->kernel;
    struct gr_shape out = shape_of(g, x);

    if (kind == CC_OP_CONV)
        out.dim[1] = at(g, a->weight - 1)->dim[0];
    for (unsigned i = 0; i < 2; i++)
        out.dim[2 + i] =
            (out.dim[2 + i] + a->pad[2 * i] + a->pad[2 * i + 1] - (kernel[i] - 1) * a->dilation[i] - 1) /
                a->stride[i] +
            1;
    return gr_op(g, kind, 1, &x, out, a);
}

uint32_t gr_transpose(struct gr *g, uint32_t x, const uint32_t *perm)
{
    struct gr_shape in = shape_of(g, x), out = in;
    struct cc_attributes a = {.axes = 0};

    for (uint32_t i = 0; i < in.rank; i++)
        out.dim[i] = in.dim[a.perm[i] = perm[i]];
    return gr_op(g, CC_OP_TRANSPOSE, 1, &x, out, &a);
}

uint32_t gr_reshape(struct gr *g, uint32_t x, struct gr_shape shape)
{
    return gr_op(g, CC_OP_RESHAPE, 1, &x, shape, NULL);
}

uint32_t gr_slice(struct gr *g, uint32_t x, const uint32_t *begin, struct gr_shape size)
{
    struct cc_attributes a = {.axes = 0};

    memcpy(a.begin, begin, size.rank * sizeof(*begin));
    memcpy(a.size, size.dim, sizeof(a.size));
    return gr_op(g, CC_OP_SLICE_BY_SIZE, 1, &x, size, &a);
}

uint32_t gr_tile(struct gr *g, uint32_t x, const uint32_t *reps)
{
    struct gr_shape out = shape_of(g, x);
    struct cc_attributes a = {.axes = 0};

    for (uint32_t i = 0; i < out.rank; i++)
        out.dim[i] *= a.reps[i] = reps[i];
    return gr_op(g, CC_OP_TILE, 1, &x, out, &a);
}

uint32_t gr_concat(struct gr *g, uint32_t count, const uint32_t *values, uint32_t axis)
{
    struct gr_shape out = shape_of(g, values[0]);
    struct cc_attributes a = {.axis = axis};

    for (uint32_t i = 1; i < count; i++)
        out.dim[axis] += at(g, values[i])->dim[axis];
    return gr_op(g, CC_OP_CONCAT, count, values, out, &a);
}

void gr_output(struct gr *g, uint32_t v)
{
    assert_int_equal(cc_graph_add_output(g->graph, v), 0);
}

/* Lowering and loading. */

/* The graph itself stays: its values are computed a second time. */
static int lower_copy(const struct gr *g, unsigned flags, struct cc_program **program,
                      struct base_error *error)
{
    struct cc_graph *copy;
    int status;

    assert_int_equal(cc_graph_copy(g->graph, &copy), 0);
    status = cc_passes(&copy, error);
    if (!status)
        status = cc_lower(copy, flags | g->flags, program, error);
    cc_graph_destroy(copy);
    return status;
}

struct cc_program *gr_lower(struct gr *g)
{
    struct cc_program *program = NULL;
    struct base_error error;

    if (cc_graph_check(g->graph, &error) || lower_copy(g, CC_LOWER_REPORT, &program, &error))
        fail_msg("%s", error.text);
    return program;
}

const char *gr_refusal(struct gr *g)
{
    static struct base_error error;
    struct cc_program *program = NULL;
    int status;

    if (cc_graph_check(g->graph, &error))
        fail_msg("the graph itself: %s", error.text);
    status = lower_copy(g, 0, &program, &error);
    assert_true(status < 0);
    assert_null(program);
    return error.text;
}

uint8_t *gr_payload(const struct cc_program *program, size_t *size)
{
    struct ane_program_bundle head = {.weights_bytes = program->constant_bytes};
    struct base_error error;
    uint8_t *main, *payload;
    size_t bytes, weights;

    if (cc_bundle_main(program, &main, &bytes, &error))
        fail_msg("%s", error.text);
    head.main_bytes = bytes;
    weights = (sizeof(head) + bytes + ANE_PROGRAM_BUNDLE_ALIGN - 1) / ANE_PROGRAM_BUNDLE_ALIGN *
              ANE_PROGRAM_BUNDLE_ALIGN;
    *size = weights + program->constant_bytes;
    payload = calloc(1, *size);
    assert_non_null(payload);
    memcpy(payload, &head, sizeof(head));
    memcpy(payload + sizeof(head), main, bytes);
    if (program->constant_bytes)
        memcpy(payload + weights, program->constant, program->constant_bytes);
    base_free(main);
    return payload;
}

IOReturn gr_create(const struct iorig_client *client, const void *payload, size_t size, uint64_t *token)
{
    return iorig_create_as(client, ANE_PROGRAM_RT, payload, size, token);
}

static size_t port_elements(const struct pr_e5_port *p)
{
    return (size_t)p->n * p->c * p->h * p->w;
}

/*
 * Where element `i`, counted row-major over n, c, h, w, is in the
 * engine's layout: rows on 64-byte boundaries.
 */
static size_t engine_offset(const struct pr_e5_port *p, size_t i)
{
    size_t row = ((size_t)p->w * 2 + 63) / 64 * 64;

    return i / p->w * row + i % p->w * 2;
}

static uint32_t port_surface(struct gr *g, const struct pr_e5_port *p, double *x)
{
    size_t count = port_elements(p);
    uint8_t *bytes;
    uint32_t id;

    assert_int_equal(ane_surface_create(0, p->bytes, &id), 0);
    bytes = ane_surface_base(id);
    memset(bytes, 0x7e, p->bytes); /* NaNs wherever nothing is written */
    for (size_t i = 0; x && i < count; i++) {
        uint16_t half = number(g);

        memcpy(bytes + engine_offset(p, i), &half, 2);
        x[i] = test_half_to_double(half);
    }
    return id;
}

static void compare(const struct gr *g, const struct pr_e5_port *p, uint32_t surface, const double *want)
{
    size_t count = port_elements(p);
    const uint8_t *bytes = ane_surface_base(surface);

    for (size_t i = 0; i < count; i++) {
        double y, allowed = g->numbers == GR_WHOLE ? 0 : g->slack * (0x1p-10 * fabs(want[i]) + 0x1p-13);
        uint16_t half;

        memcpy(&half, bytes + engine_offset(p, i), 2);
        y = test_half_to_double(half);
        if (!(fabs(y - want[i]) <= allowed))
            fail_msg("%s [%u, %u, %u, %u], element %zu: %.9g, expected %.9g", p->name, p->n, p->c, p->h, p->w,
                     i, y, want[i]);
    }
}

static void fail_on_finding(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    (void)context;
    (void)finding;
    fail_msg("descriptor %u: %s", problem->descriptor, problem->text);
}

/* Every descriptor is explained, decodes, and has nothing to remark. */
static void judge(const uint8_t *payload)
{
    struct ane_program_bundle head;
    struct pr_e5 *e5 = malloc(sizeof(*e5));
    struct pr_problem problem;
    uint32_t words;
    uint8_t *text;
    size_t size = 0;

    assert_non_null(e5);
    memcpy(&head, payload, sizeof(head));
    if (!pr_e5_read(payload + sizeof(head), head.main_bytes, e5, &problem) ||
        !(size = pr_e5_expand(e5, NULL, 0, &words, &problem)))
        fail_msg("%s", problem.text);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(pr_e5_expand(e5, text, size, &words, &problem), size);
    assert_true(pr_check_stream(text, size, words, e5->records, fail_on_finding, NULL));
    free(text);
    free(e5);
}

/* Loads the program and runs it once; `surface` has one per port. */
static void run_once(const struct iorig_client *client, const struct cc_program *program, uint32_t inputs,
                     const uint32_t *surface)
{
    uint32_t outputs = program->ports - inputs;
    struct ane_program_prepare prepare;
    struct ane_request_reply reply = {0};
    uint64_t token;
    size_t size;
    uint8_t *payload = gr_payload(program, &size);

    judge(payload);
    if (gr_create(client, payload, size, &token) || iorig_prepare(client, token, &prepare) ||
        iorig_request(client, token, 1, 5, surface, inputs, outputs, &reply))
        fail_msg("%s", ane_machine_error());
    assert_int_equal(prepare.inputs, inputs);
    assert_int_equal(prepare.outputs, outputs);
    assert_int_equal(iorig_unprepare(client, token), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(client, token), kIOReturnSuccess);
    free(payload);
}

static void release_surfaces(const struct cc_program *program, const uint32_t *surface)
{
    for (uint32_t i = 0; i < program->ports; i++)
        ane_surface_release(surface[i]);
}

void gr_run_program(const struct cc_program *program, const struct iorig_client *client, uint32_t inputs,
                    const uint16_t *const *in, uint16_t *const *out)
{
    uint32_t surface[PR_E5_PORTS_MAX];

    for (uint32_t i = 0; i < program->ports; i++) {
        const struct pr_e5_port *p = &program->port[i];

        surface[i] = port_surface(NULL, p, NULL);
        for (size_t k = 0; i < inputs && k < port_elements(p); k++)
            memcpy((uint8_t *)ane_surface_base(surface[i]) + engine_offset(p, k), &in[i][k], 2);
    }
    run_once(client, program, inputs, surface);
    for (uint32_t i = inputs; i < program->ports; i++)
        for (size_t k = 0; k < port_elements(&program->port[i]); k++)
            memcpy(&out[i - inputs][k],
                   (uint8_t *)ane_surface_base(surface[i]) + engine_offset(&program->port[i], k), 2);
    release_surfaces(program, surface);
}

uint32_t gr_run(struct gr *g, const struct iorig_client *client, const uint16_t *const *in,
                uint16_t *const *out)
{
    struct cc_program *program = gr_lower(g);
    uint32_t records = program->records;

    gr_run_program(program, client, g->graph->inputs, in, out);
    cc_program_destroy(program);
    return records;
}

static void evaluate(struct cc_eval *eval)
{
    struct base_error error;

    if (cc_eval_run(eval, 0, &error))
        fail_msg("%s", error.text);
}

static void give_input(struct cc_eval *eval, uint32_t value, const double *x)
{
    struct base_error error;

    if (cc_eval_set(eval, value, x, &error))
        fail_msg("%s", error.text);
}

static void run(struct gr *g, const struct iorig_client *client, const struct cc_program *program,
                struct cc_eval *eval)
{
    uint32_t surface[PR_E5_PORTS_MAX], inputs = g->graph->inputs, outputs = g->graph->outputs;

    for (uint32_t i = 0; i < inputs; i++) {
        double *x = calloc(port_elements(&program->port[i]), sizeof(*x));

        assert_non_null(x);
        surface[i] = port_surface(g, &program->port[i], x);
        give_input(eval, g->graph->input[i], x);
        free(x);
    }
    for (uint32_t i = 0; i < outputs; i++)
        surface[inputs + i] = port_surface(g, &program->port[inputs + i], NULL);
    evaluate(eval);
    run_once(client, program, inputs, surface);
    for (uint32_t i = 0; i < outputs; i++)
        compare(g, &program->port[inputs + i], surface[inputs + i], eval->value[g->graph->output[i]]);
    release_surfaces(program, surface);
}

uint32_t gr_check(struct gr *g, const struct iorig_client *client)
{
    struct cc_program *program = gr_lower(g);
    uint32_t records = program->records;
    struct cc_eval eval;
    struct base_error error;

    if (cc_eval_open(&eval, g->graph, &error))
        fail_msg("%s", error.text);
    run(g, client, program, &eval);
    cc_eval_close(&eval);
    cc_program_destroy(program);
    return records;
}
