/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilations by way of the broker: their order, failures and whom they cost, a compile service that ends;
 * and clients that leave while something of theirs is under way.
 */
#include "support.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "broker/order.h"
#include "broker/turn.h"
#include "brokerrig.h"
#include "folder.h"
#include "iorig.h"

#define KEY(id) PR_ENTITLEMENT_BIT(id)

static int start(void **state)
{
    (void)state;
    brokerrig_start();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    brokerrig_stop();
    return 0;
}

/* A compilation in a thread of its own, on a connection of its own. */
struct job {
    pthread_t thread;
    struct ane_broker *broker;
    char path[512];
    IOReturn status;
    char sentence[512];
};

static void *run_job(void *argument)
{
    struct job *job = argument;
    const struct ane_broker_compile compile = {.size = sizeof(compile), .path = job->path};
    struct ane_broker_model model = {.size = sizeof(model)};

    job->status = ane_broker_compile(job->broker, &compile, &model);
    snprintf(job->sentence, sizeof(job->sentence), "%s", ane_machine_error());
    if (!job->status)
        close(model.main);
    return NULL;
}

static void job_start(struct job *job, const char *name, struct brokerrig_who who)
{
    job->broker = brokerrig_connect(&who);
    snprintf(job->path, sizeof(job->path), "%s", brokerrig_model(name, 2));
    if (!strcmp(name, "refused"))
        folder_write("refused.mil", "program(1.3) {", 14);
    assert_int_equal(pthread_create(&job->thread, NULL, run_job, job), 0);
}

static IOReturn job_end(struct job *job)
{
    pthread_join(job->thread, NULL);
    ane_broker_disconnect(job->broker);
    return job->status;
}

static IOReturn job_run(struct job *job, const char *name, struct brokerrig_who who)
{
    job_start(job, name, who);
    return job_end(job);
}

static struct brokerrig_who user(uint32_t uid, uint32_t pid)
{
    return (struct brokerrig_who){.keys = KEY(ALLOW), .uid = uid, .pid = pid};
}

/* ---- The queue itself: the test is the compile service ---- */

static struct {
    struct brk_compiler compiler;
    int service, client[2];
} queue;

static void queue_open(void)
{
    int pair[2];

    brk_compiler_init(&queue.compiler);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, queue.client), 0);
    queue.service = pair[0];
    assert_int_equal(brk_compiler_start(&queue.compiler, pair[1]), 0);
}

static void queue_close(void)
{
    brk_compiler_stop(&queue.compiler);
    close(queue.service), close(queue.client[0]), close(queue.client[1]);
}

struct waiter {
    pthread_t thread;
    struct brk_order *order;
    IOReturn status;
};

static void *run_waiter(void *argument)
{
    struct waiter *waiter = argument;
    struct base_error error;

    waiter->status = brk_order_run(&queue.compiler, &waiter->order, queue.client[0], &error);
    brk_order_free(waiter->order);
    return NULL;
}

static unsigned queue_length(void)
{
    unsigned length = 0;

    pthread_mutex_lock(&queue.compiler.lock);
    for (const struct brk_order *order = queue.compiler.queued; order; order = order->next)
        length++;
    for (const struct brk_order *order = queue.compiler.sent; order; order = order->next)
        length++;
    pthread_mutex_unlock(&queue.compiler.lock);
    return length;
}

/* A compilation of that user; returns when it is in the queue or was sent. */
static void waiter_start(struct waiter *waiter, const char *name, uint32_t uid, uint32_t qos)
{
    unsigned before = queue_length();

    waiter->order = brk_order_make(PR_COMPILE_COMPILE, qos);
    assert_non_null(waiter->order);
    waiter->order->body.compile.uid = uid;
    strcpy(waiter->order->body.compile.name, name);
    waiter->order->folder = queue.client[1];
    assert_int_equal(pthread_create(&waiter->thread, NULL, run_waiter, waiter), 0);
    while (queue_length() == before)
        usleep(1000);
}

