/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "blob.h"
#include "engine/half.h"

#define TEXT_BYTES 2048u

#define DENSE(label, c, h, n, k, s, want)                                                             \
    {                                                                                                 \
        .name = (label), .kind = BENCH_CONV, .in = {1, (c), (h), (h)}, .outputs = (n), .kernel = (k), \
        .stride = (s), .groups = 1, .target = (want)                                                  \
    }
#define PRODUCT(label, m, k, n, want)                                                                   \
    {                                                                                                   \
        .name = (label), .kind = BENCH_LINEAR, .in = {1, 1, (m), (k)}, .outputs = (n), .target = (want) \
    }
#define STREAM(label, what, c, h, w)                                                    \
    {                                                                                   \
        .name = (label), .kind = (what), .in = {1, (c), (h), (w)}, .share = LIMIT_SHARE \
    }
#define POOL(label, c, h)                                                                            \
    {                                                                                                \
        .name = (label), .kind = BENCH_MAX_POOL, .in = {1, (c), (h), (h)}, .kernel = 3, .stride = 2, \
        .share = LIMIT_SHARE                                                                         \
    }
#define LIMIT_SHARE 0.8

const struct bench_operation bench_operations[] = {
    {.name = "tiny graph of ch. 2",
     .kind = BENCH_TINY,
     .in = {1, 8, 16, 16},
     .outputs = 8,
     .kernel = 3,
     .stride = 1,
     .groups = 1,
     .target = 1 / 0.6},
    PRODUCT("gemm 256x256x256", 256, 256, 256, 0.97),
    PRODUCT("gemm 1024x1024x1024", 1024, 1024, 1024, 0.97),
    PRODUCT("gemm 64x4096x4096", 64, 4096, 4096, 0.97),
    {.name = "gemv 1x4096x4096",
     .kind = BENCH_LINEAR,
     .in = {1, 1, 1, 4096},
     .outputs = 4096,
     .target = 2.3,
     .share = 0.85},
    DENSE("conv 3x3 64->64 56x56", 64, 56, 64, 3, 1, 1.4),
    DENSE("conv 3x3 128->128 28x28", 128, 28, 128, 3, 1, 1.4),
    DENSE("conv 3x3 256->256 14x14", 256, 14, 256, 3, 1, 1.4),
    DENSE("conv 1x1 256->256 14x14", 256, 14, 256, 1, 1, 0.97),
    DENSE("conv 7x7/2 3->64 224x224", 3, 224, 64, 7, 2, 0.97),
    {.name = "depthwise 3x3 128 56x56",
     .kind = BENCH_CONV,
     .in = {1, 128, 56, 56},
     .outputs = 128,
     .kernel = 3,
     .stride = 1,
     .groups = 128,
     .target = 1},
    STREAM("sigmoid 64x56x56", BENCH_SIGMOID, 64, 56, 56),
    STREAM("sigmoid 64x512x512", BENCH_SIGMOID, 64, 512, 512),
    STREAM("sigmoid 4096x1x1", BENCH_SIGMOID, 4096, 1, 1),
    STREAM("softmax 12x128x128", BENCH_SOFTMAX, 12, 128, 128),
    STREAM("softmax 64x512x512", BENCH_SOFTMAX, 64, 512, 512),
    STREAM("layer norm 1x256x768", BENCH_LAYER_NORM, 1, 256, 768),
    STREAM("layer norm 16x1024x1024", BENCH_LAYER_NORM, 16, 1024, 1024),
    POOL("max pool 3x3/2 64x56x56", 64, 56),
    POOL("max pool 3x3/2 64x512x512", 64, 512),
    STREAM("add 64x56x56", BENCH_ADD, 64, 56, 56),
    STREAM("add 64x512x512", BENCH_ADD, 64, 512, 512),
    STREAM("add 4096x1x1", BENCH_ADD, 4096, 1, 1),
    STREAM("channels last 64x56x56", BENCH_CHANNELS_LAST, 64, 56, 56),
    STREAM("channels last 64x512x512", BENCH_CHANNELS_LAST, 64, 512, 512),
    STREAM("transpose 64x64x64", BENCH_SWAP_LAST, 64, 64, 64),
    STREAM("transpose 64x512x512", BENCH_SWAP_LAST, 64, 512, 512),
};
const unsigned bench_operations_count = BASE_COUNT_OF(bench_operations);

