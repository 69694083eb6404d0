/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are resident for a client: a program each, its own or one that it shares. */
#ifndef BROKER_RESIDENT_H
#define BROKER_RESIDENT_H

#include "broker/payload.h"

/*
 * Loads a program, or with `share` attaches to that of another process of the same identity. *attached: it
 * was resident already, for another process. `model` is "" for an image.
 */
IOReturn brk_resident_load(struct brk_client *client, const char *model, const struct brk_payload *payload,
                           bool share, struct brk_resident **resident, bool *attached,
                           struct base_error *error);
/* The latest of that model; NULL: it is not resident for the client. */
struct brk_resident *brk_resident_find(struct brk_client *client, const char *model);
/* Ends one without instances, and its program. */
void brk_resident_end(struct brk_client *client, struct brk_resident *resident);
/* The same for one whose program is destroyed. */
void brk_resident_forget(struct brk_client *client, struct brk_resident *resident);
/* The client has left, and its connection is closed. */
void brk_resident_forget_all(struct brk_client *client);

#endif
