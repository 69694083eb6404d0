/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory: runs, banks, addresses; and what happens when the host refuses. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "soc/memory.h"

#define BASE 0x10000000000ull
#define PAGE 0x4000ull
#define DRAM (64ull << 20)

static struct soc_memory *make(void)
{
    struct soc_memory *memory;

    assert_int_equal(soc_memory_create(BASE, DRAM, &memory, NULL), 0);
    return memory;
}

static void an_address_is_an_offset(void **state)
{
    struct soc_memory *memory = make();
    uint8_t *first = soc_memory_at(memory, BASE, DRAM);

    (void)state;
    assert_non_null(first);
    assert_ptr_equal(soc_memory_at(memory, BASE + 12345, 1), first + 12345);
    assert_non_null(soc_memory_at(memory, BASE + DRAM - 1, 1));
    assert_null(soc_memory_at(memory, BASE + DRAM - 1, 2));
    assert_null(soc_memory_at(memory, BASE - 1, 1));
    assert_null(soc_memory_at(memory, BASE + DRAM, 1));
    assert_null(soc_memory_at(memory, 0, 1));
    assert_null(soc_memory_at(memory, UINT64_MAX, 1));
    assert_null(soc_memory_at(memory, BASE, UINT64_MAX));
    soc_memory_destroy(memory);
}

static void runs_do_not_overlap_and_come_back_clean(void **state)
{
    struct soc_memory *memory = make();
    struct test_rng rng;
    struct {
        uint64_t address, bytes;
        uint8_t tag;
    } run[200] = {{0}};

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned step = 0; step < 4000; step++) {
        unsigned i = (unsigned)test_rng_range(&rng, 0, 199);
        uint8_t *at;

        if (run[i].bytes) {
            at = soc_memory_at(memory, run[i].address, run[i].bytes);
            assert_int_equal(at[0], run[i].tag);
            assert_int_equal(at[run[i].bytes - 1], run[i].tag);
            assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, run[i].address, NULL), 0);
            run[i].bytes = 0;
            continue;
        }
        run[i].bytes = (uint64_t)test_rng_range(&rng, 1, 40) * PAGE - (uint64_t)test_rng_range(&rng, 0, 100);
        if (soc_memory_alloc(memory, SOC_OWNER_CALLER, run[i].bytes, &run[i].address, NULL)) {
            run[i].bytes = 0;
            continue;
        }
        assert_int_equal(run[i].address % PAGE, 0);
        at = soc_memory_at(memory, run[i].address, run[i].bytes);
        assert_non_null(at);
        assert_int_equal(at[0], 0);
        assert_int_equal(at[run[i].bytes / 2], 0);
        assert_int_equal(at[run[i].bytes - 1], 0);
        run[i].tag = (uint8_t)test_rng_range(&rng, 1, 255);
        memset(at, run[i].tag, run[i].bytes);
    }
    for (unsigned i = 0; i < 200; i++)
        if (run[i].bytes)
            assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, run[i].address, NULL), 0);
    assert_int_equal(soc_memory_used(memory), 0);
    /* Everything has been joined again: one run takes it all. */
    assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, DRAM, &run[0].address, NULL), 0);
    assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, 1, &run[1].address, NULL), -ENOMEM);
    soc_memory_destroy(memory);
}

static uint64_t host_bytes(const struct soc_memory *memory)
{
    struct stat about;

    assert_int_equal(fstat(soc_memory_dram_file(memory), &about), 0);
    return (uint64_t)about.st_blocks * 512;
}

/* Of freed runs some pages stay with the machine; they are read as zeros by the next owner as well. */
static void few_pages_are_kept(void **state)
{
    static const struct {
        uint64_t bytes, touched, kept;
    } row[] = {
        {1 << 20, 1 << 20, 1 << 20},       {15 << 20, 15 << 20, 15 << 20}, {17 << 20, 17 << 20, 0},
        {1 << 20, (1 << 20) - 1, 1 << 20}, {1 << 20, 1 << 19, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct soc_memory *memory = make();
        uint64_t address, again;
        uint8_t *at;

        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, row[i].bytes, &address, NULL), 0);
            at = soc_memory_at(memory, address, row[i].bytes);
            for (uint64_t b = 0; b < row[i].bytes; b += 1021)
                if (at[b])
                    fail_msg("row %u: byte %llu is not cleared", i, (unsigned long long)b);
            /* Reading makes pages as well, so all are given back first. */
            assert_int_equal(madvise(at, row[i].bytes, MADV_REMOVE), 0);
            memset(at, 0xff, row[i].touched);
            assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, address, NULL), 0);
            assert_int_equal(host_bytes(memory), row[i].kept);
        }
        /* Two that are more together than is kept. */
        assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, 10 << 20, &address, NULL), 0);
        assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, 10 << 20, &again, NULL), 0);
        memset(soc_memory_at(memory, address, 10 << 20), 1, 10 << 20);
        memset(soc_memory_at(memory, again, 10 << 20), 1, 10 << 20);
        assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, address, NULL), 0);
        assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, again, NULL), 0);
        assert_true(host_bytes(memory) <= 16 << 20);
        soc_memory_destroy(memory);
    }
}

static void wrong_requests_are_named(void **state)
{
    struct soc_memory *memory = make();
    struct base_error error;
    uint64_t address;

    (void)state;
    assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, 0, &address, &error), -EINVAL);
    assert_non_null(strstr(error.text, "0 bytes"));
    assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, DRAM + 1, &address, &error), -ENOMEM);
    assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, UINT64_MAX, &address, &error), -ENOMEM);
    assert_int_equal(soc_memory_alloc(memory, SOC_OWNER_CALLER, 2 * PAGE, &address, &error), 0);
    assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, address + PAGE, &error), -EINVAL);
    assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, address, &error), 0);
    assert_int_equal(soc_memory_free(memory, SOC_OWNER_CALLER, address, &error), -EINVAL);
    assert_non_null(strstr(error.text, "No allocated run"));
    soc_memory_destroy(memory);
}

