/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BACK_CHANNEL_RPC on the host's side: calls of the firmware's, answered on the execution loop's channel. The
 * time is answered at once; a debug call is the debug work processor's, or refused when there is none.
 */
#ifndef DRIVER_RPC_H
#define DRIVER_RPC_H

#include "driver/state.h"

/* A call came on IO_T2H. */
void drv_rpc_take(struct drv *driver, const struct pr_notify_rpc *call);
/* Answers a call; `slot` is the number it came with. An answer that finds no place is dropped. */
void drv_rpc_answer(struct drv *driver, uint32_t slot, enum pr_status status, uint64_t value);

/* What holds a slot of DATA_CHAIN_H2T that carries an answer. */
static inline const void *drv_rpc_holder(const struct drv *driver)
{
    return &driver->rpc;
}
/* Slots have come back: sends answers that wait. */
void drv_rpc_resume(struct drv *driver);
/* The firmware was stopped. */
void drv_rpc_forget(struct drv *driver);

#endif
