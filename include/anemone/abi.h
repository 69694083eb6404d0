/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel driver's ABI: argument structs of the selectors, exact sizes, return codes. Sizes and the fields named in comments with a table come from seed
 * chapter 27; places marked (chosen) are Anemone's, in bytes whose meaning is not public. All structs are little-endian and have no padding of their own.
 */
#ifndef ANEMONE_ABI_H
#define ANEMONE_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t IOReturn;
typedef uint32_t io_object_t;
typedef io_object_t io_service_t;
typedef io_object_t io_connect_t;

/* Return codes: values of the public IOReturn.h (seed 27 and guide 1.2 for their use here). */
#define kIOReturnSuccess         ((IOReturn)0)
#define kIOReturnError           ((IOReturn)0xe00002bc)
#define kIOReturnNoMemory        ((IOReturn)0xe00002bd)
#define kIOReturnNoResources     ((IOReturn)0xe00002be)
#define kIOReturnNoDevice        ((IOReturn)0xe00002c0)
#define kIOReturnNotPrivileged   ((IOReturn)0xe00002c1) /* missing entitlement of a method */
#define kIOReturnBadArgument     ((IOReturn)0xe00002c2) /* a size or pointer check failed */
#define kIOReturnExclusiveAccess ((IOReturn)0xe00002c5) /* seed 27: the client is closed or closing */
#define kIOReturnUnsupported     ((IOReturn)0xe00002c7) /* disabled or stub path; missing entitlement at open */
#define kIOReturnBusy            ((IOReturn)0xe00002d5)
#define kIOReturnTimeout         ((IOReturn)0xe00002d6)
#define kIOReturnNotReady        ((IOReturn)0xe00002d8)
#define kIOReturnNotPermitted    ((IOReturn)0xe00002e2) /* program not signed for this caller */
#define kIOReturnAborted         ((IOReturn)0xe00002eb)
#define kIOReturnNotFound        ((IOReturn)0xe00002f0)
#define ANE_RETURN_CLOSED        kIOReturnExclusiveAccess

/* Client types of IOServiceOpen (chosen numbers; the seed names the three classes). */
enum { ANE_CLIENT_CONTROL = 1, ANE_CLIENT_DIRECT_PATH = 2, ANE_CLIENT_HINTS = 3 };

/* Control-client selectors, Table 27.2: X(selector, NAME, scalar in, struct in, scalar out, struct out) */
#define ANE_CONTROL_SELECTORS(X)                            \
    X(0, ANE_DeviceOpen, 0, 104, 0, 104)                    \
    X(1, ANE_DeviceClose, 0, 0, 0, 0)                       \
    X(2, ANE_ProgramSendRequest, 1, 2376, 0, 40)            \
    X(3, ANE_ProgramCreate, 0, 32, 0, 0)                    \
    X(4, ANE_ProgramPrepare, 0, 56, 0, 56)                  \
    X(5, ANE_ProgramUnprepare, 0, 56, 0, 0)                 \
    X(6, ANE_ProgramDestroy, 0, 16, 0, 0)                   \
    X(7, ANE_GetStatus, 0, 0, 0, 32)                        \
    X(8, ANE_ProgramCreateInstance, 0, 32, 0, 0)            \
    X(9, ANE_ProgramChainingPrepare, 0, 16, 0, 24)          \
    X(10, ANE_GetVersion, 0, 0, 1, 0)                       \
    X(11, ANE_RegisterDebugWorkProcessor, 0, 24, 0, 0)      \
    X(12, ANE_UnregisterDebugWorkProcessor, 0, 0, 0, 0)     \
    X(13, ANE_GetDebugWorkProcessorItem, 2, 0, 0, 0)        \
    X(14, ANE_CompleteDebugWorkProcessorItem, 2, 0, 0, 0)   \
    X(15, ANE_ReleaseDebugWorkProcessorBuffers, 0, 0, 0, 0) \
    X(16, ANE_LoadFirmware, 3, 0, 0, 0)

/* Direct-path selectors, Table 27.4. */
#define ANE_DIRECT_SELECTORS(X)                    \
    X(0, ANE_DeviceOpen, 0, 104, 0, 104)           \
    X(1, ANE_DeviceClose, 0, 0, 0, 0)              \
    X(2, ANE_ProgramSendRequest, 1, 2376, 0, 40)   \
    X(3, ANE_ProgramOutputSetEnqueue, 0, 40, 0, 0) \
    X(4, ANE_ProgramInputsReady, 0, 3104, 0, 0)    \
    X(5, ANE_MemoryMapRequest, 1, 2080, 1, 0)      \
    X(6, ANE_MemoryUnMapRequest, 0, 2080, 0, 0)    \
    X(7, ANE_SessionHintRequest, 0, 16, 0, 24)     \
    X(8, ANE_ProgramChainingSetActiveProcedure, 0, 32, 0, 0)

