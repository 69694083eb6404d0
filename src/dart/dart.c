/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DART's three controllers: registers, streams, fault capture. A controller holds one fault: later ones
 * are counted and traced, and captured only after the held one has been cleared. The interrupt line is high
 * exactly while one of them holds a fault. A domain is given back when no stream's first base points to its
 * table any more.
 */
#include "dart/dart.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "dart/domain.h"
#include "dart/range.h"
#include "soc/lines.h"
#include "soc/memory.h"
#include "soc/trace.h"

#define STORED_BYTES \
    0x300u /* registers that keep what is written; those of the translation buffer above do not */
#define STREAM_MASK      0xffffu
#define PAGE_SHIFT_PARAM (PR_PAGE_SHIFT << PR_DART_PARAMS1_PAGE_SHIFT_LO)

/* What the registers say of a stream id, looked up at its first use. */
struct stream {
    struct dart_domain *domain; /* NULL: not looked up yet, or refused */
    uint32_t denied;            /* one bit per enum dart_access */
};

struct controller {
    uint32_t word[STORED_BYTES / 4];
    uint32_t tlb_error[2]; /* of the held fault */
    struct stream stream[PR_DART_STREAMS];
};

struct dart {
    struct controller controller[DART_PORTS];
    struct soc_lines *lines;
    unsigned line;
    struct dart_refusal refusal; /* the last */
    struct dart_core core;
};

static const struct reg {
    uint32_t offset, count, stride;
    const char *name;
} reg_table[] = {
#define X(id, name, offset, count, stride, source) {offset, count, stride, name},
    PR_DART_REGISTERS(X)
#undef X
};

static const struct reg *reg_find(uint32_t offset)
{
    for (size_t i = 0; i < BASE_COUNT_OF(reg_table); i++) {
        const struct reg *reg = &reg_table[i];

        if (offset >= reg->offset && offset - reg->offset < reg->count * reg->stride)
            return (offset - reg->offset) % reg->stride ? NULL : reg;
    }
    return NULL;
}

static const char *error_name(uint32_t code)
{
    switch (code) {
#define X(id, bit, text) \
    case PR_DART_ERROR_##id: return #id;
        PR_DART_ERRORS(X)
#undef X
    default: return "?";
    }
}

static uint32_t *word_at(struct controller *controller, uint32_t offset)
{
    return &controller->word[offset / 4];
}

static uint32_t *ttbr_at(struct controller *controller, uint32_t stream)
{
    return word_at(controller, PR_DART_TTBR + stream * PR_DART_TTBRS * 4);
}

static void controller_reset(struct controller *controller)
{
    memset(controller, 0, sizeof(*controller));
    *word_at(controller, PR_DART_PARAMS1) = PAGE_SHIFT_PARAM;
    *word_at(controller, PR_DART_PARAMS2) = PR_DART_PARAMS2_BYPASS;
    *word_at(controller, PR_DART_CONFIG) = PR_DART_CONFIG_RESET;
    *word_at(controller, PR_DART_ENABLED_STREAMS) = PR_DART_BASE_STREAMS | PR_DART_BYPASS_STREAMS;
    for (uint32_t stream = 0; stream < PR_DART_STREAMS; stream++) {
        uint32_t *tcr = word_at(controller, PR_DART_TCR + stream * 4);

        if (PR_DART_BASE_STREAMS >> stream & 1)
            *tcr = PR_DART_TCR_TRANSLATE;
        if (PR_DART_BYPASS_STREAMS >> stream & 1)
            *tcr = PR_DART_TCR_BYPASS;
    }
}

int dart_create(const struct dart_config *config, struct soc_memory *memory, struct soc_trace *trace,
                struct dart **dart, struct base_error *error)
{
    struct dart *d;
    int status;

    if ((unsigned)config->form >= PR_LEAF_FORMS)
        return base_fail(error, EINVAL, "Page-table entry form %d is not one of the %d known.",
                         (int)config->form, (int)PR_LEAF_FORMS);
    d = base_alloc(sizeof(*d));
    if (!d)
        return base_fail(error, ENOMEM, "No memory for the DART.");
    status = dart_core_init(&d->core, config, memory, trace, error);
    if (status) {
        base_free(d);
        return status;
    }
    for (unsigned port = 0; port < DART_PORTS; port++)
        controller_reset(&d->controller[port]);
    d->lines = config->lines;
    d->line = config->line;
    *dart = d;
    return 0;
}

void dart_destroy(struct dart *dart)
{
    if (!dart)
        return;
    dart_core_end(&dart->core);
    base_free(dart);
}

