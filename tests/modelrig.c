/* SPDX-License-Identifier: Apache-2.0 */
#include "modelrig.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "protocol/board.h"

#define FILES 2u
#define ALIGN 64u

/* What an adapter changes: two runs of rows, of which the first does not begin with a page. */
struct run {
    uint32_t first, rows;
};
static void changed_runs(const struct modelrig *rig, uint32_t variant, struct run run[FILES])
{
    run[0] = (struct run){1 + (variant - 1) * (rig->changed + 2), rig->changed};
    run[1] = (struct run){rig->rows - variant, 1};
    assert_true(run[0].first + run[0].rows < run[1].first);
}

static bool is_changed(const struct modelrig *rig, uint32_t variant, uint32_t row)
{
    struct run run[FILES];

    if (variant == MODELRIG_BASE)
        return false;
    changed_runs(rig, variant, run);
    for (unsigned i = 0; i < FILES; i++)
        if (row >= run[i].first && row < run[i].first + run[i].rows)
            return true;
    return false;
}

static int weight_of(const struct modelrig *rig, uint32_t variant, uint32_t row, uint32_t column)
{
    if (is_changed(rig, variant, row))
        return (int)((row + column * (variant + 1)) % 3) - 1;
    return (int)((row * 7 + column * 3) % 5) - 2;
}

static int input_of(uint32_t column)
{
    return (int)(column * 11 % 7) - 3;
}

/* With one lane and one engine a row of weights is one run of halves. */
static uint64_t row_bytes(const struct modelrig *rig)
{
    return 2ull * rig->columns;
}

uint64_t modelrig_weight_bytes(const struct modelrig *rig)
{
    return rig->rows * row_bytes(rig);
}

static void fill_rows(const struct modelrig *rig, uint32_t variant, uint32_t first, uint32_t rows,
                      uint8_t *to)
{
    uint16_t *half = (void *)to;

    for (uint32_t row = first; row < first + rows; row++)
        for (uint32_t column = 0; column < rig->columns; column++)
            *half++ = test_half_from_double(weight_of(rig, variant, row, column));
}

uint64_t modelrig_adapter_pages(const struct modelrig *rig, uint32_t variant)
{
    uint64_t pages = 0, after = 0;
    struct run run[FILES];

    changed_runs(rig, variant, run);
    for (unsigned i = 0; i < FILES; i++) {
        uint64_t begin = run[i].first * row_bytes(rig) / PR_PAGE_BYTES;
        const uint64_t end = ((run[i].first + run[i].rows) * row_bytes(rig) - 1) / PR_PAGE_BYTES + 1;

        begin = begin < after ? after : begin;
        pages += end - begin;
        after = end;
    }
    return pages;
}

void modelrig_open(struct modelrig *rig, struct ane_machine_config config, uint32_t rows, uint32_t columns,
                   uint32_t changed)
{
    uint16_t *x;

    *rig = (struct modelrig){.rows = rows, .columns = columns, .changed = changed};
    assert_int_equal(row_bytes(rig) % ALIGN, 0);
    rig->machine = iorig_machine(config);
    assert_int_equal(iorig_open(ane_machine_service(rig->machine), 0, ANE_CLIENT_CONTROL, &rig->client),
                     kIOReturnSuccess);
    assert_int_equal(ane_surface_create(0, (size_t)columns * ALIGN, &rig->x), 0);
    assert_int_equal(ane_surface_create(0, (size_t)rows * ALIGN, &rig->y), 0);
    x = ane_surface_base(rig->x);
    for (uint32_t column = 0; column < columns; column++)
        x[column * (ALIGN / 2)] = test_half_from_double(input_of(column));
}

void modelrig_close(struct modelrig *rig)
{
    IOServiceClose(rig->client.connect);
    ane_surface_release(rig->x);
    ane_surface_release(rig->y);
    ane_machine_destroy(rig->machine);
}

