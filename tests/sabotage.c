/* SPDX-License-Identifier: Apache-2.0 */
/* Sabotage: one wall broken at a time, by what a tap changes or drops. */
#include "sabotage.h"

#include "protocol/channel.h"
#include "protocol/tm_regs.h"

const char *sabotage_text(enum sabotage_kind kind)
{
    static const char *const text[SABOTAGE_COUNT] = {
#define X(id, words) [SABOTAGE_##id] = words,
        SABOTAGES(X)
#undef X
    };

    return text[kind];
}

static bool hit(struct sabotage *s, bool struck)
{
    s->hits += struck;
    return struck;
}

static void *device_memory(struct ane_machine *m, uint64_t address, uint64_t bytes)
{
    struct dart_range range;

    return dart_range_get(m->dart, DART_PORT_TASK, 0, address, bytes, DART_READ, &range) ? NULL : range.host;
}

/*
 * Changes the address word of every slot of the execution loop that the controller may take. The channel
 * table's address is in scratch 0 since the second wake.
 */
static void corrupt_slots(struct sabotage *s)
{
    struct ane_machine *m = s->machine;
    const struct pr_channel_record *record =
        device_memory(m, m->controller.scratch[0] + PR_CHANNEL_DATA_CHAIN_H2T * PR_CHANNEL_RECORD_BYTES,
                      PR_CHANNEL_RECORD_BYTES);
    struct pr_slot *slot = record ? device_memory(m, record->ring, record->slots * PR_SLOT_BYTES) : NULL;

    for (uint64_t i = 0; slot && i < record->slots; i++)
        if (hit(s, !(slot[i].address & PR_SLOT_OWNER)))
            slot[i].address ^= 0x70000000;
}

/*
 * Unmaps the page that buffer register 5 of the queue points to, in the table its stream uses, and
 * invalidates the TLBs.
 */
static void clear_entry(struct sabotage *s, uint32_t queue)
{
    struct ane_machine *m = s->machine;
    uint64_t base = m->board->container + PR_ENGINE_TQ + queue * PR_TQ_STRIDE;
    uint32_t address = soc_bus_read32(m->bus, SOC_MASTER_HOST, base + PR_TQ_BAR1 + 4 * 5),
             stream = soc_bus_read32(m->bus, SOC_MASTER_HOST, base + PR_TQ_STREAM);
    uint32_t ttbr = dart_read32(m->dart, DART_PORT_SOURCE, PR_DART_TTBR + 16 * stream);
    uint64_t *first = soc_memory_at(m->memory, pr_dart_ttbr_address(ttbr), 8 * PR_DART_TABLE_ENTRIES),
             *second;
    struct pr_leaf leaf;

    if (!first)
        return;
    leaf = pr_leaf_decode((enum pr_leaf_form)m->leaf_form, first[address >> PR_DART_L1_SHIFT]);
    second = soc_memory_at(m->memory, leaf.frame, 8 * PR_DART_TABLE_ENTRIES);
    if (!hit(s, second != NULL))
        return;
    second[address >> PR_DART_L2_SHIFT & (PR_DART_TABLE_ENTRIES - 1)] = 0;
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        dart_write32(m->dart, (enum dart_port)i, PR_DART_TLB_CONTROL, 1u << stream);
}

/* Changes one boot argument in memory, at the moment the host says they are ready. */
static void change_boot_arguments(struct sabotage *s)
{
    const struct soc_controller *c = &s->machine->controller;
    struct pr_boot_args *args =
        device_memory(s->machine, c->scratch[0] | (uint64_t)c->scratch[1] << 32, sizeof(*args));

    if (!hit(s, args != NULL))
        return;
    switch (s->kind) {
    case SABOTAGE_BOOT_CHIP_REVISION: args->chip_revision ^= 0x100; break;
    case SABOTAGE_BOOT_PROTOCOL_VERSION: args->protocol_version += 0x10000; break;
    case SABOTAGE_BOOT_RING_VERSION: args->ring_version += 0x10000; break;
    case SABOTAGE_BOOT_PAGE_SIZE: args->page_bytes = 0x1000; break;
    case SABOTAGE_BOOT_SMALL_HEAP: args->framework_bytes = 0x600000; break;
    default: break;
    }
}

