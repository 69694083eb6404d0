/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client end of the service, against a service that is none (fakerig). Which kernel a process has is
 * decided once, so every case is a process of its own.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anemone/broker.h>
#include <anemone/iokit.h>

#include "base/alloc.h"
#include "base/array.h"
#include "fakerig.h"
#include "folder.h"
#include "service/client.h"
#include "support.h"

#define SECONDS 60 /* against hanging */

static struct fakerig fake;

/* In a child: says what failed, and ends it. */
static void check_at(int line, int good, const char *text)
{
    if (good)
        return;
    fprintf(stderr, "# line %d: %s; the last sentence: \"%s\"\n", line, text, ane_machine_error());
    _exit(1);
}
#define check(condition) check_at(__LINE__, (condition) != 0, #condition)

static int says(const char *words)
{
    return strstr(ane_machine_error(), words) != NULL;
}

static void in_child(void (*run)(void))
{
    pid_t child = fork();
    int status;

    if (!child) {
        alarm(SECONDS);
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("the child's status is 0x%x", (unsigned)status);
}

static io_connect_t served(void)
{
    io_connect_t connect = 0;
    io_service_t service;

    fakerig_start(&fake, folder_path("service"));
    setenv("ANEMONE_SERVICE", fake.path, 1);
    service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    check(service == PR_SERVICE_ENTRY_BASE + 5);
    check(!IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &connect));
    check(connect == PR_SERVICE_CONNECT_BASE + 3);
    return connect;
}

static IOReturn add_one(io_connect_t connect, uint32_t selector, uint64_t value, uint64_t *sum)
{
    uint32_t one = 1;

    return IOConnectCallMethod(connect, selector, &value, 1, NULL, 0, sum, &one, NULL, NULL);
}

/* ---- Calls ---- */

static void run_calls(void)
{
    io_connect_t connect = served();
    uint8_t in[] = {1, 2, 3}, out[] = {9, 9, 9}, many[4096];
    uint64_t scalar[] = {40, 50}, sum[3] = {7, 7, 7};
    size_t out_bytes = sizeof(out);
    uint32_t sums = 2;

    check(!IOConnectCallMethod(connect, FAKERIG_ADD, scalar, 2, in, sizeof(in), sum, &sums, out, &out_bytes));
    check(sum[0] == 41 && sum[1] == 51 && sum[2] == 7);
    check(out[0] == 0xfe && out[1] == 0xfd && out[2] == 0xfc);
    check(says(""));

    sum[0] = 7;
    out[0] = 0x12;
    check(IOConnectCallMethod(connect, FAKERIG_REFUSE, scalar, 2, in, 1, sum, &sums, out, &out_bytes) ==
          kIOReturnNotFound);
    check(says("The fake has nothing of that name."));
    check(sum[0] == 7 && out[0] == 0x12); /* an output that is not written stays as it was */

    check(add_one(connect, FAKERIG_LONG_WORDS, 1, sum) == kIOReturnError);
    check(strlen(ane_machine_error()) == PR_RING_SENTENCE - 1);

    /* What is NULL, and what the ring has no room for, is announced by its size. */
    sums = 3;
    out_bytes = 12;
    check(!IOConnectCallMethod(connect, FAKERIG_ABSENT, NULL, 2, NULL, 5, sum, &sums, NULL, &out_bytes));
    check(sum[0] ==
          (PR_RING_NO_SCALARS_IN | PR_RING_NO_STRUCT_IN | PR_RING_NO_STRUCT_OUT | PR_RING_NO_REFERENCE));
    check(sum[1] == 5 && sum[2] == 12);
    out_bytes = SIZE_MAX;
    memset(many, 0x33, sizeof(many));
    check(!IOConnectCallMethod(connect, FAKERIG_ABSENT, scalar, 2, many, sizeof(many), sum, &sums, many,
                               &out_bytes));
    check(sum[1] == sizeof(many) && sum[2] == UINT32_MAX && many[0] == 0x33 && many[4095] == 0x33);
    sums = 1000; /* as many as the caller said, and none is written */
    check(!IOConnectCallMethod(connect, FAKERIG_ADD, scalar, 2, NULL, 0, sum, &sums, NULL, NULL));
    check(sum[1] == sizeof(many));
}

