/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that stays with the engine, both ways: by a buffer that is bound to an output and to an input
 * (e5rt.h), and by triggers of a chain whose output is the next execution's input (iokit.h, abi.h). A
 * key-value cache of 64 slots is filled slot by slot, by a masked update against a position vector, and is
 * compared with a computation in plain C that keeps nothing anywhere else. Numbers are small whole ones.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chain_machine.h"
#include "e5rig.h"
#include "graphrig.h"

#define CHANNELS 6u
#define SLOTS    64u
/* What the host sends for a slot. */
static double entry(unsigned slot, unsigned channel)
{
    return (double)((slot * 7 + channel * 3) % 97) - 40;
}

/* The update without residency: the whole state, from the beginning, after so many steps. */
static void compute(unsigned steps, double state[CHANNELS][SLOTS])
{
    for (unsigned c = 0; c < CHANNELS; c++)
        for (unsigned s = 0; s < SLOTS; s++)
            state[c][s] = 0;
    for (unsigned step = 0; step < steps; step++)
        for (unsigned c = 0; c < CHANNELS; c++)
            for (unsigned s = 0; s < SLOTS; s++)
                state[c][s] += (entry(step, c) - state[c][s]) * (s == step ? 1 : 0);
}

/* state_out = state_in + (token - state_in) * position. */
static uint64_t make_update(void)
{
    struct ane_program_prepare prepare;
    struct cc_program *program;
    uint32_t token, position, held;
    uint8_t *payload;
    uint64_t made;
    struct gr g;
    size_t size;

    gr_open(&g, 1, GR_WHOLE);
    token = gr_input(&g, "token", CC_FP16, GR(1, CHANNELS, 1, 1));
    position = gr_input(&g, "position", CC_FP16, GR(1, 1, 1, SLOTS));
    held = gr_input(&g, "state_in", CC_FP16, GR(1, CHANNELS, 1, SLOTS));
    gr_output(&g, gr_binary(&g, CC_OP_ADD, held,
                            gr_binary(&g, CC_OP_MUL, gr_binary(&g, CC_OP_SUB, token, held), position)));
    program = gr_lower(&g);
    payload = gr_payload(program, &size);
    made = prepare_program(ANE_PROGRAM_RT, payload, size, &prepare);
    assert_true(prepare.inputs == 3 && prepare.outputs == 1);
    free(payload);
    cc_program_destroy(program);
    gr_close(&g);
    return made;
}

static void expect_state(uint32_t surface, unsigned steps)
{
    double want[CHANNELS][SLOTS];

    compute(steps, want);
    for (unsigned c = 0; c < CHANNELS; c++)
        for (unsigned s = 0; s < SLOTS; s++)
            if (get(surface, SLOTS, c, s) != want[c][s])
                fail_msg("after %u steps slot %u of channel %u is %g, not %g", steps, s, c,
                         get(surface, SLOTS, c, s), want[c][s]);
}

/* What the host may do with a surface where a client has it. The engine has its pages elsewhere. */
static void close_to_host(uint32_t surface, size_t bytes, int protection)
{
    assert_int_equal(mprotect(ane_surface_base(surface), (bytes + 0x3fff) / 0x4000 * 0x4000, protection), 0);
}

/*
 * 64 triggers and nothing else: a store to the doorbell for each of them and one for each event whose slot
 * the host gives back. Only the pages of the small inputs are the host's; those of the state are closed to it
 * from the first trigger to the last.
 */
