/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front end against the backend tests of ONNX: every test of an operator that is taken is read into a
 * graph, the graph is evaluated in double precision, and the result is the file's. Nothing of the engine takes
 * part, so the tolerance is that of the files, which are single precision: 1e-4 of the largest element, for
 * sums of some hundred products, or the files' own steps for half precision and quantised ones.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/eval.h"
#include "compiler/onnx/onnx.h"
#include "onnxfile.h"
#include "support.h"

#define FOLDER "/usr/share/libonnx-testdata/data/node"

enum { INPUTS_MAX = 16 };

/* Which inputs are constants: of other types than floats; all but the first; all. */
enum way { OTHERS, BEHIND_FIRST, ALL, WAYS };

struct node_test {
    char name[300];
    struct of_model model;
    struct of_tensor input[INPUTS_MAX], output[INPUTS_MAX];
    void *data[INPUTS_MAX];
    struct cc_binding binding[INPUTS_MAX];
    uint32_t bindings;
};

/*
 * Tests that contradict the text of the specification: with align_corners it divides by the result's length
 * less 1, these by the scaled length, which is not whole, less 1.
 */
static const char *const contradicting[] = {"test_resize_downsample_scales_linear_align_corners",
                                            "test_resize_downsample_scales_cubic_align_corners"};

static bool is_contradicting(const char *name)
{
    for (size_t i = 0; i < sizeof(contradicting) / sizeof(contradicting[0]); i++)
        if (!strcmp(name, contradicting[i]))
            return true;
    return false;
}

static bool is_port(enum of_type type)
{
    return type == OF_FLOAT || type == OF_FLOAT16;
}

/* A tensor that is of no use here is left empty. */
static bool read_tensor(const char *name, const char *which, uint32_t i, struct of_tensor *tensor)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s/test_data_set_0/%s_%u.pb", FOLDER, name, which, i);
    if (of_tensor_read(path, tensor))
        return true;
    memset(tensor, 0, sizeof(*tensor));
    return false;
}

static bool load(struct node_test *t, const char *name)
{
    char path[600];

    memset(t, 0, sizeof(*t));
    snprintf(t->name, sizeof(t->name), "%s", name);
    snprintf(path, sizeof(path), "%s/%s/model.onnx", FOLDER, name);
    if (!of_model_read(path, &t->model) || t->model.inputs > INPUTS_MAX || t->model.outputs > INPUTS_MAX)
        return false;
    for (uint32_t i = 0; i < t->model.inputs; i++)
        if (!read_tensor(name, "input", i, &t->input[i]) || t->input[i].rank > CC_RANK_MAX ||
            !t->input[i].elements)
            return false;
    for (uint32_t i = 0; i < t->model.outputs; i++)
        if (!read_tensor(name, "output", i, &t->output[i]))
            return false;
    return true;
}

static void unload(struct node_test *t)
{
    for (unsigned i = 0; i < INPUTS_MAX; i++) {
        free(t->input[i].x);
        free(t->output[i].x);
        free(t->data[i]);
    }
    free(t->model.bytes);
}

/* An input as a constant of the graph's types. */
static void bind(struct node_test *t, uint32_t i)
{
    const struct of_tensor *x = &t->input[i];
    enum cc_type type = of_type_is_float(x->type) ? CC_FP32 : x->type == OF_BOOL ? CC_BOOL : CC_INT32;
    struct cc_binding *b = &t->binding[t->bindings++];

    t->data[i] = malloc(x->elements * 4);
    assert_non_null(t->data[i]);
    for (size_t k = 0; k < x->elements; k++) {
        if (type == CC_FP32)
            ((float *)t->data[i])[k] = (float)x->x[k];
        else if (type == CC_BOOL)
            ((uint8_t *)t->data[i])[k] = x->x[k] != 0;
        else
            ((int32_t *)t->data[i])[k] = (int32_t)fmax(fmin(x->x[k], INT32_MAX), INT32_MIN);
    }
    *b = (struct cc_binding){.name = t->model.input[i], .rank = x->rank, .data = t->data[i], .type = type};
    memcpy(b->dim, x->dim, sizeof(b->dim));
}

static void bind_all(struct node_test *t, enum way way)
{
    for (uint32_t i = 0; i < INPUTS_MAX; i++) {
        free(t->data[i]);
        t->data[i] = NULL;
    }
    t->bindings = 0;
    for (uint32_t i = 0; i < t->model.inputs; i++)
        if (way == ALL || !is_port(t->input[i].type) || (way == BEHIND_FIRST && i))
            bind(t, i);
}

static const struct of_tensor *input_of(const struct node_test *t, const char *name)
{
    for (uint32_t i = 0; i < t->model.inputs; i++)
        if (!strcmp(t->model.input[i], name))
            return &t->input[i];
    return NULL;
}

/* Half precision and quantised steps; single precision otherwise. */
static double tolerance(const struct node_test *t, const struct of_tensor *wanted)
{
    double largest = 0;
    bool coarse = wanted->type == OF_FLOAT16 || strstr(t->name, "FLOAT16");

    for (size_t i = 0; i < wanted->elements; i++)
        if (isfinite(wanted->x[i]))
            largest = fmax(largest, fabs(wanted->x[i]));
    return (strstr(t->name, "BFLOAT16") ? 0x1p-7 : coarse ? 0x1p-10 : 1e-4) * fmax(largest, 1e-3);
}

