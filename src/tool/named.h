/* SPDX-License-Identifier: Apache-2.0 */
/* An option that may be given several times, each as NAME=VALUE. */
#ifndef TOOL_NAMED_H
#define TOOL_NAMED_H

#include <stdbool.h>
#include <stddef.h>

#define TOOL_NAMED_MAX 256u

struct tool_named {
    unsigned count;
    struct tool_named_row {
        const char *name, *value;
        size_t length; /* of the name */
    } row[TOOL_NAMED_MAX];
};

/*
 * Takes the words of --OPTION, as far as `--`, out of argv. False after saying what is wrong: no value, not
 * NAME=VALUE, a name twice, more than TOOL_NAMED_MAX.
 */
bool tool_named_take(int *argc, char **argv, const char *option, struct tool_named *named);
/* The row of a name; NULL: none. */
const struct tool_named_row *tool_named_find(const struct tool_named *named, const char *name);

#endif