static void a_cache_is_filled_by_triggers(void **state)
{
    const uint64_t token = make_update();
    const size_t bytes = CHANNELS * ROW(SLOTS);
    uint32_t in[3], set[2];
    struct ane_chaining_reply chain;

    (void)state;
    lists = surface_of(0x4000);
    in[0] = surface_of(CHANNELS * ROW(1));
    in[1] = surface_of(ROW(SLOTS));
    in[2] = surface_of(bytes); /* what the state begins with: zeros */
    set[0] = surface_of(bytes);
    set[1] = surface_of(bytes);
    args_of(2, ANE_CHAINING_AUTO_RECYCLE);
    add_link(0, 0, 2);
    chain = prepare_chain(token);
    assert_true(chain.inputs == 3 && chain.outputs == 1 && chain.sets == 2);
    post_set(chain.handle, 0, set[0]);
    post_set(chain.handle, 1, set[1]);
    assert_true(watch.sets == 2 && watch.bell[7] == 2);
    close_to_host(set[0], bytes, PROT_NONE);
    close_to_host(set[1], bytes, PROT_NONE);
    watch_reset();
    for (unsigned step = 0; step < SLOTS; step++) {
        for (unsigned c = 0; c < CHANNELS; c++)
            put(in[0], 1, c, 0, entry(step, c));
        for (unsigned s = 0; s < SLOTS; s++)
            put(in[1], SLOTS, 0, s, s == step);
        if (trigger_with(chain.handle, step + 1, 3, in))
            fail_msg("step %u: %s", step, ane_machine_error());
        /* From here on the state is what the execution before has left, in one set or the other. */
        if (step == 0)
            memset(ane_surface_base(in[2]), 0x7e, bytes);
        in[2] = 0;
    }
    close_to_host(set[0], bytes, PROT_READ | PROT_WRITE);
    close_to_host(set[1], bytes, PROT_READ | PROT_WRITE);
    assert_int_equal(watch.triggers, SLOTS);
    assert_int_equal(watch.calls + watch.sets + watch.selections + watch.others, 0);
    assert_int_equal(watch.bell[7], SLOTS);
    assert_int_equal(watch.bell[pr_channel_table[PR_CHANNEL_IO_T2H].bit], SLOTS);
    assert_int_equal(watch.stores, 2 * SLOTS);
    expect_state(set[1], SLOTS);
    expect_state(set[0], SLOTS - 1);
}

/* y = a + b of iorig, with the sum as the next one's second input: 1, 2, 3, 4. */
static uint64_t make_adder(void)
{
    static uint8_t image[0x8000];
    struct ane_program_prepare prepare;
    const size_t size = iorig_image_add(image, sizeof(image), 2, 16);

    return prepare_program(ANE_PROGRAM_LEGACY, image, size, &prepare);
}

static void make_sums(uint32_t in[2], uint32_t set[2])
{
    lists = surface_of(0x4000);
    for (unsigned i = 0; i < 2; i++) {
        in[i] = surface_of(2 * ROW(16));
        set[i] = surface_of(2 * ROW(16));
    }
    for (unsigned c = 0; c < 2; c++)
        for (unsigned w = 0; w < 16; w++)
            put(in[0], 16, c, w, 1);
}

static void expect_sum(uint32_t surface, double want)
{
    for (unsigned c = 0; c < 2; c++)
        for (unsigned w = 0; w < 16; w++)
            if (get(surface, 16, c, w) != want)
                fail_msg("element %u, %u is %g, not %g", c, w, get(surface, 16, c, w), want);
}

static void the_accumulator_counts_by_triggers(void **state)
{
    const uint64_t token = make_adder();
    struct ane_chaining_reply chain;
    uint32_t in[2], set[2];

    (void)state;
    make_sums(in, set);
    args_of(2, ANE_CHAINING_AUTO_RECYCLE);
    add_link(0, 0, 1);
    chain = prepare_chain(token);
    post_set(chain.handle, 0, set[0]);
    post_set(chain.handle, 1, set[1]);
    watch_reset();
    for (unsigned step = 1; step <= 4; step++) {
        assert_int_equal(trigger_with(chain.handle, step, 2, in), kIOReturnSuccess);
        in[1] = 0;
        expect_sum(set[(step - 1) % 2], step);
    }
    assert_true(watch.triggers == 4 && watch.calls == 0 && watch.stores == 8);
    assert_int_equal(iorig_unprepare(&control, token), kIOReturnSuccess);
    assert_int_equal(trigger_with(chain.handle, 5, 2, in), kIOReturnNotFound);
}

