/* SPDX-License-Identifier: Apache-2.0 */
/* Instances: programs with the text of another and their own weights. Results come from the whole machine. */
#include "drvrig.h"

#include <pthread.h>
#include <string.h>

#include "inside.h"
#include "iorig.h"
#include "program/hwx_write.h"
#include "programs.h"

static const struct test_conv conv = {.cin = 1, .cout = 1, .h = 1, .w = 8, .k = 1};
static struct ane_machine *machine;
static struct iorig_client client;
static uint8_t image[0x20000];
static size_t image_bytes;
static uint32_t kernel_bytes;

static struct pr_hwx_port port(const char *name, enum pr_hwx_direction direction, uint32_t bar,
                               const struct td_shape *s)
{
    struct pr_hwx_port p = {.direction = direction,
                            .bar = bar,
                            .bytes = td_total(s),
                            .element = PR_HWX_ELEMENT_FLOAT16,
                            .n = s->n,
                            .c = s->c,
                            .h = s->h,
                            .w = s->w,
                            .d = 1,
                            .batch_stride = td_tensor(s),
                            .plane_stride = td_plane(s),
                            .row_stride = td_row(s),
                            .element_stride = 2};

    strcpy(p.name, name);
    return p;
}

static void put_weight(uint8_t *kernel, double value)
{
    uint16_t half = test_half_from_double(value);

    memcpy(kernel + test_conv_weight(&conv, 0, 0, 0, 0), &half, sizeof(half));
}

/* y = 2 x: one weight. With an intermediate buffer that no descriptor uses, so that there is one to share. */
static void make_image(void)
{
    static struct test_program program;
    static uint8_t kernel[0x4000];
    const struct td_shape in = {1, 1, 1, 8}, out = test_conv_out(&conv);
    struct pr_hwx_port ports[2] = {port("x", PR_HWX_INPUT, 5, &in), port("y", PR_HWX_OUTPUT, 4, &out)};
    struct pr_hwx_program made = {.port_count = 2, .port = ports, .td_count = 1, .intermediate_bytes = 64};

    kernel_bytes = test_conv_kernel_bytes(&conv);
    assert_true(kernel_bytes <= sizeof(kernel));
    put_weight(kernel, 2);
    test_program_conv(&program, &conv);
    made.text = program.bytes;
    made.text_bytes = program.size;
    made.first_td_words = program.first_words;
    made.constant = kernel;
    made.constant_bytes = kernel_bytes;
    image_bytes = pr_hwx_write(&made, image, sizeof(image));
    assert_true(image_bytes > 0);
}

/* The arguments and one file of the whole weights, or none. */
struct instance {
    struct ane_instance_args args;
    struct ane_instance_weights weights[1];
    uint8_t pad[32];
    uint8_t file[0x4000];
};
_Static_assert(offsetof(struct instance, file) % 64 == 0, "files are at multiples of 64");

static void instance_make(struct instance *instance, uint64_t base, double weight)
{
    memset(instance, 0, sizeof(*instance));
    instance->args.base = base;
    instance->args.version = ANE_INSTANCE_ARGS_VERSION;
    if (weight == 0)
        return;
    instance->args.weights = 1;
    instance->weights[0].offset = offsetof(struct instance, file);
    instance->weights[0].size = kernel_bytes;
    put_weight(instance->file, weight);
}

static IOReturn instance_create(const struct iorig_client *c, struct instance *instance)
{
    struct ane_instance_create create = {.size = sizeof(*instance)};
    IOReturn status;

    assert_int_equal(ane_surface_create(c->task, sizeof(*instance), &create.surface), 0);
    memcpy(ane_surface_base(create.surface), instance, sizeof(*instance));
    status = IOConnectCallMethod(c->connect, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &create,
                                 sizeof(create), NULL, NULL, NULL, NULL);
    memcpy(instance, ane_surface_base(create.surface), sizeof(*instance));
    memset(ane_surface_base(create.surface), 0xff, sizeof(*instance)); /* the driver has a copy */
    ane_surface_release(create.surface);
    return status;
}

static uint64_t instance_of(uint64_t base, double weight, uint32_t flags)
{
    static struct instance instance;
    struct ane_program_prepare prepare;

    instance_make(&instance, base, weight);
    instance.args.flags = flags;
    assert_int_equal(instance_create(&client, &instance), kIOReturnSuccess);
    assert_true(instance.args.token != base && instance.args.token != 0);
    assert_int_equal(iorig_prepare(&client, instance.args.token, &prepare), kIOReturnSuccess);
    assert_true(prepare.inputs == 1 && prepare.outputs == 1 && prepare.intermediates == 1);
    return instance.args.token;
}

