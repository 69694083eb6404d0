/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every machine of a test gets the emulated core: linked into a second program of that test, with these names
 * wrapped. A machine that asks for a firmware file or has no firmware is left alone.
 */
#include "support.h"

#include "machine/internal.h"

/* The emulator asks the host for memory whenever it likes. */
__attribute__((constructor)) static void leave_out(void)
{
    cmocka_set_skip_filter("*seccomp*");
}

int __real_ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine);
int __wrap_ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine);
int __real_mach_create_tapped(const struct ane_machine_config *config,
                              void (*install)(void *context, struct ane_machine *machine), void *context,
                              struct ane_machine **machine);
int __wrap_mach_create_tapped(const struct ane_machine_config *config,
                              void (*install)(void *context, struct ane_machine *machine), void *context,
                              struct ane_machine **machine);

/* `own` is filled and returned when the machine gets the emulated core. */
static const struct ane_machine_config *emulated(const struct ane_machine_config *config,
                                                 struct ane_machine_config *own)
{
    if (!config || config->size != sizeof(*config) || !config->firmware || config->firmware_image)
        return config;
    *own = *config;
    own->core = ANE_CORE_EMULATED;
    return own;
}

int __wrap_ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine)
{
    struct ane_machine_config own;

    return __real_ane_machine_create(emulated(config, &own), machine);
}

int __wrap_mach_create_tapped(const struct ane_machine_config *config,
                              void (*install)(void *context, struct ane_machine *machine), void *context,
                              struct ane_machine **machine)
{
    struct ane_machine_config own;

    return __real_mach_create_tapped(emulated(config, &own), install, context, machine);
}
