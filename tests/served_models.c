/* SPDX-License-Identifier: Apache-2.0 */
#include "served_models.h"

#include <stdio.h>
#include <string.h>

#define ROW  "[1, 4, 1, 32]"
#define TYPE "tensor<fp16, " ROW ">"

/* A weight file: header and descriptor of 64 bytes each, then the values (guide facts 3.1). */
#define BLOB_BYTES   64u
#define BLOB_VERSION 2u
#define BLOB_MAGIC   0xdeadbeefu
#define BLOB_FP16    1u
#define WEIGHTS      (SERVED_CHANNELS * SERVED_CHANNELS)

static int weight(unsigned out, unsigned in)
{
    return (int)((out * 5 + in * 3) % 7) - 3;
}

static int larger(int x, int y)
{
    return x > y ? x : y;
}

static int sum(const int *a, const int *b, unsigned i)
{
    return a[i] + b[i];
}

static int difference(const int *a, const int *b, unsigned i)
{
    return a[i] - b[i];
}

static int product(const int *a, const int *b, unsigned i)
{
    return a[i] * b[i];
}

static int maximum(const int *a, const int *b, unsigned i)
{
    return larger(a[i], b[i]);
}

static int rectified(const int *a, const int *b, unsigned i)
{
    return larger(a[i] - b[i], 0);
}

static int mixed(const int *a, const int *b, unsigned i)
{
    int value = b[i];

    for (unsigned in = 0; in < SERVED_CHANNELS; in++)
        value += weight(i / SERVED_WIDTH, in) * a[in * SERVED_WIDTH + i % SERVED_WIDTH];
    return value;
}

static int above_row(const int *a, const int *b, unsigned i)
{
    const int *row = b + i / SERVED_WIDTH * SERVED_WIDTH;
    int most = row[0];

    for (unsigned k = 1; k < SERVED_WIDTH; k++)
        most = larger(most, row[k]);
    return a[i] + most;
}

static int polynomial(const int *a, const int *b, unsigned i)
{
    return (a[i] + b[i]) * a[i] - b[i];
}

const struct served_model served_models[SERVED_MODELS] = {
    {"sum", TYPE " y = add(x = a, y = b)[name = string(\"y\")];", sum},
    {"difference", TYPE " y = sub(x = a, y = b)[name = string(\"y\")];", difference},
    {"product", TYPE " y = mul(x = a, y = b)[name = string(\"y\")];", product},
    {"maximum", TYPE " y = maximum(x = a, y = b)[name = string(\"y\")];", maximum},
    {"rectified",
     TYPE " d = sub(x = a, y = b)[name = string(\"d\")];\n" TYPE " y = relu(x = d)[name = string(\"y\")];",
     rectified},
    {"mixed",
     "tensor<fp16, [4, 4, 1, 1]> W = const()[name = string(\"W\"), val = tensor<fp16, [4, 4, 1, 1]>("
     "BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64(64)))];\n"
     "tensor<int32, [2]> one = const()[name = string(\"one\"), val = tensor<int32, [2]>([1, 1])];\n" TYPE
     " c = conv(x = a, weight = W, strides = one, dilations = one, pad_type = string(\"valid\"), "
     "groups = int32(1))[name = string(\"c\")];\n" TYPE " y = add(x = c, y = b)[name = string(\"y\")];",
     mixed},
    {"above_row",
     "tensor<fp16, [1, 4, 1, 1]> m = reduce_max(x = b, axes = tensor<int32, [1]>([3]), "
     "keep_dims = bool(true))[name = string(\"m\")];\n" TYPE " y = add(x = a, y = m)[name = string(\"y\")];",
     above_row},
    {"polynomial",
     TYPE " s = add(x = a, y = b)[name = string(\"s\")];\n" TYPE
          " p = mul(x = s, y = a)[name = string(\"p\")];\n" TYPE
          " y = sub(x = p, y = b)[name = string(\"y\")];",
     polynomial},
    {"long",
     "tensor<fp16, [1, 4, 1024, 32]> t = tile(x = a, reps = tensor<int32, [4]>([1, 1, 1024, 1]))"
     "[name = string(\"t\")];\n"
     "tensor<fp16, [1, 4, 1024, 32]> s = add(x = t, y = b)[name = string(\"s\")];\n" TYPE
     " y = reduce_max(x = s, axes = tensor<int32, [1]>([2]), keep_dims = bool(true))[name = string(\"y\")];",
     sum},
};

