/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: what the driver publishes about itself. The tree is fixed; every entry hangs below the
 * provider that its extension matches (Table 27.1), the mappers below the controller that owns them (ch. 28).
 * Values are read from the driver when they are asked for: nothing is kept here that could become wrong.
 */
#include <string.h>

#include "base/array.h"
#include "driver/client.h"
#include "driver/flow.h"
#include "driver/kext.h"
#include "driver/state.h"

enum {
    ENTRY_ROOT = DRV_REGISTRY_ROOT,
    ENTRY_RTBUDDY,
    ENTRY_DEVICE,
    ENTRY_HINTS,
    ENTRY_RESOURCES,
    ENTRY_HAL,
    ENTRY_BALANCER,
    ENTRY_DART,
    ENTRY_NUB,
    ENTRY_MAPPER = ENTRY_NUB + PR_DART_DOMAINS,
    ENTRIES = ENTRY_MAPPER + PR_DART_DOMAINS
};

#define PROPERTIES_MAX 24u

struct properties {
    unsigned count;
    struct {
        const char *key;
        uint32_t kind;
        uint64_t number;
        const char *text;
    } row[PROPERTIES_MAX];
};

static void put(struct properties *to, const char *key, uint32_t kind, uint64_t number, const char *text)
{
    if (to->count == PROPERTIES_MAX)
        return;
    to->row[to->count].key = key;
    to->row[to->count].kind = kind;
    to->row[to->count].number = number;
    to->row[to->count++].text = text;
}

#define PUT_NUMBER(to, key, value)  put(to, key, ANE_REGISTRY_NUMBER, value, "")
#define PUT_TEXT(to, key, value)    put(to, key, ANE_REGISTRY_TEXT, 0, value)
#define PUT_BOOLEAN(to, key, value) put(to, key, ANE_REGISTRY_BOOLEAN, (value) ? 1 : 0, "")
#define PUT_ROW(kind, key, value)   PUT_##kind(to, key, value);

static void put_kext(const struct drv *d, enum pr_kext_id id, struct properties *to)
{
    const struct pr_kext *kext = &drv_kext_loaded(&d->platform)[id];

    PUT_TEXT(to, "IOClass", kext->class_name);
    PUT_TEXT(to, "IOProviderClass", kext->provider);
    PUT_TEXT(to, "CFBundleIdentifier", kext->bundle);
    PUT_TEXT(to, "CFBundleVersion", kext->version);
}

/* Those whose handle has not been given back. */
static uint32_t count_clients(const struct drv *d, uint32_t type)
{
    uint32_t count = 0;

    for (const struct drv_client *client = d->clients; client; client = client->next)
        count += client->type == type && !drv_client_is_released(client);
    return count;
}

static void put_rtbuddy(const struct drv *d, uint32_t entry, struct properties *to)
{
    (void)d, (void)entry;
    PUT_TEXT(to, PR_RTBUDDY_PROPERTY, PR_RTBUDDY_ROLE);
}

static void put_device(const struct drv *d, uint32_t entry, struct properties *to)
{
    (void)entry;
    put_kext(d, PR_KEXT_INTERFACE, to);
    PR_DEVICE_PROPERTIES(PUT_ROW)
    PUT_BOOLEAN(to, PR_DEVICE_INTERNAL_BUILD_KEY, d->platform.internal_build);
    PUT_BOOLEAN(to, "FirmwareLoaded", d->running);
    PUT_NUMBER(to, "ControlClients", count_clients(d, ANE_CLIENT_CONTROL));
    PUT_NUMBER(to, "DirectPathClients", count_clients(d, ANE_CLIENT_DIRECT_PATH));
    PUT_NUMBER(to, "PersistentClients", drv_client_count_persistent(d));
    PUT_NUMBER(to, "pendingRequestsWithFirmwareCount", drv_flow_with_firmware(d));
    PUT_NUMBER(to, "wakePendingRequestsQueueWithFWOverload", d->stats.woken);
}

/* The standing hints client is the driver's own; the number is that of hints clients opened beside it. */
static void put_hints(const struct drv *d, uint32_t entry, struct properties *to)
{
    (void)entry;
    PUT_TEXT(to, "IOClass", "ANEClientHints");
    PUT_NUMBER(to, "HintsClients", count_clients(d, ANE_CLIENT_HINTS));
}

/* Clock, power and topology constants of the die. */
static void put_hal(const struct drv *d, uint32_t entry, struct properties *to)
{
    (void)entry;
    put_kext(d, PR_KEXT_HAL, to);
    PUT_TEXT(to, "board", d->platform.board->name);
    PUT_NUMBER(to, "timebase-frequency", PR_TIMEBASE_HZ);
    PUT_NUMBER(to, "power-domains", PR_PMU_DOMAINS);
    PUT_NUMBER(to, "cores", PR_DEVICE_CORES);
    PUT_NUMBER(to, "engines", PR_DEVICE_ENGINES);
}

