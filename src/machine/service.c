/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: machines with firmware, found by number; and the process's default machine. A machine is in the
 * table from the end of its boot until it is taken apart.
 */
#include <anemone/iokit.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "machine/internal.h"
#include "service/client.h"

/*
 * A number names an entry of one machine's registry: SERVICE_BASE + turn * MACH_SERVICES_MAX + the machine's
 * row, where turn 0 is the device and turn n + 1 the driver's entry n. They end below the numbers of
 * connections.
 */
#define SERVICE_BASE 0x1000u
#define SERVICE_END  0x10000u

/* The names that match; the device's is the first. */
static const char *const matching_name[] = {"H11ANEIn", "H1xANELoadBalancer"};

/* Under the lock of the tables. */
static struct ane_machine *service_table[MACH_SERVICES_MAX];

io_service_t mach_service_add(struct ane_machine *m)
{
    io_service_t service = 0;

    mach_tables_lock();
    for (unsigned i = 0; i < MACH_SERVICES_MAX && !service; i++)
        if (!service_table[i]) {
            service_table[i] = m;
            service = SERVICE_BASE + i;
        }
    mach_tables_unlock();
    return service;
}

void mach_service_remove(struct ane_machine *m)
{
    mach_tables_lock();
    for (unsigned i = 0; i < MACH_SERVICES_MAX; i++)
        if (service_table[i] == m)
            service_table[i] = NULL;
    mach_tables_unlock();
}

struct ane_machine *mach_service_hold(io_service_t service, bool *device)
{
    struct ane_machine *m = NULL;

    mach_tables_lock();
    if (service >= SERVICE_BASE && service < SERVICE_END)
        m = service_table[(service - SERVICE_BASE) % MACH_SERVICES_MAX];
    *device = service < SERVICE_BASE + MACH_SERVICES_MAX;
    if (m && !mach_hold_locked(m))
        m = NULL;
    mach_tables_unlock();
    return m;
}

io_service_t ane_machine_service(struct ane_machine *machine)
{
    return machine ? machine->service : 0;
}

uint32_t mach_service_entry(io_service_t service)
{
    uint32_t turn = (service - SERVICE_BASE) / MACH_SERVICES_MAX;

    return turn ? turn - 1 : drv_registry_find(matching_name[0]);
}

io_service_t mach_service_number(const struct ane_machine *m, uint32_t entry)
{
    if (entry == drv_registry_find(matching_name[0]))
        return m->service;
    return m->service + (entry + 1) * MACH_SERVICES_MAX;
}

const void *IOServiceMatching(const char *name)
{
    for (size_t i = 0; name && i < BASE_COUNT_OF(matching_name); i++)
        if (!strcmp(name, matching_name[i]))
            return &matching_name[i];
    return NULL;
}

/* The default machine, under its own lock: making one takes a while. */
static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ane_machine *default_machine;

