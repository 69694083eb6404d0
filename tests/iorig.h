/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that knows iokit.h and abi.h alone: opens, loads a program image, binds surfaces, sends requests.
 */
#ifndef TESTS_IORIG_H
#define TESTS_IORIG_H

#include <anemone/iokit.h>

/* A machine with firmware; `config` says the rest. */
struct ane_machine *iorig_machine(struct ane_machine_config config);

/*
 * The image of y = a + b over `channels` x `width` fp16 values: inputs "x" (buffer 5) and "state_in" (buffer
 * 6), output "state_out" (buffer 4).
 */
size_t iorig_image_add(uint8_t *bytes, size_t capacity, uint32_t channels, uint32_t width);
/* The same with another value in one word of its descriptor, named by its offset (tdpatch.h). */
size_t iorig_image_patched(uint8_t *bytes, size_t capacity, uint32_t channels, uint32_t width, uint32_t word,
                           uint32_t value);

struct iorig_client {
    io_connect_t connect;
    ane_task_t task; /* whose client it is: its surfaces are made by the same */
    uint64_t session;
};

/* Each returns what the driver said. */
IOReturn iorig_open(io_service_t service, ane_task_t task, uint32_t type, struct iorig_client *client);
IOReturn iorig_open_timed(io_service_t service, ane_task_t task, uint32_t type, uint64_t timeout_ms,
                          struct iorig_client *client);
/*
 * A payload of either representation; iorig_create takes a program image. The name is "test" unless given.
 * One with a name is signed with the key of the user, the others are not signed.
 */
IOReturn iorig_create_named(const struct iorig_client *client, uint32_t representation, const char *name,
                            const void *payload, size_t size, uint64_t *token);
IOReturn iorig_create_as(const struct iorig_client *client, uint32_t representation, const void *payload,
                         size_t size, uint64_t *token);
IOReturn iorig_create(const struct iorig_client *client, const void *image, size_t size, uint64_t *token);
/* A program of several procedures, each a payload of that representation; signed if it has a name. */
struct iorig_procedure {
    const void *bytes;
    size_t size;
};
IOReturn iorig_create_several(const struct iorig_client *client, uint32_t representation, const char *name,
                              const struct iorig_procedure *procedure, uint32_t count, uint64_t *token);
IOReturn iorig_prepare_procedure(const struct iorig_client *client, uint64_t token, uint32_t procedure,
                                 struct ane_program_prepare *prepare);
IOReturn iorig_prepare(const struct iorig_client *client, uint64_t token,
                       struct ane_program_prepare *prepare);
IOReturn iorig_unprepare(const struct iorig_client *client, uint64_t token);
IOReturn iorig_destroy(const struct iorig_client *client, uint64_t token);
/* Surfaces in port order: inputs, then outputs. */
IOReturn iorig_request(const struct iorig_client *client, uint64_t token, uint64_t sequence,
                       uint32_t priority, const uint32_t *surfaces, uint32_t inputs, uint32_t outputs,
                       struct ane_request_reply *reply);

IOReturn iorig_request_procedure(const struct iorig_client *client, uint64_t token, uint32_t procedure,
                                 uint64_t sequence, uint32_t priority, const uint32_t *surfaces,
                                 uint32_t inputs, uint32_t outputs, struct ane_request_reply *reply);

/* A program of iorig_image_add that accumulates: state += x. */
struct iorig_accumulator {
    struct iorig_client client;
    uint64_t token, sequence;
    uint32_t x, state; /* surfaces */
    uint32_t channels, width;
};
/* Asserts that everything works. The surface x holds ones, the state zeros. */
void iorig_accumulator_make(struct iorig_accumulator *a, io_service_t service, uint32_t channels,
                            uint32_t width);
void iorig_accumulator_make_timed(struct iorig_accumulator *a, io_service_t service, uint32_t channels,
                                  uint32_t width, uint64_t timeout_ms);
IOReturn iorig_accumulator_step(struct iorig_accumulator *a);
/* The state's element 0 as a number; asserts that all elements are the same. */
double iorig_accumulator_value(const struct iorig_accumulator *a);
void iorig_accumulator_release(struct iorig_accumulator *a);

#endif
