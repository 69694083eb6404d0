/* SPDX-License-Identifier: Apache-2.0 */
/* The task manager's register tables, against the offsets public drivers use. */
#include "support.h"

#include <string.h>

#include "protocol/tm_regs.h"

static void manager(void **state)
{
    static const struct {
        uint32_t offset;
        const char *name;
    } known[] = {{0x00, "REQ_ADDR"},   {0x04, "REQ_INFO"},  {0x08, "REQ_PUSH"},   {0x0c, "TQ_EN"},
                 {0x14, "IRQ0_COUNT"}, {0x24, "IRQ0_UNK2"}, {0x28, "IRQ1_COUNT"}, {0x2c, "IRQ1_INFO"},
                 {0x34, "IRQ1_TIME"},  {0x38, "IRQ1_UNK2"}, {0x44, "COMMITTED"},  {0x54, "STATUS"},
                 {0x58, "ERROR1"},     {0x60, "ERROR3"},    {0x68, "IRQ_EN1"},    {0x6c, "IRQ_ACK"},
                 {0x70, "IRQ_EN2"}};
    unsigned named = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(pr_tm_reg_name(known[i].offset), known[i].name);
    for (uint32_t offset = 0; offset < 0x1000; offset++)
        named += pr_tm_reg_name(offset) != NULL;
    assert_int_equal(named, 23);
    assert_null(pr_tm_reg_name(0x74));
    assert_null(pr_tm_reg_name(0x01));
    assert_null(pr_tm_reg_name(UINT32_MAX));
}

static void queues(void **state)
{
    static const struct {
        uint32_t offset;
        const char *name;
    } known[] = {{0x000, "STATUS"}, {0x010, "PRTY"},  {0x014, "VACANT"}, {0x020, "BAR1"},  {0x09c, "BAR1"},
                 {0x0a0, "NID1"},   {0x0a4, "SIZE2"}, {0x0a8, "ADDR2"},  {0x0ac, "BAR2"},  {0x128, "BAR2"},
                 {0x12c, "NID2"},   {0x130, "SIZE1"}, {0x134, "ADDR1"},  {0x138, "STREAM"}};
    unsigned named = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(pr_tq_reg_name(known[i].offset), known[i].name);
    for (uint32_t offset = 0; offset < 0x1000; offset++)
        named += pr_tq_reg_name(offset) != NULL;
    assert_int_equal(named, 12 + 2 * 32);
    assert_null(pr_tq_reg_name(0x13c));
    assert_null(pr_tq_reg_name(0x022));
    assert_null(pr_tq_reg_name(UINT32_MAX));
}

/* The words a public driver writes for one descriptor of 0x274 bytes on queue 4. */
static void driver_words(void **state)
{
    static const uint8_t priorities[] = {1, 2, 3, 4, 5, 6, 0x1e, 0x1f};

    (void)state;
    assert_memory_equal(pr_tq_priority, priorities, sizeof(priorities));
    assert_int_equal((0x274 / 4 - 1) << PR_TM_INFO_SIZE_LO | 1 << PR_TM_INFO_COUNT_LO, 0x9c0001);
    assert_int_equal(pr_bits_mask(PR_TM_INFO_SIZE_LO, PR_TM_INFO_SIZE_WIDTH), 0x1ff0000);
    assert_int_equal(pr_tq_priority[4] | 4u << PR_TM_PUSH_QUEUE_LO, 0x405);
    assert_int_equal(0x40u << PR_TQ_NID_LO | PR_TQ_NID_VALID, 0x4001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manager),
        cmocka_unit_test(queues),
        cmocka_unit_test(driver_words),
    };

    return cmocka_run_group_tests_name("tm_regs", tests, NULL, NULL);
}
