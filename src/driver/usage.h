/* SPDX-License-Identifier: Apache-2.0 */
/* The direction mapper: from what a mapping is for to the protection of its pages. */
#ifndef DRIVER_USAGE_H
#define DRIVER_USAGE_H

#include "protocol/usage.h"

/*
 * 1, 2 or 3; 0 when there is no such code. `config` is the DART's configuration word: one bit of it makes
 * read-only pages read-write, as on the M1.
 */
uint32_t drv_usage_protection(uint32_t usage, uint32_t config);

#endif
