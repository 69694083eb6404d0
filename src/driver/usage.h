/* SPDX-License-Identifier: Apache-2.0 */
/* The protection class of a mapping, by its usage code. */
#ifndef DRIVER_USAGE_H
#define DRIVER_USAGE_H

#include "protocol/usage.h"

/* The protection class of a usage code; 0 when there is no such code. */
uint32_t drv_usage_class(uint32_t usage);

#endif
