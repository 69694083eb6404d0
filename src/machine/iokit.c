/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of iokit.h: services, connections, callers' identities. */
#include <anemone/iokit.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "machine/internal.h"

#define SERVICES_MAX     64u
#define CONNECTS_MAX     1024u
#define TASKS_MAX        256u
#define SERVICE_BASE     0x1000u
#define CONNECT_BASE     0x10000u
#define TURNS            0x1000u
#define SELECTOR_REQUEST 2u

struct connect {
    struct ane_machine *machine; /* NULL: free */
    struct drv_client *client;
    uint32_t turn;
    unsigned calls; /* inside right now */
    bool closing;
};

struct task {
    bool taken;
    struct drv_identity identity;
};

/* Protects the three tables. Never held while a machine's lock is taken. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_left = PTHREAD_COND_INITIALIZER;
static struct ane_machine *service_table[SERVICES_MAX];
static struct connect connect_table[CONNECTS_MAX];
static struct task task_table[TASKS_MAX];

static const struct drv_identity the_process = {
    .may_open = true, .data_chaining = true, .developer = true, .team = "self"};

io_service_t mach_service_add(struct ane_machine *m)
{
    io_service_t service = 0;

    pthread_mutex_lock(&table_lock);
    for (unsigned i = 0; i < SERVICES_MAX && !service; i++)
        if (!service_table[i]) {
            service_table[i] = m;
            service = SERVICE_BASE + i;
        }
    pthread_mutex_unlock(&table_lock);
    return service;
}

void mach_service_remove(struct ane_machine *m)
{
    pthread_mutex_lock(&table_lock);
    for (unsigned i = 0; i < SERVICES_MAX; i++)
        if (service_table[i] == m)
            service_table[i] = NULL;
    pthread_mutex_unlock(&table_lock);
}

io_service_t ane_machine_service(struct ane_machine *machine)
{
    return machine ? machine->service : 0;
}

static const char matching_name[] = "H11ANEIn";

const void *IOServiceMatching(const char *name)
{
    return name && !strcmp(name, matching_name) ? matching_name : NULL;
}

static struct ane_machine *default_machine;
static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_line(void *file, const char *line, size_t length)
{
    fwrite(line, 1, length, file);
}

/* What the environment says about the default machine. */
static int environment_config(struct ane_machine_config *config)
{
    const char *numerics = getenv("ANEMONE_NUMERICS"), *threads = getenv("ANEMONE_THREADS"),
               *trace = getenv("ANEMONE_TRACE");
    char *end;

    *config = (struct ane_machine_config){.size = sizeof(*config), .firmware = 1};
    if (numerics && numerics[0]) {
        int policy = ane_numerics_named(numerics);

        if (policy < 0)
            return base_fail(mach_error(), EINVAL, "ANEMONE_NUMERICS is \"%s\"; %s are known.", numerics,
                             ANE_NUMERICS_NAMES);
        config->numerics = (uint32_t)policy;
    }
    if (threads && threads[0]) {
        unsigned long count = strtoul(threads, &end, 10);

        if (*end || threads[0] < '0' || threads[0] > '9' || count > UINT32_MAX)
            return base_fail(mach_error(), EINVAL, "ANEMONE_THREADS is \"%s\"; a number is needed.", threads);
        config->threads = (uint32_t)count;
    }
    if (trace && trace[0]) {
        config->trace_context = base_file_write(trace);
        if (!config->trace_context)
            return base_fail(mach_error(), errno, "ANEMONE_TRACE: %s cannot be written: %s.", trace,
                             strerror(errno));
        config->trace = 1;
        config->trace_fn = write_line;
    }
    return 0;
}

static int make_default(const struct ane_machine_config *config)
{
    struct ane_machine_config own;
    int result;

    if (config)
        return ane_machine_create(config, &default_machine);
    result = environment_config(&own);
    if (!result)
        result = ane_machine_create(&own, &default_machine);
    if (result && own.trace_context)
        fclose(own.trace_context);
    return result;
}

