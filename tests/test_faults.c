/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translation faults of a whole machine: each cause is provoked behind the driver's back, at the push of a
 * request, and must be read, attributed and survived: the right registers, the right descriptor, client and
 * tensor, and the next dispatch of everyone is right.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "iorig.h"
#include "protocol/tm_regs.h"
#include "sabotage.h"

#define FLAG 0x80000000u
#define PAGE 0x4000u
/* Bits of ERROR, from the published driver's layout. */
enum { NO_TTBR = 1, NO_PTE = 4, NO_WRITE = 8, PTE_READ = 64, WRITE = 1024 };
/* Buffer registers of the accumulator's image; x is its second source. */
enum { BAR_STATE_OUT = 4, BAR_X = 5, BAR_STATE_IN = 6 };
/* Four pages a tensor. */
enum { CHANNELS = 4, WIDTH = 8192 };

enum breach_kind { MISSING_PAGE, READ_ONLY, TABLE_OUTSIDE, STREAM_OFF, LEFT_STALE };

/* What is broken at the next push of a stream, and how it was before. */
struct breach {
    enum breach_kind kind;
    struct ane_machine *machine;
    uint32_t stream; /* 0: of whoever comes first */
    unsigned bar;
    uint32_t offset;
    bool struck;
    uint32_t address, saved; /* where; the register before */
    uint64_t *leaf, word;    /* the leaf and its word before */
    struct soc_bus_tap tap;
};

struct collected {
    bool client, program, firmware, parked, recovered, benign;
};

static void collect(void *context, const char *line, size_t length)
{
    struct collected *c = context;

    (void)length;
    c->client = c->client || strstr(line, "allocation client=1 domain=1 usage=1 iova=0x4000 bytes=0x10000");
    c->program = c->program || strstr(line, "allocation owner=program number=0x100000002 usage=9");
    c->firmware = c->firmware || strstr(line, "allocation owner=firmware number=0x0 usage=4121");
    c->parked = c->parked || strstr(line, "parked for 250 ms");
    c->recovered = c->recovered || strstr(line, "recovered from fault");
    c->benign = c->benign || strstr(line, "benign: the engine's status is 0xa0");
}

static struct ane_machine *make(uint32_t form, bool panics, struct collected *collected)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .clock = ANE_CLOCK_CLOSED,
                                        .page_table = form,
                                        .strict_tlb = 1,
                                        .panic_on_fault = panics,
                                        .trace = collected != NULL,
                                        .trace_fn = collect,
                                        .trace_context = collected};
    struct ane_machine *machine;

    if (ane_machine_create(&config, &machine))
        fail_msg("%s", ane_machine_error());
    return machine;
}

static uint64_t *leaf_of(struct ane_machine *m, uint32_t stream, uint32_t address)
{
    uint32_t ttbr = dart_read32(m->dart, DART_PORT_SOURCE, 0x200 + 16 * stream);
    uint64_t *first = soc_memory_at(m->memory, (uint64_t)(ttbr & ~FLAG) << 12, PAGE);
    struct pr_leaf leaf = pr_leaf_decode((enum pr_leaf_form)m->leaf_form, first[address >> 25]);
    uint64_t *second = soc_memory_at(m->memory, leaf.frame, PAGE);

    return &second[address >> 14 & 2047];
}

static void invalidate(struct ane_machine *m, uint32_t stream)
{
    for (unsigned i = 0; i < 3; i++)
        dart_write32(m->dart, (enum dart_port)i, 0x1000, 1u << stream);
}

static void strike(struct breach *b)
{
    struct ane_machine *m = b->machine;

    switch (b->kind) {
    case TABLE_OUTSIDE:
        b->saved = dart_read32(m->dart, DART_PORT_SOURCE, 0x200 + 16 * b->stream);
        dart_write32(m->dart, DART_PORT_SOURCE, 0x200 + 16 * b->stream, FLAG | 0x7fffff00u);
        return;
    case STREAM_OFF:
        b->saved = dart_read32(m->dart, DART_PORT_TASK, 0xfc);
        dart_write32(m->dart, DART_PORT_TASK, 0xfc, b->saved & ~(1u << b->stream));
        return;
    default: break;
    }
    b->leaf = leaf_of(m, b->stream, b->address);
    b->word = *b->leaf;
    if (b->kind == MISSING_PAGE)
        *b->leaf = 0;
    else
        *b->leaf |= 1u << 2; /* t6000: no write */
    invalidate(m, b->stream);
    if (b->kind == LEFT_STALE) {
        struct dart_range range;

        assert_int_equal(
            dart_range_get(m->dart, DART_PORT_RESULT, b->stream, b->address, 4, DART_READ, &range), 0);
        *b->leaf = b->word; /* the table allows it again, and nobody says so to the DARTs */
    }
}

