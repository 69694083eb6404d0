/* SPDX-License-Identifier: Apache-2.0 */
/* The device's properties (seeds Table 27.9) and its answer to device open (Table 27.3). */
#ifndef PROTOCOL_DEVICE_H
#define PROTOCOL_DEVICE_H

#include "protocol/bits.h"

/* Properties. The board's revision word is made of the first two. */
#define PR_DEVICE_VERSION       96u
#define PR_DEVICE_MINOR_VERSION 17u
#define PR_DEVICE_ARCHITECTURE  "h13g"
#define PR_DEVICE_BOARD_TYPE    96u
#define PR_DEVICE_BOARD_SUBTYPE 0u
#define PR_DEVICE_CORES         16u
#define PR_DEVICE_ENGINES       1u
#define PR_DEVICE_CPU_SUBTYPE   4u

/*
 * The same as the driver publishes them, under the keys that public listings of the registry show: X(kind of
 * value, key, value). Whether the build is internal is the machine's to say: No on the device.
 */
#define PR_DEVICE_PROPERTIES(X)                                                    \
    X(TEXT, "ANEDevicePropertyTypeANEArchitectureTypeStr", PR_DEVICE_ARCHITECTURE) \
    X(NUMBER, "ANEDevicePropertyANEVersion", PR_DEVICE_VERSION)                    \
    X(NUMBER, "ANEDevicePropertyANEMinorVersion", PR_DEVICE_MINOR_VERSION)         \
    X(NUMBER, "ANEDevicePropertyANEHWBoardType", PR_DEVICE_BOARD_TYPE)             \
    X(NUMBER, "ANEDevicePropertyANEHWBoardSubType", PR_DEVICE_BOARD_SUBTYPE)       \
    X(NUMBER, "ANEDevicePropertyNumANECores", PR_DEVICE_CORES)                     \
    X(NUMBER, "ANEDevicePropertyNumANEs", PR_DEVICE_ENGINES)                       \
    X(NUMBER, "ANEDevicePropertyANECPUSubType", PR_DEVICE_CPU_SUBTYPE)
#define PR_DEVICE_INTERNAL_BUILD_KEY "ANEDevicePropertyIsInternalBuild"

/*
 * Device open: what it fills in. anemone/abi.h has its default timeout, the code of a refused usage, and the
 * word that a client without a callback sends.
 */
#define PR_DEVICE_INFO_VERSION    32u
#define PR_DEVICE_INFO_VERSION_HI 256u

#endif
