/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of entries of a table, by number, oldest first. */
#ifndef FIRMWARE_LIST_H
#define FIRMWARE_LIST_H

#include <stdint.h>

struct fw_list {
    uint16_t head, tail;
};

#endif
