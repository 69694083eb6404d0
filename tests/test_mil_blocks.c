/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small networks in MIL text, written as converters write them: constants with names, calls with their
 * arguments in alphabetical order, fp32 at the ends. Each is run through the whole machine and compared with
 * the operations' definitions in double precision.
 */
#include "mil_text.h"

#include "e5rig.h"
#include "lower_machine.h"

enum { TEXT_BYTES = 1 << 20 };

/*
 * `$8,4,3,3$` becomes a constant of that shape: numbers that keep a sum over all axes but the first near 1;
 * `$+8$` has them from 0.5 to 1.
 */
static char *filled(const char *text, uint64_t stream)
{
    char *out = malloc(TEXT_BYTES), *at = out;
    struct test_rng rng;

    assert_non_null(out);
    test_rng_init(&rng, stream);
    while (*text) {
        unsigned long dims[4], count = 1, rank = 0;
        bool positive;
        char *end;

        assert_true(at - out < TEXT_BYTES - 64);
        if (*text != '$') {
            *at++ = *text++;
            continue;
        }
        positive = *++text == '+';
        text += positive;
        for (;; text = end + 1) {
            assert_true(rank < 4);
            dims[rank] = strtoul(text, &end, 10);
            count *= dims[rank++];
            if (*end == '$')
                break;
        }
        text = end + 1;
        at += sprintf(at, "tensor<fp16, [");
        for (unsigned i = 0; i < rank; i++)
            at += sprintf(at, i ? ", %lu" : "%lu", dims[i]);
        at += sprintf(at, "]>([");
        for (unsigned long i = 0; i < count; i++) {
            unsigned draw = (unsigned)test_rng_range(&rng, 0, 64);
            double number =
                positive ? 0.5 + draw / 128.0
                         : (draw / 32.0 - 1) / (rank > 1 ? 1 + (double)count / (double)dims[0] / 8 : 2);

            assert_true(at - out < TEXT_BYTES - 64);
            at += sprintf(at, i ? ", %.6f" : "%.6f", number);
        }
        at += sprintf(at, "])");
    }
    *at = '\0';
    return out;
}

/* Returns the number of descriptors. */
static uint32_t check_network(const char *text, uint64_t stream, double slack)
{
    char *whole = filled(text, stream);
    uint32_t descriptors;
    struct gr g;

    gr_open(&g, stream, GR_REAL);
    cc_graph_destroy(g.graph);
    g.graph = parse(whole);
    g.slack = slack;
    descriptors = gr_check(&g, &client);
    gr_close(&g);
    free(whole);
    return descriptors;
}

#define HEAD "program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-version\", \"3304.6.2\"}})]\n{\n"

#define ONES_AND_SAME                                                                                   \
    "tensor<int32, [2]> one = const()[name = string(\"one\"), val = tensor<int32, [2]>([1, 1])];\n"     \
    "tensor<int32, [2]> two = const()[name = string(\"two\"), val = tensor<int32, [2]>([2, 2])];\n"     \
    "tensor<int32, [4]> p1 = const()[name = string(\"p1\"), val = tensor<int32, [4]>([1, 1, 1, 1])];\n" \
    "tensor<int32, [4]> p0 = const()[name = string(\"p0\"), val = tensor<int32, [4]>([0, 0, 0, 0])];\n" \
    "string custom = const()[name = string(\"custom\"), val = string(\"custom\")];\n"                   \
    "string same = const()[name = string(\"same\"), val = string(\"same\")];\n"                         \
    "string valid = const()[name = string(\"valid\"), val = string(\"valid\")];\n"                      \
    "int32 g1 = const()[name = string(\"g1\"), val = int32(1)];\n"                                      \
    "fp16 eps = const()[name = string(\"eps\"), val = fp16(0x1.06p-10)];\n"

