/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the seeds print about the kernel driver (ch. 27) and about translation (ch. 28) and no other table
 * here holds: rows for `anemone spec` and for the code that follows them.
 */
#ifndef PROTOCOL_SEED_DRIVER_H
#define PROTOCOL_SEED_DRIVER_H

#include "protocol/bits.h"

/* Table 27.1: X(role, bundle, principal class, provider match) */
#define PR_KEXTS(X)                                                                                    \
    X("interface and hardware driver", "AppleH11ANEInterface", "ANEHWDevice (registered as H11ANEIn)", \
      "RTBuddyService, role ANE")                                                                      \
    X("per-die abstraction layer", "AppleT8132ANEHAL", "AppleT8132ANEHAL", "IOResources")              \
    X("multi-engine arbiter", "AppleANELoadBalancer", "ANEDriver (H1xANELoadBalancer)", "IOResources, IOKit")
#define PR_KEXT_BUILD "9.511.3"

/* Listing 27.1: X(class, use). Their numbers at IOServiceOpen are chosen: include/anemone/abi.h. */
#define PR_CLIENTS(X)                                                                       \
    X("H11ANEInUserClient", "control client: program lifecycle and the inference hot path") \
    X("H11ANEInDirectPathClient", "direct path: enqueue, memory-map, session-hint")         \
    X("ANEClientHints", "scheduling-hint client (setClientHint)")

/* Listing 27.4, IOExternalMethodDispatch2022: X(field, offset, bytes) */
#define PR_DISPATCH_FIELDS(X)              \
    X("function", 0x00, 8)                 \
    X("checkScalarInputCount", 0x08, 4)    \
    X("checkStructureInputSize", 0x0c, 4)  \
    X("checkScalarOutputCount", 0x10, 4)   \
    X("checkStructureOutputSize", 0x14, 4) \
    X("reserved", 0x18, 0x10)
#define PR_DISPATCH_STRIDE 40u

/* Table 27.5: X(methods, role); they have no selector of their own. */
#define PR_DIRECT_METHODS(X)                                                                            \
    X("ANE_PowerOn / ANE_PowerOff / ANE_IsPowered", "power-domain control")                             \
    X("ANE_LoadFirmware / ANE_ForgetFirmware", "firmware image lifecycle")                              \
    X("ANE_SendCommand", "raw firmware command injection")                                              \
    X("ANE_SetPowerManagement / ANE_SetDynamicPowerGating / ANE_SetPowerGatingHysteresisTime",          \
      "power policy")                                                                                   \
    X("ANE_SetThrottlingPercentage", "thermal throttle")                                                \
    X("ANE_SetDARTCacheTTL / ANE_FlushInactiveDARTMappings / ANE_UnmapDartBuffers",                     \
      "address-translation controls")                                                                   \
    X("ANE_ReadANERegister / ANE_WriteANERegister", "raw memory-mapped register read and write")        \
    X("ANE_FWSharedEventDoorbellRing", "ring the firmware shared-event doorbell")                       \
    X("ANE_AddPersistentClient / ANE_RemovePersistentClient", "keep the device resident")               \
    X("ANE_MPMMemoryMapRequest / ANE_MPMMemoryUnmapRequest", "the multi-process managed-memory region") \
    X("ANE_ExclaveCycle / ANE_ExclaveLoad / ANE_ExclaveEvaluate / ANE_ExclaveUnload",                   \
      "secure-world load and evaluate")                                                                 \
    X("ANE_ExclaveReadPropertyValue / ANE_ExclaveWritePropertyValue", "secure-world property access")   \
    X("ANE_GetClientsInfo / ANE_ShowSharedMemoryAllocations / ANE_ShowModelMemoryStatus", "diagnostics")

/* Selector 0: what Table 27.3 fills in, and the code of the refused usage. */
#define PR_DEVICE_INFO_BOARD      0x1111222233334444ull /* seen at +0x08 of the input */
#define PR_DEVICE_INFO_TIMEOUT    0x2710u
#define PR_DEVICE_INFO_VERSION    0x20u
#define PR_DEVICE_INFO_VERSION_HI 256u
#define PR_USAGE_REFUSED          24u /* usage 2 */

/* Table 27.6, as observed. */
#define PR_REQUEST_PRIORITY 5u
#define PR_REQUEST_QOS      21u
#define PR_REQUEST_CATEGORY 2u

