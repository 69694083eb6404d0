/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread, one loop: the broker's socket and a socket for each worker. An order waits, then runs; where
 * its worker was ended it is tidied up after, by a further worker, and only then answered, so that nothing of
 * it is left when the reply comes. A worker is always ended and waited for before its order is answered.
 */
#include "service/compiler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/packet.h"
#include "protocol/qos.h"
#include "service/compile_order.h"
#include "service/log.h"
#include "service/sandbox.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

#define END_MS  2000u /* for a worker that was killed */
#define LOOK_MS 1000  /* between looks at workers that do not end */
#define LOOK_US 200u

/* STUCK: answered, and its worker does not end. It counts as one of its user's alone. */
enum state { FREE, WAITING, RUNNING, STUCK };

struct job {
    enum state state;
    struct svc_order order;
    uint64_t arrival;
    pid_t pid;
    int socket;
    uint64_t deadline;
    /* What the reply will be, where the worker was ended. */
    bool tidying;
    IOReturn status;
    struct base_error error;
};

struct compiler {
    int socket;
    const char *state;
    struct svc_work_limits limits;
    svc_work_body body;
    uint64_t arrivals;
    bool ended;
    int status;
    struct job job[PR_COMPILE_ORDERS];
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Replies. */

static void stop(struct compiler *c, int status)
{
    c->ended = true;
    c->status = status;
}

static void reply(struct compiler *c, const struct svc_order *order, IOReturn status, const void *body,
                  uint32_t bytes, const int *files, unsigned count)
{
    const struct pr_service_header head = {
        .magic = PR_BROKER_MAGIC,
        .version = PR_SERVICE_VERSION,
        .type = order->type,
        .serial = order->serial,
        .status = status,
        .bytes = bytes,
    };
    int sent = base_packet_send(c->socket, &head, sizeof(head), body, bytes, files, count, 1);

    if (sent && !c->ended)
        stop(c, sent == -EPIPE || sent == -ECONNRESET ? 0 : sent);
}

static void reply_sentence(struct compiler *c, const struct svc_order *order, IOReturn status,
                           const char *sentence)
{
    char text[PR_SERVICE_SENTENCE];

    snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, sentence);
    reply(c, order, status, text, (uint32_t)strlen(text) + 1, NULL, 0);
}

static void reply_result(struct compiler *c, const struct svc_order *order,
                         const struct svc_work_result *result)
{
    if (result->status)
        reply_sentence(c, order, result->status, result->sentence);
    else if (order->type == PR_COMPILE_PURGE)
        reply(c, order, 0, &result->purged, sizeof(result->purged), NULL, 0);
    else
        reply(c, order, 0, &result->model, sizeof(result->model), order->work.files, SVC_WORK_FILES);
}

/* Workers. */

static unsigned running(const struct compiler *c)
{
    unsigned count = 0;

    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++)
        count += c->job[i].state == RUNNING;
    return count;
}

static unsigned running_of(const struct compiler *c, uint32_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++)
        count += c->job[i].state >= RUNNING && c->job[i].order.work.uid == uid;
    return count;
}

static void free_job(struct job *job)
{
    svc_order_end(&job->order);
    memset(job, 0, sizeof(*job));
}

/* Ends the worker and waits for it, with how it ended. False: it waits in the kernel, and does not end. */
static bool end_worker(struct job *job, int *status, struct rusage *used)
{
    const uint64_t until = now_ns() + END_MS * NS_PER_MS;
    pid_t ended;

    kill(job->pid, SIGKILL);
    close(job->socket);
    job->socket = -1;
    while (!(ended = wait4(job->pid, status, WNOHANG, used)) && now_ns() < until)
        usleep(LOOK_US);
    return ended != 0;
}

/* The files of the result are the service's: it takes no descriptor from a worker. */
static bool make_files(struct svc_work *work)
{
    if (work->kind != SVC_WORK_COMPILE && work->kind != SVC_WORK_FIND)
        return true;
    work->files[0] = base_file_growing("main.e5");
    work->files[1] = base_file_growing("weights.bin");
    return work->files[0] >= 0 && work->files[1] >= 0;
}