struct order_message {
    struct pr_service_header header;
    struct pr_broker_order body;
};

static struct order_message take_order(const char *name)
{
    struct order_message message;
    unsigned count;
    int folder;

    assert_int_equal(base_packet_receive(queue.service, &message, sizeof(message), &folder, 1, &count),
                     sizeof(message));
    assert_string_equal(message.body.name, name);
    close(folder);
    return message;
}

static void refuse_order(const struct order_message *message)
{
    struct pr_service_header header = message->header;

    header.status = kIOReturnBadArgument;
    header.bytes = 1;
    assert_int_equal(base_packet_send(queue.service, &header, sizeof(header), "", 1, NULL, 0, 1), 0);
}

static void expect_no_order(void)
{
    struct pollfd look = {.fd = queue.service, .events = POLLIN};

    assert_int_equal(poll(&look, 1, 0), 0);
}

/*
 * All workers that one user may have are busy: what it sends waits by its class, then by arrival. Another
 * user does not wait behind it.
 */
static void by_quality_of_service(void **state)
{
    static const struct {
        const char *name;
        uint32_t qos;
    } row[] = {{"background", 0x09}, {"default_a", 0x15}, {"interactive", 0x21}, {"default_b", 0x15}};
    static const char *const order[] = {"interactive", "default_a", "default_b", "background"};
    struct waiter busy[PR_COMPILE_WORKERS_USER], wait[4], other;
    struct order_message taken[PR_COMPILE_WORKERS_USER], next;

    (void)state;
    queue_open();
    for (unsigned i = 0; i < PR_COMPILE_WORKERS_USER; i++) {
        waiter_start(&busy[i], "busy", 1000, 0x15);
        taken[i] = take_order("busy");
    }
    for (unsigned i = 0; i < 4; i++)
        waiter_start(&wait[i], row[i].name, 1000, row[i].qos);
    expect_no_order();
    waiter_start(&other, "other", 1001, 0x09);
    next = take_order("other");
    refuse_order(&next);
    pthread_join(other.thread, NULL);
    assert_int_equal(other.status, kIOReturnBadArgument);
    next = taken[0];
    for (unsigned i = 0; i < 4; i++) {
        refuse_order(&next);
        next = take_order(order[i]);
        expect_no_order();
    }
    refuse_order(&next);
    for (unsigned i = 1; i < PR_COMPILE_WORKERS_USER; i++)
        refuse_order(&taken[i]);
    for (unsigned i = 0; i < PR_COMPILE_WORKERS_USER; i++)
        pthread_join(busy[i].thread, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(wait[i].thread, NULL);
    queue_close();
}

/* A reply that is none ends the service, and the orders that it has. */
static void replies_that_are_none(void **state)
{
    struct order_message message;
    struct waiter waiter;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        queue_open();
        waiter_start(&waiter, "model", 1000, 0x15);
        message = take_order("model");
        message.header.bytes = 0;
        message.header.serial += i == 0;
        message.header.magic += i == 1;
        message.header.type += i == 2;
        /* The last has no body, and no files. */
        assert_int_equal(
            base_packet_send(queue.service, &message.header, sizeof(message.header), NULL, 0, NULL, 0, 1), 0);
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.status, kIOReturnAborted);
        queue_close();
    }
}

/* Room in the socket comes back without a reply: what waits is sent. */
static void socket_without_room(void **state)
{
    static const char junk[1024];
    struct order_message message;
    struct waiter waiter;
    char taken[sizeof(junk)];
    unsigned count;

    (void)state;
    queue_open();
    while (!base_packet_send(queue.compiler.socket, junk, sizeof(junk), NULL, 0, NULL, 0, 0))
        ;
    waiter_start(&waiter, "model", 1000, 0x15);
    for (struct pollfd look = {.fd = queue.service, .events = POLLIN}; poll(&look, 1, 0) == 1;)
        assert_int_equal(base_packet_receive(queue.service, taken, sizeof(taken), NULL, 0, &count),
                         sizeof(taken));
    message = take_order("model");
    refuse_order(&message);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.status, kIOReturnBadArgument);
    queue_close();
}

