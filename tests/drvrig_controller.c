/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller of a driver's rig: handshakes, commands, calls, each step when nothing else has to be done.
 */
#include "drvrig.h"

#include <stdio.h>
#include <string.h>

const struct pr_body_resources drvrig_resources = {.programs = 144,
                                                   .processes = 288,
                                                   .wait_events = 23,
                                                   .calls_per_process = 24,
                                                   .procedures = 25,
                                                   .engines = 26};

static void ring_host(struct drvrig *rig, unsigned bit)
{
    if (!rig->mute)
        rig->host_pending |= 1u << bit;
}

static struct pr_slot *slot_at(struct drvrig *rig, unsigned channel, uint32_t number)
{
    return drvrig_base_at(rig, rig->args.ipc + pr_ipc_ring_offset(channel) + number * 64, 64);
}

static uint32_t advance(struct drvrig *rig, unsigned channel)
{
    uint32_t now = rig->cursor[channel];

    rig->cursor[channel] = (now + 1) % pr_channel_table[channel].slots;
    return now;
}

bool drvrig_send_slot(struct drvrig *rig, unsigned channel, uint64_t address, uint64_t length, uint64_t tag)
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

static void first_wake(struct drvrig *rig)
{
    rig->boot = 2;
    if (rig->no_first_wake)
        return;
    rig->scratch[0] = rig->channels ? rig->channels : 8;
    rig->scratch[1] = rig->ipc_less_1 ? rig->ipc_less_1 : pr_ipc_bytes() - 1;
    rig->scratch[3] = rig->heap ? rig->heap : 0x100000;
    rig->scratch[7] = 0x08042006;
}

static void second_wake(struct drvrig *rig)
{
    uint64_t at = rig->scratch[0] | (uint64_t)rig->scratch[1] << 32;

    memcpy(&rig->args, drvrig_base_at(rig, at, sizeof(rig->args)), sizeof(rig->args));
    rig->boot = 3;
    if (rig->refuse_boot) {
        rig->scratch[7] = 0xbad00000 | rig->refuse_boot;
        return;
    }
    if (rig->no_second_wakes > 0) {
        rig->no_second_wakes--;
        return;
    }
    assert_int_equal(rig->args.chip_revision, rig->platform.board->revision);
    assert_true(rig->args.protocol_version == 0x00090511 && rig->args.ring_version == 0x00020000 &&
                rig->args.page_bytes == 0x4000);
    assert_true(rig->args.slot_bytes == 0x40 && rig->args.pool_bytes == 0x40000 &&
                rig->args.ipc_bytes >= pr_ipc_bytes());
    assert_non_null(drvrig_base_at(rig, rig->args.heap, rig->args.heap_bytes));
    assert_non_null(drvrig_base_at(rig, rig->args.pool, 0x40000));
    for (unsigned i = 0; i < 8; i++) {
        struct pr_channel_record *record = drvrig_base_at(rig, rig->args.ipc + i * 0x100, 0x100);

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
        rig->spoil_table(drvrig_base_at(rig, rig->args.ipc, 0x800));
    rig->scratch[0] = (uint32_t)(rig->args.ipc + rig->table_offset);
    rig->scratch[1] = 0;
    rig->scratch[7] = 0x08042006;
}

static void third(struct drvrig *rig)
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
        drvrig_send_slot(rig, PR_CHANNEL_SHAREDMALLOC, 0, 0x40000, 0x474f4c);
}

static uint32_t load_program(struct drvrig *rig, const struct pr_body_load *body, uint32_t *id)
{
    struct pr_problem problem;

    for (*id = 0; *id < DRVRIG_PROGRAMS && rig->program[*id].there; ++*id)
        ;
    if (*id == DRVRIG_PROGRAMS)
        return PR_STATUS_NO_RESOURCES;
    assert_true(body->bytes <= sizeof(rig->program[0].container));
    memcpy(rig->program[*id].container, drvrig_base_at(rig, body->container, body->bytes), body->bytes);
    if (!pr_container_read(rig->program[*id].container, body->bytes, &rig->program[*id].parts, &problem))
        fail_msg("container: %s", problem.text);
    rig->program[*id].text = rig->program[*id].parts.section[PR_SECTION_TEXT]->address;
    assert_non_null(drvrig_base_at(rig, rig->program[*id].text,
                                   rig->program[*id].parts.section[PR_SECTION_TEXT]->address_bytes));
    rig->program[*id].there = true;
    rig->program[*id].processes = 0;
    return PR_STATUS_OK;
}

