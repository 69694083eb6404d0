/* SPDX-License-Identifier: Apache-2.0 */
/* What a process holds: pages of memory files count once, mapped or not, and a peak is that of its step. */
#include "support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/held.h"

#define BYTES     (32u << 20)
#define KIB       (BYTES >> 10)
#define SLACK_KIB (KIB / 4) /* of the test's own pages and of a sanitizer's */

static uint64_t held_now(void)
{
    struct base_held held = {0};

    base_held_note(&held);
    return held.peak_kib;
}

static int written_file(void)
{
    static const uint8_t piece[1u << 20] = {1};
    int file = base_file_memory("test-held", BYTES);

    assert_true(file >= 0);
    for (off_t at = 0; at < BYTES; at += sizeof(piece))
        assert_int_equal(base_file_put_at(file, piece, sizeof(piece), at), 0);
    return file;
}

static void assert_near(uint64_t found_kib, uint64_t expected_kib)
{
    assert_in_range(found_kib + SLACK_KIB, expected_kib, expected_kib + 2 * SLACK_KIB);
}

static void test_file_without_mapping(void **state)
{
    uint64_t before = held_now();
    int file;

    (void)state;
    before = held_now(); /* without the peak of what ran before */
    file = written_file();
    assert_near(held_now(), before + KIB);
    close(file);
    assert_near(held_now(), before);
}

static void test_file_counts_once(void **state)
{
    uint64_t before = held_now();
    int file, again;
    uint8_t *view;

    (void)state;
    before = held_now();
    file = written_file();
    again = dup(file);
    assert_true(again >= 0);
    assert_near(held_now(), before + KIB);
    view = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(view, MAP_FAILED);
    memset(view, 2, BYTES / 2);
    assert_near(held_now(), before + KIB);
    memset(view, 2, BYTES);
    assert_near(held_now(), before + KIB);
    munmap(view, BYTES);
    close(again);
    close(file);
}

static void test_peak_of_a_step(void **state)
{
    struct base_held held = {0};
    uint64_t before = held_now();
    uint8_t *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    before = held_now();
    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 1, BYTES);
    munmap(pages, BYTES);
    base_held_note(&held);
    assert_near(held.peak_kib, before + KIB); /* although it is gone */
    base_held_note(&held);
    assert_near(held.peak_kib, before + KIB); /* the largest of the steps */
    assert_near(held_now(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_without_mapping),
        cmocka_unit_test(test_file_counts_once),
        cmocka_unit_test(test_peak_of_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
