/* SPDX-License-Identifier: Apache-2.0 */
/* A driver without a machine. */
#include "drvrig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "protocol/channel.h"
#include "protocol/dart_regs.h"
#include "protocol/hwx_write.h"
#include "protocol/tm_regs.h"
#include "soc/trace.h"

#define PAGE PR_PAGE_BYTES
#define BUS_BASE 0x280000000ull
#define BUS_BYTES 0x10000000ull
#define MAILBOX 0x1840000u

const struct drv_identity rig_identity = {.may_open = true, .data_chaining = true, .developer = true};

static const struct pr_board *board(void)
{
    return &pr_board_table[PR_CHIP_T6000];
}

/* Memory. */

static int dram_take(struct rig *rig, uint64_t bytes, uint64_t *address)
{
    uint32_t pages = (uint32_t)(bytes / PAGE), found = 0;

    assert_true(bytes > 0 && bytes % PAGE == 0);
    if (bytes / PAGE > RIG_PAGES)
        return -ENOMEM;
    for (uint32_t i = 0; i < RIG_PAGES; i++) {
        found = rig->run[i] ? 0 : found + 1;
        if (found < pages)
            continue;
        i -= pages - 1;
        memset(rig->run + i, 1, pages);
        memset(rig->dram + (uint64_t)i * PAGE, 0, bytes);
        rig->length[i] = pages;
        rig->used += pages;
        *address = board()->dram + (uint64_t)i * PAGE;
        return 0;
    }
    return -ENOMEM;
}

static int dram_alloc(void *context, uint64_t bytes, uint64_t *address)
{
    struct rig *rig = context;

    return ++rig->alloc_calls == rig->alloc_fails_at ? -ENOMEM : dram_take(rig, bytes, address);
}

static void dram_free(void *context, uint64_t address)
{
    struct rig *rig = context;
    uint32_t first = (uint32_t)((address - board()->dram) / PAGE);

    assert_true(first < RIG_PAGES && rig->length[first]);
    memset(rig->run + first, 0, rig->length[first]);
    memset(rig->dram + (uint64_t)first * PAGE, 0xdb, (uint64_t)rig->length[first] * PAGE);
    rig->used -= rig->length[first];
    rig->length[first] = 0;
}

static void *dram_memory(void *context, uint64_t address, uint64_t bytes)
{
    struct rig *rig = context;
    uint64_t offset = address - board()->dram, all = (uint64_t)RIG_PAGES * PAGE;

    return address < board()->dram || offset > all || bytes > all - offset ? NULL : rig->dram + offset;
}

static int surface_get(void *context, uint32_t id, uint64_t *address, uint64_t *bytes)
{
    struct rig *rig = context;

    if (id == 0 || id >= RIG_SURFACES || !rig->surface[id].there)
        return -ENOENT;
    rig->surface[id].uses++;
    *address = rig->surface[id].address;
    *bytes = rig->surface[id].bytes;
    return 0;
}

static void surface_put(void *context, uint32_t id)
{
    struct rig *rig = context;

    assert_true(id > 0 && id < RIG_SURFACES && rig->surface[id].uses > 0);
    rig->surface[id].uses--;
}

uint32_t rig_surface(struct rig *rig, uint64_t bytes)
{
    for (uint32_t id = 1; id < RIG_SURFACES; id++)
        if (!rig->surface[id].there) {
            rig->surface[id] = (struct rig_surface){.bytes = bytes, .there = true};
            assert_int_equal(dram_take(rig, pr_round_up(bytes, PAGE), &rig->surface[id].address), 0);
            return id;
        }
    fail_msg("no surface left");
    return 0;
}

void *rig_surface_base(struct rig *rig, uint32_t id)
{
    return dram_memory(rig, rig->surface[id].address, rig->surface[id].bytes);
}

/* A walk that shares nothing with the driver's or the DART's: the seeds' leaf form. */
uint64_t rig_walk(const struct rig *rig, unsigned dart, uint32_t stream, uint64_t iova)
{
    const uint32_t *reg = rig->dart[dart];
    uint32_t ttbr = reg[(0x200 + stream * 16) / 4];
    uint64_t table = (uint64_t)(ttbr & 0x7fffffffu) << 12, word;

    if (iova >= 0xe0000000ull || !(ttbr >> 31) || !(reg[0xfc / 4] >> stream & 1) || reg[(0x100 + stream * 4) / 4] != 0x80)
        return 0;
    memcpy(&word, rig->dram + (table - board()->dram) + (iova >> 25) * 8, 8);
    if (!(word >> 63))
        return 0;
    table = word & 0x7fffffffc000ull;
    memcpy(&word, rig->dram + (table - board()->dram) + (iova >> 14 & 2047) * 8, 8);
    return word >> 63 ? (word & 0x7fffffffc000ull) + iova % PAGE : 0;
}

