/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the raw command injection of the method catalogue may not send (CHOSEN: no source lists it).
 * Commands of other families than control name programs, processes and buffers that the driver counts;
 * they are refused as a family. IPC_ENDPOINT_SET2 adds doorbell targets of completions to the host's own.
 */
#ifndef PROTOCOL_CATALOGUE_H
#define PROTOCOL_CATALOGUE_H

#include "protocol/commands.h"

#define PR_INJECTED_FAMILY "CONTROL"

/* X(command, why) */
#define PR_NOT_INJECTED(X)                                             \
    X(START, "the driver started the execution loop")                  \
    X(STOP, "the driver needs the execution loop")                     \
    X(RESET, "programs of all clients would be lost")                  \
    X(BOOT, "the controller has booted")                               \
    X(POWER_DOWN, "programs of all clients would be lost")             \
    X(SUSPEND, "programs of all clients would be lost")                \
    X(QUIESCE_STATE, "calls of all clients would be refused")          \
    X(POWER_DEVICE_OFF, "calls of all clients would be refused")       \
    X(SET_SNE_PMU_BASE, "the address is the driver's")                 \
    X(SET_SNE_PMU_BASE2, "the address is the driver's")                \
    X(IPC_ENDPOINT_SET, "the rings are the driver's")                  \
    X(IPC_ENDPOINT_UNSET, "the rings are the driver's")                \
    X(IPC_ENDPOINT_UNSET2, "the rings are the driver's")               \
    X(CH_BUFFER_RETURN, "buffers are counted by the driver")           \
    X(CH_BUFFER_POOL_CONFIG_SET, "buffers are counted by the driver")  \
    X(CH_BUFFER_RECYCLE_MODE_SET, "buffers are counted by the driver") \
    X(CH_BUFFER_RECYCLE_START, "buffers are counted by the driver")    \
    X(CH_BUFFER_RECYCLE_STOP, "buffers are counted by the driver")     \
    X(REG_FILE_LOAD, "the order of all clients' calls would change")   \
    X(DSID_SET, "it is set once for all clients")                      \
    X(CH_DATA_FILE_LOAD, "it names memory by address")                 \
    X(CH_DATA_FILE_LOAD2, "it names memory by address")                \
    X(INIT_SHARED_EVENT_INFO, "shared events are the driver's")

#endif
