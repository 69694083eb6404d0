/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor tables against Apple's own register printer, and the framing of descriptors. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "program/task.h"

#define FULL_WORDS 157u /* 10 header words, seven records with all registers of their blocks */

/*
 * Where the first register of each block stands in a full descriptor, from the public facts sheet, section
 * 1.2.
 */
static const struct {
    const char *name;
    uint32_t offset, words, base;
} full_layout[] = {
    {"KernelDMASrc", 0x2c, 62, 0x1f800}, {"Common", 0x128, 16, 0x00000}, {"TileDMASrc", 0x16c, 28, 0x13800},
    {"L2", 0x1e0, 18, 0x04800},          {"PE", 0x22c, 4, 0x08800},      {"NE", 0x240, 5, 0x0c800},
    {"TileDMADst", 0x258, 7, 0x17800},
};

/* The mean over W and H of each channel, from buffer 5 to buffer 4. */
static const char mean_text[] = "chain\n"
                                "descriptor\n"
                                "  RBE0=1 RBase0=5 WBE=1 WBase=4\n"
                                "  w6 SrcLoc=1 DstLoc=1\n"
                                "  write Common\n"
                                "    InDim Win=4 Hin=4\n    InDepth 1\n    OutDim Wout=4 Hout=4\n"
                                "    OutDepth 1\n    ChCfg InFmt=2 OutFmt=2\n    Cin 3\n    Cout 3\n"
                                "    ConvCfg 0x5000a021\n    ConvCfg3D 0x2041\n    GroupConvCfg 1\n"
                                "    Cfg Sources=1 TaskType=5\n"
                                "  write TileDMASrc\n"
                                "    DMAConfig En=1\n    RowStride 0x40\n    PlaneStride 0x100\n"
                                "    Fmt 0x01002031\n"
                                "  write L2\n    SourceCfg 0x172\n    ResultCfg 0x172\n"
                                "  write PE\n    BiasScale Scale=0x3c00\n    PreScale PreScale=0x3c00\n"
                                "    FinalScale 0x3d800000\n"
                                "  write TileDMADst\n    DMAConfig En=1\n    RowStride 0x40\n"
                                "    PlaneStride 0x40\n    Fmt 0x01302031\n";

/* One line of the register printer's table. */
struct named {
    char name[128];
    unsigned offset, bit, width;
};

static void put(uint8_t *bytes, uint32_t word, uint32_t value)
{
    pr_put_le32(bytes + (size_t)4 * word, value);
}

static uint32_t record(uint32_t address, uint32_t count)
{
    return (count - 1) << 26 | address;
}

/* A full descriptor with zeros in all registers. */
static void make_full(uint8_t bytes[4 * PR_TD_WORDS_MAX], uint32_t header_words)
{
    uint32_t at = header_words;

    memset(bytes, 0, (size_t)4 * PR_TD_WORDS_MAX);
    if (header_words == 11)
        put(bytes, 6, 1u << 24);
    for (size_t i = 0; i < 7; i++) {
        put(bytes, at, record(full_layout[i].base, full_layout[i].words));
        at += 1 + full_layout[i].words;
    }
    assert_int_equal(at, FULL_WORDS - 10 + header_words);
}

static bool next_named(const char **text, struct named *named)
{
    const char *start = strchr(*text, '"'), *end = start ? strchr(start + 1, '"') : NULL;
    unsigned *number[] = {&named->offset, &named->bit, &named->width};
    char *after;

    if (!end || (size_t)(end - start) > sizeof(named->name))
        return false;
    memcpy(named->name, start + 1, (size_t)(end - start - 1));
    named->name[end - start - 1] = '\0';
    for (int i = 0; i < 3; i++) {
        end += strcspn(end, "0123456789");
        *number[i] = (unsigned)strtoul(end, &after, 10);
        end = after;
    }
    *text = end;
    return true;
}

/* "Block.Register.Field" or "Block.Register[i].Field" of a field of ours. */
static void spell(char *name, size_t size, unsigned field, uint32_t element)
{
    const struct pr_field_info *info = &pr_field_table[field];
    const struct pr_reg_info *reg = &pr_reg_table[info->owner];

    if (reg->count > 1)
        snprintf(name, size, "aneRegs.%s.%s[%u].%s", pr_block_table[reg->block].name, reg->name, element,
                 info->name);
    else
        snprintf(name, size, "aneRegs.%s.%s.%s", pr_block_table[reg->block].name, reg->name, info->name);
}

