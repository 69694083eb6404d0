/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's boot, its refusals, and the control commands, with the test as host. */
#include "support.h"

#include <string.h>

#include "fwrig.h"

static int setup(void **state)
{
    *state = fwrig_create();
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

/* Step by step, as docs/protocol.md tells it. */
static void handshakes_in_order(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_channel_record *record;

    assert_int_equal(fwrig_enter(rig), FWRIG_IDLE);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(0)), 8);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(1)) + 1, pr_ipc_bytes());
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(3)), 0x100000);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), 0x08042006);

    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0x12345678); /* not what it waits for */
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), 0x12345678);
    fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0xf7fbdff9);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), 0x08042006);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(0)), FWRIG_IPC);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(1)), 0);

    record = (const void *)fwrig_memory(rig, FWRIG_IPC, PR_IPC_TABLE_BYTES);
    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++) {
        assert_string_equal(record[i].name, pr_channel_table[i].name);
        assert_int_equal(record[i].type, pr_channel_table[i].type);
        assert_int_equal(record[i].bit, pr_channel_table[i].bit);
        assert_int_equal(record[i].slots, pr_channel_table[i].slots);
        assert_int_equal(record[i].ring, FWRIG_IPC + pr_ipc_ring_offset((enum pr_channel)i));
        assert_int_equal(record[i].ring_version, PR_RING_VERSION);
        assert_int_equal(fwrig_memory(rig, record[i].ring, 1)[0], 1); /* idle */
    }

    fwrig_write(rig, PR_CTRL_SCRATCH(3), 0x08042006);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(3)), 0);
}

static void expect_refusal(struct fwrig *rig, enum pr_boot_refusal reason, const char *text)
{
    assert_false(fwrig_boot(rig));
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), 0xbad00000u | reason);
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
    fwrig_run(rig); /* stays there */
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), PR_HANDSHAKE_GO);
}

#define REFUSED(change, reason, text)                                                     \
    do {                                                                                  \
        memset(fwrig_memory(rig, FWRIG_ARGS, PR_BOOT_ARGS_BYTES), 0, PR_BOOT_ARGS_BYTES); \
        args = fwrig_arguments(rig);                                                      \
        change;                                                                           \
        expect_refusal(rig, PR_REFUSAL_##reason, text);                                   \
    } while (0)

static void refuses_bad_arguments(void **state)
{
    struct fwrig *rig = *state;
    struct pr_boot_args *args;

    fwrig_hole(rig, FWRIG_ARGS, 1);
    expect_refusal(rig, PR_REFUSAL_BOOT_ARGUMENTS, "boot arguments cannot be read");
    fwrig_hole(rig, 0, 0);
    REFUSED(args->chip_revision++, CHIP_REVISION, "chip revision does not match: 12, this is 11");
    REFUSED(args->protocol_version += 0x10000, PROTOCOL_VERSION, "protocol version does not match");
    REFUSED(args->ring_version += 0x10000, RING_VERSION, "ring-buffer version does not match");
    REFUSED(args->page_bytes = 0x1000, PAGE_SIZE, "MMU invalid page size: 1000\n");
    REFUSED(args->framework_bytes = FW_CARVE_OUT_BYTES / 2, HEAP,
            "must exceed twice the framework reservation");
    REFUSED(args->framework_bytes = UINT64_MAX, HEAP, "must exceed twice the framework reservation");
    REFUSED(args->framework_bytes = 0, HEAP, "framework reservation 0x0 has no room");
    REFUSED(args->heap_bytes--, HEAP, "extra heap");
    REFUSED(args->heap = 0x80000000u, HEAP, "extra heap");
    REFUSED(args->ipc_bytes--, IPC, "IPC surface");
    REFUSED(args->ipc = 0x80000000u, IPC, "IPC surface");
    REFUSED(args->ipc += 4, ARGUMENT, "IPC surface 0x410004 is not aligned to 64 bytes");
    REFUSED(args->ipc = UINT64_MAX & ~0x3full, IPC, "IPC surface");
    REFUSED(args->pool_bytes = 0, IPC, "command pool");
    REFUSED(args->slot_bytes = 0x80, ARGUMENT, "slot 0x80 does not have the bytes of a slot");
    /* Several at once: the first of the list is told. */
    REFUSED((args->pool_bytes = 0, args->page_bytes = 1, args->ring_version = 0), RING_VERSION,
            "ring-buffer");
}

static void refuses_the_wrong_magic(void **state)
{
    struct fwrig *rig = *state;

    fwrig_enter(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(3), 1);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), PR_BOOT_REFUSED | PR_REFUSAL_MAGIC);
    assert_non_null(strstr(fwrig_log(rig), "scratch 3 does not hold the magic number: 1"));
}

