/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime with models: compile, load, bind in every form, dispatch; the cache; late reads of resident
 * state; failing allocations; threads that compile.
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "e5rig.h"

#define SHAPE_TEXT 64u

static const char *shape_text(const uint32_t *dim, unsigned rank)
{
    static _Thread_local char text[SHAPE_TEXT];
    int at = snprintf(text, sizeof(text), "[");

    for (unsigned i = 0; i < rank; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%u", i ? ", " : "", dim[i]);
    snprintf(text + at, sizeof(text) - (size_t)at, "]");
    return text;
}

/*
 * state_out = x + state_in, with ports of that type; late: also y =
 * state_in - x, which reads the state again.
 */
static void write_model(const char *name, bool fp32, const uint32_t *dim, unsigned rank, bool late)
{
    const char *shape = shape_text(dim, rank), *type = fp32 ? "fp32" : "fp16";
    char text[4096];
    int at = snprintf(text, sizeof(text),
                      "program(1.3)\n{\n"
                      "    func main<ios18>(tensor<%s, %s> x, tensor<%s, %s> state_in) {\n"
                      "        string h = const()[name = string(\"h\"), val = string(\"fp16\")];\n"
                      "        string f = const()[name = string(\"f\"), val = string(\"fp32\")];\n",
                      type, shape, type, shape);
#define LINE(...) at += snprintf(text + at, sizeof(text) - (size_t)at, __VA_ARGS__)
    if (fp32) {
        LINE("        tensor<fp16, %s> a = cast(dtype = h, x = x)[name = string(\"a\")];\n", shape);
        LINE("        tensor<fp16, %s> b = cast(dtype = h, x = state_in)[name = string(\"b\")];\n", shape);
    }
    LINE("        tensor<fp16, %s> %s = add(x = %s, y = %s)[name = string(\"sum\")];\n", shape,
         fp32 ? "s" : "state_out", fp32 ? "a" : "x", fp32 ? "b" : "state_in");
    if (late)
        LINE("        tensor<fp16, %s> %s = sub(x = %s, y = %s)[name = string(\"difference\")];\n", shape,
             fp32 ? "d" : "y", fp32 ? "b" : "state_in", fp32 ? "a" : "x");
    if (fp32) {
        LINE("        tensor<fp32, %s> state_out = cast(dtype = f, x = s)[name = string(\"o\")];\n", shape);
        if (late)
            LINE("        tensor<fp32, %s> y = cast(dtype = f, x = d)[name = string(\"p\")];\n", shape);
    }
    LINE("    } -> (state_out%s);\n}\n", late ? ", y" : "");
#undef LINE
    folder_write(name, text, (size_t)at);
}

static void put(void *data, bool fp32, size_t i, double value)
{
    if (fp32)
        ((float *)data)[i] = (float)value;
    else
        ((uint16_t *)data)[i] = test_half_from_double(value);
}

static double get(const void *data, bool fp32, size_t i)
{
    return fp32 ? (double)((const float *)data)[i] : test_half_to_double(((const uint16_t *)data)[i]);
}

static const struct {
    unsigned rank;
    uint32_t dim[5];
} shapes[] = {
    {4, {1, 4, 1, 40}}, {4, {1, 1, 1, 32}}, {4, {1, 3, 5, 33}}, {4, {2, 3, 2, 7}}, {4, {1, 2, 2, 64}},
    {4, {1, 64, 1, 1}}, {3, {2, 5, 9}},     {2, {6, 40}},       {1, {17}},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static size_t elements(unsigned which)
{
    size_t count = 1;

    for (unsigned i = 0; i < shapes[which].rank; i++)
        count *= shapes[which].dim[i];
    return count;
}

/* One shape and type: state resident in one packed buffer; with `late`, y sees the old state. */
static void accumulate(unsigned which, bool fp32, bool late)
{
    size_t count = elements(which), bytes = count * (fp32 ? 4 : 2);
    e5rt_buffer_object_t x = e5rig_buffer(bytes), s = e5rig_buffer(bytes), y = e5rig_buffer(bytes);
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    write_model("model.mil", fp32, shapes[which].dim, shapes[which].rank, late);
    e5rig_model_open(&model, folder_path("model.mil"));
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", s),
        e5rig_bind(model.operation, "state_out", s);
    if (late)
        e5rig_bind(model.operation, "y", y);
    for (size_t i = 0; i < count; i++)
        put(e5rig_data(x), fp32, i, 1 + (double)(i % 5));
    OK(e5rt_execution_stream_create(&stream));
    for (int step = 1; step <= 4; step++) {
        OK(e5rt_execution_stream_operation_prepare_op_for_encode(model.operation));
        OK(e5rt_execution_stream_encode_operation(stream, model.operation));
        OK(e5rt_execution_stream_execute_sync(stream));
        OK(e5rt_execution_stream_reset(stream));
        for (size_t i = 0; i < count; i++) {
            double one = 1 + (double)(i % 5);

            if (get(e5rig_data(s), fp32, i) != step * one)
                fail_msg("shape %u, %s, step %d: state %zu is %g", which, fp32 ? "fp32" : "fp16", step, i,
                         get(e5rig_data(s), fp32, i));
            if (late && get(e5rig_data(y), fp32, i) != (step - 2) * one)
                fail_msg("shape %u, %s, step %d: y %zu is %g", which, fp32 ? "fp32" : "fp16", step, i,
                         get(e5rig_data(y), fp32, i));
        }
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&s)),
        OK(e5rt_buffer_object_release(&y));
}

static void the_accumulator_counts_in_every_form(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHAPES; i++) {
        accumulate(i, false, false);
        accumulate(i, true, false);
    }
}

