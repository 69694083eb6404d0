/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device for the process itself: what the preloaded library answers with. The machine is made at the first
 * open of a node, with the environment's configuration (ANEMONE_ACCEL_CHIP, ANEMONE_ACCEL_LENIENT,
 * ANEMONE_NUMERICS, ANEMONE_WINOGRAD and ANEMONE_THREADS; ANEMONE_TRACE is read where machines are made),
 * and exists to the end of the process. A forked child has no part in it: descriptors that it has inherited
 * answer ENODEV, and the first node that it opens itself gets a machine of its own.
 *
 * Every function may be called from any thread. It returns what a system call does: a value, or -1 with
 * errno set; errno is as before otherwise. The calling thread is not cancelled meanwhile.
 */
#ifndef ACCEL_PROCESS_H
#define ACCEL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* An open of a node, with the flags of open. ENODEV, after a message on stderr, when there is no machine. */
int acc_process_open(int flags);
/*
 * Whether an ioctl of type ACC_IOCTL_TYPE is on a descriptor of a node; then *result is what ioctl returns.
 * errno is as before when it is not.
 */
bool acc_process_ioctl(int descriptor, uint32_t request, uint64_t argument, int *result);

#endif
