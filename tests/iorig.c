/* SPDX-License-Identifier: Apache-2.0 */
/* A client of iokit.h. */
#include "iorig.h"

#include <stdlib.h>
#include <string.h>

#include "base/signing.h"
#include "base/tree.h"
#include "programs.h"
#include "support.h"

size_t iorig_image_add(uint8_t *bytes, size_t capacity, uint32_t channels, uint32_t width)
{
    return iorig_image_patched(bytes, capacity, channels, width, TD_SRC_BASE, 0);
}

size_t iorig_image_patched(uint8_t *bytes, size_t capacity, uint32_t channels, uint32_t width, uint32_t word,
                           uint32_t value)
{
    static _Thread_local struct test_program program;
    struct td_shape s = {1, channels, 1, width};
    const struct pr_hwx_port ports[3] = {
        test_program_port("x", PR_HWX_INPUT, 5, PR_HWX_ELEMENT_FLOAT16, &s),
        test_program_port("state_in", PR_HWX_INPUT, 6, PR_HWX_ELEMENT_FLOAT16, &s),
        test_program_port("state_out", PR_HWX_OUTPUT, 4, PR_HWX_ELEMENT_FLOAT16, &s)};
    const struct pr_hwx_program rest = {.port_count = 3, .port = ports};

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &s);
    td_set(program.bytes, word, value);
    return test_program_image(&program, &rest, bytes, capacity);
}

struct ane_machine *iorig_machine(struct ane_machine_config config)
{
    struct ane_machine *machine;

    config.size = sizeof(config);
    config.firmware = 1;
    if (ane_machine_create(&config, &machine))
        fail_msg("%s", ane_machine_error());
    return machine;
}

IOReturn iorig_open(io_service_t service, ane_task_t task, uint32_t type, struct iorig_client *client)
{
    return iorig_open_timed(service, task, type, ANE_TIMEOUT_MS, client);
}

IOReturn iorig_open_timed(io_service_t service, ane_task_t task, uint32_t type, uint64_t timeout_ms,
                          struct iorig_client *client)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = timeout_ms};
    size_t size = sizeof(info);
    IOReturn status = IOServiceOpen(service, task, type, &client->connect);

    client->task = task;
    if (status)
        return status;
    status = IOConnectCallMethod(client->connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL,
                                 NULL, &info, &size);
    client->session = info.token;
    return status;
}

static size_t signature_at(size_t size)
{
    return ANE_PROGRAM_IMAGE + (size + 7) / 8 * 8;
}

/* With the key of the user, as the compiler signs. */
static void sign_program(struct ane_program_args *args, const uint8_t *payload, size_t size)
{
    struct base_hashes hashes;
    struct base_signature signature;

    if (args->representation == ANE_PROGRAM_RT && args->procedures == 1) {
        struct ane_program_bundle head;

        memcpy(&head, payload, sizeof(head));
        base_tree_of(payload + sizeof(head), head.main_bytes, hashes.part[0]);
        base_tree_of(payload + size - head.weights_bytes, head.weights_bytes, hashes.part[1]);
    } else {
        base_tree_of(payload, size, hashes.part[0]);
        base_tree_of(payload, 0, hashes.part[1]);
    }
    base_signing_sign(&hashes, &signature, NULL);
    memcpy(args->hash, &hashes, sizeof(args->hash));
    memcpy((uint8_t *)args + signature_at(size), &signature, sizeof(signature));
}

