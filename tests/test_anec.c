/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program files of anecc and libane: read, made into images, run, and hostile ones.
 *
 *     test_anec --seeds FOLDER    writes the files made here as seeds for the fuzzer
 */
#include "hwx_image.h"

#include <stdio.h>

#include "anec_file.h"
#include "e5rig.h"
#include "programs.h"
#include "program/anec.h"

#define READ_WRITE(r0, w) ((r0) | 1u << 5 | (w) << 12 | 1u << 17)

static const struct td_shape small = {1, 3, 2, 33};

/* y0 = x0 + x1: destination in buffer 4, sources in 5 and 6. */
static void make_add(struct anec_file *file, uint32_t content, const struct td_shape *s)
{
    struct test_program program;

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, s);
    anec_begin(file, content, program.bytes, program.size, TD_BYTES, 1, NULL, 0);
    anec_surface(file, 1, 4, s);
    anec_surface(file, 0, 5, s);
    anec_surface(file, 0, 6, s);
}

/* `tds` times y0 = relu(x0), with buffers of choice. */
static void make_relu(struct anec_file *file, unsigned tds, uint32_t source, uint32_t destination)
{
    struct test_program program;

    test_assemble(&program, "chain\n%s%s", test_text_relu, tds == 2 ? test_text_relu : "");
    for (uint32_t i = 0, at = 0; i < tds; i++, at = td_get(program.bytes, TD_NEXT)) {
        td_set_shape(program.bytes + at, &small);
        td_set(program.bytes + at, TD_W8,
               READ_WRITE(source, destination) | 1u << 24 | (i + 1 < tds ? 1u << 23 : 0));
    }
    anec_begin(file, 0x1000, program.bytes, program.size, TD_BYTES, tds, NULL, 0);
    anec_surface(file, 0, source, &small);
    anec_surface(file, 1, destination, &small);
}

static void expect_read(const struct anec_file *file, struct pr_hwx *hwx)
{
    struct pr_problem problem;

    if (!pr_anec_read(file->bytes, file->size, hwx, &problem))
        fail_msg("at 0x%x: %s", problem.offset, problem.text);
    expect_sound(hwx, file->size);
    assert_true(pr_program_read(file->bytes, file->size, hwx, NULL));
}

static void expect_refused(const struct anec_file *file, enum pr_problem_kind kind, const char *text)
{
    struct pr_problem problem;
    struct pr_hwx hwx;

    if (pr_anec_read(file->bytes, file->size, &hwx, &problem))
        fail_msg("accepted; expected: %s", text);
    if (problem.kind != kind || !strstr(problem.text, text))
        fail_msg("kind %d at 0x%x: %s\nexpected kind %d: %s", problem.kind, problem.offset, problem.text,
                 kind, text);
    assert_int_equal(problem.text[strlen(problem.text) - 1], '.');
    assert_false(pr_anec_read(file->bytes, file->size, &hwx, NULL));
}

static void expect_port(const struct pr_hwx_port *port, const char *name, enum pr_hwx_direction direction,
                        uint32_t bar)
{
    assert_string_equal(port->name, name);
    assert_string_equal(port->short_name, name);
    assert_int_equal(port->direction, direction);
    assert_int_equal(port->bar, bar);
    assert_int_equal(port->bytes, 0x4000);
    assert_true(port->shaped);
    assert_int_equal(port->element, PR_HWX_ELEMENT_FLOAT16);
    assert_int_equal(port->n, 1);
    assert_int_equal(port->c, 3);
    assert_int_equal(port->h, 2);
    assert_int_equal(port->w, 33);
    assert_int_equal(port->row_stride, 128);
    assert_int_equal(port->plane_stride, 256);
    assert_int_equal(port->batch_stride, 768);
    assert_int_equal(port->element_stride, 2);
}

