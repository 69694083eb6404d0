/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quality of service under saturation. Of requests that wait in one band the next to start is the one with
 * the smallest priority, then the most urgent class, then the oldest; what runs is not taken back. A class
 * gets nothing while a more urgent one always has a request that waits, and everything else otherwise.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "iorig.h"
#include "protocol/qos.h"

#define LONG_NS 60000000000ull

static const uint32_t classes[] = {
#define X(id, class, index, priority) class,
    PR_QOS_CLASSES(X)
#undef X
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static struct ane_machine *machine;
static struct iorig_accumulator client[CLASSES];
static ane_port_t port;

/* A closed clock: nothing happens between calls that do not wait. */
static int open_clients(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    for (unsigned i = 0; i < CLASSES; i++)
        iorig_accumulator_make(&client[i], ane_machine_service(machine), 8, 128);
    assert_int_equal(ane_port_create(&port), 0);
    return 0;
}

static int close_clients(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CLASSES; i++)
        iorig_accumulator_release(&client[i]);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
    return 0;
}

struct sent {
    unsigned number, client;
    uint32_t priority, qos; /* as the rule sees them */
};

static void post(const struct sent *sent, uint32_t named)
{
    const struct iorig_accumulator *a = &client[sent->client];
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request request = {.token = a->token,
                                  .priority = sent->priority,
                                  .qos = named,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = 2,
                                  .outputs = 1,
                                  .surface = {a->x, a->state, a->state}};
    uint64_t reference[1] = {sent->number};
    struct ane_request_reply reply;
    size_t size = sizeof(reply);

    if (IOConnectCallAsyncMethod(a->client.connect, ANE_CONTROL_ProgramSendRequest, port, reference, 1,
                                 &doorbell, 1, &request, sizeof(request), NULL, NULL, &reply, &size))
        fail_msg("%s", ane_machine_error());
}

static unsigned receive(void)
{
    struct ane_port_message message;

    assert_int_equal(ane_port_receive(port, &message, LONG_NS), 0);
    assert_int_equal(message.result, kIOReturnSuccess);
    return (unsigned)message.reference[0];
}

static uint64_t engine_ns(unsigned of)
{
    struct ane_machine_client now[CLASSES];

    assert_int_equal(ane_machine_clients(machine, now, CLASSES), CLASSES);
    return now[of].engine_ns;
}

/* The rule, written once more. */
static unsigned place_of(uint32_t qos)
{
    unsigned i = 0;

    while (i < CLASSES && qos < classes[i])
        i++;
    return i;
}

static int compare(const void *left, const void *right)
{
    const struct sent *a = left, *b = right;

    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (place_of(a->qos) != place_of(b->qos))
        return place_of(a->qos) < place_of(b->qos) ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/* Forty requests of all classes and of two priorities: the first starts at once, the others by the rule. */
static void starts_follow_the_rule(void **state)
{
    enum { COUNT = 40 };
    struct sent sent[COUNT];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < COUNT; i++) {
        const unsigned of = i % CLASSES;

        sent[i] = (struct sent){.number = i,
                                .client = of,
                                .priority = (uint32_t)test_rng_range(&rng, 5, 6),
                                .qos = (uint32_t)test_rng_range(&rng, 1, 0x25)};
        post(&sent[i], sent[i].qos);
    }
    qsort(sent + 1, COUNT - 1, sizeof(sent[0]), compare);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(receive(), sent[i].number);
}

/*
 * One client for each class, all with work for ever: each gets the engine when those above it have none. The
 * time of the engine is measured from the first start.
 */
static void time_goes_to_the_most_urgent(void **state)
{
    enum { EACH = 6 };
    unsigned number = 0;

    (void)state;
    for (unsigned round = 0; round < EACH; round++)
        for (unsigned i = CLASSES; i-- > 0; number++)
            post(&(struct sent){.number = number, .client = i, .priority = 5, .qos = classes[i]}, classes[i]);
    receive(); /* of background: nothing else was there when it was sent */
    for (unsigned i = 0; i < CLASSES; i++)
        for (unsigned k = i == CLASSES - 1; k < EACH; k++) {
            const uint64_t before = engine_ns(i);

            receive();
            assert_true(engine_ns(i) > before);
            for (unsigned below = i + 1; below < CLASSES - 1; below++)
                assert_int_equal(engine_ns(below), 0);
        }
    /* The same work: the same time. */
    for (unsigned i = 1; i < CLASSES; i++)
        assert_int_equal(engine_ns(i), engine_ns(0));
}

/* A client that has one more request waiting whenever one ends keeps those below it out; with one request at
 * a time it does not. */
static void background_starves_only_behind_waiting_work(void **state)
{
    enum { ROUNDS = 30, LOW = 4, LOW_FIRST = 1000 };
    const unsigned urgent = 0, low = CLASSES - 1;
    unsigned seen = 0;

    (void)state;
    for (unsigned depth = 2; depth >= 1; depth--) {
        unsigned number = 0;

        for (; number < depth; number++)
            post(&(struct sent){.number = number, .client = urgent, .priority = 5}, PR_QOS_USER_INTERACTIVE);
        for (unsigned i = 0; i < LOW; i++)
            post(&(struct sent){.number = LOW_FIRST + i, .client = low, .priority = 5}, PR_QOS_BACKGROUND);
        seen = 0;
        while (number < ROUNDS) {
            const unsigned ended = receive();

            seen += ended >= LOW_FIRST;
            if (ended < LOW_FIRST)
                post(&(struct sent){.number = number++, .client = urgent, .priority = 5},
                     PR_QOS_USER_INTERACTIVE);
        }
        assert_int_equal(seen, depth == 2 ? 0 : LOW);
        for (unsigned left = depth + LOW - seen; left; left--)
            (void)receive();
    }
}

/* A request without a class has that of its prepare, of its program, or of a hint. */
static void classes_of_programs(void **state)
{
    struct ane_program_prepare prepare = {
        .token = client[1].token, .qos = PR_QOS_USER_INTERACTIVE, .priority = ANE_REQUEST_PRIORITY};
    size_t size = sizeof(prepare);

    (void)state;
    assert_int_equal(IOConnectCallMethod(client[1].client.connect, ANE_CONTROL_ProgramPrepare, NULL, 0,
                                         &prepare, sizeof(prepare), NULL, NULL, &prepare, &size),
                     kIOReturnSuccess);
    post(&(struct sent){.number = 0, .client = 0, .priority = 5}, PR_QOS_DEFAULT);
    post(&(struct sent){.number = 1, .client = 2, .priority = 5}, PR_QOS_DEFAULT);
    post(&(struct sent){.number = 2, .client = 3, .priority = 5}, 0); /* the default */
    post(&(struct sent){.number = 3, .client = 1, .priority = 5}, 0); /* as prepared: first */
    post(&(struct sent){.number = 4, .client = 1, .priority = 5}, PR_QOS_UTILITY);
    assert_int_equal(receive(), 0);
    assert_int_equal(receive(), 3);
    assert_int_equal(receive(), 1);
    assert_int_equal(receive(), 2);
    assert_int_equal(receive(), 4);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_clients, close_clients)
    const struct CMUnitTest tests[] = {
        CASE(starts_follow_the_rule),
        CASE(time_goes_to_the_most_urgent),
        CASE(background_starves_only_behind_waiting_work),
        CASE(classes_of_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
