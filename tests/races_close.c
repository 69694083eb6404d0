/* SPDX-License-Identifier: Apache-2.0 */
/* Races with IOServiceClose. */
#include "races.h"

#include <sched.h>

/* A connection that others use while it is closed and opened again. */
struct place {
    pthread_mutex_t lock; /* of what follows: they are read and written together */
    struct outrig_client client;
    uint64_t token;
};

static void place_set(struct place *place, const struct outrig_client *client, uint64_t token)
{
    pthread_mutex_lock(&place->lock);
    place->client = *client;
    place->token = token;
    pthread_mutex_unlock(&place->lock);
}

static uint64_t place_get(struct place *place, struct outrig_client *client)
{
    uint64_t token;

    pthread_mutex_lock(&place->lock);
    *client = place->client;
    token = place->token;
    pthread_mutex_unlock(&place->lock);
    return token;
}

/* call-close: selectors that change nothing, against close. */

static void call_nothing(struct crew_worker *worker)
{
    struct place *place = worker->shared;

    while (crew_more()) {
        struct outrig_client client;
        uint64_t session;
        IOReturn status;

        place_get(place, &client);
        crew_at(worker, "a call (selector 10)");
        status = outrig_version(client.connect);
        if (status != kIOReturnSuccess && status != ANE_RETURN_CLOSED)
            crew_fail("Selector 10 answered 0x%x; success while the connection is open, closed afterwards.",
                      (unsigned)status);
        /* The connection had its handshake before others knew of it: a second one cannot succeed. */
        crew_at(worker, "a handshake (selector 0)");
        status = outrig_handshake(&client, 0, &session);
        if (status != kIOReturnBusy && status != ANE_RETURN_CLOSED)
            crew_fail(
                "A second handshake (selector 0) answered 0x%x; busy while the connection is open, closed "
                "afterwards.",
                (unsigned)status);
        if (status == ANE_RETURN_CLOSED)
            sched_yield(); /* until the next connection is there */
    }
}

unsigned long race_call_close(double seconds)
{
    struct place place = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct ane_machine *machine = outrig_machine();
    io_service_t service = ane_machine_service(machine);
    struct crew_worker worker[3] = {{0}}, *self = crew_main();
    struct outrig_client client;

    outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &client), "IOServiceOpen");
    place_set(&place, &client, 0);
    crew_time(seconds);
    crew_start(worker, 3, call_nothing, &place);
    while (crew_more()) {
        crew_pause(self, 20);
        crew_at(self, "IOServiceClose");
        outrig_good(IOServiceClose(client.connect), "IOServiceClose");
        /* A call that is late must not reach the next client, whose handshake is still to come. */
        crew_at(self, "IOServiceOpen");
        outrig_good(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &client.connect), "IOServiceOpen");
        crew_at(self, "a handshake (selector 0)");
        outrig_good(outrig_handshake(&client, 0, &client.session), "The first handshake (selector 0)");
        place_set(&place, &client, 0);
    }
    crew_join(worker, 3);
    outrig_good(IOServiceClose(client.connect), "IOServiceClose");
    ane_machine_destroy(machine);
    return crew_steps(worker, 3);
}

/* evict-close: more clients than domains, closed with requests in flight. */

#define DIRECT_CLIENTS 16u
#define CLOSERS        2u

struct evict {
    io_service_t service;
    uint64_t token;
    struct place place[DIRECT_CLIENTS];
    atomic_bool closing[DIRECT_CLIENTS]; /* one closer at a time */
};

static void send_direct(struct crew_worker *worker)
{
    struct evict *evict = worker->shared;
    struct outrig_data data;

    outrig_data_make(&data, 0);
    while (crew_more()) {
        struct outrig_client client;
        uint64_t token = place_get(&evict->place[worker->number], &client);

        outrig_good_or_ended(outrig_request(worker, &client, token, &data), "A request (selector 2)");
    }
    outrig_data_release(&data);
}

static void close_direct(struct crew_worker *worker)
{
    struct evict *evict = worker->shared;

    while (crew_more()) {
        unsigned chosen = (unsigned)crew_random(worker, DIRECT_CLIENTS);
        struct outrig_client old, next;

        if (atomic_exchange(&evict->closing[chosen], true))
            continue;
        place_get(&evict->place[chosen], &old);
        crew_at(worker, "IOServiceClose");
        outrig_good(IOServiceClose(old.connect), "IOServiceClose");
        crew_at(worker, "IOServiceOpen");
        outrig_good(outrig_open(evict->service, 0, ANE_CLIENT_DIRECT_PATH, &next), "IOServiceOpen");
        place_set(&evict->place[chosen], &next, evict->token);
        atomic_store(&evict->closing[chosen], false);
    }
}

