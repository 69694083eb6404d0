/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that share a service, seen from outside: none reaches what another has, whatever it calls and
 * sends, and none is taken for another. What is tried is in served_client_attack.c.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anemone/abi.h>

#include "base/packet.h"
#include "protocol/entitlement.h"
#include "served_attack.h"
#include "served_wire.h"
#include "servedrig.h"

/* Users that exist on no machine; the kernel does not ask for more. */
#define OTHER_USER   61001u
#define ANOTHER_USER 61002u
#define SHARING_USER 61003u

#define EVERY_KEY                                              \
    "    allow com.apple.ane.iokit-user-access\n"              \
    "    allow com.apple.ane.allow-dataChaining-access\n"      \
    "    allow com.apple.ane.memory\n"                         \
    "    allow com.apple.ane.allow-data\n"                     \
    "    allow com.apple.private.ane.allow-set-client-hints\n" \
    "    allow com.apple.security.temporary-exception.iokit-user-client-class\n"

static const char policy[] = "match uid *\n"
                             "    allow com.apple.aned.private.allow\n"
                             "match path @/victim\n"
                             "    team VICTIM\n" EVERY_KEY "match path @/attacker\n"
                             "    team ATTACKER\n" EVERY_KEY "match path @/mine\n"
                             "    team MINE\n"
                             "    allow com.apple.aned.private.processModelShare.allow\n"
                             "match path @/other_team\n"
                             "    team OTHER\n"
                             "    allow com.apple.aned.private.processModelShare.allow\n"
                             "match path @/other_hash\n"
                             "    team MINE\n"
                             "    allow com.apple.aned.private.processModelShare.allow\n"
                             "match uid 61003\n" /* SHARING_USER: also what has no signature */
                             "    team MINE\n"
                             "    allow com.apple.aned.private.processModelShare.allow\n"
                             "match path @/no_key\n"
                             "    team MINE\n"
                             "match path @/direct\n"
                             "    allow com.apple.security.temporary-exception.iokit-user-client-class\n";

static struct servedrig rig;
static struct servedrig_figures before; /* of the service at rest; each test leaves it as it was */

/* One client by the way that makes the most for good: the machine's own thread. */
static int start(void **state)
{
    struct servedrig_client client;

    (void)state;
    servedrig_start(&rig, policy);
    servedrig_spawn(&rig, &client, servedrig_program(&rig, "direct", 0), 0,
                    (const char *const[]){"run", "flight", "sum", rig.models, "0.05", "1", "0x15", NULL});
    assert_int_equal(servedrig_wait(&rig, &client), 0);
    servedrig_rest(&rig, &before);
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

/* ---- Numbers ---- */

static void look_after_victim(struct servedrig_client *victim)
{
    servedrig_tell(victim, "look");
    servedrig_expect(&rig, victim, "unchanged");
}

/* The victim's numbers, as arguments of the attacker. */
static void attack(uid_t victim_user, uid_t attacker_user)
{
    const char *arguments[5 + SERVED_NUMBERS] = {"attack", rig.models,
                                                 victim_user == attacker_user ? "same" : "other"};
    struct servedrig_client victim, attacker;
    char numbers[512], *word, *rest = numbers;
    unsigned count = 3;

    servedrig_spawn(&rig, &victim, servedrig_program(&rig, "victim", 1), victim_user,
                    (const char *const[]){"victim", rig.models, NULL});
    snprintf(numbers, sizeof(numbers), "%s", servedrig_expect(&rig, &victim, "holds"));
    while ((word = strtok_r(rest, " ", &rest)) && count < 4 + SERVED_NUMBERS)
        arguments[count++] = word;
    assert_int_equal(count, 4 + SERVED_NUMBERS);
    look_after_victim(&victim);
    servedrig_spawn(&rig, &attacker, servedrig_program(&rig, "attacker", 2), attacker_user, arguments);
    while (servedrig_line(&rig, &attacker) && strncmp(attacker.line, "tried", 5) != 0)
        print_error("# %s\n", attacker.line);
    print_message("# %s\n", attacker.line);
    look_after_victim(&victim);
    assert_int_equal(servedrig_wait(&rig, &attacker), 0);
    look_after_victim(&victim);
    close(victim.in);
    victim.in = -1;
    assert_int_equal(servedrig_wait(&rig, &victim), 0);
    servedrig_settle(&rig, &before);
}

static void numbers_of_another_process_name_nothing(void **state)
{
    (void)state;
    attack(0, 0);
}

static void numbers_of_another_user_name_nothing(void **state)
{
    (void)state;
    if (getuid() != 0) {
        print_message("# Only root can run clients as other users.\n");
        skip();
    }
    attack(OTHER_USER, ANOTHER_USER);
}

/* ---- Roles ---- */

/* The broker's socket is the service's own: no process becomes the broker by saying so. */
static void no_process_takes_the_brokers_place(void **state)
{
    static const uint16_t types[] = {PR_BROKER_NOTICE_CLIENT, PR_BROKER_NOTICE_COMPILER,
                                     PR_BROKER_NOTICE_TIER,   PR_COMPILE_COMPILE,
                                     PR_COMPILE_FIND,         PR_COMPILE_PURGE};
    struct served_reply reply = {.head = {0}};
    struct served_wire wire;

    (void)state;
    assert_false(served_wire_begin(&wire, rig.socket, PR_SERVICE_ROLE_BROKER, &reply));
    assert_int_equal(reply.head.status, kIOReturnBadArgument);
    assert_int_equal(reply.fds, 0);
    /* Nor does its socket take what only the service sends, or what compile services take. */
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const struct pr_broker_client body = {.task = 1, .entitlements = UINT32_MAX, .own_user = 1};
        int broker, null = open("/dev/null", O_RDWR | O_CLOEXEC);

        assert_true(served_wire_begin(&wire, rig.socket, PR_SERVICE_ROLE_CLIENT, NULL));
        broker = served_wire_open_broker(&wire);
        assert_true(broker >= 0);
        assert_int_equal(served_wire_broker(broker, types[i], &body, sizeof(body), &null, 1, &reply),
                         kIOReturnBadArgument);
        close(null), close(broker);
        served_wire_end(&wire);
    }
    servedrig_settle(&rig, &before);
}

