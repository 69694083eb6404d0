/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of several procedures, through the whole machine: images and bundles with ports, weights and
 * chains of their own, called in turn; their limits and refusals; instances that share them.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphrig.h"
#include "iorig.h"
#include "programs.h"

/* One row of eight values: every net here keeps that shape. */
enum { WIDTH = 8, NETS = 5, SECOND_TD = 0x300 };
static const struct td_shape shape = {1, 1, 1, WIDTH};
static const struct test_conv conv = {.cin = 1, .cout = 1, .h = 1, .w = WIDTH, .k = 1};

static struct ane_machine *machine;
static struct iorig_client client;

enum net { ADD, RELU, DOUBLE, CHAIN, TRIPLE };
static uint8_t image[NETS][0x8000];
static struct iorig_procedure nets[NETS];

static struct pr_hwx_port port(const char *name, enum pr_hwx_direction direction, uint32_t bar)
{
    return test_program_port(name, direction, bar, PR_HWX_ELEMENT_FLOAT16, &shape);
}

static void keep(enum net net, const struct test_program *program, const struct pr_hwx_program *rest)
{
    nets[net] = (struct iorig_procedure){image[net],
                                         test_program_image(program, rest, image[net], sizeof(image[net]))};
}

/* y = weight * x, with an intermediate buffer that no descriptor uses if it has bytes. */
static void make_conv(enum net net, double weight, uint32_t intermediate)
{
    static struct test_program program;
    static uint8_t kernel[0x4000];
    const struct pr_hwx_port ports[] = {port("x", PR_HWX_INPUT, 5), port("y", PR_HWX_OUTPUT, 4)};
    const uint16_t half = test_half_from_double(weight);

    memcpy(kernel + test_conv_weight(&conv, 0, 0, 0, 0), &half, sizeof(half));
    test_program_conv(&program, &conv);
    keep(net, &program,
         &(struct pr_hwx_program){.port_count = 2,
                                  .port = ports,
                                  .constant = kernel,
                                  .constant_bytes = test_conv_kernel_bytes(&conv),
                                  .intermediate_bytes = intermediate});
}

/* A copy of a descriptor's text with other numbers of buffers in its header. */
static void rebind(char *to, size_t size, const char *text, const char *from, const char *with)
{
    const char *at = strstr(text, from);

    assert_non_null(at);
    snprintf(to, size, "%.*s%s%s", (int)(at - text), text, with, at + strlen(from));
}

/* y = relu(x) + x: two descriptors, with the first result in the intermediate buffer. */
static void make_chain(void)
{
    static struct test_program program;
    static char first[4096], second[4096];
    const struct pr_hwx_port ports[] = {port("x", PR_HWX_INPUT, 5), port("y", PR_HWX_OUTPUT, 4)};

    rebind(first, sizeof(first), test_text_relu, "WBase=4", "TBE=1 WBase=3");
    rebind(second, sizeof(second), test_text_add, "RBase0=6", "RBase0=3");
    test_assemble(&program, "chain\n%s%s", first, second);
    assert_int_equal(program.count, 2);
    td_set_shape(program.bytes, &shape);
    td_set_shape(program.bytes + SECOND_TD, &shape);
    keep(CHAIN, &program,
         &(struct pr_hwx_program){.port_count = 2, .port = ports, .intermediate_bytes = td_total(&shape)});
}

static void make_relu(void)
{
    static struct test_program program;
    const struct pr_hwx_port ports[] = {port("x", PR_HWX_INPUT, 5), port("y", PR_HWX_OUTPUT, 4)};

    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &shape);
    keep(RELU, &program, &(struct pr_hwx_program){.port_count = 2, .port = ports});
}

static void make_nets(void)
{
    nets[ADD] =
        (struct iorig_procedure){image[ADD], iorig_image_add(image[ADD], sizeof(image[ADD]), 1, WIDTH)};
    make_relu();
    make_conv(DOUBLE, 2, 0);
    make_chain();
    make_conv(TRIPLE, 3, 0);
}

