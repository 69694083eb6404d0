/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone spec`: one description of the machine's tables, written as JSON or as sheets of text. */
#ifndef TOOL_SPEC_H
#define TOOL_SPEC_H

#include "tool/json.h"

#define SPEC_DEPTH 8

struct spec_cell;

/*
 * Where a section writes to. Text: objects become lines of name and value, arrays of objects become tables.
 */
struct spec {
    bool as_json;
    struct json json;

    unsigned depth;
    bool array[SPEC_DEPTH];          /* what is open at each depth: array or object */
    const char *title;               /* of the open array */
    struct spec_cell *first, **last; /* of the table that is being collected */
    unsigned row;
    bool in_row, failed;
};

void spec_begin(struct spec *spec, bool as_json);
/* False when memory ran out. */
bool spec_end(struct spec *spec);

/* `name` is NULL inside arrays. An array holds objects of plain values, or plain values. */
void spec_object(struct spec *spec, const char *name);
void spec_object_end(struct spec *spec);
void spec_array(struct spec *spec, const char *name);
void spec_array_end(struct spec *spec);
void spec_text(struct spec *spec, const char *name, const char *value);
void spec_number(struct spec *spec, const char *name, uint64_t value);
void spec_hex(struct spec *spec, const char *name, uint64_t value); /* a number; text shows it in base 16 */
void spec_bool(struct spec *spec, const char *name, bool value);

/* The sections, each the value of the name it has in the table of spec.c. */
void spec_selectors(struct spec *spec);
void spec_return_codes(struct spec *spec);
void spec_abi(struct spec *spec);
void spec_driver(struct spec *spec);
void spec_entitlements(struct spec *spec);
void spec_device(struct spec *spec);
void spec_dispatch(struct spec *spec);

void spec_dart(struct spec *spec);
void spec_usage_codes(struct spec *spec);
void spec_addressing(struct spec *spec);

void spec_apertures(struct spec *spec);
void spec_task_states(struct spec *spec);
void spec_execution_states(struct spec *spec);
void spec_execution(struct spec *spec);
void spec_scheduler(struct spec *spec);
void spec_stats(struct spec *spec);
void spec_fabric(struct spec *spec);
void spec_handshakes(struct spec *spec);
void spec_boot_commands(struct spec *spec);
void spec_boot(struct spec *spec);
void spec_faults(struct spec *spec);

void spec_channels(struct spec *spec);
void spec_commands(struct spec *spec);
void spec_exeloop(struct spec *spec);
void spec_limits(struct spec *spec);
void spec_messages(struct spec *spec);

void spec_task_queue(struct spec *spec);
void spec_descriptor(struct spec *spec);
void spec_boards(struct spec *spec);

#endif