static void a_run_is_freed_by_its_owner_alone(void **state)
{
    struct soc_memory *memory = make();
    struct base_error error;
    uint64_t address, used;
    uint8_t *at;

    (void)state;
    for (unsigned owner = 0; owner < SOC_OWNERS; owner++) {
        assert_int_equal(soc_memory_alloc(memory, (enum soc_owner)owner, 2 * PAGE, &address, NULL), 0);
        used = soc_memory_used(memory);
        at = soc_memory_at(memory, address, 2 * PAGE);
        at[PAGE] = 0x5a;
        for (unsigned other = 0; other < SOC_OWNERS; other++)
            if (other != owner) {
                assert_int_equal(soc_memory_free(memory, (enum soc_owner)other, address, &error), -EINVAL);
                assert_non_null(strstr(error.text, "belongs to"));
            }
        assert_int_equal(at[PAGE], 0x5a);
        assert_int_equal(soc_memory_used(memory), used);
        assert_int_equal(soc_memory_free(memory, (enum soc_owner)owner, address, &error), 0);
    }
    soc_memory_destroy(memory);
}

static void count(void *context)
{
    ++*(unsigned *)context;
}

static void a_watched_range_tells_every_use(void **state)
{
    struct soc_memory *memory = make();
    unsigned seen = 0;

    (void)state;
    soc_memory_watch(memory, BASE + 2 * PAGE, 3 * PAGE, count, &seen);
    assert_non_null(soc_memory_at(memory, BASE, 2 * PAGE));
    assert_non_null(soc_memory_at(memory, BASE + 5 * PAGE, PAGE));
    assert_null(soc_memory_at(memory, BASE + 2 * PAGE, DRAM));
    assert_int_equal(seen, 0);
    assert_non_null(soc_memory_at(memory, BASE, 2 * PAGE + 1));
    assert_non_null(soc_memory_at(memory, BASE + 3 * PAGE, 8));
    assert_non_null(soc_memory_at(memory, BASE + 5 * PAGE - 1, 1));
    assert_non_null(soc_memory_at(memory, BASE, DRAM));
    assert_int_equal(seen, 4);
    soc_memory_watch(memory, 0, 0, NULL, NULL);
    assert_non_null(soc_memory_at(memory, BASE, DRAM));
    assert_int_equal(seen, 4);
    soc_memory_destroy(memory);
}

static void a_surface_is_a_sealed_file_of_its_own(void **state)
{
    struct soc_memory *memory = make();
    uint64_t a, b, offset;
    int file, seals;
    uint8_t *second;

    (void)state;
    assert_int_equal(soc_memory_bank_add(memory, 3 * PAGE, &a, NULL), 0);
    assert_int_equal(soc_memory_bank_add(memory, 1, &b, NULL), 0);
    assert_true(a >= BASE + DRAM);
    assert_non_null(soc_memory_at(memory, a, 3 * PAGE));
    assert_null(soc_memory_at(memory, a, 3 * PAGE + 1));
    assert_int_equal(soc_memory_file_at(memory, a + PAGE, &file, &offset), 0);
    assert_int_equal(offset, PAGE);
    assert_int_equal(file, soc_memory_bank_file(memory, a));
    seals = fcntl(file, F_GET_SEALS);
    assert_int_equal(seals & (F_SEAL_SHRINK | F_SEAL_GROW), F_SEAL_SHRINK | F_SEAL_GROW);
    second = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, (off_t)PAGE);
    assert_true(second != MAP_FAILED);
    *(uint8_t *)soc_memory_at(memory, a + PAGE + 7, 1) = 0x5a;
    assert_int_equal(second[7], 0x5a);
    munmap(second, PAGE);
    assert_int_equal(soc_memory_bank_file(memory, BASE), -1);
    assert_int_equal(soc_memory_bank_remove(memory, a, NULL), 0);
    assert_null(soc_memory_at(memory, a, 1));
    assert_int_equal(soc_memory_file_at(memory, a, &file, &offset), -EFAULT);
    assert_int_equal(soc_memory_bank_remove(memory, a, NULL), -EINVAL);
    assert_non_null(soc_memory_at(memory, b, PAGE));
    soc_memory_destroy(memory);
}

static void every_refused_acquisition_unwinds(void **state)
{
    struct soc_memory *memory = NULL;
    unsigned long n = 0;
    int status;

    (void)state;
    do {
        struct base_error error = {""};

        base_alloc_fail_nth(++n);
        status = soc_memory_create(BASE, DRAM, &memory, &error);
        base_alloc_fail_nth(0);
        if (status) {
            assert_int_equal(status, -ENOMEM);
            assert_true(error.text[0] != '\0');
        }
    } while (status);
    assert_true(n > 4);
    soc_memory_destroy(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_an_offset),
        cmocka_unit_test(runs_do_not_overlap_and_come_back_clean),
        cmocka_unit_test(few_pages_are_kept),
        cmocka_unit_test(wrong_requests_are_named),
        cmocka_unit_test(a_run_is_freed_by_its_owner_alone),
        cmocka_unit_test(a_watched_range_tells_every_use),
        cmocka_unit_test(a_surface_is_a_sealed_file_of_its_own),
        cmocka_unit_test(every_refused_acquisition_unwinds),
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
