/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that share one machine, seen from outside: what one of them guesses, binds, maps or makes the engine
 * read and write never reaches the other. The victim is task A; its surfaces hold a value that is in no
 * memory of any other task.
 */
#include "support.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "partyrig.h"
#include "tdpatch.h"

#define APERTURE 0xe0000000u /* where device addresses end (docs/dart.md) */

#define SECRET          0x4a5cu /* 12.71875 as a half */
#define SECRET_MORE     0x4adcu /* the same and 1 */
#define PAGES_OF_SECRET 12u

#define NAME_OF_A "ledger-of-the-victim"
#define NAME_OF_B "reader-of-pages"

static struct ane_machine *make(void)
{
    return iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
}

static void expect_no_secret(const char *what, uint32_t surface)
{
    const uint16_t *halfs = ane_surface_base(surface);

    for (size_t i = 0; i < ane_surface_lookup(surface) / 2; i++)
        if (halfs[i] == SECRET || halfs[i] == SECRET_MORE)
            fail_msg("%s: element %zu shows the secret", what, i);
}

/* Task A: its secret is bound by its requests. */
struct victim {
    struct partyrig party;
    uint32_t spacer;
    uint64_t address; /* of the secret, when it is mapped by selector 5 */
    ane_port_t port;
};

/* The first surface that its requests bind has more pages than all of B's. */
static void victim_make(struct victim *v, io_service_t service)
{
    *v = (struct victim){.address = 0};
    partyrig_open(&v->party, service, partyrig_task("TEAM", 1));
    partyrig_load(&v->party, NAME_OF_A);
    partyrig_surfaces(&v->party, SECRET, PARTYRIG_ONE);
    ane_surface_release(v->party.a);
    v->party.a = partyrig_surface(v->party.task, PAGES_OF_SECRET * PARTYRIG_PAGE, SECRET);
    v->spacer = partyrig_surface(v->party.task, 9 * PARTYRIG_PAGE, SECRET);
    assert_int_equal(ane_port_create(&v->port), 0);
}

/* Keeps A's addresses, and so its domain; the secret is at one that no small client has. */
static void victim_pin(struct victim *v)
{
    uint64_t address;

    assert_int_equal(partyrig_map(&v->party.direct, v->spacer, ANE_MAP_INPUT, &address), kIOReturnSuccess);
    assert_int_equal(partyrig_map(&v->party.direct, v->party.a, ANE_MAP_INPUT, &v->address),
                     kIOReturnSuccess);
    assert_true(v->address > address);
}

static void victim_close(struct victim *v)
{
    ane_port_release(v->port);
    ane_surface_release(v->spacer);
    partyrig_close(&v->party);
}

/* A request of A is under way from here to victim_finish. */
static void victim_begin(const struct victim *v)
{
    partyrig_fill(v->party.y, PARTYRIG_NOT_WRITTEN);
    assert_int_equal(partyrig_send(&v->party, &v->party.direct, v->port), kIOReturnSuccess);
}

/* What no request changes. */
static void victim_keeps(const struct victim *v, const char *what)
{
    partyrig_expect(what, v->party.a, SECRET);
    partyrig_expect(what, v->party.b, PARTYRIG_ONE);
    partyrig_expect(what, v->spacer, SECRET);
}

static void victim_finish(const struct victim *v, const char *what)
{
    struct ane_port_message message;

    assert_int_equal(ane_port_receive(v->port, &message, UINT64_MAX), 0);
    assert_int_equal(message.result, kIOReturnSuccess);
    partyrig_expect(what, v->party.y, SECRET_MORE);
    victim_keeps(v, what);
}

static bool victim_is_running(const struct victim *v)
{
    struct ane_port_message message;

    return ane_port_receive(v->port, &message, 0) == -ETIMEDOUT;
}

/* The last call of B was refused so, with a sentence in which nothing is A's. */
static void refused(const struct victim *v, IOReturn status, IOReturn expected)
{
    char address[24];

    assert_int_equal(status, expected);
    snprintf(address, sizeof(address), "%" PRIx64, v->address);
    assert_string_not_equal(ane_machine_error(), "");
    assert_null(strstr(ane_machine_error(), NAME_OF_A));
    assert_null(strstr(ane_machine_error(), address));
}

static IOReturn request_as(const struct iorig_client *client, const struct ane_request *request)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);

    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, request,
                               sizeof(*request), NULL, NULL, &reply, &size);
}

