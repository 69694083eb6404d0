/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images made here in the forms of both compiler generations, and hostile ones.
 *
 *     test_hwx --seeds FOLDER    writes the images made here as seeds for the fuzzer
 */
#include "hwx_image.h"

#include <stdio.h>

static void expect_read(const struct image *image, struct pr_hwx *hwx)
{
    struct pr_problem problem;

    if (!pr_hwx_read(image->bytes, image->end, hwx, &problem))
        fail_msg("at 0x%x: %s", problem.offset, problem.text);
}

static void expect_refused(const struct image *image, enum pr_problem_kind kind, const char *text)
{
    struct pr_problem problem;
    struct pr_hwx hwx;

    if (pr_hwx_read(image->bytes, image->end, &hwx, &problem))
        fail_msg("accepted; expected: %s", text);
    if (problem.kind != kind || !strstr(problem.text, text))
        fail_msg("kind %d at 0x%x: %s\nexpected kind %d: %s", problem.kind, problem.offset, problem.text,
                 kind, text);
    assert_false(pr_hwx_read(image->bytes, image->end, &hwx, NULL));
}

static void expect_shape(const struct pr_hwx_port *port)
{
    assert_true(port->shaped);
    assert_int_equal(port->element, PR_HWX_ELEMENT_FLOAT16);
    assert_int_equal(port->n, 1);
    assert_int_equal(port->c, 3);
    assert_int_equal(port->h, 2);
    assert_int_equal(port->w, 7);
    assert_int_equal(port->d, 1);
    assert_int_equal(port->batch_stride, 0x180);
    assert_int_equal(port->plane_stride, 0x80);
    assert_int_equal(port->row_stride, 0x40);
    assert_int_equal(port->element_stride, 2);
}

static void made_images(void **state)
{
    static const struct form forms[] = {
        {.modern = false}, {.modern = true}, {.no_tensors = true}, {.modern = true, .no_tensors = true}};

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct image image;
        struct pr_hwx hwx;

        make_image(&image, &forms[i]);
        expect_read(&image, &hwx);
        assert_int_equal(hwx.text.offset, TEXT_AT);
        assert_int_equal(hwx.text.size, TEXT_BYTES);
        assert_int_equal(hwx.text.vmaddr, TEXT_VM);
        assert_int_equal(hwx.constant.offset, TEXT_AT + 0x280);
        assert_int_equal(hwx.constant.size, 0x40);
        assert_int_equal(hwx.td_count, 1);
        assert_int_equal(hwx.first_td_words, 157);
        assert_int_equal(hwx.intermediate_bytes, 0);
        assert_int_equal(hwx.bar[0], TEXT_VM);
        assert_int_equal(hwx.port_count, 2);
        assert_string_equal(hwx.port[0].name, "x");
        assert_string_equal(hwx.port[0].short_name, "x");
        assert_int_equal(hwx.port[0].direction, PR_HWX_INPUT);
        assert_int_equal(hwx.port[0].bar, forms[i].modern ? 4 : 5);
        assert_string_equal(hwx.port[1].name, "y@output");
        assert_string_equal(hwx.port[1].short_name, "y");
        assert_int_equal(hwx.port[1].direction, PR_HWX_OUTPUT);
        assert_int_equal(hwx.port[1].bar, forms[i].modern ? 5 : 4);
        assert_int_equal(hwx.port[1].bytes, 0x180);
        expect_shape(&hwx.port[0]);
        expect_shape(&hwx.port[1]);
        assert_string_equal((char *)image.bytes + hwx.banner.offset, "ANEC v1");
    }
}

static void unknown_shapes_stay_unknown(void **state)
{
    struct image image;
    struct pr_hwx hwx;

    (void)state;
    make_image(&image, &(struct form){.no_tensors = true, .no_shapes = true});
    expect_read(&image, &hwx);
    for (int i = 0; i < 2; i++) {
        assert_false(hwx.port[i].shaped);
        assert_int_equal(hwx.port[i].c, 0);
        assert_int_equal(hwx.port[i].bytes, 0x180);
        assert_int_equal(hwx.port[i].element, PR_HWX_ELEMENT_FLOAT16);
    }
}

