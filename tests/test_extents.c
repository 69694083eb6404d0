/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and surfaces in physical memory: scattered, seen in one piece, and cheap in host mappings. */
#include "dartrig.h"

#include <errno.h>

#include "base/alloc.h"

#define DRAM   (256ull << 20)
#define CHUNK  (1ull << 20) /* the longest extent that is allowed */
#define BUDGET 1000u

static const uint32_t seeds[] = {0, 1, 77};

static struct soc_memory *make(uint64_t dram, uint32_t seed)
{
    struct soc_memory *memory;

    assert_int_equal(soc_memory_create(DARTRIG_T6000_DRAM, dram, &memory, NULL), 0);
    soc_memory_scatter(memory, seed);
    return memory;
}

/* As the header promises: whole pages, none twice, and no extent beside the one before it. */
static void check_extents(const struct soc_buffer *buffer, uint32_t seed)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < buffer->extents; i++) {
        const struct pr_extent *e = &buffer->extent[i], *before = e - 1;

        assert_int_equal((e->physical | e->bytes) % DARTRIG_PAGE, 0);
        assert_true(e->bytes > 0 && e->bytes <= (seed ? DARTRIG_PAGE : CHUNK));
        if (i)
            assert_true(before->physical + before->bytes != e->physical &&
                        e->physical + e->bytes != before->physical);
        for (uint32_t k = 0; k < i; k++)
            assert_true(e->physical + e->bytes <= buffer->extent[k].physical ||
                        buffer->extent[k].physical + buffer->extent[k].bytes <= e->physical);
        bytes += e->bytes;
    }
    assert_int_equal(bytes, buffer->bytes);
}

/* Writes through the view and reads through physical addresses, and the other way round. */
static void check_view(struct soc_memory *memory, const struct soc_buffer *buffer)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < buffer->extents; i++) {
        uint64_t last = buffer->extent[i].bytes - 8, there;
        uint64_t *at = soc_memory_at(memory, buffer->extent[i].physical + last, 8);

        assert_non_null(at);
        assert_int_equal(*at, 0);
        there = 0x1234567800000000ull + i;
        memcpy((uint8_t *)buffer->host + offset + last, &there, 8);
        assert_int_equal(*at, there);
        offset += buffer->extent[i].bytes;
    }
}

static void buffers_are_scattered_and_seen_in_one_piece(void **state)
{
    static const uint64_t sizes[] = {1,         DARTRIG_PAGE, 2 * DARTRIG_PAGE, CHUNK,
                                     CHUNK + 1, 2 * CHUNK,    3 * CHUNK,        10 * CHUNK + 5};

    (void)state;
    for (unsigned s = 0; s < 3; s++) {
        struct soc_memory *memory = make(DRAM, seeds[s]);
        struct soc_buffer buffer[8];

        for (unsigned round = 0; round < 2; round++) {
            for (unsigned i = 0; i < 8; i++) {
                assert_int_equal(
                    soc_memory_buffer_alloc(memory, SOC_OWNER_DRIVER, sizes[i], true, &buffer[i], NULL), 0);
                assert_int_equal(buffer[i].bytes,
                                 (sizes[i] + DARTRIG_PAGE - 1) / DARTRIG_PAGE * DARTRIG_PAGE);
                check_extents(&buffer[i], seeds[s]);
                check_view(memory, &buffer[i]);
            }
            for (unsigned i = 0; i < 8; i++)
                soc_memory_buffer_free(memory, &buffer[i]);
            assert_int_equal(soc_memory_used(memory), 0);
        }
        soc_memory_destroy(memory);
    }
}

static void the_order_is_the_seeds(void **state)
{
    struct soc_buffer first, again, other;
    struct soc_memory *memory[3] = {make(DRAM, 5), make(DRAM, 5), make(DRAM, 6)};
    uint32_t differ = 0;

    (void)state;
    assert_int_equal(soc_memory_buffer_alloc(memory[0], SOC_OWNER_DRIVER, CHUNK, false, &first, NULL), 0);
    assert_int_equal(soc_memory_buffer_alloc(memory[1], SOC_OWNER_DRIVER, CHUNK, false, &again, NULL), 0);
    assert_int_equal(soc_memory_buffer_alloc(memory[2], SOC_OWNER_DRIVER, CHUNK, false, &other, NULL), 0);
    assert_null(first.host);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(first.extent[i].physical, again.extent[i].physical);
        differ += first.extent[i].physical != other.extent[i].physical;
    }
    assert_true(differ > 8);
    soc_memory_buffer_free(memory[0], &first);
    soc_memory_buffer_free(memory[1], &again);
    soc_memory_buffer_free(memory[2], &other);
    for (unsigned i = 0; i < 3; i++)
        soc_memory_destroy(memory[i]);
}

