/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that `anemone spec` prints and that this tree does not act on yet, by chapter of the seeds. They are
 * only printed: the change that implements a row moves it to a table of src/protocol or src/program.
 */
#ifndef TOOL_SPEC_FACTS_H
#define TOOL_SPEC_FACTS_H

/* Chapters 27 and 28. */

/* Listing 27.1: X(class, use). Their numbers at IOServiceOpen are chosen: include/anemone/abi.h. */
#define FACT_CLIENTS(X)                                                                     \
    X("H11ANEInUserClient", "control client: program lifecycle and the inference hot path") \
    X("H11ANEInDirectPathClient", "direct path: enqueue, memory-map, session-hint")         \
    X("ANEClientHints", "scheduling-hint client (setClientHint)")

/* Table 28.2. The other numbers of the node: dart_regs.h. */
#define FACT_DART_APERTURE_BASE      0x0u
#define FACT_DART_ISOLATION_CONTEXTS 7u               /* mapper-ane0-iso1 to iso7, beside the base */
#define FACT_DART_TTBR_SEEN          0x90022320u      /* live value of the active streams */
#define FACT_DART_TABLE_SEEN         0x10022320000ull /* what it points at */

/* The seed's leaf word, Table 28.4: X(name, high bit, low bit, value) */
#define FACT_LEAF_FIELDS(X)                                                                         \
    X("valid", 63, 63, "1 on map, 0 on unmap")                                                      \
    X("aux protection class 3", PR_LEAF_AUX_3, PR_LEAF_AUX_3, "0: set only when prot bit 3 is set") \
    X("aux protection class 4", PR_LEAF_AUX_4, PR_LEAF_AUX_4, "0: set only when prot bit 4 is set") \
    X("aux protection class 5", PR_LEAF_AUX_5, PR_LEAF_AUX_5, "0: set only when prot bit 5 is set") \
    X("physical frame", 46, 14, "full physical address, unshifted")                                 \
    X("within-page offset", 13, 0, "0")
#define FACT_LEAF_VALID_BIT       63
#define FACT_LEAF_FRAME_HIGH_BIT  46
#define FACT_LEAF_FRAME_LOW_BIT   14
#define FACT_LEAF_TEMPLATE        0x8000000000000000ull
#define FACT_LEAF_EVENTS_MEASURED 26178u

/* Table 28.6: X(buffer, usage code) */
#define FACT_LOAD_BUFFERS(X)           \
    X("input tensor", 1)               \
    X("output tensor", 2)              \
    X("weights", 8)                    \
    X("program text", 9)               \
    X("constants", 11)                 \
    X("intermediate", 7)               \
    X("working set", 9)                \
    X("firmware shared surface", 4121) \
    X("firmware resident heap", 4122)

/* Table 28.7: X(letter, name, what it holds) */
#define FACT_ADDRESS_SPACES(X)                                                  \
    X("A", "Host IOVA", "host page table, fully resolved to physical")          \
    X("B", "Engine-register", "where the firmware writes the DMA-engine bases") \
    X("C", "DRAM-tile aperture", "what streams: the weight and data tiles")

/* Table 28.9: X(scale, bytes, what it governs) */
#define FACT_ALIGNMENTS(X)                                              \
    X("DMA width granule", PR_DMA_GRANULE, "the data-movement quantum") \
    X("segment alignment", 256, "program-text and segment packing")     \
    X("page granule", 16384, "the device-address page, allocation and wiring unit")

/* Chapters 2, 29 and 30. */

/* Table 2.2: X(name, what it is, where it lives) */
#define FACT_REPRESENTATIONS(X)                                                              \
    X("the bundle", "a flat-buffer container with a parametric per-op descriptor",           \
      "the on-disk content-addressed cache")                                                 \
    X("the program image", "a signed executable the kernel loader parses, magic 0xbeefface", \
      "materialized below the host boundary at load")                                        \
    X("the firmware container",                                                              \
      "the firmware's load format, a three-level container keyed by program identity",       \
      "resident on the engine")

/* One dispatch, as measured; its stages are in protocol/timing.h. */
#define FACT_DISPATCH_OVERHEAD_PERCENT    98u
#define FACT_DISPATCH_INTERRUPTS          2u
#define FACT_DISPATCH_TWO_THREADS_PERCENT 104u /* 1.04 times: submissions serialize */

/* Table 29.1: X(name, meaning) */
#define FACT_TASK_STATES(X)                                          \
    X(RUNNABLE, "ready or running")                                  \
    X(SUSPENDED, "explicitly parked")                                \
    X(WAITING, "blocked on a generic wait, such as a message queue") \
    X(SEMWAIT, "blocked specifically on a semaphore")                \
    X(BLOCKED, "blocked")