static bool see(void *context, struct soc_access *access)
{
    struct breach *b = context;
    struct ane_machine *m = b->machine;
    uint64_t queue = m->board->container + PR_ENGINE_TQ;
    uint32_t stream;

    if (!access->write || b->struck || access->address != m->board->container + PR_ENGINE_TM + PR_TM_REQ_PUSH)
        return true;
    queue += pr_bits_get(access->value, PR_TM_PUSH_QUEUE_LO, PR_TM_PUSH_QUEUE_WIDTH) * PR_TQ_STRIDE;
    stream = soc_bus_read32(m->bus, SOC_MASTER_HOST, queue + PR_TQ_STREAM);
    if (b->stream && b->stream != stream)
        return true;
    b->struck = true;
    b->stream = stream;
    b->address = soc_bus_read32(m->bus, SOC_MASTER_HOST, queue + PR_TQ_BAR1 + 4 * b->bar) + b->offset;
    strike(b);
    return true;
}

static void breach_begin(struct breach *b, struct ane_machine *m, enum breach_kind kind, unsigned bar,
                         uint32_t offset)
{
    *b = (struct breach){
        .kind = kind, .machine = m, .bar = bar, .offset = offset, .tap = {.see = see, .context = b}};
    soc_bus_tap_add(m->bus, &b->tap);
}

/* As it was before. */
static void breach_end(struct breach *b)
{
    soc_bus_tap_remove(b->machine->bus, &b->tap);
    assert_true(b->struck);
    switch (b->kind) {
    case TABLE_OUTSIDE:
        dart_write32(b->machine->dart, DART_PORT_SOURCE, 0x200 + 16 * b->stream, b->saved);
        break;
    case STREAM_OFF: dart_write32(b->machine->dart, DART_PORT_TASK, 0xfc, b->saved); break;
    default: *b->leaf = b->word; break;
    }
    invalidate(b->machine, b->stream);
}

static struct ane_machine_fault last_fault(struct ane_machine *m)
{
    struct ane_machine_fault fault = {.size = sizeof(fault)};

