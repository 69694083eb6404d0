/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bus. The taps see an access before the block does; an access that no block answers is counted and
 * traced and has no other effect.
 */
#include "soc/bus.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "soc/trace.h"

struct soc_bus {
    uint64_t base, bytes;
    struct soc_trace *trace;
    struct soc_bus_tap *taps;
    uint64_t unanswered;
    unsigned blocks;
    struct soc_block block[SOC_BUS_BLOCKS + 1]; /* from 1; 0 means no block */
    uint8_t at[];                               /* per granule: index of its block */
};

int soc_bus_create(uint64_t base, uint64_t bytes, struct soc_trace *trace, struct soc_bus **bus,
                   struct base_error *error)
{
    struct soc_bus *b = base_alloc(sizeof(*b) + bytes / SOC_BUS_GRANULE);

    if (!b)
        return base_fail(error, ENOMEM, "No memory for the bus.");
    b->base = base;
    b->bytes = bytes;
    b->trace = trace;
    *bus = b;
    return 0;
}

void soc_bus_destroy(struct soc_bus *bus)
{
    base_free(bus);
}

int soc_bus_attach(struct soc_bus *bus, const struct soc_block *block, struct base_error *error)
{
    uint64_t first = (block->base - bus->base) / SOC_BUS_GRANULE;
    uint64_t count = block->bytes / SOC_BUS_GRANULE;

    if (block->base < bus->base || block->base - bus->base > bus->bytes ||
        block->bytes > bus->bytes - (block->base - bus->base) || block->base % SOC_BUS_GRANULE ||
        block->bytes % SOC_BUS_GRANULE)
        return base_fail(error, EINVAL, "Block %s at 0x%" PRIx64 " is not a whole number of bus granules.",
                         block->name, block->base);
    if (bus->blocks == SOC_BUS_BLOCKS)
        return base_fail(error, ENOSPC, "The bus holds at most %d blocks.", SOC_BUS_BLOCKS);
    for (uint64_t i = 0; i < count; i++)
        if (bus->at[first + i])
            return base_fail(error, EEXIST, "Block %s overlaps block %s.", block->name,
                             bus->block[bus->at[first + i]].name);
    bus->block[++bus->blocks] = *block;
    for (uint64_t i = 0; i < count; i++)
        bus->at[first + i] = (uint8_t)bus->blocks;
    return 0;
}

static const struct soc_block *find_block(const struct soc_bus *bus, uint64_t address)
{
    uint64_t offset = address - bus->base;

    if (offset >= bus->bytes || address % 4)
        return NULL;
    return bus->at[offset / SOC_BUS_GRANULE] ? &bus->block[bus->at[offset / SOC_BUS_GRANULE]] : NULL;
}

static bool pass_taps(const struct soc_bus *bus, struct soc_access *access)
{
    for (const struct soc_bus_tap *tap = bus->taps; tap; tap = tap->next)
        if (!tap->see(tap->context, access))
            return false;
    return true;
}

/* An access that a tap sees, or that no block answers. */
static __attribute__((cold, noinline)) uint32_t read_watched(struct soc_bus *bus, enum soc_master master,
                                                             uint64_t address)
{
    struct soc_access access = {.master = master, .address = address, .value = SOC_BUS_OPEN};
    const struct soc_block *block = find_block(bus, address);

    if (!pass_taps(bus, &access))
        return access.value;
    if (block)
        return block->read(block->context, master, (uint32_t)(address - block->base));
    bus->unanswered++;
    SOC_TRACE(bus->trace, BUS_UNANSWERED_READ, address);
    return SOC_BUS_OPEN;
}

uint32_t soc_bus_read32(struct soc_bus *bus, enum soc_master master, uint64_t address)
{
    const struct soc_block *block = find_block(bus, address);

    if (bus->taps || !block)
        return read_watched(bus, master, address);
    return block->read(block->context, master, (uint32_t)(address - block->base));
}

static __attribute__((cold, noinline)) void write_watched(struct soc_bus *bus, enum soc_master master,
                                                          uint64_t address, uint32_t value)
{
    struct soc_access access = {.master = master, .write = true, .address = address, .value = value};
    const struct soc_block *block = find_block(bus, address);

    if (!pass_taps(bus, &access))
        return;
    if (block) {
        block->write(block->context, master, (uint32_t)(address - block->base), access.value);
        return;
    }
    bus->unanswered++;
    SOC_TRACE(bus->trace, BUS_UNANSWERED_WRITE, address, access.value);
}

void soc_bus_write32(struct soc_bus *bus, enum soc_master master, uint64_t address, uint32_t value)
{
    const struct soc_block *block = find_block(bus, address);

    if (bus->taps || !block)
        write_watched(bus, master, address, value);
    else
        block->write(block->context, master, (uint32_t)(address - block->base), value);
}

bool soc_bus_write_words(struct soc_bus *bus, enum soc_master master, uint64_t address, const uint32_t *value,
                         uint32_t count)
{
    const struct soc_block *block = find_block(bus, address);
    uint64_t offset;

    if (bus->taps || !block || !block->write_words)
        return false;
    offset = address - block->base;
    return 4ull * count <= block->bytes - offset &&
           block->write_words(block->context, master, (uint32_t)offset, value, count);
}

uint64_t soc_bus_unanswered(const struct soc_bus *bus)
{
    return bus->unanswered;
}

void soc_bus_tap_add(struct soc_bus *bus, struct soc_bus_tap *tap)
{
    tap->next = bus->taps;
    bus->taps = tap;
}

void soc_bus_tap_remove(struct soc_bus *bus, struct soc_bus_tap *tap)
{
    struct soc_bus_tap **at = &bus->taps;

    while (*at && *at != tap)
        at = &(*at)->next;
    if (*at)
        *at = tap->next;
}
