/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's rebase: a process's own addresses, what is rebased when, and what reaches the buffer
 * registers.
 */
#include "support.h"

#include <string.h>

#include "firmware/state.h"
#include "fwrig.h"

/* Where the second domain has the program; the base domain has nothing there. */
#define TEXT_2    0x21000000u
#define KERNEL_2  0x22000000u
#define SCRATCH_2 0x23000000u

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static void second_make(union fwrig_process *process)
{
    fwrig_process_make(process, 4);
    process->part.buffer[0].address = TEXT_2;
    process->part.buffer[1].address = KERNEL_2;
    process->part.buffer[2].address = SCRATCH_2;
}

static const struct fwrig_push *call_of(struct fwrig *rig, uint32_t process, uint32_t procedure)
{
    const size_t before = fwrig_pushes(rig);
    union fwrig_call call;

    fwrig_call_make(&call, before);
    call.call.process_id = process;
    call.call.procedure = procedure;
    call.call.priority = (uint32_t)before % 8;
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(fwrig_pushes(rig), before + 1);
    return fwrig_push_at(rig, before);
}

static uint32_t bar(const struct fwrig_push *push, uint32_t number)
{
    return push->file[PR_TQ_BAR1 / 4 + number];
}

static void each_process_has_its_own_addresses(void **state)
{
    struct fwrig *rig = *state;
    const struct fwrig_push *push;
    union fwrig_process second;
    uint32_t id;

    second_make(&second);
    assert_int_equal(fwrig_process(rig, 0, &second, &id), 0);
    assert_int_equal(id, 1);
    assert_non_null(strstr(fwrig_log(rig), "text at 0x1bc421000000"));
    push = call_of(rig, 1, 1);
    assert_int_equal(push->address, TEXT_2 + 0x400);
    assert_int_equal(push->file[PR_TQ_STREAM / 4], 4);
    assert_int_equal(bar(push, 0), TEXT_2);
    assert_int_equal(bar(push, 1), KERNEL_2);
    assert_int_equal(bar(push, 9), SCRATCH_2);
    assert_int_equal(bar(push, 4), FWRIG_OUT);
    push = call_of(rig, 0, 1);
    assert_int_equal(push->address, FWRIG_TEXT + 0x400);
    assert_int_equal(push->file[PR_TQ_STREAM / 4], 3);
    assert_int_equal(bar(push, 0), FWRIG_TEXT);
    assert_int_equal(bar(push, 9), IMAGE_SCRATCH);
}

static void expect_refused(struct fwrig *rig, const union fwrig_process *process, const char *why)
{
    uint32_t id;

    assert_int_equal(fwrig_process(rig, 0, process, &id), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(id, PR_NO_ID);
    assert_non_null(strstr(fwrig_log(rig), why));
}

static void refuses_other_buffers(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process p;
    uint32_t id;

    second_make(&p);
    p.part.buffers = 2;
    expect_refused(rig, &p, "has 2 buffers of its program, which has 3 of its own");
    second_make(&p);
    p.part.buffer[1].index = PR_PROCESS_TEXT;
    expect_refused(rig, &p, "is there twice");
    second_make(&p);
    p.part.buffer[2].index = IMAGE_INPUT; /* calls bind it */
    expect_refused(rig, &p, "buffer 0x7 of a process, 0x4000 bytes at 0x23000000, is not one of");
    second_make(&p);
    p.part.buffer[2].index = 0x200;
    expect_refused(rig, &p, "buffer 0x200 of a process");
    second_make(&p);
    p.part.buffer[0].bytes = IMAGE_TEXT_BYTES - 1;
    expect_refused(rig, &p, "is smaller than the container says");
    second_make(&p);
    p.part.buffer[1].address = 0xe0000000u - IMAGE_KERNEL_BYTES + 64;
    expect_refused(rig, &p, "ends above 0xe0000000");
    p.part.buffer[1].address = 1ull << 32 | KERNEL_2;
    expect_refused(rig, &p, "0x4000 bytes at 0x122000000, is above 4 GiB");
    p.part.buffer[1].address = KERNEL_2 + 8;
    expect_refused(rig, &p, "at 0x22000008, has a reserved word");
    second_make(&p);
    p.part.buffer[1].reserved = 1;
    expect_refused(rig, &p, "at 0x22000000, has a reserved word");
    /* At the very end it fits, and nothing was kept of those refused. */
    second_make(&p);
    p.part.buffer[1].address = 0xe0000000u - IMAGE_KERNEL_BYTES;
    assert_int_equal(fwrig_process(rig, 0, &p, &id), 0);
    assert_int_equal(id, 1);
}

static void the_body_has_the_size_it_declares(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command create = {
        .header = {.id = PR_CMD_CREATE_PROCESS, .size = PR_PROCESS_BYTES(2), .process_id = PR_NO_ID}};
    union fwrig_process p;

    fwrig_process_make(&p, 3);
    memcpy(create.body, &p, sizeof(p));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &create, sizeof(create.header) + create.header.size, 0));
    assert_int_equal(PR_REPLY_STATUS(&create.header), PR_STATUS_BAD_SIZE);
    /* A count whose bytes are a small number again in 32 bits. */
    p.part.buffers = 0xaaaaaaabu;
    create.header = (struct pr_command_header){
        .id = PR_CMD_CREATE_PROCESS, .size = PR_PROCESS_BYTES(p.part.buffers), .process_id = PR_NO_ID};
    memcpy(create.body, &p, sizeof(p));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &create, sizeof(create.header) + create.header.size, 0));
    assert_int_equal(PR_REPLY_STATUS(&create.header), PR_STATUS_BAD_SIZE);
}

