/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the driver, against a made-up controller: what is loaded, what is refused. */
#include "drvrig.h"

#include <stdlib.h>
#include <string.h>

#include "driver/state.h"
#include "graphrig.h"
#include "program/hwx_write.h"
#include "programs.h"

static struct drvrig rig;
static uint8_t image[0x40000];

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

/* The rig's image of y = a + b, with the direction of the ports in buffers 4, 5 and 6 given. */
static size_t image_of_sum(const enum pr_hwx_direction *direction)
{
    static struct test_program program;
    static struct pr_hwx_port port[3];
    const struct td_shape one = {1, 1, 1, 1};
    struct pr_hwx_program sum = {.port_count = 3, .port = port, .td_count = 1, .text = program.bytes};

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &one);
    sum.text_bytes = program.size;
    sum.first_td_words = program.first_words;
    for (uint32_t i = 0; i < 3; i++) {
        port[i] = (struct pr_hwx_port){.direction = direction[i],
                                       .bar = 4 + i,
                                       .bytes = DRVRIG_PORT_BYTES,
                                       .element = PR_HWX_ELEMENT_FLOAT16,
                                       .n = 1,
                                       .c = 1,
                                       .h = 1,
                                       .w = 1,
                                       .d = 1,
                                       .batch_stride = 64,
                                       .plane_stride = 64,
                                       .row_stride = 64,
                                       .element_stride = 2};
        port[i].name[0] = (char)('p' + i);
    }
    return pr_hwx_write(&sum, image, sizeof(image));
}

/* Buffer 4 is written. An output that is read, or not touched, is no fault. */
static void results_into_an_input_are_refused(void **state)
{
    static const struct {
        enum pr_hwx_direction direction[3];
        IOReturn result;
    } row[] = {
        {{PR_HWX_OUTPUT, PR_HWX_INPUT, PR_HWX_INPUT}, kIOReturnSuccess},
        {{PR_HWX_OUTPUT, PR_HWX_OUTPUT, PR_HWX_INPUT}, kIOReturnSuccess},
        {{PR_HWX_INPUT, PR_HWX_INPUT, PR_HWX_INPUT}, kIOReturnBadArgument},
        {{PR_HWX_INPUT, PR_HWX_INPUT, PR_HWX_OUTPUT}, kIOReturnBadArgument},
    };
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        size_t size = image_of_sum(row[i].direction);
        uint64_t token;

        assert_true(size > 0);
        assert_int_equal(drvrig_create(&rig, client, image, size, &token), row[i].result);
        if (row[i].result)
            assert_non_null(strstr(drv_last_error(rig.driver), "writes to buffer 4, which is the input p"));
    }
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

/* Two procedures of one image each, of which the second is `second`; the size of all. */
static size_t two_procedures(uint8_t *payload, size_t capacity, const uint8_t *second, size_t second_size)
{
    static const enum pr_hwx_direction sum[] = {PR_HWX_OUTPUT, PR_HWX_INPUT, PR_HWX_INPUT};
    static uint8_t first[sizeof(image)];
    const size_t first_size = image_of_sum(sum);
    struct ane_program_procedure table[2] = {{.offset = 64, .size = first_size}, {.size = second_size}};

    memcpy(first, image, first_size);
    table[1].offset = (64 + first_size + 63) / 64 * 64;
    assert_true(table[1].offset + second_size <= capacity);
    memset(payload, 0, capacity);
    memcpy(payload, table, sizeof(table));
    memcpy(payload + 64, first, first_size);
    memcpy(payload + table[1].offset, second, second_size);
    return table[1].offset + second_size;
}

