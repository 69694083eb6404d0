/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller as the host sees it: its registers, the boot handshakes and the boot arguments.
 * Sources: seeds ch. 29 (order and meaning), command facts sections 5.1 and 6 (offsets and words).
 */
#ifndef PROTOCOL_CONTROLLER_H
#define PROTOCOL_CONTROLLER_H

#include "protocol/bits.h"

/* Offsets in the engine container. X(id, name, offset, source) */
#define PR_CONTROLLER_REGISTERS(X)                                                                       \
    X(RVBAR_LO, "RVBAR_LO", 0x1050000, "command facts 6: rANE_H11_CHINOOK_IO_RVBAR")                     \
    X(RVBAR_HI, "RVBAR_HI", 0x1050004, "command facts 6")                                                \
    X(TIMEBASE_LO, "TIMEBASE_LO", 0x1170000, "command facts 6")                                          \
    X(TIMEBASE_HI, "TIMEBASE_HI", 0x1170004, "command facts 6")                                          \
    X(CPU_CONTROL, "CPU_CONTROL", 0x1400044, "command facts 6")                                          \
    X(CPU_STATUS, "CPU_STATUS", 0x1400048, "command facts 6")                                            \
    X(SCRATCH0, "SCRATCH0", 0x1840048, "command facts 6")                                                \
    X(DOORBELL, "DOORBELL", 0x1844000, "command facts 5.1: host to controller, 1 << bit")                \
    X(HOST_DOORBELL, "HOST_DOORBELL", 0x1848000,                                                         \
      "CHOSEN: where the controller's store raises the host's interrupt")                                \
    X(HOST_PENDING, "HOST_PENDING", 0x184c000, "command facts 5.1: bits the controller rang")            \
    X(HOST_ACK, "HOST_ACK", 0x1850000, "command facts 5.1: write the bits back")                         \
    X(DOORBELL_PENDING, "DOORBELL_PENDING", 0x1854000, "CHOSEN: bits the host rang, for the controller") \
    X(DOORBELL_ACK, "DOORBELL_ACK", 0x1858000, "CHOSEN: the controller writes them back")

enum pr_controller_reg {
#define X(id, name, offset, source) PR_CTRL_##id = offset,
    PR_CONTROLLER_REGISTERS(X)
#undef X
};

#define PR_SCRATCH_COUNT      8u
#define PR_CTRL_SCRATCH(n)    (PR_CTRL_SCRATCH0 + 4u * (n))
#define PR_CPU_RUN            0x10u
#define PR_CPU_STATUS_PARKED  0x2au
#define PR_CPU_STATUS_RUNNING 0x2bu /* CHOSEN */
#define PR_RVBAR_LOCK         0x1u  /* bit 0: latched */

/* Windows of the container that hold them; no register answers between these. X(id, offset, bytes) */
#define PR_CONTROLLER_WINDOWS(X) \
    X(VECTOR, 0x1050000, 0x4000) \
    X(TIME, 0x1170000, 0x4000)   \
    X(CPU, 0x1400000, 0x4000)    \
    X(MAILBOX, 0x1840000, 0x1c000)

enum pr_controller_window {
#define X(id, offset, bytes) PR_CTRL_WINDOW_##id = offset, PR_CTRL_WINDOW_##id##_BYTES = bytes,
    PR_CONTROLLER_WINDOWS(X)
#undef X
};

/* Handshakes, in order. Table 29.3; words from command facts 6. */
#define PR_HANDSHAKE_WAKE 0x08042006u /* controller: scratch 7, first and second wake; host: scratch 3 */
#define PR_HANDSHAKE_GO   0xf7fbdff9u /* host: scratch 7, boot arguments are in scratch 0 and 1 */
#define PR_HANDSHAKE_DONE 0x0u
/* What the controller says in scratch 0-3 at the first wake. */
enum { PR_WAKE_CHANNELS = 0, PR_WAKE_IPC_BYTES_LESS_1 = 1, PR_WAKE_FLAGS = 2, PR_WAKE_EXTRA_HEAP = 3 };

/* Scratch 5 while running: doorbells the fabric rejected for good, counted by the controller (CHOSEN). */
#define PR_SCRATCH_REJECTED 5u

/*
 * A boot that is refused: scratch 7 = PR_BOOT_REFUSED | reason; the sentence is in the TERMINAL text or the
 * log (CHOSEN).
 */