static double expected(enum net net, double a, double b)
{
    const double positive = a > 0 ? a : 0;

    return net == ADD      ? a + b
           : net == RELU   ? positive
           : net == DOUBLE ? 2 * a
           : net == CHAIN  ? positive + a
                           : 3 * a;
}

static int boot(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED, .strict_tlb = 1});
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &client),
                     kIOReturnSuccess);
    make_nets();
    return 0;
}

static int drop(void **state)
{
    (void)state;
    IOServiceClose(client.connect);
    assert_int_equal(ane_machine_counter(machine, "driver.programs"), 0);
    ane_machine_destroy(machine);
    return 0;
}

static uint32_t surface_of(double value)
{
    const uint16_t half = test_half_from_double(value);
    uint16_t *halfs;
    uint32_t id;

    assert_int_equal(ane_surface_create(0, 0x4000, &id), 0);
    halfs = ane_surface_base(id);
    for (uint32_t i = 0; i < WIDTH; i++)
        halfs[i] = half;
    return id;
}

/* Calls a procedure and compares all elements of its result. */
static void call(uint64_t token, uint32_t procedure, uint32_t inputs, double a, double b, double y)
{
    const uint32_t x = surface_of(a), second = surface_of(b), out = surface_of(-99);
    const uint32_t two[] = {x, second, out}, one[] = {x, out};
    struct ane_request_reply reply = {0};
    const uint16_t *halfs = ane_surface_base(out);

    if (iorig_request_procedure(&client, token, procedure, 7, 5, inputs == 2 ? two : one, inputs, 1, &reply))
        fail_msg("procedure %u: %s", procedure, ane_machine_error());
    for (uint32_t i = 0; i < WIDTH; i++)
        if (test_half_to_double(halfs[i]) != y)
            fail_msg("procedure %u: element %u is %g, not %g", procedure, i, test_half_to_double(halfs[i]),
                     y);
    ane_surface_release(x);
    ane_surface_release(second);
    ane_surface_release(out);
}

static uint64_t create(uint32_t representation, const char *name, const struct iorig_procedure *procedure,
                       uint32_t count)
{
    uint64_t token;

    if (iorig_create_several(&client, representation, name, procedure, count, &token))
        fail_msg("%s", ane_machine_error());
    return token;
}

static void prepare(uint64_t token, uint32_t procedure, uint32_t procedures, uint32_t inputs)
{
    struct ane_program_prepare p;

    if (iorig_prepare_procedure(&client, token, procedure, &p))
        fail_msg("%s", ane_machine_error());
    assert_int_equal(p.procedures, procedures);
    assert_int_equal(p.inputs, inputs);
    assert_int_equal(p.outputs, 1);
}

static void each_procedure_computes(void **state)
{
    const double values[] = {-3, 2, 0.5};
    uint64_t token;

    (void)state;
    token = create(ANE_PROGRAM_LEGACY, NULL, nets, NETS);
    for (uint32_t i = 0; i < NETS; i++)
        prepare(token, i, NETS, i == ADD ? 2 : 1);
    for (unsigned v = 0; v < 3; v++)
        for (uint32_t i = 0; i < NETS; i++)
            call(token, NETS - 1 - i, NETS - 1 - i == ADD ? 2 : 1, values[v], 4,
                 expected(NETS - 1 - i, values[v], 4));
    for (uint32_t i = 0; i < NETS; i++)
        assert_int_equal(iorig_unprepare(&client, token), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&client, token), kIOReturnSuccess);
}

/* The intermediate buffer is a port of one procedure; its size is that of the procedure that is asked for. */
static void ports_are_of_the_procedure(void **state)
{
    struct ane_program_prepare p;
    uint64_t token;

    (void)state;
    token = create(ANE_PROGRAM_LEGACY, NULL, nets, NETS);
    assert_int_equal(iorig_prepare_procedure(&client, token, CHAIN, &p), kIOReturnSuccess);
    assert_true(p.intermediates == 1 && p.intermediate_bytes == td_total(&shape));
    assert_int_equal(iorig_prepare_procedure(&client, token, RELU, &p), kIOReturnSuccess);
    assert_true(p.intermediates == 0 && p.intermediate_bytes == 0);
    assert_int_equal(iorig_prepare_procedure(&client, token, NETS, &p), kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "procedure 5; program"));
    assert_int_equal(iorig_unprepare(&client, token), kIOReturnSuccess);
    assert_int_equal(iorig_unprepare(&client, token), kIOReturnSuccess);
    assert_int_equal(iorig_unprepare(&client, token), kIOReturnNotReady);
}

