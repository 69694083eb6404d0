/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel driver (ANEHWDevice and its user clients). Below it are MMIO accesses on the bus and bytes in
 * DRAM; above it selectors with exact sizes and surfaces by id. It runs under the machine's one lock; a call
 * that waits gives the machine time through the platform and holds no gate meanwhile.
 */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anemone/abi.h>

#include "base/error.h"
#include "driver/arguments.h"
#include "protocol/board.h"
#include "protocol/dart_error.h"
#include "protocol/entitlement.h"
#include "protocol/notification.h"
#include "soc/bus.h"

struct drv;
struct drv_client;
struct soc_trace;
struct pr_kext;

/*
 * How long a wait may last, from the first wait that uses it. A timer is the driver's own, in virtual time.
 * Anything else is a caller's patience, while other callers may act: whether that is wall time or virtual
 * time is the platform's business.
 */
struct drv_deadline {
    bool timer;
    bool quiet; /* only other callers can end the wait: the platform need not let the machine run for it */
    uint64_t ns;
    uint64_t at; /* the platform's: 0 until the first wait */
};

/* Requests that exist, of all clients together: what an index of port_watch is below. */
#define DRV_WATCHES 48u

/* Where a request completes that no caller waits for. */
struct drv_wake {
    uint32_t port;
    uint64_t reference[DRV_REFERENCES]; /* the caller's own, returned in the message */
};

/* What arrives there. */
struct drv_message {
    uint64_t reference[DRV_REFERENCES];
    IOReturn result;
    struct ane_request_reply reply;
};

/*
 * Memory as the platform hands it out: physically scattered pages, and the kernel's contiguous view of them.
 * `extent` lists the pages in the order of the bytes. It belongs to the platform and is good until the pages
 * are given back. No two extents that follow each other are neighbours in physical memory, so a device sees
 * the pages in one piece only through a page table.
 */
struct drv_pages {
    struct pr_extent *extent;
    uint32_t extents;
    uint64_t bytes; /* in use; the extents are as many whole pages as that takes */
    void *host;     /* the bytes in one piece; NULL when no view was asked for */
};

/* What a kernel would give the driver. Functions return 0 or a negative errno. */
struct drv_platform {
    void *context;
    struct soc_bus *bus;
    struct soc_trace *trace; /* what the driver does is recorded there; never NULL */
    const struct pr_board *board;
    uint64_t firmware_image; /* physical address of the memory that the boot loader reserved for it */
    /* The image (protocol/image.h), which the driver loads there; NULL: the boot loader has done that. */
    const void *firmware_bytes;
    size_t firmware_size;
    /* That memory, for the kernel; NULL when any of it is not reserved. */
    void *(*memory_at)(void *context, uint64_t address, uint64_t bytes);
    uint32_t leaf_form;  /* enum pr_leaf_form: how page-table entries are written */
    uint32_t engines;    /* of the machine */
    bool internal_build; /* the debug surfaces need no second access property */
    /* The three extensions that were loaded, PR_KEXT_COUNT of them; NULL: those of protocol/kext.h. */
    const struct pr_kext *kexts;
    /* RTBuddy endpoints that are registered, ended by NULL; NULL: PR_RTBUDDY_REGISTERED alone. */
    const char *const *endpoints;

    /* DRAM in whole pages, zeroed; with `view`, also in one piece for the kernel. A page is one extent. */
    int (*alloc)(void *context, uint64_t bytes, bool view, struct drv_pages *pages);
    void (*free)(void *context, struct drv_pages *pages);
    /*
     * Copies to a place in such DRAM, for large amounts: pages that are written as a whole need not be
     * cleared first, and are in no view. False: nothing is known of what they hold. May be NULL.
     */
    bool (*fill)(void *context, const struct drv_pages *pages, uint64_t offset, const void *from,
                 uint64_t bytes);
    bool one_in_flight; /* one request in the firmware; else one of each band */
    bool turns;         /* clients that wait for a domain respect the turns of others (driver/state.h) */
    bool timed;         /* the stages of a dispatch take their time (protocol/timing.h); needs `after` */

