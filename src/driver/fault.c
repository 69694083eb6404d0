/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DART faults. The capture routine copies the registers of each DART that holds a fault to its snapshot,
 * makes the descriptor of Table 28.11, clears the capture, so that the next fault is seen, and hands the
 * descriptor to the consumers in the order of their registration. The first is the driver's own: unless the
 * engine is powered and idle it sets the latch, writes the table of allocations to the trace and parks: no
 * request is sent until PR_FAULT_PARK_NS of virtual time have passed and the recovery has cleared the latch.
 *
 * A capture belongs to the client to whom the domain of its stream is lent, a stream of the base table to the
 * firmware. A request takes only a capture of its own client.
 */
#include "driver/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/block.h"
#include "driver/chain.h"
#include "driver/domain.h"
#include "driver/flow.h"
#include "driver/mailbox.h"
#include "driver/program.h"
#include "driver/request.h"
#include "program/chain.h"

#define CAPTURE_TEXT 128u

static uint32_t dart_read(struct drv *d, unsigned dart, uint32_t offset)
{
    return soc_bus_read32(d->platform.bus, SOC_MASTER_HOST, d->platform.board->dart[dart] + offset);
}

static void dart_clear(struct drv *d, unsigned dart, uint32_t error)
{
    soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, d->platform.board->dart[dart] + PR_DART_ERROR, error);
}

/* Consumers. */

int drv_fault_register(struct drv *d, drv_fault_consumer consumer, void *context)
{
    for (unsigned i = 0; i < DRV_FAULT_CONSUMERS; i++) {
        if (d->fault.consumer[i].call)
            continue;
        d->fault.consumer[i].call = consumer;
        d->fault.consumer[i].context = context;
        return 0;
    }
    return -ENOSPC;
}

const struct drv_fault_report *drv_fault_last(const struct drv *d)
{
    return &d->fault.last;
}

bool drv_fault_latched(const struct drv *d)
{
    return d->fault.latched;
}

/* The capture routine. */

static void snapshot_take(struct drv *d, unsigned dart, struct pr_dart_snapshot *s)
{
    *s = (struct pr_dart_snapshot){
        .magic = PR_DART_SNAPSHOT_MAGIC,
        .dart = dart,
        .count = d->fault.count,
        .time = d->platform.now(d->platform.context),
        .error = dart_read(d, dart, PR_DART_ERROR),
        .address_lo = dart_read(d, dart, PR_DART_ERROR_ADDR_LO),
        .address_hi = dart_read(d, dart, PR_DART_ERROR_ADDR_HI),
        .tlb_control = dart_read(d, dart, PR_DART_TLB_CONTROL),
        .tlb_status = dart_read(d, dart, PR_DART_TLB_STATUS),
        .tlb_error0 = dart_read(d, dart, PR_DART_TLB_ERROR0),
        .tlb_error1 = dart_read(d, dart, PR_DART_TLB_ERROR1),
        .enabled_streams = dart_read(d, dart, PR_DART_ENABLED_STREAMS),
    };
    for (unsigned i = 0; i < PR_DART_STREAMS; i++)
        s->tcr[i] = dart_read(d, dart, PR_DART_TCR + 4 * i);
    for (unsigned i = 0; i < PR_DART_STREAMS * PR_DART_TTBRS; i++)
        s->ttbr[i] = dart_read(d, dart, PR_DART_TTBR + 4 * i);
}

static enum pr_dart_fault_type type_of(const struct pr_dart_snapshot *s)
{
    const uint32_t protection = (uint32_t)PR_DART_ERROR_WRITE_FAULT | (uint32_t)PR_DART_ERROR_READ_FAULT |
                                (uint32_t)PR_DART_ERROR_SUBPAGE_PROT;
    const uint32_t stream = (uint32_t)PR_DART_ERROR_NO_TTBR | (uint32_t)PR_DART_ERROR_NO_DAPF_MATCH;

    if (s->error & protection)
        return PR_DART_FAULT_PROTECTION;
    if (s->error & (uint32_t)PR_DART_ERROR_PTE_READ_FAULT)
        return PR_DART_FAULT_TABLE;
    return s->error & stream ? PR_DART_FAULT_STREAM : PR_DART_FAULT_TRANSLATION;
}