/* Convolutions with folded norms, a projection on the way past, a sum, pooling, a classifier. */
static void residual_block(void **state)
{
    (void)state;
    check_network(
        HEAD
        "func main<ios17>(tensor<fp32, [2, 6, 15, 17]> image) {\n" ONES_AND_SAME
        "string f16 = const()[name = string(\"f16\"), val = string(\"fp16\")];\n"
        "string f32 = const()[name = string(\"f32\"), val = string(\"fp32\")];\n"
        "tensor<fp16, [2, 6, 15, 17]> x = cast(dtype = f16, x = image)[name = string(\"cast_0\")];\n"
        "tensor<fp16, [10, 6, 3, 3]> w1 = const()[name = string(\"w1\"), val = $10,6,3,3$];\n"
        "tensor<fp16, [2, 10, 8, 9]> c1 = conv(bias = $10$, dilations = one, groups = g1, pad = p1, pad_type = custom, strides = two, weight = w1, x = x)[name = string(\"c1\")];\n"
        "tensor<fp16, [2, 10, 8, 9]> n1 = batch_norm(beta = $10$, epsilon = eps, gamma = $+10$, mean = $10$, variance = $+10$, x = c1)[name = string(\"n1\")];\n"
        "tensor<fp16, [2, 10, 8, 9]> r1 = relu(x = n1)[name = string(\"r1\")];\n"
        "tensor<fp16, [2, 10, 8, 9]> c2 = conv(dilations = one, groups = g1, pad = p0, pad_type = same, strides = one, weight = $10,10,3,3$, x = r1)[name = string(\"c2\")];\n"
        "tensor<fp16, [2, 10, 8, 9]> s = conv(dilations = one, groups = g1, pad = p0, pad_type = valid, strides = two, weight = $10,6,1,1$, x = x)[name = string(\"s\")];\n"
        "tensor<fp16, [2, 10, 8, 9]> a = add(x = c2, y = s)[name = string(\"a\")];\n"
        "tensor<fp16, [2, 10, 8, 9]> r2 = relu(x = a)[name = string(\"r2\")];\n"
        "tensor<fp16, [2, 10, 4, 4]> mp = max_pool(ceil_mode = bool(false), kernel_sizes = two, pad = p0, pad_type = valid, strides = two, x = r2)[name = string(\"mp\")];\n"
        "tensor<fp16, [2, 10, 1, 1]> gap = reduce_mean(axes = tensor<int32, [2]>([-2, -1]), keep_dims = bool(true), x = mp)[name = string(\"gap\")];\n"
        "tensor<fp16, [2, 10]> flat = reshape(shape = tensor<int32, [2]>([2, -1]), x = gap)[name = string(\"flat\")];\n"
        "tensor<fp16, [2, 7]> fc = linear(bias = $7$, weight = $7,10$, x = flat)[name = string(\"fc\")];\n"
        "tensor<fp16, [2, 7]> soft = softmax(axis = int32(-1), x = fc)[name = string(\"soft\")];\n"
        "tensor<fp32, [2, 7]> scores = cast(dtype = f32, x = soft)[name = string(\"cast_1\")];\n"
        "tensor<fp32, [2, 10]> features = cast(dtype = f32, x = flat)[name = string(\"cast_2\")];\n"
        "} -> (scores, features);\n}\n",
        0x400000, 32);
}

/* Expanded, depthwise with stride 2, squeezed and excited, projected. */
static void inverted_residual(void **state)
{
    (void)state;
    check_network(
        HEAD
        "func main<ios16>(tensor<fp16, [1, 5, 9, 33]> x) {\n" ONES_AND_SAME
        "tensor<fp16, [1, 20, 9, 33]> e = conv(bias = $20$, dilations = one, groups = g1, pad = p0, pad_type = valid, strides = one, weight = $20,5,1,1$, x = x)[name = string(\"e\")];\n"
        "tensor<fp16, [1, 20, 9, 33]> e6 = relu6(x = e)[name = string(\"e6\")];\n"
        "tensor<fp16, [1, 20, 5, 17]> d = conv(bias = $20$, dilations = one, groups = int32(20), pad = p1, pad_type = custom, strides = two, weight = $20,1,3,3$, x = e6)[name = string(\"d\")];\n"
        "tensor<fp16, [1, 20, 5, 17]> d6 = clip(alpha = fp16(0x0p+0), beta = fp16(0x1.8p+2), x = d)[name = string(\"d6\")];\n"
        "tensor<fp16, [1, 20, 1, 1]> q = reduce_mean(axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(true), x = d6)[name = string(\"q\")];\n"
        "tensor<fp16, [1, 3, 1, 1]> q1 = conv(bias = $3$, dilations = one, groups = g1, pad = p0, pad_type = valid, strides = one, weight = $3,20,1,1$, x = q)[name = string(\"q1\")];\n"
        "tensor<fp16, [1, 3, 1, 1]> q2 = relu(x = q1)[name = string(\"q2\")];\n"
        "tensor<fp16, [1, 20, 1, 1]> q3 = conv(bias = $20$, dilations = one, groups = g1, pad = p0, pad_type = valid, strides = one, weight = $20,3,1,1$, x = q2)[name = string(\"q3\")];\n"
        "tensor<fp16, [1, 20, 1, 1]> q4 = sigmoid(x = q3)[name = string(\"q4\")];\n"
        "tensor<fp16, [1, 20, 5, 17]> m = mul(x = d6, y = q4)[name = string(\"m\")];\n"
        "tensor<fp16, [1, 7, 5, 17]> y = conv(bias = $7$, dilations = one, groups = g1, pad = p0, pad_type = valid, strides = one, weight = $7,20,1,1$, x = m)[name = string(\"y\")];\n"
        "} -> (y);\n}\n",
        0x400100, 32);
}

