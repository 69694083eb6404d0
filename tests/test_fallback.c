/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks that the engine cannot run as a whole: what is refused without host segments, what runs with them,
 * and what a composite is on disk. The engine's part gives the same bits as in a network without the rest.
 */
#include <errno.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <anemone/e5rt.h>

#include "base/alloc.h"
#include "compiler/compile.h"
#include "compiler/graph/build.h"
#include "compiler/graph/file.h"
#include "compiler/host.h"
#include "compiler/report/placement.h"
#include "compiler/store/composite.h"
#include "e5rig.h"
#include "graphrig.h"
#include "protocol/half.h"
#include "support.h"

enum { CHANNELS = 6, SIDE = 4, ELEMENTS = 2 * SIDE * SIDE, RESULTS = CHANNELS * SIDE * SIDE };

/* x [1, 2, 4, 4], a 1x1 convolution c [1, 6, 4, 4], and what is appended to it. */
static const char *network(const char *name, const char *tail, const char *outputs)
{
    char text[4096];
    int length = snprintf(
        text, sizeof(text),
        "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 2, 4, 4]> x) {\n"
        "        tensor<fp16, [6, 2, 1, 1]> w = const()[name = string(\"w\"), val = tensor<fp16, [6, 2, 1, "
        "1]>([0.5, -1.25, 2, 0.75, -0.5, 1, 1.5, 1.5, -2, 0.25, 0.125, 3])];\n"
        "        tensor<fp16, [1, 6, 4, 4]> c = conv(x = x, weight = w)[name = string(\"c\")];\n"
        "%s    } -> (%s);\n}\n",
        tail, outputs);

    assert_true(length > 0 && (size_t)length < sizeof(text));
    folder_write(name, text, (size_t)length);
    return folder_path(name);
}

static const char argmax_tail[] =
    "        tensor<int32, [1, 4, 4]> y = reduce_argmax(x = c, axis = int32(1), keep_dims = bool(false))"
    "[name = string(\"y\")];\n";
/* The integers between two programs of the engine. */
static const char middle_tail[] =
    "        tensor<int32, [1, 6, 4, 4]> i = cast(dtype = string(\"int32\"), x = c)[name = string(\"i\")];\n"
    "        tensor<fp16, [1, 6, 4, 4]> f = cast(dtype = string(\"fp16\"), x = i)[name = string(\"f\")];\n"
    "        tensor<fp16, [1, 6, 4, 4]> y = relu(x = f)[name = string(\"y\")];\n";

static float value_of(uint16_t half)
{
    uint32_t bits = pr_single_of_half(half);
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static int64_t compile(const char *path, uint64_t devices, e5rt_program_library_t *library)
{
    e5rt_e5_compiler_config_options_t config;
    e5rt_e5_compiler_options_t options;
    e5rt_e5_compiler_t compiler;
    int64_t status;

    OK(e5rt_e5_compiler_config_options_create(&config));
    OK(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_path("cache")));
    OK(e5rt_e5_compiler_create_with_config(&compiler, config));
    OK(e5rt_e5_compiler_options_create(&options));
    OK(e5rt_e5_compiler_options_set_compute_device_types_mask(options, devices));
    status = e5rt_e5_compiler_compile(compiler, path, options, library);
    OK(e5rt_e5_compiler_config_options_release(&config));
    OK(e5rt_e5_compiler_options_release(&options));
    OK(e5rt_e5_compiler_release(&compiler));
    return status;
}

static void fill(uint16_t *x)
{
    struct test_rng rng;

    test_rng_init(&rng, 4711);
    for (unsigned i = 0; i < ELEMENTS; i++)
        x[i] = test_rng_fp16_finite(&rng, 4);
}

struct names {
    const char *name;
    size_t bytes;
    void *data;
};

enum call { SYNC, ASYNC };

static void completed(void *context, int64_t status, const char *message)
{
    if (status)
        print_error("%s\n", message);
    else
        sem_post(context);
}

