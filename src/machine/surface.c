/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces: sealed memory files of the process, each with a host address for the client and an owner, the
 * task that made it. Other tasks may use it after its owner has shared it with them. A machine that uses one
 * attaches its file as a bank of physical memory; the bank exists as long as the driver holds the surface.
 *
 * A surface that the service has made is in a table of its own, under the service's id: its file is mapped
 * here, and clients of task 0 on a machine of this process may use it as well.
 *
 * A surface of a file is read by the driver and by nothing else: it has no host address and no bank, because
 * a file may become shorter at any time.
 *
 * The row of a surface ends with the later of two: its release, and its last attachment. Both happen under
 * the table's lock, which may be taken inside a machine's lock, never around it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "base/alloc.h"
#include "base/file.h"
#include "machine/internal.h"
#include "service/client.h"

#define SURFACES_MAX  4096u
#define TURNS         (1u << 19) /* an id is row + turn * SURFACES_MAX, and the service's bit */
#define SURFACE_BYTES (1ull << 32)
#define POPULATED     (1u << 20) /* a surface up to this has its pages at once, any other when used */
_Static_assert(SURFACES_MAX *TURNS == PR_SERVICE_SURFACE_BIT, "row and turn fill an id, without the bit");

struct attachment {
    struct attachment *next;
    struct ane_machine *machine;
    uint64_t address; /* of its first page in the machine: names the bank */
    unsigned uses;
    bool notified; /* its driver was notified of the release, or its machine is ending */
};

/* A task that may use a surface of another. */
struct share {
    struct share *next;
    ane_task_t task;
};

struct surface {
    bool taken;    /* the row is in use */
    bool live;     /* not released */
    bool of_file;  /* the bytes of a file: neither mapped nor attached */
    uint32_t turn; /* modulo TURNS; of this process's own */
    uint32_t id;
    ane_task_t task;
    int file;
    size_t asked, bytes;
    void *base;
    struct attachment *attachments;
    struct share *shares; /* while it is live */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct surface table[SURFACES_MAX];
static struct surface served_table[SURFACES_MAX]; /* by the row that the service has for each */
static unsigned last_row; /* rows are used round-robin, so that a stale id stays stale for long */

static bool is_served(uint32_t id)
{
    return (id & PR_SERVICE_SURFACE_BIT) != svc_client_surface_bit();
}

/* NULL for a stale id, whose turn is an earlier one. */
static struct surface *find_surface(uint32_t id)
{
    struct surface *surface = &(is_served(id) ? served_table : table)[id % SURFACES_MAX];

