/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of cache requests: what they wait for, their calls and their ends. */
#ifndef FIRMWARE_CACHERUN_H
#define FIRMWARE_CACHERUN_H

#include "firmware/state.h"

/* No execution. */
void fw_cacherun_init(struct fw *fw);
/* The execution that is entered next, for its trigger to fill; NULL when all are in use. */
struct fw_execution *fw_cacherun_next(struct fw *fw);
/* Enters it: what it reads stays, links find it from here on, and it waits for its turn. */
void fw_cacherun_enter(struct fw *fw, struct fw_cache_request *request, struct fw_execution *x);
/* Enters one that was refused, to be reported with its status. */
void fw_cacherun_refuse(struct fw *fw, struct fw_execution *x, enum pr_status status);
/* Starts what can be started, if something happened since the last time. Not while calls are being ended. */
void fw_cacherun_start(struct fw *fw);
/* The call of an execution has ended and is free again. */
void fw_cacherun_end(struct fw *fw, uint16_t call, enum pr_status status);
/*
 * A request is invalidated: what of it is not on the engine, and what of others reads its outputs and is not
 * there either, ends with ABORTED.
 */
void fw_cacherun_abort(struct fw *fw, struct fw_cache_request *request);
/* Whether that is so of an execution, and the request that is invalidated. */
bool fw_cacherun_loses(struct fw *fw, uint16_t execution, uint64_t handler);
/* No link brings the group's latest output any more. */
void fw_cacherun_forget(struct fw *fw, struct fw_cache_request *group);
/* Posts the events of executions that have ended, as far as notifications have room. */
void fw_cacherun_report(struct fw *fw);

static inline struct fw_execution *fw_cacherun_at(struct fw *fw, uint16_t number)
{
    return &fw->cache.execution[number];
}
static inline uint16_t fw_cacherun_number(const struct fw *fw, const struct fw_execution *x)
{
    return (uint16_t)(x - fw->cache.execution);
}
static inline struct fw_cache_request *fw_cacherun_request(struct fw *fw, const struct fw_execution *x)
{
    return &fw->cache.request[x->request];
}
static inline bool fw_cacherun_reports(const struct fw *fw)
{
    return fw->cache.events.head != FW_NO_EXECUTION || fw->cache.ending;
}

#endif
