/* SPDX-License-Identifier: Apache-2.0 */
/* TERMINAL. A line that finds no free slot is counted, and is then in the kernel's log only. */
#include "firmware/terminal.h"

#include "firmware/channel.h"
#include "firmware/dartmgr.h"
#include "firmware/doorbell.h"
#include "firmware/retained.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"
#include "rtkernel/log.h"

#define REQUEST_SLOT 0u /* of SHAREDMALLOC: there is one request */

enum {
#define X(id, type, bit, slots) SLOTS_##id = slots,
    PR_CHANNELS(X)
#undef X
};
_Static_assert(SLOTS_TERMINAL *RT_LOG_WIDTH <= FW_TERMINAL_BUFFER_BYTES,
               "the log buffer has a cell for every slot");

void fw_terminal_request(struct fw *fw)
{
    uint32_t number;

    if (!fw_channel_room(fw, PR_CHANNEL_SHAREDMALLOC, &number))
        return;
    fw_channel_send(fw, PR_CHANNEL_SHAREDMALLOC, 0, FW_TERMINAL_BUFFER_BYTES, FW_TERMINAL_TAG);
    fw_doorbell_ring(fw, PR_CHANNEL_SHAREDMALLOC);
}

void fw_terminal_answer(struct fw *fw)
{
    struct pr_slot slot;
    uint64_t address;

    if (fw->terminal.buffer || !fw_channel_look(fw, PR_CHANNEL_SHAREDMALLOC, REQUEST_SLOT, &slot) ||
        !(slot.address & PR_SLOT_OWNER))
        return;
    address = slot.address & ~PR_SLOT_OWNER;
    if (address && !fw_dartmgr_window(fw, FW_TASK_HOSTRPC, address, FW_TERMINAL_BUFFER_BYTES))
        fw->terminal.buffer = address;
}

void fw_terminal_line(struct fw *fw, const char *text, size_t length)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    uint32_t number;

    if (!fw->terminal.enabled)
        goto out;
    if (!fw_channel_room(fw, PR_CHANNEL_TERMINAL, &number)) {
        fw->terminal.lost++;
        goto out;
    }
    if (fw_shared_out(fw, fw->terminal.buffer + (uint64_t)number * RT_LOG_WIDTH, text, length)) {
        fw_channel_send(fw, PR_CHANNEL_TERMINAL, fw->terminal.buffer + (uint64_t)number * RT_LOG_WIDTH,
                        length, 0);
        fw_doorbell_ring(fw, PR_CHANNEL_TERMINAL);
        fw_retained_line(fw);
    }
out:
    rt_irq_restore(fw->kernel, previous);
}
