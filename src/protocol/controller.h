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
    X(CHIP_REVISION, "CHIP_REVISION", 0x1050008, "CHOSEN: version << 8 | minor version, read only")      \
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
#define PR_CPU_STATUS_STOPPED 0x2cu /* CHOSEN: the run bit is set, but the processor has halted or failed */
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

/*
 * Before reset is released the host selects the boot in scratch 7 (seeds ch. 29). Warm: the firmware keeps
 * its retained block, if that is whole; cold: it clears it.
 */
enum { PR_BOOT_COLD = 0, PR_BOOT_WARM = 1 };

/*
 * The post-mortem dump (dump.h) in the scratch registers (CHOSEN: the rings may be what has failed). Staged
 * by the controller: device address in scratch 0 and 1, bytes in scratch 2, PR_DUMP_STAGED | section in
 * scratch 4, then the host doorbell with PR_DOORBELL_CRASH. Taken by the host: PR_DUMP_TAKEN | section in
 * scratch 7, which raises the controller's line. After the last section: PR_DUMP_STAGED | PR_DUMP_END, and
 * only a reset follows.
 */
#define PR_SCRATCH_DUMP   4u
#define PR_DUMP_STAGED    0xdead0000u
#define PR_DUMP_TAKEN     0xacce0000u
#define PR_DUMP_END       0xffffu
#define PR_DOORBELL_CRASH 31u /* the bit; no channel has it */

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
    X(MAGIC, 8, "scratch 3 does not hold the magic number")                    \
    X(IMAGE, 9, "the image in memory is not the one that was loaded")          \
    X(ARGUMENT, 10, "a boot argument is outside its bounds")

enum pr_boot_refusal {
#define X(id, value, text) PR_REFUSAL_##id = value,
    PR_BOOT_REFUSALS(X)
#undef X
};
const char *pr_boot_refusal_text(uint32_t reason);

/* Versions are major << 16 | minor. Another major refuses the boot; another minor warns (seeds ch. 29). */
#define PR_VERSION_MAJOR(version) ((version) >> 16)
#define PR_PROTOCOL_VERSION       0x00090511u /* CHOSEN: kext 9.511 */
#define PR_RING_VERSION           0x00020000u /* high half: ring-buffer version (CHOSEN value) */
#define PR_EXTRA_HEAP_BYTES       0x100000u   /* CHOSEN: what the controller asks for in scratch 3 */
#define PR_COMMAND_POOL_BYTES     0x40000u
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
    uint8_t template1[0xa8];  /* +0x84 */
    uint32_t template_c0;     /* +0x12c = template +0xc0: 4 */
    uint8_t template2[0x3c];  /* +0x130 */
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
/* Writable by software; the others are status: 1 and 7 are cleared by writing 0, 2 and 4 only to 0. */
#define PR_FABRIC_WRITABLE (PR_FABRIC_PATH | PR_FABRIC_WINDOW)
/* What the power-gate path requires before it clears bits 0, 2 and 4. */
#define PR_FABRIC_GATE_MASK (PR_FABRIC_LINK | PR_FABRIC_LINK2)
#define PR_FABRIC_GATE      PR_FABRIC_LINK

#define PR_GPU_DOORBELL_VALUE 1u /* what the controller stores there (seeds ch. 29) */
/* L2C_ERR_INF: another error came before the first was cleared (CHOSEN). */
#define PR_L2C_INF_OVERFLOW (1ull << 63)

/*
 * System registers of the controller's processor, by the 16 bits that name them in an MRS instruction. The
 * fabric register is the seeds'; Apple's XNU calls it L2C_ERR_STS (osfmk/arm64/proc_reg.h), and the other
 * error registers have their numbers from there. ACC_PWR_DN_SAVE: a public system-register table of Apple's
 * cores. MPIDR_EL1 is the architecture's. CBAR_EL1 is Arm's Cortex convention (CHOSEN here). X(id, name, op0,
 * op1, crn, crm, op2, meaning)
 */
#define PR_SYSTEM_REGISTERS(X)                                                                       \
    X(L2C_ERR_STS, "L2C_ERR_STS", 3, 3, 15, 8, 0, "fabric register S3_3_C15_C8_0, Table 29.5")       \
    X(L2C_ERR_ADR, "L2C_ERR_ADR", 3, 3, 15, 9, 0, "address of the first cache-controller error")     \
    X(L2C_ERR_INF, "L2C_ERR_INF", 3, 3, 15, 10, 0, "what else is known of it")                       \
    X(LSU_ERR_STS, "LSU_ERR_STS", 3, 3, 15, 0, 0, "error capture of the load-store pipeline")        \
    X(FED_ERR_STS, "FED_ERR_STS", 3, 4, 15, 0, 0, "error capture of the fetch and decode pipeline")  \
    X(MMU_ERR_STS, "MMU_ERR_STS", 3, 6, 15, 0, 0, "error capture of the memory-management unit")     \
    X(PWR_DN_SAVE, "ACC_PWR_DN_SAVE", 3, 7, 15, 2, 0, "kept while the processor is off or reset")    \
    X(MPIDR, "MPIDR_EL1", 3, 0, 0, 0, 5, "processor in bits 15:8, hardware thread 0-10 in bits 7:0") \
    X(CBAR, "CBAR_EL1", 3, 1, 15, 3, 0, "physical base of the register container, read only")

#define PR_SYSREG(op0, op1, crn, crm, op2) ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
enum pr_system_register {
#define X(id, name, op0, op1, crn, crm, op2, meaning) PR_SYSREG_##id = PR_SYSREG(op0, op1, crn, crm, op2),
    PR_SYSTEM_REGISTERS(X)
#undef X
};

/*
 * Exception syndrome, ESR_EL1: class in bits 31:26, 32-bit instruction in bit 25, and what the class says
 * below (the architecture's numbers). X(id, class, meaning)
 */
#define PR_EXCEPTIONS(X)                           \
    X(UNKNOWN, 0x00, "unknown reason")             \
    X(SYSTEM_REGISTER, 0x18, "trapped MSR or MRS") \
    X(DATA_ABORT, 0x25, "data abort, same EL")     \
    X(SERROR, 0x2f, "SError interrupt")
enum pr_exception {
#define X(id, class, meaning) PR_EXCEPTION_##id = (class),
    PR_EXCEPTIONS(X)
#undef X
};
#define PR_ESR(exception)     ((uint64_t)(exception) << 26 | 1u << 25)
#define PR_ESR_EXTERNAL_ABORT 0x10u /* of a data abort: synchronous external abort */

/* Hardware threads of the processor: CHINOOK_CPU_IMPL_THID0 to THID10 (seeds ch. 29). */
#define PR_HARDWARE_THREADS 11u

/* ACC_PWR_DN_SAVE as the firmware uses it (CHOSEN): valid, and how often it has been restarted. */
#define PR_SAVE_VALID          (1ull << 63)
#define PR_SAVE_RESTARTS(save) ((uint32_t)(save))

#endif