/* What a program makes of 3 in every element. */
static double run(uint64_t token, uint32_t priority)
{
    uint32_t surface[2];
    struct ane_request_reply reply;
    uint16_t *half;
    double value;

    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ane_surface_create(0, 0x4000, &surface[i]), 0);
    half = ane_surface_base(surface[0]);
    for (unsigned i = 0; i < 8; i++)
        half[i] = test_half_from_double(3);
    assert_int_equal(iorig_request(&client, token, 1, priority, surface, 1, 1, &reply), kIOReturnSuccess);
    half = ane_surface_base(surface[1]);
    for (unsigned i = 1; i < 8; i++)
        assert_int_equal(half[i], half[0]);
    value = test_half_to_double(half[0]);
    for (unsigned i = 0; i < 2; i++)
        ane_surface_release(surface[i]);
    return value;
}

static int open_machine(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};

    (void)state;
    make_image();
    if (ane_machine_create(&config, &machine))
        fail_msg("%s", ane_machine_error());
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &client),
                     kIOReturnSuccess);
    return 0;
}

static int close_machine(void **state)
{
    (void)state;
    IOServiceClose(client.connect);
    ane_machine_destroy(machine);
    return 0;
}

static uint64_t create_base(void)
{
    struct ane_program_prepare prepare;
    uint64_t base;

    assert_int_equal(iorig_create(&client, image, image_bytes, &base), kIOReturnSuccess);
    assert_int_equal(iorig_prepare(&client, base, &prepare), kIOReturnSuccess);
    return base;
}

static void each_instance_has_its_weights(void **state)
{
    uint64_t base = create_base(), same = instance_of(base, 0, 0), five = instance_of(base, 5, 0),
             seven = instance_of(base, 7, ANE_INSTANCE_POWER_SAVING | ANE_INSTANCE_KEEP_WIRED);

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(run(base, 5) == 6);
        assert_true(run(five, 5) == 15);
        assert_true(run(seven, 0) == 21);
        assert_true(run(same, 5) == 6);
    }
    /* Any order of leaving; text that others use stays mapped. */
    assert_int_equal(iorig_destroy(&client, base), kIOReturnBusy);
    assert_int_equal(iorig_unprepare(&client, base), kIOReturnSuccess);
    assert_true(run(five, 5) == 15 && run(same, 5) == 6);
    assert_int_equal(iorig_destroy(&client, five), kIOReturnSuccess);
    assert_true(run(seven, 5) == 21 && run(same, 0) == 6);
    assert_int_equal(iorig_destroy(&client, same), kIOReturnSuccess);
    assert_true(run(seven, 5) == 21);
    assert_int_equal(iorig_destroy(&client, base), kIOReturnBusy);
    assert_int_equal(iorig_destroy(&client, seven), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&client, base), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&client, base), kIOReturnNotFound);
}

static void bad_instances_are_refused(void **state)
{
    static struct instance instance;
    const char *const entitlement[] = {"com.apple.ane.iokit-user-access"};
    ane_task_t task = ane_task_create(entitlement, 1, NULL, NULL);
    uint64_t base = create_base(), adapter = instance_of(base, 5, 0);
    struct iorig_client stranger;

    (void)state;
    instance_make(&instance, base + 1000, 0);
    assert_int_equal(instance_create(&client, &instance), kIOReturnNotFound);
    instance_make(&instance, adapter, 0);
    assert_int_equal(instance_create(&client, &instance), kIOReturnBadArgument);
    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_CONTROL, &stranger),
                     kIOReturnSuccess);
    instance_make(&instance, base, 0);
    assert_int_equal(instance_create(&stranger, &instance), kIOReturnNotFound);
    IOServiceClose(stranger.connect);
    ane_task_release(task);
