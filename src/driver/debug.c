/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports. A buffer that the firmware has sent is the host's until CH_BUFFER_RETURN names it: `owed` holds
 * those that are still to be returned, and a restart of the firmware forgets them.
 */
#include "driver/debug.h"

#include <errno.h>
#include <string.h>

#include "driver/block.h"
#include "driver/command.h"
#include "driver/recovery.h"

static void return_owed(struct drv *d)
{
    while (d->load.owed_count) {
        struct pr_body_buffer_return *body = &d->load.owed[d->load.owed_count - 1];
        const struct drv_command_args args = {.id = PR_CMD_CH_BUFFER_RETURN,
                                              .channel = DRV_COMMAND_BUFFERS,
                                              .program = PR_NO_ID,
                                              .process = PR_NO_ID,
                                              .body = body,
                                              .bytes = sizeof(*body)};

        if (!drv_command_post(d, &args, NULL))
            return;
        d->load.owed_count--;
    }
}

void drv_debug_take_buffer(struct drv *d, uint64_t address, uint64_t bytes, uint64_t tag)
{
    const void *buffer = bytes >= sizeof(d->load.last) ? drv_block_find(d, address, bytes) : NULL;

    if (tag != PR_BUFFER_LOAD_REPORT || !buffer || d->load.owed_count == PR_LOAD_BUFFERS) {
        SOC_TRACE(d->platform.trace, DRV_BUFFER_UNKNOWN, bytes, address, tag);
        return;
    }
    memcpy(&d->load.last, buffer, sizeof(d->load.last));
    d->load.reports++;
    d->load.owed[d->load.owed_count++] =
        (struct pr_body_buffer_return){.address = address, .tag = PR_BUFFER_LOAD_REPORT};
    return_owed(d);
}

const struct pr_load_report *drv_debug_load(const struct drv *d, uint64_t *reports)
{
    *reports = d->load.reports;
    return &d->load.last;
}

/* The largest report that a cell has room for. */
struct report_body {
    struct pr_body_report_head {
        uint32_t report, bytes;
    } head;
    char text[DRV_CELL_BYTES - sizeof(struct pr_command_header) - sizeof(struct pr_body_report_head)];
};
_Static_assert(offsetof(struct report_body, text) == offsetof(struct pr_body_report, text),
               "the same places");

int drv_debug_report(struct drv *d, uint32_t report, char *text, size_t *bytes, struct base_error *error)
{
    struct report_body body = {.head = {.report = report}};
    const struct drv_command_args args = {.id = PR_CMD_CH_INFO_GET,
                                          .channel = DRV_COMMAND_DEBUG,
                                          .program = PR_NO_ID,
                                          .process = PR_NO_ID,
                                          .body = &body,
                                          .bytes = sizeof(body)};
    IOReturn result = kIOReturnNotReady;
    size_t length = 0;

    if (report >= PR_REPORTS)
        return base_fail(error, EINVAL, "There is no report %u; the firmware has %u.", report, PR_REPORTS);
    drv_enter(d, NULL);
    if (!d->ready)
        drv_recovery_rouse(d, NULL);
    if (d->ready)
        result = drv_command_run(d, &args, NULL);
    if (result)
        base_fail(error, EIO, "The firmware's report was not read: %s",
                  d->ready ? drv_last_error(d) : d->recovery.why.text);
    drv_gate_leave(&d->gate);
    if (result)
        return -EIO;
    while (length < body.head.bytes && length < sizeof(body.text) && body.text[length])
        length++;
    if (length >= *bytes)
        return base_fail(error, ENOSPC, "The report has %zu bytes and an end; there is room for %zu.", length,
                         *bytes);
    memcpy(text, body.text, length);
    text[length] = '\0';
    *bytes = length;
    return 0;
}