static void wrong_requests_name_the_procedure(void **state)
{
    const uint32_t surface[] = {surface_of(1), surface_of(2), surface_of(3)};
    struct ane_request_reply reply;
    uint64_t token;

    (void)state;
    token = create(ANE_PROGRAM_LEGACY, NULL, nets, NETS);
    prepare(token, 0, NETS, 2);
    assert_int_equal(iorig_request_procedure(&client, token, NETS, 1, 5, surface, 2, 1, &reply),
                     kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "Procedure 5; program"));
    assert_int_equal(iorig_request_procedure(&client, token, RELU, 1, 5, surface, 2, 1, &reply),
                     kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "procedure 1 of program"));
    call(token, RELU, 1, -1, 0, 0);
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(surface[i]);
}

/* The fault of a descriptor whose result goes far outside its surface. */
static void a_fault_names_the_procedure(void **state)
{
    static uint8_t wild[0x8000];
    const struct iorig_procedure both[] = {
        nets[CHAIN], {wild, iorig_image_patched(wild, sizeof(wild), 1, WIDTH, TD_DST_BASE, 0x10000000)}};
    const uint32_t surface[] = {surface_of(1), surface_of(2), surface_of(3)};
    struct ane_request_reply reply;
    uint64_t token;

    (void)state;
    token = create(ANE_PROGRAM_LEGACY, NULL, both, 2);
    prepare(token, 1, 2, 2);
    assert_int_equal(iorig_request_procedure(&client, token, 1, 1, 5, surface, 2, 1, &reply), kIOReturnError);
    assert_non_null(strstr(ane_machine_error(), "\"test\", procedure 1, descriptor 0: "));
    call(token, 0, 1, 2, 0, 4);
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(surface[i]);
}

static uint8_t *bundle_of(double factor, size_t *size)
{
    struct cc_program *program;
    uint8_t *payload;
    struct gr g;

    gr_open(&g, 1, GR_WHOLE);
    gr_output(
        &g, gr_binary(&g, CC_OP_MUL, gr_input(&g, "x", CC_FP16, GR(1, 1, 1, WIDTH)), gr_scalar(&g, factor)));
    program = gr_lower(&g);
    payload = gr_payload(program, size);
    cc_program_destroy(program);
    gr_close(&g);
    return payload;
}

/* Each with its scalars; signed, so that the hash covers all of them. */
static void bundles_are_procedures(void **state)
{
    struct iorig_procedure bundle[3];
    uint8_t *bytes[3];
    uint64_t token;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        bytes[i] = bundle_of(2.0 + i, &bundle[i].size);
        bundle[i].bytes = bytes[i];
    }
    token = create(ANE_PROGRAM_RT, "three", bundle, 3);
    prepare(token, 0, 3, 1);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3; i++)
            call(token, i, 1, 5, 0, 5 * (2.0 + i));
    for (unsigned i = 0; i < 3; i++)
        free(bytes[i]);
}