/* Byte offset in a full descriptor of a register. */
static uint32_t full_offset(const struct pr_reg_info *reg, uint32_t element)
{
    for (size_t i = 0; i < 7; i++)
        if (strcmp(full_layout[i].name, pr_block_table[reg->block].name) == 0)
            return full_layout[i].offset + reg->address - full_layout[i].base + 4 * element;
    fail();
    return 0;
}

static bool same_place(const struct named *named, uint32_t offset, const struct pr_field_info *info)
{
    return 8 * named->offset + named->bit == 8 * offset + info->lo && named->width == info->width;
}

static int count_matches(const struct named *named)
{
    char name[128];
    int matches = 0;

    for (unsigned i = 0; i < PR_H_COUNT; i++) {
        snprintf(name, sizeof(name), "aneTD.Header[%u].%s", pr_header_table[i].owner,
                 pr_header_table[i].name);
        matches += strcmp(name, named->name) == 0 &&
                   same_place(named, 4u * pr_header_table[i].owner, &pr_header_table[i]);
    }
    for (unsigned i = 0; i < PR_F_COUNT; i++) {
        const struct pr_reg_info *reg = &pr_reg_table[pr_field_table[i].owner];

        for (uint32_t element = 0; element < reg->count; element++) {
            spell(name, sizeof(name), i, element);
            matches += strcmp(name, named->name) == 0 &&
                       same_place(named, full_offset(reg, element), &pr_field_table[i]);
        }
    }
    return matches;
}

/* How many names of ours claim to come from the register printer. */
static unsigned count_claimed(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < PR_H_COUNT; i++)
        count += pr_header_table[i].source == PR_SOURCE_ANEREGS;
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        if (pr_field_table[i].source == PR_SOURCE_ANEREGS)
            count += pr_reg_table[pr_field_table[i].owner].count;
    return count;
}

static void printer_agrees(void **state)
{
    const char *path = test_program_path("aneregs.json"), *at;
    struct named named;
    uint8_t *bytes;
    unsigned count = 0;
    size_t size;
    char *text;

    (void)state;
    if (!path) {
        print_message("# aneregs.json is not here\n");
        skip();
    }
    bytes = test_file_read(path, &size);
    assert_non_null(bytes);
    text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (at = text; next_named(&at, &named); count++)
        if (count_matches(&named) != 1)
            fail_msg("%s at byte 0x%x bit %u width %u is not in the tables", named.name, named.offset,
                     named.bit, named.width);
    assert_int_equal(count, 258);
    assert_int_equal(count_claimed(), 258);
    free(text);
    free(bytes);
}

static void blocks_as_documented(void **state)
{
    uint32_t first = 0;

    (void)state;
    assert_int_equal(PR_BLOCK_COUNT, 7);
    for (unsigned i = 0; i < PR_BLOCK_COUNT; i++) {
        assert_string_equal(pr_block_table[i].name, full_layout[i].name);
        assert_int_equal(pr_block_table[i].base, full_layout[i].base);
        assert_int_equal(pr_block_table[i].words, full_layout[i].words);
        assert_int_equal(pr_block_table[i].first, first);
        first += pr_block_table[i].words;
    }
    assert_int_equal(first, PR_IMAGE_WORDS);
}

/* Every register word has exactly one register, and no two fields of a word share a bit or a name. */
static void tables_are_sound(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < PR_IMAGE_WORDS; index++) {
        uint32_t element, owners = 0;
        enum pr_td_reg reg = pr_image_reg(index, &element);

        for (unsigned i = 0; i < PR_REG_COUNT; i++)
            owners += index >= pr_reg_table[i].first && index < pr_reg_table[i].first + pr_reg_table[i].count;
        assert_int_equal(owners, 1);
        assert_int_equal(pr_image_index(pr_reg_table[reg].address + 4 * element), index);
    }
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct pr_field_info *a = &pr_field_table[i], *b = &pr_field_table[j];

            if (a->owner != b->owner)
                continue;
            assert_int_equal(pr_bits_mask(a->lo, a->width) & pr_bits_mask(b->lo, b->width), 0);
            assert_string_not_equal(a->name, b->name);
        }
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct pr_field_info *a = &pr_header_table[i], *b = &pr_header_table[j];

            assert_string_not_equal(a->name, b->name);
            if (a->owner == b->owner)
                assert_int_equal(pr_bits_mask(a->lo, a->width) & pr_bits_mask(b->lo, b->width), 0);
        }
    for (unsigned i = 0; i < PR_REG_COUNT; i++)
        for (unsigned j = 0; j < i; j++)
            if (pr_reg_table[i].block == pr_reg_table[j].block)
                assert_string_not_equal(pr_reg_table[i].name, pr_reg_table[j].name);
}

