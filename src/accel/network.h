/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generation A: networks whose buffers are the program's own memory. NN_INIT takes the record of an .anec
 * with tile sizes and types; NN_SYNC says where each tile is in the program's memory and makes a device
 * buffer for it; NN_EXEC copies in, submits, and copies out; NN_UNSYNC ends the buffers; NN_DEINIT ends the
 * network.
 * The driver of that time pinned the program's pages, so that a tile was shared: a copy of every tile in,
 * before, and out, after, of what has changed in every tile but the command buffer, shows a program the same,
 * whichever of SRC and DST its header numbered 3. Intermediate tiles belong to the driver, and the program
 * has no pointer to them.
 *
 * Buffers are in a memory file of the network's own, which the program never gets.
 */
#ifndef ACCEL_NETWORK_H
#define ACCEL_NETWORK_H

#include "accel/abi.h"
#include "accel/client.h"
#include "accel/device.h"

struct acc_network;

/* The networks of one file: all 0 but `device` to begin with. */
struct acc_network_set {
    struct acc_device *device;
    struct acc_network *first; /* by handle, ascending */
};

/* Networks of one file, at most; then NN_INIT answers -ENOSPC. */
#define ACC_NETWORKS_MAX 256u

/*
 * Calls of generation A, one at a time for a set: the file's lock is held. 0 or a negative errno, those of
 * the published driver: -EINVAL for a record, a handle, a pad or a missing pointer; -EFAULT for memory that
 * the program does not have; -ENOMEM and -ENOSPC; -ETIMEDOUT when the engine does not end.
 */
int acc_network_init(struct acc_network_set *set, struct acc_abi_nn_init *call,
                     const struct acc_client *client);
int acc_network_deinit(struct acc_network_set *set, const struct acc_abi_nn_handle *call);
int acc_network_sync(struct acc_network_set *set, const struct acc_abi_nn_sync *call,
                     const struct acc_client *client);
int acc_network_unsync(struct acc_network_set *set, const struct acc_abi_nn_handle *call);
int acc_network_exec(struct acc_network_set *set, const struct acc_abi_nn_handle *call,
                     const struct acc_client *client);
/* All of them, when the file is closed. */
void acc_network_end_all(struct acc_network_set *set);

#endif