static void made_files(void **state)
{
    static const uint32_t places[] = {0x1000, 0x800};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct anec_file file;
        struct pr_hwx hwx;

        make_add(&file, places[i], &small);
        expect_read(&file, &hwx);
        assert_int_equal(hwx.text.offset, places[i]);
        assert_int_equal(hwx.text.size, TD_BYTES);
        assert_int_equal(hwx.constant.size, 0);
        assert_int_equal(hwx.bar[1], 0);
        assert_int_equal(hwx.td_count, 1);
        assert_int_equal(hwx.first_td_words, 157);
        assert_int_equal(hwx.intermediate_bytes, 0);
        assert_int_equal(hwx.port_count, 3);
        expect_port(&hwx.port[0], "y0", PR_HWX_OUTPUT, 4);
        expect_port(&hwx.port[1], "x0", PR_HWX_INPUT, 5);
        expect_port(&hwx.port[2], "x1", PR_HWX_INPUT, 6);
    }
}

static void kernel_and_intermediate(void **state)
{
    uint8_t kernel[0x80];
    struct test_program program;
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    memset(kernel, 0x5a, sizeof(kernel));
    test_assemble(&program, "%s", test_text_relu);
    anec_begin(&file, 0x800, program.bytes, program.size, TD_BYTES, 1, kernel, sizeof(kernel));
    anec_surface(&file, 1, 4, &small);
    anec_surface(&file, 0, 5, &small);
    anec_put32(&file, ANEC_TILES + 4 * 3, 3);
    expect_read(&file, &hwx);
    assert_int_equal(hwx.constant.offset, 0x800 + 0x280); /* 0x274 rounded up */
    assert_int_equal(hwx.constant.size, 0x80);
    assert_int_equal(hwx.constant.vmaddr - hwx.text.vmaddr, 0x280);
    assert_memory_equal(file.bytes + hwx.constant.offset, kernel, sizeof(kernel));
    assert_int_equal(hwx.intermediate_bytes, 0xc000);
    assert_int_equal(hwx.bar[4] - hwx.bar[3], 0xc000);
    assert_int_equal(hwx.bar[5] - hwx.bar[4], 0x4000);
}

/* The descriptors know better than the convention; a result that is read again stays a result. */
static void directions(void **state)
{
    struct anec_file file;
    struct pr_hwx hwx;
    uint8_t *second;

    (void)state;
    make_relu(&file, 1, 4, 5);
    expect_read(&file, &hwx);
    expect_port(&hwx.port[0], "x0", PR_HWX_INPUT, 4);
    expect_port(&hwx.port[1], "y0", PR_HWX_OUTPUT, 5);

    make_relu(&file, 2, 5, 4);
    second = file.bytes + file.content + td_get(file.bytes + file.content, TD_NEXT);
    td_set(second, TD_W8, READ_WRITE(4u, 4u) | 1u << 24);
    expect_read(&file, &hwx);
    expect_port(&hwx.port[0], "y0", PR_HWX_OUTPUT, 4);
    expect_port(&hwx.port[1], "x0", PR_HWX_INPUT, 5);

    td_set(second, TD_W8, READ_WRITE(4u, 5u) | 1u << 24);
    expect_refused(&file, PR_PROBLEM_INCONSISTENT, "read and write buffer 4,");
    td_set(second, TD_W8, READ_WRITE(5u, 7u) | 1u << 24);
    expect_refused(&file, PR_PROBLEM_BINDING, "uses buffer 7, which has no tiles");
    anec_surface(&file, 0, 7, &small);
    expect_refused(&file, PR_PROBLEM_INCONSISTENT, "write buffer 4 and others");
    anec_put32(&file, ANEC_SRC_COUNT, 0);
    anec_put32(&file, ANEC_DST_COUNT, 3);
    expect_refused(&file, PR_PROBLEM_INCONSISTENT,
                   "only read buffer 5 and others: more than the header's 0 sources and 3");
}

/* A kernel in a surface makes it a source; who is named nowhere takes what is left, destinations first. */
static void odd_surfaces(void **state)
{
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    make_relu(&file, 1, 4, 5);
    anec_surface(&file, 0, 6, &small);
    td_set(file.bytes + file.content, 0x24, 6 | 1 << 5);
    expect_read(&file, &hwx);
    expect_port(&hwx.port[2], "x1", PR_HWX_INPUT, 6);

    make_relu(&file, 1, 5, 4);
    anec_surface(&file, 0, 6, &small);
    anec_surface(&file, 1, 8, &small);
    expect_read(&file, &hwx);
    expect_port(&hwx.port[2], "y1", PR_HWX_OUTPUT, 6);
    expect_port(&hwx.port[3], "x1", PR_HWX_INPUT, 8);
}