/*
 * On all three controllers the client's domain has the pages of the base domain at the address of the body.
 */
static void check_own(struct drvrig *rig, uint32_t stream, const struct pr_process_buffer *buffer,
                      uint32_t index, uint64_t address, uint64_t bytes)
{
    assert_int_equal(buffer->index, index);
    assert_int_equal(buffer->reserved, 0);
    assert_int_equal(buffer->bytes, bytes);
    for (uint64_t at = 0; at < bytes; at += PR_PAGE_BYTES)
        for (unsigned dart = 0; dart < 3; dart++)
            assert_ptr_equal(drvrig_at(rig, dart, stream, buffer->address + at, 1),
                             drvrig_base_at(rig, address + at, 1));
}

static void check_process(struct drvrig *rig, uint32_t program, const struct pr_body_process *body)
{
    const struct pr_container *parts = &rig->program[program].parts;

    const struct pr_container_section *text = parts->section[PR_SECTION_TEXT],
                                      *kernel = parts->section[PR_SECTION_KERNEL];
    uint32_t own = kernel ? 2 : 1;

    check_own(rig, PR_PROCESS_STREAM(body->stream), &body->buffer[0], PR_PROCESS_TEXT, text->address,
              text->address_bytes);
    if (kernel)
        check_own(rig, PR_PROCESS_STREAM(body->stream), &body->buffer[1], PR_PROCESS_KERNEL, kernel->address,
                  kernel->address_bytes);
    /* And the buffers that the container places itself. */
    for (uint32_t i = 0; i < parts->generic->buffers; i++) {
        const struct pr_generic_buffer *buffer = &parts->buffer[i];

        if (!buffer->address || buffer->type == PR_BUFFER_TEXT || buffer->type == PR_BUFFER_KERNEL)
            continue;
        assert_true(own < body->buffers);
        check_own(rig, PR_PROCESS_STREAM(body->stream), &body->buffer[own++], buffer->index, buffer->address,
                  buffer->bytes);
    }
    assert_int_equal(body->buffers, own);
}

static uint32_t create_process(struct drvrig *rig, uint32_t program, const struct pr_body_process *body,
                               uint32_t *id)
{
    for (*id = 0; *id < DRVRIG_PROCESSES && rig->process[*id].there; ++*id)
        ;
    if (*id == DRVRIG_PROCESSES || program >= DRVRIG_PROGRAMS || !rig->program[program].there)
        return PR_STATUS_NO_RESOURCES;
    assert_true(PR_PROCESS_STREAM(body->stream) >= 3 && PR_PROCESS_STREAM(body->stream) <= 9);
    if (!rig->late_creates)
        check_process(rig, program, body);
    rig->process[*id].there = true;
    rig->process[*id].program = program;
    rig->process[*id].stream = PR_PROCESS_STREAM(body->stream);
    rig->process[*id].text = body->buffer[0].address;
    rig->program[program].processes++;
    return PR_STATUS_OK;
}

/* What a section holds: the seeds' order, one number or text of its own in each. */
static uint32_t fill_section(uint32_t section, uint8_t *area)
{
    memset(area, 0, PR_DUMP_AREA_BYTES);
    if (section == PR_DUMP_EXCEPTION) {
        struct pr_dump_exception exception = {.fault_class = 3, .time = 1000, .text = DRVRIG_CRASH_TEXT};

        memcpy(area, &exception, sizeof(exception));
        return sizeof(exception);
    }
    if (section == PR_DUMP_TASK) {
        struct pr_dump_task task = {.name = "exeloop"};

        memcpy(area, &task, sizeof(task));
        return sizeof(task);
    }
    memset(area, (int)section, 16 * section);
    return 16 * section;
}

