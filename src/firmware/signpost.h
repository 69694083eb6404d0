/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signposts: where a call is in the firmware, as notifications to the host, while TRACE_ENABLE asks for them.
 * The execution loop's. Those of one time are sent as one message.
 */
#ifndef FIRMWARE_SIGNPOST_H
#define FIRMWARE_SIGNPOST_H

#include "firmware/state.h"

void fw_signpost_add(struct fw *fw, enum pr_signpost code, uint32_t first, uint32_t second);
void fw_signpost_add64(struct fw *fw, enum pr_signpost code, uint64_t first, uint64_t second);
/* Posts what has come together. */
void fw_signpost_flush(struct fw *fw);
/* A call has left its queue. */
void fw_signpost_retired(struct fw *fw, const struct fw_call *call);

static inline void fw_signpost(struct fw *fw, enum pr_signpost code, uint32_t first, uint32_t second)
{
    if (fw->signposts.on)
        fw_signpost_add(fw, code, first, second);
}

#endif
