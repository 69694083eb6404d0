/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over the walls of a machine while clients use it, seen from outside: stores to the doorbell, the
 * bytes of a message, words of the page tables, what is mapped for which purpose, and that nothing happens.
 */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inside.h"
#include "iorig.h"
#include "program/hwx_write.h"
#include "programs.h"

#define DOORBELL         0x1844000u
#define DOORBELL_PENDING 0x1854000u
#define SCRATCH_7        (0x1840048u + 4 * 7)
#define CPU_CONTROL      0x1400044u
#define CPU_RUN          0x10u
#define CALL_BELL        (1u << 7) /* the execution loop's; a request names it by its number */

#define KERNEL_BYTES       0x5000u
#define INTERMEDIATE_BYTES 0x9000u

/* The host's stores to the doorbell, and all accesses of either master. */
struct watch {
    struct soc_bus_tap tap;
    struct ane_machine *machine;
    uint32_t stores, bells; /* of the doorbell: how many, and all their bits */
    uint32_t accesses[2];   /* host, controller */
    uint32_t bar[2];        /* of queue 5: text and kernel */
};

static bool see(void *context, struct soc_access *access)
{
    struct watch *watch = context;
    uint64_t offset = access->address - watch->machine->board->container;

    watch->accesses[access->master == SOC_MASTER_CONTROLLER]++;
    if (access->write && offset == DOORBELL) {
        watch->stores++;
        watch->bells |= access->value;
    }
    for (unsigned i = 0; i < 2; i++)
        if (access->write && offset == 0x1c25020 + 5 * 0x148 + 4 * i)
            watch->bar[i] = access->value;
    return true;
}

static void watch_begin(struct watch *watch, struct ane_machine *machine)
{
    *watch = (struct watch){.tap = {.see = see, .context = watch}, .machine = machine};
    soc_bus_tap_add(machine->bus, &watch->tap);
}

static void watch_reset(struct watch *watch)
{
    watch->stores = watch->bells = watch->accesses[0] = watch->accesses[1] = 0;
}

/* The mapper's records. */
struct map {
    uint32_t domain, usage, class;
    uint64_t iova, physical, bytes;
};
static struct map maps[256];
static unsigned map_count;

static void keep_map(void *context, const char *line, size_t length)
{
    const char *at = strstr(line, " map domain=");
    struct map *map = &maps[map_count];

    (void)context;
    (void)length;
    if (at && map_count < sizeof(maps) / sizeof(maps[0]) &&
        sscanf(at,
               " map domain=%" SCNu32 " usage=%" SCNu32 " prot=%" SCNu32 " iova=%" SCNx64 " physical=%" SCNx64
               " bytes=%" SCNx64,
               &map->domain, &map->usage, &map->class, &map->iova, &map->physical, &map->bytes) == 6)
        map_count++;
}

static struct ane_machine *make(uint32_t page_table)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .trace = 1,
                                        .trace_fn = keep_map,
                                        .page_table = page_table,
                                        .clock = ANE_CLOCK_CLOSED};
    struct ane_machine *machine;

    map_count = 0;
    if (ane_machine_create(&config, &machine))
        fail_msg("%s", ane_machine_error());
    return machine;
}

/* A load with everything a program can have: a rectifier with a kernel and an intermediate buffer. */
struct load {
    struct iorig_client client;
    uint64_t token;
    uint32_t surface[2]; /* x, y */
    struct test_program program;
    uint8_t kernel[KERNEL_BYTES];
};

static struct pr_hwx_port port(const char *name, enum pr_hwx_direction direction, uint32_t bar)
{
    struct pr_hwx_port p = {.direction = direction,
                            .bar = bar,
                            .bytes = 64,
                            .element = PR_HWX_ELEMENT_FLOAT16,
                            .n = 1,
                            .c = 1,
                            .h = 1,
                            .w = 8,
                            .d = 1,
                            .batch_stride = 64,
                            .plane_stride = 64,
                            .row_stride = 64,
                            .element_stride = 2};

    strcpy(p.name, name);
    return p;
}

