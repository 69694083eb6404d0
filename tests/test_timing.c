/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing m1: the virtual time of a dispatch by Table 2.3, and what others see while a stage passes. Times are
 * written here as the table has them: 25, 16, 2.5, 130 and 10 us, of 190 in all and 163 in selector 2.
 */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "driver/driver.h"
#include "e5rig.h"
#include "iorig.h"
#include "machine/internal.h"

#define US 1000u

enum {
    BIND = 25 * US,
    BUILD = 16 * US,
    KICK = 2500,
    ROUND_TRIP = 130 * US,
    COMPLETE = 10 * US,
    METHOD = 163 * US,
    CALL = 190 * US,
    ENTRY = METHOD - BUILD - KICK - ROUND_TRIP - COMPLETE, /* what the table leaves of the method */
    NETWORK = 750, /* the engine's time for the network that was measured, by the cost model */
    LINES = 900,   /* two interrupts of the controller and one of the host, chosen */
};

static struct ane_machine *make(uint32_t timing, uint32_t in_flight)
{
    return iorig_machine((struct ane_machine_config){
        .trace = 1, .clock = ANE_CLOCK_CLOSED, .timing = timing, .in_flight = in_flight});
}

/* Virtual time of one step of an accumulator, warm. */
static uint64_t step_ns(struct ane_machine *machine, struct iorig_accumulator *a)
{
    uint64_t before;

    assert_int_equal(iorig_accumulator_step(a), kIOReturnSuccess);
    assert_int_equal(ane_machine_run(machine, US * US), 0);
    before = ane_machine_now(machine);
    assert_int_equal(iorig_accumulator_step(a), kIOReturnSuccess);
    return ane_machine_now(machine) - before;
}

/* What the accumulator's descriptor takes by itself: the lines and the engine. */
static uint64_t plain_ns(void)
{
    struct ane_machine *machine = make(ANE_TIMING_NONE, 0);
    struct iorig_accumulator a;
    uint64_t ns;

    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    ns = step_ns(machine, &a);
    assert_true(ns > LINES);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
    return ns;
}

static uint64_t round_trip_ns(void)
{
    return ROUND_TRIP - LINES - NETWORK + plain_ns();
}

static void a_request_takes_the_stages_of_the_table(void **state)
{
    struct ane_machine *machine = make(ANE_TIMING_M1, 0);
    uint64_t interrupts;
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    assert_int_equal(step_ns(machine, &a), ENTRY + BUILD + KICK + round_trip_ns() + COMPLETE);
    assert_int_equal(ane_machine_run(machine, US * US), 0);
    interrupts = drv_stats_get(machine->driver).interrupts;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(drv_stats_get(machine->driver).interrupts - interrupts, 6);
    assert_true(iorig_accumulator_value(&a) == 5);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

static void a_stage_of_the_caller_passes(void **state)
{
    struct ane_machine *timed = make(ANE_TIMING_M1, 0), *plain = make(ANE_TIMING_NONE, 0);
    uint64_t before = ane_machine_now(timed);

    (void)state;
    assert_int_equal(ane_machine_spend(timed, BIND), 0);
    assert_int_equal(ane_machine_now(timed) - before, BIND);
    before = ane_machine_now(plain);
    assert_int_equal(ane_machine_spend(plain, BIND), 0);
    assert_int_equal(ane_machine_now(plain) - before, 0);
    assert_int_equal(ane_machine_spend(NULL, BIND), -EPERM);
    ane_machine_destroy(timed);
    ane_machine_destroy(plain);
}

/* Callers that begin at the same time, or one that closes the connection of another. */
struct party {
    struct ane_machine *machine;
    struct iorig_accumulator *a;
    uint64_t ended;
    IOReturn status;
};

static void step(void *context)
{
    struct party *party = context;

    party->status = iorig_accumulator_step(party->a);
    party->ended = ane_machine_now(party->machine);
}

static void close_connection(void *context)
{
    struct party *party = context;

    party->status = IOServiceClose(party->a->client.connect);
    party->ended = ane_machine_now(party->machine);
}

/*
 * Both cross into the kernel at once; the second builds when the first has left the gate, while that one's
 * round trip passes; it is sent when the first is complete.
 */
static void a_second_caller_builds_while_the_first_is_in_the_firmware(void **state)
{
    const uint64_t round_trip = round_trip_ns(), first = ENTRY + BUILD + KICK + round_trip + COMPLETE;
    uint64_t hash[2];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct ane_machine *machine = make(ANE_TIMING_M1, i / 2 ? ANE_IN_FLIGHT_ONE : ANE_IN_FLIGHT_BANDS);
        struct iorig_accumulator a, b;
        struct party one = {.machine = machine, .a = &a}, two = {.machine = machine, .a = &b};
        uint64_t begin;

        iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
        iorig_accumulator_make(&b, ane_machine_service(machine), 2, 16);
        step_ns(machine, &a);
        step_ns(machine, &b);
        assert_int_equal(ane_machine_run(machine, US * US), 0);
        begin = ane_machine_now(machine) + US;
        assert_int_equal(ane_machine_call_at(machine, begin, step, &one), 0);
        assert_int_equal(ane_machine_call_at(machine, begin, step, &two), 0);
        assert_int_equal(ane_machine_run(machine, US * US), 0);
        assert_int_equal(one.status, kIOReturnSuccess);
        assert_int_equal(two.status, kIOReturnSuccess);
        assert_int_equal(one.ended - begin, first);
        assert_int_equal(two.ended - begin, first + KICK + round_trip + COMPLETE);
        iorig_accumulator_release(&a);
        iorig_accumulator_release(&b);
        hash[i % 2] = ane_machine_trace_hash(machine);
        ane_machine_destroy(machine);
    }
    assert_true(hash[0] == hash[1]);
}

