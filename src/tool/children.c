/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone broker` and `anemone compiler`: children of `anemone serve`, which starts them with their sockets.
 * They are no use otherwise, and are not in the list of verbs.
 */
#include <stdlib.h>

#include "broker/broker.h"
#include "service/child.h"
#include "service/compiler.h"
#include "tool/tool.h"

const char tool_broker_help[] =
    "anemone broker\n\n"
    "The broker of a service: admits clients, compiles, loads and instantiates models for them.\n"
    "`anemone serve` starts it with its sockets.\n";
const char tool_compiler_help[] =
    "anemone compiler NUMBER STATE\n\n"
    "A compile service: 0 is the ordinary one, 1 the longer-duration one. STATE is the folder of the\n"
    "service. `anemone serve` starts both with their sockets.\n";

static bool is_child(const char *verb)
{
    if (!svc_child_begin())
        return true;
    tool_say("`anemone %s` has no socket; `anemone serve` starts it.", verb);
    return false;
}

int tool_broker(int argc, char **argv)
{
    const struct tool_option none[] = {{NULL, NULL, NULL}};
    unsigned count;

    if (!tool_words(argc, argv, none, NULL, 0, &count))
        return TOOL_USAGE;
    if (!is_child("broker"))
        return TOOL_FAILURE;
    return brk_broker_run(SVC_CHILD_FIRST, SVC_CHILD_FIRST + 1) ? TOOL_FAILURE : TOOL_OK;
}

int tool_compiler(int argc, char **argv)
{
    const struct tool_option none[] = {{NULL, NULL, NULL}};
    const char *words[2];
    uint32_t number;
    unsigned count;

    if (!tool_words(argc, argv, none, words, 2, &count))
        return TOOL_USAGE;
    if (count != 2) {
        tool_say("anemone compiler takes a number and a folder; --help says which.");
        return TOOL_USAGE;
    }
    if (!tool_number("The number", words[0], 0, 1, &number))
        return TOOL_USAGE;
    if (!is_child("compiler"))
        return TOOL_FAILURE;
    return svc_compiler_run(SVC_CHILD_FIRST, number, words[1]) ? TOOL_FAILURE : TOOL_OK;
}