static size_t write_image(struct load *load, uint8_t *bytes, size_t capacity)
{
    struct pr_hwx_port ports[2] = {port("y", PR_HWX_OUTPUT, 4), port("x", PR_HWX_INPUT, 5)};
    struct pr_hwx_program image = {.port_count = 2,
                                   .port = ports,
                                   .td_count = 1,
                                   .intermediate_bytes = INTERMEDIATE_BYTES,
                                   .constant = load->kernel,
                                   .constant_bytes = sizeof(load->kernel)};
    size_t size;

    test_assemble(&load->program, "%s", test_text_relu);
    td_set_shape(load->program.bytes, &(struct td_shape){1, 1, 1, 8});
    for (unsigned i = 0; i < sizeof(load->kernel); i++)
        load->kernel[i] = (uint8_t)(i * 7 + (i >> 8));
    image.text = load->program.bytes;
    image.text_bytes = load->program.size;
    image.first_td_words = load->program.first_words;
    size = pr_hwx_write(&image, bytes, capacity);
    assert_true(size > 0 && size <= capacity);
    return size;
}

static void load_create(struct load *load, struct ane_machine *machine)
{
    static uint8_t image[1 << 17];
    size_t size = write_image(load, image, sizeof(image));

    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &load->client),
                     kIOReturnSuccess);
    if (iorig_create(&load->client, image, size, &load->token))
        fail_msg("%s", ane_machine_error());
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ane_surface_create(0, 64, &load->surface[i]), 0);
}

static void load_prepare(struct load *load)
{
    struct ane_program_prepare prepare;

    assert_int_equal(iorig_prepare(&load->client, load->token, &prepare), kIOReturnSuccess);
}

/* One request, x in and the rectified x out. */
static void load_run(struct load *load, const struct iorig_client *client, uint32_t priority, double x)
{
    uint16_t *in = ane_surface_base(load->surface[0]), *out = ane_surface_base(load->surface[1]);
    struct ane_request_reply reply;

    for (unsigned i = 0; i < 8; i++)
        in[i] = test_half_from_double(i % 2 ? x : -x);
    if (iorig_request(client, load->token, 1, priority, load->surface, 1, 1, &reply))
        fail_msg("%s", ane_machine_error());
    for (unsigned i = 0; i < 8; i++)
        assert_true(test_half_to_double(out[i]) == (i % 2 ? x : 0));
}

static void load_close(struct load *load)
{
    assert_int_equal(IOServiceClose(load->client.connect), kIOReturnSuccess);
    for (unsigned i = 0; i < 2; i++)
        ane_surface_release(load->surface[i]);
}

/* Doorbells. */

struct sizes {
    uint32_t scalars_in, bytes_in, scalars_out, bytes_out;
};
#define X(selector, name, ...) [selector] = {__VA_ARGS__},
static const struct sizes control_sizes[] = {ANE_CONTROL_SELECTORS(X)},
                          direct_sizes[] = {ANE_DIRECT_SELECTORS(X)};
#undef X

/* A selector with its exact sizes and words that are all 0. */
static IOReturn call_empty(const struct iorig_client *client, uint32_t selector, const struct sizes *sizes)
{
    static uint64_t scalar_in[16], scalar_out[16];
    static uint8_t in[4096], out[4096];
    uint32_t scalars_out = sizes->scalars_out;
    size_t bytes_out = sizes->bytes_out;

    assert_true(sizes->bytes_in <= sizeof(in) && sizes->bytes_out <= sizeof(out));
    return IOConnectCallMethod(client->connect, selector, scalar_in, sizes->scalars_in, in, sizes->bytes_in,
                               scalar_out, &scalars_out, out, &bytes_out);
}

/* Whatever it answers: no doorbell of a call is rung. Direct-path 4 rings one when its inputs are ready. */
static void expect_no_doorbell(struct watch *watch, const struct iorig_client *client, uint32_t selector,
                               const struct sizes *sizes)
{
    watch_reset(watch);
    call_empty(client, selector, sizes);
    assert_int_equal(watch->bells & CALL_BELL, 0);
}

