/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boot: every handshake, version, surface and argument wrong once; warm and cold; the first commands,
 * each with what it changes.
 */
#include "support.h"

#include <stdio.h>
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

/* What is wrong with a word of the boot arguments: `bytes` at an offset are replaced. */
struct wrong {
    const char *what;
    size_t offset, bytes;
    uint64_t value;
    enum pr_boot_refusal reason;
    const char *text;
};
#define WORD(member) offsetof(struct pr_boot_args, member), sizeof(((struct pr_boot_args *)0)->member)

static const struct wrong matrix[] = {
    {"chip revision", WORD(chip_revision), 0x12, PR_REFUSAL_CHIP_REVISION, "12, this is 11"},
    {"protocol version", WORD(protocol_version), 0x000a0511, PR_REFUSAL_PROTOCOL_VERSION, "a0511"},
    {"ring version", WORD(ring_version), 0x00030000, PR_REFUSAL_RING_VERSION, "30000"},
    {"page size", WORD(page_bytes), 0x1000, PR_REFUSAL_PAGE_SIZE, "MMU invalid page size: 1000"},
    {"framework reservation", WORD(framework_bytes), 0x400000, PR_REFUSAL_HEAP, "twice"},
    {"no framework reservation", WORD(framework_bytes), 0, PR_REFUSAL_HEAP, "no room for the firmware"},
    {"no extra heap", WORD(heap), 0x90000000, PR_REFUSAL_HEAP, "extra heap"},
    {"small extra heap", WORD(heap_bytes), PR_EXTRA_HEAP_BYTES - 1, PR_REFUSAL_HEAP, "extra heap"},
    {"misaligned heap", WORD(heap), FWRIG_HEAP + 32, PR_REFUSAL_ARGUMENT, "extra heap 0x440020"},
    {"no IPC surface", WORD(ipc), 0x90000000, PR_REFUSAL_IPC, "IPC surface"},
    {"IPC surface at the end", WORD(ipc), UINT64_MAX - 63, PR_REFUSAL_IPC, "IPC surface"},
    {"small IPC surface", WORD(ipc_bytes), 0x100, PR_REFUSAL_IPC, "IPC surface"},
    {"misaligned IPC surface", WORD(ipc), FWRIG_IPC + 4, PR_REFUSAL_ARGUMENT, "IPC surface 0x410004"},
    {"no pool", WORD(pool), 0x90000000, PR_REFUSAL_IPC, "command pool"},
    {"small pool", WORD(pool_bytes), 1, PR_REFUSAL_IPC, "command pool"},
    {"misaligned pool", WORD(pool), FWRIG_POOL + 8, PR_REFUSAL_ARGUMENT, "command pool 0x540008"},
    {"slots", WORD(slot_bytes), 0x20, PR_REFUSAL_ARGUMENT, "slot 0x20"},
    {"misaligned image", WORD(image), 0x10000001000, PR_REFUSAL_ARGUMENT, "image 0x10000001000"},
    {"image above memory", WORD(image), 1ull << 48, PR_REFUSAL_ARGUMENT, "image 0x1000000000000"},
};

static void fresh_arguments(struct fwrig *rig)
{
    memset(fwrig_memory(rig, FWRIG_ARGS, PR_BOOT_ARGS_BYTES), 0, PR_BOOT_ARGS_BYTES);
    (void)fwrig_arguments(rig);
}

/* Each is refused by its number and its sentence, changes nothing, and the next boot is well. */
static void each_wrong_argument_is_refused(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++) {
        const struct wrong *w = &matrix[i];
        const size_t before = strlen(fwrig_log(rig));

        fresh_arguments(rig);
        memcpy(fwrig_memory(rig, FWRIG_ARGS + w->offset, w->bytes), &w->value, w->bytes);
        if (fwrig_boot(rig))
            fail_msg("%s: the boot is not refused", w->what);
        if (fwrig_read(rig, PR_CTRL_SCRATCH(7)) != (0xbad00000u | w->reason))
            fail_msg("%s: scratch 7 is 0x%x", w->what, fwrig_read(rig, PR_CTRL_SCRATCH(7)));
        if (!strstr(fwrig_log(rig) + before, w->text))
            fail_msg("%s: \"%s\" is not in: %s", w->what, w->text, fwrig_log(rig) + before);
        assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0); /* no dump */
        fresh_arguments(rig);
        assert_true(fwrig_boot(rig));
    }
}