static IOReturn create_program(const struct iorig_client *client, uint32_t representation, const char *name,
                               bool is_signed, uint32_t procedures, const void *payload, size_t size,
                               uint64_t *token)
{
    struct ane_program_create create = {.size = signature_at(size) + sizeof(struct ane_program_signature)};
    struct ane_program_args *args;
    IOReturn status;

    if (!is_signed)
        create.size = ANE_PROGRAM_IMAGE + size;
    assert_int_equal(ane_surface_create(client->task, create.size, &create.surface), 0);
    args = ane_surface_base(create.surface);
    *args = (struct ane_program_args){.representation = representation,
                                      .version = ANE_PROGRAM_ARGS_VERSION,
                                      .image_size = size,
                                      .procedures = procedures,
                                      .qos = ANE_REQUEST_QOS,
                                      .flags = ANE_PROGRAM_ARGS_FLAGS};
    strncpy(args->name, name, sizeof(args->name) - 1);
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, payload, size);
    if (is_signed)
        sign_program(args, payload, size);
    status = IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramCreate, NULL, 0, &create, sizeof(create),
                                 NULL, NULL, NULL, NULL);
    *token = args->token;
    ane_surface_release(create.surface);
    return status;
}

IOReturn iorig_create_named(const struct iorig_client *client, uint32_t representation, const char *name,
                            const void *payload, size_t size, uint64_t *token)
{
    return create_program(client, representation, name, true, 1, payload, size, token);
}

IOReturn iorig_create_as(const struct iorig_client *client, uint32_t representation, const void *payload,
                         size_t size, uint64_t *token)
{
    return create_program(client, representation, "test", false, 1, payload, size, token);
}

IOReturn iorig_create(const struct iorig_client *client, const void *image, size_t size, uint64_t *token)
{
    return iorig_create_as(client, ANE_PROGRAM_LEGACY, image, size, token);
}

IOReturn iorig_create_several(const struct iorig_client *client, uint32_t representation, const char *name,
                              const struct iorig_procedure *procedure, uint32_t count, uint64_t *token)
{
    const size_t align = ANE_PROGRAM_BUNDLE_ALIGN;
    size_t size = count * sizeof(struct ane_program_procedure);
    struct ane_program_procedure *table;
    uint8_t *payload;
    IOReturn status;

    for (uint32_t i = 0; i < count; i++)
        size = (size + align - 1) / align * align + procedure[i].size;
    payload = calloc(1, size);
    assert_non_null(payload);
    table = (void *)payload;
    size = count * sizeof(*table);
    for (uint32_t i = 0; i < count; i++) {
        size = (size + align - 1) / align * align;
        table[i] = (struct ane_program_procedure){.offset = size, .size = procedure[i].size};
        memcpy(payload + size, procedure[i].bytes, procedure[i].size);
        size += procedure[i].size;
    }
    status = create_program(client, representation, name ? name : "test", name != NULL, count, payload, size,
                            token);
    free(payload);
    return status;
}

IOReturn iorig_prepare(const struct iorig_client *client, uint64_t token, struct ane_program_prepare *prepare)
{
    return iorig_prepare_procedure(client, token, 0, prepare);
}

IOReturn iorig_prepare_procedure(const struct iorig_client *client, uint64_t token, uint32_t procedure,
                                 struct ane_program_prepare *prepare)
{
    size_t size = sizeof(*prepare);

    *prepare = (struct ane_program_prepare){
        .token = token, .qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY, .procedure = procedure};
    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramPrepare, NULL, 0, prepare,
                               sizeof(*prepare), NULL, NULL, prepare, &size);
}

IOReturn iorig_unprepare(const struct iorig_client *client, uint64_t token)
{
    struct ane_program_prepare prepare = {.token = token};

    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramUnprepare, NULL, 0, &prepare,
                               sizeof(prepare), NULL, NULL, NULL, NULL);
}

IOReturn iorig_destroy(const struct iorig_client *client, uint64_t token)
{
    struct ane_program_destroy destroy = {.token = token};

    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramDestroy, NULL, 0, &destroy,
                               sizeof(destroy), NULL, NULL, NULL, NULL);
}

IOReturn iorig_request(const struct iorig_client *client, uint64_t token, uint64_t sequence,
                       uint32_t priority, const uint32_t *surfaces, uint32_t inputs, uint32_t outputs,
                       struct ane_request_reply *reply)
{
    return iorig_request_procedure(client, token, 0, sequence, priority, surfaces, inputs, outputs, reply);
}