static void map_and_unmap(struct watch *watch, const struct iorig_client *direct, uint32_t surface)
{
    struct ane_memory_map map = {
        .token = direct->session, .surface = surface, .usage = ANE_MAP_INPUT, .size = 64};
    const uint64_t zero = 0;
    uint32_t one = 1;

    watch_reset(watch);
    assert_int_equal(IOConnectCallMethod(direct->connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                                         sizeof(map), &map.address, &one, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(IOConnectCallMethod(direct->connect, ANE_DIRECT_MemoryUnMapRequest, NULL, 0, &map,
                                         sizeof(map), NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(watch->stores, 0);
}

/*
 * The doorbell that a request names is reached by selector 2 of both clients alone. For programs the driver
 * sends commands of its own, on another channel with another bit.
 */
static void only_requests_ring_for_a_call(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED);
    static struct load load;
    struct iorig_client direct;
    struct watch watch;

    (void)state;
    watch_begin(&watch, machine);
    load_create(&load, machine);
    load_prepare(&load);
    assert_int_equal(watch.bells & CALL_BELL, 0);
    watch_reset(&watch);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    assert_int_equal(watch.stores, 0);
    for (uint32_t i = 7; i <= 16; i++)
        expect_no_doorbell(&watch, &load.client, i, &control_sizes[i]);
    expect_no_doorbell(&watch, &direct, 3, &direct_sizes[3]);
    expect_no_doorbell(&watch, &direct, 4, &direct_sizes[4]);
    expect_no_doorbell(&watch, &direct, 7, &direct_sizes[7]);
    expect_no_doorbell(&watch, &direct, 8, &direct_sizes[8]);
    map_and_unmap(&watch, &direct, load.surface[0]);
    load_run(&load, &load.client, 5, 3);
    assert_int_equal(watch.bells & CALL_BELL, CALL_BELL);
    watch_reset(&watch);
    load_run(&load, &direct, 5, 4);
    assert_int_equal(watch.bells & CALL_BELL, CALL_BELL);
    watch_reset(&watch);
    assert_int_equal(call_empty(&direct, 1, &direct_sizes[1]), kIOReturnSuccess);
    assert_int_equal(IOServiceClose(direct.connect), kIOReturnSuccess);
    assert_int_equal(iorig_unprepare(&load.client, load.token), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&load.client, load.token), kIOReturnSuccess);
    assert_int_equal(call_empty(&load.client, 1, &control_sizes[1]), kIOReturnSuccess);
    load_close(&load);
    assert_int_equal(watch.bells & CALL_BELL, 0);
    soc_bus_tap_remove(machine->bus, &watch.tap);
    ane_machine_destroy(machine);
}

/* Bytes of a call. */

static uint32_t word(const uint8_t *bytes, unsigned offset)
{
    return bytes[offset] | (uint32_t)bytes[offset + 1] << 8 | (uint32_t)bytes[offset + 2] << 16 |
           (uint32_t)bytes[offset + 3] << 24;
}

/* The message of the call that was sent as number `n` of this machine. */
static const uint8_t *call_bytes(struct ane_machine *machine, unsigned n)
{
    return inside_memory(machine, inside_ring(machine)[n].address & ~PR_SLOT_OWNER, 0x60 + 3 * 0x30);
}

/* Three programs, of which the first and the third are prepared: program 2 runs as process 1. */
static void a_call_has_its_fields_at_their_bytes(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED);
    static struct load load[3];
    const uint8_t *message;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        load_create(&load[i], machine);
    load_prepare(&load[0]);
    load_prepare(&load[2]);
    load_run(&load[2], &load[2].client, 6, 1);
    message = call_bytes(machine, 0);
    assert_int_equal(word(message, 0x04) & 0xffff, 0x204);
    assert_int_equal(word(message, 0x08), 2);
    assert_int_equal(word(message, 0x0c), 1);
    assert_int_equal(word(message, 0x10), 0);
    assert_int_equal(word(message, 0x14), 6);
    load_run(&load[0], &load[0].client, 3, 2);
    message = call_bytes(machine, 1);
    assert_int_equal(word(message, 0x08), 0);
    assert_int_equal(word(message, 0x0c), 0);
    assert_int_equal(word(message, 0x14), 3);
    for (unsigned i = 0; i < 3; i++)
        load_close(&load[i]);
    ane_machine_destroy(machine);
}

/* Mappings. */

/* A two-level walk of our own: the words of the tables in DRAM, from the register's address on. */
static uint64_t leaf_frame(const struct ane_machine *machine, uint64_t leaf)
{
    switch (machine->leaf_form + ANE_PAGE_TABLE_SEED) {
    case ANE_PAGE_TABLE_T8020: return (leaf & 0xffffff000ull) | (machine->board->dram & ~0xfffffffffull);
    case ANE_PAGE_TABLE_T6000: return (leaf & 0x3ffffffc00ull) << 4;
    default: return leaf & ~(1ull << 63);
    }
}

static uint64_t leaf_at(struct ane_machine *machine, unsigned dart, uint32_t stream, uint64_t iova)
{
    uint32_t ttbr = ane_machine_read32(machine, machine->board->dart[dart] + 0x200 + 16 * stream);
    const uint64_t *first = ane_machine_dram(machine, (uint64_t)(ttbr & 0x7fffffff) << 12, 0x4000), *second;

    assert_true(ttbr >> 31 && first && first[iova >> 25]);
    second = ane_machine_dram(machine, leaf_frame(machine, first[iova >> 25]), 0x4000);
    assert_non_null(second);
    return second[iova >> 14 & 2047];
}

static const struct map *find_map(uint32_t domain, uint32_t usage)
{
    for (unsigned i = map_count; i-- > 0;)
        if (maps[i].domain == domain && maps[i].usage == usage)
            return &maps[i];
    fail_msg("nothing was mapped in domain %u under usage %u", domain, usage);
    return NULL;
}

/* The pages of a record as the tables have them, the same on all three controllers, hold these bytes. */
static bool holds_bytes(struct ane_machine *machine, const struct map *map, const uint8_t *bytes, size_t size)
{
    const uint32_t stream = map->domain ? 3 : 0;

    if (map->bytes < size)
        return false;
    for (uint64_t at = 0; at < size; at += 0x4000) {
        const uint64_t frame = leaf_frame(machine, leaf_at(machine, 0, stream, map->iova + at));
        const size_t part = size - at < 0x4000 ? size - at : 0x4000;

        for (unsigned dart = 1; dart < 3; dart++)
            assert_true(leaf_frame(machine, leaf_at(machine, dart, stream, map->iova + at)) == frame);
        assert_true(at || frame == map->physical);
        if (memcmp(ane_machine_dram(machine, frame, part), bytes + at, part) != 0)
            return false;
    }
    return true;
}

/* The record of a usage in a domain that has these bytes, with its class. */
static const struct map *expect_map(struct ane_machine *machine, uint32_t domain, uint32_t usage,
                                    uint32_t class, const void *bytes, size_t size)
{
    for (unsigned i = map_count; i-- > 0;)
        if (maps[i].domain == domain && maps[i].usage == usage &&
            holds_bytes(machine, &maps[i], bytes, size)) {
            assert_int_equal(maps[i].class, class);
            return &maps[i];
        }
    fail_msg("nothing with these bytes was mapped in domain %u under usage %u", domain, usage);
    return NULL;
}

/* The IPC surface holds the channel table, the heap the cells of events: addresses that the firmware gave. */
static void expect_firmware_maps(struct ane_machine *machine)
{
    const struct pr_channel_record *record =
        inside_memory(machine, machine->controller.scratch[0], 8 * PR_CHANNEL_RECORD_BYTES);
    const struct pr_slot *event = inside_memory(machine, record[PR_CHANNEL_IO_T2H].ring, PR_SLOT_BYTES);
    bool surface = false, heap = false;

    for (unsigned i = 0; i < map_count; i++) {
        const struct map *map = &maps[i];

        surface |= map->usage == 0x1019 && map->iova == machine->controller.scratch[0];
        heap |= map->usage == 0x101a && event->address - map->iova < map->bytes;
    }
    assert_true(surface && heap);
}

/* Seven of the nine buffers of a load: each page is found under its code, with the bytes of its role. */
static void each_role_is_mapped_under_its_code(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED);
    const struct map *map;
    static struct load load;
    const uint8_t *message;

    (void)state;
    load_create(&load, machine);
    expect_map(machine, 0, 9, 3, load.program.bytes, load.program.size);
    expect_map(machine, 0, 8, 3, load.kernel, sizeof(load.kernel));
    load_prepare(&load);
    expect_map(machine, 1, 9, 3, load.program.bytes, load.program.size);
    expect_map(machine, 1, 8, 3, load.kernel, sizeof(load.kernel));
    load_run(&load, &load.client, 5, 2.5);
    expect_map(machine, 1, 1, 3, ane_surface_base(load.surface[0]), 16);
    expect_map(machine, 1, 2, 1, ane_surface_base(load.surface[1]), 16);
    /* The intermediate is the third buffer of the call: its address is at +0x18 of the descriptor. */
    map = find_map(1, 7);
    assert_int_equal(map->class, 3);
    message = call_bytes(machine, 0);
    assert_true(map->bytes >= INTERMEDIATE_BYTES && word(message, 0x60 + 2 * 0x30 + 0x18) == map->iova);
    expect_firmware_maps(machine);
    load_close(&load);
    ane_machine_destroy(machine);
}

