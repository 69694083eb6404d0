/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances of a client: the first of a model comes with its load, and is the program itself unless its
 * arguments need an instance of the kernel's. All calls are made by the client's thread.
 */
#ifndef BROKER_INSTANCE_H
#define BROKER_INSTANCE_H

#include "broker/state.h"

/* What an instance is made from: the arguments were checked (arguments.h). */
struct brk_instance_wish {
    const struct pr_broker_load *load;
    const struct pr_broker_adapter *adapter; /* NULL: without weight files */
    int descriptor;                          /* that has the files */
    bool attached;                           /* the model was resident for another process */
};

/* The record of the reply; queue_depth is that of this moment. */
IOReturn brk_instance_make(struct brk_client *client, struct brk_resident *resident,
                           const struct brk_instance_wish *wish, struct pr_broker_instance *about,
                           struct base_error *error);
/* NULL with a sentence: the client has no such instance. */
struct brk_instance *brk_instance_find(struct brk_client *client, uint64_t number, struct base_error *error);
/* Prepares one whose prepare was skipped. */
IOReturn brk_instance_prepare(struct brk_client *client, struct brk_instance *instance,
                              struct base_error *error);
/* With the last one of a model the model goes, and with the last of all the connection. */
IOReturn brk_instance_release(struct brk_client *client, struct brk_instance *instance,
                              struct base_error *error);
/* The client has left, and its connection is closed. */
void brk_instance_forget_all(struct brk_client *client);

/* The limit of instances. */
IOReturn brk_instance_check_room(const struct brk_client *client, struct base_error *error);
/* Closes the connection of a client without instances. */
void brk_instance_rest(struct brk_client *client);

#endif
