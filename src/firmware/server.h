/* SPDX-License-Identifier: Apache-2.0 */
/* The server: the task behind the control channels IO, DEBUG and BUF_H2T. */
#ifndef FIRMWARE_SERVER_H
#define FIRMWARE_SERVER_H

#include "firmware/state.h"

bool fw_server_create(struct fw *fw);

#endif