static void resident_state_is_read_before_it_is_replaced(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHAPES; i++) {
        accumulate(i, false, true);
        accumulate(i, true, true);
    }
}

static void the_example_counts(void **state)
{
    e5rt_buffer_object_t x = e5rig_buffer(640), s = e5rig_buffer(640);
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    (void)state;
    e5rig_model_open(&model, TEST_SOURCE_ROOT "/examples/accumulator.mil");
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", s),
        e5rig_bind(model.operation, "state_out", s);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    for (int i = 0; i < 160; i++)
        ((float *)e5rig_data(x))[i] = 1;
    for (int step = 1; step <= 4; step++) {
        OK(e5rt_execution_stream_execute_sync(stream));
        assert_true(((float *)e5rig_data(s))[0] == step && ((float *)e5rig_data(s))[159] == step);
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&s));
}

#define SLOTS 6u
#define WIDTH 40u

/*
 * The masked update of a resident cache: where the position vector is 1 the new entry, elsewhere what was
 * there. The mask is a comparison of the vector, or the vector itself in arithmetic.
 */
static const char *const masked_updates[] = {
    "tensor<bool, [1, 6, 1, 1]> m = greater(x = position, y = fp16(0.5));\n"
    "tensor<fp16, [1, 6, 1, 40]> cache_out = select(cond = m, a = entry, b = cache_in);\n",
    "tensor<fp16, [1, 6, 1, 40]> d = sub(x = entry, y = cache_in);\n"
    "tensor<fp16, [1, 6, 1, 40]> m = mul(x = d, y = position);\n"
    "tensor<fp16, [1, 6, 1, 40]> cache_out = add(x = cache_in, y = m);\n",
};

static void write_masked(const char *name, const char *update)
{
    char text[1024];
    int length = snprintf(text, sizeof(text),
                          "program(1.3)\n{func main<ios18>(tensor<fp16, [1, 6, 1, 1]> position, "
                          "tensor<fp16, [1, 1, 1, 40]> entry, tensor<fp16, [1, 6, 1, 40]> cache_in) {\n"
                          "%s} -> (cache_out);}\n",
                          update);

    folder_write(name, text, (size_t)length);
}

/* What step `step` writes: small whole numbers, exact in fp16 and exact as differences. */
static double entry_value(unsigned step, unsigned column)
{
    return 1 + 7.0 * step + column % 5 - (step % 2 ? 100.0 : 0.0);
}

