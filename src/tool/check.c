/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone check`: everything that is wrong with a program. Findings are printed in the order in which the
 * check makes them; this file only prints. Remarks do not change the exit status. Buffers of a text form are
 * unknown and are not checked.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "listing/check.h"
#include "tool/json.h"
#include "tool/program.h"
#include "tool/tool.h"

const char tool_check_help[] =
    "anemone check FILE [--json]\n\n"
    "Reads a program (.hwx, .anec, or the text form of a descriptor stream) as the engine would and\n"
    "names everything that is wrong, not only the first: descriptors that loop or run out of the\n"
    "stream, sizes declared too large or too small, records outside the known registers, bits that\n"
    "no source explains, fields that contradict each other or ask for what this model does not do;\n"
    "tensors and kernels that do not fit the buffers they are bound to, L2 and buffers read before\n"
    "they are written, streams that no descriptor reads. Each finding ends with what the\n"
    "engine does then, as far as that is known. A text form has no buffers, so they are not checked.\n\n"
    "Exit status 0: no finding, or remarks only; 1: something is wrong; 2: wrong usage.\n";

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
        printf("%s: descriptor %u, byte 0x%x", remark ? "remark" : "problem", problem->descriptor,
               problem->offset);
        if (problem->address)
            printf(", register 0x%x", problem->address);
        printf(": %s\n    %s\n    %s\n", pr_problem_kind_text(problem->kind), problem->text,
               pr_outcome_text(problem->outcome));
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
    json_string(&r->json, "engine", pr_outcome_text(problem->outcome));
    json_object_end(&r->json);
}

int tool_check(int argc, char **argv)
{
    static struct pr_check_program judged;
    static struct pr_flow flow; /* too large for a stack; the command has one thread */
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
    pr_check_program_of(&judged, program.bytes, &program.hwx);
    judged.buffers.known = !program.listing;
    good = pr_check_program(&judged, &flow, report, &r);
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