static void placements(void **state)
{
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    make_add(&file, 0x800, &small);
    memcpy(file.bytes + 0x1000, file.bytes + 0x800, TD_BYTES);
    expect_read(&file, &hwx); /* at 0x1000 it would not fit into the file */
    assert_int_equal(hwx.text.offset, 0x800);
    file.size = 0x1000 + TD_BYTES;
    expect_refused(&file, PR_PROBLEM_FORMAT, "at both 0x800 and 0x1000");
    memset(file.bytes + 0x800, 0, sizeof(file.bytes) - 0x800);
    expect_refused(&file, PR_PROBLEM_FORMAT, "at 0x800 or 0x1000; at the latter: there are zeros.");
    /* 116 words of zeros after the header are 58 records of register 0. */
    anec_put32(&file, ANEC_TD_SIZE, 0x1f8);
    expect_refused(&file, PR_PROBLEM_FORMAT, "zeros");
    memset(file.bytes + 0x800, 0xff, sizeof(file.bytes) - 0x800);
    expect_refused(&file, PR_PROBLEM_FORMAT, "No descriptor of 126 words begins the content");
    file.size = 0x1000;
    expect_refused(&file, PR_PROBLEM_FORMAT, "ends at 0x1000");
}

/*
 * Nine descriptors 0x200 apart, from 0x800 on: the fifth begins at 0x1000 and has the same size as the first.
 * The chain decides.
 */
static void long_text_at_the_early_place(void **state)
{
    static const char part[] = "descriptor\n  RBE0=1 RBase0=5 WBE=1 WBase=4 ENE=1 TBE=1 SrcLoc=1 DstLoc=1\n"
                               "  write 0x1f800 18\n  write 0x1f8c8 12\n  write Common\n"
                               "  write TileDMASrc\n  write L2\n  write PE\n  write NE\n  write TileDMADst\n";
    struct test_program program;
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    test_assemble(&program, "chain\n%s%s%s%s%s%s%s%s%s", part, part, part, part, part, part, part, part,
                  part);
    assert_int_equal(program.first_words, 126);
    assert_int_equal(program.size, 8 * 0x200 + 0x1f8);
    for (unsigned late = 0; late < 2; late++) {
        anec_begin(&file, late ? 0x1000 : 0x800, program.bytes, program.size, 0x1f8, 9, NULL, 0);
        file.size = 0x4000;
        anec_surface(&file, 1, 4, &small);
        anec_surface(&file, 0, 5, &small);
        expect_read(&file, &hwx);
        assert_int_equal(hwx.text.offset, late ? 0x1000 : 0x800);
        assert_int_equal(hwx.td_count, 9);
    }
}

/* Who reads a file at the other place, and what is there. */
static void misread_files(void **state)
{
    struct pr_problem note;
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    make_add(&file, 0x1000, &small);
    expect_read(&file, &hwx);
    pr_anec_explain(file.bytes, file.size, &hwx, &note);
    assert_non_null(strstr(note.text, "libane from e585747 on reads it at 0x800, where it finds zeros"));
    assert_int_equal(note.kind, PR_PROBLEM_NONE);
    assert_int_equal(note.offset, 0x1000);
    file.bytes[0x900] = 1;
    pr_anec_explain(file.bytes, file.size, &hwx, &note);
    assert_non_null(strstr(note.text, "at 0x800, where it finds bytes that are no descriptor"));
    make_add(&file, 0x800, &small);
    expect_read(&file, &hwx);
    pr_anec_explain(file.bytes, file.size, &hwx, &note);
    assert_non_null(strstr(note.text, "libane before e585747 and its fork omarchy-ane read it at 0x1000"));
    assert_non_null(strstr(note.text, "where they find the end of the file"));
    assert_int_equal(note.text[strlen(note.text) - 1], '.');
}

