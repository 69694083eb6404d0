/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client outside the tree: the public headers and the shared library alone. Its program is y = a + b over 128 values of fp16, compiled
 * by the runtime; each request has data of its own and its result is checked.
 */
#ifndef TESTS_OUTRIG_H
#define TESTS_OUTRIG_H

#include <anemone/e5rt.h>
#include <anemone/iokit.h>

#include "crew.h"

/* Compiles the program; once, before any thread. */
void out_compile(void);
/* The model's file and the cache beside it. */
const char *out_model(void);
const char *out_folder(void);

/* A machine with firmware and 256 MiB of DRAM. */
struct ane_machine *out_machine(void);

struct out_client {
    io_connect_t connect;
    ane_task_t task;
    uint64_t session;
};

/* IOServiceOpen and selector 0. A timeout of 0 means the driver's own, 10 s of virtual time. */
IOReturn out_open_for(io_service_t service, ane_task_t task, uint32_t type, uint64_t timeout_ms,
                      struct out_client *client);
IOReturn out_open(io_service_t service, ane_task_t task, uint32_t type, struct out_client *client);
IOReturn out_handshake(const struct out_client *client, uint64_t timeout_ms, uint64_t *session);
/* Selector 10, which changes nothing: the version of Table 27.9, checked, while the connection is open. */
IOReturn out_version(io_connect_t connect);
IOReturn out_create(const struct out_client *client, uint64_t *token);
IOReturn out_prepare(const struct out_client *client, uint64_t token);
IOReturn out_unprepare(const struct out_client *client, uint64_t token);
IOReturn out_destroy(const struct out_client *client, uint64_t token);
/* Direct path: a pinned mapping of a surface, and its end. */
IOReturn out_map(const struct out_client *client, uint32_t surface, uint64_t *address);
IOReturn out_unmap(const struct out_client *client, uint32_t surface, uint64_t address);

/* One surface with both operands and the result. */
struct out_data {
    uint32_t surface;
    uint8_t *base;
    uint64_t sequence;
};
void out_data_make(struct out_data *data, ane_task_t task);
void out_data_release(struct out_data *data);
/* New operands; after success the result is compared with their sum. */
IOReturn out_request(struct crew_worker *worker, const struct out_client *client, uint64_t token,
                     struct out_data *data);

/* Fails unless the status is success, with the library's sentence. */
void out_good(IOReturn status, const char *call);
/* After or while its connection closes a call answers closed, a request in flight aborted. */
bool out_is_ended(IOReturn status);
/* Success, or one of these two; fails otherwise. */
void out_good_or_ended(IOReturn status, const char *call);

/* A client of task 0 with its program, prepared. */
struct out_user {
    struct out_client client;
    uint64_t token;
};
void out_user_make(struct out_user *user, io_service_t service);
void out_user_release(struct out_user *user);

/* One operation of the model in a stream of its own, on the default machine. */
struct out_stream {
    e5rt_execution_stream_operation_t operation;
    e5rt_io_port_t port[3];
    e5rt_buffer_object_t buffer[3];
    e5rt_execution_stream_t stream;
    void *base[3];
};
e5rt_program_library_t out_library(void);
void out_library_release(e5rt_program_library_t *library);
void out_stream_make(struct out_stream *s, e5rt_program_library_t library);
void out_stream_release(struct out_stream *s);
/* New operands, one execution, and its result compared. */
void out_stream_run(struct crew_worker *worker, struct out_stream *s);

/*
 * The firmware's tables as documented: 144 programs are loaded, two clients prepare each of them (288 processes), everything is given back, and
 * DRAM in use is `used` bytes again.
 */
void out_tables_check(struct ane_machine *machine, uint64_t used);
uint64_t out_dram_used(struct ane_machine *machine);

/* A machine made, used once and destroyed; for a child. Fails as everywhere. */
void out_own_machine(struct crew_worker *worker);

#endif