/* A model of another key than was asked for is not loaded. */
static void model_of_another_key(void **state)
{
    struct ane_broker *broker = brokerrig_connect_with(KEY(ALLOW));
    struct brokerrig_who who = user(BROKERRIG_LIED_TO, 360);
    struct ane_broker *victim = brokerrig_connect(&who);
    struct ane_broker_arguments arguments = {
        .size = sizeof(arguments),
        .model = "0000000000000000000000000000000000000000000000000000000000000000"};
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    (void)state;
    brokerrig_compile(broker, brokerrig_model("good", 2));
    assert_int_equal(ane_broker_load(victim, &arguments, &instance), kIOReturnError);
    assert_non_null(strstr(ane_machine_error(), "another"));
    ane_broker_disconnect(victim);
    ane_broker_disconnect(broker);
}

/* A refused model is an error with the compiler's sentence, and costs no wait. */
static void refused_model(void **state)
{
    struct ane_broker *broker = brokerrig_connect_with(KEY(ALLOW));
    struct ane_broker_compile compile = {.size = sizeof(compile)};
    struct ane_broker_model model = {.size = sizeof(model)};

    (void)state;
    folder_write("bad.mil", "program(1.3) {", 14);
    compile.path = folder_path("bad.mil");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ane_broker_compile(broker, &compile, &model), kIOReturnBadArgument);
        assert_non_null(strstr(ane_machine_error(), "bad.mil"));
    }
    brokerrig_compile(broker, brokerrig_model("good", 2));
    ane_broker_disconnect(broker);
}

/* Files that could change after they were hashed are not taken. */
static void files_that_are_not_sealed(void **state)
{
    struct job job;

    (void)state;
    assert_int_equal(job_run(&job, "open", user(0, 350)), kIOReturnError);
    assert_int_equal(job_run(&job, "good", user(0, 350)), kIOReturnSuccess);
}

/* A process on whose models the compiler ends waits, by any connection; others are served. */
static void back_off(void **state)
{
    struct job job;

    (void)state;
    assert_int_equal(job_run(&job, "abort", user(0, 400)), kIOReturnAborted);
    assert_non_null(strstr(job.sentence, "signal 11"));
    assert_int_equal(job_run(&job, "good", user(0, 400)), kIOReturnBusy);
    assert_non_null(strstr(job.sentence, " ms"));
    assert_int_equal(job_run(&job, "good", user(0, 401)), kIOReturnSuccess);
    while (job_run(&job, "good", user(0, 400)) == kIOReturnBusy)
        usleep(10000);
    assert_int_equal(job.status, kIOReturnSuccess);
}

/* The service ends with a model: that client gets an error, what is queued goes to the next service. */
static void service_that_ends(void **state)
{
    struct job job, next, many[2];
    unsigned orders;

    (void)state;
    assert_int_equal(job_run(&job, "crash", user(0, 500)), kIOReturnAborted);
    assert_int_equal(job_run(&job, "good", user(0, 500)), kIOReturnBusy);
    job_start(&next, "good", user(0, 501));
    usleep(50000);
    brokerrig_compiler(0);
    assert_int_equal(job_end(&next), kIOReturnSuccess);
    /* With two of them, neither is blamed. */
    orders = brokerrig_orders();
    job_start(&many[0], "hold", user(0, 502));
    brokerrig_order(orders);
    job_start(&many[1], "crash", user(0, 503));
    assert_int_equal(job_end(&many[0]), kIOReturnAborted);
    assert_int_equal(job_end(&many[1]), kIOReturnAborted);
    brokerrig_release();
    brokerrig_compiler(0);
    assert_int_equal(job_run(&job, "good", user(0, 502)), kIOReturnSuccess);
    assert_int_equal(job_run(&job, "good", user(0, 503)), kIOReturnSuccess);
}

