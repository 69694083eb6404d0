/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translation domains: the walker and the entries it accepted. The entries of all domains are allocated once;
 * the walker reads the table in DRAM and writes none of it.
 */
#include "dart/domain.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "dart/range.h"
#include "dart/window.h"
#include "soc/memory.h"

#define ENTRIES_BYTES ((size_t)DART_DOMAINS * PR_DART_PAGES * sizeof(struct dart_entry))

_Static_assert(sizeof(struct dart_entry) == 8, "an entry is one word");
_Static_assert(PR_DART_PAGES % DART_CHUNK_PAGES == 0, "the aperture is whole chunks");

/* The frame of an entry with every bit set is every address bit that the form has. */
static uint64_t form_high_bits(enum pr_leaf_form form, uint64_t base)
{
    return base & ~pr_leaf_decode(form, ~0ull).frame;
}

int dart_core_init(struct dart_core *core, const struct dart_config *config, struct soc_memory *memory,
                   struct soc_trace *trace, struct base_error *error)
{
    core->memory = memory;
    core->memory_changes = soc_memory_changes(memory);
    core->changes = 1;
    core->trace = trace;
    core->form = config->form;
    core->strict = config->strict_tlb;
    core->high = form_high_bits(config->form, soc_memory_base(memory)) & ~(uint64_t)(PR_PAGE_BYTES - 1);
    core->budget = config->vma_budget ? config->vma_budget : DART_VMA_BUDGET;
    core->pin_floor = UINT64_MAX;
    core->marks = base_alloc(DART_MARKS / 8);
    if (!core->marks)
        return base_fail(error, ENOMEM, "No memory for the DART's %u page marks.", DART_MARKS);
    core->entries = base_alloc_allowed() ? mmap(NULL, ENTRIES_BYTES, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                         : MAP_FAILED;
    if (core->entries == MAP_FAILED) {
        base_free(core->marks);
        return base_fail(error, ENOMEM, "No memory for the entries of %u DART domains.", DART_DOMAINS);
    }
    for (unsigned i = 0; i < DART_DOMAINS; i++) {
        core->domain[i].core = core;
        core->domain[i].generation = 1;
        core->domain[i].entries = core->entries + (size_t)i * PR_DART_PAGES;
    }
    core->bypass.core = core;
    return 0;
}

void dart_core_end(struct dart_core *core)
{
    for (unsigned i = 0; i < DART_DOMAINS; i++)
        dart_window_release(&core->domain[i]);
    munmap(core->entries, ENTRIES_BYTES);
    base_free(core->marks);
}

struct dart_domain *dart_domain_find(struct dart_core *core, uint64_t table, bool make)
{
    struct dart_domain *unused = NULL;

    for (unsigned i = 0; i < DART_DOMAINS; i++) {
        struct dart_domain *domain = &core->domain[i];

        if (domain->live && domain->table == table)
            return domain;
        if (!domain->live && !unused)
            unused = domain;
    }
    if (!make || !unused)
        return NULL;
    unused->live = true;
    unused->table = table;
    return unused;
}

void dart_domain_empty(struct dart_domain *domain)
{
    dart_window_clear(domain);
    for (unsigned i = 0; i < DART_CHUNKS; i++) {
        if (!domain->chunk[i].filled)
            continue;
        memset(domain->entries + i * DART_CHUNK_PAGES, 0, DART_CHUNK_PAGES * sizeof(struct dart_entry));
        domain->chunk[i].filled = false;
    }
    dart_domain_changed(domain);
}

void dart_domain_retire(struct dart_domain *domain)
{
    dart_domain_empty(domain);
    domain->live = false;
}

/*
 * One table word. The walker may be pointed at any memory, free pages included, and reads them as the
 * device would; only the sanitizer would mind.
 */
__attribute__((no_sanitize("address"))) static bool table_read(const struct dart_core *core, uint64_t address,
                                                               uint64_t *word)
{
    const uint64_t *at = soc_memory_at(core->memory, address, sizeof(*word));

    if (at)
        *word = __atomic_load_n(at, __ATOMIC_RELAXED);
    return at;
}

/*
 * The t8020 form reaches 36 bits; the bits above are those of DRAM's base (chosen: no real board needs it).
 */
static uint64_t leaf_frame(const struct dart_core *core, const struct pr_leaf *leaf)
{
    return (leaf->frame | core->high) & ~(uint64_t)(PR_PAGE_BYTES - 1);
}

uint32_t dart_domain_walk(struct dart_domain *domain, uint32_t page, struct dart_entry *entry,
                          enum pr_dart_level *level)
{
    struct dart_core *core = domain->core;
    uint32_t first = page >> (PR_DART_L1_SHIFT - PR_DART_L2_SHIFT);
    uint32_t second = page % PR_DART_TABLE_ENTRIES;
    struct pr_leaf leaf;
    uint64_t word;

    core->stats.walks++;
    *level = PR_DART_LEVEL_L2;
    if (!table_read(core, domain->table + first * sizeof(word), &word))
        return PR_DART_ERROR_PTE_READ_FAULT;
    leaf = pr_leaf_decode(core->form, word);
    if (!leaf.valid)
        return PR_DART_ERROR_NO_PMD;
    *level = PR_DART_LEVEL_L3;
    if (!table_read(core, leaf_frame(core, &leaf) + second * sizeof(word), &word))
        return PR_DART_ERROR_PTE_READ_FAULT;
    leaf = pr_leaf_decode(core->form, word);
    if (!leaf.valid)
        return PR_DART_ERROR_NO_PTE;
    *level = PR_DART_LEVEL_PAGE;
    /*
     * Chosen: a page outside memory is reported like a table outside memory; there is no separate error code.
     */
    if (!soc_memory_at(core->memory, leaf_frame(core, &leaf), PR_PAGE_BYTES))
        return PR_DART_ERROR_PTE_READ_FAULT;
    *entry = (struct dart_entry){
        .frame = leaf_frame(core, &leaf) >> PR_PAGE_SHIFT,
        .sub_start = leaf.sub_start,
        .sub_end = leaf.sub_end,
        .present = 1,
        .no_read = leaf.no_read,
        .no_write = leaf.no_write,
    };
    return 0;
}
