/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a binary trace: every record that is read prints as one
 * line and encodes to the bytes it came from.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/trace.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const struct pr_trace_record *record, const uint8_t *from, size_t bytes)
{
    static uint8_t encoded[PR_TRACE_RECORD_MAX];
    char line[PR_TRACE_LINE_MAX];
    size_t length = pr_trace_print(record, line);

    require(length < sizeof(line) && line[length] == '\0' && line[length - 1] == '\n');
    require(pr_trace_encode(record, encoded) == bytes && !memcmp(encoded, from, bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_trace_reader reader;
    struct pr_trace_record record;
    struct pr_problem problem;
    size_t before;

    if (!pr_trace_begin(&reader, data, size, &problem)) {
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
        return 0;
    }
    for (before = reader.at; pr_trace_next(&reader, &record, &problem); before = reader.at)
        check_record(&record, data + before, reader.at - before);
    require(reader.at == before && (problem.kind == PR_PROBLEM_NONE) == (reader.at == size));
    return 0;
}