/*
 * Norm, heads by reshape and transpose, scores with a mask, a sum past it, norm, two layers with gelu, a sum.
 */
static void transformer_block(void **state)
{
    uint32_t descriptors;

    (void)state;
    descriptors = check_network(
        HEAD
        "func main<ios18>(tensor<fp16, [2, 11, 24]> x, tensor<fp16, [1, 1, 11, 11]> mask) {\n"
        "fp16 eps = const()[name = string(\"eps\"), val = fp16(0x1.06p-10)];\n"
        "bool yes = const()[name = string(\"yes\"), val = bool(true)];\n"
        "bool no = const()[name = string(\"no\"), val = bool(false)];\n"
        "tensor<int32, [1]> last = const()[name = string(\"last\"), val = tensor<int32, [1]>([-1])];\n"
        "tensor<int32, [4]> heads = const()[name = string(\"heads\"), val = tensor<int32, [4]>([2, 11, 3, 8])];\n"
        "tensor<int32, [4]> swap = const()[name = string(\"swap\"), val = tensor<int32, [4]>([0, 2, 1, 3])];\n"
        "tensor<fp16, [2, 11, 24]> n = layer_norm(axes = last, beta = $24$, epsilon = eps, gamma = $+24$, x = x)[name = string(\"n\")];\n"
        "tensor<fp16, [2, 11, 72]> qkv = linear(bias = $72$, weight = $72,24$, x = n)[name = string(\"qkv\")];\n"
        "tensor<fp16, [2, 11, 24]> q0, tensor<fp16, [2, 11, 24]> k0, tensor<fp16, [2, 11, 24]> v0 = split(axis = int32(2), num_splits = int32(3), x = qkv)[name = string(\"parts\")];\n"
        "tensor<fp16, [2, 11, 3, 8]> q1 = reshape(shape = heads, x = q0)[name = string(\"q1\")];\n"
        "tensor<fp16, [2, 11, 3, 8]> k1 = reshape(shape = heads, x = k0)[name = string(\"k1\")];\n"
        "tensor<fp16, [2, 11, 3, 8]> v1 = reshape(shape = heads, x = v0)[name = string(\"v1\")];\n"
        "tensor<fp16, [2, 3, 11, 8]> q = transpose(perm = swap, x = q1)[name = string(\"q\")];\n"
        "tensor<fp16, [2, 3, 11, 8]> k = transpose(perm = swap, x = k1)[name = string(\"k\")];\n"
        "tensor<fp16, [2, 3, 11, 8]> v = transpose(perm = swap, x = v1)[name = string(\"v\")];\n"
        "tensor<fp16, [2, 3, 11, 11]> s = matmul(transpose_x = no, transpose_y = yes, x = q, y = k)[name = string(\"s\")];\n"
        "tensor<fp16, [2, 3, 11, 11]> s1 = real_div(x = s, y = fp16(0x1.6ap+1))[name = string(\"s1\")];\n"
        "tensor<fp16, [2, 3, 11, 11]> s2 = add(x = s1, y = mask)[name = string(\"s2\")];\n"
        "tensor<fp16, [2, 3, 11, 11]> p = softmax(axis = int32(-1), x = s2)[name = string(\"p\")];\n"
        "tensor<fp16, [2, 3, 11, 8]> o = matmul(transpose_x = no, transpose_y = no, x = p, y = v)[name = string(\"o\")];\n"
        "tensor<fp16, [2, 11, 3, 8]> o1 = transpose(perm = swap, x = o)[name = string(\"o1\")];\n"
        "tensor<fp16, [2, 11, 24]> o2 = reshape(shape = tensor<int32, [3]>([2, 11, -1]), x = o1)[name = string(\"o2\")];\n"
        "tensor<fp16, [2, 11, 24]> o3 = linear(bias = $24$, weight = $24,24$, x = o2)[name = string(\"o3\")];\n"
        "tensor<fp16, [2, 11, 24]> h = add(x = x, y = o3)[name = string(\"h\")];\n"
        "tensor<fp16, [2, 11, 24]> n2 = layer_norm(axes = last, beta = $24$, epsilon = eps, gamma = $+24$, x = h)[name = string(\"n2\")];\n"
        "tensor<fp16, [2, 11, 50]> f = linear(bias = $50$, weight = $50,24$, x = n2)[name = string(\"f\")];\n"
        "tensor<fp16, [2, 11, 50]> g = gelu(mode = string(\"EXACT\"), x = f)[name = string(\"g\")];\n"
        "tensor<fp16, [2, 11, 24]> f2 = linear(bias = $24$, weight = $24,50$, x = g)[name = string(\"f2\")];\n"
        "tensor<fp16, [2, 11, 24]> y = add(x = h, y = f2)[name = string(\"y\")];\n"
        "} -> (y);\n}\n",
        0x400200, 128);
    /* Six products of matrices twice, and a few tasks for each of the rest. */
    assert_true(descriptors < 150);
}