/* The handshakes of the boot; false drops the store. */
static bool see_handshake(struct sabotage *s, uint64_t offset, struct soc_access *access)
{
    bool host = access->master == SOC_MASTER_HOST;
    bool wake = !host && offset == PR_CTRL_SCRATCH(7) && access->value == PR_HANDSHAKE_WAKE;

    switch (s->kind) {
    case SABOTAGE_BOOT_NO_FIRST_WAKE: return !hit(s, wake);
    case SABOTAGE_BOOT_NO_SECOND_WAKE: return !hit(s, wake && ++s->wakes % 2 == 0);
    case SABOTAGE_BOOT_MAGIC:
        if (hit(s, host && offset == PR_CTRL_SCRATCH(3)))
            access->value ^= 0x10;
        return true;
    default:
        if (host && offset == PR_CTRL_SCRATCH(7) && access->value == PR_HANDSHAKE_GO)
            change_boot_arguments(s);
        return true;
    }
}

static bool is_fifth_bar(uint64_t offset)
{
    return offset >= PR_ENGINE_TQ && offset < PR_ENGINE_TQ + PR_TQ_COUNT * PR_TQ_STRIDE &&
           (offset - PR_ENGINE_TQ) % PR_TQ_STRIDE == PR_TQ_BAR1 + 4 * 5;
}

static bool see_store(struct sabotage *s, uint64_t offset, struct soc_access *access)
{
    bool push = offset == PR_ENGINE_TM + PR_TM_REQ_PUSH;
    bool answer = access->master == SOC_MASTER_CONTROLLER && offset == PR_CTRL_HOST_DOORBELL;

    switch (s->kind) {
    case SABOTAGE_DROP_DOORBELL: return !hit(s, offset == PR_CTRL_DOORBELL);
    case SABOTAGE_DROP_COMPLETION: return !hit(s, answer);
    case SABOTAGE_DROP_PUSH: return !hit(s, push);
    case SABOTAGE_CORRUPT_SLOT:
        if (offset == PR_CTRL_DOORBELL)
            corrupt_slots(s);
        return true;
    case SABOTAGE_CLEAR_PTE:
        if (push)
            clear_entry(s, pr_bits_get(access->value, PR_TM_PUSH_QUEUE_LO, PR_TM_PUSH_QUEUE_WIDTH));
        return true;
    case SABOTAGE_ZERO_BAR:
        if (hit(s, is_fifth_bar(offset)))
            access->value = 0;
        return true;
    case SABOTAGE_CLOSE_WINDOW:
        if (answer)
            s->machine->controller.sysreg.l2c_err_sts |= PR_FABRIC_REJECT;
        return !hit(s, answer);
    default: return see_handshake(s, offset, access);
    }
}

static bool see_access(void *context, struct soc_access *access)
{
    struct sabotage *s = context;

    return !access->write || see_store(s, access->address - s->machine->board->container, access);
}

/* A line that is cut does not rise at its other end. */
static bool see_line(void *context, unsigned line, bool level)
{
    struct sabotage *s = context;
    bool cut = (s->kind == SABOTAGE_CUT_ENGINE_LINE && line == MACH_LINE_ENGINE) ||
               (s->kind == SABOTAGE_CUT_HOST_LINE && line == MACH_LINE_HOST);

    return !hit(s, level && cut);
}

static void install(void *context, struct ane_machine *machine)
{
    struct sabotage *s = context;

    s->machine = machine;
    soc_bus_tap_add(machine->bus, &s->accesses);
    soc_lines_tap_add(&machine->lines, &s->lines);
}

static void prepare(struct sabotage *s, enum sabotage_kind kind)
{
    *s = (struct sabotage){.kind = kind,
                           .accesses = {.see = see_access, .context = s},
                           .lines = {.see = see_line, .context = s}};
}

void sabotage_begin(struct sabotage *s, struct ane_machine *machine, enum sabotage_kind kind)
{
    prepare(s, kind);
    install(s, machine);
}

void sabotage_end(struct sabotage *s)
{
    soc_bus_tap_remove(s->machine->bus, &s->accesses);
    soc_lines_tap_remove(&s->machine->lines, &s->lines);
}

int sabotage_create(struct sabotage *s, enum sabotage_kind kind, const struct ane_machine_config *config,
                    struct ane_machine **machine)
{
    prepare(s, kind);
    return mach_create_tapped(config, install, s, machine);
}
