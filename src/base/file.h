/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files; and descriptors that the library keeps open: all of these close on exec, and none is 0, 1 or
 * 2. A process may have closed those; it would then write its messages into the library's files.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A memory file of `bytes` zeros whose size is sealed, or a negative errno. */
int base_file_memory(const char *name, uint64_t bytes);
/*
 * The same file under a number that is not a standard stream's, or -1 with errno set and it is closed. Takes
 * what socket, accept or recvmsg gave, also -1.
 */
int base_file_above_standard(int file);
/*
 * A memory file with these bytes that can never be changed: its size and its contents are sealed. Or a
 * negative errno.
 */
int base_file_sealed(const char *name, const void *bytes, size_t size);
/* Whether a descriptor is of such a file, with exactly `size` bytes. */
bool base_file_is_sealed(int file, uint64_t size);
/* A new or emptied file for writing, or NULL with errno set. */
FILE *base_file_write(const char *path);

/*
 * The whole regular file with a NUL after it, for base_free. On failure *bytes is NULL. -EFBIG for more than
 * `most` bytes, -EINVAL for anything that is not a regular file, -ENODATA when it became shorter
 * meanwhile, -ENOMEM, or the error of open or read.
 */
int base_file_read(const char *path, size_t most, uint8_t **bytes, size_t *size, struct base_error *error);
/* Exactly `size` bytes from where the descriptor is; -ENODATA when there are fewer. */
int base_file_fill(int file, void *bytes, size_t size);

#endif
