/* SPDX-License-Identifier: Apache-2.0 */
/* The C library alone: load tests that see nothing of the tree use it too. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS = 64, PATH_BYTES = 256, OPEN_FOLDERS = 8 };

static char folder[] = "/tmp/anemone-test-XXXXXX";
static pid_t owner; /* 0 when there is no folder; a forked child leaves its parent's alone */

static void give_up(const char *what, const char *path)
{
    fprintf(stderr, "%s could not be %s: %s.\n", path, what, strerror(errno));
    abort();
}

static int make_writable(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about, (void)walk;
    return kind == FTW_D ? chmod(path, 0700) : 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about, (void)kind, (void)walk;
    return remove(path);
}

static bool remove_all(void)
{
    return !nftw(folder, make_writable, OPEN_FOLDERS, FTW_PHYS) &&
           !nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

void folder_remove(void)
{
    if (owner != getpid())
        return;
    if (!remove_all())
        give_up("removed", folder);
    owner = 0;
}

/* Other processes of a load test may still write there: what is left then is not a failure of the test. */
static void remove_at_exit(void)
{
    if (owner == getpid())
        (void)remove_all();
}

const char *folder_name(void)
{
    static bool registered;

    if (owner)
        return folder;
    strcpy(folder + sizeof(folder) - 7, "XXXXXX");
    if (!mkdtemp(folder))
        give_up("made", folder);
    owner = getpid();
    if (!registered && atexit(remove_at_exit))
        give_up("registered for removal", folder);
    registered = true;
    return folder;
}

const char *folder_path(const char *name)
{
    static _Thread_local char text[PATHS][PATH_BYTES];
    static _Thread_local unsigned next;
    char *path = text[next++ % PATHS];

    if (snprintf(path, PATH_BYTES, "%s/%s", folder_name(), name) >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        give_up("named", path);
    }
    return path;
}

void folder_write(const char *name, const void *bytes, size_t size)
{
    const char *path = folder_path(name);
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        give_up("written", path);
}

unsigned folder_count(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;

    if (!dir)
        give_up("opened", path);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2; /* . and .. */
}
