/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of IO_T2H: the fourteen notifications of seeds ch. 30, and the firmware's side of
 * BACK_CHANNEL_RPC. Each begins with sequence and id, as PROGRAM_EVENT does (command facts 5.2); the rest is
 * CHOSEN. They are at least 0x28 and at most PR_NOTIFICATION_BYTES_MAX long and go in the order in which they
 * were posted.
 */
#ifndef PROTOCOL_NOTIFICATION_H
#define PROTOCOL_NOTIFICATION_H

#include "protocol/cache.h"
#include "protocol/message.h"

#define PR_NOTIFICATION_BYTES_MIN 0x28u
#define PR_NOTIFICATION_BYTES_MAX 0x40u

struct pr_notification_head {
    uint32_t sequence; /* one number for all messages of the channel */
    uint32_t id;       /* enum pr_command */
};

/* CH_ERROR_NOTIFICATION: a message of a channel that has no answer to write to, or lost reports. */
struct pr_notify_error {
    struct pr_notification_head head;
    uint32_t error;   /* enum pr_channel_error; opaque for hosts that do not know it */
    uint32_t channel; /* enum pr_channel */
    uint64_t address, length;
    uint64_t time; /* host time */
};
enum pr_channel_error {
    PR_CHANNEL_ERROR_UNREADABLE = 1, /* a slot points to memory that is not mapped, or to none */
    PR_CHANNEL_ERROR_LOST = 2,       /* notifications for which there was no room; length: how many */
    PR_CHANNEL_ERROR_RPC = 3,        /* a slot of RPCEventMap was not answered; address: the slot */
};

/*
 * CH_SIGNPOST_NOTIFICATION and CH_SIGNPOST64_NOTIFICATION: with TRACE_ENABLE bit PR_TRACE_SIGNPOSTS. The
 * first has 32-bit arguments, the second 64-bit ones. The _GROUP forms have two or more of one time.
 */
#define PR_TRACE_SIGNPOSTS    4u
#define PR_SIGNPOST_GROUP     3u
#define PR_SIGNPOST64_GROUP   2u
#define PR_SIGNPOST_ARGUMENTS 2u
enum pr_signpost {
    PR_SIGNPOST_ACCEPTED = 1, /* arguments: program << 16 | process, cookie's low half */
    PR_SIGNPOST_PUSHED = 2,   /* queue, network id */
    PR_SIGNPOST_RETIRED = 3,  /* queue, network id */
    PR_SIGNPOST_REPORTED = 4, /* status, cookie's low half */
    PR_SIGNPOST_SPAN = 5,     /* 64 bits: accepted to pushed, pushed to retired, in ns */
};
struct pr_notify_signpost {
    struct pr_notification_head head;
    uint32_t code; /* enum pr_signpost */
    uint32_t argument[2];
    uint32_t zero;
    uint64_t time;
    uint64_t zero2;
};
struct pr_notify_signpost64 {
    struct pr_notification_head head;
    uint32_t code, zero;
    uint64_t argument[2];
    uint64_t time;
};
struct pr_notify_signposts {
    struct pr_notification_head head;
    uint32_t count, zero; /* 2 to PR_SIGNPOST_GROUP */
    uint64_t time;
    struct {
        uint32_t code;
        uint32_t argument[PR_SIGNPOST_ARGUMENTS];
    } post[PR_SIGNPOST_GROUP];
    uint32_t zero2;
};
struct pr_notify_signposts64 {
    struct pr_notification_head head;
    uint32_t count, zero; /* 2 to PR_SIGNPOST64_GROUP */
    uint64_t time;
    uint32_t code[PR_SIGNPOST64_GROUP];
    uint64_t argument[PR_SIGNPOST64_GROUP][PR_SIGNPOST_ARGUMENTS];
};

