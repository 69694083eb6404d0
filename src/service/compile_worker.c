/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's side. Descriptors have fixed numbers there: 0 to 2 are /dev/null, then the socket, the model's
 * folder, the partition and the two memory files. The working folder is the model's, so that sentences name
 * files as the client does; the cache is named through /proc/self/fd, since its path is closed to the user of
 * the client.
 */
#include "service/compile_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/packet.h"
#include "compiler/compile.h"
#include "protocol/qos.h"
#include "service/partition.h"
#include "service/sandbox.h"

enum { SOCKET = 3, FOLDER, PARTITION, MAIN, WEIGHTS, DESCRIPTORS, SAFE = 32 };
#define CACHE "/proc/self/fd/5"
_Static_assert(PARTITION == 5, "the name of the cache");

/* Replaces the name of the cache in a sentence: it says nothing to a client. */
static void rename_cache(char *text, size_t size)
{
    char rest[PR_SERVICE_SENTENCE], *at;

    while ((at = strstr(text, CACHE))) {
        snprintf(rest, sizeof(rest), "%s", at + strlen(CACHE));
        snprintf(at, size - (size_t)(at - text), "partition%s", rest);
    }
}

static void answer(struct svc_work_result *result, IOReturn status, const char *sentence)
{
    result->status = status;
    snprintf(result->sentence, sizeof(result->sentence), "%s", sentence);
    rename_cache(result->sentence, sizeof(result->sentence));
}

static void fail_with(struct svc_work_result *result, int status, const struct base_error *error)
{
    answer(result, status == -ENOMEM ? kIOReturnNoMemory : kIOReturnBadArgument, error->text);
}

static void hand_over(const struct svc_work *work, struct cc_bundle *bundle, const struct cc_report *report,
                      struct svc_work_result *result)
{
    struct pr_broker_model *model = &result->model;
    struct base_error error = {{0}};
    int status = cc_bundle_weights(bundle, &error);

    if (status) {
        fail_with(result, status, &error);
        return;
    }
    if (base_file_put(work->files[0], bundle->main, bundle->main_bytes) ||
        base_file_put(work->files[1], bundle->weights, bundle->weights_bytes)) {
        answer(result, kIOReturnNoMemory, "There is no memory for the files of the compiled model.");
        return;
    }
    memcpy(model->model, report->key, sizeof(model->model));
    model->hit = report->hit;
    model->compile_ns = report->compile_ns;
    model->operations = report->operations;
    model->descriptors = report->descriptors;
    model->main_bytes = bundle->main_bytes;
    model->weights_bytes = bundle->weights_bytes;
    model->intermediate_bytes = report->intermediate_bytes;
    snprintf(model->trouble, sizeof(model->trouble), "%.*s", (int)sizeof(model->trouble) - 1,
             report->trouble.text);
    rename_cache(model->trouble, sizeof(model->trouble));
}

static void compile(const struct svc_work *work, struct svc_work_result *result)
{
    struct cc_options options = {
        .cache = CACHE, .force = work->force, .look = work->look, .leave_unsigned = true};
    struct base_error error = {{0}};
    struct cc_bundle bundle = {0};
    struct cc_report report;
    int status;

    if (fchdir(work->folder)) {
        snprintf(error.text, sizeof(error.text), "%s: its folder cannot be entered: %s.", work->name,
                 strerror(errno));
        answer(result, kIOReturnBadArgument, error.text);
        return;
    }
    status = cc_compile(work->name, &options, &bundle, &report, &error);
    if (status == -ENODATA && work->look && report.key[0])
        answer(result, kIOReturnNotFound, error.text);
    else if (status)
        fail_with(result, status, &error);
    else
        hand_over(work, &bundle, &report, result);
    cc_bundle_release(&bundle);
}

static void find(const struct svc_work *work, struct svc_work_result *result)
{
    struct base_error error = {{0}};
    struct cc_bundle bundle = {0};
    struct cc_report report;
    int found = cc_cache_read(CACHE, work->model, &bundle, &report, &error);

    if (found < 0)
        fail_with(result, found, &error);
    else if (found == 0)
        answer(result, kIOReturnNotFound,
               "The user's partition of the cache has no such model; it may have been purged: compile it "
               "again.");
    else
        hand_over(work, &bundle, &report, result);
    cc_bundle_release(&bundle);
}

