/* SPDX-License-Identifier: Apache-2.0 */
/* A driver without a machine. */
#include "drvrig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "protocol/channel.h"
#include "protocol/dart_regs.h"
#include "program/hwx_write.h"
#include "protocol/tm_regs.h"

#define PAGE      PR_PAGE_BYTES
#define BUS_BASE  0x280000000ull
#define BUS_BYTES 0x10000000ull
#define MAILBOX   0x1840000u

const struct drv_identity rig_identity = {.may_open = true, .data_chaining = true, .developer = true};

static const struct pr_board *board(void)
{
    return &pr_board_table[PR_CHIP_T6000];
}

/* Memory. */

static int dram_take(struct rig *rig, uint64_t bytes, uint64_t *address)
{
    uint32_t pages = (uint32_t)(bytes / PAGE), found = 0;

    assert_true(bytes > 0 && bytes % PAGE == 0);
    if (bytes / PAGE > RIG_PAGES)
        return -ENOMEM;
    for (uint32_t i = 0; i < RIG_PAGES; i++) {
        found = rig->run[i] ? 0 : found + 1;
        if (found < pages)
            continue;
        i -= pages - 1;
        memset(rig->run + i, 1, pages);
        memset(rig->dram + (uint64_t)i * PAGE, 0, bytes);
        rig->length[i] = pages;
        rig->used += pages;
        *address = board()->dram + (uint64_t)i * PAGE;
        return 0;
    }
    return -ENOMEM;
}

static int dram_alloc(void *context, uint64_t bytes, uint64_t *address)
{
    struct rig *rig = context;

    return ++rig->alloc_calls == rig->alloc_fails_at ? -ENOMEM : dram_take(rig, bytes, address);
}

static void dram_free(void *context, uint64_t address)
{
    struct rig *rig = context;
    uint32_t first = (uint32_t)((address - board()->dram) / PAGE);

    assert_true(first < RIG_PAGES && rig->length[first]);
    memset(rig->run + first, 0, rig->length[first]);
    memset(rig->dram + (uint64_t)first * PAGE, 0xdb, (uint64_t)rig->length[first] * PAGE);
    rig->used -= rig->length[first];
    rig->length[first] = 0;
}

static void *dram_memory(void *context, uint64_t address, uint64_t bytes)
{
    struct rig *rig = context;
    uint64_t offset = address - board()->dram, all = (uint64_t)RIG_PAGES * PAGE;

    return address < board()->dram || offset > all || bytes > all - offset ? NULL : rig->dram + offset;
}

static int surface_get(void *context, uint32_t id, uint32_t task, uint64_t *address, uint64_t *bytes,
                       struct base_error *error)
{
    struct rig *rig = context;

    if (id == 0 || id >= RIG_SURFACES || !rig->surface[id].there)
        return base_fail(error, ENOENT, "There is no surface %u.", id);
    if (rig->surface[id].task != task)
        return base_fail(error, EPERM, "Surface %u belongs to another task.", id);
    rig->surface[id].uses++;
    *address = rig->surface[id].address;
    *bytes = rig->surface[id].bytes;
    return 0;
}

static void surface_put(void *context, uint32_t id)
{
    struct rig *rig = context;

    assert_true(id > 0 && id < RIG_SURFACES && rig->surface[id].uses > 0);
    rig->surface[id].uses--;
}

uint32_t rig_surface(struct rig *rig, uint64_t bytes)
{
    for (uint32_t id = 1; id < RIG_SURFACES; id++)
        if (!rig->surface[id].there) {
            rig->surface[id] = (struct rig_surface){.bytes = bytes, .there = true};
            assert_int_equal(dram_take(rig, pr_round_up(bytes, PAGE), &rig->surface[id].address), 0);
            return id;
        }
    fail_msg("no surface left");
    return 0;
}

void *rig_surface_base(struct rig *rig, uint32_t id)
{
    return dram_memory(rig, rig->surface[id].address, rig->surface[id].bytes);
}

