/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bus: register blocks at physical addresses. A block is found by array index (one byte per 16 KiB
 * granule of the mapped range), never by search. Accesses are 32 bits wide and aligned.
 */
#ifndef SOC_BUS_H
#define SOC_BUS_H

#include <stdint.h>

#include "base/error.h"

struct soc_bus;
struct soc_trace;

struct soc_block {
    const char *name;
    uint64_t base, bytes; /* whole granules */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    void *context;
};

#define SOC_BUS_GRANULE 0x4000u
#define SOC_BUS_BLOCKS  250

/* Covers [base, base + bytes). An access nobody answers reads SOC_BUS_OPEN, is counted and traced. */
#define SOC_BUS_OPEN 0u
int soc_bus_create(uint64_t base, uint64_t bytes, struct soc_trace *trace, struct soc_bus **bus,
                   struct base_error *error);
void soc_bus_destroy(struct soc_bus *bus);

/*
 * The block is copied. -EEXIST when granules overlap, -EINVAL when it is not whole granules inside the bus.
 */
int soc_bus_attach(struct soc_bus *bus, const struct soc_block *block, struct base_error *error);

uint32_t soc_bus_read32(struct soc_bus *bus, uint64_t address);
void soc_bus_write32(struct soc_bus *bus, uint64_t address, uint32_t value);
/* Accesses that no block answered. */
uint64_t soc_bus_unanswered(const struct soc_bus *bus);

#endif