    if (ane_machine_fault(m, &fault))
        fail_msg("%s", ane_machine_error());
    return fault;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

static const struct {
    enum breach_kind kind;
    unsigned bar;
    uint32_t offset;
    uint32_t dart, code;
    const char *transfer, *tensor, *type, *why;
} cases[] = {
    {MISSING_PAGE, BAR_X, PAGE, 1, NO_PTE, "source 2", "input 0 \"x\"", "translation fault", "no page"},
    {READ_ONLY, BAR_STATE_OUT, 2 * PAGE, 2, WRITE | NO_WRITE, "destination", "output 0 \"state_out\"",
     "protection fault", "page is not writable"},
    {LEFT_STALE, BAR_STATE_OUT, 3 * PAGE, 2, WRITE | NO_WRITE, "destination", "output 0 \"state_out\"",
     "protection fault", "page is not writable"},
    {TABLE_OUTSIDE, BAR_STATE_IN, 0, 1, PTE_READ, "source 1", "input 1 \"state_in\"", "page-table fault",
     "page table is outside memory"},
    {STREAM_OFF, 0, 0, 0, NO_TTBR, "descriptor fetch", "the program's text", "stream fault",
     "no translation table base"},
};

static void each_cause_is_read_attributed_and_survived(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ane_machine *machine = make(ANE_PAGE_TABLE_T6000, false, NULL);
        io_service_t service = ane_machine_service(machine);
        struct ane_machine_fault fault = {.size = sizeof(fault)};
        struct iorig_accumulator a, b;
        struct breach breach;
        char error[512];

        iorig_accumulator_make(&a, service, CHANNELS, WIDTH);
        iorig_accumulator_make(&b, service, CHANNELS, WIDTH);
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
        assert_int_equal(ane_machine_fault(machine, &fault), -ENOENT);
        breach_begin(&breach, machine, cases[i].kind, cases[i].bar, cases[i].offset);
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnError);
        snprintf(error, sizeof(error), "%s", ane_machine_error());
        fault = last_fault(machine);
        assert_int_equal(fault.count, 1);
        assert_int_equal(fault.status, FLAG | breach.stream << 24 | cases[i].code);
        assert_int_equal(fault.stream, breach.stream);
        assert_int_equal(fault.dart, cases[i].dart);
        assert_int_equal(fault.address, breach.address);
        assert_int_equal(fault.page, breach.address & ~(PAGE - 1));
        assert_int_equal(fault.write, !!(cases[i].code & WRITE));
        assert_int_equal(fault.l2_index, breach.address >> 25);
        assert_int_equal(fault.l3_index, breach.address >> 14 & 2047);
        assert_int_equal(fault.ttbr_index, 0);
        assert_int_equal(fault.engine_status, 0xa2);
        assert_true(!fault.benign && fault.client == 1 && fault.program == a.token);
        assert_true(fault.procedure == 0 && fault.descriptor == 0);
        assert_string_equal(fault.transfer, cases[i].transfer);
        /* the firmware reports transfers of operands; a descriptor is fetched by the task manager */
        assert_int_equal(ane_machine_counter(machine, "driver.notify_sync_error"),
                         strcmp(cases[i].transfer, "descriptor fetch") != 0);
        assert_string_equal(fault.tensor, cases[i].tensor);
        assert_string_equal(fault.type, cases[i].type);
        assert_string_equal(fault.why, cases[i].why);
        for (unsigned part = 0; part < 2; part++) {
            expect_text(part ? error : fault.text, cases[i].transfer);
            expect_text(part ? error : fault.text, cases[i].tensor);
            expect_text(part ? error : fault.text, cases[i].why);
            expect_text(part ? error : fault.text, "descriptor 0");
        }
        expect_text(error, "Client 1, program 0x");
        assert_int_equal(ane_machine_counter(machine, "dart.missing_invalidates") > 0,
                         cases[i].kind == LEFT_STALE);
        /*
         * The capture was cleared; the other client is not touched, and after the repair neither is this one.
         */
        assert_int_equal(ane_machine_dart_interrupt(machine), 0);
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&b) == 2);
        breach_end(&breach);
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&a) == 2);
        assert_int_equal(last_fault(machine).count, 1);
        iorig_accumulator_release(&a);
        iorig_accumulator_release(&b);
        ane_machine_destroy(machine);
    }
}

static void a_fault_latches_dumps_parks_and_recovers(void **state)
{
    struct collected collected = {0};
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, false, &collected);
    io_service_t service = ane_machine_service(machine);
    struct iorig_accumulator a, b;
    struct breach breach;
    uint64_t begin, time;

    (void)state;
    iorig_accumulator_make(&a, service, CHANNELS, WIDTH);
    iorig_accumulator_make(&b, service, CHANNELS, WIDTH);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    begin = ane_machine_now(machine);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    time = ane_machine_now(machine) - begin; /* of one dispatch */
    breach_begin(&breach, machine, MISSING_PAGE, BAR_X, PAGE);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnError);
    breach_end(&breach);
    begin = last_fault(machine).time;
    assert_int_equal(ane_machine_counter(machine, "driver.fault_latch"), 1);
    assert_true(collected.client && collected.program && collected.firmware && collected.parked);
    assert_false(collected.recovered);
    assert_true(ane_machine_now(machine) < begin + 250000000);
    /* The next request waits in the driver until the park is over, and then takes as long as any. */
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    assert_true(ane_machine_now(machine) >= begin + 250000000);
    assert_true(ane_machine_now(machine) <= begin + 250000000 + time);
    assert_true(collected.recovered);
    assert_int_equal(ane_machine_counter(machine, "driver.fault_latch"), 0);
    assert_true(iorig_accumulator_value(&b) == 3);
    iorig_accumulator_release(&a);
    iorig_accumulator_release(&b);
    ane_machine_destroy(machine);
}

