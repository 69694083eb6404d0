/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the seeds print about the execution model (ch. 2), the firmware (ch. 29) and the command protocol
 * (ch. 30) and no other table here holds: rows for `anemone spec` and for the code that follows them.
 */
#ifndef PROTOCOL_SEED_TABLES_H
#define PROTOCOL_SEED_TABLES_H

#include "protocol/bits.h"

/* Table 2.2: X(name, what it is, where it lives) */
#define PR_REPRESENTATIONS(X)                                                                \
    X("the bundle", "a flat-buffer container with a parametric per-op descriptor",           \
      "the on-disk content-addressed cache")                                                 \
    X("the program image", "a signed executable the kernel loader parses, magic 0xbeefface", \
      "materialized below the host boundary at load")                                        \
    X("the firmware container",                                                              \
      "the firmware's load format, a three-level container keyed by program identity",       \
      "resident on the engine")

/* Table 2.3, tenths of a microsecond: X(id, stage, low, high) */
#define PR_BUDGET(X)                                                                      \
    X(BIND, "user-space binding, runtime, and host fp16 input and output copy", 250, 250) \
    X(BUILD, "building the firmware request", 160, 160)                                   \
    X(KICK, "firmware kick: the doorbell, which returns asynchronously", 20, 30)          \
    X(ROUND_TRIP, "firmware round trip", 1300, 1300)                                      \
    X(COMPLETE, "kernel-side completion processing", 100, 100)
enum pr_budget {
#define X(id, stage, low, high) PR_BUDGET_##id,
    PR_BUDGET(X)
#undef X
        PR_BUDGET_COUNT
};
#define PR_BUDGET_TENTHS_PER_US         10u
#define PR_DISPATCH_US                  190u /* the whole call as measured */
#define PR_DISPATCH_SUBMIT_US           163u /* the send-request method, entry to return */
#define PR_DISPATCH_OVERHEAD_PERCENT    98u
#define PR_DISPATCH_INTERRUPTS          2u
#define PR_DISPATCH_TWO_THREADS_PERCENT 104u /* 1.04 times: submissions serialize */

/* Table 29.1: X(name, meaning) */
#define PR_TASK_STATES(X)                                            \
    X(RUNNABLE, "ready or running")                                  \
    X(SUSPENDED, "explicitly parked")                                \
    X(WAITING, "blocked on a generic wait, such as a message queue") \
    X(SEMWAIT, "blocked specifically on a semaphore")                \
    X(BLOCKED, "blocked")

#define PR_CONTROLLER_CORE    "CHINOOK"
#define PR_CONTROLLER_THREADS 11u /* CHINOOK_CPU_IMPL_THID0 to THID10 */
#define PR_RTBUDDY_ENDPOINT   0xe400u

/* Table 29.2, in order: X(name, role) */
#define PR_APERTURES(X)                                                                            \
    X("ANE", "main control aperture, holding the scratch registers and the reset-vector register") \
    X("PS", "power-state")                                                                         \
    X("PWGATE", "power-gate")                                                                      \
    X("PTD", "page-table and translation-domain control")                                          \
    X("ANEHAL1", "hardware-abstraction register aperture")                                         \
    X("ANEHAL2", "hardware-abstraction register aperture")                                         \
    X("ANEHAL3", "hardware-abstraction register aperture")

/* Table 29.4, what message.h does not hold. */
#define PR_EVENT_MASKS    1u
#define PR_PARTITIONS_MIN 1u

/* Table 29.5: X(bit, role) */
#define PR_FABRIC_BITS(X)                                                        \
    X(0, "fabric-path enable, cleared with bits 2 and 4 on the power-gate path") \
    X(1, "uncorrectable last-level-cache error, read-only and sticky")           \
    X(2, "fabric-link status, must be 1 for the power-gate condition")           \
    X(4, "fabric-link secondary status, must be 0 for the power-gate condition") \
    X(7, "transaction-reject status, clearable on a rejected doorbell")          \
    X(39, "doorbell-window arm and disarm: clear opens the store window, set closes it")
#define PR_FABRIC_REGISTER  "S3_3_C15_C8_0"
#define PR_FABRIC_SITES     28u
#define PR_DOORBELL_TARGETS 3u

/* Table 29.6. Levels: PR_PRIORITIES of message.h. */
#define PR_SYSTEM_BAND_LOW       0u
#define PR_SYSTEM_BAND_HIGH      1u
#define PR_APPLICATION_BAND_LOW  2u
#define PR_APPLICATION_BAND_HIGH 7u
#define PR_DEADLINE_MS           2000u
#define PR_NETWORK_ID_MIN        1u
#define PR_NETWORK_ID_MAX        255u
#define PR_TQ_SUBMIT_WORDS       35u /* copied into the queue's register file */

/* Table 29.7: X(key, name as printed, offset as printed) */
#define PR_SUBMIT_REGISTERS(X)                                           \
    X("submit_doorbell", "submit doorbell", 0x24000)                     \
    X("size_count", "size and count", 0x24004)                           \
    X("priority_network_id", "priority and network identifier", 0x24008) \
    X("enable", "queue enable", 0x25000)                                 \
    X("status_vacancy", "queue status and vacancy", 0x2500c)             \
    X("buffer_access_registers", "buffer-access-register file", 0x250a0)

