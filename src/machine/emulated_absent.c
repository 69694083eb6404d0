/* SPDX-License-Identifier: Apache-2.0 */
/* No emulated core: the library was built without libunicorn. */
#include <errno.h>
#include <stddef.h>

#include "machine/emulated.h"

int mach_emulated_create(struct ane_machine *machine, const struct mach_emulated_calls *calls,
                         struct mach_emulated **emulated, struct base_error *error)
{
    (void)machine;
    (void)calls;
    *emulated = NULL;
    return base_fail(
        error, ENOTSUP,
        "This library has no emulated core: it was built without libunicorn. Choose the native core.");
}

void mach_emulated_destroy(struct mach_emulated *emulated)
{
    (void)emulated;
}

bool mach_emulated_reset(struct mach_emulated *emulated, uint64_t entry)
{
    (void)emulated;
    (void)entry;
    return false;
}

void mach_emulated_inject(struct mach_emulated *emulated, unsigned fault_class)
{
    (void)emulated;
    (void)fault_class;
}

enum mach_emulated_end mach_emulated_run(struct mach_emulated *emulated)
{
    (void)emulated;
    return MACH_EMULATED_ENDED;
}
