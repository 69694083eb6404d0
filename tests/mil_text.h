/* SPDX-License-Identifier: Apache-2.0 */
/* A MIL text with its weight file in a folder of its own, texts like it, and what should become of them. */
#ifndef TESTS_MIL_TEXT_H
#define TESTS_MIL_TEXT_H

#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "compiler/graph/graph.h"
#include "folder.h"

__attribute__((unused)) static const char example[] =
    "program(1.3)\n"
    "[buildInfo = dict<string, string>({{\"coremlc-component-MIL\", \"3510.2.1\"}, {\"coremlc-version\", \"3505.4.1\"}})]\n"
    "{\n"
    "    func main<ios18>(tensor<fp32, [1, 8, 16, 16]> x) {\n"
    "        string to16 = const()[name = string(\"to16\"), val = string(\"fp16\")];\n"
    "        tensor<fp16, [1, 8, 16, 16]> x16 = cast(dtype = to16, x = x)[name = string(\"cast_in\")];\n"
    "        tensor<fp16, [8, 8, 3, 3]> W = const()[name = string(\"W\"), val = tensor<fp16, [8, 8, 3, 3]>(BLOBFILE(path = string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))];\n"
    "        string pt = const()[name = string(\"pt\"), val = string(\"custom\")];\n"
    "        tensor<int32, [4]> pad = const()[name = string(\"pad\"), val = tensor<int32, [4]>([1, 1, 1, 1])];\n"
    "        tensor<int32, [2]> st = const()[name = string(\"st\"), val = tensor<int32, [2]>([1, 1])];\n"
    "        int32 gr = const()[name = string(\"gr\"), val = int32(1)];\n"
    "        tensor<fp16, [1, 8, 16, 16]> c = conv(dilations = st, groups = gr, pad = pad, pad_type = pt, strides = st, weight = W, x = x16)[name = string(\"conv\")];\n"
    "        tensor<fp16, [1, 8, 16, 16]> r = relu(x = c)[name = string(\"relu\")];\n"
    "        tensor<int32, [2]> ax = const()[name = string(\"ax\"), val = tensor<int32, [2]>([2, 3])];\n"
    "        bool kd = const()[name = string(\"kd\"), val = bool(true)];\n"
    "        tensor<fp16, [1, 8, 1, 1]> y = reduce_mean(axes = ax, keep_dims = kd, x = r)[name = string(\"mean\")];\n"
    "    } -> (y);\n"
    "}\n";

#define WEIGHT_BYTES (8 * 8 * 3 * 3 * 2)
#define FILE_BYTES   (128 + WEIGHT_BYTES)

#define WEIGHT_FILE "weights/weight.bin"

static inline void put_le(uint8_t *bytes, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

/* Weight i is the half whose bits are i. */
static inline void make_weights(uint8_t file[FILE_BYTES])
{
    memset(file, 0, FILE_BYTES);
    put_le(file, 1, 4);
    put_le(file + 4, 2, 4);
    put_le(file + 64, 0xdeadbeef, 4);
    put_le(file + 68, 1, 4);
    put_le(file + 72, WEIGHT_BYTES, 8);
    put_le(file + 80, 128, 8);
    for (unsigned i = 0; i < WEIGHT_BYTES / 2; i++)
        put_le(file + 128 + 2 * i, i, 2);
}

static inline void write_weights(void)
{
    uint8_t file[FILE_BYTES];

    make_weights(file);
    folder_write(WEIGHT_FILE, file, sizeof(file));
}

static inline int set_up(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_path("weights"), 0700), 0);
    write_weights();
    return 0;
}

static inline struct cc_graph *parse(const char *text)
{
    struct cc_graph *graph;
    struct base_error error;

    if (cc_mil_read(text, strlen(text), folder_name(), &graph, &error))
        fail_msg("%s", error.text);
    assert_non_null(graph);
    assert_int_equal(cc_graph_check(graph, &error), 0);
    return graph;
}

static inline void refused(const char *text, int code, const char *sentence)
{
    struct cc_graph *graph;
    struct base_error error = {""};
    int status = cc_mil_read(text, strlen(text), folder_name(), &graph, &error);

    if (status != -code || !strstr(error.text, sentence))
        fail_msg("%d \"%s\", expected %d \"%s\" of\n%s", status, error.text, -code, sentence, text);
    assert_null(graph);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(error.text[strlen(error.text) - 1], '.');
}

/* A function of two inputs around a body that defines y. */
static inline const char *around(const char *body)
{
    static char text[0x4000];

    snprintf(
        text, sizeof(text),
        "program(1.3)\n{func main<ios18>(tensor<fp16, [1, 4, 6, 8]> a, tensor<fp16, [4, 1, 8]> b) {\n%s\n} -> (y);}",
        body);
    return text;
}

/* The example with one piece replaced by another. */
static inline const char *changed(const char *piece, const char *by)
{
    static char text[0x4000];
    const char *at = strstr(example, piece);

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - example), example, by, at + strlen(piece));
    return text;
}

#endif