#define REFUSED(change)                                                              \
    do {                                                                             \
        instance_make(&instance, base, 5);                                           \
        change;                                                                      \
        assert_int_equal(instance_create(&client, &instance), kIOReturnBadArgument); \
    } while (0)
    REFUSED(instance.args.version = 2);
    REFUSED(instance.args.flags = 16);
    REFUSED(instance.args.flags = ANE_INSTANCE_AGGRESSIVE_POWER_SAVING);
    REFUSED(instance.args.reserved[23] = 1);
    REFUSED(instance.args.queue_depth = 25);
    REFUSED(instance.args.weights = 65);
    REFUSED(instance.args.weights = 64); /* the last of them are the file's bytes */
    REFUSED(instance.weights[0].reserved = 1);
    REFUSED(instance.weights[0].size = 0);
    REFUSED(instance.weights[0].target = 32);
    REFUSED(instance.weights[0].target = 64); /* one file's length too far */
    REFUSED(instance.weights[0].target = ~63ull);
    REFUSED(instance.weights[0].offset = offsetof(struct instance, file) + 2);
    REFUSED(instance.weights[0].offset = sizeof(instance));
    REFUSED(instance.weights[0].size = ~0ull);
#undef REFUSED
    assert_true(run(base, 5) == 6 && run(adapter, 5) == 15);
    /* Left to the close. */
}

