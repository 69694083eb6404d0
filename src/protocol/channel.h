/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The eight inter-processor channels and their slots. Names from seeds ch. 29; types, bits and slot counts
 * from command facts 5.1 (a T6021 reading; on H13 the table published at run time counts).
 */
#ifndef PROTOCOL_CHANNEL_H
#define PROTOCOL_CHANNEL_H

#include "protocol/bits.h"
#include "protocol/controller.h"

enum pr_channel_type { PR_CHANNEL_H2T = 0, PR_CHANNEL_T2H = 1, PR_CHANNEL_REPORT = 2 };

/* X(id, type, doorbell bit, slots); traffic of each is in docs/protocol.md */
#define PR_CHANNELS(X)            \
    X(TERMINAL, REPORT, 0, 0x300) \
    X(IO, H2T, 1, 0x10)           \
    X(DEBUG, H2T, 2, 0x08)        \
    X(BUF_H2T, H2T, 3, 0x40)      \
    X(BUF_T2H, T2H, 4, 0x40)      \
    X(SHAREDMALLOC, T2H, 5, 0x08) \
    X(IO_T2H, T2H, 6, 0x40)       \
    X(DATA_CHAIN_H2T, H2T, 7, 0x10)

enum pr_channel {
#define X(id, type, bit, slots) PR_CHANNEL_##id,
    PR_CHANNELS(X)
#undef X
        PR_CHANNEL_COUNT
};
#define PR_CHANNEL_TABLE_LIMIT 0x21u /* the host refuses a table of more */

struct pr_channel_info {
    const char *name;
    enum pr_channel_type type;
    uint32_t bit, slots;
};
extern const struct pr_channel_info pr_channel_table[PR_CHANNEL_COUNT];

/* One record of the table the firmware publishes. */
struct pr_channel_record {
    char name[0x40];
    uint32_t type;
    uint32_t bit;
    uint64_t slots;
    uint64_t ring; /* device address of slot 0 */
    /* +0x58 CHOSEN place: checked by the host; the firmware checks the boot arguments' */
    uint32_t ring_version;
    uint8_t reserved[0xa4];
};
#define PR_CHANNEL_RECORD_BYTES 0x100u
_Static_assert(sizeof(struct pr_channel_record) == PR_CHANNEL_RECORD_BYTES,
               "a channel record is 0x100 bytes");
_Static_assert(offsetof(struct pr_channel_record, ring) == 0x50, "ring address at 0x50");

/* IPC surface: the channel table first (CHOSEN), then the rings in table order, 0x100-aligned. */
#define PR_IPC_TABLE_BYTES (PR_CHANNEL_COUNT * PR_CHANNEL_RECORD_BYTES)
uint32_t pr_ipc_ring_offset(enum pr_channel channel);
uint32_t pr_ipc_bytes(void);

/*
 * A slot, 64 bytes. Owner bit = bit 0 of `address`: 1 = host owns or idle, 0 = the other side's turn (for
 * T2H: the host's turn while 0; the host returns it with bit 0 set). Order of writing: length, reply,
 * barrier, address, barrier, doorbell.
 */
struct pr_slot {
    uint64_t address; /* of the message, | owner bit */
    uint64_t length;
    uint64_t reply; /* reply length; for T2H: tag */
    uint64_t zero[5];
};
_Static_assert(sizeof(struct pr_slot) == PR_SLOT_BYTES, "a slot is 64 bytes");
#define PR_SLOT_OWNER 0x1ull

#endif
