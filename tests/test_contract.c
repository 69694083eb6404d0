/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promises of the public headers about more than one call: whose sentence an error has, what is left after a
 * failure, how profiling counts.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "e5rig.h"
#include "iorig.h"

/* Client a fails with this number in its sentence; no other client may ever see it. */
#define MARK      3735928559u
#define MARK_TEXT "3735928559"

static struct ane_machine *make(void)
{
    return iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
}

static IOReturn map_nothing(const struct iorig_client *a)
{
    struct ane_memory_map map = {.token = a->session, .surface = MARK, .usage = ANE_MAP_INPUT, .size = 64};
    uint64_t zero = 0, address;
    uint32_t one = 1;

    return IOConnectCallMethod(a->connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map, sizeof(map), &address,
                               &one, NULL, NULL);
}

static void open_a(struct ane_machine *machine, struct iorig_client *a)
{
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, a),
                     kIOReturnSuccess);
}

/* What another client does next follows a failure of a's on the same driver and in the same thread. */
static void fail_as(const struct iorig_client *a)
{
    assert_int_equal(map_nothing(a), kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), MARK_TEXT));
}

/* The code, and a sentence of its own with these words; NULL: none. */
static void expect(IOReturn status, IOReturn expected, const char *words)
{
    const char *sentence = ane_machine_error();

    assert_int_equal(status, expected);
    if (words ? !strstr(sentence, words) : sentence[0] != '\0')
        fail_msg("\"%s\" does not say \"%s\"", sentence, words ? words : "");
    assert_null(strstr(sentence, MARK_TEXT));
}

static IOReturn plain_call(io_connect_t connect, uint32_t selector)
{
    return IOConnectCallMethod(connect, selector, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL);
}

static void a_refusal_has_its_own_sentence(void **state)
{
    struct ane_machine *machine = make();
    io_service_t service = ane_machine_service(machine);
    io_connect_t fresh, none;
    struct iorig_client a, b;

    (void)state;
    open_a(machine, &a);
    fail_as(&a), expect(iorig_open(service, 0, ANE_CLIENT_CONTROL, &b), kIOReturnSuccess, NULL);
    fail_as(&a), expect(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &fresh), kIOReturnSuccess, NULL);
    fail_as(&a), expect(plain_call(fresh, ANE_CONTROL_DeviceClose), kIOReturnNotReady, "ANE_DeviceOpen");
    fail_as(&a), expect(plain_call(fresh, 17), kIOReturnBadArgument, "Selector 17");
    fail_as(&a), expect(plain_call(b.connect, ANE_CONTROL_DeviceOpen), kIOReturnBadArgument, "sizes");
    fail_as(&a), expect(plain_call(b.connect, ANE_CONTROL_UnregisterDebugWorkProcessor), kIOReturnNotReady,
                        "not registered");
    fail_as(&a), expect(iorig_destroy(&b, 77), kIOReturnNotFound, "0x4d");
    fail_as(&a), expect(plain_call(b.connect, ANE_CONTROL_DeviceClose), kIOReturnSuccess, NULL);
    fail_as(&a), expect(plain_call(b.connect, ANE_CONTROL_DeviceClose), ANE_RETURN_CLOSED, "closed");
    fail_as(&a), expect(IOServiceClose(b.connect), kIOReturnSuccess, NULL);
    fail_as(&a), expect(IOServiceClose(b.connect), ANE_RETURN_CLOSED, "closed");
    fail_as(&a), expect(plain_call(b.connect, ANE_CONTROL_DeviceClose), ANE_RETURN_CLOSED, "closed");
    fail_as(&a), expect(plain_call(1, ANE_CONTROL_DeviceClose), kIOReturnBadArgument, "no such connection");
    fail_as(&a), expect(IOConnectCallAsyncMethod(fresh, ANE_CONTROL_ProgramSendRequest, 0, NULL, 0, NULL, 0,
                                                 NULL, 0, NULL, NULL, NULL, NULL),
                        kIOReturnBadArgument, "asynchronous");
    fail_as(&a), expect(IOServiceOpen(service, 0, 77, &none), kIOReturnBadArgument, "type 77");
    fail_as(&a),
        expect(IOServiceOpen(service, 99999, ANE_CLIENT_CONTROL, &none), kIOReturnBadArgument, "task 99999");
    fail_as(&a),
        expect(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, NULL), kIOReturnBadArgument, "no place");
    fail_as(&a), expect(IOServiceOpen(0, 0, ANE_CLIENT_CONTROL, &none), kIOReturnNoDevice, "no such service");
    ane_machine_destroy(machine);
    expect(plain_call(fresh, ANE_CONTROL_DeviceClose), ANE_RETURN_CLOSED, "closed");
}

/* A call that is injected at a virtual time; what came of it is judged by the test's own thread. */
struct player {
    struct iorig_accumulator b;
    IOReturn status;
    char sentence[512];
};

static void keep(struct player *player, IOReturn status)
{
    player->status = status;
    snprintf(player->sentence, sizeof(player->sentence), "%s", ane_machine_error());
}

