/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published experiments on an M1 for `anemone spec`: each row has what the M1 did and what a machine does,
 * which is found by running it.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "tool/experiment.h"
#include "tool/spec/spec.h"

static const struct spec_column row_columns[] = {SPEC_TEXT("series"), SPEC_TEXT("published_name"),
                                                 SPEC_HEX("offset"),  SPEC_TEXT("register"),
                                                 SPEC_HEX("address"), SPEC_HEX("value"),
                                                 SPEC_TEXT("m1"),     SPEC_TEXT("here"),
                                                 SPEC_BOOL("agrees"), SPEC_END};
static const struct spec_column total_columns[] = {
    SPEC_TEXT("series"), SPEC_TEXT("about"), SPEC_NUMBER("experiments"), SPEC_NUMBER("agree"), SPEC_END};

enum { TEXT_BYTES = 64, HALF_BYTES = 8 };

struct totals {
    unsigned rows, agree;
};

static const char *half_text(uint16_t half)
{
    switch (half) {
    case 0: return "0";
    case PR_EXPERIMENT_X0: return "-3";
    case PR_EXPERIMENT_X1: return "5";
    case 0x7c00: return "inf";
    default: return NULL;
    }
}

static void put_half(char text[HALF_BYTES], uint16_t half)
{
    const char *known = half_text(half);

    if (known)
        snprintf(text, HALF_BYTES, "%s", known);
    else
        snprintf(text, HALF_BYTES, "0x%04x", half);
}

static const char *did_text(char text[TEXT_BYTES], enum pr_experiment_did did,
                            const uint16_t y[PR_EXPERIMENT_OUTPUTS])
{
    char first[HALF_BYTES], second[HALF_BYTES];

    if (did == PR_DID_SAME)
        return "same";
    if (did == PR_DID_HANG)
        return "hangs";
    put_half(first, y[0]);
    put_half(second, y[1]);
    snprintf(text, TEXT_BYTES, "%s, %s", first, second);
    return text;
}

static void put_row(struct spec *spec, const struct pr_experiment *row, const struct tool_experiment *result,
                    struct totals *totals)
{
    const struct pr_reg_info *reg = &pr_reg_table[row->reg];
    char name[TEXT_BYTES], m1[TEXT_BYTES], here[TEXT_BYTES];
    bool agrees = tool_experiment_agrees(row, result);

    snprintf(name, sizeof(name), "%s.%s", pr_block_table[reg->block].name, reg->name);
    totals->rows++;
    totals->agree += agrees;
    SPEC_PUT(spec, SPEC_T(pr_experiment_series_name(row->series)), SPEC_T(row->name), SPEC_N(row->offset),
             SPEC_T(name), SPEC_N(pr_experiment_address(row)), SPEC_N(row->value),
             SPEC_T(did_text(m1, row->did, row->y)), SPEC_T(did_text(here, result->did, result->y)),
             SPEC_N(agrees));
}

void spec_experiments(struct spec *spec)
{
    struct totals totals[PR_SERIES_COUNT] = {{0}};
    struct tool_experiment *results = base_alloc(pr_experiment_count * sizeof(*results));

    if (!results || (spec->form != SPEC_KINDS && !tool_experiments_run(results)))
        spec->failed = true;
    spec_table_begin(spec, "rows", row_columns);
    for (unsigned i = 0; results && !spec->failed && i < pr_experiment_count; i++)
        put_row(spec, &pr_experiment_table[i], &results[i], &totals[pr_experiment_table[i].series]);
    spec_table_end(spec);
    spec_table_begin(spec, "totals", total_columns);
    for (unsigned i = 0; i < PR_SERIES_COUNT; i++)
        SPEC_PUT(spec, SPEC_T(pr_experiment_series_name((enum pr_experiment_series)i)),
                 SPEC_T(pr_experiment_series_text((enum pr_experiment_series)i)), SPEC_N(totals[i].rows),
                 SPEC_N(totals[i].agree));
    spec_table_end(spec);
    base_free(results);
}
