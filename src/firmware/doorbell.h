/* SPDX-License-Identifier: Apache-2.0 */
/* Notifying the host: the guarded doorbell of Listing 29.3. */
#ifndef FIRMWARE_DOORBELL_H
#define FIRMWARE_DOORBELL_H

#include "firmware/state.h"

/* Rings the host with the bit of a channel. */
void fw_doorbell_ring(struct fw *fw, enum pr_channel channel);
/* The same for a completion, which the host may want at up to three targets. */
void fw_doorbell_complete(struct fw *fw, enum pr_channel channel);

/* Rings the targets of a mask, for a signal event: those that are bound. */
void fw_doorbell_signal(struct fw *fw, uint32_t targets);

/* The bit of the dump. Neither a rejected store nor an error of the cache keeps the dump from going on. */
void fw_doorbell_crash(struct fw *fw);

#endif
