/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong with a request, in words. These functions write a sentence and do not change the request,
 * except that the search for a lost answer completes a request whose answer is in the ring. Registers are
 * read, and the DARTs' error registers cleared, only after a failure: a request that succeeds costs no access
 * for its diagnosis.
 */
#include "driver/diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "driver/mailbox.h"
#include "driver/mapper.h"
#include "driver/ring.h"
#include "program/chain.h"
#include "protocol/tm_regs.h"

#define FAULT_BYTES 200u

/* The place of a descriptor in the program's chain, by its address; UINT32_MAX when it is none. */
static uint32_t descriptor_index(const struct drv_program *program, uint32_t address)
{
    struct pr_chain chain;
    struct pr_chain_link link;
    struct pr_problem problem;
    enum pr_chain_step step;

    pr_chain_begin(&chain, program->text.host, program->text.bytes, program->first_words, program->td_count);
    while ((step = pr_chain_next(&chain, &link, &problem)) != PR_CHAIN_END)
        if (step == PR_CHAIN_LINK && program->text.iova + link.offset == address)
            return link.index;
    return UINT32_MAX;
}

/*
 * The task manager's second error register holds the address of the descriptor; the firmware may pass it on
 * in the detail.
 */
static uint32_t failed_descriptor(struct drv *d, const struct drv_request *r)
{
    const struct drv_program *program = r->process->program;
    uint32_t index = descriptor_index(program, (uint32_t)(r->detail >> 32));

    if (index == UINT32_MAX)
        index = descriptor_index(program, drv_mailbox_read(d, PR_ENGINE_TM + PR_TM_ERROR2));
    return index;
}

IOReturn drv_diagnosis_failure(struct drv *d, const struct drv_request *r)
{
    const struct drv_program *program = r->process->program;
    uint32_t descriptor = r->detail ? failed_descriptor(d, r) : UINT32_MAX;
    char faults[FAULT_BYTES], where[32] = "", why[96] = "";

    drv_mapper_take_faults(d, faults, sizeof(faults));
    if (descriptor != UINT32_MAX)
        snprintf(where, sizeof(where), ", descriptor %u", descriptor);
    /* The first error register's low byte says what kind of thing stopped the queue. */
    if (r->status == PR_STATUS_STUCK)
        snprintf(why, sizeof(why), ": %s", pr_problem_kind_text((enum pr_problem_kind)(r->detail & 0xff)));
    return drv_refuse(d, r->result,
                      "Client %u, program 0x%" PRIx64 " \"%s\"%s: %s%s (status %u, detail 0x%" PRIx64 ")%s.",
                      r->client->number, program->token, program->name, where, pr_status_text(r->status), why,
                      r->status, r->detail, faults);
}

IOReturn drv_diagnosis_timeout(struct drv *d, const struct drv_request *r)
{
    uint64_t ms = r->client->timeout_ns / DRV_MS, token = r->process->program->token;
    uint32_t slot = r->slot;
    char faults[FAULT_BYTES];
    const char *why;

    if (r->state == DRV_REQUEST_QUEUED)
        return drv_refuse(d, kIOReturnTimeout,
                          "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64 " ms: %s.",
                          r->client->number, token, ms,
                          r->parked ? "the firmware had no room for the request"
                                    : "the request never left the driver, its band was taken");
    why = drv_mailbox_recover(d, PR_CHANNEL_IO_T2H);
    if (r->state == DRV_REQUEST_DONE)
        return drv_refuse(d, kIOReturnTimeout,
                          "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64
                          " ms: %s, the answer stood in the ring (status %u).",
                          r->client->number, token, ms, why, r->status);
    if (!drv_ring_returned(d, PR_CHANNEL_DATA_CHAIN_H2T, slot))
        return drv_refuse(
            d, kIOReturnTimeout,
            "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64
            " ms: the firmware never took the command: doorbell lost? (slot %u of DATA_CHAIN_H2T)",
            r->client->number, token, ms, slot);
    drv_mapper_take_faults(d, faults, sizeof(faults));
    return drv_refuse(d, kIOReturnTimeout,
                      "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64
                      " ms: the firmware took the command, completion never arrived "
                      "(task manager: error 0x%x, status 0x%x)%s.",
                      r->client->number, token, ms, drv_mailbox_read(d, PR_ENGINE_TM + PR_TM_ERROR1),
                      drv_mailbox_read(d, PR_ENGINE_TM + PR_TM_STATUS), faults);
}
