/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of data chaining. */
#include "support.h"

#include "cacherig.h"

#include <string.h>

#define BAR_IN  5u /* of both operations, container_image.h */
#define BAR_OUT 4u

void cacherig_install_make(struct cacherig_install *install)
{
    memset(install, 0, sizeof(*install));
    install->header.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST;
    install->header.priority = CACHERIG_QUEUE;
    install->body.output_sets = 2;
    install->body.partitions = install->body.requests = 1;
}

void cacherig_install_link(struct cacherig_install *install, uint64_t source)
{
    install->body.link[install->body.links++] =
        (struct pr_cache_link){.source = source, .output = IMAGE_OUTPUT, .input = IMAGE_INPUT};
}

uint32_t cacherig_install(struct fwrig *rig, const struct cacherig_install *install, uint64_t *handler)
{
    struct cacherig_install copy = *install;

    if (!copy.header.size)
        copy.header.size = 0x40 + 0x10 * copy.body.links + 0x20 * copy.body.custom_bars +
                           24 * (copy.body.wait_events + copy.body.signal_events);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &copy, sizeof(copy.header) + copy.header.size, 0));
    if (handler)
        *handler = copy.body.cache_handler;
    return PR_REPLY_STATUS(&copy.header);
}

uint64_t cacherig_request(struct fwrig *rig, uint32_t sets, uint32_t flags)
{
    struct cacherig_install install;
    uint64_t handler;

    cacherig_install_make(&install);
    install.body.output_sets = sets;
    install.body.flags = flags;
    assert_int_equal(cacherig_install(rig, &install, &handler), PR_STATUS_OK);
    return handler;
}

uint32_t cacherig_send(struct fwrig *rig, const void *message, size_t bytes)
{
    uint8_t copy[0x1000];

    assert_true(bytes <= sizeof(copy));
    memcpy(copy, message, bytes);
    assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, copy, bytes, 0));
    return ((const struct pr_exe_header *)(const void *)copy)->status;
}

void cacherig_recycle_make(struct pr_cache_recycle *message, uint64_t handler, uint32_t set)
{
    *message = (struct pr_cache_recycle){
        .head.id = PR_EXE_CACHE_REQUEST_SUBMIT, .cache_handler = handler, .set = set, .buffers = 1};
    message->buffer[0] = (struct pr_buffer){.valid = 1,
                                            .index = IMAGE_OUTPUT,
                                            .type = PR_BUFFER_OUT,
                                            .address = CACHERIG_SET(set),
                                            .bytes = IMAGE_OUTPUT_BYTES};
}

uint32_t cacherig_recycle(struct fwrig *rig, uint64_t handler, uint32_t set)
{
    struct pr_cache_recycle message;

    cacherig_recycle_make(&message, handler, set);
    return cacherig_send(rig, &message, PR_CACHE_RECYCLE_BYTES(1));
}

uint32_t cacherig_recycle_again(struct fwrig *rig, uint64_t handler, uint32_t set)
{
    struct pr_cache_recycle message;

    cacherig_recycle_make(&message, handler, set);
    message.buffers = 0;
    return cacherig_send(rig, &message, PR_CACHE_RECYCLE_BYTES(0));
}

void cacherig_trigger_make(struct pr_cache_trigger *message, uint64_t handler, uint64_t time)
{
    *message = (struct pr_cache_trigger){.head.id = PR_EXE_CACHE_REQUEST_TRIGGER,
                                         .cache_handler = handler,
                                         .timestamp = time,
                                         .cookie = ~time,
                                         .buffers = 1};
    message->buffer[0] = (struct pr_buffer){.valid = 1,
                                            .index = IMAGE_INPUT,
                                            .type = PR_BUFFER_IN,
                                            .address = CACHERIG_INPUT(time % 16),
                                            .bytes = IMAGE_INPUT_BYTES};
}

uint32_t cacherig_trigger(struct fwrig *rig, uint64_t handler, uint64_t time)
{
    struct pr_cache_trigger message;

    cacherig_trigger_make(&message, handler, time);
    return cacherig_send(rig, &message, PR_CACHE_TRIGGER_BYTES(1));
}

uint32_t cacherig_trigger_linked(struct fwrig *rig, uint64_t handler, uint64_t time)
{
    struct pr_cache_trigger message;

    cacherig_trigger_make(&message, handler, time);
    message.buffers = 0;
    return cacherig_send(rig, &message, PR_CACHE_TRIGGER_BYTES(0));
}

uint32_t cacherig_select(struct fwrig *rig, uint64_t group, uint64_t active)
{
    const struct pr_cache_active message = {
        .head.id = PR_EXE_PROCEDURE_CALL_VARIANT, .group = group, .active = active};

    return cacherig_send(rig, &message, sizeof(message));
}

uint32_t cacherig_invalidate(struct fwrig *rig, uint64_t handler, uint32_t *in_flight)
{
    struct {
        struct pr_command_header header;
        struct pr_body_cache_invalidate body;
    } command = {{.id = PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST,
                  .size = sizeof(struct pr_body_cache_invalidate)},
                 {.cache_handler = handler}};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command), 0));
    if (in_flight)
        *in_flight = command.body.in_flight;
    return PR_REPLY_STATUS(&command.header);
}

uint32_t cacherig_disable(struct fwrig *rig, uint32_t value)
{
    return fwrig_control(rig, PR_CMD_FORCE_DISABLE_CACHE_REQUESTS, &value, sizeof(value));
}

void cacherig_retire(struct fwrig *rig, uint32_t code)
{
    fwrig_retire(rig, CACHERIG_QUEUE, code, true);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
}

void cacherig_expect(struct fwrig *rig, uint64_t handler, uint64_t time, uint32_t set, enum pr_status status)
{
    struct pr_notify_chaining event;

    assert_true(fwrig_chaining(rig, &event));
    assert_int_equal(event.cache_handler, handler);
    assert_int_equal(event.timestamp, time);
    assert_int_equal(event.cookie, ~time);
    assert_int_equal(event.set, set);
    assert_int_equal(event.status, status);
}

static uint32_t bar(const struct fwrig *rig, size_t push, uint32_t number)
{
    return fwrig_push_at(rig, push)->file[PR_TQ_BAR1 / 4 + number];
}

uint32_t cacherig_in(const struct fwrig *rig, size_t push)
{
    return bar(rig, push, BAR_IN);
}

uint32_t cacherig_out(const struct fwrig *rig, size_t push)
{
    return bar(rig, push, BAR_OUT);
}

void cacherig_expect_broken(struct fwrig *rig, enum pr_rule rule, uint32_t before, uint32_t status)
{
    if (cacherig_broken(rig, rule) != before + 1 || status != pr_rule_table[rule].status)
        fail_msg("%s: broken %u times after %u, status %u", pr_rule_table[rule].name,
                 cacherig_broken(rig, rule), before, status);
    assert_non_null(strstr(fwrig_log(rig), pr_rule_table[rule].text));
}