IOReturn iorig_request_procedure(const struct iorig_client *client, uint64_t token, uint32_t procedure,
                                 uint64_t sequence, uint32_t priority, const uint32_t *surfaces,
                                 uint32_t inputs, uint32_t outputs, struct ane_request_reply *reply)
{
    struct ane_request request = {.token = token,
                                  .procedure = procedure,
                                  .sequence = sequence,
                                  .priority = priority,
                                  .qos = ANE_REQUEST_QOS,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = inputs,
                                  .outputs = outputs};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    size_t size = sizeof(*reply);

    memcpy(request.surface, surfaces, (inputs + outputs) * sizeof(*surfaces));
    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, &request,
                               sizeof(request), NULL, NULL, reply, &size);
}

static uint32_t surface_of(uint32_t bytes, uint16_t fill)
{
    uint16_t *halfs;
    uint32_t id;

    assert_int_equal(ane_surface_create(0, bytes, &id), 0);
    halfs = ane_surface_base(id);
    for (uint32_t i = 0; i < bytes / 2; i++)
        halfs[i] = fill;
    return id;
}

void iorig_accumulator_make(struct iorig_accumulator *a, io_service_t service, uint32_t channels,
                            uint32_t width)
{
    iorig_accumulator_make_timed(a, service, channels, width, ANE_TIMEOUT_MS);
}

void iorig_accumulator_make_timed(struct iorig_accumulator *a, io_service_t service, uint32_t channels,
                                  uint32_t width, uint64_t timeout_ms)
{
    static _Thread_local uint8_t image[1 << 20];
    struct td_shape s = {1, channels, 1, width};
    struct ane_program_prepare prepare;
    size_t size = iorig_image_add(image, sizeof(image), channels, width);

    *a = (struct iorig_accumulator){.channels = channels, .width = width};
    assert_int_equal(iorig_open_timed(service, 0, ANE_CLIENT_CONTROL, timeout_ms, &a->client),
                     kIOReturnSuccess);
    assert_int_equal(iorig_create(&a->client, image, size, &a->token), kIOReturnSuccess);
    assert_int_equal(iorig_prepare(&a->client, a->token, &prepare), kIOReturnSuccess);
    assert_int_equal(prepare.inputs, 2);
    assert_int_equal(prepare.outputs, 1);
    a->x = surface_of(td_total(&s), 0x3c00);
    a->state = surface_of(td_total(&s), 0);
}

IOReturn iorig_accumulator_step(struct iorig_accumulator *a)
{
    const uint32_t surfaces[3] = {a->x, a->state, a->state};
    struct ane_request_reply reply = {0};
    IOReturn status =
        iorig_request(&a->client, a->token, a->sequence, ANE_REQUEST_PRIORITY, surfaces, 2, 1, &reply);

    if (!status) {
        assert_int_equal(reply.sequence, a->sequence);
        assert_true(reply.token == a->token);
        assert_int_equal(reply.status, 0);
        a->sequence++;
    }
    return status;
}

double iorig_accumulator_value(const struct iorig_accumulator *a)
{
    struct td_shape s = {1, a->channels, 1, a->width};
    const uint8_t *bytes = ane_surface_base(a->state);
    uint16_t first, bits;

    memcpy(&first, bytes, 2);
    for (uint32_t c = 0; c < s.c; c++)
        for (uint32_t w = 0; w < s.w; w++) {
            memcpy(&bits, bytes + td_at(&s, 0, c, 0, w), 2);
            assert_int_equal(bits, first);
        }
    return test_half_to_double(first);
}

void iorig_accumulator_release(struct iorig_accumulator *a)
{
    assert_int_equal(iorig_unprepare(&a->client, a->token), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&a->client, a->token), kIOReturnSuccess);
    assert_int_equal(IOServiceClose(a->client.connect), kIOReturnSuccess);
    ane_surface_release(a->x);
    ane_surface_release(a->state);
}