void *rig_at(struct rig *rig, unsigned dart, uint32_t stream, uint64_t iova, uint64_t bytes)
{
    uint64_t first = rig_walk(rig, dart, stream, iova);

    for (uint64_t at = iova - iova % PAGE; at < iova + bytes; at += PAGE)
        if (!rig_walk(rig, dart, stream, at) || rig_walk(rig, dart, stream, at) - at != first - iova)
            return NULL;
    return first ? dram_memory(rig, first, bytes) : NULL;
}

/* The base domain as the firmware sees it, the same through every controller. */
static void *base_at(struct rig *rig, uint64_t iova, uint64_t bytes)
{
    void *seen = rig_at(rig, 0, 0, iova, bytes);

    assert_non_null(seen);
    for (unsigned dart = 0; dart < 3; dart++)
        for (uint32_t stream = 0; stream < 3; stream++)
            assert_ptr_equal(rig_at(rig, dart, stream, iova, bytes), seen);
    return seen;
}

/* Registers. */

static uint32_t pmu_read(void *context, uint32_t offset)
{
    struct rig *rig = context;

    rig->mmio++;
    return offset % 8 == 0 && offset / 8 < PR_PMU_DOMAINS ? rig->pmu[offset / 8] : 0;
}

static void power_lost(struct rig *rig)
{
    memset(rig->dart, 0, sizeof(rig->dart));
    memset(rig->scratch, 0, sizeof(rig->scratch));
    rig->cpu = rig->doorbell = rig->host_pending = 0;
    rig->line = false;
    rig->boot = 0;
}

static void pmu_write(void *context, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    rig->mmio++;
    rig->pmu[offset / 8] = value == 0xf && !rig->no_power ? 0xff : value;
    if ((value & 0xf) != 0xf)
        power_lost(rig);
}

static unsigned dart_of(const struct rig *rig, const uint32_t *context)
{
    return (unsigned)(context - rig->dart[0]) / (0x300 / 4);
}

static struct rig *the_rig; /* the register blocks of the three DARTs get their window as context */

static uint32_t dart_read(void *context, uint32_t offset)
{
    the_rig->mmio++;
    return offset < 0x300 && offset != 0x20 ? ((uint32_t *)context)[offset / 4] : 0;
}

static void dart_write(void *context, uint32_t offset, uint32_t value)
{
    uint32_t *reg = context;

    the_rig->mmio++;
    if (offset >= 0x300)
        return;
    if (offset == 0x20)
        the_rig->invalidates[dart_of(the_rig, context)] |= value >> 20 & 1 ? reg[0x34 / 4] : 0;
    if (offset == 0x40)
        reg[0x40 / 4] = reg[0x50 / 4] = reg[0x54 / 4] = 0;
    else
        reg[offset / 4] = value;
}

static uint32_t vector_read(void *context, uint32_t offset)
{
    struct rig *rig = context;

    return offset ? (uint32_t)(rig->rvbar >> 32) : (uint32_t)rig->rvbar;
}

static void vector_write(void *context, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    if (offset == 0)
        rig->rvbar = (rig->rvbar & ~0xffffffffull) | value;
    else
        rig->rvbar = (rig->rvbar & 0xffffffffull) | (uint64_t)value << 32;
}

static uint32_t no_read(void *context, uint32_t offset)
{
    (void)context;
    (void)offset;
    return 0;
}

static void no_write(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    (void)offset;
    (void)value;
}

static uint32_t tm_read(void *context, uint32_t offset)
{
    struct rig *rig = context;

    return offset == PR_TM_ERROR2 ? rig->tm_error2 : 0;
}

static void cpu_write(void *context, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    if (offset != 0x44)
        return;
    if (value & 0x10 && !(rig->cpu & 0x10))
        rig->boot = 1;
    if (!(value & 0x10))
        rig->boot = 0;
    rig->cpu = value;
}

static uint32_t mailbox_read(void *context, uint32_t offset)
{
    struct rig *rig = context;

    rig->mmio++;
    if (offset >= 0x48 && offset < 0x68)
        return rig->scratch[(offset - 0x48) / 4];
    return offset == 0xc000 ? rig->host_pending : 0;
}

