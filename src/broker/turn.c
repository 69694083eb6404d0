/* SPDX-License-Identifier: Apache-2.0 */
/* Under the broker's lock. The monitor wakes those that wait when it has seen a client leave. */
#include "broker/turn.h"

#include "protocol/dart_regs.h"
#include "protocol/service_ring.h"

_Static_assert(PR_BROKER_WAITING < PR_DART_DOMAINS - 1, "one is left to calls that do not wait");
_Static_assert(PR_BROKER_WAITING < PR_RING_SLOTS, "other calls have slots");

static bool has_place(const struct brk_client *client)
{
    const struct brk_broker *broker = client->broker;
    unsigned all = 0, of_user = 0;

    for (const struct brk_client *other = broker->clients; other; other = other->next) {
        all += other->waiting;
        of_user += other->waiting && other->who.uid == client->who.uid;
    }
    return all < PR_BROKER_WAITING && of_user < PR_BROKER_WAITING_USER;
}

IOReturn brk_turn_take(struct brk_client *client, struct base_error *error)
{
    struct brk_broker *broker = client->broker;
    bool gone;

    pthread_mutex_lock(&broker->lock);
    broker->turn_waiters++;
    while (!client->gone && !has_place(client))
        pthread_cond_wait(&broker->turn, &broker->lock);
    broker->turn_waiters--;
    gone = client->gone;
    client->waiting = !gone;
    pthread_mutex_unlock(&broker->lock);
    return gone ? brk_refuse(error, kIOReturnAborted, "The client has left.") : kIOReturnSuccess;
}

void brk_turn_give(struct brk_client *client)
{
    struct brk_broker *broker = client->broker;

    pthread_mutex_lock(&broker->lock);
    client->waiting = false;
    if (broker->turn_waiters)
        pthread_cond_broadcast(&broker->turn);
    pthread_mutex_unlock(&broker->lock);
}
