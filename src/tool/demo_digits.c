/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last part of the demo: the network of examples/digits on digits that its training has not seen. A
 * sample is a line of the file: the digit, a space, and a hexadecimal digit per pixel, row by row.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/demo.h"
#include "tool/model.h"
#include "tool/ranking.h"
#include "tool/tool.h"

enum { SIDE = 28, PIXELS = SIDE * SIDE, LEVELS = 15, CLASSES = 10, LINE = 2 + PIXELS + 1 };
/* What is drawn: the middle of a picture, where all digits are, two rows to a line. */
enum { ROW_BEGIN = 4, ROW_END = 24, COLUMN_BEGIN = 3, COLUMN_END = 25, BAR = 30, DRAWN_EVERY = 7 };

struct digit {
    unsigned label;
    float pixel[PIXELS]; /* 0 to 1 */
};

static int level_of(char c)
{
    static const char levels[] = "0123456789abcdef";
    const char *found = c ? strchr(levels, c) : NULL;

    return found ? (int)(found - levels) : -1;
}

/* Line `number` of the samples; false behind the last one. */
static bool read_digit(unsigned number, struct digit *digit)
{
    const char *line = tool_digits_samples + (size_t)number * LINE;

    if (((size_t)number + 1) * LINE > tool_digits_samples_bytes)
        return false;
    digit->label = (unsigned)level_of(line[0]);
    for (unsigned i = 0; i < PIXELS; i++)
        digit->pixel[i] = (float)level_of(line[2 + i]) / LEVELS;
    return digit->label < CLASSES;
}

static char shade(float value)
{
    static const char ramp[] = " .:-=+*#%@";

    return ramp[(int)(value * (sizeof(ramp) - 2) + 0.5f)];
}

/* The picture, and beside it a bar for each digit. */
static void draw(const struct digit *digit, const float share[CLASSES], unsigned best)
{
    for (unsigned row = ROW_BEGIN, line = 0; row < ROW_END; row += 2, line++) {
        char text[COLUMN_END - COLUMN_BEGIN + 1], bar[BAR + 1];

        for (unsigned column = COLUMN_BEGIN; column < COLUMN_END; column++)
            text[column - COLUMN_BEGIN] =
                shade((digit->pixel[row * SIDE + column] + digit->pixel[(row + 1) * SIDE + column]) / 2);
        text[COLUMN_END - COLUMN_BEGIN] = '\0';
        printf("  %s    %u  %s %5.1f %%%s\n", text, line, tool_ranking_bar(share[line], BAR, bar),
               (double)(100 * share[line]), line == best ? "  <-" : "");
    }
    printf("\n");
}

static bool judge(struct tool_model *model)
{
    struct tool_port *x = tool_model_port(model, false, "x", 1),
                     *y = tool_model_port(model, true, "digit", 5);
    struct tool_ranking ranking;
    struct digit digit;
    float share[CLASSES];
    unsigned count = 0, right = 0;

    if (!x || !y || x->elements != PIXELS || y->elements != CLASSES) {
        tool_say("the digit recogniser has other ports than expected.");
        return false;
    }
    for (; read_digit(count, &digit); count++) {
        tool_convert_float(x->type, x->data, TOOL_FP32, digit.pixel, PIXELS);
        if (!tool_model_run(model))
            return false;
        tool_convert_float(TOOL_FP32, share, y->type, y->data, CLASSES);
        if (!tool_ranking_of(y->name, share, CLASSES, 1, NULL, &ranking))
            return false;
        right += ranking.row[0].index == digit.label;
        if (count % DRAWN_EVERY == 0)
            draw(&digit, share, ranking.row[0].index);
    }
    printf("  %u of %u digits that its training has not seen are recognised\n", right, count);
    return count > 0 && right * CLASSES >= count * (CLASSES - 1);
}

bool tool_demo_digits(const char *folder)
{
    static struct tool_model model;
    char own[96], mil[128], weights[128];
    bool good;

    snprintf(own, sizeof(own), "%s/digits", folder);
    snprintf(mil, sizeof(mil), "%s/digits.mil", own);
    snprintf(weights, sizeof(weights), "%s/weights.bin", own);
    if (mkdir(own, 0700)) {
        tool_say("%s: the folder cannot be made.", own);
        return false;
    }
    printf("\n5. A network of two convolutions and two matrices reads handwritten digits\n\n");
    good = tool_file_write(mil, tool_digits_mil, tool_digits_mil_bytes) &&
           tool_file_write(weights, tool_digits_weights, tool_digits_weights_bytes) &&
           tool_model_open(mil, false, &model) && judge(&model);
    tool_model_close(&model);
    return good;
}