/* The dispatcher's argument block, Listing 27.2. */
struct IOExternalMethodArguments {
    uint32_t version;             /* +0x00 */
    uint32_t selector;            /* +0x04 */
    uint32_t asyncWakePort;       /* +0x08 */
    uint32_t reserved0;           /* +0x0c */
    const uint64_t *scalarInput;  /* +0x10 */
    uint64_t reserved1;           /* +0x18 */
    uint32_t scalarInputCount;    /* +0x20 */
    uint32_t reserved2[3];        /* +0x24 */
    const void *structureInput;   /* +0x30 */
    uint32_t structureInputSize;  /* +0x38 */
    uint32_t reserved3[3];        /* +0x3c */
    uint64_t *scalarOutput;       /* +0x48 */
    uint32_t scalarOutputCount;   /* +0x50 */
    uint32_t reserved4;           /* +0x54 */
    void *structureOutput;        /* +0x58 */
    uint32_t structureOutputSize; /* +0x60 */
    uint32_t reserved5;           /* +0x64 */
};

/* Selector 0, in and out: Table 27.3. */
struct ane_device_info {
    uint64_t token; /* +0x00 in: usage type in the low byte (1 standard, 2 unsupported); out: session token */
    uint64_t callback;     /* +0x08 echoed */
    uint64_t receiver;     /* +0x10 echoed */
    uint64_t timeout;      /* +0x18 milliseconds, 0x2710; echoed */
    uint8_t reserved0[40]; /* +0x20 */
    uint32_t version[2];   /* +0x48 out: 32, 256 */
    uint64_t engines;      /* +0x50 out: 1 */
    uint64_t reserved1;    /* +0x58 */
    uint64_t cpu_subtype;  /* +0x60 out: 4 */
};
#define ANE_USAGE_STANDARD    1
#define ANE_USAGE_UNSUPPORTED 2

/* Selector 2, in: Table 27.6 to +0x20; the rest (chosen). Scalar input 0: the doorbell index, below 32. */
#define ANE_REQUEST_SURFACES 128
struct ane_request {
    uint64_t token;     /* +0x000 program or instance */
    uint64_t sequence;  /* +0x008 */
    uint32_t priority;  /* +0x010 0..7 */
    uint32_t qos;       /* +0x014 */
    uint32_t procedure; /* +0x018 (chosen) */
    uint32_t category;  /* +0x01c io category, 2 */
    uint32_t
        surface[ANE_REQUEST_SURFACES]; /* +0x020 inputs, then outputs, then intermediates, in port order */
    uint32_t inputs, outputs, intermediates; /* +0x220 counts (chosen) */
    uint32_t stats_surface;                  /* +0x22c (chosen) 0 = none */
    uint64_t offset[ANE_REQUEST_SURFACES];   /* +0x230 of each buffer in its surface (chosen) */
    uint8_t reserved[0x318];                 /* +0x630 zero */
};

/* Selector 2, out. */
struct ane_request_reply {
    uint64_t sequence; /* +0x00 */
    uint64_t token;    /* +0x08 */
    uint64_t detail;   /* +0x10 (chosen): for a failure, what the engine or firmware said */
    uint64_t reserved; /* +0x18 */
    uint64_t status;   /* +0x20 0 = done */
};

/* Selector 3: where the program's arguments are (chosen layout; the size is the seed's). */
struct ane_program_create {
    uint32_t surface;
    uint32_t flags;
    uint64_t offset, size;
    uint64_t reserved;
};