static bool is_close(double found, double wanted, double allowed)
{
    if (isnan(wanted) || isnan(found))
        return isnan(wanted) && isnan(found);
    return found == wanted || fabs(found - wanted) <= allowed;
}

static bool compare(const struct node_test *t, const struct cc_eval *eval, uint32_t i)
{
    const struct cc_graph *g = eval->graph;
    const struct cc_value *value = &g->value[g->output[i]];
    const double *found = eval->value[g->output[i]];
    const struct of_tensor *wanted = &t->output[i];
    double allowed = tolerance(t, wanted);

    if (value->rank != wanted->rank || memcmp(value->dim, wanted->dim, value->rank * sizeof(value->dim[0]))) {
        print_error("%s: output %u is %s, which is not the file's shape\n", t->name, i,
                    cc_shape_text(value->type, value->rank, value->dim).text);
        return false;
    }
    for (size_t k = 0; k < wanted->elements; k++)
        if (!is_close(found[k], wanted->x[k], allowed)) {
            print_error("%s: element %zu of output %u is %.9g, expected %.9g\n", t->name, k, i, found[k],
                        wanted->x[k]);
            return false;
        }
    return true;
}

enum outcome { REFUSED, RIGHT, WRONG };

/* Reads and evaluates one test, with these inputs as constants. */
static enum outcome run_way(struct node_test *t, enum way way, struct base_error *why)
{
    enum outcome outcome = RIGHT;
    struct cc_graph *graph = NULL;
    struct cc_eval eval;

    bind_all(t, way);
    if (cc_onnx_read(t->model.bytes, t->model.size, NULL, t->binding, t->bindings, &graph, why)) {
        assert_null(graph);
        assert_true(why->text[0] && !strchr(why->text, '\n'));
        return REFUSED;
    }
    if (cc_graph_check(graph, why))
        fail_msg("%s: %s", t->name, why->text);
    assert_int_equal(cc_eval_open(&eval, graph, why), 0);
    for (uint32_t i = 0; i < graph->inputs; i++) {
        const struct of_tensor *x = input_of(t, graph->value[graph->input[i]].name);

        assert_non_null(x);
        assert_int_equal(cc_eval_set(&eval, graph->input[i], x->x, why), 0);
    }
    if (cc_eval_run(&eval, 0, why))
        fail_msg("%s: %s", t->name, why->text);
    for (uint32_t i = 0; i < graph->outputs; i++)
        if (!compare(t, &eval, i))
            outcome = WRONG;
    cc_eval_close(&eval);
    cc_graph_destroy(graph);
    return outcome;
}

static const char *op_name(unsigned number)
{
    enum cc_op_kind kind;
    const char *attributes;

    return cc_onnx_op_at(number, &kind, &attributes);
}

/* Operators of which a test was run. */
static bool is_done[256];

static void note_done(const struct of_model *model)
{
    for (uint32_t i = 0; i < model->nodes && i < OF_NAMES_MAX; i++)
        for (unsigned k = 0; op_name(k); k++)
            if (!strcmp(op_name(k), model->kind[i]))
                is_done[k] = true;
}

static bool is_known(const struct of_model *model)
{
    bool all = model->nodes > 0;

    for (uint32_t i = 0; i < model->nodes && i < OF_NAMES_MAX; i++) {
        bool known = false;

        for (unsigned k = 0; op_name(k); k++)
            known |= !strcmp(op_name(k), model->kind[i]);
        all &= known;
    }
    return all;
}

static void test_backend(void **state)
{
    DIR *folder = opendir(FOLDER);
    struct base_error first, why;
    unsigned run = 0, wrong = 0, refused = 0;
    struct dirent *entry;

    (void)state;
    if (!folder) {
        print_message("libonnx-testdata is not installed\n");
        skip();
    }
    while ((entry = readdir(folder))) {
        struct node_test t;
        enum outcome done = REFUSED;

        if (entry->d_name[0] == '.' || is_contradicting(entry->d_name))
            continue;
        if (load(&t, entry->d_name) && is_known(&t.model)) {
            for (unsigned way = 0; way < WAYS && done == REFUSED; way++)
                done = run_way(&t, way, way ? &why : &first);
            run += done == RIGHT;
            wrong += done == WRONG;
            refused += done == REFUSED;
            if (done)
                note_done(&t.model);
            else if (getenv("ANEMONE_TEST_LIST"))
                print_message("refused %s: %s | %s\n", t.name, first.text, why.text);
        }
        unload(&t);
    }
    closedir(folder);
    print_message("%u tests of operators that are taken were right, %u wrong, %u refused\n", run, wrong,
                  refused);
    for (unsigned k = 0; op_name(k); k++)
        if (!is_done[k])
            print_message("no test of %s\n", op_name(k));
    assert_int_equal(wrong, 0);
    assert_true(run > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_backend)};

    return cmocka_run_group_tests_name("onnx_meaning", tests, NULL, NULL);
}