/* A walk that shares nothing with the driver's or the DART's: the seeds' leaf form. */
uint64_t rig_walk(const struct rig *rig, unsigned dart, uint32_t stream, uint64_t iova)
{
    const uint32_t *reg = rig->dart[dart];
    uint32_t ttbr = reg[(0x200 + stream * 16) / 4];
    uint64_t table = (uint64_t)(ttbr & 0x7fffffffu) << 12, word;

    if (iova >= 0xe0000000ull || !(ttbr >> 31) || !(reg[0xfc / 4] >> stream & 1) ||
        reg[(0x100 + stream * 4) / 4] != 0x80)
        return 0;
    memcpy(&word, rig->dram + (table - board()->dram) + (iova >> 25) * 8, 8);
    if (!(word >> 63))
        return 0;
    table = word & 0x7fffffffc000ull;
    memcpy(&word, rig->dram + (table - board()->dram) + (iova >> 14 & 2047) * 8, 8);
    return word >> 63 ? (word & 0x7fffffffc000ull) + iova % PAGE : 0;
}

void *rig_at(struct rig *rig, unsigned dart, uint32_t stream, uint64_t iova, uint64_t bytes)
{
    uint64_t first = rig_walk(rig, dart, stream, iova);

    for (uint64_t at = iova - iova % PAGE; at < iova + bytes; at += PAGE)
        if (!rig_walk(rig, dart, stream, at) || rig_walk(rig, dart, stream, at) - at != first - iova)
            return NULL;
    return first ? dram_memory(rig, first, bytes) : NULL;
}

void *rig_base_at(struct rig *rig, uint64_t iova, uint64_t bytes)
{
    void *seen = rig_at(rig, 0, 0, iova, bytes);

    assert_non_null(seen);
    for (unsigned dart = 0; dart < 3; dart++)
        for (uint32_t stream = 0; stream < 3; stream++)
            assert_ptr_equal(rig_at(rig, dart, stream, iova, bytes), seen);
    return seen;
}

/* Registers. Every access of the driver is the host's. */

static void from_host(enum soc_master master)
{
    assert_int_equal(master, SOC_MASTER_HOST);
}

static uint32_t pmu_read(void *context, enum soc_master master, uint32_t offset)
{
    struct rig *rig = context;

    from_host(master);
    rig->mmio++;
    return offset % 8 == 0 && offset / 8 < PR_PMU_DOMAINS ? rig->pmu[offset / 8] : 0;
}

static void power_lost(struct rig *rig)
{
    memset(rig->dart, 0, sizeof(rig->dart));
    memset(rig->scratch, 0, sizeof(rig->scratch));
    rig->cpu = rig->doorbell = rig->host_pending = 0;
    rig->line = false;
    rig->boot = 0;
}

static void pmu_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    from_host(master);
    rig->mmio++;
    rig->pmu[offset / 8] = value == 0xf && !rig->no_power ? 0xff : value;
    if ((value & 0xf) != 0xf)
        power_lost(rig);
}

static unsigned dart_of(const struct rig *rig, const uint32_t *context)
{
    return (unsigned)(context - rig->dart[0]) / (0x300 / 4);
}

static struct rig *the_rig; /* the register blocks of the three DARTs get their window as context */

static uint32_t dart_read(void *context, enum soc_master master, uint32_t offset)
{
    from_host(master);
    the_rig->mmio++;
    if (offset == 0x20 && the_rig->endless_invalidate)
        return PR_DART_COMMAND_BUSY;
    return offset < 0x300 && offset != 0x20 ? ((uint32_t *)context)[offset / 4] : 0;
}

static void dart_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    uint32_t *reg = context;

    from_host(master);
    the_rig->mmio++;
    if (offset >= 0x300)
        return;
    if (offset == 0x20)
        the_rig->invalidates[dart_of(the_rig, context)] |= value >> 20 & 1 ? reg[0x34 / 4] : 0;
    if (offset == 0x40)
        reg[0x40 / 4] = reg[0x50 / 4] = reg[0x54 / 4] = 0;
    else
        reg[offset / 4] = value;
}

static uint32_t vector_read(void *context, enum soc_master master, uint32_t offset)
{
    struct rig *rig = context;

    from_host(master);
    return offset ? (uint32_t)(rig->rvbar >> 32) : (uint32_t)rig->rvbar;
}

static void vector_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    from_host(master);
    if (offset == 0)
        rig->rvbar = (rig->rvbar & ~0xffffffffull) | value;
    else
        rig->rvbar = (rig->rvbar & 0xffffffffull) | (uint64_t)value << 32;
}

static uint32_t no_read(void *context, enum soc_master master, uint32_t offset)
{
    from_host(master);
    (void)context;
    (void)offset;
    return 0;
}

static void no_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    from_host(master);
    (void)context;
    (void)offset;
    (void)value;
}

