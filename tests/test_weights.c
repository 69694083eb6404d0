/* SPDX-License-Identifier: Apache-2.0 */
/* Smaller forms of weights: what tensors become, and the errors that are reported, worked out by hand. */
#include "support.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/graph.h"
#include "compiler/store/cache.h"
#include "compiler/weights.h"

enum { ROWS = 8, COLUMNS = 256, COUNT = ROWS * COLUMNS }; /* as many as the threshold */

/* A call with weights w of [ROWS, COLUMNS]; `type` is that of the weights. */
static struct cc_graph *network(const char *type, const char *call, float (*weight)(unsigned))
{
    size_t room = COUNT * 24u + 0x1000, at;
    char *text = malloc(room);
    struct base_error error;
    struct cc_graph *graph;

    assert_non_null(text);
    at =
        (size_t)snprintf(text, room,
                         "program(1.3)\n{func main<ios18>(tensor<fp16, [3, %u]> x) {tensor<%s, [%u, %u]> w = "
                         "const()[val = tensor<%s, [%u, %u]>([",
                         strstr(call, "turned") ? ROWS : COLUMNS, type, ROWS, COLUMNS, type, ROWS, COLUMNS);
    for (unsigned i = 0; i < COUNT; i++)
        at += (size_t)snprintf(text + at, room - at, i ? ", %.9g" : "%.9g", (double)weight(i));
    snprintf(text + at, room - at, "])]; tensor<fp16, [3, %u]> y = %s;} -> (y);}",
             strstr(call, "turned") ? COLUMNS : ROWS, call);
    if (cc_mil_read(text, strlen(text), NULL, &graph, &error))
        fail_msg("%s", error.text);
    free(text);
    return graph;
}

#define LINEAR "linear(x = x, weight = w)[name = string(\"layer\")]"
#define MATMUL "matmul(x = x, y = w, transpose_y = bool(true))[name = string(\"layer\")]"
#define TURNED "matmul(x = x, y = w)[name = string(\"turned\")]"

/* The tensor of COUNT weights. */
static struct cc_value *weights_of(struct cc_graph *graph)
{
    for (uint32_t i = 0; i < graph->values; i++)
        if (graph->value[i].data && cc_value_elements(&graph->value[i]) == COUNT)
            return &graph->value[i];
    fail_msg("no weights");
    return NULL;
}

static struct cc_weights_report *apply(struct cc_graph *graph, enum cc_weights form)
{
    struct cc_weights_report *report;
    struct base_error error;

    assert_int_equal(cc_weights_apply(graph, form, &report, &error), 0);
    return report;
}

/* Whole steps of 1/8 up to 127 of them, so that every scale is 1/8; one in each row is at half a step. */
static float eighths(unsigned i)
{
    return i % COLUMNS == 9 ? 1.5f / 8 : (float)((int)(i % 255) - 127) / 8;
}

/* Row r is eighths times 2^r: each row has a scale of its own. */
static float by_row(unsigned i)
{
    return ldexpf(eighths(i % COLUMNS), (int)(i / COLUMNS) - 4);
}

/* The same by column: the scale of column c is 1/8 if the largest of its 8 weights is 127/8. */
static float by_column(unsigned i)
{
    return ldexpf(i / COLUMNS == 0 ? 127.0f : (float)(i / COLUMNS), (int)(i % COLUMNS % 8) - 4);
}

static void int8_rounds_to_steps_of_a_row(void **state)
{
    static const struct {
        const char *type, *call;
    } forms[] = {{"fp16", LINEAR}, {"fp32", LINEAR}, {"fp16", MATMUL}};

    (void)state;
    for (unsigned f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        struct cc_graph *graph = network(forms[f].type, forms[f].call, by_row);
        struct cc_weights_report *report = apply(graph, CC_WEIGHTS_INT8);
        const struct cc_value *w = weights_of(graph);
        double squares = 0;

        for (unsigned i = 0; i < COUNT; i++) {
            /* 1.5 steps become 2, the even number; all others are whole */
            double step = ldexp(1.0 / 8, (int)(i / COLUMNS) - 4);
            double want = i % COLUMNS == 9 ? 2 * step : (double)by_row(i);

            if (cc_value_number(w, i) != want)
                fail_msg("%s: weight %u is %g, expected %g", forms[f].call, i, cc_value_number(w, i), want);
            squares += (want - (double)by_row(i)) * (want - (double)by_row(i));
        }
        assert_int_equal(report->tensors, 1);
        assert_string_equal(report->tensor[0].node, "layer");
        assert_int_equal(report->tensor[0].elements, COUNT);
        assert_true(report->tensor[0].largest == 0.5); /* half a step of the last row, which is 1 */
        assert_true(fabs(report->tensor[0].rms - sqrt(squares / COUNT)) < 1e-12);
        assert_true(report->total.rms == report->tensor[0].rms);
        cc_weights_report_destroy(report);
        cc_graph_destroy(graph);
    }
}

