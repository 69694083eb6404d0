/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that fill up: commands, requests, domains, waits. Legal use waits for a place and is not refused. */
#include "races.h"

#define DOMAINS 7u

/* programs: create and destroy. */

#define LOADERS_MAX 64u

static void create_and_destroy(struct crew_worker *worker)
{
    const io_service_t *service = worker->shared;
    struct outrig_client client;
    uint64_t token;

    crew_at(worker, "IOServiceOpen");
    outrig_good(outrig_open(*service, 0, ANE_CLIENT_CONTROL, &client), "IOServiceOpen");
    while (crew_more()) {
        crew_at(worker, "program create (selector 3)");
        outrig_good(outrig_create(&client, &token), "Program create (selector 3)");
        crew_at(worker, "program destroy (selector 6)");
        outrig_good(outrig_destroy(&client, token), "Program destroy (selector 6)");
    }
    crew_at(worker, "IOServiceClose");
    outrig_good(IOServiceClose(client.connect), "IOServiceClose");
}

unsigned long race_programs(double seconds)
{
    static const unsigned loaders[] = {17, 32, LOADERS_MAX};
    unsigned long count = 0;

    for (unsigned i = 0; i < 3; i++) {
        struct crew_worker worker[LOADERS_MAX] = {{0}};
        struct ane_machine *machine = outrig_machine();
        io_service_t service = ane_machine_service(machine);
        uint64_t used = outrig_dram_used(machine);

        crew_time(seconds / 3);
        crew_start(worker, loaders[i], create_and_destroy, &service);
        crew_join(worker, loaders[i]);
        outrig_tables_check(machine, used);
        ane_machine_destroy(machine);
        count += crew_steps(worker, loaders[i]);
    }
    return count;
}

/* streams: the whole process is one client of the driver. */

#define STREAMS_MAX 64u

static void execute(struct crew_worker *worker)
{
    struct outrig_stream *streams = worker->shared;

    while (crew_more())
        outrig_stream_run(worker, &streams[worker->number]);
}

unsigned long race_streams(double seconds)
{
    static const unsigned threads[] = {25, STREAMS_MAX};
    static struct outrig_stream stream[STREAMS_MAX];
    e5rt_program_library_t library = outrig_library();
    unsigned long count = 0;

    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        crew_at(crew_main(), "making an operation");
        outrig_stream_make(&stream[i], library);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct crew_worker worker[STREAMS_MAX] = {{0}};

        crew_time(seconds / 2);
        crew_start(worker, threads[i], execute, stream);
        crew_join(worker, threads[i]);
        count += crew_steps(worker, threads[i]);
    }
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        outrig_stream_release(&stream[i]);
    outrig_library_release(&library);
    return count;
}

/* All domains pinned, by clients of which some work. */

struct pinned {
    struct outrig_client client[DOMAINS];
    struct outrig_data data[DOMAINS];
    uint64_t address[DOMAINS];
    struct outrig_client owner;
    uint64_t token;
    atomic_bool over;
    unsigned workers; /* how many of them send requests */
    struct crew_worker worker[DOMAINS];
};

static void work_pinned(struct crew_worker *worker)
{
    struct pinned *pinned = worker->shared;
    unsigned i = worker->number;

    while (!atomic_load(&pinned->over))
        outrig_good(outrig_request(worker, &pinned->client[i], pinned->token, &pinned->data[i]),
                    "A request of a client with a pinned domain (selector 2)");
}

static void pinned_start(struct pinned *pinned, io_service_t service, unsigned workers)
{
    pinned->workers = workers;
    outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &pinned->owner), "IOServiceOpen");
    outrig_good(outrig_create(&pinned->owner, &pinned->token), "Program create (selector 3)");
    for (unsigned i = 0; i < DOMAINS; i++) {
        outrig_data_make(&pinned->data[i], 0);
        outrig_good(outrig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &pinned->client[i]), "IOServiceOpen");
        outrig_good(outrig_map(&pinned->client[i], pinned->data[i].surface, &pinned->address[i]),
                    "Memory map (selector 5)");
    }
    crew_start(pinned->worker, workers, work_pinned, pinned);
}

