/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number is in its row from the end of IOServiceOpen until before IOServiceClose, so that whoever closes,
 * closes once.
 *
 * The machine gives a number again after a few thousand connections. A thread that has found its number in
 * the table, and has not made its call yet, must not meet the connection of another session there. So it is
 * counted in the row before it looks at the number; and a close that finds calls in its row keeps every
 * session from opening until they have left it, which they do at once: the machine answers "closed".
 */
#include "service/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/array.h"
#include "service/advice.h"
#include "service/keys.h"
#include "service/peer.h"

/* What the broker has in the kernel in addition to what its client holds: it opens, maps and sets hints. */
#define BROKER_KEYS (PR_ENTITLEMENT_BIT(OPEN) | PR_ENTITLEMENT_BIT(MEMORY) | PR_ENTITLEMENT_BIT(SET_HINTS))
/* What stays the client's grant. */
#define CLIENT_KEYS                                                         \
    (PR_ENTITLEMENT_BIT(REALTIME) | PR_ENTITLEMENT_BIT(SYSTEM_PRIORITIES) | \
     PR_ENTITLEMENT_BIT(DATA_CHAINING) | PR_ENTITLEMENT_BIT(DATA))

int svc_kernel_init(struct svc_kernel *kernel, unsigned connects)
{
    kernel->connect = base_alloc_array(connects, sizeof(*kernel->connect));
    kernel->surface = base_alloc_array(PR_SERVICE_SURFACES, sizeof(*kernel->surface));
    if (!kernel->connect || !kernel->surface) {
        base_free(kernel->connect);
        base_free(kernel->surface);
        return -ENOMEM;
    }
    kernel->connects = connects;
    pthread_mutex_init(&kernel->lock, NULL);
    return 0;
}

void svc_kernel_end(struct svc_kernel *kernel)
{
    pthread_mutex_destroy(&kernel->lock);
    base_free(kernel->connect);
    base_free(kernel->surface);
}

static void free_row(struct svc_peer *session, struct svc_connect *row)
{
    svc_shares_give(&session->service->shares, row->uid, PR_SERVICE_SHARE_CONNECTS, 1);
    pthread_mutex_lock(&session->kernel.lock);
    row->taken = false;
    pthread_mutex_unlock(&session->kernel.lock);
}

/* Takes a number out of its row; false when another thread has. */
static bool take_connect(struct svc_kernel *kernel, struct svc_connect *row, io_connect_t number)
{
    bool taken;

    pthread_mutex_lock(&kernel->lock);
    taken = atomic_load(&row->number) == number;
    if (taken) {
        atomic_store(&row->number, 0);
        kernel->closed[kernel->closed_next++ % SVC_CLOSED] = number;
    }
    pthread_mutex_unlock(&kernel->lock);
    return taken;
}

/* After take_connect: no call enters the row any more. */
static IOReturn close_connect(struct svc_peer *session, struct svc_connect *row, io_connect_t number)
{
    const bool called = atomic_load(&row->calls) != 0;
    struct svc_service *service = session->service;
    IOReturn status;

    if (called)
        pthread_mutex_lock(&service->open_lock);
    status = IOServiceClose(number);
    while (atomic_load(&row->calls))
        sched_yield();
    if (called)
        pthread_mutex_unlock(&service->open_lock);
    free_row(session, row);
    return status;
}

static void close_connects(struct svc_peer *session, ane_task_t task)
{
    struct svc_kernel *kernel = &session->kernel;

    for (unsigned i = 0; i < kernel->connects; i++) {
        struct svc_connect *row = &kernel->connect[i];
        io_connect_t number = 0;

        pthread_mutex_lock(&kernel->lock);
        if (!task || row->task == task)
            number = atomic_load(&row->number);
        pthread_mutex_unlock(&kernel->lock);
        if (number && take_connect(kernel, row, number))
            close_connect(session, row, number);
    }
}

/* Bytes of a surface that count: a size that no surface has is the machine's to refuse. */
static uint64_t counted(uint64_t bytes)
{
    return bytes <= PR_SERVICE_BYTES_MAX ? bytes : 0;
}

static void give_shares(struct svc_shares *shares, uid_t uid, uint64_t bytes)
{
    svc_shares_give(shares, uid, PR_SERVICE_SHARE_SURFACES, 1);
    svc_shares_give(shares, uid, PR_SERVICE_SHARE_BYTES, counted(bytes));
}

/* A surface that is in its row no more. */
static void release_surface(struct svc_peer *session, const struct svc_surface *old)
{
    ane_surface_release(old->id);
    give_shares(&session->service->shares, old->uid, old->bytes);
}

