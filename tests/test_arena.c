/* SPDX-License-Identifier: Apache-2.0 */
/* Placement by lifetime (compiler/lower/arena.h), beside a plain list of what is alive. */
#include "support.h"

#include <string.h>

#include "compiler/lower/arena.h"

enum { BUFFERS = 3000, ALIVE_MAX = 400 };

/* Those that are alive, by offset. */
static struct cc_tenant alive[BUFFERS];
static unsigned count;

static void plain_expire(uint32_t record)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++)
        if (alive[i].last >= record)
            alive[kept++] = alive[i];
    count = kept;
}

static uint64_t plain_find(uint64_t bytes)
{
    uint64_t offset = 0;

    for (unsigned i = 0; i < count && alive[i].offset < offset + bytes; i++)
        offset = alive[i].offset + alive[i].bytes;
    return offset;
}

static void plain_add(const struct cc_tenant *tenant)
{
    unsigned at = count++;

    for (; at && alive[at - 1].offset > tenant->offset; at--)
        alive[at] = alive[at - 1];
    alive[at] = *tenant;
}

static bool plain_remove_farthest(uint32_t last, uint32_t *buffer)
{
    unsigned found = count;

    for (unsigned i = 0; i < count; i++)
        if (alive[i].last > last) {
            last = alive[i].last;
            found = i;
        }
    if (found == count)
        return false;
    *buffer = alive[found].buffer;
    memmove(&alive[found], &alive[found + 1], (--count - found) * sizeof(alive[0]));
    return true;
}

static void as_a_plain_list(void **state)
{
    struct cc_lowering l = {0};
    struct cc_arena arena = {0};
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    count = 0;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        struct cc_tenant tenant = {.buffer = i,
                                   .last = i + (uint32_t)test_rng_range(&rng, 0, ALIVE_MAX),
                                   .bytes = 16 * (uint64_t)test_rng_range(&rng, 1, i % 7 ? 8 : 500)};
        uint32_t other = 0, expected = 0;

        cc_arena_expire(&arena, i);
        plain_expire(i);
        tenant.offset = cc_arena_find(&arena, tenant.bytes);
        assert_true(tenant.offset == plain_find(tenant.bytes));
        assert_int_equal(cc_arena_add(&l, &arena, &tenant), 0);
        plain_add(&tenant);
        if (test_rng_range(&rng, 0, 3) == 0) {
            bool removed = plain_remove_farthest(tenant.last, &expected);

            assert_int_equal(cc_arena_remove_farthest(&arena, tenant.last, &other), removed);
            assert_int_equal(other, expected);
        }
    }
    cc_arena_end(&arena);
}

static void empty(void **state)
{
    struct cc_arena arena = {0};
    uint32_t buffer;

    (void)state;
    cc_arena_expire(&arena, 5);
    assert_int_equal(cc_arena_find(&arena, 64), 0);
    assert_false(cc_arena_remove_farthest(&arena, 0, &buffer));
    cc_arena_end(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_plain_list), cmocka_unit_test(empty)};

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
