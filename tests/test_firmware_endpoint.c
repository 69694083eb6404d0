/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint of the execution loop: bound first, checked field by field, and unbound. */
#include "support.h"

#include <string.h>

#include "fwrig.h"

#define HOST                                     \
    {                                            \
        .reg = FWRIG_HOST_DOORBELL, .bits = 0x40 \
    }
#define GRAPHICS 0x206468000ull

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

/* Everything but the endpoint. */
static void boot_unbound(struct fwrig *rig)
{
    const struct pr_body_u32 one = {1};

    assert_true(fwrig_boot(rig));
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_MCACHE_SIZE_GET, &one, sizeof(one)), PR_STATUS_OK);
    fwrig_load(rig);
}

static uint32_t call(struct fwrig *rig)
{
    union fwrig_call message;

    fwrig_call_make(&message, 1);
    return fwrig_call(rig, &message);
}

static void finish(struct fwrig *rig)
{
    struct pr_program_event event;

    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_OK);
}

static uint32_t unset(struct fwrig *rig, uint32_t id, uint32_t endpoint)
{
    const struct pr_body_u32 body = {endpoint};

    return fwrig_control(rig, id, &body, sizeof(body));
}

static unsigned times(const struct fwrig *rig, const char *words)
{
    unsigned count = 0;

    for (const char *at = fwrig_log(rig); (at = strstr(at, words)); at++)
        count++;
    return count;
}

/* Every id of the channel, also one that does not exist, and then the same call again. */
static void nothing_is_taken_before_it_is_bound(void **state)
{
    static const uint16_t ids[] = {0x2d, 0x204, 0x209, 0x20a, 0x20c, 0x211, 0x212, 0x404, 0xff00, 0x999};
    const struct pr_doorbell_target host = HOST;
    struct fwrig *rig = *state;
    union fwrig_call message;
    const size_t before = fwrig_pushes(rig);

    boot_unbound(rig);
    assert_int_equal(fwrig_counter(rig, "ipcEndpointSetDone"), 0);
    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        fwrig_call_make(&message, 1);
        message.call.head.id = ids[i];
        assert_int_equal(fwrig_call(rig, &message), PR_STATUS_NOT_READY);
    }
    assert_int_equal(times(rig, "ipcEndpointSetDone does not hold"), 10);
    assert_int_equal(fwrig_bind_ring(rig), PR_STATUS_OK);
    assert_int_equal(call(rig), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_counter(rig, "ipcEndpointSetDone"), 0);
    assert_int_equal(fwrig_bind_targets(rig, &host, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "ipcEndpointSetDone"), 1);
    assert_int_equal(fwrig_pushes(rig), before);
    assert_int_equal(call(rig), PR_STATUS_OK);
    finish(rig);
}

static void a_ring_is_that_of_the_channel(void **state)
{
    const struct pr_body_endpoint right = {.endpoint = 1,
                                           .channel = 7,
                                           .ring = FWRIG_IPC + pr_ipc_ring_offset(PR_CHANNEL_DATA_CHAIN_H2T),
                                           .bytes = 0x400};
    const struct {
        struct pr_body_endpoint body;
        const char *rule;
    } wrong[] = {
        {{0, 7, right.ring, 0x400}, "endPointId == CSNE_CMD_IPC_ENDPOINT_TYPE_DATA_CHAINING"},
        {{2, 7, right.ring, 0x400}, "endPointId == CSNE_CMD_IPC_ENDPOINT_TYPE_DATA_CHAINING"},
        {{1, 6, right.ring, 0x400}, "the ring is that of DATA_CHAIN_H2T"},
        {{1, 8, right.ring, 0x400}, "the ring is that of DATA_CHAIN_H2T"},
        {{1, 7, right.ring + 64, 0x400}, "the ring is that of DATA_CHAIN_H2T"},
        {{1, 7, 0, 0x400}, "the ring is that of DATA_CHAIN_H2T"},
        {{1, 7, right.ring, 0x3c0}, "the ring is that of DATA_CHAIN_H2T"},
        {{1, 7, right.ring, 0}, "the ring is that of DATA_CHAIN_H2T"},
    };
    struct fwrig *rig = *state;

    boot_unbound(rig);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const unsigned before = times(rig, wrong[i].rule);

        assert_int_equal(fwrig_control(rig, PR_CMD_IPC_ENDPOINT_SET, &wrong[i].body, sizeof(wrong[i].body)),
                         PR_STATUS_BAD_ARGUMENT);
        assert_int_equal(times(rig, wrong[i].rule), before + 1);
    }
    assert_int_equal(fwrig_control(rig, PR_CMD_IPC_ENDPOINT_SET, &right, sizeof(right) - 4),
                     PR_STATUS_BAD_SIZE);
    assert_int_equal(fwrig_control(rig, PR_CMD_IPC_ENDPOINT_SET, &right, sizeof(right)), PR_STATUS_OK);
}

