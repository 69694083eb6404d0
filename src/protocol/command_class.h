/* SPDX-License-Identifier: Apache-2.0 */
/* What the firmware does with each command of the host's, from command_class.def. */
#ifndef PROTOCOL_COMMAND_CLASS_H
#define PROTOCOL_COMMAND_CLASS_H

#include "protocol/commands.h"

/* The commands of commands.def that a host sends, and START. */
enum {
#define PR_CLASS(name, class, layout, channel, source, text) PR_CLASS_ROW_##name,
#include "protocol/command_class.def"
    PR_CLASS_COUNT
};

enum pr_layout { PR_LAYOUT_NONE, PR_LAYOUT_KNOWN, PR_LAYOUT_CHOSEN, PR_LAYOUT_UNKNOWN };

struct pr_command_class {
    uint32_t id;
    const char *name;
    char letter; /* A, B or C */
    enum pr_layout layout;
    const char *channel, *source, *text;
};
extern const struct pr_command_class pr_command_class_table[PR_CLASS_COUNT];

/* Why the firmware does not do it; NULL for a command that it does, and for a number that is no command. */
const char *pr_command_refusal(uint32_t wire_id);

#endif
