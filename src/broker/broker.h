/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: the process that opens the device for all clients. Its service gives it clients and compile
 * services by notices on a control socket (protocol/broker.h), and is its kernel by a session of its own.
 */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

/*
 * Serves until the control socket is closed, and ends every connection then. `session` is a socket to the
 * service; -1: the machine of this process, for tests. Both sockets become the broker's. 0, or a negative
 * errno after one line on standard error.
 */
int brk_broker_run(int control, int session);

#endif
