/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's fabric: each bit of the register S3_3_C15_C8_0 as Table 29.5 has it, error capture, and
 * stores to the doorbells of the host and of the graphics processor.
 */
#include "support.h"

#include <string.h>

#include "soc/bus.h"
#include "soc/clock.h"
#include "soc/controller.h"
#include "soc/gpu.h"
#include "soc/lines.h"
#include "soc/trace.h"

#define CONTAINER 0x206800000ull
#define GPU       0x206468000ull /* seeds ch. 29 */

#define PATH          (1ull << 0)
#define UNCORRECTABLE (1ull << 1)
#define LINK          (1ull << 2)
#define LINK2         (1ull << 4)
#define REJECT        (1ull << 7)
#define WINDOW        (1ull << 39)

struct subject {
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_lines lines;
    struct soc_bus *bus;
    struct soc_gpu gpu;
    struct soc_controller controller;
};

static void processor(void *context, bool run)
{
    (void)context;
    (void)run;
}

static bool alive(void *context)
{
    (void)context;
    return true;
}

static int setup(void **state)
{
    static struct subject s;
    const struct soc_block gpu = {"gpu", GPU, SOC_BUS_GRANULE, soc_gpu_read32, soc_gpu_write32, &s.gpu, NULL};

    memset(&s, 0, sizeof(s));
    assert_int_equal(soc_clock_create(&s.clock, NULL), 0);
    soc_trace_init(&s.trace, s.clock);
    soc_lines_init(&s.lines, &s.trace);
    s.gpu.trace = &s.trace;
    assert_int_equal(soc_bus_create(GPU, 0x4000000, &s.trace, &s.bus, NULL), 0);
    assert_int_equal(soc_bus_attach(s.bus, &gpu, NULL), 0);
    s.controller = (struct soc_controller){.clock = s.clock,
                                           .lines = &s.lines,
                                           .trace = &s.trace,
                                           .host_line = 1,
                                           .processor = processor,
                                           .alive = alive};
    assert_int_equal(soc_controller_attach(&s.controller, s.bus, CONTAINER, NULL), 0);
    soc_controller_sysreg_reset(&s.controller);
    *state = &s;
    return 0;
}

static int teardown(void **state)
{
    struct subject *s = *state;

    soc_bus_destroy(s->bus);
    soc_clock_destroy(s->clock);
    return 0;
}

static uint64_t get(struct subject *s, uint32_t id)
{
    uint64_t value;

    assert_true(soc_controller_sysreg_read(&s->controller, id, &value));
    return value;
}

static void put(struct subject *s, uint32_t id, uint64_t value)
{
    assert_true(soc_controller_sysreg_write(&s->controller, id, value));
}

static uint64_t fabric(struct subject *s)
{
    return get(s, PR_SYSREG_L2C_ERR_STS);
}

static void set_fabric(struct subject *s, uint64_t value)
{
    put(s, PR_SYSREG_L2C_ERR_STS, value);
}

/* Software cannot set a status bit; 1 and 7 go with a write of 0, and stay with one of 1. */
static void status_bits_are_the_hardwares(void **state)
{
    struct subject *s = *state;

    assert_int_equal(fabric(s), PATH | LINK | WINDOW);
    set_fabric(s, UINT64_MAX);
    assert_int_equal(fabric(s), PATH | LINK | WINDOW);
    soc_controller_error(&s->controller, 0x1000, 0x22);
    soc_controller_store(&s->controller, CONTAINER + PR_CTRL_HOST_DOORBELL, 1); /* rejected */
    assert_int_equal(fabric(s), PATH | UNCORRECTABLE | LINK | REJECT | WINDOW);
    set_fabric(s, fabric(s));
    assert_int_equal(fabric(s), PATH | UNCORRECTABLE | LINK | REJECT | WINDOW);
    set_fabric(s, fabric(s) & ~REJECT);
    assert_int_equal(fabric(s), PATH | UNCORRECTABLE | LINK | WINDOW);
    set_fabric(s, fabric(s) & ~UNCORRECTABLE);
    assert_int_equal(fabric(s), PATH | LINK | WINDOW);
}

/* The power-gate path clears 0, 2 and 4. Only the path brings the link back. */
static void links_come_back_with_the_path(void **state)
{
    struct subject *s = *state;

    set_fabric(s, fabric(s) & ~(PATH | LINK | LINK2));
    assert_int_equal(fabric(s), WINDOW);
    set_fabric(s, WINDOW | LINK | LINK2);
    assert_int_equal(fabric(s), WINDOW);
    set_fabric(s, WINDOW | PATH);
    assert_int_equal(fabric(s), PATH | LINK | WINDOW);
    set_fabric(s, WINDOW | PATH);
    assert_int_equal(fabric(s), PATH | WINDOW);
}

