/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --shape NAME=1,3,224,224 and --bind NAME=FILE.npy: the shape of an input that an ONNX model leaves open,
 * and an input that is a constant.
 */
#ifndef TOOL_BINDING_H
#define TOOL_BINDING_H

#include "compiler/compile.h"
#include "compiler/onnx/onnx.h"

#define TOOL_BINDINGS_MAX 64u

struct tool_bindings {
    uint32_t count;
    enum cc_weights weights; /* with which the model is compiled */
    struct cc_binding row[TOOL_BINDINGS_MAX];
    char *name[TOOL_BINDINGS_MAX];
    const char *file[TOOL_BINDINGS_MAX]; /* --bind; NULL: --shape */
    void *data[TOOL_BINDINGS_MAX];
};

/* Takes the words out of argv. False after saying why; release it in any case. */
bool tool_bindings_take(int *argc, char **argv, struct tool_bindings *bindings);
/* Reads the files of --bind. False after saying why. */
bool tool_bindings_read(struct tool_bindings *bindings);
void tool_bindings_release(struct tool_bindings *bindings);
/*
 * The path of a model that is compiled with these bindings, for base_free: a bundle in the cache. NULL after
 * saying why.
 */
char *tool_bindings_compile(const struct tool_bindings *bindings, const char *model, bool fallback);

/* --weights FORM; NULL: not given, and *weights stays. False after saying why. */
bool tool_weights_parse(const char *given, enum cc_weights *weights);

/* What the help of a verb says of them. */
#define TOOL_BINDINGS_HELP                                                                                  \
    "  --shape NAME=1,3,224,224  the shape of an input that an ONNX model leaves open\n"                    \
    "  --bind NAME=FILE.npy      makes an input of an ONNX model a constant; the only way to give one of\n" \
    "                            whole numbers or bools\n"
#define TOOL_WEIGHTS_HELP                                                                                  \
    "  --weights FORM            fp16 (default); int8: 8 bits and a scale per output channel; palette4:\n" \
    "                            16 values per tensor; both for tensors of 2048 elements or more of\n"     \
    "                            convolutions and matrix products, and expanded to fp16 in the program;\n" \
    "                            sparse: zeros are left out where that makes a kernel smaller\n"

#endif
