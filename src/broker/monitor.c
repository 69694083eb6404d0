/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets are polled without the lock, so each is looked up again by the number of its client afterwards: a
 * client may have left, and its descriptor be another's. The connection to the kernel is closed without the
 * lock, because that waits for the call that it ends.
 */
#include "broker/monitor.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "broker/contention.h"
#include "broker/device.h"

#define LOOK_MS 200 /* between looks at the depths while clients are active */

struct watch {
    struct pollfd look[PR_BROKER_CLIENTS + 1]; /* the last is the broker's own event */
    uint64_t serial[PR_BROKER_CLIENTS];
    unsigned count;
};

/* True: the broker is ending, and no client is left. */
static bool list_clients(struct brk_broker *broker, struct watch *watch)
{
    bool done;

    watch->count = 0;
    pthread_mutex_lock(&broker->lock);
    for (const struct brk_client *client = broker->clients; client; client = client->next)
        if (!client->gone) {
            watch->look[watch->count] = (struct pollfd){.fd = client->socket, .events = POLLRDHUP};
            watch->serial[watch->count++] = client->serial;
        }
    done = broker->ending && !broker->count;
    pthread_mutex_unlock(&broker->lock);
    watch->look[watch->count] = (struct pollfd){.fd = broker->wake, .events = POLLIN};
    return done;
}

static io_connect_t end_client(struct brk_broker *broker, uint64_t serial)
{
    io_connect_t connect = 0;

    pthread_mutex_lock(&broker->lock);
    for (struct brk_client *client = broker->clients; client; client = client->next)
        if (client->serial == serial) {
            client->gone = true;
            connect = brk_device_end(&client->device);
        }
    pthread_cond_broadcast(&broker->turn);
    pthread_mutex_unlock(&broker->lock);
    return connect;
}

static void end_gone(struct brk_broker *broker, const struct watch *watch)
{
    for (unsigned i = 0; i < watch->count; i++) {
        io_connect_t connect = watch->look[i].revents & (POLLRDHUP | POLLHUP | POLLERR)
                                   ? end_client(broker, watch->serial[i])
                                   : 0;

        if (connect)
            IOServiceClose(connect);
    }
}

void *brk_monitor_run(void *argument)
{
    struct brk_broker *broker = argument;
    struct watch watch;
    bool active = false;
    eventfd_t events;

    while (!list_clients(broker, &watch)) {
        poll(watch.look, watch.count + 1, active ? LOOK_MS : -1);
        if (watch.look[watch.count].revents & POLLIN)
            eventfd_read(broker->wake, &events);
        end_gone(broker, &watch);
        active = brk_contention_apply(&broker->contention);
    }
    return NULL;
}
