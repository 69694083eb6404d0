/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record does not say which kind of client calls: selector and sizes together do. Nor does it say which of
 * several calls of one selector returns: the oldest is taken, which is right for requests of one priority.
 */
#include "trace/call.h"

#include <anemone/abi.h>
#include <anemone/catalogue.h>

#include "base/array.h"

struct method {
    uint32_t selector, in, out;
    const char *name;
    enum trace_call_kind kind;
};

#define METHOD(kind, selector, name, scalars_in, in, scalars_out, out) {selector, in, out, #name, kind},
#define CATALOGUE(kind, selector, name, scalars_in, in, scalars_out, out, access, meaning) \
    METHOD(kind, selector, name, scalars_in, in, scalars_out, out)
static const struct method methods[] = {
    {ANE_CONTROL_ProgramSendRequest, sizeof(struct ane_request), sizeof(struct ane_request_reply),
     "ProgramSendRequest", TRACE_CALL_REQUEST},
    {ANE_CONTROL_ProgramChainingPrepare, sizeof(struct ane_chaining_prepare),
     sizeof(struct ane_chaining_reply), "ProgramChainingPrepare", TRACE_CALL_CHAINING},
    {ANE_DIRECT_ProgramInputsReady, sizeof(struct ane_inputs_ready), 0, "ProgramInputsReady",
     TRACE_CALL_TRIGGER},
    ANE_CONTROL_METHODS(METHOD, TRACE_CALL_OTHER) ANE_DIRECT_METHODS(METHOD, TRACE_CALL_OTHER)
        ANE_HINTS_METHODS(METHOD, TRACE_CALL_OTHER) ANE_CATALOGUE_METHODS(CATALOGUE, TRACE_CALL_OTHER)};

static const struct method *method_of(const struct pr_trace_record *record)
{
    static const struct method unknown = {.name = "call", .kind = TRACE_CALL_OTHER};

    for (size_t i = 0; i < BASE_COUNT_OF(methods); i++)
        if (methods[i].selector == pr_trace_at(record, CLIENT_CALL, selector).number &&
            methods[i].in == pr_trace_at(record, CLIENT_CALL, in).number &&
            methods[i].out == pr_trace_at(record, CLIENT_CALL, out).number)
            return &methods[i];
    return &unknown;
}

/* The lowest lane of a client that no call of it has; TRACE_LANES when there is none. */
static uint32_t free_lane(const struct trace_calls *calls, uint32_t client)
{
    uint32_t taken = 0, lane = 0;

    for (unsigned i = 0; i < TRACE_CALLS; i++)
        if (calls->call[i].name && calls->call[i].client == client)
            taken |= 1u << calls->call[i].lane;
    while (lane < TRACE_LANES && taken >> lane & 1)
        lane++;
    return lane;
}

struct trace_call *trace_call_begin(struct trace_calls *calls, const struct pr_trace_record *record)
{
    const struct method *method = method_of(record);
    const uint32_t client = (uint32_t)pr_trace_at(record, CLIENT_CALL, client).number,
                   lane = free_lane(calls, client);

    for (unsigned i = 0; i < TRACE_CALLS && lane < TRACE_LANES; i++)
        if (!calls->call[i].name) {
            calls->call[i] = (struct trace_call){
                .name = method->name,
                .kind = method->kind,
                .client = client,
                .selector = (uint32_t)pr_trace_at(record, CLIENT_CALL, selector).number,
                .lane = lane,
                .order = ++calls->count,
            };
            return &calls->call[i];
        }
    return NULL;
}

static bool is_older(const struct trace_call *call, const struct trace_call *than)
{
    return !than || call->order < than->order;
}

struct trace_call *trace_call_find(struct trace_calls *calls, const struct pr_trace_record *record)
{
    const uint32_t client = (uint32_t)pr_trace_at(record, CLIENT_RETURN, client).number,
                   selector = (uint32_t)pr_trace_at(record, CLIENT_RETURN, selector).number;
    struct trace_call *oldest = NULL;

    for (struct trace_call *call = calls->call; call < calls->call + TRACE_CALLS; call++)
        if (call->name && call->client == client && call->selector == selector && is_older(call, oldest))
            oldest = call;
    return oldest;
}

void trace_call_chained(struct trace_calls *calls)
{
    calls->chains++;
    for (const struct trace_call *call = calls->call; call < calls->call + TRACE_CALLS; call++)
        if (call->name && call->kind == TRACE_CALL_CHAINING)
            calls->owner = call->client;
}

struct trace_call *trace_call_schedule(struct trace_calls *calls, uint64_t client)
{
    const bool chained = calls->chains && calls->owner == client;
    struct trace_call *request = NULL, *trigger = NULL;
    unsigned requests = 0;

    for (struct trace_call *call = calls->call; call < calls->call + TRACE_CALLS; call++) {
        if (!call->name || call->scheduled)
            continue;
        if (call->kind == TRACE_CALL_REQUEST && call->client == client) {
            request = call;
            requests++;
        } else if (call->kind == TRACE_CALL_TRIGGER && is_older(call, trigger)) {
            trigger = call;
        }
    }
    if (chained)
        request = requests || calls->chains > 1 ? NULL : trigger;
    else if (requests > 1)
        request = NULL;
    if (request)
        request->scheduled = true;
    return request;
}
