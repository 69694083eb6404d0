/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files; and descriptors that the library keeps open: all of these close on exec, and none is 0, 1 or
 * 2. A process may have closed those; it would then write its messages into the library's files.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/* A memory file of `bytes` zeros whose size is sealed, or a negative errno. */
int base_file_memory(const char *name, uint64_t bytes);
/* An empty memory file, which grows as it is written until base_file_seal. Or a negative errno. */
int base_file_growing(const char *name);
/*
 * The same file under a number that is not a standard stream's, or -1 with errno set and it is closed. Takes
 * what socket, accept or recvmsg gave, also -1.
 */
int base_file_above_standard(int file);
/*
 * Nothing changes such a file any more, neither its size nor its bytes, through no descriptor and no mapping.
 * -EBADMSG when it has not exactly `size` bytes, -EBUSY while it is mapped for writing.
 */
int base_file_seal(int file, uint64_t size);
/* All bytes; 0 or a negative errno. */
int base_file_put(int file, const void *bytes, size_t size);
/* The same at a place of the file, wherever the descriptor is. */
int base_file_put_at(int file, const void *bytes, size_t size, off_t at);
/*
 * Reads what of the first `size` bytes is not in memory, so that whoever reads the file next need not wait
 * for a disk. An error of the file is left to that reader.
 */
void base_file_fetch(int file, uint64_t size);
/* `size` bytes at a place of the file, wherever the descriptor is. -ENODATA when there are fewer. */
int base_file_fill_at(int file, void *bytes, size_t size, off_t at);
/* The first `size` bytes of one file to a place of another. -ENODATA when there are fewer. */
int base_file_copy(int from, int to, uint64_t size, off_t at);
/* A new or emptied file for writing, or NULL with errno set. */
FILE *base_file_write(const char *path);

/*
 * The whole regular file with a NUL after it, for base_free. On failure *bytes is NULL. -EFBIG for more than
 * `most` bytes, -EINVAL for anything that is not a regular file, -ENODATA when it became shorter
 * meanwhile, -ENOMEM, or the error of open or read.
 */
int base_file_read(const char *path, size_t most, uint8_t **bytes, size_t *size, struct base_error *error);
/* A descriptor of a regular file and its size; or a negative errno, as base_file_read has them. */
int base_file_open(const char *path, uint64_t most, uint64_t *size, struct base_error *error);
/* Exactly `size` bytes from where the descriptor is; -ENODATA when there are fewer. */
int base_file_fill(int file, void *bytes, size_t size);

#endif
