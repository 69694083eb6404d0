/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built-in networks. A row is valid exactly while its program and process exist; a row that cannot be loaded
 * whole is not loaded. The text is in the extra heap, where the engine reads it through the base domain; the
 * host could change it there, and would change the result of its own calls.
 */
#include "firmware/builtin.h"

#include "base/array.h"
#include "firmware/log.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "firmware/pump.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "protocol/inference.h"
#include "protocol/td_frame.h"

/*
 * The text of PR_NET_COPY: one descriptor, 157 words, that copies a row of 32 fp16 values from BAR 5 to
 * BAR 4. As the assembler's text (words that are not named are 0):
 *
 *   descriptor
 *     EON=1 SrcLoc=1 DstLoc=1 RBase0=5 RBE0=1 WBase=4 WBE=1 ENE=1
 *     write KernelDMASrc     CoeffDMAConfig[0-15] CacheHint=2, CoeffBfrSize[0-15] 0x40
 *     write Common           32 x 1 x 1 in and out, ConvCfg and ConvCfg3D of 1, fp16, one group, strips of 1
 *     write TileDMASrc       enabled, strides of 0x40, fp16
 *     write L2               source and result by DMA, a source row of 0x40
 *     write PE
 *     write NE               bypass (OpMode=4 KernelMode=1), no activation, PostScale 1
 *     write TileDMADst       enabled, strides of 0x40, fp16
 *
 * The test of this file assembles the whole text and compares every word.
 */
#define COPY_WORDS 157u
static const struct run {
    uint8_t first, count; /* words with this value */
    uint32_t value;
} copy_text[] = {
    {0, 1, 0x2000000},   {6, 1, 0x30000000},  {8, 1, 0x1024025},    {10, 1, 0xf401f800},  {13, 16, 0x80},
    {45, 16, 0x40},      {73, 1, 0x3c000000}, {74, 1, 0x10020},     {75, 1, 0x1},         {76, 1, 0x22},
    {77, 2, 0x1},        {79, 1, 0x10020},    {80, 1, 0x1},         {81, 1, 0x5000a021},  {82, 1, 0x2041},
    {83, 1, 0x14001},    {84, 1, 0x1},        {87, 1, 0x1},         {90, 1, 0x6c013800},  {91, 1, 0x81},
    {92, 1, 0x80},       {94, 4, 0x40},       {105, 1, 0x1002031},  {119, 1, 0x44004800}, {121, 1, 0x142},
    {123, 1, 0x40},      {132, 1, 0x142},     {138, 1, 0xc008800},  {143, 1, 0x1000c800}, {144, 1, 0x80},
    {145, 1, 0x101c0c},  {148, 1, 0x3c00},    {149, 1, 0x18017800}, {150, 1, 0xc1},       {152, 4, 0x40},
    {156, 1, 0x1002031},
};

enum { BAR_OUT = 4, BAR_IN = 5, IO_BUFFERS = 2, BUFFERS = 3 }; /* input, output, text */

/* Sections as they follow each other in the container. */
struct container {
    struct pr_container_package package;
    struct pr_container_program program;
    struct pr_container_section section[PR_SECTION_COUNT - 2]; /* no kernel, no custom bars */
    _Alignas(8) struct {
        struct pr_generic head;
        struct pr_generic_buffer buffer[BUFFERS];
    } generic;
    _Alignas(8) struct {
        uint32_t count;
        struct pr_operation entry;
    } operation;
    _Alignas(8) struct {
        uint32_t count, zero;
        struct pr_procedure entry;
    } procedure;
    _Alignas(8) struct {
        uint32_t count, zero;
        struct pr_rebase_record entry[BUFFERS];
    } rebase;
};

static struct pr_container_section inside(uint32_t kind, size_t offset, size_t bytes)
{
    return (struct pr_container_section){
        .magic = PR_CONTAINER_SECTION, .kind = kind, .offset = (uint32_t)offset, .bytes = (uint32_t)bytes};
}

#define INSIDE(kind, part) inside(kind, offsetof(struct container, part), sizeof(c->part))

static void write_headers(struct container *c, uint64_t text)
{
    c->package = (struct pr_container_package){.magic = PR_CONTAINER_PACKAGE,
                                               .version = PR_CONTAINER_VERSION,
                                               .checksum = PR_CONTAINER_CHECKSUM_VALID,
                                               .bytes = sizeof(*c),
                                               .program_offset = offsetof(struct container, program)};
    c->program =
        (struct pr_container_program){.magic = PR_CONTAINER_PROGRAM, .sections = BASE_COUNT_OF(c->section)};
    c->section[0] = INSIDE(PR_SECTION_GENERIC, generic);
    c->section[1] = (struct pr_container_section){.magic = PR_CONTAINER_SECTION,
                                                  .kind = PR_SECTION_TEXT,
                                                  .address = text,
                                                  .address_bytes = 4 * COPY_WORDS};
    c->section[2] = INSIDE(PR_SECTION_OPERATION, operation);
    c->section[3] = INSIDE(PR_SECTION_PROCEDURE, procedure);
    c->section[4] = INSIDE(PR_SECTION_REBASE, rebase);
}

