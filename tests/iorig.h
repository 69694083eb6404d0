/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that knows iokit.h and abi.h alone: opens, loads a program image, binds surfaces, sends requests.
 */
#ifndef TESTS_IORIG_H
#define TESTS_IORIG_H

#include <anemone/iokit.h>

/* A machine with firmware; `config` says the rest. */
struct ane_machine *io_machine(struct ane_machine_config config);

/*
 * The image of y = a + b over `channels` x `width` fp16 values: inputs "x" (buffer 5) and "state_in" (buffer
 * 6), output "state_out" (buffer 4).
 */
size_t io_image_add(uint8_t *bytes, size_t capacity, uint32_t channels, uint32_t width);

struct io_client {
    io_connect_t connect;
    ane_task_t task; /* whose client it is: its surfaces are made by the same */
    uint64_t session;
};

/* Each returns what the driver said. */
IOReturn io_open(io_service_t service, ane_task_t task, uint32_t type, struct io_client *client);
IOReturn io_open_timed(io_service_t service, ane_task_t task, uint32_t type, uint64_t timeout_ms,
                       struct io_client *client);
/* A payload of either representation; io_create takes a program image. */
IOReturn io_create_as(const struct io_client *client, uint32_t representation, const void *payload,
                      size_t size, uint64_t *token);
IOReturn io_create(const struct io_client *client, const void *image, size_t size, uint64_t *token);
IOReturn io_prepare(const struct io_client *client, uint64_t token, struct ane_program_prepare *prepare);
IOReturn io_unprepare(const struct io_client *client, uint64_t token);
IOReturn io_destroy(const struct io_client *client, uint64_t token);
/* Surfaces in port order: inputs, then outputs. */
IOReturn io_request(const struct io_client *client, uint64_t token, uint64_t sequence, uint32_t priority,
                    const uint32_t *surfaces, uint32_t inputs, uint32_t outputs,
                    struct ane_request_reply *reply);

/* A program of io_image_add that accumulates: state += x. */
struct io_accumulator {
    struct io_client client;
    uint64_t token, sequence;
    uint32_t x, state; /* surfaces */
    uint32_t channels, width;
};
/* Asserts that everything works. The surface x holds ones, the state zeros. */
void io_accumulator_make(struct io_accumulator *a, io_service_t service, uint32_t channels, uint32_t width);
void io_accumulator_make_timed(struct io_accumulator *a, io_service_t service, uint32_t channels,
                               uint32_t width, uint64_t timeout_ms);
IOReturn io_accumulator_step(struct io_accumulator *a);
/* The state's element 0 as a number; asserts that all elements are the same. */
double io_accumulator_value(const struct io_accumulator *a);
void io_accumulator_release(struct io_accumulator *a);

#endif
