/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service as a process of its own, seen from clients: this program is one of them through iokit.h, and
 * speaks the socket's messages itself where no well-behaved client would send them.
 */
#include <dirent.h>
#include <errno.h>
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

#include "base/packet.h"
#include "folder.h"
#include "iorig.h"
#include "protocol/service.h"
#include "service/serve.h"
#include "support.h"

#define PATIENCE_MS 20000u /* against hanging: nothing here takes that long */

static pid_t service; /* the process under test */

/* A service with a policy file of that text; ends when this program does. */
static pid_t start_service(const char *socket, const char *policy_folder)
{
    struct svc_options options = {.socket = socket,
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
    if (svc_serve(&options, &error)) {
        fprintf(stderr, "%s\n", error.text);
        _exit(1);
    }
    _exit(0);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (!connect(file, (struct sockaddr *)&address, sizeof(address)))
        return file;
    close(file);
    return -1;
}

static void wait_for_socket(const char *path)
{
    int file = -1;

    for (unsigned ms = 0; file < 0 && ms < PATIENCE_MS; ms++) {
        file = connect_to(path);
        usleep(1000);
    }
    assert_true(file >= 0);
    close(file);
}

static const char *const policy = "match uid *\n"
                                  "allow com.apple.ane.iokit-user-access\n"
                                  "allow anemone.raw-images\n";

static int begin(void **state)
{
    (void)state;
    mkdir(folder_path("policy"), 0700);
    folder_write("policy/test.policy", policy, strlen(policy));
    service = start_service(folder_path("socket"), folder_path("policy"));
    wait_for_socket(folder_path("socket"));
    return setenv("ANEMONE_SERVICE", folder_path("socket"), 1);
}

static int end(void **state)
{
    int status;

    (void)state;
    kill(service, SIGTERM);
    return waitpid(service, &status, 0) != service || status != 0;
}

static io_service_t device(void)
{
    io_service_t found = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));

    if (!found)
        fail_msg("%s", ane_machine_error());
    assert_true(found >= PR_SERVICE_ENTRY_BASE);
    return found;
}

static void test_a_program_runs_in_the_service(void **state)
{
    struct iorig_accumulator sum;

    (void)state;
    iorig_accumulator_make(&sum, device(), 4, 32);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(iorig_accumulator_step(&sum), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&sum) == 1000.0);
    iorig_accumulator_release(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_program_runs_in_the_service)};

    return cmocka_run_group_tests(tests, begin, end);
}