uint64_t modelrig_base(const struct modelrig *rig)
{
    const struct test_conv conv = {.cin = rig->columns, .cout = rig->rows, .h = 1, .w = 1, .k = 1};
    const struct td_shape in = {1, conv.cin, 1, 1}, out = test_conv_out(&conv);
    struct pr_hwx_port port[2] = {test_program_port("x", PR_HWX_INPUT, 5, PR_HWX_ELEMENT_FLOAT16, &in),
                                  test_program_port("y", PR_HWX_OUTPUT, 4, PR_HWX_ELEMENT_FLOAT16, &out)};
    const size_t capacity = modelrig_weight_bytes(rig) + 0x40000;
    uint8_t *kernel = malloc(modelrig_weight_bytes(rig)), *image = malloc(capacity);
    struct pr_hwx_program rest = {.port_count = 2,
                                  .port = port,
                                  .constant = kernel,
                                  .constant_bytes = (uint32_t)modelrig_weight_bytes(rig)};
    struct ane_program_prepare prepare;
    struct test_program program;
    uint64_t token;
    size_t bytes;

    assert_true(kernel && image);
    assert_int_equal(test_conv_weight(&conv, 1, 3, 0, 0), row_bytes(rig) + 3 * 2);
    fill_rows(rig, MODELRIG_BASE, 0, rig->rows, kernel);
    test_program_conv(&program, &conv);
    bytes = test_program_image(&program, &rest, image, capacity);
    if (iorig_create(&rig->client, image, bytes, &token))
        fail_msg("%s", ane_machine_error());
    assert_int_equal(iorig_prepare(&rig->client, token, &prepare), kIOReturnSuccess);
    free(kernel);
    free(image);
    return token;
}

/* The arguments, the records, then the files. */
static uint64_t write_files(const struct modelrig *rig, uint32_t variant, uint8_t *to)
{
    struct ane_instance_weights *record = (void *)(to + sizeof(struct ane_instance_args));
    uint64_t at = sizeof(struct ane_instance_args) + FILES * sizeof(*record);
    struct run run[FILES];

    changed_runs(rig, variant, run);
    for (unsigned i = 0; i < FILES; i++) {
        at = (at + ALIGN - 1) / ALIGN * ALIGN;
        record[i] = (struct ane_instance_weights){
            .target = run[i].first * row_bytes(rig), .offset = at, .size = run[i].rows * row_bytes(rig)};
        fill_rows(rig, variant, run[i].first, run[i].rows, to + at);
        at += record[i].size;
    }
    return at;
}

IOReturn modelrig_instance(const struct modelrig *rig, uint64_t base, uint32_t variant, uint32_t flags,
                           uint64_t *token)
{
    struct ane_instance_create create = {.size = sizeof(struct ane_instance_args)};
    struct ane_instance_args *args;
    IOReturn status;

    assert_int_equal(ane_surface_create(0, (rig->changed + 1) * row_bytes(rig) + 0x1000, &create.surface), 0);
    args = ane_surface_base(create.surface);
    *args = (struct ane_instance_args){.base = base,
                                       .flags = flags,
                                       .weights = variant == MODELRIG_BASE ? 0 : FILES,
                                       .version = ANE_INSTANCE_ARGS_VERSION};
    if (variant != MODELRIG_BASE)
        create.size = write_files(rig, variant, (void *)args);
    status = IOConnectCallMethod(rig->client.connect, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &create,
                                 sizeof(create), NULL, NULL, NULL, NULL);
    *token = args->token;
    ane_surface_release(create.surface);
    return status;
}

uint64_t modelrig_adapter(const struct modelrig *rig, uint64_t base, uint32_t variant, uint32_t flags)
{
    struct ane_program_prepare prepare;
    uint64_t token;

    if (modelrig_instance(rig, base, variant, flags, &token))
        fail_msg("%s", ane_machine_error());
    assert_int_equal(iorig_prepare(&rig->client, token, &prepare), kIOReturnSuccess);
    return token;
}

IOReturn modelrig_run(const struct modelrig *rig, uint64_t token)
{
    const uint32_t surface[2] = {rig->x, rig->y};
    struct ane_request_reply reply;

    memset(ane_surface_base(rig->y), 0xff, ane_surface_lookup(rig->y));
    return iorig_request(&rig->client, token, 1, 5, surface, 1, 1, &reply);
}

void modelrig_check(const struct modelrig *rig, uint64_t token, uint32_t variant)
{
    const uint16_t *y = ane_surface_base(rig->y);

    if (modelrig_run(rig, token))
        fail_msg("%s", ane_machine_error());
    for (uint32_t row = 0; row < rig->rows; row++) {
        int sum = 0;

        for (uint32_t column = 0; column < rig->columns; column++)
            sum += weight_of(rig, variant, row, column) * input_of(column);
        if (y[row * (ALIGN / 2)] != test_half_from_double(sum))
            fail_msg("variant %u, row %u: %g, expected %d", variant, row,
                     test_half_to_double(y[row * (ALIGN / 2)]), sum);
    }
}
