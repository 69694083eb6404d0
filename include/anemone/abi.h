/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel driver's ABI: selectors, argument structs, exact sizes, return codes, and the values a usual
 * client sends. docs/abi.md has the same as tables. iokit.h has the calls that carry these structs.
 *
 * Sizes, and the fields whose comment does not say (chosen), come from the public description of the real
 * driver (its tables are cited by number; docs/provenance.md). What is marked (chosen) is Anemone's: those
 * bytes exist in the real structs, but what they hold is not public.
 *
 * All structs are little-endian, and their members leave no padding. Fields named `reserved` are 0 on the way
 * in. The driver copies each struct once when the call begins; the caller may reuse it as soon as the call
 * has returned.
 */
#ifndef ANEMONE_ABI_H
#define ANEMONE_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t IOReturn;
typedef uint32_t io_object_t;
typedef io_object_t io_service_t;
typedef io_object_t io_connect_t;

/*
 * Return codes: values of the public IOReturn.h. The comments say what a code means here; iokit.h says which
 * call and which selector returns it.
 */
#define kIOReturnSuccess         ((IOReturn)0)
#define kIOReturnError           ((IOReturn)0xe00002bc) /* the engine or the firmware failed */
#define kIOReturnNoMemory        ((IOReturn)0xe00002bd) /* no host memory, DRAM or page tables */
#define kIOReturnNoResources     ((IOReturn)0xe00002be) /* a table with a fixed limit is full */
#define kIOReturnNoDevice        ((IOReturn)0xe00002c0) /* no such service, or its machine is ending */
#define kIOReturnNotPrivileged   ((IOReturn)0xe00002c1) /* a method's entitlement is missing: not used yet */
#define kIOReturnBadArgument     ((IOReturn)0xe00002c2) /* a size, pointer or value check failed */
#define kIOReturnExclusiveAccess ((IOReturn)0xe00002c5) /* ANE_RETURN_CLOSED */
#define kIOReturnUnsupported     ((IOReturn)0xe00002c7) /* not served; missing entitlement at open */
#define kIOReturnBusy            ((IOReturn)0xe00002d5) /* open already, or requests are under way */
#define kIOReturnTimeout         ((IOReturn)0xe00002d6) /* the client's timeout ended first */
#define kIOReturnNotReady        ((IOReturn)0xe00002d8) /* before device open or prepare */
#define kIOReturnNotPermitted    ((IOReturn)0xe00002e2) /* another task's surface; an unsigned program */
#define kIOReturnAborted         ((IOReturn)0xe00002eb) /* the client was closed while the call waited */
#define kIOReturnNotFound        ((IOReturn)0xe00002f0) /* no such program for this client */
/* Every call on a connection that is closed, or whose machine was destroyed. */
#define ANE_RETURN_CLOSED kIOReturnExclusiveAccess
/* Device open with ANE_USAGE_UNSUPPORTED: a bare number, as on the device. IOReturn.h has no name for it. */
#define ANE_RETURN_USAGE_REFUSED ((IOReturn)24)

/* Client types of IOServiceOpen (chosen numbers; the real driver has these three classes). */
enum ane_client_type {
    ANE_CLIENT_CONTROL = 1,     /* programs and requests: the control selectors */
    ANE_CLIENT_DIRECT_PATH = 2, /* requests and memory maps: the direct-path selectors */
    ANE_CLIENT_HINTS = 3,       /* opens, but has no selector yet: every call is kIOReturnBadArgument */
};

/*
 * Selectors: ROW(with, selector, Name, scalars in, struct bytes in, scalars out, struct bytes out). All four
 * sizes are exact; any other is kIOReturnBadArgument. Table 27.2 (control) and Table 27.4 (direct path).
 */
#define ANE_CONTROL_METHODS(ROW, with)                          \
    ROW(with, 0, DeviceOpen, 0, 104, 0, 104)                    \
    ROW(with, 1, DeviceClose, 0, 0, 0, 0)                       \
    ROW(with, 2, ProgramSendRequest, 1, 2376, 0, 40)            \
    ROW(with, 3, ProgramCreate, 0, 32, 0, 0)                    \
    ROW(with, 4, ProgramPrepare, 0, 56, 0, 56)                  \
    ROW(with, 5, ProgramUnprepare, 0, 56, 0, 0)                 \
    ROW(with, 6, ProgramDestroy, 0, 16, 0, 0)                   \
    ROW(with, 7, GetStatus, 0, 0, 0, 32)                        \
    ROW(with, 8, ProgramCreateInstance, 0, 32, 0, 0)            \
    ROW(with, 9, ProgramChainingPrepare, 0, 16, 0, 24)          \
    ROW(with, 10, GetVersion, 0, 0, 1, 0)                       \
    ROW(with, 11, RegisterDebugWorkProcessor, 0, 24, 0, 0)      \
    ROW(with, 12, UnregisterDebugWorkProcessor, 0, 0, 0, 0)     \
    ROW(with, 13, GetDebugWorkProcessorItem, 2, 0, 0, 0)        \
    ROW(with, 14, CompleteDebugWorkProcessorItem, 2, 0, 0, 0)   \
    ROW(with, 15, ReleaseDebugWorkProcessorBuffers, 0, 0, 0, 0) \
    ROW(with, 16, LoadFirmware, 3, 0, 0, 0)

