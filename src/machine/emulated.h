/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's processor as an emulated AArch64 core (libunicorn), which executes the image in DRAM. Its
 * registers are on the machine's bus, shared memory is behind the DART, time is the machine's: instructions
 * take none until there are more of them than a slice. Whoever drives the machine calls it; it runs on that
 * thread's stack.
 *
 * A library that was built without libunicorn has emulated_absent.c instead: mach_emulated_create refuses.
 */
#ifndef MACHINE_EMULATED_H
#define MACHINE_EMULATED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct ane_machine;
struct mach_emulated;

/* What the core asks of the processor around it. */
struct mach_emulated_calls {
    void *context;
    uint64_t *pending; /* interrupt lines; a line that is taken is cleared */
    void (*raise)(void *context, unsigned line);
    void (*timer_set)(void *context, uint64_t deadline);
    bool (*stopped_itself)(void *context); /* a store has asked for that */
};

/* -ENOTSUP when the library has no such core, -ENOMEM. */
int mach_emulated_create(struct ane_machine *machine, const struct mach_emulated_calls *calls,
                         struct mach_emulated **emulated, struct base_error *error);
void mach_emulated_destroy(struct mach_emulated *emulated);

/* The next run begins at that address of the processor's, with everything as after reset. */
bool mach_emulated_reset(struct mach_emulated *emulated, uint64_t entry);
/*
 * An exception of that class (enum rt_fault_class) at the next instruction, whatever is masked. The first of
 * several is taken.
 */
void mach_emulated_inject(struct mach_emulated *emulated, unsigned fault_class);
/*
 * It waits for a line; it has executed a slice of instructions and goes on; it has failed, halted or stopped
 * itself.
 */
enum mach_emulated_end { MACH_EMULATED_WAITS, MACH_EMULATED_BUSY, MACH_EMULATED_ENDED };
#define MACH_EMULATED_SLICE \
    10000000u /* instructions (chosen): so that an image that never waits ends no host */
enum mach_emulated_end mach_emulated_run(struct mach_emulated *emulated);

#endif
