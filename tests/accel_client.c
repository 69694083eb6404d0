/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel_client GENERATION NETWORK WORDS COUNT MODE [ARGUMENT]: what programs do with the engine, one way
 * for each mode. It prints `right` when all went well, and ends with status 1 and a line when not. Modes that
 * stop on the way print a word and wait for a line.
 */
#include "accel_client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 64, THREAD_RUNS = 25 };

struct client {
    char generation;
    struct client_network network;
    char **argv;
    const char *argument;
    int node;
    struct client_job job;
};

static void begin(struct client *client)
{
    client->node = client_open(client->generation);
    client_prepare(&client->job, client->node, &client->network);
}

/* Says where it is, and goes on when it is told to. */
static void rest(const char *word)
{
    char line[64];

    printf("%s %d\n", word, (int)getpid());
    fflush(stdout);
    client_check(fgets(line, sizeof(line), stdin), "stdin");
}

static void once(struct client *client)
{
    begin(client);
    client_run(&client->job, 7);
    client_free(&client->job);
}

static void repeat(struct client *client)
{
    unsigned runs = (unsigned)strtoul(client->argument, NULL, 10);

    begin(client);
    for (unsigned i = 0; i < runs; i++) {
        if (i == runs / 10)
            rest("warm");
        client_run(&client->job, i);
    }
    rest("done");
}

/* Opens and buffers over and over, which leave nothing behind either. */
static void reopen(struct client *client)
{
    unsigned runs = (unsigned)strtoul(client->argument, NULL, 10);

    for (unsigned i = 0; i < runs; i++) {
        if (i == runs / 10)
            rest("warm");
        begin(client);
        client_run(&client->job, i);
        client_free(&client->job);
        close(client->node);
    }
    rest("done");
}

static void await(pid_t child)
{
    int status;

    client_check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
}

/* The child has its parent's descriptor and mappings, and then some of its own. */
static void forked(struct client *client)
{
    pid_t child;

    begin(client);
    child = fork();
    if (child == 0) {
        client_run(&client->job, 11);
        begin(client);
        client_run(&client->job, 12);
        _exit(0);
    }
    await(child);
    client_check(client_right(&client->job, 11), "what the child computed");
    client_run(&client->job, 13);
}

struct worker {
    struct client *client;
    unsigned number;
    pthread_t thread;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct client_job job;

    client_prepare(&job, worker->client->node, &worker->client->network);
    for (unsigned i = 0; i < THREAD_RUNS; i++)
        client_run(&job, 31 * worker->number + i);
    client_free(&job);
    return NULL;
}

