/* SPDX-License-Identifier: Apache-2.0 */
/* The small helpers of base: arrays and whole files. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "folder.h"

static void counts(void **state)
{
    struct {
        short row[7];
        char name[3];
    } a;

    (void)state;
    assert_int_equal(BASE_COUNT_OF(a.row), 7);
    assert_int_equal(BASE_COUNT_OF(a.name), 3);
}

static void zeros(void **state)
{
    uint8_t bytes[19] = {0};

    (void)state;
    assert_true(base_is_zero(bytes, sizeof(bytes)));
    assert_true(base_is_zero(NULL, 0));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = 0x80;
        assert_false(base_is_zero(bytes, sizeof(bytes)));
        assert_true(base_is_zero(bytes, i));
        bytes[i] = 0;
    }
}

static void whole_file(void **state)
{
    struct base_error error = {{0}};
    uint8_t *bytes;
    size_t size;

    (void)state;
    folder_write("text", "four", 4);
    assert_int_equal(base_file_read(folder_path("text"), 4, &bytes, &size, &error), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "four", 5); /* the NUL after it too */
    base_free(bytes);

    folder_write("empty", "", 0);
    assert_int_equal(base_file_read(folder_path("empty"), 0, &bytes, &size, &error), 0);
    assert_int_equal(size, 0);
    assert_int_equal(bytes[0], 0);
    base_free(bytes);
}

static void check_refused(const char *path, size_t most, int code, const char *part)
{
    struct base_error error = {{0}};
    uint8_t *bytes = (uint8_t *)&error;
    size_t size;

    assert_int_equal(base_file_read(path, most, &bytes, &size, &error), -code);
    assert_null(bytes);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, part));
}

static void refusals(void **state)
{
    (void)state;
    folder_write("text", "four", 4);
    check_refused(folder_path("text"), 3, EFBIG, "4 bytes; the limit is 3");
    check_refused(folder_path("absent"), 3, ENOENT, strerror(ENOENT));
    check_refused(folder_name(), 100, EINVAL, "not a file");
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    check_refused(folder_path("pipe"), 100, EINVAL, "not a file"); /* and it does not wait for a writer */
    base_alloc_fail_nth(1);
    check_refused(folder_path("text"), 4, ENOMEM, "no memory");
    base_alloc_fail_nth(0);
}

static void filling(void **state)
{
    FILE *file;
    char bytes[8];

    (void)state;
    folder_write("text", "four", 4);
    file = fopen(folder_path("text"), "r");
    assert_non_null(file);
    assert_int_equal(base_file_fill(fileno(file), bytes, 3), 0);
    assert_memory_equal(bytes, "fou", 3);
    assert_int_equal(base_file_fill(fileno(file), bytes, 2), -ENODATA);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),   cmocka_unit_test(zeros),   cmocka_unit_test(whole_file),
        cmocka_unit_test(refusals), cmocka_unit_test(filling),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
