/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel driver (ANEHWDevice and its user clients). Below it are MMIO accesses on the bus and bytes in
 * DRAM; above it selectors with exact sizes and surfaces by id. It runs under the machine's one lock; a call
 * that waits gives the machine time through the platform and holds no gate meanwhile.
 */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anemone/abi.h>

#include "base/error.h"
#include "driver/arguments.h"
#include "protocol/board.h"
#include "soc/bus.h"

struct drv;
struct drv_client;
struct soc_trace;

/*
 * How long a wait may last, from the first wait that uses it. A timer is the driver's own, in virtual time.
 * Anything else is a caller's patience, while other callers may act: whether that is wall time or virtual
 * time is the platform's business.
 */
struct drv_deadline {
    bool timer;
    uint64_t ns;
    uint64_t at; /* the platform's: 0 until the first wait */
};

/* What a kernel would give the driver. Functions return 0 or a negative errno. */
struct drv_platform {
    void *context;
    struct soc_bus *bus;
    struct soc_trace *trace; /* what the driver does is recorded there; never NULL */
    const struct pr_board *board;
    uint64_t firmware_image; /* physical address the boot loader left the firmware at: goes to RVBAR */
    uint32_t leaf_form;      /* enum pr_leaf_form: how page-table entries are written */

    /*
     * DRAM in whole pages, zeroed, physically contiguous; and its bytes as the kernel sees them (NULL when
     * outside).
     */
    int (*alloc)(void *context, uint64_t bytes, uint64_t *address);
    void (*free)(void *context, uint64_t address);
    void *(*memory)(void *context, uint64_t address, uint64_t bytes);

    /*
     * A surface by id, for a caller of that task: its physical pages (contiguous) and size; counted, put back
     * as often as got. -ENOENT when there is none, -EPERM when it is another task's, others when it cannot be
     * attached; with a sentence.
     */
    int (*surface_get)(void *context, uint32_t id, uint32_t task, uint64_t *address, uint64_t *bytes,
                       struct base_error *error);
    void (*surface_put)(void *context, uint32_t id);

    /* The 32 bytes of the public key that signs programs here; false: none is trusted. May be NULL. */
    bool (*trusted_key)(void *context, uint8_t *key);

    uint64_t (*now)(void *context);
    /*
     * Lets the machine run until *done is true or the deadline has passed (-ETIMEDOUT); NULL is no deadline.
     * Other calls into the driver may be admitted meanwhile. May be called with work of other waiters
     * outstanding.
     */
    int (*wait)(void *context, const bool *done, struct drv_deadline *deadline);
};

/* Who calls: entitlements, code-signing identity. */
struct drv_identity {
    bool may_open;      /* com.apple.ane.iokit-user-access, or the process itself */
    bool data_chaining; /* com.apple.ane.allow-dataChaining-access */
    bool developer;     /* may load raw program images */
    uint32_t task;      /* a number that no other caller ever has; 0 is the process itself */
    /* Team and hash are those of a code signature; without one a caller equals only itself. */
    bool has_signature;
    char team[32];
    uint8_t cdhash[20];
};

int drv_create(const struct drv_platform *platform, struct drv **driver, struct base_error *error);
/*
 * ANEHWDevice::start, power_on_hardware, ANE_Init: apertures, power, firmware image, handshakes, channels,
 * boot commands. Each way to fail has its own sentence. A missing second wake is retried with a power cycle,
 * DRV_BOOT_TRIES times in all, counted.
 */
#define DRV_BOOT_TRIES 3
int drv_start(struct drv *driver, struct base_error *error);
void drv_destroy(struct drv *driver);

/* The controller rang: called when the host's interrupt line rises, with the machine's lock held. */
void drv_interrupt(struct drv *driver);

/* A refusal writes its sentence to `error`, which may be NULL; so does drv_client_call. */
IOReturn drv_client_open(struct drv *driver, const struct drv_identity *identity, uint32_t type,
                         struct drv_client **client, struct base_error *error);
/*
 * Requests under way get kIOReturnAborted; programs, mappings and surfaces of the client are given back. The
 * handle is gone afterwards.
 */
void drv_client_close(struct drv_client *client);
/*
 * externalMethod: exact sizes and then pointers are checked against the dispatch table before anything is
 * read.
 */
IOReturn drv_client_call(struct drv_client *client, uint32_t selector,
                         struct IOExternalMethodArguments *arguments, struct base_error *error);

/*
 * The surface's owner has released it: mappings kept for later requests are given back, those in use with
 * their last use.
 */
void drv_surface_released(struct drv *driver, uint32_t id);

/* Its number on this driver, from 1, never used again: what messages and traces call it. */
uint32_t drv_client_number(const struct drv_client *client);

/* The last failure on this driver in words, of any client: for logs and tests. */
const char *drv_last_error(const struct drv *driver);

struct drv_stats {
    uint64_t requests, completed, failed, aborted, interrupts, boots, boot_failures;
    uint32_t clients, programs, surfaces_mapped, in_flight;
    uint64_t pages; /* DRAM pages the driver holds */
};
struct drv_stats drv_stats_get(const struct drv *driver);

#endif
