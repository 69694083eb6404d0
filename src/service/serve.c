/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread accepts connections, starts and restarts children and waits for signals, which are blocked
 * in every other thread. At a stop, calls that are under way have a bounded time to end; then sessions end,
 * which aborts what is left; then the children and the machine.
 */
#include "service/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/packet.h"
#include "service/client.h"
#include "service/listener.h"
#include "service/log.h"
#include "service/peer.h"
#include "service/state.h"
#include "service/supervisor.h"
#include "service/worker.h"

#define DRAIN_MS  5000u /* calls under way at a stop */
#define UNWIND_MS 5000u /* sessions, after that */

struct server {
    struct svc_service service;
    struct svc_listener listener;
    struct ane_machine *machine;
    struct svc_policy *policy;
    struct svc_worker worker;
    int signals;
    char state[SVC_STATE_PATH];
};

/* ---- The process ---- */

/* Each surface and each session takes a descriptor. */
static void raise_limits(void)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A signal that the starter has ignored stays so, as nohup expects: a blocked one would still be queued. */
static void add_unless_ignored(sigset_t *set, int number)
{
    struct sigaction now;

    if (sigaction(number, NULL, &now) || now.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

static int take_signals(struct server *server, struct base_error *error)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    add_unless_ignored(&set, SIGINT);
    add_unless_ignored(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* one that is ignored leaves no children to wait for */
    server->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (server->signals < 0)
        return base_fail(error, errno, "Signals could not be waited for: %s.", strerror(errno));
    return 0;
}

/* ---- Connections ---- */

/* A connection for which there is no room is answered before it has said anything. */
static void refuse_connection(int socket, const struct base_error *why)
{
    struct pr_service_header header = {.magic = PR_SERVICE_MAGIC,
                                       .version = PR_SERVICE_VERSION,
                                       .type = PR_SERVICE_HELLO,
                                       .status = kIOReturnNoResources,
                                       .bytes = (uint32_t)strlen(why->text) + 1};

    base_packet_send(socket, &header, sizeof(header), why->text, header.bytes, NULL, 0, 0);
    close(socket);
    svc_log_client("refused a connection: %s", why->text);
}

static void accept_one(struct server *server)
{
    int socket = accept4(server->listener.socket, NULL, NULL, SOCK_CLOEXEC);
    struct base_error error;

    if (socket < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            svc_log("a connection could not be accepted: %s", strerror(errno));
            usleep(100000);
        }
        return;
    }
    if (svc_peer_start(&server->service, socket, PR_SERVICE_ROLE_CLIENT, &error))
        refuse_connection(socket, &error);
}

/* False after a signal to stop. */
static bool handle_signals(struct server *server)
{
    struct signalfd_siginfo info;
    bool goes_on = true;

    while (read(server->signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo == SIGCHLD) {
            if (server->service.supervisor)
                svc_supervisor_reap(server->service.supervisor);
        } else {
            svc_log("stopping: %s from process %u", strsignal((int)info.ssi_signo), info.ssi_pid);
            goes_on = false;
        }
    return goes_on;
}

static void serve_until_signal(struct server *server)
{
    struct svc_supervisor *supervisor = server->service.supervisor;

    for (;;) {
        int ms = supervisor ? svc_supervisor_start_due(supervisor) : -1;
        struct pollfd wait[] = {{.fd = server->signals, .events = POLLIN},
                                {.fd = server->listener.socket, .events = POLLIN},
                                {.fd = -1}};

        if (supervisor)
            wait[2] = svc_supervisor_poll(supervisor);
        if (poll(wait, BASE_COUNT_OF(wait), ms) <= 0)
            continue;
        if (wait[2].revents)
            svc_supervisor_receive(supervisor);
        if (wait[0].revents && !handle_signals(server))
            return;
        if (wait[1].revents)
            accept_one(server);
    }
}

/* ---- Start and stop ---- */

static int start_machine(struct server *server, const struct svc_options *options, struct base_error *error)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .numerics = options->numerics,
                                        .winograd = options->winograd,
                                        .timing = options->timing,
                                        .threads = options->threads,
                                        .dump_folder = options->dumps};
    int status = ane_machine_create(&config, &server->machine);

    if (status)
        return base_fail(error, -status, "The machine does not start: %s", ane_machine_error());
    return svc_service_init(&server->service, server->machine, server->policy, error);
}

static int start_threads(struct server *server, const struct svc_options *options, struct base_error *error)
{
    int status = 0;

    if (!options->without_children)
        status = svc_supervisor_make(&server->service, options->executable, server->state,
                                     &server->service.supervisor, error);
    if (!status)
        status = svc_worker_start(&server->worker, &server->service, options->memory, error);
    if (status && server->service.supervisor)
        svc_supervisor_stop(server->service.supervisor); /* it has started no child yet */
    return status;
}

static void stop(struct server *server)
{
    unsigned left;

    svc_listener_notify("STOPPING=1");
    atomic_store(&server->service.draining, true);
    for (unsigned ms = 0; ms < DRAIN_MS && svc_service_in_flight(&server->service); ms++)
        usleep(1000);
    svc_service_end_sessions(&server->service);
    left = svc_service_wait_sessions(&server->service, UNWIND_MS);
    if (left)
        svc_log("%u sessions did not end in %u s", left, UNWIND_MS / 1000);
    svc_worker_stop(&server->worker); /* it reports to the broker */
    if (server->service.supervisor)
        svc_supervisor_stop(server->service.supervisor);
}

int svc_serve(const struct svc_options *options, struct base_error *error)
{
    struct server server = {.signals = -1, .listener = {.socket = -1, .lock = -1}};
    int status;

    svc_client_is_service();
    raise_limits();
    status = take_signals(&server, error);
    if (!status)
        status = svc_policy_load(options->policy, &server.policy, error);
    if (!status)
        status = svc_state_prepare(options->state, server.state, error);
    if (!status)
        status = svc_listener_open(&server.listener, options->socket, error);
    if (!status)
        status = start_machine(&server, options, error);
    if (!status)
        status = start_threads(&server, options, error);
    if (!status) {
        svc_log("started at %s, state in %s, policy %s", server.listener.path, server.state,
                options->policy ? options->policy : "of the default folders");
        svc_listener_notify("READY=1");
        serve_until_signal(&server);
        stop(&server);
        svc_service_end(&server.service);
    }
    svc_listener_close(&server.listener);
    ane_machine_destroy(server.machine);
    svc_policy_free(server.policy);
    if (server.signals >= 0)
        close(server.signals);
    if (!status)
        svc_log("stopped");
    return status;
}