/* The arguments in that surface. Places of hashes, counts and name: guide section 2; the rest (chosen). The image follows at ANE_PROGRAM_IMAGE. */
#define ANE_PROGRAM_IMAGE 0x100
struct ane_program_args {
    uint64_t token; /* +0x00 out: written by the driver */
    uint32_t
        representation; /* +0x08 (chosen) 1 program image (ANEProgramLegacyResource), 2 bundle (ANEProgramRTResource) */
    uint32_t version;      /* +0x0c (chosen) 1 */
    uint64_t image_size;   /* +0x10 (chosen) */
    uint8_t hash[2][32];   /* +0x18 */
    uint32_t reserved0;    /* +0x58 */
    uint32_t procedures;   /* +0x5c */
    uint32_t reserved1;    /* +0x60 */
    uint32_t qos;          /* +0x64 21 */
    uint32_t flags;        /* +0x68 0x10 */
    uint32_t stats_mask;   /* +0x6c */
    uint32_t pool;         /* +0x70 memory pool id */
    uint32_t reserved2[3]; /* +0x74 */
    char name[0x80];       /* +0x80 */
};
#define ANE_PROGRAM_LEGACY 1
#define ANE_PROGRAM_RT     2

/*
 * What stands at ANE_PROGRAM_IMAGE when the representation is 2 (chosen): this, main.e5, zeros up to the next multiple of ANE_PROGRAM_BUNDLE_ALIGN (counted from here),
 * weights.bin. image_size is the size of all of it. The driver expands the records of main.e5 into descriptors; they appear in no memory of the client.
 */
#define ANE_PROGRAM_BUNDLE_ALIGN 64
struct ane_program_bundle {
    uint64_t main_bytes;    /* +0x00 */
    uint64_t weights_bytes; /* +0x08 */
};

/* Selectors 4 and 5 (chosen layout). Prepare returns what a request has to bind, in port order. */
struct ane_program_prepare {
    uint64_t token;
    uint32_t qos, priority;
    uint32_t inputs, outputs, intermediates; /* out */
    uint32_t procedures;                     /* out */
    uint64_t intermediate_bytes;             /* out: least size of the intermediate buffer, 0 = none */
    uint64_t flags;
    uint64_t reserved;
};

/* Selector 6. */
struct ane_program_destroy {
    uint64_t token;
    uint64_t flags;
};

/* Direct-path selectors 5 and 6: 2080 bytes (chosen layout). Scalar output 0 of selector 5: the device address. */
struct ane_memory_map {
    uint64_t token;
    uint32_t surface;
    uint32_t usage; /* usage code, Table 28.5 */
    uint64_t offset, size;
    uint64_t address; /* selector 6: the device address to unmap */
    uint8_t reserved[2080 - 40];
};

#ifdef __cplusplus
#define ANE_STATIC_ASSERT static_assert
#else
#define ANE_STATIC_ASSERT _Static_assert
#endif
#define ANE_CHECK_SIZE(type, bytes) \
    ANE_STATIC_ASSERT(sizeof(type) == (bytes), #type " has the size of its selector")
#define ANE_CHECK_OFFSET(type, field, at) ANE_STATIC_ASSERT(offsetof(type, field) == (at), #type "." #field)
ANE_CHECK_SIZE(struct ane_device_info, 104);
ANE_CHECK_SIZE(struct ane_request, 2376);
ANE_CHECK_SIZE(struct ane_request_reply, 40);
ANE_CHECK_SIZE(struct ane_program_create, 32);
ANE_CHECK_SIZE(struct ane_program_args, ANE_PROGRAM_IMAGE);
ANE_CHECK_SIZE(struct ane_program_bundle, 16);
ANE_CHECK_SIZE(struct ane_program_prepare, 56);
ANE_CHECK_SIZE(struct ane_program_destroy, 16);
ANE_CHECK_SIZE(struct ane_memory_map, 2080);
ANE_CHECK_OFFSET(struct ane_device_info, version, 0x48);
ANE_CHECK_OFFSET(struct ane_device_info, engines, 0x50);
ANE_CHECK_OFFSET(struct ane_device_info, cpu_subtype, 0x60);
ANE_CHECK_OFFSET(struct ane_request, category, 0x1c);
ANE_CHECK_OFFSET(struct ane_request, surface, 0x20);
ANE_CHECK_OFFSET(struct ane_request_reply, status, 0x20);
ANE_CHECK_OFFSET(struct ane_program_args, hash, 0x18);
ANE_CHECK_OFFSET(struct ane_program_args, procedures, 0x5c);
ANE_CHECK_OFFSET(struct ane_program_args, name, 0x80);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, scalarInput, 0x10);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, scalarInputCount, 0x20);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, structureInput, 0x30);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, structureInputSize, 0x38);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, scalarOutput, 0x48);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, scalarOutputCount, 0x50);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, structureOutput, 0x58);
ANE_CHECK_OFFSET(struct IOExternalMethodArguments, structureOutputSize, 0x60);

#endif