static bool write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[512];
    FILE *file;
    bool written;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (!file)
        return false;
    written = fwrite(bytes, 1, size, file) == size;
    return !fclose(file) && written;
}

/* A whole number as fp16, exactly: below 2048 without its sign. */
static uint16_t half_of(int value)
{
    unsigned number = (unsigned)(value < 0 ? -value : value), exponent = 0;

    if (!number)
        return 0;
    while (number >> (exponent + 1))
        exponent++;
    return (uint16_t)((value < 0 ? 0x8000u : 0) | (exponent + 15) << 10 |
                      (number << (10 - exponent) & 0x3ff));
}

static void put32(uint8_t *to, uint32_t value)
{
    memcpy(to, &value, sizeof(value));
}

static bool write_weights(const char *folder)
{
    uint8_t file[2 * BLOB_BYTES + 2 * WEIGHTS] = {0};

    put32(file, 1);
    put32(file + 4, BLOB_VERSION);
    put32(file + BLOB_BYTES, BLOB_MAGIC);
    put32(file + BLOB_BYTES + 4, BLOB_FP16);
    put32(file + BLOB_BYTES + 8, 2 * WEIGHTS);
    put32(file + BLOB_BYTES + 16, 2 * BLOB_BYTES);
    for (unsigned i = 0; i < WEIGHTS; i++) {
        uint16_t half = half_of(weight(i / SERVED_CHANNELS, i % SERVED_CHANNELS));

        memcpy(file + 2 * BLOB_BYTES + 2 * i, &half, sizeof(half));
    }
    return write_file(folder, "weights.bin", file, sizeof(file));
}

bool served_models_write(const char *folder)
{
    for (unsigned i = 0; i < SERVED_MODELS; i++) {
        char text[2048], name[64];
        int length =
            snprintf(text, sizeof(text),
                     "program(1.3)\n{\nfunc main<ios18>(" TYPE " a, " TYPE " b) {\n%s\n} -> (y);\n}\n",
                     served_models[i].body);

        snprintf(name, sizeof(name), "%s.mil", served_models[i].name);
        if (!write_file(folder, name, text, (size_t)length))
            return false;
    }
    return write_weights(folder);
}

uint64_t served_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void served_operands_make(struct served_operands *operands, uint64_t *random)
{
    for (unsigned i = 0; i < SERVED_VALUES; i++) {
        uint64_t bits = served_random(random);

        operands->a[i] = (int)(bits % 33) - 16;
        operands->b[i] = (int)(bits >> 32) % 33 - 16;
    }
}

void served_operands_put(const struct served_operands *operands, void *a, void *b)
{
    for (unsigned i = 0; i < SERVED_VALUES; i++) {
        uint16_t x = half_of(operands->a[i]), z = half_of(operands->b[i]);

        memcpy((uint8_t *)a + 2 * i, &x, sizeof(x));
        memcpy((uint8_t *)b + 2 * i, &z, sizeof(z));
    }
}

/* A zero of either sign is right. */
unsigned served_model_check(const struct served_model *model, const struct served_operands *operands,
                            const void *y)
{
    for (unsigned i = 0; i < SERVED_VALUES; i++) {
        uint16_t want = half_of(model->expected(operands->a, operands->b, i)), got;

        memcpy(&got, (const uint8_t *)y + 2 * i, sizeof(got));
        if (got != want && !(want == 0 && got == 0x8000))
            return i;
    }
    return SERVED_VALUES;
}