/* Slots are written out of order, one twice; the host sends position and entry, never the cache. */
static void fill_cache(const char *update)
{
    static const unsigned order[] = {2, 0, 5, 1, 4, 3, 2};
    e5rt_buffer_object_t position = e5rig_buffer(2 * SLOTS), entry = e5rig_buffer(2 * WIDTH),
                         cache = e5rig_buffer(2 * SLOTS * WIDTH);
    double expected[SLOTS][WIDTH] = {{0}};
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    write_masked("masked.mil", update);
    e5rig_model_open(&model, folder_path("masked.mil"));
    e5rig_bind(model.operation, "position", position), e5rig_bind(model.operation, "entry", entry),
        e5rig_bind(model.operation, "cache_in", cache), e5rig_bind(model.operation, "cache_out", cache);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    for (unsigned step = 0; step < sizeof(order) / sizeof(order[0]); step++) {
        for (unsigned slot = 0; slot < SLOTS; slot++)
            put(e5rig_data(position), false, slot, slot == order[step]);
        for (unsigned i = 0; i < WIDTH; i++)
            put(e5rig_data(entry), false, i, expected[order[step]][i] = entry_value(step, i));
        OK(e5rt_execution_stream_execute_sync(stream));
        for (unsigned slot = 0; slot < SLOTS; slot++)
            for (unsigned i = 0; i < WIDTH; i++)
                if (get(e5rig_data(cache), false, slot * WIDTH + i) != expected[slot][i])
                    fail_msg("step %u: slot %u holds %g at %u, expected %g", step, slot,
                             get(e5rig_data(cache), false, slot * WIDTH + i), i, expected[slot][i]);
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&position)), OK(e5rt_buffer_object_release(&entry)),
        OK(e5rt_buffer_object_release(&cache));
}

static void a_masked_update_fills_a_cache(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(masked_updates) / sizeof(masked_updates[0]); i++)
        fill_cache(masked_updates[i]);
}

/* A buffer from a descriptor holds halfs at the engine's strides, whatever the port's type. */
static void engine_buffers_need_no_cast(void **state)
{
    const uint32_t dim[] = {2, 3, 4, 5};
    uint64_t shape[4], strides[4], rank;
    e5rt_buffer_object_t x, s, y = e5rig_buffer(4 * 120);
    e5rt_execution_stream_t stream;
    e5rt_tensor_desc_t desc;
    struct e5rig_model model;
    e5rt_io_port_t port;
    uint32_t dtype;

    (void)state;
    write_model("model.mil", true, dim, 4, true);
    e5rig_model_open(&model, folder_path("model.mil"));
    OK(e5rt_execution_stream_operation_retain_input_port(model.operation, "x", &port));
    OK(e5rt_io_port_retain_tensor_desc(port, &desc));
    OK(e5rt_tensor_desc_get_rank(desc, &rank));
    OK(e5rt_tensor_desc_get_shape(desc, shape));
    OK(e5rt_tensor_desc_get_strides(desc, strides));
    OK(e5rt_tensor_desc_get_dtype(desc, &dtype));
    assert_int_equal(rank, 4);
    assert_int_equal(dtype, E5RT_DTYPE_FP32);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(shape[i], dim[i]);
    assert_int_equal(strides[3], 2);
    assert_int_equal(strides[2] % 64, 0);
    OK(e5rt_tensor_desc_release(&desc));
    OK(e5rt_io_port_release(&port));
    x = e5rig_engine_buffer(model.operation, "x");
    s = e5rig_engine_buffer(model.operation, "state_in");
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", s),
        e5rig_bind(model.operation, "state_out", s);
    e5rig_bind(model.operation, "y", y);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
#define AT(i) \
    ((i) / 60 * strides[0] + (i) / 20 % 3 * strides[1] + (i) / 5 % 4 * strides[2] + (i) % 5 * strides[3])
    for (unsigned i = 0; i < 120; i++) {
        uint16_t half = test_half_from_double(1 + i);

        memcpy((uint8_t *)e5rig_data(x) + AT(i), &half, 2);
    }
    for (int step = 1; step <= 3; step++) {
        OK(e5rt_execution_stream_execute_sync(stream));
        for (unsigned i = 0; i < 120; i++) {
            uint16_t half;

            memcpy(&half, (uint8_t *)e5rig_data(s) + AT(i), 2);
            assert_true(test_half_to_double(half) == step * (1.0 + i));
            assert_true(get(e5rig_data(y), true, i) == (step - 2) * (1.0 + i));
        }
    }
#undef AT
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&s)),
        OK(e5rt_buffer_object_release(&y));
}