static void stage(struct drvrig *rig, uint32_t section)
{
    uint64_t at = PR_DUMP_AREA(rig->args.heap, rig->args.heap_bytes);

    rig->crashing = section;
    rig->scratch[0] = (uint32_t)at;
    rig->scratch[1] = (uint32_t)(at >> 32);
    rig->scratch[2] =
        section == PR_DUMP_END ? 0 : fill_section(section, drvrig_base_at(rig, at, PR_DUMP_AREA_BYTES));
    rig->scratch[4] = 0xdead0000u | section;
    if (rig->spoil_dump)
        rig->spoil_dump(rig);
    rig->host_pending |= 1u << 31;
}

void drvrig_crash(struct drvrig *rig)
{
    rig->boot = 5;
    stage(rig, 1);
}

/* The host has taken what is staged. */
static bool next_section(struct drvrig *rig)
{
    if (!rig->crashing || rig->scratch[7] != (0xacce0000u | rig->crashing))
        return false;
    if (rig->crashing == rig->crash_stops)
        rig->crashing = 0;
    else
        stage(rig, rig->crashing == 10 ? PR_DUMP_END : rig->crashing + 1);
    return true;
}

void drvrig_ask_reset(struct drvrig *rig, uint32_t first, uint32_t last)
{
    uint64_t cell = rig->args.heap + 64ull * rig->cursor[PR_CHANNEL_IO_T2H];
    struct pr_reset_notification notification = {.sequence = rig->sequence++,
                                                 .id = PR_CMD_CH_RESET_NOTIFICATION,
                                                 .first_queue = first,
                                                 .last_queue = last,
                                                 .reason = PR_STATUS_STUCK};

    memcpy(drvrig_base_at(rig, cell, sizeof(notification)), &notification, sizeof(notification));
    assert_true(drvrig_send_slot(rig, PR_CHANNEL_IO_T2H, cell, sizeof(notification), 0));
}

static void cancel_call(struct drvrig *rig, uint64_t cookie);

