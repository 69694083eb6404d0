/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ANEMONE_TRACE: the trace of a machine whose configuration has none, in a file that the environment names.
 * The first machine of a process has that file, the next ones files with a number in their names: FILE.2,
 * FILE.3, or with an ending that chooses the form, FILE.2.json. One file is complete when its machine is
 * destroyed or the process exits.
 */
#ifndef MACHINE_TRACING_H
#define MACHINE_TRACING_H

#include <anemone/machine.h>

#include <stdbool.h>

#include "base/error.h"

struct mach_tracing;

/*
 * Sets the trace fields of the configuration when it has no trace and the environment names a file; otherwise
 * *tracing is NULL. 0, or a negative errno with a sentence.
 */
int mach_tracing_open(struct ane_machine_config *config, struct mach_tracing **tracing,
                      struct base_error *error);
/* The machine is gone, and its file complete. NULL is allowed. */
void mach_tracing_close(struct mach_tracing *tracing);
/* The machine was not made: its number is given back. NULL is allowed. */
void mach_tracing_drop(struct mach_tracing *tracing);

void mach_tracing_fork_begin(void);
void mach_tracing_fork_end(bool child);

#endif