/* Down, and up again by tiling, with what was there before beside it. */
static void skip_connection(void **state)
{
    (void)state;
    check_network(
        HEAD
        "func main<ios15>(tensor<fp16, [1, 4, 8, 20]> x) {\n" ONES_AND_SAME
        "tensor<fp16, [1, 6, 8, 20]> a = conv(bias = $6$, dilations = one, groups = g1, pad = p0, pad_type = same, strides = one, weight = $6,4,3,3$, x = x)[name = string(\"a\")];\n"
        "tensor<fp16, [1, 6, 8, 20]> a1 = leaky_relu(alpha = fp16(0x1p-3), x = a)[name = string(\"a1\")];\n"
        "tensor<fp16, [1, 6, 4, 10]> b = avg_pool(ceil_mode = bool(false), exclude_padding_from_average = bool(true), kernel_sizes = two, pad = p0, pad_type = valid, strides = two, x = a1)[name = string(\"b\")];\n"
        "tensor<fp16, [1, 12, 4, 10]> b1 = conv(dilations = one, groups = int32(2), pad = p0, pad_type = same, strides = one, weight = $12,3,3,3$, x = b)[name = string(\"b1\")];\n"
        "tensor<fp16, [1, 12, 4, 10]> b2 = tanh(x = b1)[name = string(\"b2\")];\n"
        "tensor<fp16, [48, 10, 1]> u = reshape(shape = tensor<int32, [3]>([48, 10, 1]), x = b2)[name = string(\"u\")];\n"
        "tensor<fp16, [48, 10, 2]> u1 = tile(reps = tensor<int32, [3]>([1, 1, 2]), x = u)[name = string(\"u1\")];\n"
        "tensor<fp16, [12, 4, 1, 20]> u2 = reshape(shape = tensor<int32, [4]>([12, 4, 1, 20]), x = u1)[name = string(\"u2\")];\n"
        "tensor<fp16, [12, 4, 2, 20]> u3 = tile(reps = tensor<int32, [4]>([1, 1, 2, 1]), x = u2)[name = string(\"u3\")];\n"
        "tensor<fp16, [1, 12, 8, 20]> u4 = reshape(shape = tensor<int32, [4]>([1, 12, 8, 20]), x = u3)[name = string(\"u4\")];\n"
        "tensor<fp16, [1, 18, 8, 20]> c = concat(axis = int32(1), interleave = bool(false), values = (a1, u4))[name = string(\"c\")];\n"
        "tensor<fp16, [1, 3, 8, 20]> y = conv(dilations = one, groups = g1, pad = p0, pad_type = valid, strides = one, weight = $3,18,1,1$, x = c)[name = string(\"y\")];\n"
        "} -> (y, b2);\n}\n",
        0x400300, 64);
}