static void expect_words(const struct pr_field_info *info)
{
    size_t length = strlen(info->meaning);

    assert_true(length > 4 && info->meaning[length - 1] == '.' && strlen(info->where) > 3);
    if (info->use == PR_USE_REFUSED)
        assert_true(info->accepted != 0);
    /* An accepted value fits the field, and some value that fits is not accepted. */
    if (info->accepted) {
        uint64_t all = info->width < 5 ? (1ull << (1u << info->width)) - 1 : UINT32_MAX;

        assert_int_equal(info->accepted & ~all, 0);
        assert_true(info->accepted != all);
    }
}

/* Every field says what it means and where that is from; no value of a field has two words. */
static void fields_are_explained(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        expect_words(&pr_header_table[i]);
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        expect_words(&pr_field_table[i]);
    for (unsigned i = 0; i < pr_value_count; i++) {
        const struct pr_value_info *value = &pr_value_table[i];
        const struct pr_field_info *info = &pr_field_table[value->field];

        assert_true(value->value >> info->width == 0);
        assert_true(!info->accepted || info->accepted >> value->value & 1);
        assert_ptr_equal(pr_value_text((enum pr_td_field)value->field, value->value), value->text);
    }
    assert_string_equal(pr_value_text(PR_F_SOURCE_TYPE, 2), "DMA, staged");
    assert_null(pr_value_text(PR_F_OP_MODE, 1));
    assert_null(pr_value_text(PR_F_WIN, 0));
}

/* Every value that the table calls refused is refused by one of our own tasks at least, as it stands. */
static bool some_task_refuses(enum pr_td_field field, uint32_t value)
{
    static const struct test_conv conv = {4, 4, 5, 5, 3, 1, 0, 2, 1};
    static struct test_program programs[4];
    static struct pr_task task;
    static struct pr_td td;

    if (!programs[0].size) {
        test_assemble(&programs[0], "%s", test_text_add);
        test_assemble(&programs[1], "%s", test_text_relu);
        test_program_conv(&programs[2], &conv);
        test_assemble(&programs[3], "%s", mean_text);
    }
    for (size_t i = 0; i < 4; i++) {
        struct pr_image image = {{0}};

        assert_true(pr_td_read(programs[i].bytes, programs[i].first_words, &td, NULL));
        pr_td_apply(&td, &image);
        if (!pr_task_decode(&td, &image, &task, NULL))
            fail_msg("program %zu is refused as it is", i);
        pr_image_put(&image, field, value);
        if (!pr_task_decode(&td, &image, &task, NULL))
            return true;
    }
    return false;
}

static void refused_values_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PR_F_COUNT; i++) {
        const struct pr_field_info *info = &pr_field_table[i];

        for (uint32_t value = 0; info->accepted && value < 1u << info->width; value++)
            if (!(info->accepted >> value & 1) && !some_task_refuses((enum pr_td_field)i, value))
                fail_msg("%s.%s = %u is run", pr_reg_table[info->owner].name, info->name, value);
    }
}

static void image_addresses(void **state)
{
    (void)state;
    assert_int_equal(pr_image_index(0x1f800), 0);
    assert_int_equal(pr_image_index(0x1f8f4), 61);
    assert_int_equal(pr_image_index(0x1f8f8), -1);
    assert_int_equal(pr_image_index(0x1f802), -1);
    assert_int_equal(pr_image_index(0x00000), 62);
    assert_int_equal(pr_image_index(0x0003c), 77);
    assert_int_equal(pr_image_index(0x00040), -1);
    assert_int_equal(pr_image_index(0xffffffff), -1);
}

static void expect_refused(const uint8_t *bytes, uint32_t words, enum pr_problem_kind kind, uint32_t offset,
                           const char *text)
{
    struct pr_problem problem = {0};
    struct pr_td td;

    assert_false(pr_td_read(bytes, words, &td, &problem));
    assert_int_equal(problem.kind, kind);
    assert_int_equal(problem.offset, offset);
    assert_non_null(strstr(problem.text, text));
    assert_false(pr_td_read(bytes, words, &td, NULL));
}

