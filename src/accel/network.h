/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generation A: networks whose buffers are the program's own memory. NN_INIT takes the record of an .anec
 * with tile sizes and types and makes device buffers of these sizes, in the file's memory; NN_SYNC remembers
 * where each tile is in the program's memory; NN_EXEC copies in, submits, and copies out; NN_UNSYNC forgets
 * the pointers; NN_DEINIT ends the network. The driver of that time pinned the program's pages, so that a tile
 * was shared: a copy of every tile in, before, and of every tile but the command buffer out, after, shows a
 * program the same, whichever of SRC and DST its header numbered 3.
 */
#ifndef ACCEL_NETWORK_H
#define ACCEL_NETWORK_H

#include "accel/abi.h"
#include "accel/client.h"
#include "base/error.h"

struct acc_file;
struct acc_network;

/* Calls of generation A on a file, with the file's lock held; 0 or a negative errno. */
int acc_network_init(struct acc_file *file, struct acc_abi_nn_init *call, const struct acc_client *client);
int acc_network_deinit(struct acc_file *file, const struct acc_abi_nn_handle *call);
int acc_network_sync(struct acc_file *file, const struct acc_abi_nn_sync *call);
int acc_network_unsync(struct acc_file *file, const struct acc_abi_nn_handle *call);
int acc_network_exec(struct acc_file *file, const struct acc_abi_nn_handle *call,
                     const struct acc_client *client);
/* All networks of a file, when it is closed. */
void acc_network_end_all(struct acc_file *file);

#endif
