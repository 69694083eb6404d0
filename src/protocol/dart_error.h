/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel makes of a DART fault: the descriptor for its consumers (seeds Table 28.11), the
 * snapshot of the registers in DRAM, and the engine's status word, which says whether the fault is benign.
 */
#ifndef PROTOCOL_DART_ERROR_H
#define PROTOCOL_DART_ERROR_H

#include <stddef.h>

#include "protocol/dart_regs.h"

#define PR_DART_AXI_IDS 4u

/*
 * IODARTErrorInfo. On the device Type, HwClass and HwError are pointers to string objects; here each is a
 * fixed id (CHOSEN): of PR_DART_FAULT_TYPES, of PR_DART_LEVELS, and the bit number of PR_DART_ERRORS. What
 * is between the fields is not public and 0.
 */
struct IODARTErrorInfo {
    uint64_t type;
    uint64_t hw_class;
    uint64_t hw_error;
    uint32_t hw_status;
    uint32_t zero0;
    uint8_t is_write;
    uint8_t zero1[7];
    uint32_t sid;
    uint32_t zero2;
    uint32_t address;
    uint32_t zero3[3];
    uint32_t ttbr_index;
    uint32_t zero4[3];
    uint32_t l2_index;
    uint32_t zero5;
    uint32_t l3_index;
    uint32_t zero6[13];
    uint64_t axi_id[PR_DART_AXI_IDS]; /* CHOSEN: the first is the number of the controller */
};

/* X(member, the seed's name, offset, type, meaning) */
#define PR_DART_ERROR_INFO(X)                                               \
    X(type, "Type", 0x00, "string", "fault type, also the event-id header") \
    X(hw_class, "HwClass", 0x08, "string", "hardware fault class")          \
    X(hw_error, "HwError", 0x10, "string", "hardware error code")           \
    X(hw_status, "HwStatus", 0x18, "u32", "raw DART fault-status word")     \
    X(is_write, "IsWrite", 0x20, "bool", "0 read fault, 1 write fault")     \
    X(sid, "SID", 0x28, "u32", "DART stream id of the faulting agent")      \
    X(address, "Address", 0x30, "u32", "faulting IOVA")                     \
    X(ttbr_index, "TTBRIndex", 0x40, "u32", "translation-table base index") \
    X(l2_index, "L2Index", 0x50, "u32", "page-table walk L2 index")         \
    X(l3_index, "L3Index", 0x58, "u32", "page-table walk L3 index")         \
    X(axi_id, "AXI_ID", 0x90, "4 x 8-byte slot",                            \
      "AXI master / transaction ids, each printed as a 32-bit value")
#define X(member, name, offset, type, meaning) \
    _Static_assert(offsetof(struct IODARTErrorInfo, member) == (offset), "Table 28.11");
PR_DART_ERROR_INFO(X)
#undef X
_Static_assert(sizeof(struct IODARTErrorInfo) == 0xb0, "Table 28.11 ends with four slots of 8 bytes");

/* Types of fault (CHOSEN: the strings are not public). X(id, value, text) */
#define PR_DART_FAULT_TYPES(X)             \
    X(TRANSLATION, 1, "translation fault") \
    X(PROTECTION, 2, "protection fault")   \
    X(TABLE, 3, "page-table fault")        \
    X(STREAM, 4, "stream fault")

enum pr_dart_fault_type {
#define X(id, value, text) PR_DART_FAULT_##id = value,
    PR_DART_FAULT_TYPES(X)
#undef X
};
const char *pr_dart_fault_type_text(uint64_t type);
/* Why, in words: the text of the lowest code in a status word that is not the direction. */
const char *pr_dart_error_text(uint32_t status);

/*
 * The registers of one DART as the capture routine found them (Tables 28.3 and 28.10). The order is CHOSEN;
 * docs/dart.md has it.
 */
#define PR_DART_SNAPSHOT_MAGIC  0x54524144u /* "DART" */
#define PR_DART_SNAPSHOT_STRIDE 0x400u      /* one for each DART, in one page */
struct pr_dart_snapshot {
    uint32_t magic;
    uint32_t dart;
    uint64_t count; /* faults captured so far, this one included */
    uint64_t time;  /* virtual, nanoseconds */
    uint32_t error, address_lo, address_hi;
    uint32_t tlb_control, tlb_status, tlb_error0, tlb_error1;
    uint32_t enabled_streams;
    uint32_t tcr[PR_DART_STREAMS];
    uint32_t ttbr[PR_DART_STREAMS * PR_DART_TTBRS];
};
_Static_assert(sizeof(struct pr_dart_snapshot) == 0x178 &&
                   sizeof(struct pr_dart_snapshot) <= PR_DART_SNAPSHOT_STRIDE,
               "a snapshot fits its place");

/*
 * The engine's status word, at an offset of the engine (seeds ch. 28: its offset, that (status | 0x80) ==
 * 0xa0 is benign, and that 0xa0 is powered and idle). CHOSEN: it is a register of the container, driven by
 * the power states and the task manager, and the values of the other conditions.
 */
#define PR_ENGINE_STATUS           0xe028u
#define PR_ENGINE_STATUS_OFF       0x00u
#define PR_ENGINE_STATUS_IDLE      0xa0u
#define PR_ENGINE_STATUS_RUNNING   0xa1u
#define PR_ENGINE_STATUS_FAULTED   0xa2u /* the DART refused an address, and no push was accepted since */
#define PR_ENGINE_STATUS_DONT_CARE 0x80u

static inline bool pr_engine_status_benign(uint32_t status)
{
    return (status | PR_ENGINE_STATUS_DONT_CARE) == PR_ENGINE_STATUS_IDLE;
}

/* How long the driver waits for the recovery after a fault (seeds ch. 28). */
#define PR_FAULT_PARK_NS 250000000ull

#endif
