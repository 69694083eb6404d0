/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed weights of MIL text: dense constants, with values worked out by hand. */
#include "mil_text.h"

#define MAX 16

/* A call that gives w, and the elements that w must have. */
struct good {
    const char *body;
    double is[MAX];
};

/* `w` goes into y by way of an addition, so that the graph has it as a constant operand. */
static struct cc_graph *parse_weights(const char *body, const char *type)
{
    static char text[0x2000];

    snprintf(text, sizeof(text),
             "program(1.3)\n{func main<ios18>(%s a) {\n%s\n%s y = add(x = a, y = w);} -> (y);}", type, body,
             type);
    return parse(text);
}

static void check(const char *type, const struct good *good)
{
    struct cc_graph *graph = parse_weights(good->body, type);
    const struct cc_value *w = &graph->value[graph->op[graph->ops - 1].input[1]];

    assert_non_null(w->data);
    for (uint64_t i = 0; i < cc_value_elements(w); i++)
        if (cc_value_number(w, i) != good->is[i])
            fail_msg("%s: element %u is %g, expected %g", good->body, (unsigned)i, cc_value_number(w, i),
                     good->is[i]);
    cc_graph_destroy(graph);
}

#define W23 "tensor<fp16, [2, 3]>"
#define W8  "tensor<fp16, [8]>"