/* One wrong number each, of 32 or 64 bits. */
static const struct {
    uint32_t at, bytes;
    uint64_t value;
    enum pr_problem_kind kind;
    const char *text;
} damages[] = {
    {ANEC_SIZE, 8, 0x2000, PR_PROBLEM_TRUNCATED, "declares 0x2000 bytes of content"},
    {ANEC_SIZE, 8, UINT64_MAX, PR_PROBLEM_TRUNCATED, "declares 0xffffffffffffffff bytes"},
    {ANEC_SIZE, 8, 0x273, PR_PROBLEM_INCONSISTENT, "the content 0x273"},
    {ANEC_SIZE, 8, 0, PR_PROBLEM_INCONSISTENT, "the content 0x0"},
    {ANEC_TD_SIZE, 4, 0, PR_PROBLEM_INCONSISTENT, "td_size is 0x0"},
    {ANEC_TD_SIZE, 4, 0x275, PR_PROBLEM_INCONSISTENT, "td_size is 0x275"},
    {ANEC_TD_SIZE, 4, 0x24, PR_PROBLEM_INCONSISTENT, "td_size is 0x24"},
    {ANEC_TD_SIZE, 4, 0x804, PR_PROBLEM_INCONSISTENT, "td_size is 0x804"},
    {ANEC_TD_SIZE, 4, 0x278, PR_PROBLEM_INCONSISTENT, "its first descriptor has 0x278"},
    {ANEC_TD_SIZE, 4, 0x270, PR_PROBLEM_FORMAT, "No descriptor of 156 words"},
    {ANEC_TD_COUNT, 4, 0, PR_PROBLEM_INCONSISTENT, "td_count is 0x0"},
    {ANEC_TSK_SIZE, 8, 0x270, PR_PROBLEM_INCONSISTENT, "The text has 0x270 bytes"},
    {ANEC_TSK_SIZE, 8, UINT64_MAX, PR_PROBLEM_INCONSISTENT, "The text has 0xffffffffffffffff bytes"},
    {ANEC_KRN_SIZE, 8, 1, PR_PROBLEM_INCONSISTENT, "The kernel has 0x1 bytes from 0x280 on"},
    {ANEC_KRN_SIZE, 8, UINT64_MAX - 0x27f, PR_PROBLEM_INCONSISTENT, "The kernel has"},
    {ANEC_SRC_COUNT, 4, 3, PR_PROBLEM_INCONSISTENT, "3 sources and 1 destinations, but tiles for 3"},
    {ANEC_SRC_COUNT, 4, UINT32_MAX, PR_PROBLEM_INCONSISTENT, "4294967295 sources"},
    {ANEC_DST_COUNT, 4, 0, PR_PROBLEM_INCONSISTENT, "2 sources and 0 destinations"},
    {ANEC_TILES + 4, 4, 1, PR_PROBLEM_UNSUPPORTED, "Buffer 1 has 1 tiles"},
    {ANEC_TILES + 8, 4, 1, PR_PROBLEM_UNSUPPORTED, "Buffer 2 has 1 tiles"},
    {ANEC_TILES + 12, 4, UINT32_MAX, PR_PROBLEM_LIMIT, "bytes together"},
    {ANEC_TILES + 20, 4, 0x33ffe, PR_PROBLEM_LIMIT, "0xd0004000 bytes together"},
    {ANEC_TILES + 20, 4, 0, PR_PROBLEM_INCONSISTENT, "but tiles for 2"},
    {ANEC_TILES + 124, 4, 1, PR_PROBLEM_INCONSISTENT, "but tiles for 4"},
    {ANEC_NCHW + 48 * 4, 8, 0, PR_PROBLEM_INCONSISTENT, "y0 in buffer 4 has an axis of length 0"},
    {ANEC_NCHW + 48 * 5 + 8, 8, 0x100000003, PR_PROBLEM_INCONSISTENT, "x0 in buffer 5 has an axis"},
    {ANEC_NCHW + 48 * 6 + 16, 8, UINT64_MAX, PR_PROBLEM_INCONSISTENT, "x1 in buffer 6 has an axis"},
    {ANEC_NCHW + 48 * 4, 8, 22, PR_PROBLEM_INCONSISTENT, "y0 in buffer 4 reach past its 0x4000"},
    {ANEC_NCHW + 48 * 4 + 8, 8, 65, PR_PROBLEM_INCONSISTENT, "reach past"},
    {ANEC_NCHW + 48 * 4 + 32, 8, UINT64_MAX, PR_PROBLEM_INCONSISTENT, "reach past"},
    {ANEC_NCHW + 48 * 4 + 32, 8, 0x2000, PR_PROBLEM_INCONSISTENT, "reach past"},
    {ANEC_NCHW + 48 * 4 + 40, 8, 0x4000, PR_PROBLEM_INCONSISTENT, "reach past"},
    {ANEC_NCHW + 48 * 4 + 40, 8, 64, PR_PROBLEM_INCONSISTENT,
     "rows of 0x40 bytes for 33 elements of float16"},
};

