/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's image in a file, as `anemone inspect` shows it. */
#ifndef TOOL_FIRMWARE_H
#define TOOL_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes begin as an Image4 file does. */
bool tool_firmware_is(const uint8_t *bytes, size_t size);
/* Checks the image and prints it. An exit status. */
int tool_firmware_show(const char *path, const uint8_t *bytes, size_t size, bool as_json);

#endif