static void affine(void **state)
{
    static const struct good good[] = {
        /* 0.5 * (q - 1) */
        {W23
         " w = constexpr_affine_dequantize(axis = int32(0), quantized_data = tensor<int8, [2, 3]>([-128, 0, 1, 2, 3, "
         "127]), scale = fp16(0.5), zero_point = int8(1))[name = string(\"w\")];",
         {-64.5, -0.5, 0, 0.5, 1, 63}},
        /* scales 2 and 4, zero points 10 and 20, along axis 0 */
        {"tensor<uint8, [2, 3]> q = const()[val = tensor<uint8, [2, 3]>([[10, 11, 255], [20, 0, 21]])];"
         "tensor<fp16, [2]> s = const()[val = tensor<fp16, [2]>([2, 4])]; tensor<uint8, [2]> z = const()[val = "
         "tensor<uint8, [2]>([10, 20])];" W23
         " w = constexpr_affine_dequantize(axis = int32(0), quantized_data = q, scale = s, zero_point = z);",
         {0, 2, 490, 0, -80, 4}},
        /* scales along axis 1 */
        {W23
         " w = constexpr_affine_dequantize(axis = int32(-1), quantized_data = tensor<int8, [2, 3]>([1, 1, 1, 2, 2, "
         "2]), scale = tensor<fp16, [3]>([1, 10, 100]), zero_point = int8(0));",
         {1, 10, 100, 2, 20, 200}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check(W23, &good[i]);
}

static void blockwise(void **state)
{
    static const struct good good[] = {
        {"tensor<fp16, [2, 4]> w = constexpr_blockwise_shift_scale(data = tensor<int4, [2, 4]>([-8, 7, 1, 2, 3, 4, 5, "
         "6]), scale = tensor<fp16, [2, 2]>([1, 10, 100, 1000]));",
         {-8, 7, 10, 20, 300, 400, 5000, 6000}},
        {"tensor<fp16, [2, 4]> w = constexpr_blockwise_shift_scale(data = tensor<uint4, [2, 4]>([0, 15, 1, 2, 3, 4, 5, "
         "6]), scale = tensor<fp16, [1, 2]>([0.5, 2]), offset = tensor<uint4, [1, 2]>([8, 1]));",
         {-4, 3.5, 0, 2, -2.5, -2, 8, 10}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check("tensor<fp16, [2, 4]>", &good[i]);
}

static void tables(void **state)
{
    static const struct good good[] = {
        /* 1 bit, packed: 0xa5 is 1 0 1 0 0 1 0 1 from the low bit */
        {W8
         " w = constexpr_lut_to_dense(indices = tensor<uint8, [1]>([165]), lut = tensor<fp16, [2]>([-1, 1]), shape = "
         "tensor<uint32, [1]>([8]));",
         {1, -1, 1, -1, -1, 1, -1, 1}},
        /* 4 bits: the low nibble first */
        {W8
         " w = constexpr_lut_to_dense(indices = tensor<uint8, [4]>([16, 50, 84, 254]), lut = tensor<fp16, [16]>([0, 10, "
         "20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150]), shape = tensor<uint32, [1]>([8]));",
         {0, 10, 20, 30, 40, 50, 140, 150}},
        /* 1 bit, a table for each half */
        {W8
         " w = constexpr_lut_to_dense(indices = tensor<uint1, [8]>([0, 1, 1, 0, 0, 1, 1, 0]), lut = tensor<fp16, [2, 2, "
         "1]>([1, 2, 3, 4]));",
         {1, 2, 2, 1, 3, 4, 4, 3}},
        /* vectors of two */
        {W8
         " w = constexpr_lut_to_dense(indices = tensor<uint2, [4]>([3, 0, 1, 2]), lut = tensor<fp16, [1, 4, 2]>([1, 2, "
         "3, 4, 5, 6, 7, 8]), vector_axis = int32(0));",
         {7, 8, 1, 2, 3, 4, 5, 6}},
    };
    static const struct good deep = {
        /* a table per channel of a kernel of four axes: the table has six */
        "tensor<fp16, [2, 2, 1, 2]> w = constexpr_lut_to_dense(indices = tensor<uint1, [2, 2, 1, 2]>([0, 1, 0, 1, 1, 1, 0, "
        "0]), lut = t);",
        {1, 2, 1, 2, 4, 4, 3, 3}};
    char text[0x400];
    struct good with_table = deep;

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check(W8, &good[i]);
    snprintf(
        text, sizeof(text),
        "tensor<fp16, [2, 1, 1, 1, 2, 1]> t = const()[val = tensor<fp16, [2, 1, 1, 1, 2, 1]>([1, 2, 3, 4])]; %s",
        deep.body);
    with_table.body = text;
    check("tensor<fp16, [2, 2, 1, 2]>", &with_table);
}

static void sparse(void **state)
{
    static const struct good good[] = {
        /* 0x92: bits 1, 4 and 7 */
        {W8
         " w = constexpr_sparse_to_dense(nonzero_data = tensor<fp16, [3]>([5, 6, 7]), mask = tensor<uint8, [1]>([146]), "
         "shape = tensor<uint32, [1]>([8]));",
         {0, 5, 0, 0, 6, 0, 0, 7}},
        {W8
         " w = constexpr_sparse_to_dense(nonzero_data = tensor<fp16, [2]>([5, 6]), mask = tensor<uint1, [8]>([1, 0, 0, "
         "0, 0, 0, 1, 0]));",
         {5, 0, 0, 0, 0, 0, 6, 0}},
    };
    static const struct good cast = {
        "tensor<fp32, [8]> w32 = constexpr_cast(source_val = tensor<fp16, [8]>([1, 2, 3, 4, 5, 6, "
        "7, 0.5]), output_dtype = string(\"fp32\")); " W8 " w = cast(x = w32, dtype = string(\"fp16\"));",
        {1, 2, 3, 4, 5, 6, 7, 0.5}};

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check(W8, &good[i]);
    check(W8, &cast);
}

/* The same types in a weight file: type code, bytes, and the elements as text. */
static void files(void **state)
{
    static const struct {
        const char *type;
        unsigned code, bytes;
        uint8_t byte[8];
        double is[8];
    } good[] = {
        {"int8", 4, 8, {0x80, 0xff, 0, 1, 2, 3, 4, 0x7f}, {-128, -1, 0, 1, 2, 3, 4, 127}},
        {"uint8", 3, 8, {0x80, 0xff, 0, 1, 2, 3, 4, 0x7f}, {128, 255, 0, 1, 2, 3, 4, 127}},
        {"int4", 8, 4, {0x18, 0x2f, 0x30, 0x74}, {-8, 1, -1, 2, 0, 3, 4, 7}},
        {"uint4", 11, 4, {0x18, 0x2f, 0x30, 0x74}, {8, 1, 15, 2, 0, 3, 4, 7}},
        /* 1 2 3 4 5 6 7 0 of three bits, from the low bit up: 11 010 001, 1 101 100 0, 000 111 11 */
        {"uint3", 12, 3, {0xd1, 0x58, 0x1f}, {1, 2, 3, 4, 5, 6, 7, 0}},
        {"uint1", 9, 1, {0x92}, {0, 1, 0, 0, 1, 0, 0, 1}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint8_t file[128 + 8] = {0};
        char body[0x400];
        struct good want = {body, {0}};

        put_le(file, 1, 4);
        put_le(file + 4, 2, 4);
        put_le(file + 64, 0xdeadbeef, 4);
        put_le(file + 68, good[i].code, 4);
        put_le(file + 72, good[i].bytes, 8);
        put_le(file + 80, 128, 8);
        memcpy(file + 128, good[i].byte, good[i].bytes);
        folder_write(WEIGHT_FILE, file, 128 + good[i].bytes);
        snprintf(body, sizeof(body),
                 "tensor<%s, [8]> q = const()[val = tensor<%s, [8]>(BLOBFILE(path = "
                 "string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))]; " W8
                 " w = constexpr_blockwise_shift_scale(data = q, scale = tensor<fp16, [1]>([2]));",
                 good[i].type, good[i].type);
        for (unsigned k = 0; k < 8; k++)
            want.is[k] = 2 * good[i].is[k];
        check(W8, &want);
    }
    write_weights();
}

static void wrong_calls(void **state)
{
    static const struct {
        const char *type, *call, *sentence;
    } bad[] = {
        {"fp16", "constexpr_affine_dequantize(axis = int32(0), scale = fp16(1), zero_point = int8(0))",
         "has no argument `quantized_data`, which it needs"},
        {"fp16",
         "constexpr_affine_dequantize(axis = int32(0), quantized_data = fp16(1), scale = fp16(1), zero_point = int8(0))",
         "quantized_data is fp16, expected int8 or uint8"},
        {W8,
         "constexpr_affine_dequantize(axis = int32(0), quantized_data = tensor<int8, [2]>([1, 2]), scale = fp16(1), "
         "zero_point = uint8(0))",
         "zero_point is uint8, expected the type of quantized_data"},
        {W8,
         "constexpr_affine_dequantize(axis = int32(0), quantized_data = tensor<int8, [2]>([1, 2]), scale = "
         "tensor<fp16, [3]>([1, 2, 3]), zero_point = int8(0))",
         "scale is tensor<fp16, [3]>, expected one number or 2, as long as the axis"},
        {W8,
         "constexpr_affine_dequantize(axis = int32(0), quantized_data = tensor<int8, [2]>([1, 2]), scale = fp16(1), "
         "zero_point = int8(0))",
         "it gives tensor<fp16, [2]>, but tensor<fp16, [8]> is declared"},
        {W8,
         "constexpr_affine_dequantize(axis = int32(0), quantized_data = tensor<int8, [2]>([1, 128]), scale = "
         "fp16(1), zero_point = int8(0))",
         "found `128`, expected at most 127"},
        {W8,
         "constexpr_blockwise_shift_scale(data = tensor<int4, [8]>([1, 2, 3, 4, 5, 6, 7, 8]), scale = fp16(1))",
         "found `8`, expected at most 7"},
        {W8,
         "constexpr_blockwise_shift_scale(data = tensor<int4, [8]>([1, 2, 3, 4, 5, 6, 7, 0]), scale = fp16(1))",
         "scale is fp16, expected 1 axes"},
        {W8,
         "constexpr_blockwise_shift_scale(data = tensor<int4, [8]>([1, 2, 3, 4, 5, 6, 7, 0]), scale = tensor<fp16, "
         "[3]>([1, 2, 3]))",
         "axis 0 does not divide the 8 of the data"},
        {W8,
         "constexpr_lut_to_dense(indices = tensor<uint8, [2]>([16, 50]), lut = tensor<fp16, [2]>([1, 2]), shape = "
         "tensor<uint32, [1]>([8]))",
         "indices is tensor<uint8, [2]>, expected 1 of uint8: 1 bits for each of 8 elements"},
        {W8,
         "constexpr_lut_to_dense(indices = tensor<uint8, [2]>([16, 50]), lut = tensor<fp16, [3]>([1, 2, 3]), shape = "
         "tensor<uint32, [1]>([8]))",
         "lut is tensor<fp16, [3]>, expected 2, 4, 16, 64 or 256 values"},
        {W8,
         "constexpr_lut_to_dense(indices = tensor<uint1, [2]>([0, 1]), lut = tensor<fp16, [1, 4, 1]>([1, 2, 3, 4]))",
         "expected 2 values for indices of 1 bits"},
        {W8,
         "constexpr_lut_to_dense(indices = tensor<uint1, [4]>([0, 1, 0, 1]), lut = tensor<fp16, [1, 2, 2]>([1, 2, 3, 4]))",
         "has no argument `vector_axis`, which it needs"},
        {W8,
         "constexpr_sparse_to_dense(nonzero_data = tensor<fp16, [2]>([5, 6]), mask = tensor<uint8, [1]>([146]), "
         "shape = tensor<uint32, [1]>([8]))",
         "nonzero_data has 2 values, expected the 3 that mask has"},
        {W8,
         "constexpr_sparse_to_dense(nonzero_data = tensor<fp16, [2]>([5, 6]), mask = tensor<uint8, [2]>([146, 0]), "
         "shape = tensor<uint32, [1]>([8]))",
         "mask is tensor<uint8, [2]>, expected 1 of uint8"},
        {W8, "constexpr_cast(source_val = tensor<fp16, [1]>([1]), output_dtype = string(\"int8\"))",
         "output_dtype is \"int8\", expected \"fp32\""},
        {"tensor<fp16, [1, 1, 1, 1, 1, 1]>",
         "constexpr_cast(source_val = tensor<fp16, [1]>([1]), output_dtype = string(\"fp32\"))",
         "found a tensor of more than 5 axes"},
        {W8, "relu(x = tensor<int8, [8]>([1, 2, 3, 4, 5, 6, 7, 8]))",
         "found tensor<int8, [8]> as an operand, expected a tensor of numbers"},
    };
    char body[0x1000];

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bool at_range = strstr(bad[i].sentence, "at most") != NULL;

        snprintf(body, sizeof(body), "%s y = %s;", bad[i].type, bad[i].call);
        refused(around(body), at_range ? ERANGE : EINVAL, bad[i].sentence);
    }
}

/* Every allocation fails once. */
static void no_memory(void **state)
{
    const char *text;
    struct base_error error;
    int status = -ENOMEM;

    (void)state;
    text = around(
        W8
        " w = constexpr_lut_to_dense(indices = tensor<uint8, [1]>([165]), lut = tensor<fp16, [2]>([-1, 1]), "
        "shape = tensor<uint32, [1]>([8])); " W8
        " v = constexpr_sparse_to_dense(nonzero_data = tensor<fp16, [3]>([5, 6, 7]), mask = tensor<uint8, "
        "[1]>([146]), shape = tensor<uint32, [1]>([8])); " W8 " y = add(x = w, y = v);");
    for (unsigned long n = 1; status; n++) {
        struct cc_graph *graph = NULL;

        base_alloc_fail_nth(n);
        status = cc_mil_read(text, strlen(text), NULL, &graph, &error);
        base_alloc_fail_nth(0);
        assert_true(status == 0 || status == -ENOMEM);
        cc_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine),    cmocka_unit_test(blockwise), cmocka_unit_test(tables),
        cmocka_unit_test(sparse),    cmocka_unit_test(files),     cmocka_unit_test(wrong_calls),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