static uint32_t tm_read(void *context, enum soc_master master, uint32_t offset)
{
    struct rig *rig = context;

    from_host(master);
    return offset == PR_TM_ERROR2 ? rig->tm_error2 : 0;
}

static void cpu_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    from_host(master);
    if (offset != 0x44)
        return;
    if (value & 0x10 && !(rig->cpu & 0x10))
        rig->boot = 1;
    if (!(value & 0x10))
        rig->boot = 0;
    rig->cpu = value;
}

static uint32_t mailbox_read(void *context, enum soc_master master, uint32_t offset)
{
    struct rig *rig = context;

    from_host(master);
    rig->mmio++;
    if (offset >= 0x48 && offset < 0x68)
        return rig->scratch[(offset - 0x48) / 4];
    return offset == 0xc000 ? rig->host_pending : 0;
}

static void mailbox_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct rig *rig = context;

    from_host(master);
    rig->mmio++;
    if (offset >= 0x48 && offset < 0x68)
        rig->scratch[(offset - 0x48) / 4] = value;
    else if (offset == 0x4000)
        rig->doorbell |= value;
    else if (offset == 0x10000) {
        rig->host_pending &= ~value;
        rig->line = rig->line && rig->host_pending;
    }
}

static uint64_t rig_now(void *context)
{
    return ((struct rig *)context)->now;
}

static int rig_wait(void *context, const bool *done, struct drv_deadline *deadline)
{
    struct rig *rig = context;
    uint64_t timeout_ns = deadline ? deadline->ns : 0;

    for (;;) {
        while (!*done && rig_step(rig))
            ;
        if (*done)
            return 0;
        if (!rig->admit || timeout_ns < 1000000)
            break;
        void (*admit)(struct rig *) = rig->admit;
        unsigned before = rig->admitted++;

        admit(rig);
        if (rig->admit == admit && rig->admitted == before + 1 && !*done && !rig->host_pending &&
            !rig->doorbell)
            break;
    }
    rig->now += timeout_ns;
    return -ETIMEDOUT;
}

static void keep_bytes(void *context, const void *bytes, size_t length)
{
    struct rig *rig = context;

    if (rig->records_size + length > RIG_RECORDS)
        return;
    memcpy(rig->records + rig->records_size, bytes, length);
    rig->records_size += length;
}

bool rig_traced(const struct rig *rig, enum pr_trace_event_id event, unsigned nth,
                struct pr_trace_record *record)
{
    struct pr_trace_reader reader;

    assert_true(pr_trace_begin(&reader, rig->records, rig->records_size, NULL));
    while (pr_trace_next(&reader, record, NULL))
        if (record->event == event && nth-- == 0)
            return true;
    return false;
}

static void trace_start(struct rig *rig)
{
    const struct soc_trace_out out = {.record = keep_bytes, .context = rig};

    assert_int_equal(soc_clock_create(&rig->clock, NULL), 0);
    soc_trace_init(&rig->trace, rig->clock);
    soc_trace_start(&rig->trace, &out);
}

void rig_make(struct rig *rig, bool boot)
{
    static struct soc_trace quiet;
    struct base_error error;
    struct soc_bus *bus;
    const uint64_t container = board()->container;

    memset(rig, 0, sizeof(*rig));
    the_rig = rig;
    rig->dram = calloc(RIG_PAGES, PAGE);
    rig->records = malloc(RIG_RECORDS);
    assert_true(rig->dram && rig->records);
    trace_start(rig);
    assert_int_equal(soc_bus_create(BUS_BASE, BUS_BYTES, &quiet, &bus, &error), 0);
    const struct soc_block blocks[] = {
        {"pmu", board()->pmu, 0x4000, pmu_read, pmu_write, rig},
        {"dart0", board()->dart[0], 0x4000, dart_read, dart_write, rig->dart[0]},
        {"dart1", board()->dart[1], 0x4000, dart_read, dart_write, rig->dart[1]},
        {"dart2", board()->dart[2], 0x4000, dart_read, dart_write, rig->dart[2]},
        {"vector", container + 0x1050000, 0x4000, vector_read, vector_write, rig},
        {"time", container + 0x1170000, 0x4000, no_read, no_write, rig},
        {"cpu", container + 0x1400000, 0x4000, no_read, cpu_write, rig},
        {"mailbox", container + MAILBOX, 0x1c000, mailbox_read, mailbox_write, rig},
        {"tm", container + 0x1c24000, 0x4000, tm_read, no_write, rig},
    };
    for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        assert_int_equal(soc_bus_attach(bus, &blocks[i], &error), 0);
    rig->silent_command = 0xffffffffu;
    rig->platform = (struct drv_platform){.context = rig,
                                          .bus = bus,
                                          .trace = &rig->trace,
                                          .board = board(),
                                          .firmware_image = RIG_IMAGE,
                                          .leaf_form = PR_LEAF_SEED,
                                          .alloc = dram_alloc,
                                          .free = dram_free,
                                          .memory = dram_memory,
                                          .surface_get = surface_get,
                                          .surface_put = surface_put,
                                          .now = rig_now,
                                          .wait = rig_wait};
    if (!boot)
        return;
    assert_int_equal(drv_create(&rig->platform, &rig->driver, &error), 0);
    if (drv_start(rig->driver, &error))
        fail_msg("%s", error.text);
}