/* One step of a cell with gates, its states in and out. */
static void gated_cell(void **state)
{
    (void)state;
    check_network(
        HEAD
        "func main<ios17>(tensor<fp16, [3, 9]> x, tensor<fp16, [3, 7]> h, tensor<fp16, [3, 7]> c) {\n"
        "tensor<fp16, [3, 28]> zx = linear(bias = $28$, weight = $28,9$, x = x)[name = string(\"zx\")];\n"
        "tensor<fp16, [28, 7]> wh = const()[name = string(\"wh\"), val = $28,7$];\n"
        "tensor<fp16, [3, 28]> zh = matmul(transpose_x = bool(false), transpose_y = bool(true), x = h, y = wh)[name = string(\"zh\")];\n"
        "tensor<fp16, [3, 28]> z = add(x = zx, y = zh)[name = string(\"z\")];\n"
        "tensor<fp16, [3, 7]> zi, tensor<fp16, [3, 7]> zf, tensor<fp16, [3, 7]> zo, tensor<fp16, [3, 7]> zg = split(axis = int32(-1), split_sizes = tensor<int32, [4]>([7, 7, 7, 7]), x = z)[name = string(\"gates\")];\n"
        "tensor<fp16, [3, 7]> i = sigmoid(x = zi)[name = string(\"i\")];\n"
        "tensor<fp16, [3, 7]> f = sigmoid(x = zf)[name = string(\"f\")];\n"
        "tensor<fp16, [3, 7]> o = sigmoid(x = zo)[name = string(\"o\")];\n"
        "tensor<fp16, [3, 7]> g = tanh(x = zg)[name = string(\"g\")];\n"
        "tensor<fp16, [3, 7]> fc = mul(x = f, y = c)[name = string(\"fc\")];\n"
        "tensor<fp16, [3, 7]> ig = mul(x = i, y = g)[name = string(\"ig\")];\n"
        "tensor<fp16, [3, 7]> c_out = add(x = fc, y = ig)[name = string(\"c_out\")];\n"
        "tensor<fp16, [3, 7]> t = tanh(x = c_out)[name = string(\"t\")];\n"
        "tensor<fp16, [3, 7]> h_out = mul(x = o, y = t)[name = string(\"h_out\")];\n"
        "} -> (h_out, c_out);\n}\n",
        0x400400, 64);
}

/* Windows over one axis, as for sound: [N, C, W] throughout. */
static void windows_over_a_line(void **state)
{
    (void)state;
    check_network(
        HEAD
        "func main<ios16>(tensor<fp16, [2, 5, 70]> x) {\n"
        "tensor<int32, [1]> one = const()[name = string(\"one\"), val = tensor<int32, [1]>([1])];\n"
        "tensor<int32, [1]> two = const()[name = string(\"two\"), val = tensor<int32, [1]>([2])];\n"
        "tensor<int32, [2]> p1 = const()[name = string(\"p1\"), val = tensor<int32, [2]>([1, 2])];\n"
        "tensor<int32, [2]> p0 = const()[name = string(\"p0\"), val = tensor<int32, [2]>([0, 0])];\n"
        "tensor<fp16, [2, 12, 36]> a = conv(bias = $12$, dilations = one, groups = int32(1), pad = p1, pad_type = string(\"custom\"), strides = two, weight = $12,5,3$, x = x)[name = string(\"a\")];\n"
        "tensor<fp16, [2, 12, 36]> a1 = gelu(mode = string(\"EXACT\"), x = a)[name = string(\"a1\")];\n"
        "tensor<fp16, [2, 12, 36]> b = conv(dilations = one, groups = int32(12), pad = p0, pad_type = string(\"same\"), strides = one, weight = $12,1,5$, x = a1)[name = string(\"b\")];\n"
        "tensor<fp16, [2, 12, 17]> m = max_pool(ceil_mode = bool(false), kernel_sizes = tensor<int32, [1]>([3]), pad = p0, pad_type = string(\"valid\"), strides = two, x = b)[name = string(\"m\")];\n"
        "tensor<fp16, [2, 12, 9]> v = avg_pool(ceil_mode = bool(false), exclude_padding_from_average = bool(false), kernel_sizes = two, pad = p0, pad_type = string(\"same\"), strides = two, x = m)[name = string(\"v\")];\n"
        "tensor<fp16, [2, 4, 9]> y = conv(weight = $4,12,1$, x = v)[name = string(\"y\")];\n"
        "} -> (y, m);\n}\n",
        0x400800, 64);
}

