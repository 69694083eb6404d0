/* SPDX-License-Identifier: Apache-2.0 */
/* Each line has a name of LABEL columns and a text; the first has who and what. */
#include "accel/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "protocol/dart_error.h"

#define LABEL 12 /* columns of a line's name */

/* What an M1 does with an address that is not mapped, and with a request that never ends. */
#define FAULT_OUTCOME \
    "The access stalls, so that the queue never becomes idle and the driver's timeout ends the call."
#define FAULT_ADVICE                                                                                    \
    "Compare the base address, strides and dimensions of this transfer with the size that BO_INIT got " \
    "for its buffer, and check that the tile has a handle in SUBMIT."
#define STUCK_OUTCOME "The driver's timeout of one second ends the call."
#define STUCK_ADVICE                                                                                         \
    "Run `anemone inspect --raw` on the btsp buffer, or `anemone accel --trace FILE` to see which register " \
    "accesses and descriptors came before."

/* Where libane and the files it reads disagree (drv: e585747; anecc writes at 0x1000). */
#define EMPTY_REMARK                                                                                     \
    "The first descriptor is empty. libane since e585747 looks for a program at byte 0x800 of an .anec " \
    "file; anecc and the published files have it at 0x1000."

static void add(struct acc_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct acc_report *report, const char *format, ...)
{
    const size_t room = sizeof(report->text) - report->length;
    va_list arguments;
    int wrote;

    va_start(arguments, format);
    wrote = vsnprintf(report->text + report->length, room, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        report->length += (size_t)wrote < room ? (size_t)wrote : room - 1;
}

static bool has(const char *text)
{
    return text && text[0];
}

static void add_label(struct acc_report *report, const char *name)
{
    add(report, "  %-*s", LABEL, name);
}

static void add_line(struct acc_report *report, const char *name, const char *text)
{
    if (!has(text))
        return;
    add_label(report, name);
    add(report, "%s\n", text);
}

/* "tile 5 (handle 3)": what the request calls the buffer that begins there. */
static void add_buffer(struct acc_report *report, const struct acc_request *request,
                       const struct acc_range *range)
{
    if (range->iova == request->first) {
        add(report, "the btsp buffer");
        if (request->first_handle)
            add(report, " (handle %" PRIu32 ")", request->first_handle);
        return;
    }
    for (unsigned tile = 0; tile < ACC_TILES; tile++)
        if (request->bar[tile] == range->iova) {
            add(report, "tile %u", tile);
            if (request->handle[tile])
                add(report, " (handle %" PRIu32 ")", request->handle[tile]);
            return;
        }
    add(report, "a buffer that this request does not name");
}

/* Where a device address is: in a buffer, or how far behind the end of one. */
static void add_place(struct acc_report *report, const struct acc_report_facts *facts, uint32_t address)
{
    const struct acc_range *range = acc_space_before(facts->space, address);
    uint64_t past;

    if (!range) {
        add(report, "before the first buffer; a tile without a handle has the base address 0");
        return;
    }
    past = address - range->iova;
    if (past < range->bytes) {
        add(report, "byte 0x%" PRIx64 " of ", past);
        add_buffer(report, facts->request, range);
        return;
    }
    add(report, "0x%" PRIx64 " bytes past the end of ", past - range->bytes);
    add_buffer(report, facts->request, range);
    add(report, ", which is 0x%" PRIx32 " to 0x%" PRIx64, range->iova, range->iova + range->bytes - 1);
}

static void add_head(struct acc_report *report, const struct acc_report_facts *facts)
{
    const struct acc_request *request = facts->request;

    add(report,
        "anemone accel: process %d: a submit of %" PRIu32
        " descriptor%s did not end; the program gets ETIMEDOUT.\n",
        request->process, request->td_count, request->td_count == 1 ? "" : "s");
    add_label(report, "request");
    add(report,
        "queue %" PRIu32 ", first descriptor at device address 0x%" PRIx32 ", td_size 0x%" PRIx32 " bytes\n",
        facts->queue, request->first, request->td_size);
}

static void add_descriptor(struct acc_report *report, const struct acc_report_facts *facts, uint32_t index,
                           uint32_t address)
{
    add_label(report, "descriptor");
    add(report, "%" PRIu32 " (from 0), at device address 0x%" PRIx32 ": ", index, address);
    add_place(report, facts, address);
    add(report, "\n");
}

/* The place in the descriptor; a problem of an address has none. */
static void add_word(struct acc_report *report, const struct ane_machine_problem *problem)
{
    if (problem->offset || problem->bits) {
        add_label(report, "word");
        add(report, "%" PRIu32 ", byte 0x%" PRIx32 " of the descriptor; value or bits 0x%08" PRIx32 "\n",
            problem->offset / 4, problem->offset, problem->bits);
    }
    if (has(problem->reg_name)) {
        add_label(report, "register");
        add(report, "%s, address 0x%" PRIx32 "\n", problem->reg_name, problem->reg);
    }
    add_line(report, "field", problem->field_name);
    add_line(report, "kind", problem->kind_name);
    add_line(report, "reason", problem->text);
}

static void add_fault(struct acc_report *report, const struct acc_report_facts *facts, unsigned dart)
{
    const uint32_t error = facts->dart[dart].error, address = facts->dart[dart].address;
    const uint32_t dma = facts->error[0] >> PR_TM_ERROR1_DMA_LO & ((1u << PR_TM_ERROR1_DMA_WIDTH) - 1);

    add_label(report, "fault");
    add(report, "DART %u refused a %s at device address 0x%" PRIx32 ": %s (ERROR 0x%08" PRIx32 ")\n", dart,
        error & PR_DART_ERROR_WRITE ? "write" : "read", address, pr_dart_error_text(error), error);
    if (facts->error[0] != PR_TM_ERROR_FINE && dma) {
        add_label(report, "transfer");
        add(report, "%s, from device address 0x%" PRIx32 "\n", pr_tm_dma_text(dma), facts->error[2]);
    }
    add_label(report, "nearest");
    add_place(report, facts, address);
    add(report, "\n");
}

/* True when a DART has captured one. */
static bool add_faults(struct acc_report *report, const struct acc_report_facts *facts)
{
    bool any = false;

    for (unsigned dart = 0; dart < PR_DART_COUNT; dart++)
        if (facts->dart[dart].error & PR_DART_ERROR_FLAG) {
            add_fault(report, facts, dart);
            any = true;
        }
    return any;
}

void acc_report_write(struct acc_report *report, const struct acc_report_facts *facts)
{
    const struct ane_machine_problem *problem = facts->has_problem ? &facts->problem : NULL;
    const char *outcome = problem ? problem->outcome : NULL, *advice = problem ? problem->advice : NULL;

    report->length = 0;
    report->text[0] = 0;
    add_head(report, facts);
    if (problem) {
        add_descriptor(report, facts, problem->descriptor, problem->address);
        add_word(report, problem);
    }
    if (add_faults(report, facts)) {
        outcome = FAULT_OUTCOME;
        advice = FAULT_ADVICE;
    }
    add_line(report, "remark", facts->first_is_empty ? EMPTY_REMARK : NULL);
    add_line(report, "on an M1", has(outcome) ? outcome : STUCK_OUTCOME);
    add_line(report, "what to do", has(advice) ? advice : STUCK_ADVICE);
}
