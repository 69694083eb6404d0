/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls with a tail, for tests of the firmware: counts, events, bars and an execute order are set here, and
 * become bytes when the call is sent.
 */
#ifndef TESTS_CALLRIG_H
#define TESTS_CALLRIG_H

#include "support.h"

#include <string.h>

#include "firmware/state.h"
#include "fwrig.h"

struct callrig {
    union fwrig_call *head; /* is `place` */
    uint64_t place[sizeof(union fwrig_call) / 8];
    struct pr_call_tail tail;
    struct pr_event event[PR_WAIT_EVENTS_MAX + PR_SIGNAL_EVENTS_MAX]; /* waits, then signals */
    struct pr_custom_bar bar[PR_CUSTOM_BARS_MAX];
    uint32_t order[PR_EXECUTE_ORDER_MAX];
    uint32_t buffers; /* descriptors that are sent; what the head says may differ */
    int32_t more;     /* bytes that are sent beyond those */
};

static inline const struct fw *callrig_fw(const struct fwrig *rig)
{
    return fwrig_firmware(rig);
}

/* A sound call of procedure 0, with an empty tail unless it is a plain one. */
static inline void callrig_make(struct callrig *c, uint16_t id, uint64_t cookie)
{
    memset(c, 0, sizeof(*c));
    c->head = (void *)c->place;
    fwrig_call_make(c->head, cookie);
    c->head->call.head.id = id;
    c->buffers = c->head->call.buffers;
}

/* Waits first. */
static inline void callrig_event(struct callrig *c, bool signal, uint64_t id, uint64_t value)
{
    assert_true(signal || !c->tail.signal_events);
    c->event[c->tail.wait_events + c->tail.signal_events] =
        (struct pr_event){.type = PR_EVENT_FIRMWARE, .id = id, .value = value};
    c->tail.event_masks = 1;
    *(signal ? &c->tail.signal_events : &c->tail.wait_events) += 1;
}

static inline void callrig_bar(struct callrig *c, uint32_t bar, uint64_t value, uint64_t bytes)
{
    c->bar[c->tail.custom_bars++] = (struct pr_custom_bar){.type = PR_CUSTOM_BAR_GENERIC,
                                                           .config = PR_CUSTOM_BAR_HW_32BIT,
                                                           .bar_id = bar,
                                                           .value = value,
                                                           .bytes = bytes};
}

/* The bytes of a call without an execute order: callSize. */
static inline uint32_t callrig_bytes(const struct callrig *c)
{
    return 0x60 + 0x30 * c->buffers + 0x20 + 24 * (c->tail.wait_events + c->tail.signal_events) +
           0x20 * c->tail.custom_bars;
}

/* An execute order right behind the call. After bars and events. */
static inline void callrig_order(struct callrig *c, uint32_t count, const uint32_t *order)
{
    memcpy(c->order, order, count * sizeof(order[0]));
    c->tail.execute_order = count;
    c->tail.execute_order_offset = callrig_bytes(c);
    c->tail.sub_network_order = 1;
}

static inline void callrig_put(uint8_t *message, size_t *at, const void *bytes, size_t count)
{
    assert_true(*at + count <= 0x2000);
    memcpy(message + *at, bytes, count);
    *at += count;
}

static inline size_t callrig_write(const struct callrig *c, uint8_t message[0x2000])
{
    const uint32_t bars = c->tail.custom_bars < PR_CUSTOM_BARS_MAX ? c->tail.custom_bars : PR_CUSTOM_BARS_MAX;
    const uint32_t all = PR_WAIT_EVENTS_MAX + PR_SIGNAL_EVENTS_MAX;
    const uint32_t named = c->tail.wait_events + c->tail.signal_events;
    const uint32_t events = named < all ? named : all;
    const uint32_t order =
        c->tail.execute_order < PR_EXECUTE_ORDER_MAX ? c->tail.execute_order : PR_EXECUTE_ORDER_MAX;
    size_t at = 0;

    memset(message, 0, 0x2000);
    callrig_put(message, &at, c->place, 0x60 + 0x30 * (size_t)c->buffers);
    if (c->head->call.head.id == PR_EXE_PROCEDURE_CALL)
        return at;
    callrig_put(message, &at, &c->tail, sizeof(c->tail));
    callrig_put(message, &at, c->event, events * sizeof(c->event[0]));
    callrig_put(message, &at, c->bar, bars * sizeof(c->bar[0]));
    if (order && c->tail.execute_order_offset > at && c->tail.execute_order_offset < 0x1e00)
        at = c->tail.execute_order_offset;
    callrig_put(message, &at, c->order, order * sizeof(c->order[0]));
    return at;
}

/* Sends it; the status the slot came back with. */
static inline uint32_t callrig_send(struct fwrig *rig, const struct callrig *c)
{
    uint8_t message[0x2000];
    const size_t bytes = callrig_write(c, message);

    if (!fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, message, (size_t)((int64_t)bytes + c->more), 0))
        return FWRIG_LOST;
    return pr_le16(message + 6);
}

/* The image is loaded as one more program, with one more process; numbers are those of the program's slot. */
static inline uint32_t callrig_load(struct fwrig *rig, struct container_image *image)
{
    const struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = image->size};
    union fwrig_process process;
    uint32_t program, id;

    image_text(fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image->size), image->bytes, image->size);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_OK);
    program = fwrig_reply(rig)->header.program_id;
    fwrig_process_make(&process, 3);
    assert_int_equal(fwrig_process(rig, program, &process, &id), PR_STATUS_OK);
    assert_int_equal(program, id);
    return program;
}

/* Procedure 0 has two partitions: entry 1 is the second. */
static inline void callrig_partitions(struct container_image *image)
{
    image_make(image, FWRIG_TEXT, FWRIG_KERNEL);
    image->procedure[0].partitions = 2;
    image->procedure[1].content = PR_CONTENT_PARTITION;
}

/* The oldest request of a queue ends with a code of the engine's; the firmware handles it. */
static inline void callrig_retire(struct fwrig *rig, unsigned queue, uint32_t code)
{
    fwrig_retire(rig, queue, code, true);
    fwrig_run(rig);
}

/* Every entry of the table of calls is free, and every process has none in flight. */
static inline void callrig_expect_free(const struct fwrig *rig)
{
    const struct fw *fw = callrig_fw(rig);
    unsigned count = 0;

    for (uint16_t n = fw->exeloop.free.head; n != FW_NO_CALL; n = fw->call[n].next)
        count++;
    assert_int_equal(count, FW_CALLS);
    assert_int_equal(fw->exeloop.active, 0);
    for (unsigned i = 0; i < PR_PROCESSES_MAX; i++)
        assert_int_equal(fw->process[i].calls, 0);
}

#endif