/* The domains are free for others; the work goes on. */
static void pinned_unpin(struct pinned *pinned)
{
    for (unsigned i = 0; i < DOMAINS; i++) {
        IOReturn status;

        do {
            crew_at(crew_main(), "memory unmap (selector 6)");
            status = outrig_unmap(&pinned->client[i], pinned->data[i].surface, pinned->address[i]);
        } while (status == kIOReturnBusy); /* a request uses the surface just now */
        outrig_good(status, "Memory unmap (selector 6)");
    }
}

static unsigned long pinned_end(struct pinned *pinned)
{
    atomic_store(&pinned->over, true);
    crew_join(pinned->worker, pinned->workers);
    for (unsigned i = 0; i < DOMAINS; i++) {
        outrig_good(IOServiceClose(pinned->client[i].connect), "IOServiceClose");
        outrig_data_release(&pinned->data[i]);
    }
    outrig_good(IOServiceClose(pinned->owner.connect), "IOServiceClose");
    return crew_steps(pinned->worker, pinned->workers);
}

/* orphans: the owner closes while another client's prepare waits for a domain it will not get. */

#define ORPHANS 15u /* each waits for a deadline of wall time; make soak runs more */

struct orphans {
    struct outrig_client second;
    uint64_t token;
    atomic_uint asked, answered; /* cycles */
    atomic_bool over;
};

static void prepare_in_vain(struct crew_worker *worker)
{
    struct orphans *orphans = worker->shared;

    for (unsigned cycle = 1;; cycle++) {
        IOReturn status;

        while (atomic_load(&orphans->asked) < cycle) {
            if (atomic_load(&orphans->over))
                return;
            crew_at(worker, "waiting for the next cycle");
            crew_pause(worker, 10);
        }
        crew_at(worker, "program prepare (selector 4)");
        status = outrig_prepare(&orphans->second, orphans->token);
        /* Not found: the owner closed before the call came. */
        if (status != kIOReturnTimeout && status != kIOReturnNotFound)
            crew_fail("A prepare that can get no domain answered 0x%x: %s", (unsigned)status,
                      ane_machine_error());
        atomic_store(&orphans->answered, cycle);
    }
}

static void orphan_one(struct orphans *orphans, io_service_t service, unsigned cycle)
{
    struct crew_worker *self = crew_main();
    struct outrig_client owner;

    crew_at(self, "IOServiceOpen and program create");
    outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &owner), "IOServiceOpen");
    outrig_good(outrig_create(&owner, &orphans->token), "Program create (selector 3)");
    atomic_store(&orphans->asked, cycle);
    crew_pause(self, 300);
    crew_at(self, "IOServiceClose");
    outrig_good(IOServiceClose(owner.connect), "IOServiceClose");
    while (atomic_load(&orphans->answered) < cycle)
        crew_pause(self, 10);
}

unsigned long race_orphans(double seconds)
{
    static struct pinned pinned;
    struct ane_machine *machine = outrig_machine();
    io_service_t service = ane_machine_service(machine);
    struct crew_worker second = {0};
    struct orphans orphans = {0};
    uint64_t used = outrig_dram_used(machine);
    unsigned cycle = 0;

    pinned_start(&pinned, service, 2);
    outrig_good(outrig_open_for(service, 0, ANE_CLIENT_CONTROL, 1, &orphans.second), "IOServiceOpen");
    crew_start(&second, 1, prepare_in_vain, &orphans);
    crew_time(seconds);
    while (cycle < ORPHANS || crew_more())
        orphan_one(&orphans, service, ++cycle);
    atomic_store(&orphans.over, true);
    crew_join(&second, 1);
    outrig_good(IOServiceClose(orphans.second.connect), "IOServiceClose");
    pinned_end(&pinned);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return cycle;
}

/* waiters: more waits at once than the clock has events. */

#define WAITERS        1100u
#define WAITER_CLIENTS 110u

