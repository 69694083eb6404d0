/* SPDX-License-Identifier: Apache-2.0 */
/* The device's properties (seeds Table 27.9) and its answer to device open (Table 27.3). */
#ifndef PROTOCOL_DEVICE_H
#define PROTOCOL_DEVICE_H

#include "protocol/bits.h"

/* Properties. The board's revision word is made of the first two. */
#define PR_DEVICE_VERSION       96u
#define PR_DEVICE_MINOR_VERSION 17u
#define PR_DEVICE_ENGINES       1u
#define PR_DEVICE_CPU_SUBTYPE   4u

/*
 * Device open: what it fills in. anemone/abi.h has its default timeout, the code of a refused usage, and the
 * word that a client without a callback sends.
 */
#define PR_DEVICE_INFO_VERSION    32u
#define PR_DEVICE_INFO_VERSION_HI 256u

#endif
