/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper and the page-protection layer: roles, protections, segments, and the words of the tables. */
#include "drvrig.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/domain.h"
#include "driver/mapper.h"
#include "driver/protection.h"

#define PAGE 0x4000ull

static struct drvrig rig;

static int start(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    return 0;
}

static int end(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

/* The word that the second DART finds for a device address of a stream; 0 without a second-level table. */
static uint64_t leaf_at(uint32_t stream, uint64_t iova)
{
    uint64_t table = (uint64_t)(rig.dart[1][(0x200 + stream * 16) / 4] & 0x7fffffffu) << 12, word;

    memcpy(&word, drvrig_memory(&rig, table + (iova >> 25) * 8), 8);
    if (!word)
        return 0;
    assert_int_equal(word >> 63, 1);
    memcpy(&word, drvrig_memory(&rig, (word & 0x7fffffffc000ull) + (iova >> 14 & 2047) * 8), 8);
    return word;
}

/* A domain of a client, with nothing in it. */
static struct drv_domain *open_domain(unsigned number)
{
    struct drv_domain *domain = &rig.driver->domain[number];

    assert_int_equal(drv_domain_open(rig.driver, domain), 0);
    return domain;
}

/* Table 28.6, with the protection of Table 28.5; the last two are the firmware's own. */
static const struct role {
    const char *buffer;
    uint32_t usage, protection;
} roles[] = {
    {"input tensor", 1, 3},
    {"output tensor", 2, 1},
    {"weights", 8, 3},
    {"program text", 9, 3},
    {"constants", 11, 3},
    {"intermediate", 7, 3},
    {"working set", 9, 3},
    {"firmware shared surface", 0x1019, 3},
    {"firmware heap", 0x101a, 3},
};

static bool map_traced(uint32_t domain, uint32_t usage, uint32_t protection, uint64_t iova)
{
    struct pr_trace_record record;

    for (unsigned i = 0; drvrig_traced(&rig, PR_TRACE_DRV_MAP, i, &record); i++)
        if (pr_trace_at(&record, DRV_MAP, domain).number == domain &&
            pr_trace_at(&record, DRV_MAP, usage).number == usage &&
            pr_trace_at(&record, DRV_MAP, prot).number == protection &&
            pr_trace_at(&record, DRV_MAP, iova).number == iova)
            return true;
    return false;
}

/* Every role is mapped under its code, and all give the same word: the frame and bit 63. */
static void nine_roles_of_a_load(void **state)
{
    struct drv_domain *client = open_domain(1), *base = &rig.driver->domain[0];
    struct drv_pages pages;

    (void)state;
    assert_int_equal(rig.platform.alloc(&rig, 3 * PAGE, false, &pages), 0);
    for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        struct drv_domain *domain = roles[i].usage & 0x1000 ? base : client;
        uint64_t iova = 0x30000000 + i * 0x10000;

        if (domain == base)
            assert_int_equal(drv_mapper_map(rig.driver, client, roles[i].usage, iova, &pages), -EPERM);
        assert_int_equal(leaf_at(3, iova), 0);
        assert_int_equal(drv_mapper_map(rig.driver, domain, roles[i].usage, iova, &pages), 0);
        if (!map_traced(domain->number, roles[i].usage, roles[i].protection, iova))
            fail_msg("%s: usage %u is not mapped with protection %u", roles[i].buffer, roles[i].usage,
                     roles[i].protection);
        for (uint32_t page = 0; page < 3; page++)
            assert_true(leaf_at(domain == base ? 0 : 3, iova + page * PAGE) ==
                        (pages.extent[page].physical | 1ull << 63));
        drv_mapper_unmap(rig.driver, domain, iova, 3 * PAGE);
        assert_int_equal(leaf_at(domain == base ? 0 : 3, iova), 0);
    }
    rig.platform.free(&rig, &pages);
    drv_domain_close(rig.driver, client);
}

/* The direction mapper gives 1, 2 and 3; bit 5 of the configuration word makes 2 into 3. */
static void read_only_is_a_configuration(void **state)
{
    struct drv_domain *client;
    struct drv_pages pages;

    (void)state;
    for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        assert_int_equal(drv_usage_protection(roles[i].usage, 0x80000025), roles[i].protection);
        assert_int_equal(drv_usage_protection(roles[i].usage, 0x80000005),
                         roles[i].usage == 1 ? 2 : roles[i].protection);
    }
    assert_int_equal(drv_usage_protection(3, 0x80000025), 0);
    assert_int_equal(drv_usage_protection(0x1001, 0x80000025), 0);

    for (unsigned dart = 0; dart < 3; dart++)
        rig.dart[dart][0x60 / 4] = 0x80000005;
    client = open_domain(2);
    assert_int_equal(rig.platform.alloc(&rig, PAGE, false, &pages), 0);
    assert_int_equal(drv_mapper_map(rig.driver, client, 1, 0x4000, &pages), 0);
    assert_true(map_traced(2, 1, 2, 0x4000));
    assert_true(leaf_at(4, 0x4000) == (pages.extent->physical | 1ull << 63));
    drv_mapper_unmap(rig.driver, client, 0x4000, PAGE);
    rig.platform.free(&rig, &pages);
    drv_domain_close(rig.driver, client);
}

