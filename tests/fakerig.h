/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service that is none: threads of the test's own process that answer the messages of protocol/service.h
 * and the slots of the ring, as told. There is no machine behind it.
 */
#ifndef TESTS_FAKERIG_H
#define TESTS_FAKERIG_H

#include <stdatomic.h>
#include <stdint.h>

#include "protocol/service.h"
#include "protocol/service_ring.h"

/* What is wrong with a reply. */
#define FAKERIG_SPOILS(X)                   \
    X(NONE, "")                             \
    X(SHORT, "its size")                    \
    X(MAGIC, "its magic")                   \
    X(VERSION, "its version")               \
    X(SERIAL, "it answers another message") \
    X(TYPE, "it answers another message")   \
    X(FILES, "its number of descriptors")   \
    X(BODY, "its body's size")              \
    X(LONG_SENTENCE, "its body's size")     \
    X(HANG_UP, "has ended")
enum fakerig_spoil {
#define X(id, words) FAKERIG_SPOIL_##id,
    FAKERIG_SPOILS(X)
#undef X
        FAKERIG_SPOIL_COUNT
};

/* Selectors of METHOD. */
enum {
    FAKERIG_ADD = 1,    /* scalar out i = scalar in i + 1; struct out = struct in, each byte inverted */
    FAKERIG_REFUSE,     /* kIOReturnNotFound, with a sentence; writes no output */
    FAKERIG_HOLD,       /* answered as ADD once `released` is set */
    FAKERIG_NEVER,      /* taken, and not answered */
    FAKERIG_ABSENT,     /* scalar out 0 = what is absent, 1 and 2 = the struct sizes */
    FAKERIG_LONG_WORDS, /* kIOReturnError with a sentence that has no end */
};

struct fakerig {
    char path[108];
    int listener;
    atomic_int session; /* sockets */
    uint8_t *ring;
    /* What it is to do: */
    _Atomic(enum pr_service_message) spoiled;
    _Atomic(enum fakerig_spoil) spoil;
    _Atomic uint32_t surface;      /* the id that SURFACE gives */
    _Atomic uint64_t surface_less; /* bytes that its file is short of */
    _Atomic uint32_t connect;      /* the number that OPEN gives */
    _Atomic uint32_t ring_less;    /* bytes that the ring is said to be short of */
    atomic_int refuse_slots;       /* from this one on; -1: none */
    atomic_int early;              /* the record of an asynchronous call comes before its answer */
    atomic_int quiet;              /* it does not come at all */
    atomic_int released;           /* of HOLD */
    /* What has happened: */
    atomic_int messages; /* on the socket */
    atomic_int held;     /* calls of HOLD and NEVER that were taken */
    atomic_ullong slots; /* announced */
    atomic_int surfaces; /* made and not released */
};

/* Listens at `path`; a thread serves the one session. */
void fakerig_start(struct fakerig *fake, const char *path);
/* The service is gone: its sockets close. */
void fakerig_die(struct fakerig *fake);
/* One record of the ring. */
void fakerig_complete(struct fakerig *fake, const uint64_t *reference, uint32_t port, int32_t result);

#endif
