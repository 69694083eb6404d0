/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a load test. */
#include "crew.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS 30u
#define CREWS_MAX     16u
#define STACK_BYTES   (512u << 10)

static const char *crew_name = "";
static uint64_t crew_seed;
static struct crew_worker main_worker = {.number = UINT32_MAX};
static _Atomic uint64_t end_ns;

/* Groups of workers that run; protected by the lock. */
static pthread_mutex_t crews_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct crew_worker *workers;
    unsigned count;
} crews[CREWS_MAX];

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* splitmix64, by Vigna. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t crew_random(struct crew_worker *worker, uint64_t limit)
{
    return next_random(&worker->random) % limit;
}

void crew_at(struct crew_worker *worker, const char *call)
{
    atomic_store_explicit(&worker->at, call, memory_order_relaxed);
    atomic_fetch_add_explicit(&worker->steps, 1, memory_order_relaxed);
}

/* One write, so that a failure in another thread cannot cut the line. */
__attribute__((format(printf, 2, 0))) static void print_line(const char *start, const char *format,
                                                             va_list arguments)
{
    char line[1024];
    int at = snprintf(line, sizeof(line), "%s 1 - %s: ", start, crew_name);

    at += vsnprintf(line + at, sizeof(line) - (size_t)at, format, arguments);
    if ((size_t)at > sizeof(line) - 32)
        at = sizeof(line) - 32;
    at += snprintf(line + at, sizeof(line) - (size_t)at, " (seed %" PRIu64 ")\n", crew_seed);
    if (write(STDOUT_FILENO, line, (size_t)at) != at)
        _exit(3);
}

void crew_pass(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line("ok", format, arguments);
    va_end(arguments);
}

void crew_fail(const char *format, ...)
{
    static atomic_flag failed = ATOMIC_FLAG_INIT;
    va_list arguments;

    /* The first failure ends the process; others wait for that. */
    while (atomic_flag_test_and_set(&failed))
        pause();
    va_start(arguments, format);
    print_line("not ok", format, arguments);
    va_end(arguments);
    _exit(1);
}

static bool is_stuck(struct crew_worker *worker)
{
    unsigned long steps = atomic_load_explicit(&worker->steps, memory_order_relaxed);

    if (worker->patient || atomic_load(&worker->ended) || steps != worker->seen)
        worker->quiet = 0;
    else
        worker->quiet++;
    worker->seen = steps;
    return worker->quiet >= QUIET_SECONDS;
}

static _Noreturn void stop_stuck(unsigned count, const struct crew_worker *one)
{
    const char *at = atomic_load_explicit(&one->at, memory_order_relaxed);

    fprintf(stderr,
            "%s: no progress for %u seconds (seed %" PRIu64 "): %u threads hang, one of them in %s.\n",
            crew_name, QUIET_SECONDS, crew_seed, count, at ? at : "its first call");
    abort();
}

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        struct crew_worker *one = NULL;
        unsigned stuck = 0;

        sleep(1);
        pthread_mutex_lock(&crews_lock);
        for (unsigned i = 0; i < CREWS_MAX; i++)
            for (unsigned k = 0; k < crews[i].count; k++)
                if (is_stuck(&crews[i].workers[k])) {
                    one = &crews[i].workers[k];
                    stuck++;
                }
        if (is_stuck(&main_worker)) {
            stuck++;
            one = one ? one : &main_worker;
        }
        if (stuck)
            stop_stuck(stuck, one);
        pthread_mutex_unlock(&crews_lock);
    }
    return NULL;
}

void crew_begin(const char *name, uint64_t seed)
{
    pthread_t watchdog;

    crew_name = name;
    crew_seed = seed;
    main_worker.random = seed;
    printf("1..1\n");
    fflush(stdout);
    if (pthread_create(&watchdog, NULL, watch, NULL))
        crew_fail("The watchdog could not be started.");
    pthread_detach(watchdog);
}

struct crew_worker *crew_main(void)
{
    return &main_worker;
}

void crew_time(double seconds)
{
    atomic_store(&end_ns, now_ns() + (uint64_t)(seconds * 1e9));
}

bool crew_more(void)
{
    return now_ns() < atomic_load(&end_ns);
}

void crew_wait(void)
{
    while (crew_more()) {
        crew_at(&main_worker, "sleep");
        usleep(5000);
    }
}

void crew_pause(struct crew_worker *worker, unsigned most)
{
    usleep((useconds_t)crew_random(worker, most + 1));
}

static void *run(void *context)
{
    struct crew_worker *worker = context;

    worker->run(worker);
    atomic_store(&worker->ended, true);
    return NULL;
}

static void enlist(struct crew_worker *workers, unsigned count)
{
    unsigned i = 0;

    pthread_mutex_lock(&crews_lock);
    while (i < CREWS_MAX && crews[i].workers)
        i++;
    if (i == CREWS_MAX)
        crew_fail("The test starts more than %u crews at once.", CREWS_MAX);
    crews[i].workers = workers;
    crews[i].count = count;
    pthread_mutex_unlock(&crews_lock);
}

void crew_start(struct crew_worker *workers, unsigned count, void (*work)(struct crew_worker *), void *shared)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (unsigned i = 0; i < count; i++) {
        workers[i].number = i;
        workers[i].random = next_random(&main_worker.random);
        workers[i].run = work;
        workers[i].shared = shared;
    }
    enlist(workers, count);
    for (unsigned i = 0; i < count; i++) {
        crew_at(&main_worker, "pthread_create");
        if (pthread_create(&workers[i].thread, &attributes, run, &workers[i]))
            crew_fail("Thread %u of %u could not be started.", i, count);
    }
    pthread_attr_destroy(&attributes);
}

void crew_join(struct crew_worker *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        /* Their own steps show that they are alive. */
        while (!atomic_load(&workers[i].ended)) {
            crew_at(&main_worker, "pthread_join");
            usleep(1000);
        }
        pthread_join(workers[i].thread, NULL);
    }
    pthread_mutex_lock(&crews_lock);
    for (unsigned i = 0; i < CREWS_MAX; i++)
        if (crews[i].workers == workers)
            memset(&crews[i], 0, sizeof(crews[i]));
    pthread_mutex_unlock(&crews_lock);
}

unsigned long crew_steps(const struct crew_worker *workers, unsigned count)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += atomic_load(&workers[i].steps);
    return sum;
}

pid_t crew_fork(void)
{
    pid_t child = fork();

    /* Also after exec. The parent waits for less, and may have failed meanwhile. */
    if (child == 0)
        alarm(2 * QUIET_SECONDS);
    return child;
}

void crew_child(struct crew_worker *worker, pid_t child, const char *what)
{
    uint64_t limit = now_ns() + QUIET_SECONDS * 1000000000ull;
    int status;

    if (child < 0)
        crew_fail("fork failed: %s.", what);
    while (waitpid(child, &status, WNOHANG) == 0) {
        crew_at(worker, "waitpid");
        if (now_ns() > limit) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            crew_fail("A forked child hung for %u seconds: %s.", QUIET_SECONDS, what);
        }
        usleep(500);
    }
    if (WIFSIGNALED(status))
        crew_fail("A forked child was killed by signal %d: %s.", WTERMSIG(status), what);
    if (WEXITSTATUS(status))
        crew_fail("A forked child ended with status %d: %s.", WEXITSTATUS(status), what);
}
