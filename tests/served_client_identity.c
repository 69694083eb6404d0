/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of clients whose identity is in question: who shares, who was replaced, who has called exec. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "served_client.h"
#include "served_wire.h"

#define KEPT_SECONDS 15.0

static void await_line(void)
{
    char line[64];

    if (!fgets(line, sizeof(line), stdin))
        _exit(0);
}

#define PLACE 0x1000u

struct sharer {
    struct ane_broker *broker;
    struct ane_broker_instance instance;
    uint32_t surface;
    uint64_t random;
};

static IOReturn load_shared(struct sharer *s, const char *folder)
{
    char path[512];
    const struct ane_broker_compile compile = {.size = sizeof(compile), .path = path};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments), .share = 1};
    struct ane_broker_model model = {.size = sizeof(model)};

    snprintf(path, sizeof(path), "%s/sum.mil", folder);
    served_client_good(ane_broker_connect(&s->broker), "ane_broker_connect");
    served_client_good(ane_broker_compile(s->broker, &compile, &model), "ane_broker_compile");
    close(model.main);
    arguments.model = model.model;
    s->instance.size = sizeof(s->instance);
    return ane_broker_load(s->broker, &arguments, &s->instance);
}

static void run_shared(struct sharer *s)
{
    const struct ane_request request = {.priority = s->instance.priority,
                                        .qos = s->instance.qos,
                                        .category = ANE_REQUEST_CATEGORY,
                                        .inputs = 2,
                                        .outputs = 1,
                                        .surface = {s->surface, s->surface, s->surface},
                                        .offset = {0, PLACE, 2 * PLACE}};
    uint8_t *base = ane_surface_base(s->surface);
    struct ane_request_reply reply;
    struct served_operands operands;

    served_operands_make(&operands, &s->random);
    served_operands_put(&operands, base, base + PLACE);
    served_client_good(ane_broker_submit(s->broker, s->instance.instance, &request, &reply),
                       "ane_broker_submit");
    if (served_model_check(&served_models[0], &operands, base + 2 * PLACE) < SERVED_VALUES)
        served_client_fail("A wrong result of a model that is shared.");
    served_client_say("right");
}

/*
 * share FOLDER: loads a model that others may attach to, and prints "refused CODE", or "loaded SHARED" and
 * "right" for each line of standard input after which its result is right.
 */
int served_client_share(int argc, char **argv)
{
    struct sharer s = {.random = 11};
    IOReturn status = load_shared(&s, argc == 1 ? argv[0] : "");

    if (status) {
        served_client_say("refused 0x%x", (unsigned)status);
        ane_broker_disconnect(s.broker);
        return 0;
    }
    if (ane_surface_create(0, 3 * PLACE, &s.surface))
        served_client_fail("ane_surface_create: %s", ane_machine_error());
    served_client_say("loaded %u", s.instance.shared);
    for (;;) {
        await_line();
        run_shared(&s);
    }
}

static void say_grants(const struct pr_service_welcome *welcome)
{
    char hash[2 * sizeof(welcome->cdhash) + 1];

    for (unsigned i = 0; i < sizeof(welcome->cdhash); i++)
        snprintf(hash + 2 * i, 3, "%02x", welcome->cdhash[i]);
    served_client_say("grants 0x%x %u %s %s", welcome->entitlements, welcome->has_signature, hash,
                      welcome->team[0] ? welcome->team : "-");
}

/* grants: prints "waiting"; connects when a line has come, and prints "grants SET SIGNED HASH TEAM". */
int served_client_grants(int argc, char **argv)
{
    struct served_reply reply = {.head = {0}};
    struct served_wire wire;

    (void)argc, (void)argv;
    served_client_say("waiting");
    await_line();
    if (!served_wire_begin(&wire, getenv("ANEMONE_SERVICE"), PR_SERVICE_ROLE_CLIENT, &reply))
        served_client_fail("No session: %s", reply.sentence);
    say_grants(&wire.welcome);
    await_line();
    served_wire_end(&wire);
    return 0;
}

/* exec PROGRAM: begins a session, and becomes another program, which has its socket. */
int served_client_exec(int argc, char **argv)
{
    struct served_reply reply = {.head = {0}};
    struct served_wire wire;
    char number[16];
    int kept;

    if (argc != 1 || !served_wire_begin(&wire, getenv("ANEMONE_SERVICE"), PR_SERVICE_ROLE_CLIENT, &reply))
        served_client_fail("No session: %s", reply.sentence);
    say_grants(&wire.welcome);
    kept = fcntl(wire.socket, F_DUPFD, 10); /* without close-on-exec */
    snprintf(number, sizeof(number), "%d", kept);
    execl(argv[0], argv[0], "kept", number, (char *)NULL);
    served_client_fail("exec %s failed.", argv[0]);
}

/*
 * kept SOCKET: goes on with a session that another program began. Prints "opened" when that opens a client,
 * and "lost" when the session ends.
 */
int served_client_kept(int argc, char **argv)
{
    struct served_wire wire = {.socket = argc == 1 ? atoi(argv[0]) : -1, .serial = 100};
    double end = served_client_clock() + KEPT_SECONDS;

    while (served_client_clock() < end) {
        struct pr_service_registry find = {.step = PR_SERVICE_REGISTRY_FIND, .key = "H11ANEIn"};
        struct pr_service_open request = {.type = ANE_CLIENT_DIRECT_PATH};
        struct served_reply reply;
        int32_t status = served_wire_call(&wire, PR_SERVICE_REGISTRY, &find, sizeof(find), &reply);

        if (status == 0) {
            request.entry = reply.registry.entry;
            status = served_wire_call(&wire, PR_SERVICE_OPEN, &request, sizeof(request), &reply);
            if (status == 0)
                served_client_say("opened");
        }
        if (status == SERVED_WIRE_CLOSED) {
            served_client_say("lost");
            return 0;
        }
        usleep(5000);
    }
    served_client_say("kept");
    return 0;
}
