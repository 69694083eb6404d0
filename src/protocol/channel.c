/* SPDX-License-Identifier: Apache-2.0 */
/* The channels and the places of their rings in the IPC surface: in table order, without overlap. */
#include "protocol/channel.h"

#define RING_ALIGN 0x100u

const struct pr_channel_info pr_channel_table[PR_CHANNEL_COUNT] = {
#define X(id, type, bit, slots) [PR_CHANNEL_##id] = {#id, PR_CHANNEL_##type, bit, slots},
    PR_CHANNELS(X)
#undef X
};

static uint32_t offset_after(unsigned channels)
{
    uint32_t offset = PR_IPC_TABLE_BYTES;

    for (unsigned i = 0; i < channels; i++)
        offset += (uint32_t)pr_round_up(pr_channel_table[i].slots * PR_SLOT_BYTES, RING_ALIGN);
    return offset;
}

uint32_t pr_ipc_ring_offset(enum pr_channel channel)
{
    return offset_after(channel);
}

uint32_t pr_ipc_bytes(void)
{
    return offset_after(PR_CHANNEL_COUNT);
}
