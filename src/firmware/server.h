/* SPDX-License-Identifier: Apache-2.0 */
/* The server: the task behind the control channels IO and DEBUG. */
#ifndef FIRMWARE_SERVER_H
#define FIRMWARE_SERVER_H

#include "firmware/state.h"

void fw_server_run(struct fw *fw, const struct fw_record *record);

#endif
