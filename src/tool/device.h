/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of this verb's own, with one numeric policy, that runs lowered programs from memory: no cache, no
 * files, no service.
 */
#ifndef TOOL_DEVICE_H
#define TOOL_DEVICE_H

#include <anemone/iokit.h>

#include "compiler/lower/lower.h"

struct tool_device {
    struct ane_machine *machine;
    io_connect_t connect;
    uint64_t sequence;
};

/* Each is false with a sentence in `error`. Close it in any case. */
bool tool_device_open(struct tool_device *device, enum ane_numerics numerics, uint32_t threads,
                      struct base_error *error);
/*
 * Loads the program, runs it once and unloads it. One array of fp16 values per input port and per output
 * port, row-major and packed.
 */
bool tool_device_run(struct tool_device *device, const struct cc_program *program, uint16_t *const *in,
                     uint16_t *const *out, struct base_error *error);
void tool_device_close(struct tool_device *device);

#endif