unsigned long race_evict_close(double seconds)
{
    struct ane_machine *machine = outrig_machine();
    struct crew_worker sender[DIRECT_CLIENTS] = {{0}}, closer[CLOSERS] = {{0}};
    uint64_t used = outrig_dram_used(machine);
    struct evict evict = {.service = ane_machine_service(machine)};
    struct outrig_client owner, client;

    outrig_good(outrig_open(evict.service, 0, ANE_CLIENT_CONTROL, &owner), "IOServiceOpen");
    outrig_good(outrig_create(&owner, &evict.token), "Program create (selector 3)");
    for (unsigned i = 0; i < DIRECT_CLIENTS; i++) {
        pthread_mutex_init(&evict.place[i].lock, NULL);
        outrig_good(outrig_open(evict.service, 0, ANE_CLIENT_DIRECT_PATH, &client), "IOServiceOpen");
        place_set(&evict.place[i], &client, evict.token);
    }
    crew_time(seconds);
    crew_start(sender, DIRECT_CLIENTS, send_direct, &evict);
    crew_start(closer, CLOSERS, close_direct, &evict);
    crew_join(sender, DIRECT_CLIENTS);
    crew_join(closer, CLOSERS);
    for (unsigned i = 0; i < DIRECT_CLIENTS; i++)
        outrig_good(IOServiceClose(evict.place[i].client.connect), "IOServiceClose");
    outrig_good(IOServiceClose(owner.connect), "IOServiceClose");
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return crew_steps(sender, DIRECT_CLIENTS) + crew_steps(closer, CLOSERS);
}

/* close-requests: one client with many threads, closed and opened again. */

#define SENDERS_MAX 24u

static void send_shared(struct crew_worker *worker)
{
    struct place *place = worker->shared;
    struct outrig_data data;

    outrig_data_make(&data, 0);
    while (crew_more()) {
        struct outrig_client client;
        uint64_t token = place_get(place, &client);

        outrig_good_or_ended(outrig_request(worker, &client, token, &data), "A request (selector 2)");
    }
    outrig_data_release(&data);
}

static void reopen(struct place *place, io_service_t service)
{
    struct crew_worker *self = crew_main();
    struct outrig_user old, next;

    old.token = place_get(place, &old.client);
    crew_pause(self, 200);
    crew_at(self, "IOServiceClose");
    outrig_good(IOServiceClose(old.client.connect), "IOServiceClose");
    crew_at(self, "IOServiceOpen, program create and prepare");
    outrig_user_make(&next, service);
    place_set(place, &next.client, next.token);
}

static unsigned long close_with(struct ane_machine *machine, unsigned senders, double seconds)
{
    struct place place = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct crew_worker worker[SENDERS_MAX] = {{0}};
    io_service_t service = ane_machine_service(machine);
    struct outrig_user first;

    outrig_user_make(&first, service);
    place_set(&place, &first.client, first.token);
    crew_time(seconds);
    crew_start(worker, senders, send_shared, &place);
    while (crew_more())
        reopen(&place, service);
    crew_join(worker, senders);
    outrig_good(IOServiceClose(place.client.connect), "IOServiceClose");
    return crew_steps(worker, senders);
}

unsigned long race_close_requests(double seconds)
{
    static const unsigned senders[] = {3, 8, SENDERS_MAX};
    struct ane_machine *machine = outrig_machine();
    uint64_t used = outrig_dram_used(machine);
    unsigned long count = 0;

    for (unsigned i = 0; i < 3; i++)
        count += close_with(machine, senders[i], seconds / 3);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return count;
}

/* close-mixed: the same, with others that drive the machine or look at its registers. */

#define MIXED_CLIENTS 4u
#define TM_STATUS     0x54u

struct mixed {
    struct ane_machine *machine;
    uint64_t status_register;
};

static void open_and_close(struct crew_worker *worker)
{
    struct mixed *mixed = worker->shared;
    io_service_t service = ane_machine_service(mixed->machine);
    struct outrig_data data;

    outrig_data_make(&data, 0);
    while (crew_more()) {
        struct outrig_user user;

        crew_at(worker, "IOServiceOpen, program create and prepare");
        outrig_user_make(&user, service);
        for (unsigned i = 0; i < 20 && crew_more(); i++)
            outrig_good(outrig_request(worker, &user.client, user.token, &data), "A request (selector 2)");
        crew_at(worker, "program unprepare and destroy, IOServiceClose");
        outrig_user_release(&user);
    }
    outrig_data_release(&data);
}

