/* SPDX-License-Identifier: Apache-2.0 */
/* The command's own little program: y = a + b over [1, 8, 1, 32] fp16 values, channels 64 bytes apart. */
#ifndef TOOL_SAMPLE_H
#define TOOL_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    TOOL_SAMPLE_CHANNELS = 8,
    TOOL_SAMPLE_WIDTH = 32,
    TOOL_SAMPLE_TENSORS = 3,
    TOOL_SAMPLE_FIRST_BAR = 4, /* buffer of y; b and a follow */
    TOOL_SAMPLE_BYTES = TOOL_SAMPLE_CHANNELS * TOOL_SAMPLE_WIDTH * 2
};

/*
 * The descriptor's bytes; its words, or 0 after saying what is wrong. a in buffer 6, b in buffer 5, y in
 * buffer 4.
 */
uint32_t tool_sample_text(uint8_t *bytes, size_t capacity);
/* The program image: ports "b", "a" and "y"; its size, or 0 after saying what is wrong. */
size_t tool_sample_image(uint8_t *bytes, size_t capacity);

#endif