/* B binds a surface of A at each place of a request that is right otherwise. */
static void bind_everywhere(const struct victim *v, const struct partyrig *b, uint32_t surface)
{
    const struct iorig_client *const client[] = {&b->control, &b->direct};

    for (unsigned i = 0; i < 8; i++) {
        struct ane_request request = {.token = b->token,
                                      .priority = ANE_REQUEST_PRIORITY,
                                      .inputs = 2,
                                      .outputs = 1,
                                      .surface = {b->a, b->b, b->y}};

        if (i / 2 < 3)
            request.surface[i / 2] = surface;
        else
            request.stats_surface = surface;
        refused(v, request_as(client[i % 2], &request), kIOReturnNotPermitted);
    }
}

/* A surface of A that holds a program: only its owner is wrong. */
static void load_from(const struct victim *v, const struct partyrig *b)
{
    uint32_t surface = partyrig_surface(v->party.task, ANE_PROGRAM_IMAGE + partyrig_bundle.size, 0);
    struct ane_program_create create = {.surface = surface, .size = ANE_PROGRAM_IMAGE + partyrig_bundle.size};
    struct ane_program_args *args = ane_surface_base(surface);

    *args = (struct ane_program_args){.representation = ANE_PROGRAM_RT,
                                      .version = ANE_PROGRAM_ARGS_VERSION,
                                      .image_size = partyrig_bundle.size,
                                      .procedures = 1,
                                      .name = NAME_OF_A};
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, partyrig_bundle.bytes, partyrig_bundle.size);
    refused(v,
            IOConnectCallMethod(b->control.connect, ANE_CONTROL_ProgramCreate, NULL, 0, &create,
                                sizeof(create), NULL, NULL, NULL, NULL),
            kIOReturnNotPermitted);
    assert_int_equal(args->token, 0);
    ane_surface_release(surface);
}

/* An instance, and a chain, over A's program; whatever the reason of the refusal. */
static void derive_from(const struct victim *v, const struct partyrig *b)
{
    uint32_t surface = partyrig_surface(b->task, sizeof(struct ane_instance_args), 0);
    struct ane_instance_create create = {.surface = surface, .size = sizeof(struct ane_instance_args)};
    struct ane_chaining_prepare prepare = {.token = v->party.token, .surface = surface};
    struct ane_chaining_reply chain = {0};
    struct ane_instance_args *args = ane_surface_base(surface);
    size_t size = sizeof(chain);

    *args = (struct ane_instance_args){.base = v->party.token, .version = ANE_INSTANCE_ARGS_VERSION};
    assert_int_equal(IOConnectCallMethod(b->control.connect, ANE_CONTROL_ProgramCreateInstance, NULL, 0,
                                         &create, sizeof(create), NULL, NULL, NULL, NULL),
                     kIOReturnNotFound);
    assert_null(strstr(ane_machine_error(), NAME_OF_A));
    assert_int_equal(args->token, 0);
    assert_int_equal(IOConnectCallMethod(b->control.connect, ANE_CONTROL_ProgramChainingPrepare, NULL, 0,
                                         &prepare, sizeof(prepare), NULL, NULL, &chain, &size),
                     kIOReturnNotFound);
    assert_null(strstr(ane_machine_error(), NAME_OF_A));
    assert_int_equal(chain.handle, 0);
    ane_surface_release(surface);
}