static void put_balancer(const struct drv *d, uint32_t entry, struct properties *to)
{
    uint32_t programs = 0;
    uint64_t bytes = 0;

    (void)entry;
    for (uint32_t i = 0; i < d->balancer.engines; i++) {
        programs += d->balancer.resident[i].programs;
        bytes += d->balancer.resident[i].bytes;
    }
    put_kext(d, PR_KEXT_BALANCER, to);
    PUT_NUMBER(to, "ANEDevicePropertyNumANEs", d->balancer.engines);
    PUT_NUMBER(to, "Programs", programs);
    PUT_NUMBER(to, "ResidentBytes", bytes);
}

static void put_dart(const struct drv *d, uint32_t entry, struct properties *to)
{
    (void)entry;
    PR_DART_NODE_PROPERTIES(PUT_ROW)
    PUT_NUMBER(to, "reg", d->platform.board->dart[0]);
}

static void put_nub(const struct drv *d, uint32_t entry, struct properties *to)
{
    static const char *const capability[] = {
#define X(domain, name, capability) [domain] = (capability),
        PR_DART_MAPPERS(X)
#undef X
    };

    PUT_TEXT(to, "IOClass", "IODARTMapperNub");
    PUT_NUMBER(to, "streams", d->domain[entry - ENTRY_NUB].streams);
    if (capability[entry - ENTRY_NUB])
        PUT_TEXT(to, PR_DART_CAPABILITY_KEY, capability[entry - ENTRY_NUB]);
}

/* Its nub retains a mapper, and so does every mapping. */
static void put_mapper(const struct drv *d, uint32_t entry, struct properties *to)
{
    const struct drv_domain *domain = &d->domain[entry - ENTRY_MAPPER];

    PUT_TEXT(to, "IOClass", "IODARTMapper");
    PUT_NUMBER(to, "mappings", domain->mappings);
    PUT_NUMBER(to, "retain-count", 1u + domain->mappings);
}

static const struct entry {
    const char *name;
    uint32_t parent;
    void (*put)(const struct drv *d, uint32_t entry, struct properties *to);
    bool service; /* IOServiceMatching finds it */
} entries[ENTRIES] = {[ENTRY_ROOT] = {"Root", DRV_REGISTRY_NONE, NULL, false},
                      [ENTRY_RTBUDDY] = {PR_RTBUDDY_SERVICE, ENTRY_ROOT, put_rtbuddy, false},
                      [ENTRY_DEVICE] = {"H11ANEIn", ENTRY_RTBUDDY, put_device, true},
                      [ENTRY_HINTS] = {"ANEClientHints", ENTRY_DEVICE, put_hints, false},
                      [ENTRY_RESOURCES] = {"IOResources", ENTRY_ROOT, NULL, false},
                      [ENTRY_HAL] = {"AppleT8132ANEHAL", ENTRY_RESOURCES, put_hal, false},
                      [ENTRY_BALANCER] = {"H1xANELoadBalancer", ENTRY_RESOURCES, put_balancer, true},
                      [ENTRY_DART] = {PR_DART_NODE, ENTRY_ROOT, put_dart, false},
#define X(domain, name, capability) [ENTRY_NUB + (domain)] = {name, ENTRY_DART, put_nub, false},
                      PR_DART_MAPPERS(X)
#undef X
#define X(domain, name, capability) \
    [ENTRY_MAPPER + (domain)] = {"IODARTMapper", ENTRY_NUB + (domain), put_mapper, false},
                          PR_DART_MAPPERS(X)
#undef X
};

const char *drv_registry_name(const struct drv *d, uint32_t entry)
{
    (void)d;
    return entry < ENTRIES ? entries[entry].name : NULL;
}

uint32_t drv_registry_child(const struct drv *d, uint32_t entry, uint32_t index)
{
    (void)d;
    for (uint32_t i = 0; entry < ENTRIES && i < ENTRIES; i++)
        if (entries[i].parent == entry && index-- == 0)
            return i;
    return DRV_REGISTRY_NONE;
}

uint32_t drv_registry_find(const char *name)
{
    for (uint32_t i = 0; i < ENTRIES; i++)
        if (entries[i].service && !strcmp(entries[i].name, name))
            return i;
    return DRV_REGISTRY_NONE;
}

bool drv_registry_property(const struct drv *d, uint32_t entry, uint32_t index, const char **key,
                           struct ane_registry_value *value)
{
    struct properties properties = {.count = 0};

    if (entry < ENTRIES && entries[entry].put)
        entries[entry].put(d, entry, &properties);
    if (index >= properties.count)
        return false;
    *key = properties.row[index].key;
    *value = (struct ane_registry_value){.kind = properties.row[index].kind,
                                         .number = properties.row[index].number};
    strncpy(value->text, properties.row[index].text, sizeof(value->text) - 1);
    return true;
}
