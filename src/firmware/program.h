/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: containers the host has had loaded, in 144 slots. */
#ifndef FIRMWARE_PROGRAM_H
#define FIRMWARE_PROGRAM_H

#include "firmware/state.h"

/*
 * Copies the container at a device address once, checks the copy, and gives it a slot: the reserved one that
 * `wanted` names, or with PR_NO_ID any.
 */
enum pr_status fw_program_load(struct fw *fw, uint64_t address, uint64_t bytes, uint32_t wanted,
                               uint32_t *slot);
/* The same for a container of the firmware's own, in any slot. */
enum pr_status fw_program_load_own(struct fw *fw, const void *container, size_t bytes, uint32_t *slot);
/*
 * Writes where its sections are to its working set; false when that is not mapped, or in an image that the
 * host has mapped read-only.
 */
bool fw_program_show(struct fw *fw, uint32_t slot, uint64_t working);
/* BUSY while it has processes, WRONG_STATE for a built-in network. */
enum pr_status fw_program_unload(struct fw *fw, uint32_t slot);

/* Whether the container gives the buffer an address, so that no call binds it. */
static inline bool fw_program_fixed(const struct pr_generic_buffer *buffer)
{
    return buffer->address && buffer->type != PR_BUFFER_KERNEL && buffer->type != PR_BUFFER_TEXT;
}

static inline struct fw_program *fw_program_get(struct fw *fw, uint32_t slot)
{
    return slot < PR_PROGRAMS_MAX && fw->program_slot[slot].valid ? fw->program[slot] : NULL;
}

#endif