    /*
     * A surface by id, for a caller of that task: its pages, with a view; counted, put back as often as got.
     * The pages are the same until the last is put back. -ENOENT when there is none, -EPERM when it is
     * another task's and not shared, others when it cannot be attached; with a sentence.
     */
    int (*surface_get)(void *context, uint32_t id, uint32_t task, struct drv_pages *pages,
                       struct base_error *error);
    void (*surface_put)(void *context, uint32_t id);
    /*
     * Copies from a surface without a view of it: also from one that is of a file, which surface_get refuses
     * with -EINVAL. -EINVAL for a place outside, or bytes that are no longer there; with a sentence.
     */
    int (*surface_read)(void *context, uint32_t id, uint32_t task, uint64_t offset, void *to, uint64_t bytes,
                        struct base_error *error);

    /* The 32 bytes of the public key that signs programs here; false: none is trusted. May be NULL. */
    bool (*trusted_key)(void *context, uint8_t *key);

    uint64_t (*now)(void *context);
    /*
     * Lets the machine run until *done is true or the deadline has passed (-ETIMEDOUT); NULL is no deadline.
     * Other calls into the driver may be admitted meanwhile. May be called with work of other waiters
     * outstanding.
     */
    int (*wait)(void *context, const bool *done, struct drv_deadline *deadline);
    /* Calls fn(argument) after so much virtual time, with the machine's lock held. May be NULL. */
    int (*after)(void *context, uint64_t ns, void (*fn)(void *argument), void *argument);
    /* A DART fault ends everything, as on the device; the sentence says why. NULL: faults are survived. */
    void (*panic)(void *context, const char *sentence);

    /*
     * A post-mortem dump of the firmware, in the form of protocol/dump.h; good during the call. May be NULL.
     */
    void (*dump)(void *context, const void *bytes, size_t size);

    /*
     * Wake ports. `port_reserve` makes room for one message: -ENOENT when there is no such port, -ENOSPC when
     * its room is taken, -EAGAIN when nothing could serve it; with a sentence. Each reservation ends with
     * port_cancel, or with the message of the request that was watched.
     */
    int (*port_reserve)(void *context, uint32_t port, struct base_error *error);
    void (*port_cancel)(void *context, uint32_t port);
    /*
     * From here on the request (its index) makes progress without a caller, and drv_request_expire is called
     * when the deadline has passed. -ENOSPC when no timer is left. `port_deliver` ends that.
     */
    int (*port_watch)(void *context, uint32_t request, const struct drv_deadline *deadline);
    void (*port_deliver)(void *context, uint32_t request, uint32_t port, const struct drv_message *message);
};

/* Who calls: entitlements, code-signing identity. */
struct drv_identity {
    uint32_t entitlements; /* a set of enum pr_entitlement; the process itself holds all */
    bool developer;        /* may load raw program images */
    uint32_t task;         /* a number that no other caller ever has; 0 is the process itself */
    /* Team and hash are those of a code signature; without one a caller equals only itself. */
    bool has_signature;
    char team[32];
    uint8_t cdhash[20];
};

int drv_create(const struct drv_platform *platform, struct drv **driver, struct base_error *error);
/*
 * ANEHWDevice::start, power_on_hardware, ANE_Init: apertures, RTBuddy client, power, endpoint, handshakes,
 * channels, boot commands. Each way to fail has its own sentence. A missing second wake is retried with a
 * power cycle, DRV_BOOT_TRIES times in all, counted.
 */
#define DRV_BOOT_TRIES 3
int drv_start(struct drv *driver, struct base_error *error);
void drv_destroy(struct drv *driver);

/*
 * Sleep: QUIESCE_STATE, processes terminated, programs unloaded, SUSPEND, POWER_DOWN, power off; all of it is
 * kept for the next use. -EBUSY, -EIO or -ENODEV with a sentence. Wake: power_on_hardware and ANE_Init, warm;
 * any call of a client does that too. -ENODEV with a sentence when the firmware does not come up.
 */
int drv_sleep(struct drv *driver, struct base_error *error);
int drv_wake(struct drv *driver, struct base_error *error);

