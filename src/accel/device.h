/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as a Linux driver has it: one bare machine, one device address space for all buffers, one
 * request at a time. It does on machine.h what the published driver does on the device: registers, page
 * tables in DRAM, TLB invalidates, a poll of the task manager's STATUS with a timeout of one second, of
 * virtual time.
 *
 * Buffers are placed by their owner in memory files, never in DRAM; page tables are in DRAM alone.
 * Every function may be called from any thread.
 */
#ifndef ACCEL_DEVICE_H
#define ACCEL_DEVICE_H

#include <anemone/machine.h>

#include "accel/abi.h"
#include "base/error.h"

struct acc_device;

/*
 * Why a request did not end, or ended without a result, for the user; one block of lines. Called by the
 * thread that submitted, outside all locks. The text ends in a newline and is valid during the call.
 */
typedef void (*acc_report_fn)(void *context, const char *text);

struct acc_device_config {
    const struct ane_machine_config *machine; /* as for ane_machine_create; `firmware` is 0 */
    acc_report_fn report;                     /* NULL: none */
    void *report_context;
};

/* 0 or a negative errno with a sentence. */
int acc_device_create(const struct acc_device_config *config, struct acc_device **device,
                      struct base_error *error);
/* No call may be under way. */
void acc_device_destroy(struct acc_device *device);
/* Something else for the user, as a report of a request is. */
void acc_device_report(struct acc_device *device, const char *text);
/* For figures and tests. */
struct ane_machine *acc_device_machine(struct acc_device *device);

/*
 * A part of a sealed memory file becomes visible to the engine: a bank of the machine, and pages in the
 * device address space, after those of the buffer before it where that is free. Both are multiples of
 * ACC_TILE_BYTES. -ENOMEM, -ENOSPC when the address space or the banks are used up.
 */
int acc_device_map(struct acc_device *device, int file, uint64_t offset, uint64_t bytes, uint32_t *iova,
                   struct base_error *error);
/* The engine has no request that uses it. Pages are unmapped and the TLBs invalidated. */
void acc_device_unmap(struct acc_device *device, uint32_t iova);

/* What a submit of any generation comes to. */
struct acc_request {
    uint32_t bar[ACC_TILES];
    uint32_t first; /* device address of the first descriptor: the btsp buffer */
    uint32_t td_count, td_size;
    /* For the report alone: */
    int process;                /* who asks */
    uint32_t handle[ACC_TILES]; /* the program's names of its buffers; 0: it has none */
    uint32_t first_handle;
};
/*
 * Runs a request to its end: 0, or -ETIMEDOUT as the driver gives after a second. Then the reason was
 * reported and the engine recovered by a power cycle, so that the next request finds it as after boot.
 */
int acc_device_submit(struct acc_device *device, const struct acc_request *request);

#endif
