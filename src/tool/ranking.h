/* SPDX-License-Identifier: Apache-2.0 */
/* What a classifier says: the largest values of an output, with labels and bars. */
#ifndef TOOL_RANKING_H
#define TOOL_RANKING_H

#include "tool/json.h"
#include "tool/model.h"

#define TOOL_RANKING_MAX      100u
#define TOOL_RANKING_DEFAULT  5u
#define TOOL_RANKING_CLASSES  65536u      /* of an output; what an axis of the engine has at most */
#define TOOL_LABELS_BYTES_MAX (16u << 20) /* of a file; chosen */

struct tool_labels {
    char *text; /* the file, a NUL at the end of each line */
    unsigned count;
    char **line;
};

struct tool_class {
    unsigned index;
    const char *label; /* NULL: none */
    double value;      /* the model's */
    double share;      /* of 1 */
};

struct tool_ranking {
    const char *output;
    unsigned classes; /* of the output */
    bool softmax;     /* the values are not a distribution, so their softmax is shown */
    unsigned count;
    struct tool_class row[TOOL_RANKING_MAX];
};

/* A file of one label a line; false after saying why not. */
bool tool_labels_read(const char *path, struct tool_labels *labels);
void tool_labels_free(struct tool_labels *labels);

/* The output with a value per class: one axis that is longer than 1. NULL after saying that there is none. */
const struct tool_port *tool_ranking_port(const struct tool_model *model);
/* The `count` largest; labels may be NULL. False after saying why not. */
bool tool_ranking_make(const struct tool_port *port, unsigned count, const struct tool_labels *labels,
                       struct tool_ranking *ranking);
/* The same of an array. */
bool tool_ranking_of(const char *output, const float *value, unsigned classes, unsigned count,
                     const struct tool_labels *labels, struct tool_ranking *ranking);
void tool_ranking_print(const struct tool_ranking *ranking);
void tool_ranking_json(struct json *json, const struct tool_ranking *ranking);
/* A bar of `share` of 1 in `width` cells, for the caller's buffer of width + 1 bytes. */
const char *tool_ranking_bar(double share, unsigned width, char *text);

#endif