static void the_first_error_is_kept(void **state)
{
    struct subject *s = *state;

    soc_controller_error(&s->controller, 0xaaaa, 0x11);
    soc_controller_error(&s->controller, 0xbbbb, 0x22);
    assert_int_equal(get(s, PR_SYSREG_L2C_ERR_ADR), 0xaaaa);
    assert_int_equal(get(s, PR_SYSREG_L2C_ERR_INF), 0x11 | 1ull << 63); /* and one more */
    set_fabric(s, fabric(s) & ~UNCORRECTABLE);
    soc_controller_error(&s->controller, 0xcccc, 0x33);
    assert_int_equal(get(s, PR_SYSREG_L2C_ERR_ADR), 0xcccc);
    assert_int_equal(get(s, PR_SYSREG_L2C_ERR_INF), 0x33);
    put(s, PR_SYSREG_L2C_ERR_ADR, 0);
    assert_int_equal(get(s, PR_SYSREG_L2C_ERR_ADR), 0);
}

static void pipelines_capture_errors(void **state)
{
    static const uint32_t ids[] = {PR_SYSREG_LSU_ERR_STS, PR_SYSREG_FED_ERR_STS, PR_SYSREG_MMU_ERR_STS};
    struct subject *s = *state;

    for (unsigned i = 0; i < 3; i++) {
        put(s, ids[i], UINT64_MAX);
        assert_int_equal(get(s, ids[i]), 0);
        assert_true(soc_controller_capture(&s->controller, ids[i], 0x5ull << i));
        assert_true(soc_controller_capture(&s->controller, ids[i], 0x2ull << i));
        put(s, ids[i], ~(0x1ull << i));
        assert_int_equal(get(s, ids[i]), 0x6ull << i);
    }
    assert_false(soc_controller_capture(&s->controller, PR_SYSREG_L2C_ERR_STS, 2));
}

/* Resets clear the others. */
static void the_save_register_survives(void **state)
{
    struct subject *s = *state;

    put(s, PR_SYSREG_PWR_DN_SAVE, 0x8000000000000007);
    soc_controller_error(&s->controller, 1, 2);
    (void)soc_controller_capture(&s->controller, PR_SYSREG_LSU_ERR_STS, 4);
    soc_controller_reset(&s->controller);
    soc_controller_sysreg_reset(&s->controller);
    assert_int_equal(get(s, PR_SYSREG_PWR_DN_SAVE), 0x8000000000000007);
    assert_int_equal(fabric(s), PATH | LINK | WINDOW);
    assert_int_equal(get(s, PR_SYSREG_L2C_ERR_ADR) | get(s, PR_SYSREG_LSU_ERR_STS), 0);
}

static void constants_cannot_be_written(void **state)
{
    struct subject *s = *state;
    uint64_t value;

    assert_int_equal(get(s, PR_SYSREG_CBAR), CONTAINER);
    assert_false(soc_controller_sysreg_write(&s->controller, PR_SYSREG_CBAR, 0));
    assert_false(soc_controller_sysreg_write(&s->controller, PR_SYSREG_MPIDR, 0));
    assert_false(soc_controller_sysreg_read(&s->controller, PR_SYSREG(3, 3, 15, 8, 1), &value));
}

/* Both doorbells: rejected while the window is closed, forwarded while it is open, lost without the path. */
static void doorbells_pass_path_and_window(void **state)
{
    static const uint64_t target[] = {CONTAINER + PR_CTRL_HOST_DOORBELL, GPU};
    struct subject *s = *state;

    for (unsigned i = 0; i < 2; i++) {
        const uint64_t lost = s->controller.doorbells_lost;

        set_fabric(s, PATH | LINK | WINDOW);
        soc_controller_store(&s->controller, target[i], 1);
        assert_true(fabric(s) & REJECT);
        assert_int_equal(s->controller.host_pending + s->gpu.doorbells, i);
        set_fabric(s, LINK);
        soc_controller_store(&s->controller, target[i], 1);
        assert_int_equal(s->controller.doorbells_lost, lost + 1);
        assert_false(fabric(s) & REJECT);
        assert_int_equal(s->controller.host_pending + s->gpu.doorbells, i);
        set_fabric(s, PATH | LINK);
        soc_controller_store(&s->controller, target[i], 1);
        assert_int_equal(s->controller.host_pending + s->gpu.doorbells, i + 1);
        assert_int_equal(s->controller.doorbells_lost, lost + 1);
    }
    assert_int_equal(s->gpu.bad, 0);
}

static void only_1_is_a_gpu_doorbell(void **state)
{
    struct subject *s = *state;

    set_fabric(s, PATH | LINK);
    soc_controller_store(&s->controller, GPU, 0);
    soc_controller_store(&s->controller, GPU, 3);
    soc_controller_store(&s->controller, GPU + 4, 1);
    assert_true(s->gpu.doorbells == 0 && s->gpu.bad == 3);
    soc_controller_store(&s->controller, GPU, 1);
    assert_true(s->gpu.doorbells == 1 && s->gpu.bad == 3);
    assert_int_equal(soc_bus_read32(s->bus, SOC_MASTER_HOST, GPU), 0);
    assert_int_equal(soc_bus_unanswered(s->bus), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(status_bits_are_the_hardwares),  T(links_come_back_with_the_path), T(the_first_error_is_kept),
        T(pipelines_capture_errors),       T(the_save_register_survives),    T(constants_cannot_be_written),
        T(doorbells_pass_path_and_window), T(only_1_is_a_gpu_doorbell),
    };

    return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