static bool start_worker(struct compiler *c, struct job *job)
{
    int pair[2];
    pid_t self = getpid();

    if (!make_files(&job->order.work) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return false;
    job->pid = fork();
    if (job->pid == 0)
        svc_work_run(&job->order.work, &c->limits, c->body, pair[1], self);
    close(pair[1]);
    if (job->pid < 0) {
        close(pair[0]);
        return false;
    }
    job->socket = pair[0];
    job->state = RUNNING;
    job->deadline = now_ns() + c->limits.wall_s * NS_PER_S;
    return true;
}

static uint32_t urgency(const struct job *job)
{
    return pr_qos_queue_index(job->order.work.qos ? job->order.work.qos : PR_QOS_DEFAULT);
}

static bool before(const struct job *a, const struct job *b)
{
    return urgency(a) != urgency(b) ? urgency(a) < urgency(b) : a->arrival < b->arrival;
}

/* The most urgent that waits, of a user who has not its share of workers already. */
static struct job *next_job(struct compiler *c)
{
    struct job *next = NULL;

    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++)
        if (c->job[i].state == WAITING && (!next || before(&c->job[i], next)) &&
            running_of(c, c->job[i].order.work.uid) < PR_COMPILE_WORKERS_USER)
            next = &c->job[i];
    return next;
}

static void start_jobs(struct compiler *c)
{
    struct job *job;

    while (!c->ended && running(c) < PR_COMPILE_WORKERS && (job = next_job(c)))
        if (!start_worker(c, job)) {
            reply_sentence(c, &job->order, kIOReturnNoResources,
                           "The compile service cannot make one more process; try again later.");
            free_job(job);
        }
}

/* The end of a worker that sent no result. */

static void describe_signal(int number, const struct compiler *c, const struct rusage *used, char *text,
                            size_t size)
{
    uint64_t seconds = (uint64_t)used->ru_utime.tv_sec + (uint64_t)used->ru_stime.tv_sec;

    if (number == SIGXCPU || (number == SIGKILL && seconds >= c->limits.processor_s))
        snprintf(text, size, "it used %u s of processor time, the limit of one compilation",
                 c->limits.processor_s);
    else if (number == SIGKILL)
        /* Also a worker that goes on after it closed its socket: it is killed before it is waited for. */
        snprintf(text, size, "it was killed, as it is when the host has no memory left, or sent no result");
    else if (number == SIGXFSZ)
        snprintf(text, size, "it wrote a file of more than %llu bytes, the limit",
                 (unsigned long long)PR_COMPILE_FILE_BYTES);
    else if (number == SIGSYS)
        snprintf(text, size, "it made a system call that is forbidden there");
    else
        snprintf(text, size, "signal %d (%s)", number, strsignal(number));
}

static const char *subject(const struct svc_work *work)
{
    return work->name[0] ? work->name : "the cache";
}

/* The order failed by its worker: kept for the reply, and logged. */
static void fail_job(struct job *job, const char *how)
{
    job->status = kIOReturnAborted;
    base_fail(&job->error, 0, "%s: the compiler ended on it: %s.", subject(&job->order.work), how);
    svc_log("compile service: user %u: %s", job->order.work.uid, job->error.text);
}

static void answer_failed(struct compiler *c, struct job *job)
{
    reply_sentence(c, &job->order, job->status, job->error.text);
    free_job(job);
}

/*
 * A call to a file system that does not answer, as one of the client's own, is not ended by a signal. What
 * the worker has written is not used, since it may write on.
 */
static void worker_stuck(struct compiler *c, struct job *job)
{
    if (!job->tidying)
        fail_job(job, "it could not be ended; the file system of the model does not answer");
    reply_sentence(c, &job->order, job->status, job->error.text);
    svc_order_end(&job->order);
    job->state = STUCK;
}

static bool reap_stuck(struct compiler *c)
{
    bool any = false;

    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++) {
        if (c->job[i].state != STUCK)
            continue;
        if (waitpid(c->job[i].pid, NULL, WNOHANG))
            free_job(&c->job[i]);
        else
            any = true;
    }
    return any;
}

