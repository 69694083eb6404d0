/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request binds: mappings of surfaces, the driver's own buffers, statistics; and the message made of
 * it.
 */
#ifndef DRIVER_BIND_H
#define DRIVER_BIND_H

#include "driver/state.h"

/*
 * With the process pinned and in the request; a failure leaves it so, for drv_bind_release. From here to the
 * doorbell nothing waits: the process stays what it is.
 */
IOReturn drv_bind_request(struct drv_request *r, const struct ane_request *request,
                          struct drv_deadline *deadline);
/* One more mapping, in use until the release. */
void drv_bind_add(struct drv_request *r, struct drv_mapping *mapping);
/*
 * Its mappings, its chain and its process are free again: nothing of the client's is under way because of it.
 */
void drv_bind_release(struct drv_request *r);

#endif