static void damaged_files(void **state)
{
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        make_add(&file, 0x1000, &small);
        if (damages[i].bytes == 8)
            anec_put64(&file, damages[i].at, damages[i].value);
        else
            anec_put32(&file, damages[i].at, (uint32_t)damages[i].value);
        expect_refused(&file, damages[i].kind, damages[i].text);
    }
    make_add(&file, 0x1000, &small);
    anec_put32(&file, ANEC_TILES + 20, 0x33ffd);
    expect_read(&file, &hwx); /* the most that fits */
    anec_put32(&file, ANEC_TILES, 0);
    expect_read(&file, &hwx);
    memset(file.bytes + 0x2000, 0, 0x5000);
    file.size = 0x7000;
    anec_put64(&file, ANEC_SIZE, 0x4001);
    anec_put32(&file, ANEC_TILES, 1);
    expect_refused(&file, PR_PROBLEM_INCONSISTENT, "tiles[0] is 0x1");
    file.size = 0x6a7;
    expect_refused(&file, PR_PROBLEM_TRUNCATED, ".anec header");
}

/* 64 planes of 256 bytes and a last row of 66: the last byte of the last element is inside. */
static void shapes_that_just_fit(void **state)
{
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    make_add(&file, 0x1000, &small);
    anec_put64(&file, ANEC_NCHW + 48 * 4 + 8, 64);
    expect_read(&file, &hwx);
    anec_put64(&file, ANEC_NCHW + 48 * 4, 21);
    anec_put64(&file, ANEC_NCHW + 48 * 4 + 8, 3);
    expect_read(&file, &hwx);
    assert_int_equal(hwx.port[0].batch_stride, 768);
}