/* Table 28.8, and the check at both ends. */
static void translates_inside_the_region_only(void **state)
{
    struct pr_rebase_region region = {
        .dva_base = 0x4000, .region_size = 0x1000, .mapped_base = 0x1bc400008000ull};
    uint64_t runtime = 1;

    (void)state;
    assert_false(pr_rebase_translate(&region, 0x3fff, 1, &runtime));
    assert_false(pr_rebase_translate(&region, 0x5000, 1, &runtime));
    assert_false(pr_rebase_translate(&region, 0x4000, 0x1001, &runtime));
    assert_false(pr_rebase_translate(&region, 0x4fff, 2, &runtime));
    assert_false(pr_rebase_translate(&region, 0, UINT64_MAX, &runtime));
    assert_false(pr_rebase_translate(&region, UINT64_MAX, 2, &runtime));
    assert_int_equal(runtime, 1);
    assert_true(pr_rebase_translate(&region, 0x4000, 0x1000, &runtime));
    assert_int_equal(runtime, 0x1bc400008000ull);
    assert_true(pr_rebase_translate(&region, 0x4fff, 1, &runtime));
    assert_int_equal(runtime, 0x1bc400008fffull);
}

/* The fields of Table 28.8 as they are in the firmware's memory. */
static uint64_t region_field(const struct fwrig *rig, uint32_t offset)
{
    const struct fw *fw = fwrig_firmware(rig);

    return pr_le64((const uint8_t *)&fw->engine + 0xa000 + offset);
}

static void the_region_is_set_when_buffers_are_mapped(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process second;

    assert_int_equal(region_field(rig, 0xb98), FWRIG_TEXT);
    assert_int_equal(region_field(rig, 0xba0), IMAGE_SCRATCH + IMAGE_SCRATCH_BYTES - FWRIG_TEXT);
    assert_int_equal(region_field(rig, 0xba8), 0x1bc400800000ull);
    /* Another load, another base. */
    second_make(&second);
    assert_int_equal(fwrig_process(rig, 0, &second, NULL), 0);
    assert_int_equal(region_field(rig, 0xb98), TEXT_2);
    assert_int_equal(region_field(rig, 0xba0), SCRATCH_2 + IMAGE_SCRATCH_BYTES - TEXT_2);
    assert_int_equal(region_field(rig, 0xba8), 0x1bc421000000ull);
    /* Surfaces are below: the region of that process grows, and the base moves. */
    (void)call_of(rig, 1, 0);
    assert_int_equal(region_field(rig, 0xb98), FWRIG_IN);
    assert_int_equal(region_field(rig, 0xba8), 0x1bc400a00000ull);
}

static uint64_t rebased(const struct fwrig *rig, uint32_t process)
{
    const struct fw *fw = fwrig_firmware(rig);

    return fw->process[process].rebase->rebased;
}