/* ---- The attach rule ---- */

/* Too large to be read: its process has no signature. The rest of the file is a hole. */
static const char *program_without_signature(void)
{
    const char *program = servedrig_program(&rig, "no_signature", 0);

    assert_int_equal(truncate(program, (off_t)600 << 20), 0);
    return program;
}

static void shares(uid_t user, const char *first, const char *second, bool attaches, IOReturn refusal)
{
    const char *const arguments[] = {"share", rig.models, NULL};
    struct servedrig_client owner, comer;
    char expected[32];

    servedrig_spawn(&rig, &owner, first, user, arguments);
    assert_string_equal(servedrig_expect(&rig, &owner, "loaded"), "0");
    servedrig_spawn(&rig, &comer, second, user, arguments);
    if (refusal) {
        snprintf(expected, sizeof(expected), "0x%x", (unsigned)refusal);
        assert_string_equal(servedrig_expect(&rig, &comer, "refused"), expected);
    } else {
        assert_string_equal(servedrig_expect(&rig, &comer, "loaded"), attaches ? "1" : "0");
        servedrig_tell(&comer, "run");
        servedrig_expect(&rig, &comer, "right");
    }
    servedrig_tell(&owner, "run");
    servedrig_expect(&rig, &owner, "right");
    /* The owner leaves first: who attached goes on. */
    servedrig_end(&rig, &owner);
    if (!refusal) {
        servedrig_tell(&comer, "run");
        servedrig_expect(&rig, &comer, "right");
    }
    close(comer.in);
    comer.in = -1;
    assert_int_equal(servedrig_wait(&rig, &comer), 0);
    servedrig_settle(&rig, &before);
}

static void a_model_is_shared_by_team_and_hash(void **state)
{
    const char *mine = servedrig_program(&rig, "mine", 0);
    const char *other_team = servedrig_program(&rig, "other_team", 0);
    const char *other_hash = servedrig_program(&rig, "other_hash", 1);
    const char *no_key = servedrig_program(&rig, "no_key", 0);

    (void)state;
    shares(0, mine, mine, true, 0);
    shares(0, mine, other_team, false, 0);
    shares(0, other_team, mine, false, 0);
    shares(0, mine, other_hash, false, 0);
    shares(0, other_hash, mine, false, 0);
    shares(0, mine, no_key, false, kIOReturnNotPrivileged);
}

/* A policy can grant such a process the key and the team by its user alone: it attaches to nothing. */
static void a_model_is_not_shared_without_a_signature(void **state)
{
    const char *mine = servedrig_program(&rig, "mine", 0), *no_signature = program_without_signature();

    (void)state;
    if (getuid() != 0) {
        print_message("# Only root can run clients as other users.\n");
        skip();
    }
    shares(SHARING_USER, mine, mine, true, 0);
    shares(SHARING_USER, mine, no_signature, false, kIOReturnNotPermitted);
}

/* ---- Who is at the other end ---- */

struct grants {
    unsigned set, is_signed;
    char hash[64], team[64];
};

static void read_grants(struct servedrig_client *client, struct grants *grants)
{
    assert_int_equal(sscanf(servedrig_expect(&rig, client, "grants"), "%x %u %63s %63s", &grants->set,
                            &grants->is_signed, grants->hash, grants->team),
                     4);
}

static void begin_grants(struct servedrig_client *client, const char *program)
{
    servedrig_spawn(&rig, client, program, 0, (const char *const[]){"grants", NULL});
    servedrig_expect(&rig, client, "waiting");
}

