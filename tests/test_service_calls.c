/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iokit.h in a served process and in one with a machine of its own: the same calls, in the same order, in two
 * processes; their codes, sentences and outputs are compared. Calls are every selector and catalogue method
 * of every client type, each with right sizes and zeros, with wrong sizes, with NULL, with more than the ring
 * has room for; on connections that are new, open, closed and never were; then programs, surfaces, events,
 * ports.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "base/alloc.h"
#include "base/array.h"
#include "folder.h"
#include "iorig.h"
#include "protocol/entitlement.h"
#include "protocol/service_ring.h"
#include "support.h"
#include "svcrig.h"

#define OUTCOMES 2048u
#define SECONDS  120 /* against hanging */

struct outcome {
    char label[80];
    int32_t code;
    char sentence[512];
    uint64_t output; /* a digest of it */
};

/* Of one process; in memory that both share with the test. */
struct story {
    unsigned count;
    int complete;
    struct outcome outcome[OUTCOMES];
};

static struct story *story;

static uint64_t digest(const void *bytes, size_t size, uint64_t from)
{
    const uint8_t *byte = bytes;

    for (size_t i = 0; i < size; i++)
        from = (from ^ byte[i]) * 0x100000001b3ull;
    return from;
}

/* The process is task 0 of its own machine, and a task with a number of the service's. */
static void forget_task(char *sentence)
{
    char *at = strstr(sentence, "task ");

    for (at = at ? at + strlen("task ") : sentence + strlen(sentence); *at >= '0' && *at <= '9'; at++)
        *at = 'N';
}

static void note(const char *label, const char *what, int32_t code, uint64_t output)
{
    struct outcome *outcome = &story->outcome[story->count++];

    if (story->count >= OUTCOMES)
        _exit(4);
    snprintf(outcome->label, sizeof(outcome->label), "%s, %s", label, what);
    outcome->code = code;
    outcome->output = output;
    snprintf(outcome->sentence, sizeof(outcome->sentence), "%s", ane_machine_error());
    forget_task(outcome->sentence);
}

/* ---- Every selector ---- */

struct method {
    uint32_t number;
    const char *name;
    uint32_t scalars_in, struct_in, scalars_out, struct_out;
};

static const struct method control[] = {
#define X(selector, name, a, b, c, d) {selector, #name, a, b, c, d},
    ANE_CONTROL_SELECTORS(X)
#undef X
        {99, "none", 0, 0, 0, 0},
};
static const struct method direct[] = {
#define X(selector, name, a, b, c, d) {selector, #name, a, b, c, d},
    ANE_DIRECT_SELECTORS(X)
#undef X
        {99, "none", 0, 0, 0, 0},
};
static const struct method hints[] = {{0, "setClientHint", 3, 0, 0, 0}, {1, "none", 0, 0, 0, 0}};
static const struct method catalogue[] = {
#define ROW(with, number, name, a, b, c, d, access, role) {number, #name, a, b, c, d},
    ANE_CATALOGUE_METHODS(ROW, 0)
#undef ROW
        {0x1ff, "none", 0, 0, 0, 0},
};

typedef IOReturn (*call_function)(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                  uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                  uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                  size_t *outputStructCount);

static void call_once(const char *what, call_function call, io_connect_t connect, const struct method *method,
                      bool scalars, bool bytes)
{
    static const uint64_t input[32];
    static const uint8_t in[8192];
    uint64_t output[32];
    uint8_t out[8192];
    uint32_t output_count = method->scalars_out;
    size_t out_bytes = method->struct_out;
    IOReturn code;

    memset(output, 0xee, sizeof(output));
    memset(out, 0xee, sizeof(out));
    code = call(connect, method->number, scalars ? input : NULL, method->scalars_in, bytes ? in : NULL,
                method->struct_in, scalars ? output : NULL, &output_count, bytes ? out : NULL, &out_bytes);
    if (call == ane_catalogue_call && method->number == ANE_CATALOGUE_GetClientsInfo && !code)
        memset(out, 0, sizeof(out)); /* it has the task, and the number of the client */
    note(method->name, what, code,
         digest(out, sizeof(out), digest(output, sizeof(output), output_count + out_bytes)));
}