/* The reply comes when a further worker has removed what this one left in the partition. */
static void tidy_or_answer(struct compiler *c, struct job *job)
{
    struct svc_work *work = &job->order.work;

    if (job->tidying || work->kind == SVC_WORK_PURGE_ALL) {
        answer_failed(c, job);
        return;
    }
    job->tidying = true;
    work->kind = SVC_WORK_TIDY;
    if (!start_worker(c, job))
        answer_failed(c, job);
}

static void worker_ended(struct compiler *c, struct job *job)
{
    struct rusage used = {0};
    int status = 0;
    char how[160];

    if (!end_worker(job, &status, &used)) {
        worker_stuck(c, job);
        return;
    }
    if (!job->tidying) {
        if (WIFSIGNALED(status))
            describe_signal(WTERMSIG(status), c, &used, how, sizeof(how));
        else
            snprintf(how, sizeof(how), "its exit status was %d, and it sent no result", WEXITSTATUS(status));
        fail_job(job, how);
    }
    tidy_or_answer(c, job);
}

/* The worker has been ended. */
static void worker_failed(struct compiler *c, struct job *job, const char *how)
{
    if (!job->tidying)
        fail_job(job, how);
    tidy_or_answer(c, job);
}

static void worker_forbidden(struct compiler *c, struct job *job, int number)
{
    char name[64], how[160];

    svc_sandbox_call_name(number, name, sizeof(name));
    snprintf(how, sizeof(how), "it made the system call %s (%d), which is forbidden there",
             name[0] ? name : "with the number", number);
    worker_failed(c, job, how);
}

static void worker_late(struct compiler *c, struct job *job)
{
    char how[160];

    if (!end_worker(job, NULL, NULL)) {
        worker_stuck(c, job);
        return;
    }
    snprintf(how, sizeof(how), "it took %u s, the limit of one compilation", c->limits.wall_s);
    worker_failed(c, job, how);
}

/* A worker has sent its result: it is ended before that is looked at. */
static void take_result(struct compiler *c, struct job *job, struct svc_work_result *result)
{
    if (!end_worker(job, NULL, NULL)) {
        worker_stuck(c, job);
    } else if (!svc_work_check(&job->order.work, result)) {
        worker_failed(c, job, "it sent a result that cannot be used");
    } else if (job->tidying) {
        answer_failed(c, job);
    } else if (result->forbidden >= 0 && result->status) {
        worker_forbidden(c, job, result->forbidden);
    } else {
        reply_result(c, &job->order, result);
        free_job(job);
    }
}

static void hear_worker(struct compiler *c, struct job *job)
{
    struct svc_work_result result;
    unsigned count = 0;
    long size = base_packet_receive(job->socket, &result, sizeof(result), NULL, 0, &count);

    if (size == (long)sizeof(result))
        take_result(c, job, &result);
    else
        worker_ended(c, job);
}

/* The broker. */

static struct job *free_place(struct compiler *c)
{
    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++)
        if (c->job[i].state == FREE)
            return &c->job[i];
    return NULL;
}

static void take_order(struct compiler *c, const uint8_t *message, int folder, struct svc_order *order)
{
    struct job *job = free_place(c);
    struct base_error error = {{0}};
    IOReturn status;

    if (!job) {
        order->work.folder = folder;
        base_fail(&error, 0, "The compile service has %u orders, its limit; try again later.",
                  PR_COMPILE_ORDERS);
        status = kIOReturnNoResources;
    } else {
        status = svc_order_take(message, folder, c->state, order, &error);
    }
    if (status) {
        reply_sentence(c, order, status, error.text);
        svc_order_end(order);
        return;
    }
    *job = (struct job){.state = WAITING, .order = *order, .arrival = c->arrivals++, .socket = -1};
}