/* The container that the controller gets has both, each with its part of the text. */
static void two_procedures_are_one_container(void **state)
{
    static const enum pr_hwx_direction sum[] = {PR_HWX_OUTPUT, PR_HWX_INPUT, PR_HWX_INPUT},
                                       into_input[] = {PR_HWX_INPUT, PR_HWX_INPUT, PR_HWX_OUTPUT};
    static uint8_t payload[3 * sizeof(image)], second[sizeof(image)];
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    const struct pr_container *parts = &rig.program[0].parts;
    const struct pr_container_section *text;
    size_t second_size, size;
    uint64_t token;

    (void)state;
    second_size = image_of_sum(into_input);
    memcpy(second, image, second_size);
    size = two_procedures(payload, sizeof(payload), second, second_size);
    assert_int_equal(drvrig_create_several(&rig, client, ANE_PROGRAM_LEGACY, 2, payload, size, &token),
                     kIOReturnBadArgument);
    assert_non_null(
        strstr(drv_last_error(rig.driver), "Program create: procedure 1: a descriptor writes to"));

    second_size = image_of_sum(sum);
    memcpy(second, image, second_size);
    size = two_procedures(payload, sizeof(payload), second, second_size);
    if (drvrig_create_several(&rig, client, ANE_PROGRAM_LEGACY, 2, payload, size, &token))
        fail_msg("%s", drv_last_error(rig.driver));
    text = parts->section[PR_SECTION_TEXT];
    assert_true(parts->procedures == 2 && parts->operations == 2 && parts->generic->buffers == 8);
    for (uint32_t i = 0; i < 2; i++) {
        const struct pr_procedure *p = &parts->procedure[i];

        assert_true(p->operation == i && p->io_buffers == 3 && p->partitions == 1);
        assert_int_equal(parts->operation[i].bars, 4);
        for (uint32_t b = 0; b < 4; b++)
            assert_int_equal(parts->operation[i].bar[b].buffer, 4 * i + b);
        assert_int_equal(parts->buffer[4 * i + 3].type, PR_BUFFER_TEXT);
        assert_int_equal(parts->buffer[4 * i + 3].address, text->address + p->text_offset);
    }
    assert_true(parts->procedure[1].text_offset > 0 && parts->procedure[1].text_offset % 0x100 == 0);
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

/* Mappings of a usage code that were made from the nth on; the sizes of the first two. */
static unsigned count_maps(uint32_t usage, uint64_t domain, uint64_t bytes[2])
{
    struct pr_trace_record record;
    unsigned found = 0;

    for (unsigned i = 0; drvrig_traced(&rig, PR_TRACE_DRV_MAP, i, &record); i++) {
        if (record.value[1].number != usage || record.value[0].number != domain)
            continue;
        if (found < 2)
            bytes[found] = record.value[5].number;
        found++;
    }
    return found;
}

/* Table 28.6: the nine buffers of a matmul-with-activation load, in the client's and the base domain. */
static void a_load_has_the_nine_roles(void **state)
{
    enum { CLIENT = 1, FIRMWARE = 0 };
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    const struct pr_container *parts = &rig.program[0].parts;
    struct ane_program_prepare prepare;
    struct ane_request_reply reply;
    struct ane_request request;
    struct cc_program *program;
    uint64_t token, bytes[2], before[2];
    uint32_t surface[2];
    uint8_t *payload;
    size_t size;
    struct gr g;

    (void)state;
    gr_open(&g, 0x2806, GR_WHOLE);
    g.flags = CC_LOWER_DRAM; /* one of the nine is the intermediate buffer */
    gr_output(&g,
              gr_unary(&g, CC_OP_SOFTMAX,
                       gr_linear(&g, gr_input(&g, "x", CC_FP16, GR(5, 6)), gr_const(&g, GR(7, 6)), GR_NONE),
                       NULL));
    program = gr_lower(&g);
    payload = gr_payload(program, &size);
    before[0] = count_maps(0x1019, FIRMWARE, bytes);
    before[1] = count_maps(0x101a, FIRMWARE, bytes);
    assert_true(before[0] > 0 && before[1] > 0); /* at boot */
    if (drvrig_create_as(&rig, client, ANE_PROGRAM_RT, payload, size, &token) ||
        drvrig_prepare(client, token, &prepare))
        fail_msg("%s", drv_last_error(rig.driver));
    surface[0] = drvrig_surface(&rig, 0x10000);
    surface[1] = drvrig_surface(&rig, 0x10000);
    drvrig_request(&request, token, 1, 1, surface);
    if (drvrig_send(client, &request, &reply))
        fail_msg("%s", drv_last_error(rig.driver));

    assert_int_equal(count_maps(1, CLIENT, bytes), 1);
    assert_int_equal(count_maps(2, CLIENT, bytes), 1);
    assert_int_equal(count_maps(8, CLIENT, bytes), 1);
    assert_int_equal(count_maps(9, CLIENT, bytes), 1);
    assert_int_equal(count_maps(11, CLIENT, bytes), 1);
    assert_int_equal(parts->operation->bar[parts->generic->buffers - 1].bar, 2);
    assert_int_equal(parts->buffer[parts->generic->buffers - 1].bytes,
                     program->records * 16); /* the scalars of each descriptor */
    assert_int_equal(count_maps(7, CLIENT, bytes), 1);
    assert_int_equal(count_maps(8, FIRMWARE, bytes), 1);
    assert_int_equal(count_maps(9, FIRMWARE, bytes), 2); /* text and working set */
    assert_int_equal(bytes[1], 0x4000);
    assert_int_equal(count_maps(11, FIRMWARE, bytes), 1);
    assert_int_equal(count_maps(0x1019, FIRMWARE, bytes), before[0] + 1); /* and the container */
    assert_int_equal(count_maps(0x101a, FIRMWARE, bytes), before[1]);
    drv_client_close(client);
    free(payload);
    cc_program_destroy(program);
    gr_close(&g);
}

/* A section without bytes, in its own buffer: each process has one, under code 11, and a call binds it. */
static void an_image_gets_its_scratch(void **state)
{
    static struct test_program program;
    struct drv_client *client[2];
    const struct td_shape one = {1, 1, 1, 1};
    struct pr_hwx_port port[2] = {{.name = "y", .direction = PR_HWX_OUTPUT, .bar = 4, .bytes = 64},
                                  {.name = "x", .direction = PR_HWX_INPUT, .bar = 5, .bytes = 64}};
    struct pr_hwx_program made = {.port_count = 2,
                                  .port = port,
                                  .td_count = 1,
                                  .text = program.bytes,
                                  .literal = "constants of the program",
                                  .literal_bytes = 24,
                                  .scratch_bytes = 0x4040,
                                  .scratch_bar = 9};
    struct ane_program_prepare prepare;
    struct ane_request_reply reply;
    struct ane_request request;
    const struct pr_container *parts = &rig.program[0].parts;
    uint64_t token, bytes[2];
    uint32_t surface[2];
    size_t size;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        port[i].n = port[i].c = port[i].h = port[i].w = port[i].d = 1;
        port[i].element = PR_HWX_ELEMENT_FLOAT16;
        port[i].batch_stride = port[i].plane_stride = port[i].row_stride = 64;
        port[i].element_stride = 2;
    }
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &one);
    made.text_bytes = program.size;
    made.first_td_words = program.first_words;
    size = pr_hwx_write(&made, image, sizeof(image));
    assert_true(size > 0);
    for (unsigned i = 0; i < 2; i++) {
        client[i] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        if (i == 0)
            assert_int_equal(drvrig_create(&rig, client[0], image, size, &token), kIOReturnSuccess);
        assert_int_equal(drvrig_prepare(client[i], token, &prepare), kIOReturnSuccess);
        assert_true(prepare.inputs == 1 && prepare.outputs == 1 && prepare.intermediates == 0);
        surface[0] = drvrig_surface(&rig, 64);
        surface[1] = drvrig_surface(&rig, 64);
        drvrig_request(&request, token, 1, 1, surface);
        for (unsigned again = 0; again < 2; again++)
            if (drvrig_send(client[i], &request, &reply))
                fail_msg("%s", drv_last_error(rig.driver));
        assert_int_equal(count_maps(11, 1 + i, bytes), 2);     /* constants, then scratch */
        assert_true(bytes[0] == 0x4000 && bytes[1] == 0x8000); /* 24 and 0x4040 bytes, in pages */
    }
    /* As the firmware sees them: scratch is bound by calls, the constants have a place. */
    assert_int_equal(parts->procedure->io_buffers, 3);
    assert_true(parts->buffer[2].type == PR_BUFFER_MUTABLE && parts->buffer[2].address == 0 &&
                parts->operation->bar[2].bar == 9);
    assert_true(parts->generic->buffers == 5 && parts->operation->bar[4].bar == 2);
    assert_true(parts->buffer[2].bytes == 0x4040 && parts->buffer[4].bytes == 24);
    assert_memory_equal(drvrig_base_at(&rig, parts->buffer[4].address, 24), "constants of the program", 24);
    drv_client_close(client[1]);
    drv_client_close(client[0]);
}