static uint32_t run_command(struct drvrig *rig, struct pr_command_header *header, void *body)
{
    switch (header->id) {
    case PR_CMD_LOAD_PROGRAM: return load_program(rig, body, &header->program_id);
    case PR_CMD_UNLOAD_PROGRAM:
        if (header->program_id >= DRVRIG_PROGRAMS || !rig->program[header->program_id].there)
            return PR_STATUS_NO_PROGRAM;
        if (rig->program[header->program_id].processes)
            return PR_STATUS_BUSY;
        rig->program[header->program_id].there = false;
        return PR_STATUS_OK;
    case PR_CMD_CREATE_PROCESS:
        assert_int_equal(header->size, PR_PROCESS_BYTES(((struct pr_body_process *)body)->buffers));
        return create_process(rig, header->program_id, body, &header->process_id);
    case PR_CMD_PREMAP_BUFFER:
        assert_int_equal(header->size, sizeof(struct pr_body_premap));
        assert_true(header->process_id < DRVRIG_PROCESSES && rig->process[header->process_id].there &&
                    rig->process[header->process_id].program == header->program_id);
        assert_true(rig->premap_count < sizeof(rig->premap) / sizeof(rig->premap[0]));
        memcpy(&rig->premap[rig->premap_count++], body, sizeof(struct pr_body_premap));
        return PR_STATUS_OK;
    case PR_CMD_TERMINATE_PROCESS:
        if (header->process_id >= DRVRIG_PROCESSES || !rig->process[header->process_id].there)
            return PR_STATUS_NO_PROCESS;
        rig->process[header->process_id].there = false;
        rig->program[header->program_id].processes--;
        return PR_STATUS_OK;
    case PR_CMD_SUSPEND:
        for (unsigned i = 0; i < DRVRIG_PROGRAMS; i++)
            assert_false(rig->program[i].there);
        return PR_STATUS_OK;
    case PR_CMD_CH_BUFFER_RETURN:
        assert_int_equal(header->size, sizeof(rig->returned_buffer));
        memcpy(&rig->returned_buffer, body, sizeof(rig->returned_buffer));
        rig->returned++;
        return PR_STATUS_OK;
    case PR_CMD_RPC_ENABLE:
        assert_int_equal(header->size, 4);
        memcpy(&rig->rpc_enable, body, sizeof(rig->rpc_enable));
        rig->rpc_enables++;
        return PR_STATUS_OK;
    case PR_CMD_CH_INFO_GET: {
        struct pr_body_report *report = body;

        report->bytes = (uint32_t)sprintf(report->text, "report %u of the rig", report->report);
        return PR_STATUS_OK;
    }
    case PR_CMD_PROCEDURE_CALL_CACHE_REQUEST: return drvrig_chain_install(rig, header, body);
    case PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST: return drvrig_chain_invalidate(rig, header, body);
    case PR_CMD_RESET:
        assert_int_equal(header->size, sizeof(rig->reset));
        memcpy(&rig->reset, body, sizeof(rig->reset));
        rig->resets++;
        return PR_STATUS_OK;
    case PR_CMD_INIT_SHARED_EVENT_INFO: {
        const struct pr_body_shared_events *events = body;

        assert_int_equal(header->size, sizeof(*events));
        if (events->flags) {
            assert_int_equal(events->flags, 1);
            cancel_call(rig, events->address);
            return PR_STATUS_OK;
        }
        assert_int_equal(events->events, 64);
        assert_non_null(drvrig_base_at(rig, events->address, 64 * 16));
        return PR_STATUS_OK;
    }
    case PR_CMD_TIMEPROFILE_SHOW:
        assert_int_equal(header->size, 16);
        if (rig->controller_ns)
            ((struct pr_body_time *)body)->controller_ns = rig->controller_ns;
        return PR_STATUS_OK;
    case PR_CMD_CH_PROPERTY_WRITE: assert_int_equal(header->size, 12); return PR_STATUS_OK;
    case PR_CMD_RESOURCE_INFO_GET:
        assert_int_equal(header->size, 0x5c);
        memcpy(body, &drvrig_resources, sizeof(drvrig_resources));
        if (rig->no_room)
            ((struct pr_body_resources *)body)->processes = 0;
        return PR_STATUS_OK;
    case PR_CMD_MCACHE_SIZE_GET: ((struct pr_body_u32 *)body)->value = 0x200000; return PR_STATUS_OK;
    case PR_CMD_SET_SNE_PMU_BASE2:
        assert_true(*(uint64_t *)body == rig->platform.board->pmu);
        return PR_STATUS_OK;
    case PR_CMD_IPC_ENDPOINT_SET: {
        const struct pr_body_endpoint *endpoint = body;

        assert_int_equal(header->size, 24);
        assert_true(endpoint->endpoint == 1 && endpoint->channel == 7 &&
                    endpoint->ring == rig->args.ipc + pr_ipc_ring_offset(PR_CHANNEL_DATA_CHAIN_H2T) &&
                    endpoint->bytes == 16 * 64);
        return PR_STATUS_OK;
    }
    case PR_CMD_IPC_ENDPOINT_SET2: {
        const struct pr_body_endpoint2 *endpoint = body;

        assert_int_equal(header->size, 56);
        assert_true(endpoint->endpoint == 1 && endpoint->targets == 1 && endpoint->target[0].bits == 1u << 6);
        assert_true(endpoint->target[0].reg == rig->platform.board->container + 0x1848000);
        return PR_STATUS_OK;
    }
    case PR_CMD_ANE_DEFAULT_SETTING_SET: assert_int_equal(header->size, 16); return PR_STATUS_OK;
    default: return PR_STATUS_OK;
    }
}