/* The place of the nth command of a type in a made image. */
static uint32_t command_at(const struct image *image, uint32_t type, uint32_t flavour, unsigned nth)
{
    uint32_t at = 32;

    for (uint32_t i = 0; i < image->count; i++, at += pr_le32(image->bytes + at + 4))
        if (pr_le32(image->bytes + at) == type && (type != 4 || pr_le32(image->bytes + at + 8) == flavour) &&
            nth-- == 0)
            return at;
    fail();
    return 0;
}

/*
 * What has no shape holds what the descriptors take it for; of two that
 * contradict each other neither is believed.
 */
static void elements_without_shapes(void **state)
{
    struct image image;
    struct pr_hwx hwx;

    (void)state;
    /* Output in buffer 4, input in 5. */
    make_image(&image, &(struct form){.no_tensors = true, .no_shapes = true});
    put32(&image, TEXT_AT + 0x20, 5 | 1 << 5 | 4 << 12 | 1 << 17);
    put32(&image, TEXT_AT + 0x16c, 1); /* both transfers are enabled */
    put32(&image, TEXT_AT + 0x258, 1);
    put32(&image, TEXT_AT + 0x1e4, 2); /* and move DRAM */
    put32(&image, TEXT_AT + 0x210, 2);
    put32(&image, TEXT_AT + 0x270, 0x1000); /* MemFmt 1 */
    expect_read(&image, &hwx);
    assert_int_equal(hwx.port[0].element, PR_HWX_ELEMENT_UINT8);
    assert_int_equal(hwx.port[1].element, PR_HWX_ELEMENT_INT8);
    assert_false(hwx.port[0].shaped);
    put32(&image, TEXT_AT + 0x20, 5 | 1 << 5 | 5 << 12 | 1 << 17);
    expect_refused(&image, PR_PROBLEM_INCONSISTENT,
                   "Descriptor 0 takes the surface in buffer 5 for uint8, and descriptor 0 for int8.");
    /* A file that says what its surfaces hold is not asked again. */
    make_image(&image, &(struct form){0});
    put32(&image, command_at(&image, 4, 3, 1) + 0x24, 3);
    put64(&image, command_at(&image, 4, 3, 1) + 0x68, 1);
    expect_read(&image, &hwx);
    assert_int_equal(hwx.port[0].element, PR_HWX_ELEMENT_UINT8);
    assert_int_equal(hwx.port[0].element_stride, 1);
    assert_int_equal(hwx.port[0].row_stride, 64);
}

/* The first place of a string in the image. */
static char *find_text(struct image *image, const char *text)
{
    for (size_t i = 0; i + strlen(text) < image->end; i++)
        if (memcmp(image->bytes + i, text, strlen(text)) == 0)
            return (char *)image->bytes + i;
    fail();
    return NULL;
}

/*
 * Symbols that do not spell a whole shape are passed over; a shape that does not fit its surface is refused.
 */
static void odd_symbols(void **state)
{
    static const struct {
        const char *from, *to;
    } odd[] = {{"=s384n", "=s384q"}, {"x:t11=", "x:t11:"},   {";0;3;13", ";0;z;13"},    {"=s64h:", "_s64h:"},
               {"=s2w:5", "=s2w:w"}, {";0;2;14", ";0;0;14"}, {"x:t11=ar1", "x:t11=az1"}};
    struct image image;
    struct pr_hwx hwx;

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        make_image(&image, &(struct form){.no_tensors = true});
        memcpy(find_text(&image, odd[i].from), odd[i].to, strlen(odd[i].to));
        expect_read(&image, &hwx);
        assert_false(hwx.port[0].shaped);
        assert_int_equal(hwx.port[0].n, 0);
        expect_shape(&hwx.port[1]);
    }
    make_image(&image, &(struct form){.no_tensors = true});
    memcpy(find_text(&image, ";0;3;13"), ";0;9;13", 7);
    expect_refused(&image, PR_PROBLEM_INCONSISTENT, "strides of surface x reach past");
}

