/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread whose system call is being answered: its memory, its descriptors, its paths. It may end at any
 * moment, and its number may be given to another; so what was read counts only once acc_target_waits has said
 * that the call still waits.
 */
#ifndef ACCEL_TARGET_H
#define ACCEL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct acc_target {
    pid_t thread;
    int listener;
    uint64_t id; /* of the notification */
};

/* Whether the call still waits for its answer. */
bool acc_target_waits(const struct acc_target *target);

/* All bytes, or -EFAULT: as acc_client has them, with the target as context. */
int acc_target_read(void *target, uint64_t address, void *to, size_t bytes);
int acc_target_write(void *target, uint64_t address, const void *from, size_t bytes);

/* A string with its NUL: 0, -ENAMETOOLONG when there is none in `room` bytes, -EFAULT. */
int acc_target_string(const struct acc_target *target, uint64_t address, char *text, size_t room);

/*
 * Makes `path` absolute as a call with this folder means it (a descriptor, or AT_FDCWD), in place. Nothing is
 * resolved. 0, or a negative errno: the folder is not known, or the result does not fit.
 */
int acc_target_absolute(const struct acc_target *target, int folder, char *path, size_t room);

/* What stat says of one of its descriptors; a negative errno when it has none of that number. */
int acc_target_descriptor(const struct acc_target *target, int descriptor, dev_t *device, ino_t *inode);

#endif
