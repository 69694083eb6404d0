/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose ports hold bytes, from the file to the result: images and .anec files, packed buffers and
 * the engine's own, several ports, ports without a shape.
 *
 *     test_bytes --seeds FOLDER    writes a file made here as a seed for the fuzzer
 */
#include "bytes_program.h"

#include "e5rig.h"
#include "program/anec.h"

static uint8_t image[1 << 20];

static const struct {
    uint32_t from, to;
    bool relu;
    int least, most; /* of the source: what the result can hold */
} pairs[] = {
    {CODE_U8, CODE_U8, false, 0, 255},     {CODE_I8, CODE_I8, false, -128, 127},
    {CODE_U8, CODE_FP16, false, 0, 255},   {CODE_I8, CODE_FP16, false, -128, 127},
    {CODE_FP16, CODE_U8, false, 0, 255},   {CODE_FP16, CODE_I8, false, -128, 127},
    {CODE_I8, CODE_I8, true, -128, 127},   {CODE_I8, CODE_U8, true, -128, 127},
    {CODE_FP16, CODE_U8, true, -300, 255}, {CODE_FP16, CODE_FP16, true, -300, 300},
};

static const uint32_t shapes[][4] = {
    {1, 3, 2, 33}, {1, 1, 1500, 1}, {2, 3, 4, 65}, {1, 2, 3, 64}, {1, 5, 1, 130}};

#define PAIRS  (sizeof(pairs) / sizeof(pairs[0]))
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct surface surface(uint32_t bar, uint32_t code, const uint32_t shape[4])
{
    return (struct surface){bar, code, shape[0], shape[1], shape[2], shape[3]};
}

static void execute(e5rt_execution_stream_operation_t operation)
{
    e5rt_execution_stream_t stream;

    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    OK(e5rt_execution_stream_release(&stream));
}

/* Where an element is in the engine's layout, in elements: every row begins on a multiple of 64 bytes. */
static size_t engine_index(const struct surface *s, size_t index)
{
    size_t w = index % s->w, row = index / s->w;

    return row * surface_row(s) / surface_element(s) + w;
}

/* Runs the file and compares every element with what it has to be. */
static void run_pair(const char *path, const char *in, const char *out, const struct surface *from,
                     const struct surface *to, unsigned pair, bool engine, uint64_t seed)
{
    size_t count = surface_count(from);
    e5rt_buffer_object_t x, y;
    struct e5rig_model model;
    struct test_rng rng;

    e5rig_model_open(&model, path);
    x = engine ? e5rig_engine_buffer(model.operation, in) : e5rig_buffer(count * surface_element(from));
    y = engine ? e5rig_engine_buffer(model.operation, out) : e5rig_buffer(count * surface_element(to));
    e5rig_bind(model.operation, in, x);
    e5rig_bind(model.operation, out, y);
    test_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++)
        surface_put(from, e5rig_data(x), engine ? engine_index(from, i) : i,
                    (int)test_rng_range(&rng, pairs[pair].least, pairs[pair].most));
    execute(model.operation);
    for (size_t i = 0; i < count; i++) {
        int value = surface_get(from, e5rig_data(x), engine ? engine_index(from, i) : i),
            got = surface_get(to, e5rig_data(y), engine ? engine_index(to, i) : i);

        if (pairs[pair].relu && value < 0)
            value = 0;
        if (got != value)
            fail_msg("%s, pair %u, engine %d: element %zu is %d, not %d", path, pair, engine, i, got, value);
    }
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x));
    OK(e5rt_buffer_object_release(&y));
}

static void images_run(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PAIRS; p++)
        for (unsigned i = 0; i < SHAPES; i++) {
            struct surface from = surface(5, pairs[p].from, shapes[i]),
                           to = surface(4, pairs[p].to, shapes[i]);
            const struct pr_hwx_port ports[2] = {surface_port("x", PR_HWX_INPUT, &from),
                                                 surface_port("y@output", PR_HWX_OUTPUT, &to)};
            struct test_program program;
            char text[4096];

            test_assemble(&program, "%s", copy_text(text, &from, &to, pairs[p].relu, false));
            folder_write("copy.hwx", image, bytes_image(image, sizeof(image), &program, ports, 2, 0));
            run_pair(folder_path("copy.hwx"), "x", "y", &from, &to, p, false, 100 * p + i);
            run_pair(folder_path("copy.hwx"), "x", "y", &from, &to, p, true, 100 * p + i);
        }
}

