/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order at the end: clients first, whose threads use everything else; then the monitor, which ends calls of
 * clients that wait; then the compile services.
 */
#include "broker/broker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "broker/client.h"
#include "broker/contention.h"
#include "broker/model.h"
#include "broker/monitor.h"
#include "broker/order.h"
#include "service/client.h"

IOReturn brk_refuse(struct base_error *error, IOReturn code, const char *format, ...)
{
    va_list args;

    if (error) {
        va_start(args, format);
        vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
    }
    return code;
}

uint64_t brk_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* ---- Notices ---- */

struct notice {
    struct pr_service_header header;
    union {
        struct pr_broker_client client;
        struct pr_broker_compiler compiler;
        struct pr_broker_active_notice active;
    } body;
};

/* Of a notice that brings a socket. */
static void take_socket(struct brk_broker *broker, const struct notice *notice, size_t size, int socket)
{
    const size_t bytes = size - sizeof(notice->header);

    if (notice->header.type == PR_BROKER_NOTICE_CLIENT && bytes == sizeof(notice->body.client))
        brk_client_start(broker, &notice->body.client, socket);
    else if (notice->header.type == PR_BROKER_NOTICE_COMPILER && bytes == sizeof(notice->body.compiler) &&
             notice->body.compiler.number < BRK_COMPILERS)
        brk_compiler_start(&broker->compiler[notice->body.compiler.number], socket);
    else
        close(socket);
}

static void take_notice(struct brk_broker *broker, const struct notice *notice, size_t size, int socket)
{
    if (size < sizeof(notice->header) || notice->header.magic != PR_BROKER_MAGIC)
        base_packet_close(&socket, 1);
    else if (socket >= 0)
        take_socket(broker, notice, size, socket);
    else if (notice->header.type == PR_BROKER_NOTICE_ACTIVE &&
             size == sizeof(notice->header) + sizeof(notice->body.active) &&
             brk_contention_note_task(&broker->contention, notice->body.active.task))
        eventfd_write(broker->wake, 1);
}

/* Until the service ends. */
static void read_notices(struct brk_broker *broker)
{
    struct notice notice;
    unsigned count;
    int socket = -1;
    long size;

    while ((size = base_packet_receive(broker->control, &notice, sizeof(notice), &socket, 1, &count)) > 0) {
        take_notice(broker, &notice, (size_t)size, socket);
        socket = -1;
    }
}

/* ---- Life ---- */

static int make_broker(int control, struct brk_broker **made)
{
    struct brk_broker *broker = base_alloc(sizeof(*broker));

    if (!broker)
        return -ENOMEM;
    broker->control = control;
    broker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (broker->wake < 0) {
        base_free(broker);
        return -errno;
    }
    pthread_mutex_init(&broker->lock, NULL);
    pthread_cond_init(&broker->left, NULL);
    pthread_cond_init(&broker->turn, NULL);
    pthread_mutex_init(&broker->models.lock, NULL);
    pthread_mutex_init(&broker->contention.lock, NULL);
    pthread_mutex_init(&broker->contention.hints, NULL);
    pthread_mutex_init(&broker->backoffs.lock, NULL);
    pthread_mutex_init(&broker->shares.lock, NULL);
    for (unsigned i = 0; i < BRK_COMPILERS; i++)
        brk_compiler_init(&broker->compiler[i]);
    *made = broker;
    return 0;
}

static void free_broker(struct brk_broker *broker)
{
    for (unsigned i = 0; i < BRK_COMPILERS; i++)
        brk_compiler_stop(&broker->compiler[i]);
    brk_model_drop_all(&broker->models);
    pthread_mutex_destroy(&broker->shares.lock);
    pthread_mutex_destroy(&broker->backoffs.lock);
    pthread_mutex_destroy(&broker->contention.hints);
    pthread_mutex_destroy(&broker->contention.lock);
    pthread_mutex_destroy(&broker->models.lock);
    pthread_cond_destroy(&broker->turn);
    pthread_cond_destroy(&broker->left);
    pthread_mutex_destroy(&broker->lock);
    close(broker->wake);
    base_free(broker);
}

static int say(int status, const char *what)
{
    fprintf(stderr, "The broker cannot start: %s: %s.\n", what, strerror(-status));
    return status;
}

int brk_broker_run(int control, int session)
{
    struct brk_broker *broker = NULL;
    pthread_t monitor;
    int status = session >= 0 ? svc_client_adopt(session) : 0;

    if (status)
        say(status, "its session with the service could not be used");
    else if ((status = make_broker(control, &broker)))
        say(status, "memory or descriptors are used up");
    else if ((status = -pthread_create(&monitor, NULL, brk_monitor_run, broker)))
        say(status, "its monitor has no thread");
    if (status || !broker)
        goto end;
    read_notices(broker);
    brk_client_stop_all(broker);
    eventfd_write(broker->wake, 1);
    pthread_join(monitor, NULL);
end:
    if (broker)
        free_broker(broker);
    close(control);
    return status;
}
