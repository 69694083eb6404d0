/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an .hwx or .anec file, loaded and run through driver, firmware and engine with surfaces as
 * large as its ports say: a status, never a crash or a hang; surfaces that belong to others keep their bytes;
 * the good client beside it goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "../iorig.h"
#include "program/anec.h"
#include "require.h"

#define PORT_BYTES_MAX  (1u << 20) /* larger programs are left alone: they only cost time */
#define IMAGE_BYTES_MAX (4u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct iorig_accumulator good;
static double expected;

static void make(void)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .max_work = 1u << 20};
    struct ane_machine *machine;

    require(!ane_machine_create(&config, &machine));
    iorig_accumulator_make(&good, ane_machine_service(machine), 1, 16);
}

/* Surfaces in the order of a request: inputs, then outputs. False when the program is too large to try. */
static bool make_surfaces(const struct pr_hwx *hwx, uint32_t *surface, uint32_t *inputs, uint32_t *outputs)
{
    static const enum pr_hwx_direction order[] = {PR_HWX_INPUT, PR_HWX_OUTPUT};
    uint32_t made = 0;

    for (uint32_t i = 0; i < hwx->port_count; i++)
        if (hwx->port[i].bytes > PORT_BYTES_MAX)
            return false;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < hwx->port_count; i++) {
            uint64_t bytes = hwx->port[i].bytes ? hwx->port[i].bytes : 1;

            if (hwx->port[i].direction != order[pass])
                continue;
            require(!ane_surface_create(0, bytes, &surface[made]));
            memset(ane_surface_base(surface[made]), 0x3a, bytes);
            made++;
            ++*(pass ? outputs : inputs);
        }
    return true;
}

static void run(const uint8_t *image, size_t size, const struct pr_hwx *hwx)
{
    struct ane_program_prepare prepare;
    struct ane_request_reply reply;
    uint32_t surface[PR_HWX_PORTS_MAX] = {0}, inputs = 0, outputs = 0;
    uint64_t token = 0;

    if (iorig_create(&good.client, image, size, &token))
        return;
    if (!iorig_prepare(&good.client, token, &prepare) && make_surfaces(hwx, surface, &inputs, &outputs))
        (void)iorig_request(&good.client, token, 1, 5, surface, inputs, outputs, &reply);
    for (uint32_t i = 0; i < inputs + outputs; i++)
        ane_surface_release(surface[i]);
    (void)iorig_unprepare(&good.client, token);
    require(!iorig_destroy(&good.client, token));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pr_hwx hwx;
    static uint8_t image[IMAGE_BYTES_MAX];
    struct pr_problem problem;
    size_t length;

    if (!good.token)
        make();
    if (pr_program_format(data, size) == PR_PROGRAM_ANEC) {
        if (!pr_anec_read(data, size, &hwx, &problem))
            return 0;
        length = pr_anec_write_image(data, &hwx, image, sizeof(image));
        if (length && length <= sizeof(image))
            run(image, length, &hwx);
    } else if (pr_hwx_read(data, size, &hwx, &problem)) {
        run(data, size, &hwx);
    }
    require(!iorig_accumulator_step(&good));
    expected = expected < 2048 ? expected + 1 : expected;
    require(iorig_accumulator_value(&good) == expected);
    return 0;
}
