/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sabotage: each wall of the machine can be broken on purpose, one at a time, to show that nothing goes
 * around it. All of it works through taps on the bus and on the interrupt lines; the library contains none of
 * it.
 */
#ifndef TESTS_SABOTAGE_H
#define TESTS_SABOTAGE_H

#include <stdint.h>

#include "machine/internal.h"

/* X(id, what it does) */
#define SABOTAGES(X)                                                                        \
    X(DROP_DOORBELL, "the host's doorbell store is lost")                                   \
    X(CORRUPT_SLOT, "the address word of the next ring slot is changed after the doorbell") \
    X(CLEAR_PTE, "a page of the first source is unmapped behind the driver's back")         \
    X(ZERO_BAR, "buffer register 5 of the queue is written as 0")                           \
    X(DROP_PUSH, "the store to REQ_PUSH is lost")                                           \
    X(CUT_ENGINE_LINE, "the engine's interrupt line is cut")                                \
    X(DROP_COMPLETION, "the controller's host doorbell store is lost")                      \
    X(CUT_HOST_LINE, "the host's interrupt line is cut")                                    \
    X(CLOSE_WINDOW, "the fabric window never opens: every doorbell store is rejected")      \
    X(BOOT_CHIP_REVISION, "the boot arguments name another chip revision")                  \
    X(BOOT_PROTOCOL_VERSION, "the boot arguments name another protocol version")            \
    X(BOOT_RING_VERSION, "the boot arguments name another ring-buffer version")             \
    X(BOOT_PAGE_SIZE, "the boot arguments name another page size")                          \
    X(BOOT_SMALL_HEAP, "the framework reservation is more than half of the heap")           \
    X(BOOT_MAGIC, "the host's word in scratch 3 is changed")                                \
    X(BOOT_NO_SECOND_WAKE, "the controller's second wake is lost")                          \
    X(BOOT_NO_FIRST_WAKE, "the controller's first wake is lost")

enum sabotage_kind {
#define X(id, text) SABOTAGE_##id,
    SABOTAGES(X)
#undef X
        SABOTAGE_COUNT
};

struct sabotage {
    enum sabotage_kind kind;
    struct ane_machine *machine;
    uint32_t hits;  /* times it had an effect */
    uint32_t wakes; /* of the controller, seen so far */
    struct soc_bus_tap accesses;
    struct soc_lines_tap lines;
};

const char *sabotage_text(enum sabotage_kind kind);
/* Breaks a wall of a machine that exists, until the end. `s` stays where it is in between. */
void sabotage_begin(struct sabotage *s, struct ane_machine *machine, enum sabotage_kind kind);
void sabotage_end(struct sabotage *s);
/* ane_machine_create with a wall broken from before the boot. The machine's end is the end of this, too. */
int sabotage_create(struct sabotage *s, enum sabotage_kind kind, const struct ane_machine_config *config,
                    struct ane_machine **machine);

#endif
