/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of protocol/service.h: the service, and the clients that the caller may see. */
#ifndef SERVICE_STATUS_H
#define SERVICE_STATUS_H

#include "protocol/service.h"

struct svc_peer;

void svc_status_fill(const struct svc_peer *caller, uint32_t first, struct pr_service_status_page *page);

#endif