static void boots_again(void **state)
{
    struct fwrig *rig = *state;

    for (int i = 0; i < 3; i++) {
        fwrig_boot_started(rig);
        fwrig_load(rig);
        assert_int_equal(fwrig_reply(rig)->header.process_id, 0);
    }
}

static void boot_commands_in_order(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_u32 one = {1};
    const struct pr_body_pmu pmu = {0x28e08c000};
    const struct pr_body_time time = {5000, 0};
    const struct pr_body_property property = {0, 0x10a4, 1};
    const struct pr_body_resources none = {0};
    const struct pr_body_setting setting = {.count = 1, .row = {{1, 100}}};
    const struct pr_body_resources *resources;
    uint32_t word;

    assert_true(fwrig_boot(rig));
    fwrig_rang(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, &one, sizeof(one)), 0);
    assert_int_equal(fwrig_rang(rig), 1u << 1);
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), 0);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_TQ_EN), PR_TM_TQ_EN_ON);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_IRQ_EN1), PR_TM_IRQ_EN1_ON);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_IRQ_EN2), PR_TM_IRQ_EN2_ON);
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        static const uint32_t weights[] = {1, 2, 3, 4, 5, 6, 30, 31};

        assert_int_equal(fwrig_read(rig, PR_ENGINE_TQ + i * PR_TQ_STRIDE + PR_TQ_PRTY), weights[i]);
    }
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), 0);
    fwrig_pass(rig, 1234);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &time, sizeof(time)), 0);
    assert_int_equal(((const struct pr_body_time *)(const void *)fwrig_reply(rig)->body)->controller_ns,
                     1234);
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &property, sizeof(property)), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_RESOURCE_INFO_GET, &none, sizeof(none)), 0);
    resources = (const void *)fwrig_reply(rig)->body;
    assert_int_equal(resources->programs, 144);
    assert_int_equal(resources->processes, 288);
    assert_int_equal(resources->calls_per_process, 127);
    assert_int_equal(resources->engines, 1);
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &setting, 16), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &setting, 24), PR_STATUS_BAD_SIZE);
    assert_int_equal(fwrig_control(rig, PR_CMD_MCACHE_SIZE_GET, &one, sizeof(one)), 0);
    memcpy(&word, fwrig_reply(rig)->body, sizeof(word));
    assert_int_equal(word, 0x200000);
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, NULL, 0), 0);
    fwrig_load(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &setting, 16), PR_STATUS_WRONG_STATE);
}

