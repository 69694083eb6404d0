/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime with raw program images: the resident accumulator, states, bindings and their layouts, failing
 * allocations, threads.
 */
#include "support.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "e5rig.h"

#define ONE 0x3c00

static void fill(e5rt_buffer_object_t buffer, size_t halfs, uint16_t value)
{
    uint16_t *at = e5rig_data(buffer);

    for (size_t i = 0; i < halfs; i++)
        at[i] = value;
}

/* Packed: element i has the value base + i % 7. */
static void fill_pattern(e5rt_buffer_object_t buffer, size_t halfs, int base)
{
    uint16_t *at = e5rig_data(buffer);

    for (size_t i = 0; i < halfs; i++)
        at[i] = test_half_from_double(base + (int)(i % 7));
}

static void check_pattern(e5rt_buffer_object_t buffer, size_t halfs, int base, int slope)
{
    const uint16_t *at = e5rig_data(buffer);

    for (size_t i = 0; i < halfs; i++)
        if (test_half_to_double(at[i]) != base + slope * (int)(i % 7))
            fail_msg("element %zu is %g, not %d", i, test_half_to_double(at[i]), base + slope * (int)(i % 7));
}

/* The shape of listings 2.3 and 2.4. */
static void the_resident_accumulator_counts(void **state)
{
    static const struct td_shape shapes[] = {{1, 1, 1, 32}, {1, 4, 1, 40}, {1, 3, 2, 33}, {1, 2, 5, 64},
                                             {2, 3, 4, 7},  {1, 70, 1, 1}, {1, 1, 1, 5}};

    (void)state;
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct td_shape *s = &shapes[i];
        size_t count = (size_t)s->n * s->c * s->h * s->w;
        e5rt_buffer_object_t x = e5rig_buffer(2 * count), state_buf = e5rig_buffer(2 * count);
        e5rt_execution_stream_t stream;
        struct e5rig_model model;

        e5rig_write_adder("add.hwx", s, 1);
        e5rig_model_open(&model, folder_path("add.hwx"));
        e5rig_bind(model.operation, "x", x);
        e5rig_bind(model.operation, "state_out", state_buf);
        e5rig_bind(model.operation, "state_in", state_buf);
        OK(e5rt_execution_stream_create(&stream));
        fill_pattern(x, count, 1);
        for (int step = 1; step <= 4; step++) {
            OK(e5rt_execution_stream_operation_prepare_op_for_encode(model.operation));
            OK(e5rt_execution_stream_encode_operation(stream, model.operation));
            OK(e5rt_execution_stream_execute_sync(stream));
            OK(e5rt_execution_stream_reset(stream));
            check_pattern(state_buf, count, step, step);
        }
        /* Encoded once, executed many times. */
        OK(e5rt_execution_stream_encode_operation(stream, model.operation));
        for (int step = 5; step <= 8; step++)
            OK(e5rt_execution_stream_execute_sync(stream));
        check_pattern(state_buf, count, 8, 8);
        check_pattern(x, count, 1, 1);
        OK(e5rt_execution_stream_release(&stream));
        e5rig_model_close(&model);
        OK(e5rt_buffer_object_release(&x));
        OK(e5rt_buffer_object_release(&state_buf));
    }
}

/*
 * The second descriptor reads the inputs again, after the first has
 * written the output: in place x came twice.
 */
static void state_survives_a_program_that_reads_it_late(void **state)
{
    static const struct td_shape shapes[] = {{1, 2, 1, 32}, {1, 2, 1, 33}};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const struct td_shape *s = &shapes[i / 2];
        size_t count = (size_t)s->n * s->c * s->h * s->w, halfs = i % 2 ? td_total(s) / 2 : count;
        e5rt_execution_stream_t stream;
        e5rt_buffer_object_t x, state_buf;
        struct e5rig_model model;

        e5rig_write_adder("twice.hwx", s, 2);
        e5rig_model_open(&model, folder_path("twice.hwx"));
        x = i % 2 ? e5rig_engine_buffer(model.operation, "x") : e5rig_buffer(2 * count);
        state_buf = i % 2 ? e5rig_engine_buffer(model.operation, "state_in") : e5rig_buffer(2 * count);
        e5rig_bind(model.operation, "x", x);
        e5rig_bind(model.operation, "state_out@output", state_buf);
        e5rig_bind(model.operation, "state_in", state_buf);
        OK(e5rt_execution_stream_create(&stream));
        OK(e5rt_execution_stream_encode_operation(stream, model.operation));
        fill(x, halfs, ONE);
        for (int step = 1; step <= 4; step++) {
            const uint16_t *at = e5rig_data(state_buf);

            OK(e5rt_execution_stream_execute_sync(stream));
            assert_true(test_half_to_double(at[0]) == step);
            assert_true(test_half_to_double(at[s->w - 1]) == step);
        }
        OK(e5rt_execution_stream_release(&stream));
        e5rig_model_close(&model);
        OK(e5rt_buffer_object_release(&x));
        OK(e5rt_buffer_object_release(&state_buf));
    }
}

