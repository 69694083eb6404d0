/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translation domains: one per table base, shared by every stream of every controller that points to it.
 * A domain keeps what the walker accepted, one entry per page of the aperture, until it is emptied.
 *
 * Chosen: the controllers share a domain's entries, so that an invalidate through one of them is seen by all.
 */
#ifndef DART_DOMAIN_H
#define DART_DOMAIN_H

#include "dart/dart.h"
#include "protocol/board.h"

/*
 * As many as there are (controller, stream) pairs: a domain without a stream is given back, so there is
 * always one left.
 */
#define DART_DOMAINS     (DART_PORTS * PR_DART_STREAMS)
#define DART_CHUNK_PAGES 512u
#define DART_CHUNKS      (PR_DART_PAGES / DART_CHUNK_PAGES)
#define DART_GRANTS      64u

/* One page of the aperture. All zero: not cached. */
struct dart_entry {
    uint64_t frame : 33; /* physical page number; addresses reach bit 46 */
    uint64_t sub_start : 12, sub_end : 12;
    uint64_t present : 1, no_read : 1, no_write : 1;
    uint64_t mapped : 1; /* the host window shows the frame */
};

/* The unit in which entries are cleared and host mappings are dropped. */
struct dart_chunk {
    uint64_t used;   /* core clock at the last grant through the window */
    uint32_t vmas;   /* host mappings this chunk adds to its window */
    uint16_t mapped; /* pages the window shows */
    bool filled;     /* may have entries */
};

/* A range granted before: valid while its generation is the domain's. */
struct dart_grant {
    uint64_t generation;
    uint64_t address; /* physical, of a contiguous range */
    uint32_t iova, bytes;
    uint32_t access; /* one bit per enum dart_access */
    bool window;     /* granted through the window instead */
};

struct dart_domain {
    struct dart_core *core;
    uint64_t table; /* physical base, the domain's name */
    bool live;
    uint64_t generation;        /* moves when an entry or a host mapping goes away */
    struct dart_entry *entries; /* PR_DART_PAGES; NULL for the bypass, whose addresses are physical */
    uint8_t *window;            /* host address of device address 0, or NULL: not reserved yet */
    struct dart_chunk chunk[DART_CHUNKS];
    struct dart_grant grant[DART_GRANTS];
};

/* What all domains share. */
struct dart_core {
    struct soc_memory *memory;
    struct soc_trace *trace;
    enum pr_leaf_form form;
    bool strict;
    uint64_t high; /* DRAM address bits that the leaf form cannot express */
    uint32_t budget;
    uint64_t clock;     /* counts grants, for least recently used */
    uint64_t pin_floor; /* chunks used after it are not dropped */
    uint64_t changes;   /* registers written, and entries or host mappings gone; from 1 */
    const uint64_t *memory_changes;
    struct dart_stats stats;
    struct dart_entry *entries; /* of all domains */
    uint64_t *marks;            /* scratch bitmap over frames, clear between calls */
    struct dart_domain domain[DART_DOMAINS];
    struct dart_domain bypass; /* of all streams that do not translate */
};

/* An entry or a host mapping of the domain has gone away. */
static inline void dart_domain_changed(struct dart_domain *domain)
{
    domain->generation++;
    domain->core->changes++;
}

static inline uint64_t dart_entry_address(struct dart_entry entry)
{
    return (uint64_t)entry.frame << PR_PAGE_SHIFT;
}

int dart_core_init(struct dart_core *core, const struct dart_config *config, struct soc_memory *memory,
                   struct soc_trace *trace, struct base_error *error);
void dart_core_end(struct dart_core *core);

/* The domain of a table base; a new one when there is none and `make` is set. */
struct dart_domain *dart_domain_find(struct dart_core *core, uint64_t table, bool make);
/* Forgets every entry and host mapping. */
void dart_domain_empty(struct dart_domain *domain);
/* Empties the domain and gives it back. */
void dart_domain_retire(struct dart_domain *domain);

/* The physical page under a page of the domain's addresses, whose entry is present. */
static inline uint64_t dart_domain_frame(const struct dart_domain *domain, uint64_t page)
{
    return domain->entries ? domain->entries[page].frame : page;
}

/* What the page table says about a page: 0 and an entry, or an error code and the level that gave it. */
uint32_t dart_domain_walk(struct dart_domain *domain, uint32_t page, struct dart_entry *entry,
                          enum pr_dart_level *level);

#endif
