/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that are destroyed while something of theirs is left, and forks. */
#include "races.h"

#include <unistd.h>

/* destroy-open: connections outlive their machine. */

#define CONNECTIONS     64u
#define CONNECTIONS_MIN 1100u /* more than there can be at once */

static void expect_closed(IOReturn status, const char *call)
{
    if (status != ANE_RETURN_CLOSED)
        crew_fail("%s on a connection whose machine was destroyed answered 0x%x; it is closed, 0x%x.", call,
                  (unsigned)status, (unsigned)ANE_RETURN_CLOSED);
}

static void destroy_with_connections(struct crew_worker *self)
{
    struct ane_machine *machine = outrig_machine();
    io_service_t service = ane_machine_service(machine);
    struct outrig_client client[CONNECTIONS];
    struct outrig_user user;
    struct outrig_data data;

    for (unsigned i = 0; i < CONNECTIONS; i++) {
        crew_at(self, "IOServiceOpen");
        outrig_good(outrig_open(service, 0, i % 2 ? ANE_CLIENT_CONTROL : ANE_CLIENT_DIRECT_PATH, &client[i]),
                    "IOServiceOpen");
    }
    outrig_user_make(&user, service);
    outrig_data_make(&data, 0);
    outrig_good(outrig_request(self, &user.client, user.token, &data), "A request (selector 2)");
    crew_at(self, "ane_machine_destroy");
    ane_machine_destroy(machine);
    expect_closed(outrig_request(self, &user.client, user.token, &data), "A request (selector 2)");
    expect_closed(IOServiceClose(user.client.connect), "IOServiceClose");
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        crew_at(self, "a call after ane_machine_destroy");
        expect_closed(outrig_version(client[i].connect), "Selector 10");
        /* Some are never closed by their owner. */
        if (i % 4)
            expect_closed(IOServiceClose(client[i].connect), "IOServiceClose");
    }
    outrig_data_release(&data);
}

unsigned long race_destroy_open(double seconds)
{
    unsigned long count = 0;

    crew_time(seconds);
    while (count < CONNECTIONS_MIN || crew_more()) {
        destroy_with_connections(crew_main());
        count += CONNECTIONS + 1;
    }
    return count;
}

/* release-destroy: the last use of surfaces ends while their machine goes. */

#define SURFACES  128u
#define RELEASERS 2u

struct release {
    struct outrig_data data[SURFACES];
    atomic_uint round;               /* rises when the surfaces may be released */
    atomic_uint finished[RELEASERS]; /* the last round of each */
    atomic_bool over;
};

static void release_surfaces(struct crew_worker *worker)
{
    struct release *release = worker->shared;

    for (unsigned round = 1;; round++) {
        while (atomic_load(&release->round) < round) {
            if (atomic_load(&release->over))
                return;
            crew_at(worker, "waiting for the next round");
        }
        for (unsigned i = worker->number; i < SURFACES; i += RELEASERS) {
            crew_at(worker, "ane_surface_release");
            outrig_data_release(&release->data[i]);
            if (ane_surface_lookup(release->data[i].surface))
                crew_fail("Surface 0x%x is still found after its release.", release->data[i].surface);
        }
        atomic_store(&release->finished[worker->number], round);
    }
}

static void release_round(struct release *release, unsigned round)
{
    struct crew_worker *self = crew_main();
    struct ane_machine *machine = outrig_machine();
    struct outrig_user user;

    outrig_user_make(&user, ane_machine_service(machine));
    for (unsigned i = 0; i < SURFACES; i++) {
        outrig_data_make(&release->data[i], 0);
        outrig_good(outrig_request(self, &user.client, user.token, &release->data[i]),
                    "A request (selector 2)");
    }
    atomic_store(&release->round, round);
    crew_pause(self, 1000);
    crew_at(self, "IOServiceClose");
    outrig_good(IOServiceClose(user.client.connect), "IOServiceClose");
    crew_at(self, "ane_machine_destroy");
    ane_machine_destroy(machine);
    for (unsigned i = 0; i < RELEASERS; i++)
        while (atomic_load(&release->finished[i]) < round)
            crew_pause(self, 10);
}

