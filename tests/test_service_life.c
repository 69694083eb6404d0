/* SPDX-License-Identifier: Apache-2.0 */
/* A service from its start to its stop: socket and lock, activation, refusals of the policy, the end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

#include "folder.h"
#include "iorig.h"
#include "service/log.h"
#include "service/serve.h"
#include "support.h"
#include "svcrig.h"

static const char *const all = "match uid *\n"
                               "allow com.apple.ane.iokit-user-access\n"
                               "allow anemone.raw-images\n";

/* What a process that ends says on its way; its exit status. */
static int read_end(pid_t process, int from, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got;
    int status;

    while (used < size - 1 && (got = read(from, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(from);
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_second_service_ends_with_the_first_ones_number(void **state)
{
    const char *policy = svcrig_policy("policy", all);
    pid_t first = svcrig_serve("socket", policy), second;
    char text[1024], number[32];
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    second = svcrig_start("socket", policy, ends[1]);
    close(ends[1]);
    assert_int_equal(read_end(second, ends[0], text, sizeof(text)), 1);
    snprintf(number, sizeof(number), "process %d", (int)first);
    assert_non_null(strstr(text, number));
    assert_non_null(strstr(text, folder_path("socket")));
    /* The first one is as it was. */
    close(svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL));
    assert_int_equal(svcrig_stop(first), 0);
    assert_int_equal(access(folder_path("socket"), F_OK), -1);
    assert_int_equal(access(folder_path("socket.lock"), F_OK), -1);
}

static void test_what_a_killed_service_left_is_removed(void **state)
{
    const char *policy = svcrig_policy("policy", all);
    pid_t killed = svcrig_serve("socket", policy), next;

    (void)state;
    kill(killed, SIGKILL);
    waitpid(killed, NULL, 0);
    assert_int_equal(access(folder_path("socket"), F_OK), 0);
    next = svcrig_serve("socket", policy);
    assert_int_equal(svcrig_stop(next), 0);
}

static void test_a_file_that_is_not_a_socket_stays(void **state)
{
    char text[1024];
    pid_t refused;
    int ends[2];

    (void)state;
    folder_write("kept", "text", 4);
    assert_int_equal(pipe(ends), 0);
    refused = svcrig_start("kept", svcrig_policy("policy", all), ends[1]);
    close(ends[1]);
    assert_int_equal(read_end(refused, ends[0], text, sizeof(text)), 1);
    assert_non_null(strstr(text, "not a socket"));
    assert_int_equal(access(folder_path("kept"), F_OK), 0);
    assert_int_equal(access(folder_path("kept.lock"), F_OK), -1);
}

/* ---- Activation ---- */

static int listen_at(const char *name, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", folder_path(name));
    unlink(address.sun_path);
    assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof(address)), 0);
    if (type != SOCK_DGRAM)
        assert_int_equal(listen(file, 4), 0);
    return file;
}

/* The service inherits its socket on descriptor 3, and reports when it is ready. */
static pid_t start_activated(int socket)
{
    struct svc_options options = {.state = folder_path("state"),
                                  .policy = folder_path("policy"),
                                  .memory = SVC_SERVE_MEMORY,
                                  .without_children = true};
    struct base_error error;
    char number[16];
    pid_t child = fork();

    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(number, sizeof(number), "%d", (int)getpid());
    setenv("LISTEN_PID", number, 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("NOTIFY_SOCKET", folder_path("notify"), 1);
    if (socket != 3)
        dup2(socket, 3);
    _exit(svc_serve(&options, &error) ? 1 : 0);
}

static void test_a_socket_may_be_inherited(void **state)
{
    int listener, notices, status;
    char text[64] = "";
    pid_t service;

    (void)state;
    svcrig_policy("policy", all);
    listener = listen_at("activated", SOCK_SEQPACKET);
    notices = listen_at("notify", SOCK_DGRAM);
    service = start_activated(listener);
    close(listener);
    assert_true(recv(notices, text, sizeof(text) - 1, 0) > 0);
    assert_string_equal(text, "READY=1");
    close(svcrig_hello("activated", PR_SERVICE_ROLE_CLIENT, NULL, NULL));
    assert_int_equal(svcrig_stop(service), 0);
    /* The file is the service manager's. */
    assert_int_equal(access(folder_path("activated"), F_OK), 0);
    close(notices);

    listener = listen_at("activated", SOCK_STREAM);
    service = start_activated(listener);
    close(listener);
    assert_int_equal(waitpid(service, &status, 0), service);
    assert_int_equal(WEXITSTATUS(status), 1);
}

/* ---- The policy ---- */

static void test_a_refused_open_names_the_line_to_add(void **state)
{
    static const struct {
        uint32_t type;
        const char *key;
    } rows[] = {
        {ANE_CLIENT_CONTROL, "allow com.apple.ane.iokit-user-access"},
        {ANE_CLIENT_HINTS, "allow com.apple.ane.iokit-user-access"},
        {ANE_CLIENT_DIRECT_PATH, "allow com.apple.security.temporary-exception.iokit-user-client-class"},
    };
    pid_t service = svcrig_serve("socket", svcrig_policy("none", "# nothing\n"));
    int session = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    struct svcrig_reply reply;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct pr_service_open open = {.entry = PR_SERVICE_ENTRY_BASE | 0x1000u, .type = rows[i].type};

        assert_true(svcrig_talk(session, PR_SERVICE_OPEN, &open, sizeof(open), &reply));
        assert_int_equal(reply.header.status, kIOReturnUnsupported);
        if (!strstr(reply.sentence, rows[i].key))
            fail_msg("%s", reply.sentence);
    }
    close(session);
    assert_int_equal(svcrig_stop(service), 0);
}

/* ---- The end ---- */

struct steps {
    struct iorig_accumulator sum;
    uint64_t done;
    IOReturn last;
};

static void *step_until_refused(void *argument)
{
    struct steps *steps = argument;

    while (!(steps->last = iorig_accumulator_step(&steps->sum)))
        __atomic_fetch_add(&steps->done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *wait_for_event(void *argument)
{
    struct steps *steps = argument;
    uint32_t event;

    steps->last = ane_event_create(steps->sum.client.connect, 0, &event);
    __atomic_fetch_add(&steps->done, 1, __ATOMIC_SEQ_CST);
    if (!steps->last)
        steps->last = ane_event_wait(steps->sum.client.connect, event, 1, UINT64_MAX);
    return NULL;
}

static bool is_end(IOReturn status)
{
    return status == kIOReturnNoDevice || status == ANE_RETURN_CLOSED || status == kIOReturnAborted;
}

/* One thread sends requests and one waits without end when the service is stopped: both get a status. */
static void test_a_stop_gives_clients_a_status(void **state)
{
    pid_t service = svcrig_serve("socket", svcrig_policy("policy", all));
    struct steps steps = {0}, waits = {0};
    pthread_t stepper, waiter;
    io_service_t device;

    (void)state;
    setenv("ANEMONE_SERVICE", folder_path("socket"), 1);
    device = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    assert_true(device);
    iorig_accumulator_make(&steps.sum, device, 4, 32);
    waits.sum = steps.sum;
    pthread_create(&stepper, NULL, step_until_refused, &steps);
    pthread_create(&waiter, NULL, wait_for_event, &waits);
    while (__atomic_load_n(&steps.done, __ATOMIC_SEQ_CST) < 100 ||
           !__atomic_load_n(&waits.done, __ATOMIC_SEQ_CST))
        usleep(1000);
    assert_int_equal(svcrig_stop(service), 0);
    pthread_join(stepper, NULL);
    pthread_join(waiter, NULL);
    if (!is_end(steps.last) || !is_end(waits.last))
        fail_msg("%08x and %08x", (unsigned)steps.last, (unsigned)waits.last);
    assert_true(is_end(iorig_accumulator_step(&steps.sum)));
    assert_string_not_equal(ane_machine_error(), "");
    assert_int_equal(access(folder_path("socket"), F_OK), -1);
}

/* ---- The log ---- */

static void flood_log(int errors)
{
    dup2(errors, STDERR_FILENO);
    for (unsigned i = 0; i < 1000; i++)
        svc_log_client("a line\nof\tclient %u", i);
    sleep(2); /* lines are counted by the second */
    svc_log_client("the last");
    _exit(0);
}

static void test_clients_do_not_fill_the_log(void **state)
{
    static char text[1000 * 80];
    unsigned lines = 0;
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (!child)
        flood_log(ends[1]);
    close(ends[1]);
    assert_int_equal(read_end(child, ends[0], text, sizeof(text)), 0);
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_true(lines >= SVC_LOG_LINES && lines < 500);
    assert_non_null(strstr(text, "a line?of?client 0\n"));
    assert_non_null(strstr(text, "lines were left out\n"));
    assert_non_null(strstr(text, "the last\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients_do_not_fill_the_log),
        cmocka_unit_test(test_a_second_service_ends_with_the_first_ones_number),
        cmocka_unit_test(test_what_a_killed_service_left_is_removed),
        cmocka_unit_test(test_a_file_that_is_not_a_socket_stays),
        cmocka_unit_test(test_a_socket_may_be_inherited),
        cmocka_unit_test(test_a_refused_open_names_the_line_to_add),
        cmocka_unit_test(test_a_stop_gives_clients_a_status), /* last: this process has had its service */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
