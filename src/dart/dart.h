/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DART: three controllers with their register windows, and the translation domains their streams point
 * to.
 *
 * The page table in DRAM is authoritative. A domain (one per table base) keeps what the walker accepted in a
 * TLB that mirrors the aperture page by page, and maps the same pages into a reserved host window, so that a
 * scattered tensor is contiguous without a copy. An entry stays until it is invalidated through the
 * registers.
 */
#ifndef DART_DART_H
#define DART_DART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/dart_regs.h"

struct dart;
struct soc_lines;
struct soc_memory;
struct soc_trace;

/* Which controller serves which traffic (chosen; public drivers only show that all three need the table). */
enum dart_port { DART_PORT_TASK = 0, DART_PORT_SOURCE = 1, DART_PORT_RESULT = 2, DART_PORTS };

enum dart_access { DART_READ, DART_WRITE };

#define DART_VMA_BUDGET 24000u

struct dart_config {
    enum pr_leaf_form form;
    uint32_t vma_budget; /* host mappings over all windows; 0 = DART_VMA_BUDGET */
    bool strict_tlb;     /* walk again at every use and report entries that should have been invalidated */
    struct soc_lines *lines; /* NULL: the interrupt line leads nowhere */
    unsigned line;           /* high while a controller holds a captured fault */
};

int dart_create(const struct dart_config *config, struct soc_memory *memory, struct soc_trace *trace,
                struct dart **dart, struct base_error *error);
void dart_destroy(struct dart *dart);
/* Registers of a set of controllers, a bit per port, to their reset values; TLBs emptied. */
void dart_reset(struct dart *dart, uint32_t ports);
#define DART_ALL_PORTS ((1u << DART_PORTS) - 1)

/* Register windows, for the bus: `port` selects the controller. */
uint32_t dart_read32(struct dart *dart, enum dart_port port, uint32_t offset);
void dart_write32(struct dart *dart, enum dart_port port, uint32_t offset, uint32_t value);

/*
 * A write after which an access that was refused may be granted (chosen): a TLB invalidate, and a captured
 * fault that is cleared.
 */
bool dart_write_restarts(uint32_t offset);

/* A granted operand range. */
struct dart_range {
    struct dart_domain *domain;
    uint64_t iova;
    uint64_t bytes;
    uint8_t *host; /* contiguous host address, or NULL: use dart_copy_in and dart_copy_out */
    bool window;   /* that address is in the domain's window */
};

/*
 * Grants [iova, iova + bytes) on a stream of a port for reading or writing, or captures a fault and returns
 * -EFAULT (no part is granted). -EFAULT also when the range leaves the 3.5 GiB aperture. On a bypass stream
 * the address is the physical one. The grant holds
 * until the next dart_* call that maps or invalidates on the same domain, except that further dart_range_get
 * calls between dart_grants_begin and dart_grants_end never drop it. An empty range is granted, without a
 * host address. Before a bank of memory is removed, its pages are unmapped and invalidated.
 */
int dart_range_get(struct dart *dart, enum dart_port port, uint32_t stream, uint64_t iova, uint64_t bytes,
                   enum dart_access access, struct dart_range *range);

/*
 * Who repeats a grant may keep the range instead while this number stays: it moves before a range that was
 * granted once could be refused, or have another host address. 0: ranges are not to be kept (strict_tlb).
 * Within dart_grants_begin and dart_grants_end a kept range is held like a new one by dart_range_use.
 */
uint64_t dart_generation(const struct dart *dart);
void dart_range_touch(const struct dart_range *range);
static inline void dart_range_use(const struct dart_range *range)
{
    if (range->window)
        dart_range_touch(range);
}

/* The access that was refused last, and whether its controller captured it (not while it holds another). */
struct dart_refusal {
    enum dart_port port;
    enum dart_access access;
    uint32_t stream;
    uint64_t address;
    bool captured;
};
struct dart_refusal dart_refusal_get(const struct dart *dart);
/* True when that access would be granted now. Captures no fault. */
bool dart_refusal_over(struct dart *dart, const struct dart_refusal *refusal);

/* Brackets one descriptor's grants: windows granted since begin are not dropped before end. */
void dart_grants_begin(struct dart *dart);
void dart_grants_end(struct dart *dart);

/* Page-wise copies inside a granted range, for ranges without a host address; they work for every range. */
void dart_copy_in(const struct dart_range *range, uint64_t offset, void *to, uint64_t bytes);
void dart_copy_out(const struct dart_range *range, uint64_t offset, const void *from, uint64_t bytes);

/* Two granted ranges share a physical page. */
bool dart_ranges_overlap(const struct dart_range *a, const struct dart_range *b);
/* A physical page may occur in a granted range more than once; never false when one does. */
bool dart_range_repeats(const struct dart_range *range);

/* Counters, for tests, `doctor` and the log. */
struct dart_stats {
    uint64_t walks;               /* page-table walks */
    uint64_t faults;              /* captured and not captured */
    uint64_t missing_invalidates; /* strict_tlb: entries used after their table changed, not invalidated */
    uint64_t window_drops;        /* window ranges dropped for the budget */
    uint64_t slow_grants;         /* ranges granted without a host address */
    uint32_t vmas;                /* host mappings in use, an upper bound */
    uint32_t vmas_peak;
};
struct dart_stats dart_stats_get(const struct dart *dart);

#endif