static void an_engine_buffer_has_the_descriptors_layout(void **state)
{
    const struct td_shape s = {2, 3, 4, 20};
    uint64_t rank, shape[4], strides[4];
    e5rt_buffer_object_t x, in, out;
    e5rt_execution_stream_t stream;
    e5rt_tensor_desc_t desc;
    struct e5rig_model model;
    e5rt_io_port_t port;
    uint32_t dtype;
    size_t bytes;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    OK(e5rt_execution_stream_operation_retain_output_port(model.operation, "state_out", &port));
    OK(e5rt_io_port_retain_tensor_desc(port, &desc));
    OK(e5rt_tensor_desc_get_rank(desc, &rank));
    assert_int_equal(rank, 4);
    OK(e5rt_tensor_desc_get_shape(desc, shape));
    OK(e5rt_tensor_desc_get_strides(desc, strides));
    assert_true(shape[0] == 2 && shape[1] == 3 && shape[2] == 4 && shape[3] == 20);
    assert_true(strides[0] == 768 && strides[1] == 256 && strides[2] == 64 && strides[3] == 2);
    OK(e5rt_tensor_desc_get_size(desc, &bytes));
    assert_int_equal(bytes, 1536);
    OK(e5rt_tensor_desc_get_dtype(desc, &dtype));
    assert_int_equal(dtype, 3);
    OK(e5rt_tensor_desc_alloc_buffer_object(desc, 0, 1, &out));
    OK(e5rt_buffer_object_get_size(out, &bytes));
    assert_int_equal(bytes, 1536);
    FAILS(e5rt_tensor_desc_alloc_buffer_object(desc, 0, 0, &x), E5RT_INVALID_ARGUMENT, "0 tensors");
    FAILS(e5rt_tensor_desc_alloc_buffer_object(desc, 3, 1, &x), E5RT_INVALID_TYPE, "Invalid BufferType");
    OK(e5rt_tensor_desc_release(&desc));
    OK(e5rt_io_port_release(&port));

    x = e5rig_engine_buffer(model.operation, "x");
    in = e5rig_buffer(2 * 2 * 3 * 4 * 20);
    fill_pattern(in, 480, 1);
    for (unsigned i = 0; i < 480; i++) {
        uint16_t ten = test_half_from_double(10);

        memcpy((uint8_t *)e5rig_data(x) + td_at(&s, i / 240, i / 80 % 3, i / 20 % 4, i % 20), &ten, 2);
    }
    e5rig_bind(model.operation, "x", x);
    e5rig_bind(model.operation, "state_in", in);
    e5rig_bind(model.operation, "state_out", out);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    for (unsigned i = 0; i < 480; i++) {
        uint16_t half;

        memcpy(&half, (uint8_t *)e5rig_data(out) + td_at(&s, i / 240, i / 80 % 3, i / 20 % 4, i % 20), 2);
        assert_true(test_half_to_double(half) == 11 + i % 7);
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x));
    OK(e5rt_buffer_object_release(&in));
    OK(e5rt_buffer_object_release(&out));
}

/* b = x + a, c = x + b on one stream: the second reads what the first wrote. */
static void operations_of_a_stream_run_in_order(void **state)
{
    const struct td_shape s = {1, 3, 1, 17};
    e5rt_execution_stream_operation_t second;
    e5rt_execution_stream_t stream;
    e5rt_buffer_object_t x = e5rig_buffer(102), a = e5rig_buffer(102), b = e5rig_buffer(102),
                         c = e5rig_buffer(102);
    struct e5rig_model model;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    second = e5rig_operation(model.function, "second");
    fill_pattern(x, 51, 1);
    fill_pattern(a, 51, 100);
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", a),
        e5rig_bind(model.operation, "state_out", b);
    e5rig_bind(second, "x", x), e5rig_bind(second, "state_in", b), e5rig_bind(second, "state_out", c);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_encode_operation(stream, second));
    /* The stream keeps what it runs. */
    e5rig_model_close(&model);
    OK(e5rt_execution_stream_operation_release(&second));
    OK(e5rt_execution_stream_execute_sync(stream));
    check_pattern(b, 51, 101, 2);
    check_pattern(c, 51, 102, 3);
    OK(e5rt_execution_stream_release(&stream));
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&a));
    OK(e5rt_buffer_object_release(&b)), OK(e5rt_buffer_object_release(&c));
}

