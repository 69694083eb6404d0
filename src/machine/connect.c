/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: open user clients of this process, named by number.
 *
 * A row holds its machine from open to the end of close. The client behind it belongs to the driver and is
 * used under the machine's lock only: close takes it out of the row there, so that a call that enters later
 * finds none and answers "closed". The row is free when the last call has left.
 */
#include <anemone/iokit.h>

#include <errno.h>

#include "machine/internal.h"
#include "protocol/timing.h"
#include "service/client.h"

#define CONNECTS_MAX 1024u
#define CONNECT_BASE 0x10000u
#define TURNS        0x1000u

/* What the profile measures; call() does not know the client's type. */
_Static_assert((int)ANE_CONTROL_ProgramSendRequest == (int)ANE_DIRECT_ProgramSendRequest,
               "both are selector 2");

enum connect_state { CONNECT_FREE, CONNECT_OPEN, CONNECT_CLOSING };

struct connect {
    enum connect_state state;
    struct ane_machine *machine;
    struct drv_client *client; /* under the machine's lock; NULL once it is being closed */
    uint32_t turns;            /* how often the row was used */
    unsigned calls;            /* calls that have found the row and not left it */
};

/* Under the lock of the tables. */
static struct connect connect_table[CONNECTS_MAX];

static IOReturn refuse(IOReturn status, const char *sentence)
{
    base_fail(mach_error(), EIO, "%s", sentence);
    return status;
}

/* A row for an open client; it takes over the caller's hold. 0 when there is no row or the machine ends. */
static io_connect_t add(struct ane_machine *m, struct drv_client *client)
{
    io_connect_t id = 0;

    mach_tables_lock();
    for (unsigned i = 0; i < CONNECTS_MAX && !id && !m->ending; i++) {
        struct connect *row = &connect_table[i];

        if (row->state != CONNECT_FREE)
            continue;
        *row =
            (struct connect){.state = CONNECT_OPEN, .machine = m, .client = client, .turns = row->turns + 1};
        id = CONNECT_BASE + row->turns % TURNS * CONNECTS_MAX + i;
    }
    mach_tables_unlock();
    return id;
}

/* With the tables locked: the row of an open connection, or NULL and the reason. */
static struct connect *find_row(io_connect_t id, IOReturn *status)
{
    uint32_t turn = (id - CONNECT_BASE) / CONNECTS_MAX;
    struct connect *row = &connect_table[(id - CONNECT_BASE) % CONNECTS_MAX];

    *status = kIOReturnSuccess;
    if (id < CONNECT_BASE || turn >= TURNS || (row->turns < TURNS && (turn == 0 || turn > row->turns)))
        *status = refuse(kIOReturnBadArgument, "There is no such connection.");
    else if (row->state != CONNECT_OPEN || row->turns % TURNS != turn)
        *status = refuse(ANE_RETURN_CLOSED, "The connection is closed.");
    return *status ? NULL : row;
}

static IOReturn no_row(const struct ane_machine *m)
{
    bool ending;

    mach_tables_lock();
    ending = m->ending;
    mach_tables_unlock();
    if (ending)
        return refuse(kIOReturnNoDevice, "The machine of this service is being destroyed.");
    base_fail(mach_error(), ENOSPC, "%u connections are open in this process; close one.", CONNECTS_MAX);
    return kIOReturnNoResources;
}

IOReturn IOServiceOpen(io_service_t service, ane_task_t task, uint32_t type, io_connect_t *connect)
{
    struct drv_identity identity;
    struct drv_client *client;
    struct ane_machine *m;
    IOReturn status;
    bool device;

    mach_error_begin();
    if (!connect)
        return refuse(kIOReturnBadArgument, "IOServiceOpen was given no place for the connection.");
    *connect = 0;
    if (svc_client_has_entry(service))
        return svc_client_open(service, task, type, connect, mach_error());
    if (!mach_task_identity(task, &identity))
        return kIOReturnBadArgument;
    m = mach_service_hold(service, &device);
    if (!m)
        return refuse(kIOReturnNoDevice, "There is no such service; its machine may have been destroyed.");
    if (!device) {
        mach_release(m);
        return refuse(kIOReturnUnsupported, "Only the device, H11ANEIn, has user clients.");
    }
    if (!mach_enter_dead(m)) {
        mach_release(m);
        return kIOReturnNotPermitted;
    }
    if (mach_panicked(m)) {
        mach_leave(m);
        mach_release(m);
        return kIOReturnNoDevice;
    }
    status = drv_client_open(m->driver, &identity, type, &client, mach_error());
    SOC_TRACE(&m->trace, CLIENT_OPEN, type, (unsigned)status);
    if (!status) {
        *connect = add(m, client);
        if (!*connect) {
            drv_client_close(client);
            status = no_row(m);
        }
    }
    mach_leave(m);
    if (status)
        mach_release(m);
    return status;
}