/* Without the flag each set is used once for each time it is posted; a trigger waits for one. */
static void the_host_recycles(void **state)
{
    const uint64_t token = make_adder();
    struct ane_chaining_reply chain;
    struct ane_inputs_ready ready;
    uint64_t reference = 9;
    struct ane_port_message message;
    uint32_t in[2], set[2];
    ane_port_t port;

    (void)state;
    make_sums(in, set);
    args_of(2, 0);
    add_link(0, 0, 1);
    chain = prepare_chain(token);
    assert_int_equal(ane_port_create(&port), 0);
    post_set(chain.handle, 0, set[0]);
    post_set(chain.handle, 1, set[1]);
    for (unsigned step = 1; step <= 3; step++) {
        ready = inputs_of(chain.handle, step, 2, in);
        assert_int_equal(IOConnectCallAsyncMethod(direct.connect, ANE_DIRECT_ProgramInputsReady, port,
                                                  &reference, 1, NULL, 0, &ready, sizeof(ready), NULL, NULL,
                                                  NULL, NULL),
                         kIOReturnSuccess);
        in[1] = 0;
    }
    for (unsigned step = 1; step <= 2; step++) {
        assert_int_equal(ane_port_receive(port, &message, 1000000000), 0);
        assert_true(message.result == kIOReturnSuccess && message.reply.sequence == step &&
                    message.reply.token == chain.handle && message.reply.detail == step - 1);
    }
    expect_sum(set[0], 1);
    expect_sum(set[1], 2);
    assert_int_equal(iorig_unprepare(&control, token), kIOReturnBusy);
    /* The third reads set 1, and gets set 0 again. */
    post_set(chain.handle, 0, 0);
    assert_int_equal(ane_port_receive(port, &message, 1000000000), 0);
    assert_true(message.result == kIOReturnSuccess && message.reply.sequence == 3 &&
                message.reply.detail == 0);
    expect_sum(set[0], 3);
    assert_int_equal(ane_port_release(port), 0);
}

/* The second chain adds the first one's sum to itself, without the host between them. */
static void procedures_are_chained_without_the_host(void **state)
{
    static uint8_t image[2][0x8000];
    struct iorig_procedure procedure[2];
    struct ane_program_prepare prepare;
    struct ane_chaining_reply first, second;
    uint32_t in[2], set[2];
    uint64_t token;

    (void)state;
    make_sums(in, set);
    for (unsigned i = 0; i < 2; i++) {
        procedure[i].bytes = image[i];
        procedure[i].size = iorig_image_add(image[i], sizeof(image[i]), 2, 16);
    }
    if (iorig_create_several(&control, ANE_PROGRAM_LEGACY, "two", procedure, 2, &token) ||
        iorig_prepare(&control, token, &prepare))
        fail_msg("%s", ane_machine_error());
    args_of(1, ANE_CHAINING_AUTO_RECYCLE);
    first = prepare_chain(token);
    *args_of(1, ANE_CHAINING_AUTO_RECYCLE) = (struct ane_chaining_args){.version = ANE_CHAINING_ARGS_VERSION,
                                                                        .procedure = 1,
                                                                        .sets = 1,
                                                                        .flags = ANE_CHAINING_AUTO_RECYCLE,
                                                                        .priority = ANE_REQUEST_PRIORITY,
                                                                        .follow = first.handle};
    add_link(first.handle, 0, 0);
    add_link(first.handle, 0, 1);
    second = prepare_chain(token);
    post_set(first.handle, 0, set[0]);
    post_set(second.handle, 0, set[1]);
    watch_reset();
    for (unsigned step = 1; step <= 5; step++) {
        for (unsigned c = 0; c < 2; c++)
            for (unsigned w = 0; w < 16; w++)
                put(in[1], 16, c, w, step);
        if (trigger_with(first.handle, step, 2, in))
            fail_msg("step %u: %s", step, ane_machine_error());
        /* The call is over when both have ended. */
        expect_sum(set[0], 1 + step);
        expect_sum(set[1], 2 * (1 + step));
    }
    assert_true(watch.triggers == 5 && watch.bell[7] == 5 && watch.calls == 0);
}

/* state + x, or state - x. */
static uint8_t *payload_of(enum cc_op_kind kind, size_t *size)
{
    struct cc_program *program;
    uint8_t *payload;
    uint32_t x, held;
    struct gr g;

    gr_open(&g, 1, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(1, 2, 1, 16));
    held = gr_input(&g, "state_in", CC_FP16, GR(1, 2, 1, 16));
    gr_output(&g, gr_binary(&g, kind, held, x));
    program = gr_lower(&g);
    payload = gr_payload(program, size);
    cc_program_destroy(program);
    gr_close(&g);
    return payload;
}

