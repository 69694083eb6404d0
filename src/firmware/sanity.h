/* SPDX-License-Identifier: Apache-2.0 */
/* Sanity checks (property SANITY): the execution loop's own books, when nothing is in flight. */
#ifndef FIRMWARE_SANITY_H
#define FIRMWARE_SANITY_H

#include "firmware/state.h"

/* The execution loop has drained. What does not add up is logged and counted. */
void fw_sanity_check(struct fw *fw);

#endif
