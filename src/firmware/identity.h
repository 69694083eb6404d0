/* SPDX-License-Identifier: Apache-2.0 */
/* What the firmware says of itself, its chip and its limits: control commands that change nothing. */
#ifndef FIRMWARE_IDENTITY_H
#define FIRMWARE_IDENTITY_H

#include "firmware/state.h"

enum pr_status fw_identity_resources(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_identity_config(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_identity_config_ext(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_identity_stats_sizes(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_identity_build(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_identity_platform(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_identity_boot(struct fw *fw, struct pr_command_header *header, void *body);
/* BAD_ARGUMENT for another major version; another minor one is logged and counted as warned. */
enum pr_status fw_identity_interface(struct fw *fw, struct pr_command_header *header, void *body);
/* The checksum of the data that follows the head of the body. */
enum pr_status fw_identity_data_check(struct fw *fw, struct pr_command_header *header, void *body);

#endif
