/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of the registry for clients: numbers are those of the service's machine with PR_SERVICE_ENTRY_BASE.
 */
#ifndef SERVICE_REGISTRY_H
#define SERVICE_REGISTRY_H

#include "base/error.h"
#include "protocol/service.h"
#include "service/service.h"

/* One step. The codes are those of ane_registry_*; an entry that is not there is 0, and no failure. */
IOReturn svc_registry_step(const struct svc_service *service, const struct pr_service_registry *step,
                           struct pr_service_registry_value *value, struct base_error *error);

#endif
