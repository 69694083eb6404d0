/* SPDX-License-Identifier: Apache-2.0 */
/* Data files of processes (CH_DATA_FILE_LOAD2, protocol/call.h). The execution loop's. */
#ifndef FIRMWARE_DATAFILE_H
#define FIRMWARE_DATAFILE_H

#include "firmware/state.h"

/* Whether a program with a mutable buffer is loaded: the engine flag of data files. */
bool fw_datafile_allowed(const struct fw *fw);
/* Copies the file into its buffer, or refuses it; then no byte was written. */
enum pr_status fw_datafile_load(struct fw *fw, const struct pr_exe_data_file *file);

#endif