static void anecs_run(void **state)
{
    static const uint32_t elements[] = {PR_HWX_ELEMENT_UINT8, PR_HWX_ELEMENT_INT8, PR_HWX_ELEMENT_FLOAT16};

    (void)state;
    for (unsigned p = 0; p < PAIRS; p++)
        for (unsigned i = 0; i < SHAPES; i++) {
            struct surface from = surface(4 + i % 2, pairs[p].from, shapes[i]),
                           to = surface(5 - i % 2, pairs[p].to, shapes[i]);
            struct anec_file file;
            struct pr_hwx hwx;

            bytes_anec(&file, (p + i) % 2 ? 0x800 : 0x1000, &from, &to, pairs[p].relu);
            assert_true(pr_anec_read(file.bytes, file.size, &hwx, NULL));
            for (unsigned k = 0; k < 2; k++) {
                const struct surface *s = hwx.port[k].direction == PR_HWX_INPUT ? &from : &to;

                assert_int_equal(hwx.port[k].bar, s->bar);
                assert_int_equal(hwx.port[k].element, elements[s->code]);
                assert_int_equal(hwx.port[k].element_stride, surface_element(s));
                assert_int_equal(hwx.port[k].batch_stride, surface_tensor(s));
            }
            folder_write("copy.anec", file.bytes, file.size);
            run_pair(folder_path("copy.anec"), "x0", "y0", &from, &to, p, i % 2, 1000 + 100 * p + i);
        }
}

/* The image with every tensor descriptor taken away. */
static void forget_shapes(uint8_t *bytes)
{
    uint32_t at = 32;

    for (uint32_t i = 0; i < pr_le32(bytes + 16); i++, at += pr_le32(bytes + at + 4))
        if (pr_le32(bytes + at) == 4 && pr_le32(bytes + at + 8) == 3)
            pr_put_le32(bytes + at + 8, 0x77);
}

/* x -> scratch -> y, and x -> z: two results of different types, an intermediate, no constants. */
static void several_ports(void **state)
{
    const uint32_t shape[4] = {1, 4, 3, 40};
    const struct surface x = surface(6, CODE_I8, shape), y = surface(4, CODE_FP16, shape),
                         z = surface(9, CODE_U8, shape), scratch = surface(3, CODE_U8, shape);
    const struct pr_hwx_port ports[3] = {surface_port("x", PR_HWX_INPUT, &x),
                                         surface_port("y@output", PR_HWX_OUTPUT, &y),
                                         surface_port("z@output", PR_HWX_OUTPUT, &z)};
    char text[3][4096];
    struct test_program program;
    size_t size;

    (void)state;
    test_assemble(&program, "chain\n%s%s%s", copy_text(text[0], &x, &scratch, true, true),
                  copy_text(text[1], &scratch, &y, false, true), copy_text(text[2], &x, &z, true, false));
    size = bytes_image(image, sizeof(image), &program, ports, 3, 0x4000);
    for (unsigned shaped = 0; shaped < 2; shaped++) {
        size_t count = surface_count(&x);
        e5rt_buffer_object_t buffer[3];
        struct e5rig_model model;
        struct test_rng rng;

        if (!shaped)
            forget_shapes(image);
        folder_write("three.hwx", image, size);
        e5rig_model_open(&model, folder_path("three.hwx"));
        for (unsigned i = 0; i < 3; i++) {
            buffer[i] = shaped ? e5rig_buffer(2 * count) : e5rig_buffer(surface_tensor(&y));
            e5rig_bind(model.operation, i == 0 ? "x" : i == 1 ? "y" : "z", buffer[i]);
        }
        test_rng_init(&rng, shaped);
        /* Without shapes a port is its whole surface, in the engine's layout. */
        for (size_t i = 0; i < count; i++)
            surface_put(&x, e5rig_data(buffer[0]), shaped ? i : engine_index(&x, i),
                        (int)test_rng_range(&rng, -128, 127));
        execute(model.operation);
        for (size_t i = 0; i < count; i++) {
            int value = surface_get(&x, e5rig_data(buffer[0]), shaped ? i : engine_index(&x, i));

            value = value < 0 ? 0 : value;
            assert_int_equal(surface_get(&y, e5rig_data(buffer[1]), shaped ? i : engine_index(&y, i)), value);
            assert_int_equal(surface_get(&z, e5rig_data(buffer[2]), shaped ? i : engine_index(&z, i)), value);
        }
        e5rig_model_close(&model);
        for (unsigned i = 0; i < 3; i++)
            OK(e5rt_buffer_object_release(&buffer[i]));
        size = bytes_image(image, sizeof(image), &program, ports, 3, 0x4000);
    }
}

struct description {
    uint64_t rank, shape[5], strides[5];
    size_t bytes;
    uint32_t dtype;
};