/* A group of two procedures: sums in one place, written by the one or the other. */
static void a_group_switches_between_procedures(void **state)
{
    struct ane_active_procedure active = {0};
    struct iorig_procedure procedure[2];
    struct ane_program_prepare prepare;
    struct ane_chaining_reply first;
    uint32_t in[2], set[2];
    uint8_t *payload[2];
    double want = 0;
    uint64_t token;

    (void)state;
    make_sums(in, set);
    for (unsigned i = 0; i < 2; i++) {
        payload[i] = payload_of(i ? CC_OP_SUB : CC_OP_ADD, &procedure[i].size);
        procedure[i].bytes = payload[i];
    }
    if (iorig_create_several(&control, ANE_PROGRAM_RT, "two", procedure, 2, &token) ||
        iorig_prepare(&control, token, &prepare))
        fail_msg("%s", ane_machine_error());
    free(payload[0]);
    free(payload[1]);
    args_of(2, ANE_CHAINING_AUTO_RECYCLE);
    add_link(0, 0, 1);
    first = prepare_chain(token);
    args_of(2, ANE_CHAINING_AUTO_RECYCLE)->procedure = 1;
    ((struct ane_chaining_args *)ane_surface_base(lists))->group = first.handle;
    add_link(0, 0, 1);
    prepare_chain(token);
    post_set(first.handle, 0, set[0]);
    post_set(first.handle, 1, set[1]);
    active.handle = first.handle;
    /* Two up, one down. */
    for (unsigned step = 1; step <= 9; step++) {
        active.procedure = step % 3 == 0;
        assert_int_equal(IOConnectCallMethod(direct.connect, ANE_DIRECT_ProgramChainingSetActiveProcedure,
                                             NULL, 0, &active, sizeof(active), NULL, NULL, NULL, NULL),
                         kIOReturnSuccess);
        if (trigger_with(first.handle, step, 2, in))
            fail_msg("step %u: %s", step, ane_machine_error());
        in[1] = 0;
        want += step % 3 ? 1 : -1;
        expect_sum(set[(step - 1) % 2], want);
    }
}

static void chains_end_with_sleep(void **state)
{
    const uint64_t token = make_adder();
    struct ane_chaining_reply chain;
    uint32_t in[2], set[2];

    (void)state;
    make_sums(in, set);
    args_of(1, 0);
    chain = prepare_chain(token);
    post_set(chain.handle, 0, set[0]);
    assert_int_equal(ane_machine_sleep(machine), 0);
    assert_int_equal(trigger_with(chain.handle, 1, 2, in), kIOReturnNotFound);
    assert_non_null(strstr(ane_machine_error(), "slept; prepare it again"));
    args_of(1, 0);
    chain = prepare_chain(token);
    post_set(chain.handle, 0, set[0]);
    assert_int_equal(trigger_with(chain.handle, 1, 2, in), kIOReturnSuccess);
    expect_sum(set[0], 1);
}

/* Threads with clients of their own trigger one chain: what was accepted is counted once, in some order. */

#define THREADS 4u
static struct {
    uint64_t handle;
    uint32_t in[2];
    unsigned long time, done;
} shared;

static void *add_ones(void *unused)
{
    struct iorig_client own;
    struct ane_inputs_ready ready;

    (void)unused;
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &own),
                     kIOReturnSuccess);
    for (unsigned i = 0; i < 50; i++) {
        IOReturn result;

        ready = inputs_of(shared.handle, __atomic_add_fetch(&shared.time, 1, __ATOMIC_RELAXED), 2, shared.in);
        result = IOConnectCallMethod(own.connect, ANE_DIRECT_ProgramInputsReady, NULL, 0, &ready,
                                     sizeof(ready), NULL, NULL, NULL, NULL);
        /* Another thread's later time may come first. */
        if (result == kIOReturnSuccess)
            __atomic_add_fetch(&shared.done, 1, __ATOMIC_RELAXED);
        else if (result != kIOReturnBadArgument)
            fail_msg("0x%x: %s", (unsigned)result, ane_machine_error());
    }
    IOServiceClose(own.connect);
    return NULL;
}

static void threads_trigger_one_chain(void **state)
{
    const uint64_t token = make_adder();
    pthread_t thread[THREADS];
    uint32_t set[2];

    (void)state;
    make_sums(shared.in, set);
    args_of(2, ANE_CHAINING_AUTO_RECYCLE);
    add_link(0, 0, 1);
    shared.handle = prepare_chain(token).handle;
    post_set(shared.handle, 0, set[0]);
    post_set(shared.handle, 1, set[1]);
    shared.time = shared.done = 1;
    assert_int_equal(trigger_with(shared.handle, 1, 2, shared.in), kIOReturnSuccess);
    shared.in[1] = 0;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_ones, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    expect_sum(set[(shared.done - 1) % 2], (double)shared.done);
}

/* A thread waits for a set that never comes; the client that has prepared the chain closes. */
static void *wait_for_a_set(void *result)
{
    const struct ane_inputs_ready ready = inputs_of(shared.handle, 1, 2, shared.in);

    *(IOReturn *)result = trigger(&ready);
    return NULL;
}