/* The row is closing and this thread is the one that closes it. */
static bool end_row(struct connect *row)
{
    struct ane_machine *m = row->machine;
    struct drv_client *client;

    if (!mach_enter_dead(m))
        return false;
    client = row->client;
    row->client = NULL;
    drv_client_close(client);
    SOC_TRACE(&m->trace, CLIENT_CLOSE);
    mach_leave(m);
    mach_tables_lock();
    while (row->calls)
        mach_tables_wait();
    row->state = CONNECT_FREE;
    mach_release_locked(m);
    mach_tables_unlock();
    return true;
}

IOReturn IOServiceClose(io_connect_t connect)
{
    struct connect *row;
    IOReturn status;

    mach_error_begin();
    if (svc_client_has_connect(connect))
        return svc_client_close(connect, mach_error());
    mach_tables_lock();
    row = find_row(connect, &status);
    if (row)
        row->state = CONNECT_CLOSING;
    mach_tables_unlock();
    if (!row)
        return status;
    if (end_row(row))
        return kIOReturnSuccess;
    mach_tables_lock();
    row->state = CONNECT_OPEN;
    mach_tables_unlock();
    return kIOReturnNotPermitted;
}

/* With the tables locked: a row of that machine that is not being closed yet. */
static struct connect *find_open(const struct ane_machine *m)
{
    for (unsigned i = 0; i < CONNECTS_MAX; i++)
        if (connect_table[i].state == CONNECT_OPEN && connect_table[i].machine == m)
            return &connect_table[i];
    return NULL;
}

bool mach_connect_end_all(struct ane_machine *m)
{
    bool ended;

    mach_tables_lock();
    m->ending = true;
    mach_tables_unlock();
    ended = mach_port_end_waits(m);
    mach_tables_lock();
    while (m->holds && ended) {
        struct connect *row = find_open(m);

        if (!row) {
            mach_tables_wait();
            continue;
        }
        row->state = CONNECT_CLOSING;
        mach_tables_unlock();
        ended = end_row(row);
        mach_tables_lock();
        if (!ended)
            row->state = CONNECT_OPEN;
    }
    m->ending = ended;
    mach_tables_unlock();
    return ended;
}

void mach_connect_forked(void)
{
    for (unsigned i = 0; i < CONNECTS_MAX; i++)
        connect_table[i] = (struct connect){.turns = connect_table[i].turns};
    mach_tables_forked();
}

static IOReturn call(struct connect *row, mach_driver_entry enter, uint32_t selector,
                     struct IOExternalMethodArguments *arguments)
{
    const bool sends = enter == drv_client_call && selector == ANE_CONTROL_ProgramSendRequest;
    struct ane_machine *m = row->machine;
    struct drv_client *client;
    uint32_t number;
    IOReturn status;

    if (!mach_enter_dead(m))
        return kIOReturnNotPermitted;
    if (mach_panicked(m)) {
        mach_leave(m);
        return kIOReturnNoDevice;
    }
    client = row->client;
    if (!client) {
        mach_leave(m);
        return refuse(ANE_RETURN_CLOSED, "The connection is closed.");
    }
    number = drv_client_number(client);
    SOC_TRACE(&m->trace, CLIENT_CALL, number, selector, arguments->structureInputSize,
              arguments->structureOutputSize);
    if (sends) {
        mach_profile_pass(m, MACH_POINT_CALL);
        mach_timing_spend(m, PR_TIMING_METHOD_REST_NS);
    }
    /* The connection may have been closed meanwhile, and the machine may have stopped. */
    if (row->client && !mach_panicked(m))
        status = enter(client, selector, arguments, mach_error());
    else
        status = refuse(ANE_RETURN_CLOSED, "The connection is closed.");
    if (sends)
        mach_profile_pass(m, MACH_POINT_RETURN);
    if (mach_panicked(m)) /* while the call was under way: what it waited for never came */
        status = kIOReturnNoDevice;
    SOC_TRACE(&m->trace, CLIENT_RETURN, number, selector, (unsigned)status);
    mach_leave(m);
    return status;
}

