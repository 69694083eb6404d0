/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of programs and instances, in a surface of the client's task that lives for the call. Files are
 * memory files of others: their bytes are read once, and what was read is hashed, signed and loaded.
 */
#ifndef BROKER_PAYLOAD_H
#define BROKER_PAYLOAD_H

#include "broker/state.h"

/* A program: main.e5 and weights.bin, signed with the service's key; or an image, which is not signed. */
struct brk_payload {
    uint32_t representation; /* enum ane_program_representation */
    int file[2];             /* the second of a bundle alone */
    uint64_t bytes[2];
    const char *name;
    uint32_t qos;
};
/* Control selector 3. */
IOReturn brk_payload_load(const struct brk_device *device, uint32_t task, const struct brk_payload *payload,
                          uint64_t *token, struct base_error *error);

/* An instance, with the weight files of an adapter or without. */
struct brk_instance_payload {
    uint64_t base;
    uint32_t flags; /* enum ane_instance_flags */
    uint32_t queue_depth;
    uint32_t files;
    const struct pr_broker_file *file;
    int descriptor; /* that has them */
};
/* Control selector 8. */
IOReturn brk_payload_instance(const struct brk_device *device, uint32_t task,
                              const struct brk_instance_payload *payload, uint64_t *token,
                              uint64_t *intermediate, struct base_error *error);

/*
 * The size of a memory file of the other end. Refused when it is not one, which a reader might wait for, or
 * has more than `most` bytes.
 */
IOReturn brk_payload_size(int descriptor, const char *what, uint64_t most, uint64_t *bytes,
                          struct base_error *error);
/* Exactly these bytes of a file. */
IOReturn brk_payload_read(int descriptor, uint64_t offset, void *bytes, uint64_t size,
                          struct base_error *error);

#endif