static void release_surfaces(struct svc_peer *session, ane_task_t task)
{
    struct svc_kernel *kernel = &session->kernel;

    for (unsigned i = 0; i < PR_SERVICE_SURFACES; i++) {
        struct svc_surface *row = &kernel->surface[i];
        struct svc_surface old = {0};

        pthread_mutex_lock(&kernel->lock);
        if (row->id && (!task || row->task == task)) {
            old = *row;
            *row = (struct svc_surface){0};
        }
        pthread_mutex_unlock(&kernel->lock);
        if (old.id)
            release_surface(session, &old);
    }
}

void svc_kernel_close_all(struct svc_peer *session)
{
    svc_kernel_close_task(session, 0);
}

void svc_kernel_close_task(struct svc_peer *session, ane_task_t task)
{
    close_connects(session, task);
    release_surfaces(session, task);
}

/* ---- The task for which a session acts ---- */

/* With the service's lock held: the identity in which the broker acts for a client, made on first use. */
static ane_task_t delegate_of(struct svc_peer *client)
{
    uint32_t keys = BROKER_KEYS | (client->grant.entitlements & CLIENT_KEYS);
    const char *list[PR_ENTITLEMENT_COUNT];
    unsigned count = svc_keys_list(keys, list);

    if (!client->delegate)
        client->delegate = ane_task_delegate(client->task, list, count);
    return client->delegate;
}

/*
 * The task that a message names: 0 is the session's own, and only the broker may name another. *client is
 * held, so that it does not end before what is made for it is in the tables; NULL for the session's own.
 */
static IOReturn name_task(struct svc_peer *session, uint32_t named, struct svc_peer **client,
                          ane_task_t *task, struct base_error *error)
{
    *client = NULL;
    *task = session->task;
    if (!named || named == session->task)
        return kIOReturnSuccess;
    if (session->role == PR_SERVICE_ROLE_BROKER)
        *client = svc_service_hold_task(session->service, named);
    if (!*client) {
        base_fail(error, EINVAL, "There is no task %u; it was released, or never made.", named);
        return kIOReturnBadArgument;
    }
    pthread_mutex_lock(&session->service->lock);
    *task = delegate_of(*client);
    pthread_mutex_unlock(&session->service->lock);
    if (*task)
        return kIOReturnSuccess;
    base_fail(error, ENOSPC, "%s", ane_machine_error());
    svc_peer_release(*client);
    *client = NULL;
    return kIOReturnNoResources;
}

/* ---- Connections ---- */

/* A row for a connection that is to be opened for a session; NULL, with a sentence, beyond a limit. */
static struct svc_connect *take_row(struct svc_peer *session, const struct svc_peer *owner, uint32_t type,
                                    struct base_error *error)
{
    struct svc_kernel *kernel = &session->kernel;
    struct svc_connect *row = NULL;

    if (svc_shares_take(&session->service->shares, owner->uid, PR_SERVICE_SHARE_CONNECTS, 1, error))
        return NULL;
    pthread_mutex_lock(&kernel->lock);
    for (unsigned i = 0; i < kernel->connects && !row; i++)
        if (!kernel->connect[i].taken) {
            row = &kernel->connect[i];
            row->taken = true;
            row->task = owner->task;
            row->uid = owner->uid;
            row->type = type;
        }
    pthread_mutex_unlock(&kernel->lock);
    if (row)
        return row;
    svc_shares_give(&session->service->shares, owner->uid, PR_SERVICE_SHARE_CONNECTS, 1);
    base_fail(error, ENOSPC, "This process has %u connections; close one.", kernel->connects);
    return NULL;
}

/* Which key would have opened a client of that type. */
static unsigned opening_key(uint32_t type)
{
    return type == ANE_CLIENT_DIRECT_PATH ? PR_ENTITLEMENT_DIRECT_CLASS : PR_ENTITLEMENT_OPEN;
}

/* `client` is NULL when the session acts for itself. */
static IOReturn open_row(struct svc_peer *session, struct svc_peer *client, ane_task_t task,
                         const struct pr_service_open *open, uint32_t *connect, struct base_error *error)
{
    struct svc_connect *row = take_row(session, client ? client : session, open->type, error);
    io_connect_t number = 0;
    IOReturn status;

    if (!row)
        return kIOReturnNoResources;
    pthread_mutex_lock(&session->service->open_lock);
    status = IOServiceOpen(open->entry & ~PR_SERVICE_ENTRY_BASE, task, open->type, &number);
    pthread_mutex_unlock(&session->service->open_lock);
    if (!status) {
        atomic_store(&row->number, number);
        *connect = number | PR_SERVICE_CONNECT_BASE;
        return kIOReturnSuccess;
    }
    base_fail(error, EIO, "%s", ane_machine_error());
    if (status == kIOReturnUnsupported && !client)
        svc_advice_add(session, 1u << opening_key(open->type), error);
    free_row(session, row);
    return status;
}

