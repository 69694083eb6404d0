/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wider method catalogue of the direct-path client, Table 27.5: registers, power, firmware, address
 * translation, secure world, diagnostics. The methods are not selectors: ane_catalogue_call (iokit.h) takes
 * their numbers. Names, roles and which of them need the second access property come from the public
 * description; numbers, sizes and layouts are Anemone's (chosen). docs/abi.md says what each one does here.
 */
#ifndef ANEMONE_CATALOGUE_H
#define ANEMONE_CATALOGUE_H

#include <anemone/abi.h>

/*
 * ROW(with, number, Name, scalars in, struct bytes in, scalars out, struct bytes out, access, role). Sizes
 * are exact, as those of selectors. access: ANY direct-path client; DEVICE, what every client of the device
 * would feel: one whose task may open the device (com.apple.ane.iokit-user-access; chosen); RAW, that and the
 * second access property.
 */
#define ANE_CATALOGUE_METHODS(ROW, with)                                                                   \
    ROW(with, 0x100, PowerOn, 0, 0, 0, 0, DEVICE, "power-domain control")                                  \
    ROW(with, 0x101, PowerOff, 0, 0, 0, 0, DEVICE, "power-domain control")                                 \
    ROW(with, 0x102, IsPowered, 0, 0, 1, 0, ANY, "power-domain control")                                   \
    ROW(with, 0x103, LoadFirmware, 3, 0, 0, 0, DEVICE, "firmware image lifecycle")                         \
    ROW(with, 0x104, ForgetFirmware, 0, 0, 0, 0, DEVICE, "firmware image lifecycle")                       \
    ROW(with, 0x105, SendCommand, 0, 1040, 0, 1040, RAW, "raw firmware command injection")                 \
    ROW(with, 0x106, SetPowerManagement, 1, 0, 0, 0, DEVICE, "power policy")                               \
    ROW(with, 0x107, SetDynamicPowerGating, 1, 0, 0, 0, DEVICE, "power policy")                            \
    ROW(with, 0x108, SetPowerGatingHysteresisTime, 1, 0, 0, 0, DEVICE, "power policy")                     \
    ROW(with, 0x109, SetThrottlingPercentage, 1, 0, 0, 0, DEVICE, "thermal throttle")                      \
    ROW(with, 0x10a, SetDARTCacheTTL, 1, 0, 0, 0, DEVICE, "address-translation controls")                  \
    ROW(with, 0x10b, FlushInactiveDARTMappings, 0, 0, 1, 0, ANY, "address-translation controls")           \
    ROW(with, 0x10c, UnmapDartBuffers, 1, 0, 1, 0, ANY, "address-translation controls")                    \
    ROW(with, 0x10d, ReadANERegister, 1, 0, 1, 0, RAW, "raw memory-mapped register read and write")        \
    ROW(with, 0x10e, WriteANERegister, 2, 0, 0, 0, RAW, "raw memory-mapped register read and write")       \
    ROW(with, 0x10f, FWSharedEventDoorbellRing, 1, 0, 0, 0, DEVICE,                                        \
        "ring the firmware shared-event doorbell")                                                         \
    ROW(with, 0x110, AddPersistentClient, 0, 0, 0, 0, DEVICE, "keep the device resident")                  \
    ROW(with, 0x111, RemovePersistentClient, 0, 0, 0, 0, DEVICE, "keep the device resident")               \
    ROW(with, 0x112, MPMMemoryMapRequest, 1, 2080, 1, 0, ANY, "the multi-process managed-memory region")   \
    ROW(with, 0x113, MPMMemoryUnmapRequest, 0, 2080, 0, 0, ANY, "the multi-process managed-memory region") \
    ROW(with, 0x114, ExclaveCycle, 0, 0, 0, 0, RAW, "secure-world load and evaluate")                      \
    ROW(with, 0x115, ExclaveLoad, 1, 0, 0, 0, RAW, "secure-world load and evaluate")                       \
    ROW(with, 0x116, ExclaveEvaluate, 1, 0, 0, 0, RAW, "secure-world load and evaluate")                   \
    ROW(with, 0x117, ExclaveUnload, 1, 0, 0, 0, RAW, "secure-world load and evaluate")                     \
    ROW(with, 0x118, ExclaveReadPropertyValue, 1, 0, 1, 0, RAW, "secure-world property access")            \
    ROW(with, 0x119, ExclaveWritePropertyValue, 2, 0, 0, 0, RAW, "secure-world property access")           \
    ROW(with, 0x11a, GetClientsInfo, 1, 0, 0, 528, ANY, "diagnostics")                                     \
    ROW(with, 0x11b, ShowSharedMemoryAllocations, 1, 0, 0, 528, ANY, "diagnostics")                        \
    ROW(with, 0x11c, ShowModelMemoryStatus, 1, 0, 0, 528, ANY, "diagnostics")

