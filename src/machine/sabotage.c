/* SPDX-License-Identifier: Apache-2.0 */
/* Sabotage: one wall broken at a time. */
#include "machine/sabotage.h"

#include "machine/internal.h"
#include "protocol/channel.h"
#include "protocol/tm_regs.h"

const char *mach_sabotage_text(enum mach_sabotage_kind kind)
{
    static const char *const text[MACH_SABOTAGE_COUNT] = {
#define X(id, words) [MACH_SABOTAGE_##id] = words,
        MACH_SABOTAGES(X)
#undef X
    };

    return text[kind];
}

void mach_sabotage_set(struct ane_machine *machine, enum mach_sabotage_kind kind)
{
    machine->sabotage.kind = kind;
    machine->sabotage.hits = 0;
    soc_lines_mask(&machine->lines, MACH_LINE_ENGINE, kind == MACH_SABOTAGE_MASK_ENGINE_LINE);
    soc_lines_mask(&machine->lines, MACH_LINE_HOST, kind == MACH_SABOTAGE_MASK_HOST_LINE);
}

uint32_t mach_sabotage_hits(struct ane_machine *machine)
{
    return machine->sabotage.hits;
}

static void *device_memory(struct ane_machine *m, uint64_t address, uint64_t bytes)
{
    struct dart_range range;

    return dart_range_get(m->dart, DART_PORT_TASK, 0, address, bytes, DART_READ, &range) ? NULL : range.host;
}

/* Changes the address word of every slot of the execution loop that is the controller's turn. */
static void corrupt_slot(struct ane_machine *m)
{
    struct pr_channel_record *record = device_memory(
        m, m->sabotage.table + PR_CHANNEL_DATA_CHAIN_H2T * PR_CHANNEL_RECORD_BYTES, PR_CHANNEL_RECORD_BYTES);
    struct pr_slot *slot = record ? device_memory(m, record->ring, record->slots * PR_SLOT_BYTES) : NULL;

    for (uint64_t i = 0; slot && i < record->slots; i++)
        if (!(slot[i].address & PR_SLOT_OWNER)) {
            slot[i].address ^= 0x70000000;
            m->sabotage.hits++;
        }
}

/* Changes one boot argument in memory, at the moment the host says they are ready. */
static void change_boot_arguments(struct ane_machine *m)
{
    uint64_t address = m->controller.scratch[0] | (uint64_t)m->controller.scratch[1] << 32;
    struct pr_boot_args *args = device_memory(m, address, sizeof(*args));

    if (!args)
        return;
    m->sabotage.hits++;
    switch (m->sabotage.kind) {
    case MACH_SABOTAGE_BOOT_CHIP_REVISION: args->chip_revision ^= 0x100; break;
    case MACH_SABOTAGE_BOOT_PROTOCOL_VERSION: args->protocol_version++; break;
    case MACH_SABOTAGE_BOOT_RING_VERSION: args->ring_version += 0x10000; break;
    case MACH_SABOTAGE_BOOT_PAGE_SIZE: args->page_bytes = 0x1000; break;
    case MACH_SABOTAGE_BOOT_SMALL_HEAP: args->framework_bytes = 0x600000; break;
    default: m->sabotage.hits--; break;
    }
}

/* The handshakes pass by; false loses the store. */
static bool tamper_with_handshake(struct ane_machine *m, uint32_t offset, uint32_t *value)
{
    bool wake = m->controller.by_controller && offset == PR_CTRL_SCRATCH(7) && *value == PR_HANDSHAKE_WAKE;
    enum mach_sabotage_kind kind = m->sabotage.kind;

    if (!m->controller.by_controller && offset == PR_CTRL_SCRATCH(7) && *value == PR_HANDSHAKE_GO)
        change_boot_arguments(m);
    if (!m->controller.by_controller && offset == PR_CTRL_SCRATCH(3) && kind == MACH_SABOTAGE_BOOT_MAGIC) {
        m->sabotage.hits++;
        *value ^= 0x10;
    }
    if (!wake)
        return true;
    m->sabotage.wakes++;
    if ((m->sabotage.wakes % 2 == 0 && kind == MACH_SABOTAGE_BOOT_NO_SECOND_WAKE) ||
        kind == MACH_SABOTAGE_BOOT_NO_FIRST_WAKE) {
        m->sabotage.hits++;
        return false;
    }
    return true;
}