/* ---- Requests that are under way ---- */

static void *take_turn(void *argument)
{
    struct base_error error;

    return (void *)(intptr_t)brk_turn_take(argument, &error);
}

/*
 * The requests of one user do not take all places, and there is a limit for all. One that waits goes on when
 * another has ended, and ends with its client.
 */
static void turns_of_users(void **state)
{
    enum { USERS = 2, EACH = PR_BROKER_WAITING_USER, LAST = PR_BROKER_WAITING - EACH };
    static struct brk_client client[USERS][EACH + 1];
    struct brk_broker broker = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};
    struct brk_client *const waits[] = {&client[0][EACH], &client[1][LAST]};
    pthread_t thread[USERS];
    struct base_error error;
    void *status[USERS];

    (void)state;
    for (unsigned user = 0; user < USERS; user++)
        for (unsigned i = 0; i <= EACH; i++) {
            client[user][i] = (struct brk_client){.next = broker.clients, .broker = &broker};
            client[user][i].who.uid = user;
            broker.clients = &client[user][i];
        }
    for (unsigned user = 0; user < USERS; user++) {
        for (unsigned i = 0; i < (user ? LAST : EACH); i++)
            assert_int_equal(brk_turn_take(&client[user][i], &error), kIOReturnSuccess);
        assert_int_equal(pthread_create(&thread[user], NULL, take_turn, waits[user]), 0);
    }
    for (unsigned waiters = 0; waiters < USERS; usleep(1000)) {
        pthread_mutex_lock(&broker.lock);
        waiters = broker.turn_waiters;
        assert_false(waits[0]->waiting || waits[1]->waiting);
        pthread_mutex_unlock(&broker.lock);
    }
    pthread_mutex_lock(&broker.lock);
    waits[0]->gone = true;
    pthread_cond_broadcast(&broker.turn);
    pthread_mutex_unlock(&broker.lock);
    pthread_join(thread[0], &status[0]);
    assert_int_equal((IOReturn)(intptr_t)status[0], kIOReturnAborted);
    brk_turn_give(&client[1][0]);
    pthread_join(thread[1], &status[1]);
    assert_int_equal((IOReturn)(intptr_t)status[1], kIOReturnSuccess);
    assert_int_equal(broker.turn_waiters, 0);
}

/* ---- Clients that leave ---- */

static unsigned kernel_clients(void)
{
    struct ane_machine *machine;
    long count;

    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    count = ane_machine_clients(machine, NULL, 0);
    assert_true(count >= 0);
    return (unsigned)count;
}

struct compile_message {
    struct pr_service_header header;
    struct pr_broker_compile body;
};

/* Sends the order for a model of the test's folder; the descriptor is that of `folder`. */
static void send_compile(int socket, const char *name, int folder)
{
    struct compile_message message = {.header = {.magic = PR_BROKER_MAGIC,
                                                 .version = PR_SERVICE_VERSION,
                                                 .type = PR_BROKER_COMPILE,
                                                 .bytes = sizeof(message.body)}};

    snprintf(message.body.name, sizeof(message.body.name), "%s.mil", name);
    assert_int_equal(base_packet_send(socket, &message, sizeof(message), NULL, 0, &folder, 1, 1), 0);
}