static void mailbox_write(void *context, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    rig->mmio++;
    if (offset >= 0x48 && offset < 0x68)
        rig->scratch[(offset - 0x48) / 4] = value;
    else if (offset == 0x4000)
        rig->doorbell |= value;
    else if (offset == 0x10000) {
        rig->host_pending &= ~value;
        rig->line = rig->line && rig->host_pending;
    }
}

/* The controller. */

static void ring_host(struct rig *rig, unsigned bit)
{
    if (!rig->mute)
        rig->host_pending |= 1u << bit;
}

static struct pr_slot *slot_at(struct rig *rig, unsigned channel, uint32_t number)
{
    return base_at(rig, rig->args.ipc + pr_ipc_ring_offset(channel) + number * 64, 64);
}

static uint32_t advance(struct rig *rig, unsigned channel)
{
    uint32_t now = rig->cursor[channel];

    rig->cursor[channel] = (now + 1) % pr_channel_table[channel].slots;
    return now;
}

/* False when the host has not given the slot back. */
static bool tell(struct rig *rig, unsigned channel, uint64_t address, uint64_t length, uint64_t tag)
{
    struct pr_slot *slot = slot_at(rig, channel, rig->cursor[channel]);

    if (!(slot->address & 1))
        return false;
    slot->length = length;
    slot->reply = tag;
    slot->address = address;
    advance(rig, channel);
    ring_host(rig, pr_channel_table[channel].bit);
    return true;
}

static void first_wake(struct rig *rig)
{
    rig->boot = 2;
    if (rig->no_first_wake)
        return;
    rig->scratch[0] = rig->channels ? rig->channels : 8;
    rig->scratch[1] = rig->ipc_less_1 ? rig->ipc_less_1 : pr_ipc_bytes() - 1;
    rig->scratch[3] = rig->heap ? rig->heap : 0x100000;
    rig->scratch[7] = 0x08042006;
}

static void second_wake(struct rig *rig)
{
    uint64_t at = rig->scratch[0] | (uint64_t)rig->scratch[1] << 32;

    memcpy(&rig->args, base_at(rig, at, sizeof(rig->args)), sizeof(rig->args));
    rig->boot = 3;
    if (rig->refuse_boot) {
        rig->scratch[7] = 0xbad00000 | rig->refuse_boot;
        return;
    }
    if (rig->no_second_wakes > 0) {
        rig->no_second_wakes--;
        return;
    }
    assert_int_equal(rig->args.chip_revision, board()->revision);
    assert_true(rig->args.protocol_version == 0x00090511 && rig->args.ring_version == 0x00020000 && rig->args.page_bytes == 0x4000);
    assert_true(rig->args.slot_bytes == 0x40 && rig->args.pool_bytes == 0x40000 && rig->args.ipc_bytes >= pr_ipc_bytes());
    assert_non_null(base_at(rig, rig->args.heap, rig->args.heap_bytes));
    assert_non_null(base_at(rig, rig->args.pool, 0x40000));
    for (unsigned i = 0; i < 8; i++) {
        struct pr_channel_record *record = base_at(rig, rig->args.ipc + i * 0x100, 0x100);

        memset(record, 0, sizeof(*record));
        strcpy(record->name, pr_channel_table[i].name);
        record->type = pr_channel_table[i].type;
        record->bit = pr_channel_table[i].bit;
        record->slots = pr_channel_table[i].slots;
        record->ring = rig->args.ipc + pr_ipc_ring_offset(i);
        record->ring_version = 0x00020000;
        rig->cursor[i] = 0;
        for (uint32_t n = 0; n < record->slots; n++)
            slot_at(rig, i, n)->address = pr_channel_table[i].type == PR_CHANNEL_H2T ? 0 : 1;
    }
    if (rig->spoil_table)
        rig->spoil_table(base_at(rig, rig->args.ipc, 0x800));
    rig->scratch[0] = (uint32_t)(rig->args.ipc + rig->table_offset);
    rig->scratch[1] = 0;
    rig->scratch[7] = 0x08042006;
}

static void third(struct rig *rig)
{
    for (unsigned i = 0; i < 8; i++)
        if (pr_channel_table[i].type == PR_CHANNEL_H2T)
            for (uint32_t n = 0; n < pr_channel_table[i].slots; n++)
                assert_int_equal(slot_at(rig, i, n)->address, 1);
    rig->boot = 4;
    if (rig->refuse_third) {
        rig->scratch[7] = 0xbad00000 | rig->refuse_third;
        return;
    }
    if (rig->no_third)
        return;
    rig->scratch[3] = 0;
    if (!rig->no_terminal)
        tell(rig, PR_CHANNEL_SHAREDMALLOC, 0, 0x40000, 0x474f4c);
}