/* Where every second page is taken, a buffer has single pages; where nothing is left, it is refused. */
static void broken_memory_is_enough(void **state)
{
    struct soc_memory *memory = make(512 * DARTRIG_PAGE, 0);
    uint64_t page[512];
    struct soc_buffer buffer;
    struct base_error error;

    (void)state;
    for (unsigned i = 0; i < 512; i++)
        assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, DARTRIG_PAGE, &page[i], NULL), 0);
    for (unsigned i = 0; i < 512; i++)
        if ((page[i] - DARTRIG_T6000_DRAM) / DARTRIG_PAGE % 2)
            assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, page[i], NULL), 0);
    assert_int_equal(
        soc_memory_buffer_alloc(memory, SOC_OWNER_DRIVER, 256 * DARTRIG_PAGE, true, &buffer, NULL), 0);
    assert_int_equal(buffer.extents, 256);
    check_extents(&buffer, 0);
    check_view(memory, &buffer);
    assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, buffer.extent[7].physical, &error), -EINVAL);
    assert_non_null(strstr(error.text, "belongs to the driver"));
    soc_memory_buffer_free(memory, &buffer);
    assert_int_equal(
        soc_memory_buffer_alloc(memory, SOC_OWNER_DRIVER, 257 * DARTRIG_PAGE, false, &buffer, &error),
        -ENOMEM);
    assert_int_equal(soc_memory_used(memory), 256 * DARTRIG_PAGE);
    assert_int_equal(soc_memory_buffer_alloc(memory, SOC_OWNER_DRIVER, 0, false, &buffer, &error), -EINVAL);
    soc_memory_destroy(memory);
}

static void every_refused_acquisition_unwinds(void **state)
{
    struct soc_memory *memory = make(DRAM, 1);
    struct soc_buffer buffer;
    uint64_t address;
    int status;

    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        unsigned long n = 0;

        do {
            struct base_error error = {""};

            base_alloc_fail_nth(++n);
            status = kind ? soc_memory_bank_add(memory, 20 * DARTRIG_PAGE, &address, &error)
                          : soc_memory_buffer_alloc(memory, SOC_OWNER_DRIVER, 20 * DARTRIG_PAGE, true,
                                                    &buffer, &error);
            base_alloc_fail_nth(0);
            if (status)
                assert_true(status == -ENOMEM && error.text[0] && !soc_memory_used(memory));
        } while (status);
        assert_true(n > 3);
        if (!kind)
            soc_memory_buffer_free(memory, &buffer);
    }
    assert_int_equal(soc_memory_bank_remove(memory, address, NULL), 0);
    soc_memory_destroy(memory);
}

/* A surface is one file in one piece, whatever its physical pages are. */
static void surfaces_are_scattered(void **state)
{
    (void)state;
    for (unsigned s = 0; s < 3; s++) {
        struct soc_memory *memory = make(DRAM, seeds[s]);
        uint64_t address[2], offset, done = 0;
        struct soc_buffer buffer;
        int file;

        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(soc_memory_bank_add(memory, 5 * CHUNK, &address[i], NULL), 0);
            assert_true(soc_memory_bank_buffer(memory, address[i], &buffer));
            check_extents(&buffer, seeds[s]);
            check_view(memory, &buffer);
        }
        assert_false(soc_memory_bank_buffer(memory, buffer.extent[1].physical, &buffer));
        for (uint32_t i = 0; i < buffer.extents; i++) {
            const struct pr_extent *e = &buffer.extent[i];

            assert_int_equal(soc_memory_file_at(memory, e->physical, &file, &offset), 0);
            assert_int_equal(file, soc_memory_bank_file(memory, address[1]));
            assert_int_equal(offset, done);
            assert_ptr_equal(soc_memory_at(memory, e->physical, e->bytes), (uint8_t *)buffer.host + done);
            assert_null(soc_memory_at(memory, e->physical, e->bytes + 1));
            done += e->bytes;
        }
        assert_int_equal(soc_memory_bank_remove(memory, buffer.extent[1].physical, NULL), -EINVAL);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(soc_memory_bank_remove(memory, address[i], NULL), 0);
        assert_null(soc_memory_at(memory, address[0], 1));
        soc_memory_destroy(memory);
    }
}

