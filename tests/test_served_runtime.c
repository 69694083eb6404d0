/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is particular to the runtime in a served process. tests/test_served.sh starts the service and says in
 * the environment what its policy grants (WAY: plain, broker or direct) and which processes serve (BROKER,
 * SERVICE: numbers). The last two cases end these, so their order matters.
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "compiler/compile.h"
#include "e5rig.h"

#define MODEL       TEST_SOURCE_ROOT "/examples/accumulator.mil"
#define ELEMENTS    160u
#define WAIT_US     50000u
#define WAIT_ROUNDS 400u /* of WAIT_US, for a broker to be started again: longer than it takes */

static bool is_way(const char *way)
{
    const char *given = getenv("WAY");

    return given && !strcmp(given, way);
}

static pid_t process(const char *variable)
{
    const char *number = getenv(variable);

    assert_non_null(number);
    assert_true(atoi(number) > 1);
    return (pid_t)atoi(number);
}

/* The accumulator in a stream: each execution adds 1 to the sum. */
struct adder {
    struct e5rig_model model;
    e5rt_buffer_object_t x, sum;
    e5rt_execution_stream_t stream;
};

static void bind(struct adder *a)
{
    a->x = e5rig_buffer(ELEMENTS * sizeof(float));
    a->sum = e5rig_buffer(ELEMENTS * sizeof(float));
    for (unsigned i = 0; i < ELEMENTS; i++)
        ((float *)e5rig_data(a->x))[i] = 1;
    e5rig_bind(a->model.operation, "x", a->x);
    e5rig_bind(a->model.operation, "state_in", a->sum);
    e5rig_bind(a->model.operation, "state_out", a->sum);
    OK(e5rt_execution_stream_create(&a->stream));
    OK(e5rt_execution_stream_encode_operation(a->stream, a->model.operation));
}

static void open_adder(struct adder *a)
{
    e5rig_model_open(&a->model, MODEL);
    bind(a);
}

static void close_adder(struct adder *a)
{
    OK(e5rt_execution_stream_release(&a->stream));
    e5rig_model_close(&a->model);
    OK(e5rt_buffer_object_release(&a->x));
    OK(e5rt_buffer_object_release(&a->sum));
}

static void count_to(struct adder *a, unsigned from, unsigned to)
{
    for (unsigned step = from; step <= to; step++) {
        OK(e5rt_execution_stream_execute_sync(a->stream));
        assert_true(((float *)e5rig_data(a->sum))[0] == (float)step);
        assert_true(((float *)e5rig_data(a->sum))[ELEMENTS - 1] == (float)step);
    }
}

/* A connection of its own needs the broker for nothing; without the key the driver names it. */
static void the_policy_decides_the_way(void **state)
{
    io_connect_t connect = 0;
    struct adder a;
    pid_t broker;

    (void)state;
    assert_non_null(ane_service_name());
    open_adder(&a);
    count_to(&a, 1, 2);
    if (is_way("direct")) {
        broker = process("BROKER");
        alarm(60); /* stopped, the broker would let a request through it wait for ever */
        assert_int_equal(kill(broker, SIGSTOP), 0);
        count_to(&a, 3, 6);
        assert_int_equal(kill(broker, SIGCONT), 0);
        alarm(0);
    } else {
        io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));

        assert_int_equal(IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &connect), kIOReturnUnsupported);
        assert_non_null(strstr(ane_machine_error(), "iokit-user-client-class"));
    }
    close_adder(&a);
}

static void an_image_needs_its_key(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_program_function_t function;
    e5rt_program_library_t library;
    int64_t status;

    (void)state;
    e5rig_write_adder("raw.hwx", &s, 1);
    OK(e5rt_program_library_create(&library, folder_path("raw.hwx")));
    OK(e5rt_program_library_retain_program_function(library, "main", &function));
    status = e5rt_program_function_load_for_execution(function);
    if (is_way("plain")) {
        assert_int_equal(status, E5RT_INVALID_OPERATION);
        assert_non_null(strstr(e5rt_get_last_error_message(), "anemone.raw-images"));
        assert_non_null(strstr(e5rt_get_last_error_message(), "policy"));
    } else {
        OK(status);
    }
    OK(e5rt_program_function_release(&function));
    OK(e5rt_program_library_release(&library));
}

static void a_cache_folder_is_not_used(void **state)
{
    e5rt_e5_compiler_config_options_t config;
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;

    (void)state;
    OK(e5rt_e5_compiler_config_options_create(&config));
    OK(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_path("mine")));
    OK(e5rt_e5_compiler_create_with_config(&compiler, config));
    OK(e5rt_e5_compiler_compile(compiler, MODEL, NULL, &library));
    assert_non_null(strstr(e5rt_get_last_warning_message(), folder_path("mine")));
    assert_non_null(strstr(e5rt_get_last_warning_message(), "is not used"));
    assert_int_not_equal(access(folder_path("mine"), F_OK), 0);
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_release(&compiler));
    OK(e5rt_e5_compiler_create(&compiler));
    OK(e5rt_e5_compiler_compile(compiler, MODEL, NULL, &library));
    assert_string_equal(e5rt_get_last_warning_message(), "");
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_release(&compiler));
    OK(e5rt_e5_compiler_config_options_release(&config));
}

