/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring that a session shares with the service: calls on connections, without a socket message (chosen).
 * It is a sealed memory file that the service makes, one for each session.
 *
 *     head | completions | slot 0 | slot 1 | ...
 *
 * A slot carries one call at a time. The client takes a free slot, the lowest first, fills it and sets its
 * state to POSTED; the service, which has a thread for each slot that the client has announced (message
 * SLOT), sets it to TAKEN, copies the call, makes it, writes the outcome and sets it to DONE; the client
 * copies the outcome and sets it to FREE. So a call that waits keeps no other from the service.
 *
 * A side that waits spins for a bounded time and then sleeps: it sets its `asleep` word to 1, looks at the
 * state once more and waits on the word (futex, shared). The other side changes the state first, then, if the
 * word is 1, sets it to 0 and wakes. Both words and the state are in one cache line.
 *
 * Everything in the ring may be changed by the client at any time. The service copies a call once, checks the
 * copy and uses the copy; it reads no index or size from the ring twice.
 *
 * A call has the codes and sentences of one in the machine's own process. For that, an argument that is NULL
 * (`absent`), or that has more than the ring has room for, is NULL with its true size in the call that the
 * service makes: the driver refuses it. And `scalar_out` and `out` hold the caller's bytes when the call is
 * posted: the service's copy begins with them and is written back whole, so that an output that a call does
 * not write stays as it was.
 *
 * When a session ends the service answers the calls that are posted, and sets `magic` of the head to 0: no
 * slot is served from then on.
 *
 * Completions of asynchronous calls are a ring of records: the service writes record `produced` modulo their
 * number and then raises `produced`; the client reads and raises `consumed`. The service never waits for the
 * client there: a call whose record might not find room is refused.
 */
#ifndef PROTOCOL_SERVICE_RING_H
#define PROTOCOL_SERVICE_RING_H

#include <stddef.h>
#include <stdint.h>

#define PR_RING_MAGIC       0x474e4952u /* "RING" */
#define PR_RING_SLOTS       64u
#define PR_RING_COMPLETIONS 64u
#define PR_RING_SCALARS     16u
#define PR_RING_REFERENCES  4u
#define PR_RING_DATA        3584u /* struct bytes of a call, each way */
#define PR_RING_SENTENCE    512u

enum pr_ring_state { PR_RING_FREE, PR_RING_POSTED, PR_RING_TAKEN, PR_RING_DONE };

/* Which function of iokit.h a call is. */
enum pr_ring_operation {
    PR_RING_METHOD = 1, /* IOConnectCallMethod */
    PR_RING_ASYNC,      /* IOConnectCallAsyncMethod */
    PR_RING_CATALOGUE,  /* ane_catalogue_call */
    PR_RING_EVENT,      /* ane_event_*: `selector` is enum pr_ring_event */
};
/* Scalars in; scalars out. */
enum pr_ring_event {
    PR_RING_EVENT_CREATE,  /* value; event */
    PR_RING_EVENT_VALUE,   /* event; value */
    PR_RING_EVENT_SIGNAL,  /* event, value */
    PR_RING_EVENT_WAIT,    /* event, value, nanoseconds */
    PR_RING_EVENT_RELEASE, /* event */
};

/* Arguments that are NULL. */
enum pr_ring_absent {
    PR_RING_NO_SCALARS_IN = 1u << 0,
    PR_RING_NO_STRUCT_IN = 1u << 1,
    PR_RING_NO_SCALARS_OUT = 1u << 2,
    PR_RING_NO_STRUCT_OUT = 1u << 3,
    PR_RING_NO_REFERENCE = 1u << 4,
};

struct pr_ring_slot {
    uint32_t state;          /* +0x000 enum pr_ring_state; atomic */
    uint32_t client_asleep;  /* +0x004 futex */
    uint32_t service_asleep; /* +0x008 futex */
    uint32_t operation;      /* +0x00c enum pr_ring_operation */
    uint32_t connect;        /* +0x010 with PR_SERVICE_CONNECT_BASE */
    uint32_t selector;       /* +0x014 */
    uint32_t scalars_in, scalars_out;
    uint32_t struct_in, struct_out; /* bytes */
    uint32_t port;                  /* +0x028 ASYNC: the client's, returned in the record */
    uint32_t references;            /* of `reference` */
    int32_t result;                 /* +0x030 IOReturn; of the service, as what follows but the inputs */
    uint32_t absent;                /* +0x034 a set of enum pr_ring_absent; of the client */
    uint32_t reserved[2];
    uint64_t reference[PR_RING_REFERENCES]; /* +0x040 */
    uint64_t scalar_in[PR_RING_SCALARS];    /* +0x060 */
    uint64_t scalar_out[PR_RING_SCALARS];   /* +0x0e0 */
    uint8_t pad[0x200 - 0x160];
    char sentence[PR_RING_SENTENCE]; /* +0x200 */
    uint8_t in[PR_RING_DATA];        /* +0x400 */
    uint8_t out[PR_RING_DATA];       /* +0x1200 */
};

struct pr_ring_completion {
    uint64_t reference[PR_RING_REFERENCES];
    uint32_t port;
    int32_t result;
    uint8_t reply[40]; /* struct ane_request_reply */
    uint8_t pad[48];
};

struct pr_ring_head {
    uint32_t magic, slots, completions, reserved;
    uint8_t pad0[48];
    uint32_t produced; /* +0x40 of the service */
    uint8_t pad1[60];
    uint32_t consumed;      /* +0x80 of the client */
    uint32_t client_asleep; /* futex: waits for `produced` */
    uint8_t pad2[56];
    uint8_t pad3[0x1000 - 0xc0];
};

#define PR_RING_COMPLETIONS_AT sizeof(struct pr_ring_head)
#define PR_RING_RECORDS        (PR_RING_COMPLETIONS * sizeof(struct pr_ring_completion))
#define PR_RING_SLOTS_AT       (PR_RING_COMPLETIONS_AT + PR_RING_RECORDS)
#define PR_RING_BYTES          (PR_RING_SLOTS_AT + PR_RING_SLOTS * sizeof(struct pr_ring_slot))

/*
 * How long a side spins at most before it sleeps; how long one of a blessed client (Table 27.8) does. After
 * the first of these times it yields its processor at each turn: the other side may be waiting for that one.
 */
#define PR_RING_SPIN_ALONE_NS   300u
#define PR_RING_SPIN_NS         50000u
#define PR_RING_SPIN_BLESSED_NS 1000000u

_Static_assert(sizeof(struct pr_ring_slot) == 0x2000, "slots are two pages of 4 KiB");
_Static_assert(offsetof(struct pr_ring_slot, result) == 0x30, "result");
_Static_assert(offsetof(struct pr_ring_slot, sentence) == 0x200, "sentence");
_Static_assert(offsetof(struct pr_ring_slot, in) == 0x400, "in");
_Static_assert(sizeof(struct pr_ring_completion) == 128, "completion");
_Static_assert(sizeof(struct pr_ring_head) == 0x1000, "head");
_Static_assert(offsetof(struct pr_ring_head, produced) == 0x40, "lines of their own");
_Static_assert(offsetof(struct pr_ring_head, consumed) == 0x80, "lines of their own");

#endif