/* A deadline that ends inside the park. */
static void a_request_may_time_out_while_the_driver_is_parked(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, false, NULL);
    io_service_t service = ane_machine_service(machine);
    struct iorig_accumulator a, b;
    struct breach breach;

    (void)state;
    iorig_accumulator_make(&a, service, CHANNELS, WIDTH);
    iorig_accumulator_make_timed(&b, service, CHANNELS, WIDTH, 100);
    breach_begin(&breach, machine, MISSING_PAGE, BAR_X, PAGE);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnError);
    breach_end(&breach);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnTimeout);
    expect_text(ane_machine_error(), "parked after a DART fault");
    assert_int_equal(ane_machine_run(machine, 1000000000), 0);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&b) == 1);
    iorig_accumulator_release(&a);
    iorig_accumulator_release(&b);
    ane_machine_destroy(machine);
}

struct caller {
    struct iorig_accumulator *a;
    uint32_t priority;
    IOReturn status;
    char error[512];
};

static void call(void *context)
{
    struct caller *c = context;
    const uint32_t surfaces[] = {c->a->x, c->a->state, c->a->state};
    struct ane_request_reply reply;

    c->status = iorig_request(&c->a->client, c->a->token, 9, c->priority, surfaces, 2, 1, &reply);
    snprintf(c->error, sizeof(c->error), "%s", ane_machine_error());
}

/* A request of each band is on the engine when the faults happen. */
static void two_faults_of_two_clients_are_not_mixed(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, false, NULL);
    io_service_t service = ane_machine_service(machine);
    struct iorig_accumulator a, b;
    struct breach first, second;
    struct caller callers[] = {{.a = &a, .priority = 5}, {.a = &b, .priority = 1}};
    char own[2][64];

    (void)state;
    iorig_accumulator_make(&a, service, CHANNELS, WIDTH);
    iorig_accumulator_make(&b, service, CHANNELS, WIDTH);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    breach_begin(&first, machine, MISSING_PAGE, BAR_X, PAGE);
    breach_begin(&second, machine, MISSING_PAGE, BAR_X, 3 * PAGE);
    first.stream = 3;
    second.stream = 4;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ane_machine_call_at(machine, ane_machine_now(machine) + 1000, call, &callers[i]), 0);
    assert_int_equal(ane_machine_run(machine, 1000000000), 0);
    assert_int_equal(ane_machine_counter(machine, "driver.faults"), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(callers[i].status, kIOReturnError);
        snprintf(own[i], sizeof(own[i]), "stream %u, read of 0x%x, no page", 3 + i,
                 (i ? second : first).address);
        expect_text(callers[i].error, i ? "Client 2" : "Client 1");
        expect_text(callers[i].error, own[i]);
    }
    assert_null(strstr(callers[0].error, own[1]));
    assert_null(strstr(callers[1].error, own[0]));
    breach_end(&second);
    breach_end(&first);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&a) == 2 && iorig_accumulator_value(&b) == 2);
    iorig_accumulator_release(&a);
    iorig_accumulator_release(&b);
    ane_machine_destroy(machine);
}

/* The firmware is made to read an address that nobody mapped, while the engine is powered and idle. */
static void a_fault_of_the_firmware_is_its_own_and_benign(void **state)
{
    struct collected collected = {0};
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, false, &collected);
    struct ane_machine_fault fault;
    struct iorig_accumulator a;
    struct sabotage s;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    sabotage_begin(&s, machine, SABOTAGE_CORRUPT_SLOT);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnTimeout);
    assert_null(strstr(ane_machine_error(), "DART"));
    sabotage_end(&s);
    fault = last_fault(machine);
    assert_true(fault.benign && fault.engine_status == 0xa0);
    assert_true(fault.client == 0 && fault.stream == 0 && fault.program == 0 &&
                fault.descriptor == UINT32_MAX);
    expect_text(fault.text, "the firmware");
    assert_true(collected.benign && !collected.parked);
    assert_int_equal(ane_machine_counter(machine, "driver.fault_latch"), 0);
    IOServiceClose(a.client.connect);
    ane_surface_release(a.x);
    ane_surface_release(a.state);
    ane_machine_destroy(machine);
}

