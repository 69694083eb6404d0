/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's one connection to the driver, opened for the first program and closed with the last. Any
 * thread may call. A forked child opens one of its own; what its parent loaded cannot be used there.
 *
 * In a process whose kernel is the service it is a direct-path connection, for requests alone, where the
 * policy allows one; else requests go through the broker, which loads programs in both cases (brokered.h).
 */
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <anemone/iokit.h>

#include "compiler/compile.h"
#include "runtime/error.h"

/* What goes to program create: a raw image, or main.e5 with the constants it needs. */
struct e5_image {
    const char *model;       /* the broker's name of a compiled model: no bytes are needed; NULL: none */
    uint32_t representation; /* ANE_PROGRAM_LEGACY or ANE_PROGRAM_RT */
    const void *bytes;
    size_t size;
    /*
     * ANE_PROGRAM_RT: whose weights are the constants, and whose hashes and signature go with it if it is
     * signed. Weights in memory are released while the program is created from a copy, and read back if that
     * fails: of large ones there is no memory to waste.
     */
    struct cc_bundle *bundle;
};

/* A program that is created and prepared. */
struct e5_loaded {
    io_connect_t connection;     /* of its requests; 0: the broker sends them */
    struct ane_machine *machine; /* of this process; NULL: the kernel is the service */
    uint64_t session;            /* of that connection */
    uint64_t token;
    uint32_t inputs, outputs; /* what a request has to bind */
    uint32_t qos, priority;   /* of its requests */
    struct e5_link *link;     /* to the broker that loaded it (brokered.h); NULL: none did */
    uint64_t instance;        /* as the broker calls it */
};

/* The broker sends its requests: each is waited for, none ends with a message at a port. */
static inline bool e5_device_is_brokered(const struct e5_loaded *loaded)
{
    return !loaded->connection;
}

int64_t e5_device_load(const struct e5_image *image, const char *name, struct e5_loaded *loaded);
void e5_device_unload(const struct e5_loaded *loaded);

/*
 * A surface and its bytes in this process, for ane_surface_release. `what` begins the sentence of a failure.
 */
int64_t e5_device_surface(uint64_t bytes, const char *what, uint32_t *surface, void **base);

/* A request that is sent again and again: all but the sequence, which begins with 0, is filled once. */
void e5_device_request_init(struct ane_request *request, const struct e5_loaded *loaded);
/* The stage of user space in virtual time: binding and copies. Nothing unless the machine is timed. */
void e5_device_bind_stage(const struct e5_loaded *loaded);
/* Waits for it. `name` is the operation's, for the sentence. */
int64_t e5_device_request_send(struct ane_request *request, const struct e5_loaded *loaded, const char *name);
/* Does not wait for it: it ends with a message at the port, of which `result` makes a status. */
int64_t e5_device_request_post(struct ane_request *request, const struct e5_loaded *loaded, const char *name,
                               ane_port_t port, uint64_t reference);
int64_t e5_device_request_result(const struct ane_port_message *message, const char *name);

#endif