static void a_close_ends_a_trigger_that_waits(void **state)
{
    const uint64_t token = make_adder();
    IOReturn result = kIOReturnSuccess;
    struct ane_status status;
    pthread_t thread;
    uint32_t set[2];

    (void)state;
    make_sums(shared.in, set);
    args_of(1, 0);
    shared.handle = prepare_chain(token).handle;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_a_set, &result), 0);
    do {
        size_t size = sizeof(status);

        assert_int_equal(IOConnectCallMethod(control.connect, ANE_CONTROL_GetStatus, NULL, 0, NULL, 0, NULL,
                                             NULL, &status, &size),
                         kIOReturnSuccess);
    } while (!status.requests);
    assert_int_equal(IOServiceClose(control.connect), kIOReturnSuccess);
    pthread_join(thread, NULL);
    assert_int_equal(result, kIOReturnAborted);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &control),
                     kIOReturnSuccess);
}

/* Through e5rt: one buffer for the state, bound to both ports. */
static void a_cache_is_filled_through_bound_buffers(void **state)
{
    static const char text[] =
        "program(1.3)\n{\n"
        "    func main<ios18>(tensor<fp16, [1, 6, 1, 1]> token, tensor<fp16, [1, 1, 1, 64]> position,\n"
        "                     tensor<fp16, [1, 6, 1, 64]> state_in) {\n"
        "        tensor<fp16, [1, 6, 1, 64]> d = sub(x = token, y = state_in)[name = string(\"d\")];\n"
        "        tensor<fp16, [1, 6, 1, 64]> m = mul(x = d, y = position)[name = string(\"m\")];\n"
        "        tensor<fp16, [1, 6, 1, 64]> state_out = add(x = state_in, y = m)[name = string(\"s\")];\n"
        "    } -> (state_out);\n}\n";
    e5rt_buffer_object_t token, position, held;
    double want[CHANNELS][SLOTS];
    e5rt_execution_stream_t stream;
    struct e5rig_model model;
    const uint16_t *got;

    (void)state;
    folder_write("update.mil", text, sizeof(text) - 1);
    e5rig_model_open(&model, folder_path("update.mil"));
    token = e5rig_buffer(2 * CHANNELS);
    position = e5rig_buffer(2 * SLOTS);
    held = e5rig_buffer(2 * CHANNELS * SLOTS);
    e5rig_bind(model.operation, "token", token);
    e5rig_bind(model.operation, "position", position);
    e5rig_bind(model.operation, "state_out", held);
    e5rig_bind(model.operation, "state_in", held);
    OK(e5rt_execution_stream_create(&stream));
    for (unsigned step = 0; step < SLOTS; step++) {
        for (unsigned c = 0; c < CHANNELS; c++)
            ((uint16_t *)e5rig_data(token))[c] = test_half_from_double(entry(step, c));
        for (unsigned s = 0; s < SLOTS; s++)
            ((uint16_t *)e5rig_data(position))[s] = test_half_from_double(s == step);
        OK(e5rt_execution_stream_operation_prepare_op_for_encode(model.operation));
        OK(e5rt_execution_stream_encode_operation(stream, model.operation));
        OK(e5rt_execution_stream_execute_sync(stream));
        OK(e5rt_execution_stream_reset(stream));
    }
    compute(SLOTS, want);
    got = e5rig_data(held);
    for (unsigned c = 0; c < CHANNELS; c++)
        for (unsigned s = 0; s < SLOTS; s++)
            assert_true(test_half_to_double(got[c * SLOTS + s]) == want[c][s]);
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&token));
    OK(e5rt_buffer_object_release(&position));
    OK(e5rt_buffer_object_release(&held));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cache_is_filled_by_triggers, boot, halt),
        cmocka_unit_test_setup_teardown(the_accumulator_counts_by_triggers, boot, halt),
        cmocka_unit_test_setup_teardown(the_host_recycles, boot, halt),
        cmocka_unit_test_setup_teardown(the_host_recycles, boot_one, halt),
        cmocka_unit_test_setup_teardown(procedures_are_chained_without_the_host, boot, halt),
        cmocka_unit_test_setup_teardown(a_group_switches_between_procedures, boot, halt),
        cmocka_unit_test_setup_teardown(chains_end_with_sleep, boot, halt),
        cmocka_unit_test_setup_teardown(threads_trigger_one_chain, boot_open, halt),
        cmocka_unit_test_setup_teardown(a_close_ends_a_trigger_that_waits, boot_open, halt),
        cmocka_unit_test(a_cache_is_filled_through_bound_buffers),
    };

    return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}
