/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker, which compiles, loads and instantiates models for every process of a machine that is served
 * (docs/service.md). It holds the entitlement to open the device; its clients do not. A program of e5rt.h
 * needs nothing of this header: the runtime calls the broker by itself. It is for what e5rt.h has no call
 * for: adapters, sharing, residency and power arguments, the cache.
 *
 *     ane_broker_connect -> ane_broker_compile -> ane_broker_load -> ane_broker_submit ... ->
 *     ane_broker_release -> ane_broker_disconnect
 *
 * Every call may return
 *   kIOReturnBadArgument    a pointer is NULL, a size or a value is wrong
 *   kIOReturnNotPrivileged  the caller's policy does not grant the key that the method needs; the sentence
 *                           names the key and the line of a policy file that grants it
 *   kIOReturnNoDevice       the service or the broker has ended
 *   kIOReturnNoResources    a limit; the sentence says which
 * and leaves a sentence in ane_machine_error() (machine.h) when it fails. A call that fails changes nothing.
 * Calls may be made from any thread; calls on one connection are served one after the other, so a thread that
 * submits while another compiles uses a connection of its own. A forked child has none: kIOReturnNoDevice.
 *
 * Quality of service goes with every call that makes something: 0x21 user-interactive, 0x19 user-initiated,
 * 0x15 default, 0x11 utility, 0x09 background; 0 is the default. It decides the order of compilations, the
 * priority of the program's requests and their place in its queue (docs/service.md).
 */
#ifndef ANEMONE_BROKER_H
#define ANEMONE_BROKER_H

#include <anemone/iokit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection to the broker. */
struct ane_broker;

/*
 * Connects to the broker of the service that this process uses (ane_service_name). Needs
 * com.apple.aned.private.allow or com.apple.aned.private.ANEAccess.allow: kIOReturnNotPrivileged without.
 * kIOReturnNoDevice: the process has no service, or the broker does not run. *broker is NULL after a failure.
 */
ANE_API IOReturn ane_broker_connect(struct ane_broker **broker);

/* Ends a connection, and every instance that was made on it. NULL is allowed. */
ANE_API void ane_broker_disconnect(struct ane_broker *broker);

/*
 * The socket of the service that this process uses; NULL when it has a machine of its own. Which it is is
 * decided here if no call has decided it yet. NULL with a sentence in ane_machine_error(): ANEMONE_SERVICE
 * names a service that does not answer, or refuses; calls that need the engine fail with that sentence.
 */
ANE_API const char *ane_service_name(void);

/* Who the caller is for the broker. */
struct ane_broker_info {
    size_t size;           /* set by the caller to sizeof(struct ane_broker_info) */
    uint32_t pid, uid;     /* as the service sees them */
    const char *tier;      /* "per-user", "restricted" or "unrestricted"; a constant */
    uint32_t instances;    /* of this connection */
    uint32_t queue_depth;  /* requests of this client at once, now */
    uint32_t clients;      /* that have sent requests in the last second */
    uint32_t entitlements; /* how many keys the policy grants */
    char partition[64];    /* of the cache */
};
/*
 * Fills *info, whose size the caller has set. kIOReturnBadArgument: info is NULL, or the size is another.
 */
ANE_API IOReturn ane_broker_info(struct ane_broker *broker, struct ane_broker_info *info);

/* ---- Models ---- */

#define ANE_BROKER_MODEL 65 /* characters of a model's identifier, with its NUL */

/*
 * Compiles a model, in a process of its own, unless the user's cache partition has it. `path` is a .mil file
 * or a bundle; the caller opens its folder, and the compiler reads nothing outside that folder.
 */
struct ane_broker_compile {
    size_t size; /* set by the caller to sizeof(struct ane_broker_compile) */
    const char *path;
    uint32_t qos;
    uint32_t force;  /* 1: also when the cache has it */
    uint32_t longer; /* 1: the longer-duration service; needs secondaryANECompilerServiceAccess.allow */
    uint32_t look;   /* 1: only if the cache has it, else kIOReturnNotFound */
};
struct ane_broker_model {
    size_t size; /* set by the caller to sizeof(struct ane_broker_model) */
    char model[ANE_BROKER_MODEL];
    uint32_t hit; /* 1: the cache had it */
    uint64_t compile_ns;
    uint32_t operations, descriptors;
    uint64_t main_bytes, weights_bytes, intermediate_bytes;
    int main;          /* a memory file with a copy of main.e5, which the caller closes */
    char trouble[256]; /* why the cache was not used; "" */
};
/*
 * Needs com.apple.aned.private.allow. Blocks until it is compiled. kIOReturnBadArgument: the compiler refused
 * the model, and the sentence is the compiler's. kIOReturnAborted: the compiler ended on it, or used up its
 * memory or time. kIOReturnBusy: earlier models of this client failed; the sentence says how long to wait.
 */
ANE_API IOReturn ane_broker_compile(struct ane_broker *broker, const struct ane_broker_compile *compile,
                                    struct ane_broker_model *model);

