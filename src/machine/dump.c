/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Post-mortem dumps of the firmware: the last one in memory, and up to DUMP_FILES of them in a folder. The
 * files have fixed names, so that a firmware that fails for ever does not fill a disk.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/internal.h"

#define DUMP_FILES 8u

int mach_dump_init(struct ane_machine *m, const char *folder, struct base_error *error)
{
    const char *chosen = folder ? folder : getenv("ANEMONE_DUMPS");
    size_t size;

    if (!chosen || !*chosen)
        return 0;
    size = strlen(chosen) + 1;
    m->dump.folder = base_alloc(size);
    if (!m->dump.folder)
        return base_fail(error, ENOMEM, "No memory for the name of the dumps' folder.");
    memcpy(m->dump.folder, chosen, size);
    return 0;
}

void mach_dump_free(struct ane_machine *m)
{
    base_free(m->dump.bytes);
    base_free(m->dump.folder);
}

/* A dump that cannot be kept is counted, and nothing else changes: the firmware is being recovered. */
static bool write_file(struct ane_machine *m, const void *bytes, size_t size)
{
    char path[4096];
    FILE *file;
    bool written;

    if ((size_t)snprintf(path, sizeof(path), "%s/firmware-dump-%" PRIu64 ".aned", m->dump.folder,
                         m->dump.count % DUMP_FILES) >= sizeof(path))
        return false;
    file = fopen(path, "wb");
    if (!file)
        return false;
    written = fwrite(bytes, 1, size, file) == size;
    return !fclose(file) && written;
}

void mach_dump_take(void *context, const void *bytes, size_t size)
{
    struct ane_machine *m = context;
    uint8_t *copy = base_realloc(m->dump.bytes, size);

    if (copy) {
        memcpy(copy, bytes, size);
        m->dump.bytes = copy;
        m->dump.size = size;
    }
    if (m->dump.folder)
        m->dump.unwritten += !write_file(m, bytes, size);
    m->dump.count++;
}

static int dump_get(struct ane_machine *m, void *buffer, size_t *bytes)
{
    size_t room;

    if (!buffer || !bytes)
        return base_fail(mach_error(), EINVAL, "Dump: no buffer or no size was given.");
    if (!m->dump.size)
        return base_fail(mach_error(), ENOENT, "The firmware has left no dump.");
    room = *bytes;
    *bytes = m->dump.size;
    if (room < m->dump.size)
        return base_fail(mach_error(), ENOSPC, "The dump has %zu bytes; there is room for %zu.", m->dump.size,
                         room);
    memcpy(buffer, m->dump.bytes, m->dump.size);
    return 0;
}

int ane_machine_dump(struct ane_machine *machine, void *buffer, size_t *bytes)
{
    int status;

    if (!mach_enter_dead(machine))
        return -EPERM;
    status = dump_get(machine, buffer, bytes);
    mach_leave(machine);
    return status;
}