/* What one partition has: a key's entry, or all. */
static int measure(const char *cache, const char *key, uint32_t *models, uint64_t *bytes,
                   struct base_error *error)
{
    long count = cc_cache_list(cache, NULL, 0, error), listed;
    struct cc_cache_entry *entries;

    if (count < 0)
        return (int)count;
    entries = base_alloc_array((size_t)count + 1, sizeof(*entries));
    if (!entries)
        return base_fail(error, ENOMEM, "There is no memory to list the cache.");
    listed = cc_cache_list(cache, entries, (size_t)count, error);
    for (long i = 0; i < listed && i < count; i++)
        if (!key || !strcmp(entries[i].key, key)) {
            *bytes += entries[i].bytes;
            (*models)++;
        }
    base_free(entries);
    return listed < 0 ? (int)listed : 0;
}

static int purge_one(const char *cache, const char *key, struct pr_broker_purged *purged,
                     struct base_error *error)
{
    uint32_t models = 0;
    uint64_t bytes = 0;
    int status = measure(cache, key, &models, &bytes, error);

    if (!status && (models || !key))
        status = cc_cache_remove(cache, key, error);
    if (status || !models)
        return status;
    purged->models += models;
    purged->bytes += bytes;
    purged->partitions++;
    return 0;
}

static int purge_all(const char *key, struct pr_broker_purged *purged, struct base_error *error)
{
    DIR *all = opendir(CACHE);
    struct dirent *found;
    int status = 0;

    if (!all)
        return base_fail(error, errno, "The cache cannot be read: %s.", strerror(errno));
    while ((found = readdir(all))) {
        char cache[sizeof(CACHE) + sizeof(found->d_name) + 1];
        int one;

        if (!svc_partition_is_name(found->d_name))
            continue;
        snprintf(cache, sizeof(cache), "%s/%s", CACHE, found->d_name);
        /* A partition that cannot be purged does not keep the others. */
        one = purge_one(cache, key, purged, status ? NULL : error);
        status = status ? status : one;
    }
    closedir(all);
    return status;
}

static void purge(const struct svc_work *work, struct svc_work_result *result)
{
    const char *key = work->model[0] ? work->model : NULL;
    struct base_error error = {{0}};
    int status = work->kind == SVC_WORK_PURGE_ALL ? purge_all(key, &result->purged, &error)
                                                  : purge_one(CACHE, key, &result->purged, &error);

    if (status)
        fail_with(result, status, &error);
    else if (key && !result->purged.models)
        answer(result, kIOReturnNotFound, "The cache has no such model.");
}

void svc_work_do(const struct svc_work *work, struct svc_work_result *result)
{
    switch (work->kind) {
    case SVC_WORK_COMPILE: compile(work, result); break;
    case SVC_WORK_FIND: find(work, result); break;
    case SVC_WORK_PURGE:
    case SVC_WORK_PURGE_ALL: purge(work, result); break;
    case SVC_WORK_TIDY: cc_cache_trim(CACHE, cc_cache_limit(NULL), NULL); break;
    }
}

static void send_result(const struct svc_work_result *result)
{
    base_packet_send(SOCKET, result, sizeof(*result), NULL, 0, NULL, 0, 1);
}

/* In a signal handler. */
static void report_forbidden(int number)
{
    static struct svc_work_result result;

    result.status = kIOReturnAborted;
    result.forbidden = number;
    send_result(&result);
}

static void close_from(unsigned first)
{
    if (!close_range(first, ~0u, 0))
        return;
    for (long i = first, most = sysconf(_SC_OPEN_MAX); i < most; i++)
        close((int)i);
}