static uint32_t load_program(struct rig *rig, const struct pr_body_load *body, uint32_t *id)
{
    struct pr_problem problem;

    for (*id = 0; *id < RIG_PROGRAMS && rig->program[*id].there; ++*id)
        ;
    if (*id == RIG_PROGRAMS)
        return PR_STATUS_NO_RESOURCES;
    assert_true(body->bytes <= sizeof(rig->program[0].container));
    memcpy(rig->program[*id].container, base_at(rig, body->container, body->bytes), body->bytes);
    if (!pr_container_read(rig->program[*id].container, body->bytes, &rig->program[*id].parts, &problem))
        fail_msg("container: %s", problem.text);
    rig->program[*id].text = rig->program[*id].parts.section[PR_SECTION_TEXT]->address;
    assert_non_null(base_at(rig, rig->program[*id].text, rig->program[*id].parts.section[PR_SECTION_TEXT]->address_bytes));
    assert_true(rig->program[*id].text >= 0xa0000000u);
    rig->program[*id].there = true;
    rig->program[*id].processes = 0;
    return PR_STATUS_OK;
}

/* Text and kernel are where the base domain has them, on all three controllers. */
static void check_process(struct rig *rig, uint32_t program, uint32_t stream)
{
    for (unsigned kind = PR_SECTION_KERNEL; kind <= PR_SECTION_TEXT; kind++) {
        const struct pr_container_section *s = rig->program[program].parts.section[kind];

        if (!s)
            continue;
        for (unsigned dart = 0; dart < 3; dart++)
            assert_ptr_equal(rig_at(rig, dart, stream, s->address, s->address_bytes), base_at(rig, s->address, s->address_bytes));
    }
}

static uint32_t create_process(struct rig *rig, uint32_t program, uint32_t stream, uint32_t *id)
{
    for (*id = 0; *id < RIG_PROCESSES && rig->process[*id].there; ++*id)
        ;
    if (*id == RIG_PROCESSES || program >= RIG_PROGRAMS || !rig->program[program].there)
        return PR_STATUS_NO_RESOURCES;
    assert_true(stream >= 3 && stream <= 9);
    check_process(rig, program, stream);
    rig->process[*id].there = true;
    rig->process[*id].program = program;
    rig->process[*id].stream = stream;
    rig->program[program].processes++;
    return PR_STATUS_OK;
}

static uint32_t run_command(struct rig *rig, struct pr_command_header *header, void *body)
{
    switch (header->id) {
    case PR_CMD_LOAD_PROGRAM: return load_program(rig, body, &header->program_id);
    case PR_CMD_UNLOAD_PROGRAM:
        if (header->program_id >= RIG_PROGRAMS || !rig->program[header->program_id].there)
            return PR_STATUS_NO_PROGRAM;
        if (rig->program[header->program_id].processes)
            return PR_STATUS_BUSY;
        rig->program[header->program_id].there = false;
        return PR_STATUS_OK;
    case PR_CMD_CREATE_PROCESS: return create_process(rig, header->program_id, *(uint32_t *)body, &header->process_id);
    case PR_CMD_TERMINATE_PROCESS:
        if (header->process_id >= RIG_PROCESSES || !rig->process[header->process_id].there)
            return PR_STATUS_NO_PROCESS;
        rig->process[header->process_id].there = false;
        rig->program[header->program_id].processes--;
        return PR_STATUS_OK;
    case PR_CMD_TIMEPROFILE_SHOW: assert_int_equal(header->size, 16); return PR_STATUS_OK;
    case PR_CMD_CH_PROPERTY_WRITE: assert_int_equal(header->size, 12); return PR_STATUS_OK;
    case PR_CMD_RESOURCE_INFO_GET: assert_int_equal(header->size, 0x5c); return PR_STATUS_OK;
    case PR_CMD_SET_SNE_PMU_BASE2: assert_true(*(uint64_t *)body == board()->pmu); return PR_STATUS_OK;
    case PR_CMD_ANE_DEFAULT_SETTING_SET: assert_int_equal(header->size, 16); return PR_STATUS_OK;
    default: return PR_STATUS_OK;
    }
}