bool mach_sabotage_mailbox(struct ane_machine *m, uint32_t offset, uint32_t *value)
{
    /* The table's address passes by at the second wake. */
    if (m->controller.by_controller && offset == PR_CTRL_SCRATCH(0))
        m->sabotage.table = *value;
    if (offset == PR_CTRL_DOORBELL && m->sabotage.kind == MACH_SABOTAGE_DROP_DOORBELL) {
        m->sabotage.hits++;
        return false;
    }
    if (offset == PR_CTRL_HOST_DOORBELL && m->sabotage.kind == MACH_SABOTAGE_DROP_COMPLETION) {
        m->sabotage.hits++;
        return false;
    }
    if (offset == PR_CTRL_DOORBELL && m->sabotage.kind == MACH_SABOTAGE_CORRUPT_SLOT)
        corrupt_slot(m);
    return tamper_with_handshake(m, offset, value);
}

/*
 * Unmaps the page that buffer register 5 of the queue points to, in the table its stream uses, and makes the
 * DARTs forget it.
 */
static void clear_entry(struct ane_machine *m, uint32_t queue)
{
    uint64_t base = m->board->container + PR_ENGINE_TQ + queue * PR_TQ_STRIDE;
    uint32_t address = soc_bus_read32(m->bus, base + PR_TQ_BAR1 + 4 * 5),
             stream = soc_bus_read32(m->bus, base + PR_TQ_STREAM);
    uint32_t ttbr = dart_read32(m->dart, DART_PORT_SOURCE, PR_DART_TTBR + 16 * stream);
    uint64_t *first = soc_memory_at(m->memory, pr_dart_ttbr_address(ttbr), 8 * PR_DART_TABLE_ENTRIES),
             *second;
    struct pr_leaf leaf;

    if (!first)
        return;
    leaf = pr_leaf_decode((enum pr_leaf_form)m->leaf_form, first[address >> PR_DART_L1_SHIFT]);
    second = soc_memory_at(m->memory, leaf.frame, 8 * PR_DART_TABLE_ENTRIES);
    if (!second)
        return;
    second[address >> PR_DART_L2_SHIFT & (PR_DART_TABLE_ENTRIES - 1)] = 0;
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        dart_write32(m->dart, (enum dart_port)i, PR_DART_TLB_CONTROL, 1u << stream);
    m->sabotage.hits++;
}

bool mach_sabotage_engine(struct ane_machine *machine, uint32_t offset, uint32_t *value)
{
    uint32_t manager = PR_ENGINE_TM - PR_ENGINE_REGS, queues = PR_ENGINE_TQ - PR_ENGINE_REGS;
    bool push = offset == manager + PR_TM_REQ_PUSH;

    switch (machine->sabotage.kind) {
    case MACH_SABOTAGE_DROP_PUSH: machine->sabotage.hits += push; return !push;
    case MACH_SABOTAGE_CLEAR_PTE:
        if (push)
            clear_entry(machine, pr_bits_get(*value, PR_TM_PUSH_QUEUE_LO, PR_TM_PUSH_QUEUE_WIDTH));
        return true;
    case MACH_SABOTAGE_ZERO_BAR:
        if (offset >= queues && offset < queues + PR_TQ_COUNT * PR_TQ_STRIDE &&
            (offset - queues) % PR_TQ_STRIDE == PR_TQ_BAR1 + 4 * 5) {
            machine->sabotage.hits++;
            *value = 0;
        }
        return true;
    default: return true;
    }
}