/* Moves the descriptors to their places, by way of numbers that are no place of any. */
static bool place_descriptors(struct svc_work *work, int socket)
{
    int *const wanted[] = {&work->folder, &work->partition, &work->files[0], &work->files[1]};
    int moved[DESCRIPTORS], null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < DESCRIPTORS; i++) {
        int source = i == SOCKET ? socket : i < FOLDER ? null : *wanted[i - FOLDER];

        if (SVC_SANDBOX_SANITIZED && i == STDERR_FILENO)
            source = STDERR_FILENO;
        moved[i] = fcntl(source < 0 ? null : source, F_DUPFD_CLOEXEC, SAFE);
        if (moved[i] < 0)
            return false;
    }
    for (int i = 0; i < DESCRIPTORS; i++) {
        if (dup2(moved[i], i) < 0)
            return false;
        if (i >= FOLDER && *wanted[i - FOLDER] >= 0)
            *wanted[i - FOLDER] = i;
    }
    close_from(DESCRIPTORS);
    return true;
}

/* The service's handlers are not for a worker; those of a sanitizer are. */
static void reset_signals(void)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    sigset_t empty;

    for (int i = 1; i < NSIG && !SVC_SANDBOX_SANITIZED; i++)
        sigaction(i, &none, NULL);
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
}

/* Best effort: a host that runs out of memory ends the compilation, and an urgent one goes first. */
static void yield_host(uint32_t qos)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (file >= 0) {
        (void)!write(file, "1000", 4);
        close(file);
    }
    setpriority(PRIO_PROCESS, 0, (int)(2 * pr_qos_queue_index(qos ? qos : PR_QOS_DEFAULT)));
}

/* Allocations end at the limit of address space: an order that needs more is ended, as by other limits. */
static void explain_memory(struct svc_work_result *result, uint64_t memory)
{
    char why[sizeof(result->sentence)];

    if (result->status != kIOReturnNoMemory)
        return;
    snprintf(why, sizeof(why), "%s", result->sentence);
    result->status = kIOReturnAborted;
    snprintf(result->sentence, sizeof(result->sentence),
             "%.400s One compilation has at most %llu MiB of memory.", why,
             (unsigned long long)(memory >> 20));
}

_Noreturn void svc_work_run(const struct svc_work *order, const struct svc_work_limits *limits,
                            svc_work_body body, int socket, int parent)
{
    const struct svc_sandbox sandbox = {
        .uid = order->uid,
        .gid = order->gid,
        .parent = parent,
        .read = order->folder < 0 ? -1 : FOLDER,
        .write = PARTITION,
        .any_owner = order->kind == SVC_WORK_PURGE_ALL,
        .seconds = limits->processor_s,
        .memory = limits->memory,
        .file_bytes = PR_COMPILE_FILE_BYTES,
        .files = PR_COMPILE_FILES,
        .socket = SOCKET,
        .forbidden = report_forbidden,
    };
    struct svc_work_result result = {.forbidden = -1};
    struct svc_work work = *order;
    struct base_error error = {{0}};
    int status;

    if (!place_descriptors(&work, socket))
        _exit(1);
    reset_signals();
    umask(077);
    yield_host(work.qos);
    status = svc_sandbox_enter(&sandbox, &error);
    if (status)
        answer(&result, status == -EPERM ? kIOReturnNotPermitted : kIOReturnNoResources, error.text);
    else
        body(&work, &result);
    explain_memory(&result, limits->memory);
    send_result(&result);
    _exit(0);
}

static bool ends(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

static bool is_key(const char *text)
{
    return text[PR_BROKER_KEY - 1] == '\0' && strspn(text, "0123456789abcdef") == PR_BROKER_KEY - 1;
}

static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
}

bool svc_work_check(const struct svc_work *work, struct svc_work_result *result)
{
    struct pr_broker_model *model = &result->model;

    if (!ends(result->sentence, sizeof(result->sentence)) || !ends(model->trouble, sizeof(model->trouble)))
        return false;
    clean(result->sentence);
    clean(model->trouble);
    model->hit = model->hit != 0;
    memset(model->reserved, 0, sizeof(model->reserved));
    if (result->status || (work->kind != SVC_WORK_COMPILE && work->kind != SVC_WORK_FIND))
        return true;
    if (work->kind == SVC_WORK_FIND && strncmp(model->model, work->model, sizeof(model->model)) != 0)
        return false;
    return is_key(model->model) && model->main_bytes && !base_file_seal(work->files[0], model->main_bytes) &&
           !base_file_seal(work->files[1], model->weights_bytes);
}