/* Instances count as programs of their client; one that was not made does not. */
static void instances_are_limited(void **state)
{
    static const uint8_t weights[64] = {1};
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t base = drvrig_program(&rig, client, 1, 64, 0);
    struct ane_instance_create create = {.surface = drvrig_surface(&rig, 0x4000), .size = 0x1000};
    uint8_t *bytes = drvrig_surface_base(&rig, create.surface);
    struct ane_instance_args args = {.version = ANE_INSTANCE_ARGS_VERSION, .base = base, .weights = 1};
    const struct ane_instance_weights file = {.size = 64, .offset = 0x800};

    (void)state;
    memcpy(bytes, &args, sizeof(args));
    memcpy(bytes + sizeof(args), &file, sizeof(file));
    memcpy(bytes + 0x800, weights, sizeof(weights));
    for (unsigned i = 1; i <= 2; i++) { /* no memory for the weights, then for the working set */
        rig.alloc_fails_at = rig.alloc_calls + i;
        assert_int_equal(drvrig_call(client, 8, NULL, 0, &create, sizeof(create), NULL, 0, NULL, 0),
                         kIOReturnNoMemory);
        assert_int_equal(client->programs, 1);
    }
    rig.alloc_fails_at = 0;
    args.weights = 0;
    for (unsigned i = 2; i <= 128; i++) {
        memcpy(bytes, &args, sizeof(args));
        assert_int_equal(drvrig_call(client, 8, NULL, 0, &create, sizeof(create), NULL, 0, NULL, 0),
                         kIOReturnSuccess);
        assert_int_equal(client->programs, i);
    }
    memcpy(bytes, &args, sizeof(args));
    assert_int_equal(drvrig_call(client, 8, NULL, 0, &create, sizeof(create), NULL, 0, NULL, 0),
                     kIOReturnNoResources);
    assert_non_null(strstr(drv_last_error(rig.driver), "has 128 programs; the limit is 128"));
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_into_an_input_are_refused, boot, drop),
        cmocka_unit_test_setup_teardown(two_procedures_are_one_container, boot, drop),
        cmocka_unit_test_setup_teardown(a_load_has_the_nine_roles, boot, drop),
        cmocka_unit_test_setup_teardown(an_image_gets_its_scratch, boot, drop),
        cmocka_unit_test_setup_teardown(instances_are_limited, boot, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