IOReturn svc_kernel_open(struct svc_peer *session, const struct pr_service_open *open, uint32_t *connect,
                         struct base_error *error)
{
    struct svc_peer *client;
    ane_task_t task;
    IOReturn status = name_task(session, open->task, &client, &task, error);

    if (status)
        return status;
    status = open_row(session, client, task, open, connect, error);
    if (client)
        svc_peer_release(client);
    return status;
}

/* Whether a number is in the table, and its row; first where it was the last time. */
static bool find_connect(const struct svc_kernel *kernel, io_connect_t number, unsigned *hint)
{
    if (*hint < kernel->connects && atomic_load(&kernel->connect[*hint].number) == number)
        return true;
    for (unsigned i = 0; i < kernel->connects; i++)
        if (atomic_load(&kernel->connect[i].number) == number) {
            *hint = i;
            return true;
        }
    return false;
}

static bool was_closed(struct svc_kernel *kernel, io_connect_t number)
{
    bool found = false;

    pthread_mutex_lock(&kernel->lock);
    for (unsigned i = 0; i < SVC_CLOSED && !found; i++)
        found = number && kernel->closed[i] == number;
    pthread_mutex_unlock(&kernel->lock);
    return found;
}

/* The sentences are those of the machine's own connections. */
static IOReturn refuse_connect(struct svc_kernel *kernel, io_connect_t number, struct base_error *error)
{
    bool closed = was_closed(kernel, number);

    base_fail(error, EBADF, closed ? "The connection is closed." : "There is no such connection.");
    return closed ? ANE_RETURN_CLOSED : kIOReturnBadArgument;
}

/* The number that a client means, if it is in the table: *hint is its row. */
static bool find_named(const struct svc_kernel *kernel, uint32_t connect, io_connect_t *number,
                       unsigned *hint)
{
    *number = connect - PR_SERVICE_CONNECT_BASE;
    return connect > PR_SERVICE_CONNECT_BASE && find_connect(kernel, *number, hint);
}

IOReturn svc_kernel_enter(struct svc_peer *session, uint32_t connect, io_connect_t *number, unsigned *hint,
                          struct base_error *error)
{
    struct svc_kernel *kernel = &session->kernel;

    if (!find_named(kernel, connect, number, hint))
        return refuse_connect(kernel, *number, error);
    atomic_fetch_add(&kernel->connect[*hint].calls, 1);
    /* It may have been taken out since it was found; from here on whoever takes it out sees the call. */
    if (atomic_load(&kernel->connect[*hint].number) == *number)
        return kIOReturnSuccess;
    svc_kernel_leave(session, *hint);
    return refuse_connect(kernel, *number, error);
}

void svc_kernel_leave(struct svc_peer *session, unsigned hint)
{
    atomic_fetch_sub(&session->kernel.connect[hint].calls, 1);
}

IOReturn svc_kernel_close(struct svc_peer *session, uint32_t connect, struct base_error *error)
{
    struct svc_kernel *kernel = &session->kernel;
    io_connect_t number;
    unsigned hint = 0;
    IOReturn status;

    if (!find_named(kernel, connect, &number, &hint) || !take_connect(kernel, &kernel->connect[hint], number))
        return refuse_connect(kernel, number, error);
    svc_figures_update(session->service); /* the machine forgets what a closed client has used */
    status = close_connect(session, &kernel->connect[hint], number);
    if (status)
        base_fail(error, EIO, "%s", ane_machine_error());
    return status;
}

/* ---- Surfaces ---- */

/* A row for a surface that is to be made; NULL, with a sentence, when that is beyond a limit of the task. */
static struct svc_surface *take_surface_row(struct svc_kernel *kernel, const struct svc_peer *owner,
                                            uint64_t bytes, struct base_error *error)
{
    struct svc_surface *row = NULL;
    uint64_t sum = 0;

    pthread_mutex_lock(&kernel->lock);
    for (unsigned i = 0; i < PR_SERVICE_SURFACES; i++) {
        if (!kernel->surface[i].taken)
            row = row ? row : &kernel->surface[i];
        else if (kernel->surface[i].task == owner->task)
            sum += kernel->surface[i].bytes;
    }
    if (!row) {
        base_fail(error, ENOSPC, "Surface create: this process has %u surfaces; release one.",
                  PR_SERVICE_SURFACES);
    } else if (sum + counted(bytes) > PR_SERVICE_BYTES_MAX) {
        base_fail(error, ENOSPC,
                  "Surface create: the surfaces of this process have %" PRIu64
                  " bytes and may have %llu; release some.",
                  sum, PR_SERVICE_BYTES_MAX);
        row = NULL;
    } else {
        *row = (struct svc_surface){.taken = true, .task = owner->task, .uid = owner->uid, .bytes = bytes};
    }
    pthread_mutex_unlock(&kernel->lock);
    return row;
}