/* The word of a whole page that may be read and written, in each of the three forms. */
static uint64_t leaf_of(const struct ane_machine *machine, uint64_t physical)
{
    switch (machine->leaf_form + ANE_PAGE_TABLE_SEED) {
    case ANE_PAGE_TABLE_T8020: return (physical & 0xffffff000ull) | 0xfffull << 40 | 1;
    case ANE_PAGE_TABLE_T6000: return (physical >> 4 & 0x3ffffffc00ull) | 0xfffull << 40 | 1;
    default: return physical | 1ull << 63;
    }
}

static void both_classes_give_the_same_word(void **state)
{
    static const uint32_t usages[] = {1, 2, 7, 8, 9};

    (void)state;
    for (uint32_t form = ANE_PAGE_TABLE_SEED; form <= ANE_PAGE_TABLE_T6000; form++) {
        struct ane_machine *machine = make(form);
        static struct load load;

        load_create(&load, machine);
        load_prepare(&load);
        load_run(&load, &load.client, 5, 1.5);
        assert_true(find_map(1, 1)->class == 3 && find_map(1, 2)->class == 1);
        for (unsigned i = 0; i < sizeof(usages) / sizeof(usages[0]); i++)
            for (unsigned dart = 0; dart < 3; dart++) {
                const struct map *map = find_map(1, usages[i]);

                assert_true(leaf_at(machine, dart, 3, map->iova) == leaf_of(machine, map->physical));
            }
        load_close(&load);
        ane_machine_destroy(machine);
    }
}

