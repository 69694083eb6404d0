/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hints client is open while the depth is lowered, so that clients which the process opens meanwhile have
 * the depth too. It is closed when the depth is that of every client again: at rest there is none.
 *
 * Calls of the hints client do not wait for requests, so they are made with the lock held; a submission waits
 * for them at most.
 */
#include "broker/contention.h"

#include "base/alloc.h"

#define ACTIVE_NS (PR_BROKER_ACTIVE_MS * 1000000ull)

static struct brk_party *find_party(const struct brk_contention *contention, uint32_t task)
{
    struct brk_party *party = contention->first;

    while (party && party->task != task)
        party = party->next;
    return party;
}

struct brk_party *brk_contention_join(struct brk_contention *contention, uint32_t task)
{
    struct brk_party *party;

    pthread_mutex_lock(&contention->lock);
    party = find_party(contention, task);
    if (!party && (party = base_alloc(sizeof(*party)))) {
        *party = (struct brk_party){.next = contention->first, .task = task, .depth = PR_BROKER_DEPTH};
        contention->first = party;
    }
    if (party)
        party->users++;
    pthread_mutex_unlock(&contention->lock);
    return party;
}

static void close_hints(struct brk_party *party)
{
    if (party->hints)
        IOServiceClose(party->hints);
    party->hints = 0;
    party->depth = PR_BROKER_DEPTH;
}

/* A hint of 0 takes an earlier one back. A kernel that refuses leaves the depth as it is. */
static void set_depth(struct brk_party *party, uint32_t depth)
{
    const uint64_t hint[3] = {ANE_HINT_QUEUE_DEPTH, depth == PR_BROKER_DEPTH ? 0 : depth,
                              ANE_HINT_SCOPE_TASK};
    io_service_t service;

    if (!party->hints) {
        service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
        if (IOServiceOpen(service, party->task, ANE_CLIENT_HINTS, &party->hints))
            return;
    }
    if (IOConnectCallMethod(party->hints, ANE_HINTS_setClientHint, hint, 3, NULL, 0, NULL, NULL, NULL, NULL))
        return;
    party->depth = depth;
    if (depth == PR_BROKER_DEPTH)
        close_hints(party);
}

void brk_contention_resident(struct brk_contention *contention, struct brk_party *party, bool resident)
{
    pthread_mutex_lock(&contention->lock);
    party->residents += resident ? 1 : -1;
    if (!party->residents && party->depth != PR_BROKER_DEPTH)
        set_depth(party, PR_BROKER_DEPTH);
    if (!party->residents)
        close_hints(party);
    pthread_mutex_unlock(&contention->lock);
}

void brk_contention_leave(struct brk_contention *contention, struct brk_party *party)
{
    struct brk_party **link = &contention->first;

    pthread_mutex_lock(&contention->lock);
    if (!--party->users) {
        while (*link != party)
            link = &(*link)->next;
        *link = party->next;
        close_hints(party);
        base_free(party);
    }
    pthread_mutex_unlock(&contention->lock);
}

static bool is_active(const struct brk_party *party, uint64_t now)
{
    return party->sent_ns && now - party->sent_ns < ACTIVE_NS;
}

static uint32_t count_active(const struct brk_contention *contention, uint64_t now)
{
    uint32_t active = 0;

    for (const struct brk_party *party = contention->first; party; party = party->next)
        active += is_active(party, now);
    return active;
}

/* With the lock held. True: it was idle. */
static bool note(struct brk_party *party)
{
    uint64_t now = brk_now_ns();
    bool was_idle = !is_active(party, now);

    party->sent_ns = now;
    return was_idle;
}

bool brk_contention_note(struct brk_contention *contention, struct brk_party *party)
{
    bool was_idle;

    pthread_mutex_lock(&contention->lock);
    was_idle = note(party);
    pthread_mutex_unlock(&contention->lock);
    return was_idle;
}

bool brk_contention_note_task(struct brk_contention *contention, uint32_t task)
{
    struct brk_party *party;
    bool was_idle;

    pthread_mutex_lock(&contention->lock);
    party = find_party(contention, task);
    was_idle = party && note(party);
    pthread_mutex_unlock(&contention->lock);
    return was_idle;
}

uint32_t brk_contention_depth(struct brk_contention *contention, const struct brk_party *party,
                              uint32_t *active)
{
    uint32_t depth;

    pthread_mutex_lock(&contention->lock);
    depth = party->depth;
    *active = count_active(contention, brk_now_ns());
    pthread_mutex_unlock(&contention->lock);
    return depth;
}

bool brk_contention_apply(struct brk_contention *contention)
{
    uint32_t active, depth;

    pthread_mutex_lock(&contention->lock);
    active = count_active(contention, brk_now_ns());
    depth = pr_broker_depth(active);
    for (struct brk_party *party = contention->first; party; party = party->next)
        if (party->residents && party->depth != depth)
            set_depth(party, depth);
    pthread_mutex_unlock(&contention->lock);
    return active > 0;
}
