/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver author who boots the controller of a machine with firmware again, by register accesses and bytes
 * in DRAM alone: page table, surfaces, boot arguments, the three handshakes, control commands. The machine's
 * own driver is left without its controller.
 */
#ifndef TESTS_BOOTRIG_H
#define TESTS_BOOTRIG_H

#include "bare.h"
#include "protocol/channel.h"
#include "protocol/endpoint.h"
#include "protocol/message.h"

struct bootrig {
    struct bare bare;
    struct bare_buffer arguments, ipc, heap, pool;
    struct pr_boot_args args; /* what the next boot passes; may be changed before it */
    uint32_t cursor;          /* slot of the IO channel */
};

/* Makes the page table and the surfaces; asserts that they can be made. */
void bootrig_make(struct bootrig *rig, struct ane_machine *machine);

uint64_t bootrig_register(const struct bootrig *rig, uint32_t offset); /* physical address in the container */
uint32_t bootrig_read(struct bootrig *rig, uint32_t offset);
void bootrig_write(struct bootrig *rig, uint32_t offset, uint32_t value);
/* A control command on IO: its status, or -1 when it was not answered. */
int bootrig_command(struct bootrig *rig, uint32_t id, const void *body, uint32_t bytes);

/* Power on, page table, reset, handshakes. True when the controller says that it runs. */
bool bootrig_boot(struct bootrig *rig);
/* The controller answers a command with success. */
bool bootrig_answers(struct bootrig *rig);

/* Takes every section of a dump that the firmware stages; false when it stages none. */
bool bootrig_dump(struct bootrig *rig);

#endif