#define PR_BOOT_REFUSED 0xbad00000u
#define PR_BOOT_REFUSALS(X)                                                    \
    X(BOOT_ARGUMENTS, 1, "boot arguments cannot be read")                      \
    X(CHIP_REVISION, 2, "chip revision does not match")                        \
    X(PROTOCOL_VERSION, 3, "protocol version does not match")                  \
    X(RING_VERSION, 4, "ring-buffer version does not match")                   \
    X(PAGE_SIZE, 5, "MMU invalid page size")                                   \
    X(HEAP, 6, "initial heap does not exceed twice the framework reservation") \
    X(IPC, 7, "IPC surface or command pool is missing or too small")           \
    X(MAGIC, 8, "scratch 3 does not hold the magic number")

enum pr_boot_refusal {
#define X(id, value, text) PR_REFUSAL_##id = value,
    PR_BOOT_REFUSALS(X)
#undef X
};
const char *pr_boot_refusal_text(uint32_t reason);

#define PR_PROTOCOL_VERSION   0x00090511u /* CHOSEN: kext 9.511 */
#define PR_RING_VERSION       0x00020000u /* high half: ring-buffer version (CHOSEN value) */
#define PR_EXTRA_HEAP_BYTES   0x100000u   /* CHOSEN: what the controller asks for in scratch 3 */
#define PR_COMMAND_POOL_BYTES 0x40000u
#define PR_FRAMEWORK_BYTES \
    0x80000u /* CHOSEN: framework reservation a host passes; the firmware's own state lives there */
#define PR_SLOT_BYTES 0x40u

/*
 * Boot arguments, 0x174 bytes. The prefix is that of command facts 6; in the 0x100-byte template at +0x6c,
 * words 0 and +0xc0 are known, and the four version words are ours.
 */
struct pr_boot_args {
    uint64_t image;            /* +0x00 firmware image address */
    uint64_t ipc;              /* +0x08 device address of the IPC surface */
    uint64_t shared_base;      /* +0x10 */
    uint64_t shared_bytes;     /* +0x18 */
    uint64_t heap;             /* +0x20 extra heap, device address */
    uint64_t heap_bytes;       /* +0x28 */
    uint32_t previous;         /* +0x30 */
    uint32_t pad0;             /* +0x34 */
    uint8_t log[0x18];         /* +0x38 */
    uint64_t ipc_bytes;        /* +0x50 */
    uint64_t pool;             /* +0x58 command pool */
    uint64_t pool_bytes;       /* +0x60 */
    uint32_t slot_bytes;       /* +0x68 */
    uint32_t template0;        /* +0x6c */
    uint32_t chip_revision;    /* +0x70 CHOSEN place */
    uint32_t protocol_version; /* +0x74 CHOSEN place */
    uint32_t ring_version;     /* +0x78 CHOSEN place */
    uint32_t page_bytes;       /* +0x7c CHOSEN place */
    /* +0x80 CHOSEN place: an unknown id on the execution loop asserts instead of being dropped */
    uint32_t unknown_id_panics;
    /* +0x84 CHOSEN place: target register and bit of the three host doorbells ... */
    uint32_t host_doorbell_lo;
    uint32_t host_doorbell_hi;      /* +0x88 */
    uint32_t host_doorbell_bits[3]; /* +0x8c ... 0 = unused slot */
    uint8_t template1[0x94];        /* +0x98 */
    uint32_t template_c0;           /* +0x12c = template +0xc0: 4 */
    uint8_t template2[0x3c];        /* +0x130 */
    uint64_t framework_bytes; /* +0x16c CHOSEN place: framework reservation the heap must exceed twice */
} __attribute__((packed));
#define PR_BOOT_ARGS_BYTES 0x174u
_Static_assert(sizeof(struct pr_boot_args) == PR_BOOT_ARGS_BYTES, "boot arguments are 0x174 bytes");
_Static_assert(offsetof(struct pr_boot_args, ipc_bytes) == 0x50 &&
                   offsetof(struct pr_boot_args, slot_bytes) == 0x68 &&
                   offsetof(struct pr_boot_args, template_c0) == 0x12c,
               "places of the known prefix");

/* The fabric system register S3_3_C15_C8_0 (Table 29.5). */
#define PR_FABRIC_PATH          (1ull << 0)
#define PR_FABRIC_UNCORRECTABLE (1ull << 1)
#define PR_FABRIC_LINK          (1ull << 2)
#define PR_FABRIC_LINK2         (1ull << 4)
#define PR_FABRIC_REJECT        (1ull << 7)
#define PR_FABRIC_WINDOW        (1ull << 39) /* clear opens the doorbell window */
#define PR_FABRIC_RESET         (PR_FABRIC_PATH | PR_FABRIC_LINK | PR_FABRIC_WINDOW)
#define PR_GPU_DOORBELL         0x206468000ull

#endif