void rig_drop(struct rig *rig)
{
    uint32_t surfaces = 0;

    rig->admit = NULL;
    drv_destroy(rig->driver);
    for (uint32_t id = 0; id < RIG_SURFACES; id++)
        if (rig->surface[id].there) {
            assert_int_equal(rig->surface[id].uses, 0);
            surfaces += (uint32_t)(pr_round_up(rig->surface[id].bytes, PAGE) / PAGE);
        }
    assert_int_equal(rig->used, surfaces);
    soc_bus_destroy(rig->platform.bus);
    free(rig->dram);
    soc_clock_destroy(rig->clock);
    free(rig->records);
}

/* Clients. */

IOReturn rig_call(struct drv_client *client, uint32_t selector, const uint64_t *scalar, uint32_t scalars,
                  const void *in, uint32_t in_bytes, uint64_t *scalar_out, uint32_t scalars_out, void *out,
                  uint32_t out_bytes)
{
    struct IOExternalMethodArguments args = {.selector = selector,
                                             .scalarInput = scalar,
                                             .scalarInputCount = scalars,
                                             .structureInput = in,
                                             .structureInputSize = in_bytes,
                                             .scalarOutput = scalar_out,
                                             .scalarOutputCount = scalars_out,
                                             .structureOutput = out,
                                             .structureOutputSize = out_bytes};

    return drv_client_call(client, selector, &args, NULL);
}

struct drv_client *rig_client(struct rig *rig, uint32_t type)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = ANE_TIMEOUT_MS};
    struct drv_client *client;

    assert_int_equal(drv_client_open(rig->driver, &rig_identity, type, &client, NULL), kIOReturnSuccess);
    if (type != ANE_CLIENT_HINTS)
        assert_int_equal(rig_call(client, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL, 0,
                                  &info, sizeof(info)),
                         kIOReturnSuccess);
    return client;
}

static struct pr_hwx_port port(const char *name, enum pr_hwx_direction direction, uint32_t bar)
{
    struct pr_hwx_port p = {.direction = direction,
                            .bar = bar,
                            .bytes = RIG_PORT_BYTES,
                            .element = PR_HWX_ELEMENT_FLOAT16,
                            .n = 1,
                            .c = 1,
                            .h = 1,
                            .w = 1,
                            .d = 1,
                            .batch_stride = 64,
                            .plane_stride = 64,
                            .row_stride = 64,
                            .element_stride = 2};

    strcpy(p.name, name);
    return p;
}

size_t rig_image(uint8_t *bytes, size_t capacity, uint32_t inputs, uint32_t kernel_bytes,
                 uint32_t intermediate_bytes)
{
    static struct test_program program;
    static uint8_t kernel[0x10000];
    const struct td_shape one = {1, 1, 1, 1};
    struct pr_hwx_port ports[3] = {port("y", PR_HWX_OUTPUT, 4), port("a", PR_HWX_INPUT, 5),
                                   port("b", PR_HWX_INPUT, 6)};
    struct pr_hwx_program image = {
        .port_count = 1 + inputs, .port = ports, .td_count = 1, .intermediate_bytes = intermediate_bytes};
    size_t size;

    assert_true(inputs >= 1 && inputs <= 2 && kernel_bytes <= sizeof(kernel));
    test_assemble(&program, "%s", inputs == 2 ? test_text_add : test_text_relu);
    td_set_shape(program.bytes, &one);
    image.text = program.bytes;
    image.text_bytes = program.size;
    image.first_td_words = program.first_words;
    image.constant = kernel_bytes ? kernel : NULL;
    image.constant_bytes = kernel_bytes;
    size = pr_hwx_write(&image, bytes, capacity);
    assert_true(size > 0 && size <= capacity);
    return size;
}