#define FACT_CONTROLLER_CORE    "CHINOOK"
#define FACT_CONTROLLER_THREADS 11u /* CHINOOK_CPU_IMPL_THID0 to THID10 */

/* Table 29.4, what message.h does not hold. */
#define FACT_PARTITIONS_MIN 1u

/* Table 29.5: X(bit, role) */
#define FACT_FABRIC_BITS(X)                                                      \
    X(0, "fabric-path enable, cleared with bits 2 and 4 on the power-gate path") \
    X(1, "uncorrectable last-level-cache error, read-only and sticky")           \
    X(2, "fabric-link status, must be 1 for the power-gate condition")           \
    X(4, "fabric-link secondary status, must be 0 for the power-gate condition") \
    X(7, "transaction-reject status, clearable on a rejected doorbell")          \
    X(39, "doorbell-window arm and disarm: clear opens the store window, set closes it")
#define FACT_FABRIC_REGISTER "S3_3_C15_C8_0"
#define FACT_FABRIC_SITES    28u

/* Table 29.7: X(key, name as printed, offset as printed) */
#define FACT_SUBMIT_REGISTERS(X)                                         \
    X("submit_doorbell", "submit doorbell", 0x24000)                     \
    X("size_count", "size and count", 0x24004)                           \
    X("priority_network_id", "priority and network identifier", 0x24008) \
    X("enable", "queue enable", 0x25000)                                 \
    X("status_vacancy", "queue status and vacancy", 0x2500c)             \
    X("buffer_access_registers", "buffer-access-register file", 0x250a0)

/* The smaller machines beside the execution loop's: X(machine, states) */
#define FACT_SMALL_MACHINES(X)                            \
    X("process", "idle, running")                         \
    X("cache request", "available, in-use, invalidating") \
    X("output set", "available, in-execution")

/* Power-status registers, which are never packed into the statistics. */
#define FACT_PERF_BASE    0x28e08c000ull
#define FACT_PERF_STRIDE  8u
#define FACT_PERF_ENTRIES 5u

/* Faults and recovery. */
#define FACT_DISPOSITIONS(X)                                                   \
    X("version-minor mismatch", "warned about, work continues")                \
    X("torn-down process or wrong-state cache handle", "dropped and counted")  \
    X("integrity, section or argument validation", "rejected without running") \
    X("failed invariant, processor exception or uncorrectable cache error", "dump and reset")
#define FACT_EXCEPTION_CLASSES(X) \
    X("non-maskable interrupt") X("interrupt") X("fast interrupt") X("synchronous abort")

/* Table 30.3: X(field, type, bound) */
#define FACT_CALL_FIELDS(X)                                                \
    X("nbrOfOutputBufferSets", "u32", "== 1 on the M1 generation")         \
    X("nbrOfWaitEvents", "u32", "nbrOfWaitEvents + nbrOfSignalEvents > 0") \
    X("nbrOfSignalEvents", "u32", "<= 16")                                 \
    X("nbrOfCustomBars", "u32", "<= 32 on the wire")                       \
    X("stats.buffer", "u64", ">= pProc->pStatArrayBaseOrig")               \
    X("stats.size", "u64", "covers the three stats records")

/* Table 30.4 and ch. 30's text, what message.h does not hold. */
#define FACT_CACHE_PARTITIONS       1u
#define FACT_CACHE_REQUESTS_IN_LIST 1u
#define FACT_PROGRAM_TABLE_OFFSET   0x9948u

/* Table 30.5: X(tag in commands.def, low id, high id, count, subsystem) */
#define FACT_FAMILIES(X)                                             \
    X(CONTROL, 0x01, 0x34, 52, "control, config, power, debug")      \
    X(NOTIFY, 0x100, 0x108, 9, "channel notifications")              \
    X(PROGRAM, 0x200, 0x212, 19, "program, process, procedure call") \
    X(EVENT, 0x300, 0x305, 6, "events")                              \
    X(HANDSHAKE, 0x400, 0x404, 5, "id handshakes")                   \
    X(OUTLIER, 0x0000, 0xff00, 3, "outliers")

/* controller: scratch 3 cleared, running */
#define FACT_HANDSHAKES(X)                                                                  \
    X(1, "scratch 7, first wake", "the controller is alive after the reset-vector handoff") \
    X(2, "scratch 7, second wake", "the channel-description table is ready")                \
    X(3, "scratch 3, plus a magic-number-1 check", "final acknowledgement before interrupts are enabled")

#endif