#define ANE_DIRECT_METHODS(ROW, with)                  \
    ROW(with, 0, DeviceOpen, 0, 104, 0, 104)           \
    ROW(with, 1, DeviceClose, 0, 0, 0, 0)              \
    ROW(with, 2, ProgramSendRequest, 1, 2376, 0, 40)   \
    ROW(with, 3, ProgramOutputSetEnqueue, 0, 40, 0, 0) \
    ROW(with, 4, ProgramInputsReady, 0, 3104, 0, 0)    \
    ROW(with, 5, MemoryMapRequest, 1, 2080, 1, 0)      \
    ROW(with, 6, MemoryUnMapRequest, 0, 2080, 0, 0)    \
    ROW(with, 7, SessionHintRequest, 0, 16, 0, 24)     \
    ROW(with, 8, ProgramChainingSetActiveProcedure, 0, 32, 0, 0)

/* The selectors as numbers: ANE_CONTROL_DeviceOpen = 0 and so on. */
#define ANE_SELECTOR(prefix, selector, name, ...) prefix##name = (selector),
enum ane_control_selector { ANE_CONTROL_METHODS(ANE_SELECTOR, ANE_CONTROL_) };
enum ane_direct_selector { ANE_DIRECT_METHODS(ANE_SELECTOR, ANE_DIRECT_) };

/* The same tables with the names of the real methods: X(selector, ANE_Name, and the four sizes). */
#define ANE_METHOD(X, selector, name, ...) X(selector, ANE_##name, __VA_ARGS__)
#define ANE_CONTROL_SELECTORS(X)           ANE_CONTROL_METHODS(ANE_METHOD, X)
#define ANE_DIRECT_SELECTORS(X)            ANE_DIRECT_METHODS(ANE_METHOD, X)

/* Selector 0 of both clients, in and out: Table 27.3. */
struct ane_device_info {
    /* +0x00 in: enum ane_usage in the low byte; out: the session token, which memory maps name */
    uint64_t token;
    uint64_t callback;     /* +0x08 echoed */
    uint64_t receiver;     /* +0x10 echoed */
    uint64_t timeout;      /* +0x18 milliseconds, 1 to 3,600,000; 0 = ANE_TIMEOUT_MS; echoed */
    uint8_t reserved0[40]; /* +0x20 in: ignored; out: 0 */
    uint32_t version[2];   /* +0x48 out: 32, 256 */
    uint64_t engines;      /* +0x50 out: 1 */
    uint64_t reserved1;    /* +0x58 */
    uint64_t cpu_subtype;  /* +0x60 out: 4 */
};
enum ane_usage {
    ANE_USAGE_STANDARD = 1,
    ANE_USAGE_UNSUPPORTED = 2, /* ANE_RETURN_USAGE_REFUSED */
};
/* The timeout a usual client asks for, and the one it gets for 0: 10 seconds. */
#define ANE_TIMEOUT_MS 0x2710u

/*
 * Selector 2 of both clients, in: Table 27.6 to +0x20; the rest (chosen). Scalar input 0 is the doorbell
 * index. Requests travel on one channel, so the only index accepted is that channel's, ANE_REQUEST_DOORBELL.
 */
#define ANE_REQUEST_SURFACES 128
struct ane_request {
    uint64_t token;     /* +0x000 program or instance */
    uint64_t sequence;  /* +0x008 the caller's own, returned in the reply */
    uint32_t priority;  /* +0x010 0 (most urgent) to 7; usually ANE_REQUEST_PRIORITY */
    uint32_t qos;       /* +0x014 accepted as it is; usually ANE_REQUEST_QOS */
    uint32_t procedure; /* +0x018 (chosen) 0 */
    uint32_t category;  /* +0x01c io category, accepted as it is; usually ANE_REQUEST_CATEGORY */
    /* +0x020 surface ids: inputs, then outputs, then intermediates, in port order */
    uint32_t surface[ANE_REQUEST_SURFACES];
    /* +0x220 counts (chosen): those of ane_program_prepare; intermediates 0 = the driver's own buffer */
    uint32_t inputs, outputs, intermediates;
    uint32_t stats_surface; /* +0x22c (chosen) receives statistics; 0 = none */
    /* +0x230 (chosen) of each buffer in its surface; multiples of 64 */
    uint64_t offset[ANE_REQUEST_SURFACES];
    uint8_t reserved[0x318]; /* +0x630 */
};
/* What the usual client of the real driver was seen to send (Table 27.6). */
#define ANE_REQUEST_PRIORITY 5u
#define ANE_REQUEST_QOS      21u
#define ANE_REQUEST_CATEGORY 2u
#define ANE_REQUEST_DOORBELL 7u

