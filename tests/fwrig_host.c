/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's surroundings for tests of the firmware: the host's side of the protocol. */
#include "support.h"

#include <string.h>

#include "fwrig_state.h"

struct pr_boot_args *fwrig_arguments(struct fwrig *rig)
{
    struct pr_boot_args *args = (void *)fwrig_memory(rig, FWRIG_ARGS, sizeof(*args));

    if (!args->ipc)
        *args = (struct pr_boot_args){.ipc = FWRIG_IPC,
                                      .heap = FWRIG_HEAP,
                                      .heap_bytes = PR_EXTRA_HEAP_BYTES,
                                      .ipc_bytes = pr_ipc_bytes(),
                                      .pool = FWRIG_POOL,
                                      .pool_bytes = PR_COMMAND_POOL_BYTES,
                                      .slot_bytes = PR_SLOT_BYTES,
                                      .chip_revision = FWRIG_REVISION,
                                      .protocol_version = PR_PROTOCOL_VERSION,
                                      .ring_version = PR_RING_VERSION,
                                      .page_bytes = PR_PAGE_BYTES,
                                      .framework_bytes = PR_FRAMEWORK_BYTES};
    return args;
}

static struct pr_slot *slot_at(struct fwrig *rig, enum pr_channel channel, uint32_t number)
{
    return (void *)fwrig_memory(rig, FWRIG_IPC + pr_ipc_ring_offset(channel) + number * PR_SLOT_BYTES,
                                sizeof(struct pr_slot));
}

static void ring(struct fwrig *rig, enum pr_channel channel)
{
    fwrig_write(rig, PR_CTRL_DOORBELL, 1u << pr_channel_table[channel].bit);
}

static bool refused(struct fwrig *rig)
{
    return (fwrig_read(rig, PR_CTRL_SCRATCH(7)) & 0xfff00000u) == (PR_BOOT_REFUSED & 0xfff00000u);
}

/* The firmware asks for its log buffer. */
static void serve_malloc(struct fwrig *rig)
{
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_SHAREDMALLOC, 0);

    if (slot->address & PR_SLOT_OWNER)
        return;
    slot->reply = 0;
    slot->address = FWRIG_LOG | PR_SLOT_OWNER;
    slot->length = 0;
    ring(rig, PR_CHANNEL_SHAREDMALLOC);
    (void)fwrig_run(rig);
}

bool fwrig_boot(struct fwrig *rig)
{
    memset(port_of(rig)->scratch, 0, sizeof(port_of(rig)->scratch));
    port_of(rig)->scratch[7] = port_of(rig)->warm;
    fwrig_enter(rig);
    if (fwrig_read(rig, PR_CTRL_SCRATCH(7)) != PR_HANDSHAKE_WAKE)
        return false;
    fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    if (refused(rig))
        return false;
    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++)
        for (uint32_t n = 0; pr_channel_table[i].type == PR_CHANNEL_H2T && n < pr_channel_table[i].slots; n++)
            slot_at(rig, (enum pr_channel)i, n)->address = PR_SLOT_OWNER;
    fwrig_write(rig, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    fwrig_run(rig);
    if (refused(rig) || fwrig_read(rig, PR_CTRL_SCRATCH(3)) != PR_HANDSHAKE_DONE)
        return false;
    serve_malloc(rig);
    return true;
}

uint32_t fwrig_bind_ring(struct fwrig *rig)
{
    const struct pr_body_endpoint ring = {.endpoint = 1,
                                          .channel = PR_CHANNEL_DATA_CHAIN_H2T,
                                          .ring = FWRIG_IPC + pr_ipc_ring_offset(PR_CHANNEL_DATA_CHAIN_H2T),
                                          .bytes = 16 * 64};

    return fwrig_control(rig, PR_CMD_IPC_ENDPOINT_SET, &ring, sizeof(ring));
}

uint32_t fwrig_bind_targets(struct fwrig *rig, const struct pr_doorbell_target *target, uint32_t count)
{
    struct pr_body_endpoint2 targets = {.endpoint = 1, .targets = count};

    memcpy(targets.target, target, (count < 3 ? count : 3) * sizeof(*target));
    return fwrig_control(rig, PR_CMD_IPC_ENDPOINT_SET2, &targets, sizeof(targets));
}

void fwrig_bind(struct fwrig *rig)
{
    const struct pr_doorbell_target host = {.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 6};

    assert_int_equal(fwrig_bind_ring(rig), PR_STATUS_OK);
    assert_int_equal(fwrig_bind_targets(rig, &host, 1), PR_STATUS_OK);
}

void fwrig_boot_started(struct fwrig *rig)
{
    const struct pr_body_u32 one = {1};

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_MCACHE_SIZE_GET, &one, sizeof(one)), PR_STATUS_OK);
    fwrig_bind(rig);
}