static void answers_queries(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t zero[16] = {0};
    const uint32_t *words = (const void *)fwrig_reply(rig)->body;
    struct fwrig_command ping = {.header = {.id = PR_CMD_PING}};

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_BUILDINFO, NULL, 0), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_BUILDINFO, zero, 0x40), 0);
    assert_int_equal(words[0], PR_PROTOCOL_VERSION);
    assert_non_null(strstr((const char *)(words + 2), "Anemone"));
    assert_int_equal(fwrig_control(rig, PR_CMD_CONFIG_GET, zero, 8), 0);
    assert_true(words[0] != 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_CONFIG_GET, zero, 4), PR_STATUS_BAD_SIZE);
    assert_int_equal(fwrig_control(rig, PR_CMD_STATS_BUFFER_SIZE_GET, zero, 16), 0);
    assert_true(words[0] == 0x28 && words[1] == 0x14 && words[2] == 0x10 && words[3] == 0x20);
    assert_int_equal(fwrig_control(rig, PR_CMD_STATS_BUFFER_SIZE_GET, NULL, 0), PR_STATUS_BAD_SIZE);
    /* A short request with room for the reply. */
    ping.header.id = PR_CMD_STATS_BUFFER_SIZE_GET;
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &ping, sizeof(ping.header), sizeof(ping.header) + 16));
    assert_int_equal(fwrig_reply(rig)->header.size, 16);
    assert_int_equal(words[3], 0x20);

    ping.header = (struct pr_command_header){.id = PR_CMD_PING};
    fwrig_rang(rig);
    assert_true(fwrig_send(rig, PR_CHANNEL_DEBUG, &ping, sizeof(ping.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&ping.header), 0);
    assert_int_equal(fwrig_rang(rig), 1u << 2);
    ping.header = (struct pr_command_header){.id = PR_CMD_START, .size = 4};
    assert_true(fwrig_send(rig, PR_CHANNEL_DEBUG, &ping, sizeof(ping.header) + 4, 0));
    assert_int_equal(PR_REPLY_STATUS(&ping.header), PR_STATUS_UNKNOWN_COMMAND);
    ping.header = (struct pr_command_header){.id = PR_CMD_CH_BUFFER_RETURN};
    assert_true(fwrig_send(rig, PR_CHANNEL_BUF_H2T, &ping, sizeof(ping.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&ping.header), PR_STATUS_BAD_SIZE);
}

static void names_what_it_does_not_do(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t answered[] = {
        PR_CMD_PRINT_ENABLE,
        PR_CMD_START,
        PR_CMD_SET_SNE_PMU_BASE2,
        PR_CMD_TIMEPROFILE_SHOW,
        PR_CMD_CH_PROPERTY_WRITE,
        PR_CMD_RESOURCE_INFO_GET,
        PR_CMD_ANE_DEFAULT_SETTING_SET,
        PR_CMD_MCACHE_SIZE_GET,
        PR_CMD_INIT_SHARED_EVENT_INFO,
        PR_CMD_PING,
        PR_CMD_BUILDINFO,
        PR_CMD_CONFIG_GET,
        PR_CMD_STATS_BUFFER_SIZE_GET,
        PR_CMD_LOAD_PROGRAM,
        PR_CMD_UNLOAD_PROGRAM,
        PR_CMD_CREATE_PROCESS,
        PR_CMD_PREMAP_BUFFER,
        PR_CMD_INFERENCE_CALL,
        PR_CMD_TERMINATE_PROCESS,
        PR_CMD_CPU_LOAD_GET,
        PR_CMD_STOP,
        PR_CMD_QUIESCE_STATE,
        PR_CMD_SUSPEND,
        PR_CMD_SECURE_MODE_START,
        PR_CMD_SECURE_MODE_STOP,
        PR_CMD_SECURE_MODE_RESUME_TRANSITION,
        PR_CMD_POWER_DOWN,
        PR_CMD_RESET,
        PR_CMD_SET_SNE_PMU_BASE,
        PR_CMD_POWER_DEVICE_ON,
        PR_CMD_POWER_DEVICE_OFF,
        PR_CMD_SET_DYNAMIC_POWERGATE,
        PR_CMD_CH_POWER_CONTROL,
        PR_CMD_PLATFORM_INFO,
        PR_CMD_CONFIG_GET_EXT,
        PR_CMD_BOOT,
        PR_CMD_PROGRAM_INTERFACE_VERSION_CHECK,
        PR_CMD_DEBUG_COMMAND_DATA_CHECK,
        PR_CMD_CH_PROPERTY_READ,
        PR_CMD_TRACE_ENABLE,
        PR_CMD_FW_RUN_MODE,
        PR_CMD_RPC_ENABLE,
        PR_CMD_SET_SNE_RPC_CHECK_CMD,
        PR_CMD_DSID_SET,
        PR_CMD_TIMEPROFILE_START,
        PR_CMD_TIMEPROFILE_STOP,
        PR_CMD_REG_FILE_LOAD,
        PR_CMD_CH_BUFFER_POOL_CONFIG_GET,
        PR_CMD_CH_BUFFER_POOL_CONFIG_SET,
        PR_CMD_CH_BUFFER_RECYCLE_MODE_SET,
        PR_CMD_CH_BUFFER_RECYCLE_START,
        PR_CMD_CH_BUFFER_RECYCLE_STOP,
        PR_CMD_REQUEST_PROGRAM_ID,
        PR_CMD_RETURN_PROGRAM_ID,
        PR_CMD_REQUEST_PROCESS_ID,
        PR_CMD_RETURN_PROCESS_ID,
        PR_CMD_IPC_ENDPOINT_SET,
        PR_CMD_IPC_ENDPOINT_UNSET,
        PR_CMD_IPC_ENDPOINT_SET2,
        PR_CMD_IPC_ENDPOINT_UNSET2,
        PR_CMD_PROCEDURE_CALL_CACHE_REQUEST,
        PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS,
        PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS,
        PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST,
        PR_CMD_FORCE_DISABLE_CACHE_REQUESTS,
        PR_CMD_BACK_CHANNEL_RPC,
    };

    assert_true(fwrig_boot(rig));
    for (unsigned i = 0; i < PR_WIRE_COUNT; i++) {
        const uint32_t id = pr_wire_table[i].id;
        bool known = false;

        for (unsigned k = 0; k < sizeof(answered) / sizeof(answered[0]); k++)
            known = known || answered[k] == id;
        if (known)
            continue;
        assert_int_equal(fwrig_control(rig, id, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
        assert_non_null(strstr(fwrig_log(rig), pr_wire_table[i].name));
    }
    assert_int_equal(fwrig_control(rig, 0x7777, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_non_null(strstr(fwrig_log(rig), "CMD = 0x7777 [unknown] is not supported on channel IO"));
}

static void refuses_bad_sizes(void **state)
{
    struct fwrig *rig = *state;
    const uint8_t body[32] = {0};
    struct fwrig_command c = {.header = {.id = PR_CMD_PING, .size = 4}};
    static uint8_t large[PR_MESSAGE_BYTES_MAX + 1];

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, body, 8), PR_STATUS_BAD_SIZE);
    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, body, 0), PR_STATUS_BAD_SIZE);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, body, 8), PR_STATUS_BAD_SIZE);
    /* header.size against the length, shorter and longer */
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&c.header), PR_STATUS_BAD_SIZE);
    c.header = (struct pr_command_header){.id = PR_CMD_PING};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + 8, 0));
    assert_int_equal(PR_REPLY_STATUS(&c.header), PR_STATUS_BAD_SIZE);
    c.header = (struct pr_command_header){.id = PR_CMD_PING, .size = 0xfffffff0u};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + 8, 0));
    assert_int_equal(PR_REPLY_STATUS(&c.header), PR_STATUS_BAD_SIZE);
    /* the bound on messages: below it and at it */
    memcpy(large, &(struct pr_command_header){.id = PR_CMD_PING, .size = 0x1b88 - 24}, 24);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, large, 0x1b88, 0));
    assert_int_equal(PR_REPLY_STATUS((struct pr_command_header *)(void *)large), 0);
    memcpy(large, &(struct pr_command_header){.id = PR_CMD_PING, .size = 0x1b89 - 24}, 24);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, large, 0x1b89, 0));
    assert_int_equal(PR_REPLY_STATUS((struct pr_command_header *)(void *)large), PR_STATUS_BAD_SIZE);
    /* no message to answer in: the slot still comes back, with a ring, and a notification says so */
    fwrig_rang(rig);
    fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL, 23, 0);
    fwrig_post(rig, PR_CHANNEL_IO, 0xdeadbeee0ull, 24, 0);
    fwrig_post(rig, PR_CHANNEL_IO, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX);
    fwrig_run(rig);
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(fwrig_slot_returned(rig, PR_CHANNEL_IO, fwrig_cursor(rig, PR_CHANNEL_IO) - i));
    assert_int_equal(fwrig_rang(rig), 1u << 1 | 1u << 6);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), 0);
}

