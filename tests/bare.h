/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bare driver: what a driver author would write for this device, against machine.h and nothing else of the
 * tree. It knows the registers from the public drivers' description (docs/machine.md), writes page tables in
 * any of the three leaf forms and follows their submit order step by step.
 */
#ifndef TESTS_BARE_H
#define TESTS_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anemone/machine.h>

#define BARE_PAGE 0x4000u
#define BARE_BARS 32

struct bare {
    struct ane_machine *machine;
    struct ane_machine_map map;
    uint32_t form;   /* enum ane_page_table */
    uint64_t table;  /* physical address of the first-level table */
    uint32_t stream; /* DART stream the buffers are mapped on */
    uint32_t next_iova;
    uint64_t pool; /* physical pages handed out in a scattered order */
    uint32_t pool_pages, pool_next;
};

struct bare_buffer {
    uint32_t iova;
    uint32_t bytes;
};

/* A program image's parts, as its file states them. */
struct bare_program {
    const uint8_t *bytes;
    uint32_t text, text_bytes;   /* file offset, size */
    uint32_t blob_bytes;         /* text and constants, from the start of text */
    uint32_t constants;          /* offset of the constants from the start of text */
    uint32_t first_words, count; /* of the descriptors */
};

/* Makes a page table, points the three DARTs at it and switches the queues on (steps once per boot). */
void bare_start(struct bare *bare, struct ane_machine *machine, uint32_t pool_pages);
void bare_enable(struct bare *bare);

/* Maps one page; pa 0 unmaps. The TLB is invalidated by bare_invalidate alone. */
void bare_map(struct bare *bare, uint32_t iova, uint64_t pa);
void bare_invalidate(struct bare *bare);
uint64_t bare_physical(struct bare *bare, uint32_t iova);

/* A buffer of scattered pages, mapped. */
struct bare_buffer bare_buffer(struct bare *bare, uint32_t bytes);
void bare_put(struct bare *bare, uint32_t iova, const void *from, uint32_t bytes);
void bare_get(struct bare *bare, uint32_t iova, void *to, uint32_t bytes);
void bare_fill(struct bare *bare, uint32_t iova, uint8_t value, uint32_t bytes);

bool bare_program_read(const uint8_t *file, size_t size, struct bare_program *program);

/* One request: BARs, and a buffer with the first descriptor. */
struct bare_request {
    uint32_t queue;
    uint32_t bar[BARE_BARS];
    uint32_t first; /* iova of the first descriptor's copy */
    uint32_t first_words;
    uint32_t count;
};

/*
 * Loads text and constants into BAR 0 and 1 and the first descriptor,
 * its network id forced, into a buffer of its own.
 */
struct bare_request bare_load(struct bare *bare, const void *blob, uint32_t bytes, uint32_t constants,
                              uint32_t first_words, uint32_t count, uint32_t queue);
/* Steps 3 to 5: fill the queue's registers and push. */
void bare_push(struct bare *bare, const struct bare_request *request);
/* Step 6: true when idle within a virtual second; false is what a driver calls -110. */
bool bare_wait(struct bare *bare);
/* Steps 7 and 8: drain events (returns how many line 0 had; the last INFO word in *info), free the queue. */
unsigned bare_finish(struct bare *bare, const struct bare_request *request, uint32_t *info);
/* All of it; true when the request ended well. */
bool bare_run(struct bare *bare, const struct bare_request *request);

uint32_t bare_tm(struct bare *bare, uint32_t offset);
void bare_tm_write(struct bare *bare, uint32_t offset, uint32_t value);
uint32_t bare_tq(struct bare *bare, uint32_t queue, uint32_t offset);
void bare_tq_write(struct bare *bare, uint32_t queue, uint32_t offset, uint32_t value);
uint32_t bare_dart(struct bare *bare, unsigned which, uint32_t offset);

#endif