static uint32_t call_at(struct fwrig *rig, uint64_t input, uint64_t bytes)
{
    struct pr_program_event event;
    union fwrig_call call;
    uint32_t status;

    fwrig_call_make(&call, 1);
    call.part.buffer[0].address = input;
    call.part.buffer[0].bytes = bytes;
    status = fwrig_call(rig, &call);
    if (!status) {
        assert_int_equal(bar(fwrig_push_at(rig, fwrig_pushes(rig) - 1), 5), (uint32_t)input);
        fwrig_retire(rig, 4, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
    }
    return status;
}

/* The count is exact: three of the program's own, and one per buffer that was not bound before. */
static void buffers_are_rebased_once(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command end = {.header = {.id = PR_CMD_TERMINATE_PROCESS}};

    assert_int_equal(rebased(rig, 0), FWRIG_OWN);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(call_at(rig, FWRIG_IN, IMAGE_INPUT_BYTES), 0);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 2);
    /* Two inputs in turn are both kept; another size is another mapping. */
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(call_at(rig, FWRIG_IN + i % 2 * 0x4000, IMAGE_INPUT_BYTES), 0);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 3);
    assert_int_equal(call_at(rig, FWRIG_IN, 2 * IMAGE_INPUT_BYTES), 0);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 4);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&end.header), 0);
    assert_non_null(strstr(fwrig_log(rig), "process 0 ends: 21 calls, 7 buffers rebased, 0 pre-mapped"));
}

/* More surfaces than the cache has entries: each is rebased again, and none gets the address of another. */
static void a_full_cache_stays_right(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 2 * FW_REBASE_SETS * FW_REBASE_WAYS; i++)
            assert_int_equal(call_at(rig, 0x01000000u + i * 0x4000u, IMAGE_INPUT_BYTES), 0);
    assert_true(rebased(rig, 0) > FWRIG_OWN + 2 * FW_REBASE_SETS * FW_REBASE_WAYS);
}

static void refuses_what_is_outside_the_aperture(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_at(rig, 0xe0000000u - IMAGE_INPUT_BYTES, IMAGE_INPUT_BYTES), 0);
    assert_int_equal(call_at(rig, 0xe0000000u - IMAGE_INPUT_BYTES + 64, IMAGE_INPUT_BYTES),
                     PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(call_at(rig, FWRIG_IN, UINT64_MAX), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(call_at(rig, 1ull << 32 | FWRIG_IN, IMAGE_INPUT_BYTES), PR_STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(fwrig_log(rig), "(buffer >> 32) == 0 does not hold: 0x100a00000"));
}

static const struct pr_rebase_record *record_of(const struct fwrig *rig, uint32_t process, uint32_t number)
{
    const struct fw *fw = fwrig_firmware(rig);

    return &fw->process[process].rebase->record[number];
}

static void expect_record(const struct pr_rebase_record *record, uint64_t reg, uint64_t first, uint64_t end)
{
    assert_int_equal(pr_rebase_get(record->reg), reg);
    assert_int_equal(pr_rebase_get(record->first), first);
    assert_int_equal(pr_rebase_get(record->end), end);
}

/* Space B and space C: the program's own operands at create, those of a call when it binds. */
static void records_pair_registers_with_operands(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process second;

    second_make(&second);
    assert_int_equal(fwrig_process(rig, 0, &second, NULL), 0);
    expect_record(record_of(rig, 1, 0), 0x285c25020, 0x1bc421000000, 0x1bc421000800);
    expect_record(record_of(rig, 1, 1), 0x285c25024, 0x1bc422000000, 0x1bc422004000);
    expect_record(record_of(rig, 1, 2), 0x285c25034, 0, 0);
    expect_record(record_of(rig, 1, 4), 0x285c25044, 0x1bc423000000, 0x1bc423004000);
    (void)call_of(rig, 1, 0);
    expect_record(record_of(rig, 1, 2), 0x285c25034, 0x1bc400a00000, 0x1bc400a01000);
    expect_record(record_of(rig, 1, 3), 0x285c25030, 0x1bc400a40000, 0x1bc400a42000);
    /* The values of two loads differ: the aperture moves. */
    assert_true(pr_rebase_get(record_of(rig, 0, 0)->first) != pr_rebase_get(record_of(rig, 1, 0)->first));
    expect_record(record_of(rig, 0, 0), 0x285c25020, 0x1bc400800000, 0x1bc400800800);
}

static uint32_t load(struct fwrig *rig, const struct container_image *image)
{
    const struct pr_body_load body = {.container = FWRIG_CONTAINERS, .bytes = image->size};

    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image->size), image->bytes, image->size);
    return fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &body, sizeof(body));
}

