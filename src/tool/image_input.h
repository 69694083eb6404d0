/* SPDX-License-Identifier: Apache-2.0 */
/* An input of a model that is a picture: the options of --image, and the port that they fill. */
#ifndef TOOL_IMAGE_INPUT_H
#define TOOL_IMAGE_INPUT_H

#include "tool/model.h"
#include "tool/picture.h"

/* The options' words as given; NULL for one that is not. */
struct tool_image_words {
    const char *image; /* FILE or NAME=FILE; NULL: there is no picture */
    const char *mean, *std, *range, *layout, *fit;
    bool bgr;
};

enum tool_image_layout { TOOL_IMAGE_AUTO, TOOL_IMAGE_NCHW, TOOL_IMAGE_NHWC };

struct tool_image_input {
    const char *image;
    enum tool_image_layout layout;
    bool bgr;
    enum tool_fit fit;
    double range;         /* 0: not given, 1, or 255 for an input of integers */
    unsigned means, stds; /* how many were given */
    double mean[TOOL_PICTURE_CHANNELS], std[TOOL_PICTURE_CHANNELS];
};

/* False after saying what is wrong with the words. */
bool tool_image_input_take(const struct tool_image_words *words, struct tool_image_input *input);
/*
 * The port that the picture is for: the one of its NAME, or the only input of the model that is not in
 * `given`. NULL after saying why there is none. `file` is the picture's.
 */
struct tool_port *tool_image_input_port(const struct tool_image_input *input, struct tool_model *model,
                                        const bool *given, const char **file);
/* Reads the picture into the port; false after saying why not. */
bool tool_image_input_fill(const struct tool_image_input *input, struct tool_port *port, const char *file);

#endif
