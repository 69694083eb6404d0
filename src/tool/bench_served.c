/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `anemone bench dispatch` with other processes. A service is started with socket, state and
 * policy in a folder of its own, so that it meets no other; clients are `anemone bench client`. Everything
 * that was started has ended when this returns, and ends with this process if that is killed.
 */
#include "tool/bench_served.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/bench.h"
#include "tool/demo.h"
#include "tool/sample.h"
#include "tool/tool.h"

#define IMAGE_BYTES  (256u << 10)
#define OPEN_FOLDERS 16
#define LINE         128u
#define RATE_MS      1000u
#define TRIAL_MS     20u
#define WAIT_STEP_US 10000u
#define START_STEPS  1000u /* of WAIT_STEP_US: how long a service may take to listen */
#define STOP_STEPS   500u  /* and to stop */
#define CLIENTS_MOST 16u
#define WORK_WEIGHTS (32u * 64 * 3 * 3)
#define WORDS(...)   ((const char *const[]){__VA_ARGS__, NULL})

static const unsigned clients[TOOL_SERVED_RATES] = {1, 2, 4, 8, CLIENTS_MOST};

struct bench_service {
    char folder[64], socket[96], image[96], work[96], log[96];
    pid_t pid; /* 0: it does not run */
};

/* Processes. */

struct process {
    pid_t pid;
    int go;       /* closed: it begins to measure */
    FILE *output; /* its lines */
};

static void become(const char *const *words, const char *service, int in, int out, int err)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (setenv("ANEMONE_SERVICE", service, 1) || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0)
        _exit(TOOL_FAILURE);
    execv("/proc/self/exe", (char *const *)words);
    _exit(TOOL_FAILURE);
}

/* The process, which uses that service, or -1 after saying why. */
static pid_t start(const char *const *words, const char *service, int in, int out, int err)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(words, service, in, out, err);
    if (pid < 0)
        tool_say("No process could be made for %s: %s.", words[1], strerror(errno));
    return pid;
}

static bool start_client(const struct bench_service *s, const char *way, uint32_t count,
                         uint32_t milliseconds, struct process *client)
{
    const char *image = strcmp(way, TOOL_BENCH_MODEL) != 0 ? s->image : s->work;
    char count_word[16], time_word[16];
    const char *const *words = WORDS("anemone", "bench", "client", "--image", image, "--way", way, "--count",
                                     count_word, "--milliseconds", time_word);
    int in[2], out[2];

    snprintf(count_word, sizeof(count_word), "%" PRIu32, count);
    snprintf(time_word, sizeof(time_word), "%" PRIu32, milliseconds);
    *client = (struct process){.pid = -1, .go = -1};
    if (pipe2(in, O_CLOEXEC)) {
        tool_say("No pipe could be made: %s.", strerror(errno));
        return false;
    }
    if (pipe2(out, O_CLOEXEC)) {
        tool_say("No pipe could be made: %s.", strerror(errno));
        close(in[0]);
        close(in[1]);
        return false;
    }
    client->pid = start(words, s->socket, in[0], out[1], STDERR_FILENO);
    client->go = in[1];
    client->output = fdopen(out[0], "r");
    close(in[0]);
    close(out[1]);
    return client->pid > 0 && client->output;
}

static bool next_line(struct process *client, char line[LINE])
{
    return fgets(line, LINE, client->output) != NULL;
}

static bool is_ready(struct process *client)
{
    char line[LINE];

    return next_line(client, line) && !strcmp(line, "ready\n");
}

static void begin(struct process *client)
{
    close(client->go);
    client->go = -1;
}

static void end_client(struct process *client)
{
    if (client->go >= 0)
        close(client->go);
    if (client->output)
        fclose(client->output);
    if (client->pid > 0)
        waitpid(client->pid, NULL, 0);
}

/* The service. */

static bool write_policy(const struct bench_service *s)
{
    char folder[96], file[128], text[512];

    snprintf(folder, sizeof(folder), "%s/policy", s->folder);
    snprintf(file, sizeof(file), "%s/bench.policy", folder);
    snprintf(text, sizeof(text),
             "match uid %u\n"
             "    allow com.apple.aned.private.allow\n"
             "    allow com.apple.security.temporary-exception.iokit-user-client-class\n"
             "    allow anemone.raw-images\n",
             (unsigned)geteuid());
    if (mkdir(folder, 0700)) {
        tool_say("%s could not be made: %s.", folder, strerror(errno));
        return false;
    }
    return tool_file_write(file, text, strlen(text)) && !chmod(file, 0600);
}

static bool write_image(const struct bench_service *s)
{
    static uint8_t image[IMAGE_BYTES];
    size_t size = tool_sample_image(image, sizeof(image));

    return size && tool_file_write(s->image, image, size);
}

