/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power-state words. `word` has what was written, with TARGET in ACTUAL, because switching time is not
 * modelled; what depends on the parent is added by a read. `off` and `dead` follow every change of `word`
 * and `gated` before a function outside is called, so that an access to a block tests one word.
 *
 * Chosen, because no source says it: the clock gate of TARGET 4 is like the controller's; a domain whose
 * parent comes back is in the state that its own word asks for; RESET of a domain without power has no
 * effect until the power is back; it resets what the domain itself powers, and not its children.
 */
#include "soc/pmu.h"

#include "base/array.h"
#include "soc/trace.h"

#define FLAGS ((uint32_t)PR_PS_WAS_OFF | PR_PS_WAS_GATED)

static uint32_t state_of(uint32_t target)
{
    return target << 4 | target;
}
_Static_assert(PR_PS_ACTUAL == PR_PS_TARGET << 4 && PR_PMU_READY == (PR_PS_ON << 4 | PR_PS_ON), "state_of");

static uint32_t target_of(uint32_t word)
{
    return word & PR_PS_TARGET;
}

static bool parent_is_off(const struct soc_pmu *pmu, unsigned domain)
{
    const unsigned parent = pmu->board->domain[domain].parent;

    return parent != PR_DOMAIN_NONE && pmu->off >> parent & 1;
}

/* A domain has its own power and that of its ancestors. */
static bool has_power(const struct soc_pmu *pmu, unsigned domain)
{
    while (domain != PR_DOMAIN_NONE) {
        if (target_of(pmu->word[domain]) != PR_PS_ON && !(pmu->gated >> domain & 1))
            return false;
        domain = pmu->board->domain[domain].parent;
    }
    return true;
}

static void update(struct soc_pmu *pmu)
{
    pmu->off = 0;
    pmu->dead = 0;
    for (unsigned i = 0; i < pmu->board->domains; i++) {
        const bool powered = has_power(pmu, i);

        if (!powered)
            pmu->off |= 1u << i;
        if (!powered || pmu->word[i] & (uint32_t)PR_PS_RESET)
            pmu->dead |= pmu->board->domain[i].powers;
    }
}

void soc_pmu_init(struct soc_pmu *pmu, const struct pr_board *board, struct soc_trace *trace,
                  void (*lost)(void *context, uint32_t blocks), void (*gate)(void *context, bool gated),
                  void *context)
{
    *pmu = (struct soc_pmu){.board = board, .trace = trace, .lost = lost, .gate = gate, .context = context};
    for (unsigned i = 0; i < board->domains; i++)
        pmu->word[i] = PR_PMU_READY;
}

static bool domain_at(const struct soc_pmu *pmu, uint64_t address, unsigned *domain)
{
    for (*domain = 0; *domain < pmu->board->domains; ++*domain)
        if (pmu->board->domain[*domain].address == address)
            return true;
    return false;
}

uint32_t soc_pmu_read32(const struct soc_pmu *pmu, uint64_t address)
{
    unsigned domain;

    if (!domain_at(pmu, address, &domain))
        return 0;
    return parent_is_off(pmu, domain) ? (pmu->word[domain] & ~(uint32_t)PR_PS_ACTUAL) | PR_PS_PARENT_OFF
                                      : pmu->word[domain];
}

/* A store to a domain without power gates nothing. */
static void set_gate(struct soc_pmu *pmu, unsigned domain, bool gated)
{
    pmu->gated = gated ? pmu->gated | 1u << domain : pmu->gated & ~(1u << domain);
    update(pmu);
}

/* The word after a store. The controller's reads back as written; the host's has the rules of lnx. */
static uint32_t word_after(uint32_t old, enum soc_master master, uint32_t value)
{
    const uint32_t target = target_of(value);
    uint32_t flags = old & FLAGS & ~value;

    if (master == SOC_MASTER_CONTROLLER)
        return (value & ~(uint32_t)PR_PMU_READY) | state_of(target);
    if (target != PR_PS_ON)
        flags |= PR_PS_WAS_GATED;
    if (target == PR_PS_OFF)
        flags |= PR_PS_WAS_OFF;
    return (value & ~(FLAGS | PR_PS_PARENT_OFF | PR_PMU_READY)) | flags | state_of(target);
}

/* What the domains of a set power. */
static uint32_t blocks_of(const struct soc_pmu *pmu, uint32_t domains)
{
    uint32_t blocks = 0;

    for (unsigned i = 0; i < pmu->board->domains; i++)
        if (domains >> i & 1)
            blocks |= pmu->board->domain[i].powers;
    return blocks;
}

void soc_pmu_write32(struct soc_pmu *pmu, enum soc_master master, uint64_t address, uint32_t value)
{
    const uint32_t off = pmu->off, gated = pmu->gated;
    uint32_t lost, reset;
    unsigned domain;
    bool gates;

    if (!domain_at(pmu, address, &domain))
        return;
    gates = target_of(value) != PR_PS_ON &&
            (master == SOC_MASTER_CONTROLLER || target_of(value) == PR_PS_GATED) && !(off >> domain & 1);
    reset = (value ^ pmu->word[domain]) & (uint32_t)PR_PS_RESET;
    pmu->word[domain] = word_after(pmu->word[domain], master, value);
    set_gate(pmu, domain, gates);
    SOC_TRACE(pmu->trace, PMU_STATE, domain, pmu->word[domain]);
    lost = blocks_of(pmu, pmu->off & ~off);
    /* At its end, too: an engine that is not under reset may have used a DART that was. */
    if (reset && !(pmu->off >> domain & 1))
        lost |= pmu->board->domain[domain].powers;
    if (lost)
        pmu->lost(pmu->context, lost);
    if (!gated != !pmu->gated)
        pmu->gate(pmu->context, pmu->gated != 0);
}

static uint32_t page_read(void *context, enum soc_master master, uint32_t offset)
{
    const struct soc_pmu_page *page = context;

    (void)master;
    return soc_pmu_read32(page->pmu, page->base + offset);
}

static void page_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    const struct soc_pmu_page *page = context;

    soc_pmu_write32(page->pmu, master, page->base + offset, value);
}

int soc_pmu_attach(struct soc_pmu *pmu, struct soc_bus *bus, struct base_error *error)
{
    static const char *const name[SOC_PMU_PAGES] = {"pmu", "pmgr"};
    const struct pr_board *board = pmu->board;
    /* The engine's own words, and those below, which are all in one page. */
    const uint64_t base[SOC_PMU_PAGES] = {board->pmu, board->reg[PR_APERTURE_PWGATE].base};
    int status = 0;

    for (unsigned i = 0; i < BASE_COUNT_OF(base) && !status; i++) {
        pmu->page[i] = (struct soc_pmu_page){pmu, base[i]};
        status = soc_bus_attach(bus,
                                &(struct soc_block){name[i], base[i], SOC_BUS_GRANULE, page_read, page_write,
                                                    &pmu->page[i], NULL},
                                error);
    }
    return status;
}
