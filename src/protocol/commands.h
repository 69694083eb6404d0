/* SPDX-License-Identifier: Apache-2.0 */
/* The command vocabulary, from commands.def, and the nine ids of the execution loop (seeds Table 30.6). */
#ifndef PROTOCOL_COMMANDS_H
#define PROTOCOL_COMMANDS_H

#include "protocol/bits.h"

#define PR_DISPATCHED_COUNT 93u
#define PR_WIRE_COUNT       94u
#define PR_COMMAND_INVALID  0xffffffffu /* ECSneCmdId_Invalid: no command (seeds ch. 30) */

enum pr_direction { PR_DIRECTION_H2F, PR_DIRECTION_F2H, PR_DIRECTION_BOTH };

/* Wire ids on the control channel, by the seeds' pairing. */
enum pr_command {
#define PR_WIRE(id, name, corrected, family) PR_CMD_##name = id,
#include "protocol/commands.def"
};

/* Execution-loop channel: X(id, NAME, meaning, vtable offset as printed) */
#define PR_EXELOOP_COMMANDS(X)                                                         \
    X(0x002d, CH_DATA_FILE_LOAD2, "CH_DATA_FILE_LOAD2", "+0x250")                      \
    X(0x0204, PROCEDURE_CALL, "procedure call", "+0x200")                              \
    X(0x0209, CACHE_REQUEST_TRIGGER, "cache-request trigger", "+0x218")                \
    X(0x020a, CACHE_REQUEST_SUBMIT, "cache-request submit", "cache path")              \
    X(0x020c, PROCEDURE_CALL_WITH_BARS, "procedure call with bars", "+0x208 region")   \
    X(0x0211, PROCEDURE_CALL_WITH_EVENTS, "procedure call with events", "events path") \
    X(0x0212, PROCEDURE_CALL_VARIANT, "procedure-call variant", "+0x210")              \
    X(0x0404, RETURN_PROCESS_ID, "RETURN_PROCESS_ID", "+0x190")                        \
    X(0xff00, BACK_CHANNEL_RPC, "BACK_CHANNEL_RPC", "func 0x47818")

enum pr_exeloop {
#define X(id, name, meaning, slot) PR_EXE_##name = id,
    PR_EXELOOP_COMMANDS(X)
#undef X
    /* by the names of commands.def */
    PR_EXE_PROCEDURE_CALL_WITH_CUSTOM_BARS = PR_EXE_PROCEDURE_CALL_WITH_BARS,
    PR_EXE_PROCEDURE_CALL_WITH_SIGNAL_EVENTS = PR_EXE_PROCEDURE_CALL_WITH_EVENTS,
};

/*
 * What installs a cache request: no id of Table 30.6, which the loop refuses by name until it serves it. The
 * number is that of the corrected pairing (commands.def), as all ids of this channel.
 */
#define PR_EXE_CACHE_REQUEST_INSTALL 0x0208u

struct pr_dispatched {
    uint32_t index;
    const char *name;
    enum pr_direction direction;
    const char *subsystem;
};

struct pr_wire {
    uint32_t id;
    const char *name, *corrected;
    const char *family;
};

struct pr_exeloop_row {
    uint32_t id;
    const char *name, *meaning, *slot;
};

extern const struct pr_dispatched pr_dispatched_table[PR_DISPATCHED_COUNT];
extern const struct pr_wire pr_wire_table[PR_WIRE_COUNT];
#define PR_EXELOOP_COUNT 9u
extern const struct pr_exeloop_row pr_exeloop_table[PR_EXELOOP_COUNT];

/* Names for log lines; NULL when there is none. */
const char *pr_command_name(uint32_t wire_id);
const char *pr_exeloop_name(uint32_t wire_id);

#endif