/*
 * Tables 27.7 and 27.8: X(key, capability, holders, kind). kind: OPEN the two gates, DRIVER beyond them,
 * BROKER the private family.
 */
#define PR_ENTITLEMENTS(X)                                                                                  \
    X("com.apple.ane.iokit-user-access",                                                                    \
      "the hard kernel gate: open the user client, privileged device open",                                 \
      "2: the broker and its per-user sibling", OPEN)                                                       \
    X("com.apple.ane.allow-dataChaining-access", "resident data-chaining on the direct-path client",        \
      "kernel-checked at client init", OPEN)                                                                \
    X("com.apple.ane.realtime-priority-client", "the real-time-priority client grant", "", DRIVER)          \
    X("com.apple.ane.allow-system-reserved-priorities", "use of the system-reserved scheduling priorities", \
      "", DRIVER)                                                                                           \
    X("com.apple.ane.memory", "a memory-access grant", "", DRIVER)                                          \
    X("com.apple.ane.allow-data", "a data-access grant", "", DRIVER)                                        \
    X("com.apple.private.ane.allow-set-client-hints", "set per-client hints", "", DRIVER)                   \
    X("com.apple.private.ane.allow-share-coalition-hints", "share hints across a coalition", "", DRIVER)    \
    X("com.apple.aned.private.allow", "baseline: compile, load, instantiate through the broker", "18",      \
      BROKER)                                                                                               \
    X("com.apple.aned.private.ANEAccess.allow", "inference-client access-grant variant", "14", BROKER)      \
    X("com.apple.aned.private.adapterWeight.allow",                                                         \
      "stream adapter weights onto a shared resident base model", "5", BROKER)                              \
    X("com.apple.aned.private.processModelShare.allow", "share one resident model across processes", "4",   \
      BROKER)                                                                                               \
    X("com.apple.aned.private.secondaryANECompilerServiceAccess.allow",                                     \
      "the longer-duration compiler service for large models", "1", BROKER)                                 \
    X("com.apple.aned.private.aggressivePowerSaving", "the aggressive-power-saving execution mode",         \
      "gate helper only", BROKER)                                                                           \
    X("com.apple.aned.private.modelPurgeInAllPartitions", "purge models across all cache partitions",       \
      "gate helper only", BROKER)                                                                           \
    X("com.apple.security.temporary-exception.iokit-user-client-class",                                     \
      "open the direct-path user client for own submission", "27", BROKER)                                  \
    X("com.apple.security.ts.ane-client", "trust-cache blessed-client slot for latency-critical consumers", \
      "5", BROKER)

/* Table 27.9. */
#define PR_DEVICE_ARCHITECTURE   "h13g"
#define PR_DEVICE_VERSION        96u
#define PR_DEVICE_MINOR_VERSION  17u
#define PR_DEVICE_BOARD_TYPE     96u
#define PR_DEVICE_BOARD_SUBTYPE  0u
#define PR_DEVICE_CORES          16u
#define PR_DEVICE_ENGINES        1u
#define PR_DEVICE_CPU_SUBTYPE    4u
#define PR_DEVICE_INTERNAL_BUILD 0

/* Table 28.2. The other numbers of the node: dart_regs.h. */
#define PR_DART_NODE               "dart-ane0"
#define PR_DART_COMPATIBLE         "dart,t6000"
#define PR_DART_NODE_STREAMS       0x0000a001u
#define PR_DART_NODE_BYPASS        0x0000a000u
#define PR_DART_NODE_OPTIONS       0x25u
#define PR_DART_ISOLATION_CONTEXTS 7u               /* mapper-ane0-iso1 to iso7, beside the base */
#define PR_DART_TTBR_SEEN          0x90022320u      /* live value of the active streams */
#define PR_DART_TABLE_SEEN         0x10022320000ull /* what it points at */

/* The seed's leaf word, Table 28.4: X(name, high bit, low bit, value) */
#define PR_LEAF_FIELDS(X)                                                     \
    X("valid", 63, 63, "1 on map, 0 on unmap")                                \
    X("aux protection class 3", 62, 62, "0: set only when prot bit 3 is set") \
    X("aux protection class 4", 60, 60, "0: set only when prot bit 4 is set") \
    X("aux protection class 5", 59, 59, "0: set only when prot bit 5 is set") \
    X("physical frame", 46, 14, "full physical address, unshifted")           \
    X("within-page offset", 13, 0, "0")
