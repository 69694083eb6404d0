/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a machine: taken from the caller's struct, whatever version of it the caller was built
 * with, and checked field by field.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "engine/pool.h"
#include "machine/internal.h"
#include "protocol/device.h"

#define DRAM_DEFAULT      (4ull << 30)
#define DRAM_MAX          (64ull << 30)
#define FIRMWARE_DRAM_MIN (64ull << 20)

_Static_assert((int)ANE_CHIP_T6000 == (int)PR_CHIP_T6000 && (int)ANE_CHIP_T8103 == (int)PR_CHIP_T8103,
               "same numbering");
/* The public forms are the protocol's, behind the one that the chip chooses. */
_Static_assert((int)ANE_PAGE_TABLE_SEED == (int)PR_LEAF_SEED + 1 &&
                   (int)ANE_PAGE_TABLE_T8020 == (int)PR_LEAF_T8020 + 1 &&
                   (int)ANE_PAGE_TABLE_T6000 == (int)PR_LEAF_T6000 + 1,
               "same order");
_Static_assert((int)ANE_NUMERICS_M1 == (int)ENG_M1 && (int)ANE_NUMERICS_IEEE == (int)ENG_IEEE,
               "same numbering");

_Static_assert(ANE_THREADS_MAX == ENG_POOL_THREADS_MAX, "one limit of threads");

int ane_numerics_named(const char *name)
{
    static const char *const names[] = {
        [ANE_NUMERICS_M1] = "m1", [ANE_NUMERICS_IEEE] = "ieee", [ANE_NUMERICS_M1_EXACT] = "m1-exact"};

    for (unsigned i = 0; name && i < BASE_COUNT_OF(names); i++)
        if (!strcmp(name, names[i]))
            return (int)i;
    return -1;
}

int ane_winograd_named(const char *name)
{
    static const char *const names[] = {[ANE_WINOGRAD_ON] = "on", [ANE_WINOGRAD_OFF] = "off"};

    for (unsigned i = 0; name && i < BASE_COUNT_OF(names); i++)
        if (!strcmp(name, names[i]))
            return (int)i;
    return -1;
}

/* The firmware's driver writes the seeds' form; Linux's writes that of the chip. */
static uint32_t form_of_chip(const struct ane_machine_config *config)
{
    if (config->firmware)
        return ANE_PAGE_TABLE_SEED;
    return (uint32_t)pr_board_table[config->chip].form + ANE_PAGE_TABLE_SEED;
}

int mach_config_take(const struct ane_machine_config *from, struct ane_machine_config *config,
                     struct base_error *error)
{
    size_t known = sizeof(*config);

    *config = (struct ane_machine_config){.size = known};
    if (from && (from->size < offsetof(struct ane_machine_config, dram_bytes) || from->size > 4096))
        return base_fail(
            error, EINVAL,
            "The configuration's size is %zu; set it to sizeof(struct ane_machine_config), %zu here.",
            from->size, known);
    if (from && from->size > known && !base_is_zero((const uint8_t *)from + known, from->size - known))
        return base_fail(error, EINVAL,
                         "The configuration sets fields that this version of the library does not know.");
    if (from)
        memcpy(config, from, from->size < known ? from->size : known);
    if (!config->dram_bytes)
        config->dram_bytes = DRAM_DEFAULT;
    if (config->chip >= PR_CHIP_COUNT)
        return base_fail(error, EINVAL, "Chip %u is unknown; t6000 is 0 and t8103 is 1.", config->chip);
    if (config->numerics > ANE_NUMERICS_M1_EXACT)
        return base_fail(error, EINVAL, "Numerics %u are unknown; m1 is 0, ieee is 1 and m1-exact is 2.",
                         config->numerics);
    if (config->page_table > PR_LEAF_FORMS)
        return base_fail(error, EINVAL,
                         "Page-table form %u is unknown; the chip's is 0, seed 1, t8020 2, t6000 3.",
                         config->page_table);
    if (config->page_table == ANE_PAGE_TABLE_CHIP)
        config->page_table = form_of_chip(config);
    if (config->dram_bytes > DRAM_MAX)
        return base_fail(error, EINVAL,
                         "DRAM of 0x%" PRIx64 " bytes was asked for; the limit is 0x%" PRIx64 ".",
                         config->dram_bytes, (uint64_t)DRAM_MAX);
    if (!config->engines)
        config->engines = PR_DEVICE_ENGINES;
    if (config->engines > PR_DEVICE_ENGINES)
        return base_fail(error, EINVAL, "%u engines were asked for; the M1 has one.", config->engines);
    if (config->firmware && config->dram_bytes < FIRMWARE_DRAM_MIN)
        return base_fail(error, EINVAL, "With firmware a machine needs at least 0x%" PRIx64 " bytes of DRAM.",
                         (uint64_t)FIRMWARE_DRAM_MIN);
    if (config->threads > ANE_THREADS_MAX)
        return base_fail(error, EINVAL, "%u worker threads were asked for; the limit is %u.", config->threads,
                         ANE_THREADS_MAX);
    if (config->internal_build > 1)
        return base_fail(error, EINVAL, "Internal build is %u; 0 or 1 are known.", config->internal_build);
    if (config->lenient > 1)
        return base_fail(error, EINVAL, "Lenient is %u; 0 or 1 are known.", config->lenient);
    if (config->winograd > ANE_WINOGRAD_OFF)
        return base_fail(error, EINVAL, "Winograd is %u; on is 0 and off is 1.", config->winograd);
    if (config->timing > ANE_TIMING_M1)
        return base_fail(error, EINVAL, "Timing %u is unknown; none is 0 and m1 is 1.", config->timing);
    if (config->clock > ANE_CLOCK_CLOSED)
        return base_fail(error, EINVAL, "Clock %u is unknown; open is 0 and closed is 1.", config->clock);
    if (config->in_flight > ANE_IN_FLIGHT_ONE)
        return base_fail(error, EINVAL, "In-flight rule %u is unknown; bands is 0 and one is 1.",
                         config->in_flight);
    if (config->core > ANE_CORE_EMULATED)
        return base_fail(error, EINVAL, "Core %u is unknown; native is 0 and emulated is 1.", config->core);
    return 0;
}
