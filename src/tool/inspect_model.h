/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone inspect` of what is compiled, and of what compiling makes. */
#ifndef TOOL_INSPECT_MODEL_H
#define TOOL_INSPECT_MODEL_H

#include <stdbool.h>

#include "compiler/compile.h"
#include "compiler/onnx/onnx.h"

/* A name that ends in .mil or .onnx. */
bool tool_inspect_is_model(const char *path);
/* Ports, nodes by kind, parameters, MACs; an exit status. */
int tool_inspect_model(const char *path, const struct cc_binding *bindings, uint32_t binding_count,
                       bool as_json);

/* A folder with a manifest. */
bool tool_inspect_is_bundle(const char *path);
/* Ports, records, constants; an exit status. */
int tool_inspect_bundle(const char *path, bool as_json);
/* Of one with host segments. */
void tool_inspect_composite(const char *path, const struct cc_bundle *bundle, const struct cc_report *report,
                            bool as_json);

#endif