static void hear_broker(struct compiler *c)
{
    uint8_t message[SVC_ORDER_BYTES];
    int folder = -1;
    unsigned count = 0;
    struct svc_order order = {0};
    struct base_error error = {{0}};
    long size = base_packet_receive(c->socket, message, sizeof(message), &folder, SVC_ORDER_FDS, &count);

    if (size == 0 || size == -ECONNRESET) {
        stop(c, 0);
    } else if (size < 0 && size != -EMSGSIZE) {
        stop(c, (int)size);
    } else if (svc_order_frame(message, size < 0 ? 0 : (size_t)size, count, &order, &error)) {
        svc_log("compile service: %s", error.text);
        reply_sentence(c, &order, kIOReturnBadArgument, error.text);
        base_packet_close(&folder, 1);
        stop(c, -EPROTO);
    } else {
        take_order(c, message, folder, &order);
    }
}

/* The loop. */

/* Milliseconds to the first deadline, or at most to the next look, rounded up; -1: there is none. */
static int wait_ms(const struct compiler *c, bool looks)
{
    uint64_t now = now_ns(), first = looks ? now + LOOK_MS * NS_PER_MS : UINT64_MAX;

    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++)
        if (c->job[i].state == RUNNING && c->job[i].deadline < first)
            first = c->job[i].deadline;
    if (first == UINT64_MAX)
        return -1;
    return first <= now ? 0 : (int)((first - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void turn(struct compiler *c)
{
    struct pollfd wait[1 + PR_COMPILE_WORKERS] = {{.fd = c->socket, .events = POLLIN}};
    struct job *job[1 + PR_COMPILE_WORKERS] = {NULL};
    unsigned count = 1;

    for (unsigned i = 0; i < PR_COMPILE_ORDERS && count < BASE_COUNT_OF(wait); i++)
        if (c->job[i].state == RUNNING) {
            job[count] = &c->job[i];
            wait[count++] = (struct pollfd){.fd = c->job[i].socket, .events = POLLIN};
        }
    if (poll(wait, count, wait_ms(c, reap_stuck(c))) < 0 && errno != EINTR) {
        stop(c, -errno);
        return;
    }
    for (unsigned i = 1; i < count && !c->ended; i++) {
        if (wait[i].revents)
            hear_worker(c, job[i]);
        else if (now_ns() >= job[i]->deadline)
            worker_late(c, job[i]);
    }
    /* All that have come, so that the most urgent of them is the next. */
    for (unsigned i = 0; i < PR_COMPILE_ORDERS && !c->ended && wait[0].revents; i++) {
        hear_broker(c);
        wait[0].revents = 0;
        if (poll(wait, 1, 0) < 0)
            break;
    }
}

static void end_all(struct compiler *c)
{
    for (unsigned i = 0; i < PR_COMPILE_ORDERS; i++) {
        if (c->job[i].state == RUNNING)
            end_worker(&c->job[i], NULL, NULL);
        if (c->job[i].state != FREE)
            free_job(&c->job[i]);
    }
}

static void log_missing(void)
{
    char text[512];

    svc_sandbox_missing(text, sizeof(text));
    if (text[0])
        svc_log("compile service: %s", text);
}

int svc_compiler_serve(const struct svc_compiler_options *options)
{
    struct compiler *c = base_alloc(sizeof(*c));
    int status;

    if (!c) {
        svc_log("compile service: there is no memory to begin.");
        return -ENOMEM;
    }
    c->socket = options->socket;
    c->state = options->state;
    c->limits = options->limits;
    c->body = options->body ? options->body : svc_work_do;
    log_missing();
    while (!c->ended) {
        start_jobs(c);
        if (!c->ended)
            turn(c);
    }
    end_all(c);
    status = c->status;
    base_free(c);
    return status;
}

int svc_compiler_run(int socket, unsigned number, const char *state)
{
    static const struct svc_work_limits limits[] = {
#define X(id, row, processor, wall, bytes) [row] = {processor, wall, bytes},
        PR_COMPILE_LIMITS(X)
#undef X
    };
    struct svc_compiler_options options = {.socket = socket, .state = state};

    if (number >= BASE_COUNT_OF(limits)) {
        svc_log("compile service: there is none with the number %u.", number);
        return -EINVAL;
    }
    options.limits = limits[number];
    return svc_compiler_serve(&options);
}
