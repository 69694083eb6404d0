/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of clients that are under way, for the viewer: the selector's name, and a lane. Calls of one client
 * that overlap have different lanes, so that the spans of a lane never do.
 */
#ifndef TRACE_CALL_H
#define TRACE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/trace.h"

#define TRACE_CALLS 64u /* under way at once; more are moments without a span */
#define TRACE_LANES 32u /* of one client */

enum trace_call_kind { TRACE_CALL_OTHER, TRACE_CALL_REQUEST, TRACE_CALL_TRIGGER, TRACE_CALL_CHAINING };

struct trace_call {
    const char *name; /* NULL: the place is free */
    enum trace_call_kind kind;
    uint32_t client, selector, lane;
    uint64_t order; /* of all calls, from 1: also the number of its arrows */
    bool scheduled; /* the firmware has pushed what it asked for */
};

struct trace_calls {
    struct trace_call call[TRACE_CALLS];
    uint64_t count;  /* so far */
    uint32_t chains; /* that exist */
    uint32_t owner;  /* client that made the latest of them */
};

/* The call that a record of CLIENT_CALL begins; NULL without a place or a lane. */
struct trace_call *trace_call_begin(struct trace_calls *calls, const struct pr_trace_record *record);

/* The oldest call that a record of CLIENT_RETURN may end; NULL when there is none. */
struct trace_call *trace_call_find(struct trace_calls *calls, const struct pr_trace_record *record);

/* A chain is made, by the call of selector 9 that is under way. */
void trace_call_chained(struct trace_calls *calls);

/*
 * The call whose work a push for this client is, marked as scheduled; NULL unless the trace leaves no doubt:
 * one request alone, or triggers while there is one chain, which run in their order.
 */
struct trace_call *trace_call_schedule(struct trace_calls *calls, uint64_t client);

#endif