static bool command(struct drvrig *rig, unsigned channel)
{
    struct pr_slot *slot = slot_at(rig, channel, rig->cursor[channel]);
    struct pr_command_header *header;
    uint32_t status;

    if (slot->address & 1)
        return false;
    advance(rig, channel);
    assert_true(slot->address >= rig->args.pool && slot->address + slot->length <= rig->args.pool + 0x40000);
    header = drvrig_base_at(rig, slot->address, slot->length);
    assert_int_equal(slot->length, 24 + header->size);
    if (rig->command_count < 32)
        rig->commands[rig->command_count++] = header->id;
    if (rig->crash_at_boot && header->id == PR_CMD_SET_SNE_PMU_BASE2) {
        rig->crash_at_boot--;
        drvrig_crash(rig);
        return true;
    }
    if (rig->crash_commands && header->id == rig->crash_command) {
        rig->crash_commands--;
        drvrig_crash(rig);
        return true;
    }
    if (header->id == rig->silent_command) {
        /* Looks again at the next doorbell: with every slot kept, the next slot is one it has taken. */
        rig->doorbell &= ~2u;
        return true;
    }
    status = PR_STATUS_OK;
    if (rig->wild_command && header->id == rig->wild_command)
        header->program_id = header->process_id = 0x7fffffff;
    else
        status = rig->bad_status && header->id == rig->bad_command ? rig->bad_status
                                                                   : run_command(rig, header, header + 1);
    header->priority = status;
    slot->address |= 1;
    ring_host(rig, pr_channel_table[channel].bit);
    if (rig->log_buffer && !rig->no_terminal) {
        strcpy(drvrig_base_at(rig, rig->log_buffer, 64), "said the firmware");
        drvrig_send_slot(rig, PR_CHANNEL_TERMINAL, rig->log_buffer, 17, 0);
    }
    return true;
}

static void note_held(struct drvrig *rig)
{
    uint32_t normal = 0, realtime = 0;

    for (unsigned i = 0; i < DRVRIG_CALLS; i++)
        if (rig->call[i].there)
            *(rig->call[i].priority <= 1 ? &realtime : &normal) += 1;
    rig->most_held = normal + realtime > rig->most_held ? normal + realtime : rig->most_held;
    rig->most_normal = normal > rig->most_normal ? normal : rig->most_normal;
    rig->most_realtime = realtime > rig->most_realtime ? realtime : rig->most_realtime;
}

/*
 * Every output's first word becomes the sum of the inputs' first words,
 * every buffer seen through all three controllers.
 */
static void compute(struct drvrig *rig, const struct drvrig_call *call)
{
    uint32_t sum = 0, *word;

    for (uint32_t i = 0; i < call->buffers; i++) {
        word = drvrig_at(rig, 1, call->stream, call->buffer[i].address, call->buffer[i].bytes);
        assert_non_null(word);
        assert_ptr_equal(word,
                         drvrig_at(rig, 0, call->stream, call->buffer[i].address, call->buffer[i].bytes));
        assert_ptr_equal(word,
                         drvrig_at(rig, 2, call->stream, call->buffer[i].address, call->buffer[i].bytes));
        if (call->buffer[i].type == PR_BUFFER_IN)
            sum += *word;
    }
    for (uint32_t i = 0; i < call->buffers; i++)
        if (call->buffer[i].type == PR_BUFFER_OUT)
            *(uint32_t *)drvrig_at(rig, 2, call->stream, call->buffer[i].address, call->buffer[i].bytes) =
                sum;
    if (call->stats.address)
        *(uint16_t *)drvrig_base_at(rig, call->stats.address, 0x28) = 0x0101;
    if (call->stats.address && call->stats.bytes >= 0x54)
        memcpy(drvrig_base_at(rig, call->stats.address + 0x48, sizeof(rig->totals)), rig->totals,
               sizeof(rig->totals));
}

