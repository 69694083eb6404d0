/* SPDX-License-Identifier: Apache-2.0 */
/* The controller booted from outside. */
#include "bootrig.h"

#include <string.h>

#include "machine/internal.h"
#include "protocol/board.h"
#include "protocol/dump.h"
#include "support.h"

#define POOL_PAGES 160u
#define SETTLE_NS  10000000u /* far more than any step of a boot */

/* The rig is the host from here on: the machine's own driver hears no interrupt, and recovers nothing. */
void bootrig_make(struct bootrig *rig, struct ane_machine *machine)
{
    memset(rig, 0, sizeof(*rig));
    soc_lines_wire(&machine->lines, MACH_LINE_HOST, NULL, NULL);
    bare_start(&rig->bare, machine, POOL_PAGES);
    rig->arguments = bare_buffer(&rig->bare, PR_BOOT_ARGS_BYTES);
    rig->ipc = bare_buffer(&rig->bare, pr_ipc_bytes());
    rig->heap = bare_buffer(&rig->bare, PR_EXTRA_HEAP_BYTES);
    rig->pool = bare_buffer(&rig->bare, PR_COMMAND_POOL_BYTES);
    rig->args = (struct pr_boot_args){.ipc = rig->ipc.iova,
                                      .heap = rig->heap.iova,
                                      .heap_bytes = rig->heap.bytes,
                                      .ipc_bytes = rig->ipc.bytes,
                                      .pool = rig->pool.iova,
                                      .pool_bytes = rig->pool.bytes,
                                      .slot_bytes = PR_SLOT_BYTES,
                                      .chip_revision = pr_board_find(rig->bare.map.board)->revision,
                                      .protocol_version = PR_PROTOCOL_VERSION,
                                      .ring_version = PR_RING_VERSION,
                                      .page_bytes = PR_PAGE_BYTES,
                                      .framework_bytes = PR_FRAMEWORK_BYTES};
}

uint64_t bootrig_register(const struct bootrig *rig, uint32_t offset)
{
    return rig->bare.map.container + offset;
}

uint32_t bootrig_read(struct bootrig *rig, uint32_t offset)
{
    return ane_machine_read32(rig->bare.machine, bootrig_register(rig, offset));
}

void bootrig_write(struct bootrig *rig, uint32_t offset, uint32_t value)
{
    ane_machine_write32(rig->bare.machine, bootrig_register(rig, offset), value);
}

static void settle(struct bootrig *rig)
{
    (void)ane_machine_run(rig->bare.machine, SETTLE_NS);
}

static void power_on(struct bootrig *rig)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        ane_machine_write32(rig->bare.machine, rig->bare.map.pmu + i * PR_PMU_STRIDE, PR_PMU_ON);
    ane_machine_write32(rig->bare.machine, rig->bare.map.dart[0] + 0x200,
                        (uint32_t)(rig->bare.table >> 12) | 1u << 31);
    bare_enable(&rig->bare);
    bare_invalidate(&rig->bare);
}

static void reset(struct bootrig *rig)
{
    bootrig_write(rig, PR_CTRL_CPU_CONTROL, 0);
    for (unsigned i = 0; i < PR_SCRATCH_COUNT; i++)
        bootrig_write(rig, PR_CTRL_SCRATCH(i), 0);
    bootrig_write(rig, PR_CTRL_CPU_CONTROL, PR_CPU_RUN);
    settle(rig);
}

bool bootrig_boot(struct bootrig *rig)
{
    rig->cursor = 0;
    power_on(rig);
    reset(rig);
    if (bootrig_read(rig, PR_CTRL_SCRATCH(7)) != PR_HANDSHAKE_WAKE)
        return false;
    bare_put(&rig->bare, rig->arguments.iova, &rig->args, sizeof(rig->args));
    bootrig_write(rig, PR_CTRL_SCRATCH(0), rig->arguments.iova);
    bootrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    bootrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    settle(rig);
    if (bootrig_read(rig, PR_CTRL_SCRATCH(7)) != PR_HANDSHAKE_WAKE)
        return false;
    bootrig_write(rig, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    settle(rig);
    return bootrig_read(rig, PR_CTRL_SCRATCH(3)) == PR_HANDSHAKE_DONE;
}

int bootrig_command(struct bootrig *rig, uint32_t id, const void *body, uint32_t bytes)
{
    struct {
        struct pr_command_header header;
        uint8_t body[0x40];
    } command = {.header = {.id = id,
                            .size = bytes,
                            .priority = PR_PRIORITIES - 1,
                            .program_id = PR_NO_ID,
                            .process_id = PR_NO_ID}};
    const uint32_t length = (uint32_t)sizeof(command.header) + bytes;
    struct pr_slot slot = {rig->pool.iova, length, length, {0}};
    uint32_t at = rig->ipc.iova + pr_ipc_ring_offset(PR_CHANNEL_IO) + rig->cursor * PR_SLOT_BYTES;

    memcpy(command.body, body, bytes);
    bare_put(&rig->bare, rig->pool.iova, &command, length);
    bare_put(&rig->bare, at, &slot, sizeof(slot));
    bootrig_write(rig, PR_CTRL_DOORBELL, 1u << pr_channel_table[PR_CHANNEL_IO].bit);
    settle(rig);
    rig->cursor = (rig->cursor + 1) % pr_channel_table[PR_CHANNEL_IO].slots;
    bare_get(&rig->bare, at, &slot, sizeof(slot));
    bare_get(&rig->bare, rig->pool.iova, &command, sizeof(command.header));
    return slot.address & PR_SLOT_OWNER ? (int)PR_REPLY_STATUS(&command.header) : -1;
}

bool bootrig_answers(struct bootrig *rig)
{
    const struct pr_body_u32 on = {1};

    return bootrig_command(rig, PR_CMD_PRINT_ENABLE, &on, sizeof(on)) == PR_STATUS_OK;
}

bool bootrig_dump(struct bootrig *rig)
{
    bool any = false;

    for (unsigned section = 1; section <= PR_DUMP_SECTION_COUNT; section++) {
        if (bootrig_read(rig, PR_CTRL_SCRATCH(PR_SCRATCH_DUMP)) != (PR_DUMP_STAGED | section))
            break;
        bootrig_write(rig, PR_CTRL_SCRATCH(7), PR_DUMP_TAKEN | section);
        settle(rig);
        any = true;
    }
    return any && bootrig_read(rig, PR_CTRL_SCRATCH(PR_SCRATCH_DUMP)) == (PR_DUMP_STAGED | PR_DUMP_END);
}