static void takes_many_slots_at_one_ring(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t slots = pr_channel_table[PR_CHANNEL_IO].slots;

    assert_true(fwrig_boot(rig));
    for (uint32_t i = 0; i < slots; i++) {
        struct pr_command_header *header =
            (void *)fwrig_memory(rig, FWRIG_POOL + 0x100ull * i, sizeof(*header));

        *header = (struct pr_command_header){.id = PR_CMD_PING, .priority = 7};
        fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL + 0x100ull * i, sizeof(*header), 0);
    }
    fwrig_run(rig);
    for (uint32_t i = 0; i < slots; i++) {
        assert_true(fwrig_slot_returned(rig, PR_CHANNEL_IO, i));
        assert_int_equal(PR_REPLY_STATUS((struct pr_command_header *)(void *)fwrig_memory(
                             rig, FWRIG_POOL + 0x100ull * i, 24)),
                         0);
    }
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), 0);
}

static void reports_to_the_terminal(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_u32 on = {1}, off = {0};
    const char *line;

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, 0x7777, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_null(fwrig_terminal(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, &on, sizeof(on)), 0);
    fwrig_rang(rig);
    assert_int_equal(fwrig_control(rig, 0x7778, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_int_equal(fwrig_rang(rig), 1u << 1 | 1u << 0);
    line = fwrig_terminal(rig);
    assert_non_null(line);
    assert_string_equal(line, "CMD = 0x7778 [unknown] is not supported on channel IO");
    /* A host that returns nothing: lines are lost, commands are not. */
    for (unsigned i = 0; i < pr_channel_table[PR_CHANNEL_TERMINAL].slots + 5; i++)
        assert_int_equal(fwrig_control(rig, 0x7779, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    for (unsigned i = 0; i < pr_channel_table[PR_CHANNEL_TERMINAL].slots; i++)
        assert_non_null(fwrig_terminal(rig));
    assert_null(fwrig_terminal(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, &off, sizeof(off)), 0);
    assert_int_equal(fwrig_control(rig, 0x777a, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_null(fwrig_terminal(rig));
}

static void guards_its_doorbell(void **state)
{
    struct fwrig *rig = *state;
    size_t before;

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), 0);
    assert_true(fwrig_fabric_count(rig) >= 4);
    assert_true(fwrig_fabric_guarded(rig));
    /* Rejected twice: rung three times, and the host gets it. */
    before = fwrig_fabric_count(rig);
    fwrig_rang(rig);
    fwrig_reject(rig, 2);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), 0);
    assert_int_equal(fwrig_fabric_count(rig) - before, 3 * 4);
    assert_int_equal(fwrig_rang(rig), 1u << 1);
    assert_true(fwrig_fabric_guarded(rig));
    /* Rejected for good: given up, and told with the next ring. */
    fwrig_reject(rig, 8);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), 0);
    assert_int_equal(fwrig_rang(rig), 0);
    assert_non_null(strstr(fwrig_log(rig), "was rejected 8 times"));
    fwrig_post(rig, PR_CHANNEL_DEBUG, FWRIG_POOL, 24, 0);
    fwrig_run(rig);
    assert_int_equal(fwrig_rang(rig), 1u << 1 | 1u << 2);
    fwrig_uncorrectable(rig);
    fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL, 24, 0);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE); /* it stages its dump */
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
    assert_string_equal(fwrig_fault_text(rig), "Uncorrectable L2C error overflow");
}