    return surface->taken && surface->id == id ? surface : NULL;
}

static void end_if_unused(struct surface *surface)
{
    if (surface->live || surface->attachments)
        return;
    close(surface->file);
    surface->taken = false;
}

/* The service leaves the pages to the client, which maps the file as well: who touches one first pays. */
static int map_flags(const struct surface *surface)
{
    return surface->bytes <= POPULATED && !svc_client_surface_bit() ? MAP_SHARED | MAP_POPULATE : MAP_SHARED;
}

/* 0 or a negative errno, and the file is closed. */
static int map_file(struct surface *surface, int file)
{
    void *base = base_alloc_allowed()
                     ? mmap(NULL, surface->bytes, PROT_READ | PROT_WRITE, map_flags(surface), file, 0)
                     : MAP_FAILED;
    if (base == MAP_FAILED) {
        close(file);
        return -ENOMEM;
    }
    surface->file = file;
    surface->base = base;
    return 0;
}

/* Row 0 is not used: no id is 0. */
static struct surface *free_row(void)
{
    for (unsigned i = 1; i < SURFACES_MAX; i++) {
        unsigned row = (last_row + i - 1) % (SURFACES_MAX - 1) + 1;

        if (!table[row].taken) {
            last_row = row;
            return &table[row];
        }
    }
    return NULL;
}

/* The caller's descriptor again, above the standard streams. 0 or a negative errno. */
static int take_file(struct surface *surface, int file)
{
    struct stat about;

    surface->file = base_alloc_allowed() ? fcntl(file, F_DUPFD_CLOEXEC, 3) : -1;
    if (surface->file < 0)
        return base_alloc_allowed() ? -errno : -ENOMEM;
    if (fstat(surface->file, &about) || !S_ISREG(about.st_mode) || (uint64_t)about.st_size < surface->asked) {
        close(surface->file);
        return -EINVAL;
    }
    surface->base = NULL;
    surface->of_file = true;
    return 0;
}

/* 0 or a negative errno. */
static int make_file(struct surface *surface)
{
    int file = base_file_memory("anemone-surface", surface->bytes);

    surface->of_file = false;

    return file < 0 ? file : map_file(surface, file);
}

static void begin_row(struct surface *surface, ane_task_t task, uint32_t id)
{
    surface->taken = surface->live = true;
    surface->task = task;
    surface->id = id;
    surface->attachments = NULL;
    surface->shares = NULL;
}

/* With the table locked: of a file, or (-1) of memory. */
static int add(ane_task_t task, int file, size_t bytes, uint32_t *id, struct base_error *error)
{
    struct surface *surface = free_row();
    int status;

    if (!surface)
        return base_fail(error, ENOSPC, "Surface create: %u surfaces exist already; release one.",
                         SURFACES_MAX - 1);
    surface->asked = bytes;
    surface->bytes = pr_round_up(bytes, PR_PAGE_BYTES);
    status = file < 0 ? make_file(surface) : take_file(surface, file);
    if (status)
        return base_fail(error, -status, "Surface create: a %sfile of %zu bytes could not be %s: %s.",
                         file < 0 ? "memory " : "", bytes, file < 0 ? "made" : "taken", strerror(-status));
    surface->turn = (surface->turn + 1) % TURNS;
    *id = ((uint32_t)(surface - table) + surface->turn * SURFACES_MAX) | svc_client_surface_bit();
    begin_row(surface, task, *id);
    return 0;
}

/*
 * With the table locked: the row of a surface that the service has made. It is taken if a machine of this
 * process still uses the one that was in it. The file is the row's, or closed.
 */
static int add_served(ane_task_t task, size_t bytes, uint32_t id, int file, struct base_error *error)
{
    struct surface *surface = &served_table[id % SURFACES_MAX];
    int status;

    if (surface->taken) {
        close(file);
        return base_fail(error, EBUSY,
                         "Surface create: a machine of this process still uses surface %u, which was "
                         "released and whose place the new one has; try again.",
                         surface->id);
    }
    surface->asked = bytes;
    surface->bytes = pr_round_up(bytes, PR_PAGE_BYTES);
    surface->of_file = false;
    status = map_file(surface, file);
    if (status)
        return base_fail(error, -status, "Surface create: the service's %zu bytes could not be mapped: %s.",
                         bytes, strerror(-status));
    begin_row(surface, task, id);
    return 0;
}

/* Without the lock: the service is asked meanwhile. */
static int create_served(ane_task_t task, size_t bytes, uint32_t *id, struct base_error *error)
{
    uint32_t made;
    int file, status;

    status = svc_client_surface_create(task, bytes, &made, &file, error);
    if (status)
        return status;
    pthread_mutex_lock(&table_lock);
    status = add_served(task, bytes, made, file, error);
    pthread_mutex_unlock(&table_lock);
    if (status)
        svc_client_surface_release(made);
    else
        *id = made;
    return status;
}

static int check_new(size_t bytes, uint32_t *id, struct base_error *error)
{
    if (!id)
        return base_fail(error, EINVAL, "Surface create: no place for the id was given.");
    *id = 0;
    if (!bytes || bytes > SURFACE_BYTES)
        return base_fail(error, EINVAL, "Surface create: %zu bytes; 1 byte to 4 GiB are possible.", bytes);
    return 0;
}

static int add_locked(ane_task_t task, int file, size_t bytes, uint32_t *id, struct base_error *error)
{
    struct drv_identity identity;
    int status;

    if (!mach_task_identity(task, &identity))
        return -EINVAL;
    pthread_mutex_lock(&table_lock);
    status = add(identity.task, file, bytes, id, error);
    pthread_mutex_unlock(&table_lock);
    return status;
}

int ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id)
{
    struct base_error *error = mach_error_begin();
    int status = check_new(bytes, id, error);

    if (status)
        return status;
    switch (svc_client_serves(task, error)) {
    case 0: break;
    case 1: return create_served(task, bytes, id, error);
    default: return -ENODEV;
    }
    return add_locked(task, -1, bytes, id, error);
}