/* A convolution of 58 million multiplications, 3x3 from 64 channels to 32: a millisecond on one processor. */
static bool write_work(const struct bench_service *s)
{
    static const char model[] =
        "program(1.3)\n"
        "{\n"
        "    func main<ios18>(tensor<fp16, [1, 64, 56, 56]> x) {\n"
        "        tensor<fp16, [32, 64, 3, 3]> W = const()[name = string(\"W\"), "
        "val = tensor<fp16, [32, 64, 3, 3]>(BLOBFILE(path = string(\"@model_path/weights.bin\"), "
        "offset = uint64(64)))];\n"
        "        tensor<int32, [4]> pad = const()[name = string(\"pad\"), "
        "val = tensor<int32, [4]>([1, 1, 1, 1])];\n"
        "        tensor<int32, [2]> one = const()[name = string(\"one\"), val = tensor<int32, [2]>([1, 1])];\n"
        "        tensor<fp16, [1, 32, 56, 56]> y = conv(x = x, weight = W, strides = one, dilations = one, "
        "pad_type = string(\"custom\"), pad = pad, groups = int32(1))[name = string(\"conv\")];\n"
        "    } -> (y);\n"
        "}\n";
    char weights[128];

    snprintf(weights, sizeof(weights), "%s/weights.bin", s->folder);
    return tool_demo_weights_write(weights, WORK_WEIGHTS) && tool_file_write(s->work, model, strlen(model));
}

static bool make_folder(struct bench_service *s)
{
    snprintf(s->folder, sizeof(s->folder), "/tmp/anemone-bench-XXXXXX");
    if (!mkdtemp(s->folder)) {
        tool_say("/tmp: no folder could be made: %s.", strerror(errno));
        s->folder[0] = '\0';
        return false;
    }
    snprintf(s->socket, sizeof(s->socket), "%s/service", s->folder);
    snprintf(s->image, sizeof(s->image), "%s/add.hwx", s->folder);
    snprintf(s->log, sizeof(s->log), "%s/log", s->folder);
    snprintf(s->work, sizeof(s->work), "%s/work.mil", s->folder);
    return write_policy(s) && write_image(s) && write_work(s);
}

static int remove_one(const char *path, const struct stat *about, int flag, struct FTW *ftw)
{
    (void)about, (void)flag, (void)ftw;
    remove(path);
    return 0;
}

static bool answers(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int socket_file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool good;

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    good = socket_file >= 0 && !connect(socket_file, (struct sockaddr *)&address, sizeof(address));
    if (socket_file >= 0)
        close(socket_file);
    return good;
}

static void show_log(const char *path)
{
    char line[512];
    FILE *file = fopen(path, "re");

    while (file && fgets(line, sizeof(line), file))
        fputs(line, stderr);
    if (file)
        fclose(file);
}

static bool wait_for_socket(struct bench_service *s)
{
    for (unsigned i = 0; i < START_STEPS; i++) {
        if (answers(s->socket))
            return true;
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            break;
        }
        usleep(WAIT_STEP_US);
    }
    tool_say("The service for the measurement did not start. Its messages:");
    show_log(s->log);
    return false;
}