/* A client whose order is held leaves; the worker's answer comes later, and the next client is served. */
static void leaves_during_a_compilation(void **state)
{
    struct brokerrig_who who = user(0, 600);
    int socket = brokerrig_socket(&who), folder = open(folder_name(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct job job;
    unsigned orders = brokerrig_orders();

    (void)state;
    brokerrig_model("hold_left", 2);
    send_compile(socket, "hold_left", folder);
    brokerrig_order(orders);
    close(socket);
    close(folder);
    assert_int_equal(job_run(&job, "good", user(0, 601)), kIOReturnSuccess);
    brokerrig_release();
    assert_int_equal(job_run(&job, "good", user(0, 601)), kIOReturnSuccess);
}

/* A process that leaves before the compiler ends on its model waits all the same. */
static void leaves_before_the_compiler_ends(void **state)
{
    struct brokerrig_who who = user(0, 610);
    int socket = brokerrig_socket(&who), folder = open(folder_name(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned orders = brokerrig_orders();
    struct job job = {.status = kIOReturnBadArgument};

    (void)state;
    brokerrig_model("hold_abort", 2);
    send_compile(socket, "hold_abort", folder);
    brokerrig_order(orders);
    close(socket);
    close(folder);
    usleep(300000); /* the broker has seen that it left, most likely */
    brokerrig_release();
    /* A refused model does not change the wait; an answer that is not there yet does not come much later. */
    for (unsigned i = 0; i < 100 && job.status == kIOReturnBadArgument; i++)
        job_run(&job, "refused", user(0, 610));
    assert_int_equal(job.status, kIOReturnBusy);
}

/* What is not a folder is refused by the broker. */
static void folder_that_is_none(void **state)
{
    struct brokerrig_who who = user(0, 620);
    int socket = brokerrig_socket(&who);
    unsigned orders = brokerrig_orders(), count;
    struct {
        struct pr_service_header header;
        char sentence[PR_SERVICE_SENTENCE];
    } reply;

    (void)state;
    send_compile(socket, "good", socket);
    assert_true(base_packet_receive(socket, &reply, sizeof(reply), NULL, 0, &count) > 0);
    assert_int_equal(reply.header.status, kIOReturnBadArgument);
    assert_non_null(strstr(reply.sentence, "folder"));
    assert_int_equal(brokerrig_orders(), orders);
    close(socket);
}

/* What a client does not read does not grow: it is served again when it has read. */
static void replies_that_are_not_read(void **state)
{
    enum { SENT = 100, KEPT = 20 };
    struct brokerrig_who who = user(0, 630);
    int socket = brokerrig_socket(&who), folder = open(folder_name(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned orders = brokerrig_orders(), count;
    uint8_t reply[sizeof(struct pr_service_header) + PR_SERVICE_BODY];

    (void)state;
    brokerrig_model("good", 2);
    for (unsigned i = 0; i < SENT; i++)
        send_compile(socket, "good", folder);
    for (unsigned now = 0, before = UINT32_MAX; now != before; usleep(300000)) {
        before = now;
        now = brokerrig_orders() - orders;
    }
    assert_in_range(brokerrig_orders() - orders, 1, KEPT);
    for (unsigned i = 0; i < SENT; i++) {
        int file = -1;

        assert_true(base_packet_receive(socket, reply, sizeof(reply), &file, 1, &count) > 0);
        close(file);
    }
    assert_int_equal(brokerrig_orders() - orders, SENT);
    close(socket);
    close(folder);
}

/* A request that waits for an event is ended with its client. */
static void leaves_during_a_request(void **state)
{
    struct brokerrig_who who = user(0, 700);
    struct ane_broker *broker = brokerrig_connect(&who);
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments)};
    struct {
        struct pr_service_header header;
        struct pr_broker_load body;
    } load = {.header = {.magic = PR_BROKER_MAGIC,
                         .version = PR_SERVICE_VERSION,
                         .type = PR_BROKER_LOAD,
                         .bytes = sizeof(load.body)}};
    struct {
        struct pr_service_header header;
        struct pr_broker_submit body;
    } submit = {.header = {.magic = PR_BROKER_MAGIC,
                           .version = PR_SERVICE_VERSION,
                           .type = PR_BROKER_SUBMIT,
                           .bytes = sizeof(submit.body)},
                .body = {.instance = 1, .doorbell = ANE_REQUEST_DOORBELL}};
    struct ane_request request = {
        .priority = ANE_REQUEST_PRIORITY, .inputs = 1, .outputs = 1, .wait_events = 1};
    struct {
        struct pr_service_header header;
        struct pr_broker_instance body;
    } reply;
    struct iorig_client own;
    struct ane_machine *machine;
    uint32_t event;
    unsigned count;
    int socket;

    (void)state;
    arguments.model = brokerrig_compile(broker, brokerrig_model("two", 2));
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnSuccess);
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), who.task, ANE_CLIENT_CONTROL, &own),
                     kIOReturnSuccess);
    assert_int_equal(ane_event_create(own.connect, 0, &event), kIOReturnSuccess);
    socket = brokerrig_socket(&who);
    memcpy(load.body.model, arguments.model, sizeof(load.body.model));
    assert_int_equal(base_packet_send(socket, &load, sizeof(load), NULL, 0, NULL, 0, 1), 0);
    assert_int_equal(base_packet_receive(socket, &reply, sizeof(reply), NULL, 0, &count), sizeof(reply));
    assert_int_equal(kernel_clients(), 3);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ane_surface_create(who.task, 0x4000, &request.surface[i]), 0);
    request.event[0] = (struct ane_request_event){.type = ANE_EVENT_SHARED, .event = event, .value = 1};
    memcpy(submit.body.request, &request, sizeof(request));
    submit.body.instance = reply.body.instance;
    assert_int_equal(base_packet_send(socket, &submit, sizeof(submit), NULL, 0, NULL, 0, 1), 0);
    usleep(50000); /* it waits in the kernel, most likely */
    close(socket);
    /* Long before the ten seconds after which the request would end by itself. */
    for (unsigned ms = 0; kernel_clients() != 2; ms++) {
        assert_true(ms < 5000);
        usleep(1000);
    }
    /* The other connection of the process goes on. */
    assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnSuccess);
    ane_broker_disconnect(broker);
    assert_int_equal(IOServiceClose(own.connect), kIOReturnSuccess);
    for (unsigned i = 0; i < 2; i++)
        ane_surface_release(request.surface[i]);
}

