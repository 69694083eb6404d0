/* SPDX-License-Identifier: Apache-2.0 */
/* A DART fault of the machine, for who ran a program: as a readable block, and as JSON. */
#ifndef TOOL_FAULT_H
#define TOOL_FAULT_H

#include <stdbool.h>

#include <anemone/machine.h>

#include "tool/json.h"

/* The last fault of a request; false when there was none. */
bool tool_fault_get(struct ane_machine *machine, struct ane_machine_fault *fault);
/* To stderr: what, where, which tensor, what to do. */
void tool_fault_print(const struct ane_machine_fault *fault);
void tool_fault_json(struct json *json, const struct ane_machine_fault *fault);

#endif
