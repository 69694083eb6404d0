/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A built-in network on the whole machine, by the raw protocol: opened, its property buffer pre-mapped,
 * called twice in one inference call. What it computes is compared with plain C.
 */
#include "support.h"

#include <string.h>

#include "driver/block.h"
#include "driver/command.h"
#include "iorig.h"
#include "machine/internal.h"
#include "protocol/inference.h"

enum { VALUES = 32, PINGS = 1000 };
#define COOKIE 0xabcdef00ull

struct ids {
    uint32_t program, process;
};

static void keep_ids(void *context, const struct pr_command_header *reply)
{
    *(struct ids *)context = (struct ids){reply->program_id, reply->process_id};
}

/* The driver has no request for the events of these calls, and traces them with their cookies. */
static void count_unclaimed(void *context, const char *line, size_t length)
{
    unsigned *seen = context;

    (void)length;
    if (strstr(line, "0xabcdef00"))
        *seen |= 1;
    if (strstr(line, "0xabcdef01"))
        *seen |= 2;
}

static void run(struct ane_machine *m, struct drv_command_args args)
{
    if (drv_command_run(m->driver, &args, NULL))
        fail_msg("%s", drv_last_error(m->driver));
}

static struct drv_block block_of(struct ane_machine *m)
{
    struct drv_block block = {0};

    assert_int_equal(drv_block_make(m->driver, PR_USAGE_FIRMWARE_SURFACE, 0x4000, &block), 0);
    memset(block.host, 0xa5, 0x4000);
    return block;
}

static void map_properties(struct ane_machine *m, const struct ids *ids, const struct drv_block *block)
{
    struct pr_body_premap body = {.operations = 1,
                                  .buffers = 1,
                                  .pool = PR_POOL_PROPERTY,
                                  .buffer = {.valid = 1, .address = block->iova, .bytes = 0x4000}};
    const struct pr_inference_properties properties = {
        .packets = 2, .packet = {{.command = 1, .priority = 4}, {.command = 1, .priority = 6}}};

    memcpy(block->host, &properties, sizeof(properties));
    run(m, (struct drv_command_args){.id = PR_CMD_PREMAP_BUFFER,
                                     .program = ids->program,
                                     .process = ids->process,
                                     .body = &body,
                                     .bytes = sizeof(body)});
}

static void the_copy_is_a_copy(void **state)
{
    unsigned seen = 0;
    struct ane_machine *m = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED,
                                                                      .strict_tlb = 1,
                                                                      .trace = 1,
                                                                      .trace_fn = count_unclaimed,
                                                                      .trace_context = &seen});
    union {
        struct pr_body_inference body;
        uint8_t bytes[PR_INFERENCE_BYTES(3)];
    } call = {.body = {0}};
    struct ids ids = {PR_NO_ID, PR_NO_ID};
    struct drv_block property, in, out;
    uint16_t x[VALUES];

    (void)state;
    assert_true(mach_enter(m));
    run(m, (struct drv_command_args){.id = PR_CMD_INFERENCE_CALL,
                                     .program = PR_NO_ID,
                                     .process = PR_NO_ID,
                                     .body = &call,
                                     .bytes = PR_INFERENCE_BYTES(0),
                                     .reply = keep_ids,
                                     .context = &ids});
    assert_true(ids.program < PR_PROGRAMS_MAX && ids.process < PR_PROCESSES_MAX);
    property = block_of(m);
    in = block_of(m);
    out = block_of(m);
    map_properties(m, &ids, &property);
    for (unsigned i = 0; i < VALUES; i++)
        x[i] = test_half_from_double(i % 2 ? -1.5 * i : 0.25 * i);
    memcpy(in.host, x, sizeof(x));
    call.body = (struct pr_body_inference){.buffers = 3, .cookie = COOKIE};
    call.body.buffer[0] = (struct pr_buffer){.valid = 1, .address = property.iova, .bytes = 0x4000};
    call.body.buffer[1] = (struct pr_buffer){.valid = 1, .index = 0, .address = in.iova, .bytes = 64};
    call.body.buffer[2] = (struct pr_buffer){.valid = 1, .index = 1, .address = out.iova, .bytes = 64};
    run(m, (struct drv_command_args){.id = PR_CMD_INFERENCE_CALL,
                                     .program = ids.program,
                                     .process = ids.process,
                                     .body = &call,
                                     .bytes = sizeof(call)});
    for (unsigned i = 0; i < PINGS && seen != 3; i++)
        run(m, (struct drv_command_args){.id = PR_CMD_PING, .program = PR_NO_ID, .process = PR_NO_ID});
    assert_int_equal(seen, 3); /* both sub-packets have ended */
    assert_memory_equal(out.host, x, sizeof(x));
    assert_int_equal(((uint8_t *)out.host)[sizeof(x)], 0xa5);
    drv_block_drop(m->driver, &out);
    drv_block_drop(m->driver, &in);
    drv_block_drop(m->driver, &property);
    mach_leave(m);
    ane_machine_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_copy_is_a_copy)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