/* The hardware forms do have a bit for it. */
static void read_only_in_the_hardware_forms(void **state)
{
    const struct pr_segment only = {.phys = 0x812344000, .size = PAGE, .prot = 2},
                            both = {.phys = 0x812344000, .size = PAGE, .prot = 3},
                            out = {.phys = 0x812344000, .size = PAGE, .prot = 1};

    (void)state;
    assert_int_equal(pr_segment_leaf(PR_LEAF_T8020, &only) ^ pr_segment_leaf(PR_LEAF_T8020, &both), 1 << 7);
    assert_int_equal(pr_segment_leaf(PR_LEAF_T6000, &only) ^ pr_segment_leaf(PR_LEAF_T6000, &both), 1 << 2);
    assert_int_equal(pr_segment_leaf(PR_LEAF_T6000, &out), pr_segment_leaf(PR_LEAF_T6000, &both));
}

/* Table 28.4: protection bits 3, 4 and 5 become bits 62, 60 and 59. No usage code gives them. */
static void aux_bits_come_from_the_segment(void **state)
{
    struct drv_domain *client = open_domain(1);
    struct pr_segment segment = {.iova = 0x8000, .phys = 0x10000844000, .size = PAGE};

    (void)state;
    assert_int_equal(drv_protection_reserve(rig.driver, client, 0x8000, PAGE), 0);
    for (uint64_t aux = 0; aux < 8; aux++) {
        segment.prot = 3 | aux << 3;
        drv_protection_write(rig.driver, client, DRV_PROTECTION_MAP, &segment, 1);
        assert_true(leaf_at(3, 0x8000) ==
                    (0x8000010000844000ull | (aux & 1) << 62 | (aux >> 1 & 1) << 60 | (aux >> 2 & 1) << 59));
        assert_int_equal(pr_leaf_decode(PR_LEAF_SEED, leaf_at(3, 0x8000)).aux, aux << 3);
    }
    drv_protection_write(rig.driver, client, DRV_PROTECTION_UNMAP, &segment, 1);
    assert_true(leaf_at(3, 0x8000) == 0);
    drv_domain_close(rig.driver, client);
}

/* True when the layer stops at the segment. */
static bool stops_at(struct drv_domain *domain, struct pr_segment segment)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (!child) {
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        drv_protection_write(rig.driver, domain, DRV_PROTECTION_MAP, &segment, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void wrong_segments_stop_the_layer(void **state)
{
    static const uint64_t wrong[] = {0, 4, 7, 8, 0x43, 0x83, 1ull << 63 | 3};
    const struct pr_segment good = {.iova = 0x8000, .phys = 0x10000844000, .size = PAGE, .prot = 3};
    struct drv_domain *client = open_domain(1);
    struct pr_segment segment = good;

    (void)state;
#ifdef NDEBUG
    skip();
#endif
    assert_int_equal(drv_protection_reserve(rig.driver, client, 0x8000, PAGE), 0);
    assert_false(stops_at(client, good));
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        segment.prot = wrong[i];
        assert_true(stops_at(client, segment));
    }
    segment = good;
    segment.size = 0x1000;
    assert_true(stops_at(client, segment));
    segment = good;
    segment.reserved = 1;
    assert_true(stops_at(client, segment));
    drv_domain_close(rig.driver, client);
}

/* A table's pages belong to the page-protection layer: no device address leads to one. */
static void no_address_leads_to_a_table(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    struct ane_request_reply reply;
    struct ane_request request;
    uint32_t surface[2] = {drvrig_surface(&rig, 0x20000), drvrig_surface(&rig, 0x20000)};
    uint64_t token = drvrig_program(&rig, client, 1, 0x300, 0x40);
    unsigned tables = 0;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnSuccess);
    for (uint32_t of = 0; of < 4; of++) {
        uint64_t first = (uint64_t)(rig.dart[0][(0x200 + of * 16) / 4] & 0x7fffffffu) << 12;

        for (uint64_t slot = 0; slot < 112; slot++) {
            uint64_t word, table;

            memcpy(&word, drvrig_memory(&rig, first + slot * 8), 8);
            table = word & 0x7fffffffc000ull;
            for (uint32_t stream = 0; word && stream < 4; stream++)
                for (uint64_t iova = 0; iova < 0xe0000000;
                     iova += iova % 0x2000000 >= 0x400000 ? 0x1c00000 : PAGE) {
                    uint64_t page = leaf_at(stream, iova) & 0x7fffffffc000ull;

                    assert_true(page != first && page != table);
                }
            tables += word != 0;
        }
    }
    assert_true(tables >= 4);
    drv_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nine_roles_of_a_load, start, end),
        cmocka_unit_test_setup_teardown(read_only_is_a_configuration, start, end),
        cmocka_unit_test(read_only_in_the_hardware_forms),
        cmocka_unit_test_setup_teardown(aux_bits_come_from_the_segment, start, end),
        cmocka_unit_test_setup_teardown(wrong_segments_stop_the_layer, start, end),
        cmocka_unit_test_setup_teardown(no_address_leads_to_a_table, start, end),
    };

    return cmocka_run_group_tests_name("mapper", tests, NULL, NULL);
}
