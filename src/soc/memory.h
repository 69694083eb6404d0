/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory: banks of memory files placed in one reserved host range. System DRAM is bank 0 and its
 * file never leaves the process; there, a physical address is an offset. Every further bank is a surface of
 * its own: its physical pages are names for pages of its file, scattered over the addresses after DRAM.
 *
 * Runs (soc_memory_alloc) are physically contiguous. Buffers and surfaces are scattered (soc/scatter.h).
 *
 * Pages are 16 KiB. Free DRAM is poisoned under AddressSanitizer.
 */
#ifndef SOC_MEMORY_H
#define SOC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/board.h"

struct soc_memory;

/*
 * `base` is the board's DRAM address; `bytes` is rounded up to a page. DRAM is sparse: untouched pages take
 * no memory.
 */
int soc_memory_create(uint64_t base, uint64_t bytes, struct soc_memory **memory, struct base_error *error);
/* Buffers and surfaces made from now on are scattered page by page, in an order from `seed`; 0: in chunks. */
void soc_memory_scatter(struct soc_memory *memory, uint32_t seed);
void soc_memory_destroy(struct soc_memory *memory);

uint64_t soc_memory_base(const struct soc_memory *memory);
uint64_t soc_memory_bytes(const struct soc_memory *memory); /* of system DRAM */

/* The owner of a run of DRAM, who alone may free it. */
enum soc_owner {
    SOC_OWNER_CALLER,   /* a user of the board from outside: ane_machine_dram_alloc */
    SOC_OWNER_DRIVER,   /* the machine's own driver */
    SOC_OWNER_FIRMWARE, /* the boot loader: the firmware's carve-out */
    SOC_OWNERS
};

/*
 * Whole pages of system DRAM, zeroed, in one run. -ENOMEM when no run is long enough, -EINVAL for zero bytes.
 */
int soc_memory_alloc(struct soc_memory *memory, enum soc_owner owner, uint64_t bytes, uint64_t *address,
                     struct base_error *error);
/*
 * Gives back a run that soc_memory_alloc gave to this owner. The contents are discarded. -EINVAL when
 * `address` is not the start of such a run.
 */
int soc_memory_free(struct soc_memory *memory, enum soc_owner owner, uint64_t address,
                    struct base_error *error);

/* Scattered pages of system DRAM. */
struct soc_buffer {
    struct pr_extent *extent; /* in the order of the buffer's bytes */
    uint32_t extents;
    uint64_t bytes; /* in whole pages */
    void *host;     /* all of them in one piece; NULL when no view was asked for */
};
/*
 * Whole pages, zeroed, scattered. With `view`, the pages are also mapped in their order at one host address,
 * as vmap does: a host mapping per extent, none for a buffer of one extent. -ENOMEM, -EINVAL for zero bytes.
 */
int soc_memory_buffer_alloc(struct soc_memory *memory, enum soc_owner owner, uint64_t bytes, bool view,
                            struct soc_buffer *buffer, struct base_error *error);
/* Gives back the pages and the view. The contents are discarded. */
void soc_memory_buffer_free(struct soc_memory *memory, struct soc_buffer *buffer);

/* Bytes of system DRAM in allocated runs and buffers. */
uint64_t soc_memory_used(const struct soc_memory *memory);

/*
 * A bank of its own for a surface: a sealed memory file. Its file descriptor may be handed to a client.
 * `address` is that of its first page and names the bank.
 */
int soc_memory_bank_add(struct soc_memory *memory, uint64_t bytes, uint64_t *address,
                        struct base_error *error);
/*
 * The same with a file that exists (a surface made elsewhere), which the caller keeps open as long as the
 * bank exists; `bytes` is its size in whole pages.
 */
int soc_memory_bank_attach(struct soc_memory *memory, int file, uint64_t bytes, uint64_t *address,
                           struct base_error *error);
/*
 * A part of a file that exists, in one physical run: for a caller that places memory himself. Offset and
 * bytes are whole pages. The caller keeps the file open as long as the bank exists.
 */
int soc_memory_bank_place(struct soc_memory *memory, int file, uint64_t offset, uint64_t bytes,
                          uint64_t *address, struct base_error *error);
int soc_memory_bank_remove(struct soc_memory *memory, uint64_t address, struct base_error *error);
/* The file of DRAM, which belongs to the memory. */
int soc_memory_dram_file(const struct soc_memory *memory);
/* The bank's file descriptor (owned by the memory), or -1. `address` is in any of its pages. */
int soc_memory_bank_file(const struct soc_memory *memory, uint64_t address);
/*
 * The bank that `address` names: its pages, and its bytes in one piece. It belongs to the bank. False when
 * there is none.
 */
bool soc_memory_bank_buffer(const struct soc_memory *memory, uint64_t address, struct soc_buffer *buffer);

/*
 * Host address of [address, address + bytes), or NULL when the range is neither in DRAM nor in one extent of
 * a bank (of a placed one: more than 1 GiB). Costs no more than a few compares.
 */
void *soc_memory_at(const struct soc_memory *memory, uint64_t address, uint64_t bytes);
/*
 * A number that moves when a host address from soc_memory_at may no longer be that of its physical address,
 * or one that had none may have one. The pointer is good as long as the memory.
 */
const uint64_t *soc_memory_changes(const struct soc_memory *memory);

/*
 * Watches a range of DRAM: `seen` is called each time before soc_memory_at returns an address in it. There is
 * one range; 0 bytes end the watch.
 */
void soc_memory_watch(struct soc_memory *memory, uint64_t address, uint64_t bytes,
                      void (*seen)(void *context), void *context);

/* File and offset behind a page, for a second mapping of it. -EFAULT when no bank holds it. */
int soc_memory_file_at(const struct soc_memory *memory, uint64_t address, int *file, uint64_t *offset);

#endif