static uint64_t address_of(const struct pr_dart_snapshot *s)
{
    return s->address_lo | (uint64_t)s->address_hi << 32;
}

static struct IODARTErrorInfo info_make(const struct pr_dart_snapshot *s)
{
    const uint32_t codes = s->error & ((1u << PR_DART_ERROR_STREAM_LO) - 1) & ~(uint32_t)PR_DART_ERROR_WRITE;

    return (struct IODARTErrorInfo){
        .type = type_of(s),
        .hw_class = pr_bits_get(s->tlb_error1, PR_DART_TLB_LEVEL_LO, PR_DART_TLB_LEVEL_WIDTH),
        .hw_error = codes ? (uint64_t)__builtin_ctz(codes) : 0,
        .hw_status = s->error,
        .is_write = s->error & (uint32_t)PR_DART_ERROR_WRITE ? 1 : 0,
        .sid = pr_bits_get(s->error, PR_DART_ERROR_STREAM_LO, PR_DART_ERROR_STREAM_WIDTH),
        .address = s->address_lo,
        .ttbr_index = (uint32_t)(address_of(s) >> PR_DART_TTBR_INDEX_SHIFT) % PR_DART_TTBRS,
        .l2_index = (uint32_t)(address_of(s) >> PR_DART_L1_SHIFT) % PR_DART_TABLE_ENTRIES,
        .l3_index = (uint32_t)(address_of(s) >> PR_DART_L2_SHIFT) % PR_DART_TABLE_ENTRIES,
        .axi_id = {s->dart},
    };
}

/* To whom the domain of a stream is lent; NULL when it is the firmware's, or no client has it. */
static struct drv_client *client_of(struct drv *d, uint32_t stream)
{
    for (unsigned i = 1; i < PR_DART_DOMAINS; i++)
        if (d->domain[i].streams >> stream & 1)
            return d->domain[i].client;
    return NULL;
}

static void describe_owner(const struct drv_fault_report *report, char *text, size_t size)
{
    if (report->client)
        snprintf(text, size, "client %u", report->client);
    else if (PR_DART_BASE_STREAMS >> report->info.sid & 1)
        snprintf(text, size, "the firmware");
    else
        snprintf(text, size, "no client");
}

static void describe_capture(const struct IODARTErrorInfo *info, uint64_t address, char *text, size_t size)
{
    snprintf(text, size, "DART %u error 0x%x: stream %u, %s of 0x%" PRIx64 ", %s", (unsigned)info->axi_id[0],
             info->hw_status, info->sid, info->is_write ? "write" : "read", address,
             pr_dart_error_text(info->hw_status));
}

/* What is known before the firmware's event has come. */
static void report_begin(struct drv *d, unsigned dart, const struct pr_dart_snapshot *s)
{
    struct drv_fault_report *report = &d->fault.last;
    struct drv_client *client;
    char capture[CAPTURE_TEXT], owner[32];

    *report = (struct drv_fault_report){
        .count = d->fault.count,
        .time = s->time,
        .snapshot = d->fault.memory ? d->fault.page.extent->physical + dart * PR_DART_SNAPSHOT_STRIDE : 0,
        .info = info_make(s),
        .address = address_of(s),
        .engine_status = drv_mailbox_read(d, PR_ENGINE_STATUS),
        .descriptor = DRV_FAULT_UNKNOWN,
    };
    client = client_of(d, report->info.sid);
    report->client = client ? client->number : 0;
    report->benign = pr_engine_status_benign(report->engine_status);
    describe_capture(&report->info, report->address, capture, sizeof(capture));
    describe_owner(report, owner, sizeof(owner));
    snprintf(report->text, sizeof(report->text), "A %s of %s: %s.",
             pr_dart_fault_type_text(report->info.type), owner, capture);
}

/* The machine stops: what waits gets an answer, nothing is sent any more. */
static void stop_all(struct drv *d)
{
    d->fault.parked = d->fault.panicked = true;
    for (struct drv_client *client = d->clients; client; client = client->next)
        drv_request_abort_all(client);
}

