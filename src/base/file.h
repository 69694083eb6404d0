/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that the library keeps open: all of them close on exec, and none is 0, 1 or 2. A process may
 * have closed those; it would then write its messages into the library's files.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdint.h>
#include <stdio.h>

/* A memory file of `bytes` zeros whose size is sealed, or a negative errno. */
int base_file_memory(const char *name, uint64_t bytes);
/* A new or emptied file for writing, or NULL with errno set. */
FILE *base_file_write(const char *path);

#endif