static uint32_t windows(uint32_t length, const struct bench_operation *o)
{
    return (length + 2 * (o->kernel / 2) - o->kernel) / o->stride + 1;
}

void bench_operation_out(const struct bench_operation *o, uint32_t out[4])
{
    memcpy(out, o->in, sizeof(o->in));
    switch (o->kind) {
    case BENCH_TINY:
        out[1] = o->outputs;
        out[2] = out[3] = 1;
        break;
    case BENCH_CONV:
        out[1] = o->outputs;
        out[2] = windows(o->in[2], o);
        out[3] = windows(o->in[3], o);
        break;
    case BENCH_MAX_POOL:
        out[2] = windows(o->in[2], o);
        out[3] = windows(o->in[3], o);
        break;
    case BENCH_LINEAR: out[3] = o->outputs; break;
    case BENCH_CHANNELS_LAST:
        out[1] = o->in[2];
        out[2] = o->in[3];
        out[3] = o->in[1];
        break;
    case BENCH_SWAP_LAST:
        out[2] = o->in[3];
        out[3] = o->in[2];
        break;
    case BENCH_SIGMOID:
    case BENCH_SOFTMAX:
    case BENCH_LAYER_NORM:
    case BENCH_ADD: break;
    }
}

uint64_t bench_elements(const uint32_t dim[4])
{
    return (uint64_t)dim[0] * dim[1] * dim[2] * dim[3];
}

unsigned bench_operation_inputs(const struct bench_operation *o)
{
    return o->kind == BENCH_ADD ? 2 : 1;
}

bool bench_operation_computes(const struct bench_operation *o)
{
    return o->kind != BENCH_MAX_POOL && o->kind != BENCH_CHANNELS_LAST && o->kind != BENCH_SWAP_LAST;
}

uint64_t bench_operation_weights(const struct bench_operation *o)
{
    if (o->kind == BENCH_LINEAR)
        return (uint64_t)o->outputs * o->in[3];
    if (o->kind == BENCH_CONV || o->kind == BENCH_TINY)
        return (uint64_t)o->outputs * (o->in[1] / o->groups) * o->kernel * o->kernel;
    return 0;
}

uint64_t bench_operation_work(const struct bench_operation *o)
{
    if (o->kind == BENCH_LINEAR)
        return bench_operation_weights(o) * o->in[2];
    return bench_operation_weights(o)
               ? bench_operation_weights(o) * windows(o->in[2], o) * windows(o->in[3], o)
               : 0;
}

uint64_t bench_surface_bytes(const uint32_t dim[4])
{
    return (uint64_t)dim[0] * dim[1] * dim[2] * ((dim[3] * 2u + 63u) / 64u * 64u);
}

float bench_value(uint64_t index, unsigned which)
{
    uint32_t mixed = (uint32_t)(index * 2654435761u + which * 40503u) >> 16;

    return (float)((int)(mixed % 257) - 128) / 128;
}

/* A power of two, so that the product is exact. */
float bench_weight(const struct bench_operation *o, uint64_t index)
{
    uint64_t terms = bench_operation_weights(o) / o->outputs;
    float scale = 1;

    while (scale * scale * (float)terms > 1)
        scale /= 2;
    return bench_value(index, 2) * scale;
}

/* The weights of the operation, which is `context`. */
static void fill_weights(uint16_t *half, size_t numbers, void *context)
{
    const struct bench_operation *const *o = context;

    for (size_t i = 0; i < numbers; i++)
        half[i] = eng_float_to_half(bench_weight(*o, i));
}

static bool write_weights(const struct bench_operation *o, const char *folder)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/weights.bin", folder);
    return bench_blob_write(path, 1, bench_operation_weights(o), fill_weights, &o);
}

static void shape_text(const uint32_t dim[4], char text[64])
{
    snprintf(text, 64, "[%u, %u, %u, %u]", dim[0], dim[1], dim[2], dim[3]);
}

