/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a service that end at any moment, or break its rules: a witness beside them has right results
 * all the time, and nothing of them is left in the service and the broker. So do the broker and the compile
 * service themselves.
 */
#include "support.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "served_models.h"
#include "served_wire.h"
#include "servedrig.h"

static const char policy[] = "match uid *\n"
                             "    allow com.apple.aned.private.allow\n"
                             "match path @/direct\n"
                             "    allow com.apple.security.temporary-exception.iokit-user-client-class\n"
                             "    allow com.apple.ane.allow-dataChaining-access\n"
                             "    allow com.apple.ane.memory\n";

#define OTHER_USER 61001u /* exists on no machine; the kernel does not ask for more */

static struct servedrig rig;
static struct servedrig_figures before;
static struct test_rng rng;
static char plain[128], direct[128];

static int start(void **state)
{
    (void)state;
    test_rng_init(&rng, 0x6b);
    servedrig_start(&rig, policy);
    snprintf(plain, sizeof(plain), "%s", servedrig_program(&rig, "plain", 0));
    snprintf(direct, sizeof(direct), "%s", servedrig_program(&rig, "direct", 0));
    return 0;
}

static int stop(void **state)
{
    (void)state;
    servedrig_kill(&rig);
    return 0;
}

/* A test that failed has ended the service: what comes after it shows nothing. */
static int is_running(void **state)
{
    (void)state;
    return rig.service ? 0 : -1;
}

/* A client that computes for so long, with results of its own. */
static void compute(struct servedrig_client *client, const char *way, unsigned model, const char *seconds)
{
    const bool is_direct = strcmp(way, "direct") == 0 || strcmp(way, "flight") == 0;
    char seed[32];
    const char *const arguments[] = {
        "run", way, served_models[model % SERVED_MODELS].name, rig.models, seconds, seed, "0x15", NULL};

    snprintf(seed, sizeof(seed), "%" PRIu64, test_rng_u64(&rng));
    servedrig_spawn(&rig, client, is_direct ? direct : plain, 0, arguments);
}

static void ended_well(struct servedrig_client *client)
{
    unsigned long results = strtoul(servedrig_expect(&rig, client, "done"), NULL, 10);

    assert_true(results > 0);
    assert_int_equal(servedrig_wait(&rig, client), 0);
}

static const char *const ways[] = {"stream", "submitted", "brokered", "direct", "flight"};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Right results by each way first: what follows is worth nothing without. */
static void each_way_has_right_results(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        struct servedrig_client client;

        compute(&client, ways[i], i, "0.2");
        servedrig_expect(&rig, &client, "running");
        ended_well(&client);
    }
    servedrig_rest(&rig, &before);
}

/* At any moment: while it connects, compiles, loads, and computes. */
static void a_client_that_is_killed_leaves_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * WAYS; i++) {
        struct servedrig_client witness, client;

        compute(&witness, ways[(i + 2) % WAYS], i + 1, "0.2");
        servedrig_expect(&rig, &witness, "running");
        compute(&client, ways[i % WAYS], i, "30");
        if (i % 3)
            servedrig_expect(&rig, &client, "running");
        usleep((useconds_t)test_rng_range(&rng, 0, 20000));
        servedrig_end(&rig, &client);
        ended_well(&witness);
    }
    servedrig_settle(&rig, &before);
}

static void a_client_that_breaks_rules_leaves_nothing(void **state)
{
    static const char *const kinds[] = {"silent", "half",         "stranger",   "session", "broker",
                                        "flood",  "spoiled-ring", "noisy-ring", "hoard"};

    (void)state;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct servedrig_client witness, client;
        char seed[32];
        const char *const arguments[] = {"hostile", kinds[i], "0.3", seed, NULL};

        snprintf(seed, sizeof(seed), "%" PRIu64, test_rng_u64(&rng));
        compute(&witness, ways[i % WAYS], i, "0.4");
        servedrig_expect(&rig, &witness, "running");
        servedrig_spawn(&rig, &client, direct, 0, arguments);
        servedrig_expect(&rig, &client, "running");
        if (i % 2)
            usleep((useconds_t)test_rng_range(&rng, 0, 250000)), servedrig_end(&rig, &client);
        else
            assert_int_equal(servedrig_wait(&rig, &client), 0);
        ended_well(&witness);
        print_message("# %s\n", kinds[i]);
        servedrig_settle(&rig, &before);
    }
}

