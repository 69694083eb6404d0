/* SPDX-License-Identifier: Apache-2.0 */
/* A panel: the weights of some output channels over some input channels, as the fast paths use them. */
#ifndef ENGINE_NE_PANEL_H
#define ENGINE_NE_PANEL_H

#include "engine/ne.h"

#define ENG_PANEL_RUNS 32u

/* Runs of equal width that are beside each other in a panel. */
struct eng_panel_runs {
    const uint8_t *from[ENG_PANEL_RUNS]; /* the first weight of each */
    uint32_t count, width;
    size_t stride; /* bytes from row to row */
    uint32_t column;
};

/* Floats are [input channel][kernel row][kernel column][output channel]. */
struct eng_panel {
    const struct eng_ne *ne;
    const struct eng_mac_setup *mac;
    uint32_t first, count;  /* output channels */
    uint32_t group;         /* floats from row to row, those after `count` are zeros */
    uint32_t cin, channels; /* input channels */
    float *to;
    uint8_t *fp16; /* room for as many fp16 values */
    struct eng_panel_runs runs;
};

/* Finds where the weights of the panel's output channels are, before the calls that follow. */
void eng_panel_find(struct eng_panel *panel);
void eng_panel_load(const struct eng_panel *panel);
/* Brings the part-th of `parts` parts of the weights into a cache. */
void eng_panel_prefetch(const struct eng_panel *panel, uint32_t part, uint32_t parts);
/* The bias of output channels, -0 where the kernel has none. */
void eng_panel_load_bias(const struct eng_ne *ne, const struct eng_mac_setup *mac, uint32_t first,
                         uint32_t count, float *to);

#endif