static void finish(struct drvrig *rig, struct drvrig_call *call, uint32_t status)
{
    uint64_t cell = rig->args.heap + 64ull * rig->cursor[PR_CHANNEL_IO_T2H];
    struct pr_program_failure event = {
        .event = {.sequence = rig->sequence++,
                  .id = PR_CMD_PROGRAM_EVENT,
                  .cookie = call->cookie,
                  .program_id = call->program,
                  .process_id = call->process,
                  .status = status,
                  .state = 1,
                  .detail = status ? rig->call_error[0] | (uint64_t)rig->call_error[1] << 32 : 0},
        .error = {rig->call_error[0], rig->call_error[1], rig->call_error[2]}};
    size_t bytes = status && !rig->short_events ? sizeof(event) : sizeof(event.event);

    if (rig->order_count < 64) {
        rig->cookie[rig->order_count] = call->cookie;
        rig->order[rig->order_count++] = call->priority;
    }
    if (!status)
        compute(rig, call);
    if (rig->fault) {
        rig->dart[1][0x40 / 4] = 0x80000004u | call->stream << 24;
        rig->dart[1][0x50 / 4] = 0x1234000;
    }
    call->there = false;
    if (rig->no_events)
        return;
    if (call->handler) {
        drvrig_chain_event(rig, call, status, PR_CACHE_IN_USE);
        return;
    }
    memcpy(drvrig_base_at(rig, cell, bytes), &event, bytes);
    assert_true(drvrig_send_slot(rig, PR_CHANNEL_IO_T2H, cell, bytes, 0));
}

/* What the driver has given up: it has not begun, and ends. */
static void cancel_call(struct drvrig *rig, uint64_t cookie)
{
    rig->cancels++;
    for (unsigned i = 0; i < DRVRIG_CALLS; i++)
        if (rig->call[i].there && rig->call[i].cookie == cookie)
            finish(rig, &rig->call[i], PR_STATUS_ABORTED);
}

/* A call has no tail, and one with events nothing but events. */
static void take_tail(struct drvrig *rig, const struct pr_call *message, uint64_t length)
{
    const uint8_t *at = (const uint8_t *)message + 0x60 + 0x30 * message->buffers;

    memset(&rig->tail, 0, sizeof(rig->tail));
    if (message->head.id == 0x211) {
        memcpy(&rig->tail, at, sizeof(rig->tail));
        assert_true(rig->tail.wait_events <= 32 && rig->tail.signal_events >= 1 &&
                    rig->tail.signal_events <= 16 && rig->tail.event_masks == 1);
        assert_true(!rig->tail.custom_bars && !rig->tail.execute_order && !rig->tail.execute_order_offset &&
                    !rig->tail.sub_network_order && !rig->tail.flags);
        memcpy(rig->event, at + 32, 24 * (rig->tail.wait_events + rig->tail.signal_events));
        length -= 32 + 24 * (rig->tail.wait_events + rig->tail.signal_events);
    }
    assert_int_equal(length, 0x60 + 0x30 * message->buffers);
}

static uint32_t accept(struct drvrig *rig, const struct pr_call *message, uint64_t length)
{
    struct drvrig_call *call = rig->call;

    if (rig->call_refusal)
        return rig->call_refusal;
    while (call->there)
        call++;
    assert_true(call < rig->call + DRVRIG_CALLS);
    take_tail(rig, message, length);
    assert_true(message->process_id < DRVRIG_PROCESSES && rig->process[message->process_id].there);
    assert_int_equal(rig->process[message->process_id].program, message->program_id);
    assert_true(message->output_sets == 1 && message->partitions == 1);
    assert_int_equal(message->buffers,
                     rig->program[message->program_id].parts.procedure[message->procedure].io_buffers);
    *call = (struct drvrig_call){.there = true,
                                 .cookie = message->cookie,
                                 .program = message->program_id,
                                 .process = message->process_id,
                                 .stream = rig->process[message->process_id].stream,
                                 .priority = message->priority,
                                 .buffers = message->buffers,
                                 .stats = message->stats};
    memcpy(call->buffer, message->buffer, message->buffers * sizeof(call->buffer[0]));
    for (uint32_t i = 0; i < message->buffers; i++) {
        assert_true(call->buffer[i].valid == 1 && call->buffer[i].index == i &&
                    call->buffer[i].address % 16 == 0);
        assert_true(call->buffer[i].type == rig->program[message->program_id].parts.buffer[i].type);
        assert_true(call->buffer[i].bytes >= rig->program[message->program_id].parts.buffer[i].bytes);
    }
    return PR_STATUS_OK;
}