static void call_all(const char *what, call_function call, io_connect_t connect, const struct method *methods,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct method changed;

        call_once(what, call, connect, &methods[i], true, true);
        call_once("no scalars", call, connect, &methods[i], false, true);
        call_once("no structs", call, connect, &methods[i], true, false);
        changed = methods[i];
        changed.struct_in = PR_RING_DATA + 1;
        call_once("a large struct in", call, connect, &changed, true, true);
        changed = methods[i];
        changed.struct_out = PR_RING_DATA + 1;
        call_once("a large struct out", call, connect, &changed, true, true);
        changed = methods[i];
        changed.scalars_in = PR_RING_SCALARS + 1;
        call_once("many scalars", call, connect, &changed, true, true);
        changed = methods[i];
        changed.struct_in++;
        changed.scalars_out++;
        call_once("wrong sizes", call, connect, &changed, true, true);
    }
}

static void open_device(const char *what, io_connect_t connect)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD}, out = {0};
    size_t bytes = sizeof(out);
    IOReturn code = IOConnectCallMethod(connect, 0, NULL, 0, &info, sizeof(info), NULL, NULL, &out, &bytes);

    note("DeviceOpen", what, code, 0);
}

static void call_type(io_service_t service, uint32_t type, const struct method *methods, size_t count,
                      call_function call)
{
    io_connect_t connect = 0;
    IOReturn code = IOServiceOpen(service, 0, type, &connect);

    note("IOServiceOpen", "a type", code, connect != 0);
    call_all("new", call, connect, methods, count);
    open_device("before the calls", connect);
    call_all("open", call, connect, methods, count);
    note("IOServiceClose", "a type", IOServiceClose(connect), 0);
    call_all("closed", call, connect, methods, 2);
    note("IOServiceClose", "again", IOServiceClose(connect), 0);
}

static void call_every_selector(io_service_t service)
{
    io_connect_t connect;

    call_type(service, ANE_CLIENT_CONTROL, control, BASE_COUNT_OF(control), IOConnectCallMethod);
    call_type(service, ANE_CLIENT_DIRECT_PATH, direct, BASE_COUNT_OF(direct), IOConnectCallMethod);
    call_type(service, ANE_CLIENT_HINTS, hints, BASE_COUNT_OF(hints), IOConnectCallMethod);
    call_type(service, ANE_CLIENT_DIRECT_PATH, catalogue, BASE_COUNT_OF(catalogue), ane_catalogue_call);
    note("IOServiceOpen", "no type", IOServiceOpen(service, 0, 77, &connect), connect);
    note("IOServiceOpen", "no place", IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, NULL), 0);
    note("IOServiceOpen", "not the device",
         IOServiceOpen(ane_registry_root(service), 0, ANE_CLIENT_CONTROL, &connect), connect);
    call_all("no connection", IOConnectCallMethod, 3, control, 2);
}

/* ---- What uses them ---- */

static void run_program(io_service_t service)
{
    struct iorig_accumulator sum;
    struct ane_request_reply reply;
    uint32_t surfaces[3], gone;

    iorig_accumulator_make(&sum, service, 4, 32);
    for (unsigned i = 0; i < 5; i++)
        note("program", "a step", iorig_accumulator_step(&sum), 0);
    note("program", "its value", 0, (uint64_t)iorig_accumulator_value(&sum));
    surfaces[0] = sum.x;
    surfaces[1] = surfaces[2] = 0x12345; /* of neither process */
    memset(&reply, 0xee, sizeof(reply));
    note("program", "a surface that is not there",
         iorig_request(&sum.client, sum.token, 9, 4, surfaces, 2, 1, &reply),
         digest(&reply, sizeof(reply), 0));
    note("program", "another sequence, no such program",
         iorig_request(&sum.client, sum.token + 17, 10, 4, surfaces, 2, 1, &reply),
         digest(&reply, sizeof(reply), 0));
    if (ane_surface_create(0, 4096, &gone))
        _exit(5);
    ane_surface_release(gone);
    surfaces[1] = surfaces[2] = gone;
    /* The sentence names the id, which differs. */
    note("program", "a surface that is released",
         iorig_request(&sum.client, sum.token, 11, 4, surfaces, 2, 1, &reply), 0);
    story->outcome[story->count - 1].sentence[0] = '\0';
    iorig_accumulator_release(&sum);
}