void fwrig_select_warm(struct fwrig *rig, bool warm)
{
    port_of(rig)->warm = warm;
}

void fwrig_post(struct fwrig *rig, enum pr_channel channel, uint64_t address, uint64_t length, uint64_t reply)
{
    struct rt_port *port = port_of(rig);
    struct pr_slot *slot = slot_at(rig, channel, port->cursor[channel]);

    slot->length = length;
    slot->reply = reply;
    slot->address = address;
    port->cursor[channel] = (port->cursor[channel] + 1) % pr_channel_table[channel].slots;
    ring(rig, channel);
}

uint32_t fwrig_cursor(const struct fwrig *rig, enum pr_channel channel)
{
    return port_of(rig)->cursor[channel];
}

bool fwrig_slot_returned(struct fwrig *rig, enum pr_channel channel, uint32_t number)
{
    return slot_at(rig, channel, number)->address & PR_SLOT_OWNER;
}

uint32_t fwrig_rang(struct fwrig *rig)
{
    struct rt_port *port = port_of(rig);
    const uint32_t rang = port->rang;

    port->rang = port->host_pending = 0;
    return rang;
}

bool fwrig_send(struct fwrig *rig, enum pr_channel channel, void *message, size_t length, size_t reply)
{
    const uint32_t number = fwrig_cursor(rig, channel);
    const size_t room = reply > length ? reply : length;

    memcpy(fwrig_memory(rig, FWRIG_POOL, room), message, length);
    fwrig_post(rig, channel, FWRIG_POOL, length, reply);
    if (fwrig_run(rig) != FWRIG_IDLE || !fwrig_slot_returned(rig, channel, number))
        return false;
    memcpy(message, fwrig_memory(rig, FWRIG_POOL, length), length);
    return true;
}

struct fwrig_command *fwrig_reply(struct fwrig *rig)
{
    return (void *)fwrig_memory(rig, FWRIG_POOL, sizeof(struct fwrig_command));
}

uint32_t fwrig_control(struct fwrig *rig, uint32_t id, const void *body, size_t bytes)
{
    struct fwrig_command command = {
        .header = {.id = id, .size = (uint32_t)bytes, .program_id = PR_NO_ID, .process_id = PR_NO_ID}};

    if (bytes)
        memcpy(command.body, body, bytes);
    if (!fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header) + bytes,
                    sizeof(command.header) + bytes))
        return FWRIG_LOST;
    return PR_REPLY_STATUS(&command.header);
}

const char *fwrig_report(struct fwrig *rig, enum pr_report report, size_t room)
{
    struct {
        struct pr_command_header header;
        uint32_t report;
    } command = {{.id = PR_CMD_CH_INFO_GET, .size = sizeof(uint32_t)}, (uint32_t)report};
    const struct pr_body_report *body =
        (const void *)fwrig_memory(rig, FWRIG_POOL + sizeof(command.header), sizeof(struct pr_body_report));

    memset(fwrig_memory(rig, FWRIG_POOL, 0x2000), 0, 0x2000);
    if (!fwrig_send(rig, PR_CHANNEL_DEBUG, &command, sizeof(command),
                    sizeof(command.header) + offsetof(struct pr_body_report, text) + room) ||
        PR_REPLY_STATUS(&command.header) || strlen(body->text) != body->bytes)
        return NULL;
    return body->text;
}

uint64_t fwrig_counter(struct fwrig *rig, const char *name)
{
    const char *line = fwrig_report(rig, PR_REPORT_COUNTERS, sizeof(((struct pr_body_report *)0)->text));
    const size_t length = strlen(name);

    while (line && *line && (strncmp(line, name, length) || line[length] != ' ')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line || !*line)
        fail_msg("there is no counter %s", name);
    return strtoull(line + length, NULL, 10);
}

static struct pr_program_failure last_failure;

const struct pr_program_failure *fwrig_failure(void)
{
    return &last_failure;
}

static void give_slot(struct fwrig *rig, enum pr_channel channel, struct pr_slot *slot)
{
    slot->address |= PR_SLOT_OWNER;
    ring(rig, channel);
    (void)fwrig_run(rig);
}

/* The next slot of a channel to the host, or NULL; the cursor moves on. */
static struct pr_slot *take_slot(struct fwrig *rig, enum pr_channel channel)
{
    struct rt_port *port = port_of(rig);
    struct pr_slot *slot = slot_at(rig, channel, port->cursor[channel]);

    if (slot->address & PR_SLOT_OWNER)
        return NULL;
    port->cursor[channel] = (port->cursor[channel] + 1) % pr_channel_table[channel].slots;
    return slot;
}