static void line_update(struct dart *dart)
{
    bool level = false;

    for (unsigned port = 0; port < DART_PORTS; port++)
        level = level || *word_at(&dart->controller[port], PR_DART_ERROR) & PR_DART_ERROR_FLAG;
    if (dart->lines)
        soc_lines_set(dart->lines, dart->line, level);
}

static bool table_in_use(struct dart *dart, uint64_t table)
{
    for (unsigned port = 0; port < DART_PORTS; port++)
        for (uint32_t stream = 0; stream < PR_DART_STREAMS; stream++) {
            uint32_t ttbr = *ttbr_at(&dart->controller[port], stream);

            if (ttbr & PR_DART_TTBR_VALID && pr_dart_ttbr_address(ttbr) == table)
                return true;
        }
    return false;
}

static void trace_reset(struct dart *dart, uint32_t ports)
{
    if (ports == DART_ALL_PORTS) {
        SOC_TRACE(dart->core.trace, DART_RESET);
        return;
    }
    for (unsigned port = 0; port < DART_PORTS; port++)
        if (ports >> port & 1)
            SOC_TRACE(dart->core.trace, DART_PORT_RESET, port);
}

void dart_reset(struct dart *dart, uint32_t ports)
{
    trace_reset(dart, ports);
    for (unsigned port = 0; port < DART_PORTS; port++)
        if (ports >> port & 1)
            controller_reset(&dart->controller[port]);
    for (unsigned i = 0; i < DART_DOMAINS; i++) {
        struct dart_domain *domain = &dart->core.domain[i];

        if (domain->live && table_in_use(dart, domain->table))
            dart_domain_empty(domain); /* the controllers share the TLB, which may forget at any time */
        else if (domain->live)
            dart_domain_retire(domain);
    }
    dart->core.changes++;
    line_update(dart);
}

uint32_t dart_read32(struct dart *dart, enum dart_port port, uint32_t offset)
{
    struct controller *controller = &dart->controller[port];
    const struct reg *reg = reg_find(offset);

    if (!reg || reg->offset == PR_DART_STREAM_COMMAND) /* a command completes at once, so it is never busy */
        return 0;
    if (reg->offset == PR_DART_TLB_STATUS) /* chosen: bit 31 shows the captured fault, busy is never seen */
        return *word_at(controller, PR_DART_ERROR) & PR_DART_ERROR_FLAG;
    if (reg->offset == PR_DART_TLB_ERROR0 || reg->offset == PR_DART_TLB_ERROR1)
        return controller->tlb_error[reg->offset == PR_DART_TLB_ERROR1];
    return offset < STORED_BYTES ? *word_at(controller, offset) : 0;
}

/* Empties the domains of a set of stream slots. */
static void invalidate(struct dart *dart, enum dart_port port, uint32_t streams)
{
    SOC_TRACE(dart->core.trace, DART_INVALIDATE, port, streams & STREAM_MASK);
    for (uint32_t stream = 0; stream < PR_DART_STREAMS; stream++) {
        uint32_t ttbr = *ttbr_at(&dart->controller[port], stream);
        struct dart_domain *domain = NULL;

        if (streams >> stream & 1 && ttbr & PR_DART_TTBR_VALID)
            domain = dart_domain_find(&dart->core, pr_dart_ttbr_address(ttbr), false);
        if (domain)
            dart_domain_empty(domain);
    }
}

static void ttbr_write(struct dart *dart, enum dart_port port, uint32_t offset, uint32_t value)
{
    uint32_t *word = word_at(&dart->controller[port], offset);
    uint32_t index = (offset - PR_DART_TTBR) / 4, old = *word;
    struct dart_domain *domain;

    *word = value;
    SOC_TRACE(dart->core.trace, DART_TTBR, port, index / PR_DART_TTBRS, index % PR_DART_TTBRS, value,
              pr_dart_ttbr_address(value));
    if (index % PR_DART_TTBRS || !(old & PR_DART_TTBR_VALID) || table_in_use(dart, pr_dart_ttbr_address(old)))
        return;
    domain = dart_domain_find(&dart->core, pr_dart_ttbr_address(old), false);
    if (domain)
        dart_domain_retire(domain);
}

static bool reg_is_read_only(const struct reg *reg)
{
    switch (reg->offset) {
    case PR_DART_PARAMS1:
    case PR_DART_PARAMS2:
    case PR_DART_ERROR_ADDR_LO:
    case PR_DART_ERROR_ADDR_HI:
    case PR_DART_TLB_STATUS:
    case PR_DART_TLB_ERROR0:
    case PR_DART_TLB_ERROR1: return true;
    default: return false;
    }
}

static bool reg_is_lockable(const struct reg *reg)
{
    return reg->offset == PR_DART_TCR || reg->offset == PR_DART_TTBR || reg->offset == PR_DART_CONFIG;
}

