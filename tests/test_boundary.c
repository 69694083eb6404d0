/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape-specific program exists below the host boundary only: after a network was compiled,
 * loaded and run through the runtime, no surface, no heap, stack or other private memory of the
 * process holds a program image. A magic word planted afterwards in a surface and on the heap is
 * found, which shows that the search can find one.
 */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "e5rig.h"

enum place { DRAM, SURFACE, PRIVATE, OTHER };

/* What a mapping is, by the name the kernel shows for it. The machine's windows are DRAM too. */
static enum place place_of(const char *permissions, const char *name)
{
    if (strstr(name, "anemone-dram"))
        return DRAM;
    if (strstr(name, "anemone-surface"))
        return SURFACE;
    if (permissions[1] != 'w' || permissions[0] != 'r')
        return OTHER;
    return permissions[3] == 'p' && (name[0] == '\0' || name[0] == '[') ? PRIVATE : OTHER;
}

/*
 * Aligned words of the magic, which is put together here so that this function's own memory does not hold it.
 */
static unsigned count_images(const uint8_t *from, const uint8_t *to)
{
    unsigned found = 0;

    for (const uint8_t *at = from; at + 4 <= to; at += 4)
        found += at[0] == 0xce && at[1] == 0xfa && at[2] == 0xef && at[3] == 0xbe;
    return found;
}

/* Sparse memory is large: only pages that are there are looked at. */
static bool resident(FILE *pagemap, uint64_t address)
{
    uint64_t entry = 0;

    fseek(pagemap, (long)(address / 4096 * 8), SEEK_SET);
    return fread(&entry, 8, 1, pagemap) == 1 && (entry >> 63 & 1 || entry >> 62 & 1);
}

static void search(unsigned found[OTHER + 1])
{
    FILE *maps = fopen("/proc/self/maps", "r"), *pagemap = fopen("/proc/self/pagemap", "r");
    char line[512];

    assert_non_null(maps);
    assert_non_null(pagemap);
    while (fgets(line, sizeof(line), maps)) {
        uint64_t from, to;
        char permissions[8], name[256] = "";
        enum place place;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %255[^\n]", &from, &to, permissions, name) <
            3)
            continue;
        place = place_of(permissions, name);
        for (uint64_t page = from; place != OTHER && page < to; page += 4096)
            if (resident(pagemap, page))
                found[place] +=
                    count_images((const uint8_t *)(uintptr_t)page, (const uint8_t *)(uintptr_t)page + 4096);
    }
    fclose(maps);
    fclose(pagemap);
}

static void no_client_memory_holds_the_program(void **state)
{
    e5rt_buffer_object_t x, s;
    static const uint8_t magic[4] = {0xce, 0xfa, 0xef, 0xbe};
    unsigned found[OTHER + 1] = {0};
    uint8_t *volatile planted; /* the compiler must not do without it */
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their shadow memory is not worth reading */
#endif
    x = e5rig_buffer(640);
    s = e5rig_buffer(640);
    e5rig_model_open(&model, TEST_SOURCE_ROOT "/examples/accumulator.mil");
    e5rig_bind(model.operation, "x", x);
    e5rig_bind(model.operation, "state_in", s);
    e5rig_bind(model.operation, "state_out", s);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    search(found);
    assert_int_equal(found[SURFACE], 0);
    assert_int_equal(found[PRIVATE], 0);
    planted = malloc(sizeof(magic));
    memcpy(planted, magic, sizeof(magic));
    memcpy(e5rig_data(x), planted, sizeof(magic));
    search(found);
    assert_true(found[SURFACE] > 0);
    assert_true(found[PRIVATE] > 0);
    free(planted);
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x));
    OK(e5rt_buffer_object_release(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_client_memory_holds_the_program),
    };

    return cmocka_run_group_tests_name("boundary", tests, NULL, NULL);
}
