/* SPDX-License-Identifier: Apache-2.0 */
/* Firmware containers: the sound one is read, and each thing that can be wrong is found and named. */
#include "support.h"

#include <string.h>

#include "container_image.h"

#define TEXT   0x00800000u
#define KERNEL 0x00900000u

static bool read_image(const struct container_image *image, struct pr_problem *problem)
{
    struct pr_container container;

    return pr_container_read(image->bytes, image->size, &container, problem);
}

static void reads_a_sound_one(void **state)
{
    struct container_image image;
    struct pr_container c;
    struct pr_problem problem;

    (void)state;
    image_make(&image, TEXT, KERNEL);
    assert_true(pr_container_read(image.bytes, image.size, &c, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_NONE);
    assert_ptr_equal(c.program, image.program);
    assert_ptr_equal(c.section[PR_SECTION_TEXT], image.section[PR_SECTION_TEXT]);
    assert_int_equal(c.generic->buffers, 5);
    assert_int_equal(c.buffer[1].index, IMAGE_OUTPUT);
    assert_int_equal(c.operations, 2);
    assert_int_equal(c.operation[1].bar[2].bar, 9);
    assert_int_equal(c.procedures, 3);
    assert_int_equal(c.procedure[1].text_offset, 0x400);
    assert_int_equal(c.records, 10);
    assert_int_equal(c.record[3].buffer, IMAGE_OUTPUT);
    image_make(&image, TEXT, 0);
    assert_true(pr_container_read(image.bytes, image.size, &c, NULL));
    assert_null(c.section[PR_SECTION_KERNEL]);
}

/* What a change must be found as; the text must name `word`. */
static void expect(const struct container_image *image, enum pr_problem_kind kind, const char *word)
{
    struct pr_problem problem;

    if (read_image(image, &problem))
        fail_msg("accepted; expected a problem with \"%s\"", word);
    if (problem.kind != kind || !strstr(problem.text, word))
        fail_msg("kind %d, \"%s\"; expected kind %d and \"%s\"", (int)problem.kind, problem.text, (int)kind,
                 word);
}

static void reads_custom_bars(void **state)
{
    const struct pr_program_bar bars[] = {{0, 4}, {0, 5}, {1, 4}};
    struct container_image image;
    struct pr_container c;

    (void)state;
    image_make_with(&image, TEXT, KERNEL, bars, 3);
    assert_true(pr_container_read(image.bytes, image.size, &c, NULL));
    assert_int_equal(c.custom_bars, 3);
    assert_ptr_equal(c.custom_bar, image.bar);
    image_make(&image, TEXT, KERNEL);
    assert_true(pr_container_read(image.bytes, image.size, &c, NULL));
    assert_int_equal(c.custom_bars, 0);
}

#define BROKEN(change, kind, word)           \
    do {                                     \
        image_make(&i, TEXT, KERNEL);        \
        change;                              \
        expect(&i, PR_PROBLEM_##kind, word); \
    } while (0)

#define BROKEN_BARS(change, kind, word)             \
    do {                                            \
        image_make_with(&i, TEXT, KERNEL, bars, 3); \
        change;                                     \
        expect(&i, PR_PROBLEM_##kind, word);        \
    } while (0)

static void finds_broken_custom_bars(void **state)
{
    const struct pr_program_bar bars[] = {{0, 4}, {0, 5}, {1, 4}};
    struct container_image i;

    (void)state;
    BROKEN_BARS(pr_put_le32(i.bars, 0), LIMIT, "entries");
    BROKEN_BARS(pr_put_le32(i.bars, 129), LIMIT, "entries");
    BROKEN_BARS(pr_put_le32(i.bars, 4), TRUNCATED, "entries");
    BROKEN_BARS(i.bars[4] = 1, FORMAT, "must be 0");
    BROKEN_BARS((memset(i.bars, 0, 32), i.section[PR_SECTION_CUSTOM_BARS]->bytes = 7), TRUNCATED, "head");
    BROKEN_BARS(i.bar[2].operation = 2, BINDING, "operation 2 of 2");
    BROKEN_BARS(i.bar[1].bar = 6, BINDING, "does not have bar 6");
    BROKEN_BARS(i.bar[1].bar = 32, BINDING, "does not have bar 32");
    BROKEN_BARS(i.bar[1].bar = 4, INCONSISTENT, "is not above");
    BROKEN_BARS(i.bar[0].operation = 1, INCONSISTENT, "is not above");
    BROKEN_BARS(i.section[PR_SECTION_CUSTOM_BARS]->kind = 7, FORMAT, "kind 7");
}

static void finds_broken_headers(void **state)
{
    struct container_image i;

    (void)state;
    BROKEN(i.package->magic++, FORMAT, "magic");
    BROKEN(i.package->version = 2, FORMAT, "version");
    BROKEN(i.package->checksum = 0, FORMAT, "checksum");
    BROKEN(i.package->bytes--, TRUNCATED, "declares");
    BROKEN(i.package->zero[1] = 1, FORMAT, "must be 0");
    BROKEN(i.package->program_offset = 0, TRUNCATED, "program header");
    BROKEN(i.package->program_offset += 4, TRUNCATED, "program header");
    BROKEN(i.package->program_offset = (uint32_t)i.size, TRUNCATED, "program header");
    BROKEN(i.package->program_offset = 0xfffffff8u, TRUNCATED, "program header");
    BROKEN(i.program->magic = PR_CONTAINER_PACKAGE, FORMAT, "magic");
    BROKEN(i.program->sections = 8, LIMIT, "sections");
    BROKEN(i.program->sections = 0xffffffffu, LIMIT, "sections");
    BROKEN(i.program->sections = 0, FORMAT, "generic is missing");
    BROKEN(i.program->zero[0] = 1, FORMAT, "program");
}

static void finds_broken_sections(void **state)
{
    struct container_image i;

    (void)state;
    BROKEN(i.section[2]->magic = 0, FORMAT, "magic");
    BROKEN(i.section[1]->kind = 0, FORMAT, "ascending");
    BROKEN(i.section[4]->kind = 5, FORMAT, "ascending");
    BROKEN(i.section[PR_SECTION_TEXT]->offset = 8, FORMAT, "outside");
    BROKEN(i.section[PR_SECTION_TEXT]->address_bytes = 0, LIMIT, "text");
    BROKEN(i.section[PR_SECTION_TEXT]->address = 0xe0000000u, LIMIT, "text");
    BROKEN(i.section[PR_SECTION_TEXT]->address = 0xe0000000u - IMAGE_TEXT_BYTES + 1, LIMIT, "text");
    BROKEN(i.section[PR_SECTION_KERNEL]->address = 0x100000000ull, LIMIT, "kernel");
    BROKEN(i.section[PR_SECTION_KERNEL]->address_bytes = UINT64_MAX, LIMIT, "kernel");
    BROKEN(i.section[PR_SECTION_GENERIC]->address = 1, FORMAT, "is in the container");
    BROKEN(i.section[PR_SECTION_OPERATION]->offset -= 8, TRUNCATED, "operation");
    BROKEN(i.section[PR_SECTION_OPERATION]->offset += 4, TRUNCATED, "operation");
    BROKEN(i.section[PR_SECTION_OPERATION]->offset = 0xfffffff8u, TRUNCATED, "operation");
    BROKEN(i.section[PR_SECTION_PROCEDURE]->bytes = 0xffffffffu, TRUNCATED, "procedure");
    BROKEN(i.section[PR_SECTION_PROCEDURE]->bytes = 4, FORMAT, "between sections");
    BROKEN(i.section[PR_SECTION_REBASE]->bytes = 4, FORMAT, "after the sections");
    BROKEN(i.section[PR_SECTION_GENERIC]->bytes = 0x208, FORMAT, "between");
    BROKEN((i.bytes[i.size] = 1, i.size += 8, i.package->bytes += 8), FORMAT, "after the sections");
    image_make(&i, TEXT, KERNEL);
    i.section[PR_SECTION_TEXT]->address = 0xe0000000u - IMAGE_TEXT_BYTES;
    assert_true(read_image(&i, NULL));
}

static void finds_broken_buffers(void **state)
{
    struct container_image i;
    struct pr_problem problem;

    (void)state;
    BROKEN(i.generic->max_ane_used = 2, LIMIT, "engines");
    BROKEN(i.generic->engines = 17, LIMIT, "cores");
    BROKEN(i.generic->zero[9] = 1, FORMAT, "generic");
    BROKEN(i.generic->buffers = 0, LIMIT, "entries");
    BROKEN(i.generic->buffers = 0x201, LIMIT, "entries");
    BROKEN(i.generic->buffers = 6, TRUNCATED, "entries");
    BROKEN(i.generic->buffers = 4, FORMAT, "must be 0");
    BROKEN(i.buffer[0].valid = 0, FORMAT, "valid");
    BROKEN(i.buffer[0].zero1 = 1, FORMAT, "reserved");
    BROKEN(i.buffer[0].index = 0x200, INCONSISTENT, "index");
    BROKEN(i.buffer[0].index = IMAGE_OUTPUT, INCONSISTENT, "index");
    BROKEN(i.buffer[0].type = 6, LIMIT, "type");
    BROKEN(i.buffer[2].address = 0xe0000000u, LIMIT, "end above");
    BROKEN(i.buffer[2].bytes = UINT64_MAX, LIMIT, "end above");
    BROKEN(i.buffer[3].address = TEXT - 0x10, INCONSISTENT, "not inside section text");
    BROKEN(i.buffer[3].address = TEXT + 0x10, INCONSISTENT, "not inside section text");
    BROKEN(i.buffer[4].address = KERNEL + 1, INCONSISTENT, "not inside section kernel");
    image_make(&i, TEXT, KERNEL);
    i.buffer[3].address = TEXT + 0x100;
    i.buffer[3].bytes = IMAGE_TEXT_BYTES - 0x100;
    i.buffer[4].address = KERNEL;
    assert_true(read_image(&i, &problem));
    image_make(&i, TEXT, 0);
    i.buffer[2].type = PR_BUFFER_KERNEL;
    expect(&i, PR_PROBLEM_INCONSISTENT, "no section kernel");
}

static void finds_broken_operations(void **state)
{
    struct container_image i;

    (void)state;
    BROKEN(pr_put_le32(i.operations, 0), LIMIT, "operation");
    BROKEN(pr_put_le32(i.operations, 0x81), LIMIT, "operation");
    BROKEN(pr_put_le32(i.operations, 3), TRUNCATED, "operation");
    BROKEN(i.operation[0].type = 4, LIMIT, "type 4");
    BROKEN(i.operation[1].first_td = 2, LIMIT, "descriptors 2 to 1");
    BROKEN(i.operation[1].zero0 = 1, FORMAT, "reserved");
    BROKEN(i.operation[0].engines = 17, LIMIT, "17 cores; the program uses 16");
    BROKEN(i.generic->engines = 15, LIMIT, "16 cores; the program uses 15");
    BROKEN(i.operation[0].bar[2].bar = 0, BINDING, "bar 0: buffer 5 is not the text");
    BROKEN(i.operation[0].bars = 33, LIMIT, "33 bars");
    BROKEN(i.operation[0].bar[1].bar = 32, INCONSISTENT, "bar 32");
    BROKEN(i.operation[0].bar[1].bar = 5, INCONSISTENT, "bar 5");
    BROKEN(i.operation[0].bar[1].buffer = 4, BINDING, "buffer 4");
    BROKEN(i.operation[0].bar[1].buffer = 0xffffffffu, BINDING, "buffer");
    BROKEN(i.operation[0].bar[3].buffer = 1, FORMAT, "bars");
}

static void finds_broken_procedures(void **state)
{
    struct container_image i;

    (void)state;
    BROKEN(pr_put_le32(i.procedures, 0), LIMIT, "procedure");
    BROKEN(pr_put_le32(i.procedures, 0x81), LIMIT, "procedure");
    BROKEN(pr_put_le32(i.procedures + 4, 1), FORMAT, "procedure");
    BROKEN(i.procedure[0].operation = 2, BINDING, "operation 2");
    BROKEN(i.procedure[0].first_words = 9, TRUNCATED, "9 words");
    BROKEN(i.procedure[0].first_words = 513, TRUNCATED, "513 words");
    BROKEN(i.procedure[0].text_offset = 0x40, TRUNCATED, "0x40");
    BROKEN(i.procedure[0].text_offset = 0x800, TRUNCATED, "0x800");
    BROKEN(i.procedure[0].text_offset = 0xffffff00u, TRUNCATED, "text");
    BROKEN((i.procedure[0].text_offset = 0x700, i.procedure[0].first_words = 65), TRUNCATED, "65 words");
    BROKEN(i.procedure[0].io_buffers = 6, LIMIT, "6 input");
    BROKEN(i.procedure[0].io_buffers = 3, INCONSISTENT, "3 input and output buffers; calls bind 2");
    BROKEN(i.procedure[1].io_buffers = 1, INCONSISTENT, "Procedure 1 has 1 input");
    BROKEN(i.buffer[2].address = 0, INCONSISTENT, "2 input and output buffers; calls bind 3");
    BROKEN(i.procedure[1].zero[1] = 1, FORMAT, "reserved");
    BROKEN(i.procedure[0].partitions = 0, LIMIT, "0 partitions");
    BROKEN(i.procedure[1].partitions = 3, LIMIT, "3 partitions");
    BROKEN(i.procedure[1].partitions = 2, BINDING, "Entry 2");
    BROKEN((i.procedure[1].partitions = 2, i.procedure[2].content = 5, i.procedure[2].partitions = 0),
           BINDING, "Entry 2");
}

/* Without its record a bar would get no address. */
static void finds_broken_records(void **state)
{
    struct container_image i;

    (void)state;
    BROKEN(pr_put_le32(i.records, 0), LIMIT, "rebase has 0 entries");
    BROKEN(pr_put_le32(i.records, 0x1001), LIMIT, "rebase");
    BROKEN(pr_put_le32(i.records, 11), TRUNCATED, "rebase");
    BROKEN(pr_put_le32(i.records + 4, 1), FORMAT, "rebase");
    BROKEN(i.record[0].zero = 1, FORMAT, "record 0");
    BROKEN(i.record[1].flags = 2, FORMAT, "record 1");
    BROKEN(i.record[2].first[1] = 1, FORMAT, "record 2");
    BROKEN(i.record[2].end[0] = 1, FORMAT, "record 2");
    BROKEN(i.record[2].bar = 32, INCONSISTENT, "bar 32");
    BROKEN(i.record[2].bar = 4, BINDING, "bar 4 of operation 0 does not have buffer 0x7");
    BROKEN(i.record[3].bar = 5, INCONSISTENT, "record 3 has bar 5");
    BROKEN(i.record[2].buffer = IMAGE_OUTPUT, BINDING, "record 2");
    BROKEN(i.record[0].bar = 2, BINDING, "record 0");
    BROKEN(i.record[1].buffer = PR_PROCESS_TEXT, BINDING, "record 1");
    BROKEN(i.record[1].bar = 6, BINDING, "record 1");
    BROKEN(i.record[4].operation = 1, BINDING, "Operation 0 has 3 bars; 2 of them have");
    BROKEN(i.record[9].operation = 2, BINDING, "Operation 1 has 3 bars; 2 of them have");
    BROKEN(i.record[5].operation = 7, BINDING, "Operation 1 has 3 bars; 0 of them have");
    /* One more, behind the last operation's. */
    image_make(&i, TEXT, 0);
    i.operation[1].bars = 2;
    memset(&i.operation[1].bar[2], 0, sizeof(i.operation[1].bar[2]));
    i.record[7].operation = 2;
    expect(&i, PR_PROBLEM_BINDING, "record 7 is of operation 2");
    /* A kernel's record without a kernel. */
    image_make(&i, TEXT, 0);
    i.record[0].bar = 1;
    i.record[0].buffer = PR_PROCESS_KERNEL;
    expect(&i, PR_PROBLEM_BINDING, "bar 1 of operation 0");
}

/* Cut anywhere it is refused, with the declared size corrected or not. */
static void refuses_every_prefix(void **state)
{
    struct container_image image;
    struct pr_container c;
    struct pr_problem problem;

    (void)state;
    image_make(&image, TEXT, KERNEL);
    for (size_t size = 0; size < image.size; size++) {
        assert_false(pr_container_read(image.bytes, size, &c, &problem));
        image.package->bytes = (uint32_t)size;
        assert_false(pr_container_read(image.bytes, size, &c, &problem));
        assert_true(problem.kind != PR_PROBLEM_NONE && problem.text[0]);
        image.package->bytes = (uint32_t)image.size;
    }
    assert_false(pr_container_read(image.bytes + 4, image.size - 4, &c, &problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_sound_one),        cmocka_unit_test(reads_custom_bars),
        cmocka_unit_test(finds_broken_custom_bars), cmocka_unit_test(finds_broken_headers),
        cmocka_unit_test(finds_broken_sections),    cmocka_unit_test(finds_broken_buffers),
        cmocka_unit_test(finds_broken_operations),  cmocka_unit_test(finds_broken_procedures),
        cmocka_unit_test(finds_broken_records),     cmocka_unit_test(refuses_every_prefix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