static void odd_names(void **state)
{
    struct image image;
    struct pr_hwx hwx;
    char *name;

    (void)state;
    make_image(&image, &(struct form){.no_tensors = true, .no_shapes = true});
    name = (char *)image.bytes + command_at(&image, 6, 0, 0) + 0x14;
    strcpy(name, "@ a~\xc3\xa9");
    expect_read(&image, &hwx);
    assert_string_equal(hwx.port[0].name, "@ a~\xc3\xa9");
    assert_string_equal(hwx.port[0].short_name, "");
    memset(name, 'a', 0x30 - 0x14); /* no NUL before the next command */
    expect_refused(&image, PR_PROBLEM_LIMIT, "end with a NUL");
}

/* The scratch buffer is as large as the larger of what its section and the program say. */
static void intermediate_buffer(void **state)
{
    struct image image;
    struct pr_hwx hwx;

    (void)state;
    make_image(&image, &(struct form){.modern = true, .intermediate = 0x10000});
    expect_read(&image, &hwx);
    assert_int_equal(hwx.bar[PR_HWX_BAR_INTERMEDIATE], SCRATCH_VM);
    assert_int_equal(hwx.intermediate_bytes, 0x10000);
}

static void other_architectures(void **state)
{
    struct image image;

    (void)state;
    make_image(&image, &(struct form){0});
    put32(&image, 8, 5);
    expect_refused(&image, PR_PROBLEM_UNSUPPORTED, "cpusubtype 5 (H14)");
    put32(&image, 8, 10);
    expect_refused(&image, PR_PROBLEM_UNSUPPORTED, "cpusubtype 10 (H18)");
    put32(&image, 8, 77);
    expect_refused(&image, PR_PROBLEM_UNSUPPORTED, "cpusubtype 77 (unknown)");
    put32(&image, 8, 4);
    put32(&image, 4, 7);
    expect_refused(&image, PR_PROBLEM_UNSUPPORTED, "cputype 0x7");
    put32(&image, 0, 0xfeedfacf);
    expect_refused(&image, PR_PROBLEM_FORMAT, "begins with 0xfeedfacf");
    image.end = 31;
    expect_refused(&image, PR_PROBLEM_TRUNCATED, "header");
    image.end = 0;
    expect_refused(&image, PR_PROBLEM_TRUNCATED, "header");
}

static void names(void **state)
{
    assert_string_equal(pr_hwx_subtype_name(4), "H13");
    assert_null(pr_hwx_subtype_name(2));
    assert_string_equal(pr_hwx_element_name(5), "float16");
    assert_int_equal(pr_hwx_element_bits(5), 16);
    assert_int_equal(pr_hwx_element_bits(23), 4);
    assert_null(pr_hwx_element_name(24));
    assert_int_equal(pr_hwx_element_bits(0), 0);
    (void)state;
}