static void end_grants(struct servedrig_client *client)
{
    close(client->in);
    client->in = -1;
    assert_int_equal(servedrig_wait(&rig, client), 0);
}

/* Connects when it is told to; its session ends with it. */
static void take_grants(struct servedrig_client *client, struct grants *grants)
{
    servedrig_tell(client, "connect");
    read_grants(client, grants);
    end_grants(client);
}

/* The hash is of what runs; a path is that of the file that runs. */
static void a_replaced_executable_is_not_what_runs(void **state)
{
    const unsigned key = PR_ENTITLEMENT_BIT(DIRECT_CLASS);
    struct grants first, meanwhile, after;
    struct servedrig_client client;
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s", servedrig_program(&rig, "direct", 3));
    begin_grants(&client, path);
    take_grants(&client, &first);
    assert_true(first.set & key);
    assert_true(first.is_signed);

    /* Another file takes its name before it connects; it runs, and waits at its standard input. */
    begin_grants(&client, path);
    assert_int_equal(rename(servedrig_program(&rig, "replacement", 4), path), 0);
    take_grants(&client, &meanwhile);
    assert_false(meanwhile.set & key);
    assert_string_equal(meanwhile.hash, first.hash);

    begin_grants(&client, path);
    take_grants(&client, &after);
    assert_true(after.set & key);
    assert_string_not_equal(after.hash, first.hash);
}

static void exec_after_connecting_loses_the_session(void **state)
{
    const char *program = servedrig_program(&rig, "direct", 5);
    const char *other = servedrig_program(&rig, "plain", 6);
    struct servedrig_client client;
    struct grants grants;

    (void)state;
    servedrig_spawn(&rig, &client, program, 0, (const char *const[]){"exec", other, NULL});
    read_grants(&client, &grants);
    assert_true(grants.set & PR_ENTITLEMENT_BIT(DIRECT_CLASS));
    assert_true(servedrig_line(&rig, &client));
    assert_string_equal(client.line, "lost");
    assert_int_equal(servedrig_wait(&rig, &client), 0);
    servedrig_settle(&rig, &before);
}

/* A child begins a session and gives its socket away. */
static _Noreturn void give_socket(int to)
{
    struct served_wire wire;
    char byte = 0;

    if (!served_wire_begin(&wire, rig.socket, PR_SERVICE_ROLE_CLIENT, NULL) ||
        base_packet_send(to, "s", 1, NULL, 0, &wire.socket, 1, 1))
        _exit(1);
    while (read(to, &byte, 1) < 0)
        ;
    _exit(0);
}

/* Its session is the child's, and ends with the child, whoever holds the socket. */
static void a_socket_does_not_outlive_its_process(void **state)
{
    struct pr_service_registry find = {.step = PR_SERVICE_REGISTRY_FIND, .key = "H11ANEIn"};
    struct served_wire wire = {.serial = 50};
    struct served_reply reply;
    unsigned count;
    int pair[2], status;
    char byte;
    pid_t child;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        close(pair[0]);
        give_socket(pair[1]);
    }
    close(pair[1]);
    assert_int_equal(base_packet_receive(pair[0], &byte, 1, &wire.socket, 1, &count), 1);
    assert_int_equal(count, 1);
    close(pair[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* Once the child has ended nothing is granted any more, and the session ends soon. */
    for (unsigned i = 0; i < 2000; i++) {
        struct pr_service_surface_create create = {.bytes = 4096};

        if (served_wire_call(&wire, PR_SERVICE_REGISTRY, &find, sizeof(find), &reply) == SERVED_WIRE_CLOSED)
            break;
        assert_int_not_equal(served_wire_call(&wire, PR_SERVICE_SURFACE, &create, sizeof(create), &reply), 0);
        if (reply.head.magic == 0)
            break;
        usleep(5000);
    }
    assert_int_equal(served_wire_call(&wire, PR_SERVICE_REGISTRY, &find, sizeof(find), &reply),
                     SERVED_WIRE_CLOSED);
    close(wire.socket);
    servedrig_settle(&rig, &before);
}

static void the_service_stops_cleanly(void **state)
{
    (void)state;
    servedrig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(numbers_of_another_process_name_nothing, is_running),
        cmocka_unit_test_setup(numbers_of_another_user_name_nothing, is_running),
        cmocka_unit_test_setup(no_process_takes_the_brokers_place, is_running),
        cmocka_unit_test_setup(a_model_is_shared_by_team_and_hash, is_running),
        cmocka_unit_test_setup(a_model_is_not_shared_without_a_signature, is_running),
        cmocka_unit_test_setup(a_replaced_executable_is_not_what_runs, is_running),
        cmocka_unit_test_setup(exec_after_connecting_loses_the_session, is_running),
        cmocka_unit_test_setup(a_socket_does_not_outlive_its_process, is_running),
        cmocka_unit_test_setup(the_service_stops_cleanly, is_running),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("served_isolation", tests, start, stop);
}
