/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the broker: one connection, one thread. Messages are copied whole before they are looked at.
 * One that breaks the format is answered with the rule it broke, and the connection ends.
 */
#ifndef BROKER_CLIENT_H
#define BROKER_CLIENT_H

#include "broker/state.h"

/*
 * Serves a client on a socket, which becomes the client's. One that the broker has no room for is answered
 * and closed.
 */
void brk_client_start(struct brk_broker *broker, const struct pr_broker_client *who, int socket);
/* Ends all connections, and waits until their threads have ended. */
void brk_client_stop_all(struct brk_broker *broker);

#endif
