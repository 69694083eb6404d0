/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoint of the execution loop (protocol/endpoint.h): the host binds its ring and its doorbell targets,
 * and no message of the loop is taken before it has done both. Commands of the server.
 */
#ifndef FIRMWARE_ENDPOINT_H
#define FIRMWARE_ENDPOINT_H

#include "firmware/state.h"

enum pr_status fw_endpoint_set(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_endpoint_set2(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_endpoint_unset(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_endpoint_unset2(struct fw *fw, struct pr_command_header *header, void *body);

#endif