int ane_surface_of_file(ane_task_t task, int file, size_t bytes, uint32_t *id)
{
    struct base_error *error = mach_error_begin();
    int status = check_new(bytes, id, error);

    if (status)
        return status;
    if (file < 0)
        return base_fail(error, EBADF, "Surface create: no file was given.");
    if (svc_client_serves(task, error))
        return base_fail(error, ENOTSUP, "Surface create: the service reads no file of a client.");
    return add_locked(task, file, bytes, id, error);
}

void *ane_surface_base(uint32_t id)
{
    struct surface *surface;
    void *base;

    pthread_mutex_lock(&table_lock);
    surface = find_surface(id);
    base = surface && surface->live ? surface->base : NULL;
    pthread_mutex_unlock(&table_lock);
    return base;
}

int ane_surface_descriptor(uint32_t id)
{
    struct base_error *error = mach_error_begin();
    struct surface *surface;
    int file;

    pthread_mutex_lock(&table_lock);
    surface = find_surface(id);
    if (!surface || !surface->live)
        file = base_fail(error, ENOENT, "There is no surface %u.", id);
    else if (surface->of_file)
        file = base_fail(error, ENOTSUP, "Surface %u is of a file, which is not handed on.", id);
    else
        file = surface->file;
    pthread_mutex_unlock(&table_lock);
    return file;
}

size_t ane_surface_lookup(uint32_t id)
{
    struct surface *surface;
    size_t bytes;

    pthread_mutex_lock(&table_lock);
    surface = find_surface(id);
    bytes = surface && surface->live ? surface->asked : 0;
    pthread_mutex_unlock(&table_lock);
    return bytes;
}

static struct share **share_of(struct surface *surface, ane_task_t task)
{
    struct share **link = &surface->shares;

    while (*link && (*link)->task != task)
        link = &(*link)->next;
    return link;
}

static void remove_share(struct share **link)
{
    struct share *share = *link;

    *link = share->next;
    base_free(share);
}

/* With the table locked: a surface of that owner; or NULL, an errno and a sentence. */
static struct surface *find_owned(uint32_t id, ane_task_t owner, int *status, struct base_error *error)
{
    struct surface *surface = find_surface(id);

    *status = 0;
    if (!surface || !surface->live)
        *status = base_fail(error, ENOENT, "There is no surface %u.", id);
    else if (surface->task != owner)
        *status = base_fail(error, EPERM,
                            "Surface %u does not belong to task %u; only its owner may share it.", id, owner);
    return *status ? NULL : surface;
}

/* With the table locked. */
static int add_share(struct surface *surface, ane_task_t task, struct base_error *error)
{
    struct share **link = share_of(surface, task);

    if (*link)
        return 0;
    *link = base_alloc(sizeof(**link));
    if (!*link)
        return base_fail(error, ENOMEM, "Surface share: no memory.");
    (*link)->task = task;
    return 0;
}

int ane_surface_share(uint32_t id, ane_task_t owner, ane_task_t other)
{
    struct base_error *error = mach_error_begin();
    struct drv_identity identity;
    struct surface *surface;
    int status;

    if (!mach_task_identity(other, &identity))
        return -EINVAL;
    owner = mach_task_acts_for(owner);
    other = identity.task;
    if (owner == other)
        return base_fail(error, EINVAL, "Surface share: task %u has its own surfaces already.", owner);
    pthread_mutex_lock(&table_lock);
    surface = find_owned(id, owner, &status, error);
    if (surface)
        status = add_share(surface, other, error);
    pthread_mutex_unlock(&table_lock);
    return status;
}

