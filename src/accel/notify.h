/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone accel`: a program whose opens, stats and DRM ioctls are answered here, by seccomp's user
 * notification. The child installs the filter and becomes the program; this process receives its system
 * calls, and those of all its descendants, and lets the kernel go on with every one that is not about a node.
 * Several threads answer, so that a long computation holds up no other program or thread.
 */
#ifndef ACCEL_NOTIFY_H
#define ACCEL_NOTIFY_H

#include "accel/table.h"

/* What this kernel and this process may do; 0, or a negative errno with a sentence that names the reason. */
int acc_notify_possible(struct base_error *error);

/*
 * Runs a program (argv[0] is searched in PATH) to its end, and that of all its descendants. *status is what
 * waitpid gave for it. Signals that ask this process to end are passed on to it; it dies with this process.
 * 0, or a negative errno with a sentence: -ENOENT, -EACCES and others when the program could not be executed.
 */
int acc_notify_run(struct acc_table *table, char *const argv[], int *status, struct base_error *error);

#endif
