/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything legal at once, for a while:
 *
 *     soak SECONDS [SEED]
 *
 * 64 threads and 20 clients of three identities on one machine, beside machines that come and
 * go, the runtime on the default machine, and children. Every answer must be one that the table
 * below allows, every result right; at the end everything is back where it began. Prints TAP;
 * the line has the number of operations of each kind.
 */
#include "soak.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SEED 0x414e454d4f4e45u
#define MAPS_SLACK   (SOAK_SANITIZED ? 8192u : 512u) /* what the C library keeps for the next threads */

/* What a call may answer, and why. Success is allowed while the machine exists. */

#define ANSWERS_MAX 6u
static const struct rule {
    enum soak_call call;
    enum soak_state state;
    IOReturn answer[ANSWERS_MAX]; /* beside success; ends with 0 */
    const char *why;
} rules[] = {
    {SOAK_CREATE, SOAK_SHARED, {ANE_RETURN_CLOSED}, "another thread closes the connection"},
    {SOAK_PREPARE,
     SOAK_SHARED,
     {ANE_RETURN_CLOSED, kIOReturnAborted, kIOReturnNotFound},
     "another thread closes the connection or destroys the program"},
    {SOAK_REQUEST,
     SOAK_SHARED,
     {ANE_RETURN_CLOSED, kIOReturnAborted, kIOReturnNotFound, kIOReturnNotReady},
     "another thread closes the connection, destroys the program or unprepares it"},
    {SOAK_UNPREPARE,
     SOAK_SHARED,
     {ANE_RETURN_CLOSED, kIOReturnNotFound, kIOReturnNotReady, kIOReturnBusy},
     "another thread did it first, or has a request under way"},
    {SOAK_DESTROY,
     SOAK_SHARED,
     {ANE_RETURN_CLOSED, kIOReturnNotFound, kIOReturnBusy},
     "the connection is closed, or a client has prepared the program or has a request under way"},
    {SOAK_REQUEST, SOAK_GONE, {ANE_RETURN_CLOSED}, "the machine was destroyed"},
    {SOAK_CLOSE, SOAK_GONE, {ANE_RETURN_CLOSED}, "the machine was destroyed"},
};

static const char *const call_names[] = {
#define X(id, name) name,
    SOAK_CALLS(X)
#undef X
};

static atomic_ulong counts[SOAK_CALLS_MAX];

const char *soak_call_name(enum soak_call call)
{
    return call_names[call];
}

void soak_count(enum soak_call call)
{
    atomic_fetch_add_explicit(&counts[call], 1, memory_order_relaxed);
}

static bool is_allowed(const struct rule *rule, IOReturn status)
{
    for (unsigned i = 0; i < ANSWERS_MAX && rule->answer[i]; i++)
        if (rule->answer[i] == status)
            return true;
    return false;
}

IOReturn soak_answer(enum soak_call call, enum soak_state state, IOReturn status)
{
    static const char *const states[] = {"that no other thread uses", "that other threads use",
                                         "whose machine was destroyed"};
    bool allowed = !status && state != SOAK_GONE;

    soak_count(call);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !allowed; i++)
        allowed = rules[i].call == call && rules[i].state == state && is_allowed(&rules[i], status);
    if (!allowed)
        crew_fail("%s on a connection %s answered 0x%x, which nothing announces: %s", call_names[call],
                  states[state], (unsigned)status, ane_machine_error());
    return status;
}

/* What the process holds. */

struct holdings {
    unsigned files, threads, mappings, file_mappings;
    uint64_t dram, default_dram;
};

static unsigned entries(const char *path)
{
    DIR *folder = opendir(path);
    unsigned count = 0;

    if (!folder)
        crew_fail("%s cannot be read.", path);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Lines of /proc/self/maps; those that have the word. */
static unsigned mappings(const char *word)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned count = 0;
    char line[512];

    if (!file)
        crew_fail("/proc/self/maps cannot be read.");
    while (fgets(line, sizeof(line), file))
        count += strstr(line, word) && strchr(line, '\n');
    fclose(file);
    return count;
}

static struct ane_machine *default_machine(void)
{
    struct ane_machine *machine;

    if (ane_machine_default(NULL, &machine))
        crew_fail("ane_machine_default: %s", ane_machine_error());
    return machine;
}

static struct holdings take_stock(const struct soak *soak)
{
    return (struct holdings){.files = entries("/proc/self/fd"),
                             .threads = entries("/proc/self/task"),
                             .mappings = mappings(""),
                             .file_mappings = mappings("/memfd:"),
                             .dram = outrig_dram_used(soak->machine),
                             .default_dram = outrig_dram_used(default_machine())};
}

/* A thread that was joined may be listed for a moment. */
static void wait_for_threads(unsigned threads)
{
    for (unsigned i = 0; i < 1000 && entries("/proc/self/task") > threads; i++)
        usleep(1000);
}

