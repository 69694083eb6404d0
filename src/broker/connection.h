/* SPDX-License-Identifier: Apache-2.0 */
/* The client's end of a connection to the broker: the calls of anemone/broker.h. */
#ifndef BROKER_CONNECTION_H
#define BROKER_CONNECTION_H

#include <anemone/broker.h>

/* A connection over that socket, which becomes the connection's; as ane_broker_connect. */
IOReturn brk_connection_adopt(int socket, struct ane_broker **broker);

#endif
