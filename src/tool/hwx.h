/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle as a program image in a file (.hwx). */
#ifndef TOOL_HWX_H
#define TOOL_HWX_H

#include <stdbool.h>

#include "compiler/compile.h"

/*
 * The image has the bundle's descriptors and constants. Its ports are fp16 and have four axes, as the engine
 * sees them: an image states neither the rank of a tensor nor that the runtime converts it. False after
 * saying why.
 */
bool tool_hwx_write(struct cc_bundle *bundle, const char *path);

#endif
