/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOL_REGISTRY_H
#define TOOL_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/json.h"

/*
 * Shows the registry of a machine of that chip, at rest: as text on stdout when json is NULL, else as its
 * member "registry". False, with a message, when the machine does not start.
 */
bool tool_registry_show(uint32_t chip, struct json *json);

/*
 * The same of the service at `path`, which this process uses, and its clients instead of the firmware's
 * reports: members "registry", "service" and "clients".
 */
bool tool_registry_show_service(const char *path, struct json *json);

#endif