static bool command(struct rig *rig)
{
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_IO, rig->cursor[PR_CHANNEL_IO]);
    struct pr_command_header *header;
    uint32_t status;

    if (slot->address & 1)
        return false;
    advance(rig, PR_CHANNEL_IO);
    assert_true(slot->address >= rig->args.pool && slot->address + slot->length <= rig->args.pool + 0x40000);
    header = base_at(rig, slot->address, slot->length);
    assert_int_equal(slot->length, 24 + header->size);
    if (rig->command_count < 32)
        rig->commands[rig->command_count++] = header->id;
    if (header->id == rig->silent_command)
        return true;
    status = rig->bad_status && header->id == rig->bad_command ? rig->bad_status : run_command(rig, header, header + 1);
    header->priority = status;
    slot->address |= 1;
    ring_host(rig, 1);
    if (rig->log_buffer && !rig->no_terminal) {
        strcpy(base_at(rig, rig->log_buffer, 64), "said the firmware");
        tell(rig, PR_CHANNEL_TERMINAL, rig->log_buffer, 17, 0);
    }
    return true;
}

static void note_held(struct rig *rig)
{
    uint32_t normal = 0, realtime = 0;

    for (unsigned i = 0; i < RIG_CALLS; i++)
        if (rig->call[i].there)
            *(rig->call[i].priority <= 1 ? &realtime : &normal) += 1;
    rig->most_normal = normal > rig->most_normal ? normal : rig->most_normal;
    rig->most_realtime = realtime > rig->most_realtime ? realtime : rig->most_realtime;
}

/* Every output's first word becomes the sum of the inputs' first words, every buffer seen through all three controllers. */
static void compute(struct rig *rig, const struct rig_call *call)
{
    uint32_t sum = 0, *word;

    for (uint32_t i = 0; i < call->buffers; i++) {
        word = rig_at(rig, 1, call->stream, call->buffer[i].address, call->buffer[i].bytes);
        assert_non_null(word);
        assert_ptr_equal(word, rig_at(rig, 0, call->stream, call->buffer[i].address, call->buffer[i].bytes));
        assert_ptr_equal(word, rig_at(rig, 2, call->stream, call->buffer[i].address, call->buffer[i].bytes));
        if (call->buffer[i].type == PR_BUFFER_IN)
            sum += *word;
    }
    for (uint32_t i = 0; i < call->buffers; i++)
        if (call->buffer[i].type == PR_BUFFER_OUT)
            *(uint32_t *)rig_at(rig, 2, call->stream, call->buffer[i].address, call->buffer[i].bytes) = sum;
    if (call->stats.address)
        *(uint16_t *)base_at(rig, call->stats.address, 0x28) = 0x0101;
}

static void finish(struct rig *rig, struct rig_call *call, uint32_t status)
{
    uint64_t cell = rig->args.heap + 64ull * rig->cursor[PR_CHANNEL_IO_T2H];
    struct pr_program_event event = {.sequence = rig->sequence++,
                                     .id = PR_CMD_PROGRAM_EVENT,
                                     .cookie = call->cookie,
                                     .program_id = call->program,
                                     .process_id = call->process,
                                     .status = status,
                                     .state = 1,
                                     .detail = status ? rig->call_detail : 0};

    if (rig->order_count < 64)
        rig->order[rig->order_count++] = call->priority;
    if (!status)
        compute(rig, call);
    if (rig->fault) {
        rig->dart[1][0x40 / 4] = 0x80000004u | call->stream << 24;
        rig->dart[1][0x50 / 4] = 0x1234000;
    }
    call->there = false;
    if (rig->no_events)
        return;
    memcpy(base_at(rig, cell, sizeof(event)), &event, sizeof(event));
    assert_true(tell(rig, PR_CHANNEL_IO_T2H, cell, sizeof(event), 0));
}

static uint32_t accept(struct rig *rig, const struct pr_call *message, uint64_t length)
{
    struct rig_call *call = rig->call;

    if (rig->call_refusal)
        return rig->call_refusal;
    while (call->there)
        call++;
    assert_true(call < rig->call + RIG_CALLS);
    assert_int_equal(message->head.id, 0x204);
    assert_int_equal(length, 0x60 + 0x30 * message->buffers);
    assert_true(message->process_id < RIG_PROCESSES && rig->process[message->process_id].there);
    assert_int_equal(rig->process[message->process_id].program, message->program_id);
    assert_true(message->output_sets == 1 && message->partitions == 1);
    assert_int_equal(message->buffers, rig->program[message->program_id].parts.procedure->io_buffers);
    *call = (struct rig_call){.there = true,
                              .cookie = message->cookie,
                              .program = message->program_id,
                              .process = message->process_id,
                              .stream = rig->process[message->process_id].stream,
                              .priority = message->priority,
                              .buffers = message->buffers,
                              .stats = message->stats};
    memcpy(call->buffer, message->buffer, message->buffers * sizeof(call->buffer[0]));
    for (uint32_t i = 0; i < message->buffers; i++) {
        assert_true(call->buffer[i].valid == 1 && call->buffer[i].index == i && call->buffer[i].address % 64 == 0);
        assert_true(call->buffer[i].type == rig->program[message->program_id].parts.buffer[i].type);
        assert_true(call->buffer[i].bytes >= rig->program[message->program_id].parts.buffer[i].bytes);
    }
    note_held(rig);
    return PR_STATUS_OK;
}