static void leave_row(struct connect *row)
{
    mach_tables_lock();
    if (--row->calls == 0 && row->state == CONNECT_CLOSING)
        mach_tables_changed();
    mach_tables_unlock();
}

/* Saturates: no selector has a size of UINT32_MAX, so a size that is too large stays invalid. */
static uint32_t size_word(size_t size)
{
    return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

/* The row stays until the call has left. */
IOReturn mach_connect_call(mach_driver_entry enter, io_connect_t connect,
                           struct IOExternalMethodArguments *arguments)
{
    struct connect *row;
    IOReturn status;

    if (svc_client_has_connect(connect))
        return mach_served_call(enter, connect, arguments);
    mach_tables_lock();
    row = find_row(connect, &status);
    if (row)
        row->calls++;
    mach_tables_unlock();
    if (!row)
        return status;
    status = call(row, enter, arguments->selector, arguments);
    leave_row(row);
    return status;
}

static IOReturn call_sized(mach_driver_entry enter, io_connect_t connect, uint32_t selector,
                           const uint64_t *input, uint32_t inputCount, const void *inputStruct,
                           size_t inputStructCount, uint64_t *output, const uint32_t *outputCount,
                           void *outputStruct, const size_t *outputStructCount)
{
    struct IOExternalMethodArguments arguments = {
        .selector = selector,
        .scalarInput = input,
        .scalarInputCount = inputCount,
        .structureInput = inputStruct,
        .structureInputSize = size_word(inputStructCount),
        .scalarOutput = output,
        .scalarOutputCount = outputCount ? *outputCount : 0,
        .structureOutput = outputStruct,
        .structureOutputSize = outputStructCount ? size_word(*outputStructCount) : 0,
    };

    mach_error_begin();
    return mach_connect_call(enter, connect, &arguments);
}

IOReturn IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                             uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                             uint64_t *output, uint32_t *outputCount, void *outputStruct,
                             size_t *outputStructCount)
{
    return call_sized(drv_client_call, connect, selector, input, inputCount, inputStruct, inputStructCount,
                      output, outputCount, outputStruct, outputStructCount);
}

IOReturn ane_catalogue_call(io_connect_t connect, uint32_t method, const uint64_t *input, uint32_t inputCount,
                            const void *inputStruct, size_t inputStructCount, uint64_t *output,
                            uint32_t *outputCount, void *outputStruct, size_t *outputStructCount)
{
    return call_sized(drv_catalogue_call, connect, method, input, inputCount, inputStruct, inputStructCount,
                      output, outputCount, outputStruct, outputStructCount);
}

IOReturn IOConnectCallAsyncMethod(io_connect_t connect, uint32_t selector, uint32_t wakePort,
                                  uint64_t *reference, uint32_t referenceCount, const uint64_t *input,
                                  uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                  uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                  size_t *outputStructCount)
{
    struct IOExternalMethodArguments arguments = {
        .selector = selector,
        .asyncWakePort = wakePort,
        .asyncReference = reference,
        .asyncReferenceCount = referenceCount,
        .scalarInput = input,
        .scalarInputCount = inputCount,
        .structureInput = inputStruct,
        .structureInputSize = size_word(inputStructCount),
        .scalarOutput = output,
        .scalarOutputCount = outputCount ? *outputCount : 0,
        .structureOutput = outputStruct,
        .structureOutputSize = outputStructCount ? size_word(*outputStructCount) : 0,
    };

    mach_error_begin();
    if (!wakePort)
        return refuse(kIOReturnBadArgument, "An asynchronous call needs a wake port; 0 is none.");
    return mach_connect_call(drv_client_call, connect, &arguments);
}
