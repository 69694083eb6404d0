/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's registers: reset vector, processor control, scratch words, and the two doorbell
 * directions. Host and controller reach them over the same bus; `by_controller` says whose access is under
 * way.
 */
#ifndef SOC_CONTROLLER_H
#define SOC_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/controller.h"

struct soc_bus;
struct soc_clock;
struct soc_lines;
struct soc_trace;

struct soc_controller {
    const struct soc_clock *clock;
    struct soc_lines *lines;
    struct soc_trace *trace;
    unsigned doorbell_line, host_line;
    void (*processor)(void *context, bool run); /* CPU_CONTROL's run bit changed */
    /* Sees every store to the mailbox first; false loses it. NULL: none. */
    bool (*tamper)(void *context, uint32_t offset, uint32_t *value);
    void *context;
    bool by_controller;
    uint64_t rvbar;
    uint32_t cpu_control;
    uint32_t scratch[PR_SCRATCH_COUNT];
    uint32_t doorbell_pending, host_pending;
    /* the host wrote scratch 3 or 7: rings the controller until it looks at a scratch word */
    bool scratch_rang;
};

/* Attaches the register windows to the bus at `container`. */
int soc_controller_attach(struct soc_controller *controller, struct soc_bus *bus, uint64_t container,
                          struct base_error *error);
/* Power was lost. The reset vector stays when it is latched. */
void soc_controller_reset(struct soc_controller *controller);

#endif