static bool take_call(struct rig *rig)
{
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_DATA_CHAIN_H2T, rig->cursor[PR_CHANNEL_DATA_CHAIN_H2T]);
    struct pr_call *message;

    if (slot->address & 1)
        return false;
    advance(rig, PR_CHANNEL_DATA_CHAIN_H2T);
    message = base_at(rig, slot->address, slot->length);
    message->head.status = (uint16_t)accept(rig, message, slot->length);
    slot->address |= 1;
    if (message->head.status)
        ring_host(rig, 7);
    return true;
}

bool rig_finish_one(struct rig *rig, uint32_t status)
{
    struct rig_call *oldest = NULL;

    for (unsigned i = 0; i < RIG_CALLS; i++)
        if (rig->call[i].there && (!oldest || rig->call[i].cookie >> 8 < oldest->cookie >> 8))
            oldest = &rig->call[i];
    if (oldest)
        finish(rig, oldest, status);
    return oldest;
}

static void read_answers(struct rig *rig)
{
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_SHAREDMALLOC, 0);

    if (!rig->log_buffer && slot->address & 1 && slot->address > 1)
        rig->log_buffer = slot->address & ~1ull;
}

/* One step; false when there is nothing to do. */
static bool step(struct rig *rig)
{
    uint32_t bell = rig->doorbell;

    if (rig->boot == 1)
        first_wake(rig);
    else if (rig->boot == 2 && rig->scratch[7] == 0xf7fbdff9)
        second_wake(rig);
    else if (rig->boot == 3 && rig->scratch[3] == 0x08042006 && rig->scratch[7] == 0x08042006)
        third(rig);
    else if (rig->host_pending && !rig->masked && !rig->line) {
        /* Only when the line rises, as the machine does. */
        rig->line = true;
        drv_interrupt(rig->driver);
    } else if (rig->boot == 4 && bell >> 1 & 1) {
        if (!command(rig))
            rig->doorbell &= ~2u;
    } else if (rig->boot == 4 && bell >> 7 & 1) {
        if (rig->deaf || !take_call(rig))
            rig->doorbell &= ~0x80u;
    } else if (rig->boot == 4 && bell) {
        read_answers(rig);
        rig->doorbell = 0;
    } else if (rig->boot == 4 && !rig->hold && rig_finish_one(rig, rig->call_status)) {
        return true;
    } else {
        return false;
    }
    return true;
}

void rig_work(struct rig *rig)
{
    while (step(rig))
        ;
}

static uint64_t rig_now(void *context)
{
    return ((struct rig *)context)->now;
}

static int rig_wait(void *context, const bool *done, uint64_t timeout_ns)
{
    struct rig *rig = context;

    for (;;) {
        while (!*done && step(rig))
            ;
        if (*done)
            return 0;
        if (!rig->admit || timeout_ns < 1000000)
            break;
        void (*admit)(struct rig *) = rig->admit;
        unsigned before = rig->admitted++;

        admit(rig);
        if (rig->admit == admit && rig->admitted == before + 1 && !*done && !rig->host_pending && !rig->doorbell)
            break;
    }
    rig->now += timeout_ns;
    return -ETIMEDOUT;
}

static void rig_trace(void *context, const char *line)
{
    struct rig *rig = context;

    if (rig->line_count < RIG_LINES)
        strncpy(rig->lines[rig->line_count++], line, sizeof(rig->lines[0]) - 1);
}

bool rig_traced(const struct rig *rig, const char *text)
{
    for (uint32_t i = 0; i < rig->line_count; i++)
        if (strstr(rig->lines[i], text))
            return true;
    return false;
}