int ane_machine_default(const struct ane_machine_config *config, struct ane_machine **machine)
{
    int result = 0;

    pthread_mutex_lock(&default_lock);
    if (!default_machine)
        result = make_default(config);
    else if (config)
        result = base_fail(mach_error(), EBUSY,
                           "The default machine is in use; its configuration cannot be changed any more.");
    if (!result)
        *machine = default_machine;
    pthread_mutex_unlock(&default_lock);
    return result;
}

io_service_t IOServiceGetMatchingService(uint32_t main_port, const void *matching)
{
    struct ane_machine *machine;

    (void)main_port;
    if (matching != matching_name || ane_machine_default(NULL, &machine))
        return 0;
    return ane_machine_service(machine);
}

static bool entitled(const char *const *entitlements, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(entitlements[i], name))
            return true;
    return false;
}

ane_task_t ane_task_create(const char *const *entitlements, unsigned count, const char *team_id,
                           const uint8_t *cdhash)
{
    struct drv_identity identity = {
        .may_open = entitled(entitlements, count, "com.apple.ane.iokit-user-access"),
        .data_chaining = entitled(entitlements, count, "com.apple.ane.allow-dataChaining-access"),
    };
    ane_task_t id = 0;

    if (team_id)
        strncpy(identity.team, team_id, sizeof(identity.team) - 1);
    if (cdhash)
        memcpy(identity.cdhash, cdhash, sizeof(identity.cdhash));
    pthread_mutex_lock(&table_lock);
    for (unsigned i = 0; i < TASKS_MAX && !id; i++)
        if (!task_table[i].taken) {
            task_table[i] = (struct task){true, identity};
            id = i + 1;
        }
    pthread_mutex_unlock(&table_lock);
    return id;
}

void ane_task_release(ane_task_t task)
{
    pthread_mutex_lock(&table_lock);
    if (task && task <= TASKS_MAX)
        task_table[task - 1].taken = false;
    pthread_mutex_unlock(&table_lock);
}

static bool identity_of(ane_task_t task, struct drv_identity *identity)
{
    bool found = true;

    pthread_mutex_lock(&table_lock);
    if (task == 0)
        *identity = the_process;
    else if (task <= TASKS_MAX && task_table[task - 1].taken)
        *identity = task_table[task - 1].identity;
    else
        found = false;
    pthread_mutex_unlock(&table_lock);
    return found;
}

/* A row for a client that is open, named by row and turn. */
static io_connect_t add_connect(struct ane_machine *m, struct drv_client *client)
{
    io_connect_t id = 0;

    pthread_mutex_lock(&table_lock);
    for (unsigned i = 0; i < CONNECTS_MAX && !id; i++) {
        struct connect *row = &connect_table[i];

        if (row->machine)
            continue;
        row->machine = m;
        row->client = client;
        row->turn = (row->turn + 1) % TURNS;
        row->calls = 0;
        row->closing = false;
        id = CONNECT_BASE + row->turn * CONNECTS_MAX + i;
    }
    pthread_mutex_unlock(&table_lock);
    return id;
}

/* With the table locked. */
static struct connect *find_connect(io_connect_t id)
{
    struct connect *row;

    if (id < CONNECT_BASE)
        return NULL;
    row = &connect_table[(id - CONNECT_BASE) % CONNECTS_MAX];
    return row->machine && row->turn == (id - CONNECT_BASE) / CONNECTS_MAX ? row : NULL;
}

IOReturn IOServiceOpen(io_service_t service, ane_task_t task, uint32_t type, io_connect_t *connect)
{
    struct drv_identity identity;
    struct drv_client *client;
    struct ane_machine *m = NULL;
    IOReturn status;

    if (!connect || !identity_of(task, &identity))
        return kIOReturnBadArgument;
    pthread_mutex_lock(&table_lock);
    if (service >= SERVICE_BASE && service < SERVICE_BASE + SERVICES_MAX)
        m = service_table[service - SERVICE_BASE];
    pthread_mutex_unlock(&table_lock);
    if (!m)
        return kIOReturnNoDevice;
    if (!mach_enter(m))
        return kIOReturnNotPermitted;
    status = drv_client_open(m->driver, &identity, type, &client);
    SOC_TRACE(&m->trace, SOC_LAYER_CLIENT, "open type=%u status=0x%x", type, (unsigned)status);
    if (!status) {
        *connect = add_connect(m, client);
        if (!*connect) {
            drv_client_close(client);
            status = kIOReturnNoResources;
        }
    }
    mach_leave(m);
    return status;
}