static void nothing_of_another_task_can_be_named(void **state)
{
    struct ane_machine *machine = make();
    struct ane_program_prepare prepare;
    struct victim a;
    struct partyrig b;
    uint64_t address;

    (void)state;
    victim_make(&a, ane_machine_service(machine));
    victim_pin(&a);
    partyrig_open(&b, ane_machine_service(machine), partyrig_task("OTHER", 2));
    partyrig_load(&b, NAME_OF_B);
    partyrig_surfaces(&b, 0, PARTYRIG_ONE);
    assert_int_equal(iorig_prepare(&b.control, b.token, &prepare), kIOReturnSuccess);
    victim_begin(&a);
    assert_true(victim_is_running(&a));
    for (unsigned i = 0; i < 3; i++) {
        bind_everywhere(&a, &b, a.party.surface[i]);
        refused(&a, partyrig_map(&b.direct, a.party.surface[i], ANE_MAP_INPUT, &address),
                kIOReturnNotPermitted);
        refused(&a, partyrig_map(&b.direct, a.party.surface[i], ANE_MAP_OUTPUT, &address),
                kIOReturnNotPermitted);
        assert_int_equal(address, 0);
    }
    load_from(&a, &b);
    derive_from(&a, &b);
    refused(&a, partyrig_run(&b, &b.control, a.party.token), kIOReturnNotFound);
    refused(&a, partyrig_run(&b, &b.direct, a.party.token), kIOReturnNotFound);
    refused(&a, iorig_prepare(&b.control, a.party.token, &prepare), kIOReturnNotFound);
    refused(&a, iorig_unprepare(&b.control, a.party.token), kIOReturnNotFound);
    refused(&a, iorig_destroy(&b.control, a.party.token), kIOReturnNotFound);
    assert_true(victim_is_running(&a));
    victim_finish(&a, "beside what was refused");
    partyrig_expect("the output of requests that were refused", b.y, PARTYRIG_NOT_WRITTEN);
    assert_int_equal(partyrig_run(&b, &b.control, b.token), kIOReturnSuccess);
    partyrig_expect("a request of B", b.y, PARTYRIG_ONE);
    victim_begin(&a);
    victim_finish(&a, "after what was refused");
    partyrig_close(&b);
    victim_close(&a);
    ane_machine_destroy(machine);
}

/* Programs that reach beyond their surfaces. */

struct reach {
    struct ane_machine *machine;
    const struct victim *victim;
    uint32_t word;    /* TD_SRC_BASE or TD_DST_BASE */
    bool by_turns;    /* A's requests and B's alternate, on one domain; else A's is under way beside B's */
    unsigned clients; /* opened so far */
    unsigned faults, runs;
};

static void expect_fault_of_b(struct reach *r, uint64_t token, uint64_t target)
{
    struct ane_machine_fault fault = {.size = sizeof(fault)};
    char sentence[1024];

    snprintf(sentence, sizeof(sentence), "%s", ane_machine_error());
    assert_int_equal(ane_machine_fault(r->machine, &fault), 0);
    assert_int_equal(fault.count, ++r->faults);
    assert_int_equal(fault.client, r->clients);
    assert_true(fault.program == token);
    assert_string_equal(fault.name, NAME_OF_B);
    assert_int_equal(fault.write, r->word == TD_DST_BASE);
    assert_true(fault.address >= target && fault.address < target + PARTYRIG_BYTES);
    assert_non_null(strstr(sentence, NAME_OF_B));
    assert_null(strstr(sentence, NAME_OF_A));
    assert_null(strstr(fault.text, NAME_OF_A));
}

/*
 * B is the process, which may load raw images. Its program reads from, or writes to, device address `target`.
 * The operand's own surface is mapped first: it has the lowest address. Returns that.
 */
static uint64_t reader_make(struct reach *r, struct partyrig *b, uint64_t target)
{
    static uint8_t image[1 << 16];
    bool writes = r->word == TD_DST_BASE;
    uint64_t own;
    size_t size;

    partyrig_open(b, ane_machine_service(r->machine), 0);
    r->clients += 2;
    partyrig_surfaces(b, 0, PARTYRIG_ONE);
    assert_int_equal(
        partyrig_map(&b->direct, writes ? b->y : b->b, writes ? ANE_MAP_OUTPUT : ANE_MAP_INPUT, &own),
        kIOReturnSuccess);
    assert_true(target >= own && target - own <= UINT32_MAX);
    size = iorig_image_patched(image, sizeof(image), PARTYRIG_CHANNELS, PARTYRIG_WIDTH, r->word,
                               (uint32_t)(target - own));
    assert_int_equal(iorig_create_named(&b->control, ANE_PROGRAM_LEGACY, NAME_OF_B, image, size, &b->token),
                     kIOReturnSuccess);
    return own;
}

static void reach_for(struct reach *r, uint64_t target)
{
    const char *what = r->word == TD_DST_BASE ? "a program that writes" : "a program that reads";
    struct partyrig b;
    uint64_t own;
    IOReturn status;

    if (r->by_turns) {
        victim_begin(r->victim);
        victim_finish(r->victim, what);
    }
    own = reader_make(r, &b, target);
    if (!r->by_turns)
        victim_begin(r->victim);
    status = partyrig_run(&b, &b.direct, b.token);
    if (status) {
        assert_int_equal(status, kIOReturnError);
        expect_fault_of_b(r, b.token, target);
    } else {
        r->runs++;
    }
    if (!r->by_turns)
        victim_finish(r->victim, what);
    victim_keeps(r->victim, what);
    if (target == own)
        partyrig_expect("at its own surface", b.y, PARTYRIG_ONE);
    for (unsigned i = 0; i < 3; i++)
        expect_no_secret("a surface of B", b.surface[i]);
    partyrig_close(&b);
}

