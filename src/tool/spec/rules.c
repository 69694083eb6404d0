/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that the firmware checks on messages, and the log lines that the seeds quote, for `anemone spec`. */
#include "protocol/log_line.h"
#include "protocol/rule.h"
#include "tool/spec/spec.h"

static const struct spec_column rule_columns[] = {SPEC_TEXT("rule"), SPEC_TEXT("words"), SPEC_TEXT("status"),
                                                  SPEC_TEXT("source"), SPEC_END};
static const struct spec_column line_columns[] = {SPEC_TEXT("line"), SPEC_TEXT("format"), SPEC_TEXT("source"),
                                                  SPEC_END};

static const char *status_name(enum pr_status status)
{
    switch (status) {
#define X(id, value, text) \
    case PR_STATUS_##id: return #id;
        PR_STATUSES(X)
#undef X
    }
    return "";
}

void spec_rules(struct spec *spec)
{
    spec_table_begin(spec, "rows", rule_columns);
    for (unsigned i = 0; i < PR_RULES; i++) {
        const struct pr_rule_row *row = &pr_rule_table[i];

        SPEC_PUT(spec, SPEC_T(row->name), SPEC_T(row->text), SPEC_T(status_name(row->status)),
                 SPEC_T(row->source));
    }
    spec_table_end(spec);
#define X(id, source) SPEC_T(#id), SPEC_T(PR_LINE_##id), SPEC_T(source),
    SPEC_TABLE(spec, "log_lines", line_columns, PR_LINES(X));
#undef X
}