/*
 * A report of the running firmware as text (enum pr_report), ended by 0; *bytes is the room and becomes the
 * length. -EINVAL, -ENOSPC or -EIO with a sentence.
 */
int drv_debug_report(struct drv *driver, uint32_t report, char *text, size_t *bytes,
                     struct base_error *error);
/* The last load report, and how many there were. */
struct pr_load_report;
const struct pr_load_report *drv_debug_load(const struct drv *driver, uint64_t *reports);

/* The controller rang: called when the host's interrupt line rises, with the machine's lock held. */
void drv_interrupt(struct drv *driver);

/* A DART has captured a fault: called when the DARTs' line rises, with the machine's lock held. */
void drv_fault_interrupt(struct drv *driver);

/*
 * The last fault. What the firmware's event says (program, procedure, descriptor, transfer, tensor) is added
 * when it has come; until then, and for a fault of the firmware's, those are 0, "" and DRV_FAULT_UNKNOWN.
 */
#define DRV_FAULT_UNKNOWN UINT32_MAX
#define DRV_FAULT_TEXT    512u
#define DRV_FAULT_TENSOR  96u
struct drv_fault_report {
    uint64_t count;    /* faults so far; 0: none */
    uint64_t time;     /* virtual */
    uint64_t snapshot; /* physical address of struct pr_dart_snapshot */
    uint64_t address;  /* the whole of it; the descriptor has 32 bits */
    struct IODARTErrorInfo info;
    uint32_t engine_status;
    bool benign;
    uint32_t client; /* 0: the firmware, or none */
    uint64_t program;
    uint32_t procedure, descriptor;
    uint32_t dma; /* enum pr_tm_dma */
    char name[64], tensor[DRV_FAULT_TENSOR];
    char text[DRV_FAULT_TEXT]; /* one sentence */
};
const struct drv_fault_report *drv_fault_last(const struct drv *driver);
/* The latch is set from a fault that is not benign to the recovery; requests queue meanwhile. */
bool drv_fault_latched(const struct drv *driver);

/*
 * Consumers are called with the descriptor of each fault, in the order of their registration, after the
 * driver's own. -ENOSPC when the table is full.
 */
#define DRV_FAULT_CONSUMERS 4u
typedef void (*drv_fault_consumer)(void *context, const struct IODARTErrorInfo *info,
                                   const struct drv_fault_report *report);
int drv_fault_register(struct drv *driver, drv_fault_consumer consumer, void *context);
/* A deadline of port_watch has passed: called with the machine's lock held, outside every call. */
void drv_request_expire(struct drv *driver, uint32_t request);

/* A refusal writes its sentence to `error`, which may be NULL; so does drv_client_call. */
IOReturn drv_client_open(struct drv *driver, const struct drv_identity *identity, uint32_t type,
                         struct drv_client **client, struct base_error *error);
/*
 * Requests under way get kIOReturnAborted; programs, mappings and surfaces of the client are given back. The
 * handle is gone afterwards.
 */
void drv_client_close(struct drv_client *client);
/*
 * externalMethod: exact sizes and then pointers are checked against the dispatch table before anything is
 * read.
 */
IOReturn drv_client_call(struct drv_client *client, uint32_t selector,
                         struct IOExternalMethodArguments *arguments, struct base_error *error);

/* The same for a method of the catalogue (anemone/catalogue.h). */
IOReturn drv_catalogue_call(struct drv_client *client, uint32_t method,
                            struct IOExternalMethodArguments *arguments, struct base_error *error);

/*
 * Shared events (anemone/iokit.h), with scalars: CREATE (value; event), VALUE (event; value), SIGNAL (event,
 * value), WAIT (event, value, nanoseconds), SHARE (event, task), RELEASE (event). The numbers are above those
 * of selectors and of the catalogue, so that a trace can separate them. Blocks in WAIT alone, and while the
 * device is restarted.
 */
enum drv_event_operation {
    DRV_EVENT_FIRST = 0x200,
    DRV_EVENT_CREATE = DRV_EVENT_FIRST,
    DRV_EVENT_VALUE,
    DRV_EVENT_SIGNAL,
    DRV_EVENT_WAIT,
    DRV_EVENT_SHARE,
    DRV_EVENT_RELEASE,
    DRV_EVENT_OPERATIONS
};
IOReturn drv_event_call(struct drv_client *client, uint32_t operation,
                        struct IOExternalMethodArguments *arguments, struct base_error *error);