static void run_events(io_service_t service)
{
    io_connect_t connect;
    uint64_t value = 0;
    uint32_t event = 0;

    if (IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &connect))
        _exit(6);
    note("event", "created", ane_event_create(connect, 5, &event), event);
    note("event", "created, no place", ane_event_create(connect, 5, NULL), 0);
    note("event", "its value", ane_event_value(connect, event, &value), value);
    note("event", "signalled", ane_event_signal(connect, event, 9), 0);
    note("event", "its value then", ane_event_value(connect, event, &value), value);
    note("event", "waited for", ane_event_wait(connect, event, 9, 0), 0);
    note("event", "waited for in vain", ane_event_wait(connect, event, 10, 1000000), 0);
    value = 77;
    note("event", "another's value", ane_event_value(connect, event + 1000, &value), value);
    note("event", "released", ane_event_release(connect, event), 0);
    note("event", "released again", ane_event_release(connect, event), 0);
    note("event", "the connection closed", IOServiceClose(connect), 0);
    note("event", "created on a closed one", ane_event_create(connect, 5, &event), 0);
    note("event", "created on none", ane_event_create(7, 5, &event), 0);
}

static void run_ports(io_service_t service)
{
    static const struct {
        const char *what;
        uint32_t selector, references;
        bool null;
    } rows[] = {
        {"no words", 2, 0, false},         {"five words", 2, 5, false}, {"words that are NULL", 2, 1, true},
        {"another selector", 1, 1, false}, {"zeros", 2, 1, false},      {"no selector", 99, 1, false},
    };
    struct iorig_client client;
    uint64_t reference[8] = {1, 2, 3, 4, 5}, doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request request = {0};
    struct ane_request_reply reply;
    struct ane_port_message message;
    size_t bytes = sizeof(reply);
    ane_port_t port;

    if (iorig_open(service, 0, ANE_CLIENT_CONTROL, &client) || ane_port_create(&port))
        _exit(7);
    for (size_t i = 0; i < BASE_COUNT_OF(rows); i++)
        note("asynchronous", rows[i].what,
             IOConnectCallAsyncMethod(client.connect, rows[i].selector, port, rows[i].null ? NULL : reference,
                                      rows[i].references, &doorbell, 1, &request, sizeof(request), NULL, NULL,
                                      &reply, &bytes),
             0);
    note("asynchronous", "no port",
         IOConnectCallAsyncMethod(client.connect, 2, 0, reference, 1, &doorbell, 1, &request, sizeof(request),
                                  NULL, NULL, &reply, &bytes),
         0);
    note("asynchronous", "a message of none", ane_port_receive(port, &message, 0), 0);
    note("asynchronous", "closed", IOServiceClose(client.connect), 0);
    ane_port_release(port);
}

static void walk_registry(io_service_t entry, unsigned depth)
{
    struct ane_registry_value value;
    const char *key;
    io_service_t child;
    IOReturn code = 0;

    note("registry", ane_registry_name(entry), 0, depth);
    for (uint32_t i = 0; !code; i++) {
        code = ane_registry_property_at(entry, i, &key, &value);
        note("registry property", code ? "end" : key, code, 0);
    }
    for (uint32_t i = 0; (child = ane_registry_child(entry, i)) != 0; i++)
        walk_registry(child, depth + 1);
}

static void make_surfaces(void)
{
    uint32_t id = 5;

    note("surface", "no bytes", ane_surface_create(0, 0, &id), id);
    note("surface", "too many", ane_surface_create(0, (4ull << 30) + 1, &id), id);
    note("surface", "no place", ane_surface_create(0, 1, NULL), 0);
    note("surface", "no task", ane_surface_create(4711, 1, &id), id);
    note("surface", "of no one", ane_surface_descriptor(12345), ane_surface_lookup(12345));
}

static void tell(struct story *mine, const char *service)
{
    io_service_t device;

    alarm(SECONDS);
    story = mine;
    setenv("ANEMONE_SERVICE", service, 1);
    device = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    if (!device || (strcmp(service, "none") != 0) != (device >= PR_SERVICE_ENTRY_BASE)) {
        fprintf(stderr, "# %s\n", ane_machine_error());
        _exit(2);
    }
    walk_registry(ane_registry_root(device), 0);
    make_surfaces();
    run_program(device);
    run_events(device);
    run_ports(device);
    call_every_selector(device);
    mine->complete = 1;
    _exit(0);
}

static void run(struct story *mine, const char *service)
{
    pid_t child = fork();
    int status;

    if (!child)
        tell(mine, service);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status || !mine->complete)
        fail_msg("%s: status 0x%x after %u calls; the last is \"%s\"", service, (unsigned)status, mine->count,
                 mine->count ? mine->outcome[mine->count - 1].label : "");
}

