/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several tasks on one machine, as clients of iokit.h: each has connections, a program and surfaces of its
 * own. The program is y = a + b, in the form that a task may load that may not load raw images. Every surface
 * holds one value all over.
 */
#ifndef TESTS_PARTYRIG_H
#define TESTS_PARTYRIG_H

#include "iorig.h"

#define PARTYRIG_PAGE 0x4000u
/* Rows of 8 KiB: layout and extents agree, and a tensor is two pages. */
#define PARTYRIG_CHANNELS 4u
#define PARTYRIG_WIDTH    4096u
#define PARTYRIG_BYTES    (2 * PARTYRIG_CHANNELS * PARTYRIG_WIDTH)

#define PARTYRIG_ONE         0x3c00u /* 1 as a half */
#define PARTYRIG_NOT_WRITTEN 0x7e7eu /* a NaN */

/* Set-up and end of a group of tests: the program, compiled. */
int partyrig_compile(void **state);
int partyrig_forget(void **state);
extern struct partyrig_bundle {
    uint8_t *bytes;
    size_t size;
} partyrig_bundle;

/* A task that may open clients, map memory and chain. Hash 0: it has no signature. */
ane_task_t partyrig_task(const char *team, uint8_t hash);

uint32_t partyrig_surface(ane_task_t task, size_t bytes, uint16_t value);
void partyrig_fill(uint32_t surface, uint16_t value);
/* Asserts that the value is everywhere. */
void partyrig_expect(const char *what, uint32_t surface, uint16_t value);
/* Direct-path selector 5 for a whole surface. */
IOReturn partyrig_map(const struct iorig_client *client, uint32_t surface, uint32_t usage, uint64_t *address);

/* A task with clients of both types, a program of its own, and surfaces: y = a + b. */
struct partyrig {
    ane_task_t task;
    struct iorig_client control, direct;
    uint64_t token;
    union {
        struct {
            uint32_t a, b, y;
        };
        uint32_t surface[3];
    };
};

/* Each asserts that it works. */
void partyrig_open(struct partyrig *p, io_service_t service, ane_task_t task);
void partyrig_load(struct partyrig *p, const char *name);
void partyrig_surfaces(struct partyrig *p, uint16_t a, uint16_t b);
/* Its clients, surfaces and task. */
void partyrig_close(struct partyrig *p);

/*
 * A request for a program, and an asynchronous one for the party's own program, over the party's surfaces.
 * Each returns what the driver said.
 */
IOReturn partyrig_run(const struct partyrig *p, const struct iorig_client *client, uint64_t token);
IOReturn partyrig_send(const struct partyrig *p, const struct iorig_client *client, ane_port_t port);

#endif
