/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/host.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/file.h"
#include "compiler/half.h"

struct cc_host {
    struct cc_graph *graph;
};

_Static_assert((int)CC_HOST_FP16 == (int)CC_FP16 && (int)CC_HOST_FP32 == (int)CC_FP32 &&
                   (int)CC_HOST_INT32 == (int)CC_INT32 && CC_HOST_RANK_MAX == CC_RANK_MAX,
               "types and ranks of ports are those of the graph");

static const struct cc_value *value_of(const struct cc_host *host, uint32_t number)
{
    const struct cc_graph *g = host->graph;

    return &g->value[number < g->inputs ? g->input[number] : g->output[number - g->inputs]];
}

int cc_host_open(const uint8_t *bytes, size_t size, struct cc_host **host, struct base_error *error)
{
    struct cc_host *made = base_alloc(sizeof(*made));
    int status;

    *host = NULL;
    if (!made)
        return base_fail(error, ENOMEM, "There is no memory for a host segment.");
    status = cc_graph_file_read(bytes, size, &made->graph, error);
    for (uint32_t i = 0; !status && i < made->graph->inputs + made->graph->outputs; i++)
        if (value_of(made, i)->type == CC_BOOL)
            status =
                base_fail(error, EBADMSG, "Port `%.64s` of a host segment is bool.", value_of(made, i)->name);
    if (status)
        cc_host_close(made);
    else
        *host = made;
    return status;
}

void cc_host_close(struct cc_host *host)
{
    if (!host)
        return;
    cc_graph_destroy(host->graph);
    base_free(host);
}

uint32_t cc_host_inputs(const struct cc_host *host)
{
    return host->graph->inputs;
}

uint32_t cc_host_outputs(const struct cc_host *host)
{
    return host->graph->outputs;
}

struct cc_host_port cc_host_port(const struct cc_host *host, uint32_t number)
{
    const struct cc_value *v = value_of(host, number);
    struct cc_host_port port = {
        .name = v->name, .type = (enum cc_host_type)v->type, .rank = v->rank, .bytes = v->bytes};

    memcpy(port.dim, v->dim, sizeof(port.dim));
    return port;
}

static int set_input(struct cc_eval *eval, uint32_t value, const void *elements, struct base_error *error)
{
    struct cc_value v = eval->graph->value[value];
    uint64_t count = cc_value_elements(&v);
    double *x = base_alloc_array(count, sizeof(*x));
    int status;

    if (!x)
        return base_fail(error, ENOMEM, "There is no memory for the elements of `%.64s`.", v.name);
    v.data = (void *)elements;
    for (uint64_t i = 0; i < count; i++)
        x[i] = cc_value_number(&v, i);
    status = cc_eval_set(eval, value, x, error);
    base_free(x);
    return status;
}

/* Rounded once: the float is rounded to odd, so that rounding it to the nearest half is that of the double. */
static uint16_t half_of(double x)
{
    float near = (float)x;
    uint32_t bits;

    if (!isnan(x) && fabs((double)near) > fabs(x))
        near = nextafterf(near, 0);
    bits = cc_float_bits(near);
    if (!isnan(x) && (double)near != x)
        bits |= 1;
    return pr_half_of_single(bits);
}

static void take_output(const struct cc_eval *eval, uint32_t value, void *elements)
{
    const struct cc_value *v = &eval->graph->value[value];
    const double *x = eval->value[value];
    uint64_t count = cc_value_elements(v);

    for (uint64_t i = 0; i < count; i++) {
        if (v->type == CC_FP16)
            ((uint16_t *)elements)[i] = half_of(x[i]);
        else if (v->type == CC_FP32)
            ((float *)elements)[i] = (float)x[i];
        else
            ((int32_t *)elements)[i] = (int32_t)x[i];
    }
}

static _Atomic uint64_t spent_ns;

uint64_t cc_host_spent_ns(void)
{
    return spent_ns;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cc_host_run(const struct cc_host *host, void *const *elements, struct base_error *error)
{
    uint64_t begin = now_ns();
    const struct cc_graph *g = host->graph;
    struct cc_eval eval;
    int status = cc_eval_open(&eval, g, error);

    if (status)
        return status;
    for (uint32_t i = 0; i < g->inputs && !status; i++)
        status = set_input(&eval, g->input[i], elements[i], error);
    if (!status)
        status = cc_eval_run(&eval, 0, error);
    for (uint32_t i = 0; i < g->outputs && !status; i++)
        take_output(&eval, g->output[i], elements[g->inputs + i]);
    cc_eval_close(&eval);
    spent_ns += now_ns() - begin;
    return status;
}