/* A program with its header ids, for commands about programs and processes. */
static uint32_t about(struct fwrig *rig, uint32_t id, uint32_t program, uint32_t process, const void *body,
                      size_t bytes)
{
    struct fwrig_command c = {
        .header = {.id = id, .size = (uint32_t)bytes, .program_id = program, .process_id = process}};

    if (bytes)
        memcpy(c.body, body, bytes);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + bytes, 0));
    return PR_REPLY_STATUS(&c.header);
}

static void loads_and_unloads(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process stream, bypass, none;
    uint32_t id;
    struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = 0};
    struct container_image image;

    fwrig_boot_started(rig);
    fwrig_load(rig);
    fwrig_process_make(&stream, 3);
    fwrig_process_make(&bypass, 13);
    fwrig_process_make(&none, 16);
    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    load.bytes = image.size;
    for (uint32_t i = 1; i < PR_PROGRAMS_MAX; i++) {
        assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), 0);
        assert_int_equal(fwrig_reply(rig)->header.program_id, i);
    }
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_NO_RESOURCES);
    assert_int_equal(fwrig_reply(rig)->header.program_id, PR_NO_ID);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 144, PR_NO_ID, NULL, 0), PR_STATUS_NO_PROGRAM);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, PR_NO_ID, PR_NO_ID, NULL, 0), PR_STATUS_NO_PROGRAM);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 7, PR_NO_ID, NULL, 0), 0);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 7, PR_NO_ID, NULL, 0), PR_STATUS_NO_PROGRAM);
    assert_int_equal(fwrig_process(rig, 7, &stream, NULL), PR_STATUS_NO_PROGRAM);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), 0);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 7);

    assert_int_equal(fwrig_process(rig, 0, &bypass, NULL), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_process(rig, 0, &none, NULL), PR_STATUS_BAD_ARGUMENT);
    for (uint32_t i = 1; i < PR_PROCESSES_MAX; i++) {
        assert_int_equal(fwrig_process(rig, i % 2, &stream, &id), 0);
        assert_int_equal(id, i);
    }
    assert_int_equal(fwrig_process(rig, 1, &stream, NULL), PR_STATUS_NO_RESOURCES);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 1, PR_NO_ID, NULL, 0), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 1, 288, NULL, 0), PR_STATUS_NO_PROCESS);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 0, 1, NULL, 0), PR_STATUS_NO_PROGRAM);
    for (uint32_t i = 1; i < PR_PROCESSES_MAX; i += 2)
        assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, i % 4 == 1 ? 1 : PR_NO_ID, i, NULL, 0), 0);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 1, 1, NULL, 0), PR_STATUS_NO_PROCESS);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 1, PR_NO_ID, NULL, 0), 0);
}

