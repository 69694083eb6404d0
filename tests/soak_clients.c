/* SPDX-License-Identifier: Apache-2.0 */
/* The soak's clients: those of one thread, and those that many threads use and close. */
#include "soak.h"

#include <string.h>

/*
 * 20 clients: 11 control clients of one thread, 5 of which have a direct-path client beside them, and 4 that
 * are shared. Shared clients may have requests under way all the time, and pinned ones keep their domain;
 * together they are fewer than the 7 domains, so that no client waits in vain.
 */
#define PROGRAMS_PER_CONTROL 2u
#define CONTROLS             2u
#define SLOTS                4u /* the others are direct-path clients */
#define IDENTITIES           2u /* of shared clients */
#define PINNED_MAX           2u

/* A connection that several threads use. */
struct slot {
    pthread_mutex_t lock; /* of what follows */
    struct outrig_client client;
    unsigned turn; /* rises when it is opened again */
    struct {
        uint64_t token; /* 0: none */
        bool making;
    } program[PROGRAMS_PER_CONTROL];

    uint32_t type;
    unsigned identity;
    atomic_bool closing; /* one thread at a time */
};

static struct slot slots[SLOTS];
static atomic_uint pinned;

static IOReturn open_as(const struct soak *soak, unsigned identity, uint32_t type,
                        struct outrig_client *client)
{
    return soak_answer(SOAK_OPEN, SOAK_ALONE, outrig_open(soak->service, soak->task[identity], type, client));
}

/* Clients of one thread. */

static void some_requests(struct crew_worker *worker, const struct outrig_client *client, uint64_t token,
                          struct outrig_data *data)
{
    for (uint64_t i = 1 + crew_random(worker, 12); i > 0; i--)
        soak_answer(SOAK_REQUEST, SOAK_ALONE, outrig_request(worker, client, token, data));
}

static bool take_pin(void)
{
    if (atomic_fetch_add(&pinned, 1) < PINNED_MAX)
        return true;
    atomic_fetch_sub(&pinned, 1);
    return false;
}

/* Requests by way of a direct-path client, with or without a mapping of its own. */
static void use_direct(struct crew_worker *worker, const struct soak *soak, unsigned identity, uint64_t token,
                       struct outrig_data *data)
{
    bool pin = take_pin();
    struct outrig_client direct;
    uint64_t address = 0;

    open_as(soak, identity, ANE_CLIENT_DIRECT_PATH, &direct);
    crew_at(worker, "memory map (selector 5)");
    if (pin)
        soak_answer(SOAK_MAP, SOAK_ALONE, outrig_map(&direct, data->surface, &address));
    some_requests(worker, &direct, token, data);
    crew_at(worker, "memory unmap (selector 6)");
    /* Closing gives a mapping back too. */
    if (pin && crew_random(worker, 3))
        soak_answer(SOAK_UNMAP, SOAK_ALONE, outrig_unmap(&direct, data->surface, address));
    crew_at(worker, "IOServiceClose");
    soak_answer(SOAK_CLOSE, SOAK_ALONE, IOServiceClose(direct.connect));
    if (pin)
        atomic_fetch_sub(&pinned, 1);
}

static void use_control(struct crew_worker *worker, const struct outrig_client *client, uint64_t token,
                        struct outrig_data *data)
{
    crew_at(worker, "program prepare (selector 4)");
    soak_answer(SOAK_PREPARE, SOAK_ALONE, outrig_prepare(client, token));
    some_requests(worker, client, token, data);
    crew_at(worker, "program unprepare (selector 5)");
    /* Destroying and closing do it too. */
    if (crew_random(worker, 3))
        soak_answer(SOAK_UNPREPARE, SOAK_ALONE, outrig_unprepare(client, token));
}

void soak_alone(struct crew_worker *worker)
{
    const struct soak *soak = worker->shared;
    unsigned identity = worker->number % SOAK_TASKS;
    struct outrig_data data;

    while (crew_more()) {
        struct outrig_client client;
        uint64_t token;

        outrig_data_make(&data, soak->task[identity]);
        crew_at(worker, "IOServiceOpen");
        open_as(soak, identity, ANE_CLIENT_CONTROL, &client);
        crew_at(worker, "program create (selector 3)");
        soak_answer(SOAK_CREATE, SOAK_ALONE, outrig_create(&client, &token));
        if (worker->number % 2)
            use_direct(worker, soak, identity, token, &data);
        else
            use_control(worker, &client, token, &data);
        crew_at(worker, "program destroy (selector 6)");
        if (crew_random(worker, 3))
            soak_answer(SOAK_DESTROY, SOAK_ALONE, outrig_destroy(&client, token));
        crew_at(worker, "IOServiceClose");
        soak_answer(SOAK_CLOSE, SOAK_ALONE, IOServiceClose(client.connect));
        outrig_data_release(&data);
    }
}