static struct description describe(e5rt_execution_stream_operation_t operation, bool input, const char *name)
{
    struct description d = {0};
    e5rt_tensor_desc_t desc;
    e5rt_io_port_t port;

    OK(input ? e5rt_execution_stream_operation_retain_input_port(operation, name, &port)
             : e5rt_execution_stream_operation_retain_output_port(operation, name, &port));
    OK(e5rt_io_port_retain_tensor_desc(port, &desc));
    OK(e5rt_tensor_desc_get_rank(desc, &d.rank));
    OK(e5rt_tensor_desc_get_shape(desc, d.shape));
    OK(e5rt_tensor_desc_get_strides(desc, d.strides));
    OK(e5rt_tensor_desc_get_size(desc, &d.bytes));
    OK(e5rt_tensor_desc_get_dtype(desc, &d.dtype));
    OK(e5rt_tensor_desc_release(&desc));
    OK(e5rt_io_port_release(&port));
    return d;
}

static void descriptors_say_what_ports_hold(void **state)
{
    const uint32_t shape[4] = {1, 3, 2, 65};
    const struct surface x = surface(5, CODE_U8, shape), y = surface(4, CODE_I8, shape);
    const struct pr_hwx_port ports[2] = {surface_port("x", PR_HWX_INPUT, &x),
                                         surface_port("y", PR_HWX_OUTPUT, &y)};
    struct test_program program;
    struct description d;
    struct e5rig_model model;
    char text[4096];
    size_t size;

    (void)state;
    test_assemble(&program, "%s", copy_text(text, &x, &y, false, false));
    size = bytes_image(image, sizeof(image), &program, ports, 2, 0);
    folder_write("types.hwx", image, size);
    e5rig_model_open(&model, folder_path("types.hwx"));
    d = describe(model.operation, true, "x");
    assert_int_equal(d.dtype, 1);
    assert_int_equal(d.bytes, 3 * 2 * 128);
    assert_true(d.rank == 4 && d.shape[3] == 65);
    assert_true(d.strides[1] == 256 && d.strides[2] == 128 && d.strides[3] == 1);
    d = describe(model.operation, false, "y");
    assert_int_equal(d.dtype, 2);
    assert_int_equal(d.strides[3], 1);
    e5rig_model_close(&model);

    /* Without shapes the descriptors still tell bytes from halfs. */
    forget_shapes(image);
    folder_write("types.hwx", image, size);
    e5rig_model_open(&model, folder_path("types.hwx"));
    d = describe(model.operation, true, "x");
    assert_true(d.dtype == 1 && d.rank == 1 && d.shape[0] == 768 && d.strides[0] == 1);
    assert_int_equal(describe(model.operation, false, "y").dtype, 2);
    e5rig_model_close(&model);
}

static void buffers_that_do_not_fit(void **state)
{
    const uint32_t shape[4] = {1, 3, 2, 65};
    const struct surface x = surface(5, CODE_U8, shape), y = surface(4, CODE_I8, shape);
    const struct pr_hwx_port ports[2] = {surface_port("x", PR_HWX_INPUT, &x),
                                         surface_port("y", PR_HWX_OUTPUT, &y)};
    e5rt_buffer_object_t small, foreign;
    struct test_program program;
    struct e5rig_model model;
    e5rt_io_port_t port;
    char text[4096];

    (void)state;
    test_assemble(&program, "%s", copy_text(text, &x, &y, false, false));
    folder_write("types.hwx", image, bytes_image(image, sizeof(image), &program, ports, 2, 0));
    e5rig_model_open(&model, folder_path("types.hwx"));
    OK(e5rt_execution_stream_operation_retain_input_port(model.operation, "x", &port));
    small = e5rig_buffer(384);
    FAILS(e5rt_io_port_bind_buffer_object(port, small), E5RT_OUT_OF_BOUNDS,
          "Port x needs 390 bytes; the buffer has 384.");
    foreign = e5rig_engine_buffer(model.operation, "y");
    FAILS(e5rt_io_port_bind_buffer_object(port, foreign), E5RT_INVALID_ARGUMENT,
          "elements of uint8 in rows of 128 bytes; the buffer was allocated for 1x3x2x65 of int8");
    OK(e5rt_io_port_release(&port));
    OK(e5rt_buffer_object_release(&small));
    OK(e5rt_buffer_object_release(&foreign));
    e5rig_model_close(&model);
}

