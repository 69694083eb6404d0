/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime sends to the driver: sequence numbers and the session. The linker sends its calls to the
 * function below (tests/meson.build).
 */
#include "support.h"

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

IOReturn __wrap_IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                    uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                    uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                    size_t *outputStructCount)
{
    IOReturn status;

    if (selector == 2 && requests < 8)
        memcpy(&seen[requests++], inputStruct, sizeof(seen[0]));
    if (selector == 3)
        create_session = ((const struct ane_program_create *)inputStruct)->session;
    if (selector == 4)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_count_from_zero_in_their_session),
    };

    return cmocka_run_group_tests_name("runtime_requests", tests, NULL, NULL);
}
