/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sequence of messages on the host-to-controller channels of a booted firmware with a program and a
 * process: every slot comes back, and the firmware lives and answers PING. While it is open for calls it runs
 * a sound one afterwards; a powered-down controller answers nothing, which a host may ask for.
 *
 * Input: records of {flags, queue, length low, length high, bytes}. Of the flags, bits 0 and 1 are the
 * channel: IO, DEBUG, BUF_H2T, DATA_CHAIN_H2T. Bit 2: the slot's length is that of the bytes plus the high
 * half of the second length byte, else exact. Bit 3: a control header's `size`, priority and procedure are
 * made to agree. Bit 4: program and process are the live ones. Bit 5: the oldest request of the queue ends
 * afterwards. Bit 6: half a second of virtual time passes. Bit 7: the host takes the messages of IO_T2H.
 */
#include <string.h>

#include "../fwrig.h"
#include "firmware/process.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD_HEAD   4u
#define RECORDS_MOST  24u
#define ROUNDS_MOST   600u /* more requests than the records can leave behind */
#define DEADLINE_NS   2500000000ull
#define SOUND_COOKIE  0x600dca11u
#define FLAG_LENGTH   0x04u
#define FLAG_HEADER   0x08u
#define FLAG_LIVE     0x10u
#define FLAG_RETIRE   0x20u
#define FLAG_TIME     0x40u
#define FLAG_MESSAGES 0x80u

static const enum pr_channel channels[] = {PR_CHANNEL_IO, PR_CHANNEL_DEBUG, PR_CHANNEL_BUF_H2T,
                                           PR_CHANNEL_DATA_CHAIN_H2T};

/* A message that would pass the first checks, when the flags ask for that. */
static void mend(uint8_t *message, size_t length, enum pr_channel channel, uint8_t flags)
{
    struct pr_command_header header;

    if (channel == PR_CHANNEL_DATA_CHAIN_H2T) {
        if (flags & FLAG_LIVE && length >= 16)
            memset(message + 8, 0, 8);
        return;
    }
    if (length < sizeof(header))
        return;
    memcpy(&header, message, sizeof(header));
    if (flags & FLAG_HEADER) {
        header.size = (uint32_t)(length - sizeof(header));
        header.priority %= PR_PRIORITIES;
        header.procedure_id = 0;
    }
    if (flags & FLAG_LIVE)
        header.program_id = header.process_id = 0;
    memcpy(message, &header, sizeof(header));
}

/* The host takes all messages; true when one is the end of the sound call. */
static bool take_messages(struct fwrig *rig)
{
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];
    const struct pr_program_event *event = (const void *)message;
    bool sound = false;

    while (fwrig_message(rig, message))
        sound |= event->id == PR_CMD_PROGRAM_EVENT && event->cookie == SOUND_COOKIE && !event->status;
    return sound;
}

/* The oldest request of a queue ends, if it has one: an end without a request is no work of a host's. */
static bool retire(struct fwrig *rig, unsigned queue)
{
    if (fwrig_read(rig, PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_VACANT) == 2)
        return false;
    fwrig_retire(rig, queue, 0, true);
    require(fwrig_run(rig) != FWRIG_FAULTED);
    return true;
}

/* All requests end, and the host takes what is reported. */
static bool settle(struct fwrig *rig)
{
    bool more = true, sound = false;

    for (unsigned i = 0; more && i < ROUNDS_MOST; i++) {
        more = false;
        for (unsigned queue = 0; queue < PR_TQ_COUNT; queue++)
            more |= retire(rig, queue);
        sound |= take_messages(rig);
    }
    return sound;
}

/* A command that waits for the engine comes back when its requests have ended, or at their deadline. */
static void expect_returned(struct fwrig *rig, enum pr_channel channel, uint32_t number)
{
    if (fwrig_slot_returned(rig, channel, number))
        return;
    (void)settle(rig);
    if (!fwrig_slot_returned(rig, channel, number))
        require(fwrig_pass(rig, DEADLINE_NS) != FWRIG_FAULTED);
    require(fwrig_slot_returned(rig, channel, number));
}

/* False once the firmware has powered down. */
static bool post(struct fwrig *rig, const uint8_t *head, const uint8_t *bytes, size_t length)
{
    const enum pr_channel channel = channels[head[0] & 3];
    const uint32_t number = fwrig_cursor(rig, channel);
    uint8_t *message = fwrig_memory(rig, FWRIG_POOL, PR_MESSAGE_BYTES_MAX);
    enum fwrig_end end;

    memcpy(message, bytes, length);
    mend(message, length, channel, head[0]);
    fwrig_post(rig, channel, FWRIG_POOL, head[0] & FLAG_LENGTH ? length + (head[3] & 0xf0u) : length,
               PR_MESSAGE_BYTES_MAX - 1);
    end = fwrig_run(rig);
    if (end == FWRIG_HALTED)
        return false;
    require(end == FWRIG_IDLE);
    expect_returned(rig, channel, number);
    if (head[0] & FLAG_RETIRE)
        (void)retire(rig, head[1] % PR_TQ_COUNT);
    end = head[0] & FLAG_TIME ? fwrig_pass(rig, 500000000) : fwrig_run(rig);
    require(end != FWRIG_FAULTED);
    if (head[0] & FLAG_MESSAGES)
        (void)take_messages(rig);
    return end == FWRIG_IDLE;
}

/* Whether nothing that the host may do has shut the way of a call of process 0. */
static bool open_for_calls(const struct fw *fw)
{
    const struct fw_process *process = &fw->process[0];

    return !fw->closed && !fw->secure.phase && fw->channel[PR_CHANNEL_DATA_CHAIN_H2T].ready &&
           fw->channel[PR_CHANNEL_IO_T2H].ready && fw_process_running(process) && process->program == 0 &&
           !process->secure;
}

static void expect_dispatch(struct fwrig *rig)
{
    const struct fw *fw = fwrig_firmware(rig);
    union fwrig_call call;
    uint32_t status;

    (void)settle(rig);
    fwrig_call_make(&call, SOUND_COOKIE);
    status = fwrig_call(rig, &call);
    require(status != FWRIG_LOST);
    if (open_for_calls(fw))
        require(status == PR_STATUS_OK);
    if (status == PR_STATUS_OK && open_for_calls(fw))
        require(settle(rig));
    require(fwrig_control(rig, PR_CMD_PING, NULL, 0) == PR_STATUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fwrig *rig;
    bool alive = true;

    if (rig)
        fwrig_renew(rig);
    else
        rig = fwrig_create();
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
        expect_dispatch(rig);
    return 0;
}