static void as_many_as_a_container_has(void **state)
{
    static struct iorig_procedure many[ANE_PROGRAM_PROCEDURES + 1];
    uint64_t token;

    (void)state;
    for (unsigned i = 0; i < ANE_PROGRAM_PROCEDURES + 1; i++)
        many[i] = nets[i % 2 ? RELU : TRIPLE];
    token = create(ANE_PROGRAM_LEGACY, NULL, many, ANE_PROGRAM_PROCEDURES);
    prepare(token, ANE_PROGRAM_PROCEDURES - 1, ANE_PROGRAM_PROCEDURES, 1);
    call(token, 0, 1, -4, 0, -12);
    call(token, ANE_PROGRAM_PROCEDURES - 1, 1, -4, 0, 0);
    call(token, ANE_PROGRAM_PROCEDURES - 2, 1, -4, 0, -12);
    assert_int_equal(
        iorig_create_several(&client, ANE_PROGRAM_LEGACY, NULL, many, ANE_PROGRAM_PROCEDURES + 1, &token),
        kIOReturnBadArgument);
    /* Four buffers for calls, and one for the text: more than 512 in all. */
    for (unsigned i = 0; i < ANE_PROGRAM_PROCEDURES; i++)
        many[i] = nets[i % 2 ? CHAIN : ADD];
    assert_int_equal(
        iorig_create_several(&client, ANE_PROGRAM_LEGACY, NULL, many, ANE_PROGRAM_PROCEDURES, &token),
        kIOReturnSuccess);
}

static void a_broken_procedure_leaves_nothing(void **state)
{
    static uint8_t broken[0x8000];
    struct iorig_procedure both[] = {nets[ADD], {broken, nets[RELU].size}};
    uint64_t token, pages;

    (void)state;
    memcpy(broken, image[RELU], nets[RELU].size);
    broken[0] ^= 1;
    pages = ane_machine_counter(machine, "driver.pages");
    assert_int_equal(iorig_create_several(&client, ANE_PROGRAM_LEGACY, NULL, both, 2, &token),
                     kIOReturnBadArgument);
    assert_int_equal(ane_machine_counter(machine, "driver.pages"), pages);
}

/* The arguments and one weight file. */
struct instance {
    struct ane_instance_args args;
    struct ane_instance_weights weights[1];
    uint8_t pad[32];
    uint8_t file[0x4000];
};

/* An instance whose file replaces the weights of the second convolution alone. */
static void an_instance_shares_the_procedures(void **state)
{
    static struct instance instance;
    struct ane_instance_create how = {.size = sizeof(instance)};
    const uint32_t kernel = test_conv_kernel_bytes(&conv);
    const uint16_t half = test_half_from_double(7);
    uint64_t base;

    (void)state;
    base = create(ANE_PROGRAM_LEGACY, NULL, nets, NETS);
    instance.args = (struct ane_instance_args){.base = base, .version = 1, .weights = 1};
    instance.weights[0] = (struct ane_instance_weights){
        .target = (kernel + 63) / 64 * 64, .offset = offsetof(struct instance, file), .size = kernel};
    memcpy(instance.file + test_conv_weight(&conv, 0, 0, 0, 0), &half, sizeof(half));
    assert_int_equal(ane_surface_create(0, sizeof(instance), &how.surface), 0);
    memcpy(ane_surface_base(how.surface), &instance, sizeof(instance));
    if (IOConnectCallMethod(client.connect, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &how, sizeof(how),
                            NULL, NULL, NULL, NULL))
        fail_msg("%s", ane_machine_error());
    memcpy(&instance, ane_surface_base(how.surface), sizeof(instance));
    prepare(instance.args.token, TRIPLE, NETS, 1);
    prepare(base, TRIPLE, NETS, 1);
    call(instance.args.token, TRIPLE, 1, 3, 0, 21);
    call(instance.args.token, DOUBLE, 1, 3, 0, 6);
    call(instance.args.token, CHAIN, 1, 3, 0, 6);
    call(base, TRIPLE, 1, 3, 0, 9);
    ane_surface_release(how.surface);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_procedure_computes, boot, drop),
        cmocka_unit_test_setup_teardown(ports_are_of_the_procedure, boot, drop),
        cmocka_unit_test_setup_teardown(wrong_requests_name_the_procedure, boot, drop),
        cmocka_unit_test_setup_teardown(a_fault_names_the_procedure, boot, drop),
        cmocka_unit_test_setup_teardown(bundles_are_procedures, boot, drop),
        cmocka_unit_test_setup_teardown(as_many_as_a_container_has, boot, drop),
        cmocka_unit_test_setup_teardown(a_broken_procedure_leaves_nothing, boot, drop),
        cmocka_unit_test_setup_teardown(an_instance_shares_the_procedures, boot, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