static void each_handshake_is_waited_for(void **state)
{
    struct fwrig *rig = *state;

    /* The first: only GO ends it; arguments that are not there are refused. */
    assert_int_equal(fwrig_enter(rig), FWRIG_IDLE);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0);
    fwrig_run(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(0), 0x90000000u);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), PR_BOOT_REFUSED | PR_REFUSAL_BOOT_ARGUMENTS);
    /* The third: another word than the magic number is refused, and the reason named. */
    fwrig_enter(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(3), 0x08042007);
    fwrig_run(rig);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(7)), PR_BOOT_REFUSED | PR_REFUSAL_MAGIC);
}

static void another_minor_version_warns(void **state)
{
    struct fwrig *rig = *state;

    fwrig_arguments(rig)->protocol_version++;
    fwrig_arguments(rig)->ring_version++;
    fwrig_boot_started(rig);
    assert_non_null(strstr(fwrig_log(rig), "protocol version 90512 differs from 90511 in its minor part"));
    assert_non_null(strstr(fwrig_log(rig), "ring-buffer version 20001 differs from 20000"));
    assert_int_equal(fwrig_counter(rig, "warned"), 2);
    fwrig_load(rig);
}

/* In the table's order, before the last handshake; what came too early is answered. */
static void channels_become_ready_in_turn(void **state)
{
    static const char *const names[] = {"TERMINAL", "IO",           "DEBUG",  "BUF_H2T",
                                        "BUF_T2H",  "SHAREDMALLOC", "IO_T2H", "DATA_CHAIN_H2T"};
    struct fwrig *rig = *state;
    struct pr_command_header *ping = (void *)fwrig_memory(rig, FWRIG_POOL, 24);
    struct pr_exe_header *call = (void *)fwrig_memory(rig, FWRIG_POOL + 0x100, 8);
    const char *at;

    fwrig_enter(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    assert_null(strstr(fwrig_log(rig), "is ready"));
    *ping = (struct pr_command_header){.id = PR_CMD_PING, .priority = 99};
    *call = (struct pr_exe_header){.id = PR_EXE_PROCEDURE_CALL, .status = 99};
    fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL, sizeof(*ping), 0);
    fwrig_post(rig, PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_POOL + 0x100, sizeof(*call), 0);
    fwrig_post(rig, PR_CHANNEL_DEBUG, 0x90000000u, 24, 0); /* a message that is not mapped */
    fwrig_write(rig, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    fwrig_run(rig);
    assert_int_equal(ping->priority, PR_STATUS_NOT_READY);
    assert_int_equal(call->status, PR_STATUS_NOT_READY);
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_IO, 0));
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_DEBUG, 0));
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_DATA_CHAIN_H2T, 0));
    at = fwrig_log(rig);
    for (unsigned i = 0; i < 8; i++) {
        char line[64];

        snprintf(line, sizeof(line), "channel %s is ready\n", names[i]);
        at = strstr(at, line);
        assert_non_null(at);
    }
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
}

static uint64_t last_total(struct fwrig *rig)
{
    uint64_t total;

    memcpy(&total, fwrig_retained(rig) + 16, sizeof(total)); /* behind magic and checksum */
    return total;
}

static void warm_keeps_what_cold_clears(void **state)
{
    struct fwrig *rig = *state;

    fwrig_select_warm(rig, true);
    fwrig_boot_started(rig); /* nothing was kept before */
    assert_non_null(strstr(fwrig_log(rig), "warm boot 0: the retained block is not whole and is cleared"));
    assert_int_equal(last_total(rig), 4); /* START, MCACHE_SIZE_GET, both of the endpoint */
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    assert_true(fwrig_boot(rig));
    assert_non_null(strstr(fwrig_log(rig), "warm boot 1: 9 commands and 0 log lines are kept"));
    assert_int_equal(last_total(rig), 9);
    /* Any changed bit, and it is cleared. */
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
        assert_true(last_total(rig) > 0);
        fwrig_retained(rig)[i * 16 + i % 16] ^= (uint8_t)(1u << i % 8);
        assert_true(fwrig_boot(rig));
        assert_int_equal(last_total(rig), 0);
    }
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    assert_true(fwrig_boot(rig));
    assert_int_equal(last_total(rig), 1);
    fwrig_select_warm(rig, false);
    assert_true(fwrig_boot(rig));
    assert_int_equal(last_total(rig), 0);
}

