/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace records: text and bytes of known records, every refusal of the reader, and docs/trace.md against the
 * table.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/machine.h>

#include "protocol/trace.h"

static struct pr_trace_value text_of(const char *text)
{
    return (struct pr_trace_value){.text = text, .length = strlen(text)};
}

static struct pr_trace_record start_record(void)
{
    struct pr_trace_record record = {.ns = 602356, .event = PR_TRACE_ENG_START};

    pr_trace_at(&record, ENG_START, queue).number = 5;
    pr_trace_at(&record, ENG_START, descriptor).number = 1;
    pr_trace_at(&record, ENG_START, address).number = 0xa0000000;
    pr_trace_at(&record, ENG_START, unit) = text_of("pe");
    pr_trace_at(&record, ENG_START, cost).number = 56;
    return record;
}

/* start_record by hand, from the tables of docs/trace.md. */
static const uint8_t start_bytes[] = {
    0xf4, 0x30, 0x09, 0,    0, 0, 0, 0, /* 602356 ns */
    14,   0,    36,   0,                /* event, bytes */
    5,    0,    0,    0,    0, 0, 0, 0, /* queue */
    1,    0,    0,    0,    0, 0, 0, 0, /* descriptor */
    0,    0,    0,    0xa0, 0, 0, 0, 0, /* address */
    2,    0,    'p',  'e',              /* unit */
    56,   0,    0,    0,    0, 0, 0, 0, /* cost */
};

static void a_record_as_text_and_as_bytes(void **state)
{
    struct pr_trace_record record = start_record(), back;
    uint8_t bytes[PR_TRACE_RECORD_MAX];
    char line[PR_TRACE_LINE_MAX];
    size_t taken, length = pr_trace_print(&record, line);

    (void)state;
    assert_int_equal(length, strlen(line));
    assert_string_equal(line, "602356 eng start queue=5 descriptor=1 address=0xa0000000 unit=pe cost=56\n");
    assert_int_equal(pr_trace_encode(&record, bytes), sizeof(start_bytes));
    assert_memory_equal(bytes, start_bytes, sizeof(start_bytes));
    assert_true(pr_trace_decode(start_bytes, sizeof(start_bytes), &back, &taken, NULL));
    assert_int_equal(taken, sizeof(start_bytes));
    assert_int_equal(back.ns, record.ns);
    assert_true(pr_trace_text_is(&pr_trace_at(&back, ENG_START, unit), "pe"));
    assert_false(pr_trace_text_is(&pr_trace_at(&back, ENG_START, unit), "p"));
    assert_int_equal(pr_trace_at(&back, ENG_START, cost).number, 56);
}

static void every_kind_is_printed_its_way(void **state)
{
    struct pr_trace_record fault = {.ns = 7, .event = PR_TRACE_FW_FAULT};
    struct pr_trace_record edge = {.ns = 8, .event = PR_TRACE_LINE_EDGE};
    struct pr_trace_record halt = {.ns = 9, .event = PR_TRACE_FW_HALT};
    char line[PR_TRACE_LINE_MAX];

    (void)state;
    pr_trace_at(&fault, FW_FAULT, class).number = 3;
    pr_trace_at(&fault, FW_FAULT, task) = text_of("idle");
    pr_trace_at(&fault, FW_FAULT, text) = text_of("two words");
    pr_trace_print(&fault, line);
    assert_string_equal(line, "7 fw fault class=3 task=\"idle\" text=\"two words\"\n");
    pr_trace_at(&edge, LINE_EDGE, edge) = text_of("rise");
    pr_trace_at(&edge, LINE_EDGE, line).number = 2;
    pr_trace_print(&edge, line);
    assert_string_equal(line, "8 line rise line=2\n");
    pr_trace_print(&halt, line);
    assert_string_equal(line, "9 fw halt\n");
}