/* Runs once with the input of fill(); the outputs are copied. */
static void run(const char *path, enum call call, unsigned outputs, const struct names *output)
{
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_execution_stream_operation_t operation;
    e5rt_execution_stream_t stream;
    e5rt_buffer_object_t x = e5rig_buffer(ELEMENTS * 2), buffer[4];

    OK(compile(path, E5RT_DEVICE_ALL, &library));
    OK(e5rt_program_library_retain_program_function(library, "main", &function));
    operation = e5rig_operation(function, "op");
    fill(e5rig_data(x));
    e5rig_bind(operation, "x", x);
    for (unsigned i = 0; i < outputs; i++) {
        buffer[i] = e5rig_buffer(output[i].bytes);
        e5rig_bind(operation, output[i].name, buffer[i]);
    }
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, operation));
    if (call == SYNC) {
        OK(e5rt_execution_stream_execute_sync(stream));
    } else {
        sem_t done;

        assert_int_equal(sem_init(&done, 0, 0), 0);
        OK(e5rt_execution_stream_submit_async(stream, completed, &done));
        assert_int_equal(sem_wait(&done), 0);
        sem_destroy(&done);
    }
    for (unsigned i = 0; i < outputs; i++) {
        memcpy(output[i].data, e5rig_data(buffer[i]), output[i].bytes);
        OK(e5rt_buffer_object_release(&buffer[i]));
    }
    OK(e5rt_execution_stream_release(&stream));
    OK(e5rt_execution_stream_operation_release(&operation));
    OK(e5rt_program_function_release(&function));
    OK(e5rt_program_library_release(&library));
    OK(e5rt_buffer_object_release(&x));
}

/* What the engine alone gives for c. */
static void run_plain(uint16_t c[RESULTS])
{
    run(network("plain.mil", "", "c"), SYNC, 1, &(struct names){"c", RESULTS * 2, c});
}

static void classifier(enum call call)
{
    uint16_t plain[RESULTS], c[RESULTS];
    int32_t y[SIDE * SIDE];
    const struct names outputs[] = {{"c", sizeof(c), c}, {"y", sizeof(y), y}};

    run_plain(plain);
    run(network("argmax.mil", argmax_tail, "c, y"), call, 2, outputs);
    assert_memory_equal(c, plain, sizeof(c));
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        unsigned best = 0;

        for (unsigned k = 1; k < CHANNELS; k++)
            if (value_of(c[k * SIDE * SIDE + i]) > value_of(c[best * SIDE * SIDE + i]))
                best = k;
        assert_int_equal(y[i], best);
    }
}

static void a_classifier_ends_with_argmax(void **state)
{
    (void)state;
    e5rig_needs_own_machine("host segments");
    classifier(SYNC);
}

static void submitted_streams_run_too(void **state)
{
    (void)state;
    e5rig_needs_own_machine("host segments");
    classifier(ASYNC);
}

static void the_host_is_in_the_middle(void **state)
{
    uint16_t plain[RESULTS], y[RESULTS];
    struct cc_options options = {.cache = folder_path("cache"), .allow_fallback = true};
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;
    const char *path = network("middle.mil", middle_tail, "y");

    (void)state;
    e5rig_needs_own_machine("host segments");
    run_plain(plain);
    run(path, SYNC, 1, &(struct names){"y", sizeof(y), y});
    for (unsigned i = 0; i < RESULTS; i++)
        assert_true(value_of(y[i]) == fmaxf(truncf(value_of(plain[i])), 0));
    assert_int_equal(cc_compile(path, &options, &bundle, &report, &error), 0);
    assert_true(report.hit);
    assert_int_equal(report.engine_segments, 2);
    assert_int_equal(report.host_segments, 1);
    assert_int_equal(bundle.parts, 3);
    cc_bundle_release(&bundle);
}