/* With the table locked: every machine that has the surface attached, held. */
static unsigned hold_all(const struct surface *surface, struct ane_machine **held)
{
    unsigned count = 0;

    for (struct attachment *row = surface->attachments; row && count < MACH_SERVICES_MAX; row = row->next)
        if (mach_hold(row->machine))
            held[count++] = row->machine;
    return count;
}

int ane_surface_unshare(uint32_t id, ane_task_t owner, ane_task_t other)
{
    struct base_error *error = mach_error_begin();
    struct ane_machine *held[MACH_SERVICES_MAX];
    struct surface *surface;
    unsigned count = 0;
    int status;

    owner = mach_task_acts_for(owner);
    other = mach_task_acts_for(other);
    pthread_mutex_lock(&table_lock);
    surface = find_owned(id, owner, &status, error);
    if (surface && *share_of(surface, other)) {
        remove_share(share_of(surface, other));
        count = hold_all(surface, held);
    }
    pthread_mutex_unlock(&table_lock);
    /* No machine can grant it to that task any more; what they have granted is taken back. */
    for (unsigned i = 0; i < count; i++) {
        if (mach_enter(held[i])) {
            drv_surface_unshared(held[i]->driver, id, other);
            mach_leave(held[i]);
        }
        mach_release(held[i]);
    }
    return status;
}

/*
 * The next machine whose driver must give back a surface that was released, held. One at a time: between the
 * two locks a machine may detach by itself, or end; then its end detaches the surface.
 */
static struct ane_machine *hold_next(uint32_t id)
{
    struct ane_machine *m = NULL;
    struct surface *surface;

    pthread_mutex_lock(&table_lock);
    surface = find_surface(id);
    for (struct attachment *row = surface ? surface->attachments : NULL; row && !m; row = row->next) {
        if (!row->notified && mach_hold(row->machine))
            m = row->machine;
        row->notified = true;
    }
    pthread_mutex_unlock(&table_lock);
    return m;
}

/* With the table locked. False when there is no such surface. */
static bool end_client_view(uint32_t id)
{
    struct surface *surface = find_surface(id);

    if (!surface || !surface->live)
        return false;
    if (surface->base)
        munmap(surface->base, surface->bytes);
    surface->live = false;
    while (surface->shares)
        remove_share(&surface->shares);
    end_if_unused(surface);
    return true;
}

void ane_surface_release(uint32_t id)
{
    struct ane_machine *m;
    bool ended;

    mach_error_begin();
    pthread_mutex_lock(&table_lock);
    ended = end_client_view(id);
    pthread_mutex_unlock(&table_lock);
    if (ended && is_served(id))
        svc_client_surface_release(id);
    while (ended && (m = hold_next(id))) {
        if (mach_enter(m)) {
            drv_surface_released(m->driver, id);
            mach_leave(m);
        }
        mach_release(m);
    }
}

static struct attachment **attachment_of(struct surface *surface, const struct ane_machine *m)
{
    struct attachment **link = &surface->attachments;

    while (*link && (*link)->machine != m)
        link = &(*link)->next;
    return link;
}

static int attach(struct surface *surface, struct ane_machine *m, struct soc_buffer *buffer,
                  struct base_error *error)
{
    struct attachment **link = attachment_of(surface, m), *row = *link;
    int status;

    if (!row) {
        row = base_alloc(sizeof(*row));
        if (!row)
            return base_fail(error, ENOMEM, "No memory to attach a surface.");
        row->machine = m;
        status = soc_memory_bank_attach(m->memory, surface->file, surface->bytes, &row->address, error);
        if (status) {
            base_free(row);
            return status;
        }
        *link = row;
    }
    row->uses++;
    soc_memory_bank_buffer(m->memory, row->address, buffer);
    return 0;
}

static bool may_use(struct surface *surface, uint32_t task)
{
    return surface->task == task || *share_of(surface, task);
}

/* In the service's process tasks are processes: what is another's never existed. */
static bool is_hidden(struct surface *surface, uint32_t task)
{
    return svc_client_surface_bit() && !may_use(surface, task);
}

