/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, and paths made of parts. */
#ifndef COMPILER_STORE_FILES_H
#define COMPILER_STORE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CC_PATH_BYTES 4096u

/* "folder/name"; -ENAMETOOLONG. */
int cc_path_join(char path[CC_PATH_BYTES], const char *folder, const char *name, struct base_error *error);
/* The whole file with a NUL after it, for base_free. More than `limit` bytes is an error. */
int cc_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct base_error *error);
/*
 * A new file, for its writer; -EEXIST when there is one. `status` is what became of the writing: 0 or a
 * negative errno. The file is closed; it is on the disk when cc_file_finish returns 0.
 */
int cc_file_create(const char *path, int *file, struct base_error *error);
int cc_file_finish(const char *path, int file, int status, struct base_error *error);
/* The same with these bytes. */
int cc_file_write(const char *path, const void *bytes, size_t size, struct base_error *error);
/* A folder and those above it. */
int cc_folder_make(const char *path, struct base_error *error);
/*
 * Whatever is at the path, with all that is in it; links are removed, not followed. 0 also when nothing is
 * there.
 */
int cc_tree_remove(const char *path);
/* A fresh folder in the folder that `path` is in, under a name of its own. */
int cc_folder_make_beside(const char *path, char made[CC_PATH_BYTES], struct base_error *error);

#endif
