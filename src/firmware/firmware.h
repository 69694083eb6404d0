/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's firmware. It knows the port, the kernel and the protocol, and nothing of the host it runs
 * on. All state is one struct at the base of its carve-out, behind the kernel's.
 */
#ifndef FIRMWARE_FIRMWARE_H
#define FIRMWARE_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_port;

/* What the reset vector is entered with. */
struct fw_reset {
    struct rt_port *port;
    void *carve_out; /* cleared by the caller; what was free heap may hold anything */
    size_t bytes;    /* of it, without the retained block */
    void *retained;  /* the end of the carve-out, as the processor left it; aligned to 64 bytes */
    size_t retained_bytes;
    size_t stack_extra; /* see struct rt_boot */
    bool zeroed;        /* also the free heap */
};

/* The least carve-out that boots. */
#define FW_CARVE_OUT_BYTES 0x800000u
/* The last bytes of it, which a restart does not clear (CHOSEN). */
#define FW_RETAINED_BYTES 0x1000u

/*
 * Interrupt lines: two that the board delivers to the controller, and the timeout that the firmware raises.
 */
enum { FW_LINE_DOORBELL = 1, FW_LINE_ENGINE = 2, FW_LINE_TIMEOUT = 3 };

/* The reset vector. Never returns; the processor may be stopped and entered here again. */
_Noreturn void fw_reset_vector(const struct fw_reset *reset);

#endif