static void compare(const char *what, uint64_t before, uint64_t after, uint64_t slack)
{
    if (after > before + slack || after + slack < before)
        crew_fail("%s: %" PRIu64 " at the end, %" PRIu64 " at the beginning.", what, after, before);
}

static void check_stock(const struct soak *soak, const struct holdings *before)
{
    struct holdings after;

    wait_for_threads(before->threads);
    after = take_stock(soak);
    compare("Bytes of DRAM in use", before->dram, after.dram, 0);
    compare("Bytes of DRAM in use on the default machine", before->default_dram, after.default_dram, 0);
    compare("Open file descriptors", before->files, after.files, 0);
    compare("Threads", before->threads, after.threads, 0);
    compare("Host mappings of memory files", before->file_mappings, after.file_mappings, 0);
    if (after.mappings > before->mappings)
        compare("Host mappings", before->mappings, after.mappings, MAPS_SLACK);
    outrig_tables_check(soak->machine, before->dram);
    outrig_tables_check(default_machine(), before->default_dram);
}

/* One of everything, so that what is made once is there before the count. */
static void warm_up(const struct soak *soak)
{
    e5rt_program_library_t library = outrig_library();
    struct crew_worker *self = crew_main();
    struct outrig_stream stream;
    struct outrig_user user;
    struct outrig_data data;

    outrig_stream_make(&stream, library);
    outrig_stream_run(self, &stream);
    outrig_stream_release(&stream);
    outrig_library_release(&library);
    outrig_user_make(&user, soak->service);
    outrig_data_make(&data, 0);
    outrig_good(outrig_request(self, &user.client, user.token, &data), "A request (selector 2)");
    outrig_data_release(&data);
    outrig_user_release(&user);
    outrig_own_machine(self);
}

static void make_tasks(struct soak *soak)
{
    static const char *const entitlement[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory",
                                              "com.apple.ane.realtime-priority-client",
                                              "com.apple.ane.allow-system-reserved-priorities"};
    static const char *const team[SOAK_TASKS] = {NULL, "FIRSTTEAM", "SECONDTEAM"};

    for (unsigned i = 1; i < SOAK_TASKS; i++) {
        const uint8_t hash[20] = {(uint8_t)i};

        soak->task[i] = ane_task_create(entitlement, 4, team[i], hash);
        if (!soak->task[i])
            crew_fail("ane_task_create made no task.");
    }
}

static void run(struct soak *soak, double seconds)
{
    static struct crew_worker worker[SOAK_THREADS];
    unsigned at = 0;

    soak_shared_begin(soak);
    crew_time(seconds);
#define X(function, threads)                          \
    crew_start(&worker[at], threads, function, soak); \
    at += (threads);
    SOAK_CREWS(X)
#undef X
    if (at != SOAK_THREADS)
        crew_fail("%u threads were started, not %u.", at, SOAK_THREADS);
    at = 0;
#define X(function, threads)         \
    crew_join(&worker[at], threads); \
    at += (threads);
    SOAK_CREWS(X)
#undef X
    soak_shared_end();
}

static void print_counts(void)
{
    char line[512];
    size_t at = 0;

    for (unsigned i = 0; i < SOAK_CALLS_MAX; i++)
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s %lu", i ? ", " : "", call_names[i],
                               atomic_load(&counts[i]));
    crew_pass("%s", line);
}

int main(int argc, char **argv)
{
    const char *seed = argc == 3 ? argv[2] : getenv("ANEMONE_TEST_SEED");
    struct soak soak = {.program = "/proc/self/exe"};
    struct holdings before;
    double seconds;
    char *end;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: soak SECONDS [SEED]\n");
        return 2;
    }
    if (!strcmp(argv[1], "--child")) {
        crew_begin("soak, child", 0);
        outrig_compile();
        outrig_own_machine(crew_main());
        return 0;
    }
    seconds = strtod(argv[1], &end);
    if (*end || !(seconds > 0 && seconds < 1e6)) {
        fprintf(stderr, "soak: SECONDS is \"%s\"; a positive number is needed.\n", argv[1]);
        return 2;
    }
    crew_begin("soak", seed ? strtoull(seed, NULL, 0) : DEFAULT_SEED);
    setenv("ANEMONE_THREADS", "1", 1);
    outrig_compile();
    soak.machine = outrig_machine();
    soak.service = ane_machine_service(soak.machine);
    make_tasks(&soak);
    warm_up(&soak);
    before = take_stock(&soak);
    run(&soak, seconds);
    check_stock(&soak, &before);
    for (unsigned i = 1; i < SOAK_TASKS; i++)
        ane_task_release(soak.task[i]);
    ane_machine_destroy(soak.machine);
    print_counts();
    return 0;
}
