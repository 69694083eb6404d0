/* SPDX-License-Identifier: Apache-2.0 */
#include "servedrig.h"

#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <anemone/abi.h>

#include "folder.h"
#include "served_models.h"
#include "served_wire.h"

#define START_SECONDS  20u
#define STOP_SECONDS   10u
#define LINE_SECONDS   60u
#define SETTLE_SECONDS 20u
#define LOG_BYTES      4000
#define KEPT_THREADS   "broker-slot"

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The end of the service's log, as comments of TAP. */
static void show_log(const struct servedrig *rig)
{
    char path[128], *bytes;
    size_t size;

    snprintf(path, sizeof(path), "%s/log", rig->folder);
    bytes = (char *)test_file_read(path, &size);
    if (!bytes)
        return;
    for (char *line = bytes + (size > LOG_BYTES ? size - LOG_BYTES : 0), *next; line < bytes + size;
         line = next + 1) {
        next = memchr(line, '\n', (size_t)(bytes + size - line));
        next = next ? next : bytes + size;
        print_error("#   %.*s\n", (int)(next - line), line);
    }
    free(bytes);
}

#define FAIL(rig, ...)         \
    do {                       \
        show_log(rig);         \
        servedrig_kill(rig);   \
        fail_msg(__VA_ARGS__); \
    } while (0)

/* ---- The service ---- */

