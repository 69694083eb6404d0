/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of several engine requests on a whole machine, by a host that writes the protocol itself: the second
 * request reads what the first has written, and the numbers are right.
 */
#include "taskrig.h"

#include "bootrig.h"
#include "container_image.h"
#include "protocol/call.h"

#define SECOND  0x400u /* of the text */
#define IN_BAR  5u
#define OUT_BAR 4u
#define MID_BAR 9u

static const struct td_shape shape = {1, 3, 4, 16};

struct host {
    struct ane_machine *machine;
    struct bootrig rig;
    struct bare_buffer text, container, in, mid, out;
    uint32_t cursor[PR_CHANNEL_COUNT];
};

static uint32_t slot_place(struct host *h, enum pr_channel channel)
{
    return h->rig.ipc.iova + (uint32_t)pr_ipc_ring_offset(channel) + h->cursor[channel] * PR_SLOT_BYTES;
}

static void send_message(struct host *h, enum pr_channel channel, void *message, uint32_t bytes)
{
    struct pr_slot slot = {h->rig.pool.iova, bytes, bytes, {0}};
    const uint32_t at = slot_place(h, channel);

    bare_put(&h->rig.bare, h->rig.pool.iova, message, bytes);
    bare_put(&h->rig.bare, at, &slot, sizeof(slot));
    bootrig_write(&h->rig, PR_CTRL_DOORBELL, 1u << pr_channel_table[channel].bit);
    (void)ane_machine_run(h->machine, 10000000);
    h->cursor[channel] = (h->cursor[channel] + 1) % pr_channel_table[channel].slots;
    bare_get(&h->rig.bare, at, &slot, sizeof(slot));
    bare_get(&h->rig.bare, h->rig.pool.iova, message, bytes);
    assert_true(slot.address & PR_SLOT_OWNER);
}

static struct pr_command_header send_command(struct host *h, uint32_t id, uint32_t program, const void *body,
                                             uint32_t bytes)
{
    struct {
        struct pr_command_header header;
        uint8_t body[0x200];
    } command = {.header = {.id = id, .size = bytes, .program_id = program, .process_id = PR_NO_ID}};

    memcpy(command.body, body, bytes);
    send_message(h, PR_CHANNEL_IO, &command, (uint32_t)sizeof(command.header) + bytes);
    assert_int_equal(PR_REPLY_STATUS(&command.header), PR_STATUS_OK);
    return command.header;
}

/* The next PROGRAM_EVENT. */
static struct pr_program_event take_event(struct host *h)
{
    const uint32_t at = slot_place(h, PR_CHANNEL_IO_T2H);
    struct pr_program_event event;
    struct pr_slot slot;

    bare_get(&h->rig.bare, at, &slot, sizeof(slot));
    assert_false(slot.address & PR_SLOT_OWNER);
    bare_get(&h->rig.bare, (uint32_t)slot.address, &event, sizeof(event));
    slot.address |= PR_SLOT_OWNER;
    bare_put(&h->rig.bare, at, &slot, sizeof(slot));
    h->cursor[PR_CHANNEL_IO_T2H]++;
    return event;
}

static void expect_no_event(struct host *h)
{
    struct pr_slot slot;

    bare_get(&h->rig.bare, slot_place(h, PR_CHANNEL_IO_T2H), &slot, sizeof(slot));
    assert_true(slot.address & PR_SLOT_OWNER);
}

/* middle = 2 * in at the start of the text, out = 3 * middle behind it. */
static void write_text(struct host *h, struct container_image *image)
{
    struct step first = step_planar(&shape, dram(IN_BAR, &shape), dram(MID_BAR, &shape));
    struct step second = step_planar(&shape, dram(MID_BAR, &shape), dram(OUT_BAR, &shape));
    static struct test_program program;

    first.scale = test_half_from_double(2);
    second.scale = test_half_from_double(3);
    taskrig_assemble(&program, &first, 1);
    assert_true(program.size <= SECOND);
    bare_put(&h->rig.bare, h->text.iova, program.bytes, program.size);
    image->procedure[0].first_words = program.first_words;
    taskrig_assemble(&program, &second, 1);
    assert_true(program.size <= IMAGE_TEXT_BYTES - SECOND);
    bare_put(&h->rig.bare, h->text.iova + SECOND, program.bytes, program.size);
    image->procedure[1].first_words = program.first_words;
    image->procedure[1].text_offset = SECOND;
    image->operation[1].last_td = 0;
}

