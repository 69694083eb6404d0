/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One open of a node: what DRM calls a file. It has handles of its own, and one memory file whose pages are
 * its buffers; the descriptor that the program gets is that memory file, so mmap, dup and close are the
 * kernel's own. Offsets of buffers are never given out twice, because a program may still map a buffer that
 * it has freed or whose descriptor it has closed; such a buffer keeps its bytes (accel/memory.h has the
 * limit).
 *
 * Every function may be called from any thread; calls of one file are made one after the other.
 */
#ifndef ACCEL_FILE_H
#define ACCEL_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "accel/client.h"
#include "accel/device.h"

struct acc_file;

int acc_file_open(struct acc_device *device, struct acc_file **file, struct base_error *error);
/* Buffers are unmapped from the engine; mappings of the program keep their bytes. */
void acc_file_close(struct acc_file *file);

/*
 * A new descriptor of the memory file, with an open file description of its own, read and write, close on
 * exec: what the program is handed. Or a negative errno.
 */
int acc_file_descriptor(const struct acc_file *file);
/* Which file a descriptor of a program is. */
bool acc_file_is(const struct acc_file *file, dev_t device, ino_t inode);
/* No process has a descriptor or a mapping of it any more, so nothing can reach it: it may be closed. */
bool acc_file_unused(struct acc_file *file);

/*
 * An ioctl of type ACC_IOCTL_TYPE: `argument` is the program's pointer. What the system call returns: 0 or a
 * negative errno, those that the published driver and DRM's core give.
 */
int acc_file_ioctl(struct acc_file *file, uint32_t request, uint64_t argument,
                   const struct acc_client *client);

#endif