static void threads(struct client *client)
{
    unsigned count = (unsigned)strtoul(client->argument, NULL, 10);
    struct worker worker[THREADS_MAX];

    client_check(count <= THREADS_MAX, "the number of threads");
    client->node = client_open(client->generation);
    for (unsigned i = 0; i < count; i++) {
        worker[i] = (struct worker){client, i, 0};
        errno = pthread_create(&worker[i].thread, NULL, work, &worker[i]);
        client_check(!errno, "a thread");
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(worker[i].thread, NULL);
}

/* Becomes this program again, in mode `inherited`; only a descriptor without close on exec comes along. */
static void executed(struct client *client)
{
    char mode[] = "inherited", node[16], shut[16];
    char **own = client->argv;
    char *argv[] = {own[0], own[1], own[2], own[3], own[4], mode, node, shut, NULL};
    int other;

    begin(client);
    client_run(&client->job, 3);
    other = open("/dev/dri/renderD129", O_RDWR | O_CLOEXEC);
    client_check(other >= 0, "/dev/dri/renderD129");
    client_check(!fcntl(client->node, F_SETFD, 0), "F_SETFD");
    snprintf(node, sizeof(node), "%d", client->node);
    snprintf(shut, sizeof(shut), "%d", other);
    execv("/proc/self/exe", argv);
    client_fail("exec");
}

static void inherited(struct client *client)
{
    int node = (int)strtol(client->argument, NULL, 10), shut = (int)strtol(client->argv[7], NULL, 10);

    client_check(fcntl(shut, F_GETFD) < 0 && errno == EBADF, "a descriptor that closes on exec");
    client_prepare(&client->job, node, &client->network);
    client_run(&client->job, 5);
    begin(client);
    client_run(&client->job, 6);
}

/* Results outlive the descriptor. */
static void closed(struct client *client)
{
    begin(client);
    client_fill(&client->job, 21);
    client_check(!client_submit(&client->job), "SUBMIT");
    close(client->node);
    client_check(client_right(&client->job, 21), "the sum after close");
}

/* ARGUMENT is a network that the engine does not end. */
static void hang(struct client *client)
{
    struct client_network bad = client_network_read(client->argument, client->argv[7], "1");
    struct client_job job;

    begin(client);
    client_prepare(&job, client->node, &bad);
    client_fill(&job, 1);
    client_check(client_submit(&job) == ETIMEDOUT, "a request that hangs");
    client_run(&client->job, 2);
    free(bad.text);
}

static void endless(struct client *client)
{
    begin(client);
    client_run(&client->job, 0);
    printf("running %d\n", (int)getpid());
    fflush(stdout);
    for (unsigned i = 1;; i++)
        client_run(&client->job, i);
}

/* A descendant of the same kind, and one that does nothing. */
static void family(struct client *client)
{
    pid_t between = fork();

    if (between == 0) {
        if (fork() == 0) {
            setsid();
            printf("idle %d\n", (int)getpid());
            fflush(stdout);
            for (;;)
                pause();
        }
        _exit(0);
    }
    await(between);
    endless(client);
}

/* Children that are killed while the engine works for them. */
static void killed(struct client *client)
{
    unsigned runs = (unsigned)strtoul(client->argument, NULL, 10);

    for (unsigned i = 0; i < runs; i++) {
        int pipe_of[2], status;
        char byte;
        pid_t child;

        if (i == runs / 10)
            rest("warm");
        client_check(!pipe(pipe_of), "pipe");
        child = fork();
        if (child == 0) {
            begin(client);
            client_run(&client->job, i);
            client_check(write(pipe_of[1], "x", 1) == 1, "write");
            for (unsigned k = i;; k++)
                client_run(&client->job, k);
        }
        close(pipe_of[1]);
        client_check(child > 0 && read(pipe_of[0], &byte, 1) == 1, "the child's first result");
        kill(child, SIGKILL);
        client_check(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "the child's end");
        close(pipe_of[0]);
    }
    once(client);
    rest("done");
}

static void paths(struct client *client)
{
    (void)client;
    client_paths();
}

static void pointers(struct client *client)
{
    client->node = client_open(client->generation);
    client_pointers(client->node);
}

static const struct mode {
    const char *name;
    void (*run)(struct client *client);
    int arguments;
} modes[] = {
    {"once", once, 0},       {"repeat", repeat, 1},     {"reopen", reopen, 1},       {"fork", forked, 0},
    {"threads", threads, 1}, {"exec", executed, 0},     {"inherited", inherited, 2}, {"close", closed, 0},
    {"hang", hang, 2},       {"endless", endless, 0},   {"family", family, 0},       {"killed", killed, 1},
    {"paths", paths, 0},     {"pointers", pointers, 0},
};

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "refuse"))
        client_refuse(argv + 2);
    for (size_t i = 0; argc > 5 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(argv[5], modes[i].name) && argc == 6 + modes[i].arguments) {
            struct client client = {.generation = argv[1][0],
                                    .network = client_network_read(argv[2], argv[3], argv[4]),
                                    .argv = argv,
                                    .argument = argv[6]};

            modes[i].run(&client);
            puts("right");
            free(client.network.text);
            return 0;
        }
    fputs("accel_client: wrong words\n", stderr);
    return 2;
}