static void write_sections(struct container *c, uint64_t registers)
{
    static const uint32_t bar[BUFFERS] = {BAR_IN, BAR_OUT, PR_REBASE_BAR_TEXT};
    static const uint32_t type[BUFFERS] = {PR_BUFFER_IN, PR_BUFFER_OUT, PR_BUFFER_TEXT};
    static const uint32_t bytes[BUFFERS] = {PR_NET_COPY_BYTES, PR_NET_COPY_BYTES, 4 * COPY_WORDS};

    c->generic.head.max_ane_used = 1;
    c->generic.head.engines = 1;
    c->generic.head.buffers = BUFFERS;
    c->operation.count = c->procedure.count = 1;
    c->operation.entry.engines = 1;
    c->operation.entry.bars = c->rebase.count = BUFFERS;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        c->generic.buffer[i] =
            (struct pr_generic_buffer){.valid = 1, .index = i, .type = type[i], .bytes = bytes[i]};
        c->operation.entry.bar[i].bar = bar[i];
        c->operation.entry.bar[i].buffer = i;
        c->rebase.entry[i] = (struct pr_rebase_record){.bar = bar[i], .buffer = i};
        pr_rebase_put(c->rebase.entry[i].reg, pr_rebase_register(registers, 0, bar[i]));
    }
    c->procedure.entry =
        (struct pr_procedure){.first_words = COPY_WORDS, .io_buffers = IO_BUFFERS, .partitions = 1};
}

/* Where the text of a row is in the extra heap. */
static uint64_t text_place(const struct fw *fw, uint32_t row)
{
    return pr_round_up(fw->heap + FW_BUILTIN_OFFSET, PR_TD_ALIGN) + (uint64_t)row * FW_BUILTIN_CELL_BYTES;
}

static bool write_text(struct fw *fw, uint64_t place)
{
    uint32_t word[COPY_WORDS] = {0};

    for (size_t i = 0; i < BASE_COUNT_OF(copy_text); i++)
        for (uint32_t k = 0; k < copy_text[i].count; k++)
            word[copy_text[i].first + k] = copy_text[i].value;
    return fw_shared_out(fw, place, word, sizeof(word));
}

static enum pr_status load_program(struct fw *fw, uint64_t text, uint32_t *slot)
{
    struct container container;

    rt_memset(&container, 0, sizeof(container));
    write_headers(&container, text);
    write_sections(&container, fw->registers);
    return fw_program_load_own(fw, &container, sizeof(container), slot);
}

static enum pr_status create_process(struct fw *fw, uint32_t program, uint64_t text, uint32_t *slot)
{
    union {
        struct pr_body_process body;
        uint8_t bytes[PR_PROCESS_BYTES(1)];
    } process;

    rt_memset(&process, 0, sizeof(process));
    process.body.stream = PR_BUILT_IN_STREAM;
    process.body.buffers = 1;
    process.body.buffer[0].index = PR_PROCESS_TEXT;
    process.body.buffer[0].address = text;
    process.body.buffer[0].bytes = 4 * COPY_WORDS;
    return fw_process_create(fw, program, PR_NO_ID, &process.body, slot);
}

enum pr_status fw_builtin_load(struct fw *fw)
{
    const uint32_t row = fw->builtin.asked;
    const uint64_t text = text_place(fw, row);
    struct fw_builtin_row made = {.valid = true, .network = fw->builtin.asked_network};
    enum pr_status status = write_text(fw, text) ? PR_STATUS_OK : PR_STATUS_NO_RESOURCES;
    uint32_t program = PR_NO_ID, process;

    if (!status)
        status = load_program(fw, text, &program);
    if (status)
        return status;
    status = create_process(fw, program, text, &process);
    if (status) {
        (void)fw_program_unload(fw, program);
        return status;
    }
    made.program = (uint16_t)program;
    made.process = (uint16_t)process;
    fw->builtin.row[row] = made;
    fw_log(fw, RT_LOG_INFO, "built-in program %u: network %u is program %u, process %u", row, made.network,
           program, process);
    return PR_STATUS_OK;
}

enum pr_status fw_builtin_find(struct fw *fw, uint32_t row, uint32_t network, uint32_t *program,
                               uint32_t *process)
{
    enum pr_status status = fw_rule(fw, PR_RULE_BUILT_IN_PROGRAM, row < PR_BUILT_IN_PROGRAMS_MAX, row);

    if (!status)
        status = fw_rule(fw, PR_RULE_BUILT_IN_NETWORK, network < PR_NET_TOT, network);
    if (!status && !fw->builtin.row[row].valid) {
        fw->builtin.asked = row;
        fw->builtin.asked_network = network;
        status = fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_CALLMGR, FW_RECORD_BUILTIN);
    }
    if (status)
        return status;
    if (fw->builtin.row[row].network != network) {
        fw_log(fw, RT_LOG_WARNING, "built-in program %u has network %u, not %u", row,
               fw->builtin.row[row].network, network);
        return PR_STATUS_BAD_ARGUMENT;
    }
    *program = fw->builtin.row[row].program;
    *process = fw->builtin.row[row].process;
    return PR_STATUS_OK;
}

bool fw_builtin_has_program(const struct fw *fw, uint32_t program)
{
    for (uint32_t i = 0; i < PR_BUILT_IN_PROGRAMS_MAX; i++)
        if (fw->builtin.row[i].valid && fw->builtin.row[i].program == program)
            return true;
    return false;
}

bool fw_builtin_has_process(const struct fw *fw, uint32_t process)
{
    for (uint32_t i = 0; i < PR_BUILT_IN_PROGRAMS_MAX; i++)
        if (fw->builtin.row[i].valid && fw->builtin.row[i].process == process)
            return true;
    return false;
}

uint32_t fw_builtin_count(const struct fw *fw)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < PR_BUILT_IN_PROGRAMS_MAX; i++)
        count += fw->builtin.row[i].valid;
    return count;
}
