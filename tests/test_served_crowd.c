/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     test_served_crowd [PROCESSES [SECONDS]]
 *
 * Many processes of several users at one service: eight programs, every way to the engine, every quality of
 * service; some are killed at random moments, others break the rules. All results of the others are right,
 * and the service is afterwards what it was. A quarter of the processes are hostile.
 */
#include "support.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "protocol/qos.h"
#include "served_models.h"
#include "servedrig.h"

#define PROCESSES_MAX 64u
#define FIRST_USER    61001u /* exists on no machine; the kernel does not ask for more */
#define USERS         3u
/* Of the service's resident memory, at most. The address sanitizer keeps what was freed for a while. */
#if defined(__SANITIZE_ADDRESS__)
#define GROWTH_BYTES (2048ull << 20)
#else
#define GROWTH_BYTES (256ull << 20)
#endif

static unsigned processes = 5;
static double seconds = 4;

static const char policy[] = "match uid *\n"
                             "    allow com.apple.aned.private.allow\n"
                             "match path @/direct\n"
                             "    allow com.apple.security.temporary-exception.iokit-user-client-class\n"
                             "    allow com.apple.ane.allow-dataChaining-access\n"
                             "    allow com.apple.ane.memory\n";

static const char *const ways[] = {"stream", "submitted", "brokered", "direct", "flight"};
static const char *const kinds[] = {"silent", "half",         "stranger",   "session", "broker",
                                    "flood",  "spoiled-ring", "noisy-ring", "hoard"};
static const char *const classes[] = {"0x21", "0x19", "0x15", "0x11", "0x09"};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct member {
    struct servedrig_client client;
    bool running, hostile;
    double end; /* killed then; 0: not */
};

static struct servedrig rig;
static struct test_rng rng;
static char plain[128], direct[128];
static struct {
    unsigned started, killed, hostile;
    unsigned long results;
} tally;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static unsigned pick(size_t count)
{
    return (unsigned)test_rng_range(&rng, 0, (int64_t)count - 1);
}

static uid_t pick_user(void)
{
    unsigned user = pick(USERS + 1);

    return getuid() == 0 && user ? FIRST_USER + user - 1 : 0;
}

/*
 * Hostile processes have a user of their own: what one user may have is shared by all its processes, so one
 * that takes all of it keeps those of its own user out.
 */
static uid_t hostile_user(void)
{
    return getuid() == 0 ? FIRST_USER + USERS : 0;
}

static void begin(struct member *m, bool hostile)
{
    const double span = seconds < 10 ? 0.2 + test_rng_unit(&rng) : 0.5 + 5 * test_rng_unit(&rng);
    char time[32], seed[32];

    *m = (struct member){.running = true, .hostile = hostile};
    snprintf(time, sizeof(time), "%.3f", span);
    snprintf(seed, sizeof(seed), "%" PRIu64, test_rng_u64(&rng));
    if (pick(3) == 0)
        m->end = now() + span * test_rng_unit(&rng);
    tally.started++;
    tally.hostile += hostile;
    if (hostile) {
        const char *const arguments[] = {"hostile", kinds[pick(COUNT(kinds))], time, seed, NULL};

        servedrig_spawn(&rig, &m->client, pick(2) ? direct : plain, hostile_user(), arguments);
    } else {
        unsigned way = pick(COUNT(ways));
        const char *const arguments[] = {
            "run", ways[way], served_models[pick(SERVED_MODELS)].name, rig.models,
            time,  seed,      classes[pick(COUNT(classes))],           NULL};

        /* A stream takes the path that its policy has: either. */
        servedrig_spawn(&rig, &m->client, way > 2 || (way < 2 && pick(2)) ? direct : plain, pick_user(),
                        arguments);
    }
}

/* It ended by itself: with right results, or having done what it wanted. */
static void finish(struct member *m)
{
    int status;

    while (!m->hostile && servedrig_line(&rig, &m->client))
        if (strncmp(m->client.line, "done ", 5) == 0)
            tally.results += strtoul(m->client.line + 5, NULL, 10);
    status = servedrig_wait(&rig, &m->client);
    m->running = false;
    if (status)
        fail_msg("`%s` ended with status 0x%x (seed %" PRIu64 ").", m->client.what, status, test_seed());
}

static void look_after(struct member *m)
{
    siginfo_t info = {.si_pid = 0};

    if (m->end && now() > m->end) {
        servedrig_end(&rig, &m->client);
        m->running = false;
        tally.killed++;
        return;
    }
    if (waitid(P_PID, (id_t)m->client.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
        finish(m);
}

/* Each program, way and user once, so that what they make for good is there before it is counted. */
static void warm_up(void)
{
    for (unsigned i = 0; i < COUNT(ways); i++) {
        struct member m = {.running = true};
        const char *const arguments[] = {"run",  ways[i], served_models[i].name, rig.models, "0.05", "1",
                                         "0x15", NULL};

        servedrig_spawn(&rig, &m.client, i > 2 ? direct : plain, 0, arguments);
        finish(&m);
    }
}

static void a_crowd_is_served(void **state)
{
    static struct member crowd[PROCESSES_MAX];
    struct servedrig_figures before, after;
    double end;

    (void)state;
    test_rng_init(&rng, 0xc40d);
    servedrig_start(&rig, policy);
    snprintf(plain, sizeof(plain), "%s", servedrig_program(&rig, "plain", 0));
    snprintf(direct, sizeof(direct), "%s", servedrig_program(&rig, "direct", 0));
    warm_up();
    servedrig_rest(&rig, &before);
    if (getuid() != 0)
        print_message("# Only root can run clients as other users: all are of one.\n");
    for (end = now() + seconds; now() < end; usleep(2000))
        for (unsigned i = 0; i < processes; i++)
            if (crowd[i].running)
                look_after(&crowd[i]);
            else
                begin(&crowd[i], i < processes / 4);
    for (unsigned i = 0; i < processes; i++)
        while (crowd[i].running) {
            look_after(&crowd[i]);
            usleep(2000);
        }
    servedrig_settle(&rig, &before);
    servedrig_figures(&rig, &after);
    print_message("# %u clients, %u of them hostile, %u killed; %lu results right; resident memory %" PRIu64
                  " MiB before, %" PRIu64 " after\n",
                  tally.started, tally.hostile, tally.killed, tally.results, before.resident_memory >> 20,
                  after.resident_memory >> 20);
    assert_true(tally.results > 0);
    assert_true(after.resident_memory < before.resident_memory + GROWTH_BYTES);
    servedrig_stop(&rig);
}

static int stop(void **state)
{
    (void)state;
    servedrig_kill(&rig);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_crowd_is_served)};

    if (argc > 1)
        processes = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seconds = strtod(argv[2], NULL);
    if (processes < 1 || processes > PROCESSES_MAX) {
        fprintf(stderr, "test_served_crowd [PROCESSES [SECONDS]]: 1 to %u processes\n", PROCESSES_MAX);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("served_crowd", tests, NULL, stop);
}
