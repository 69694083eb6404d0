/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests that look behind the driver share: memory at device addresses of
 * the base domain, and the execution loop's ring.
 */
#ifndef TESTS_INSIDE_H
#define TESTS_INSIDE_H

#include <stdlib.h>

#include "machine/internal.h"
#include "protocol/channel.h"

/* Ends the program when the range is not mapped: fuzz targets use it too. */
static inline void *inside_memory(struct ane_machine *machine, uint64_t address, uint64_t bytes)
{
    struct dart_range range;

    if (dart_range_get(machine->dart, DART_PORT_TASK, 0, address, bytes, DART_READ, &range) || !range.host)
        abort();
    return range.host;
}

/*
 * The published record of the execution loop's channel. The table's address is in scratch 0 since the second
 * wake.
 */
static inline const struct pr_channel_record *inside_channel(struct ane_machine *machine)
{
    return inside_memory(machine,
                         machine->controller.scratch[0] + PR_CHANNEL_DATA_CHAIN_H2T * PR_CHANNEL_RECORD_BYTES,
                         PR_CHANNEL_RECORD_BYTES);
}

static inline struct pr_slot *inside_ring(struct ane_machine *machine)
{
    const struct pr_channel_record *record = inside_channel(machine);

    return inside_memory(machine, record->ring, record->slots * PR_SLOT_BYTES);
}

#endif