/* Why a write has no effect, or NULL. */
static const char *write_refusal(struct controller *controller, const struct reg *reg, uint32_t value)
{
    if (!reg)
        return "unknown";
    if (reg_is_read_only(reg))
        return "read-only";
    if (reg_is_lockable(reg) && *word_at(controller, PR_DART_CONFIG) & PR_DART_CONFIG_LOCK)
        return "locked";
    if (reg->offset == PR_DART_STREAM_COMMAND && !(value & PR_DART_COMMAND_INVALIDATE))
        return "no-command";
    if (reg->offset == PR_DART_ERROR && !(value & PR_DART_ERROR_FLAG))
        return "no-flag";
    return NULL;
}

static void error_clear(struct controller *controller)
{
    *word_at(controller, PR_DART_ERROR) = 0;
    *word_at(controller, PR_DART_ERROR_ADDR_LO) = 0;
    *word_at(controller, PR_DART_ERROR_ADDR_HI) = 0;
    memset(controller->tlb_error, 0, sizeof(controller->tlb_error));
}

void dart_write32(struct dart *dart, enum dart_port port, uint32_t offset, uint32_t value)
{
    struct controller *controller = &dart->controller[port];
    const struct reg *reg = reg_find(offset);
    const char *refusal = write_refusal(controller, reg, value);

    if (refusal) {
        SOC_TRACE(dart->core.trace, DART_WRITE_IGNORED, port, offset, value, reg ? reg->name : "?", refusal);
        return;
    }
    switch (reg->offset) {
    case PR_DART_STREAM_COMMAND: invalidate(dart, port, *word_at(controller, PR_DART_STREAM_SELECT)); break;
    case PR_DART_TLB_CONTROL: invalidate(dart, port, value); break; /* chosen: a bitmap of streams */
    case PR_DART_ERROR:
        error_clear(controller);
        line_update(dart);
        break;
    case PR_DART_TTBR: ttbr_write(dart, port, offset, value); break;
    case PR_DART_ENABLED_STREAMS: *word_at(controller, offset) = value & STREAM_MASK; break;
    default: *word_at(controller, offset) = value; break;
    }
    memset(controller->stream, 0, sizeof(controller->stream));
    dart->core.changes++;
}

/* REMAP holds one byte per stream id; zero is the identity (chosen), otherwise the low bits are the slot. */
static uint32_t stream_slot(struct controller *controller, uint32_t stream)
{
    uint32_t byte = *word_at(controller, PR_DART_REMAP + stream / 4 * 4) >> stream % 4 * 8 & 0xff;

    return byte ? byte % PR_DART_STREAMS : stream;
}

/* The domain of a slot, or NULL if it is not enabled, neither translates nor bypasses, or has no table. */
static struct dart_domain *slot_domain(struct dart *dart, struct controller *controller, uint32_t slot)
{
    uint32_t tcr = *word_at(controller, PR_DART_TCR + slot * 4), ttbr = *ttbr_at(controller, slot);

    if (!(*word_at(controller, PR_DART_ENABLED_STREAMS) >> slot & 1))
        return NULL;
    switch (tcr & (PR_DART_TCR_TRANSLATE | PR_DART_TCR_BYPASS)) {
    case PR_DART_TCR_BYPASS: return &dart->core.bypass;
    case PR_DART_TCR_TRANSLATE:
        return ttbr & PR_DART_TTBR_VALID ? dart_domain_find(&dart->core, pr_dart_ttbr_address(ttbr), true)
                                         : NULL;
    default: return NULL;
    }
}

static const struct stream *stream_find(struct dart *dart, enum dart_port port, uint32_t id)
{
    static const struct stream none = {0};
    struct controller *controller = &dart->controller[port];
    struct stream *stream = &controller->stream[id % PR_DART_STREAMS];
    uint32_t slot, tcr;

    if (id >= PR_DART_STREAMS)
        return &none;
    if (stream->domain)
        return stream;
    slot = stream_slot(controller, id);
    tcr = *word_at(controller, PR_DART_TCR + slot * 4);
    stream->domain = slot_domain(dart, controller, slot);
    stream->denied = !!(tcr & PR_DART_TCR_NO_READ) << DART_READ | !!(tcr & PR_DART_TCR_NO_WRITE)
                                                                      << DART_WRITE;
    return stream;
}

