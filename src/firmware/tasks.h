/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the firmware's tasks. docs/firmware.md says what each does. */
#ifndef FIRMWARE_TASKS_H
#define FIRMWARE_TASKS_H

#include "firmware/state.h"

/* Makes all of them, and the objects they use. False when a pool or the arena is exhausted. */
bool fw_tasks_create(struct fw *fw);

#endif