static void states_of_an_operation(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_buffer_object_t x = e5rig_buffer(64), y = e5rig_buffer(64), other = e5rig_buffer(64);
    e5rt_execution_stream_t stream, another;
    struct e5rig_model model;
    e5rt_io_port_t port;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_create(&another));
    OK(e5rt_execution_stream_reset(stream)); /* a fresh one: without effect */
    FAILS(e5rt_execution_stream_execute_sync(stream), E5RT_INVALID_OPERATION, "no encoded operation");
    OK(e5rt_execution_stream_operation_prepare_op_for_encode(
        model.operation)); /* never encoded: without effect */
    FAILS(e5rt_execution_stream_encode_operation(stream, model.operation), E5RT_INVALID_OPERATION,
          "input port x has no buffer");
    e5rig_bind(model.operation, "x", x);
    e5rig_bind(model.operation, "state_in", x);
    FAILS(e5rt_execution_stream_encode_operation(stream, model.operation), E5RT_INVALID_OPERATION,
          "output port state_out");
    e5rig_bind(model.operation, "state_out", y);
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    FAILS(e5rt_execution_stream_encode_operation(stream, model.operation), E5RT_INVALID_OPERATION,
          "already been encoded");
    FAILS(e5rt_execution_stream_encode_operation(another, model.operation), E5RT_INVALID_OPERATION,
          "already been encoded");
    FAILS(e5rt_execution_stream_operation_prepare_op_for_encode(model.operation), E5RT_INVALID_OPERATION,
          "ReadyForEncode");
    OK(e5rt_execution_stream_operation_retain_input_port(model.operation, "x", &port));
    FAILS(e5rt_io_port_bind_buffer_object(port, other), E5RT_INVALID_OPERATION, "has been encoded and hence");
    OK(e5rt_execution_stream_execute_sync(stream));
    FAILS(e5rt_io_port_bind_buffer_object(port, other), E5RT_INVALID_OPERATION, "port x cannot change");
    OK(e5rt_execution_stream_reset(stream));
    FAILS(e5rt_execution_stream_execute_sync(stream), E5RT_INVALID_OPERATION, "no encoded operation");
    OK(e5rt_execution_stream_operation_prepare_op_for_encode(model.operation));
    fill(other, 32, ONE);
    OK(e5rt_io_port_bind_buffer_object(port, other)); /* ready again: another buffer may come */
    OK(e5rt_execution_stream_encode_operation(another, model.operation));
    OK(e5rt_execution_stream_execute_sync(another));
    assert_int_equal(((uint16_t *)e5rig_data(y))[31], ONE);
    /* A stream that goes leaves its operations ready. */
    OK(e5rt_execution_stream_release(&another));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_io_port_bind_buffer_object(port, x)); /* a port keeps its operation */
    OK(e5rt_io_port_release(&port));
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&y)),
        OK(e5rt_buffer_object_release(&other));
}

static void every_allocation_may_fail(void **state)
{
    const struct td_shape s = {1, 3, 1, 33};
    unsigned long n, failed = 0;

    (void)state;
    e5rig_write_adder("sweep.hwx", &s, 1);
    for (n = 1; n < 100000; n++) {
        unsigned long before = base_alloc_count();
        int64_t status;

        base_alloc_fail_nth(n);
        status = e5rig_once(folder_path("sweep.hwx"), 0);
        base_alloc_fail_nth(0);
        failed += status != E5RT_OK;
        if (status && !e5rt_get_last_error_message()[0])
            fail_msg("allocation %lu failed without a sentence", n);
        if (base_alloc_count() - before < n) {
            OK(status); /* nothing failed any more */
            break;
        }
    }
    print_message("# %lu acquisitions, %lu ended a run\n", n - 1, failed);
    assert_true(n < 100000 && failed > 20);
    OK(e5rig_once(folder_path("sweep.hwx"), 0));
}

enum { THREADS = 4, STEPS = 100 };

static void *accumulate(void *context)
{
    struct e5rig_model *model = context;
    e5rt_buffer_object_t x = e5rig_buffer(198), s = e5rig_buffer(198);
    e5rt_execution_stream_operation_t op = e5rig_operation(model->function, "threaded");
    e5rt_execution_stream_t stream;

    fill(x, 99, ONE);
    e5rig_bind(op, "x", x), e5rig_bind(op, "state_in", s), e5rig_bind(op, "state_out", s);
    OK(e5rt_execution_stream_create(&stream));
    for (int i = 0; i < STEPS; i++) {
        OK(e5rt_execution_stream_encode_operation(stream, op));
        OK(e5rt_execution_stream_execute_sync(stream));
        OK(e5rt_execution_stream_reset(stream));
    }
    for (int i = 0; i < 99; i++)
        assert_true(test_half_to_double(((uint16_t *)e5rig_data(s))[i]) == STEPS);
    FAILS(e5rt_execution_stream_execute_sync(stream), E5RT_INVALID_OPERATION,
          "no encoded"); /* each thread has its own sentence */
    OK(e5rt_execution_stream_release(&stream));
    OK(e5rt_execution_stream_operation_release(&op));
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&s));
    return NULL;
}