static uint32_t load(struct host *h, struct container_image *image)
{
    const struct pr_body_load body = {.container = h->container.iova, .bytes = image->size};
    const struct {
        uint32_t stream, buffers;
        struct pr_process_buffer buffer[2];
    } process = {h->rig.bare.stream,
                 2,
                 {{PR_PROCESS_TEXT, 0, h->text.iova, IMAGE_TEXT_BYTES},
                  {IMAGE_MIDDLE, 0, h->mid.iova, IMAGE_SCRATCH_BYTES}}};
    uint32_t program;

    write_text(h, image);
    bare_put(&h->rig.bare, h->container.iova, image->bytes, (uint32_t)image->size);
    program = send_command(h, PR_CMD_LOAD_PROGRAM, PR_NO_ID, &body, sizeof(body)).program_id;
    assert_int_equal(send_command(h, PR_CMD_CREATE_PROCESS, program, &process, sizeof(process)).process_id,
                     program);
    return program;
}

static int setup(void **state)
{
    const struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .chip = ANE_CHIP_T6000};
    const struct pr_body_u32 one = {1};
    struct host *h = calloc(1, sizeof(*h));

    assert_non_null(h);
    *state = h;
    assert_int_equal(ane_machine_create(&config, &h->machine), 0);
    bootrig_make(&h->rig, h->machine);
    h->text = bare_buffer(&h->rig.bare, IMAGE_TEXT_BYTES);
    h->container = bare_buffer(&h->rig.bare, sizeof(((struct container_image *)0)->bytes));
    h->in = bare_buffer(&h->rig.bare, IMAGE_INPUT_BYTES);
    h->mid = bare_buffer(&h->rig.bare, IMAGE_SCRATCH_BYTES);
    h->out = bare_buffer(&h->rig.bare, IMAGE_OUTPUT_BYTES);
    assert_true(bootrig_boot(&h->rig));
    (void)send_command(h, PR_CMD_START, PR_NO_ID, &one, sizeof(one));
    (void)send_command(h, PR_CMD_MCACHE_SIZE_GET, PR_NO_ID, &one, sizeof(one));
    return 0;
}

static int teardown(void **state)
{
    struct host *h = *state;

    ane_machine_destroy(h->machine);
    free(h);
    return 0;
}

/* Numbers that times 216 are exact in fp16; the other two buffers hold something else. */
static void fill(struct host *h, struct tensor *x)
{
    for (size_t i = 0; i < elements(&shape); i++) {
        const uint16_t half = test_half_from_double((double)(i % 17) - 8);

        memcpy(x->bytes + offset(&shape, i), &half, 2);
        x->x[i] = (double)(i % 17) - 8;
    }
    bare_put(&h->rig.bare, h->in.iova, x->bytes, td_total(&shape));
    bare_fill(&h->rig.bare, h->mid.iova, 0x55, IMAGE_SCRATCH_BYTES);
    bare_fill(&h->rig.bare, h->out.iova, 0x55, IMAGE_OUTPUT_BYTES);
}

static void expect_product(struct host *h, const char *what, uint32_t iova, const struct tensor *x,
                           double factor)
{
    struct test_rng rng = {0};
    struct tensor y = tensor(&rng, shape, 1, 0);

    bare_get(&h->rig.bare, iova, y.bytes, td_total(&shape));
    for (size_t i = 0; i < elements(&shape); i++)
        expect(what, &y, i, factor * x->x[i], 0);
    tensor_free(&y);
}

/* A call as it is sent. */
struct message {
    uint8_t bytes[0x400];
    uint32_t size;
};

static struct pr_call *begin_message(struct host *h, struct message *m, uint16_t id, uint32_t program)
{
    struct pr_call *call = (void *)m->bytes;
    struct pr_buffer *buffer = (void *)(m->bytes + sizeof(*call));

    memset(m, 0, sizeof(*m));
    call->head.id = id;
    call->program_id = call->process_id = program;
    call->priority = 4;
    call->output_sets = 1;
    call->partitions = 1;
    call->cookie = 0x1234;
    call->buffers = 2;
    buffer[0] = (struct pr_buffer){
        .valid = 1, .index = IMAGE_INPUT, .type = PR_BUFFER_IN, .address = h->in.iova, .bytes = h->in.bytes};
    buffer[1] = (struct pr_buffer){.valid = 1,
                                   .index = IMAGE_OUTPUT,
                                   .type = PR_BUFFER_OUT,
                                   .address = h->out.iova,
                                   .bytes = h->out.bytes};
    m->size = PR_CALL_BYTES(2);
    return call;
}