static void look_at_registers(struct crew_worker *worker)
{
    struct mixed *mixed = worker->shared;

    while (crew_more()) {
        crew_at(worker, "ane_machine_read32");
        ane_machine_read32(mixed->machine, mixed->status_register);
        ane_machine_interrupt(mixed->machine);
        ane_machine_counter(mixed->machine, "engine.requests");
        crew_pause(worker, 50);
    }
}

static void let_time_pass(struct crew_worker *worker)
{
    struct mixed *mixed = worker->shared;

    while (crew_more()) {
        int status;

        crew_at(worker, "ane_machine_run");
        status = ane_machine_run(mixed->machine, 1 + crew_random(worker, 20000));
        if (status != 0 && status != 1)
            crew_fail("ane_machine_run answered %d: %s", status, ane_machine_error());
    }
}

unsigned long race_close_mixed(double seconds)
{
    struct place place = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct crew_worker sender[3] = {{0}}, client[MIXED_CLIENTS] = {{0}}, reader = {0}, runner = {0};
    struct mixed mixed = {.machine = outrig_machine()};
    struct ane_machine_map map = {.size = sizeof(map)};
    io_service_t service = ane_machine_service(mixed.machine);
    uint64_t used = outrig_dram_used(mixed.machine);
    struct outrig_user first;

    if (ane_machine_map(mixed.machine, &map))
        crew_fail("ane_machine_map: %s", ane_machine_error());
    mixed.status_register = map.task_manager + TM_STATUS;
    outrig_user_make(&first, service);
    place_set(&place, &first.client, first.token);
    crew_time(seconds);
    crew_start(sender, 3, send_shared, &place);
    crew_start(client, MIXED_CLIENTS, open_and_close, &mixed);
    crew_start(&reader, 1, look_at_registers, &mixed);
    crew_start(&runner, 1, let_time_pass, &mixed);
    while (crew_more())
        reopen(&place, service);
    crew_join(sender, 3);
    crew_join(client, MIXED_CLIENTS);
    crew_join(&reader, 1);
    crew_join(&runner, 1);
    outrig_good(IOServiceClose(place.client.connect), "IOServiceClose");
    outrig_tables_check(mixed.machine, used);
    ane_machine_destroy(mixed.machine);
    return crew_steps(sender, 3) + crew_steps(client, MIXED_CLIENTS);
}

/* close-programs: a direct-path client closes while the owner destroys the programs that it uses. */

#define ATTACHED 4u

struct attached {
    struct outrig_client owner, user;
    uint64_t token[ATTACHED];
    pthread_barrier_t barrier;
};

static void attach(struct crew_worker *worker, struct attached *a, io_service_t service,
                   struct outrig_data *data)
{
    outrig_good(outrig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &a->user), "IOServiceOpen");
    for (unsigned i = 0; i < ATTACHED; i++) {
        outrig_good(outrig_create(&a->owner, &a->token[i]), "Program create (selector 3)");
        outrig_good(outrig_request(worker, &a->user, a->token[i], data), "A request (selector 2)");
    }
}

/* From the first program to the last; the close begins with the last one. */
static void destroy_attached(struct crew_worker *worker)
{
    struct attached *a = worker->shared;

    pthread_barrier_wait(&a->barrier);
    for (unsigned i = 0; i < ATTACHED; i++) {
        crew_at(worker, "Program destroy (selector 4)");
        outrig_good(outrig_destroy(&a->owner, a->token[i]), "Program destroy (selector 4)");
    }
}

unsigned long race_close_programs(double seconds)
{
    struct ane_machine *machine = outrig_machine();
    io_service_t service = ane_machine_service(machine);
    uint64_t used = outrig_dram_used(machine);
    struct crew_worker *self = crew_main();
    unsigned long steps = 0;
    struct attached a = {0};
    struct outrig_data data;

    outrig_data_make(&data, 0);
    outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &a.owner), "IOServiceOpen");
    for (crew_time(seconds); crew_more(); steps++) {
        struct crew_worker worker = {0};

        attach(self, &a, service, &data);
        pthread_barrier_init(&a.barrier, NULL, 2);
        crew_start(&worker, 1, destroy_attached, &a);
        pthread_barrier_wait(&a.barrier);
        crew_pause(self, 20);
        crew_at(self, "IOServiceClose");
        outrig_good(IOServiceClose(a.user.connect), "IOServiceClose");
        crew_join(&worker, 1);
        pthread_barrier_destroy(&a.barrier);
    }
    outrig_good(IOServiceClose(a.owner.connect), "IOServiceClose");
    outrig_data_release(&data);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return steps;
}
