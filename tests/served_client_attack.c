/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack FOLDER USER MODEL NUMBER...: tries every call of the ABI and every message of the socket and the
 * broker with numbers of another client. The answer must be the one for a number that never was, code and
 * sentence; where the attacker may have such a thing itself, another answer than for its own shows that the
 * call comes that far. Prints "tried N" at the end.
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <anemone/catalogue.h>

#include "served_attack.h"
#include "served_client.h"

#define SLOT     0u
#define ROOM     (4 * SERVED_ATTACK_PLACE)
#define NO_MODEL "00000000000000000000000000000000000000000000000000000000deadbeef"

/* ---- Things of the attacker's own ---- */

static void good(const struct served_attack *a, int32_t status, const char *what)
{
    if (status)
        served_client_fail("%s of the attacker's own answered 0x%x: %s", what, (unsigned)status, a->sentence);
}

static uint32_t own_connect(struct served_attack *a, uint32_t type)
{
    const struct pr_service_open open_body = {.entry = a->device, .type = type};

    good(a, served_attack_message(a, PR_SERVICE_OPEN, &open_body, sizeof(open_body)), "OPEN");
    return a->reply.connect.connect;
}

static uint64_t open_device(struct served_attack *a, uint32_t connect)
{
    const struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    struct ane_device_info reply;

    good(a,
         served_attack_call(a, PR_RING_METHOD, connect, ANE_DIRECT_DeviceOpen, NULL, 0, &info, sizeof(info),
                            0, sizeof(info)),
         "selector 0");
    memcpy(&reply, a->call.out, sizeof(reply));
    return reply.token;
}

static uint32_t own_surface(struct served_attack *a, uint8_t **base)
{
    const struct pr_service_surface_create create = {.bytes = ROOM};
    uint32_t surface;

    if (served_wire_call(&a->wire, PR_SERVICE_SURFACE, &create, sizeof(create), &a->reply) ||
        a->reply.fds != 1)
        served_client_fail("SURFACE of the attacker's own: %s", a->reply.sentence);
    surface = a->reply.surface.surface;
    if (base) {
        *base = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, a->reply.fd[0], 0);
        if (*base == MAP_FAILED)
            served_client_fail("A surface cannot be mapped.");
    }
    served_reply_close(&a->reply);
    return surface;
}

static uint64_t own_event(struct served_attack *a)
{
    const uint64_t value = 1;

    good(a, served_attack_call(a, PR_RING_EVENT, a->direct, PR_RING_EVENT_CREATE, &value, 1, NULL, 0, 1, 0),
         "an event");
    return a->call.scalar_out[0];
}

static uint64_t own_instance(struct served_attack *a)
{
    struct pr_broker_load load = {.qos = 0};

    memcpy(load.model, a->model, sizeof(load.model));
    good(a, served_attack_broker(a, PR_BROKER_LOAD, &load, sizeof(load), -1), "LOAD");
    return a->reply.instance.instance;
}

static void compile(struct served_attack *a, const char *folder)
{
    const struct pr_broker_compile body = {.name = "sum.mil"};
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    good(a, served_attack_broker(a, PR_BROKER_COMPILE, &body, sizeof(body), descriptor), "COMPILE");
    memcpy(a->model, a->reply.model.model, sizeof(a->model));
    close(descriptor);
}

static void prepare(struct served_attack *a, const char *folder)
{
    struct pr_service_registry find = {.step = PR_SERVICE_REGISTRY_FIND, .key = "H11ANEIn"};
    struct served_reply reply = {.head = {0}};

    if (!served_wire_begin(&a->wire, getenv("ANEMONE_SERVICE"), PR_SERVICE_ROLE_CLIENT, &reply))
        served_client_fail("No session: %s", reply.sentence);
    if (!served_wire_slot(&a->wire, SLOT))
        served_client_fail("No slot.");
    good(a, served_attack_message(a, PR_SERVICE_REGISTRY, &find, sizeof(find)), "REGISTRY");
    a->device = a->reply.registry.entry;
    a->direct = own_connect(a, ANE_CLIENT_DIRECT_PATH);
    a->control = own_connect(a, ANE_CLIENT_CONTROL);
    a->session = open_device(a, a->direct);
    open_device(a, a->control);
    a->surface = own_surface(a, &a->base);
    a->broker = served_wire_open_broker(&a->wire);
    if (a->broker < 0)
        served_client_fail("The attacker has no connection to the broker.");
    compile(a, folder);
    own_instance(a);
    a->instance = a->reply.instance;
}