/* The lowest address that a client gets: that of its first mapping. */
static uint64_t first_address(io_service_t service)
{
    struct iorig_client client;
    uint32_t surface = partyrig_surface(0, PARTYRIG_PAGE, 0);
    uint64_t address;

    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &client), kIOReturnSuccess);
    assert_int_equal(partyrig_map(&client, surface, ANE_MAP_INPUT, &address), kIOReturnSuccess);
    IOServiceClose(client.connect);
    ane_surface_release(surface);
    return address;
}

/*
 * A's surfaces are mapped from the low end of its addresses, its program's buffers at the high end; B tries
 * every page of both ends.
 */
static void a_program_reaches_its_own_pages_alone(void **state)
{
    const uint32_t words[] = {TD_SRC_BASE, TD_DST_BASE};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct reach r = {.machine = make(), .word = words[i]};
        struct victim a;
        uint64_t first;

        victim_make(&a, ane_machine_service(r.machine));
        victim_pin(&a);
        first = first_address(ane_machine_service(r.machine));
        r.victim = &a;
        r.clients = 3;
        for (uint64_t page = first; page < a.address + (PAGES_OF_SECRET + 8) * PARTYRIG_PAGE;
             page += PARTYRIG_PAGE)
            reach_for(&r, page);
        for (uint64_t page = APERTURE - 16 * PARTYRIG_PAGE; page < APERTURE; page += PARTYRIG_PAGE)
            reach_for(&r, page);
        assert_true(r.runs >= 1 && r.faults >= (a.address - first) / PARTYRIG_PAGE / 2);
        victim_close(&a);
        ane_machine_destroy(r.machine);
    }
}

#define OTHER_DOMAINS 6u

/*
 * Six clients keep a domain each, so that A and B have the seventh by turns. They are A's own and have the
 * secret mapped: its pages are in the machine's memory also while A has no domain. Returns their first
 * address, which is that of every client.
 */
static uint64_t keep_other_domains(const struct victim *a, io_service_t service)
{
    struct iorig_client other;
    uint64_t first = 0;

    for (unsigned i = 0; i < OTHER_DOMAINS; i++) {
        assert_int_equal(iorig_open(service, a->party.task, ANE_CLIENT_DIRECT_PATH, &other),
                         kIOReturnSuccess);
        assert_int_equal(partyrig_map(&other, a->party.a, ANE_MAP_INPUT, &first), kIOReturnSuccess);
    }
    return first;
}

static void a_domain_that_changes_hands_shows_nothing(void **state)
{
    const uint32_t words[] = {TD_SRC_BASE, TD_DST_BASE};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct reach r = {.machine = make(), .word = words[i], .by_turns = true};
        struct victim a;
        uint64_t first;

        victim_make(&a, ane_machine_service(r.machine));
        first = keep_other_domains(&a, ane_machine_service(r.machine));
        r.victim = &a;
        r.clients = 2 + OTHER_DOMAINS;
        for (uint64_t page = first; page < first + (PAGES_OF_SECRET + 8) * PARTYRIG_PAGE;
             page += PARTYRIG_PAGE)
            reach_for(&r, page);
        assert_true(r.runs >= 1 && r.faults >= PAGES_OF_SECRET / 2);
        victim_begin(&a);
        victim_finish(&a, "after all");
        victim_close(&a);
        ane_machine_destroy(r.machine);
    }
}

/* Programs of another client. */

/* A task of this signature sends a request for a token through the direct path, then prepares it. */
static void attach(struct ane_machine *machine, uint64_t token, const char *team, uint8_t hash,
                   IOReturn expected)
{
    struct ane_program_prepare prepare;
    struct partyrig p;

    partyrig_open(&p, ane_machine_service(machine), partyrig_task(team, hash));
    partyrig_surfaces(&p, PARTYRIG_ONE, 0);
    assert_int_equal(partyrig_run(&p, &p.direct, token), expected);
    partyrig_expect("through the direct path", p.y, expected ? PARTYRIG_NOT_WRITTEN : PARTYRIG_ONE);
    assert_int_equal(iorig_prepare(&p.control, token, &prepare), expected);
    partyrig_fill(p.y, PARTYRIG_NOT_WRITTEN);
    assert_int_equal(partyrig_run(&p, &p.control, token), expected);
    partyrig_expect("after prepare", p.y, expected ? PARTYRIG_NOT_WRITTEN : PARTYRIG_ONE);
    assert_int_equal(iorig_destroy(&p.control, token), kIOReturnNotFound);
    partyrig_close(&p);
}