/* Table 29.8. Identifiers 0 to 3; PAUSE is a named transient without one. X(name, number or -1, meaning) */
#define PR_EXECUTION_STATES(X)                                                                             \
    X("INIT", 0,                                                                                           \
      "the start node, after the loop is constructed but before it is armed; no hardware work dispatches") \
    X("RUN", 1, "non-secure and runnable, the engine is powered and owned but nothing is in flight")       \
    X("EXEC", 2, "a task-descriptor partition is in flight, non-secure; a handler may touch hardware")     \
    X("EXEC-SECURE", 3,                                                                                    \
      "in flight while the secure phase is asserted, the engine owned by the secure tenant")               \
    X("PAUSE", -1, "fully quiesced for a secure-mode boundary, rejects all events")
/* The events that drive it. */
#define PR_EXECUTION_EVENTS(X)                               \
    X("dispatch", "a procedure call or trigger is accepted") \
    X("drain", "toward idle")                                \
    X("enter-secure", "into the secure phase")               \
    X("exit-secure", "out of the secure phase")
/* The smaller machines beside it: X(machine, states) */
#define PR_SMALL_MACHINES(X)                              \
    X("process", "idle, running")                         \
    X("cache request", "available, in-use, invalidating") \
    X("output set", "available, in-execution")

/* Table 29.9: X(offset, bytes, field) */
#define PR_STATS_FIELDS(X)                                                  \
    X(0x00, 2, "magic 0x0101")                                              \
    X(0x04, 8, "per-call timing value, from the real-time-kernel timebase") \
    X(0x0c, 4, "word from the call object")                                 \
    X(0x10, 8, "reserved, cleared")                                         \
    X(0x18, 4, "word from the call object")                                 \
    X(0x1c, 8, "per-call counter value")                                    \
    X(0x24, 4, "descriptor-area byte length, the total size minus 0x28")
#define PR_STATS_ENGINES_MAX   32u
#define PR_STATS_ENGINE_STRIDE 0x48u
#define PR_STATS_QUAD_BYTES    16u
#define PR_STATS_QUAD_OFFSET   0x30u /* of the engine's block */
/* Power-status registers that are never packed into the statistics */
#define PR_PERF_BASE    0x28e08c000ull
#define PR_PERF_STRIDE  8u
#define PR_PERF_ENTRIES 5u

/* Faults and recovery. */
#define PR_DISPOSITIONS(X)                                                     \
    X("version-minor mismatch", "warned about, work continues")                \
    X("torn-down process or wrong-state cache handle", "dropped and counted")  \
    X("integrity, section or argument validation", "rejected without running") \
    X("failed invariant, processor exception or uncorrectable cache error", "dump and reset")
#define PR_EXCEPTION_CLASSES(X) \
    X("non-maskable interrupt") X("interrupt") X("fast interrupt") X("synchronous abort")

/* Table 30.1: X(field, offset, type, meaning) */
#define PR_HEADER_FIELDS(X)                                                   \
    X("id", 0x00, "u32", "the eCSneCmdId selector")                           \
    X("size", 0x04, "u32", "byte length of the command body that follows")    \
    X("priority", 0x08, "u32", "scheduling band, 0..7")                       \
    X("programId", 0x0c, "i32", "loaded-program slot, -1 when invalid")       \
    X("processId", 0x10, "i32", "per-program process instance, -1 when none") \
    X("procedureId", 0x14, "u32", "index into the program's procedure table")

/* Table 30.3: X(field, type, bound) */
#define PR_CALL_FIELDS(X)                                                  \
    X("nbrOfOutputBufferSets", "u32", "== 1 on the M1 generation")         \
    X("nbrOfWaitEvents", "u32", "nbrOfWaitEvents + nbrOfSignalEvents > 0") \
    X("nbrOfSignalEvents", "u32", "<= 16")                                 \
    X("nbrOfCustomBars", "u32", "<= 32 on the wire")                       \
    X("stats.buffer", "u64", ">= pProc->pStatArrayBaseOrig")               \
    X("stats.size", "u64", "covers the three stats records")

/* Table 30.4 and ch. 30's text, what message.h does not hold. */
#define PR_CACHE_PARTITIONS       1u
#define PR_CACHE_REQUESTS_IN_LIST 1u
#define PR_CUSTOM_BARS_IN_PROGRAM 128u
#define PR_EVENT_RECORD_BYTES     24u /* { u32 type; u32 targetMask; u64 id; u64 value; } */
#define PR_RPC_EVENTS_FREE_MIN    2u
#define PR_PROGRAM_TABLE_OFFSET   0x9948u
#define PR_PROGRAM_TABLE_STRIDE   0x20u

/* Table 30.5: X(tag in commands.def, low id, high id, count, subsystem) */
#define PR_FAMILIES(X)                                               \
    X(CONTROL, 0x01, 0x34, 52, "control, config, power, debug")      \
    X(NOTIFY, 0x100, 0x108, 9, "channel notifications")              \
    X(PROGRAM, 0x200, 0x212, 19, "program, process, procedure call") \
    X(EVENT, 0x300, 0x305, 6, "events")                              \
    X(HANDSHAKE, 0x400, 0x404, 5, "id handshakes")                   \
    X(OUTLIER, 0x0000, 0xff00, 3, "outliers")

#endif