/* Signed by this user; the broker signs it again. A byte that is another is found by the hashes. */
static void a_bundle_is_taken_over(void **state)
{
    struct cc_options options = {.cache = folder_path("cache"), .output = folder_path("own.bundle")};
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    struct adder a;
    uint8_t *main_bytes;
    size_t size;

    (void)state;
    assert_int_equal(cc_compile(MODEL, &options, &bundle, NULL, &error), 0);
    cc_bundle_release(&bundle);
    OK(e5rt_program_library_create(&a.model.library, folder_path("own.bundle")));
    OK(e5rt_program_library_retain_program_function(a.model.library, "main", &a.model.function));
    a.model.operation = e5rig_operation(a.model.function, "of a bundle");
    bind(&a);
    count_to(&a, 1, 3);
    close_adder(&a);

    main_bytes = test_file_read(folder_path("own.bundle/main.e5"), &size);
    assert_non_null(main_bytes);
    main_bytes[size / 2] ^= 1;
    folder_write("own.bundle/main.e5", main_bytes, size);
    free(main_bytes);
    FAILS(e5rt_program_library_create(&a.model.library, folder_path("own.bundle")), E5RT_INVALID_ARGUMENT,
          "main.e5");
}

/* No chain without a control connection of its own: the same counts come from requests. */
static void chains_become_requests(void **state)
{
    char *saved = test_env_save("ANEMONE_CHAINING");
    struct adder a;

    (void)state;
    setenv("ANEMONE_CHAINING", "1", 1);
    open_adder(&a);
    count_to(&a, 1, 4);
    close_adder(&a);
    test_env_restore("ANEMONE_CHAINING", saved);
}

static atomic_bool compiled;

static void *compile_again(void *context)
{
    e5rt_e5_compiler_options_t options;
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;

    (void)context;
    OK(e5rt_e5_compiler_create(&compiler));
    OK(e5rt_e5_compiler_options_create(&options));
    OK(e5rt_e5_compiler_options_set_force_recompilation(options, 1));
    for (unsigned i = 0; i < 5; i++) {
        OK(e5rt_e5_compiler_compile(compiler, MODEL, options, &library));
        OK(e5rt_program_library_release(&library));
    }
    OK(e5rt_e5_compiler_options_release(&options));
    OK(e5rt_e5_compiler_release(&compiler));
    atomic_store(&compiled, true);
    return NULL;
}

static void requests_go_on_while_another_thread_compiles(void **state)
{
    unsigned step = 0;
    pthread_t thread;
    struct adder a;

    (void)state;
    open_adder(&a);
    atomic_store(&compiled, false);
    assert_int_equal(pthread_create(&thread, NULL, compile_again, NULL), 0);
    while (!atomic_load(&compiled) && step < 1000)
        step++, count_to(&a, step, step);
    pthread_join(thread, NULL);
    assert_true(step > 0);
    close_adder(&a);
}

/*
 * What it sent requests for is gone with it; a program that a direct-path connection has used lives on with
 * that. What is loaded afterwards has another broker.
 */
static void a_broker_that_ends(void **state)
{
    e5rt_e5_compiler_t compiler;
    e5rt_program_library_t library = NULL;
    struct adder a, b;
    int64_t status = E5RT_INVALID_OPERATION;

    (void)state;
    open_adder(&a);
    count_to(&a, 1, 2);
    assert_int_equal(kill(process("BROKER"), SIGKILL), 0);
    OK(e5rt_e5_compiler_create(&compiler));
    for (unsigned i = 0; status && i < WAIT_ROUNDS; i++) {
        status = e5rt_e5_compiler_compile(compiler, MODEL, NULL, &library);
        if (status) {
            assert_true(e5rt_get_last_error_message()[0]);
            usleep(WAIT_US);
        }
    }
    OK(status);
    if (is_way("direct"))
        count_to(&a, 3, 4);
    else
        FAILS(e5rt_execution_stream_execute_sync(a.stream), E5RT_INVALID_OPERATION, "the broker answered");
    open_adder(&b);
    count_to(&b, 1, 3);
    close_adder(&b);
    close_adder(&a);
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_release(&compiler));
}

static void a_service_that_ends_is_said(void **state)
{
    e5rt_program_library_t library = NULL;
    e5rt_e5_compiler_t compiler;
    int64_t status = E5RT_OK;
    struct adder a;

    (void)state;
    open_adder(&a);
    count_to(&a, 1, 2);
    alarm(60);
    assert_int_equal(kill(process("SERVICE"), SIGTERM), 0);
    for (unsigned i = 0; !status && i < WAIT_ROUNDS; i++) {
        status = e5rt_execution_stream_execute_sync(a.stream);
        usleep(status ? 0 : WAIT_US / 10);
    }
    assert_int_equal(status, E5RT_INVALID_OPERATION);
    assert_true(e5rt_get_last_error_message()[0]);
    OK(e5rt_e5_compiler_create(&compiler));
    FAILS(e5rt_e5_compiler_compile(compiler, MODEL, NULL, &library), E5RT_INVALID_OPERATION, "service");
    assert_null(library);
    OK(e5rt_e5_compiler_release(&compiler));
    close_adder(&a);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_decides_the_way),
        cmocka_unit_test(an_image_needs_its_key),
        cmocka_unit_test(a_cache_folder_is_not_used),
        cmocka_unit_test(a_bundle_is_taken_over),
        cmocka_unit_test(chains_become_requests),
        cmocka_unit_test(requests_go_on_while_another_thread_compiles),
        cmocka_unit_test(a_broker_that_ends),
        cmocka_unit_test(a_service_that_ends_is_said),
    };

    return cmocka_run_group_tests_name("served_runtime", tests, NULL, NULL);
}