/* Selector 2, out. Written whenever the arguments could be read, also for a request that failed. */
struct ane_request_reply {
    uint64_t sequence; /* +0x00 of the request */
    uint64_t token;    /* +0x08 of the request */
    uint64_t detail;   /* +0x10 (chosen) for a failure, what the engine or the firmware reported */
    uint64_t reserved; /* +0x18 */
    uint64_t status;   /* +0x20 0 = done */
};

/*
 * Control selector 3: where the program's arguments are (chosen layout; the size is Table 27.2's). The driver
 * copies the image; the surface may be released as soon as the call has returned.
 */
struct ane_program_create {
    uint32_t surface; /* of the calling task */
    uint32_t flags;   /* 0 */
    uint64_t offset;  /* of struct ane_program_args in the surface; a multiple of 8 */
    uint64_t size;    /* of the arguments and the image behind them */
    uint64_t reserved;
};

/*
 * The arguments in that surface. The places of hashes, counts and name are public, the rest is (chosen). The
 * image follows at ANE_PROGRAM_IMAGE.
 */
#define ANE_PROGRAM_IMAGE 0x100
struct ane_program_args {
    uint64_t token;          /* +0x00 out: written by the driver when the program was created */
    uint32_t representation; /* +0x08 (chosen) enum ane_program_representation */
    uint32_t version;        /* +0x0c (chosen) ANE_PROGRAM_ARGS_VERSION */
    uint64_t image_size;     /* +0x10 (chosen) */
    uint8_t hash[2][32];     /* +0x18 accepted as they are */
    uint32_t reserved0;      /* +0x58 */
    uint32_t procedures;     /* +0x5c 0 or 1 */
    uint32_t reserved1;      /* +0x60 */
    uint32_t qos;            /* +0x64 accepted as it is; usually ANE_REQUEST_QOS */
    uint32_t flags;          /* +0x68 accepted as they are; usually ANE_PROGRAM_ARGS_FLAGS */
    uint32_t stats_mask;     /* +0x6c accepted as it is */
    uint32_t pool;           /* +0x70 memory pool id, accepted as it is */
    uint32_t reserved2[3];   /* +0x74 */
    char name[0x80];         /* +0x80 for messages; ends at a NUL or with the array */
};
#define ANE_PROGRAM_ARGS_VERSION 1u
#define ANE_PROGRAM_ARGS_FLAGS   0x10u
enum ane_program_representation {
    ANE_PROGRAM_LEGACY = 1, /* a program image, .hwx (ANEProgramLegacyResource) */
    ANE_PROGRAM_RT = 2,     /* a bundle (ANEProgramRTResource) */
};

/*
 * What is at ANE_PROGRAM_IMAGE for ANE_PROGRAM_RT (chosen): this struct, main.e5, zeros up to the next
 * multiple of ANE_PROGRAM_BUNDLE_ALIGN (counted from this struct), weights.bin. image_size is the size of all
 * of it. The driver expands the records of main.e5 into descriptors; these are in no memory of the client.
 */
#define ANE_PROGRAM_BUNDLE_ALIGN 64
struct ane_program_bundle {
    uint64_t main_bytes;    /* +0x00 */
    uint64_t weights_bytes; /* +0x08 */
};

/* Control selectors 4 and 5 (chosen layout). Prepare returns what a request has to bind, in port order. */
struct ane_program_prepare {
    uint64_t token;
    uint32_t qos;                            /* accepted as it is; usually ANE_REQUEST_QOS */
    uint32_t priority;                       /* below 8; usually ANE_REQUEST_PRIORITY */
    uint32_t inputs, outputs, intermediates; /* out */
    uint32_t procedures;                     /* out: 1 */
    uint64_t intermediate_bytes;             /* out: least size of the intermediate buffer, 0 = none */
    uint64_t flags;                          /* 0 */
    uint64_t reserved;
};

/* Control selector 6. */
struct ane_program_destroy {
    uint64_t token;
    uint64_t flags; /* 0 */
};

/*
 * Direct-path selectors 5 and 6: 2080 bytes (chosen layout). Scalar input 0 of selector 5 is 0; its scalar
 * output 0 is the device address, good until selector 6 has unmapped it or the client is closed.
 */
struct ane_memory_map {
    uint64_t token; /* the session's, from device open */
    uint32_t surface;
    uint32_t usage; /* enum ane_map_usage */
    uint64_t offset, size;
    uint64_t address; /* selector 6: the device address to unmap */
    uint8_t reserved[2080 - 40];
};
/* Usage codes of a mapping that a client may ask for, Table 28.5. */
enum ane_map_usage { ANE_MAP_INPUT = 1, ANE_MAP_OUTPUT = 2, ANE_MAP_INTERMEDIATE = 7 };

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

#endif
