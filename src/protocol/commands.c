/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of commands.def, in its order, and names for messages. A name is that of the seeds' pairing,
 * which is also the one that is executed. The numbers of rows in commands.h are the sizes of the tables, so a
 * row too many does not compile.
 */
#include "protocol/commands.h"

const struct pr_dispatched pr_dispatched_table[PR_DISPATCHED_COUNT] = {
#define PR_DISPATCHED(index, name, direction, subsystem) {index, #name, PR_DIRECTION_##direction, #subsystem},
#include "protocol/commands.def"
};

const struct pr_wire pr_wire_table[PR_WIRE_COUNT] = {
#define PR_WIRE(id, name, corrected, family) {id, #name, #corrected, #family},
#include "protocol/commands.def"
};

const struct pr_exeloop_row pr_exeloop_table[PR_EXELOOP_COUNT] = {
#define X(id, name, meaning, slot) {id, #name, meaning, slot},
    PR_EXELOOP_COMMANDS(X)
#undef X
};

const char *pr_command_name(uint32_t wire_id)
{
    for (unsigned i = 0; i < PR_WIRE_COUNT; i++)
        if (pr_wire_table[i].id == wire_id)
            return pr_wire_table[i].name;
    return NULL;
}

const char *pr_exeloop_name(uint32_t wire_id)
{
    for (unsigned i = 0; i < PR_EXELOOP_COUNT; i++)
        if (pr_exeloop_table[i].id == wire_id)
            return pr_exeloop_table[i].name;
    return NULL;
}
