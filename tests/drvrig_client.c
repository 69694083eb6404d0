/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of drvrig.h: what they open, load and send. */
#include <string.h>

#include "drvrig.h"
#include "programs.h"
#include "protocol/channel.h"

struct drv_client *drvrig_client_as(struct drvrig *rig, uint32_t type, const struct drv_identity *identity)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = ANE_TIMEOUT_MS};
    struct drv_client *client;

    assert_int_equal(drv_client_open(rig->driver, identity, type, &client, NULL), kIOReturnSuccess);
    if (type != ANE_CLIENT_HINTS)
        assert_int_equal(drvrig_call(client, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL, 0,
                                     &info, sizeof(info)),
                         kIOReturnSuccess);
    return client;
}

struct drv_client *drvrig_client(struct drvrig *rig, uint32_t type)
{
    return drvrig_client_as(rig, type, &drvrig_identity);
}

size_t drvrig_image(uint8_t *bytes, size_t capacity, uint32_t inputs, uint32_t kernel_bytes,
                    uint32_t intermediate_bytes)
{
    static struct test_program program;
    static uint8_t kernel[0x10000];
    const struct td_shape one = {1, 1, 1, 1};
    const struct pr_hwx_port ports[3] = {
        test_program_port("y", PR_HWX_OUTPUT, 4, PR_HWX_ELEMENT_FLOAT16, &one),
        test_program_port("a", PR_HWX_INPUT, 5, PR_HWX_ELEMENT_FLOAT16, &one),
        test_program_port("b", PR_HWX_INPUT, 6, PR_HWX_ELEMENT_FLOAT16, &one)};
    const struct pr_hwx_program rest = {.port_count = 1 + inputs,
                                        .port = ports,
                                        .intermediate_bytes = intermediate_bytes,
                                        .constant = kernel_bytes ? kernel : NULL,
                                        .constant_bytes = kernel_bytes};

    assert_true(inputs >= 1 && inputs <= 2 && kernel_bytes <= sizeof(kernel));
    test_assemble(&program, "%s", inputs == 2 ? test_text_add : test_text_relu);
    td_set_shape(program.bytes, &one);
    return test_program_image(&program, &rest, bytes, capacity);
}

IOReturn drvrig_create(struct drvrig *rig, struct drv_client *client, const void *image, size_t size,
                       uint64_t *token)
{
    return drvrig_create_as(rig, client, ANE_PROGRAM_LEGACY, image, size, token);
}

IOReturn drvrig_create_as(struct drvrig *rig, struct drv_client *client, uint32_t representation,
                          const void *image, size_t size, uint64_t *token)
{
    return drvrig_create_several(rig, client, representation, 1, image, size, token);
}

IOReturn drvrig_create_several(struct drvrig *rig, struct drv_client *client, uint32_t representation,
                               uint32_t procedures, const void *image, size_t size, uint64_t *token)
{
    struct ane_program_create create = {.surface = drvrig_surface(rig, ANE_PROGRAM_IMAGE + size),
                                        .size = ANE_PROGRAM_IMAGE + size};
    struct ane_program_args *args = drvrig_surface_base(rig, create.surface);
    IOReturn result;

    *args = (struct ane_program_args){.representation = representation,
                                      .version = 1,
                                      .image_size = size,
                                      .procedures = procedures,
                                      .qos = ANE_REQUEST_QOS,
                                      .flags = ANE_PROGRAM_ARGS_FLAGS,
                                      .name = "sum"};
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, image, size);
    result =
        drvrig_call(client, ANE_CONTROL_ProgramCreate, NULL, 0, &create, sizeof(create), NULL, 0, NULL, 0);
    *token = args->token;
    /* The surface goes at once: the driver has a copy. */
    memset(args, 0xff, ANE_PROGRAM_IMAGE + size);
    assert_int_equal(rig->surface[create.surface].uses, 0);
    drvrig_surface_end(rig, create.surface);
    return result;
}

