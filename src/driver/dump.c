/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump. What the controller wrote is hostile: address, size and number of a section are read once from
 * the scratch registers and checked, its bytes are copied once, and no section is taken twice. A section that
 * fails a check ends the dump as incomplete: the rest of what such a controller says is not worth waiting
 * for.
 */
#include "driver/dump.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "driver/block.h"
#include "driver/mailbox.h"

#define MARK_MASK 0xffff0000u

static uint64_t now(const struct drv *d)
{
    return d->platform.now(d->platform.context);
}

const char *drv_dump_reason(const struct drv *d)
{
    return d->dump.reason[0] ? d->dump.reason : "no reason is known";
}

static void begin_dump(struct drv *d)
{
    d->dump.draining = true;
    d->dump.complete = false;
    d->dump.sections = 0;
    d->dump.last = 0;
    d->dump.bytes = sizeof(struct pr_dump_file);
    d->dump.reason[0] = '\0';
}

static void end_dump(struct drv *d, bool complete)
{
    struct pr_dump_file head = {.magic = PR_DUMP_MAGIC,
                                .version = PR_DUMP_VERSION,
                                .sections = d->dump.sections,
                                .complete = complete,
                                .time = now(d)};

    snprintf(head.board, sizeof(head.board), "%s", d->platform.board->name);
    memcpy(d->dump.file, &head, sizeof(head));
    d->dump.draining = false;
    d->dump.complete = complete;
    d->stats.dumps++;
    d->stats.dumps_incomplete += !complete;
    SOC_TRACE(d->platform.trace, DRV_DUMP, d->dump.sections, PR_DUMP_SECTION_COUNT, drv_dump_reason(d));
    if (d->platform.dump)
        d->platform.dump(d->platform.context, d->dump.file, d->dump.bytes);
}

/* Text of the firmware's, up to its end, as a sentence may quote it. */
static void append_text(struct drv *d, const char *before, const char *from, size_t size)
{
    char *reason = d->dump.reason;
    size_t at = strlen(reason);

    at += (size_t)snprintf(reason + at, sizeof(d->dump.reason) - at, "%s", before);
    for (size_t i = 0; i < size && from[i] && at + 1 < sizeof(d->dump.reason); i++)
        reason[at++] = isprint((unsigned char)from[i]) ? from[i] : '.';
    reason[at < sizeof(d->dump.reason) ? at : sizeof(d->dump.reason) - 1] = '\0';
}

/* The sentence about the failure is made of two sections, which are in this order. */
static void read_reason(struct drv *d, uint32_t section, const uint8_t *bytes, uint32_t size)
{
    struct pr_dump_exception exception;
    struct pr_dump_task task;

    if (section == PR_DUMP_EXCEPTION && size >= sizeof(exception)) {
        memcpy(&exception, bytes, sizeof(exception));
        append_text(d, "", exception.text, sizeof(exception.text));
    }
    if (section == PR_DUMP_TASK && size >= sizeof(task)) {
        memcpy(&task, bytes, sizeof(task));
        if (task.name[0])
            append_text(d, task.in_interrupt ? ", in an interrupt above task " : ", in task ", task.name,
                        sizeof(task.name));
    }
}

/* False: it is not a section that may come next. */
static bool copy_section(struct drv *d, uint32_t section)
{
    uint64_t address =
        drv_mailbox_read(d, PR_CTRL_SCRATCH(0)) | (uint64_t)drv_mailbox_read(d, PR_CTRL_SCRATCH(1)) << 32;
    uint32_t size = drv_mailbox_read(d, PR_CTRL_SCRATCH(2));
    const struct pr_dump_part part = {section, size};
    const void *staged;
    uint8_t *to = d->dump.file + d->dump.bytes;

    if (section <= d->dump.last || section > PR_DUMP_SECTION_COUNT || size > PR_DUMP_AREA_BYTES)
        return false;
    staged = drv_block_find(d, address, size);
    if (!staged)
        return false;
    memcpy(to, &part, sizeof(part));
    memcpy(to + sizeof(part), staged, size);
    read_reason(d, section, to + sizeof(part), size);
    d->dump.bytes += sizeof(part) + size;
    d->dump.sections++;
    d->dump.last = section;
    return true;
}

bool drv_dump_is_staged(struct drv *d)
{
    return (drv_mailbox_read(d, PR_CTRL_SCRATCH(PR_SCRATCH_DUMP)) & MARK_MASK) == PR_DUMP_STAGED;
}

void drv_dump_take(struct drv *d)
{
    uint32_t word = drv_mailbox_read(d, PR_CTRL_SCRATCH(PR_SCRATCH_DUMP)), section = word & ~MARK_MASK;

    if (!d->dump.draining)
        begin_dump(d);
    d->dump.deadline = now(d) + DRV_DUMP_LIMIT_NS;
    if ((word & MARK_MASK) != PR_DUMP_STAGED)
        end_dump(d, false);
    else if (section == PR_DUMP_END)
        end_dump(d, d->dump.sections == PR_DUMP_SECTION_COUNT);
    else if (copy_section(d, section))
        drv_mailbox_write(d, PR_CTRL_SCRATCH(7), PR_DUMP_TAKEN | section);
    else
        end_dump(d, false);
}

bool drv_dump_is_draining(struct drv *d)
{
    if (d->dump.draining && now(d) >= d->dump.deadline)
        end_dump(d, false);
    return d->dump.draining;
}

void drv_dump_skip(struct drv *d, const char *why)
{
    if (d->dump.draining)
        end_dump(d, false);
    snprintf(d->dump.reason, sizeof(d->dump.reason), "%s", why);
}