/* 64 files, the last of which counts. */
static void many_files(void **state)
{
    enum { FILES = 64, FILE_AT = 64 + FILES * 32 };
    uint64_t base = create_base();
    struct ane_instance_create create = {.size = FILE_AT + FILES * 64};
    struct ane_program_prepare prepare;
    struct ane_instance_args *args;
    struct ane_instance_weights *weights;
    uint8_t *bytes;

    (void)state;
    assert_int_equal(ane_surface_create(0, create.size, &create.surface), 0);
    bytes = ane_surface_base(create.surface);
    args = (void *)bytes;
    *args = (struct ane_instance_args){.base = base, .version = 1, .weights = FILES};
    weights = (void *)(bytes + sizeof(*args));
    for (unsigned i = 0; i < FILES; i++) {
        weights[i] = (struct ane_instance_weights){.offset = FILE_AT + 64 * i, .size = 2};
        memcpy(bytes + FILE_AT + 64 * i, &(uint16_t){test_half_from_double(i + 1)}, 2);
    }
    assert_int_equal(test_conv_weight(&conv, 0, 0, 0, 0), 0);
    assert_int_equal(IOConnectCallMethod(client.connect, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &create,
                                         sizeof(create), NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(iorig_prepare(&client, args->token, &prepare), kIOReturnSuccess);
    assert_true(run(args->token, 5) == 3 * FILES && run(base, 5) == 6);
    ane_surface_release(create.surface);
}

struct worker {
    pthread_t thread;
    uint64_t token;
    uint32_t priority;
    double expected;
};

static void *work(void *context)
{
    struct worker *worker = context;

    for (unsigned i = 0; i < 40; i++)
        assert_true(run(worker->token, worker->priority) == worker->expected);
    return NULL;
}

/* Siblings that share a buffer, and one that takes one request at a time, from threads of both bands. */
static void siblings_in_threads(void **state)
{
    static struct instance instance;
    struct worker worker[6];
    uint64_t base = create_base(), five = instance_of(base, 5, ANE_INSTANCE_SHARE_INTERMEDIATE),
             seven = instance_of(base, 7, ANE_INSTANCE_SHARE_INTERMEDIATE);
    struct ane_program_prepare prepare;

    (void)state;
    instance_make(&instance, base, 9);
    instance.args.queue_depth = 1;
    assert_int_equal(instance_create(&client, &instance), kIOReturnSuccess);
    assert_true(instance.args.intermediate == instance.args.token);
    assert_int_equal(iorig_prepare(&client, instance.args.token, &prepare), kIOReturnSuccess);
    for (unsigned i = 0; i < 6; i++) {
        worker[i] = (struct worker){.token = i < 3    ? instance.args.token
                                             : i == 3 ? five
                                                      : seven,
                                    .priority = i % 2 ? 0 : 5,
                                    .expected = i < 3    ? 27
                                                : i == 3 ? 15
                                                         : 21};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (unsigned i = 0; i < 6; i++)
        pthread_join(worker[i].thread, NULL);
    assert_true(run(base, 5) == 6);
}

/* Against a made-up controller, which holds calls. */
static struct drvrig rig;

static uint64_t drvrig_instance(struct drv_client *c, uint64_t base, uint32_t flags, uint32_t depth,
                                uint64_t *intermediate)
{
    const uint32_t surface = drvrig_surface(&rig, 0x4000);
    const struct ane_instance_create create = {.surface = surface, .size = sizeof(struct ane_instance_args)};
    struct ane_instance_args *args = drvrig_surface_base(&rig, surface);
    struct ane_program_prepare prepare;

    *args = (struct ane_instance_args){.base = base, .version = 1, .flags = flags, .queue_depth = depth};
    if (drvrig_call(c, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &create, sizeof(create), NULL, 0, NULL,
                    0) ||
        drvrig_prepare(c, args->token, &prepare))
        fail_msg("%s", drv_last_error(rig.driver));
    *intermediate = args->intermediate;
    return args->token;
}

static struct drv_client *drvrig_owner;
static struct ane_request second;
static IOReturn second_result;

/* While the first request is held. */
static void send_second(struct drvrig *r)
{
    struct ane_request_reply reply;

    r->admit = NULL;
    second_result = drvrig_send(drvrig_owner, &second, &reply);
    r->hold = false;
    while (drvrig_finish_one(r, 0))
        ;
}

static void send_two(uint64_t token, uint64_t other, const uint32_t *surface)
{
    struct ane_request_reply reply;
    struct ane_request first;

    drvrig_request(&first, token, 1, 1, surface);
    drvrig_request(&second, other, 1, 1, surface + 2);
    second.priority = 0; /* of the other band: the first is not in its way */
    rig.hold = true;
    rig.admit = send_second;
    rig.most_realtime = 0;
    assert_int_equal(drvrig_send(drvrig_owner, &first, &reply), kIOReturnSuccess);
}

static void the_queue_depth_is_kept(void **state)
{
    uint32_t surface[4];
    uint64_t base, one, two, any;

    (void)state;
    drvrig_make(&rig, true);
    drvrig_owner = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    base = drvrig_program(&rig, drvrig_owner, 1, 0, 0x100);
    one = drvrig_instance(drvrig_owner, base, 0, 1, &any);
    two = drvrig_instance(drvrig_owner, base, 0, 2, &any);
    for (unsigned i = 0; i < 4; i++)
        surface[i] = drvrig_surface(&rig, 64);
    send_two(two, two, surface);
    assert_int_equal(rig.most_realtime, 1);
    send_two(one, two, surface);
    assert_int_equal(rig.most_realtime, 1);
    send_two(one, one, surface);
    assert_int_equal(second_result, kIOReturnTimeout);
    assert_int_equal(rig.most_realtime, 0); /* it never reached the firmware */
    drv_client_close(drvrig_owner);
    drvrig_drop(&rig);
}

/* One intermediate buffer for the base and the siblings that share it, another for the one that does not. */
static void siblings_share_the_intermediate(void **state)
{
    struct ane_request_reply reply;
    struct pr_trace_record record;
    struct ane_request request;
    uint64_t base, token[3], handle[3];
    uint32_t surface[2], maps = 0, pages;

    (void)state;
    drvrig_make(&rig, true);
    pages = rig.used;
    drvrig_owner = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    base = drvrig_program(&rig, drvrig_owner, 1, 0, 0x100);
    for (unsigned i = 0; i < 3; i++)
        token[i] =
            drvrig_instance(drvrig_owner, base, i < 2 ? ANE_INSTANCE_SHARE_INTERMEDIATE : 0, 0, &handle[i]);
    assert_true(handle[0] == base && handle[1] == base && handle[2] == token[2]);
    surface[0] = drvrig_surface(&rig, 64);
    surface[1] = drvrig_surface(&rig, 64);
    for (unsigned i = 0; i < 4; i++) {
        drvrig_request(&request, i < 3 ? token[i] : base, 1, 1, surface);
        assert_int_equal(drvrig_send(drvrig_owner, &request, &reply), kIOReturnSuccess);
    }
    for (unsigned i = 0; drvrig_traced(&rig, PR_TRACE_DRV_MAP, i, &record); i++)
        maps += record.value[1].number == 7;
    assert_int_equal(maps, 2);
    /* It goes with its last user. */
    assert_int_equal(drvrig_unprepare(drvrig_owner, base), kIOReturnSuccess);
    assert_int_equal(drvrig_unprepare(drvrig_owner, token[0]), kIOReturnSuccess);
    drvrig_request(&request, token[1], 1, 1, surface);
    assert_int_equal(drvrig_send(drvrig_owner, &request, &reply), kIOReturnSuccess);
    drv_client_close(drvrig_owner);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    drvrig_drop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_instance_has_its_weights, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(bad_instances_are_refused, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(many_files, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(siblings_in_threads, open_machine, close_machine),
        cmocka_unit_test(the_queue_depth_is_kept),
        cmocka_unit_test(siblings_share_the_intermediate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