/* The container is read when the program is created: what becomes of it later changes no call. */
static void the_rebase_is_kept_from_create(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED);
    static const uint8_t magic[] = {'H', 'E', 'N', 'A'}; /* ANEH, little-endian */
    const struct map *container;
    static struct load load;
    struct watch watch;

    (void)state;
    load_create(&load, machine);
    container = expect_map(machine, 0, 0x1019, 3, magic, sizeof(magic));
    memset(ane_machine_dram(machine, container->physical, container->bytes), 0xff, container->bytes);
    load_prepare(&load);
    watch_begin(&watch, machine);
    for (unsigned i = 1; i <= 3; i++) {
        watch.bar[0] = watch.bar[1] = 0;
        load_run(&load, &load.client, 5, i);
        assert_true(watch.bar[0] == find_map(1, 9)->iova && watch.bar[1] == find_map(1, 8)->iova);
    }
    soc_bus_tap_remove(machine->bus, &watch.tap);
    load_close(&load);
    ane_machine_destroy(machine);
}

/* Nothing happens. */

static void passed(void *context)
{
    *(bool *)context = true;
}

/* The controller is stopped and a doorbell is pending: an hour passes without one access. */
static void no_watchdog_restarts_a_stopped_controller(void **state)
{
    struct ane_machine *machine = make(ANE_PAGE_TABLE_SEED);
    const uint64_t container = machine->board->container, hour = 3600000000000ull;
    static struct load load;
    struct watch watch;
    uint64_t before;
    bool over = false;

    (void)state;
    load_create(&load, machine);
    load_prepare(&load);
    load_run(&load, &load.client, 5, 1);
    assert_int_equal(ane_machine_run(machine, hour), 0);
    ane_machine_write32(machine, container + CPU_CONTROL, 0);
    ane_machine_write32(machine, container + DOORBELL, CALL_BELL);
    assert_int_equal(ane_machine_run(machine, hour), 0);
    watch_begin(&watch, machine);
    before = ane_machine_now(machine);
    assert_true(soc_clock_after(machine->clock, hour, SOC_EVENT_FOREGROUND, passed, &over) != 0);
    assert_int_equal(ane_machine_run(machine, 2 * hour), 0);
    assert_true(over && ane_machine_now(machine) - before == hour);
    assert_true(watch.accesses[0] == 0 && watch.accesses[1] == 0);
    assert_int_equal(ane_machine_read32(machine, container + CPU_CONTROL), 0);
    assert_int_equal(ane_machine_read32(machine, container + DOORBELL_PENDING), CALL_BELL);
    /* The host acts: the controller starts at its reset vector, and its first wake is in scratch 7. */
    watch_reset(&watch);
    ane_machine_write32(machine, container + CPU_CONTROL, CPU_RUN);
    assert_int_equal(ane_machine_run(machine, hour), 0);
    assert_true(watch.accesses[1] > 0);
    assert_int_equal(ane_machine_read32(machine, container + SCRATCH_7), 0x08042006);
    soc_bus_tap_remove(machine->bus, &watch.tap);
    load_close(&load);
    ane_machine_destroy(machine);
}