static void write_policy(const struct servedrig *rig, const char *policy)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/policy/test.policy", rig->folder);
    file = fopen(path, "w");
    assert_non_null(file);
    for (; policy && *policy; policy++)
        if (*policy == '@')
            fputs(rig->folder, file);
        else
            fputc(*policy, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(struct servedrig *rig)
{
    static unsigned count;
    static const char *const inside[] = {"policy", "state", "models", "run"};
    char name[16], path[128];

    umask(022);
    snprintf(name, sizeof(name), "s%u", count++);
    snprintf(rig->folder, sizeof(rig->folder), "%s", folder_path(name));
    /* Clients of other users come in, too. */
    assert_int_equal(chmod(folder_name(), 0755), 0);
    assert_int_equal(mkdir(rig->folder, 0755), 0);
    for (unsigned i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", rig->folder, inside[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    snprintf(rig->models, sizeof(rig->models), "%s/models", rig->folder);
    snprintf(rig->socket, sizeof(rig->socket), "%s/run/service", rig->folder);
    assert_true(served_models_write(rig->models));
}

static _Noreturn void become_service(const struct servedrig *rig)
{
    char state[128], policy[128], path[128];
    int log;

    snprintf(state, sizeof(state), "%s/state", rig->folder);
    snprintf(policy, sizeof(policy), "%s/policy", rig->folder);
    snprintf(path, sizeof(path), "%s/log", rig->folder);
    log = open(path, O_CREAT | O_WRONLY | O_APPEND, 0644);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Threads are counted, and those that compute are made when work is long: none. */
    execl(TEST_COMMAND, TEST_COMMAND, "serve", "--socket", rig->socket, "--state", state, "--policy", policy,
          "--threads", "1", (char *)NULL);
    _exit(126);
}

static bool has_ended(struct servedrig *rig, int *status)
{
    if (waitpid(rig->service, status, WNOHANG) != rig->service)
        return false;
    rig->service = 0;
    return true;
}

void servedrig_start(struct servedrig *rig, const char *policy)
{
    double limit = now() + START_SECONDS;
    int status, socket;

    *rig = (struct servedrig){.service = 0};
    make_folder(rig);
    write_policy(rig, policy);
    fflush(stdout);
    rig->service = fork();
    assert_true(rig->service >= 0);
    if (!rig->service)
        become_service(rig);
    while ((socket = served_wire_connect(rig->socket)) < 0) {
        if (has_ended(rig, &status))
            FAIL(rig, "The service ended at once, with status 0x%x.", status);
        if (now() > limit)
            FAIL(rig, "The service did not answer within %u seconds.", START_SECONDS);
        usleep(2000);
    }
    close(socket);
}

void servedrig_kill(struct servedrig *rig)
{
    int status;

    if (!rig->service)
        return;
    kill(rig->service, SIGKILL);
    waitpid(rig->service, &status, 0);
    rig->service = 0;
}

void servedrig_stop(struct servedrig *rig)
{
    double limit = now() + STOP_SECONDS;
    int status;

    assert_int_equal(kill(rig->service, SIGTERM), 0);
    while (!has_ended(rig, &status)) {
        if (now() > limit)
            FAIL(rig, "The service did not stop within %u seconds of SIGTERM.", STOP_SECONDS);
        usleep(2000);
    }
    if (status)
        FAIL(rig, "The service ended with status 0x%x.", status);
    assert_int_equal(access(rig->socket, F_OK), -1);
}

/* ---- Clients ---- */

const char *servedrig_program(struct servedrig *rig, const char *name, unsigned variant)
{
    static char path[8][128];
    static unsigned turn;
    char *to = path[turn++ % 8];
    uint8_t *bytes;
    size_t size;
    FILE *file;

    snprintf(to, sizeof(path[0]), "%s/%s", rig->folder, name);
    bytes = test_file_read(TEST_CLIENT, &size);
    assert_non_null(bytes);
    unlink(to); /* an earlier one may run */
    file = fopen(to, "wb");
    assert_non_null(file);
    assert_true(fwrite(bytes, 1, size, file) == size);
    for (unsigned i = 0; i < variant; i++)
        fputc('v', file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(to, 0755), 0);
    free(bytes);
    return to;
}

static _Noreturn void become_client(const struct servedrig *rig, const char *program, uid_t uid, int in,
                                    int out, const char *const *arguments)
{
    char *argv[16] = {(char *)(uintptr_t)program};

    for (unsigned i = 0; arguments[i] && i < 14; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    setenv("ANEMONE_SERVICE", rig->socket, 1);
    if (uid && (setgid(uid) || setuid(uid)))
        _exit(125);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(program, argv);
    _exit(126);
}

void servedrig_spawn(struct servedrig *rig, struct servedrig_client *client, const char *program, uid_t uid,
                     const char *const *arguments)
{
    int to[2], from[2];
    size_t at = 0;

    *client = (struct servedrig_client){.pid = 0};
    for (unsigned i = 0; arguments[i] && at < sizeof(client->what); i++)
        at += (size_t)snprintf(client->what + at, sizeof(client->what) - at, "%s ", arguments[i]);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    fflush(stdout);
    client->pid = fork();
    assert_true(client->pid >= 0);
    if (!client->pid)
        become_client(rig, program, uid, to[0], from[1], arguments);
    close(to[0]), close(from[1]);
    client->in = to[1];
    client->out = from[0];
}

bool servedrig_line(struct servedrig *rig, struct servedrig_client *client)
{
    size_t at = 0;

    for (;;) {
        struct pollfd wait = {.fd = client->out, .events = POLLIN};

        if (poll(&wait, 1, LINE_SECONDS * 1000) != 1)
            FAIL(rig, "The client `%s` said nothing for %u seconds.", client->what, LINE_SECONDS);
        if (read(client->out, client->line + at, 1) != 1)
            return false;
        if (client->line[at] == '\n')
            break;
        assert_true(++at < sizeof(client->line));
    }
    client->line[at] = '\0';
    return true;
}

const char *servedrig_expect(struct servedrig *rig, struct servedrig_client *client, const char *word)
{
    size_t length = strlen(word);

    if (!servedrig_line(rig, client))
        FAIL(rig, "The client `%s` ended before it said \"%s\".", client->what, word);
    if (strncmp(client->line, word, length) != 0)
        FAIL(rig, "The client `%s` said \"%s\" instead of \"%s\".", client->what, client->line, word);
    return client->line[length] ? client->line + length + 1 : "";
}

void servedrig_tell(struct servedrig_client *client, const char *line)
{
    assert_true(dprintf(client->in, "%s\n", line) > 0);
}

static void close_pipes(struct servedrig_client *client)
{
    close(client->in), close(client->out);
    client->in = client->out = -1;
}

int servedrig_wait(struct servedrig *rig, struct servedrig_client *client)
{
    double limit = now() + LINE_SECONDS;
    int status;

    while (waitpid(client->pid, &status, WNOHANG) != client->pid) {
        if (now() > limit)
            FAIL(rig, "The client `%s` did not end within %u seconds.", client->what, LINE_SECONDS);
        usleep(2000);
    }
    client->pid = 0;
    close_pipes(client);
    return status;
}

void servedrig_end(struct servedrig *rig, struct servedrig_client *client)
{
    assert_int_equal(kill(client->pid, SIGKILL), 0);
    servedrig_wait(rig, client);
}

/* ---- Figures ---- */

/*
 * Threads and descriptors that are kept on purpose are not counted: those that serve the broker's calls, as
 * many as it has had at once, and the memory files of models that it keeps.
 */
static bool is_kept(pid_t process, const char *folder, const char *entry)
{
    char path[320], text[128] = "";
    FILE *file;

    if (strcmp(folder, "fd") == 0) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)process, entry);
        return readlink(path, text, sizeof(text) - 1) > 0 &&
               (strstr(text, "/memfd:main.e5") || strstr(text, "/memfd:weights.bin"));
    }
    snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)process, entry);
    file = fopen(path, "r");
    if (!file)
        return false;
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    fclose(file);
    return strncmp(text, KEPT_THREADS, strlen(KEPT_THREADS)) == 0;
}

/* Entries of a folder of /proc; 0 when the process has ended. */
static uint64_t count_in(pid_t process, const char *folder)
{
    char path[64];
    uint64_t count = 0;
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, folder);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.' && !is_kept(process, folder, entry->d_name);
    if (dir)
        closedir(dir);
    return count;
}

static uint64_t resident_memory(pid_t process)
{
    char path[64], text[256] = "";
    unsigned long long pages = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)process);
    file = fopen(path, "r");
    if (file) {
        if (fgets(text, sizeof(text), file))
            sscanf(text, "%*u %llu", &pages);
        fclose(file);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t count_children(pid_t process)
{
    char path[80], text[4096] = "";
    uint64_t count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)process, (int)process);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fgets(text, sizeof(text), file))
        for (const char *c = text; *c; c++)
            count += *c == ' ';
    fclose(file);
    return count;
}