static uint64_t own(struct served_attack *a, enum served_number kind)
{
    switch (kind) {
    case SERVED_SURFACE: return own_surface(a, NULL);
    case SERVED_PROGRAM: return a->instance.program;
    case SERVED_INSTANCE: return own_instance(a);
    case SERVED_EVENT: return own_event(a);
    case SERVED_CONNECT: return own_connect(a, ANE_CLIENT_DIRECT_PATH);
    default: return a->session;
    }
}

/* In the right range of its kind, and given to no client. */
static uint64_t never(enum served_number kind)
{
    switch (kind) {
    case SERVED_SURFACE: return PR_SERVICE_SURFACE_BIT | 0x7abcde;
    case SERVED_CONNECT: return PR_SERVICE_CONNECT_BASE | 0xabcde;
    case SERVED_TASK: return 0xabcde;
    case SERVED_EVENT: return 0xabcde;
    default: return 0x7abcdef012345;
    }
}

/* Numbers in a sentence are those that the caller named. */
static void without_numbers(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        if (!isdigit((unsigned char)*from)) {
            *to++ = *from++;
            continue;
        }
        while (isxdigit((unsigned char)*from) || *from == 'x')
            from++;
        *to++ = '#';
    }
    *to = '\0';
}

struct answer {
    int32_t status;
    char sentence[512];
};

static void answer_take(struct served_attack *a, struct answer *answer, int32_t status)
{
    answer->status = status;
    snprintf(answer->sentence, sizeof(answer->sentence), "%s", a->sentence);
    without_numbers(answer->sentence);
}

static bool is_same(const struct answer *x, const struct answer *y)
{
    return x->status == y->status && strcmp(x->sentence, y->sentence) == 0;
}

static unsigned try_all(struct served_attack *a, const struct served_attack_numbers *numbers)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < served_trial_count; i++) {
        const struct served_trial *t = &served_trials[i];
        struct answer of_victim, of_none, of_own;

        answer_take(a, &of_victim, t->attempt(a, numbers->number[t->kind]));
        answer_take(a, &of_none, t->attempt(a, never(t->kind)));
        if (!is_same(&of_victim, &of_none)) {
            served_client_say("wrong %s: 0x%x \"%s\" for the victim's, 0x%x \"%s\" for none", t->name,
                              (unsigned)of_victim.status, of_victim.sentence, (unsigned)of_none.status,
                              of_none.sentence);
            wrong++;
        }
        if (!t->own_differs)
            continue;
        answer_take(a, &of_own, t->attempt(a, own(a, t->kind)));
        if (is_same(&of_own, &of_none)) {
            served_client_say("wrong %s: 0x%x \"%s\" also for the attacker's own", t->name,
                              (unsigned)of_own.status, of_own.sentence);
            wrong++;
        }
    }
    return wrong;
}

/* ---- Every selector on a connection of the victim's ---- */

static const struct selector {
    uint32_t operation, number, scalars_in, struct_in, scalars_out, struct_out;
} selectors[] = {
#define ROW(operation, number, name, scalars_in, struct_in, scalars_out, struct_out) \
    {operation, number, scalars_in, struct_in, scalars_out, struct_out},
#define METHOD(operation, number, name, scalars_in, struct_in, scalars_out, struct_out, access, role) \
    ROW(operation, number, name, scalars_in, struct_in, scalars_out, struct_out)
    ANE_CONTROL_METHODS(ROW, PR_RING_METHOD) ANE_DIRECT_METHODS(ROW, PR_RING_METHOD)
        ANE_HINTS_METHODS(ROW, PR_RING_METHOD) ANE_CATALOGUE_METHODS(METHOD, PR_RING_CATALOGUE)
#undef METHOD
#undef ROW
            {PR_RING_ASYNC, ANE_DIRECT_ProgramSendRequest, 1, sizeof(struct ane_request), 0, 40},
    {PR_RING_ASYNC, ANE_DIRECT_ProgramInputsReady, 0, sizeof(struct ane_inputs_ready), 0, 0},
};

static int32_t call_selector(struct served_attack *a, const struct selector *s, uint64_t connect)
{
    static const uint8_t zeros[PR_RING_DATA];
    const uint64_t scalars[PR_RING_SCALARS] = {0};

    return served_attack_call(a, s->operation, (uint32_t)connect, s->number, scalars, s->scalars_in, zeros,
                              s->struct_in, s->scalars_out, s->struct_out);
}

