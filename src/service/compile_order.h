/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the broker as an order: checked, with the descriptors that its worker needs. */
#ifndef SERVICE_COMPILE_ORDER_H
#define SERVICE_COMPILE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include <anemone/iokit.h>

#include "service/compile_worker.h"

struct svc_order {
    uint16_t type; /* enum pr_compile_message */
    uint32_t serial;
    struct svc_work work;
};

/* A message at most. */
#define SVC_ORDER_BYTES (sizeof(struct pr_service_header) + PR_SERVICE_BODY)
#define SVC_ORDER_FDS   1u

/*
 * Whether the message has the form of its row: else why in the error, and the socket is no longer to be
 * trusted. Fills type and serial.
 */
int svc_order_frame(const uint8_t *message, size_t size, unsigned descriptors, struct svc_order *order,
                    struct base_error *error);
/*
 * The work of a message whose form is right: 0, or the status of the reply with its sentence. The order owns
 * the descriptor in either case; svc_order_end closes what it has.
 */
IOReturn svc_order_take(const uint8_t *message, int folder, const char *state, struct svc_order *order,
                        struct base_error *error);
void svc_order_end(struct svc_order *order);

#endif