/* A load with a working set has there, in place of what it held, where the firmware sees text and kernel. */
static void shows_sections_in_the_working_set(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_load load = {.container = FWRIG_CONTAINERS, .working = FWRIG_STATS};
    uint64_t *working = (void *)fwrig_memory(rig, FWRIG_STATS, sizeof(struct pr_working_set));
    struct container_image image;

    fwrig_boot_started(rig);
    fwrig_load(rig);
    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    load.bytes = image.size;
    memset(working, 0x55, sizeof(struct pr_working_set));
    load.working_bytes = sizeof(struct pr_working_set) - 1;
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    load.working_bytes = sizeof(struct pr_working_set);
    load.working = 0x90000000u; /* not mapped */
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_reply(rig)->header.program_id, PR_NO_ID);
    assert_true(working[0] == 0x5555555555555555u);
    load.working = FWRIG_STATS;
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 1); /* the refused ones left no program */
    assert_true((uint32_t)working[0] == FWRIG_TEXT && working[0] >> 32 == 0x1bc4);
    assert_int_equal(working[1], IMAGE_TEXT_BYTES);
    assert_true((uint32_t)working[2] == FWRIG_KERNEL && working[2] >> 32 == 0x1bc4);
}

static uint32_t load_image(struct fwrig *rig, const struct container_image *image)
{
    const struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = image->size};

    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image->size), image->bytes, image->size);
    return fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load));
}

static void refuses_bad_programs(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = 0};
    struct container_image image;
    uint8_t *text = fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES);

    fwrig_boot_started(rig);
    image_text(text);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_CONTAINER);
    load = (struct pr_body_load){.container = 0x90000000u, .bytes = 0x1000};
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    load = (struct pr_body_load){.container = FWRIG_CONTAINERS, .bytes = 0x40000001u};
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    load = (struct pr_body_load){.container = UINT64_MAX - 15, .bytes = 32};
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    load = (struct pr_body_load){.container = FWRIG_BASE, .bytes = FWRIG_BYTES}; /* larger than the heap */
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_NO_RESOURCES);

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.package->version++;
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "version 2"));
    image_make(&image, 0x70000000u, FWRIG_KERNEL);
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "is not mapped"));
    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.procedure[0].operation = 1; /* two descriptors, but the chain at 0 has one */
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "ends the chain too early"));

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    pr_put_le32(text + 28, 0x100); /* one descriptor, but it has a next */
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "should be the last"));
    image_text(text);
    pr_put_le32(text + 0x400 + 28, 0x480); /* not aligned */
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    pr_put_le32(text + 0x400 + 28, 0x800); /* outside */
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "outside the text"));
    pr_put_le32(text + 0x400 + 28, 0x400); /* a loop: longer than declared */
    pr_put_le32(text + 0x400 + 4, (20 - 1) << 16);
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    image_text(text);
    pr_put_le32(text + 0x400 + 4, (10 - 1) << 16); /* ten words, and eleven are needed */
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    assert_non_null(strstr(fwrig_log(rig), "extended header"));
    pr_put_le32(text + 0x400 + 4, (9 - 1) << 16);
    assert_int_equal(load_image(rig, &image), PR_STATUS_BAD_CONTAINER);
    image_text(text);
    assert_int_equal(load_image(rig, &image), 0);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 0); /* nothing of the failed ones is left */
    assert_non_null(strstr(fwrig_log(rig), "text at 0x800000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(handshakes_in_order),
        T(refuses_bad_arguments),
        T(refuses_the_wrong_magic),
        T(boots_again),
        T(boot_commands_in_order),
        T(answers_queries),
        T(names_what_it_does_not_do),
        T(refuses_bad_sizes),
        T(takes_many_slots_at_one_ring),
        T(reports_to_the_terminal),
        T(guards_its_doorbell),
        T(shows_sections_in_the_working_set),
        T(loads_and_unloads),
        T(refuses_bad_programs),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
