/* SPDX-License-Identifier: Apache-2.0 */
/* From /proc/self: status has the peak and the mapped pages of files in memory, fd leads to the files. */
#include "base/held.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define NAME_OF_MEMORY "/memfd:"

static void read_status(uint64_t *peak_kib, uint64_t *shared_kib)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];

    *peak_kib = *shared_kib = 0;
    while (file && fgets(line, sizeof(line), file)) {
        if (!strncmp(line, "VmHWM:", 6))
            *peak_kib = strtoull(line + 6, NULL, 10);
        if (!strncmp(line, "RssShmem:", 9))
            *shared_kib = strtoull(line + 9, NULL, 10);
    }
    if (file)
        fclose(file);
}

/* Files that were counted: a file may have several descriptors. */
struct seen {
    ino_t *file;
    size_t count;
};

static bool is_new(struct seen *seen, ino_t file)
{
    ino_t *larger;

    for (size_t i = 0; i < seen->count; i++)
        if (seen->file[i] == file)
            return false;
    larger = base_realloc(seen->file, (seen->count + 1) * sizeof(*larger));
    if (larger) {
        seen->file = larger;
        seen->file[seen->count++] = file;
    }
    return true;
}

static bool is_memory(DIR *folder, const char *name)
{
    char target[sizeof(NAME_OF_MEMORY) - 1];

    return readlinkat(dirfd(folder), name, target, sizeof(target)) == (ssize_t)sizeof(target) &&
           !memcmp(target, NAME_OF_MEMORY, sizeof(target));
}

static uint64_t files_kib(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    struct seen seen = {0};
    uint64_t blocks = 0;
    struct stat info;

    while (folder && (entry = readdir(folder)))
        if (is_memory(folder, entry->d_name) && !fstat(atoi(entry->d_name), &info) &&
            is_new(&seen, info.st_ino))
            blocks += (uint64_t)info.st_blocks;
    if (folder)
        closedir(folder);
    base_free(seen.file);
    return blocks / 2; /* of 512 bytes */
}

/* Where the kernel refuses, the next peak has this one in it, which is too large and never too small. */
static void begin_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");

    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

void base_held_note(struct base_held *held)
{
    uint64_t peak, shared, files = files_kib();

    read_status(&peak, &shared);
    if (files > shared)
        peak += files - shared;
    if (peak > held->peak_kib)
        held->peak_kib = peak;
    begin_peak();
}