static void a_program_of_the_real_compiler_runs(void **state)
{
    const char *path = test_program_path("relu.hwx");
    e5rt_buffer_object_t x = e5rig_buffer(154), y = e5rig_buffer(154);
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    (void)state;
    if (!path)
        skip(); /* no shared programs here */
    e5rig_model_open(&model, path);
    for (int i = 0; i < 77; i++)
        ((uint16_t *)e5rig_data(x))[i] = test_half_from_double(i - 38);
    e5rig_bind(model.operation, "image", x), e5rig_bind(model.operation, "probs@output", y);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    for (int i = 0; i < 77; i++)
        assert_true(test_half_to_double(((uint16_t *)e5rig_data(y))[i]) == (i > 38 ? i - 38 : 0));
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&y));
}

static void threads_with_streams_of_their_own(void **state)
{
    const struct td_shape s = {1, 3, 1, 33};
    pthread_t thread[THREADS];
    struct e5rig_model model;

    (void)state;
    e5rig_write_adder("threads.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("threads.hwx"));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, accumulate, &model), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    e5rig_model_close(&model);
}

/*
 * A child has a device of its own, made anew; what its parent loaded fails
 * there with a sentence, and the parent goes on.
 */
static void a_forked_child_has_a_device_of_its_own(void **state)
{
    const struct td_shape s = {1, 3, 1, 33};
    e5rt_buffer_object_t x = e5rig_buffer(198), y = e5rig_buffer(198);
    e5rt_execution_stream_t stream;
    struct e5rig_model model;
    pid_t child;
    int status;

    (void)state;
    e5rig_write_adder("fork.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("fork.hwx"));
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", y),
        e5rig_bind(model.operation, "state_out", y);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    child = fork();
    if (child == 0) {
        if (!e5rt_execution_stream_execute_sync(stream) || !strstr(e5rt_get_last_error_message(), "closed"))
            _exit(2);
        if (e5rig_once(folder_path("fork.hwx"), 0))
            _exit(3);
        /* The child's own program may have the number of the parent's. */
        _exit(e5rt_execution_stream_execute_sync(stream) ? 0 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    OK(e5rt_execution_stream_execute_sync(stream));
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&y));
}

/*
 * In a child that may only read, write and exit: an allocation or a system call on the warm path would end
 * it. Has to be the first test: the device must not be open.
 */
static void a_warm_execute_asks_the_host_for_nothing(void **state)
{
    const struct td_shape s = {1, 3, 1, 33};
    pid_t child;
    int status;

    (void)state;
    e5rig_needs_own_machine("the ring may sleep, which is a system call");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers make system calls of their own */
#endif
    e5rig_write_adder("warm.hwx", &s, 1);
    child = fork();
    if (child == 0) {
        e5rt_buffer_object_t x = e5rig_buffer(198), y = e5rig_buffer(198);
        e5rt_execution_stream_t stream;
        unsigned long allocations;
        struct e5rig_model model;

        e5rig_model_open(&model, folder_path("warm.hwx"));
        e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", y),
            e5rig_bind(model.operation, "state_out", y);
        if (e5rt_execution_stream_create(&stream))
            _exit(2);
        for (unsigned i = 0; i < 10; i++)
            if (e5rt_execution_stream_encode_operation(stream, model.operation) ||
                e5rt_execution_stream_execute_sync(stream) || e5rt_execution_stream_reset(stream))
                _exit(3);
        allocations = base_alloc_count();
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        for (unsigned i = 0; i < 1000; i++)
            if (e5rt_execution_stream_encode_operation(stream, model.operation) ||
                e5rt_execution_stream_execute_sync(stream) || e5rt_execution_stream_reset(stream))
                syscall(SYS_exit, 4);
        syscall(SYS_exit, base_alloc_count() == allocations ? 0 : 5);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_execute_asks_the_host_for_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_resident_accumulator_counts),
        cmocka_unit_test(state_survives_a_program_that_reads_it_late),
        cmocka_unit_test(an_engine_buffer_has_the_descriptors_layout),
        cmocka_unit_test(operations_of_a_stream_run_in_order),
        cmocka_unit_test(states_of_an_operation),
        cmocka_unit_test(a_program_of_the_real_compiler_runs),
        cmocka_unit_test(threads_with_streams_of_their_own),
        cmocka_unit_test(a_forked_child_has_a_device_of_its_own),
    };

    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
