/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time and callers: open and closed clocks, calls injected at a virtual time, and what depends on
 * them: the order in which domains are lent.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "iorig.h"
#include "sabotage.h"

static struct ane_machine *make(uint32_t clock)
{
    return iorig_machine((struct ane_machine_config){.trace = 1, .clock = clock});
}

/* What the injected calls did, in order. */
struct record {
    struct ane_machine *machine;
    char text[512];
};

struct entry {
    struct record *record;
    char letter;
};

static void write_letter(void *context)
{
    struct entry *entry = context;
    struct record *record = entry->record;
    size_t length = strlen(record->text);

    snprintf(record->text + length, sizeof(record->text) - length, "%c%lu ", entry->letter,
             (unsigned long)ane_machine_now(record->machine));
}

static void calls_come_at_their_time_and_in_order(void **state)
{
    struct record record = {.machine = make(ANE_CLOCK_CLOSED)};
    struct entry a = {&record, 'a'}, b = {&record, 'b'}, c = {&record, 'c'}, never = {&record, 'n'};
    uint64_t now = ane_machine_now(record.machine);
    char expected[128];

    (void)state;
    assert_int_equal(ane_machine_call_at(record.machine, now + 500, write_letter, &b), 0);
    assert_int_equal(ane_machine_call_at(record.machine, now + 500, write_letter, &c), 0);
    assert_int_equal(ane_machine_call_at(record.machine, now + 100, write_letter, &a), 0);
    assert_int_equal(ane_machine_call_at(record.machine, now + 9000, write_letter, &never), 0);
    assert_int_equal(ane_machine_run(record.machine, 1000), 1);
    snprintf(expected, sizeof(expected), "a%lu b%lu c%lu ", (unsigned long)now + 100,
             (unsigned long)now + 500, (unsigned long)now + 500);
    assert_string_equal(record.text, expected);
    assert_int_equal(ane_machine_now(record.machine), now + 1000);
    assert_int_equal(ane_machine_call_at(record.machine, now + 999, write_letter, &a), -EINVAL);
    assert_non_null(strstr(ane_machine_error(), "already"));
    ane_machine_destroy(record.machine);
    assert_string_equal(record.text, expected); /* what had not begun did not */
}

/* Clients of their own on seven domains, all asking at once: each is served, in the order of its call. */
#define CLIENTS 20u

struct client {
    struct record *record;
    struct iorig_accumulator a;
    unsigned number;
    IOReturn status;
};

static void step(void *context)
{
    struct client *client = context;
    size_t length;

    client->status = iorig_accumulator_step(&client->a);
    length = strlen(client->record->text);
    snprintf(client->record->text + length, sizeof(client->record->text) - length, "%u ", client->number);
}

static uint64_t twenty_clients(struct record *record)
{
    static struct client client[CLIENTS];
    uint64_t now, hash;

    record->machine = make(ANE_CLOCK_CLOSED);
    for (unsigned i = 0; i < CLIENTS; i++) {
        client[i] = (struct client){.record = record, .number = i};
        iorig_accumulator_make(&client[i].a, ane_machine_service(record->machine), 2, 16);
    }
    now = ane_machine_now(record->machine);
    for (unsigned i = 0; i < CLIENTS; i++)
        assert_int_equal(ane_machine_call_at(record->machine, now + 10 + i, step, &client[i]), 0);
    assert_int_equal(ane_machine_run(record->machine, UINT64_MAX), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(client[i].status, kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&client[i].a) == 1);
        iorig_accumulator_release(&client[i].a);
    }
    hash = ane_machine_trace_hash(record->machine);
    ane_machine_destroy(record->machine);
    return hash;
}

static void domains_are_lent_in_the_order_of_the_calls(void **state)
{
    struct record first = {0}, second = {0};
    char expected[512] = "";
    uint64_t hash = twenty_clients(&first);

    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++)
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%u ", i);
    assert_string_equal(first.text, expected);
    assert_true(twenty_clients(&second) == hash);
    assert_string_equal(second.text, first.text);
}

/*
 * A request that is lost: with a closed clock its timeout is virtual time and costs
 * nothing, with an open one it is the caller's time.
 */
#define TIMEOUT_MS 40u

static uint64_t lose_a_request(uint32_t clock)
{
    struct ane_machine *machine = make(clock);
    struct iorig_accumulator a;
    struct sabotage lost;
    uint64_t before, passed;

    iorig_accumulator_make_timed(&a, ane_machine_service(machine), 2, 16, TIMEOUT_MS);
    sabotage_begin(&lost, machine, SABOTAGE_DROP_DOORBELL);
    before = ane_machine_now(machine);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnTimeout);
    passed = ane_machine_now(machine) - before;
    ane_machine_destroy(machine);
    ane_surface_release(a.x);
    ane_surface_release(a.state);
    return passed;
}

static void a_callers_patience_is_its_own_time(void **state)
{
    (void)state;
    assert_true(lose_a_request(ANE_CLOCK_CLOSED) >= TIMEOUT_MS * 1000000ull);
    assert_true(lose_a_request(ANE_CLOCK_OPEN) < TIMEOUT_MS * 1000000ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_come_at_their_time_and_in_order),
        cmocka_unit_test(domains_are_lent_in_the_order_of_the_calls),
        cmocka_unit_test(a_callers_patience_is_its_own_time),
    };

    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
