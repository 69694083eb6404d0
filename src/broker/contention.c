/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hints client is open while the depth is lowered, so that clients which the process opens meanwhile have
 * the depth too. It is closed when the depth is that of every client again: at rest there is none.
 *
 * Two locks. `hints` is held for calls of the hints clients, and to change who has instances or to take a
 * party out of the list; `lock`, which may be taken inside it, for the rest. So a request never waits for the
 * kernel here.
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

static void set_depth(struct brk_contention *contention, struct brk_party *party, uint32_t depth)
{
    pthread_mutex_lock(&contention->lock);
    party->depth = depth;
    pthread_mutex_unlock(&contention->lock);
}

/* A hint of 0 takes an earlier one back. A kernel that refuses leaves the depth as it is. */
static void hint_depth(struct brk_contention *contention, struct brk_party *party, uint32_t depth)
{
    const uint64_t hint[3] = {ANE_HINT_QUEUE_DEPTH, depth == PR_BROKER_DEPTH ? 0 : depth,
                              ANE_HINT_SCOPE_TASK};

    if (!party->hints && IOServiceOpen(IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")),
                                       party->task, ANE_CLIENT_HINTS, &party->hints))
        return;
    if (IOConnectCallMethod(party->hints, ANE_HINTS_setClientHint, hint, 3, NULL, 0, NULL, NULL, NULL, NULL))
        return;
    set_depth(contention, party, depth);
}

/* At rest there is no hints client. */
static void close_hints(struct brk_contention *contention, struct brk_party *party)
{
    if (!party->hints)
        return;
    IOServiceClose(party->hints);
    party->hints = 0;
    set_depth(contention, party, PR_BROKER_DEPTH);
}

static void change_depth(struct brk_contention *contention, struct brk_party *party, uint32_t depth)
{
    hint_depth(contention, party, depth);
    if (party->depth == PR_BROKER_DEPTH)
        close_hints(contention, party);
}

void brk_contention_resident(struct brk_contention *contention, struct brk_party *party, bool resident)
{
    pthread_mutex_lock(&contention->hints);
    party->residents += resident ? 1 : -1;
    if (!party->residents && party->hints)
        change_depth(contention, party, PR_BROKER_DEPTH);
    pthread_mutex_unlock(&contention->hints);
}

void brk_contention_leave(struct brk_contention *contention, struct brk_party *party)
{
    struct brk_party **link = &contention->first;
    bool last;

    pthread_mutex_lock(&contention->hints);
    pthread_mutex_lock(&contention->lock);
    last = !--party->users;
    if (last) {
        while (*link != party)
            link = &(*link)->next;
        *link = party->next;
    }
    pthread_mutex_unlock(&contention->lock);
    if (last) {
        close_hints(contention, party);
        base_free(party);
    }
    pthread_mutex_unlock(&contention->hints);
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
    struct brk_party *party;
    uint32_t active, depth;

    pthread_mutex_lock(&contention->hints);
    pthread_mutex_lock(&contention->lock);
    active = count_active(contention, brk_now_ns());
    party = contention->first;
    pthread_mutex_unlock(&contention->lock);
    depth = pr_broker_depth(active);
    /* New ones come in front, and none leaves meanwhile. */
    for (; party; party = party->next)
        if (party->residents && party->depth != depth)
            change_depth(contention, party, depth);
    pthread_mutex_unlock(&contention->hints);
    return active > 0;
}