/* The methods as numbers: ANE_CATALOGUE_PowerOn = 0x100 and so on. */
enum ane_catalogue_method { ANE_CATALOGUE_METHODS(ANE_SELECTOR, ANE_CATALOGUE_) };
#define ANE_CATALOGUE_FIRST 0x100u

/* SendCommand, in and out: a control command and its answer, which replaces the body. */
#define ANE_COMMAND_BODY 1024
struct ane_command {
    uint32_t id;     /* wire id */
    uint32_t bytes;  /* of the body, 0 to ANE_COMMAND_BODY; the answer has as many at most */
    uint32_t status; /* in: 0; out: the firmware's, 0 */
    uint32_t reserved;
    uint8_t body[ANE_COMMAND_BODY]; /* 0 behind its bytes on the way in */
};

/* The diagnostics: scalar input 0 is the first record wanted; the struct holds those from there on. */
#define ANE_DIAGNOSTIC_RECORDS 16
/* GetClientsInfo: clients of the caller's task; of all tasks with the second access property. */
struct ane_client_record {
    uint32_t number; /* on this device, from 1 */
    uint32_t type;   /* enum ane_client_type */
    uint32_t task;
    uint32_t flags;    /* enum ane_client_flags */
    uint32_t programs; /* that it owns */
    uint32_t requests; /* under way */
    uint64_t bytes;    /* mapped for it */
};
enum ane_client_flags {
    ANE_CLIENT_IS_OPEN = 1u << 0, /* selector 0 was called, selector 1 was not */
    ANE_CLIENT_IS_PERSISTENT = 1u << 1,
    ANE_CLIENT_HAS_RAW_ACCESS = 1u << 2,
};
/* ShowSharedMemoryAllocations: what is mapped for clients of the caller's task. */
struct ane_allocation_record {
    uint32_t surface; /* 0: a buffer of the driver's own */
    uint32_t usage;   /* Table 28.5 */
    uint64_t address; /* device address */
    uint64_t bytes;
    uint32_t uses; /* requests that bind it */
    uint32_t pins; /* direct-path selector 5 */
};
/* ShowModelMemoryStatus: programs that clients of the caller's task have loaded. */
struct ane_model_record {
    uint64_t token;
    uint64_t bytes; /* resident: text, weights, container */
    uint32_t engine;
    uint32_t processes; /* clients that have it prepared */
    uint32_t descriptors;
    uint32_t reserved;
};

struct ane_clients_info {
    uint32_t count, total; /* records here; and in all, from record 0 on */
    uint64_t reserved;
    struct ane_client_record record[ANE_DIAGNOSTIC_RECORDS];
};
struct ane_allocations {
    uint32_t count, total;
    uint64_t reserved;
    struct ane_allocation_record record[ANE_DIAGNOSTIC_RECORDS];
};
struct ane_models {
    uint32_t count, total;
    uint64_t reserved;
    struct ane_model_record record[ANE_DIAGNOSTIC_RECORDS];
};

ANE_CHECK_SIZE(struct ane_command, 1040);
ANE_CHECK_SIZE(struct ane_clients_info, 528);
ANE_CHECK_SIZE(struct ane_allocations, 528);
ANE_CHECK_SIZE(struct ane_models, 528);

#endif
