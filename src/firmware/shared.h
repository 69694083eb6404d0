/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared memory and registers. A window is looked up for each use and not kept: the mapping is the host's.
 * Bytes are copied in once; what follows works on the copy.
 */
#ifndef FIRMWARE_SHARED_H
#define FIRMWARE_SHARED_H

#include "firmware/state.h"
#include "rtkernel/memory.h"
#include "rtkernel/port.h"

/* False when a byte of the range is not mapped. */
static inline bool fw_shared_in(struct fw *fw, void *copy, uint64_t address, size_t bytes)
{
    const void *window = rt_port_window(fw->port, address, bytes);

    if (!window)
        return false;
    rt_memcpy(copy, window, bytes);
    return true;
}

static inline bool fw_shared_out(struct fw *fw, uint64_t address, const void *copy, size_t bytes)
{
    void *window = rt_port_window(fw->port, address, bytes);

    if (!window)
        return false;
    rt_memcpy(window, copy, bytes);
    return true;
}

/* The host's time, by the last synchronisation. */
static inline uint64_t fw_shared_host_time(struct fw *fw)
{
    return rt_port_now(fw->port) + (uint64_t)fw->server.host_time_offset;
}

/*
 * Parts of the extra heap: the buffers of load reports, a cell for each slot of IO_T2H, the texts of calls to
 * the host; in its second half the texts of built-in networks; at its end the staging area of the dump.
 */
#define FW_LOAD_CELL_BYTES    0x40u
#define FW_EVENTS_OFFSET      (PR_LOAD_BUFFERS * FW_LOAD_CELL_BYTES)
#define FW_EVENT_CELL_BYTES   0x40u
#define FW_RPC_OFFSET         0x8000u
#define FW_BUILTIN_OFFSET     (PR_EXTRA_HEAP_BYTES / 2)
#define FW_BUILTIN_CELL_BYTES 0x400u
_Static_assert(FW_RPC_OFFSET + PR_RPC_SLOTS * PR_RPC_TEXT_BYTES <= FW_BUILTIN_OFFSET,
               "the texts of calls end before those of built-in networks");
_Static_assert(FW_BUILTIN_OFFSET + 0x100u + PR_BUILT_IN_PROGRAMS_MAX * FW_BUILTIN_CELL_BYTES <=
                   PR_EXTRA_HEAP_BYTES - PR_DUMP_AREA_BYTES,
               "the texts end before the dump");
enum {
#define X(id, type, bit, slots) FW_SLOTS_##id = (slots),
    PR_CHANNELS(X)
#undef X
};
_Static_assert(FW_EVENTS_OFFSET + FW_SLOTS_IO_T2H * FW_EVENT_CELL_BYTES <= FW_RPC_OFFSET,
               "the texts follow the cells");
_Static_assert(sizeof(struct pr_load_report) <= FW_LOAD_CELL_BYTES, "a load report fits into its buffer");

/* Registers at an offset of the engine container. */
static inline uint32_t fw_register_read(struct fw *fw, uint32_t offset)
{
    return rt_port_read32(fw->port, fw->registers + offset);
}

static inline void fw_register_write(struct fw *fw, uint32_t offset, uint32_t value)
{
    rt_port_write32(fw->port, fw->registers + offset, value);
}

#endif
