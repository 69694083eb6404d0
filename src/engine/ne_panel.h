/* SPDX-License-Identifier: Apache-2.0 */
/* A panel: the weights of some output channels over some input channels, as the fast paths use them. */
#ifndef ENGINE_NE_PANEL_H
#define ENGINE_NE_PANEL_H

#include "engine/ne.h"

/* Floats are [input channel][kernel row][kernel column][output channel]. */
struct eng_panel {
    const struct eng_ne *ne;
    const struct eng_mac_setup *mac;
    uint32_t first, count;  /* output channels */
    uint32_t group;         /* floats from row to row, those after `count` are zeros */
    uint32_t cin, channels; /* input channels */
    float *to;
    uint8_t *fp16; /* room for as many fp16 values */
};

void eng_panel_load(const struct eng_panel *panel);
/* The bias of output channels, -0 where the kernel has none. */
void eng_panel_load_bias(const struct eng_ne *ne, const struct eng_mac_setup *mac, uint32_t first,
                         uint32_t count, float *to);

#endif
