/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden traces, read by hand: boot, one dispatch, one command the firmware rejects. A change of the traffic
 * between host, controller and engine shows here first. With ANEMONE_GOLDEN=write the files are written anew:
 * read them before they are committed.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "iorig.h"
#include "protocol/channel.h"
#include "protocol/message.h"

static char text[1 << 20];

static void keep(void *context, const char *line, size_t length)
{
    size_t used = strlen(text);

    (void)context;
    if (used + length < sizeof(text))
        memcpy(text + used, line, length + 1);
}

static struct ane_machine *make(void)
{
    text[0] = '\0';
    return iorig_machine((struct ane_machine_config){.trace = 1, .trace_fn = keep});
}

static void golden_path(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/tests/golden/%s.trace", TEST_SOURCE_ROOT, name);
}

/* Points at the first line that differs. */
static void compare(const char *name)
{
    const char *mode = getenv("ANEMONE_GOLDEN");
    char path[512];
    size_t size;
    uint8_t *golden;
    unsigned line = 1;

    golden_path(path, sizeof(path), name);
    if (mode && !strcmp(mode, "write")) {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs(text, file);
        fclose(file);
    }
    golden = test_file_read(path, &size);
    if (!golden)
        fail_msg("%s cannot be read", path);
    for (size_t i = 0; i < size || text[i]; i++) {
        if (i >= size || !text[i] || (char)golden[i] != text[i])
            fail_msg("%s differs from line %u on; the trace has: %.120s", path, line, text + i);
        line += text[i] == '\n';
    }
    free(golden);
}

static void boot(void **state)
{
    struct ane_machine *machine = make();

    (void)state;
    compare("boot");
    ane_machine_destroy(machine);
}

static void dispatch(void **state)
{
    struct ane_machine *machine = make();
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 1, 32);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    text[0] = '\0';
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    compare("dispatch");
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/* A procedure call that names a program nobody loaded, put into the ring behind the driver's back. */
static void rejected(void **state)
{
    struct ane_machine *machine = make();
    const struct pr_channel_record *record;
    struct iorig_accumulator a;
    struct pr_slot *slot;
    struct pr_call *call;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 1, 32);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    record = inside_channel(machine);
    slot = inside_ring(machine);
    call = inside_memory(machine, slot[0].address & ~PR_SLOT_OWNER, PR_CALL_BYTES(3));
    call->program_id = 77;
    text[0] = '\0';
    slot[1] = slot[0];
    slot[1].address &= ~PR_SLOT_OWNER;
    ane_machine_write32(machine, machine->board->container + PR_CTRL_DOORBELL, 1u << record->bit);
    assert_int_equal(ane_machine_run(machine, 1000000000), 0);
    assert_true(slot[1].address & PR_SLOT_OWNER);
    assert_int_equal(call->head.status, PR_STATUS_NO_PROGRAM);
    compare("rejected");
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boot),
        cmocka_unit_test(dispatch),
        cmocka_unit_test(rejected),
    };

    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