static void header_lengths(void **state)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX] = {0};
    struct pr_td td;

    (void)state;
    assert_true(pr_td_read(bytes, 10, &td, NULL));
    assert_int_equal(td.header_words, 10);
    assert_int_equal(td.record_count, 0);
    expect_refused(bytes, 0, PR_PROBLEM_TRUNCATED, 0, "declares 0 words");
    expect_refused(bytes, 9, PR_PROBLEM_TRUNCATED, 0, "declares 9 words");
    expect_refused(bytes, 513, PR_PROBLEM_TRUNCATED, 0, "declares 513 words");
    expect_refused(bytes, UINT32_MAX, PR_PROBLEM_TRUNCATED, 0, "declares 4294967295 words");

    put(bytes, 6, 1u << 24); /* TDE: the header has an eleventh word */
    expect_refused(bytes, 10, PR_PROBLEM_TRUNCATED, 0, "declares 10 words");
    put(bytes, 10, 0x12345);
    assert_true(pr_td_read(bytes, 11, &td, NULL));
    assert_int_equal(td.header_words, 11);
    assert_int_equal(pr_td_header(&td, PR_H_DTID), 0x2345);
    put(bytes, 6, 0);
    put(bytes, 10, record(0, 1));
    assert_true(pr_td_read(bytes, 12, &td, NULL));
    assert_int_equal(pr_td_header(&td, PR_H_DTID), 0);
}

static void full_descriptors(void **state)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX];
    struct pr_td td;

    (void)state;
    for (uint32_t header = 10; header <= 11; header++) {
        make_full(bytes, header);
        assert_true(pr_td_read(bytes, FULL_WORDS - 10 + header, &td, NULL));
        assert_int_equal(td.record_count, 7);
        for (unsigned i = 0; i < 7; i++) {
            assert_int_equal(td.record[i].address, full_layout[i].base);
            assert_int_equal(td.record[i].count, full_layout[i].words);
            assert_int_equal(4 * (td.record[i].offset + 1), full_layout[i].offset + 4 * (header - 10));
        }
    }
}

static void broken_records(void **state)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX];
    struct pr_td td;

    (void)state;
    make_full(bytes, 10);
    expect_refused(bytes, FULL_WORDS - 1, PR_PROBLEM_OVER_DECLARED, 0x254, "declares only 156");
    expect_refused(bytes, 11, PR_PROBLEM_OVER_DECLARED, 0x28, "declares only 11");
    put(bytes, FULL_WORDS, 0x3c00);
    expect_refused(bytes, FULL_WORDS + 1, PR_PROBLEM_UNKNOWN_RECORD, 4 * FULL_WORDS, "0x3c00");
    put(bytes, 10, record(0x1f800, 63));
    expect_refused(bytes, FULL_WORDS, PR_PROBLEM_UNKNOWN_RECORD, 0x28, "63 registers from 0x1f800");
    put(bytes, 10, record(0x1f7fc, 2));
    expect_refused(bytes, FULL_WORDS, PR_PROBLEM_UNKNOWN_RECORD, 0x28, "0x1f7fc");
    put(bytes, 10, record(0x1f801, 1));
    expect_refused(bytes, FULL_WORDS, PR_PROBLEM_UNKNOWN_RECORD, 0x28, "0x1f801");
    put(bytes, 10, 0x03ffffff);
    expect_refused(bytes, FULL_WORDS, PR_PROBLEM_UNKNOWN_RECORD, 0x28, "0x3ffffff");

    /* The longest: 251 writes of one word. */
    memset(bytes, 0, sizeof(bytes));
    for (uint32_t i = 10; i < PR_TD_WORDS_MAX; i += 2)
        put(bytes, i, record(0x13800, 1));
    assert_true(pr_td_read(bytes, PR_TD_WORDS_MAX, &td, NULL));
    assert_int_equal(td.record_count, 251);
}

/* The 126-word form writes KernelDMASrc in two parts and leaves the arrays between them as they were. */
static void absent_is_not_zero(void **state)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX] = {0};
    struct pr_image image;
    struct pr_td td;

    (void)state;
    memset(&image, 0xff, sizeof(image));
    put(bytes, 10, record(0x1f800, 18));
    put(bytes, 29, record(0x1f8c8, 12));
    for (uint32_t i = 0; i < 18; i++)
        put(bytes, 11 + i, i);
    assert_true(pr_td_read(bytes, 42, &td, NULL));
    pr_td_apply(&td, &image);
    for (uint32_t i = 0; i < PR_IMAGE_WORDS; i++) {
        uint32_t expected = i < 18 ? i : i >= 50 && i < 62 ? 0 : UINT32_MAX;

        assert_int_equal(image.word[i], expected);
    }
}