static void the_status_word_follows_power_and_work(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, false, NULL);
    uint64_t status = machine->board->container + 0xe028;
    struct iorig_accumulator a;
    struct breach breach;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
    assert_int_equal(ane_machine_read32(machine, status), 0xa0);
    breach_begin(&breach, machine, MISSING_PAGE, BAR_X, 0);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnError);
    assert_int_equal(ane_machine_read32(machine, status), 0xa2);
    breach_end(&breach);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(ane_machine_read32(machine, status), 0xa0);
    ane_machine_write32(machine, status, 0x55);
    assert_int_equal(ane_machine_read32(machine, status), 0xa0);
    iorig_accumulator_release(&a);
    ane_machine_write32(machine, machine->board->pmu, 0x300);
    assert_int_equal(ane_machine_read32(machine, status), 0);
    ane_machine_destroy(machine);
}

static uint32_t word_at(const uint8_t *bytes, unsigned offset)
{
    uint32_t word;

    memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

static void the_snapshot_shows_the_registers_as_they_were(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, false, NULL);
    struct ane_machine_fault fault;
    struct iorig_accumulator a;
    struct breach breach;
    const uint8_t *s;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
    breach_begin(&breach, machine, MISSING_PAGE, BAR_X, 3 * PAGE);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnError);
    fault = last_fault(machine);
    s = ane_machine_dram(machine, fault.snapshot, 0x178);
    assert_non_null(s);
    assert_memory_equal(s, "DART", 4);
    assert_int_equal(word_at(s, 0x04), 1);
    assert_int_equal(word_at(s, 0x08), 1);
    assert_int_equal(word_at(s, 0x10), (uint32_t)fault.time);
    assert_int_equal(word_at(s, 0x18), FLAG | 3u << 24 | NO_PTE);
    assert_int_equal(word_at(s, 0x1c), breach.address);
    assert_int_equal(word_at(s, 0x20), 0);
    assert_int_equal(word_at(s, 0x28), FLAG);
    assert_int_equal(word_at(s, 0x2c), breach.address >> 14); /* the indices are neighbours in both */
    assert_int_equal(word_at(s, 0x30), 2);
    /* These did not change since. */
    assert_int_equal(word_at(s, 0x34), dart_read32(machine->dart, DART_PORT_SOURCE, 0xfc));
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(word_at(s, 0x38 + 4 * i),
                         dart_read32(machine->dart, DART_PORT_SOURCE, 0x100 + 4 * i));
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(word_at(s, 0x78 + 4 * i),
                         dart_read32(machine->dart, DART_PORT_SOURCE, 0x200 + 4 * i));
    assert_int_equal(word_at(s, 0x78 + 16 * 3) >> 31, 1);
    breach_end(&breach);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

struct consumed {
    unsigned calls;
    uint8_t info[0xb0];
};

static void consume(void *context, const struct IODARTErrorInfo *info, const struct drv_fault_report *report)
{
    struct consumed *c = context;

    (void)report;
    c->calls++;
    memcpy(c->info, info, sizeof(c->info));
}

/* Table 28.11, byte by byte: what is not a field is 0. */
static void consumers_get_the_descriptor(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_T6000, false, NULL);
    struct consumed first = {0}, second = {0};
    uint8_t expected[0xb0] = {0};
    struct iorig_accumulator a;
    struct breach breach;

    (void)state;
    assert_int_equal(drv_fault_register(machine->driver, consume, &first), 0);
    assert_int_equal(drv_fault_register(machine->driver, consume, &second), 0);
    assert_int_equal(drv_fault_register(machine->driver, consume, &second), 0);
    assert_int_equal(drv_fault_register(machine->driver, consume, &second), -ENOSPC);
    iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
    breach_begin(&breach, machine, READ_ONLY, BAR_STATE_OUT, PAGE);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnError);
    breach_end(&breach);
    assert_true(first.calls == 1 && second.calls == 2);
    expected[0x00] = 2; /* protection fault */
    expected[0x08] = 3; /* at the page */
    expected[0x10] = 3; /* bit of "not writable" */
    memcpy(expected + 0x18, &(uint32_t){FLAG | 3u << 24 | WRITE | NO_WRITE}, 4);
    expected[0x20] = 1;
    expected[0x28] = 3;
    memcpy(expected + 0x30, &breach.address, 4);
    memcpy(expected + 0x50, &(uint32_t){breach.address >> 25}, 4);
    memcpy(expected + 0x58, &(uint32_t){breach.address >> 14 & 2047}, 4);
    expected[0x90] = 2;
    assert_memory_equal(first.info, expected, sizeof(expected));
    assert_memory_equal(second.info, expected, sizeof(expected));
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