static void a_resident_program_attaches_for_its_signature_alone(void **state)
{
    struct ane_machine *machine = make();
    struct partyrig a, unsigned_one;

    (void)state;
    partyrig_open(&a, ane_machine_service(machine), partyrig_task("TEAM", 1));
    partyrig_load(&a, NAME_OF_A);
    partyrig_surfaces(&a, SECRET, PARTYRIG_ONE);
    attach(machine, a.token, "TEAM", 1, kIOReturnSuccess);
    attach(machine, a.token, "TEAM", 2, kIOReturnNotFound);
    attach(machine, a.token, "OTHER", 1, kIOReturnNotFound);
    attach(machine, a.token, "TEAM", 0, kIOReturnNotFound);
    attach(machine, a.token, NULL, 1, kIOReturnNotFound);
    partyrig_open(&unsigned_one, ane_machine_service(machine), partyrig_task("TEAM", 0));
    partyrig_load(&unsigned_one, NAME_OF_B);
    partyrig_surfaces(&unsigned_one, PARTYRIG_ONE, 0);
    attach(machine, unsigned_one.token, "TEAM", 0, kIOReturnNotFound);
    attach(machine, unsigned_one.token, NULL, 0, kIOReturnNotFound);
    attach(machine, unsigned_one.token, "TEAM", 1, kIOReturnNotFound);
    assert_int_equal(partyrig_run(&unsigned_one, &unsigned_one.direct, unsigned_one.token), kIOReturnSuccess);
    partyrig_expect("its owner", unsigned_one.y, PARTYRIG_ONE);
    assert_int_equal(partyrig_run(&a, &a.direct, a.token), kIOReturnSuccess);
    partyrig_expect("its owner", a.y, SECRET_MORE);
    partyrig_close(&unsigned_one);
    partyrig_close(&a);
    ane_machine_destroy(machine);
}

/*
 * The owner has left. A task that has the program prepared uses it on further connections; another of the
 * same identity, which has not, does not find it.
 */
static void a_program_without_owner_is_for_those_who_have_it(void **state)
{
    struct ane_machine *machine = make();
    struct ane_program_prepare prepare;
    struct partyrig a, b, c;
    uint64_t token;

    (void)state;
    partyrig_open(&a, ane_machine_service(machine), partyrig_task("TEAM", 1));
    partyrig_open(&b, ane_machine_service(machine), partyrig_task("TEAM", 1));
    partyrig_open(&c, ane_machine_service(machine), partyrig_task("TEAM", 1));
    partyrig_surfaces(&a, PARTYRIG_ONE, PARTYRIG_ONE);
    partyrig_surfaces(&b, PARTYRIG_ONE, 0);
    partyrig_surfaces(&c, PARTYRIG_ONE, 0);
    partyrig_load(&a, NAME_OF_A);
    token = a.token;
    assert_int_equal(iorig_prepare(&b.control, token, &prepare), kIOReturnSuccess);
    partyrig_close(&a);
    assert_int_equal(partyrig_run(&b, &b.direct, token), kIOReturnSuccess);
    partyrig_expect("the task that has it", b.y, PARTYRIG_ONE);
    assert_int_equal(partyrig_run(&c, &c.direct, token), kIOReturnNotFound);
    partyrig_expect("the task that does not", c.y, PARTYRIG_NOT_WRITTEN);
    partyrig_close(&b);
    assert_int_equal(partyrig_run(&c, &c.direct, token), kIOReturnNotFound);
    partyrig_close(&c);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_another_task_can_be_named),
        cmocka_unit_test(a_program_reaches_its_own_pages_alone),
        cmocka_unit_test(a_domain_that_changes_hands_shows_nothing),
        cmocka_unit_test(a_resident_program_attaches_for_its_signature_alone),
        cmocka_unit_test(a_program_without_owner_is_for_those_who_have_it),
    };

    return cmocka_run_group_tests_name("isolation", tests, partyrig_compile, partyrig_forget);
}