/* When the connection is closed, in each stage. A call that is aborted gives back what the client held. */
static void a_connection_closes_while_a_stage_passes(void **state)
{
    const uint64_t event = ENTRY + BUILD + KICK + round_trip_ns();
    const struct {
        uint64_t at;
        IOReturn status;
    } row[] = {
        {ENTRY / 2, ANE_RETURN_CLOSED},
        {ENTRY + BUILD / 2, kIOReturnAborted},
        {ENTRY + BUILD + KICK / 2, kIOReturnAborted},
        {ENTRY + BUILD + KICK + ROUND_TRIP / 2, kIOReturnAborted},
        {event + COMPLETE / 2, kIOReturnAborted},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct ane_machine *machine = make(ANE_TIMING_M1, 0);
        struct iorig_accumulator a, b;
        struct party caller = {.machine = machine, .a = &a}, closer = {.machine = machine, .a = &a};
        uint64_t begin;

        iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
        iorig_accumulator_make(&b, ane_machine_service(machine), 2, 16);
        step_ns(machine, &a);
        assert_int_equal(ane_machine_run(machine, US * US), 0);
        begin = ane_machine_now(machine) + US;
        assert_int_equal(ane_machine_call_at(machine, begin, step, &caller), 0);
        assert_int_equal(ane_machine_call_at(machine, begin + row[i].at, close_connection, &closer), 0);
        assert_int_equal(ane_machine_run(machine, US * US), 0);
        if (caller.status != row[i].status)
            fail_msg("row %zu: 0x%x, not 0x%x", i, (unsigned)caller.status, (unsigned)row[i].status);
        assert_int_equal(closer.status, kIOReturnSuccess);
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
        iorig_accumulator_release(&b);
        ane_surface_release(a.x);
        ane_surface_release(a.state);
        ane_machine_destroy(machine);
    }
}