/* Each acquisition of a load fails in its turn: a clear answer, and nothing is left. */
static void failing_allocations(void **state)
{
    struct brokerrig_who who = user(0, 800);
    struct ane_broker *broker = brokerrig_connect(&who);
    struct ane_broker_arguments arguments = {.size = sizeof(arguments), .queue_depth = 2};
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    IOReturn status = kIOReturnNoMemory;
    unsigned long n;

    (void)state;
    arguments.model = brokerrig_compile(broker, brokerrig_model("two", 2));
    for (n = 1; status; n++) {
        assert_true(n < 1000);
        base_alloc_fail_nth(n);
        status = ane_broker_load(broker, &arguments, &instance);
        base_alloc_fail_nth(0);
        if (status) {
            assert_true(ane_machine_error()[0] != '\0');
            assert_int_equal(kernel_clients(), 0);
        }
    }
    assert_true(n > 3);
    assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnSuccess);
    ane_broker_disconnect(broker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_quality_of_service),
        cmocka_unit_test(replies_that_are_none),
        cmocka_unit_test(refused_model),
        cmocka_unit_test(files_that_are_not_sealed),
        cmocka_unit_test(socket_without_room),
        cmocka_unit_test(model_of_another_key),
        cmocka_unit_test(back_off),
        cmocka_unit_test(service_that_ends),
        cmocka_unit_test(turns_of_users),
        cmocka_unit_test(leaves_during_a_compilation),
        cmocka_unit_test(leaves_before_the_compiler_ends),
        cmocka_unit_test(folder_that_is_none),
        cmocka_unit_test(replies_that_are_not_read),
        cmocka_unit_test(leaves_during_a_request),
        cmocka_unit_test(failing_allocations),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