IOReturn rig_create(struct rig *rig, struct drv_client *client, const void *image, size_t size,
                    uint64_t *token)
{
    return rig_create_as(rig, client, ANE_PROGRAM_LEGACY, image, size, token);
}

IOReturn rig_create_as(struct rig *rig, struct drv_client *client, uint32_t representation, const void *image,
                       size_t size, uint64_t *token)
{
    struct ane_program_create create = {.surface = rig_surface(rig, ANE_PROGRAM_IMAGE + size),
                                        .size = ANE_PROGRAM_IMAGE + size};
    struct ane_program_args *args = rig_surface_base(rig, create.surface);
    IOReturn result;

    *args = (struct ane_program_args){.representation = representation,
                                      .version = 1,
                                      .image_size = size,
                                      .procedures = 1,
                                      .qos = ANE_REQUEST_QOS,
                                      .flags = ANE_PROGRAM_ARGS_FLAGS,
                                      .name = "sum"};
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, image, size);
    result = rig_call(client, ANE_CONTROL_ProgramCreate, NULL, 0, &create, sizeof(create), NULL, 0, NULL, 0);
    *token = args->token;
    /* The surface goes at once: the driver has a copy. */
    memset(args, 0xff, ANE_PROGRAM_IMAGE + size);
    assert_int_equal(rig->surface[create.surface].uses, 0);
    dram_free(rig, rig->surface[create.surface].address);
    rig->surface[create.surface].there = false;
    return result;
}

IOReturn rig_prepare(struct drv_client *client, uint64_t token, struct ane_program_prepare *prepare)
{
    *prepare = (struct ane_program_prepare){
        .token = token, .qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY};
    return rig_call(client, ANE_CONTROL_ProgramPrepare, NULL, 0, prepare, sizeof(*prepare), NULL, 0, prepare,
                    sizeof(*prepare));
}

IOReturn rig_unprepare(struct drv_client *client, uint64_t token)
{
    const struct ane_program_prepare prepare = {.token = token};

    return rig_call(client, ANE_CONTROL_ProgramUnprepare, NULL, 0, &prepare, sizeof(prepare), NULL, 0, NULL,
                    0);
}

IOReturn rig_destroy(struct drv_client *client, uint64_t token)
{
    const struct ane_program_destroy destroy = {.token = token};

    return rig_call(client, ANE_CONTROL_ProgramDestroy, NULL, 0, &destroy, sizeof(destroy), NULL, 0, NULL, 0);
}

void rig_request(struct ane_request *request, uint64_t token, uint32_t inputs, uint32_t outputs,
                 const uint32_t *surfaces)
{
    memset(request, 0, sizeof(*request));
    request->token = token;
    request->sequence = 7;
    request->priority = ANE_REQUEST_PRIORITY;
    request->qos = ANE_REQUEST_QOS;
    request->category = ANE_REQUEST_CATEGORY;
    request->inputs = inputs;
    request->outputs = outputs;
    memcpy(request->surface, surfaces, (inputs + outputs) * sizeof(*surfaces));
}

IOReturn rig_send(struct drv_client *client, const struct ane_request *request,
                  struct ane_request_reply *reply)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;

    return rig_call(client, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, request, sizeof(*request), NULL, 0,
                    reply, sizeof(*reply));
}

uint64_t rig_program(struct rig *rig, struct drv_client *client, uint32_t inputs, uint32_t kernel_bytes,
                     uint32_t intermediate_bytes)
{
    static uint8_t image[0x20000];
    size_t size = rig_image(image, sizeof(image), inputs, kernel_bytes, intermediate_bytes);
    struct ane_program_prepare prepare;
    uint64_t token;

    if (rig_create(rig, client, image, size, &token) || rig_prepare(client, token, &prepare))
        fail_msg("%s", drv_last_error(rig->driver));
    assert_true(prepare.inputs == inputs && prepare.outputs == 1 && prepare.procedures == 1);
    assert_true(prepare.intermediates == (intermediate_bytes != 0) &&
                prepare.intermediate_bytes == intermediate_bytes);
    return token;
}
