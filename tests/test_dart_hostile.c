/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DART fed with what no driver should give it: random tables and registers, freed tables, a host
 * without memory.
 */
#include "dartrig.h"

#define FLAG 0x80000000u

static const enum pr_leaf_form forms[] = {PR_LEAF_SEED, PR_LEAF_T8020, PR_LEAF_T6000};
static const uint64_t bases[] = {DARTRIG_T6000_DRAM, DARTRIG_T8103_DRAM};

/*
 * Any bytes may stand in the tables: a grant is made or a fault captured, and what was granted can be
 * touched.
 */
static void random_tables(void **state)
{
    struct test_rng rng;
    unsigned faults = 0, direct = 0, elsewhere = 0;

    (void)state;
    test_rng_init(&rng, 28);
    for (unsigned round = 0; round < 60; round++) {
        struct dart_config config = {
            .form = forms[round % 3], .vma_budget = round % 2 ? 16 : 0, .strict_tlb = round % 4 == 3};
        struct dartrig rig;
        uint64_t all, base = bases[round / 3 % 2];

        dartrig_start(&rig, &config, base, 128 * DARTRIG_PAGE);
        all = dartrig_alloc(&rig, 64);
        test_rng_bytes(&rng, dartrig_at(&rig, all, 64 * DARTRIG_PAGE), 64 * DARTRIG_PAGE);
        for (unsigned i = 0; i < 64 * DARTRIG_PAGE / 8; i++) /* most words reach memory, some not */
            if (test_rng_range(&rng, 0, 9))
                ((uint64_t *)dartrig_at(&rig, all, 64 * DARTRIG_PAGE))[i] = dartrig_word_sub(
                    config.form, base + (uint64_t)test_rng_range(&rng, 0, 130) * DARTRIG_PAGE,
                    test_rng_range(&rng, 0, 9) == 0,
                    test_rng_range(&rng, 0, 9) ? 0 : test_rng_u32(&rng) & 0xfff, 0xfff);
        dartrig_ttbr(&rig, DART_PORT_SOURCE, 0, all + (uint64_t)test_rng_range(&rng, 0, 255) * 0x1000);
        for (unsigned i = 0; i < 400; i++) {
            uint64_t iova = test_rng_u64(&rng) >> (test_rng_range(&rng, 0, 9) ? 32 : 0);
            uint64_t bytes =
                test_rng_u64(&rng) >> test_rng_range(&rng, test_rng_range(&rng, 0, 9) ? 46 : 30, 63);
            enum dart_access access = test_rng_bool(&rng) ? DART_READ : DART_WRITE;
            uint8_t byte = 0;
            struct dart_range range;
            int status = dartrig_get(&rig, iova, bytes, access, &range);

            assert_true(status == 0 ||
                        (status == -EFAULT && dart_read32(rig.dart, DART_PORT_SOURCE, 0x40) & FLAG));
            dart_write32(rig.dart, DART_PORT_SOURCE, 0x40, FLAG);
            faults += status != 0;
            if (status == 0 && bytes) {
                bool one_page = iova % DARTRIG_PAGE + bytes <= DARTRIG_PAGE;

                direct += one_page;
                elsewhere += !one_page;
                dart_copy_in(&range, bytes - 1, &byte, 1);
                if (range.host)
                    assert_int_equal(range.host[bytes - 1], byte);
                dart_copy_out(&range, bytes - 1, &byte, 1);
            }
            if (i % 50 == 49)
                dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
        }
        dartrig_end(&rig);
    }
    assert_true(faults > 1000 && direct > 1000 && elsewhere > 300);
}

/*
 * A table whose pages were given back is read as the device would, also where a sanitizer guards free
 * memory.
 */
static void freed_table(void **state)
{
    struct dartrig rig;
    struct dart_range range;
    struct base_error error;

    (void)state;
    dartrig_start(&rig, &(struct dart_config){0}, DARTRIG_T6000_DRAM, 128 * DARTRIG_PAGE);
    dartrig_map(&rig, 0x4000, dartrig_alloc(&rig, 1));
    assert_int_equal(dartrig_get(&rig, 0x4000, 4, DART_READ, &range), 0);
    assert_int_equal(soc_memory_free(rig.memory, SOC_OWNER_CALLER, rig.table, &error), 0);
    assert_int_equal(dartrig_get(&rig, 0x4000, 4, DART_READ, &range), 0);
    dartrig_invalidate(&rig, DART_PORT_SOURCE, 1);
    assert_int_equal(dartrig_get(&rig, 0x4000, 4, DART_READ, &range), -EFAULT);
    assert_int_equal(dart_read32(rig.dart, DART_PORT_SOURCE, 0x40), FLAG | 1 << 1);
    dartrig_end(&rig);
}

static void random_registers(void **state)
{
    struct test_rng rng;
    struct dartrig rig;
    struct dart_range range;

    (void)state;
    test_rng_init(&rng, 29);
    dartrig_start(&rig, &(struct dart_config){.form = PR_LEAF_T6000}, DARTRIG_T6000_DRAM, 128 * DARTRIG_PAGE);
    for (unsigned i = 0; i < 50000; i++) {
        enum dart_port port = (enum dart_port)test_rng_range(&rng, 0, 2);
        uint32_t offset = test_rng_u32(&rng) % (i % 4 ? 0x310 : 0x4000);

        dart_write32(rig.dart, port, i % 8 ? offset & ~3u : offset, test_rng_u32(&rng));
        dart_read32(rig.dart, port, test_rng_u32(&rng) % 0x4000);
        dart_range_get(rig.dart, port, test_rng_u32(&rng) % 17, test_rng_u32(&rng), test_rng_u32(&rng) >> 8,
                       DART_READ, &range);
    }
    dartrig_end(&rig);
}

static void create_failures(void **state)
{
    struct dartrig rig;
    struct dart *dart = NULL;
    struct base_error error;

    (void)state;
    dartrig_start(&rig, &(struct dart_config){0}, DARTRIG_T6000_DRAM, 128 * DARTRIG_PAGE);
    for (unsigned n = 1; n <= 3; n++) {
        base_alloc_fail_nth(n);
        assert_int_equal(dart_create(&(struct dart_config){0}, rig.memory, &rig.trace, &dart, &error),
                         -ENOMEM);
        base_alloc_fail_nth(0);
        assert_non_null(strstr(error.text, "DART"));
    }
    assert_int_equal(
        dart_create(&(struct dart_config){.form = PR_LEAF_FORMS}, rig.memory, &rig.trace, &dart, &error),
        -EINVAL);
    assert_null(dart);
    dart_destroy(NULL);
    dartrig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tables),
        cmocka_unit_test(freed_table),
        cmocka_unit_test(random_registers),
        cmocka_unit_test(create_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