/* Every event of the driver with made-up values: field i is 10 + i, or the text "t<i>". */
static const struct {
    enum pr_trace_event_id event;
    const char *sentence;
} driver_sentence[] = {
    {PR_TRACE_DRV_REFUSED, "refused 0xa: t1"},
    {PR_TRACE_DRV_APERTURE, "aperture 10 t1 0xc 0xd"},
    {PR_TRACE_DRV_BOOT_COMMAND, "boot command 0xa t1"},
    {PR_TRACE_DRV_BOOT_FAILED, "boot 10 of 11 failed: t2"},
    {PR_TRACE_DRV_RESOURCES, "resources: programs=10 processes=11 procedures=12 engines=13"},
    {PR_TRACE_DRV_READY, "the controller is ready"},
    {PR_TRACE_DRV_MAP, "map domain=10 usage=11 prot=12 iova=0xd physical=0xe bytes=0xf extents=16"},
    {PR_TRACE_DRV_UNMAP, "unmap domain=10 iova=0xb bytes=0xc"},
    {PR_TRACE_DRV_INVALIDATE_STUCK, "dart 10: the invalidation of streams 0xb never ended"},
    {PR_TRACE_DRV_DOMAIN_LENT, "domain 10 lent to client 11, stream 12"},
    {PR_TRACE_DRV_DOMAIN_RETURNED, "domain 10 taken back from client 11"},
    {PR_TRACE_DRV_CLIENT_KEPT, "client 10 is kept: the firmware still has a request of it"},
    {PR_TRACE_DRV_PROGRAM_LOADED, "program 0xa \"t1\" loaded as 12: 13 in, 14 out, 15 descriptors"},
    {PR_TRACE_DRV_PROGRAM_KEPT, "program 0xa is kept until the firmware has unloaded it"},
    {PR_TRACE_DRV_COMMAND_LATE, "a command that was given up has come back: slot 10 of IO"},
    {PR_TRACE_DRV_EVENT_UNCLAIMED, "event without a request: cookie 0xa program 11 process 12"},
    {PR_TRACE_DRV_EVENT_UNREADABLE, "IO_T2H: 10 bytes at 0xb are not an event"},
    {PR_TRACE_DRV_NOTIFICATION, "notification 0xa t1"},
    {PR_TRACE_DRV_FIRMWARE_LINE, "firmware: t0"},
    {PR_TRACE_DRV_TERMINAL_UNREADABLE, "TERMINAL: 10 bytes at 0xb are outside the firmware's memory"},
    {PR_TRACE_DRV_SHARED_ALLOCATED, "SHAREDMALLOC of 10 bytes: 0xb"},
    {PR_TRACE_DRV_SHARED_REFUSED, "SHAREDMALLOC of 10 bytes refused"},
    {PR_TRACE_DRV_SHARED_UNKNOWN, "SHAREDMALLOC: nothing to free at 0xa"},
    {PR_TRACE_DRV_FAULT, "fault 10: t1"},
    {PR_TRACE_DRV_FAULT_MAPPING,
     "allocation client=10 domain=11 usage=12 iova=0xd bytes=0xe surface=15 uses=16"},
    {PR_TRACE_DRV_FAULT_BLOCK, "allocation owner=t0 number=0xb usage=12 iova=0xd bytes=0xe"},
    {PR_TRACE_DRV_FAULT_PARKED, "parked for 10 ms"},
    {PR_TRACE_DRV_FAULT_RECOVERED, "recovered from fault 10"},
    {PR_TRACE_DRV_FAULT_BENIGN, "benign: the engine's status is 0xa, powered and idle"},
    {PR_TRACE_DRV_RECLAIM, "reclaim domain=10 surface=11 iova=0xc bytes=0xd"},
    {PR_TRACE_DRV_MESSAGE, "client 10: the message of request 11 is sent, result 0xc"},
    {PR_TRACE_DRV_PARKED, "client 10: request 0xb is parked, the firmware has no room"},
    {PR_TRACE_DRV_FIRMWARE, "firmware image t0 at 0xb, reset vector 0xc"},
    {PR_TRACE_DRV_ENDPOINT, "endpoint 0xa t1: t2"},
    {PR_TRACE_DRV_DUMP, "dump of 10 sections of 11: t2"},
    {PR_TRACE_DRV_RECOVERY, "recovery begins: t0"},
    {PR_TRACE_DRV_CANCELLED, "cancelled: 10 commands and 11 requests"},
    {PR_TRACE_DRV_RECOVERED, "the channels are ready again after 10 recoveries"},
    {PR_TRACE_DRV_RECOVERY_FAILED, "recovery failed after 10 boots: t1"},
    {PR_TRACE_DRV_ASLEEP, "the device sleeps: 10 processes and 11 programs are parked"},
    {PR_TRACE_DRV_BUFFER_UNKNOWN, "BUF_T2H: 10 bytes at 0xb with tag 12 are unknown"},
    {PR_TRACE_DRV_CHAIN, "chain 0xa of program 0xb: procedure 12, 13 sets, 14 links"},
    {PR_TRACE_DRV_CHAIN_EVENT, "chain 0xa: execution 11 has written set 12, status 13"},
    {PR_TRACE_DRV_CHAIN_ENDED, "chain 0xa has ended: t1"},
    {PR_TRACE_DRV_CHAIN_UNKNOWN, "event of a cache request that no chain has: handler 0xa, execution 11"},
    {PR_TRACE_DRV_SHARED_EVENT, "client 10: shared event 11 in row 12 is t3"},
    {PR_TRACE_DRV_SIGNAL, "client 10 raises shared event 11 to 12"},
    {PR_TRACE_DRV_HELD, "client 10: the firmware has request 0xb, which waits for events"},
    {PR_TRACE_DRV_HELD_ENDS, "client 10: the firmware is to end request 0xb, which waits for events"},
    {PR_TRACE_DRV_SECURE, "secure mode: t0, 11 calls wait, 12 triggers dropped"},
    {PR_TRACE_DRV_SIGNPOST, "signpost t0 at 11: 0xc, 0xd"},
    {PR_TRACE_DRV_CHANNEL_ERROR, "channel 10: t1 address=0xc length=13"},
    {PR_TRACE_DRV_LOAD, "the load is t0: score 11, 12 of 13 ns"},
    {PR_TRACE_DRV_SYNC_ERROR,
     "queue 10, network 11, program 12: the transfer failed: t3 error1=0xe error2=0xf "
     "error3=0x10"},
    {PR_TRACE_DRV_DIAGNOSTIC, "diagnostic: t0 count=11 value=0xc"},
    {PR_TRACE_DRV_PREFETCH, "data set 10, program 11: 12 bytes t3"},
    {PR_TRACE_DRV_RPC, "back channel 0xa: t1 with 12 bytes"},
    {PR_TRACE_DRV_RPC_ANSWER, "back channel 0xa answered: t1 value=0xc"},
    {PR_TRACE_DRV_DEBUG_ITEM, "client 10: debug item 11 t2: t3"},
    {PR_TRACE_DRV_UNWIRED, "program 0xa unwired: 11 bytes to host memory"},
    {PR_TRACE_DRV_REWIRED, "program 0xa wired again: 11 bytes"},
};

