/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is in the list from its open until it is closed; `holders` counts the calls that use it. Only a file
 * without holders is closed, by the thread that has taken it out of the list, without the lock: closing waits
 * for the engine.
 */
#include "accel/table.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

/* Files of one device at once: each has a descriptor in this process. */
#define FILES_MAX 256u

struct entry {
    struct entry *next;
    struct acc_file *file;
    unsigned holders;
};

struct acc_table {
    struct acc_device *device;
    pthread_mutex_t lock;
    struct entry *first;
    unsigned files;
};

int acc_table_create(struct acc_device *device, struct acc_table **table, struct base_error *error)
{
    *table = base_alloc(sizeof(**table));
    if (!*table)
        return base_fail(error, ENOMEM, "No memory for the table of open files.");
    (*table)->device = device;
    pthread_mutex_init(&(*table)->lock, NULL);
    return 0;
}

static void end_entries(struct entry *entry)
{
    while (entry) {
        struct entry *next = entry->next;

        acc_file_close(entry->file);
        base_free(entry);
        entry = next;
    }
}

void acc_table_destroy(struct acc_table *table)
{
    if (!table)
        return;
    end_entries(table->first);
    pthread_mutex_destroy(&table->lock);
    base_free(table);
}

/* Takes out the files that no process can reach. */
static struct entry *take_unused(struct acc_table *table)
{
    struct entry **link = &table->first, *unused = NULL;

    pthread_mutex_lock(&table->lock);
    while (*link) {
        struct entry *entry = *link;

        if (entry->holders || !acc_file_unused(entry->file)) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        entry->next = unused;
        unused = entry;
        table->files--;
    }
    pthread_mutex_unlock(&table->lock);
    return unused;
}

/* A file that is in the list has a descriptor for the program, so that it is not taken for an unused one. */
static int add(struct acc_table *table, struct entry *entry, struct base_error *error)
{
    int descriptor = acc_file_descriptor(entry->file);

    if (descriptor < 0)
        return base_fail(error, -descriptor, "The memory file cannot be opened again through /proc: %s.",
                         strerror(-descriptor));
    pthread_mutex_lock(&table->lock);
    entry->next = table->first;
    table->first = entry;
    table->files++;
    pthread_mutex_unlock(&table->lock);
    return descriptor;
}

int acc_table_open(struct acc_table *table, struct base_error *error)
{
    struct entry *entry;
    int status;

    end_entries(take_unused(table));
    if (acc_table_files(table) >= FILES_MAX)
        return base_fail(error, ENFILE, "The device is open %u times, the limit.", FILES_MAX);
    entry = base_alloc(sizeof(*entry));
    if (!entry)
        return base_fail(error, ENOMEM, "No memory for an open file.");
    status = acc_file_open(table->device, &entry->file, error);
    if (status)
        goto free_entry;
    status = add(table, entry, error);
    if (status >= 0)
        return status;
    acc_file_close(entry->file);
free_entry:
    base_free(entry);
    return status;
}

struct acc_file *acc_table_get(struct acc_table *table, dev_t device, ino_t inode)
{
    struct acc_file *file = NULL;

    pthread_mutex_lock(&table->lock);
    for (struct entry *entry = table->first; entry && !file; entry = entry->next)
        if (acc_file_is(entry->file, device, inode)) {
            entry->holders++;
            file = entry->file;
        }
    pthread_mutex_unlock(&table->lock);
    return file;
}

void acc_table_put(struct acc_table *table, struct acc_file *file)
{
    struct entry *entry;

    pthread_mutex_lock(&table->lock);
    for (entry = table->first; entry && entry->file != file; entry = entry->next)
        ;
    if (entry)
        entry->holders--;
    pthread_mutex_unlock(&table->lock);
}

unsigned acc_table_files(struct acc_table *table)
{
    unsigned files;

    pthread_mutex_lock(&table->lock);
    files = table->files;
    pthread_mutex_unlock(&table->lock);
    return files;
}

struct acc_device *acc_table_device(const struct acc_table *table)
{
    return table->device;
}