/* What the environment says about the default machine. */
static int environment_config(struct ane_machine_config *config)
{
    const char *numerics = getenv("ANEMONE_NUMERICS"), *threads = getenv("ANEMONE_THREADS"),
               *scatter = getenv("ANEMONE_SCATTER"), *core = getenv("ANEMONE_CORE"),
               *firmware = getenv("ANEMONE_FIRMWARE"), *timing = getenv("ANEMONE_TIMING"),
               *winograd = getenv("ANEMONE_WINOGRAD");
    char *end;

    *config = (struct ane_machine_config){.size = sizeof(*config), .firmware = 1};
    if (numerics && numerics[0]) {
        int policy = ane_numerics_named(numerics);

        if (policy < 0)
            return base_fail(mach_error(), EINVAL, "ANEMONE_NUMERICS is \"%s\"; %s are known.", numerics,
                             ANE_NUMERICS_NAMES);
        config->numerics = (uint32_t)policy;
    }
    if (winograd && winograd[0]) {
        int named = ane_winograd_named(winograd);

        if (named < 0)
            return base_fail(mach_error(), EINVAL, "ANEMONE_WINOGRAD is \"%s\"; %s are known.", winograd,
                             ANE_WINOGRAD_NAMES);
        config->winograd = (uint32_t)named;
    }
    if (core && core[0]) {
        int named = ane_core_named(core);

        if (named < 0)
            return base_fail(mach_error(), EINVAL, "ANEMONE_CORE is \"%s\"; %s are known.", core,
                             ANE_CORE_NAMES);
        config->core = (uint32_t)named;
    }
    if (timing && timing[0]) {
        int named = ane_timing_named(timing);

        if (named < 0)
            return base_fail(mach_error(), EINVAL, "ANEMONE_TIMING is \"%s\"; %s are known.", timing,
                             ANE_TIMING_NAMES);
        config->timing = (uint32_t)named;
    }
    if (firmware && firmware[0])
        config->firmware_image = firmware;
    if (threads && threads[0]) {
        unsigned long count = strtoul(threads, &end, 10);

        if (*end || threads[0] < '0' || threads[0] > '9' || count < 1 || count > ANE_THREADS_MAX)
            return base_fail(mach_error(), EINVAL, "ANEMONE_THREADS is \"%s\"; it is a number from 1 to %u.",
                             threads, ANE_THREADS_MAX);
        config->threads = (uint32_t)count;
    }
    if (scatter && scatter[0]) {
        unsigned long seed = strtoul(scatter, &end, 10);

        if (*end || scatter[0] < '0' || scatter[0] > '9' || seed > UINT32_MAX)
            return base_fail(mach_error(), EINVAL, "ANEMONE_SCATTER is \"%s\"; it is a number from 0 to %u.",
                             scatter, UINT32_MAX);
        config->scatter = (uint32_t)seed;
    }
    return 0;
}

static int refuse_served(void)
{
    return base_fail(mach_error(), EREMOTE,
                     "This process uses the service at %s and has no machine of its own; with "
                     "ANEMONE_SERVICE=none it has one.",
                     svc_client_path());
}

/* A configuration is for a machine of this process: with one it does not look for a service. */
static int make_default(const struct ane_machine_config *config)
{
    struct ane_machine_config own;
    int result;

    if (config)
        return svc_client_decline() ? ane_machine_create(config, &default_machine) : refuse_served();
    result = svc_client_decide(mach_error());
    if (result)
        return result < 0 ? -ENODEV : refuse_served();
    result = environment_config(&own);
    return result ? result : ane_machine_create(&own, &default_machine);
}

int ane_machine_default(const struct ane_machine_config *config, struct ane_machine **machine)
{
    int result = 0;

    mach_error_begin();
    pthread_mutex_lock(&default_lock);
    if (!default_machine)
        result = make_default(config);
    else if (config)
        result = base_fail(mach_error(), EBUSY,
                           "The default machine is in use; its configuration cannot be changed any more.");
    if (!result && machine)
        *machine = default_machine;
    pthread_mutex_unlock(&default_lock);
    return result;
}

void mach_service_fork_begin(void)
{
    pthread_mutex_lock(&default_lock);
}

void mach_service_fork_end(bool child)
{
    if (child) {
        memset(service_table, 0, sizeof(service_table));
        default_machine = NULL;
    }
    pthread_mutex_unlock(&default_lock);
}

io_service_t IOServiceGetMatchingService(uint32_t main_port, const void *matching)
{
    struct ane_machine *machine;
    const char *name = NULL;

    (void)main_port;
    mach_error_begin();
    for (size_t i = 0; i < BASE_COUNT_OF(matching_name); i++)
        if (matching == &matching_name[i])
            name = matching_name[i];
    if (!name) {
        base_fail(mach_error(), ENOENT, "The matching dictionary is that of neither %s nor %s.",
                  matching_name[0], matching_name[1]);
        return 0;
    }
    switch (svc_client_decide(mach_error())) {
    case 0: break;
    case 1: return svc_client_find(name, mach_error());
    default: return 0;
    }
    if (ane_machine_default(NULL, &machine) || !machine->service)
        return 0;
    return mach_service_number(machine, drv_registry_find(name));
}