static struct pr_trace_record made_up_record(unsigned number)
{
    static const char *const word[PR_TRACE_FIELDS_MAX] = {"t0", "t1", "t2", "t3", "t4", "t5", "t6"};
    const struct pr_trace_event *event = pr_trace_event(number);
    struct pr_trace_record record = {.event = (uint16_t)number};

    for (unsigned i = 0; i < event->fields; i++)
        if (pr_trace_kind_is_text(event->field[i].kind))
            record.value[i] = text_of(word[i]);
        else
            record.value[i].number = 10 + i;
    return record;
}

static void the_driver_speaks_in_sentences(void **state)
{
    const unsigned count = sizeof(driver_sentence) / sizeof(driver_sentence[0]);
    char line[PR_TRACE_LINE_MAX];
    struct pr_trace_record record;
    struct pr_text text;
    unsigned events = 0;

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        pr_text_init(&text, line, sizeof(line));
        record = made_up_record(driver_sentence[i].event);
        pr_trace_print_event(&record, &text);
        assert_string_equal(line, driver_sentence[i].sentence);
    }
    for (unsigned i = 0; i < PR_TRACE_EVENTS_END; i++)
        events += pr_trace_event(i) && pr_trace_event(i)->layer == PR_TRACE_LAYER_DRIVER;
    assert_int_equal(events, count);
}

/* A brace that names no field would be printed: no event has one. */
static void every_brace_names_a_field(void **state)
{
    char line[PR_TRACE_LINE_MAX];

    (void)state;
    for (unsigned i = 0; i < PR_TRACE_EVENTS_END; i++) {
        struct pr_trace_record record;

        if (!pr_trace_event(i))
            continue;
        record = made_up_record(i);
        pr_trace_print(&record, line);
        if (strpbrk(line, "{}"))
            fail_msg("event %s prints %s", pr_trace_event(i)->id, line);
    }
}

