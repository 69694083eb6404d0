/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sequence of messages on the host-to-controller channels of a booted firmware with a program and a
 * process: every slot comes back, the firmware lives, answers PING, and, unless it was asked to stop, still
 * takes a sound call.
 *
 * Input: records of {channel and flags, steps of the engine, length low, length high, bytes}. Bits 0 and 1 of
 * the first byte: IO, DEBUG, BUF_H2T, DATA_CHAIN_H2T. Bit 2: the length of the slot is that of the bytes plus
 * the second length byte's high bits, else exact. Bit 3: a control header's `size` is made to agree. Bit 4:
 * program and process are the live ones. Bit 5: the oldest request of queue `steps` retires afterwards.
 * Bit 6: half a second of virtual time passes. Bit 7: the host takes the messages of IO_T2H.
 */
#include <stdlib.h>
#include <string.h>

#include "../fwrig.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD_HEAD  4u
#define RECORDS_MOST 24u

static const enum pr_channel channels[] = {PR_CHANNEL_IO, PR_CHANNEL_DEBUG, PR_CHANNEL_BUF_H2T,
                                           PR_CHANNEL_DATA_CHAIN_H2T};

/* A message that would pass the first checks, when the flags ask for that. */
static void mend(uint8_t *message, size_t length, enum pr_channel channel, uint8_t flags)
{
    struct pr_command_header header;

    if (channel == PR_CHANNEL_DATA_CHAIN_H2T) {
        if (flags & 0x10 && length >= 16)
            memset(message + 8, 0, 8);
        return;
    }
    if (length < sizeof(header))
        return;
    memcpy(&header, message, sizeof(header));
    if (flags & 0x08) {
        header.size = (uint32_t)(length - sizeof(header));
        header.priority %= PR_PRIORITIES;
        header.procedure_id = 0;
    }
    if (flags & 0x10)
        header.program_id = header.process_id = 0;
    memcpy(message, &header, sizeof(header));
}

/* False once the firmware has powered down, which a host may ask for. */
static bool post(struct fwrig *rig, const uint8_t *head, const uint8_t *bytes, size_t length)
{
    const enum pr_channel channel = channels[head[0] & 3];
    const uint32_t number = fwrig_cursor(rig, channel);
    uint8_t *message = fwrig_memory(rig, FWRIG_POOL, PR_MESSAGE_BYTES_MAX);
    struct pr_program_event event;
    enum fwrig_end end;

    memcpy(message, bytes, length);
    mend(message, length, channel, head[0]);
    fwrig_post(rig, channel, FWRIG_POOL, head[0] & 4 ? length + (head[3] & 0xf0u) : length,
               PR_MESSAGE_BYTES_MAX);
    end = fwrig_run(rig);
    if (end == FWRIG_HALTED)
        return false;
    require(end == FWRIG_IDLE);
    require(fwrig_slot_returned(rig, channel, number));
    if (head[0] & 0x20)
        fwrig_retire(rig, head[1] % PR_TQ_COUNT, 0, true);
    end = head[0] & 0x40 ? fwrig_pass(rig, 500000000) : fwrig_run(rig);
    require(end != FWRIG_FAULTED);
    while (head[0] & 0x80 && fwrig_event(rig, &event, true))
        continue;
    return end == FWRIG_IDLE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fwrig *rig = fwrig_create();
    bool alive = true;

    fwrig_boot_started(rig);
    fwrig_load(rig);
    for (unsigned i = 0; alive && i < RECORDS_MOST && size >= RECORD_HEAD; i++) {
        const uint8_t *head = data;
        size_t length = (size_t)(head[2] | (head[3] & 0x0fu) << 8);

        data += RECORD_HEAD;
        size -= RECORD_HEAD;
        length = length < size ? length : size;
        alive = post(rig, head, data, length);
        data += length;
        size -= length;
    }
    if (alive)
        require(fwrig_control(rig, PR_CMD_PING, NULL, 0) != FWRIG_LOST);
    fwrig_destroy(rig);
    return 0;
}