static void formats(void **state)
{
    static const char mil[] = "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1]> x) {} -> (x);\n}\n";
    struct pr_problem problem;
    struct anec_file file;
    struct image image;
    struct pr_hwx hwx;

    (void)state;
    make_image(&image, &(struct form){0});
    assert_int_equal(pr_program_format(image.bytes, image.end), PR_PROGRAM_HWX);
    assert_int_equal(pr_program_format(image.bytes, 4), PR_PROGRAM_HWX);
    assert_int_equal(pr_program_format(image.bytes, 3), PR_PROGRAM_UNKNOWN);
    assert_true(pr_program_read(image.bytes, image.end, &hwx, NULL));
    make_add(&file, 0x1000, &small);
    assert_int_equal(pr_program_format(file.bytes, PR_PROGRAM_HEAD_BYTES), PR_PROGRAM_ANEC);
    assert_int_equal(pr_program_format(file.bytes, PR_PROGRAM_HEAD_BYTES - 1), PR_PROGRAM_UNKNOWN);
    assert_int_equal(pr_program_format(NULL, 0), PR_PROGRAM_UNKNOWN);
    assert_int_equal(pr_program_format(mil, sizeof(mil)), PR_PROGRAM_UNKNOWN);
    assert_false(pr_program_read(mil, sizeof(mil), &hwx, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_FORMAT);
    assert_non_null(
        strstr(problem.text, "begins with 0x676f7270; a program image (.hwx) begins with 0xbeefface"));
    assert_false(pr_program_read(mil, 3, &hwx, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_TRUNCATED);
    anec_put32(&file, ANEC_SIZE + 4, 1);
    assert_int_equal(pr_program_format(file.bytes, file.size), PR_PROGRAM_UNKNOWN);
    make_add(&file, 0x1000, &small);
    anec_put32(&file, ANEC_TD_SIZE, 0);
    assert_int_equal(pr_program_format(file.bytes, file.size), PR_PROGRAM_UNKNOWN);
    make_add(&file, 0x1000, &small);
    anec_put32(&file, ANEC_DST_COUNT, 29);
    assert_int_equal(pr_program_format(file.bytes, file.size), PR_PROGRAM_UNKNOWN);
}

/* The image of an .anec holds what the .anec does. */
static void expect_same_image(const struct anec_file *file)
{
    static uint8_t image[1 << 20];
    struct pr_problem problem;
    struct pr_hwx from, to;
    size_t size;

    expect_read(file, &from);
    size = pr_anec_write_image(file->bytes, &from, NULL, 0);
    assert_true(size > 0 && size <= sizeof(image));
    assert_int_equal(pr_anec_write_image(file->bytes, &from, image, sizeof(image)), size);
    if (!pr_hwx_read(image, size, &to, &problem))
        fail_msg("%s", problem.text);
    assert_int_equal(to.td_count, from.td_count);
    assert_int_equal(to.first_td_words, from.first_td_words);
    assert_int_equal(to.intermediate_bytes, from.intermediate_bytes);
    assert_int_equal(to.text.size, from.text.size);
    assert_int_equal(to.constant.size, from.constant.size);
    assert_memory_equal(image + to.text.offset, file->bytes + from.text.offset, from.text.size);
    if (from.constant.size)
        assert_memory_equal(image + to.constant.offset, file->bytes + from.constant.offset,
                            from.constant.size);
    assert_int_equal(to.port_count, from.port_count);
    for (uint32_t i = 0; i < from.port_count; i++) {
        struct pr_hwx_port a = from.port[i], b = to.port[i];

        a.vmaddr = b.vmaddr = 0;
        assert_string_equal(a.name, b.name);
        assert_int_equal(a.bar, b.bar);
        assert_int_equal(a.bytes, b.bytes);
        assert_int_equal(a.direction, b.direction);
        assert_true(b.shaped && a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w && a.d == b.d);
        assert_true(a.batch_stride == b.batch_stride && a.plane_stride == b.plane_stride &&
                    a.row_stride == b.row_stride && a.element_stride == b.element_stride &&
                    a.element == b.element);
    }
}

static void images(void **state)
{
    struct anec_file file;

    (void)state;
    make_add(&file, 0x1000, &small);
    expect_same_image(&file);
    make_relu(&file, 2, 4, 5);
    anec_put32(&file, ANEC_TILES + 12, 2);
    expect_same_image(&file);
}

/* Binds packed buffers, runs once. */
static void run(const struct anec_file *file, const char *name, const char *const ports[],
                e5rt_buffer_object_t buffers[], unsigned count)
{
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    folder_write(name, file->bytes, file->size);
    e5rig_model_open(&model, folder_path(name));
    for (unsigned i = 0; i < count; i++)
        e5rig_bind(model.operation, ports[i], buffers[i]);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
}

static void an_addition_runs(void **state)
{
    static const struct td_shape shapes[] = {{1, 3, 2, 33}, {1, 70, 1, 1}, {2, 3, 4, 7}};
    static const char *const ports[] = {"x0", "x1", "y0"};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        const struct td_shape *s = &shapes[i / 2];
        size_t count = (size_t)s->n * s->c * s->h * s->w;
        e5rt_buffer_object_t buffer[3] = {e5rig_buffer(2 * count), e5rig_buffer(2 * count),
                                          e5rig_buffer(2 * count)};
        uint16_t *a = e5rig_data(buffer[0]), *b = e5rig_data(buffer[1]), *y = e5rig_data(buffer[2]);
        struct anec_file file;
        struct test_rng rng;

        test_rng_init(&rng, 40 + i);
        for (size_t k = 0; k < count; k++) {
            a[k] = test_half_from_double((double)test_rng_range(&rng, -500, 500));
            b[k] = test_half_from_double((double)test_rng_range(&rng, -500, 500) / 2);
        }
        make_add(&file, i % 2 ? 0x800 : 0x1000, s);
        run(&file, i % 2 ? "nameless" : "add.anec", ports, buffer, 3);
        for (size_t k = 0; k < count; k++)
            assert_true(test_half_to_double(y[k]) == test_half_to_double(a[k]) + test_half_to_double(b[k]));
        for (unsigned k = 0; k < 3; k++)
            OK(e5rt_buffer_object_release(&buffer[k]));
    }
}

/* Inputs first, and a kernel behind the text: y0[o] = x0[o] * (o + 2). */
static void a_convolution_runs(void **state)
{
    static const struct test_conv conv = {.cin = 4, .cout = 4, .h = 3, .w = 5, .k = 1};
    static const char *const ports[] = {"x0", "y0"};
    static const struct td_shape shape = {1, 4, 3, 5};
    e5rt_buffer_object_t buffer[2] = {e5rig_buffer(120), e5rig_buffer(120)};
    uint16_t *x = e5rig_data(buffer[0]), *y = e5rig_data(buffer[1]);
    uint8_t kernel[0x400] = {0};
    struct test_program program;
    struct anec_file file;

    (void)state;
    test_program_conv(&program, &conv);
    td_set(program.bytes, TD_W8, (td_get(program.bytes, TD_W8) & ~0x3ffffu) | READ_WRITE(4u, 5u));
    assert_true(test_conv_kernel_bytes(&conv) <= sizeof(kernel));
    for (uint32_t o = 0; o < 4; o++) {
        uint16_t weight = test_half_from_double(o + 2);

        memcpy(kernel + test_conv_weight(&conv, o, o, 0, 0), &weight, 2);
    }
    anec_begin(&file, 0x1000, program.bytes, program.size, TD_BYTES, 1, kernel,
               test_conv_kernel_bytes(&conv));
    anec_surface(&file, 0, 4, &shape);
    anec_surface(&file, 1, 5, &shape);
    for (unsigned i = 0; i < 60; i++)
        x[i] = test_half_from_double((int)i - 20);
    run(&file, "conv.anec", ports, buffer, 2);
    for (int i = 0; i < 60; i++)
        assert_true(test_half_to_double(y[i]) == (i - 20) * (i / 15 + 2));
    OK(e5rt_buffer_object_release(&buffer[0]));
    OK(e5rt_buffer_object_release(&buffer[1]));
}

static void the_runtime_refuses(void **state)
{
    e5rt_program_library_t library;
    struct anec_file file;

    (void)state;
    make_add(&file, 0x1000, &small);
    anec_put32(&file, ANEC_TD_COUNT, 0);
    folder_write("none", file.bytes, file.size);
    FAILS(e5rt_program_library_create(&library, folder_path("none")), E5RT_INVALID_ARGUMENT,
          "td_count is 0x0");
    folder_write("rubbish.anec", "rubbish, and more of it than any header needs", 45);
    FAILS(e5rt_program_library_create(&library, folder_path("rubbish.anec")), E5RT_INVALID_ARGUMENT,
          "begins with 0x62627572");
    FAILS(e5rt_program_library_create(&library, folder_path("absent.anec")), E5RT_INVALID_ARGUMENT,
          "absent.anec: cannot be opened: No such file");
}

/* The real programs as anecc would have packed them. */
static void real_programs(void **state)
{
    static const char *const names[] = {"concat.hwx", "conv.hwx", "gemm.hwx",
                                        "golden.hwx", "relu.hwx", "sum.hwx"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = test_program_path(names[i]);
        struct anec_file file;
        struct pr_hwx from, to;
        uint8_t *bytes;
        size_t size;

        if (!path)
            skip();
        bytes = test_file_read(path, &size);
        assert_true(bytes && pr_hwx_read(bytes, size, &from, NULL));
        if (from.text.size + from.constant.size > 0xe000) {
            free(bytes);
            continue;
        }
        anec_begin(&file, i % 2 ? 0x800 : 0x1000, bytes + from.text.offset, (uint32_t)from.text.size,
                   TD_BYTES, from.td_count, bytes + from.constant.offset, (uint32_t)from.constant.size);
        for (uint32_t p = 0; p < from.port_count; p++) {
            const struct pr_hwx_port *port = &from.port[p];

            anec_surface(&file, port->direction == PR_HWX_OUTPUT, port->bar,
                         &(struct td_shape){port->n, port->c, port->h, port->w});
        }
        expect_read(&file, &to);
        assert_int_equal(to.port_count, from.port_count);
        for (uint32_t p = 0; p < from.port_count; p++)
            for (uint32_t q = 0; q < to.port_count; q++)
                if (from.port[p].bar == to.port[q].bar) {
                    assert_int_equal(from.port[p].direction, to.port[q].direction);
                    assert_int_equal(from.port[p].row_stride, to.port[q].row_stride);
                    assert_int_equal(from.port[p].plane_stride, to.port[q].plane_stride);
                }
        expect_same_image(&file);
        free(bytes);
    }
}

/* A copy that ends where its allocation ends, so that a sanitizer sees a byte read too many. */
static bool read_exactly(const uint8_t *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem)
{
    uint8_t *copy = malloc(size ? size : 1);
    bool good;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    good = pr_anec_read(copy, size, hwx, problem);
    assert_true(good || problem->kind != PR_PROBLEM_NONE);
    if (good)
        expect_sound(hwx, size);
    pr_program_read(copy, size, hwx, problem);
    free(copy);
    return good;
}

static void truncated_files(void **state)
{
    static const uint32_t places[] = {0x1000, 0x800};
    struct pr_problem problem;
    struct anec_file file;
    struct pr_hwx hwx;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        make_add(&file, places[i], &small);
        for (size_t size = 0; size <= file.size; size++)
            assert_int_equal(read_exactly(file.bytes, size, &hwx, &problem), size == file.size);
    }
}

