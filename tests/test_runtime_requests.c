/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime sends to the driver: sequence numbers and the session. The linker sends its calls to the
 * function below (tests/meson.build).
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include <anemone/iokit.h>

#include "e5rig.h"

IOReturn __real_IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                    uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                    uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                    size_t *outputStructCount);
IOReturn __wrap_IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                    uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                    uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                    size_t *outputStructCount);

static struct ane_request seen[8];
static unsigned requests;
static uint64_t session, create_session, prepare_session;
static struct ane_inputs_ready trigger[8];
static unsigned chains, sets, triggers;

/* Numbers of direct-path selectors are those of others on a control client: the structs differ. */
static void note_chained(const void *in, size_t size)
{
    chains += size == sizeof(struct ane_chaining_prepare);
    sets += size == sizeof(struct ane_output_set);
    if (size == sizeof(trigger[0]) && triggers < 8)
        memcpy(&trigger[triggers++], in, size);
}

IOReturn __wrap_IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                    uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                    uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                    size_t *outputStructCount)
{
    IOReturn status;

    if (selector == 2 && requests < 8)
        memcpy(&seen[requests++], inputStruct, sizeof(seen[0]));
    note_chained(inputStruct, inputStructCount);
    if (selector == 3 && inputStructCount == sizeof(struct ane_program_create))
        create_session = ((const struct ane_program_create *)inputStruct)->session;
    if (selector == 4 && inputStructCount == sizeof(struct ane_program_prepare))
        prepare_session = ((const struct ane_program_prepare *)inputStruct)->session;
    status = __real_IOConnectCallMethod(connect, selector, input, inputCount, inputStruct, inputStructCount,
                                        output, outputCount, outputStruct, outputStructCount);
    if (selector == 0)
        memcpy(&session, outputStruct, sizeof(session));
    return status;
}

/* Table 27.6: the sequence is 0, then 1; Table 27.3: every later request has the session's token. */
static void requests_count_from_zero_in_their_session(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_execution_stream_t stream;
    e5rt_buffer_object_t buffer;
    struct e5rig_model model;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    buffer = e5rig_buffer(64);
    e5rig_bind(model.operation, "x", buffer), e5rig_bind(model.operation, "state_in", buffer);
    e5rig_bind(model.operation, "state_out", buffer);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    for (unsigned i = 0; i < 3; i++)
        OK(e5rt_execution_stream_execute_sync(stream));
    assert_int_equal(requests, 3);
    assert_true(session != 0);
    assert_true(create_session == session && prepare_session == session);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seen[i].sequence, i);
        assert_true(seen[i].session == session);
        assert_true(seen[i].priority == 5 && seen[i].qos == 21 && seen[i].category == 2);
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&buffer));
}

/* With ANEMONE_CHAINING=1 an operation whose output is its input too runs by triggers alone. */
static void bound_to_both_ends_it_runs_by_triggers(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_execution_stream_t stream;
    e5rt_buffer_object_t x, held, other;
    struct e5rig_model model;

    (void)state;
    requests = chains = sets = triggers = 0;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    x = e5rig_buffer(64);
    held = e5rig_buffer(64);
    other = e5rig_buffer(64);
    for (unsigned i = 0; i < 32; i++)
        ((uint16_t *)e5rig_data(x))[i] = test_half_from_double(3);
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", held);
    e5rig_bind(model.operation, "state_out", held);
    OK(e5rt_execution_stream_create(&stream));
    assert_int_equal(setenv("ANEMONE_CHAINING", "1", 1), 0);
    for (unsigned i = 1; i <= 4; i++) {
        OK(e5rt_execution_stream_encode_operation(stream, model.operation));
        OK(e5rt_execution_stream_execute_sync(stream));
        OK(e5rt_execution_stream_reset(stream));
        for (unsigned k = 0; k < 32; k++)
            assert_true(test_half_to_double(((uint16_t *)e5rig_data(held))[k]) == 3 * i);
    }
    assert_true(chains == 1 && sets == 1 && triggers == 4 && requests == 0);
    assert_true(trigger[3].timestamp == 4 && trigger[3].inputs == 2);
    /* Another output: a request again; and back. */
    e5rig_bind(model.operation, "state_out", other);
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    OK(e5rt_execution_stream_reset(stream));
    assert_true(test_half_to_double(((uint16_t *)e5rig_data(other))[31]) == 15 && requests == 1);
    e5rig_bind(model.operation, "state_out", held);
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    assert_true(test_half_to_double(((uint16_t *)e5rig_data(held))[31]) == 15);
    assert_true(chains == 1 && sets == 1 && triggers == 5 && requests == 1);
    assert_int_equal(unsetenv("ANEMONE_CHAINING"), 0);
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&held)),
        OK(e5rt_buffer_object_release(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_count_from_zero_in_their_session),
        cmocka_unit_test(bound_to_both_ends_it_runs_by_triggers),
    };

    return cmocka_run_group_tests_name("runtime_requests", tests, NULL, NULL);
}