/* The row has its surface, or with id 0 it is free again. */
static void set_surface(struct svc_kernel *kernel, struct svc_surface *row, uint32_t id)
{
    pthread_mutex_lock(&kernel->lock);
    row->id = id;
    row->taken = id != 0;
    pthread_mutex_unlock(&kernel->lock);
}

static int take_shares(struct svc_shares *shares, uid_t uid, uint64_t bytes, struct base_error *error)
{
    if (svc_shares_take(shares, uid, PR_SERVICE_SHARE_SURFACES, 1, error))
        return -ENOSPC;
    if (!svc_shares_take(shares, uid, PR_SERVICE_SHARE_BYTES, counted(bytes), error))
        return 0;
    svc_shares_give(shares, uid, PR_SERVICE_SHARE_SURFACES, 1);
    return -ENOSPC;
}

/* The surface in its row, within the limits of its owner's user. */
static int fill_row(struct svc_peer *session, const struct svc_peer *owner, uint64_t bytes, uint32_t *id,
                    struct base_error *error)
{
    struct svc_surface *row = take_surface_row(&session->kernel, owner, bytes, error);
    struct svc_shares *shares = &session->service->shares;
    int status;

    if (!row)
        return -ENOSPC;
    *id = 0;
    status = take_shares(shares, owner->uid, bytes, error);
    if (!status) {
        status = ane_surface_create(owner->task, bytes, id);
        if (status) {
            base_fail(error, -status, "%s", ane_machine_error());
            give_shares(shares, owner->uid, bytes);
        }
    }
    set_surface(&session->kernel, row, status ? 0 : *id);
    return status;
}

static int make_surface(struct svc_peer *session, const struct svc_peer *owner, uint64_t bytes, uint32_t *id,
                        int *file, struct base_error *error)
{
    int status = fill_row(session, owner, bytes, id, error);

    if (status)
        return status;
    *file = fcntl(ane_surface_descriptor(*id), F_DUPFD_CLOEXEC, 0);
    if (*file >= 0)
        return 0;
    svc_kernel_surface_release(session, *id);
    return base_fail(error, EMFILE, "Surface create: the service has no file descriptor left.");
}

int svc_kernel_surface(struct svc_peer *session, const struct pr_service_surface_create *create, uint32_t *id,
                       int *file, struct base_error *error)
{
    struct svc_peer *client;
    ane_task_t task;
    int status;

    if (name_task(session, create->task, &client, &task, error))
        return -EINVAL;
    /* A surface belongs to the task itself: to surfaces, who acts for it is the same. */
    status = make_surface(session, client ? client : session, create->bytes, id, file, error);
    if (client)
        svc_peer_release(client);
    return status;
}

void svc_kernel_surface_release(struct svc_peer *session, uint32_t id)
{
    struct svc_kernel *kernel = &session->kernel;
    struct svc_surface old = {0};

    pthread_mutex_lock(&kernel->lock);
    for (unsigned i = 0; id && i < PR_SERVICE_SURFACES && !old.id; i++)
        if (kernel->surface[i].id == id) {
            old = kernel->surface[i];
            kernel->surface[i] = (struct svc_surface){0};
        }
    pthread_mutex_unlock(&kernel->lock);
    if (old.id)
        release_surface(session, &old);
}

void svc_kernel_sum(struct svc_kernel *kernel, ane_task_t task, struct svc_kernel_sums *sums)
{
    *sums = (struct svc_kernel_sums){0};
    pthread_mutex_lock(&kernel->lock);
    for (unsigned i = 0; i < kernel->connects; i++)
        if (atomic_load(&kernel->connect[i].number) && (!task || kernel->connect[i].task == task)) {
            sums->connects++;
            sums->direct += kernel->connect[i].type == ANE_CLIENT_DIRECT_PATH;
        }
    for (unsigned i = 0; i < PR_SERVICE_SURFACES; i++)
        if (kernel->surface[i].id && (!task || kernel->surface[i].task == task)) {
            sums->surfaces++;
            sums->bytes += kernel->surface[i].bytes;
        }
    pthread_mutex_unlock(&kernel->lock);
}