static bool take_call(struct drvrig *rig)
{
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_DATA_CHAIN_H2T, rig->cursor[PR_CHANNEL_DATA_CHAIN_H2T]);
    struct pr_call *message;

    if (slot->address & 1)
        return false;
    advance(rig, PR_CHANNEL_DATA_CHAIN_H2T);
    message = drvrig_base_at(rig, slot->address, slot->length);
    const bool plain = message->head.id == 0x204, is_call = plain || message->head.id == 0x211;

    message->head.status = (uint16_t)(is_call ? accept(rig, message, slot->length)
                                              : drvrig_chain_message(rig, message, slot->length));
    note_held(rig);
    slot->address |= 1;
    if (message->head.status || !plain)
        ring_host(rig, 7);
    return true;
}

bool drvrig_finish_one(struct drvrig *rig, uint32_t status)
{
    struct drvrig_call *oldest = NULL;

    for (unsigned i = 0; i < DRVRIG_CALLS; i++)
        if (rig->call[i].there && !(rig->call[i].handler && rig->call[i].set == PR_NO_ID) &&
            (!oldest || rig->call[i].cookie >> 8 < oldest->cookie >> 8))
            oldest = &rig->call[i];
    if (oldest)
        finish(rig, oldest, status);
    return oldest;
}

static void read_answers(struct drvrig *rig)
{
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_SHAREDMALLOC, 0);

    if (!rig->log_buffer && slot->address & 1 && slot->address > 1)
        rig->log_buffer = slot->address & ~1ull;
}

bool drvrig_step(struct drvrig *rig)
{
    uint32_t bell = rig->doorbell;

    if (rig->stopped && rig->boot > 1)
        return false;
    if (rig->boot == 1)
        first_wake(rig);
    else if (next_section(rig))
        return true;
    else if (rig->boot == 2 && rig->scratch[7] == 0xf7fbdff9)
        second_wake(rig);
    else if (rig->boot == 3 && rig->scratch[3] == 0x08042006 && rig->scratch[7] == 0x08042006)
        third(rig);
    else if (rig->host_pending && !rig->masked && !rig->line) {
        /* Only when the line rises, as the machine does. */
        rig->line = true;
        drv_interrupt(rig->driver);
    } else if (rig->boot == 4 && bell >> 1 & 1) {
        if (!command(rig, PR_CHANNEL_IO))
            rig->doorbell &= ~2u;
    } else if (rig->boot == 4 && bell >> pr_channel_table[PR_CHANNEL_DEBUG].bit & 1) {
        if (!command(rig, PR_CHANNEL_DEBUG))
            rig->doorbell &= ~(1u << pr_channel_table[PR_CHANNEL_DEBUG].bit);
    } else if (rig->boot == 4 && bell >> pr_channel_table[PR_CHANNEL_BUF_H2T].bit & 1) {
        if (!command(rig, PR_CHANNEL_BUF_H2T))
            rig->doorbell &= ~(1u << pr_channel_table[PR_CHANNEL_BUF_H2T].bit);
    } else if (rig->boot == 4 && bell >> 7 & 1) {
        if (rig->deaf || !take_call(rig))
            rig->doorbell &= ~0x80u;
    } else if (rig->boot == 4 && bell) {
        read_answers(rig);
        rig->doorbell = 0;
    } else if (rig->boot == 4 && !rig->hold && drvrig_finish_one(rig, rig->call_status)) {
        return true;
    } else {
        return false;
    }
    return true;
}

void drvrig_work(struct drvrig *rig)
{
    while (drvrig_step(rig))
        ;
}