/* What does not fit in a half becomes infinite on the way in; what is between two halfs is rounded. */
static void casts_round_at_the_ports(void **state)
{
    const uint32_t dim[] = {1, 1, 1, 5};
    static const float in[5] = {1e6f, -1e6f, 1.00048828125f, 0.1f, 2049.0f};
    static const double out[5] = {1e300, -1e300, 1.0, 0.0999755859375, 2048.0};
    e5rt_buffer_object_t x = e5rig_buffer(20), zero = e5rig_buffer(20), y = e5rig_buffer(20);
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    (void)state;
    write_model("model.mil", true, dim, 4, false);
    e5rig_model_open(&model, folder_path("model.mil"));
    e5rig_bind(model.operation, "x", x), e5rig_bind(model.operation, "state_in", zero),
        e5rig_bind(model.operation, "state_out", y);
    memcpy(e5rig_data(x), in, sizeof(in));
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    for (unsigned i = 0; i < 5; i++) {
        double got = (double)((float *)e5rig_data(y))[i];

        if (i < 2 ? (i ? got >= -65504 : got <= 65504) : got != out[i])
            fail_msg("element %u is %.10g, not %.10g", i, got, out[i]);
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x)), OK(e5rt_buffer_object_release(&zero)),
        OK(e5rt_buffer_object_release(&y));
}

static void the_cache_is_asked_first(void **state)
{
    const uint32_t dim[] = {1, 2, 1, 9};
    e5rt_e5_compiler_config_options_t config;
    e5rt_e5_compiler_options_t options;
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;
    char cache[300];
    int required;

    (void)state;
    snprintf(cache, sizeof(cache), "%s", folder_path("another-cache"));
    write_model("cached.mil", true, dim, 4, false);
    OK(e5rt_e5_compiler_config_options_create(&config));
    OK(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, cache));
    OK(e5rt_e5_compiler_create_with_config(&compiler, config));
    OK(e5rt_e5_compiler_options_create(&options));
    OK(e5rt_e5_compiler_is_new_compile_required(compiler, folder_path("cached.mil"), options, &required));
    assert_int_equal(required, 1);
    OK(e5rt_e5_compiler_compile(compiler, folder_path("cached.mil"), options, &library));
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_is_new_compile_required(compiler, folder_path("cached.mil"), options, &required));
    assert_int_equal(required, 0);
    OK(e5rt_e5_compiler_options_set_force_recompilation(options, 1));
    OK(e5rt_e5_compiler_is_new_compile_required(compiler, folder_path("cached.mil"), options, &required));
    assert_int_equal(required, 1);
    OK(e5rt_e5_compiler_compile(compiler, folder_path("cached.mil"), options, &library));
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_config_options_release(&config));
    OK(e5rt_e5_compiler_options_release(&options));
    OK(e5rt_e5_compiler_release(&compiler));
}

/* The cache only saves time: without it the model is compiled, and a warning says why it is not kept. */
static void a_cache_that_cannot_be_used(void **state)
{
    const uint32_t dim[] = {1, 2, 1, 9};
    e5rt_e5_compiler_config_options_t config;
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler, other;
    int required = 0;

    (void)state;
    e5rig_needs_own_machine("the cache is the broker's");
    write_model("uncached.mil", true, dim, 4, false);
    folder_write("a-file", "mine", 4);
    OK(e5rt_e5_compiler_config_options_create(&config));
    OK(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_path("a-file")));
    OK(e5rt_e5_compiler_create_with_config(&compiler, config));
    OK(e5rt_e5_compiler_is_new_compile_required(compiler, folder_path("uncached.mil"), NULL, &required));
    assert_int_equal(required, 1);
    OK(e5rt_e5_compiler_compile(compiler, folder_path("uncached.mil"), NULL, &library));
    assert_non_null(strstr(e5rt_get_last_warning_message(), "compiled in memory"));
    assert_non_null(strstr(e5rt_get_last_warning_message(), folder_path("a-file")));
    OK(e5rt_program_library_release(&library));
    /* The next compilation has nothing to warn about. */
    OK(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_path("good-cache")));
    OK(e5rt_e5_compiler_create_with_config(&other, config));
    OK(e5rt_e5_compiler_compile(other, folder_path("uncached.mil"), NULL, &library));
    assert_string_equal(e5rt_get_last_warning_message(), "");
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_config_options_release(&config));
    OK(e5rt_e5_compiler_release(&compiler)), OK(e5rt_e5_compiler_release(&other));
}

