/* SPDX-License-Identifier: Apache-2.0 */
#include "compilerig.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "compiler/compile.h"
#include "folder.h"

#define PATIENCE_MS 60000

const struct svc_work_limits compilerig_limits = {60, 120, 8ull << 30};

const char *compilerig_state(void)
{
    return folder_path("state");
}

_Noreturn static void serve(int socket, const char *state, uint32_t uid, svc_work_body body,
                            const struct svc_work_limits *limits)
{
    struct svc_compiler_options options = {
        .socket = socket, .state = state, .limits = limits ? *limits : compilerig_limits, .body = body};

    if (uid != geteuid() && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
        _exit(EPERM);
    /* It needs nothing of the environment. */
    clearenv();
    _exit(-svc_compiler_serve(&options) & 0xff);
}

static void start(struct compilerig *rig, const char *state, uint32_t uid, svc_work_body body,
                  const struct svc_work_limits *limits)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    fflush(NULL);
    rig->pid = fork();
    assert_true(rig->pid >= 0);
    if (rig->pid == 0) {
        close(pair[0]);
        serve(pair[1], state, uid, body, limits);
    }
    close(pair[1]);
    rig->socket = pair[0];
    rig->serial = 100;
}

void compilerig_start(struct compilerig *rig, svc_work_body body, const struct svc_work_limits *limits)
{
    start(rig, compilerig_state(), geteuid(), body, limits);
}

void compilerig_start_as(struct compilerig *rig, uint32_t uid, const char *state)
{
    start(rig, state, uid, NULL, NULL);
}

