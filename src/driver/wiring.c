/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiring. Blocks of a program are all wired or, of an UNWIRED one, none: a wiring that fails halfway is taken
 * back. The pages of a base are also its instances': an overlay lists them, and instances have copies of the
 * base's blocks, so a base is wired before its instances and unwired after them.
 */
#include "driver/wiring.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "driver/container.h"
#include "driver/instance.h"
#include "driver/program.h"
#include "driver/reclaim.h"

/* What is kept: the blocks that no command writes again. */
#define KEPT 3u
static unsigned list_kept(struct drv_program *program, struct drv_block *kept[KEPT])
{
    struct drv_block *all[KEPT] = {&program->text, &program->kernel, &program->constants};
    unsigned count = 0;

    for (unsigned i = 0; i < KEPT; i++)
        if (all[i]->bytes && !drv_instance_shares(program, all[i]))
            kept[count++] = all[i];
    return count;
}

static uint64_t count_bytes(const struct drv_program *program, bool wired)
{
    const struct drv_block *block[DRV_PROGRAM_BLOCKS];
    const unsigned count = drv_program_blocks(program, block);
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++)
        if (wired == !block[i]->saved)
            bytes += pr_round_up(drv_block_own_bytes(block[i]), PR_PAGE_BYTES);
    return bytes;
}

uint64_t drv_wiring_wired(const struct drv_program *program)
{
    return count_bytes(program, true);
}

uint64_t drv_wiring_pageable(const struct drv_program *program)
{
    return count_bytes(program, false);
}

static void share_again(struct drv_program *base)
{
    for (struct drv_program *program = base->driver->programs; program; program = program->next)
        if (program->base == base)
            drv_instance_share(program);
}

bool drv_wiring_unwire(struct drv_program *program)
{
    struct drv *d = program->driver;
    const uint64_t bytes = drv_wiring_wired(program);
    struct drv_block *kept[KEPT];
    const unsigned count = list_kept(program, kept);
    void *saved[KEPT];

    for (unsigned i = 0; i < count; i++) {
        saved[i] = drv_block_copy(kept[i]);
        if (saved[i])
            continue;
        while (i)
            base_free(saved[--i]);
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        drv_block_unwire(d, kept[i], saved[i]);
    drv_block_drop(d, &program->container);
    drv_block_drop(d, &program->working);
    drv_program_set_state(program, DRV_PROGRAM_UNWIRED);
    share_again(program);
    d->stats.unwired++;
    SOC_TRACE(d->platform.trace, DRV_UNWIRED, program->token, bytes);
    return true;
}

static int wire_blocks(struct drv *d, struct drv_program *program, struct drv_block *const kept[KEPT],
                       const struct drv_block before[KEPT], unsigned count)
{
    const struct drv_block *below = program->base ? &program->base->kernel : NULL;
    int status = 0;

    for (unsigned i = 0; i < count && !status; i++)
        status = drv_block_wire(d, &before[i], below, kept[i]);
    if (!status)
        status = drv_block_make(d, PR_USAGE_TEXT, sizeof(struct pr_working_set), &program->working);
    return status;
}

/* All of it, or nothing. */
static IOReturn wire_now(struct drv_program *program)
{
    struct drv *d = program->driver;
    struct drv_block *kept[KEPT], before[KEPT];
    const unsigned count = list_kept(program, kept);
    IOReturn result;

    for (unsigned i = 0; i < count; i++)
        before[i] = *kept[i];
    result = wire_blocks(d, program, kept, before, count) ? kIOReturnNoMemory : kIOReturnSuccess;
    if (!result)
        result = program->base ? drv_instance_container(d, program) : drv_container_make(d, program);
    for (unsigned i = 0; i < count; i++) {
        struct drv_block *old = result ? kept[i] : &before[i];

        if (result && old->saved)
            continue; /* not reached */
        drv_block_drop(d, old);
        if (result)
            *kept[i] = before[i];
    }
    if (!result)
        return kIOReturnSuccess;
    drv_block_drop(d, &program->container);
    drv_block_drop(d, &program->working);
    return result;
}

static IOReturn refuse(const struct drv_program *program)
{
    return drv_refuse(program->driver, kIOReturnNoMemory,
                      "Program 0x%" PRIx64 " \"%s\" was unwired and cannot be wired again: no memory for its "
                      "%" PRIu64 " bytes. Destroy programs that are not needed.",
                      program->token, program->name, drv_wiring_pageable(program));
}

static IOReturn wire_base(struct drv_program *program)
{
    return program->base ? drv_wiring_wire(program->base) : kIOReturnSuccess;
}

/* Room is made by unwiring another one; the base of this one is not it. */
static bool make_room(struct drv_program *program)
{
    bool made;

    if (program->base)
        program->base->pins++;
    made = drv_reclaim_one(program->driver);
    if (program->base)
        program->base->pins--;
    return made;
}

IOReturn drv_wiring_wire(struct drv_program *program)
{
    struct drv *d = program->driver;

    while (program->state == DRV_PROGRAM_UNWIRED) {
        IOReturn result = wire_base(program);

        if (result)
            return result;
        if (program->state != DRV_PROGRAM_UNWIRED)
            break; /* another caller has wired it, while room was made for the base */
        result = wire_now(program);
        if (!result) {
            drv_program_set_state(program, DRV_PROGRAM_LOST);
            share_again(program);
            d->stats.rewired++;
            SOC_TRACE(d->platform.trace, DRV_REWIRED, program->token, drv_wiring_wired(program));
        } else if (result != kIOReturnNoMemory || !make_room(program)) {
            return result == kIOReturnNoMemory ? refuse(program) : result;
        }
    }
    return kIOReturnSuccess;
}