static void capture_take(struct drv *d, unsigned dart)
{
    struct pr_dart_snapshot *s = &d->fault.snapshot[dart];

    d->fault.count++;
    snapshot_take(d, dart, s);
    if (d->fault.memory)
        memcpy(d->fault.memory + dart * PR_DART_SNAPSHOT_STRIDE, s, sizeof(*s));
    report_begin(d, dart, s);
    dart_clear(d, dart, s->error);
    d->fault.capture[dart] = (struct drv_capture){
        .held = true, .count = d->fault.count, .info = d->fault.last.info, .address = d->fault.last.address};
    SOC_TRACE(d->platform.trace, DRV_FAULT, d->fault.count, d->fault.last.text);
    if (d->platform.panic) {
        d->platform.panic(d->platform.context, d->fault.last.text);
        stop_all(d);
        return;
    }
    for (unsigned i = 0; i < DRV_FAULT_CONSUMERS && d->fault.consumer[i].call; i++)
        d->fault.consumer[i].call(d->fault.consumer[i].context, &d->fault.last.info, &d->fault.last);
}

static void captures_take(struct drv *d)
{
    for (unsigned dart = 0; dart < PR_DART_COUNT && !d->fault.panicked; dart++)
        if (dart_read(d, dart, PR_DART_ERROR) & PR_DART_ERROR_FLAG)
            capture_take(d, dart);
}

void drv_fault_interrupt(struct drv *d)
{
    if (d->interrupts)
        captures_take(d);
}

/* The driver's own consumer. */

static void dump_mapping(struct drv *d, const struct drv_client *client, const struct drv_mapping *mapping)
{
    SOC_TRACE(d->platform.trace, DRV_FAULT_MAPPING, client->number, mapping->domain->number, mapping->usage,
              mapping->iova, mapping->bytes, mapping->surface, mapping->uses);
}

static void dump_block(struct drv *d, const char *owner, uint64_t token, const struct drv_block *block)
{
    if (block->bytes && !block->saved)
        SOC_TRACE(d->platform.trace, DRV_FAULT_BLOCK, owner, token, block->usage, block->iova, block->bytes);
}

static void dump_allocations(struct drv *d)
{
    const struct drv_block *const firmware[] = {&d->ipc, &d->heap, &d->pool, &d->args};

    for (unsigned i = 0; i < sizeof(firmware) / sizeof(firmware[0]); i++)
        dump_block(d, "firmware", i, firmware[i]);
    for (unsigned i = 0; i < DRV_SHARED_BLOCKS; i++)
        dump_block(d, "shared", i, &d->shared_block[i]);
    for (const struct drv_program *program = d->programs; program; program = program->next) {
        const struct drv_block *block[DRV_PROGRAM_BLOCKS];
        unsigned count = drv_program_blocks(program, block);

        for (unsigned i = 0; i < count; i++)
            dump_block(d, "program", program->token, block[i]);
    }
    for (const struct drv_client *client = d->clients; client; client = client->next)
        for (unsigned i = 0; i < DRV_BUCKETS; i++)
            for (const struct drv_mapping *mapping = client->bucket[i]; mapping; mapping = mapping->next)
                dump_mapping(d, client, mapping);
}

static void recover(void *context)
{
    struct drv *d = context;

    if (d->fault.panicked)
        return;
    for (unsigned dart = 0; dart < PR_DART_COUNT; dart++)
        d->fault.capture[dart].held = false;
    d->fault.latched = d->fault.parked = false;
    SOC_TRACE(d->platform.trace, DRV_FAULT_RECOVERED, d->fault.count);
    drv_flow_resume(d);
}

/* Without a timer there is nothing to wait with: the recovery follows at once. */
static void park(struct drv *d)
{
    d->fault.parked = true;
    SOC_TRACE(d->platform.trace, DRV_FAULT_PARKED, PR_FAULT_PARK_NS / DRV_MS);
    if (!d->platform.after || d->platform.after(d->platform.context, PR_FAULT_PARK_NS, recover, d))
        recover(d);
}