static unsigned try_selectors(struct served_attack *a, uint64_t connect)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        struct answer of_victim, of_none;

        answer_take(a, &of_victim, call_selector(a, &selectors[i], connect));
        answer_take(a, &of_none, call_selector(a, &selectors[i], never(SERVED_CONNECT)));
        if (of_victim.status && is_same(&of_victim, &of_none))
            continue;
        served_client_say("wrong operation %u, selector 0x%x: 0x%x \"%s\" on the victim's connection",
                          selectors[i].operation, selectors[i].number, (unsigned)of_victim.status,
                          of_victim.sentence);
        wrong++;
    }
    return wrong;
}

/* ---- Models of another user's partition, and its row of the status ---- */

static int32_t load_model(struct served_attack *a, const char *model, uint16_t type)
{
    struct pr_broker_load load = {.qos = 0};

    snprintf(load.model, sizeof(load.model), "%s", model);
    return served_attack_broker(a, type, &load, sizeof(load), -1);
}

static int32_t purge_model(struct served_attack *a, const char *model)
{
    struct pr_broker_purge purge = {.pad = {0}};

    snprintf(purge.model, sizeof(purge.model), "%s", model);
    return served_attack_broker(a, PR_BROKER_PURGE, &purge, sizeof(purge), -1);
}

static unsigned try_model(struct served_attack *a, const char *model)
{
    static const uint16_t types[] = {PR_BROKER_LOAD, PR_BROKER_CREATE_INSTANCE};
    unsigned wrong = 0;

    for (unsigned i = 0; i < 3; i++) {
        struct answer of_victim, of_none;

        answer_take(a, &of_victim, i < 2 ? load_model(a, model, types[i]) : purge_model(a, model));
        answer_take(a, &of_none, i < 2 ? load_model(a, NO_MODEL, types[i]) : purge_model(a, NO_MODEL));
        if (of_victim.status && of_victim.status == of_none.status)
            continue;
        served_client_say("wrong method %u of another user's model: 0x%x \"%s\", and 0x%x for none",
                          i < 2 ? types[i] : PR_BROKER_PURGE, (unsigned)of_victim.status, of_victim.sentence,
                          (unsigned)of_none.status);
        wrong++;
    }
    return wrong;
}

/* An owner that is another process, and a team that is another's: create-instance takes neither. */
static unsigned try_forged(struct served_attack *a)
{
    struct pr_broker_load load = {.owner = (uint32_t)getppid()};
    unsigned wrong = 0;

    memcpy(load.model, a->model, sizeof(load.model));
    if (served_attack_broker(a, PR_BROKER_LOAD, &load, sizeof(load), -1) != kIOReturnNotPermitted)
        served_client_say("wrong LOAD with another owner: %s", a->sentence), wrong++;
    load.owner = 0;
    snprintf(load.identity, sizeof(load.identity), "VICTIM");
    if (served_attack_broker(a, PR_BROKER_LOAD, &load, sizeof(load), -1) != kIOReturnNotPermitted)
        served_client_say("wrong LOAD with another team: %s", a->sentence), wrong++;
    return wrong;
}

static unsigned try_status(struct served_attack *a, uint64_t task)
{
    struct pr_service_client rows[PR_SERVICE_STATUS_ROWS];
    struct pr_service_status_page page;
    long count = served_wire_status(getenv("ANEMONE_SERVICE"), &page, rows, PR_SERVICE_STATUS_ROWS);
    unsigned wrong = count < 1;

    (void)a;
    for (long i = 0; i < count && i < (long)PR_SERVICE_STATUS_ROWS; i++)
        wrong += rows[i].task == task || rows[i].uid != getuid();
    if (wrong)
        served_client_say("wrong status: %ld rows, of which %u are another user's", count, wrong);
    return wrong;
}

int served_client_attack(int argc, char **argv)
{
    struct served_attack_numbers numbers;
    static struct served_attack a;
    unsigned wrong;

    if (argc != 3 + SERVED_NUMBERS)
        served_client_fail("attack FOLDER USER MODEL NUMBER..., where USER is `other` or `same`");
    snprintf(numbers.model, sizeof(numbers.model), "%s", argv[2]);
    for (unsigned i = 0; i < SERVED_NUMBERS; i++)
        numbers.number[i] = strtoull(argv[3 + i], NULL, 0);
    prepare(&a, argv[0]);
    wrong = try_all(&a, &numbers) + try_selectors(&a, numbers.number[SERVED_CONNECT]) + try_forged(&a);
    if (strcmp(argv[1], "other") == 0)
        wrong += try_model(&a, numbers.model) + try_status(&a, numbers.number[SERVED_TASK]);
    served_client_say("tried %zu, %u wrong", served_trial_count + sizeof(selectors) / sizeof(selectors[0]),
                      wrong);
    served_wire_end(&a.wire);
    return wrong != 0;
}