/*
 * CPU_LOAD_NOTIFICATION: the load score has crossed a watermark (properties LOAD_LOW and LOAD_HIGH). It is
 * measured while LOAD_HIGH is not 0, in spans of PR_LOAD_SCORE_NS that begin with a call and follow each
 * other until one of them was idle. After a boot the load is below.
 */
#define PR_LOAD_SCORE_NS  1000000u
#define PR_LOAD_SCORE_MAX 0xffffu
struct pr_notify_load {
    struct pr_notification_head head;
    uint32_t score; /* busy share of the last span, in 1/65535 */
    uint32_t above; /* 1: above the high one; 0: below the low one */
    uint64_t span_ns, busy_ns, time;
};

/* TM_SYNC_ERR_NOTIFICATION: a data movement of a call failed (seeds ch. 29: a tile-sync error). */
struct pr_notify_sync {
    struct pr_notification_head head;
    uint32_t queue, network;
    uint32_t error[3]; /* ERROR1 to ERROR3 of the task manager */
    uint32_t program_id;
    uint64_t time;
};

/*
 * USER_EVENT: a signal event of type PR_EVENT_USER. DBG_EVENT: in run mode diagnostic, a broken rule, or a
 * control command that was refused (rule PR_NO_ID: count is the status, value the command's id).
 */
struct pr_notify_user {
    struct pr_notification_head head;
    uint64_t event, value;
    uint32_t program_id, process_id;
    uint64_t time;
};
struct pr_notify_debug {
    struct pr_notification_head head;
    uint32_t rule, count; /* enum pr_rule, or PR_NO_ID; how often it was broken, or the status */
    uint64_t value;
    uint64_t time, zero;
};

/* DATA_CHAINING_EVENT: an execution of a cache request has ended, or the request itself. */
struct pr_notify_chaining {
    struct pr_notification_head head;
    uint64_t cache_handler;
    uint64_t timestamp; /* of the trigger */
    uint64_t cookie;
    uint32_t set;       /* PR_NO_ID when it has none */
    uint32_t status;    /* enum pr_status */
    uint32_t state;     /* enum pr_cache_state: AVAILABLE when the request has ended */
    uint32_t following; /* executions that it has triggered, which have its cookie */
    uint64_t detail;    /* as in PROGRAM_EVENT */
};

/* PREFETCH_DSID_EVENT: the memory cache holds the data set of a program (DSID_SET; seeds ch. 30). */
struct pr_notify_prefetch {
    struct pr_notification_head head;
    uint32_t dsid, event; /* PR_PREFETCH_* */
    uint32_t program_id;  /* PR_NO_ID: all of the data set's */
    uint32_t zero;
    uint64_t bytes, time;
};
#define PR_PREFETCH_DONE    1u
#define PR_PREFETCH_DROPPED 2u /* the cache is smaller than the data set, or off */

/* SECURE_MODE_EVENT: a step of the switch; the host answers PAUSED with SECURE_MODE_RESUME_TRANSITION. */
struct pr_notify_secure {
    struct pr_notification_head head;
    uint32_t phase;   /* enum pr_secure_phase */
    uint32_t dropped; /* non-secure triggers, in this phase */
    uint32_t waiting; /* calls outside the machine */
    uint32_t zero;
    uint64_t time, zero2;
};
enum pr_secure_phase {
    PR_SECURE_QUIESCED = 1, /* nothing is in flight, the queues are disabled */
    PR_SECURE_PAUSED = 2,   /* the engine was power-cycled */
    PR_SECURE_ENTERED = 3,
    PR_SECURE_LEFT = 4,
};

/*
 * BACK_CHANNEL_RPC, the firmware's call. The host answers on the execution loop (struct pr_exe_rpc) with the
 * slot; a slot that is still in use when it is wanted again is dirty. The firmware calls only while two
 * direct-procedure-call events are free, so that a completion is never kept waiting: those are the slots of
 * IO_T2H that the host has returned, less the notifications that wait for one.
 */
