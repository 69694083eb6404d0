/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client outside the tree: the public headers and the shared library alone. Its program is y = a + b over
 * 128 values of fp16, compiled by the runtime; each request has data of its own and its result is checked.
 */
#ifndef TESTS_OUTRIG_H
#define TESTS_OUTRIG_H

#include <anemone/e5rt.h>
#include <anemone/iokit.h>

#include "crew.h"

/* Compiles the program, with the folder of folder.h as cache; once, before any thread. */
void outrig_compile(void);

/* A machine with firmware and 256 MiB of DRAM. */
struct ane_machine *outrig_machine(void);

struct outrig_client {
    io_connect_t connect;
    ane_task_t task;
    uint64_t session;
};

/* IOServiceOpen and selector 0. A timeout of 0 means the driver's own, 10 s of virtual time. */
IOReturn outrig_open_for(io_service_t service, ane_task_t task, uint32_t type, uint64_t timeout_ms,
                         struct outrig_client *client);
IOReturn outrig_open(io_service_t service, ane_task_t task, uint32_t type, struct outrig_client *client);
IOReturn outrig_handshake(const struct outrig_client *client, uint64_t timeout_ms, uint64_t *session);
/* Selector 10, which changes nothing: the version of Table 27.9, checked, while the connection is open. */
IOReturn outrig_version(io_connect_t connect);
IOReturn outrig_create(const struct outrig_client *client, uint64_t *token);
IOReturn outrig_prepare(const struct outrig_client *client, uint64_t token);
IOReturn outrig_unprepare(const struct outrig_client *client, uint64_t token);
IOReturn outrig_destroy(const struct outrig_client *client, uint64_t token);
/* Direct path: a pinned mapping of a surface, and its end. */
IOReturn outrig_map(const struct outrig_client *client, uint32_t surface, uint64_t *address);
IOReturn outrig_unmap(const struct outrig_client *client, uint32_t surface, uint64_t address);

/* One surface with both operands and the result. */
struct outrig_data {
    uint32_t surface;
    uint8_t *base;
    uint64_t sequence;
};
void outrig_data_make(struct outrig_data *data, ane_task_t task);
void outrig_data_release(struct outrig_data *data);
/* New operands; after success the result is compared with their sum. */
IOReturn outrig_request(struct crew_worker *worker, const struct outrig_client *client, uint64_t token,
                        struct outrig_data *data);

/* Fails unless the status is success, with the library's sentence. */
void outrig_good(IOReturn status, const char *call);
/* After or while its connection closes a call answers closed, a request in flight aborted. */
bool outrig_is_ended(IOReturn status);
/* Success, or one of these two; fails otherwise. */
void outrig_good_or_ended(IOReturn status, const char *call);

/* A client of task 0 with its program, prepared. */
struct outrig_user {
    struct outrig_client client;
    uint64_t token;
};
void outrig_user_make(struct outrig_user *user, io_service_t service);
void outrig_user_release(struct outrig_user *user);

/* One operation of the model in a stream of its own, on the default machine. */
struct outrig_stream {
    e5rt_execution_stream_operation_t operation;
    e5rt_io_port_t port[3];
    e5rt_buffer_object_t buffer[3];
    e5rt_execution_stream_t stream;
    void *base[3];
};
e5rt_program_library_t outrig_library(void);
void outrig_library_release(e5rt_program_library_t *library);
void outrig_stream_make(struct outrig_stream *s, e5rt_program_library_t library);
void outrig_stream_release(struct outrig_stream *s);
/* New operands, one execution, and its result compared. */
void outrig_stream_run(struct crew_worker *worker, struct outrig_stream *s);

/*
 * The firmware's tables as documented: 144 programs are loaded, two clients prepare each of them (288
 * processes), everything is given back, and DRAM in use is `used` bytes again.
 */
void outrig_tables_check(struct ane_machine *machine, uint64_t used);
uint64_t outrig_dram_used(struct ane_machine *machine);

/* A machine made, used once and destroyed; for a child. Fails as everywhere. */
void outrig_own_machine(struct crew_worker *worker);

#endif
