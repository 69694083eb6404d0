/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host memory that this process holds: what is resident, and the pages of its memory files (memfd) that
 * no mapping shows. A resident set alone leaves out what was only written to such a file.
 */
#ifndef BASE_HELD_H
#define BASE_HELD_H

#include <stdint.h>

struct base_held {
    uint64_t peak_kib; /* 0: not known */
};

/*
 * Adds what was held since the last note. For calls at the end of each step, before what it has made is
 * given back: the peak of the resident set in a step is taken to meet the pages outside it at the step's end,
 * so a sum is never too small. A page that is mapped twice counts twice, as it does in a resident set. Makes
 * the kernel begin its own peak (VmHWM) again.
 */
void base_held_note(struct base_held *held);

#endif
