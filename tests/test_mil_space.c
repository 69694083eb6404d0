/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MIL calls that pad, resize, reorder and gather, and constants that follow from shapes. Each text is read
 * and computed in double precision; the numbers are worked out by hand from coremltools' definitions. The
 * operations themselves run on the machine in test_lower_layout.
 */
#include <math.h>

#include "compiler/eval/eval.h"
#include "mil_text.h"

enum { MOST = 64 };

/* A function of one input whose elements are 0, 1, 2 and so on. */
static const char *of(const char *shape, const char *body)
{
    static char text[0x1000];

    snprintf(text, sizeof(text), "program(1.3)\n{func main<ios18>(tensor<fp16, [%s]> x) {\n%s\n} -> (y);}",
             shape, body);
    return text;
}

static void gives(const char *shape, const char *body, unsigned count, const double *want)
{
    struct cc_graph *graph = parse(of(shape, body));
    const struct cc_value *y = &graph->value[graph->output[0]];
    struct base_error error;
    struct cc_eval eval;
    double x[MOST];

    for (unsigned i = 0; i < MOST; i++)
        x[i] = i;
    assert_true(cc_value_elements(&graph->value[graph->input[0]]) <= MOST);
    assert_int_equal(cc_value_elements(y), count);
    if (cc_eval_open(&eval, graph, &error) || cc_eval_set(&eval, graph->input[0], x, &error) ||
        cc_eval_run(&eval, 0, &error))
        fail_msg("%s", error.text);
    for (unsigned i = 0; i < count; i++)
        if (fabs(eval.value[graph->output[0]][i] - want[i]) > 1e-6)
            fail_msg("%s, element %u: %g, expected %g", body, i, eval.value[graph->output[0]][i], want[i]);
    cc_eval_close(&eval);
    cc_graph_destroy(graph);
}

#define COUNT(...)              (sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define GIVES(shape, body, ...) gives(shape, body, COUNT(__VA_ARGS__), (double[]){__VA_ARGS__})
#define INTS(n, list)           "tensor<int32, [" #n "]>([" list "])"

static void pads(void **state)
{
    (void)state;
    GIVES("2, 2", "tensor<fp16, [2, 5]> y = pad(x = x, pad = " INTS(2, "1, 2") ", constant_val = fp16(7));",
          7, 0, 1, 7, 7, 7, 2, 3, 7, 7);
    GIVES("1, 3",
          "tensor<fp16, [1, 7]> y = pad(x = x, pad = " INTS(4, "0, 0, 2, 2") ", mode = string(\"reflect\"));",
          2, 1, 0, 1, 2, 1, 0);
    GIVES("1, 3",
          "tensor<fp16, [1, 6]> y = pad(x = x, pad = " INTS(2, "1, 2") ", mode = string(\"replicate\"));", 0,
          0, 1, 2, 2, 2);
    refused(of("1, 3",
               "tensor<fp16, [1, 6]> y = pad(x = x, pad = " INTS(2, "3, 0") ", mode = string(\"reflect\"));"),
            EINVAL, "reflects more than its length 3 less 1");
    refused(of("1, 3", "tensor<fp16, [1, 6]> y = pad(x = x, pad = " INTS(3, "1, 1, 1") ");"), EINVAL,
            "pad has 3 numbers");
    refused(of("1, 3", "tensor<fp16, [1, 6]> y = pad(x = x, pad = " INTS(2, "-1, 0") ");"), ERANGE,
            "pad has -1");
    refused(
        of("1, 3", "tensor<fp16, [1, 6]> y = pad(x = x, pad = " INTS(2, "1, 0") ", mode = string(\"odd\"));"),
        EINVAL, "mode is \"odd\"");
}