static void calls_have_their_codes_and_sentences(void **state)
{
    (void)state;
    in_child(run_calls);
}

static void run_warm(void)
{
    io_connect_t connect = served();
    uint64_t sum;
    unsigned long allocations;
    int messages;

    check(!add_one(connect, FAKERIG_ADD, 1, &sum));
    messages = atomic_load(&fake.messages);
    allocations = base_alloc_count();
    for (uint64_t i = 0; i < 50; i++)
        check(!add_one(connect, FAKERIG_ADD, i, &sum) && sum == i + 1);
    check(atomic_load(&fake.messages) == messages);
    check(base_alloc_count() == allocations);
    check(atomic_load(&fake.slots) == 1);
}

static void a_warm_call_needs_no_message_and_no_memory(void **state)
{
    (void)state;
    in_child(run_warm);
}

/* ---- Replies that break the format ---- */

static const char *const spoil_words[] = {
#define X(id, words) words,
    FAKERIG_SPOILS(X)
#undef X
};

static void use_message(enum pr_service_message type, io_connect_t connect, io_service_t service)
{
    struct base_error error = {{0}};
    uint64_t sum;
    uint32_t id;
    int file;

    switch (type) {
    case PR_SERVICE_OPEN:
        check(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &connect) == kIOReturnNoDevice && !connect);
        break;
    case PR_SERVICE_CLOSE: check(IOServiceClose(connect) == kIOReturnNoDevice); break;
    case PR_SERVICE_SLOT: check(add_one(connect, FAKERIG_ADD, 1, &sum) == kIOReturnNoDevice); break;
    case PR_SERVICE_SURFACE: check(ane_surface_create(0, 100, &id) == -ENODEV && !id); break;
    case PR_SERVICE_REGISTRY: check(!ane_registry_name(service)); break;
    default:
        file = svc_client_broker(&error);
        check(file == -ENODEV);
        check(strstr(error.text, spoil_words[fake.spoil]) != NULL);
        return;
    }
    check(says(spoil_words[fake.spoil]));
}

static void run_spoiled(void)
{
    enum pr_service_message type = fake.spoiled;
    io_connect_t connect;
    io_service_t service;
    uint64_t sum;

    fake.spoiled = 0;
    connect = served();
    service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    fake.spoiled = type;
    use_message(type, connect, service);
    /* The session has ended: whatever is called next is refused for the same reason. */
    fake.spoiled = 0;
    check(add_one(connect, FAKERIG_ADD, 1, &sum) == kIOReturnNoDevice);
    check(says(spoil_words[fake.spoil]));
    check(!IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")) && says(spoil_words[fake.spoil]));
}

static void a_spoiled_reply_ends_the_session(void **state)
{
    static const enum pr_service_message types[] = {PR_SERVICE_OPEN,     PR_SERVICE_CLOSE,
                                                    PR_SERVICE_SLOT,     PR_SERVICE_SURFACE,
                                                    PR_SERVICE_REGISTRY, PR_SERVICE_BROKER};

    (void)state;
    for (size_t t = 0; t < BASE_COUNT_OF(types); t++)
        for (int spoil = FAKERIG_SPOIL_NONE + 1; spoil < FAKERIG_SPOIL_COUNT; spoil++) {
            fake = (struct fakerig){.spoiled = types[t], .spoil = (enum fakerig_spoil)spoil};
            in_child(run_spoiled);
        }
    fake = (struct fakerig){.spoil = FAKERIG_SPOIL_NONE};
}

static void run_hello(void)
{
    fake.spoiled = PR_SERVICE_HELLO;
    fakerig_start(&fake, folder_path("service"));
    setenv("ANEMONE_SERVICE", fake.path, 1);
    check(!IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")));
    check(says(fake.path) && says(fake.ring_less ? "another release" : spoil_words[fake.spoil]));
    check(ane_service_name() == NULL);
    check(ane_machine_default(NULL, NULL) == -ENODEV);
}

static void a_service_that_does_not_greet_is_not_used(void **state)
{
    (void)state;
    for (int spoil = FAKERIG_SPOIL_NONE + 1; spoil < FAKERIG_SPOIL_COUNT; spoil++) {
        fake = (struct fakerig){.spoil = (enum fakerig_spoil)spoil};
        in_child(run_hello);
    }
    fake = (struct fakerig){.ring_less = 4096};
    in_child(run_hello);
    fake = (struct fakerig){.ring_less = 0};
}

static void run_numbers(void)
{
    io_service_t service;
    io_connect_t connect;

    served();
    service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    fake.connect = 0x10001; /* a number that a connection of the process's own may have */
    check(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &connect) == kIOReturnNoDevice && !connect);
    check(says("0x10001, which is outside its range"));
}

static void a_number_outside_its_range_is_refused(void **state)
{
    (void)state;
    in_child(run_numbers);
}

/* ---- Threads ---- */

struct caller {
    pthread_t thread;
    io_connect_t connect;
    uint32_t selector;
    uint64_t value, sum;
    IOReturn status;
    int waits;     /* for an event, instead */
    int no_device; /* the sentence is there */
};

static void *run_caller(void *context)
{
    struct caller *caller = context;

    if (caller->waits)
        caller->status = ane_event_wait(caller->connect, 1, 1, UINT64_MAX);
    else
        caller->status = add_one(caller->connect, caller->selector, caller->value, &caller->sum);
    caller->no_device = caller->status == kIOReturnNoDevice && says("has ended");
    return NULL;
}

static void start_callers(struct caller *callers, unsigned count, io_connect_t connect, uint32_t selector)
{
    for (unsigned i = 0; i < count; i++) {
        callers[i].connect = connect;
        callers[i].selector = selector;
        callers[i].value = i;
        check(!pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]));
    }
}