/* One wrong word each: where (command, flavour, which, offset), the word, and what has to be said. */
static const struct damage {
    uint32_t command, flavour, nth, offset, value;
    enum pr_problem_kind kind;
    const char *text;
} damages[] = {
    {0x19, 0, 1, 64, 0x10000000, PR_PROBLEM_TRUNCATED, "section list"},
    {0x19, 0, 1, 4, 71, PR_PROBLEM_TRUNCATED, "segment"},
    {0x19, 0, 1, 4, 7, PR_PROBLEM_FORMAT, "7 bytes"},
    {0x19, 0, 1, 4, 0x7fffffff, PR_PROBLEM_TRUNCATED, "command"},
    {0x19, 0, 1, 72 + 32, 0x1000, PR_PROBLEM_BINDING, "buffer 0 (text)"},
    {0x19, 0, 1, 72 + 40, 0xffffffff, PR_PROBLEM_TRUNCATED, "text section"},
    {0x19, 0, 1, 72 + 44, 0xffffffff, PR_PROBLEM_TRUNCATED, "text section"},
    {0x19, 0, 1, 72 + 48, 0xfffffff0, PR_PROBLEM_TRUNCATED, "text section"},
    {0x19, 0, 1, 152 + 40, 0x41, PR_PROBLEM_TRUNCATED, "constant section"},
    {0x19, 0, 2, 72 + 44, 1, PR_PROBLEM_LIMIT, "device addresses end"},
    {0x19, 0, 2, 72 + 48, 0x3000, PR_PROBLEM_UNSUPPORTED, "Buffer 5"},
    {0x19, 0, 2, 72 + 64, 0x25, PR_PROBLEM_INCONSISTENT, "flags 0x25"},
    {0x19, 0, 2, 72 + 32, 0x1000, PR_PROBLEM_BINDING, "no section"},
    {0x19, 0, 2, 72 + 40, 0x14d, PR_PROBLEM_INCONSISTENT, "past its 0x14d bytes"},
    {0x06, 0, 0, 8, 0x1000, PR_PROBLEM_TRUNCATED, "name"},
    {0x06, 0, 0, 8, 0x30, PR_PROBLEM_TRUNCATED, "name"},
    {0x06, 0, 0, 8, 0x2f, PR_PROBLEM_LIMIT, "1 to 127 characters"},
    {0x06, 0, 0, 0x14, 0x0179, PR_PROBLEM_FORMAT, "control character"},
    {0x06, 0, 0, 0x10, 0x1000, PR_PROBLEM_BINDING, "not an entry of the buffer table"},
    {0x06, 0, 0, 0x10, 0, PR_PROBLEM_BINDING, "not an entry of the buffer table"},
    {0x04, 1, 0, 8, 2, PR_PROBLEM_FORMAT, "program descriptor"},
    {0x04, 3, 0, 8, 1, PR_PROBLEM_UNSUPPORTED, "second program descriptor"},
    {0x04, 1, 0, 0x10, 0x1000, PR_PROBLEM_INCONSISTENT, "buffer 0 is 0x1000"},
    {0x04, 1, 0, 0x14, 1, PR_PROBLEM_INCONSISTENT, "buffer 0"},
    {0x04, 1, 0, 0x110, 1, PR_PROBLEM_LIMIT, "entry 32"},
    {0x04, 1, 0, 0x80c, 1, PR_PROBLEM_LIMIT, "entry 255"},
    {0x04, 1, 0, 0x818, 512, PR_PROBLEM_LIMIT, "at most 511"},
    {0x04, 1, 0, 0x818, 0xffffffff, PR_PROBLEM_LIMIT, "at most 511"},
    {0x04, 1, 0, 0x81c, 0, PR_PROBLEM_INCONSISTENT, "0 descriptors"},
    {0x04, 1, 0, 0x84c, 1, PR_PROBLEM_LIMIT, "intermediate"},
    {0x04, 3, 0, 0x7c, 0xb8, PR_PROBLEM_TRUNCATED, "name"},
    {0x04, 3, 0, 0x14, 1, PR_PROBLEM_INCONSISTENT, "binding 1"},
    {0x04, 3, 0, 0x2c, 0, PR_PROBLEM_INCONSISTENT, "axis of length 0"},
    {0x04, 3, 0, 0x28, 0, PR_PROBLEM_INCONSISTENT, "axis of length 0"},
    {0x04, 3, 0, 0x2c, 4, PR_PROBLEM_INCONSISTENT, "reach past its 0x180 bytes"},
    {0x04, 3, 0, 0x2c, 0xffffffff, PR_PROBLEM_INCONSISTENT, "reach past"},
    {0x04, 3, 0, 0x5c, 0x80000000, PR_PROBLEM_INCONSISTENT, "reach past"},
    {0x04, 3, 0, 0x6c, 0xffffffff, PR_PROBLEM_INCONSISTENT, "reach past"},
    {0x02, 0, 0, 8, 0xffffffff, PR_PROBLEM_TRUNCATED, "symbol table"},
    {0x02, 0, 0, 12, 0xffffffff, PR_PROBLEM_TRUNCATED, "symbol table"},
    {0x02, 0, 0, 20, 0xffffffff, PR_PROBLEM_TRUNCATED, "string table"},
    {0x02, 0, 0, 4, 0x17, PR_PROBLEM_TRUNCATED, "symbol command"},
};