static void long_text_is_cut(void **state)
{
    struct pr_trace_record record = {.event = PR_TRACE_FW_REFUSED}, back;
    char text[PR_TRACE_TEXT_MAX + 100], line[PR_TRACE_LINE_MAX];
    uint8_t bytes[PR_TRACE_RECORD_MAX];
    size_t taken;

    (void)state;
    memset(text, 'x', sizeof(text));
    record.value[0] = (struct pr_trace_value){.text = text, .length = sizeof(text)};
    assert_int_equal(pr_trace_print(&record, line), PR_TRACE_LINE_MAX - 1);
    assert_int_equal(line[PR_TRACE_LINE_MAX - 2], '\n');
    assert_int_equal(pr_trace_encode(&record, bytes), 12 + 2 + 512);
    assert_true(pr_trace_decode(bytes, 12 + 2 + 512, &back, &taken, NULL));
    assert_int_equal(back.value[0].length, 512);
}

/* The bytes of start_record with one changed, in a file, and what the reader says. */
static void refuse(size_t at, uint8_t byte, size_t size, enum pr_problem_kind kind, const char *sentence)
{
    uint8_t bytes[sizeof(start_bytes)];
    struct pr_trace_record record;
    struct pr_problem problem;
    size_t taken;

    memcpy(bytes, start_bytes, sizeof(bytes));
    bytes[at] = byte;
    assert_false(pr_trace_decode(bytes, size, &record, &taken, &problem));
    assert_int_equal(problem.kind, kind);
    if (!strstr(problem.text, sentence))
        fail_msg("\"%s\" does not say \"%s\"", problem.text, sentence);
}

static void records_that_are_not_whole_are_refused(void **state)
{
    const size_t size = sizeof(start_bytes);

    (void)state;
    refuse(0, 0xf4, 11, PR_PROBLEM_TRUNCATED, "only 11 are left");
    refuse(0, 0xf4, size - 1, PR_PROBLEM_TRUNCATED, "have 36 bytes; only 35 are left");
    refuse(8, 0, size, PR_PROBLEM_UNSUPPORTED, "event 0 is unknown");
    refuse(8, PR_TRACE_EVENTS_END, size, PR_PROBLEM_UNSUPPORTED, "is unknown; the last one known here is");
    refuse(10, 35, size, PR_PROBLEM_LIMIT, "Field cost of trace event ENG_START");
    refuse(10, 25, size, PR_PROBLEM_LIMIT, "Field unit of trace event ENG_START");
    refuse(36, 1, size, PR_PROBLEM_OVER_DECLARED, "its fields end at 47");
    refuse(36, 3, size, PR_PROBLEM_LIMIT, "Field cost");
    refuse(37, 0xff, size, PR_PROBLEM_LIMIT, "Field unit");
    refuse(38, 0, size, PR_PROBLEM_LIMIT, "with a NUL");
}

