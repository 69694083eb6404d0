/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone check`: everything that is wrong with a program. */
#include <stdio.h>

#include "base/alloc.h"
#include "protocol/chain.h"
#include "tool/json.h"
#include "tool/program.h"
#include "tool/tool.h"

const char tool_check_help[] =
    "anemone check FILE [--json]\n\n"
    "Reads a program (.hwx or .anec) as the engine would and names everything that is wrong:\n"
    "descriptors that loop or run out of the stream, sizes that do not fit, records outside the\n"
    "known registers, bits nobody explains, fields that contradict each other or ask for what this\n"
    "model does not do.\n"
    "A descriptor like that leaves a queue of the engine stuck: on hardware the wait ends in -110.\n\n"
    "Exit status 0: nothing found but remarks; 1: something is wrong.\n";

struct report {
    struct json json;
    bool as_json;
    unsigned problems, remarks;
};

static void report(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    struct report *r = context;
    bool remark = finding == PR_FINDING_REMARK;

    r->problems += !remark;
    r->remarks += remark;
    if (!r->as_json) {
        printf("%s: descriptor %u, byte 0x%x: %s\n    %s\n", remark ? "remark" : "problem",
               problem->descriptor, problem->offset, pr_problem_kind_text(problem->kind), problem->text);
        return;
    }
    json_object(&r->json, NULL);
    json_bool(&r->json, "remark", remark);
    json_number(&r->json, "descriptor", problem->descriptor);
    json_number(&r->json, "offset", problem->offset);
    json_number(&r->json, "register", problem->address);
    json_number(&r->json, "bits", problem->bits);
    json_string(&r->json, "kind", pr_problem_kind_text(problem->kind));
    json_string(&r->json, "text", problem->text);
    json_object_end(&r->json);
}

int tool_check(int argc, char **argv)
{
    struct report r = {0};
    const struct tool_option options[] = {{"json", &r.as_json, NULL}, {0}};
    struct tool_program program;
    const char *path;
    unsigned count;
    bool good;

    if (!tool_words(argc, argv, options, &path, 1, &count))
        return TOOL_USAGE;
    if (count != 1) {
        fputs(tool_check_help, stderr);
        return TOOL_USAGE;
    }
    if (!tool_program_read(path, &program))
        return TOOL_FAILURE;
    if (r.as_json) {
        json_begin(&r.json, stdout);
        json_array(&r.json, "findings");
    }
    good = pr_check_stream(program.bytes + program.hwx.text.offset, program.hwx.text.size,
                           program.hwx.first_td_words, program.hwx.td_count, report, &r);
    base_free(program.bytes);
    if (r.as_json) {
        json_array_end(&r.json);
        json_bool(&r.json, "good", good);
        json_end(&r.json);
    } else {
        printf("%s: %u descriptors, %u problems, %u remarks\n", path, program.hwx.td_count, r.problems,
               r.remarks);
    }
    return good ? TOOL_OK : TOOL_FAILURE;
}