/* Output channels of a matrix product are columns: with scales of its rows these would not be exact. */
static void int8_takes_the_axis_of_the_outputs(void **state)
{
    struct cc_graph *graph = network("fp16", TURNED, by_column);
    struct cc_weights_report *report = apply(graph, CC_WEIGHTS_INT8);

    (void)state;
    assert_int_equal(report->tensors, 1);
    assert_true(report->total.largest == 0);
    assert_true(report->total.weights_rms > 0);
    cc_weights_report_destroy(report);
    cc_graph_destroy(graph);
}

/* Sixteen pairs, a quarter to both sides of a multiple of ten. */
static float pairs(unsigned i)
{
    return (float)(i % 16) * 10 - 75 + (i / 16 % 2 ? 0.25f : -0.25f);
}

static float sixteen(unsigned i)
{
    return (float)(i % 16) * 0.125f - (float)(i % 16 == 3);
}

/* 512 equal steps. */
static float even(unsigned i)
{
    return (float)(i % 512) / 512;
}

static float smooth(unsigned i)
{
    return sinf((float)i) * 0.5f;
}

static void palette_of_sixteen(void **state)
{
    struct cc_graph *graph = network("fp16", LINEAR, pairs);
    struct cc_weights_report *report = apply(graph, CC_WEIGHTS_PALETTE4);
    double seen[COUNT];
    unsigned different = 0;

    (void)state;
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(cc_value_number(weights_of(graph), i) == (i % 16) * 10.0 - 75);
    assert_true(report->total.largest == 0.25);
    assert_true(report->total.rms == 0.25);
    cc_weights_report_destroy(report);
    cc_graph_destroy(graph);

    /* values that a palette holds stay */
    graph = network("fp32", LINEAR, sixteen);
    report = apply(graph, CC_WEIGHTS_PALETTE4);
    assert_true(report->total.largest == 0);
    cc_weights_report_destroy(report);
    cc_graph_destroy(graph);

    /* any others become sixteen: here each is the middle of 32 equal steps, of variance (32^2 - 1) / 12 */
    graph = network("fp16", LINEAR, even);
    report = apply(graph, CC_WEIGHTS_PALETTE4);
    for (unsigned i = 0; i < COUNT; i++) {
        double value = cc_value_number(weights_of(graph), i);
        unsigned k = 0;

        while (k < different && seen[k] != value)
            k++;
        if (k == different)
            seen[different++] = value;
    }
    assert_int_equal(different, 16);
    assert_true(fabs(report->total.rms - sqrt(1023.0 / 12) / 512) < 1e-12);
    assert_true(report->total.largest == 15.5 / 512);
    cc_weights_report_destroy(report);
    cc_graph_destroy(graph);
}

static float infinite(unsigned i)
{
    return i == 5 ? INFINITY : 1;
}

static void what_stays(void **state)
{
    struct cc_graph *graph = network("fp16", LINEAR, infinite);
    struct cc_weights_report *report = apply(graph, CC_WEIGHTS_INT8);
    struct base_error error;
    char before[CC_KEY_BYTES], after[CC_KEY_BYTES];

    (void)state;
    assert_int_equal(report->tensors, 0);
    assert_int_equal(report->kept, 1);
    cc_weights_report_destroy(report);
    cc_graph_destroy(graph);

    graph = network("fp16", LINEAR, smooth);
    assert_int_equal(cc_weights_apply(graph, CC_WEIGHTS_FP16, &report, &error), 0);
    assert_null(report);
    /* another form is another program */
    cc_cache_key(graph, before);
    cc_weights_report_destroy(apply(graph, CC_WEIGHTS_INT8));
    cc_cache_key(graph, after);
    assert_string_not_equal(before, after);
    cc_graph_destroy(graph);
}

static void names(void **state)
{
    enum cc_weights form = CC_WEIGHTS_FP16;

    (void)state;
    assert_true(cc_weights_parse("palette4", &form));
    assert_int_equal(form, CC_WEIGHTS_PALETTE4);
    assert_string_equal(cc_weights_name(form), "palette4");
    assert_false(cc_weights_parse("int4", &form));
    assert_false(cc_weights_parse("", &form));
}

static void no_memory(void **state)
{
    struct base_error error;
    int status = -ENOMEM;

    (void)state;
    for (unsigned long n = 1; status; n++) {
        struct cc_graph *graph = network("fp16", LINEAR, smooth);
        struct cc_weights_report *report = NULL;

        base_alloc_fail_nth(n);
        status = cc_weights_apply(graph, n % 2 ? CC_WEIGHTS_INT8 : CC_WEIGHTS_PALETTE4, &report, &error);
        base_alloc_fail_nth(0);
        assert_true(status == 0 || status == -ENOMEM);
        assert_true(!status == (report != NULL));
        cc_weights_report_destroy(report);
        cc_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int8_rounds_to_steps_of_a_row),
        cmocka_unit_test(int8_takes_the_axis_of_the_outputs),
        cmocka_unit_test(palette_of_sixteen),
        cmocka_unit_test(what_stays),
        cmocka_unit_test(names),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
