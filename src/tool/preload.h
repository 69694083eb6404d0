/* SPDX-License-Identifier: Apache-2.0 */
/* The library for LD_PRELOAD: where it is. */
#ifndef TOOL_PRELOAD_H
#define TOOL_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#define TOOL_PRELOAD_NAME "libanemone-accel.so"

/*
 * Its path: beside the command, as in a build folder, or where it is installed with the command. False, after
 * a message, when it is at neither place.
 */
bool tool_preload_path(char *path, size_t room);

#endif
