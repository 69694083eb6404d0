/* SPDX-License-Identifier: Apache-2.0 */
/* The shared real program images: what is in them, and damaged copies of them. */
#include "hwx_image.h"

/* The shared real programs: what their own tables say, read here by eye. */
struct real_port {
    const char *name, *short_name;
    enum pr_hwx_direction direction;
    uint32_t bar, bytes, c, w, row;
};

static const struct real {
    const char *file;
    uint32_t text_bytes, constant_bytes, descriptors, ports;
    struct real_port port[3];
} reals[] = {
    {"relu.hwx",
     0x274,
     0x4000,
     1,
     2,
     {{"image", "image", PR_HWX_INPUT, 5, 0xc0, 1, 77, 0xc0},
      {"probs@output", "probs", PR_HWX_OUTPUT, 4, 0xc0, 1, 77, 0xc0}}},
    {"sum.hwx",
     0x274,
     0x4000,
     1,
     3,
     {{"image2", "image2", PR_HWX_INPUT, 5, 0x1000, 64, 1, 0x40},
      {"image", "image", PR_HWX_INPUT, 6, 0x1000, 64, 1, 0x40},
      {"probs@output", "probs", PR_HWX_OUTPUT, 4, 0x1000, 64, 1, 0x40}}},
    {"sigmoid.hwx",
     0x274,
     0x80,
     1,
     2,
     {{"image", "image", PR_HWX_INPUT, 5, 0xc0, 1, 77, 0xc0},
      {"probs@output", "probs", PR_HWX_OUTPUT, 4, 0xc0, 1, 77, 0xc0}}},
    {"concat.hwx",
     0x574,
     0x4000,
     2,
     3,
     {{"input_1", "input_1", PR_HWX_INPUT, 5, 0x400, 16, 1, 0x40},
      {"input_0", "input_0", PR_HWX_INPUT, 6, 0x100000, 16384, 1, 0x40},
      {"output@output", "output", PR_HWX_OUTPUT, 4, 0x100400, 16400, 1, 0x40}}},
    {"conv.hwx",
     0x274,
     0xc0,
     1,
     2,
     {{"image", "image", PR_HWX_INPUT, 5, 0xc0, 3, 1, 0x40},
      {"probs@output", "probs", PR_HWX_OUTPUT, 4, 0xc0, 3, 1, 0x40}}},
    {"gemm.hwx",
     0x274,
     0x80000,
     1,
     2,
     {{"image", "image", PR_HWX_INPUT, 5, 0x8000, 512, 1, 0x40},
      {"probs@output", "probs", PR_HWX_OUTPUT, 4, 0x8000, 512, 1, 0x40}}},
    {"golden.hwx",
     0x274,
     0xc0,
     1,
     2,
     {{"image", "image", PR_HWX_INPUT, 5, 0xc0, 3, 1, 0x40},
      {"probs@output", "probs", PR_HWX_OUTPUT, 4, 0xc0, 3, 1, 0x40}}},
};

#define REALS (sizeof(reals) / sizeof(reals[0]))

static uint8_t *load_real(const char *name, size_t *size)
{
    const char *path = test_program_path(name);
    uint8_t *bytes;

    if (!path) {
        print_message("# %s is not here\n", name);
        skip();
    }
    bytes = test_file_read(path, size);
    assert_non_null(bytes);
    return bytes;
}

static void expect_real_port(const struct pr_hwx_port *port, const struct real_port *real)
{
    assert_string_equal(port->name, real->name);
    assert_string_equal(port->short_name, real->short_name);
    assert_int_equal(port->direction, real->direction);
    assert_int_equal(port->bar, real->bar);
    assert_int_equal(port->bytes, real->bytes);
    assert_true(port->shaped);
    assert_int_equal(port->element, PR_HWX_ELEMENT_FLOAT16);
    assert_int_equal(port->n, 1);
    assert_int_equal(port->c, real->c);
    assert_int_equal(port->h, 1);
    assert_int_equal(port->w, real->w);
    assert_int_equal(port->d, 1);
    assert_int_equal(port->batch_stride, real->bytes);
    assert_int_equal(port->plane_stride, real->row);
    assert_int_equal(port->row_stride, real->row);
    assert_int_equal(port->element_stride, 2);
}

static void real_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < REALS; i++) {
        struct pr_problem problem;
        struct pr_hwx hwx;
        size_t size;
        uint8_t *bytes = load_real(reals[i].file, &size);

        if (!pr_hwx_read(bytes, size, &hwx, &problem))
            fail_msg("%s: %s", reals[i].file, problem.text);
        expect_sound(&hwx, size);
        assert_int_equal(hwx.text.offset, 0x4000);
        assert_int_equal(hwx.text.size, reals[i].text_bytes);
        assert_int_equal(hwx.text.vmaddr, 0x30000000);
        assert_int_equal(hwx.constant.size, reals[i].constant_bytes);
        assert_int_equal(hwx.constant.offset - hwx.text.offset, hwx.constant.vmaddr - hwx.text.vmaddr);
        assert_int_equal(hwx.td_count, reals[i].descriptors);
        assert_int_equal(hwx.first_td_words, 157);
        assert_int_equal(hwx.bar[0], hwx.text.vmaddr);
        assert_int_equal(hwx.bar[1], hwx.constant.vmaddr);
        assert_int_equal(hwx.intermediate_bytes, 0);
        assert_memory_equal(bytes + hwx.banner.offset, "ANEC v1\nzin_ane_compiler v4.2.1\n", 32);
        assert_int_equal(hwx.port_count, reals[i].ports);
        for (uint32_t p = 0; p < reals[i].ports; p++)
            expect_real_port(&hwx.port[p], &reals[i].port[p]);
        free(bytes);
    }
}

/*
 * Every length up to the end of the tables; then lengths that cut the sections, which no shorter file may
 * hide.
 */
static void truncated_real_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < REALS; i++) {
        size_t size, needed = 0x4000 + (reals[i].text_bytes + 0xf) / 0x10 * 0x10 + reals[i].constant_bytes;
        uint8_t *bytes = load_real(reals[i].file, &size);

        for (size_t length = 0; length < size; length += length < 0x1c00 ? 1 : 509)
            try_length(bytes, length, needed);
        try_length(bytes, needed - 1, needed);
        try_length(bytes, size, needed);
        free(bytes);
    }
}

static void flipped_real_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < REALS; i++) {
        size_t size;
        uint8_t *bytes = load_real(reals[i].file, &size);

        try_flips(bytes, size < 0x8000 ? size : 0x8000, 0x1600, 5000, 100 + i);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_images),
        cmocka_unit_test(truncated_real_images),
        cmocka_unit_test(flipped_real_images),
    };

    return cmocka_run_group_tests_name("hwx_files", tests, NULL, NULL);
}
