/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/named.h"

#include <string.h>

#include "tool/tool.h"

static bool same_name(const struct tool_named_row *row, const char *name, size_t length)
{
    return row->length == length && !memcmp(row->name, name, length);
}

const struct tool_named_row *tool_named_find(const struct tool_named *named, const char *name)
{
    for (unsigned i = 0; i < named->count; i++)
        if (same_name(&named->row[i], name, strlen(name)))
            return &named->row[i];
    return NULL;
}

static bool add(struct tool_named *named, const char *option, const char *word)
{
    const char *equals = strchr(word, '=');

    if (!equals || equals == word || !equals[1]) {
        tool_say("--%s takes NAME=VALUE, not %s.", option, word);
        return false;
    }
    if (named->count == TOOL_NAMED_MAX) {
        tool_say("more than %u times --%s.", TOOL_NAMED_MAX, option);
        return false;
    }
    for (unsigned i = 0; i < named->count; i++)
        if (same_name(&named->row[i], word, (size_t)(equals - word))) {
            tool_say("--%s is given twice for %.*s.", option, (int)(equals - word), word);
            return false;
        }
    named->row[named->count++] = (struct tool_named_row){word, equals + 1, (size_t)(equals - word)};
    return true;
}

bool tool_named_take(int *argc, char **argv, const char *option, struct tool_named *named)
{
    size_t length = strlen(option);
    bool ended = false;
    int kept = 0;

    for (int i = 0; i < *argc; i++) {
        const char *word = argv[i], *value = NULL;

        ended = ended || !strcmp(word, "--");
        if (!ended && !strncmp(word, "--", 2) && !strncmp(word + 2, option, length) &&
            (!word[length + 2] || word[length + 2] == '='))
            value = word[length + 2] ? word + length + 3 : i + 1 < *argc ? argv[++i] : "";
        if (!value) {
            argv[kept++] = argv[i];
        } else if (!value[0]) {
            tool_say("--%s needs a value.", option);
            return false;
        } else if (!add(named, option, value)) {
            return false;
        }
    }
    *argc = kept;
    return true;
}
