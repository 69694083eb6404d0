/* SPDX-License-Identifier: Apache-2.0 */
/* The client's end of a connection to the broker: the calls of anemone/broker.h. */
#ifndef BROKER_CONNECTION_H
#define BROKER_CONNECTION_H

#include <stdbool.h>

#include <anemone/broker.h>

#include "base/error.h"

/* A connection over that socket, which becomes the connection's; as ane_broker_connect. */
IOReturn brk_connection_adopt(int socket, struct ane_broker **broker);

/* One message and its reply. */
struct brk_connection_call {
    uint32_t method;
    const void *in;
    size_t in_bytes;
    int sent; /* descriptor of the request; -1: none */
    void *out;
    size_t out_bytes;
    int *returned; /* descriptor of the reply; NULL: none */
    bool always;   /* the body comes with a failure too */
};
/* Blocks; the reply's code and sentence. A connection that is NULL or has ended is refused. */
IOReturn brk_connection_run(struct ane_broker *broker, const struct brk_connection_call *call);
/* Clears the thread's sentence: one that is there afterwards is of this call. */
struct base_error *brk_connection_begin(void);
/* kIOReturnBadArgument with that sentence. */
IOReturn brk_connection_bad(const char *sentence);

#endif