/* Every key: what a process is to its own machine. */
static const char *policy_text(void)
{
    static char text[4096];
    static const char *const keys[] = {
#define X(id, key, capability, holders, kind) key,
        PR_ENTITLEMENTS(X)
#undef X
    };
    size_t at = (size_t)snprintf(text, sizeof(text), "match uid *\n");

    for (size_t i = 0; i < BASE_COUNT_OF(keys); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "allow %s\n", keys[i]);
    return text;
}

static void a_served_process_sees_the_same_kernel(void **state)
{
    struct story *stories =
        mmap(NULL, 2 * sizeof(*stories), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned differences = 0;
    pid_t service;

    (void)state;
    assert_ptr_not_equal(stories, MAP_FAILED);
    service = svcrig_serve("socket", svcrig_policy("policy", policy_text()));
    run(&stories[0], "none");
    run(&stories[1], folder_path("socket"));
    assert_int_equal(svcrig_stop(service), 0);
    assert_int_equal(stories[0].count, stories[1].count);
    assert_true(stories[0].count > 500);
    for (unsigned i = 0; i < stories[0].count; i++) {
        const struct outcome *own = &stories[0].outcome[i], *served = &stories[1].outcome[i];

        if (!strcmp(own->label, served->label) && own->code == served->code &&
            !strcmp(own->sentence, served->sentence) && own->output == served->output)
            continue;
        differences++;
        print_error("%s: own 0x%x \"%s\" %llx; %s: served 0x%x \"%s\" %llx\n", own->label,
                    (unsigned)own->code, own->sentence, (unsigned long long)own->output, served->label,
                    (unsigned)served->code, served->sentence, (unsigned long long)served->output);
    }
    assert_int_equal(differences, 0);
    munmap(stories, 2 * sizeof(*stories));
}

/* ---- Threads, forks and the service's end ---- */

static pid_t the_service;

static void in_child(void (*body)(io_service_t device))
{
    pid_t child;
    int status;

    the_service = svcrig_serve("socket", svcrig_policy("policy", policy_text()));
    child = fork();
    if (!child) {
        alarm(SECONDS);
        setenv("ANEMONE_SERVICE", folder_path("socket"), 1);
        body(IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("the child's status is 0x%x", (unsigned)status);
}

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "# %s: \"%s\"\n", what, ane_machine_error());
    _exit(1);
}

static void *run_sum(void *context)
{
    struct iorig_accumulator sum;

    iorig_accumulator_make(&sum, *(io_service_t *)context, 4, 32);
    for (unsigned i = 0; i < 50; i++)
        require(!iorig_accumulator_step(&sum), "a step");
    require(iorig_accumulator_value(&sum) == 50, "the sum");
    iorig_accumulator_release(&sum);
    return NULL;
}

static void run_threads(io_service_t device)
{
    pthread_t thread[6];

    for (size_t i = 0; i < BASE_COUNT_OF(thread); i++)
        require(!pthread_create(&thread[i], NULL, run_sum, &device), "a thread");
    for (size_t i = 0; i < BASE_COUNT_OF(thread); i++)
        pthread_join(thread[i], NULL);
}

static void threads_of_a_served_process_share_its_ring(void **state)
{
    (void)state;
    in_child(run_threads);
    assert_int_equal(svcrig_stop(the_service), 0);
}

static void run_fork(io_service_t device)
{
    io_connect_t connect, own;
    uint32_t id, event;
    pid_t child;
    int status;

    require(!IOServiceOpen(device, 0, ANE_CLIENT_DIRECT_PATH, &connect), "open");
    require(!ane_surface_create(0, 4096, &id), "a surface");
    child = fork();
    if (!child) {
        require(ane_event_create(connect, 1, &event) == ANE_RETURN_CLOSED, "the parent's, without a session");
        require(!ane_surface_base(id), "the parent's surface");
        device = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
        require(!IOServiceOpen(device, 0, ANE_CLIENT_DIRECT_PATH, &own), "open in the child");
        require(ane_event_create(connect, 1, &event) == ANE_RETURN_CLOSED, "the parent's, with a session");
        require(IOServiceClose(connect) == ANE_RETURN_CLOSED, "the parent's, to close");
        run_sum(&device);
        _exit(0);
    }
    require(waitpid(child, &status, 0) == child && !status, "the child");
    require(!ane_event_create(connect, 1, &event), "the parent's, in the parent");
    require(ane_surface_base(id), "the parent's surface, in the parent");
    run_sum(&device);
}

static void a_forked_child_has_a_session_of_its_own(void **state)
{
    (void)state;
    in_child(run_fork);
    assert_int_equal(svcrig_stop(the_service), 0);
}

static void run_both(io_service_t device)
{
    struct ane_machine *machine = iorig_machine((struct ane_machine_config){0});
    io_service_t own = ane_machine_service(machine);

    require(own && own < PR_SERVICE_ENTRY_BASE && device >= PR_SERVICE_ENTRY_BASE, "two devices");
    /* Surfaces of task 0 are the service's, whichever device they are for. */
    run_sum(&own);
    run_sum(&device);
    ane_machine_destroy(machine);
    run_sum(&device);
}

static void a_served_process_may_have_a_machine_beside(void **state)
{
    (void)state;
    in_child(run_both);
    assert_int_equal(svcrig_stop(the_service), 0);
}

/* Each acquisition of memory, files and threads fails once; what comes after it works. */
static void run_starved(io_service_t device)
{
    const pid_t self = getpid();
    struct svcrig_counts before, after;
    uint32_t id;
    int status = -1;

    require(!ane_surface_create(0, 20000, &id), "a surface");
    ane_surface_release(id);
    before = svcrig_counts(self);
    for (unsigned nth = 1; status; nth++) {
        base_alloc_fail_nth(nth);
        status = ane_surface_create(0, 20000, &id);
        base_alloc_fail_nth(0);
        require(nth > 1 || status, "nothing was to fail");
        require(!status || (!id && ane_machine_error()[0]), "a surface that failed");
        after = svcrig_counts(self);
        require(!status || after.files == before.files, "descriptors");
    }
    ane_surface_release(id);
    run_sum(&device);
}

static void run_starved_session(io_service_t device)
{
    pid_t child = fork();
    struct svcrig_counts before;
    int status;

    require(device, "the device");
    if (!child) {
        before = svcrig_counts(getpid());
        device = 0;
        for (unsigned nth = 1; !device; nth++) {
            base_alloc_fail_nth(nth);
            device = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
            base_alloc_fail_nth(0);
            require(nth > 1 || !device, "nothing was to fail");
            require(device || ane_machine_error()[0], "a sentence");
            require(device || svcrig_counts(getpid()).files == before.files, "descriptors");
        }
        run_sum(&device);
        _exit(0);
    }
    require(waitpid(child, &status, 0) == child && !status, "the child");
}

static void memory_that_runs_out_is_an_error_of_one_call(void **state)
{
    (void)state;
    in_child(run_starved);
    assert_int_equal(svcrig_stop(the_service), 0);
    in_child(run_starved_session);
    assert_int_equal(svcrig_stop(the_service), 0);
}

struct waiter {
    io_connect_t connect;
    uint32_t event;
};

static void *wait_in_vain(void *context)
{
    const struct waiter *waiter = context;

    require(ane_event_wait(waiter->connect, waiter->event, 2, UINT64_MAX) == kIOReturnNoDevice, "the wait");
    require(strstr(ane_machine_error(), "has ended"), "its sentence");
    return NULL;
}

static void run_kill(io_service_t device)
{
    struct waiter waiter;
    pthread_t thread;

    require(!IOServiceOpen(device, 0, ANE_CLIENT_DIRECT_PATH, &waiter.connect), "open");
    require(!ane_event_create(waiter.connect, 1, &waiter.event), "an event");
    require(!pthread_create(&thread, NULL, wait_in_vain, &waiter), "a thread");
    usleep(50000);
    require(!kill(the_service, SIGKILL), "kill");
    pthread_join(thread, NULL);
    require(ane_event_signal(waiter.connect, waiter.event, 2) == kIOReturnNoDevice, "a later call");
}

static void a_killed_service_ends_every_call(void **state)
{
    (void)state;
    in_child(run_kill);
    waitpid(the_service, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_served_process_sees_the_same_kernel),
        cmocka_unit_test(threads_of_a_served_process_share_its_ring),
        cmocka_unit_test(a_forked_child_has_a_session_of_its_own),
        cmocka_unit_test(a_served_process_may_have_a_machine_beside),
        cmocka_unit_test(memory_that_runs_out_is_an_error_of_one_call),
        cmocka_unit_test(a_killed_service_ends_every_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
