/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of protocol/property.h: written, read, and the level of the call log by its own command. */
#ifndef FIRMWARE_PROPERTY_H
#define FIRMWARE_PROPERTY_H

#include "firmware/state.h"

/* Control commands. An unknown property is logged when it is written and refused when it is read. */
enum pr_status fw_property_write(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_property_read(struct fw *fw, struct pr_command_header *header, void *body);
/* TRACE_ENABLE: the word of the property of the call log, and the bit PR_TRACE_SIGNPOSTS. */
enum pr_status fw_property_trace(struct fw *fw, struct pr_command_header *header, void *body);

#endif
