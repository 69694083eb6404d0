/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong with a request, in words. These functions write a sentence and do not change the request,
 * except that the search for a lost answer completes a request whose answer is in the ring. Of the engine the
 * host knows what the firmware's event says: it reads no compute register. A request that succeeds costs no
 * access for its diagnosis.
 */
#include "driver/diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "driver/dump.h"
#include "driver/fault.h"
#include "driver/fence.h"
#include "driver/mailbox.h"
#include "driver/recovery.h"
#include "driver/ring.h"

IOReturn drv_diagnosis_failure(struct drv *d, const struct drv_request *r)
{
    const struct drv_program *program = r->process->program;
    char faults[DRV_FAULT_TEXT], where[64] = "", why[96] = "";
    int length = 0;

    if (r->slept)
        return drv_refuse(d, r->result,
                          "Client %u, program 0x%" PRIx64
                          ": the device slept before a message of a chain was sent; prepare the chain again.",
                          r->client->number, program->token);
    if (r->restarted)
        return drv_refuse(d, r->result,
                          "The firmware failed while it had a request of client %u, program 0x%" PRIx64
                          " \"%s\": %s. The request was aborted; the engine has been restarted.",
                          r->client->number, program->token, program->name, drv_dump_reason(d));
    drv_fault_describe(r, faults, sizeof(faults));
    if (program->procedures > 1)
        length = snprintf(where, sizeof(where), ", procedure %u", r->procedure);
    if (r->fault.descriptor != DRV_FAULT_UNKNOWN)
        snprintf(where + length, sizeof(where) - (size_t)length, ", descriptor %u", r->fault.descriptor);
    if (r->status == PR_STATUS_STUCK && r->error[0] != PR_TM_ERROR_FINE)
        snprintf(why, sizeof(why), ": %s",
                 pr_tm_code_text(pr_bits_get(r->error[0], PR_TM_ERROR1_CODE_LO, PR_TM_ERROR1_CODE_WIDTH)));
    return drv_refuse(d, r->result,
                      "Client %u, program 0x%" PRIx64 " \"%s\"%s: %s%s (status %u, detail 0x%" PRIx64 ")%s.",
                      r->client->number, program->token, program->name, where, pr_status_text(r->status), why,
                      r->status, r->detail, faults);
}

/* Why a request was still queued when its time was over. */
static const char *why_queued(const struct drv *d, const struct drv_request *r)
{
    if (!d->ready)
        return "the request never left the driver, the engine was being restarted";
    if (d->fault.parked)
        return "the request never left the driver, which was parked after a DART fault";
    return r->parked ? "the firmware had no room for the request"
                     : "the request never left the driver, its band was taken";
}

IOReturn drv_diagnosis_timeout(struct drv *d, const struct drv_request *r)
{
    uint64_t ms = r->client->timeout_ns / DRV_MS, token = r->process->program->token;
    uint32_t slot = r->slot;
    char faults[DRV_FAULT_TEXT], waits[64];
    const char *why;

    if (r->state == DRV_REQUEST_QUEUED)
        return drv_refuse(d, kIOReturnTimeout,
                          "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64 " ms: %s.",
                          r->client->number, token, ms, why_queued(d, r));
    why = drv_mailbox_recover(d, PR_CHANNEL_IO_T2H);
    if (r->state != DRV_REQUEST_DONE)
        drv_recovery_suspect(d);
    if (r->state == DRV_REQUEST_DONE)
        return drv_refuse(d, kIOReturnTimeout,
                          "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64
                          " ms: %s, the answer was in the ring (status %u).",
                          r->client->number, token, ms, why, r->status);
    if (!drv_ring_returned(d, PR_CHANNEL_DATA_CHAIN_H2T, slot))
        return drv_refuse(
            d, kIOReturnTimeout,
            "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64
            " ms: the firmware never took the command: doorbell lost? (slot %u of DATA_CHAIN_H2T)",
            r->client->number, token, ms, slot);
    drv_fault_describe_client(d, r->client, faults, sizeof(faults));
    drv_fence_describe(r, waits, sizeof(waits));
    return drv_refuse(d, kIOReturnTimeout,
                      "Client %u, program 0x%" PRIx64 " timed out after %" PRIu64
                      " ms: the firmware took the command, completion never arrived%s%s.",
                      r->client->number, token, ms, r->chain ? "; no output set was free?" : waits, faults);
}
