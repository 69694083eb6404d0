/* SPDX-License-Identifier: Apache-2.0 */
/* A DART fault of the machine, in words and in JSON. */
#include "tool/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "protocol/dart_regs.h"

/* What to do about each reason; the driver maps every buffer of a request whole. */
static const struct {
    uint32_t code;
    const char *advice;
} advices[] = {
    {PR_DART_ERROR_NO_PMD | PR_DART_ERROR_NO_PTE,
     "the transfer leaves its buffer: compare the tensor's size and strides with those of its surface"},
    {PR_DART_ERROR_WRITE_FAULT | PR_DART_ERROR_READ_FAULT | PR_DART_ERROR_SUBPAGE_PROT,
     "the page table does not allow this access: look for who changed the entry"},
    {PR_DART_ERROR_NO_TTBR, "the address is outside the aperture, or the stream was switched off"},
    {PR_DART_ERROR_PTE_READ_FAULT, "the page table is damaged: look for who changed it"},
};

bool tool_fault_get(struct ane_machine *machine, struct ane_machine_fault *fault)
{
    *fault = (struct ane_machine_fault){.size = sizeof(*fault)};
    return !ane_machine_fault(machine, fault) && fault->client && !fault->benign;
}

static const char *advice_of(const struct ane_machine_fault *fault)
{
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
        if (fault->status & advices[i].code)
            return advices[i].advice;
    return "run again with --trace and look at the DART's lines";
}

void tool_fault_print(const struct ane_machine_fault *fault)
{
    fprintf(stderr, "DART fault: %s, %s\n", fault->type, fault->why);
    fprintf(stderr, "  access      %s of 0x%" PRIx64 ", page 0x%" PRIx64 "\n",
            fault->write ? "write" : "read", fault->address, fault->page);
    fprintf(stderr, "  tensor      %s\n", fault->tensor);
    if (fault->descriptor == UINT32_MAX)
        fprintf(stderr, "  transfer    not known\n");
    else
        fprintf(stderr, "  transfer    %s of descriptor %u, procedure %u\n", fault->transfer,
                fault->descriptor, fault->procedure);
    fprintf(stderr, "  program     \"%s\", 0x%" PRIx64 ", of client %u\n", fault->name, fault->program,
            fault->client);
    fprintf(stderr, "  registers   DART %u, stream %u, status 0x%x; walk %u, %u, %u\n", fault->dart,
            fault->stream, fault->status, fault->ttbr_index, fault->l2_index, fault->l3_index);
    fprintf(stderr, "  what to do  %s\n", advice_of(fault));
}

void tool_fault_json(struct json *json, const struct ane_machine_fault *fault)
{
    json_object(json, "fault");
    json_string(json, "type", fault->type);
    json_string(json, "why", fault->why);
    json_bool(json, "write", fault->write);
    json_number(json, "address", fault->address);
    json_number(json, "page", fault->page);
    json_string(json, "tensor", fault->tensor);
    json_string(json, "transfer", fault->transfer);
    if (fault->descriptor != UINT32_MAX)
        json_number(json, "descriptor", fault->descriptor);
    json_number(json, "procedure", fault->procedure);
    json_string(json, "program", fault->name);
    json_number(json, "token", fault->program);
    json_number(json, "client", fault->client);
    json_number(json, "dart", fault->dart);
    json_number(json, "stream", fault->stream);
    json_number(json, "status", fault->status);
    json_number(json, "ttbr_index", fault->ttbr_index);
    json_number(json, "l2_index", fault->l2_index);
    json_number(json, "l3_index", fault->l3_index);
    json_string(json, "advice", advice_of(fault));
    json_object_end(json);
}