IOReturn drvrig_prepare(struct drv_client *client, uint64_t token, struct ane_program_prepare *prepare)
{
    *prepare = (struct ane_program_prepare){
        .token = token, .qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY};
    return drvrig_call(client, ANE_CONTROL_ProgramPrepare, NULL, 0, prepare, sizeof(*prepare), NULL, 0,
                       prepare, sizeof(*prepare));
}

IOReturn drvrig_unprepare(struct drv_client *client, uint64_t token)
{
    const struct ane_program_prepare prepare = {.token = token};

    return drvrig_call(client, ANE_CONTROL_ProgramUnprepare, NULL, 0, &prepare, sizeof(prepare), NULL, 0,
                       NULL, 0);
}

IOReturn drvrig_destroy(struct drv_client *client, uint64_t token)
{
    const struct ane_program_destroy destroy = {.token = token};

    return drvrig_call(client, ANE_CONTROL_ProgramDestroy, NULL, 0, &destroy, sizeof(destroy), NULL, 0, NULL,
                       0);
}

void drvrig_request(struct ane_request *request, uint64_t token, uint32_t inputs, uint32_t outputs,
                    const uint32_t *surfaces)
{
    memset(request, 0, sizeof(*request));
    request->token = token;
    request->sequence = 7;
    request->priority = ANE_REQUEST_PRIORITY;
    request->qos = ANE_REQUEST_QOS;
    request->category = ANE_REQUEST_CATEGORY;
    request->inputs = inputs;
    request->outputs = outputs;
    memcpy(request->surface, surfaces, (inputs + outputs) * sizeof(*surfaces));
}

IOReturn drvrig_send(struct drv_client *client, const struct ane_request *request,
                     struct ane_request_reply *reply)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;

    return drvrig_call(client, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, request, sizeof(*request), NULL,
                       0, reply, sizeof(*reply));
}

uint64_t drvrig_program(struct drvrig *rig, struct drv_client *client, uint32_t inputs, uint32_t kernel_bytes,
                        uint32_t intermediate_bytes)
{
    static uint8_t image[0x20000];
    size_t size = drvrig_image(image, sizeof(image), inputs, kernel_bytes, intermediate_bytes);
    struct ane_program_prepare prepare;
    uint64_t token;

    if (drvrig_create(rig, client, image, size, &token) || drvrig_prepare(client, token, &prepare))
        fail_msg("%s", drv_last_error(rig->driver));
    assert_true(prepare.inputs == inputs && prepare.outputs == 1 && prepare.procedures == 1);
    assert_true(prepare.intermediates == (intermediate_bytes != 0) &&
                prepare.intermediate_bytes == intermediate_bytes);
    return token;
}

IOReturn drvrig_post(struct drv_client *client, const struct ane_request *request)
{
    uint64_t doorbell = pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit, reference[DRV_REFERENCES] = {0};
    struct ane_request_reply reply;
    struct IOExternalMethodArguments args = {.selector = ANE_CONTROL_ProgramSendRequest,
                                             .asyncWakePort = DRVRIG_PORT,
                                             .asyncReference = reference,
                                             .asyncReferenceCount = DRV_REFERENCES,
                                             .scalarInput = &doorbell,
                                             .scalarInputCount = 1,
                                             .structureInput = request,
                                             .structureInputSize = sizeof(*request),
                                             .structureOutput = &reply,
                                             .structureOutputSize = sizeof(reply)};

    return drv_client_call(client, args.selector, &args, NULL);
}

void drvrig_copy(struct drvrig *rig, struct drv_client *client, uint64_t token, const uint32_t *surface,
                 uint32_t value)
{
    struct ane_request_reply reply;
    struct ane_request request;

    *(uint32_t *)drvrig_surface_base(rig, surface[0]) = value;
    *(uint32_t *)drvrig_surface_base(rig, surface[1]) = 0;
    drvrig_request(&request, token, 1, 1, surface);
    if (drvrig_send(client, &request, &reply))
        fail_msg("%s", drv_last_error(rig->driver));
    assert_int_equal(*(uint32_t *)drvrig_surface_base(rig, surface[1]), value);
}