static void damaged_images(void **state)
{
    struct image image;

    (void)state;
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        const struct damage *d = &damages[i];

        make_image(&image, &(struct form){0});
        put32(&image, command_at(&image, d->command, d->flavour, d->nth) + d->offset, d->value);
        expect_refused(&image, d->kind, d->text);
    }
    make_image(&image, &(struct form){0});
    put32(&image, 16, image.count + 1);
    expect_refused(&image, PR_PROBLEM_TRUNCATED, "next command");
    put32(&image, 16, 0);
    expect_refused(&image, PR_PROBLEM_FORMAT, "program descriptor");
    put32(&image, 20, 0x100001);
    expect_refused(&image, PR_PROBLEM_LIMIT, "1048576");
    make_image(&image, &(struct form){0});
    strcpy((char *)image.bytes + command_at(&image, 6, 0, 1) + 0x14, "x");
    expect_refused(&image, PR_PROBLEM_INCONSISTENT, "Two surfaces are named x");
}

static void too_many_surfaces(void **state)
{
    struct form form = {.modern = false, .no_tensors = true, .no_shapes = true};
    struct image image;
    char name[16];

    (void)state;
    for (unsigned extra = 62; extra <= 63; extra++) {
        struct pr_hwx hwx;

        make_image(&image, &form);
        for (unsigned i = 0; i < extra; i++) {
            snprintf(name, sizeof(name), "p%u", i);
            add_binding(&image, &form, name, INPUT_VM);
        }
        finish_image(&image);
        if (extra == 62) {
            expect_read(&image, &hwx);
            assert_int_equal(hwx.port_count, 64);
        } else {
            expect_refused(&image, PR_PROBLEM_LIMIT, "more than 64 surfaces");
        }
    }
}

static void truncated_images(void **state)
{
    struct image image;

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        make_image(&image, &(struct form){.modern = modern});
        for (size_t length = 0; length <= image.end; length++)
            try_length(image.bytes, length, image.end);
    }
}

static void flipped_images(void **state)
{
    struct image image;

    (void)state;
    make_image(&image, &(struct form){.modern = true, .intermediate = 0x10000});
    try_flips(image.bytes, image.end, image.at + 0x200, 20000, 1);
    make_image(&image, &(struct form){.no_tensors = true});
    try_flips(image.bytes, image.end, image.at + 0x200, 20000, 2);
}

static int write_seed(const char *folder, const char *name, const struct image *image)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (!file || fwrite(image->bytes, 1, image->end, file) != image->end || fclose(file)) {
        perror(path);
        return 1;
    }
    return 0;
}

static int write_seeds(const char *folder)
{
    struct image image;
    int failed = 0;

    make_image(&image, &(struct form){.modern = false});
    failed |= write_seed(folder, "old", &image);
    make_image(&image, &(struct form){.modern = true, .intermediate = 0x10000});
    failed |= write_seed(folder, "new", &image);
    make_image(&image, &(struct form){.no_tensors = true});
    failed |= write_seed(folder, "symbols", &image);
    return failed;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_images),
        cmocka_unit_test(unknown_shapes_stay_unknown),
        cmocka_unit_test(elements_without_shapes),
        cmocka_unit_test(odd_symbols),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(intermediate_buffer),
        cmocka_unit_test(other_architectures),
        cmocka_unit_test(names),
        cmocka_unit_test(damaged_images),
        cmocka_unit_test(too_many_surfaces),
        cmocka_unit_test(truncated_images),
        cmocka_unit_test(flipped_images),
    };

    if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
        return write_seeds(argv[2]);
    return cmocka_run_group_tests_name("hwx", tests, NULL, NULL);
}
