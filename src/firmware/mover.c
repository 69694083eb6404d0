/* SPDX-License-Identifier: Apache-2.0 */
#include "firmware/mover.h"

#include "firmware/notify.h"
#include "firmware/shared.h"

void fw_mover_take_error(struct fw *fw, unsigned queue, uint32_t error[PR_TM_ERRORS])
{
    const uint32_t first = fw_register_read(fw, PR_ENGINE_TM + PR_TM_ERROR1);
    const bool own = first != PR_TM_ERROR_FINE &&
                     pr_bits_get(first, PR_TM_ERROR1_QUEUE_LO, PR_TM_ERROR1_QUEUE_WIDTH) == queue;

    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        error[i] = own ? fw_register_read(fw, PR_ENGINE_TM + PR_TM_ERROR1 + 4 * i) : PR_TM_ERROR_FINE;
    if (own)
        fw_register_write(fw, PR_ENGINE_TM + PR_TM_ERROR1, PR_TM_ERROR_FINE);
}

/* A descriptor is fetched by the task manager, not by a mover. */
static bool moves_operand(uint32_t error1)
{
    const uint32_t dma = pr_bits_get(error1, PR_TM_ERROR1_DMA_LO, PR_TM_ERROR1_DMA_WIDTH);

    return error1 != PR_TM_ERROR_FINE && dma >= PR_TM_DMA_SOURCE1 && dma <= PR_TM_DMA_DESTINATION;
}

void fw_mover_report(struct fw *fw, const struct fw_call *call)
{
    struct pr_notify_sync message = {.head.id = PR_CMD_TM_SYNC_ERR_NOTIFICATION,
                                     .queue = call->level,
                                     .network = call->network,
                                     .program_id = call->program,
                                     .time = fw_shared_host_time(fw)};

    if (!moves_operand(call->error[0]))
        return;
    rt_memcpy(message.error, call->error, sizeof(message.error));
    fw_notify_post(fw, &message, sizeof(message));
}