/* Two results of one call: elements and indices, of each place the two smallest channels. */
static void topk_gives_elements_and_indices(void **state)
{
    static const char tail[] =
        "        tensor<fp16, [1, 2, 4, 4]> v, tensor<int32, [1, 2, 4, 4]> i = topk(x = c, k = int32(2), "
        "axis = int32(1), ascending = bool(true))[name = string(\"t\")];\n";
    enum { PLACES = SIDE * SIDE };
    uint16_t c[RESULTS], v[2 * PLACES];
    int32_t at[2 * PLACES];
    const struct names outputs[] = {{"v", sizeof(v), v}, {"i", sizeof(at), at}};

    (void)state;
    e5rig_needs_own_machine("host segments");
    run_plain(c);
    run(network("topk.mil", tail, "v, i"), SYNC, 2, outputs);
    for (unsigned p = 0; p < PLACES; p++) {
        unsigned below = 0, below_second = 0;

        assert_in_range(at[p], 0, CHANNELS - 1);
        assert_in_range(at[PLACES + p], 0, CHANNELS - 1);
        assert_int_equal(v[p], c[at[p] * PLACES + (int)p]);
        assert_int_equal(v[PLACES + p], c[at[PLACES + p] * PLACES + (int)p]);
        assert_int_not_equal(at[p], at[PLACES + p]);
        for (unsigned k = 0; k < CHANNELS; k++) {
            below += value_of(c[k * PLACES + p]) < value_of(v[p]);
            below_second += value_of(c[k * PLACES + p]) < value_of(v[PLACES + p]);
        }
        assert_int_equal(below, 0);
        assert_true(below_second <= 1);
    }
}

/* Without host segments nothing runs on the host, also when the cache has the composite. */
static void the_engine_alone_refuses(void **state)
{
    const char *path = network("argmax.mil", argmax_tail, "c, y");
    e5rt_program_library_t library = NULL;
    struct cc_options options = {.cache = folder_path("cache"), .allow_fallback = true};
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;

    (void)state;
    e5rig_needs_own_machine("host segments");
    OK(compile(path, E5RT_DEVICE_ALL, &library));
    OK(e5rt_program_library_release(&library));
    assert_int_equal(cc_compile_find(path, &options, &error), 1);
    options.allow_fallback = false;
    assert_int_equal(cc_compile_find(path, &options, &error), 0);
    FAILS(compile(path, E5RT_DEVICE_ANE, &library), E5RT_INVALID_ARGUMENT, "--allow-fallback");
    assert_true(cc_compile(path, &options, &bundle, &report, &error) < 0);
    assert_true(report.refused);
}

/* A network that the engine takes is the same bundle either way, under the same key. */
static void the_flag_changes_nothing_else(void **state)
{
    const char *path = network("plain.mil", "", "c");
    struct cc_options options = {.cache = folder_path("cache"), .force = true};
    struct cc_bundle bundle[2];
    struct cc_report report[2];
    struct base_error error;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        options.allow_fallback = i;
        if (cc_compile(path, &options, &bundle[i], &report[i], &error))
            fail_msg("%s", error.text);
        assert_int_equal(bundle[i].parts, 0);
    }
    assert_string_equal(report[0].key, report[1].key);
    assert_string_equal(bundle[0].manifest, bundle[1].manifest);
    assert_int_equal(bundle[0].main_bytes, bundle[1].main_bytes);
    assert_memory_equal(bundle[0].main, bundle[1].main, bundle[0].main_bytes);
    cc_bundle_release(&bundle[0]);
    cc_bundle_release(&bundle[1]);
}

/* The report has a row for every node, with the engine's refusal where the host computes. */
static void the_report_names_the_host(void **state)
{
    struct cc_options options = {.cache = folder_path("cache"), .allow_fallback = true, .report = true};
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;
    unsigned host = 0;

    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        if (cc_compile(network("middle.mil", middle_tail, "y"), &options, &bundle, &report, &error))
            fail_msg("%s", error.text);
        for (uint32_t i = 0; i < report.placement->rows; i++) {
            const struct cc_row *row = &report.placement->row[i];

            host += row->where == CC_WHERE_HOST;
            if (!strcmp(row->name, "i")) {
                assert_int_equal(row->where, CC_WHERE_HOST);
                assert_non_null(strstr(row->why, "no integers"));
            }
        }
        cc_placement_destroy(report.placement);
        cc_bundle_release(&bundle);
    }
    assert_int_equal(host, 4);
}