static void a_record_names_the_register_of_this_board(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    pr_rebase_put(image.record[2].reg, 0x26bc25034); /* t8103 */
    assert_int_equal(load(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "record 2: bar 5 is at 0x285c25034, not at 0x26bc25034"));
    pr_rebase_put(image.record[2].reg, 0x285c2517c); /* of queue 1 */
    assert_int_equal(load(rig, &image), PR_STATUS_BAD_CONTAINER);
}

/* A BAR gets what its record has: without one for the text it is 0, although the process has a text. */
static void a_bar_without_a_record_is_zero(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    union fwrig_process process;
    union fwrig_call call;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    memmove(&image.record[0], &image.record[1], 9 * sizeof(image.record[0]));
    memset(&image.record[9], 0, sizeof(image.record[9]));
    pr_put_le32(image.records, 9);
    assert_int_equal(load(rig, &image), 0);
    fwrig_process_make(&process, 3);
    assert_int_equal(fwrig_process(rig, 1, &process, NULL), 0);
    fwrig_call_make(&call, 1);
    call.call.program_id = call.call.process_id = 1;
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(bar(fwrig_push_at(rig, 0), 0), 0);
    assert_int_equal(bar(fwrig_push_at(rig, 0), 1), FWRIG_KERNEL);
}

/* A wide BAR: 64 bits in the firmware's table, and the register keeps what it had. */
static void wide_bars_go_to_a_table(void **state)
{
    struct fwrig *rig = *state;
    const struct fw *fw = fwrig_firmware(rig);
    struct container_image image;
    union fwrig_process process;
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    call.part.buffer[0].valid = 3;
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(fwrig_log(rig), "bar 5 of operation 0 is not wide: buffer 7 asks for that"));
    assert_int_equal(fwrig_pushes(rig), 0);

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.record[2].flags = 1;
    assert_int_equal(load(rig, &image), 0);
    fwrig_process_make(&process, 3);
    assert_int_equal(fwrig_process(rig, 1, &process, NULL), 0);
    fwrig_write(rig, PR_ENGINE_TQ + 4 * PR_TQ_STRIDE + PR_TQ_BAR1 + 4 * 5, 0x5eed);
    call.call.program_id = call.call.process_id = 1;
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(bar(fwrig_push_at(rig, 0), 5), 0x5eed);
    assert_int_equal(bar(fwrig_push_at(rig, 0), 4), FWRIG_OUT);
    assert_int_equal(fw->wide_bars[4], 1u << 5);
    assert_int_equal(fw->wide[4][5], 0x1bc400a00000);
    /* The next program on that queue has none. */
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    fwrig_call_make(&call, 2);
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(bar(fwrig_push_at(rig, 1), 5), FWRIG_IN);
    assert_int_equal(fw->wide_bars[4], 0);
}

static void premap_make(struct pr_body_premap *body)
{
    *body = (struct pr_body_premap){.operations = 1, .buffers = 1, .pool = PR_POOL_PREMAP};
    body->buffer = (struct pr_buffer){.valid = 1,
                                      .index = IMAGE_INPUT,
                                      .type = PR_BUFFER_IN,
                                      .address = FWRIG_IN,
                                      .bytes = IMAGE_INPUT_BYTES};
}

static uint32_t premap_of(struct fwrig *rig, uint32_t program, uint32_t process,
                          const struct pr_body_premap *body)
{
    struct fwrig_command c = {
        .header = {
            .id = PR_CMD_PREMAP_BUFFER, .size = sizeof(*body), .program_id = program, .process_id = process}};

    memcpy(c.body, body, sizeof(*body));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + sizeof(*body), 0));
    return PR_REPLY_STATUS(&c.header);
}

