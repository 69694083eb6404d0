/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `anemone demo`. */
#ifndef TOOL_DEMO_H
#define TOOL_DEMO_H

#include <anemone/machine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bare machine; an exit status. */
int tool_demo_bare(ane_trace_fn trace);

/* A folder of its own, with the demo's models in it; false after saying why. */
struct tool_demo_models {
    char folder[64];
    char accumulator[96], network[96]; /* paths */
};
bool tool_demo_models_write(struct tool_demo_models *models);
/* A weight file with so many small whole numbers, the same each time. */
bool tool_demo_weights_write(const char *path, uint32_t count);
void tool_demo_models_remove(const struct tool_demo_models *models);

/* The network of ch. 2: a 3x3 convolution from 8 channels to 8 with padding 1, relu, mean over 16x16. */
enum { DEMO_CHANNELS = 8, DEMO_SIDE = 16, DEMO_KERNEL = 3, DEMO_PIXELS = DEMO_SIDE * DEMO_SIDE };
int tool_demo_input(unsigned channel, unsigned row, unsigned column);
/* The mean times DEMO_PIXELS, by plain sums of whole numbers: exact. */
int tool_demo_expected(unsigned channel);

/* The digit recogniser of examples/digits, in that folder: some digits drawn, all judged. */
bool tool_demo_digits(const char *folder);
/* Its files, bytes of the command. */
extern const char tool_digits_mil[], tool_digits_weights[], tool_digits_samples[];
extern const size_t tool_digits_mil_bytes, tool_digits_weights_bytes, tool_digits_samples_bytes;

/* The accumulator: state + x, over this many elements. */
enum { DEMO_STATE = 256 };

#endif