static void models_that_are_refused(void **state)
{
    static const char text[] =
        "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 1, 1, 8]> x) {\n"
        "        tensor<fp16, [1, 1, 1, 8]> y = unheard_of(x = x)[name = string(\"y\")];\n    } -> (y);\n}\n";
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;

    (void)state;
    OK(e5rt_e5_compiler_create(&compiler));
    folder_write("unheard.mil", text, sizeof(text) - 1);
    assert_int_not_equal(e5rt_e5_compiler_compile(compiler, folder_path("unheard.mil"), NULL, &library),
                         E5RT_OK);
    assert_null(library);
    assert_non_null(strstr(e5rt_get_last_error_message(), "unheard_of"));
    FAILS(e5rt_e5_compiler_compile(compiler, folder_path("nowhere.mil"), NULL, &library),
          E5RT_INVALID_ARGUMENT, "nowhere.mil");
    FAILS(e5rt_program_library_create(&library, folder_path("nowhere.bundle")), E5RT_INVALID_ARGUMENT,
          "nowhere.bundle");
    OK(e5rt_e5_compiler_release(&compiler));
}

static void every_allocation_may_fail(void **state)
{
    const uint32_t dim[] = {1, 3, 1, 33};

    (void)state;
    write_model("sweep.mil", true, dim, 4, false);
    OK(e5rig_once(folder_path("sweep.mil"), 1)); /* the machine is up; test_runtime.c lets its start fail */
    for (int force = 0; force < 2; force++) {
        unsigned long n, failed = 0;

        for (n = 1; n < 10000; n++) {
            unsigned long before = base_alloc_count();
            int64_t status;

            base_alloc_fail_nth(n);
            status = e5rig_once(folder_path("sweep.mil"), force);
            base_alloc_fail_nth(0);
            failed += status != E5RT_OK;
            if (base_alloc_count() - before < n) {
                OK(status);
                break;
            }
        }
        print_message("# %s: %lu acquisitions, %lu ended a run\n", force ? "compiled" : "from the cache",
                      n - 1, failed);
        assert_true(n < 10000 && failed > 20);
    }
}

enum { THREADS = 4 };

static void *compile_and_run(void *path)
{
    for (int i = 0; i < 5; i++)
        OK(e5rig_once(path, i & 1));
    return NULL;
}

static void threads_compile_the_same_model(void **state)
{
    const uint32_t dim[] = {1, 3, 1, 31};
    pthread_t thread[THREADS];
    char path[300];

    (void)state;
    write_model("threads.mil", true, dim, 4, false);
    snprintf(path, sizeof(path), "%s", folder_path("threads.mil"));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, compile_and_run, path), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_accumulator_counts_in_every_form),
        cmocka_unit_test(resident_state_is_read_before_it_is_replaced),
        cmocka_unit_test(the_example_counts),
        cmocka_unit_test(a_masked_update_fills_a_cache),
        cmocka_unit_test(engine_buffers_need_no_cast),
        cmocka_unit_test(casts_round_at_the_ports),
        cmocka_unit_test(the_cache_is_asked_first),
        cmocka_unit_test(a_cache_that_cannot_be_used),
        cmocka_unit_test(models_that_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_compile_the_same_model),
    };

    return cmocka_run_group_tests_name("runtime_model", tests, NULL, NULL);
}