size_t fwrig_message(struct fwrig *rig, void *message)
{
    struct pr_slot *slot = take_slot(rig, PR_CHANNEL_IO_T2H);
    size_t bytes;

    if (!slot)
        return 0;
    bytes = slot->length;
    assert_true(bytes >= 0x28 && bytes <= FWRIG_MESSAGE_BYTES);
    memset(message, 0, FWRIG_MESSAGE_BYTES);
    memcpy(message, fwrig_memory(rig, slot->address, bytes), bytes);
    give_slot(rig, PR_CHANNEL_IO_T2H, slot);
    return bytes;
}

/* Notifications in front of the next event are given back unread. */
static void skip_notifications(struct fwrig *rig)
{
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];

    for (;;) {
        const struct pr_slot *slot = slot_at(rig, PR_CHANNEL_IO_T2H, port_of(rig)->cursor[PR_CHANNEL_IO_T2H]);
        uint32_t id;

        if (slot->address & PR_SLOT_OWNER)
            return;
        id = pr_le32(fwrig_memory(rig, slot->address + 4, 4));
        if (id == PR_CMD_PROGRAM_EVENT || id == PR_CMD_CH_RESET_NOTIFICATION)
            return;
        (void)fwrig_message(rig, message);
    }
}

/* Only a failure has the longer form. */
bool fwrig_event(struct fwrig *rig, struct pr_program_event *event, bool give_back)
{
    struct rt_port *port = port_of(rig);
    struct pr_slot *slot;

    skip_notifications(rig);
    slot = slot_at(rig, PR_CHANNEL_IO_T2H, port->cursor[PR_CHANNEL_IO_T2H]);
    if (slot->address & PR_SLOT_OWNER)
        return false;
    memcpy(event, fwrig_memory(rig, slot->address, sizeof(*event)), sizeof(*event));
    assert_int_equal(slot->length, event->status ? 0x38 : 0x28);
    memcpy(&last_failure, fwrig_memory(rig, slot->address, slot->length), slot->length);
    port->cursor[PR_CHANNEL_IO_T2H] =
        (port->cursor[PR_CHANNEL_IO_T2H] + 1) % pr_channel_table[PR_CHANNEL_IO_T2H].slots;
    if (give_back) {
        slot->address |= PR_SLOT_OWNER;
        ring(rig, PR_CHANNEL_IO_T2H);
        (void)fwrig_run(rig);
    }
    return true;
}

bool fwrig_notification(struct fwrig *rig, struct pr_reset_notification *notification)
{
    struct pr_slot *slot = take_slot(rig, PR_CHANNEL_IO_T2H);

    if (!slot)
        return false;
    assert_int_equal(slot->length, sizeof(*notification));
    memcpy(notification, fwrig_memory(rig, slot->address, sizeof(*notification)), sizeof(*notification));
    assert_int_equal(notification->id, PR_CMD_CH_RESET_NOTIFICATION);
    give_slot(rig, PR_CHANNEL_IO_T2H, slot);
    return true;
}

bool fwrig_chaining(struct fwrig *rig, struct pr_notify_chaining *event)
{
    struct pr_slot *slot = take_slot(rig, PR_CHANNEL_IO_T2H);

    if (!slot)
        return false;
    assert_int_equal(slot->length, 0x38);
    memcpy(event, fwrig_memory(rig, slot->address, sizeof(*event)), sizeof(*event));
    assert_int_equal(event->head.id, PR_CMD_DATA_CHAINING_EVENT);
    give_slot(rig, PR_CHANNEL_IO_T2H, slot);
    return true;
}

uint64_t fwrig_buffer(struct fwrig *rig, struct pr_load_report *report)
{
    struct pr_slot *slot = take_slot(rig, PR_CHANNEL_BUF_T2H);
    uint64_t address;

    if (!slot)
        return 0;
    address = slot->address;
    assert_int_equal(slot->length, sizeof(*report));
    assert_int_equal(slot->reply, PR_BUFFER_LOAD_REPORT);
    memcpy(report, fwrig_memory(rig, address, sizeof(*report)), sizeof(*report));
    give_slot(rig, PR_CHANNEL_BUF_T2H, slot);
    return address;
}

size_t fwrig_dump_take(struct fwrig *rig, enum pr_dump_section number, void *section)
{
    const uint64_t address =
        fwrig_read(rig, PR_CTRL_SCRATCH(0)) | (uint64_t)fwrig_read(rig, PR_CTRL_SCRATCH(1)) << 32;
    const uint32_t bytes = fwrig_read(rig, PR_CTRL_SCRATCH(2));

    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0xdead0000u | number);
    assert_true(fwrig_rang(rig) >> 31);
    assert_true(bytes <= 0x1000 && address == FWRIG_HEAP + 0xff000);
    memcpy(section, fwrig_memory(rig, address, bytes), bytes);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0xacce0000u | number);
    (void)fwrig_run(rig);
    return bytes;
}