static void own_consumer(void *context, const struct IODARTErrorInfo *info,
                         const struct drv_fault_report *report)
{
    struct drv *d = context;

    (void)info;
    if (report->benign) {
        SOC_TRACE(d->platform.trace, DRV_FAULT_BENIGN, report->engine_status);
        return;
    }
    if (d->fault.latched)
        return;
    d->fault.latched = true;
    dump_allocations(d);
    park(d);
}

int drv_fault_start(struct drv *d)
{
    int status = d->fault.memory ? 0 : drv_pages_take(d, PR_PAGE_BYTES, true, &d->fault.page);

    if (status)
        return status;
    d->fault.memory = d->fault.page.host;
    return d->fault.consumer[0].call ? 0 : drv_fault_register(d, own_consumer, d);
}

void drv_fault_stop(struct drv *d)
{
    if (!d->fault.memory)
        return;
    d->fault.memory = NULL;
    drv_pages_give(d, &d->fault.page);
}

/* Attribution. */

static bool error_known(const struct drv_request *r)
{
    return r->error[0] != PR_TM_ERROR_FINE;
}

static uint32_t dma_of(const struct drv_request *r)
{
    return pr_bits_get(r->error[0], PR_TM_ERROR1_DMA_LO, PR_TM_ERROR1_DMA_WIDTH);
}

/* Which DART serves a transfer (docs/provenance.md). */
static uint32_t dart_of(uint32_t dma)
{
    switch (dma) {
    case PR_TM_DMA_SOURCE1:
    case PR_TM_DMA_SOURCE2: return 1;
    case PR_TM_DMA_DESTINATION: return 2;
    default: return 0;
    }
}

/* A capture of the request's stream and, as far as the firmware says, of its transfer. */
static bool capture_fits(const struct drv_request *r, unsigned dart, const struct drv_capture *capture)
{
    const struct drv_domain *domain = r->client->domain;

    if (!capture->held || !domain || capture->info.sid != drv_domain_stream(domain))
        return false;
    return !error_known(r) || (dart == dart_of(dma_of(r)) && capture->address >= r->error[2]);
}

/* The procedure that the request calls. */
static const struct drv_procedure *procedure_of(const struct drv_request *r)
{
    return &r->process->program->procedure[r->procedure];
}

/* The place of a descriptor in the procedure's chain, by its address in the client's domain. */
static uint32_t descriptor_index(const struct drv_request *r, uint32_t address)
{
    const struct drv_procedure *p = procedure_of(r);
    const uint8_t *text = (const uint8_t *)r->process->program->text.host + p->text.offset;
    struct pr_chain chain;
    struct pr_chain_link link;
    struct pr_problem problem;
    enum pr_chain_step step;

    pr_chain_begin(&chain, text, p->text.bytes, p->first_words, p->td_count);
    while ((step = pr_chain_next(&chain, &link, &problem)) != PR_CHAIN_END)
        if (step == PR_CHAIN_LINK && r->process->text + p->text.offset + link.offset == address)
            return link.index;
    return DRV_FAULT_UNKNOWN;
}

static bool holds(uint64_t iova, uint64_t bytes, uint64_t address)
{
    return address >= iova && address - iova < pr_round_up(bytes, PR_PAGE_BYTES);
}

/* The buffer of the request under an address, in words; false when there is none. */
static bool tensor_at(const struct drv_request *r, uint64_t address, char *text, size_t size)
{
    const struct drv_program *program = r->process->program;
    const struct drv_procedure *p = procedure_of(r);
    const uint32_t ports = p->inputs + p->outputs;

    for (uint32_t i = 0; i < r->bindings; i++) {
        if (r->binding[i]->domain != r->client->domain ||
            !holds(r->binding[i]->iova, r->binding[i]->bytes, address))
            continue;
        if (r->chain)
            snprintf(text, size, "buffer %u of the trigger", i);
        else if (i < ports)
            snprintf(text, size, "%s %u \"%s\"", i < p->inputs ? "input" : "output",
                     i < p->inputs ? i : i - p->inputs, p->port[i]);
        else
            snprintf(text, size, "the %s buffer", i < ports + p->intermediates ? "intermediate" : "scratch");
        return true;
    }
    if (r->chain && drv_chain_tensor_at(r->chain, address, text, size))
        return true;
    if (holds(r->process->text, program->text.bytes, address))
        snprintf(text, size, "the program's text");
    else if (program->kernel.bytes && holds(r->process->kernel, program->kernel.bytes, address))
        snprintf(text, size, "the kernel");
    else if (program->constants.bytes && holds(r->process->constants, program->constants.bytes, address))
        snprintf(text, size, "the constants");
    else
        return false;
    return true;
}