static void fields_of_an_image(void **state)
{
    struct pr_image image = {{0}};

    (void)state;
    pr_image_put(&image, PR_F_PX, 0x15);
    assert_int_equal(image.word[62 + 7], 0x15u << 17);
    pr_image_put_at(&image, PR_F_COEFF_ADDR, 15, 0x3ffffff);
    assert_int_equal(image.word[2 + 16 + 15], 0xffffffc0);
    assert_int_equal(pr_image_get_at(&image, PR_F_COEFF_ADDR, 15), 0x3ffffff);
    assert_int_equal(pr_image_get_at(&image, PR_F_COEFF_ADDR, 14), 0);
    pr_image_put(&image, PR_F_PX, 0);
    assert_int_equal(image.word[62 + 7], 0);
}

static void expect_unexplained(const uint8_t *bytes, uint32_t words, uint32_t offset, uint32_t address,
                               uint32_t bits, const char *text)
{
    struct pr_problem problem = {0};
    struct pr_td td;

    assert_true(pr_td_read(bytes, words, &td, NULL));
    assert_false(pr_td_explained(&td, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_UNEXPLAINED_BITS);
    assert_int_equal(problem.offset, offset);
    assert_int_equal(problem.address, address);
    assert_int_equal(problem.bits, bits);
    assert_non_null(strstr(problem.text, text));
}

static void unexplained_bits(void **state)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX];
    struct pr_td td;

    (void)state;
    make_full(bytes, 10);
    assert_true(pr_td_read(bytes, FULL_WORDS, &td, NULL));
    assert_true(pr_td_explained(&td, NULL));
    put(bytes, 0, 0xff000000);
    expect_unexplained(bytes, FULL_WORDS, 0, 0, 0xfc000000, "header");
    put(bytes, 0, 0x03ffffff);
    put(bytes, 0x30 / 4, 1); /* a register that is 0 in every sample */
    expect_unexplained(bytes, FULL_WORDS, 0x30, 0x1f804, 1, "Unknown4");
    put(bytes, 0x30 / 4, 0);
    put(bytes, 0x258 / 4, 0x0c0003f1);
    assert_true(pr_td_read(bytes, FULL_WORDS, &td, NULL));
    assert_true(pr_td_explained(&td, NULL));
    put(bytes, 0x258 / 4, 0x040000c2);
    expect_unexplained(bytes, FULL_WORDS, 0x258, 0x17800, 2, "DMAConfig");
}

/* What the known programs hold is explained: this is the check that would refuse them. */
static void real_descriptors_are_explained(void **state)
{
    static const char *const names[] = {"relu.hwx", "sum.hwx",  "sigmoid.hwx", "concat.hwx",
                                        "conv.hwx", "gemm.hwx", "golden.hwx"};
    uint32_t known = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = test_program_path(names[i]);
        struct pr_problem problem;
        struct pr_td td;
        uint8_t *bytes;
        size_t size;

        if (!path)
            continue;
        bytes = test_file_read(path, &size);
        assert_non_null(bytes);
        assert_true(size > 0x4274); /* this compiler version puts its text there */
        assert_true(pr_td_read(bytes + 0x4000, FULL_WORDS, &td, &problem));
        if (!pr_td_explained(&td, &problem))
            fail_msg("%s: %s", names[i], problem.text);
        known++;
        free(bytes);
    }
    if (!known) {
        print_message("# the shared programs are not here\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printer_agrees),
        cmocka_unit_test(blocks_as_documented),
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(fields_are_explained),
        cmocka_unit_test(refused_values_are_refused),
        cmocka_unit_test(image_addresses),
        cmocka_unit_test(header_lengths),
        cmocka_unit_test(full_descriptors),
        cmocka_unit_test(broken_records),
        cmocka_unit_test(absent_is_not_zero),
        cmocka_unit_test(fields_of_an_image),
        cmocka_unit_test(unexplained_bits),
        cmocka_unit_test(real_descriptors_are_explained),
    };

    return cmocka_run_group_tests_name("td", tests, NULL, NULL);
}
