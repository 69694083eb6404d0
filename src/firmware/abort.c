/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The abort of overdue queues. A queue is vacant at once after a write to ABORT, or it stays `aborting`:
 * nothing is pushed to it, and its calls are kept, until it is vacant or the host has reset it.
 */
#include "firmware/abort.h"

#include "firmware/call.h"
#include "firmware/completion.h"
#include "firmware/event.h"
#include "firmware/exeloop.h"
#include "firmware/intmgr.h"
#include "firmware/log.h"
#include "firmware/queue.h"
#include "firmware/shared.h"
#include "rtkernel/timer.h"

/*
 * Why a queue is overdue: an event without an interrupt, an idle task manager, or a queue that stopped.
 */
static enum pr_status overdue_reason(struct fw *fw)
{
    fw_exeloop_check(fw, "a look at an overdue queue");
    if (fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ0_COUNT))
        return PR_STATUS_LOST_INTERRUPT;
    if (fw_register_read(fw, PR_ENGINE_TM + PR_TM_STATUS) & PR_TM_STATUS_IDLE)
        return PR_STATUS_NOT_STARTED;
    return PR_STATUS_STUCK;
}

/* The oldest call is the one that the queue stopped on; taking its words clears them for the next. */
static uint32_t take_errors(struct fw *fw, unsigned level)
{
    uint32_t error = PR_TM_ERROR_FINE;

    for (uint16_t n = fw->exeloop.level[level].running.head; n != FW_NO_CALL; n = fw->call[n].next) {
        fw_completion_take_error(fw, level, &fw->call[n]);
        if (fw->call[n].error[0] != PR_TM_ERROR_FINE)
            error = fw->call[n].error[0];
    }
    return error;
}

static void begin(struct fw *fw, unsigned level)
{
    struct fw_level *l = &fw->exeloop.level[level];
    uint32_t error;

    l->reason = (uint8_t)overdue_reason(fw);
    error = take_errors(fw, level);
    l->aborting = true;
    fw->exeloop.aborting++;
    l->aborted = rt_port_now(fw->port);
    fw_queue_abort(fw, level);
    fw_log(fw, RT_LOG_ERROR, "queue %u did not retire its request within %u seconds: aborted, error 0x%x",
           level, PR_DEADLINE_MS / 1000, error);
}

static void finish(struct fw *fw, unsigned level)
{
    struct fw_level *l = &fw->exeloop.level[level];
    uint16_t number;

    l->aborting = false;
    fw->exeloop.aborting--;
    while ((number = fw_queue_retire(fw, level)) != FW_NO_CALL)
        fw_completion_end(fw, number, (enum pr_status)l->reason);
}

static void arm(struct fw *fw)
{
    const uint64_t now = rt_port_now(fw->port);
    uint64_t due;

    if (fw_queue_deadline(fw, &due))
        rt_timer_start(fw->exeloop.deadline, due > now ? due - now : 1, 0);
}

void fw_abort_check(struct fw *fw)
{
    bool finished = false, left = false;

    for (unsigned i = 0; i < PR_PRIORITIES; i++) {
        if (!fw->exeloop.level[i].aborting)
            continue;
        if (fw_queue_vacant(fw, i)) {
            finish(fw, i);
            finished = true;
        } else {
            left = true;
        }
    }
    /* The event lines are read, so that no event of what was aborted is taken for a later call's. */
    if (finished)
        fw_completion_drain(fw);
    fw_intmgr_checked(fw, left);
    arm(fw);
}

void fw_abort_overdue(struct fw *fw)
{
    const uint64_t now = rt_port_now(fw->port);

    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        if (fw_queue_overdue(fw, i, now))
            begin(fw, i);
    fw_abort_check(fw);
}

bool fw_abort_pending(const struct fw *fw, uint64_t *since, uint8_t *first, uint8_t *last)
{
    bool any = false;

    for (uint8_t i = 0; i < PR_PRIORITIES; i++) {
        const struct fw_level *l = &fw->exeloop.level[i];

        if (!l->aborting)
            continue;
        if (!any) {
            *first = i;
            *since = l->aborted;
        }
        *since = l->aborted < *since ? l->aborted : *since;
        *last = i;
        any = true;
    }
    return any;
}

/* The level of the range whose first call was submitted first; PR_PRIORITIES when there is none. */
static unsigned oldest(const struct fw *fw, unsigned first, unsigned last)
{
    unsigned found = PR_PRIORITIES;
    uint32_t ticket = 0;

    for (unsigned i = first; i <= last; i++) {
        const struct fw_level *l = &fw->exeloop.level[i];
        const uint16_t number = l->running.head != FW_NO_CALL ? l->running.head : l->waiting.head;

        if (number == FW_NO_CALL)
            continue;
        if (found == PR_PRIORITIES || (int32_t)(fw->call[number].ticket - ticket) < 0) {
            found = i;
            ticket = fw->call[number].ticket;
        }
    }
    return found;
}

void fw_abort_reset(struct fw *fw, unsigned first, unsigned last)
{
    struct fw_event_match match = FW_EVENT_MATCH_ALL;
    unsigned level;

    while ((level = oldest(fw, first, last)) < PR_PRIORITIES) {
        uint16_t number = fw_queue_retire(fw, level);

        if (number == FW_NO_CALL)
            number = fw_queue_unwait(fw, level);
        fw_completion_end(fw, number, PR_STATUS_ABORTED);
    }
    match.first_level = (uint8_t)first;
    match.last_level = (uint8_t)last;
    match.outside = false; /* what waits there is for no queue yet */
    (void)fw_event_cancel(fw, &match);
    for (unsigned i = first; i <= last; i++) {
        fw->exeloop.aborting -= fw->exeloop.level[i].aborting;
        fw->exeloop.level[i].aborting = false;
    }
    fw_completion_drain(fw);
    arm(fw);
}