static void report_finish(struct drv *d, const struct drv_request *r)
{
    const struct drv_program *program = r->process->program;
    struct drv_fault_report *report = &d->fault.last;
    char what[2 * CAPTURE_TEXT + DRV_FAULT_TENSOR], where[32] = "";

    report->client = r->client->number;
    report->program = program->token;
    report->procedure = r->procedure;
    report->descriptor = r->fault.descriptor;
    report->dma = r->fault.dma;
    snprintf(report->name, sizeof(report->name), "%s", program->name);
    snprintf(report->tensor, sizeof(report->tensor), "%s", r->fault.tensor);
    drv_fault_describe(r, what, sizeof(what));
    if (r->fault.descriptor != DRV_FAULT_UNKNOWN)
        snprintf(where, sizeof(where), ", descriptor %u", r->fault.descriptor);
    snprintf(report->text, sizeof(report->text),
             "A %s of client %u, program 0x%" PRIx64 " \"%s\", procedure %u%s%s.",
             pr_dart_fault_type_text(report->info.type), r->client->number, program->token, program->name,
             report->procedure, where, what);
    SOC_TRACE(d->platform.trace, DRV_FAULT, report->count, report->text);
}

void drv_fault_attribute(struct drv *d, struct drv_request *r, uint32_t status)
{
    struct drv_request_fault *fault = &r->fault;
    uint64_t count = 0;

    *fault = (struct drv_request_fault){.descriptor = DRV_FAULT_UNKNOWN};
    if (error_known(r)) {
        fault->dma = dma_of(r);
        fault->descriptor = descriptor_index(r, r->error[1]);
    }
    if (status != PR_STATUS_TRANSLATION)
        return;
    captures_take(d); /* the line may have been late, or cut */
    for (unsigned dart = 0; dart < PR_DART_COUNT && !fault->captured; dart++) {
        struct drv_capture *capture = &d->fault.capture[dart];

        if (!capture_fits(r, dart, capture))
            continue;
        capture->held = false;
        count = capture->count;
        fault->captured = true;
        fault->info = capture->info;
        fault->address = capture->address;
    }
    if (!(fault->captured && tensor_at(r, fault->address, fault->tensor, sizeof(fault->tensor))) &&
        !(error_known(r) && tensor_at(r, r->error[2], fault->tensor, sizeof(fault->tensor))))
        snprintf(fault->tensor, sizeof(fault->tensor), "no buffer of the request");
    if (fault->captured && d->fault.last.count == count)
        report_finish(d, r);
}

void drv_fault_describe(const struct drv_request *r, char *text, size_t size)
{
    const struct drv_request_fault *fault = &r->fault;
    char capture[CAPTURE_TEXT] = "";

    text[0] = '\0';
    if (!fault->tensor[0])
        return;
    if (fault->captured)
        describe_capture(&fault->info, fault->address, capture, sizeof(capture));
    snprintf(text, size, "; %s%s%s%s%s", fault->dma ? pr_tm_dma_text(fault->dma) : "", fault->dma ? ", " : "",
             fault->tensor, capture[0] ? "; " : "", capture);
}

void drv_fault_describe_client(struct drv *d, const struct drv_client *client, char *text, size_t size)
{
    char capture[CAPTURE_TEXT];

    text[0] = '\0';
    captures_take(d);
    for (unsigned dart = 0; dart < PR_DART_COUNT && client->domain; dart++) {
        const struct drv_capture *held = &d->fault.capture[dart];

        if (!held->held || held->info.sid != drv_domain_stream(client->domain))
            continue;
        describe_capture(&held->info, held->address, capture, sizeof(capture));
        snprintf(text, size, "; %s", capture);
    }
}
