/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sabotage: each wall of the house can be broken on purpose, one at a time, to show that nothing goes around
 * it (docs/architecture.md). The switches are reached by tests through the internal library only; no public
 * function sets them.
 */
#ifndef MACHINE_SABOTAGE_H
#define MACHINE_SABOTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* X(id, what it does) */
#define MACH_SABOTAGES(X)                                                                   \
    X(NONE, "nothing")                                                                      \
    X(DROP_DOORBELL, "the host's doorbell store is lost")                                   \
    X(CORRUPT_SLOT, "the address word of the next ring slot is changed after the doorbell") \
    X(CLEAR_PTE, "a page of the first source is unmapped behind the driver's back")         \
    X(ZERO_BAR, "buffer register 5 of the queue is written as 0")                           \
    X(DROP_PUSH, "the store to REQ_PUSH is lost")                                           \
    X(MASK_ENGINE_LINE, "the engine's interrupt line is cut")                               \
    X(DROP_COMPLETION, "the controller's host doorbell store is lost")                      \
    X(MASK_HOST_LINE, "the host's interrupt line is cut")                                   \
    X(CLOSE_WINDOW, "the fabric window never opens: every doorbell store is rejected")      \
    X(BOOT_CHIP_REVISION, "the boot arguments name another chip revision")                  \
    X(BOOT_PROTOCOL_VERSION, "the boot arguments name another protocol version")            \
    X(BOOT_RING_VERSION, "the boot arguments name another ring-buffer version")             \
    X(BOOT_PAGE_SIZE, "the boot arguments name another page size")                          \
    X(BOOT_SMALL_HEAP, "the framework reservation is more than half of the heap")           \
    X(BOOT_MAGIC, "the host's word in scratch 3 is changed")                                \
    X(BOOT_NO_SECOND_WAKE, "the controller's second wake is lost")                          \
    X(BOOT_NO_FIRST_WAKE, "the controller's first wake is lost")

enum mach_sabotage_kind {
#define X(id, text) MACH_SABOTAGE_##id,
    MACH_SABOTAGES(X)
#undef X
        MACH_SABOTAGE_COUNT
};

struct mach_sabotage {
    enum mach_sabotage_kind kind;
    uint32_t hits;  /* times it struck */
    uint32_t table; /* device address of the channel table */
    uint32_t wakes; /* of the controller, seen so far */
};

struct ane_machine;
struct ane_machine_config;
/* ane_machine_create with a wall broken from the beginning. */
int mach_create_sabotaged(const struct ane_machine_config *config, enum mach_sabotage_kind kind,
                          struct ane_machine **machine);
const char *mach_sabotage_text(enum mach_sabotage_kind kind);
void mach_sabotage_set(struct ane_machine *machine, enum mach_sabotage_kind kind);
uint32_t mach_sabotage_hits(struct ane_machine *machine);

/* What the machine's wiring asks at each wall; false: the store is lost. */
bool mach_sabotage_engine(struct ane_machine *machine, uint32_t offset,
                          uint32_t *value); /* offset from PR_ENGINE_REGS */
bool mach_sabotage_mailbox(struct ane_machine *machine, uint32_t offset,
                           uint32_t *value); /* offset in the container */

#endif