/*
 * Removes compiled models from the cache: `model`, or with NULL all; of the caller's partition, or with
 * all_partitions of those of all users (needs modelPurgeInAllPartitions). Models that are resident stay
 * resident. *models and *bytes, which may be NULL, are what was removed. kIOReturnNotFound: there is no such
 * model in the partition.
 */
ANE_API IOReturn ane_broker_purge(struct ane_broker *broker, const char *model, int all_partitions,
                                  uint32_t *models, uint64_t *bytes);

/* ---- Instances ---- */

/* The arguments of the daemon's create-instance method, by its names where it has one. */
struct ane_broker_arguments {
    size_t size;             /* set by the caller to sizeof(struct ane_broker_arguments) */
    const char *model;       /* identifier, from ane_broker_compile */
    const char *image;       /* instead: an .hwx image's path (isPreCompiled); needs anemone.raw-images */
    const char *name;        /* for messages; NULL takes the model's */
    uint64_t token;          /* the caller's own word, returned in the instance */
    uint32_t qos;            /* see above */
    uint32_t power_saving;   /* 1: the device may sleep as soon as this instance and its like are idle */
    uint32_t aggressive;     /* 1: at once; needs power_saving and aned.private.aggressivePowerSaving */
    uint32_t skip_prepare;   /* 1: the first request prepares it */
    uint32_t stats_mask;     /* set to 0 by the broker for every client, as on the device */
    uint32_t memory_pool;    /* 0; no other pool exists: kIOReturnUnsupported */
    uint32_t late_latch;     /* 0; no source says what it does: kIOReturnUnsupported */
    const char *identity;    /* a team; NULL or the caller's own, others are kIOReturnNotPermitted */
    uint32_t owner;          /* pid; 0 or the caller's own, others are kIOReturnNotPermitted */
    const char *cache_id[2]; /* NULL, or the model's identifier and the caller's partition */
    uint32_t keep_wired;     /* 1: opts out of unwiring while it is idle */
    uint32_t queue_depth;    /* requests of it at once, 1 to 24; 0: no limit of its own */
    /*
     * 1: attach to the model if a process with the same team and code-directory hash has it resident, and let
     * such processes attach; needs processModelShare.allow
     */
    uint32_t share;
};
struct ane_broker_instance {
    size_t size;           /* set by the caller to sizeof(struct ane_broker_instance) */
    uint64_t instance;     /* names it in the calls below */
    uint64_t program;      /* program handle: `token` of a request on a direct-path connection */
    uint64_t intermediate; /* intermediate-buffer handle: equal for instances that share one */
    uint64_t token;        /* the caller's */
    uint32_t inputs, outputs, intermediates, procedures; /* 0 with skip_prepare: not counted yet */
    uint64_t intermediate_bytes;
    uint32_t qos, priority, queue_index; /* what requests of it should name: quality of service, priority */
    uint32_t queue_depth;                /* granted now; the broker lowers and raises it */
    uint32_t shared;                     /* 1: the model was resident for another process already */
};
/*
 * Makes a model resident, with a first instance of it. kIOReturnNotFound: the caller's partition has no such
 * model; it may have been purged. Otherwise as selectors 3 and 4 of iokit.h.
 */
ANE_API IOReturn ane_broker_load(struct ane_broker *broker, const struct ane_broker_arguments *arguments,
                                 struct ane_broker_instance *instance);
/* A further instance of a model that is resident for this client. kIOReturnNotFound: it is not. */
ANE_API IOReturn ane_broker_create_instance(struct ane_broker *broker,
                                            const struct ane_broker_arguments *arguments,
                                            struct ane_broker_instance *instance);

/* Bytes that replace those at `target` of the base model's weights: multiples of 64 in place. */
struct ane_broker_weights {
    uint64_t target;
    const void *bytes;
    uint64_t size;
};
/*
 * An adapter: an instance of the resident base model arguments->model that holds only its weight files.
 * Needs com.apple.aned.private.adapterWeight.allow. The bytes are copied before it returns.
 * kIOReturnNotFound: the base model is not resident for this client. Otherwise as control selector 8.
 */
ANE_API IOReturn ane_broker_create_instance_with_weights(struct ane_broker *broker,
                                                         const struct ane_broker_arguments *arguments,
                                                         const struct ane_broker_weights *files,
                                                         uint32_t count,
                                                         struct ane_broker_instance *instance);
/*
 * Ends an instance; with the last one its model is no longer resident for this client. kIOReturnNotFound: it
 * has no such instance. kIOReturnBusy: it is the last instance of a model of which adapters exist, or
 * requests of it are under way.
 */
ANE_API IOReturn ane_broker_release(struct ane_broker *broker, uint64_t instance);

/*
 * Sends a request through the broker, and waits for it: selector 2 for a client that has no connection of its
 * own. Token and session of the request are filled in by the broker; surfaces are the caller's (task 0).
 * Calls on one connection follow each other. Of requests with wait events six are under way at once through
 * the broker, four of one user; a further one is sent when another has ended.
 * kIOReturnNotFound: it has no such instance. Otherwise as selector 2.
 */
ANE_API IOReturn ane_broker_submit(struct ane_broker *broker, uint64_t instance,
                                   const struct ane_request *request, struct ane_request_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