IOReturn IOServiceClose(io_connect_t connect)
{
    struct connect *row;
    struct ane_machine *m;

    pthread_mutex_lock(&table_lock);
    row = find_connect(connect);
    if (!row || row->closing) {
        pthread_mutex_unlock(&table_lock);
        return row ? ANE_RETURN_CLOSED : kIOReturnBadArgument;
    }
    row->closing = true;
    m = row->machine;
    pthread_mutex_unlock(&table_lock);
    if (!mach_enter(m))
        return kIOReturnNotPermitted;
    drv_client_close(row->client);
    SOC_TRACE(&m->trace, SOC_LAYER_CLIENT, "close");
    mach_leave(m);
    /* Its waiters have been told; the row is free when the last of them has left. */
    pthread_mutex_lock(&table_lock);
    while (row->calls)
        pthread_cond_wait(&call_left, &table_lock);
    row->machine = NULL;
    pthread_mutex_unlock(&table_lock);
    return kIOReturnSuccess;
}

static IOReturn call(struct connect *row, uint32_t selector, struct IOExternalMethodArguments *arguments)
{
    struct ane_machine *m = row->machine;
    uint32_t number;
    IOReturn status;

    if (!mach_enter(m))
        return kIOReturnNotPermitted;
    number = drv_client_number(row->client);
    SOC_TRACE(&m->trace, SOC_LAYER_CLIENT, "call client=%u selector=%u in=%u out=%u", number, selector,
              arguments->structureInputSize, arguments->structureOutputSize);
    if (selector == SELECTOR_REQUEST)
        mach_profile_pass(m, MACH_POINT_CALL);
    status = drv_client_call(row->client, selector, arguments);
    if (selector == SELECTOR_REQUEST)
        mach_profile_pass(m, MACH_POINT_RETURN);
    SOC_TRACE(&m->trace, SOC_LAYER_CLIENT, "return client=%u selector=%u status=0x%x", number, selector,
              (unsigned)status);
    if (status && drv_last_error(m->driver)[0])
        base_fail(mach_error(), EIO, "%s", drv_last_error(m->driver));
    mach_leave(m);
    return status;
}

static void call_done(struct connect *row)
{
    pthread_mutex_lock(&table_lock);
    row->calls--;
    if (row->closing)
        pthread_cond_broadcast(&call_left);
    pthread_mutex_unlock(&table_lock);
}

IOReturn IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                             uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                             uint64_t *output, uint32_t *outputCount, void *outputStruct,
                             size_t *outputStructCount)
{
    struct IOExternalMethodArguments arguments = {
        .selector = selector,
        .scalarInput = input,
        .scalarInputCount = inputCount,
        .structureInput = inputStruct,
        .structureInputSize = inputStructCount > UINT32_MAX ? UINT32_MAX : (uint32_t)inputStructCount,
        .scalarOutput = output,
        .scalarOutputCount = outputCount ? *outputCount : 0,
        .structureOutput = outputStruct,
        .structureOutputSize = outputStructCount ? (uint32_t)*outputStructCount : 0,
    };
    struct connect *row;
    IOReturn status;

    pthread_mutex_lock(&table_lock);
    row = find_connect(connect);
    if (row && !row->closing)
        row->calls++;
    status = !row ? kIOReturnBadArgument : row->closing ? ANE_RETURN_CLOSED : kIOReturnSuccess;
    pthread_mutex_unlock(&table_lock);
    if (status)
        return status;
    status = call(row, selector, &arguments);
    call_done(row);
    return status;
}

IOReturn IOConnectCallAsyncMethod(io_connect_t connect, uint32_t selector, uint32_t wakePort,
                                  uint64_t *reference, uint32_t referenceCount, const uint64_t *input,
                                  uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                  uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                  size_t *outputStructCount)
{
    (void)connect, (void)selector, (void)wakePort, (void)reference, (void)referenceCount, (void)input,
        (void)inputCount;
    (void)inputStruct, (void)inputStructCount, (void)output, (void)outputCount, (void)outputStruct,
        (void)outputStructCount;
    return kIOReturnUnsupported;
}