/* A network of the host alone has a report too, of machines that do nothing. */
static void the_host_alone(void **state)
{
    static const char text[] = "program(1.3)\n{\n    func main<ios18>(tensor<fp32, [1, 4]> x) {\n"
                               "        tensor<fp32, [1, 4]> y = add(x = x, y = x)[name = string(\"y\")];\n"
                               "    } -> (y);\n}\n";
    struct cc_options options = {.cache = folder_path("cache"), .allow_fallback = true, .report = true};
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;

    (void)state;
    folder_write("alone.mil", text, strlen(text));
    if (cc_compile(folder_path("alone.mil"), &options, &bundle, &report, &error))
        fail_msg("%s", error.text);
    assert_int_equal(report.engine_segments, 0);
    assert_int_equal(report.host_segments, 1);
    assert_int_equal(report.descriptors, 0);
    for (unsigned i = 0; i < CC_ESTIMATES; i++) {
        assert_non_null(report.placement->estimate[i].machine);
        assert_int_equal(report.placement->estimate[i].engine_ns, 0);
    }
    cc_placement_destroy(report.placement);
    cc_bundle_release(&bundle);
}

/* On disk. */

static void make_composite(const char *name)
{
    struct cc_options options = {
        .cache = folder_path("cache"), .allow_fallback = true, .output = folder_path(name)};
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;

    if (cc_compile(network("middle.mil", middle_tail, "y"), &options, &bundle, &report, &error))
        fail_msg("%s", error.text);
    cc_bundle_release(&bundle);
}

static int read_composite(const char *name)
{
    struct cc_bundle bundle;
    struct base_error error = {""};
    int status = cc_bundle_read(folder_path(name), &bundle, &error);

    if (status)
        assert_true(error.text[0]);
    else
        cc_bundle_release(&bundle);
    return status;
}

static size_t file_bytes(const char *name)
{
    struct stat info;

    assert_int_equal(stat(folder_path(name), &info), 0);
    return (size_t)info.st_size;
}

static void change_byte(const char *name, size_t at)
{
    FILE *file = fopen(folder_path(name), "r+b");
    int byte;

    assert_non_null(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    byte = fgetc(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
}

/* A bit of any byte of any file: the bundle is refused. */
static void changed_bytes_are_refused(void **state)
{
    static const char *const files[] = {"c.bundle/manifest.json",    "c.bundle/signature",
                                        "c.bundle/1.graph",          "c.bundle/0.bundle/main.e5",
                                        "c.bundle/2.bundle/main.e5", "c.bundle/0.bundle/manifest.json"};

    (void)state;
    make_composite("c.bundle");
    assert_int_equal(read_composite("c.bundle"), 0);
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t size = file_bytes(files[i]), step = size / 40 + 1;

        for (size_t at = 0; at < size; at += step) {
            change_byte(files[i], at);
            assert_true(read_composite("c.bundle") < 0);
            change_byte(files[i], at);
        }
    }
    assert_int_equal(read_composite("c.bundle"), 0);
    /* Written again over itself; but not over anything else that is there. */
    make_composite("c.bundle");
    folder_write("c.bundle/other", "x", 1);
    assert_int_equal(cc_bundle_check(folder_path("c.bundle"), NULL), -EBADMSG);
    assert_int_equal(unlink(folder_path("c.bundle/other")), 0);
    assert_int_equal(unlink(folder_path("c.bundle/1.graph")), 0);
    assert_true(read_composite("c.bundle") < 0);
}

/* Wires that do not fit are refused by themselves, whatever the hashes say. */
static void wrong_wires_are_refused(void **state)
{
    const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    struct base_error error;
    struct cc_bundle b;

    (void)state;
    make_composite("wires.bundle");
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(cc_bundle_read(folder_path("wires.bundle"), &b, &error), 0);
        base_free(b.manifest);
        b.manifest = NULL;
        switch (i) {
        case 0: b.part[0].wire[0] = 1000000; break;           /* beyond all */
        case 1: b.part[0].wire[1] = b.part[0].wire[0]; break; /* written twice */
        case 2: b.part[1].wire[0] = b.part[2].wire[1]; break; /* read before it is written */
        case 3: b.wire[b.inputs] = 5; break;                  /* an output of no segment */
        case 4: b.part[1].wire[0] = b.wire[0]; break;         /* of another shape */
        case 5: b.part[1].ports--; break;
        }
        assert_int_equal(cc_composite_finish(&b, key, NULL, false, &error), -EBADMSG);
        cc_bundle_release(&b);
    }
}

