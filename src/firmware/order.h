/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests a call is, in order: exeloop.request. The execution loop's. */
#ifndef FIRMWARE_ORDER_H
#define FIRMWARE_ORDER_H

#include "firmware/state.h"

/* The first `partitions` of a procedure, which has as many. */
void fw_order_own(struct fw *fw, uint32_t procedure, uint32_t partitions);
/* A custom execute order: entries of 4 bytes, each a procedure that a call may name. At most 128. */
enum pr_status fw_order_custom(struct fw *fw, const struct fw_program *program, const uint8_t *entries,
                               uint32_t count);

#endif