struct pr_notify_rpc {
    struct pr_notification_head head;
    uint32_t slot;           /* PR_RPC_PLACE in RPCEventMap; the rest counts the uses of that place */
    uint32_t kind;           /* enum pr_rpc_kind */
    uint32_t magic, length;  /* PR_RPC_MAGIC; of the payload, at most PR_RPC_TEXT_BYTES */
    uint64_t address, value; /* of the payload; the controller's time of the call */
};
#define PR_RPC_PLACE(slot) ((slot) % PR_RPC_SLOTS)
#define PR_RPC_TEXT_BYTES  0x80u

#define PR_RPC_SLOTS      8u
#define PR_RPC_POOL_LEAST 2u /* GetDirectProcCallEventPoolAvailNum() >= 2 */
/*
 * PR_RPC_TIME follows each load report: the offset of the host's clock is that of the middle between call and
 * answer. PR_RPC_DEBUG is made for each log line of level warning or worse while RPC_ENABLE asks for it.
 */
enum pr_rpc_kind {
    PR_RPC_TIME = 1,  /* the host's time; the answer's value */
    PR_RPC_DEBUG = 2, /* an item for the debug work processor; the payload is text */
};

/* X(command, name of the host's counter), in the order of their ids; the last is of both directions */
#define PR_NOTIFICATIONS(X)                                 \
    X(CH_ERROR_NOTIFICATION, "error")                       \
    X(CH_SIGNPOST_NOTIFICATION, "signpost")                 \
    X(CH_SIGNPOST_NOTIFICATION_GROUP, "signpost_group")     \
    X(CH_RESET_NOTIFICATION, "reset")                       \
    X(CH_SIGNPOST64_NOTIFICATION, "signpost64")             \
    X(CH_SIGNPOST64_NOTIFICATION_GROUP, "signpost64_group") \
    X(CPU_LOAD_NOTIFICATION, "load")                        \
    X(TM_SYNC_ERR_NOTIFICATION, "sync_error")               \
    X(USER_EVENT, "user")                                   \
    X(DBG_EVENT, "debug")                                   \
    X(DATA_CHAINING_EVENT, "chaining")                      \
    X(PREFETCH_DSID_EVENT, "prefetch")                      \
    X(SECURE_MODE_EVENT, "secure")                          \
    X(BACK_CHANNEL_RPC, "rpc")
enum pr_notification {
#define X(command, name) PR_NOTIFICATION_##command,
    PR_NOTIFICATIONS(X)
#undef X
        PR_NOTIFICATION_COUNT
};

#define PR_NOTIFICATION_FITS(type)                                       \
    _Static_assert(sizeof(struct type) >= PR_NOTIFICATION_BYTES_MIN &&   \
                       sizeof(struct type) <= PR_NOTIFICATION_BYTES_MAX, \
                   #type " is a message of IO_T2H")
PR_NOTIFICATION_FITS(pr_program_event);
PR_NOTIFICATION_FITS(pr_program_failure);
PR_NOTIFICATION_FITS(pr_reset_notification);
PR_NOTIFICATION_FITS(pr_notify_error);
PR_NOTIFICATION_FITS(pr_notify_signpost);
PR_NOTIFICATION_FITS(pr_notify_signpost64);
PR_NOTIFICATION_FITS(pr_notify_signposts);
PR_NOTIFICATION_FITS(pr_notify_signposts64);
PR_NOTIFICATION_FITS(pr_notify_load);
PR_NOTIFICATION_FITS(pr_notify_sync);
PR_NOTIFICATION_FITS(pr_notify_user);
PR_NOTIFICATION_FITS(pr_notify_debug);
PR_NOTIFICATION_FITS(pr_notify_chaining);
PR_NOTIFICATION_FITS(pr_notify_prefetch);
PR_NOTIFICATION_FITS(pr_notify_secure);
PR_NOTIFICATION_FITS(pr_notify_rpc);

#endif
