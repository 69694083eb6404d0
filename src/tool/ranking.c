/* SPDX-License-Identifier: Apache-2.0 */
/* Equal values are ranked by their index, so that a ranking is the same everywhere. */
#include "tool/ranking.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "tool/tool.h"

#define BAR_CELLS 40u
#define SUM_SLACK 0.02 /* a sum of fp16 values that is 1 but for rounding and the engine's tables */

/* Labels. */

bool tool_labels_read(const char *path, struct tool_labels *labels)
{
    uint8_t *bytes;
    size_t size, lines = 1;
    char *text;

    *labels = (struct tool_labels){0};
    bytes = tool_file_read(path, TOOL_LABELS_BYTES_MAX, &size);
    text = bytes ? base_realloc(bytes, size + 1) : NULL;
    if (!text) {
        if (bytes)
            tool_say("%s: no memory to read it.", path);
        base_free(bytes);
        return false;
    }
    text[size] = '\0';
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    labels->text = text;
    labels->line = base_alloc_array(lines, sizeof(*labels->line));
    if (!labels->line) {
        tool_say("%s: no memory for its lines.", path);
        return false;
    }
    for (char *at = text, *end = text + size; at < end;) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);

        if (length && at[length - 1] == '\r')
            at[--length] = '\0';
        at[length] = '\0';
        base_printable_make(at, length);
        labels->line[labels->count++] = at;
        at = stop ? stop + 1 : end;
    }
    return true;
}

void tool_labels_free(struct tool_labels *labels)
{
    base_free(labels->line);
    base_free(labels->text);
    *labels = (struct tool_labels){0};
}

/* Ranking. */

static bool has_classes(const struct tool_port *port)
{
    unsigned longer = 0;

    for (unsigned i = 0; i < port->shape.rank; i++)
        longer += port->shape.dim[i] > 1;
    return port->output && longer == 1 && port->elements <= TOOL_RANKING_CLASSES;
}

const struct tool_port *tool_ranking_port(const struct tool_model *model)
{
    for (unsigned i = 0; i < model->ports; i++)
        if (has_classes(&model->port[i]))
            return &model->port[i];
    tool_say("no output of the model has one value per class (one axis of 2 to %u), so there is nothing to "
             "rank.",
             TOOL_RANKING_CLASSES);
    return NULL;
}

static bool is_distribution(const float *value, unsigned classes)
{
    double sum = 0;

    for (unsigned i = 0; i < classes; i++) {
        if (value[i] < 0 || value[i] > 1 + SUM_SLACK)
            return false;
        sum += value[i];
    }
    return fabs(sum - 1) <= SUM_SLACK;
}

static unsigned largest(const float *value, unsigned classes, const struct tool_ranking *so_far)
{
    unsigned best = classes;

    for (unsigned i = 0; i < classes; i++) {
        bool taken = false;

        for (unsigned r = 0; r < so_far->count; r++)
            taken = taken || so_far->row[r].index == i;
        if (!taken && (best == classes || value[i] > value[best]))
            best = i;
    }
    return best;
}

/* The sum of the exponentials, relative to that of the largest value. */
static double sum_exponentials(const float *value, unsigned classes, double most)
{
    double sum = 0;

    for (unsigned i = 0; i < classes; i++)
        sum += exp(value[i] - most);
    return sum;
}

bool tool_ranking_of(const char *output, const float *value, unsigned classes, unsigned count,
                     const struct tool_labels *labels, struct tool_ranking *ranking)
{
    double sum = 0;

    for (unsigned i = 0; i < classes; i++)
        if (!isfinite(value[i])) {
            tool_say("output %s has a value that is not finite (number %u), so it is not ranked.", output, i);
            return false;
        }
    *ranking = (struct tool_ranking){
        .output = output, .classes = classes, .softmax = !is_distribution(value, classes)};
    for (unsigned i = 0; i < count && i < classes; i++) {
        unsigned best = largest(value, classes, ranking);

        if (!i && ranking->softmax)
            sum = sum_exponentials(value, classes, value[best]);
        ranking->row[i] = (struct tool_class){
            .index = best,
            .label = labels && best < labels->count ? labels->line[best] : NULL,
            .value = value[best],
            .share = ranking->softmax ? exp(value[best] - ranking->row[0].value) / sum : value[best]};
        if (!i && ranking->softmax)
            ranking->row[0].share = 1 / sum;
        ranking->count++;
    }
    return true;
}

bool tool_ranking_make(const struct tool_port *port, unsigned count, const struct tool_labels *labels,
                       struct tool_ranking *ranking)
{
    float *value = base_alloc_array(port->elements, sizeof(*value));
    struct base_error error;
    bool good;

    if (!value) {
        tool_say("no memory to rank %s.", port->name);
        return false;
    }
    if (labels && labels->count != port->elements)
        tool_say("there are %u labels, and %u values in output %s.", labels->count, (unsigned)port->elements,
                 port->name);
    good = !tool_convert(TOOL_FP32, value, port->type, port->data, port->elements, &error) &&
           tool_ranking_of(port->name, value, (unsigned)port->elements, count, labels, ranking);
    base_free(value);
    return good;
}

const char *tool_ranking_bar(double share, unsigned width, char *text)
{
    unsigned filled = share > 0 ? (unsigned)(share * width + 0.5) : 0;

    filled = filled > width ? width : filled;
    memset(text, '#', filled);
    memset(text + filled, ' ', width - filled);
    text[width] = '\0';
    return text;
}

void tool_ranking_print(const struct tool_ranking *ranking)
{
    char bar[BAR_CELLS + 1];

    printf("%s: the %u largest of %u%s\n", ranking->output, ranking->count, ranking->classes,
           ranking->softmax ? ", by softmax of the model's values" : "");
    for (unsigned i = 0; i < ranking->count; i++) {
        const struct tool_class *row = &ranking->row[i];

        printf("%6.2f %%  %s  %5u%s%s\n", 100 * row->share, tool_ranking_bar(row->share, BAR_CELLS, bar),
               row->index, row->label ? "  " : "", row->label ? row->label : "");
    }
}

void tool_ranking_json(struct json *json, const struct tool_ranking *ranking)
{
    json_object(json, "top");
    json_string(json, "output", ranking->output);
    json_number(json, "classes", ranking->classes);
    json_bool(json, "softmax", ranking->softmax);
    json_array(json, "rows");
    for (unsigned i = 0; i < ranking->count; i++) {
        const struct tool_class *row = &ranking->row[i];

        json_object(json, NULL);
        json_number(json, "index", row->index);
        if (row->label)
            json_string(json, "label", row->label);
        json_real(json, "value", row->value);
        json_real(json, "percent", 100 * row->share);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}
