/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the driver, against a made-up controller: what is loaded, what is refused. */
#include "drvrig.h"

#include <string.h>

#include "program/hwx_write.h"
#include "programs.h"

static struct rig rig;
static uint8_t image[0x40000];

static int boot(void **state)
{
    (void)state;
    rig_make(&rig, true);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    rig_drop(&rig);
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
                                       .bytes = RIG_PORT_BYTES,
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
    struct drv_client *client = rig_client(&rig, ANE_CLIENT_CONTROL);

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        size_t size = image_of_sum(row[i].direction);
        uint64_t token;

        assert_true(size > 0);
        assert_int_equal(rig_create(&rig, client, image, size, &token), row[i].result);
        if (row[i].result)
            assert_non_null(strstr(drv_last_error(rig.driver), "writes to buffer 4, which is the input p"));
    }
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_into_an_input_are_refused, boot, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