static void resizes(void **state)
{
    (void)state;
    GIVES("1, 1, 1, 2",
          "tensor<fp16, [1, 1, 2, 4]> y = upsample_nearest_neighbor(x = x, scale_factor_height = "
          "int32(2), scale_factor_width = fp32(2));",
          0, 0, 1, 1, 0, 0, 1, 1);
    /* corners aligned: places 0, 1/3, 2/3, 1 */
    GIVES("1, 1, 1, 2",
          "tensor<fp16, [1, 1, 1, 4]> y = upsample_bilinear(x = x, scale_factor_width = fp32(2), "
          "scale_factor_height = fp32(1));",
          0, 1.0 / 3, 2.0 / 3, 1);
    /* half pixels: places -0.25, 0.25, 0.75, 1.25, kept inside */
    GIVES("1, 1, 1, 2",
          "tensor<fp16, [1, 1, 1, 4]> y = upsample_bilinear(x = x, scale_factor_width = fp32(2), "
          "align_corners = bool(false));",
          0, 0.25, 0.75, 1);
    GIVES("1, 1, 1, 4",
          "tensor<fp16, [1, 1, 1, 2]> y = resize_nearest_neighbor(x = x, target_size_height = "
          "int32(1), target_size_width = int32(2));",
          0, 2);
    /* DEFAULT: places i * in / out */
    GIVES("1, 1, 1, 2",
          "tensor<fp16, [1, 1, 1, 4]> y = resize_bilinear(x = x, target_size_height = int32(1), "
          "target_size_width = int32(4));",
          0, 0.5, 1, 1);
    GIVES("1, 1, 1, 2",
          "tensor<fp16, [1, 1, 1, 4]> y = resize_bilinear(x = x, target_size_height = int32(1), "
          "target_size_width = int32(4), sampling_mode = string(\"UNALIGN_CORNERS\"));",
          0, 0.25, 0.75, 1);
    GIVES("1, 1, 1, 2",
          "tensor<fp16, [1, 1, 1, 3]> y = resize(x = x, shape = " INTS(
              1, "3") ", resized_dims = int32(1), interpolation_mode = string(\"LINEAR\"), sampling_mode = "
                      "string(\"STRICT_ALIGN_CORNERS\"));",
          0, 0.5, 1);
    refused(of("1, 1, 1, 2",
               "tensor<fp16, [1, 1, 1, 4]> y = resize_bilinear(x = x, target_size_height = int32(1), "
               "target_size_width = int32(4), sampling_mode = string(\"OFFSET_CORNERS\"));"),
            EINVAL, "sampling_mode is \"OFFSET_CORNERS\"");
    refused(
        of("1, 1, 1, 2",
           "tensor<fp16, [1, 1, 1, 4]> y = upsample_nearest_neighbor(x = x, scale_factor_width = fp32(0));"),
        ERANGE, "scale_factor_width is 0");
}

static void blocks(void **state)
{
    (void)state;
    GIVES("1, 4, 1, 1", "tensor<fp16, [1, 1, 2, 2]> y = depth_to_space(x = x, block_size = int32(2));", 0, 1,
          2, 3);
    GIVES("1, 8, 1, 1", "tensor<fp16, [1, 2, 2, 2]> y = depth_to_space(x = x, block_size = int32(2));", 0, 2,
          4, 6, 1, 3, 5, 7);
    GIVES("1, 8, 1, 1", "tensor<fp16, [1, 2, 2, 2]> y = pixel_shuffle(x = x, upscale_factor = int32(2));", 0,
          1, 2, 3, 4, 5, 6, 7);
    GIVES("1, 1, 2, 4", "tensor<fp16, [1, 4, 1, 2]> y = space_to_depth(x = x, block_size = int32(2));", 0, 2,
          1, 3, 4, 6, 5, 7);
    GIVES("1, 1, 2, 4", "tensor<fp16, [1, 4, 1, 2]> y = pixel_unshuffle(x = x, downscale_factor = int32(2));",
          0, 2, 1, 3, 4, 6, 5, 7);
    GIVES("4, 1, 1, 1",
          "tensor<fp16, [1, 1, 2, 1]> y = batch_to_space(x = x, block_shape = " INTS(
              2, "2, 2") ", crops = tensor<int32, [2, 2]>([[0, 0], [1, 0]]));",
          1, 3);
    GIVES("1, 1, 2, 1",
          "tensor<fp16, [4, 1, 1, 1]> y = space_to_batch(x = x, block_shape = " INTS(
              2, "2, 2") ", paddings = tensor<int32, [2, 2]>([[0, 0], [0, 1]]));",
          0, 0, 1, 0);
}

