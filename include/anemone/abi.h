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
#define kIOReturnNotPrivileged   ((IOReturn)0xe00002c1) /* an entitlement that the method needs is missing */
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

/* A property of a registry entry (iokit.h). */
enum ane_registry_kind {
    ANE_REGISTRY_NUMBER = 1,
    ANE_REGISTRY_TEXT = 2,
    ANE_REGISTRY_BOOLEAN = 3, /* number is 0 or 1 */
};
struct ane_registry_value {
    uint32_t kind; /* enum ane_registry_kind */
    uint32_t reserved;
    uint64_t number; /* 0 for a text */
    char text[64];   /* ends in NUL; "" for the others */
};

/* Client types of IOServiceOpen (chosen numbers; the real driver has these three classes). */
enum ane_client_type {
    ANE_CLIENT_CONTROL = 1,     /* programs and requests: the control selectors */
    ANE_CLIENT_DIRECT_PATH = 2, /* requests and memory maps: the direct-path selectors */
    ANE_CLIENT_HINTS = 3,       /* hints for other clients: setClientHint */
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

/*
 * Sessions. Device open gives a token, and every later request carries it (Table 27.3). Where is not public:
 * each struct below has a field `session` for it (chosen). The driver refuses a token of any other session
 * with kIOReturnBadArgument; 0 is the session of the connection that the call is made on. Calls without a
 * struct belong to that session too.
 */

/* Selector 0 of both clients, in and out: Table 27.3. */
struct ane_device_info {
    /* +0x00 in: enum ane_usage in the low byte; out: the session token, which memory maps name */
    uint64_t token;
    uint64_t callback;     /* +0x08 echoed; usually ANE_DEVICE_INFO_BOARD */
    uint64_t receiver;     /* +0x10 echoed */
    uint64_t timeout;      /* +0x18 milliseconds, 1 to 3,600,000; 0 = ANE_TIMEOUT_MS; echoed */
    uint8_t reserved0[40]; /* +0x20 in: ignored; out: 0 */
    uint32_t version[2];   /* +0x48 out: 32, 256 */
    uint64_t engines;      /* +0x50 out: of the machine, 1 */
    uint64_t reserved1;    /* +0x58 */
    uint64_t cpu_subtype;  /* +0x60 out: 4 */
};
enum ane_usage {
    ANE_USAGE_STANDARD = 1,
    ANE_USAGE_UNSUPPORTED = 2, /* ANE_RETURN_USAGE_REFUSED */
};
/* What a client without a callback sends at +0x08, a board id (Table 27.3). Any value is accepted. */
#define ANE_DEVICE_INFO_BOARD 0x1111222233334444ull
/* The timeout a usual client asks for, and the one it gets for 0: 10 seconds. */
#define ANE_TIMEOUT_MS 0x2710u

/*
 * Selector 2 of both clients, in: Table 27.6 to +0x20; the rest (chosen). Scalar input 0 is the doorbell
 * index. Requests travel on one channel, so the only index accepted is that channel's, ANE_REQUEST_DOORBELL.
 */
#define ANE_REQUEST_SURFACES 128
/*
 * A shared event that a request waits for or signals (chosen; iokit.h makes them). A wait holds when the
 * event's value is at least `value`; a signal raises the value to it and never lowers it.
 */
struct ane_request_event {
    uint32_t type;        /* ANE_EVENT_SHARED */
    uint32_t target_mask; /* signal: a bit per doorbell target that is rung beside; wait: 0 */
    uint64_t event;       /* of ane_event_create */
    uint64_t value;
};
#define ANE_SHARED_EVENT_DOORBELL 8u /* rung when a value was changed past the driver (catalogue.h) */
#define ANE_EVENT_SHARED          2u
#define ANE_REQUEST_EVENTS        32u /* waits and signals together */
#define ANE_REQUEST_SIGNALS       16u
#define ANE_REQUEST_EVENT_OBJECTS 2u /* different events in one request */
struct ane_request {
    uint64_t token;    /* +0x000 program or instance */
    uint64_t sequence; /* +0x008 the caller's own, returned in the reply */
    uint32_t priority; /* +0x010 0 (most urgent) to 7; usually ANE_REQUEST_PRIORITY */
    /*
     * +0x014 Darwin class, 0x21 user-interactive to 0x09 background; any number is taken. 0: the hint's, else
     * what prepare or the program names, else ANE_REQUEST_QOS
     */
    uint32_t qos;
    uint32_t procedure; /* +0x018 (chosen) below the procedures of ane_program_prepare */
    uint32_t category;  /* +0x01c io category, accepted as it is; usually ANE_REQUEST_CATEGORY */
    /* +0x020 surface ids: inputs, then outputs, then intermediates, in port order */
    uint32_t surface[ANE_REQUEST_SURFACES];
    /*
     * +0x220 counts (chosen): those of ane_program_prepare for the procedure; intermediates 0 = the driver's
     * own buffer
     */
    uint32_t inputs, outputs, intermediates;
    /*
     * +0x22c (chosen) receives statistics, and in the last 64 bytes of its pages the driver's counters; 0 =
     * none
     */
    uint32_t stats_surface;
    /* +0x230 (chosen) of each buffer in its surface; multiples of 16, the granule of Table 28.9 */
    uint64_t offset[ANE_REQUEST_SURFACES];
    uint64_t session; /* +0x630 (chosen) see "Sessions" above */
    /* +0x638 (chosen) how many of the events below it waits for, and how many it signals when it is done */
    uint32_t wait_events, signal_events;
    struct ane_request_event event[ANE_REQUEST_EVENTS]; /* +0x640 (chosen) the waits, then the signals */
    uint8_t reserved[8];                                /* +0x940 */
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
    uint64_t status;   /* +0x20 0 = done, or refused before it was sent: the return code says which */
};
/* The status an asynchronous call returns (chosen): accepted, and a message follows. */
#define ANE_REQUEST_PENDING UINT64_MAX

/*
 * Control selector 3: where the program's arguments are (chosen layout; the size is Table 27.2's). The driver
 * copies the image; the surface may be released as soon as the call has returned.
 */
struct ane_program_create {
    uint32_t surface; /* of the calling task */
    uint32_t flags;   /* 0 */
    uint64_t offset;  /* of struct ane_program_args in the surface; a multiple of 8 */
    uint64_t size;    /* of the arguments and the image behind them */
    uint64_t session; /* see "Sessions" above */
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
    uint8_t hash[2][32];     /* +0x18 (chosen) of the signed parts, see below; all 0: not signed */
    uint32_t reserved0;      /* +0x58 */
    uint32_t procedures;     /* +0x5c 0 or 1: one; at most ANE_PROGRAM_PROCEDURES */
    uint32_t weights;        /* +0x60 (chosen) a surface with weights.bin of a bundle; 0: behind main.e5 */
    uint32_t qos;            /* +0x64 of requests that name none; usually ANE_REQUEST_QOS */
    uint32_t flags;          /* +0x68 accepted as they are; usually ANE_PROGRAM_ARGS_FLAGS */
    uint32_t stats_mask;     /* +0x6c accepted as it is */
    uint32_t pool;           /* +0x70 memory pool id, accepted as it is */
    uint32_t reserved2[3];   /* +0x74 */
    char name[0x80];         /* +0x80 for messages; ends at a NUL or with the array */
};
#define ANE_PROGRAM_ARGS_VERSION 1u
#define ANE_PROGRAM_PROCEDURES   128u
#define ANE_PROGRAM_ARGS_FLAGS   0x10u
enum ane_program_representation {
    ANE_PROGRAM_LEGACY = 1, /* a program image, .hwx (ANEProgramLegacyResource) */
    ANE_PROGRAM_RT = 2,     /* a bundle (ANEProgramRTResource) */
};

/*
 * A program of several procedures (chosen): at ANE_PROGRAM_IMAGE are as many of these structs, and each names
 * one image, or one bundle with its struct ane_program_bundle, by its offset from ANE_PROGRAM_IMAGE, a
 * multiple of ANE_PROGRAM_BUNDLE_ALIGN behind the structs. image_size is the size of all of it. All are of
 * the representation of the arguments. Procedures may have ports, sizes and weights of their own; weights
 * with equal bytes are in memory once. Weight files of an instance count their target from the first byte of
 * all weights: those of procedure 0, then, at the next multiple of 64, the next ones that differ.
 */
struct ane_program_procedure {
    uint64_t offset; /* +0x00 */
    uint64_t size;   /* +0x08 */
};

/*
 * A signed program (chosen): this struct follows the image, at the next multiple of 8 from ANE_PROGRAM_IMAGE,
 * and image_size does not count it. The parts are main.e5 and weights.bin of a bundle, or an image and
 * nothing; of several procedures all of image_size and nothing. The hash of a part is SHA-256 over the 16
 * characters "anemone leaves 1", the SHA-256 of every 65,536 bytes of it (of the last, what is left), and its
 * size as eight bytes, the lowest first. The signature is Ed25519 over the 16
 * characters "anemone program2" and the two hashes. A bundle's file `signature` has the same 96 bytes.
 * Hashes, signature or key that are wrong are kIOReturnNotPermitted for every caller; a program without them
 * is, for callers without the developer flag.
 */
struct ane_program_signature {
    uint8_t key[32]; /* public; the driver trusts that of the user whose machine it is */
    uint8_t signature[64];
};

/*
 * What is at ANE_PROGRAM_IMAGE for ANE_PROGRAM_RT (chosen): this struct, main.e5, zeros up to the next
 * multiple of ANE_PROGRAM_BUNDLE_ALIGN (counted from this struct), weights.bin. image_size is the size of all
 * of it. With a surface in `weights` (of the calling task, also one of a file), weights.bin is the first
 * bytes of that surface instead, and image_size ends with main.e5; for one procedure. The driver expands the
 * records of main.e5 into descriptors; these are in no memory of the client.
 */
#define ANE_PROGRAM_BUNDLE_ALIGN 64
struct ane_program_bundle {
    uint64_t main_bytes;    /* +0x00 */
    uint64_t weights_bytes; /* +0x08 */
};

/*
 * Control selectors 4 and 5 (chosen layout). Prepare returns what a request of one procedure has to bind, in
 * port order. It may be asked again for each procedure; every prepare wants its unprepare.
 */
struct ane_program_prepare {
    uint64_t token;
    uint32_t qos;                            /* of requests that name none; 0: the program's */
    uint32_t priority;                       /* below 8; usually ANE_REQUEST_PRIORITY */
    uint32_t inputs, outputs, intermediates; /* out */
    uint32_t procedures;                     /* out: of the program */
    uint64_t intermediate_bytes;             /* out: least size of the intermediate buffer, 0 = none */
    uint32_t procedure;                      /* whose ports; unprepare ignores it */
    uint32_t flags;                          /* 0 */
    uint64_t session;                        /* see "Sessions" above */
};

/* Control selector 6. */
struct ane_program_destroy {
    uint64_t token;
    uint64_t session; /* see "Sessions" above */
};

/* Control selector 7 (chosen layout): the device as the caller's driver sees it now. */
struct ane_status {
    uint32_t state;     /* +0x00 enum ane_device_state */
    uint32_t engines;   /* +0x04 */
    uint32_t clients;   /* +0x08 open control and direct-path clients of all callers */
    uint32_t programs;  /* +0x0c loaded, of all callers */
    uint32_t processes; /* +0x10 of this client */
    uint32_t requests;  /* +0x14 of this client, under way */
    uint64_t pages;     /* +0x18 16 KiB pages that are mapped or held for this client */
};
enum ane_device_state {
    ANE_DEVICE_RUNNING = 1,
    ANE_DEVICE_FAULTED = 2, /* a translation fault is latched: see docs/dart.md */
    ANE_DEVICE_STOPPED = 3, /* the controller does not answer */
};

/*
 * Control selector 8 (chosen layout; the size is Table 27.2's): where the arguments of an instance are. The
 * driver copies them; the instance's token is written back.
 */
struct ane_instance_create {
    uint32_t surface; /* of the calling task */
    uint32_t flags;   /* 0 */
    uint64_t offset;  /* of struct ane_instance_args in the surface; a multiple of 8 */
    uint64_t size;    /* of the arguments and the weight files behind them */
    uint64_t session; /* see "Sessions" above */
};

/*
 * The arguments in that surface (chosen). An instance shares the text of its base program and has weights of
 * its own where it brings files: `weights` structs ane_instance_weights follow the arguments, and the files
 * are at the offsets they name, counted from the arguments. Without files it shares the weights as well.
 */
struct ane_instance_args {
    uint64_t token;       /* +0x00 out: the instance's, for requests, prepare and destroy */
    uint64_t base;        /* +0x08 token of the base program, of the same caller */
    uint32_t flags;       /* +0x10 enum ane_instance_flags */
    uint32_t queue_depth; /* +0x14 requests under way at once, 1 to 24; 0 = no limit of its own */
    uint32_t weights;     /* +0x18 files, at most ANE_INSTANCE_WEIGHTS */
    uint32_t version;     /* +0x1c ANE_INSTANCE_ARGS_VERSION */
    /* +0x20 out: intermediate-buffer handle; equal for siblings that share one */
    uint64_t intermediate;
    uint8_t reserved[24]; /* +0x28 */
};
struct ane_instance_weights {
    uint64_t target; /* +0x00 offset in the base program's weights; a multiple of 64 */
    uint64_t offset; /* +0x08 of the file's bytes, from the arguments; a multiple of 64 */
    uint64_t size;   /* +0x10 */
    uint64_t reserved;
};
#define ANE_INSTANCE_ARGS_VERSION 1u
#define ANE_INSTANCE_WEIGHTS      64u
enum ane_instance_flags {
    ANE_INSTANCE_POWER_SAVING = 1u << 0,
    ANE_INSTANCE_AGGRESSIVE_POWER_SAVING = 1u << 1,
    /* neither it, its base nor its mappings are unwired while it is idle; its client is evicted last */
    ANE_INSTANCE_KEEP_WIRED = 1u << 2,
    ANE_INSTANCE_SHARE_INTERMEDIATE = 1u << 3, /* use the base program's intermediate buffer */
};

/*
 * Control selector 9 (chosen layout; the sizes are Table 27.2's): makes a prepared program ready for chained
 * submission. The arguments are in a surface; the driver copies them.
 */
struct ane_chaining_prepare {
    uint64_t token;   /* +0x00 program or instance, prepared by this client */
    uint32_t surface; /* +0x08 holds struct ane_chaining_args, its links behind it */
    uint32_t offset;  /* +0x0c of the arguments; a multiple of 8 */
};
struct ane_chaining_args {
    uint32_t version;   /* +0x00 ANE_CHAINING_ARGS_VERSION */
    uint32_t procedure; /* +0x04 of the program */
    uint32_t sets;      /* +0x08 output buffer sets to keep, 1 to ANE_CHAINING_SETS */
    uint32_t flags;     /* +0x0c enum ane_chaining_flags */
    uint32_t priority;  /* +0x10 of its executions, as in a request; usually ANE_REQUEST_PRIORITY */
    uint32_t links;     /* +0x14 structs ane_chaining_link behind this one, at most ANE_CHAINING_LINKS */
    uint64_t group;     /* +0x18 handle of a group's first chain, of this program; 0 = a group of its own */
    uint64_t follow;    /* +0x20 handle of a chain whose executions trigger this one at their end; 0 = none */
    uint64_t session;   /* +0x28 see "Sessions" above */
    uint8_t reserved[16]; /* +0x30 */
};
/*
 * An output that is an input of a later execution: the buffer that the latest execution has written is read
 * there, at its place. Ports are counted from 0, inputs and outputs for themselves.
 */
struct ane_chaining_link {
    uint64_t source; /* handle of the chain that writes it, of the same program; 0 = the group of this one */
    uint32_t output, input;
};
/*
 * Groups: the members have the outputs and the output sets of the first, which runs when the group is
 * triggered until direct-path selector 8 selects another.
 */
enum ane_chaining_flags {
    /*
     * A set is free for further executions when the one that reads it by a link has ended, or at once when no
     * link reads it. Without this flag each set is used once for each direct-path selector 3.
     */
    ANE_CHAINING_AUTO_RECYCLE = 1u << 0,
};
#define ANE_CHAINING_ARGS_VERSION 1u
#define ANE_CHAINING_LINKS        16u
struct ane_chaining_reply {
    uint64_t handle;          /* +0x00 names the chain in direct-path selectors 3, 4 and 8 */
    uint32_t inputs, outputs; /* +0x08 of the procedure, in port order */
    uint32_t sets;            /* +0x10 granted */
    uint32_t reserved;
};
#define ANE_CHAINING_SETS 8u

/*
 * Direct-path selector 3 (chosen layout): posts one output buffer set of a chain or of its group, new or
 * returned. Executions take the sets in the order in which they were posted, and wait for one. A set that
 * another call is posting is kIOReturnBusy.
 */
struct ane_output_set {
    uint64_t handle;
    uint32_t set;     /* index below the sets of the chain */
    uint32_t outputs; /* entries of the list: the chain's outputs; 0 = the buffers it had */
    uint32_t surface; /* holds the list: struct ane_chained_buffer for each output */
    uint32_t reserved;
    uint64_t offset;  /* of the list; a multiple of 8 */
    uint64_t session; /* see "Sessions" above */
};
/*
 * `value` is that of the shared event which guards the buffer. It is 0 here, and anything else is refused:
 * the record does not say which event it is, no source does, and the messages of sets and triggers have no
 * place for one. A client waits for the event itself (ane_event_wait), then posts the set or the inputs.
 */
struct ane_chained_buffer {
    uint32_t surface; /* of an input: 0 = a link brings it */
    uint32_t reserved;
    uint64_t offset; /* a multiple of 16 */
    uint64_t value;
};

/*
 * Direct-path selector 4 (chosen layout): the inputs are there; rings the doorbell like selector 2. At the
 * first execution inputs of links have buffers too: what they read then. In the message of an asynchronous
 * call the sequence is the timestamp, the token the handle, and the detail of a success the set. A trigger
 * may wait in the firmware for a set: triggers and requests that wait for events are limited together, to a
 * quarter of all requests for one client and to half of them in all (kIOReturnNoResources).
 */
#define ANE_INPUTS_READY_BUFFERS 128
struct ane_inputs_ready {
    uint64_t handle;    /* +0x00 of a chain; of a group's first one: its active member runs */
    uint64_t timestamp; /* +0x08 execTimestamp; must rise with each call */
    uint64_t session;   /* +0x10 */
    uint32_t inputs;    /* +0x18 those of the chain */
    uint32_t doorbell;  /* +0x1c ANE_REQUEST_DOORBELL */
    struct ane_chained_buffer input[ANE_INPUTS_READY_BUFFERS]; /* +0x20 */
};

/* Direct-path selector 8 (chosen layout): which member of a group runs when the group is triggered. */
struct ane_active_procedure {
    uint64_t handle;    /* of the group's first chain */
    uint32_t procedure; /* of the member */
    uint32_t flags;     /* 0 */
    uint64_t session;
    uint64_t member; /* handle of the member; 0 = the first with that procedure */
};

/* Direct-path selector 7 (chosen layout): a hint about the work of this session. */
struct ane_session_hint {
    uint32_t hint; /* enum ane_hint */
    uint32_t value;
    uint64_t session;
};
struct ane_session_hint_reply {
    uint64_t session;
    uint32_t hint;
    uint32_t previous; /* the value until now */
    uint32_t value;    /* the value from now on */
    uint32_t reserved;
};
/* Hints and what they change (chosen). A hint of 0 takes it back. */
enum ane_hint {
    ANE_HINT_QOS = 1,         /* quality of service of requests that name none (qos 0) */
    ANE_HINT_RESIDENT = 2,    /* 1: mappings are evicted after those of clients without the hint */
    ANE_HINT_QUEUE_DEPTH = 3, /* requests under way at once, 1 to 24 */
};

/*
 * The hints client (ANE_CLIENT_HINTS) has one method, setClientHint (chosen numbers). Its scalars are a hint,
 * a value and a scope; it sets the hint for clients that are open, and for those that open while the hints
 * client is open.
 */
#define ANE_HINTS_METHODS(ROW, with) ROW(with, 0, setClientHint, 3, 0, 0, 0)
#define ANE_HINTS_setClientHint      0u
enum ane_hint_scope {
    ANE_HINT_SCOPE_TASK = 0,      /* clients of the calling task */
    ANE_HINT_SCOPE_COALITION = 1, /* clients of every task with the same team */
};

/*
 * The debug work-processor channel, control selectors 11 to 15 (chosen layouts). A registered client gets the
 * firmware's remote calls as items, each with the text of a warning: selector 13 {surface, offset} copies the
 * oldest one there as a struct ane_debug_item with its payload behind it; selector 14 {item, status} answers
 * it; selector 15 drops those that were not fetched.
 */
struct ane_debug_processor {
    uint64_t session;
    uint32_t items; /* kept at most, 1 to ANE_DEBUG_ITEMS */
    uint32_t flags; /* 0 */
    uint64_t reserved;
};
#define ANE_DEBUG_ITEMS 16u
struct ane_debug_item {
    uint64_t item; /* names it in selector 14; 0 = no item was waiting */
    uint32_t kind; /* of the remote call */
    uint32_t bytes;
};

/*
 * Direct-path selectors 5 and 6: 2080 bytes (chosen layout). Scalar input 0 of selector 5 is 0; its scalar
 * output 0 is the device address, good until selector 6 has unmapped it or the client is closed.
 *
 * With a program's token the surface is pre-mapped too: the firmware rebases it ahead of the first request of
 * that program that binds it, from `offset` on, at a port of that usage. The offset is then a multiple of 16.
 */
struct ane_memory_map {
    uint64_t token; /* the session's, from device open */
    uint32_t surface;
    uint32_t usage; /* enum ane_map_usage */
    uint64_t offset, size;
    uint64_t address; /* selector 6: the device address to unmap */
    uint64_t program; /* selector 5: the program to pre-map for, 0 = none; selector 6 ignores it */
    uint8_t reserved[2080 - 48];
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
ANE_CHECK_SIZE(struct ane_request_event, 24);
ANE_CHECK_SIZE(struct ane_request_reply, 40);
ANE_CHECK_SIZE(struct ane_program_create, 32);
ANE_CHECK_SIZE(struct ane_program_args, ANE_PROGRAM_IMAGE);
ANE_CHECK_SIZE(struct ane_program_bundle, 16);
ANE_CHECK_SIZE(struct ane_program_procedure, 16);
ANE_CHECK_SIZE(struct ane_program_signature, 96);
ANE_CHECK_SIZE(struct ane_program_prepare, 56);
ANE_CHECK_SIZE(struct ane_program_destroy, 16);
ANE_CHECK_SIZE(struct ane_status, 32);
ANE_CHECK_SIZE(struct ane_instance_create, 32);
ANE_CHECK_SIZE(struct ane_instance_args, 64);
ANE_CHECK_SIZE(struct ane_instance_weights, 32);
ANE_CHECK_SIZE(struct ane_chaining_prepare, 16);
ANE_CHECK_SIZE(struct ane_chaining_args, 64);
ANE_CHECK_SIZE(struct ane_chaining_link, 16);
ANE_CHECK_SIZE(struct ane_chaining_reply, 24);
ANE_CHECK_SIZE(struct ane_output_set, 40);
ANE_CHECK_SIZE(struct ane_chained_buffer, 24);
ANE_CHECK_SIZE(struct ane_inputs_ready, 3104);
ANE_CHECK_SIZE(struct ane_active_procedure, 32);
ANE_CHECK_SIZE(struct ane_session_hint, 16);
ANE_CHECK_SIZE(struct ane_session_hint_reply, 24);
ANE_CHECK_SIZE(struct ane_debug_processor, 24);
ANE_CHECK_SIZE(struct ane_debug_item, 16);
ANE_CHECK_SIZE(struct ane_memory_map, 2080);
ANE_CHECK_OFFSET(struct ane_device_info, version, 0x48);
ANE_CHECK_OFFSET(struct ane_device_info, engines, 0x50);
ANE_CHECK_OFFSET(struct ane_device_info, cpu_subtype, 0x60);
ANE_CHECK_OFFSET(struct ane_request, category, 0x1c);
ANE_CHECK_OFFSET(struct ane_request, surface, 0x20);
ANE_CHECK_OFFSET(struct ane_request, session, 0x630);
ANE_CHECK_OFFSET(struct ane_request, event, 0x640);
ANE_CHECK_OFFSET(struct ane_request_reply, status, 0x20);
ANE_CHECK_OFFSET(struct ane_program_args, hash, 0x18);
ANE_CHECK_OFFSET(struct ane_program_args, procedures, 0x5c);
ANE_CHECK_OFFSET(struct ane_program_args, name, 0x80);

#endif