/* Clients of many threads. */

void soak_shared_begin(const struct soak *soak)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot *slot = &slots[i];

        pthread_mutex_init(&slot->lock, NULL);
        slot->type = i < CONTROLS ? ANE_CLIENT_CONTROL : ANE_CLIENT_DIRECT_PATH;
        slot->identity = i % IDENTITIES;
        open_as(soak, slot->identity, slot->type, &slot->client);
    }
}

void soak_shared_end(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        soak_answer(SOAK_CLOSE, SOAK_ALONE, IOServiceClose(slots[i].client.connect));
        pthread_mutex_destroy(&slots[i].lock);
    }
}

static struct slot *any_slot(struct crew_worker *worker)
{
    return &slots[crew_random(worker, SLOTS)];
}

static struct slot *any_control(struct crew_worker *worker)
{
    return &slots[crew_random(worker, CONTROLS)];
}

static void look(struct slot *slot, unsigned which, struct outrig_client *client, uint64_t *token)
{
    pthread_mutex_lock(&slot->lock);
    *client = slot->client;
    *token = slot->program[which].token;
    pthread_mutex_unlock(&slot->lock);
}

/* A program that a client of this identity may use; 0 when there is none just now. */
static uint64_t any_token(struct crew_worker *worker, unsigned identity)
{
    struct slot *slot = any_control(worker);
    struct outrig_client client;
    uint64_t token;

    while (slot->identity != identity)
        slot = any_control(worker);
    look(slot, (unsigned)crew_random(worker, PROGRAMS_PER_CONTROL), &client, &token);
    return token;
}

static void shared_create(struct crew_worker *worker)
{
    unsigned which = (unsigned)crew_random(worker, PROGRAMS_PER_CONTROL), turn;
    struct slot *slot = any_control(worker);
    struct outrig_client client;
    IOReturn status;
    uint64_t token;
    bool mine;

    pthread_mutex_lock(&slot->lock);
    mine = !slot->program[which].token && !slot->program[which].making;
    if (mine)
        slot->program[which].making = true;
    client = slot->client;
    turn = slot->turn;
    pthread_mutex_unlock(&slot->lock);
    if (!mine)
        return;
    status = soak_answer(SOAK_CREATE, SOAK_SHARED, outrig_create(&client, &token));
    pthread_mutex_lock(&slot->lock);
    slot->program[which].making = false;
    /* When the connection has been closed meanwhile, the program has gone with it. */
    if (!status && slot->turn == turn)
        slot->program[which].token = token;
    pthread_mutex_unlock(&slot->lock);
}

static void shared_destroy(struct crew_worker *worker)
{
    unsigned which = (unsigned)crew_random(worker, PROGRAMS_PER_CONTROL);
    struct slot *slot = any_control(worker);
    struct outrig_client client;
    uint64_t token;

    look(slot, which, &client, &token);
    if (!token || soak_answer(SOAK_DESTROY, SOAK_SHARED, outrig_destroy(&client, token)))
        return;
    pthread_mutex_lock(&slot->lock);
    if (slot->program[which].token == token)
        slot->program[which].token = 0;
    pthread_mutex_unlock(&slot->lock);
}

static void shared_reopen(struct crew_worker *worker, const struct soak *soak)
{
    struct slot *slot = any_slot(worker);
    struct outrig_client old, next;

    if (atomic_exchange(&slot->closing, true))
        return;
    pthread_mutex_lock(&slot->lock);
    old = slot->client;
    pthread_mutex_unlock(&slot->lock);
    crew_at(worker, "IOServiceClose");
    soak_answer(SOAK_CLOSE, SOAK_ALONE, IOServiceClose(old.connect));
    crew_at(worker, "IOServiceOpen");
    open_as(soak, slot->identity, slot->type, &next);
    pthread_mutex_lock(&slot->lock);
    slot->client = next;
    slot->turn++;
    for (unsigned i = 0; i < PROGRAMS_PER_CONTROL; i++)
        slot->program[i].token = 0;
    pthread_mutex_unlock(&slot->lock);
    atomic_store(&slot->closing, false);
}