/* A user who takes every connection that it may have keeps no other from the service. */
static void a_user_does_not_keep_others_out(void **state)
{
    struct servedrig_client crowd, witness;

    (void)state;
    if (getuid() != 0) {
        print_message("# Only root can run clients as other users.\n");
        skip();
    }
    servedrig_spawn(&rig, &crowd, plain, OTHER_USER,
                    (const char *const[]){"hostile", "crowd", "30", "1", NULL});
    servedrig_expect(&rig, &crowd, "running");
    for (unsigned i = 0; i < WAYS; i++) {
        compute(&witness, ways[i], i, "0.1");
        servedrig_expect(&rig, &witness, "running");
        ended_well(&witness);
    }
    servedrig_end(&rig, &crowd);
    servedrig_settle(&rig, &before);
}

/* The broker, then the compile service; the next clients are served. */
static void a_child_of_the_service_that_is_killed_is_restarted(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct pr_service_status_page page;
        struct servedrig_client client;
        uint32_t restarts;
        pid_t child;

        assert_true(served_wire_status(rig.socket, &page, NULL, 0) >= 0);
        child = (pid_t)(i ? page.compiler_pid : page.broker_pid);
        restarts = i ? page.compiler_restarts : page.broker_restarts;
        assert_true(child > 0);
        assert_int_equal(kill(child, SIGKILL), 0);
        for (unsigned wait = 0; wait < 1000; wait++) {
            assert_true(served_wire_status(rig.socket, &page, NULL, 0) >= 0);
            if ((i ? page.compiler_restarts : page.broker_restarts) != restarts)
                break;
            usleep(10000);
        }
        assert_true((i ? page.compiler_restarts : page.broker_restarts) > restarts);
        compute(&client, "brokered", 6 + i, "0.1");
        servedrig_expect(&rig, &client, "running");
        ended_well(&client);
        /* With the broker the compile services are restarted, too. */
        assert_true(served_wire_status(rig.socket, &page, NULL, 0) >= 0);
        before.broker_restarts = page.broker_restarts;
        before.compiler_restarts = page.compiler_restarts;
        servedrig_settle(&rig, &before);
    }
}

/* One of them does not move: it is not waited for. */
static void the_service_stops_while_clients_compute(void **state)
{
    struct servedrig_client client[WAYS], stopped;

    (void)state;
    compute(&stopped, "flight", 1, "30");
    servedrig_expect(&rig, &stopped, "running");
    assert_int_equal(kill(stopped.pid, SIGSTOP), 0);
    for (unsigned i = 0; i < WAYS; i++) {
        compute(&client[i], ways[i], i, "30");
        servedrig_expect(&rig, &client[i], "running");
    }
    servedrig_stop(&rig);
    /* Each gets a status, and ends with it. */
    for (unsigned i = 0; i < WAYS; i++)
        assert_int_equal(servedrig_wait(&rig, &client[i]), 1 << 8);
    servedrig_end(&rig, &stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_way_has_right_results, is_running),
        cmocka_unit_test_setup(a_client_that_is_killed_leaves_nothing, is_running),
        cmocka_unit_test_setup(a_client_that_breaks_rules_leaves_nothing, is_running),
        cmocka_unit_test_setup(a_user_does_not_keep_others_out, is_running),
        cmocka_unit_test_setup(a_child_of_the_service_that_is_killed_is_restarted, is_running),
        cmocka_unit_test_setup(the_service_stops_while_clients_compute, is_running),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("served_kill", tests, start, stop);
}
