/* SPDX-License-Identifier: Apache-2.0 */
/* A port's tensor in a .npy file. */
#ifndef TOOL_TENSOR_H
#define TOOL_TENSOR_H

#include "tool/model.h"

/* Fills the port from the file, - for stdin; false after saying why. */
bool tool_tensor_read(struct tool_port *port, const char *path);
/* Writes the port to the file, - for stdout; false after saying why. */
bool tool_tensor_write(const struct tool_port *port, const char *path);

#endif
