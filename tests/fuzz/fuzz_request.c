/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request on selector 2, and any sizes on any selector: a status,
 * never a crash; the good client beside it goes on.
 *
 * Input: byte 0 selector, byte 1 what to keep of a good request (a mask of its
 * parts), then bytes that overwrite the request.
 */
#include <stdlib.h>
#include <string.h>

#include "../iorig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct iorig_accumulator good;
static double expected;

static void make(void)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;

    if (ane_machine_create(&config, &machine))
        abort();
    iorig_accumulator_make(&good, ane_machine_service(machine), 1, 16);
}

/* A good request whose parts are kept or left to the input, by the mask. */
static void fill(struct ane_request *request, uint8_t keep, const uint8_t *data, size_t size)
{
    memset(request, 0, sizeof(*request));
    memcpy(request, data, size < sizeof(*request) ? size : sizeof(*request));
    if (keep & 1)
        request->token = good.token;
    if (keep & 2)
        request->priority &= 7;
    if (keep & 4)
        request->procedure = 0, request->category = 2;
    if (keep & 8)
        request->inputs = 2, request->outputs = 1, request->intermediates = 0, request->stats_surface = 0;
    if (keep & 16)
        request->surface[0] = good.x, request->surface[1] = request->surface[2] = good.x;
    if (keep & 32)
        memset(request->offset, 0, sizeof(request->offset));
    if (keep & 64)
        memset(request->reserved, 0, sizeof(request->reserved));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t out[4096];
    struct ane_request request;
    uint64_t scalars[16] = {7}, results[16];
    uint32_t scalar_out = 0;
    size_t struct_out = sizeof(struct ane_request_reply);

    if (!good.token)
        make();
    if (size < 4)
        return 0;
    fill(&request, data[1], data + 2, size - 2);
    if (data[0] == 2) {
        IOConnectCallMethod(good.client.connect, 2, scalars, 1, &request, sizeof(request), NULL, NULL, out,
                            &struct_out);
    } else if (data[0] > 2) {
        /* Close and destroy would end the good client: every other selector, with the sizes of the input. */
        uint32_t selector = data[0] == 6 || data[0] == 5 ? 40 : data[0];

        scalar_out = data[2] % 16;
        struct_out = data[3] * 8u;
        memcpy(scalars, data, size < sizeof(scalars) ? size : sizeof(scalars));
        IOConnectCallMethod(good.client.connect, selector, scalars, data[1] % 16, &request,
                            data[2] * 8u % sizeof(request), results, &scalar_out, out, &struct_out);
    }
    /* x may have been written: it is 1 again, and the accumulator goes on where it was. */
    for (unsigned i = 0; i < 16; i++)
        ((uint16_t *)ane_surface_base(good.x))[i] = 0x3c00;
    memset(ane_surface_base(good.state), 0, 32);
    expected = 1;
    if (iorig_accumulator_step(&good) || iorig_accumulator_value(&good) != expected)
        abort();
    return 0;
}