static uint32_t host_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    uint32_t lines = 0;

    assert_non_null(file);
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

static void map_buffer(struct dartrig *rig, uint64_t iova, const struct soc_buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->extents; i++) {
        dartrig_map_run(rig, iova, buffer->extent[i].physical, buffer->extent[i].bytes / DARTRIG_PAGE);
        iova += buffer->extent[i].bytes;
    }
}

/* Each page begins with its number. */
static void number_pages(uint8_t *at, uint64_t bytes)
{
    for (uint64_t page = 0; page < bytes / DARTRIG_PAGE; page++)
        memcpy(at + page * DARTRIG_PAGE, &page, sizeof(page));
}

static void check_numbers(const struct dart_range *range, uint64_t bytes)
{
    for (uint64_t page = 0, seen; page < bytes / DARTRIG_PAGE; page++) {
        dart_copy_in(range, page * DARTRIG_PAGE, &seen, sizeof(seen));
        assert_int_equal(seen, page);
        if (range->host)
            assert_memory_equal(range->host + page * DARTRIG_PAGE, &page, sizeof(page));
    }
}

/* A surface is one host mapping in the window, however its pages are scattered. */
static void a_scattered_surface_is_one_host_mapping(void **state)
{
    const uint64_t bytes = 64 << 20;

    (void)state;
    for (unsigned s = 0; s < 3; s++) {
        struct dart_range range;
        struct soc_buffer buffer;
        struct dartrig rig;
        uint64_t address;
        uint32_t before;

        dartrig_start(&rig, &(struct dart_config){.vma_budget = BUDGET}, DARTRIG_T6000_DRAM, DRAM);
        soc_memory_scatter(rig.memory, seeds[s]);
        assert_int_equal(soc_memory_bank_add(rig.memory, bytes, &address, NULL), 0);
        assert_true(soc_memory_bank_buffer(rig.memory, address, &buffer));
        number_pages(buffer.host, bytes);
        map_buffer(&rig, 0x100000, &buffer);
        before = host_mappings();
        assert_int_equal(dartrig_get(&rig, 0x100000, bytes, DART_WRITE, &range), 0);
        assert_non_null(range.host);
        assert_true(host_mappings() - before <= 3); /* the window before it, the surface, the window after */
        check_numbers(&range, bytes);
        assert_int_equal(soc_memory_bank_remove(rig.memory, address, NULL), 0);
        dartrig_end(&rig);
    }
}

/* DRAM needs a host mapping per extent: the budget holds, and past it the range is read page by page. */
static void a_scattered_buffer_stays_in_the_budget(void **state)
{
    const uint64_t bytes = 32 << 20;

    (void)state;
    for (unsigned s = 0; s < 3; s++) {
        struct dart_range range;
        struct soc_buffer buffer;
        struct dartrig rig;
        uint32_t before;

        dartrig_start(&rig, &(struct dart_config){.vma_budget = BUDGET}, DARTRIG_T6000_DRAM, DRAM);
        soc_memory_scatter(rig.memory, seeds[s]);
        assert_int_equal(soc_memory_buffer_alloc(rig.memory, SOC_OWNER_DRIVER, bytes, true, &buffer, NULL),
                         0);
        number_pages(buffer.host, bytes);
        map_buffer(&rig, 0x100000, &buffer);
        before = host_mappings();
        for (uint64_t part = bytes; part >= 1 << 20; part /= 2) {
            assert_int_equal(dartrig_get(&rig, 0x100000, part, DART_READ, &range), 0);
            assert_true(host_mappings() - before <= BUDGET);
            assert_true((range.host != NULL) == (!seeds[s] || part / DARTRIG_PAGE < BUDGET));
            check_numbers(&range, part);
        }
        soc_memory_buffer_free(rig.memory, &buffer);
        dartrig_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_scattered_and_seen_in_one_piece),
        cmocka_unit_test(the_order_is_the_seeds),
        cmocka_unit_test(broken_memory_is_enough),
        cmocka_unit_test(every_refused_acquisition_unwinds),
        cmocka_unit_test(surfaces_are_scattered),
        cmocka_unit_test(a_scattered_surface_is_one_host_mapping),
        cmocka_unit_test(a_scattered_buffer_stays_in_the_budget),
    };

    return cmocka_run_group_tests_name("extents", tests, NULL, NULL);
}
