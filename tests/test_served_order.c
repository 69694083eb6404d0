/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of different quality of service at one engine that has too much to do. The rule: a request that
 * was accepted before a less urgent one was sent ends before that one. And it is the quality that decides,
 * not arrival: more urgent ones end before others that were accepted earlier. Every process comes to its
 * end, the least urgent too, since the others pause when they have no more to send.
 *
 * Times are the host's clock, which all processes share; none is compared with a duration.
 */
#include "support.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/qos.h"
#include "servedrig.h"

#define REQUESTS 120u

static const char policy[] = "match uid *\n"
                             "    allow com.apple.aned.private.allow\n"
                             "match path @/direct\n"
                             "    allow com.apple.security.temporary-exception.iokit-user-client-class\n";

/* The least urgent first: it is told to begin first. */
static const struct {
    const char *text;
    uint32_t class;
} classes[] = {{"0x09", PR_QOS_BACKGROUND},
               {"0x11", PR_QOS_UTILITY},
               {"0x15", PR_QOS_DEFAULT},
               {"0x21", PR_QOS_USER_INTERACTIVE}};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

struct sent {
    uint64_t begun, accepted;
    uint32_t ended;
};

static struct servedrig rig;
static struct sent sent[CLASSES][REQUESTS];

static int start(void **state)
{
    (void)state;
    servedrig_start(&rig, policy);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    servedrig_kill(&rig);
    return 0;
}

static void run_all(void)
{
    const char *program = servedrig_program(&rig, "direct", 0);
    struct servedrig_client client[CLASSES];
    char count[16];

    snprintf(count, sizeof(count), "%u", REQUESTS);
    for (unsigned i = 0; i < CLASSES; i++) {
        unsigned priority, index;

        servedrig_spawn(&rig, &client[i], program, 0,
                        (const char *const[]){"ordered", rig.models, count, classes[i].text, NULL});
        assert_int_equal(sscanf(servedrig_expect(&rig, &client[i], "ready"), "%u %u", &priority, &index), 2);
        assert_int_equal(priority, pr_qos_program_priority(classes[i].class));
        assert_int_equal(index, pr_qos_queue_index(classes[i].class));
    }
    for (unsigned i = 0; i < CLASSES; i++)
        servedrig_tell(&client[i], "begin");
    for (unsigned i = 0; i < CLASSES; i++) {
        for (unsigned k = 0; k < REQUESTS; k++)
            assert_int_equal(sscanf(servedrig_expect(&rig, &client[i], "request"),
                                    "%" SCNu64 " %" SCNu64 " %" SCNu32, &sent[i][k].begun,
                                    &sent[i][k].accepted, &sent[i][k].ended),
                             3);
        assert_int_equal(servedrig_wait(&rig, &client[i]), 0);
    }
}

/* Each has a place of its own among all. */
static void check_places(void)
{
    static uint8_t seen[CLASSES * REQUESTS + 1];

    memset(seen, 0, sizeof(seen));
    for (unsigned i = 0; i < CLASSES; i++)
        for (unsigned k = 0; k < REQUESTS; k++) {
            assert_true(sent[i][k].ended >= 1 && sent[i][k].ended <= CLASSES * REQUESTS);
            assert_false(seen[sent[i][k].ended]++);
        }
}

static void the_order_is_by_quality_of_service(void **state)
{
    unsigned pairs = 0, overtaken = 0;

    (void)state;
    run_all();
    check_places();
    for (unsigned low = 0; low < CLASSES; low++)
        for (unsigned high = low + 1; high < CLASSES; high++)
            for (unsigned k = 0; k < REQUESTS * REQUESTS; k++) {
                const struct sent *urgent = &sent[high][k / REQUESTS], *other = &sent[low][k % REQUESTS];

                if (urgent->accepted < other->begun) {
                    pairs++;
                    if (urgent->ended > other->ended)
                        fail_msg("A request of class %s that was accepted %" PRIu64
                                 " ns before one of class %s was sent ended after it: %u and %u.",
                                 classes[high].text, other->begun - urgent->accepted, classes[low].text,
                                 urgent->ended, other->ended);
                }
                overtaken += urgent->begun > other->accepted && urgent->ended < other->ended;
            }
    print_message("# %u pairs in order, %u where the more urgent one came later and ended first\n", pairs,
                  overtaken);
    assert_true(pairs > 0);
    assert_true(overtaken > 0);
    servedrig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_order_is_by_quality_of_service)};

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("served_order", tests, start, stop);
}