int compilerig_stop(struct compilerig *rig)
{
    int status = 0;

    close(rig->socket);
    assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
    if (!WIFEXITED(status))
        fail_msg("the compile service ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

void compilerig_send(struct compilerig *rig, uint16_t type, const void *body, uint32_t bytes, int descriptor)
{
    const struct pr_service_header head = {.magic = PR_BROKER_MAGIC,
                                           .version = PR_SERVICE_VERSION,
                                           .type = type,
                                           .serial = ++rig->serial,
                                           .bytes = bytes};

    assert_int_equal(base_packet_send(rig->socket, &head, sizeof(head), body, bytes, &descriptor,
                                      descriptor >= 0 ? 1 : 0, 1),
                     0);
}

bool compilerig_receive(struct compilerig *rig, struct compilerig_reply *reply)
{
    uint8_t message[sizeof(struct pr_service_header) + PR_SERVICE_BODY];
    const uint8_t *body = message + sizeof(struct pr_service_header);
    struct pollfd wait = {.fd = rig->socket, .events = POLLIN};
    struct pr_service_header head;
    unsigned count = 0;
    long size;

    memset(reply, 0, sizeof(*reply));
    reply->files[0] = reply->files[1] = -1;
    if (poll(&wait, 1, PATIENCE_MS) != 1)
        fail_msg("no reply within %d ms", PATIENCE_MS);
    size = base_packet_receive(rig->socket, message, sizeof(message), reply->files, 2, &count);
    if (size <= 0)
        return false;
    assert_true(size >= (long)sizeof(head));
    memcpy(&head, message, sizeof(head));
    assert_int_equal(head.magic, PR_BROKER_MAGIC);
    assert_int_equal(head.version, PR_SERVICE_VERSION);
    assert_int_equal((long)(sizeof(head) + head.bytes), size);
    reply->type = head.type;
    reply->serial = head.serial;
    reply->status = head.status;
    if (head.status) {
        assert_true(head.bytes >= 2 && head.bytes <= PR_SERVICE_SENTENCE);
        assert_int_equal(body[head.bytes - 1], 0);
        memcpy(reply->sentence, body, head.bytes);
        assert_int_equal(count, 0);
        assert_null(strchr(reply->sentence, '\n'));
        assert_int_equal(reply->sentence[strlen(reply->sentence) - 1], '.');
    } else if (head.type == PR_COMPILE_PURGE) {
        assert_int_equal(head.bytes, sizeof(reply->purged));
        memcpy(&reply->purged, body, sizeof(reply->purged));
    } else {
        assert_int_equal(head.bytes, sizeof(reply->model));
        memcpy(&reply->model, body, sizeof(reply->model));
        assert_int_equal(count, 2);
    }
    return true;
}

void compilerig_reply_end(struct compilerig_reply *reply)
{
    base_packet_close(reply->files, 2);
}

/* The bytes of a descriptor, read from its start; for free. */
static uint8_t *bytes_of(int file, size_t size)
{
    uint8_t *bytes = malloc(size + 1);

    assert_non_null(bytes);
    assert_int_equal(pread(file, bytes, size + 1, 0), (long)size);
    return bytes;
}

void compilerig_expect_model(const struct compilerig_reply *reply, const char *model)
{
    struct cc_options options = {.cache = folder_path("own-cache"), .force = true};
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    struct cc_report report;
    uint8_t *bytes;

    if (reply->status)
        fail_msg("0x%x: %s", (unsigned)reply->status, reply->sentence);
    if (cc_compile(model, &options, &bundle, &report, &error))
        fail_msg("%s", error.text);
    assert_string_equal(reply->model.model, report.key);
    assert_string_equal(reply->model.trouble, "");
    assert_int_equal(reply->model.descriptors, report.descriptors);
    assert_int_equal(reply->model.intermediate_bytes, report.intermediate_bytes);
    assert_int_equal(reply->model.main_bytes, bundle.main_bytes);
    assert_int_equal(reply->model.weights_bytes, bundle.weights_bytes);
    bytes = bytes_of(reply->files[0], bundle.main_bytes);
    assert_memory_equal(bytes, bundle.main, bundle.main_bytes);
    free(bytes);
    bytes = bytes_of(reply->files[1], bundle.weights_bytes);
    assert_memory_equal(bytes, bundle.weights, bundle.weights_bytes);
    free(bytes);
    cc_bundle_release(&bundle);
}

void compilerig_expect(const struct compilerig_reply *reply, IOReturn status, const char *piece)
{
    if (reply->status != status || !strstr(reply->sentence, piece))
        fail_msg("0x%x \"%s\", expected 0x%x \"%s\"", (unsigned)reply->status, reply->sentence,
                 (unsigned)status, piece);
}

uint32_t compilerig_order_as(struct compilerig *rig, const char *folder, const char *name, uint32_t flags,
                             uint32_t uid, uint32_t qos)
{
    struct pr_broker_order order = {.uid = uid, .gid = uid, .qos = qos, .flags = flags};
    int file = open(folder, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        fail_msg("%s cannot be opened", folder);
    snprintf(order.name, sizeof(order.name), "%s", name);
    compilerig_send(rig, PR_COMPILE_COMPILE, &order, sizeof(order), file);
    close(file);
    return rig->serial;
}

uint32_t compilerig_order(struct compilerig *rig, const char *folder, const char *name, uint32_t flags)
{
    return compilerig_order_as(rig, folder, name, flags, geteuid(), 0);
}

static void expect_reply(struct compilerig *rig, struct compilerig_reply *reply)
{
    if (!compilerig_receive(rig, reply))
        fail_msg("the compile service has ended");
    assert_int_equal(reply->serial, rig->serial);
}

void compilerig_compile(struct compilerig *rig, const char *folder, const char *name,
                        struct compilerig_reply *reply)
{
    compilerig_order(rig, folder, name, 0);
    expect_reply(rig, reply);
}

void compilerig_find(struct compilerig *rig, uint32_t uid, const char *model, struct compilerig_reply *reply)
{
    struct pr_broker_order_find order = {.uid = uid, .gid = uid};

    snprintf(order.model, sizeof(order.model), "%s", model);
    compilerig_send(rig, PR_COMPILE_FIND, &order, sizeof(order), -1);
    expect_reply(rig, reply);
}

void compilerig_purge(struct compilerig *rig, uint32_t uid, bool all, const char *model,
                      struct compilerig_reply *reply)
{
    struct pr_broker_order_purge order = {.uid = uid, .gid = uid, .all = all};

    snprintf(order.model, sizeof(order.model), "%s", model);
    compilerig_send(rig, PR_COMPILE_PURGE, &order, sizeof(order), -1);
    expect_reply(rig, reply);
}

unsigned compilerig_descriptors(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    return folder_count(path);
}

unsigned compilerig_children(pid_t pid)
{
    char path[96], text[4096];
    unsigned count = 0;
    FILE *file;
    size_t size;

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    for (size_t i = 0; i < size; i++)
        count += text[i] == ' ';
    return count;
}
