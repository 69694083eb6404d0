/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life cycles: the states of one kind of object, and which state may follow which. Each kind has one const
 * table and one function that changes the state of an object; that function checks the transition here first.
 */
#ifndef DRIVER_LIFECYCLE_H
#define DRIVER_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

struct drv_lifecycle_state {
    const char *name;
    uint32_t next; /* bitmap of the states that may follow */
};

struct drv_lifecycle {
    const char *noun; /* what has this life cycle */
    unsigned states;
    const struct drv_lifecycle_state *state;
};

bool drv_lifecycle_allows(const struct drv_lifecycle *cycle, unsigned from, unsigned to);
/*
 * Ends the process with a message on stderr when the transition is not allowed. Nothing that a client, a file
 * or the firmware does may lead there: such a transition is an error of the driver itself.
 */
void drv_lifecycle_check(const struct drv_lifecycle *cycle, unsigned from, unsigned to);

#endif
