/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces: sealed memory files of the process, each with a host address for the client. A machine that uses one attaches its file as a bank of physical memory; the
 * bank is there as long as the driver holds the surface.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "base/alloc.h"
#include "base/file.h"
#include "machine/internal.h"

#define SURFACES_MAX    4096u
#define ATTACHMENTS_MAX 8u

struct attachment {
    struct ane_machine *machine;
    uint64_t address;
    unsigned uses;
};

struct surface {
    bool live;     /* not released */
    bool taken;    /* the row is in use */
    uint32_t turn; /* counts up with every use of the row: part of the id */
    int file;
    size_t asked, bytes;
    void *base;
    struct attachment attachment[ATTACHMENTS_MAX];
};

/* Protects the table. Taken inside a machine's lock, never around it. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct surface table[SURFACES_MAX];

/* An id is a row and its turn, so that a stale one finds nothing. */
static struct surface *find(uint32_t id)
{
    uint32_t row = id % SURFACES_MAX;
    struct surface *surface = &table[row];

    return id && surface->taken && surface->turn == id / SURFACES_MAX ? surface : NULL;
}

static bool attached(const struct surface *surface)
{
    for (unsigned i = 0; i < ATTACHMENTS_MAX; i++)
        if (surface->attachment[i].machine)
            return true;
    return false;
}

static void end_if_unused(struct surface *surface)
{
    if (surface->live || attached(surface))
        return;
    close(surface->file);
    surface->taken = false;
}

static int make_file(struct surface *surface)
{
    void *base;
    int file = base_file_memory("anemone-surface", surface->bytes);

    if (file < 0)
        return -ENOMEM;
    base = base_alloc_allowed()
               ? mmap(NULL, surface->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0)
               : MAP_FAILED;
    if (base == MAP_FAILED) {
        close(file);
        return -ENOMEM;
    }
    surface->file = file;
    surface->base = base;
    return 0;
}

static struct surface *free_row(void)
{
    for (unsigned i = 1; i < SURFACES_MAX; i++)
        if (!table[i].taken)
            return &table[i];
    return NULL;
}

int ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id)
{
    struct base_error *error = mach_error();
    struct surface *surface;
    int status;

    (void)task;
    error->text[0] = '\0';
    if (!bytes || bytes > (1ull << 32) || !id)
        return base_fail(error, EINVAL, "A surface of %zu bytes cannot be made: 1 byte to 4 GiB.", bytes);
    pthread_mutex_lock(&table_lock);
    surface = free_row();
    status = -ENOMEM;
    if (surface) {
        surface->asked = bytes;
        surface->bytes = pr_round_up(bytes, PR_PAGE_BYTES);
        status = make_file(surface);
    }
    if (!status) {
        surface->taken = surface->live = true;
        surface->turn++;
        memset(surface->attachment, 0, sizeof(surface->attachment));
        *id = (uint32_t)(surface - table) + surface->turn * SURFACES_MAX;
    }
    pthread_mutex_unlock(&table_lock);
    return status ? base_fail(error, ENOMEM, "No memory for a surface of %zu bytes, or %u exist already.",
                              bytes, SURFACES_MAX - 1)
                  : 0;
}

void *ane_surface_base(uint32_t id)
{
    struct surface *surface;
    void *base;

    pthread_mutex_lock(&table_lock);
    surface = find(id);
    base = surface && surface->live ? surface->base : NULL;
    pthread_mutex_unlock(&table_lock);
    return base;
}

size_t ane_surface_lookup(uint32_t id)
{
    struct surface *surface;
    size_t bytes;

    pthread_mutex_lock(&table_lock);
    surface = find(id);
    bytes = surface && surface->live ? surface->asked : 0;
    pthread_mutex_unlock(&table_lock);
    return bytes;
}

/* With the table locked: the client's view goes; the machines that still hold the pages. */
static unsigned end_client_view(struct surface *surface, struct ane_machine *holders[ATTACHMENTS_MAX])
{
    unsigned count = 0;

    munmap(surface->base, surface->bytes);
    surface->live = false;
    for (unsigned i = 0; i < ATTACHMENTS_MAX; i++)
        if (surface->attachment[i].machine)
            holders[count++] = surface->attachment[i].machine;
    end_if_unused(surface);
    return count;
}

void ane_surface_release(uint32_t id)
{
    struct ane_machine *holders[ATTACHMENTS_MAX];
    struct surface *surface;
    unsigned count = 0;

    pthread_mutex_lock(&table_lock);
    surface = find(id);
    if (surface && surface->live)
        count = end_client_view(surface, holders);
    pthread_mutex_unlock(&table_lock);
    /* Outside the table's lock, which is taken inside a machine's. */
    for (unsigned i = 0; i < count; i++)
        if (mach_enter(holders[i])) {
            drv_surface_released(holders[i]->driver, id);
            mach_leave(holders[i]);
        }
}

/* The machine's row; with `make` a free one when it has none. */
static struct attachment *attachment_of(struct surface *surface, struct ane_machine *m, bool make)
{
    for (unsigned i = 0; i < ATTACHMENTS_MAX; i++)
        if (surface->attachment[i].machine == m)
            return &surface->attachment[i];
    for (unsigned i = 0; make && i < ATTACHMENTS_MAX; i++)
        if (!surface->attachment[i].machine)
            return &surface->attachment[i];
    return NULL;
}

static int attach(struct surface *surface, struct ane_machine *m, uint64_t *address)
{
    struct attachment *row = attachment_of(surface, m, true);
    int status = 0;

    if (!row)
        return -ENOSPC;
    if (!row->machine)
        status = soc_memory_bank_attach(m->memory, surface->file, surface->bytes, &row->address, NULL);
    if (status)
        return status;
    row->machine = m;
    row->uses++;
    *address = row->address;
    return 0;
}

int mach_surface_get(struct ane_machine *m, uint32_t id, uint64_t *address, uint64_t *bytes)
{
    struct surface *surface;
    int status = -ENOENT;

    pthread_mutex_lock(&table_lock);
    surface = find(id);
    if (surface && surface->live) {
        status = attach(surface, m, address);
        *bytes = surface->bytes;
    }
    pthread_mutex_unlock(&table_lock);
    return status;
}

static void detach(struct surface *surface, struct attachment *row)
{
    soc_memory_bank_remove(row->machine->memory, row->address, NULL);
    *row = (struct attachment){0};
    end_if_unused(surface);
}

void mach_surface_put(struct ane_machine *m, uint32_t id)
{
    struct surface *surface;
    struct attachment *row;

    pthread_mutex_lock(&table_lock);
    surface = find(id);
    row = surface ? attachment_of(surface, m, false) : NULL;
    if (row && --row->uses == 0)
        detach(surface, row);
    pthread_mutex_unlock(&table_lock);
}

void mach_surfaces_detach(struct ane_machine *m)
{
    pthread_mutex_lock(&table_lock);
    for (unsigned i = 1; i < SURFACES_MAX; i++) {
        struct attachment *row = table[i].taken ? attachment_of(&table[i], m, false) : NULL;

        if (row)
            detach(&table[i], row);
    }
    pthread_mutex_unlock(&table_lock);
}