static void moves(void **state)
{
    (void)state;
    GIVES("2, 2", "tensor<fp16, [2, 2]> y = reverse(x = x);", 3, 2, 1, 0);
    GIVES("2, 2", "tensor<fp16, [2, 2]> y = reverse(x = x, axes = " INTS(1, "-1") ");", 1, 0, 3, 2);
    GIVES("3, 2", "tensor<fp16, [2, 2]> y = gather(x = x, indices = " INTS(2, "2, 0") ");", 4, 5, 0, 1);
    GIVES("3, 2", "tensor<fp16, [3]> y = gather(x = x, indices = int32(1), axis = int32(1));", 1, 3, 5);
    GIVES("3, 2", "tensor<fp16, [2, 2]> y = gather(x = x, indices = " INTS(2, "-1, 0") ");", 4, 5, 0, 1);
    GIVES("4", "tensor<fp16, [2, 3]> y = sliding_windows(x = x, axis = int32(0), size = int32(3));", 0, 1, 2,
          1, 2, 3);
    GIVES("4", "tensor<fp16, [4]> y = cumsum(x = x, axis = int32(0), exclusive = bool(true));", 0, 0, 1, 3);
    GIVES("4", "tensor<fp16, [4]> y = cumsum(x = x, reverse = bool(true));", 6, 6, 5, 3);
    GIVES("1, 1, 3, 3",
          "tensor<fp16, [1, 1, 2, 1]> y = crop(x = x, crop_height = " INTS(2, "0, 1") ", crop_width = " INTS(
              2, "1, 1") ");",
          1, 4);
    GIVES("2, 1, 3", "tensor<fp16, [2, 3]> y = flatten2d(x = x);", 0, 1, 2, 3, 4, 5);
    GIVES("2, 3", "tensor<fp16, [2, 3]> y = band_part(x = x, lower = int32(0), upper = int32(1));", 0, 1, 0,
          0, 4, 5);
    refused(of("3, 2", "tensor<fp16, [2, 2]> y = gather(x = x, indices = " INTS(2, "3, 0") ");"), EINVAL,
            "index 3 is outside axis 0 of length 3");
    refused(of("3, 2", "tensor<fp16, [2, 2]> y = gather(x = x, indices = x);"), EOPNOTSUPP,
            "this engine gathers at constant indices");
}

#define INDEX(shape, begin, end, more) \
    "tensor<fp16, [" shape "]> y = slice_by_index(x = x, begin = " begin ", end = " end ", " more ");"

static void strides(void **state)
{
    (void)state;
    GIVES("7", INDEX("3", INTS(1, "1"), INTS(1, "7"), "stride = " INTS(1, "2")), 1, 3, 5);
    GIVES("7", INDEX("3", INTS(1, "5"), INTS(1, "0"), "stride = " INTS(1, "-2")), 5, 3, 1);
    GIVES(
        "5",
        INDEX("5", INTS(1, "0"), INTS(1, "0"),
              "stride = " INTS(
                  1, "-1") ", begin_mask = tensor<bool, [1]>([true]), end_mask = tensor<bool, [1]>([true])"),
        4, 3, 2, 1, 0);
    GIVES(
        "2, 3",
        INDEX(
            "3", INTS(2, "1, 2"), INTS(2, "0, 0"),
            "stride = " INTS(
                2,
                "1, -1") ", end_mask = tensor<bool, [2]>([false, true]), squeeze_mask = tensor<bool, [2]>([true, false])"),
        5, 4, 3);
    GIVES("2, 2",
          "tensor<fp16, [2, 4]> y = concat(values = (x, x), axis = int32(1), interleave = bool(true));", 0, 0,
          1, 1, 2, 2, 3, 3);
    GIVES("2, 2",
          "tensor<fp16, [2, 2]> z = reverse(x = x); tensor<fp16, [4, 2]> y = concat(values = (x, z), axis = "
          "int32(0), interleave = bool(true));",
          0, 1, 3, 2, 2, 3, 1, 0);
}

/* Shapes and ranges are parameters of later calls. */
static void constants(void **state)
{
    (void)state;
    GIVES("2, 2",
          "tensor<fp16, [2, 2]> c = fill(shape = " INTS(
              2, "2, 2") ", value = fp16(3)); tensor<fp16, [2, 2]> y = add(x = x, y = c);",
          3, 4, 5, 6);
    GIVES("2, 2",
          "tensor<fp16, [2, 2]> c = fill_like(ref_tensor = x, value = fp16(3)); tensor<fp16, [2, 2]> y = "
          "sub(x = x, y = c);",
          -3, -2, -1, 0);
    GIVES(
        "3",
        "tensor<int32, [2]> r = range_1d(start = int32(0), end = int32(3), step = int32(2)); tensor<fp16, [2]> "
        "y = gather(x = x, indices = r);",
        0, 2);
    GIVES(
        "2, 3",
        "tensor<int32, [2]> s = shape(x = x); tensor<fp16, [2, 3]> r = reverse(x = x); tensor<fp16, [2, 3]> "
        "y = reshape(x = r, shape = s);",
        5, 4, 3, 2, 1, 0);
    refused(
        of("3",
           "tensor<int32, [2]> r = range_1d(start = int32(3), end = int32(3), step = int32(1)); tensor<fp16, "
           "[2]> y = gather(x = x, indices = r);"),
        ERANGE, "end gives 0 elements");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pads),  cmocka_unit_test(resizes), cmocka_unit_test(blocks),
        cmocka_unit_test(moves), cmocka_unit_test(strides), cmocka_unit_test(constants),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