static void play_step(void *context)
{
    struct player *player = context;

    keep(player, iorig_accumulator_step(&player->b));
}

static void play_failure(void *context)
{
    struct player *player = context;

    keep(player, map_nothing(&player->b.client));
}

static void play_close(void *context)
{
    struct player *player = context;

    IOServiceClose(player->b.client.connect);
}

static void at(struct ane_machine *machine, uint64_t when, void (*play)(void *context), struct player *player)
{
    assert_int_equal(ane_machine_call_at(machine, when, play, player), 0);
}

/*
 * b's request is with the firmware, or (queued) in the driver behind one of another client, when a fails and
 * b is closed. b's call ends without a sentence of the driver's.
 */
static void abort_after_a_failure(bool queued)
{
    struct ane_machine *machine = make();
    struct player a = {0}, b = {0}, first = {0};
    uint64_t now;

    open_a(machine, &a.b.client);
    iorig_accumulator_make(&b.b, ane_machine_service(machine), 2, 16);
    iorig_accumulator_make(&first.b, ane_machine_service(machine), 2, 16);
    now = ane_machine_now(machine);
    if (queued)
        at(machine, now + 10, play_step, &first);
    at(machine, now + 20, play_step, &b);
    at(machine, now + 30, play_failure, &a);
    at(machine, now + 40, play_close, &b);
    assert_int_equal(ane_machine_run(machine, UINT64_MAX), 0);
    assert_int_equal(a.status, kIOReturnBadArgument);
    assert_non_null(strstr(a.sentence, MARK_TEXT));
    assert_int_equal(b.status, kIOReturnAborted);
    assert_null(strstr(b.sentence, MARK_TEXT));
    assert_int_equal(first.status, kIOReturnSuccess);
    ane_surface_release(b.b.x);
    ane_surface_release(b.b.state);
    iorig_accumulator_release(&first.b);
    ane_machine_destroy(machine);
}

static void an_aborted_request_has_no_sentence_of_another(void **state)
{
    (void)state;
    abort_after_a_failure(false);
    abort_after_a_failure(true);
}

/* a fails while b's request is under way and then ends well: b's sentence stays empty. */
static void a_request_that_ends_well_has_no_sentence(void **state)
{
    struct ane_machine *machine = make();
    struct player a = {0}, b = {0};
    uint64_t now;

    (void)state;
    open_a(machine, &a.b.client);
    iorig_accumulator_make(&b.b, ane_machine_service(machine), 2, 16);
    now = ane_machine_now(machine);
    at(machine, now + 20, play_step, &b);
    at(machine, now + 30, play_failure, &a);
    assert_int_equal(ane_machine_run(machine, UINT64_MAX), 0);
    assert_int_equal(a.status, kIOReturnBadArgument);
    assert_int_equal(b.status, kIOReturnSuccess);
    assert_string_equal(b.sentence, "");
    iorig_accumulator_release(&b.b);
    ane_machine_destroy(machine);
}