static void conv_text(const struct bench_operation *o, char *text)
{
    const uint32_t pad = o->kernel / 2;

    snprintf(
        text, TEXT_BYTES,
        "conv(x = x, weight = tensor<fp16, [%u, %u, %u, %u]>(BLOBFILE(path = "
        "string(\"@model_path/weights.bin\"), offset = uint64(64))), strides = tensor<int32, [2]>([%u, %u]), "
        "dilations = tensor<int32, [2]>([1, 1]), pad_type = string(\"custom\"), pad = tensor<int32, "
        "[4]>([%u, %u, %u, %u]), groups = int32(%u))",
        o->outputs, o->in[1] / o->groups, o->kernel, o->kernel, o->stride, o->stride, pad, pad, pad, pad,
        o->groups);
}

/* What is behind the equals sign of the result. */
static void body_text(const struct bench_operation *o, char *text)
{
    switch (o->kind) {
    case BENCH_TINY:
        snprintf(text, TEXT_BYTES,
                 "reduce_mean(x = r, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(true))");
        return;
    case BENCH_CONV: conv_text(o, text); return;
    case BENCH_LINEAR:
        snprintf(text, TEXT_BYTES,
                 "linear(x = x, weight = tensor<fp16, [%u, %u]>(BLOBFILE(path = "
                 "string(\"@model_path/weights.bin\"), offset = uint64(64))))",
                 o->outputs, o->in[3]);
        return;
    case BENCH_SIGMOID: snprintf(text, TEXT_BYTES, "sigmoid(x = x)"); return;
    case BENCH_SOFTMAX: snprintf(text, TEXT_BYTES, "softmax(x = x, axis = int32(-1))"); return;
    case BENCH_LAYER_NORM:
        snprintf(text, TEXT_BYTES,
                 "layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp16(0x1p-10))");
        return;
    case BENCH_MAX_POOL:
        snprintf(text, TEXT_BYTES,
                 "max_pool(x = x, kernel_sizes = tensor<int32, [2]>([%u, %u]), strides = tensor<int32, "
                 "[2]>([%u, %u]), pad_type = string(\"custom\"), pad = tensor<int32, [4]>([%u, %u, %u, %u]))",
                 o->kernel, o->kernel, o->stride, o->stride, o->kernel / 2, o->kernel / 2, o->kernel / 2,
                 o->kernel / 2);
        return;
    case BENCH_ADD: snprintf(text, TEXT_BYTES, "add(x = x, y = z)"); return;
    case BENCH_CHANNELS_LAST:
        snprintf(text, TEXT_BYTES, "transpose(x = x, perm = tensor<int32, [4]>([0, 2, 3, 1]))");
        return;
    case BENCH_SWAP_LAST:
        snprintf(text, TEXT_BYTES, "transpose(x = x, perm = tensor<int32, [4]>([0, 1, 3, 2]))");
        return;
    }
}

static void write_text(const struct bench_operation *o, FILE *file)
{
    uint32_t out[4], middle[4] = {1, o->outputs, o->in[2], o->in[3]};
    char in_shape[64], out_shape[64], middle_shape[64], text[TEXT_BYTES] = "";

    bench_operation_out(o, out);
    shape_text(o->in, in_shape);
    shape_text(out, out_shape);
    shape_text(middle, middle_shape);
    if (o->kind == BENCH_LINEAR) {
        snprintf(in_shape, sizeof(in_shape), "[%u, %u]", o->in[2], o->in[3]);
        snprintf(out_shape, sizeof(out_shape), "[%u, %u]", out[2], out[3]);
    }
    fprintf(file, "program(1.3)\n{\n    func main<ios18>(tensor<fp16, %s> x", in_shape);
    if (bench_operation_inputs(o) == 2)
        fprintf(file, ", tensor<fp16, %s> z", in_shape);
    fprintf(file, ") {\n");
    if (o->kind == BENCH_TINY) {
        conv_text(o, text);
        fprintf(file, "        tensor<fp16, %s> c = %s;\n", middle_shape, text);
        fprintf(file, "        tensor<fp16, %s> r = relu(x = c);\n", middle_shape);
    }
    body_text(o, text);
    fprintf(file, "        tensor<fp16, %s> y = %s;\n    } -> (y);\n}\n", out_shape, text);
}

bool bench_operation_write(const struct bench_operation *o, const char *folder, const char *path)
{
    FILE *file;

    if (bench_operation_weights(o) && !write_weights(o, folder))
        return false;
    file = fopen(path, "w");
    if (!file)
        return false;
    write_text(o, file);
    return !fclose(file);
}
