/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Booting the controller: it works on both boards with all leaf forms, the trace shows the order, and each
 * way to fail has its own sentence.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "iorig.h"
#include "machine/internal.h"
#include "sabotage.h"

static void it_boots_everywhere(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++)
        for (uint32_t form = ANE_PAGE_TABLE_SEED; form <= ANE_PAGE_TABLE_T6000; form++) {
            struct ane_machine_config config = {
                .size = sizeof(config), .firmware = 1, .chip = chip, .page_table = form, .strict_tlb = 1};
            struct ane_machine *machine;
            struct iorig_accumulator a;

            if (ane_machine_create(&config, &machine))
                fail_msg("%s", ane_machine_error());
            iorig_accumulator_make(&a, ane_machine_service(machine), 2, 33);
            assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
            assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
            assert_true(iorig_accumulator_value(&a) == 2);
            assert_int_equal(ane_machine_counter(machine, "dart.missing_invalidates"), 0);
            assert_int_equal(ane_machine_counter(machine, "bus.unanswered"), 0);
            iorig_accumulator_release(&a);
            ane_machine_destroy(machine);
        }
}

static const struct {
    enum sabotage_kind kind;
    const char *word;
} failures[] = {
    {SABOTAGE_BOOT_CHIP_REVISION, "chip revision"},
    {SABOTAGE_BOOT_PROTOCOL_VERSION, "protocol version"},
    {SABOTAGE_BOOT_RING_VERSION, "ring-buffer version"},
    {SABOTAGE_BOOT_PAGE_SIZE, "MMU invalid page size"},
    {SABOTAGE_BOOT_SMALL_HEAP, "twice the framework reservation"},
    {SABOTAGE_BOOT_MAGIC, "magic"},
    {SABOTAGE_BOOT_NO_SECOND_WAKE, "Second wake"},
    {SABOTAGE_BOOT_NO_FIRST_WAKE, "First wake"},
};

static char log_text[1 << 20];
static char refusal[PR_TRACE_TEXT_MAX + 1]; /* the last sentence of the firmware */

static void keep(void *context, const char *line, size_t length)
{
    (void)context;
    if (strlen(log_text) + length < sizeof(log_text))
        strcat(log_text, line);
}

static void keep_refusal(void *context, const void *bytes, size_t length)
{
    struct pr_trace_record record;
    const struct pr_trace_value *text = &pr_trace_at(&record, FW_REFUSED, text);
    size_t taken;

    (void)context;
    if (pr_trace_decode(bytes, length, &record, &taken, NULL) && record.event == PR_TRACE_FW_REFUSED)
        snprintf(refusal, sizeof(refusal), "%.*s", (int)text->length, text->text);
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned count = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        count++;
    return count;
}

static void each_failure_has_its_own_sentence(void **state)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .trace = 1, .trace_fn = keep, .trace_record_fn = keep_refusal};

    (void)state;
    for (unsigned i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        struct ane_machine *machine;
        struct sabotage s;

        log_text[0] = refusal[0] = '\0';
        assert_true(sabotage_create(&s, failures[i].kind, &config, &machine) < 0);
        assert_true(s.hits > 0);
        print_message("# %s: %s\n", sabotage_text(failures[i].kind), ane_machine_error());
        assert_non_null(strstr(ane_machine_error(), failures[i].word));
        assert_null(machine);
        if (failures[i].kind == SABOTAGE_BOOT_PAGE_SIZE)
            assert_string_equal(refusal, "MMU invalid page size: 1000");
        if (failures[i].kind == SABOTAGE_BOOT_NO_SECOND_WAKE)
            assert_int_equal(count_of(log_text, "cpu control=0x10\n"),
                             DRV_BOOT_TRIES); /* a bounded power-cycle loop */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_boots_everywhere),
        cmocka_unit_test(each_failure_has_its_own_sentence),
    };

    return cmocka_run_group_tests_name("boot", tests, NULL, NULL);
}