static void a_file_begins_with_its_header(void **state)
{
    static const uint8_t header[] = {'A', 'N', 'E', 'T', 'R', 'A', 'C', 'E', 2, 0, 0, 0};
    uint8_t file[sizeof(header) + sizeof(start_bytes)], written[PR_TRACE_HEADER_BYTES];
    struct pr_trace_reader reader;
    struct pr_trace_record record;
    struct pr_problem problem;
    size_t taken;

    (void)state;
    pr_trace_write_header(written);
    assert_int_equal(sizeof(written), sizeof(header));
    assert_memory_equal(written, header, sizeof(header));
    memcpy(file, header, sizeof(header));
    memcpy(file + sizeof(header), start_bytes, sizeof(start_bytes));
    assert_true(pr_trace_begin(&reader, file, sizeof(file), &problem));
    assert_true(pr_trace_next(&reader, &record, &problem));
    assert_int_equal(record.event, PR_TRACE_ENG_START);
    assert_false(pr_trace_next(&reader, &record, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_NONE);
    assert_false(pr_trace_begin(&reader, file, sizeof(header) - 1, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_FORMAT);
    assert_false(pr_trace_decode(header, sizeof(header), &record, &taken, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_FORMAT);
    file[8] = 3;
    assert_false(pr_trace_begin(&reader, file, sizeof(file), &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_UNSUPPORTED);
    assert_non_null(strstr(problem.text, "version 3"));
    file[7] = 'X';
    assert_false(pr_trace_begin(&reader, file, sizeof(file), &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_FORMAT);
}

/* Lines and records of one machine, as its two functions take them. */
struct taken {
    char lines[1 << 16];
    uint8_t bytes[1 << 18];
    size_t length, size;
};

static void take_line(void *context, const char *line, size_t length)
{
    struct taken *taken = context;

    assert_true(taken->length + length < sizeof(taken->lines));
    memcpy(taken->lines + taken->length, line, length + 1);
    taken->length += length;
}

static void take_bytes(void *context, const void *bytes, size_t length)
{
    struct taken *taken = context;

    assert_true(taken->size + length <= sizeof(taken->bytes));
    memcpy(taken->bytes + taken->size, bytes, length);
    taken->size += length;
}

static void the_bytes_of_a_boot_print_its_lines(void **state)
{
    static struct taken taken;
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .trace = 1,
                                        .trace_fn = take_line,
                                        .trace_record_fn = take_bytes,
                                        .trace_context = &taken};
    struct ane_machine *machine;
    struct pr_trace_reader reader;
    struct pr_trace_record record;
    struct pr_problem problem;
    char line[PR_TRACE_LINE_MAX];
    size_t at = 0;
    unsigned errors = 0, logged = 0;

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    assert_int_equal(ane_machine_read32(machine, 0x1000), 0); /* no block is there */
    ane_machine_destroy(machine);
    assert_true(pr_trace_begin(&reader, taken.bytes, taken.size, &problem));
    while (pr_trace_next(&reader, &record, &problem)) {
        size_t length = pr_trace_print(&record, line);

        assert_true(at + length <= taken.length);
        assert_memory_equal(taken.lines + at, line, length);
        at += length;
        errors += record.event == PR_TRACE_BUS_UNANSWERED_READ &&
                  pr_trace_event(record.event)->class == PR_TRACE_CLASS_GUEST_ERROR;
        /* The server logs that it does not know a property which the host sets at boot. */
        logged += record.event == PR_TRACE_FW_LOG &&
                  pr_trace_text_is(&pr_trace_at(&record, FW_LOG, level), "info") &&
                  pr_trace_text_is(&pr_trace_at(&record, FW_LOG, origin), "server");
    }
    assert_int_equal(problem.kind, PR_PROBLEM_NONE);
    assert_int_equal(at, taken.length);
    assert_int_equal(errors, 1);
    assert_true(logged > 0);
}

/* The row of docs/trace.md for an event. */
static void put_row(struct pr_text *text, unsigned number, const struct pr_trace_event *event)
{
    pr_text_printf(text, "| %u | %s | %s |%s%s | %s |", number, event->id, pr_trace_layer_name(event->layer),
                   event->name[0] ? " " : "", event->name, pr_trace_class_name(event->class));
    for (unsigned i = 0; i < event->fields; i++)
        pr_text_printf(text, "%s %s %s", i ? "," : "", event->field[i].name,
                       pr_trace_kind_name(event->field[i].kind));
    pr_text_put(text, " |\n");
}

static void the_page_has_the_table(void **state)
{
    static char rows[1 << 14];
    struct pr_text text;
    size_t size;
    char *page = (char *)test_file_read(TEST_SOURCE_ROOT "/docs/trace.md", &size);

    (void)state;
    assert_non_null(page);
    page = realloc(page, size + 1);
    assert_non_null(page);
    page[size] = '\0';
    pr_text_init(&text, rows, sizeof(rows));
    pr_text_put(&text, "| layer | what |\n|---|---|\n");
    for (unsigned i = 0; i < PR_TRACE_LAYERS; i++)
        pr_text_printf(&text, "| %s | %s |\n", pr_trace_layer_name((enum pr_trace_layer)i),
                       pr_trace_layer_meaning((enum pr_trace_layer)i));
    pr_text_put(&text, "\n");
    assert_non_null(strstr(page, rows));
    pr_text_init(&text, rows, sizeof(rows));
    pr_text_put(&text, "| number | event | layer | name | class | fields |\n|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < PR_TRACE_EVENTS_END; i++)
        if (pr_trace_event(i))
            put_row(&text, i, pr_trace_event(i));
    assert_false(text.full);
    /* The rows end the page, so that it has none that the table has not. */
    assert_true(size > text.length);
    assert_string_equal(page + size - text.length, rows);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_as_text_and_as_bytes),
        cmocka_unit_test(every_kind_is_printed_its_way),
        cmocka_unit_test(the_driver_speaks_in_sentences),
        cmocka_unit_test(every_brace_names_a_field),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(records_that_are_not_whole_are_refused),
        cmocka_unit_test(a_file_begins_with_its_header),
        cmocka_unit_test(the_bytes_of_a_boot_print_its_lines),
        cmocka_unit_test(the_page_has_the_table),
    };

    return cmocka_run_group_tests_name("trace_events", tests, NULL, NULL);
}