static void wait_held(int count)
{
    while (atomic_load(&fake.held) < count)
        usleep(1000);
}

static void run_exhausted(void)
{
    static struct caller callers[PR_RING_SLOTS + 8];
    io_connect_t connect = served();

    start_callers(callers, BASE_COUNT_OF(callers), connect, FAKERIG_HOLD);
    wait_held(PR_RING_SLOTS);
    check(atomic_load(&fake.slots) == UINT64_MAX);
    usleep(50000);
    check(atomic_load(&fake.held) == PR_RING_SLOTS); /* the others wait for a slot */
    atomic_store(&fake.released, 1);
    for (unsigned i = 0; i < BASE_COUNT_OF(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        check(!callers[i].status && callers[i].sum == i + 1);
    }
    check(atomic_load(&fake.held) == (int)BASE_COUNT_OF(callers));
}

static void a_call_that_finds_no_slot_waits(void **state)
{
    (void)state;
    in_child(run_exhausted);
}

static void run_waits(void)
{
    static struct caller callers[PR_RING_SLOTS];
    io_connect_t connect = served();
    uint64_t sum;

    for (unsigned i = 0; i < BASE_COUNT_OF(callers); i++)
        callers[i].waits = 1;
    _Static_assert((int)PR_RING_EVENT_WAIT == (int)FAKERIG_HOLD, "a wait is held by the fake");
    start_callers(callers, BASE_COUNT_OF(callers), connect, 0);
    wait_held(PR_RING_SLOTS - 4);
    usleep(50000);
    check(!add_one(connect, FAKERIG_ADD, 5, &sum) && sum == 6);
    atomic_store(&fake.released, 1);
    for (unsigned i = 0; i < BASE_COUNT_OF(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        check(!callers[i].status);
    }
}

static void waits_for_events_leave_slots_to_others(void **state)
{
    (void)state;
    in_child(run_waits);
}

static void run_few_slots(void)
{
    static struct caller caller;
    io_connect_t connect;
    uint64_t sum;

    connect = served();
    fake.refuse_slots = 1;
    start_callers(&caller, 1, connect, FAKERIG_HOLD);
    wait_held(1);
    check(add_one(connect, FAKERIG_ADD, 1, &sum) == kIOReturnNoResources);
    check(says("no thread for that slot"));
    atomic_store(&fake.released, 1);
    pthread_join(caller.thread, NULL);
    check(!caller.status && caller.sum == 1);
    check(!add_one(connect, FAKERIG_ADD, 1, &sum) && sum == 2);
}

static void a_slot_that_is_refused_is_an_error_of_one_call(void **state)
{
    (void)state;
    in_child(run_few_slots);
}

static void run_death(void)
{
    static struct caller callers[PR_RING_SLOTS + 4];
    io_connect_t connect = served(), other;
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    struct base_error error;
    uint64_t sum;
    uint32_t id;

    start_callers(callers, BASE_COUNT_OF(callers), connect, FAKERIG_NEVER);
    wait_held(PR_RING_SLOTS);
    fakerig_die(&fake);
    for (unsigned i = 0; i < BASE_COUNT_OF(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        check(callers[i].no_device);
    }
    check(add_one(connect, FAKERIG_ADD, 1, &sum) == kIOReturnNoDevice && says(fake.path));
    check(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &other) == kIOReturnNoDevice && says("has ended"));
    check(IOServiceClose(connect) == kIOReturnNoDevice);
    check(ane_surface_create(0, 1, &id) == -ENODEV);
    check(svc_client_broker(&error) == -ENODEV);
    check(ane_machine_default(NULL, NULL) == -EREMOTE);
}

static void calls_return_when_the_service_dies(void **state)
{
    (void)state;
    in_child(run_death);
}

static void on_signal(int number)
{
    (void)number;
}

static void run_interrupted(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    static struct caller caller;
    io_connect_t connect = served();

    sigaction(SIGUSR1, &action, NULL);
    start_callers(&caller, 1, connect, FAKERIG_HOLD);
    wait_held(1);
    for (unsigned i = 0; i < 20; i++) {
        pthread_kill(caller.thread, SIGUSR1);
        usleep(1000);
    }
    atomic_store(&fake.released, 1);
    pthread_join(caller.thread, NULL);
    check(!caller.status && caller.sum == 1);
}

static void an_interrupted_caller_keeps_waiting(void **state)
{
    (void)state;
    in_child(run_interrupted);
}

/* ---- Asynchronous calls ---- */

static IOReturn call_async(io_connect_t connect, uint32_t selector, ane_port_t port, uint64_t word)
{
    uint64_t reference[] = {word, ~word};

    return IOConnectCallAsyncMethod(connect, selector, port, reference, 2, NULL, 0, NULL, 0, NULL, NULL, NULL,
                                    NULL);
}

static void check_message(ane_port_t port, uint64_t word, IOReturn result, uint32_t detail)
{
    struct ane_port_message message;

    check(!ane_port_receive(port, &message, SECONDS * 1000000000ull));
    check(message.reference[0] == word && message.reference[1] == ~word && !message.reference[2]);
    check(message.result == result && message.reply.status == (uint32_t)result);
    check(message.reply.detail == detail);
}

static void run_async(void)
{
    io_connect_t connect = served();
    struct ane_port_message message;
    const uint64_t unknown[PR_RING_REFERENCES] = {999999};
    ane_port_t port;

    check(!ane_port_create(&port));
    for (uint64_t i = 0; i < 200; i++) { /* more than there are records, early ones too */
        fake.early = i & 1;
        check(!call_async(connect, FAKERIG_ADD, port, i));
        check_message(port, i, kIOReturnAborted, 77);
    }
    check(call_async(connect, FAKERIG_REFUSE, port, 1) == kIOReturnNotFound);
    check(says("nothing of that name"));
    /* Records that no call has waited for: a tag that is unknown, and one that had its message. */
    fakerig_complete(&fake, unknown, port, 0);
    fake.early = 0;
    check(!call_async(connect, FAKERIG_ADD, port, 5));
    check_message(port, 5, kIOReturnAborted, 77);
    check(ane_port_receive(port, &message, 0) == -ETIMEDOUT);
    check(call_async(connect, FAKERIG_ADD, 12, 1) == kIOReturnBadArgument && says("no wake port 12"));
    check(!ane_port_release(port));
}

static void an_accepted_call_has_one_message(void **state)
{
    (void)state;
    in_child(run_async);
}

static void *run_async_never(void *context)
{
    const struct caller *caller = context;

    /* Its record came before the service died: it was accepted. */
    check(!call_async(caller->connect, FAKERIG_NEVER, (ane_port_t)caller->value, 100));
    return NULL;
}

static void run_async_death(void)
{
    struct ane_port_message message;
    struct caller caller = {.connect = served()};
    pthread_t thread;
    ane_port_t port;

    check(!ane_port_create(&port));
    fake.quiet = 1;
    for (uint64_t i = 0; i < 40; i++)
        check(!call_async(caller.connect, FAKERIG_ADD, port, i));
    check(ane_port_receive(port, &message, 0) == -ETIMEDOUT);
    fake.quiet = 0;
    fake.early = 1;
    caller.value = port;
    check(!pthread_create(&thread, NULL, run_async_never, &caller));
    wait_held(1);
    fakerig_die(&fake);
    pthread_join(thread, NULL);
    check_message(port, 100, kIOReturnAborted, 77);
    for (uint64_t i = 0; i < 40; i++)
        check_message(port, i, kIOReturnNoDevice, 0);
    check(ane_port_receive(port, &message, UINT64_MAX) == -ENODEV && says("has ended"));
    check(call_async(caller.connect, FAKERIG_ADD, port, 1) == kIOReturnNoDevice);
    check(ane_port_receive(port, &message, 0) == -ETIMEDOUT);
}

static void a_service_that_dies_leaves_one_message_for_each_call(void **state)
{
    (void)state;
    in_child(run_async_death);
}

/* ---- Surfaces and the registry ---- */

static void run_surfaces(void)
{
    uint32_t id, again, local;
    ane_task_t task;
    struct stat stat;
    uint8_t *base, *other;

    served();
    check(!ane_surface_create(0, 20000, &id));
    check(id == PR_SERVICE_SURFACE_BIT + 4097 && ane_surface_lookup(id) == 20000);
    base = ane_surface_base(id);
    check(base != NULL);
    check(!fstat(ane_surface_descriptor(id), &stat) && stat.st_size == 32768);
    other = mmap(NULL, 32768, PROT_READ, MAP_SHARED, ane_surface_descriptor(id), 0);
    base[19999] = 0x77;
    check(other[19999] == 0x77);
    /* A surface of another task is this process's own, and its id has no such bit. */
    task = ane_task_create(NULL, 0, NULL, NULL);
    check(!ane_surface_create(task, 4096, &local) && !(local & PR_SERVICE_SURFACE_BIT));
    check(atomic_load(&fake.surfaces) == 1);
    /* The same id again, while it is there. */
    check(ane_surface_create(0, 100, &again) == -EBUSY && !again);
    check(ane_surface_base(id) == base);
    ane_surface_release(id);
    check(!ane_surface_base(id) && ane_surface_lookup(id) == 0 && ane_surface_descriptor(id) == -ENOENT);
    check(atomic_load(&fake.surfaces) == 0);
    ane_surface_release(id); /* names nothing: no message */
    check(atomic_load(&fake.surfaces) == 0);
    check(!ane_surface_create(0, 100, &id));
    ane_surface_release(id);
    /* A file that is too short would end the process at an access. */
    fake.surface_less = 16384;
    check(ane_surface_create(0, 20000, &id) == -ENODEV && !id && says("a surface"));
}

static void a_surface_of_the_service_is_mapped_here(void **state)
{
    (void)state;
    in_child(run_surfaces);
}

static void run_registry(void)
{
    struct ane_registry_value value;
    io_service_t device;
    const char *key;

    served();
    device = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    check(ane_registry_root(device) == PR_SERVICE_ENTRY_BASE + 5);
    check(ane_registry_child(device, 0) == PR_SERVICE_ENTRY_BASE + 6 && !ane_registry_child(device, 1));
    check(strlen(ane_registry_name(device)) == 63); /* the fake's has no NUL */
    check(ane_registry_name(device) == ane_registry_name(device));
    check(!ane_registry_property_at(device, 0, &key, &value) && !strcmp(key, "the key"));
    check(((const uint8_t *)&value)[0] == 0x5a);
    check(ane_registry_property_at(device, 1, &key, &value) == kIOReturnNotFound);
    check(!ane_registry_property(device, "the key", &value));
    check(ane_registry_property(device, "another", &value) == kIOReturnNotFound);
}

static void the_registry_of_the_service_is_read(void **state)
{
    (void)state;
    in_child(run_registry);
}

/* ---- Which kernel ---- */

static void run_named(void)
{
    struct ane_machine *machine = NULL;
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    uint32_t id;

    setenv("ANEMONE_SERVICE", folder_path("nothing"), 1);
    check(!IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")));
    check(says("no service answers there") && says("ANEMONE_SERVICE=none"));
    check(ane_machine_default(NULL, &machine) == -ENODEV && !machine);
    check(ane_surface_create(0, 1, &id) == -ENODEV && !id);
    check(ane_service_name() == NULL);
    /* It is decided once a service has answered. */
    served();
    check(!strcmp(ane_service_name(), fake.path));
    check(ane_machine_default(NULL, &machine) == -EREMOTE && !machine);
    check(says(fake.path) && says("ANEMONE_SERVICE=none"));
    check(ane_machine_default(&config, &machine) == -EREMOTE && !machine);
}

static void run_default_path(void)
{
    char path[200];
    struct pr_service_welcome welcome;

    snprintf(path, sizeof(path), "%s/anemone", folder_name());
    check(!mkdir(path, 0700));
    snprintf(path, sizeof(path), "%s/anemone/service", folder_name());
    fakerig_start(&fake, path);
    setenv("XDG_RUNTIME_DIR", folder_name(), 1);
    setenv("ANEMONE_SERVICE", "", 1);
    check(svc_client_used());
    check(!strcmp(ane_service_name(), path));
    check(svc_client_welcome(&welcome) && welcome.task == 7);
}

static void run_own(void)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    io_connect_t connect;
    io_service_t service;
    uint32_t id;

    fakerig_start(&fake, folder_path("service"));
    setenv("ANEMONE_SERVICE", fake.path, 1);
    /* A configuration is for a machine of the process's own. */
    check(!ane_machine_default(&config, NULL));
    service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    check(service && service < PR_SERVICE_ENTRY_BASE);
    check(!IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &connect) && connect < PR_SERVICE_CONNECT_BASE);
    check(!ane_surface_create(0, 1, &id) && !(id & PR_SERVICE_SURFACE_BIT));
    check(atomic_load(&fake.messages) == 0);
    check(ane_service_name() == NULL);
    check(IOServiceClose(PR_SERVICE_CONNECT_BASE + 3) == kIOReturnBadArgument);
    check(svc_client_broker(NULL) == -ENODEV);
}

static void run_stale(void)
{
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    /* A socket whose service has ended, at a default path. */
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/stale", folder_name());
    check(!mkdir(address.sun_path, 0700));
    setenv("XDG_RUNTIME_DIR", address.sun_path, 1);
    strcat(address.sun_path, "/anemone");
    check(!mkdir(address.sun_path, 0700));
    strcat(address.sun_path, "/service");
    check(!bind(listener, (struct sockaddr *)&address, sizeof(address)) && !listen(listener, 1));
    close(listener);
    unsetenv("ANEMONE_SERVICE");
    check(!svc_client_used() || strcmp(ane_service_name(), "/run/anemone/service") == 0);
}

static void a_process_decides_once(void **state)
{
    (void)state;
    in_child(run_named);
    in_child(run_default_path);
    in_child(run_own);
    in_child(run_stale);
}

static void run_tasks(void)
{
    io_connect_t connect = served(), other;
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    ane_task_t task = ane_task_create(NULL, 0, NULL, NULL);

    check(IOServiceOpen(service, task, ANE_CLIENT_CONTROL, &other) == kIOReturnNotPermitted && !other);
    check(says("its policy decides"));
    check(ane_event_share(connect, 1, task) == kIOReturnUnsupported && says("cannot be shared"));
    check(IOConnectCallMethod(connect + 1, FAKERIG_ADD, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL) == 0);
}

static void a_served_process_has_one_task(void **state)
{
    (void)state;
    in_child(run_tasks);
}

static void run_adopted(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    io_connect_t opened;
    uint32_t id;
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    fakerig_start(&fake, folder_path("service"));
    memcpy(address.sun_path, fake.path, sizeof(fake.path));
    check(!connect(file, (struct sockaddr *)&address, sizeof(address)));
    check(!svc_client_adopt(file));
    check(svc_client_used());
    /* The broker names tasks of its clients, which are not this process's. */
    check(!IOServiceOpen(PR_SERVICE_ENTRY_BASE + 5, 4711, ANE_CLIENT_CONTROL, &opened));
    check(!ane_surface_create(4711, 100, &id) && id & PR_SERVICE_SURFACE_BIT);
    check(svc_client_adopt(file) == -EBUSY);
}

static void the_broker_adopts_a_session(void **state)
{
    (void)state;
    in_child(run_adopted);
}

static void run_service_itself(void)
{
    uint32_t id;

    fakerig_start(&fake, folder_path("service"));
    setenv("ANEMONE_SERVICE", fake.path, 1);
    svc_client_is_service();
    check(!ane_surface_create(0, 1, &id) && id & PR_SERVICE_SURFACE_BIT);
    check(ane_surface_base(id) && !ane_surface_base(id & ~PR_SERVICE_SURFACE_BIT));
    ane_surface_release(id);
    check(!ane_surface_base(id));
    check(!svc_client_used() && atomic_load(&fake.messages) == 0);
}

static void the_service_is_no_client(void **state)
{
    (void)state;
    in_child(run_service_itself);
}

/* ---- Forks ---- */

static void run_grandchild(io_connect_t connect, uint32_t id)
{
    uint64_t sum;

    check(add_one(connect, FAKERIG_ADD, 1, &sum) == ANE_RETURN_CLOSED && says("closed"));
    check(IOServiceClose(connect) == ANE_RETURN_CLOSED);
    check(add_one(connect + 1, FAKERIG_ADD, 1, &sum) == kIOReturnBadArgument);
    check(!ane_surface_base(id) && ane_service_name() == NULL);
    /* It decides anew. */
    setenv("ANEMONE_SERVICE", "none", 1);
    check(!ane_machine_default(NULL, NULL));
    check(add_one(connect, FAKERIG_ADD, 1, &sum) == ANE_RETURN_CLOSED);
}

static void run_forks(void)
{
    io_connect_t connect = served();
    uint64_t sum;
    uint32_t id;
    int status, messages;
    pid_t child;

    check(!ane_surface_create(0, 100, &id));
    check(!add_one(connect, FAKERIG_ADD, 1, &sum));
    messages = atomic_load(&fake.messages);
    child = fork();
    if (!child) {
        run_grandchild(connect, id);
        _exit(0);
    }
    check(waitpid(child, &status, 0) == child && !status);
    check(atomic_load(&fake.messages) == messages);
    check(!add_one(connect, FAKERIG_ADD, 5, &sum) && sum == 6);
    check(ane_surface_base(id) != NULL);
}

static void a_forked_child_decides_anew(void **state)
{
    (void)state;
    in_child(run_forks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_their_codes_and_sentences),
        cmocka_unit_test(a_warm_call_needs_no_message_and_no_memory),
        cmocka_unit_test(a_spoiled_reply_ends_the_session),
        cmocka_unit_test(a_service_that_does_not_greet_is_not_used),
        cmocka_unit_test(a_number_outside_its_range_is_refused),
        cmocka_unit_test(a_call_that_finds_no_slot_waits),
        cmocka_unit_test(waits_for_events_leave_slots_to_others),
        cmocka_unit_test(a_slot_that_is_refused_is_an_error_of_one_call),
        cmocka_unit_test(calls_return_when_the_service_dies),
        cmocka_unit_test(an_interrupted_caller_keeps_waiting),
        cmocka_unit_test(an_accepted_call_has_one_message),
        cmocka_unit_test(a_service_that_dies_leaves_one_message_for_each_call),
        cmocka_unit_test(a_surface_of_the_service_is_mapped_here),
        cmocka_unit_test(the_registry_of_the_service_is_read),
        cmocka_unit_test(a_process_decides_once),
        cmocka_unit_test(a_served_process_has_one_task),
        cmocka_unit_test(the_broker_adopts_a_session),
        cmocka_unit_test(the_service_is_no_client),
        cmocka_unit_test(a_forked_child_decides_anew),
    };

    folder_name(); /* of this process: children do not remove it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
