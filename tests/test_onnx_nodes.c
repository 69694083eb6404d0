/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ONNX project's own node tests (Debian: libonnx-testdata): one small model each, with inputs and
 * expected outputs. Every model is read, evaluated in double precision, and run on the machine; both results
 * are compared with the expected ones. Prints TAP, one line per kind of node.
 *
 * test_onnx_nodes [--json FILE] [PART OF A TEST'S NAME]
 *
 * Tolerances are derived, not fitted (docs/operators.md). The evaluation may differ from the expected output
 * by what fp32 loses in the computation of the test itself. The machine may differ by the sum of two parts:
 * the effect of rounding the inputs to fp16, which is computed with the evaluator; and the bound that
 * errorbound.h derives for the operations after the passes.
 *
 * A test whose model is refused is skipped, with the compiler's sentence as the reason. For a kind of node
 * that is claimed the reason must be one of the table below.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "compiler/eval/eval.h"
#include "compiler/onnx/onnx.h"
#include "errorbound.h"
#include "graphrig.h"
#include "onnxfile.h"
#include "support.h"

enum { KINDS_MAX = 256, PATH = 512, INPUTS = 16, WHY = 512 };
#define FOLDER     "/usr/share/libonnx-testdata/data"
#define HALF_MAX   65504.0
#define SINGLE_EPS 0x1p-23
#define HALF_EPS   0x1p-11
#define BRAIN_EPS  0x1p-8 /* bfloat16, which some tests cut off */

enum outcome { PASSED, SKIPPED, FAILED };

/* What is known of one kind of node. */
struct row {
    char kind[OF_NAME_BYTES];
    unsigned passed, skipped, failed;
    double error;    /* the largest difference from the expected output */
    double relative; /* the largest share of the tolerance that was used */
    char why[WHY];   /* of the last skip or failure, with the test's name */
};

struct suite {
    struct iorig_client client;
    struct row row[KINDS_MAX];
    unsigned rows;
};

/* One test folder. */
struct test {
    const char *name;
    struct of_model model;
    struct of_tensor input[INPUTS], output[INPUTS];
    uint32_t inputs, outputs;
    struct cc_graph *graph;
    char why[WHY];
};

static struct row *row_of(struct suite *s, const char *kind)
{
    for (unsigned i = 0; i < s->rows; i++)
        if (!strcmp(s->row[i].kind, kind))
            return &s->row[i];
    assert_true(s->rows < KINDS_MAX);
    snprintf(s->row[s->rows].kind, OF_NAME_BYTES, "%s", kind);
    return &s->row[s->rows++];
}

static bool read_tensors(const char *folder, const char *what, uint32_t count, struct of_tensor *tensor,
                         uint32_t *found)
{
    char path[PATH];

    for (*found = 0; *found < count; ++*found) {
        snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%u.pb", folder, what, *found);
        if (!of_tensor_read(path, &tensor[*found]))
            return false;
    }
    return true;
}

static void test_close(struct test *t)
{
    for (uint32_t i = 0; i < t->inputs; i++)
        free(t->input[i].x);
    for (uint32_t i = 0; i < t->outputs; i++)
        free(t->output[i].x);
    free(t->model.bytes);
    cc_graph_destroy(t->graph);
}

static enum outcome say(struct test *t, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum outcome say(struct test *t, enum outcome outcome, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(t->why, sizeof(t->why), format, args);
    va_end(args);
    return outcome;
}

/* The elements of a tensor in the compiler's type. */
static void *data_of(const struct of_tensor *tensor, enum cc_type *type)
{
    size_t count = tensor->elements;
    float *single = calloc(count + 1, sizeof(*single));
    int32_t *whole = calloc(count + 1, sizeof(*whole));
    uint8_t *truth = calloc(count + 1, 1);

    *type = of_type_is_float(tensor->type) ? CC_FP32 : tensor->type == OF_BOOL ? CC_BOOL : CC_INT32;
    assert_true(single && whole && truth);
    for (size_t i = 0; i < count; i++) {
        single[i] = (float)tensor->x[i];
        whole[i] = (int32_t)fmin(fmax(tensor->x[i], INT32_MIN), INT32_MAX);
        truth[i] = tensor->x[i] != 0;
    }
    if (*type != CC_FP32)
        free(single);
    if (*type != CC_INT32)
        free(whole);
    if (*type != CC_BOOL)
        free(truth);
    return *type == CC_FP32 ? (void *)single : *type == CC_INT32 ? (void *)whole : (void *)truth;
}

/*
 * Reads the model. Tensors of integers are parameters and become constants; with `all`, so do all inputs but
 * the first: weights, scales, bounds.
 */
static int read_graph(struct test *t, bool all, struct base_error *error)
{
    struct cc_binding binding[INPUTS] = {0};
    void *data[INPUTS] = {0};
    uint32_t count = 0;
    int status;

    for (uint32_t i = 0; i < t->inputs; i++) {
        const struct of_tensor *tensor = &t->input[i];
        struct cc_binding *b = &binding[count];

        if (of_type_is_float(tensor->type) && !(all && i))
            continue;
        data[count] = data_of(tensor, &b->type);
        b->name = t->model.input[i];
        b->rank = tensor->rank;
        memcpy(b->dim, tensor->dim,
               (tensor->rank < CC_RANK_MAX ? tensor->rank : CC_RANK_MAX) * sizeof(b->dim[0]));
        b->data = data[count++];
    }
    status = cc_onnx_read(t->model.bytes, t->model.size, "", binding, count, &t->graph, error);
    for (uint32_t i = 0; i < count; i++)
        free(data[i]);
    if (status || !(status = cc_graph_check(t->graph, error)))
        return status;
    cc_graph_destroy(t->graph);
    t->graph = NULL;
    return status;
}

/* The test's input of a name. */
static const struct of_tensor *input_of(const struct test *t, const char *name)
{
    for (uint32_t i = 0; i < t->inputs; i++)
        if (!strcmp(t->model.input[i], name))
            return &t->input[i];
    fail_msg("%s: the graph has an input %s that the model has not", t->name, name);
    return NULL;
}

/* All outputs, in double precision; the inputs are rounded to fp16 first if `rounded`. */
static void evaluate(const struct test *t, bool rounded, struct cc_eval *eval)
{
    const struct cc_graph *g = t->graph;
    struct base_error error;

    assert_int_equal(cc_eval_open(eval, g, &error), 0);
    for (uint32_t i = 0; i < g->inputs; i++) {
        const struct of_tensor *tensor = input_of(t, g->value[g->input[i]].name);
        double *x = calloc(tensor->elements + 1, sizeof(*x));

        assert_non_null(x);
        for (size_t k = 0; k < tensor->elements; k++)
            x[k] = rounded ? test_half_to_double(test_half_from_double(tensor->x[k])) : tensor->x[k];
        assert_int_equal(cc_eval_set(eval, g->input[i], x, &error), 0);
        free(x);
    }
    if (cc_eval_run(eval, 0, &error))
        fail_msg("%s: %s", t->name, error.text);
}

/*
 * NaN where NaN is expected, or 0, which indeterminate forms are on this engine; an infinity where that is;
 * else within `allowed`.
 */
static bool is_near(double got, double want, double allowed)
{
    if (isnan(want))
        return isnan(got) || got == 0;
    if (isinf(want))
        return got == want;
    return fabs(got - want) <= allowed;
}

/* An output of a shorter type is rounded to it. */
static double type_loss(enum of_type type)
{
    return type == OF_FLOAT16 ? HALF_EPS : type == OF_BFLOAT16 ? BRAIN_EPS : 0;
}

/*
 * What the test's own fp32 computation may lose: in each node, one rounding per term of its longest sum, for
 * which the number of elements of the largest input is a bound; and that of the type of the
 * output, where that is shorter.
 */
static double expected_loss(const struct test *t, const struct of_tensor *want, size_t k)
{
    size_t terms = 16;

    for (uint32_t i = 0; i < t->inputs; i++)
        if (t->input[i].elements > terms)
            terms = t->input[i].elements;
    return (fabs(want->x[k]) + 1) * SINGLE_EPS * (double)terms * t->model.nodes +
           type_loss(want->type) * fabs(want->x[k]);
}

/* The evaluator against the expected outputs. */
static enum outcome check_meaning(struct test *t)
{
    const struct cc_graph *g = t->graph;
    enum outcome outcome = PASSED;
    struct cc_eval eval;

    evaluate(t, false, &eval);
    for (uint32_t i = 0; i < g->outputs && outcome == PASSED; i++) {
        const struct of_tensor *want = &t->output[i];
        const struct cc_value *v = &g->value[g->output[i]];

        if (v->type != CC_INT32 && want->type == OF_UINT16) {
            outcome = say(t, SKIPPED, "its expected output has the bits of bfloat16 in another type");
            break;
        }
        if (cc_value_elements(v) != want->elements) {
            outcome = say(t, FAILED, "output %s has %llu elements, expected %zu", v->name,
                          (unsigned long long)cc_value_elements(v), want->elements);
            break;
        }
        for (size_t k = 0; k < want->elements && outcome == PASSED; k++)
            if (!is_near(eval.value[g->output[i]][k], want->x[k], expected_loss(t, want, k)))
                outcome = say(t, FAILED, "evaluated: output %s, element %zu: %.9g, expected %.9g", v->name, k,
                              eval.value[g->output[i]][k], want->x[k]);
    }
    cc_eval_close(&eval);
    return outcome;
}

/* The program and the bound of its results; refused: a skip. */
static enum outcome check_lowers(struct test *t, struct cc_graph **lowered)
{
    struct cc_program *program = NULL;
    struct base_error error;
    int status;

    assert_int_equal(cc_graph_copy(t->graph, lowered), 0);
    status = cc_passes(lowered, &error);
    if (!status)
        status = cc_lower(*lowered, false, &program, &error);
    cc_program_destroy(program);
    return status ? say(t, SKIPPED, "%s", error.text) : PASSED;
}

/* Inputs rounded to fp16 and outputs of a run, one array per port. */
struct halves {
    uint16_t *in[INPUTS], *out[INPUTS];
};

static void run(struct suite *s, const struct test *t, struct halves *h)
{
    const struct cc_graph *g = t->graph;
    struct gr gr = {.graph = t->graph};

    *h = (struct halves){0};
    for (uint32_t i = 0; i < g->inputs; i++) {
        const struct of_tensor *tensor = input_of(t, g->value[g->input[i]].name);

        h->in[i] = calloc(tensor->elements + 1, sizeof(uint16_t));
        assert_non_null(h->in[i]);
        for (size_t k = 0; k < tensor->elements; k++)
            h->in[i][k] = test_half_from_double(tensor->x[k]);
    }
    for (uint32_t i = 0; i < g->outputs; i++) {
        h->out[i] = calloc(cc_value_elements(&g->value[g->output[i]]) + 1, sizeof(uint16_t));
        assert_non_null(h->out[i]);
    }
    gr_run(&gr, &s->client, (const uint16_t *const *)h->in, h->out);
}

static void halves_free(struct halves *h)
{
    for (unsigned i = 0; i < INPUTS; i++) {
        free(h->in[i]);
        free(h->out[i]);
    }
}

/*
 * One element: within the bound of what its rounded inputs give. Beyond the range of fp16 it is not
 * compared.
 */
static enum outcome check_element(struct test *t, struct row *row, const char *name, size_t k, double got,
                                  double reference, double bound, double want)
{
    double allowed = bound + fabs(reference - want), off = fabs(got - want);

    if (!isfinite(want) || !isfinite(reference) || fabs(want) > HALF_MAX ||
        fabs(reference) + bound > HALF_MAX)
        return PASSED;
    if (!(off <= allowed))
        return say(t, FAILED, "output %s, element %zu: %.9g, expected %.9g +- %.3g", name, k, got, want,
                   allowed);
    row->error = fmax(row->error, off);
    row->relative = fmax(row->relative, allowed > 0 ? off / allowed : 0);
    return PASSED;
}

static enum outcome check_outputs(struct test *t, struct row *row, const struct halves *h,
                                  const struct eb *bound, const struct cc_graph *lowered)
{
    enum outcome outcome = PASSED;

    for (uint32_t i = 0; i < t->graph->outputs && outcome == PASSED; i++) {
        const struct of_tensor *want = &t->output[i];
        uint32_t value = lowered->output[i];

        for (size_t k = 0; k < want->elements && outcome == PASSED; k++)
            outcome = check_element(t, row, lowered->value[value].name, k, test_half_to_double(h->out[i][k]),
                                    bound->exact.value[value][k], bound->bound[value][k], want->x[k]);
    }
    return outcome;
}

/* The bound of the operations after the passes, for the inputs as the machine has them. */
static void bound_of(const struct cc_graph *lowered, const struct halves *h, struct eb *bound)
{
    eb_open(bound, lowered);
    for (uint32_t i = 0; i < lowered->inputs; i++) {
        uint64_t count = cc_value_elements(&lowered->value[lowered->input[i]]);
        double *x = calloc(count + 1, sizeof(*x));

        assert_non_null(x);
        for (uint64_t k = 0; k < count; k++)
            x[k] = test_half_to_double(h->in[i][k]);
        eb_set(bound, lowered->input[i], x);
        free(x);
    }
    eb_run(bound);
}

static enum outcome check_machine(struct suite *s, struct test *t, struct row *row)
{
    struct cc_graph *lowered = NULL;
    struct eb bound;
    struct halves h;
    enum outcome outcome = check_lowers(t, &lowered);

    if (outcome == PASSED) {
        run(s, t, &h);
        bound_of(lowered, &h, &bound);
        outcome = check_outputs(t, row, &h, &bound, lowered);
        eb_close(&bound);
        halves_free(&h);
    }
    cc_graph_destroy(lowered);
    return outcome;
}

/* The host computes it as it was evaluated; the engine has no part in it. */
static bool is_host(const struct cc_graph *graph)
{
    bool host = false;

    for (uint32_t i = 0; i < graph->ops; i++)
        host |= cc_op_is_host(graph->op[i].kind);
    return host;
}

static enum outcome check_test(struct suite *s, struct test *t, const char *folder, struct row *row)
{
    struct base_error error = {{0}}, second = {{0}};
    enum outcome outcome;

    if (t->model.inputs > INPUTS || t->model.outputs > INPUTS ||
        !read_tensors(folder, "input", t->model.inputs, t->input, &t->inputs) ||
        !read_tensors(folder, "output", t->model.outputs, t->output, &t->outputs))
        return say(t, SKIPPED, "its inputs or outputs are not tensors of numbers");
    if (read_graph(t, false, &error) && read_graph(t, true, &second))
        return say(t, SKIPPED, "%s", error.text);
    outcome = check_meaning(t);
    /* a model of parameters alone is folded, and there is nothing to run */
    return outcome == PASSED && t->graph->inputs && !is_host(t->graph) ? check_machine(s, t, row) : outcome;
}

/* What the documentation claims. Each kind needs a test that passes. */
static const char *const claimed[] = {
    "Abs",
    "Add",
    "ArgMax",
    "ArgMin",
    "AveragePool",
    "BatchNormalization",
    "Ceil",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "Min",
    "Mul",
    "Neg",
    "PRelu",
    "Pad",
    "Pow",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Resize",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Slice",
    "Softmax",
    "Softplus",
    "Softsign",
    "SpaceToDepth",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
    "ThresholdedRelu",
    "Tile",
    "TopK",
    "Transpose",
    "Unsqueeze",
    "Upsample",
    "Where",
};

static bool is_claimed(const char *kind)
{
    for (unsigned i = 0; i < BASE_COUNT_OF(claimed); i++)
        if (!strcmp(claimed[i], kind))
            return true;
    return false;
}

/* Tests whose expected values are wrong. */
static const struct {
    const char *prefix, *why;
} wrong[] = {
    {"test_blackmanwindow", "its expected values were computed with 3.1415 for pi"},
    {"test_hammingwindow", "its expected values were computed with 3.1415 for pi"},
    {"test_hannwindow", "its expected values were computed with 3.1415 for pi"},
};

static enum outcome check_named(struct suite *s, struct test *t, const char *folder, struct row *row)
{
    for (unsigned i = 0; i < BASE_COUNT_OF(wrong); i++)
        if (!strncmp(t->name, wrong[i].prefix, strlen(wrong[i].prefix)))
            return say(t, SKIPPED, "%s", wrong[i].why);
    return check_test(s, t, folder, row);
}

static void run_folder(struct suite *s, const char *folder, const char *name)
{
    static const char *const words[] = {"passed", "skipped", "failed"};
    struct test t = {.name = name};
    char path[PATH];
    enum outcome outcome;
    struct row *row;

    snprintf(path, sizeof(path), "%s/model.onnx", folder);
    if (!of_model_read(path, &t.model)) {
        free(t.model.bytes);
        return;
    }
    row = row_of(s, t.model.nodes == 1 ? t.model.kind[0] : "several nodes");
    outcome = check_named(s, &t, folder, row);
    row->passed += outcome == PASSED;
    row->skipped += outcome == SKIPPED;
    row->failed += outcome == FAILED;
    if (outcome != PASSED) {
        printf("# %s %s: %s\n", words[outcome], name, t.why);
        snprintf(row->why, sizeof(row->why), "%.96s: %.400s", name, t.why);
    }
    test_close(&t);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void run_folders(struct suite *s, const char *root, const char *only)
{
    static const char *const parts[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    char path[PATH], folder[2 * PATH];

    for (unsigned i = 0; i < BASE_COUNT_OF(parts); i++) {
        struct dirent **entry;
        int count;

        snprintf(path, sizeof(path), "%s/%s", root, parts[i]);
        count = scandir(path, &entry, NULL, by_name);
        for (int k = 0; k < count; k++) {
            snprintf(folder, sizeof(folder), "%s/%s", path, entry[k]->d_name);
            if (entry[k]->d_name[0] != '.' && (!only || strstr(entry[k]->d_name, only)))
                run_folder(s, folder, entry[k]->d_name);
            free(entry[k]);
        }
        if (count >= 0)
            free(entry);
    }
}

static int by_kind(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->kind, ((const struct row *)b)->kind);
}

static void write_json(const struct suite *s, const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        fprintf(stderr, "%s: cannot be written.\n", path);
        exit(1);
    }
    fprintf(file, "{\"kinds\": [");
    for (unsigned i = 0; i < s->rows; i++) {
        const struct row *row = &s->row[i];

        fprintf(
            file,
            "%s\n {\"kind\": \"%s\", \"passed\": %u, \"skipped\": %u, \"failed\": %u, \"error\": %.3g, \"share\": %.3g}",
            i ? "," : "", row->kind, row->passed, row->skipped, row->failed, row->error, row->relative);
    }
    fprintf(file, "\n]}\n");
    fclose(file);
}

/* TAP: a claimed kind needs a pass and no failure; no other kind may fail. */
static bool judge(struct suite *s, bool all)
{
    unsigned number = 0;
    bool good = true;

    for (unsigned i = 0; i < s->rows; i++) {
        struct row *row = &s->row[i];
        bool fine = !row->failed && (row->passed || !is_claimed(row->kind) || !all);

        if (!row->passed && !row->failed && !is_claimed(row->kind)) {
            printf("ok %u - %s # SKIP %s\n", ++number, row->kind, row->why);
            continue;
        }
        printf("%sok %u - %s: %u pass, %u skip, %u fail; error %.3g, at most %.3g of the tolerance\n",
               fine ? "" : "not ", ++number, row->kind, row->passed, row->skipped, row->failed, row->error,
               row->relative);
        good &= fine;
    }
    for (unsigned i = 0; i < BASE_COUNT_OF(claimed) && all; i++)
        if (!row_of(s, claimed[i])->passed) {
            printf("not ok %u - %s has no test that passes\n", ++number, claimed[i]);
            good = false;
        }
    printf("1..%u\n", number);
    return good;
}

/* The row of docs/operators.md must be what was seen here; its error is rounded up. */
static bool is_on_page(const char *page, const struct row *row)
{
    char head[2 * OF_NAME_BYTES];
    const char *found;
    unsigned passed, skipped;
    double error;

    snprintf(head, sizeof(head), "\n| %s | ", row->kind);
    found = strstr(page, head);
    return found && sscanf(found + strlen(head), "%u | %u | %lf |", &passed, &skipped, &error) == 3 &&
           passed == row->passed && skipped == row->skipped && row->error <= error;
}

static bool check_page(struct suite *s)
{
    size_t size;
    uint8_t *bytes = test_file_read(TEST_SOURCE_ROOT "/docs/operators.md", &size);
    char *page = bytes ? realloc(bytes, size + 1) : NULL;
    const char *table = NULL;
    bool good = true;

    assert_non_null(page);
    page[size] = '\0';
    table = strstr(page, "<!-- nodes -->");
    for (unsigned i = 0; i < s->rows; i++)
        if (s->row[i].passed && !(table && is_on_page(table, &s->row[i]))) {
            printf("# docs/operators.md does not say what was seen of %s; scripts/render-nodes writes it\n",
                   s->row[i].kind);
            good = false;
        }
    free(page);
    return good;
}

int main(int argc, char **argv)
{
    static struct suite suite;
    const char *root = getenv("ANEMONE_ONNX_TESTS"), *json = NULL, *only = NULL;
    struct ane_machine *machine;
    bool good;

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json") && i + 1 < argc)
            json = argv[++i];
        else
            only = argv[i];
    setvbuf(stdout, NULL, _IOLBF, 0);
    root = root ? root : FOLDER;
    if (access(root, R_OK)) {
        printf(
            "1..0 # SKIP %s is not there (Debian: libonnx-testdata; or ANEMONE_ONNX_TESTS names the folder)\n",
            root);
        return 0;
    }
    machine = iorig_machine((struct ane_machine_config){0});
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &suite.client), 0);
    run_folders(&suite, root, only);
    qsort(suite.row, suite.rows, sizeof(suite.row[0]), by_kind);
    good = judge(&suite, !only);
    if (!only && !json && !strcmp(root, FOLDER))
        good &= check_page(&suite);
    if (json)
        write_json(&suite, json);
    IOServiceClose(suite.client.connect);
    ane_machine_destroy(machine);
    return good ? 0 : 1;
}
