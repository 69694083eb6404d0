/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's models as files, and what they compute. Inputs and weights are small whole numbers, so that
 * every sum is exact in fp16 and the expected result, computed in integers, can be compared for equality.
 * Larger ones would break that.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tool/demo.h"
#include "tool/npy.h"
#include "tool/tool.h"

#define WEIGHTS      (DEMO_CHANNELS * DEMO_CHANNELS * DEMO_KERNEL * DEMO_KERNEL)
#define OPEN_FOLDERS 16

/* A weight file: header and descriptor of 64 bytes each, then the values (guide facts 3.1). */
#define BLOB_BYTES   64u
#define BLOB_VERSION 2u
#define BLOB_MAGIC   0xdeadbeefu
#define BLOB_FP16    1u

static const char accumulator[] =
    "program(1.3)\n"
    "{\n"
    "    func main<ios18>(tensor<fp16, [1, 8, 1, 32]> state_in, tensor<fp16, [1, 8, 1, 32]> x) {\n"
    "        tensor<fp16, [1, 8, 1, 32]> state_out = add(x = state_in, y = x)[name = string(\"step\")];\n"
    "    } -> (state_out);\n"
    "}\n";

static const char network[] =
    "program(1.3)\n"
    "{\n"
    "    func main<ios18>(tensor<fp16, [1, 8, 16, 16]> x) {\n"
    "        tensor<fp16, [8, 8, 3, 3]> W = const()[name = string(\"W\"), val = tensor<fp16, [8, 8, 3, 3]>("
    "BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64(64)))];\n"
    "        tensor<int32, [4]> pad = const()[name = string(\"pad\"), "
    "val = tensor<int32, [4]>([1, 1, 1, 1])];\n"
    "        tensor<int32, [2]> one = const()[name = string(\"one\"), val = tensor<int32, [2]>([1, 1])];\n"
    "        tensor<fp16, [1, 8, 16, 16]> c = conv(x = x, weight = W, strides = one, dilations = one, "
    "pad_type = string(\"custom\"), pad = pad, groups = int32(1))[name = string(\"conv\")];\n"
    "        tensor<fp16, [1, 8, 16, 16]> r = relu(x = c)[name = string(\"relu\")];\n"
    "        tensor<fp16, [1, 8, 1, 1]> y = reduce_mean(x = r, axes = tensor<int32, [2]>([2, 3]), "
    "keep_dims = bool(true))[name = string(\"mean\")];\n"
    "    } -> (y);\n"
    "}\n";

/* Whole numbers, small enough that every sum below 2048 is exact in half precision. */
int tool_demo_input(unsigned channel, unsigned row, unsigned column)
{
    return (int)((channel * 5 + row * 7 + column * 3) % 5) - 2;
}

static int weight(uint32_t place)
{
    return (int)((place * 2654435761u >> 16) % 3) - 1;
}

static uint32_t weight_place(unsigned out, unsigned in, unsigned row, unsigned column)
{
    return ((out * DEMO_CHANNELS + in) * DEMO_KERNEL + row) * DEMO_KERNEL + column;
}

static int convolve(unsigned out, int row, int column)
{
    int sum = 0;

    for (unsigned in = 0; in < DEMO_CHANNELS; in++)
        for (int i = 0; i < DEMO_KERNEL; i++)
            for (int j = 0; j < DEMO_KERNEL; j++) {
                int y = row + i - 1, x = column + j - 1;

                if (y >= 0 && y < DEMO_SIDE && x >= 0 && x < DEMO_SIDE)
                    sum += tool_demo_input(in, (unsigned)y, (unsigned)x) *
                           weight(weight_place(out, in, (unsigned)i, (unsigned)j));
            }
    return sum;
}

int tool_demo_expected(unsigned channel)
{
    int sum = 0;

    for (int row = 0; row < DEMO_SIDE; row++)
        for (int column = 0; column < DEMO_SIDE; column++) {
            int value = convolve(channel, row, column);

            sum += value > 0 ? value : 0;
        }
    return sum;
}

static void put32(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

bool tool_demo_weights_write(const char *path, uint32_t count)
{
    size_t bytes = 2 * BLOB_BYTES + 2 * (size_t)count;
    uint8_t *file = base_alloc(bytes), *at;
    bool good;

    if (!file) {
        tool_say("no memory for %u weights.", count);
        return false;
    }
    put32(file, 1);
    put32(file + 4, BLOB_VERSION);
    put32(file + BLOB_BYTES, BLOB_MAGIC);
    put32(file + BLOB_BYTES + 4, BLOB_FP16);
    put32(file + BLOB_BYTES + 8, 2 * count);
    put32(file + BLOB_BYTES + 16, 2 * BLOB_BYTES);
    at = file + 2 * BLOB_BYTES;
    for (uint32_t place = 0; place < count; place++, at += 2) {
        float value = (float)weight(place);

        tool_convert_float(TOOL_FP16, at, TOOL_FP32, &value, 1);
    }
    good = tool_file_write(path, file, bytes);
    base_free(file);
    return good;
}

bool tool_demo_models_write(struct tool_demo_models *models)
{
    char weights[96];

    snprintf(models->folder, sizeof(models->folder), "/tmp/anemone-demo-XXXXXX");
    if (!mkdtemp(models->folder)) {
        tool_say("/tmp: no folder could be made: %s.", strerror(errno));
        models->folder[0] = '\0';
        return false;
    }
    snprintf(models->accumulator, sizeof(models->accumulator), "%s/accumulator.mil", models->folder);
    snprintf(models->network, sizeof(models->network), "%s/network.mil", models->folder);
    snprintf(weights, sizeof(weights), "%s/weights.bin", models->folder);
    return tool_file_write(models->accumulator, accumulator, sizeof(accumulator) - 1) &&
           tool_file_write(models->network, network, sizeof(network) - 1) &&
           tool_demo_weights_write(weights, WEIGHTS);
}

static int remove_one(const char *path, const struct stat *about, int flag, struct FTW *ftw)
{
    (void)about, (void)flag, (void)ftw;
    remove(path);
    return 0;
}

void tool_demo_models_remove(const struct tool_demo_models *models)
{
    if (models->folder[0])
        nftw(models->folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