static void flipped_files(void **state)
{
    struct anec_file file, flipped;
    struct pr_problem problem;
    struct test_rng rng;
    struct pr_hwx hwx;

    (void)state;
    test_rng_init(&rng, 3);
    for (unsigned i = 0; i < 20000; i++) {
        if (i % 10000 == 0)
            i ? make_relu(&file, 2, 5, 4) : make_add(&file, 0x800, &small);
        memcpy(&flipped, &file, sizeof(file));
        if (test_rng_bool(&rng))
            flip(flipped.bytes, flipped.size, 0x28 + 32 * 4 + 48 * 7, &rng);
        else
            flip(flipped.bytes + flipped.content, flipped.size - flipped.content, 0x30, &rng);
        read_exactly(flipped.bytes, flipped.size, &hwx, &problem);
    }
}

static int write_seed(const char *folder, const char *name, const struct anec_file *file)
{
    char path[4096];
    FILE *out;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    out = fopen(path, "wb");
    if (!out || fwrite(file->bytes, 1, file->size, out) != file->size || fclose(out)) {
        perror(path);
        return 1;
    }
    return 0;
}

static int write_seeds(const char *folder)
{
    struct anec_file file;
    int failed = 0;

    make_add(&file, 0x1000, &small);
    failed |= write_seed(folder, "add", &file);
    make_add(&file, 0x800, &small);
    failed |= write_seed(folder, "short", &file);
    make_relu(&file, 2, 4, 5);
    anec_put32(&file, ANEC_TILES + 12, 2);
    failed |= write_seed(folder, "chain", &file);
    return failed;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_files),
        cmocka_unit_test(kernel_and_intermediate),
        cmocka_unit_test(directions),
        cmocka_unit_test(odd_surfaces),
        cmocka_unit_test(placements),
        cmocka_unit_test(long_text_at_the_early_place),
        cmocka_unit_test(misread_files),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(shapes_that_just_fit),
        cmocka_unit_test(formats),
        cmocka_unit_test(images),
        cmocka_unit_test(an_addition_runs),
        cmocka_unit_test(a_convolution_runs),
        cmocka_unit_test(the_runtime_refuses),
        cmocka_unit_test(real_programs),
        cmocka_unit_test(truncated_files),
        cmocka_unit_test(flipped_files),
    };

    if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
        return write_seeds(argv[2]);
    return cmocka_run_group_tests_name("anec", tests, NULL, NULL);
}