/*
 * The surface's owner has released it: mappings kept for later requests are given back, those in use with
 * their last use.
 */
void drv_surface_released(struct drv *driver, uint32_t id);
/* The same for the clients of one task, with which the surface is no longer shared. */
void drv_surface_unshared(struct drv *driver, uint32_t id, uint32_t task);

/*
 * The registry: entries by number from 0, the root. Names and keys are constants. An entry that does not
 * exist has no name, no child (DRV_REGISTRY_NONE) and no property.
 */
#define DRV_REGISTRY_ROOT 0u
#define DRV_REGISTRY_NONE 0xffffffffu
const char *drv_registry_name(const struct drv *driver, uint32_t entry);
uint32_t drv_registry_child(const struct drv *driver, uint32_t entry, uint32_t index);
/* The entry that a service registers under that name. */
uint32_t drv_registry_find(const char *name);
/* False when the entry has fewer properties. `value` is as it was then. */
bool drv_registry_property(const struct drv *driver, uint32_t entry, uint32_t index, const char **key,
                           struct ane_registry_value *value);

/*
 * How long a mapping that no request uses is kept (virtual time); 0, the default, is until its client closes.
 * Looked at when a client's call ends.
 */
void drv_unwire_set_ttl(struct drv *driver, uint64_t ns);

/* Its number on this driver, from 1, never used again: what messages and traces call it. */
uint32_t drv_client_number(const struct drv_client *client);

/* The last failure on this driver in words, of any client: for logs and tests. */
const char *drv_last_error(const struct drv *driver);

/* What a client has, and what it has used so far. */
struct drv_figures {
    uint32_t number, task, type;
    uint32_t programs, in_flight, queue_depth;
    uint64_t completed, engine_ns, bytes;
};
/* Up to `room` clients that are open, oldest first; how many there are. */
size_t drv_figures_get(const struct drv *driver, struct drv_figures *figures, size_t room);

/* Memory of programs, and what the worker has done so far. */
struct drv_reclaimed {
    uint64_t wired, pageable; /* bytes of programs in DRAM, and in host memory */
    uint64_t unwired, rewired, sleeps;
    uint32_t programs;
    bool asleep;
};
/*
 * One pass of the worker (anemone/machine.h, ane_machine_reclaim). May wait. -ENODEV with a sentence when the
 * device has not started.
 */
int drv_reclaim_pass(struct drv *driver, uint64_t limit, uint32_t passes, struct drv_reclaimed *reclaimed,
                     struct base_error *error);

struct drv_stats {
    uint64_t requests, completed, failed, aborted, interrupts, boots, boot_failures;
    uint32_t clients, programs, surfaces_mapped, in_flight;
    uint64_t crashes, recoveries, dumps, dumps_incomplete;
    uint64_t cancelled;        /* commands and requests that a restart of the firmware ended */
    uint64_t pages;            /* DRAM pages the driver holds */
    uint64_t client_pages;     /* pages mapped or held for clients */
    uint64_t evictions;        /* mappings reclaimed for others */
    uint64_t unwired, rewired; /* programs whose memory went to the host, and came back */
    uint64_t saving_sleeps;    /* sleeps of the device for power saving */
    /* The throttle of seeds ch. 29: requests that found no room, and how often a returned one woke them. */
    uint64_t parked, woken;
    /* What one client may have at most, and how often a call was refused because it had. */
    uint32_t client_requests, client_programs;
    uint64_t over_quota;
    /* What the firmware counted in statistics buffers: records, log events, stat events. */
    uint64_t stats_valid, stats_log, stats_events;
    uint64_t notified[PR_NOTIFICATION_COUNT]; /* notifications of each kind */
    uint64_t rpc_answered;                    /* calls of the firmware's */
    uint32_t load_score;                      /* the last that crossed a watermark, in 1/65535 */
};
struct drv_stats drv_stats_get(const struct drv *driver);

#endif
