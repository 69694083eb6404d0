/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes in a slot of the execution loop's ring and in the message it points to, written behind the
 * driver's back: the firmware returns the slot with a status or drops it, and lives.
 *
 * Input: byte 0 bit 0: the slot keeps a good message address, bit 1: a
 * good length; 24 bytes of slot; then the message.
 */
#include <stdlib.h>
#include <string.h>

#include "../inside.h"
#include "../iorig.h"
#include "protocol/channel.h"
#include "protocol/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 0x400u
/*
 * A machine takes so many inputs. After PR_LOAD_CALLS calls the firmware asks the host for its time, and the
 * driver answers on this ring, at the place where it left off: the inputs would no longer be where the
 * firmware looks.
 */
#define INPUTS_MAX 4000u
_Static_assert(INPUTS_MAX < PR_LOAD_CALLS - 1, "an input is one call at most, and the first call is ours");

static struct ane_machine *machine;
static struct iorig_accumulator accumulator;
static unsigned inputs;
static struct pr_slot *ring;
static uint64_t slots, next, cell; /* device address of a message cell */

static void make(void)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    const struct pr_channel_record *record;

    if (ane_machine_create(&config, &machine))
        abort();
    iorig_accumulator_make(&accumulator, ane_machine_service(machine), 1, 16);
    record = inside_channel(machine);
    slots = record->slots;
    ring = inside_ring(machine);
    if (iorig_accumulator_step(&accumulator))
        abort();
    cell = ring[0].address & ~PR_SLOT_OWNER;
    next = 1;
    inputs = 0;
}

static void renew(void)
{
    if (machine && inputs < INPUTS_MAX)
        return;
    if (machine) {
        iorig_accumulator_release(&accumulator);
        ane_machine_destroy(machine);
    }
    make();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_slot *slot;
    size_t message;

    if (size < 25)
        return 0;
    renew();
    inputs++;
    message = size - 25 < MESSAGE_MAX ? size - 25 : MESSAGE_MAX;
    memcpy(inside_memory(machine, cell, MESSAGE_MAX), data + 25, message);
    slot = &ring[next++ % slots];
    memcpy(slot, data + 1, 24);
    if (data[0] & 1)
        slot->address = cell;
    if (data[0] & 2)
        slot->length = message;
    slot->address &= ~PR_SLOT_OWNER;
    ane_machine_write32(machine, machine->board->container + PR_CTRL_DOORBELL,
                        1u << pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit);
    if (ane_machine_run(machine, 20000000000ull) || !(slot->address & PR_SLOT_OWNER) ||
        !mach_cpu_alive(machine->cpu))
        abort();
    return 0;
}