static void restarts_are_counted(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < 5; i++) {
        assert_true(fwrig_boot(rig));
        assert_int_equal(fwrig_counter(rig, "faulted"), i); /* cold boots too */
    }
    fwrig_forget(rig);
    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_counter(rig, "faulted"), 0);
}

static void no_call_before_the_cache_is_on(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_u32 one = {1};
    union fwrig_call call;

    assert_true(fwrig_boot(rig));
    fwrig_bind(rig);
    fwrig_load(rig);
    fwrig_call_make(&call, 1);
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_control(rig, PR_CMD_MCACHE_SIZE_GET, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
}

static void replies_have_content(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_u32 one = {1};
    const struct pr_body_setting known = {.count = 2, .row = {{1, 50}, {1, 100}}},
                                 unknown = {.count = 2, .row = {{1, 50}, {2, 1}}};
    const struct pr_body_property bad = {.channel = 8, .property = 0xa1};
    const struct pr_body_resources none = {0};
    const uint32_t *words = (const void *)fwrig_reply(rig)->body;

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(words[0], 1); /* and there is a buffer for lines */
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(words[0], 1); /* RUN */
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &bad, sizeof(bad)), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_control(rig, PR_CMD_RESOURCE_INFO_GET, &none, sizeof(none)), PR_STATUS_OK);
    assert_int_equal(words[2], 32); /* wait events */
    assert_int_equal(words[5], 16); /* cache requests */
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &known, sizeof(known)), PR_STATUS_OK);
    assert_int_equal(words[0], 2);
    assert_int_equal(fwrig_counter(rig, "switch-threshold-ns"), 100000);
    /* All or none. */
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &unknown, sizeof(unknown)),
                     PR_STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(fwrig_log(rig), "default setting 2 = 1: no such setting is known"));
    assert_int_equal(fwrig_counter(rig, "switch-threshold-ns"), 100000);
}

/* A call that waits longer than the threshold for its queue is late. */
static void the_switch_threshold_is_used(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_setting setting = {.count = 1, .row = {{1, 100}}};
    union fwrig_call call;

    fwrig_boot_started(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &setting, 16), PR_STATUS_OK);
    fwrig_load(rig);
    fwrig_call_make(&call, 1);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
    fwrig_pass(rig, 100000);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_int_equal(fwrig_counter(rig, "late"), 0);
    fwrig_pass(rig, 1);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_int_equal(fwrig_counter(rig, "late"), 1);
}

static uint32_t share_events(struct fwrig *rig, uint64_t address, uint32_t events, uint32_t flags)
{
    const struct pr_body_shared_events body = {address, events, flags};

    return fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &body, sizeof(body));
}

static void finish_call(struct fwrig *rig)
{
    struct pr_program_event event;
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
}

/* The store of 1 to 0x2_0646_8000, through the same guard, once for a completion and for nothing else. */
static void completions_ring_the_graphics_processor(void **state)
{
    const struct pr_doorbell_target target[] = {{.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 6},
                                                {.reg = 0x206468000ull, .bits = 1}};
    struct fwrig *rig = *state;

    fwrig_boot_started(rig);
    fwrig_load(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, NULL, 0), PR_STATUS_OK);
    assert_int_equal(share_events(rig, FWRIG_STATS, 2, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(share_events(rig, 0x90000000u, 2, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(share_events(rig, FWRIG_STATS, 2, 0), PR_STATUS_OK);
    assert_int_equal(((const uint32_t *)(const void *)fwrig_reply(rig)->body)[2], 2); /* both rows are used */
    finish_call(rig);
    assert_int_equal(fwrig_gpu_rings(rig), 0);
    assert_int_equal(fwrig_bind_targets(rig, target, 2), PR_STATUS_OK);
    for (unsigned i = 1; i <= 3; i++) {
        finish_call(rig);
        assert_int_equal(fwrig_gpu_rings(rig), i);
    }
    assert_true(fwrig_fabric_guarded(rig));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(each_wrong_argument_is_refused), T(each_handshake_is_waited_for),
        T(another_minor_version_warns),    T(channels_become_ready_in_turn),
        T(warm_keeps_what_cold_clears),    T(restarts_are_counted),
        T(no_call_before_the_cache_is_on), T(replies_have_content),
        T(the_switch_threshold_is_used),   T(completions_ring_the_graphics_processor),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