/* With the table locked: a surface that clients of the task may use. */
static int find_usable(uint32_t id, uint32_t task, struct surface **found, struct base_error *error)
{
    struct surface *surface = find_surface(id);

    if (!surface || !surface->live || is_hidden(surface, task))
        return base_fail(error, ENOENT, "There is no surface %u.", id);
    if (!may_use(surface, task))
        return base_fail(error, EPERM,
                         "Surface %u belongs to another task, which has not shared it with task %u.", id,
                         task);
    *found = surface;
    return 0;
}

int mach_surface_get(struct ane_machine *m, uint32_t id, uint32_t task, struct soc_buffer *buffer,
                     struct base_error *error)
{
    struct surface *surface;
    int status;

    pthread_mutex_lock(&table_lock);
    status = find_usable(id, task, &surface, error);
    if (!status && surface->of_file)
        status =
            base_fail(error, EINVAL,
                      "Surface %u is of a file: a program's weights are read from it, and nothing else.", id);
    if (!status)
        status = attach(surface, m, buffer, error);
    pthread_mutex_unlock(&table_lock);
    return status;
}

int mach_surface_read(uint32_t id, uint32_t task, uint64_t offset, void *to, uint64_t bytes,
                      struct base_error *error)
{
    struct surface *surface;
    int status, file = -1;
    uint64_t size = 0;

    /* The read may wait for a disk, so it is not under the lock; the surface may be released meanwhile. */
    pthread_mutex_lock(&table_lock);
    status = find_usable(id, task, &surface, error);
    if (!status)
        size = surface->of_file ? surface->asked : surface->bytes;
    if (!status && (offset > size || bytes > size - offset))
        status = base_fail(error, EINVAL,
                           "Surface %u has %" PRIu64 " bytes; %" PRIu64 " at %" PRIu64 " were to be read.",
                           id, size, bytes, offset);
    if (!status) {
        file = fcntl(surface->file, F_DUPFD_CLOEXEC, 3);
        if (file < 0)
            status = base_fail(error, errno, "Surface %u cannot be read: %s.", id, strerror(errno));
    }
    pthread_mutex_unlock(&table_lock);
    if (status)
        return status;
    status = base_file_fill_at(file, to, bytes, (off_t)offset);
    close(file);
    return status ? base_fail(error, EINVAL, "Surface %u cannot be read: %s.", id,
                              status == -ENODATA ? "its file became shorter" : strerror(-status))
                  : 0;
}

static void detach(struct surface *surface, struct attachment **link)
{
    struct attachment *row = *link;

    soc_memory_bank_remove(row->machine->memory, row->address, NULL);
    *link = row->next;
    base_free(row);
    end_if_unused(surface);
}

void mach_surface_put(struct ane_machine *m, uint32_t id)
{
    struct attachment **link;
    struct surface *surface;

    pthread_mutex_lock(&table_lock);
    surface = find_surface(id);
    link = surface ? attachment_of(surface, m) : NULL;
    if (link && *link && --(*link)->uses == 0)
        detach(surface, link);
    pthread_mutex_unlock(&table_lock);
}

static void detach_all(struct surface *rows, const struct ane_machine *m)
{
    for (unsigned i = 0; i < SURFACES_MAX; i++) {
        struct attachment **link = rows[i].taken ? attachment_of(&rows[i], m) : NULL;

        if (link && *link)
            detach(&rows[i], link);
    }
}

void mach_surfaces_detach(struct ane_machine *m)
{
    pthread_mutex_lock(&table_lock);
    detach_all(table, m);
    detach_all(served_table, m);
    pthread_mutex_unlock(&table_lock);
}

void mach_surface_fork_begin(void)
{
    pthread_mutex_lock(&table_lock);
}

static void forget_all(struct surface *rows)
{
    for (unsigned i = 0; i < SURFACES_MAX; i++)
        if (rows[i].taken) {
            close(rows[i].file);
            rows[i].taken = rows[i].live = false;
            rows[i].attachments = NULL;
            rows[i].shares = NULL;
        }
}

/*
 * In the child: the files go, the addresses stay mapped, so that pointers of the parent's time still point to
 * memory.
 */
void mach_surface_fork_end(bool child)
{
    if (child) {
        forget_all(table);
        forget_all(served_table);
    }
    pthread_mutex_unlock(&table_lock);
}