/*
 * A result of the host is rounded once, to fp16: not to fp32 before. 1 + 2^-11 is half way between two fp16
 * numbers and would go to the even one, 1; a little more goes to 1 + 2^-10.
 */
static void the_host_rounds_once(void **state)
{
    static const struct {
        float x, k;
        uint16_t y;
    } cases[] = {
        {1 + 0x1p-11f, 0, 0x3c00},          {1 + 0x1p-11f, 0x1p-40f, 0x3c01},
        {1 + 0x3p-11f, 0, 0x3c02},          {1 + 0x3p-11f, -0x1p-40f, 0x3c01},
        {65520, -0x1p-20f, 0x7bff},         {65520, 0, 0x7c00},
        {0x1p-25f, 0x1p-60f, 0x0001},       {-0x1p-25f, 0, 0x8000},
        {-1 - 0x1p-11f, -0x1p-40f, 0xbc01},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float x = cases[i].x;
        uint16_t y = 0;
        void *elements[] = {&x, &y};
        struct base_error error;
        struct cc_host *host = NULL;
        struct cc_build b;
        uint8_t *bytes;
        size_t size;
        uint32_t sum;
        struct gr g;

        gr_open(&g, 1, GR_WHOLE);
        b = (struct cc_build){.graph = g.graph, .name = "sum", .error = &error};
        sum = gr_input(&g, "x", CC_FP32, GR(1));
        sum = cc_build_binary(&b, CC_OP_ADD, sum, cc_build_scalar(&b, cases[i].k));
        gr_output(&g, cc_build_cast(&b, sum, CC_FP16));
        assert_int_equal(b.status, 0);
        if (cc_graph_file_write(g.graph, &bytes, &size, &error) || cc_host_open(bytes, size, &host, &error) ||
            cc_host_run(host, elements, &error))
            fail_msg("%s", error.text);
        assert_int_equal(y, cases[i].y);
        cc_host_close(host);
        base_free(bytes);
        gr_close(&g);
    }
}

/*
 * Every seventh allocation of a compilation fails once: a sentence or a result, and nothing
 * is lost (which a sanitizer sees).
 */
static void every_allocation_may_fail(void **state)
{
    const char *path = network("middle.mil", middle_tail, "y");
    unsigned long count;
    bool good = false;

    (void)state;
    for (unsigned long n = 1; !good && n < 100000; n += 7) {
        struct cc_options options = {.cache = folder_path("none"), .allow_fallback = true, .report = true};
        struct base_error error = {""};
        struct cc_bundle bundle;
        struct cc_report report;
        int status;

        base_alloc_fail_nth(n);
        count = base_alloc_count();
        status = cc_compile(path, &options, &bundle, &report, &error);
        good = base_alloc_count() - count < n;
        base_alloc_fail_nth(0);
        assert_true(status || bundle.parts == 3);
        assert_true(!status || error.text[0]);
        cc_placement_destroy(report.placement);
        cc_bundle_release(&bundle);
        cc_cache_remove(folder_path("none"), NULL, NULL);
    }
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_classifier_ends_with_argmax),
        cmocka_unit_test(submitted_streams_run_too),
        cmocka_unit_test(the_host_is_in_the_middle),
        cmocka_unit_test(the_engine_alone_refuses),
        cmocka_unit_test(the_flag_changes_nothing_else),
        cmocka_unit_test(the_report_names_the_host),
        cmocka_unit_test(changed_bytes_are_refused),
        cmocka_unit_test(wrong_wires_are_refused),
        cmocka_unit_test(the_host_alone),
        cmocka_unit_test(topk_gives_elements_and_indices),
        cmocka_unit_test(the_host_rounds_once),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