static void a_fault_may_stop_the_machine_as_on_the_device(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, true, NULL);
    io_service_t service = ane_machine_service(machine);
    struct iorig_accumulator a, b;
    struct iorig_client late;
    struct breach breach;

    (void)state;
    iorig_accumulator_make(&a, service, CHANNELS, WIDTH);
    iorig_accumulator_make(&b, service, CHANNELS, WIDTH);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    breach_begin(&breach, machine, MISSING_PAGE, BAR_X, PAGE);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnNoDevice);
    expect_text(ane_machine_error(), "panic: ");
    expect_text(ane_machine_error(), "no page");
    breach_end(&breach);
    /* Every later call, of everyone. */
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnNoDevice);
    expect_text(ane_machine_error(), "panic: ");
    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_CONTROL, &late), kIOReturnNoDevice);
    expect_text(ane_machine_error(), "panic: ");
    assert_int_equal(ane_machine_run(machine, 1000), -EPERM);
    expect_text(ane_machine_error(), "panic: ");
    assert_int_equal(ane_machine_read32(machine, machine->board->pmu), UINT32_MAX);
    /* What is left: looking, and going. */
    assert_int_equal(last_fault(machine).client, 1);
    assert_int_equal(IOServiceClose(a.client.connect), kIOReturnSuccess);
    assert_int_equal(IOServiceClose(b.client.connect), kIOReturnSuccess);
    ane_surface_release(a.x);
    ane_surface_release(a.state);
    ane_surface_release(b.x);
    ane_surface_release(b.state);
    ane_machine_destroy(machine);
}

/* A machine that panicked is destroyed as any other: what is open on it is closed, ports go on. */
static void a_stopped_machine_is_destroyed_with_open_clients(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED, true, NULL);
    struct iorig_accumulator a;
    struct ane_port_message message;
    struct breach breach;
    ane_port_t port;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
    assert_int_equal(ane_port_create(&port), 0);
    breach_begin(&breach, machine, MISSING_PAGE, BAR_X, PAGE);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnNoDevice);
    breach_end(&breach);
    ane_machine_destroy(machine);
    assert_int_equal(iorig_accumulator_step(&a), ANE_RETURN_CLOSED);
    assert_int_equal(IOServiceClose(a.client.connect), ANE_RETURN_CLOSED);
    assert_int_equal(ane_port_receive(port, &message, 0), -ETIMEDOUT);
    assert_int_equal(ane_port_release(port), 0);
    ane_surface_release(a.x);
    ane_surface_release(a.state);
}

static void a_bare_machine_has_no_driver_to_ask(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config)};
    struct ane_machine_fault fault = {.size = sizeof(fault)};
    struct ane_machine *machine;

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    assert_int_equal(ane_machine_fault(machine, &fault), -ENOENT);
    assert_int_equal(ane_machine_fault(machine, NULL), -EINVAL);
    assert_int_equal(ane_machine_problem(machine, NULL), -EINVAL);
    fault.size--;
    assert_int_equal(ane_machine_fault(machine, &fault), -EINVAL);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_is_read_attributed_and_survived),
        cmocka_unit_test(a_fault_latches_dumps_parks_and_recovers),
        cmocka_unit_test(a_request_may_time_out_while_the_driver_is_parked),
        cmocka_unit_test(two_faults_of_two_clients_are_not_mixed),
        cmocka_unit_test(a_fault_of_the_firmware_is_its_own_and_benign),
        cmocka_unit_test(the_status_word_follows_power_and_work),
        cmocka_unit_test(the_snapshot_shows_the_registers_as_they_were),
        cmocka_unit_test(consumers_get_the_descriptor),
        cmocka_unit_test(a_fault_may_stop_the_machine_as_on_the_device),
        cmocka_unit_test(a_stopped_machine_is_destroyed_with_open_clients),
        cmocka_unit_test(a_bare_machine_has_no_driver_to_ask),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
