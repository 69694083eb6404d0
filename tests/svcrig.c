/* SPDX-License-Identifier: Apache-2.0 */
#include "svcrig.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "folder.h"
#include "service/serve.h"
#include "support.h"

const char *svcrig_policy(const char *folder, const char *text)
{
    char name[128];

    snprintf(name, sizeof(name), "%s/test.policy", folder);
    mkdir(folder_path(folder), 0700);
    folder_write(name, text, strlen(text));
    return folder_path(folder);
}

pid_t svcrig_start(const char *socket, const char *policy_folder, int errors)
{
    struct svc_options options = {.socket = folder_path(socket),
                                  .state = folder_path("state"),
                                  .policy = policy_folder,
                                  .memory = SVC_SERVE_MEMORY,
                                  .without_children = true};
    struct base_error error;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (errors >= 0)
        dup2(errors, STDERR_FILENO);
    if (!svc_serve(&options, &error))
        _exit(0);
    fprintf(stderr, "%s\n", error.text);
    fflush(stderr);
    _exit(1);
}

int svcrig_connect(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = SVCRIG_PATIENCE_MS / 1000};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", folder_path(name));
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (!connect(file, (struct sockaddr *)&address, sizeof(address)))
        return file;
    close(file);
    return -1;
}

pid_t svcrig_serve(const char *socket, const char *policy_folder)
{
    pid_t service = svcrig_start(socket, policy_folder, -1);
    int file = -1;

    for (unsigned ms = 0; file < 0 && ms < SVCRIG_PATIENCE_MS; ms++) {
        file = svcrig_connect(socket);
        usleep(1000);
    }
    assert_true(file >= 0);
    close(file);
    return service;
}

int svcrig_stop(pid_t service)
{
    int status;

    kill(service, SIGTERM);
    assert_int_equal(waitpid(service, &status, 0), service);
    return status;
}

bool svcrig_take(int socket, struct svcrig_reply *reply)
{
    unsigned came;
    long got;

    memset(reply, 0, sizeof(*reply));
    reply->file = -1;
    got = base_packet_receive(socket, reply, offsetof(struct svcrig_reply, file), &reply->file, 1, &came);
    if (got <= 0)
        return false;
    assert_true(got >= (long)sizeof(reply->header));
    assert_int_equal(reply->header.magic, PR_SERVICE_MAGIC);
    assert_int_equal(reply->header.bytes, got - (long)sizeof(reply->header));
    return true;
}

bool svcrig_send(int socket, const void *bytes, size_t size, const int *fds, unsigned count,
                 struct svcrig_reply *reply)
{
    return !base_packet_send(socket, bytes, size, NULL, 0, fds, count, 1) && svcrig_take(socket, reply);
}

bool svcrig_talk(int socket, uint16_t type, const void *body, uint32_t size, struct svcrig_reply *reply)
{
    struct {
        struct pr_service_header header;
        uint8_t body[PR_SERVICE_BODY];
    } message = {.header = {.magic = PR_SERVICE_MAGIC,
                            .version = PR_SERVICE_VERSION,
                            .type = type,
                            .serial = type * 7919u,
                            .bytes = size}};

    if (size)
        memcpy(message.body, body, size);
    if (!svcrig_send(socket, &message, sizeof(message.header) + size, NULL, 0, reply))
        return false;
    assert_int_equal(reply->header.type, type);
    assert_int_equal(reply->header.serial, type * 7919u);
    return true;
}

int svcrig_hello(const char *socket, enum pr_service_role role, struct pr_service_welcome *welcome,
                 uint8_t **ring)
{
    const struct pr_service_hello hello = {.role = role};
    struct svcrig_reply reply = {.file = -1};
    int file = svcrig_connect(socket);

    assert_true(file >= 0);
    assert_true(svcrig_talk(file, PR_SERVICE_HELLO, &hello, sizeof(hello), &reply));
    if (reply.header.status)
        fail_msg("%s", reply.sentence);
    assert_true(reply.file >= 0);
    if (welcome)
        *welcome = reply.welcome;
    if (ring) {
        *ring = mmap(NULL, PR_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, reply.file, 0);
        assert_true(*ring != MAP_FAILED);
    }
    close(reply.file);
    return file;
}

bool svcrig_is_closed(int socket)
{
    char byte;

    return recv(socket, &byte, 1, 0) == 0;
}

static unsigned count_names(pid_t process, const char *what)
{
    char path[64];
    unsigned count = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, what);
    folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

struct svcrig_counts svcrig_counts(pid_t process)
{
    return (struct svcrig_counts){count_names(process, "fd"), count_names(process, "task")};
}

void svcrig_wait_counts(pid_t process, struct svcrig_counts most)
{
    struct svcrig_counts now = svcrig_counts(process);

    for (unsigned ms = 0; ms < SVCRIG_PATIENCE_MS && (now.files > most.files || now.threads > most.threads);
         ms++) {
        usleep(1000);
        now = svcrig_counts(process);
    }
    if (now.files > most.files || now.threads > most.threads)
        fail_msg("The service has %u files and %u threads; it had %u and %u.", now.files, now.threads,
                 most.files, most.threads);
}