static void finish_message(struct host *h, struct message *m)
{
    struct pr_program_event event;

    send_message(h, PR_CHANNEL_DATA_CHAIN_H2T, m->bytes, m->size);
    assert_int_equal(pr_le16(m->bytes + 6), PR_STATUS_OK);
    event = take_event(h);
    assert_int_equal(event.id, PR_CMD_PROGRAM_EVENT);
    assert_int_equal(event.cookie, 0x1234);
    assert_int_equal(event.status, PR_STATUS_OK);
    expect_no_event(h);
}

static void two_partitions_compute(void **state)
{
    struct host *h = *state;
    struct test_rng rng = {0};
    struct tensor x = tensor(&rng, shape, 1, 0);
    struct container_image image;
    struct message m;
    uint32_t program;
    uint8_t byte;

    image_make(&image, h->text.iova, 0);
    image.procedure[0].partitions = 2;
    image.procedure[1].content = PR_CONTENT_PARTITION;
    program = load(h, &image);
    fill(h, &x);
    begin_message(h, &m, PR_EXE_PROCEDURE_CALL, program)->partitions = 2;
    finish_message(h, &m);
    expect_product(h, "middle", h->mid.iova, &x, 2);
    expect_product(h, "out", h->out.iova, &x, 6);
    /* The first alone. */
    fill(h, &x);
    (void)begin_message(h, &m, PR_EXE_PROCEDURE_CALL, program);
    finish_message(h, &m);
    expect_product(h, "middle", h->mid.iova, &x, 2);
    bare_get(&h->rig.bare, h->out.iova, &byte, 1);
    assert_int_equal(byte, 0x55);
    tensor_free(&x);
}

static void add_tail(struct message *m, const struct pr_call_tail *tail, const struct pr_custom_bar *bar,
                     const uint32_t *order)
{
    struct pr_call_tail copy = *tail;

    copy.execute_order_offset = m->size + PR_CALL_TAIL_BYTES(0, 0, tail->custom_bars);
    memcpy(m->bytes + m->size, &copy, sizeof(copy));
    memcpy(m->bytes + m->size + sizeof(copy), bar, tail->custom_bars * sizeof(*bar));
    memcpy(m->bytes + copy.execute_order_offset, order, tail->execute_order * sizeof(*order));
    m->size = copy.execute_order_offset + tail->execute_order * (uint32_t)sizeof(*order);
}

/*
 * The order 0, 1 makes 6 times the input; with the input's BAR on the output, 0, 1, 0, 1 makes the same of
 * what the output has, twice.
 */
static void an_execute_order_computes(void **state)
{
    static const uint32_t order[] = {0, 1, 0, 1};
    struct host *h = *state;
    const struct pr_custom_bar bar = {.type = PR_CUSTOM_BAR_GENERIC,
                                      .config = PR_CUSTOM_BAR_HW_32BIT,
                                      .bar_id = IN_BAR,
                                      .value = h->out.iova,
                                      .bytes = h->out.bytes};
    struct test_rng rng = {0};
    struct tensor x = tensor(&rng, shape, 1, 0);
    struct container_image image;
    struct message m;
    uint32_t program;

    image_make(&image, h->text.iova, 0);
    program = load(h, &image);
    fill(h, &x);
    (void)begin_message(h, &m, PR_EXE_PROCEDURE_CALL_WITH_BARS, program);
    add_tail(&m, &(struct pr_call_tail){.execute_order = 2}, NULL, order);
    finish_message(h, &m);
    expect_product(h, "out", h->out.iova, &x, 6);
    (void)begin_message(h, &m, PR_EXE_PROCEDURE_CALL_WITH_BARS, program);
    add_tail(&m, &(struct pr_call_tail){.execute_order = 4, .custom_bars = 1}, &bar, order);
    finish_message(h, &m);
    expect_product(h, "out", h->out.iova, &x, 216);
    expect_product(h, "in", h->in.iova, &x, 1);
    tensor_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_partitions_compute, setup, teardown),
        cmocka_unit_test_setup_teardown(an_execute_order_computes, setup, teardown),
    };

    return cmocka_run_group_tests_name("partitions", tests, NULL, NULL);
}