static uint32_t registry_step(struct servedrig *rig, struct served_wire *wire, uint32_t step, uint32_t entry,
                              uint32_t index, const char *key, struct served_reply *reply)
{
    struct pr_service_registry body = {.entry = entry, .step = step, .index = index};

    snprintf(body.key, sizeof(body.key), "%s", key);
    if (served_wire_call(wire, PR_SERVICE_REGISTRY, &body, sizeof(body), reply) == SERVED_WIRE_CLOSED)
        FAIL(rig, "The service closed the socket at a step of the registry.");
    return reply->head.status ? 0 : reply->registry.entry;
}

/* A number of an entry by its key. */
static uint64_t property(struct servedrig *rig, struct served_wire *wire, uint32_t entry, const char *key)
{
    struct served_reply reply;

    for (uint32_t i = 0;; i++) {
        struct ane_registry_value value;

        registry_step(rig, wire, PR_SERVICE_REGISTRY_PROPERTY, entry, i, "", &reply);
        if (reply.head.status || !reply.registry.key[0])
            FAIL(rig, "The registry has no property %s.", key);
        memcpy(&value, reply.registry.value, sizeof(value));
        if (strcmp(reply.registry.key, key) == 0)
            return value.number;
    }
}

static void registry_figures(struct servedrig *rig, struct servedrig_figures *figures)
{
    struct served_reply reply = {.head = {0}};
    struct served_wire wire;
    uint32_t device, hints, balancer;

    if (!served_wire_begin(&wire, rig->socket, PR_SERVICE_ROLE_OBSERVER, &reply))
        FAIL(rig, "The service refused a session: %s", reply.sentence);
    device = registry_step(rig, &wire, PR_SERVICE_REGISTRY_FIND, 0, 0, "H11ANEIn", &reply);
    balancer = registry_step(rig, &wire, PR_SERVICE_REGISTRY_FIND, 0, 0, "H1xANELoadBalancer", &reply);
    hints = registry_step(rig, &wire, PR_SERVICE_REGISTRY_CHILD, device, 0, "", &reply);
    figures->control_clients = property(rig, &wire, device, "ControlClients");
    figures->direct_clients = property(rig, &wire, device, "DirectPathClients");
    figures->pending_requests = property(rig, &wire, device, "pendingRequestsWithFirmwareCount");
    figures->hints_clients = property(rig, &wire, hints, "HintsClients");
    figures->programs = property(rig, &wire, balancer, "Programs");
    figures->resident_bytes = property(rig, &wire, balancer, "ResidentBytes");
    served_wire_end(&wire);
}

void servedrig_figures(struct servedrig *rig, struct servedrig_figures *figures)
{
    struct pr_service_status_page page;

    *figures = (struct servedrig_figures){.service_descriptors = count_in(rig->service, "fd"),
                                          .service_threads = count_in(rig->service, "task"),
                                          .service_children = count_children(rig->service),
                                          .resident_memory = resident_memory(rig->service)};
    if (served_wire_status(rig->socket, &page, NULL, 0) < 0)
        FAIL(rig, "The service has no status.");
    figures->sessions = page.sessions;
    figures->wired_bytes = page.wired;
    figures->pageable_bytes = page.pageable;
    figures->broker_restarts = page.broker_restarts;
    figures->compiler_restarts = page.compiler_restarts;
    if (page.broker_pid) {
        figures->broker_descriptors = count_in((pid_t)page.broker_pid, "fd");
        figures->broker_threads = count_in((pid_t)page.broker_pid, "task");
    }
    registry_figures(rig, figures);
}

static bool are_same(const struct servedrig_figures *a, const struct servedrig_figures *b)
{
#define X(figure)               \
    if (a->figure != b->figure) \
        return false;
    SERVEDRIG_FIGURES(X)
#undef X
    return true;
}

static void show_difference(const struct servedrig_figures *was, const struct servedrig_figures *is)
{
#define X(figure)                  \
    if (was->figure != is->figure) \
        print_error("# " #figure ": %" PRIu64 " before, %" PRIu64 " now\n", was->figure, is->figure);
    SERVEDRIG_FIGURES(X)
#undef X
}

void servedrig_rest(struct servedrig *rig, struct servedrig_figures *figures)
{
    double limit = now() + SETTLE_SECONDS;
    struct servedrig_figures earlier;

    servedrig_figures(rig, figures);
    do {
        earlier = *figures;
        usleep(200000);
        servedrig_figures(rig, figures);
    } while (!are_same(&earlier, figures) && now() < limit);
}

void servedrig_settle(struct servedrig *rig, const struct servedrig_figures *before)
{
    double limit = now() + SETTLE_SECONDS;
    struct servedrig_figures figures;

    for (;;) {
        servedrig_figures(rig, &figures);
        if (are_same(before, &figures))
            return;
        if (now() > limit)
            break;
        usleep(50000);
    }
    show_difference(before, &figures);
    FAIL(rig, "The service does not come back to what it had before.");
}