/* gamma and beta have one row where the elements of x stand on a row each. */
static void norm_over_columns(void **state)
{
    static const char *const texts[] = {
        HEAD
        "func main<ios18>(tensor<fp16, [2, 33, 1, 1]> x) {\n"
        "tensor<fp16, [2, 33, 1, 1]> y = layer_norm(axes = tensor<int32, [1]>([1]), beta = $33$, epsilon = fp16(0x1p-7), gamma = $33$, x = x)[name = string(\"y\")];\n"
        "} -> (y);\n}\n",
        HEAD
        "func main<ios18>(tensor<fp16, [4, 7, 1]> x) {\n"
        "tensor<fp16, [4, 7, 1]> y = layer_norm(axes = tensor<int32, [2]>([0, 1]), epsilon = fp16(0x1p-7), gamma = $4,7$, x = x)[name = string(\"y\")];\n"
        "} -> (y);\n}\n",
        HEAD
        "func main<ios18>(tensor<fp16, [2, 3, 5, 1]> x) {\n"
        "tensor<fp16, [2, 3, 5, 1]> y = layer_norm(axes = tensor<int32, [2]>([1, 2]), beta = $3,5$, epsilon = fp16(0x1p-7), x = x)[name = string(\"y\")];\n"
        "} -> (y);\n}\n",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_network(texts[i], 0x400500 + i, 32);
}

/* 1 / y of these is more than a half holds, or so little that few of its bits are left; x / y is neither. */
static void division_by_extremes(void **state)
{
    static const char *const text =
        HEAD "func main<ios18>(tensor<fp16, [3, 37]> x) {\n"
             "tensor<fp16, [3, 37]> small = mul(x = x, y = fp16(%s))[name = string(\"small\")];\n"
             "tensor<fp16, [3, 37]> y = real_div(x = small, y = fp16(%s))[name = string(\"y\")];\n"
             "} -> (y);\n}\n";
    static const char *const pairs[][2] = {{"0x1p-10", "0x1p-15"},    {"0x1p-9", "-0x1.8p-17"},
                                           {"0x1p-12", "0x1p-24"},    {"30000", "60000"},
                                           {"-16384", "0x1.554p+14"}, {"1", "3"}};

    (void)state;
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char whole[1024];

        snprintf(whole, sizeof(whole), text, pairs[i][0], pairs[i][1]);
        check_network(whole, 0x400600 + i, i == 2 ? 64 : 4);
    }
}

/* Each descriptor of a tile doubles what is there. */
static void repetitions_double(void **state)
{
    (void)state;
    assert_int_equal(
        check_network(
            HEAD
            "func main<ios18>(tensor<fp16, [1, 2, 1, 9]> x) {\n"
            "tensor<fp16, [1, 2, 1000, 9]> y = tile(reps = tensor<int32, [4]>([1, 1, 1000, 1]), x = x)[name = string(\"y\")];\n"
            "} -> (y);\n}\n",
            0x400700, 0),
        11);
    check_network(
        HEAD
        "func main<ios18>(tensor<fp16, [2, 3, 1, 5]> x) {\n"
        "tensor<fp16, [6, 3, 7, 65]> y = tile(reps = tensor<int32, [4]>([3, 1, 7, 13]), x = x)[name = string(\"y\")];\n"
        "} -> (y);\n}\n",
        0x400701, 0);
}

/* What no port can have is told with its place in the text. */
static void ports_are_refused_in_place(void **state)
{
    struct gr g;

    (void)state;
    gr_open(&g, 0x400900, GR_REAL);
    cc_graph_destroy(g.graph);
    g.graph = parse("program(1.3)\n{func main<ios18>(tensor<fp16, [65536, 512, 1, 1]> x) {\n"
                    "tensor<fp16, [65536, 512, 1, 1]> y = relu(x = x);\n} -> (y);}");
    assert_string_equal(
        gr_refusal(&g),
        "Line 2, column 52: input `x`: `x` has more than 1073741824 bytes with its rows on 64-byte boundaries.");
    gr_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residual_block),       cmocka_unit_test(inverted_residual),
        cmocka_unit_test(transformer_block),    cmocka_unit_test(skip_connection),
        cmocka_unit_test(gated_cell),           cmocka_unit_test(norm_over_columns),
        cmocka_unit_test(division_by_extremes), cmocka_unit_test(repetitions_double),
        cmocka_unit_test(windows_over_a_line),  cmocka_unit_test(ports_are_refused_in_place),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
