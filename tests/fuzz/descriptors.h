/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open descriptors of the process, for targets that must leave none. Pipes are not counted: the fuzzer keeps
 * those to its symbolizer open as soon as it has one.
 */
#ifndef TESTS_FUZZ_DESCRIPTORS_H
#define TESTS_FUZZ_DESCRIPTORS_H

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "require.h"

static inline unsigned descriptors_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    unsigned count = 0;

    require(folder);
    while ((entry = readdir(folder))) {
        char link[8] = "";

        count += readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1) > 0 &&
                 strncmp(link, "pipe:", 5) != 0;
    }
    closedir(folder);
    return count;
}

#endif