enum fwrig_end fwrig_dump_drain(struct fwrig *rig)
{
    uint8_t section[PR_DUMP_AREA_BYTES];
    uint32_t staged;

    while ((staged = fwrig_read(rig, PR_CTRL_SCRATCH(4))) != 0xdeadffffu) {
        assert_int_equal(staged & 0xffff0000u, 0xdead0000u);
        (void)fwrig_dump_take(rig, (enum pr_dump_section)(staged & 0xffff), section);
    }
    return fwrig_run(rig);
}

const char *fwrig_terminal(struct fwrig *rig)
{
    struct rt_port *port = port_of(rig);
    struct pr_slot *slot = slot_at(rig, PR_CHANNEL_TERMINAL, port->cursor[PR_CHANNEL_TERMINAL]);

    if (slot->address & PR_SLOT_OWNER)
        return NULL;
    assert_true(slot->length < sizeof(port->line));
    memcpy(port->line, fwrig_memory(rig, slot->address, slot->length), slot->length);
    port->line[slot->length] = '\0';
    slot->address |= PR_SLOT_OWNER;
    port->cursor[PR_CHANNEL_TERMINAL] =
        (port->cursor[PR_CHANNEL_TERMINAL] + 1) % pr_channel_table[PR_CHANNEL_TERMINAL].slots;
    return port->line;
}

void fwrig_process_make(union fwrig_process *process, uint32_t stream)
{
    *process = (union fwrig_process){.part = {.stream = stream, .buffers = FWRIG_OWN}};
    process->part.buffer[0] = (struct pr_process_buffer){
        .index = PR_PROCESS_TEXT, .address = FWRIG_TEXT, .bytes = IMAGE_TEXT_BYTES};
    process->part.buffer[1] = (struct pr_process_buffer){
        .index = PR_PROCESS_KERNEL, .address = FWRIG_KERNEL, .bytes = IMAGE_KERNEL_BYTES};
    process->part.buffer[2] = (struct pr_process_buffer){
        .index = IMAGE_MIDDLE, .address = IMAGE_SCRATCH, .bytes = IMAGE_SCRATCH_BYTES};
}

uint32_t fwrig_process(struct fwrig *rig, uint32_t program, const union fwrig_process *process, uint32_t *id)
{
    const uint32_t bytes = PR_PROCESS_BYTES(process->part.buffers);
    struct fwrig_command create = {
        .header = {
            .id = PR_CMD_CREATE_PROCESS, .size = bytes, .program_id = program, .process_id = PR_NO_ID}};

    memcpy(create.body, process, bytes);
    if (!fwrig_send(rig, PR_CHANNEL_IO, &create, sizeof(create.header) + bytes, 0))
        return FWRIG_LOST;
    if (id)
        *id = create.header.process_id;
    return PR_REPLY_STATUS(&create.header);
}

void fwrig_load(struct fwrig *rig)
{
    union fwrig_process process;
    struct container_image image;
    struct pr_body_load load;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image_text(fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    load = (struct pr_body_load){.container = FWRIG_CONTAINERS, .bytes = image.size};
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_OK);
    fwrig_process_make(&process, 3);
    assert_int_equal(fwrig_process(rig, fwrig_reply(rig)->header.program_id, &process, NULL), PR_STATUS_OK);
}

void fwrig_call_make(union fwrig_call *call, uint64_t cookie)
{
    memset(call, 0, sizeof(*call));
    call->call.head.id = PR_EXE_PROCEDURE_CALL;
    call->call.priority = 4;
    call->call.output_sets = 1;
    call->call.partitions = 1;
    call->call.cookie = cookie;
    call->call.buffers = 2;
    call->part.buffer[0] = (struct pr_buffer){.valid = 1,
                                              .index = IMAGE_INPUT,
                                              .type = PR_BUFFER_IN,
                                              .address = FWRIG_IN,
                                              .bytes = IMAGE_INPUT_BYTES};
    call->part.buffer[1] = (struct pr_buffer){.valid = 1,
                                              .index = IMAGE_OUTPUT,
                                              .type = PR_BUFFER_OUT,
                                              .address = FWRIG_OUT,
                                              .bytes = IMAGE_OUTPUT_BYTES};
}

uint32_t fwrig_call(struct fwrig *rig, union fwrig_call *call)
{
    union fwrig_call copy = *call;

    if (!fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, &copy, PR_CALL_BYTES(call->call.buffers), 0))
        return FWRIG_LOST;
    return copy.call.head.status;
}