static void targets_are_doorbells(void **state)
{
    static const struct {
        uint32_t count;
        struct pr_doorbell_target target[3];
        const char *rule; /* NULL: it is sound */
    } rows[] = {
        {0, {HOST}, "1 <= targets <= 3"},
        {4, {HOST, HOST, HOST}, "1 <= targets <= 3"},
        {1, {{.reg = 0, .bits = 1}}, "regValue != 0"},
        {1, {{.reg = FWRIG_HOST_DOORBELL, .bits = 0}}, "regValue != 0"},
        {3, {HOST, HOST, {.reg = GRAPHICS}}, "regValue != 0"},
        {1, {{.reg = GRAPHICS, .bits = 1}}, "regAddr and regValue are those of a doorbell"},
        {2, {HOST, {.reg = GRAPHICS, .bits = 2}}, "regAddr and regValue are those of a doorbell"},
        {2,
         {HOST, {.reg = FWRIG_HOST_DOORBELL + 4, .bits = 1}},
         "regAddr and regValue are those of a doorbell"},
        {2,
         {HOST, {.reg = FWRIG_CONTAINER + PR_CTRL_CPU_CONTROL, .bits = 1}},
         "regAddr and regValue are those of a doorbell"},
        {1, {HOST}, NULL},
        {3, {HOST, {.reg = GRAPHICS, .bits = 1}, {.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 20}}, NULL},
    };
    struct fwrig *rig = *state;

    boot_unbound(rig);
    assert_int_equal(fwrig_bind_ring(rig), PR_STATUS_OK);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const unsigned before = rows[i].rule ? times(rig, rows[i].rule) : 0;
        const uint32_t status = fwrig_bind_targets(rig, rows[i].target, rows[i].count);

        if (status != (rows[i].rule ? PR_STATUS_BAD_ARGUMENT : PR_STATUS_OK))
            fail_msg("row %u: %u", i, status);
        if (rows[i].rule)
            assert_int_equal(times(rig, rows[i].rule), before + 1);
    }
    assert_int_equal(times(rig, "IPC Writer regAddr 0x285848000 regValue 0x40"), 2);
    assert_int_equal(times(rig, "IPC Writer regAddr 0x206468000 regValue 0x1"), 1);
    assert_int_equal(times(rig, "IPC Writer regAddr 0x285848000 regValue 0x100000"), 1);
    /* One completion rings all three. */
    fwrig_rang(rig);
    assert_int_equal(call(rig), PR_STATUS_OK);
    finish(rig);
    assert_int_equal(fwrig_gpu_rings(rig), 1);
    assert_true(fwrig_rang(rig) & 1u << 20);
    assert_true(fwrig_fabric_guarded(rig));
}

/* Either half ends it; not while a call is in flight, and no other type does. */
static void it_is_unbound(void **state)
{
    const struct pr_doorbell_target target[] = {HOST, {.reg = GRAPHICS, .bits = 1}};
    struct fwrig *rig = *state;

    boot_unbound(rig);
    fwrig_bind(rig);
    assert_int_equal(call(rig), PR_STATUS_OK);
    assert_int_equal(unset(rig, PR_CMD_IPC_ENDPOINT_UNSET, 1), PR_STATUS_BUSY);
    assert_int_equal(unset(rig, PR_CMD_IPC_ENDPOINT_UNSET2, 1), PR_STATUS_BUSY);
    assert_int_equal(fwrig_bind_targets(rig, target, 2), PR_STATUS_BUSY);
    finish(rig);
    assert_int_equal(unset(rig, PR_CMD_IPC_ENDPOINT_UNSET, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(unset(rig, PR_CMD_IPC_ENDPOINT_UNSET2, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(call(rig), PR_STATUS_OK);
    finish(rig);
    assert_int_equal(unset(rig, PR_CMD_IPC_ENDPOINT_UNSET, 1), PR_STATUS_OK);
    assert_int_equal(call(rig), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_bind_ring(rig), PR_STATUS_OK);
    assert_int_equal(fwrig_bind_targets(rig, target, 2), PR_STATUS_OK);
    assert_int_equal(call(rig), PR_STATUS_OK);
    finish(rig);
    assert_int_equal(fwrig_gpu_rings(rig), 1);
    assert_int_equal(unset(rig, PR_CMD_IPC_ENDPOINT_UNSET2, 1), PR_STATUS_OK);
    assert_int_equal(call(rig), PR_STATUS_NOT_READY);
    fwrig_bind(rig);
    assert_int_equal(call(rig), PR_STATUS_OK);
    finish(rig);
    assert_int_equal(fwrig_gpu_rings(rig), 1);
}

/* A restart forgets it. */
static void a_boot_unbinds(void **state)
{
    struct fwrig *rig = *state;

    boot_unbound(rig);
    fwrig_bind(rig);
    assert_int_equal(call(rig), PR_STATUS_OK);
    fwrig_select_warm(rig, true);
    boot_unbound(rig);
    assert_int_equal(call(rig), PR_STATUS_NOT_READY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(nothing_is_taken_before_it_is_bound),
        T(a_ring_is_that_of_the_channel),
        T(targets_are_doorbells),
        T(it_is_unbound),
        T(a_boot_unbinds),
    };

    return cmocka_run_group_tests_name("firmware_endpoint", tests, NULL, NULL);
}