/* What the controller tells the host, in order: 'a' that a slot is back, 'e' that there is an event. */
static char told[64];

static void keep_told(void *context, const char *line, size_t length)
{
    size_t used = strlen(told);

    (void)context;
    (void)length;
    if (used + 1 < sizeof(told) && strstr(line, " asc doorbell controller bits=0x80\n"))
        told[used] = 'a';
    else if (used + 1 < sizeof(told) && strstr(line, " asc doorbell controller bits=0x40\n"))
        told[used] = 'e';
}

static void a_dispatch_interrupts_the_host_twice(void **state)
{
    struct ane_machine *machine = iorig_machine(
        (struct ane_machine_config){.trace = 1, .trace_fn = keep_told, .clock = ANE_CLOCK_CLOSED});
    struct iorig_accumulator a;
    uint64_t rises, interrupts;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    for (unsigned i = 0; i < 5; i++) {
        memset(told, 0, sizeof(told));
        rises = machine->lines.line[MACH_LINE_HOST].rises;
        interrupts = drv_stats_get(machine->driver).interrupts;
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_string_equal(told, "ae");
        assert_int_equal(machine->lines.line[MACH_LINE_HOST].rises - rises, 2);
        assert_int_equal(drv_stats_get(machine->driver).interrupts - interrupts, 2);
    }
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/*
 * The kernel's counters at the end of a statistics surface's page; the firmware's record is at its
 * beginning.
 */
static void the_driver_counts_beside_the_firmware(void **state)
{
    struct ane_machine *machine =
        iorig_machine((struct ane_machine_config){.trace = 1, .clock = ANE_CLOCK_CLOSED});
    struct ane_request request = {
        .sequence = 77, .priority = ANE_REQUEST_PRIORITY, .inputs = 2, .outputs = 1};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    struct iorig_accumulator a;
    size_t size = sizeof(reply);
    uint64_t before = 0, word[8];
    uint16_t magic;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    request.token = a.token;
    request.surface[0] = a.x;
    request.surface[1] = request.surface[2] = a.state;
    assert_int_equal(ane_surface_create(0, 0x100, &request.stats_surface), 0);
    /* The first one waits until the firmware has mapped the surface. */
    for (int i = 0; i < 2; i++) {
        before = ane_machine_now(machine);
        assert_int_equal(IOConnectCallMethod(a.client.connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1,
                                             &request, sizeof(request), NULL, NULL, &reply, &size),
                         kIOReturnSuccess);
    }
    memcpy(&magic, ane_surface_base(request.stats_surface), 2);
    assert_int_equal(magic, 0x0101);
    memcpy(word, (uint8_t *)ane_surface_base(request.stats_surface) + 0x4000 - 0x40, sizeof(word));
    assert_true(word[0] == 0x0102 && word[1] == 77); /* magic, status 0; sequence */
    assert_true(word[2] == before && word[3] == before);
    /* The slot is seen before the end, and the end is now. */
    assert_true(word[3] < word[4] && word[4] < word[5] && word[5] == ane_machine_now(machine));
    assert_true(word[6] == 0 && word[7] == 0);
    ane_machine_destroy(machine);
    ane_surface_release(request.stats_surface);
}

/*
 * Two requests with a statistics surface through the whole stack: header, the engine's descriptor and the
 * totals, which the driver has read back.
 */
static void the_driver_reads_the_totals(void **state)
{
    struct ane_machine *machine =
        iorig_machine((struct ane_machine_config){.trace = 1, .clock = ANE_CLOCK_CLOSED});
    struct ane_request request = {.priority = ANE_REQUEST_PRIORITY, .inputs = 2, .outputs = 1};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    struct iorig_accumulator a;
    uint32_t word[0x54 / 4];

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    request.token = a.token;
    request.surface[0] = a.x;
    request.surface[1] = request.surface[2] = a.state;
    assert_int_equal(ane_surface_create(0, 0x100, &request.stats_surface), 0);
    for (uint32_t i = 1; i <= 2; i++) {
        size_t size = sizeof(reply);
        uint64_t before = ane_machine_now(machine), time;

        assert_int_equal(IOConnectCallMethod(a.client.connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1,
                                             &request, sizeof(request), NULL, NULL, &reply, &size),
                         kIOReturnSuccess);
        memcpy(word, ane_surface_base(request.stats_surface), sizeof(word));
        memcpy(&time, &word[1], sizeof(time));
        assert_true(time && time < ane_machine_now(machine) - before);
        assert_int_equal(word[0x24 / 4], 0x20 + 0x0c);
        assert_int_equal(word[0x2c / 4], 1);           /* a neural engine */
        assert_int_equal(word[0x38 / 4], i);           /* calls */
        assert_int_equal(word[0x3c / 4], 3 * i);       /* their events */
        assert_true(word[0x40 / 4] <= word[0x44 / 4]); /* busy, latency */
        assert_int_equal(word[0x48 / 4], i);           /* valid */
        assert_int_equal(word[0x4c / 4], i);           /* log events */
        assert_int_equal(word[0x50 / 4], 3 * i);       /* stat events */
        assert_int_equal(ane_machine_counter(machine, "driver.stats_valid"), i);
        assert_int_equal(ane_machine_counter(machine, "driver.stats_log"), i);
        assert_int_equal(ane_machine_counter(machine, "driver.stats_events"), 3 * i);
    }
    ane_machine_destroy(machine);
    ane_surface_release(request.stats_surface);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_requests_ring_for_a_call),
        cmocka_unit_test(a_call_has_its_fields_at_their_bytes),
        cmocka_unit_test(each_role_is_mapped_under_its_code),
        cmocka_unit_test(both_classes_give_the_same_word),
        cmocka_unit_test(the_rebase_is_kept_from_create),
        cmocka_unit_test(no_watchdog_restarts_a_stopped_controller),
        cmocka_unit_test(a_dispatch_interrupts_the_host_twice),
        cmocka_unit_test(the_driver_counts_beside_the_firmware),
        cmocka_unit_test(the_driver_reads_the_totals),
    };

    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
