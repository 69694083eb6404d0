/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: words that the host sets by commands of their own. All but init are control commands. */
#ifndef FIRMWARE_SETTING_H
#define FIRMWARE_SETTING_H

#include "firmware/state.h"

void fw_setting_init(struct fw *fw);
enum pr_status fw_setting_run_mode(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_setting_rpc(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_setting_rpc_check(struct fw *fw, struct pr_command_header *header, void *body);
/* WRONG_STATE once a program was loaded. */
enum pr_status fw_setting_dsid(struct fw *fw, struct pr_command_header *header, void *body);
/* WRONG_STATE for a start of a profile that is under way, or the end of none. */
enum pr_status fw_setting_profile_start(struct fw *fw, struct pr_command_header *header, void *body);
/* The profile so far, with struct pr_body_profile_show. */
enum pr_status fw_setting_profile_show(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_setting_profile_stop(struct fw *fw, struct pr_command_header *header, void *body);

#endif