void rig_make(struct rig *rig, bool boot)
{
    static struct soc_trace quiet;
    struct base_error error;
    struct soc_bus *bus;
    const uint64_t container = board()->container;

    memset(rig, 0, sizeof(*rig));
    the_rig = rig;
    rig->dram = calloc(RIG_PAGES, PAGE);
    rig->lines = calloc(RIG_LINES, sizeof(rig->lines[0]));
    assert_true(rig->dram && rig->lines);
    assert_int_equal(soc_bus_create(BUS_BASE, BUS_BYTES, &quiet, &bus, &error), 0);
    const struct soc_block blocks[] = {
        {"pmu", board()->pmu, 0x4000, pmu_read, pmu_write, rig},
        {"dart0", board()->dart[0], 0x4000, dart_read, dart_write, rig->dart[0]},
        {"dart1", board()->dart[1], 0x4000, dart_read, dart_write, rig->dart[1]},
        {"dart2", board()->dart[2], 0x4000, dart_read, dart_write, rig->dart[2]},
        {"vector", container + 0x1050000, 0x4000, vector_read, vector_write, rig},
        {"time", container + 0x1170000, 0x4000, no_read, no_write, rig},
        {"cpu", container + 0x1400000, 0x4000, no_read, cpu_write, rig},
        {"mailbox", container + MAILBOX, 0x1c000, mailbox_read, mailbox_write, rig},
        {"tm", container + 0x1c24000, 0x4000, tm_read, no_write, rig},
    };
    for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        assert_int_equal(soc_bus_attach(bus, &blocks[i], &error), 0);
    rig->silent_command = 0xffffffffu;
    rig->platform = (struct drv_platform){.context = rig,
                                          .bus = bus,
                                          .board = board(),
                                          .firmware_image = RIG_IMAGE,
                                          .leaf_form = PR_LEAF_SEED,
                                          .alloc = dram_alloc,
                                          .free = dram_free,
                                          .memory = dram_memory,
                                          .surface_get = surface_get,
                                          .surface_put = surface_put,
                                          .now = rig_now,
                                          .wait = rig_wait,
                                          .trace = rig_trace};
    if (!boot)
        return;
    assert_int_equal(drv_create(&rig->platform, &rig->driver, &error), 0);
    if (drv_start(rig->driver, &error))
        fail_msg("%s", error.text);
}

void rig_drop(struct rig *rig)
{
    uint32_t surfaces = 0;

    rig->admit = NULL;
    drv_destroy(rig->driver);
    for (uint32_t id = 0; id < RIG_SURFACES; id++)
        if (rig->surface[id].there) {
            assert_int_equal(rig->surface[id].uses, 0);
            surfaces += (uint32_t)(pr_round_up(rig->surface[id].bytes, PAGE) / PAGE);
        }
    assert_int_equal(rig->used, surfaces);
    soc_bus_destroy(rig->platform.bus);
    free(rig->dram);
    free(rig->lines);
}

/* Clients. */

IOReturn rig_call(struct drv_client *client, uint32_t selector, const uint64_t *scalar, uint32_t scalars, const void *in, uint32_t in_bytes,
                  uint64_t *scalar_out, uint32_t scalars_out, void *out, uint32_t out_bytes)
{
    struct IOExternalMethodArguments args = {.selector = selector,
                                             .scalarInput = scalar,
                                             .scalarInputCount = scalars,
                                             .structureInput = in,
                                             .structureInputSize = in_bytes,
                                             .scalarOutput = scalar_out,
                                             .scalarOutputCount = scalars_out,
                                             .structureOutput = out,
                                             .structureOutputSize = out_bytes};

    return drv_client_call(client, selector, &args);
}

struct drv_client *rig_client(struct rig *rig, uint32_t type)
{
    struct ane_device_info info = {.token = 1, .timeout = 10000};
    struct drv_client *client;

    assert_int_equal(drv_client_open(rig->driver, &rig_identity, type, &client), kIOReturnSuccess);
    if (type != ANE_CLIENT_HINTS)
        assert_int_equal(rig_call(client, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)), kIOReturnSuccess);
    return client;
}

static struct pr_hwx_port port(const char *name, enum pr_hwx_direction direction, uint32_t bar)
{
    struct pr_hwx_port p = {.direction = direction,
                            .bar = bar,
                            .bytes = RIG_PORT_BYTES,
                            .element = PR_HWX_ELEMENT_FLOAT16,
                            .n = 1,
                            .c = 1,
                            .h = 1,
                            .w = 1,
                            .d = 1,
                            .batch_stride = 64,
                            .plane_stride = 64,
                            .row_stride = 64,
                            .element_stride = 2};

    strcpy(p.name, name);
    return p;
}