#define PR_LEAF_VALID_BIT       63
#define PR_LEAF_FRAME_HIGH_BIT  46
#define PR_LEAF_FRAME_LOW_BIT   14
#define PR_LEAF_TEMPLATE        0x8000000000000000ull
#define PR_LEAF_EVENTS_MEASURED 26178u

/* Listing 28.1, ppl_iommu_seg: X(field, offset, note) */
#define PR_SEGMENT_FIELDS(X)                    \
    X("iova", 0x00, "device virtual address")   \
    X("phys", 0x08, "physical DRAM page")       \
    X("size", 0x10, "0x4000 (16 KB granule)")   \
    X("prot", 0x18, "3 = RW, 1 = device-write") \
    X("reserved", 0x20, "0")
#define PR_SEGMENT_BYTES 0x28u

/* Table 28.5: X(code, class, class as printed, role). 0: the firmware class. */
#define PR_USAGES(X)                                                         \
    X(1, 3, "read-write (3) on the M1", "client input tensor")               \
    X(2, 1, "device-write (1)", "client output tensor")                      \
    X(7, 3, "read-write (3)", "intermediate buffer")                         \
    X(8, 3, "read-write (3)", "kernel and weights")                          \
    X(9, 3, "read-write (3)", "program text, task descriptors, working set") \
    X(11, 3, "read-write (3)", "program constants and scratch")              \
    X(0x1019, 0, "firmware class", "firmware power-on shared surface")       \
    X(0x101a, 0, "firmware class", "firmware resident heap")
#define PR_USAGE_FIRMWARE_FLAG 0x1000u

/* Table 28.6: X(buffer, usage code) */
#define PR_LOAD_BUFFERS(X)             \
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
#define PR_ADDRESS_SPACES(X)                                                    \
    X("A", "Host IOVA", "host page table, fully resolved to physical")          \
    X("B", "Engine-register", "where the firmware writes the DMA-engine bases") \
    X("C", "DRAM-tile aperture", "what streams: the weight and data tiles")

/* Table 28.8 and the arithmetic beside it: X(field, offset from engine + PR_REBASE_OBJECT, meaning) */
#define PR_REBASE_FIELDS(X)                             \
    X("dvaBase", 0xb98, "host / DART IOVA region base") \
    X("regionSize", 0xba0, "mapped region size")        \
    X("mappedBase", 0xba8, "firmware runtime aperture base, the rebase target base")
#define PR_REBASE_OBJECT       0xa000u
#define PR_REBASE_HIGH_HALF    0x1bc4u
#define PR_REBASE_BAR_BASE     0x285c25020ull
#define PR_REBASE_RECORD_BYTES 44u

/* Table 28.9: X(scale, bytes, what it governs) */
#define PR_ALIGNMENTS(X)                                            \
    X("DMA width granule", 16, "the data-movement quantum")         \
    X("segment alignment", 256, "program-text and segment packing") \
    X("page granule", 16384, "the device-address page, allocation and wiring unit")

/* Table 28.11, IODARTErrorInfo: X(field, offset, type, meaning) */
#define PR_DART_ERROR_INFO(X)                                         \
    X("Type", 0x00, "string", "fault type, also the event-id header") \
    X("HwClass", 0x08, "string", "hardware fault class")              \
    X("HwError", 0x10, "string", "hardware error code")               \
    X("HwStatus", 0x18, "u32", "raw DART fault-status word")          \
    X("IsWrite", 0x20, "bool", "0 read fault, 1 write fault")         \
    X("SID", 0x28, "u32", "DART stream id of the faulting agent")     \
    X("Address", 0x30, "u32", "faulting IOVA")                        \
    X("TTBRIndex", 0x40, "u32", "translation-table base index")       \
    X("L2Index", 0x50, "u32", "page-table walk L2 index")             \
    X("L3Index", 0x58, "u32", "page-table walk L3 index")             \
    X("AXI_ID", 0x90, "4 x 8-byte slot", "AXI master / transaction ids, each printed as a 32-bit value")
#define PR_FAULT_STATUS_OFFSET \
    0xe028u /* of the engine's device object; benign when (status | 0x80) == 0xa0 */
#define PR_FAULT_STATUS_BENIGN 0xa0u

#endif