/* The words of the translation buffer's error registers; what a walk never began with has no indices. */
static void tlb_error_set(struct controller *controller, const struct dart_fault *fault)
{
    uint32_t l2 = (uint32_t)(fault->address >> PR_DART_L1_SHIFT) % PR_DART_TABLE_ENTRIES;
    uint32_t l3 = (uint32_t)(fault->address >> PR_DART_L2_SHIFT) % PR_DART_TABLE_ENTRIES;
    uint32_t ttbr = (uint32_t)(fault->address >> PR_DART_TTBR_INDEX_SHIFT) % PR_DART_TTBRS;

    controller->tlb_error[0] =
        fault->level == PR_DART_LEVEL_STREAM
            ? 0
            : ttbr << PR_DART_TLB_TTBR_LO | l2 << PR_DART_TLB_L2_LO | l3 << PR_DART_TLB_L3_LO;
    controller->tlb_error[1] = (uint32_t)fault->level << PR_DART_TLB_LEVEL_LO;
}

static void missed_count(struct controller *controller)
{
    if (controller->tlb_error[1] >> PR_DART_TLB_MISSED_LO < PR_DART_TLB_MISSED_MAX)
        controller->tlb_error[1] += 1u << PR_DART_TLB_MISSED_LO;
}

/*
 * Captures the fault unless one is held already. ERROR names the slot, because remapping comes before the
 * lookup.
 */
static int fault_take(struct dart *dart, enum dart_port port, uint32_t stream, enum dart_access access,
                      const struct dart_fault *fault)
{
    struct controller *controller = &dart->controller[port];
    uint32_t slot = stream_slot(controller, stream % PR_DART_STREAMS);
    uint32_t status = PR_DART_ERROR_FLAG | slot << PR_DART_ERROR_STREAM_LO | fault->code;
    bool held = *word_at(controller, PR_DART_ERROR) & PR_DART_ERROR_FLAG;

    if (access == DART_WRITE)
        status |= PR_DART_ERROR_WRITE;
    dart->core.stats.faults++;
    dart->refusal = (struct dart_refusal){port, access, stream, fault->address, !held};
    SOC_TRACE(dart->core.trace, DART_FAULT, status, port, stream, error_name(fault->code), fault->address,
              access == DART_WRITE ? "write" : "read", held ? "no" : "yes");
    if (held) {
        missed_count(controller);
        return -EFAULT;
    }
    *word_at(controller, PR_DART_ERROR) = status;
    *word_at(controller, PR_DART_ERROR_ADDR_LO) = (uint32_t)fault->address;
    *word_at(controller, PR_DART_ERROR_ADDR_HI) = (uint32_t)(fault->address >> 32);
    tlb_error_set(controller, fault);
    line_update(dart);
    return -EFAULT;
}

/* False with the fault, which nothing has captured. */
static bool grant(struct dart *dart, enum dart_port port, uint32_t stream, uint64_t iova, uint64_t bytes,
                  enum dart_access access, struct dart_range *range, struct dart_fault *fault)
{
    const struct stream *from = stream_find(dart, port, stream);

    *fault = (struct dart_fault){PR_DART_ERROR_NO_TTBR, iova, PR_DART_LEVEL_STREAM};
    if (from->domain && from->denied >> access & 1) {
        fault->code = access == DART_WRITE ? PR_DART_ERROR_WRITE_FAULT : PR_DART_ERROR_READ_FAULT;
        return false;
    }
    if (from->domain == &dart->core.bypass)
        return dart_range_bypass(&dart->core, iova, bytes, range, fault);
    /* Above the aperture there is no table: only a stream's first base of four is used. */
    return from->domain && iova < PR_DART_APERTURE_BYTES &&
           dart_range_grant(from->domain, iova, bytes, access, range, fault);
}

int dart_range_get(struct dart *dart, enum dart_port port, uint32_t stream, uint64_t iova, uint64_t bytes,
                   enum dart_access access, struct dart_range *range)
{
    struct dart_fault fault;

    if (grant(dart, port, stream, iova, bytes, access, range, &fault))
        return 0;
    *range = (struct dart_range){0};
    return fault_take(dart, port, stream, access, &fault);
}

struct dart_refusal dart_refusal_get(const struct dart *dart)
{
    return dart->refusal;
}

bool dart_refusal_over(struct dart *dart, const struct dart_refusal *refusal)
{
    struct dart_range range;
    struct dart_fault fault;

    return grant(dart, refusal->port, refusal->stream, refusal->address, 1, refusal->access, &range, &fault);
}

bool dart_write_restarts(uint32_t offset)
{
    return offset == PR_DART_ERROR || offset == PR_DART_STREAM_COMMAND || offset == PR_DART_TLB_CONTROL;
}

uint64_t dart_generation(const struct dart *dart)
{
    return dart->core.strict ? 0 : dart->core.changes + *dart->core.memory_changes;
}

void dart_grants_begin(struct dart *dart)
{
    dart->core.pin_floor = dart->core.clock;
}

void dart_grants_end(struct dart *dart)
{
    dart->core.pin_floor = UINT64_MAX;
}

struct dart_stats dart_stats_get(const struct dart *dart)
{
    return dart->core.stats;
}