static void elements_that_are_refused(void **state)
{
    const uint32_t shape[4] = {1, 3, 2, 30};
    const struct surface x = surface(5, CODE_U8, shape), y = surface(4, CODE_U8, shape);
    struct pr_hwx_port ports[2] = {surface_port("x", PR_HWX_INPUT, &x), surface_port("y", PR_HWX_OUTPUT, &y)};
    e5rt_program_library_t library;
    struct test_program program;
    char text[4096];

    (void)state;
    test_assemble(&program, "%s", copy_text(text, &x, &y, false, false));
    ports[0].element = PR_HWX_ELEMENT_INT16;
    folder_write("odd.hwx", image, bytes_image(image, sizeof(image), &program, ports, 2, 0));
    FAILS(e5rt_program_library_create(&library, folder_path("odd.hwx")), E5RT_INVALID_DATA_TYPE,
          "Port x has elements of type int16; the runtime binds float16, uint8 and int8.");
    ports[0].element = 99;
    folder_write("odd.hwx", image, bytes_image(image, sizeof(image), &program, ports, 2, 0));
    FAILS(e5rt_program_library_create(&library, folder_path("odd.hwx")), E5RT_INVALID_DATA_TYPE,
          "type unknown");
    ports[0].element = PR_HWX_ELEMENT_UINT8;
    ports[0].element_stride = 2;
    folder_write("odd.hwx", image, bytes_image(image, sizeof(image), &program, ports, 2, 0));
    FAILS(e5rt_program_library_create(&library, folder_path("odd.hwx")), E5RT_INVALID_DATA_TYPE,
          "2 bytes between elements of uint8");
    ports[0].element = PR_HWX_ELEMENT_FLOAT16;
    ports[0].element_stride = 1;
    folder_write("odd.hwx", image, bytes_image(image, sizeof(image), &program, ports, 2, 0));
    FAILS(e5rt_program_library_create(&library, folder_path("odd.hwx")), E5RT_INVALID_DATA_TYPE,
          "1 bytes between elements of float16");
}

/* Rows of bytes are half as long: what is too short for halfs may do for bytes. */
static void rows_of_an_anec(void **state)
{
    const uint32_t shape[4] = {1, 3, 2, 64};
    const struct surface x = surface(5, CODE_U8, shape), y = surface(4, CODE_FP16, shape);
    struct pr_problem problem;
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    bytes_anec(&file, 0x1000, &x, &y, false);
    assert_true(pr_anec_read(file.bytes, file.size, &hwx, NULL));
    anec_put64(&file, ANEC_NCHW + 48 * 5 + 24, 65);
    assert_false(pr_anec_read(file.bytes, file.size, &hwx, &problem));
    assert_non_null(
        strstr(problem.text, "Surface x0 in buffer 5 has rows of 0x40 bytes for 65 elements of uint8."));
    bytes_anec(&file, 0x1000, &x, &y, false);
    anec_put64(&file, ANEC_NCHW + 48 * 4 + 40, 64);
    assert_false(pr_anec_read(file.bytes, file.size, &hwx, &problem));
    assert_non_null(
        strstr(problem.text, "Surface y0 in buffer 4 has rows of 0x40 bytes for 64 elements of float16."));
    assert_int_equal(problem.kind, PR_PROBLEM_INCONSISTENT);
    /* The last byte of the last row is the last of the surface. */
    bytes_anec(&file, 0x1000, &x, &y, false);
    anec_put64(&file, ANEC_NCHW + 48 * 5 + 8, 128);
    assert_true(pr_anec_read(file.bytes, file.size, &hwx, NULL));
    anec_put64(&file, ANEC_NCHW + 48 * 5 + 8, 129);
    assert_false(pr_anec_read(file.bytes, file.size, &hwx, &problem));
    assert_non_null(strstr(problem.text, "reach past its 0x4000 bytes"));
}

static int write_seeds(const char *folder)
{
    const uint32_t shape[4] = {1, 3, 2, 33};
    const struct surface x = surface(5, CODE_I8, shape), y = surface(4, CODE_U8, shape);
    struct anec_file file;
    char path[4096];
    FILE *out;

    bytes_anec(&file, 0x1000, &x, &y, true);
    snprintf(path, sizeof(path), "%s/bytes", folder);
    out = fopen(path, "wb");
    if (!out || fwrite(file.bytes, 1, file.size, out) != file.size || fclose(out)) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_run),
        cmocka_unit_test(anecs_run),
        cmocka_unit_test(several_ports),
        cmocka_unit_test(descriptors_say_what_ports_hold),
        cmocka_unit_test(buffers_that_do_not_fit),
        cmocka_unit_test(elements_that_are_refused),
        cmocka_unit_test(rows_of_an_anec),
    };

    if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
        return write_seeds(argv[2]);
    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
