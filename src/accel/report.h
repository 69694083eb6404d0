/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request did not end, in one block of lines for the user: who asked, which descriptor, word, register
 * and field, what an M1 does, what to do. For a DART fault the address, and which buffer is before it.
 */
#ifndef ACCEL_REPORT_H
#define ACCEL_REPORT_H

#include <anemone/machine.h>

#include "accel/device.h"
#include "accel/space.h"
#include "protocol/board.h"
#include "protocol/tm_regs.h"

#define ACC_REPORT_BYTES 4096u

struct acc_report {
    size_t length;
    char text[ACC_REPORT_BYTES]; /* what does not fit is left out */
};

struct acc_report_facts {
    const struct acc_request *request;
    const struct acc_space *space; /* the caller has its lock */
    uint32_t queue;
    bool first_is_empty; /* the header of the first descriptor has nothing but the network's number */
    bool has_problem;    /* the machine found one in this request: */
    struct ane_machine_problem problem;
    uint32_t error[PR_TM_ERRORS]; /* ERROR1 to ERROR3 of the task manager */
    struct {
        uint32_t error, address; /* as captured; no flag: no fault */
    } dart[PR_DART_COUNT];
};

void acc_report_write(struct acc_report *report, const struct acc_report_facts *facts);

#endif
