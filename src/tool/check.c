/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone check`: everything that is wrong with a program. Findings are printed in the order in which the
 * check makes them; this file only prints. Remarks do not change the exit status. Buffers of a stream, in
 * bytes or as text, are unknown and are not checked.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "tool/folder.h"
#include "tool/json.h"
#include "tool/judge.h"
#include "tool/tool.h"

const char tool_check_help[] =
    "anemone check FILE|FOLDER [--raw] [--words N] [--descriptors N] [--recursive]\n"
    "              [--lenient] [--json]\n\n"
    "Reads a program as the engine would and names everything that is wrong, not only the first:\n"
    "descriptors that loop or run out of the stream, sizes declared too large or too small, records\n"
    "outside the known registers, bits that no source explains, fields that contradict each other or\n"
    "ask for what this model does not do; tensors and kernels that do not fit the buffers they are\n"
    "bound to, L2 and buffers read before they are written, streams that no descriptor reads. Each\n"
    "finding ends with what the engine does then, as far as that is known.\n\n"
    "A program is an image (.hwx), an .anec with its content at 0x1000 or 0x800, a descriptor stream\n"
    "without a container (a btsp buffer, a dump of buffer 0, the content of an .anec), or the text\n"
    "form of one. A stream says nothing about its buffers, so they are not checked.\n\n"
    "  --raw            the file is a descriptor stream, also when it does not look like one\n"
    "  --words N        its first descriptor has N words: td_size / 4. Without it the size is found\n"
    "                   by the records, which must be whole\n"
    "  --descriptors N  look at the first N only\n"
    "  --recursive      of a folder, also the files in the folders below\n"
    "  --lenient        what a machine with --lenient ignores is a remark: bits and values that no source\n"
    "                   explains. What was published to hang an M1 stays a problem\n"
    "  --json           the findings, or the rows of a folder, as JSON\n\n"
    "Of a folder, every file has a row: form, descriptors, problems, remarks, outcome. Files that are\n"
    "no program are skipped and counted.\n\n"
    "  anemone check relu.hwx\n"
    "  anemone check btsp.bin\n"
    "  anemone check dump.bin --raw --words 157\n"
    "  anemone check . --recursive --json\n\n"
    "Exit status 0: no finding, or remarks only; 1: something is wrong, or a file cannot be read; 2:\n"
    "wrong usage.\n";

struct report {
    struct json json;
    bool as_json;
};

/* The names of a finding's register and field; empty when it has none. */
struct place {
    char reg[64], field[64];
};

static struct place place_of(const struct pr_problem *problem)
{
    struct pr_text reg, field;
    struct place place = {0};

    pr_text_init(&reg, place.reg, sizeof(place.reg));
    pr_text_init(&field, place.field, sizeof(place.field));
    pr_td_place(problem, &reg, &field);
    return place;
}

/* A remark about the file has no kind and no outcome. */
static void print_finding(bool remark, const struct pr_problem *problem)
{
    const struct place place = place_of(problem);

    if (problem->kind == PR_PROBLEM_NONE) {
        printf("remark: file, byte 0x%x\n    %s\n", problem->offset, problem->text);
        return;
    }
    printf("%s: descriptor %u, byte 0x%x", remark ? "remark" : "problem", problem->descriptor,
           problem->offset);
    if (problem->address || place.reg[0])
        printf(", register 0x%x", problem->address);
    if (place.reg[0])
        printf(" %s", place.reg);
    printf(": %s\n    %s\n    %s\n", pr_problem_kind_text(problem->kind), problem->text,
           pr_outcome_text(problem->outcome));
    if (!remark)
        printf("    %s\n", pr_problem_advice(problem->kind));
}

static void report(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    struct report *r = context;
    bool remark = finding == PR_FINDING_REMARK, file = problem->kind == PR_PROBLEM_NONE;
    const struct place place = place_of(problem);

    if (!r->as_json) {
        print_finding(remark, problem);
        return;
    }
    json_object(&r->json, NULL);
    json_bool(&r->json, "remark", remark);
    json_number(&r->json, "descriptor", problem->descriptor);
    json_number(&r->json, "offset", problem->offset);
    json_number(&r->json, "register", problem->address);
    json_string(&r->json, "register_name", place.reg);
    json_string(&r->json, "field", place.field);
    json_number(&r->json, "bits", problem->bits);
    json_string(&r->json, "kind", file ? "about the file" : pr_problem_kind_text(problem->kind));
    json_string(&r->json, "text", problem->text);
    json_string(&r->json, "engine", pr_outcome_text(problem->outcome));
    json_string(&r->json, "advice", pr_problem_advice(problem->kind));
    json_object_end(&r->json);
}

static int check_file(const char *path, const struct tool_folder *how)
{
    static struct tool_program program; /* too large for a stack; the command has one thread */
    struct report r = {.as_json = how->as_json};
    struct tool_verdict verdict;
    uint8_t *bytes;
    size_t size;

    bytes = tool_file_read(path, TOOL_PROGRAM_BYTES_MAX, &size);
    if (!bytes || !tool_program_take(path, bytes, size, &how->asked, &program))
        return TOOL_FAILURE;
    if (how->as_json) {
        json_begin(&r.json, stdout);
        json_string(&r.json, "format", tool_form_name(program.form));
        json_array(&r.json, "findings");
    }
    verdict = tool_judge(&program, how->lenient, report, &r);
    base_free(program.bytes);
    if (how->as_json) {
        json_array_end(&r.json);
        json_string(&r.json, "outcome", tool_outcome_word(verdict.worst));
        json_bool(&r.json, "good", verdict.problems == 0);
        json_end(&r.json);
    } else {
        printf("%s: %u descriptors, %u problems, %u remarks\n", path, program.hwx.td_count, verdict.problems,
               verdict.remarks);
    }
    return verdict.problems ? TOOL_FAILURE : TOOL_OK;
}

int tool_check(int argc, char **argv)
{
    const char *words = NULL, *descriptors = NULL, *path;
    struct tool_folder how = {0};
    const struct tool_option options[] = {{"json", &how.as_json, NULL},
                                          {"raw", &how.asked.raw, NULL},
                                          {"words", NULL, &words},
                                          {"descriptors", NULL, &descriptors},
                                          {"recursive", &how.recursive, NULL},
                                          {"lenient", &how.lenient, NULL},
                                          {0}};
    unsigned count;

    if (!tool_words(argc, argv, options, &path, 1, &count))
        return TOOL_USAGE;
    if (count != 1) {
        fputs(tool_check_help, stderr);
        return TOOL_USAGE;
    }
    if (!tool_asked_read(&how.asked, words, descriptors))
        return TOOL_USAGE;
    return tool_folder_is(path) ? tool_folder_check(path, &how) : check_file(path, &how);
}