static bool start_service(struct bench_service *s)
{
    char state[96], policy[96];
    int log, nothing;

    snprintf(state, sizeof(state), "%s/state", s->folder);
    snprintf(policy, sizeof(policy), "%s/policy", s->folder);
    log = open(s->log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (log >= 0 && nothing >= 0)
        s->pid = start(WORDS("anemone", "serve", "--socket", s->socket, "--state", state, "--policy", policy),
                       "none", nothing, log, log);
    else
        tool_say("%s: %s.", s->log, strerror(errno));
    if (log >= 0)
        close(log);
    if (nothing >= 0)
        close(nothing);
    return s->pid > 0 && wait_for_socket(s);
}

static void stop_service(struct bench_service *s)
{
    unsigned i = 0;

    if (s->pid > 0)
        kill(s->pid, SIGTERM);
    while (s->pid > 0 && waitpid(s->pid, NULL, WNOHANG) == 0) {
        if (++i == STOP_STEPS)
            kill(s->pid, SIGKILL);
        usleep(WAIT_STEP_US);
    }
    if (s->folder[0])
        nftw(s->folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* Measurements. */

static uint32_t rate_ms(uint32_t count)
{
    return count < TOOL_BENCH_TRIAL ? TRIAL_MS : RATE_MS;
}

static bool measure_way(const struct bench_service *s, const char *way, uint32_t count,
                        struct tool_served_way *result)
{
    struct process client;
    char line[LINE];
    bool good = start_client(s, way, count, 0, &client) && is_ready(&client);

    if (good) {
        begin(&client);
        good =
            next_line(&client, line) && sscanf(line, "%lf %lf %lf %lf", &result->warm.p10, &result->warm.p50,
                                               &result->warm.p90, &result->idle_us) == 4;
    }
    end_client(&client);
    if (!good)
        tool_say("The client process (%s) ended without a result.", way);
    return good;
}

/* All of them together, from the moment on when the last is ready. */
static bool measure_rate(const struct bench_service *s, const char *way, unsigned count,
                         uint32_t milliseconds, double *rate)
{
    struct process process[CLIENTS_MOST];
    unsigned started = 0;
    bool good = true;

    *rate = 0;
    while (good && started < count)
        good = start_client(s, way, TOOL_BENCH_COUNT_MIN, milliseconds, &process[started++]);
    for (unsigned i = 0; good && i < count; i++)
        good = is_ready(&process[i]);
    for (unsigned i = 0; good && i < count; i++)
        begin(&process[i]);
    for (unsigned i = 0; good && i < count; i++) {
        char line[LINE];
        double one = 0;

        good = next_line(&process[i], line) && sscanf(line, "%lf", &one) == 1;
        *rate += one;
    }
    for (unsigned i = 0; i < started; i++)
        end_client(&process[i]);
    if (!good)
        tool_say("One of %u client processes ended without a result.", count);
    return good;
}

static bool measure_embedded(struct tool_served *served)
{
    const struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct tool_bench_client client = {0};
    bool good = tool_bench_open(&client, &config);

    for (unsigned i = 0; good && i < TOOL_BENCH_WARM_UP; i++)
        good = tool_bench_send(&client);
    good = good &&
           tool_latency_after_idling(tool_bench_send, &client, tool_bench_rounds(served->count),
                                     &served->embedded.idle_us) &&
           tool_latency_rate(tool_bench_send, &client, rate_ms(served->count), &served->embedded_rate) &&
           tool_latency_measure(tool_bench_send, &client, served->count, &served->embedded.warm);
    ane_machine_destroy(client.machine);
    return good;
}

bool tool_served_measure(uint32_t count, struct tool_served *served)
{
    struct bench_service service = {.pid = 0};
    bool good;

    *served = (struct tool_served){.count = count};
    good = measure_embedded(served) && make_folder(&service) && start_service(&service) &&
           measure_way(&service, TOOL_BENCH_DIRECT, count, &served->direct) &&
           measure_way(&service, TOOL_BENCH_BROKER, count, &served->broker);
    for (unsigned i = 0; good && i < TOOL_SERVED_RATES; i++)
        good = measure_rate(&service, TOOL_BENCH_DIRECT, clients[i], rate_ms(count), &served->rate[i]) &&
               measure_rate(&service, TOOL_BENCH_MODEL, clients[i], rate_ms(count), &served->work_rate[i]);
    stop_service(&service);
    return good;
}

/* Results. */

static void print_way(const char *name, const struct tool_served *s, const struct tool_served_way *way)
{
    printf("  %-20s %10.2f %10.2f %10.2f %10.2f %16.2f\n", name, way->warm.p10, way->warm.p50, way->warm.p90,
           way->warm.p50 / s->embedded.warm.p50, way->idle_us);
}

void tool_served_print(const struct tool_served *s)
{
    printf("add, from other processes: wall time of a warm dispatch in us\n\n"
           "  %-20s %10s %10s %10s %10s %16s\n",
           "way", "p10", "p50", "p90", "embedded=1", "after 1 s idle");
    print_way("embedded", s, &s->embedded);
    print_way("direct path", s, &s->direct);
    print_way("through the broker", s, &s->broker);
    printf("\n  %-20s %14s %14s %16s %14s\n", "clients", "add, a second", "embedded=1", "work, a second",
           "one client=1");
    printf("  %-20s %14.0f %14.2f\n", "embedded, one", s->embedded_rate, 1.0);
    for (unsigned i = 0; i < TOOL_SERVED_RATES; i++)
        printf("  %-20u %14.0f %14.2f %16.0f %14.2f\n", clients[i], s->rate[i], s->rate[i] / s->embedded_rate,
               s->work_rate[i], s->work_rate[i] / s->work_rate[0]);
    printf("\n");
}

static void way_json(struct json *json, const char *name, const struct tool_served *s,
                     const struct tool_served_way *way)
{
    json_object(json, name);
    json_object(json, "latency_us");
    json_real(json, "p10", way->warm.p10);
    json_real(json, "p50", way->warm.p50);
    json_real(json, "p90", way->warm.p90);
    json_object_end(json);
    json_real(json, "of_embedded", way->warm.p50 / s->embedded.warm.p50);
    json_real(json, "after_idle_us", way->idle_us);
    json_object_end(json);
}

void tool_served_json(struct json *json, const struct tool_served *s)
{
    way_json(json, "embedded", s, &s->embedded);
    way_json(json, "direct_path", s, &s->direct);
    way_json(json, "broker", s, &s->broker);
    json_real(json, "embedded_per_second", s->embedded_rate);
    json_array(json, "clients");
    for (unsigned i = 0; i < TOOL_SERVED_RATES; i++) {
        json_object(json, NULL);
        json_number(json, "clients", clients[i]);
        json_real(json, "per_second", s->rate[i]);
        json_real(json, "of_embedded", s->rate[i] / s->embedded_rate);
        json_real(json, "work_per_second", s->work_rate[i]);
        json_real(json, "work_of_one_client", s->work_rate[i] / s->work_rate[0]);
        json_object_end(json);
    }
    json_array_end(json);
}