/* The call that binds it first finds it; only the output is new to it. */
static void a_premapped_buffer_is_found(void **state)
{
    struct fwrig *rig = *state;
    const struct fw *fw = fwrig_firmware(rig);
    struct pr_body_premap body;

    premap_make(&body);
    assert_int_equal(premap_of(rig, 0, 0, &body), 0);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 1);
    assert_int_equal(premap_of(rig, 0, 0, &body), 0); /* a second time changes nothing */
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 1);
    assert_int_equal(fw->process[0].rebase->premapped, 1);
    assert_int_equal(call_at(rig, FWRIG_IN, IMAGE_INPUT_BYTES), 0);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 2);
    /* Its pool is the one that was given; another index is another buffer. */
    for (uint32_t i = 0; i < FW_REBASE_SETS * FW_REBASE_WAYS; i++) {
        const struct fw_binding *entry =
            &fw->process[0].rebase->cache[i / FW_REBASE_WAYS][i % FW_REBASE_WAYS];

        assert_int_equal(entry->pool, entry->bytes && entry->index == IMAGE_INPUT ? PR_POOL_PREMAP : 0);
    }
    body.buffer.index = IMAGE_OUTPUT;
    body.buffer.bytes = IMAGE_OUTPUT_BYTES;
    assert_int_equal(premap_of(rig, 0, 0, &body), 0);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN + 3);
}

#define REFUSED(change, why)                                                   \
    do {                                                                       \
        premap_make(&body);                                                    \
        change;                                                                \
        assert_int_equal(premap_of(rig, 0, 0, &body), PR_STATUS_BAD_ARGUMENT); \
        assert_non_null(strstr(fwrig_log(rig), why));                          \
    } while (0)

static void refuses_bad_premaps(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_premap body;

    REFUSED(body.operations = 2, "does not have exactly one operation");
    REFUSED(body.buffers = 2, "pPreMapOp->nbrOfBuffers == 1 does not hold: 0x2");
    REFUSED(body.buffers = 0, "pPreMapOp->nbrOfBuffers == 1 does not hold: 0x0");
    REFUSED(body.pool = 0, "is for the pool of calls");
    REFUSED(body.buffer.address = 0, "0x1000 bytes at 0x0, has an address or a size of 0");
    REFUSED(body.buffer.bytes = 0, "0x0 bytes at 0xa00000, has an address or a size of 0");
    REFUSED(body.buffer.valid = 0, "is not valid");
    REFUSED(body.buffer.index = 511, "buffer 511, 0x1000 bytes at 0xa00000, is not a buffer of the program");
    REFUSED(body.buffer.index = IMAGE_MIDDLE, "is one of the program's own");
    REFUSED(body.buffer.address += 8, "is not aligned to 16 bytes");
    REFUSED(body.buffer.bytes -= 1, "is smaller than the container says");
    REFUSED(body.buffer.address |= 1ull << 32, "at 0x100a00000, is above 4 GiB");
    REFUSED(body.buffer.address = 0xe0000000u - 64, "at 0xdfffffc0, ends above 0xe0000000");
    premap_make(&body);
    assert_int_equal(premap_of(rig, 1, 0, &body), PR_STATUS_NO_PROGRAM);
    assert_int_equal(premap_of(rig, 0, 1, &body), PR_STATUS_NO_PROCESS);
    assert_int_equal(premap_of(rig, 0, PR_NO_ID, &body), PR_STATUS_NO_PROCESS);
    assert_int_equal(fwrig_control(rig, PR_CMD_PREMAP_BUFFER, &body, sizeof(body) - 8), PR_STATUS_BAD_SIZE);
    assert_int_equal(rebased(rig, 0), FWRIG_OWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_process_has_its_own_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_buffers, setup, teardown),
        cmocka_unit_test(translates_inside_the_region_only),
        cmocka_unit_test_setup_teardown(the_region_is_set_when_buffers_are_mapped, setup, teardown),
        cmocka_unit_test_setup_teardown(buffers_are_rebased_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_cache_stays_right, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_is_outside_the_aperture, setup, teardown),
        cmocka_unit_test_setup_teardown(records_pair_registers_with_operands, setup, teardown),
        cmocka_unit_test_setup_teardown(a_record_names_the_register_of_this_board, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bar_without_a_record_is_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(wide_bars_go_to_a_table, setup, teardown),
        cmocka_unit_test_setup_teardown(a_premapped_buffer_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_premaps, setup, teardown),
        cmocka_unit_test_setup_teardown(the_body_has_the_size_it_declares, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