size_t rig_image(uint8_t *bytes, size_t capacity, uint32_t inputs, uint32_t kernel_bytes, uint32_t intermediate_bytes)
{
    static struct test_program program;
    static uint8_t kernel[0x10000];
    const struct td_shape one = {1, 1, 1, 1};
    struct pr_hwx_port ports[3] = {port("y", PR_HWX_OUTPUT, 4), port("a", PR_HWX_INPUT, 5), port("b", PR_HWX_INPUT, 6)};
    struct pr_hwx_program image = {.port_count = 1 + inputs, .port = ports, .td_count = 1, .intermediate_bytes = intermediate_bytes};
    size_t size;

    assert_true(inputs >= 1 && inputs <= 2 && kernel_bytes <= sizeof(kernel));
    test_assemble(&program, "%s", inputs == 2 ? test_text_add : test_text_relu);
    td_set_shape(program.bytes, &one);
    image.text = program.bytes;
    image.text_bytes = program.size;
    image.first_td_words = program.first_words;
    image.constant = kernel_bytes ? kernel : NULL;
    image.constant_bytes = kernel_bytes;
    size = pr_hwx_write(&image, bytes, capacity);
    assert_true(size > 0 && size <= capacity);
    return size;
}

IOReturn rig_create(struct rig *rig, struct drv_client *client, const void *image, size_t size, uint64_t *token)
{
    struct ane_program_create create = {.surface = rig_surface(rig, ANE_PROGRAM_IMAGE + size), .size = ANE_PROGRAM_IMAGE + size};
    struct ane_program_args *args = rig_surface_base(rig, create.surface);
    IOReturn result;

    *args = (struct ane_program_args){
        .representation = ANE_PROGRAM_LEGACY, .version = 1, .image_size = size, .procedures = 1, .qos = 21, .flags = 0x10, .name = "sum"};
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, image, size);
    result = rig_call(client, 3, NULL, 0, &create, sizeof(create), NULL, 0, NULL, 0);
    *token = args->token;
    /* The surface goes at once: the driver has a copy. */
    memset(args, 0xff, ANE_PROGRAM_IMAGE + size);
    assert_int_equal(rig->surface[create.surface].uses, 0);
    dram_free(rig, rig->surface[create.surface].address);
    rig->surface[create.surface].there = false;
    return result;
}

IOReturn rig_prepare(struct drv_client *client, uint64_t token, struct ane_program_prepare *prepare)
{
    *prepare = (struct ane_program_prepare){.token = token, .qos = 21, .priority = 5};
    return rig_call(client, 4, NULL, 0, prepare, sizeof(*prepare), NULL, 0, prepare, sizeof(*prepare));
}

IOReturn rig_unprepare(struct drv_client *client, uint64_t token)
{
    const struct ane_program_prepare prepare = {.token = token};

    return rig_call(client, 5, NULL, 0, &prepare, sizeof(prepare), NULL, 0, NULL, 0);
}

IOReturn rig_destroy(struct drv_client *client, uint64_t token)
{
    const struct ane_program_destroy destroy = {.token = token};

    return rig_call(client, 6, NULL, 0, &destroy, sizeof(destroy), NULL, 0, NULL, 0);
}

void rig_request(struct ane_request *request, uint64_t token, uint32_t inputs, uint32_t outputs, const uint32_t *surfaces)
{
    memset(request, 0, sizeof(*request));
    request->token = token;
    request->sequence = 7;
    request->priority = 5;
    request->qos = 21;
    request->category = 2;
    request->inputs = inputs;
    request->outputs = outputs;
    memcpy(request->surface, surfaces, (inputs + outputs) * sizeof(*surfaces));
}

IOReturn rig_send(struct drv_client *client, const struct ane_request *request, struct ane_request_reply *reply)
{
    const uint64_t doorbell = 7;

    return rig_call(client, 2, &doorbell, 1, request, sizeof(*request), NULL, 0, reply, sizeof(*reply));
}

uint64_t rig_program(struct rig *rig, struct drv_client *client, uint32_t inputs, uint32_t kernel_bytes, uint32_t intermediate_bytes)
{
    static uint8_t image[0x20000];
    size_t size = rig_image(image, sizeof(image), inputs, kernel_bytes, intermediate_bytes);
    struct ane_program_prepare prepare;
    uint64_t token;

    if (rig_create(rig, client, image, size, &token) || rig_prepare(client, token, &prepare))
        fail_msg("%s", drv_last_error(rig->driver));
    assert_true(prepare.inputs == inputs && prepare.outputs == 1 && prepare.procedures == 1);
    assert_true(prepare.intermediates == (intermediate_bytes != 0) && prepare.intermediate_bytes == intermediate_bytes);
    return token;
}