static void a_profile_has_every_descriptor(void **state)
{
    struct ane_machine *machine = make();
    struct ane_machine_descriptor row[2];
    struct ane_machine_profile sums;
    struct iorig_accumulator b;
    uint32_t count = 7;

    (void)state;
    iorig_accumulator_make(&b, ane_machine_service(machine), 2, 16);
    assert_int_equal(ane_machine_profile_descriptors(machine, row, 2, &count), -EINVAL);
    assert_int_equal(count, 7);
    assert_int_equal(ane_machine_profile(machine, ANE_PROFILE_STAGES | ANE_PROFILE_DESCRIPTORS, NULL), 0);
    assert_int_equal(ane_machine_profile_descriptors(machine, NULL, 0, &count), 0);
    assert_int_equal(count, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    assert_int_equal(ane_machine_profile_descriptors(machine, row, 2, &count), 0);
    assert_int_equal(count, 1);
    assert_true(row[0].runs == 3 && row[0].index == 0 && row[0].address != 0);
    assert_true(row[0].least_ns <= row[0].wall_ns / 3);
    /* Two sources and a result of 2 channels of 16 columns, in fp16. */
    assert_true(row[0].bytes == 3ull * 2 * 16 * 2 && row[0].work == 2 * 16 && !row[0].multiplies);
    assert_string_equal(row[0].text, "add 2x1x16 -> 2x1x16");
    assert_int_equal(ane_machine_profile(machine, ANE_PROFILE_DESCRIPTORS, &sums), 0);
    assert_int_equal(sums.requests, 3);
    assert_int_equal(ane_machine_profile_descriptors(machine, NULL, 0, &count), 0);
    assert_int_equal(count, 0);
    /* It is on when the machine ends. */
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    iorig_accumulator_release(&b);
    ane_machine_destroy(machine);
}

static void a_profile_counts_until_it_is_switched(void **state)
{
    struct ane_machine *machine = make();
    struct ane_machine_profile sums;
    struct iorig_accumulator b;

    (void)state;
    iorig_accumulator_make(&b, ane_machine_service(machine), 2, 16);
    assert_int_equal(ane_machine_profile(machine, 1, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    assert_int_equal(ane_machine_profile(machine, 1, &sums), 0);
    assert_int_equal(sums.requests, 3);
    assert_int_equal(ane_machine_profile(machine, 0, &sums), 0);
    assert_int_equal(sums.requests, 3);
    assert_int_equal(ane_machine_profile(machine, 0, &sums), 0);
    assert_int_equal(sums.requests, 0);
    for (unsigned i = 0; i < ANE_STAGES; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(ane_machine_stage_name(i), ane_machine_stage_name(k));
    for (unsigned i = 0; i < ANE_STAGES; i++)
        assert_string_not_equal(ane_machine_stage_name(i), "");
    assert_string_equal(ane_machine_stage_name(ANE_STAGES), "");
    iorig_accumulator_release(&b);
    ane_machine_destroy(machine);
}

#define ONE   0x3c00u
#define SMALL 32u  /* elements: a row of 64 bytes, which the engine uses in place */
#define LARGE 333u /* elements: more than the machine's limit, in a row that has to be padded */

static e5rt_buffer_object_t filled(uint32_t elements, uint16_t value)
{
    e5rt_buffer_object_t buffer = e5rig_buffer(elements * 2);

    for (uint32_t i = 0; i < elements; i++)
        ((uint16_t *)e5rig_data(buffer))[i] = value;
    return buffer;
}

static void holds(e5rt_buffer_object_t buffer, uint32_t elements, uint16_t value)
{
    for (uint32_t i = 0; i < elements; i++)
        assert_int_equal(((uint16_t *)e5rig_data(buffer))[i], value);
}

static void bind_adder(e5rt_execution_stream_operation_t operation, e5rt_buffer_object_t x,
                       e5rt_buffer_object_t zero, e5rt_buffer_object_t sum)
{
    e5rig_bind(operation, "x", x);
    e5rig_bind(operation, "state_in", zero);
    e5rig_bind(operation, "state_out", sum);
}

/* The machine takes no descriptor of more than 100 elements: the second of three fails in the engine. */
static void a_stream_ends_at_its_first_failure(void **state)
{
    const struct td_shape small = {1, 1, 1, SMALL}, large = {1, 1, 1, LARGE};
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .clock = ANE_CLOCK_CLOSED, .max_work = 100};
    e5rt_buffer_object_t x = filled(SMALL, ONE), zero = filled(SMALL, 0), before = filled(SMALL, 0),
                         after = filled(SMALL, 0), wide = filled(LARGE, ONE), kept = filled(LARGE, 0x1234);
    e5rt_execution_stream_operation_t third;
    struct e5rig_model first, second;
    e5rt_execution_stream_t stream;

    (void)state;
    assert_int_equal(ane_machine_default(&config, NULL), 0);
    e5rig_write_adder("small.hwx", &small, 1);
    e5rig_write_adder("large.hwx", &large, 1);
    e5rig_model_open(&first, folder_path("small.hwx"));
    e5rig_model_open(&second, folder_path("large.hwx"));
    third = e5rig_operation(first.function, "third");
    bind_adder(first.operation, x, zero, before);
    bind_adder(second.operation, wide, wide, kept);
    bind_adder(third, x, zero, after);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, first.operation));
    OK(e5rt_execution_stream_encode_operation(stream, second.operation));
    OK(e5rt_execution_stream_encode_operation(stream, third));
    for (unsigned i = 0; i < 2; i++) { /* the stream stays encoded */
        memset(e5rig_data(before), 0, SMALL * 2);
        FAILS(e5rt_execution_stream_execute_sync(stream), E5RT_INVALID_OPERATION, "large.hwx");
        holds(before, SMALL, ONE);
        holds(kept, LARGE, 0x1234);
        holds(after, SMALL, 0);
    }
    OK(e5rt_execution_stream_reset(stream));
    OK(e5rt_execution_stream_encode_operation(stream, third));
    OK(e5rt_execution_stream_execute_sync(stream));
    holds(after, SMALL, ONE);
    OK(e5rt_execution_stream_release(&stream));
    OK(e5rt_execution_stream_operation_release(&third));
    e5rig_model_close(&first);
    e5rig_model_close(&second);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&zero));
    OK(e5rt_buffer_object_release(&before)), OK(e5rt_buffer_object_release(&after));
    OK(e5rt_buffer_object_release(&wide)), OK(e5rt_buffer_object_release(&kept));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_has_its_own_sentence),
        cmocka_unit_test(an_aborted_request_has_no_sentence_of_another),
        cmocka_unit_test(a_request_that_ends_well_has_no_sentence),
        cmocka_unit_test(a_profile_has_every_descriptor),
        cmocka_unit_test(a_profile_counts_until_it_is_switched),
        cmocka_unit_test(a_stream_ends_at_its_first_failure),
    };

    return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