struct waiters {
    struct outrig_client client[WAITER_CLIENTS];
    uint64_t token;
};

static void wait_for_domain(struct crew_worker *worker)
{
    struct waiters *waiters = worker->shared;

    while (crew_more()) {
        IOReturn status;

        crew_at(worker, "program prepare (selector 4)");
        status = outrig_prepare(&waiters->client[worker->number % WAITER_CLIENTS], waiters->token);
        /* Every domain is pinned, so that a wait may end without one. */
        if (status && status != kIOReturnTimeout)
            crew_fail("A prepare that waits for a domain answered 0x%x: %s", (unsigned)status,
                      ane_machine_error());
    }
}

unsigned long race_waiters(double seconds)
{
    static struct pinned pinned;
    static struct waiters waiters;
    static struct crew_worker waiter[WAITERS];
    struct ane_machine *machine = outrig_machine();
    io_service_t service = ane_machine_service(machine);
    uint64_t used = outrig_dram_used(machine);
    unsigned long count;

    pinned_start(&pinned, service, DOMAINS);
    waiters.token = pinned.token;
    for (unsigned i = 0; i < WAITER_CLIENTS; i++)
        outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &waiters.client[i]), "IOServiceOpen");
    for (unsigned i = 0; i < WAITERS; i++)
        atomic_store(&waiter[i].patient, true);
    crew_time(seconds);
    crew_start(waiter, WAITERS, wait_for_domain, &waiters);
    crew_wait();
    pinned_unpin(&pinned);
    for (unsigned i = 0; i < WAITERS; i++)
        atomic_store(&waiter[i].patient, false);
    crew_join(waiter, WAITERS);
    for (unsigned i = 0; i < WAITER_CLIENTS; i++) {
        crew_at(crew_main(), "IOServiceClose");
        outrig_good(IOServiceClose(waiters.client[i].connect), "IOServiceClose");
    }
    count = pinned_end(&pinned) + crew_steps(waiter, WAITERS);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return count;
}

/* domains: more clients than domains, each idle between its calls. */

#define SHARERS_MAX 40u

struct sharers {
    struct outrig_client client[SHARERS_MAX];
    uint64_t token;
};

static void share_domains(struct crew_worker *worker)
{
    struct sharers *sharers = worker->shared;
    struct outrig_data data;

    outrig_data_make(&data, 0);
    while (crew_more()) {
        outrig_good(outrig_request(worker, &sharers->client[worker->number], sharers->token, &data),
                    "A request while other clients are idle (selector 2)");
        if (crew_random(worker, 2))
            crew_pause(worker, 100);
    }
    outrig_data_release(&data);
}

static unsigned long share_between(struct ane_machine *machine, unsigned clients, double seconds)
{
    struct crew_worker worker[SHARERS_MAX] = {{0}};
    io_service_t service = ane_machine_service(machine);
    struct outrig_client owner;
    struct sharers sharers;

    outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &owner), "IOServiceOpen");
    outrig_good(outrig_create(&owner, &sharers.token), "Program create (selector 3)");
    for (unsigned i = 0; i < clients; i++)
        outrig_good(outrig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &sharers.client[i]), "IOServiceOpen");
    crew_time(seconds);
    crew_start(worker, clients, share_domains, &sharers);
    crew_join(worker, clients);
    for (unsigned i = 0; i < clients; i++)
        outrig_good(IOServiceClose(sharers.client[i].connect), "IOServiceClose");
    outrig_good(IOServiceClose(owner.connect), "IOServiceClose");
    return crew_steps(worker, clients);
}

unsigned long race_domains(double seconds)
{
    static const struct {
        unsigned clients;
        double share; /* of the time */
    } round[] = {{9, 0.1}, {12, 0.1}, {20, 0.4}, {SHARERS_MAX, 0.4}};
    struct ane_machine *machine = outrig_machine();
    uint64_t used = outrig_dram_used(machine);
    unsigned long count = 0;

    for (unsigned i = 0; i < 4; i++)
        count += share_between(machine, round[i].clients, round[i].share * seconds);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return count;
}