/* The network of ch. 2: 3x3 convolution from 8 channels to 8 with padding 1, relu, mean. */
static const char network[] =
    "program(1.3)\n"
    "{\n"
    "    func main<ios18>(tensor<fp16, [1, 8, 16, 16]> x) {\n"
    "        tensor<fp16, [8, 8, 3, 3]> W = const()[name = string(\"W\"), val = tensor<fp16, [8, 8, 3, 3]>("
    "BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64(64)))];\n"
    "        tensor<int32, [4]> pad = const()[name = string(\"pad\"), "
    "val = tensor<int32, [4]>([1, 1, 1, 1])];\n"
    "        tensor<int32, [2]> one = const()[name = string(\"one\"), val = tensor<int32, [2]>([1, 1])];\n"
    "        tensor<fp16, [1, 8, 16, 16]> c = conv(x = x, weight = W, strides = one, dilations = one, "
    "pad_type = string(\"custom\"), pad = pad, groups = int32(1))[name = string(\"conv\")];\n"
    "        tensor<fp16, [1, 8, 16, 16]> r = relu(x = c)[name = string(\"relu\")];\n"
    "        tensor<fp16, [1, 8, 1, 1]> y = reduce_mean(x = r, axes = tensor<int32, [2]>([2, 3]), "
    "keep_dims = bool(true))[name = string(\"mean\")];\n"
    "    } -> (y);\n"
    "}\n";
#define WEIGHT_BYTES (2u * 8 * 8 * 3 * 3)

/* One blob of weights of 1.0 (guide facts 3.1). */
static void write_weights(void)
{
    static uint32_t file[(128 + WEIGHT_BYTES) / 4] = {
        1, 2, [16] = 0xdeadbeef, [17] = 1, [18] = WEIGHT_BYTES, [20] = 128};

    for (size_t i = 32; i < sizeof(file) / 4; i++)
        file[i] = 0x3c003c00;
    folder_write("weights.bin", file, sizeof(file));
}

static void the_network_of_chapter_2_takes_190_microseconds(void **state)
{
    const struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .timing = ANE_TIMING_M1, .trace = 1};
    struct ane_machine_profile profile;
    e5rt_buffer_object_t x, y;
    e5rt_execution_stream_t stream;
    struct ane_machine *machine;
    struct e5rig_model model;
    uint64_t before, inside = 0;

    (void)state;
    assert_int_equal(ane_machine_default(&config, &machine), 0);
    folder_write("network.mil", network, sizeof(network) - 1);
    write_weights();
    e5rig_model_open(&model, folder_path("network.mil"));
    x = e5rig_buffer(2 * 8 * 16 * 16);
    y = e5rig_buffer(2 * 8);
    e5rig_bind(model.operation, "x", x);
    e5rig_bind(model.operation, "y", y);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    assert_int_equal(ane_machine_run(machine, US * US), 0);
    assert_int_equal(ane_machine_profile(machine, 1, NULL), 0);
    before = ane_machine_now(machine);
    for (unsigned i = 0; i < 10; i++)
        OK(e5rt_execution_stream_execute_sync(stream));
    assert_int_equal(ane_machine_now(machine) - before, 10 * CALL);
    assert_int_equal(ane_machine_profile(machine, 0, &profile), 0);
    assert_int_equal(profile.requests, 10);
    for (unsigned i = 0; i < ANE_STAGES; i++)
        inside += profile.virtual_ns[i];
    assert_int_equal(inside, 10 * METHOD);
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x));
    OK(e5rt_buffer_object_release(&y));
}

static void timings_have_names(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .timing = 2};
    struct ane_machine *machine;

    (void)state;
    assert_int_equal(ane_timing_named("none"), ANE_TIMING_NONE);
    assert_int_equal(ane_timing_named("m1"), ANE_TIMING_M1);
    assert_int_equal(ane_timing_named("m2"), -1);
    assert_int_equal(ane_timing_named(NULL), -1);
    assert_int_equal(ane_machine_create(&config, &machine), -EINVAL);
    assert_string_equal(ane_machine_error(), "Timing 2 is unknown; none is 0 and m1 is 1.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timings_have_names),
        cmocka_unit_test(a_request_takes_the_stages_of_the_table),
        cmocka_unit_test(a_stage_of_the_caller_passes),
        cmocka_unit_test(a_second_caller_builds_while_the_first_is_in_the_firmware),
        cmocka_unit_test(a_connection_closes_while_a_stage_passes),
        cmocka_unit_test(the_network_of_chapter_2_takes_190_microseconds),
    };

    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
