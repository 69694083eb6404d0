/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The temporary folder of a test program: made in /tmp by the first call that needs it, and removed with
 * everything in it when the process that made it exits. A call that fails says why and aborts the program.
 */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stddef.h>

const char *folder_name(void);
/* The path of a name in it, valid until the thread has asked for 64 others. */
const char *folder_path(const char *name);
/* Writes a file there; `name` may have folders in it that exist. */
void folder_write(const char *name, const void *bytes, size_t size);
/* How many names there are in any folder. */
unsigned folder_count(const char *path);
/* Removes it now, read-only folders in it too. The next call makes another one. */
void folder_remove(void);

#endif