unsigned long race_release_destroy(double seconds)
{
    static struct release release;
    struct crew_worker worker[RELEASERS] = {{0}};
    unsigned round = 0;

    crew_start(worker, RELEASERS, release_surfaces, &release);
    crew_time(seconds);
    do
        release_round(&release, ++round);
    while (crew_more());
    atomic_store(&release.over, true);
    crew_join(worker, RELEASERS);
    return round * SURFACES;
}

/* fork-destroy: in a child, calls on the parent's machine fail, read 0 and change nothing. */

static void misuse_in_child(struct ane_machine *machine)
{
    uint64_t address;
    int status = 0;

    if (ane_machine_now(machine) || !ane_machine_dram_alloc(machine, 1, &address))
        status = 1;
    ane_machine_destroy(machine);
    _exit(status);
}

unsigned long race_fork_destroy(double seconds)
{
    struct ane_machine *machine = outrig_machine();
    struct crew_worker *self = crew_main();
    uint64_t used = outrig_dram_used(machine);
    struct outrig_user user;
    struct outrig_data data;
    unsigned long count = 0;

    outrig_user_make(&user, ane_machine_service(machine));
    outrig_data_make(&data, 0);
    crew_time(seconds);
    do {
        IOReturn status;
        pid_t child = crew_fork();

        if (child == 0)
            misuse_in_child(machine);
        crew_child(self, child, "it calls ane_machine_destroy on the parent's machine");
        status = outrig_request(self, &user.client, user.token, &data);
        if (status)
            crew_fail("After ane_machine_destroy in a forked child a request in the parent answered 0x%x: %s",
                      (unsigned)status, ane_machine_error());
        count++;
    } while (crew_more());
    outrig_user_release(&user);
    outrig_data_release(&data);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    return count;
}

/*
 * fork: other threads are inside the library at the fork. From the first fork to the
 * last they do nothing that allocates: in a child, the sanitizers' allocators stay
 * locked when another thread of the parent was in them.
 */

#define INSIDERS 6u

struct insiders {
    struct outrig_user user;
    atomic_uint inside; /* threads whose surface the driver has mapped */
    atomic_bool over;
};

static void stay_inside(struct crew_worker *worker)
{
    struct insiders *insiders = worker->shared;
    const struct outrig_user *user = &insiders->user;
    struct outrig_data data;
    bool first = true;

    outrig_data_make(&data, 0);
    while (!atomic_load(&insiders->over)) {
        uint32_t surface;

        outrig_good(outrig_request(worker, &user->client, user->token, &data), "A request (selector 2)");
        crew_at(worker, "ane_surface_create and release");
        if (worker->number % 2 && !ane_surface_create(0, 1, &surface))
            ane_surface_release(surface);
        if (outrig_version(user->client.connect) != kIOReturnSuccess)
            crew_fail("Selector 10 failed: %s", ane_machine_error());
        if (first)
            atomic_fetch_add(&insiders->inside, 1);
        first = false;
    }
    outrig_data_release(&data);
}

unsigned long race_fork(double seconds)
{
    struct crew_worker worker[INSIDERS] = {{0}}, *self = crew_main();
    struct ane_machine *machine = outrig_machine();
    struct insiders insiders = {0};
    unsigned long count = 0;

    outrig_user_make(&insiders.user, ane_machine_service(machine));
    crew_start(worker, INSIDERS, stay_inside, &insiders);
    while (atomic_load(&insiders.inside) < INSIDERS)
        crew_pause(self, 100);
    crew_time(seconds);
    do {
        pid_t child = crew_fork();

        if (child == 0) {
            outrig_own_machine(self);
            _exit(0);
        }
        crew_child(self, child,
                   "it makes a machine of its own while the parent's threads are inside the library");
        count++;
    } while (crew_more());
    atomic_store(&insiders.over, true);
    crew_join(worker, INSIDERS);
    outrig_user_release(&insiders.user);
    ane_machine_destroy(machine);
    return count;
}