/* Prepare, unprepare: by any control client of the program's identity. */
static void shared_prepare(struct crew_worker *worker, bool prepare)
{
    struct slot *slot = any_control(worker);
    uint64_t token = any_token(worker, slot->identity), unused;
    struct outrig_client client;

    look(slot, 0, &client, &unused);
    if (!token)
        return;
    if (prepare)
        soak_answer(SOAK_PREPARE, SOAK_SHARED, outrig_prepare(&client, token));
    else
        soak_answer(SOAK_UNPREPARE, SOAK_SHARED, outrig_unprepare(&client, token));
}

static void shared_request(struct crew_worker *worker, struct outrig_data *data)
{
    struct slot *slot = any_slot(worker);
    uint64_t token = any_token(worker, slot->identity), unused;
    struct outrig_client client;

    look(slot, 0, &client, &unused);
    if (token)
        soak_answer(SOAK_REQUEST, SOAK_SHARED, outrig_request(worker, &client, token, &data[slot->identity]));
}

static void shared_step(struct crew_worker *worker, const struct soak *soak, struct outrig_data *data)
{
    unsigned choice = (unsigned)crew_random(worker, 100);

    if (choice < 2) {
        shared_reopen(worker, soak);
    } else if (choice < 10) {
        crew_at(worker, "program create (selector 3)");
        shared_create(worker);
    } else if (choice < 13) {
        crew_at(worker, "program destroy (selector 6)");
        shared_destroy(worker);
    } else if (choice < 25) {
        crew_at(worker, "program prepare (selector 4)");
        shared_prepare(worker, true);
    } else if (choice < 32) {
        crew_at(worker, "program unprepare (selector 5)");
        shared_prepare(worker, false);
    } else {
        shared_request(worker, data);
    }
}

void soak_shared(struct crew_worker *worker)
{
    const struct soak *soak = worker->shared;
    struct outrig_data data[SOAK_TASKS];

    for (unsigned i = 0; i < SOAK_TASKS; i++)
        outrig_data_make(&data[i], soak->task[i]);
    while (crew_more()) {
        shared_step(worker, soak, data);
        crew_pause(worker, 2000);
    }
    for (unsigned i = 0; i < SOAK_TASKS; i++)
        outrig_data_release(&data[i]);
}

/* Surfaces that are made, bound once and released. */

static void check_surface(const struct soak *soak, struct crew_worker *worker)
{
    size_t bytes = 1 + crew_random(worker, 1u << 16);
    uint8_t *base;
    uint32_t id;

    if (ane_surface_create(soak->task[crew_random(worker, SOAK_TASKS)], bytes, &id))
        crew_fail("ane_surface_create of %zu bytes: %s", bytes, ane_machine_error());
    base = ane_surface_base(id);
    if (!base || ane_surface_lookup(id) != bytes)
        crew_fail("Surface 0x%x of %zu bytes has address %p and size %zu.", id, bytes, (void *)base,
                  ane_surface_lookup(id));
    for (size_t i = 0; i < bytes; i++)
        if (base[i])
            crew_fail("Surface 0x%x is not zeroed: byte %zu is %u.", id, i, base[i]);
    memset(base, 0xa5, bytes);
    ane_surface_release(id);
    if (ane_surface_base(id) || ane_surface_lookup(id))
        crew_fail("Surface 0x%x is still found after its release.", id);
    soak_count(SOAK_SURFACE);
}

void soak_surfaces(struct crew_worker *worker)
{
    const struct soak *soak = worker->shared;

    while (crew_more()) {
        struct outrig_data data[SOAK_TASKS];

        crew_at(worker, "ane_surface_create and release");
        check_surface(soak, worker);
        for (unsigned i = 0; i < SOAK_TASKS; i++)
            outrig_data_make(&data[i], soak->task[i]);
        for (unsigned i = 0; i < 8; i++)
            shared_request(worker, data);
        for (unsigned i = 0; i < SOAK_TASKS; i++) {
            outrig_data_release(&data[i]);
            soak_count(SOAK_SURFACE);
        }
    }
}
