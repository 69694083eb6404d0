/* SPDX-License-Identifier: Apache-2.0 */
/* Generation A on a device, with a program whose memory is an array: every other address is not there. */
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accel/network.h"
#include "base/alloc.h"
#include "base/file.h"
#include "programs.h"
#include "tdpatch.h"

#define BASE     0x100000000000u /* address of the program's first byte */
#define PAGES    16u
#define BYTES    (PAGES * ACC_TILE_BYTES)
#define RECORD   (BASE + 15 * (uint64_t)ACC_TILE_BYTES)
#define VALUES   256u
#define MANY     300u
#define RANDOM   3000u
#define FAILURES 64u
#define GARBAGE  0x5a
#define MIDDLE   0x123u

/* y = a + b, rows of 64 bytes: the values of each tensor are one run of VALUES halves. */
static const struct td_shape add_shape = {1, 8, 1, 32};

enum { RESULT = 4, SECOND = 5, FIRST = 6 };
/* Where the program has them, in tiles. */
enum { AT_TEXT, AT_FIFO, AT_RESULT, AT_SECOND, AT_FIRST };

struct rig {
    struct acc_device *device;
    struct acc_network_set set;
    struct acc_client client;
    uint8_t *memory;
    unsigned reports;
};

static void *at(const struct rig *rig, unsigned page)
{
    return rig->memory + page * ACC_TILE_BYTES;
}

static uint64_t address(unsigned page)
{
    return BASE + page * (uint64_t)ACC_TILE_BYTES;
}

static bool is_there(uint64_t where, size_t bytes)
{
    return where >= BASE && where - BASE <= BYTES && bytes <= BYTES - (where - BASE);
}

static int client_read(void *context, uint64_t from, void *to, size_t bytes)
{
    struct rig *rig = context;

    if (!is_there(from, bytes))
        return -EFAULT;
    memcpy(to, rig->memory + (from - BASE), bytes);
    return 0;
}

static int client_write(void *context, uint64_t to, const void *from, size_t bytes)
{
    struct rig *rig = context;

    if (!is_there(to, bytes))
        return -EFAULT;
    memcpy(rig->memory + (to - BASE), from, bytes);
    return 0;
}

static void count_report(void *context, const char *text)
{
    struct rig *rig = context;

    assert_true(strlen(text) > 0);
    rig->reports++;
}

static int setup(void **state)
{
    struct ane_machine_config machine = {.size = sizeof(machine), .chip = ANE_CHIP_T8103};
    struct rig *rig = calloc(1, sizeof(*rig));
    const struct acc_device_config config = {
        .machine = &machine, .report = count_report, .report_context = rig};
    struct base_error error;

    assert_non_null(rig);
    assert_int_equal(acc_device_create(&config, &rig->device, &error), 0);
    rig->set.device = rig->device;
    rig->client = (struct acc_client){
        .read = client_read, .write = client_write, .context = rig, .process = (int)getpid()};
    rig->memory = calloc(1, BYTES);
    assert_non_null(rig->memory);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    acc_network_end_all(&rig->set);
    acc_device_destroy(rig->device);
    free(rig->memory);
    free(rig);
    return 0;
}

/* The record of the program that adds, with the type numbers of either header. */
static struct acc_abi_anec record_of(uint32_t words, uint32_t source, uint32_t result)
{
    const uint32_t start = (4 * words + ACC_KERNEL_ALIGN - 1) / ACC_KERNEL_ALIGN * ACC_KERNEL_ALIGN;
    struct acc_abi_anec record = {.size = start + ACC_KERNEL_ALIGN,
                                  .tsk_size = 4 * words,
                                  .krn_size = ACC_KERNEL_ALIGN,
                                  .td_count = 1,
                                  .td_size = 4 * words};

    record.tiles[0] = record.tiles[RESULT] = record.tiles[SECOND] = record.tiles[FIRST] = 1;
    record.types[0] = ACC_TILE_CMD;
    record.types[RESULT] = result;
    record.types[SECOND] = record.types[FIRST] = source;
    return record;
}

/* Writes text and record to the program's memory. */
static struct acc_abi_anec load(struct rig *rig, uint32_t source, uint32_t result)
{
    struct test_program program;
    struct acc_abi_anec record;

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &add_shape);
    record = record_of(program.first_words, source, result);
    memcpy(at(rig, AT_TEXT), program.bytes, program.size);
    memcpy(at(rig, AT_FIFO), program.bytes, program.size);
    assert_int_equal(client_write(rig, RECORD, &record, sizeof(record)), 0);
    return record;
}

static int init(struct rig *rig, const struct acc_abi_anec *record, uint32_t *handle)
{
    struct acc_abi_nn_init call = {.anec = RECORD};
    int status;

    assert_int_equal(client_write(rig, RECORD, record, sizeof(*record)), 0);
    status = acc_network_init(&rig->set, &call, &rig->client);
    *handle = call.handle;
    return status;
}

static struct acc_abi_nn_sync sync_of(uint32_t handle)
{
    struct acc_abi_nn_sync call = {.handle = handle, .fifo = address(AT_FIFO)};

    call.pointers[0] = address(AT_TEXT);
    call.pointers[RESULT] = address(AT_RESULT);
    call.pointers[SECOND] = address(AT_SECOND);
    call.pointers[FIRST] = address(AT_FIRST);
    return call;
}

static int sync_network(struct rig *rig, uint32_t handle)
{
    const struct acc_abi_nn_sync call = sync_of(handle);

    return acc_network_sync(&rig->set, &call, &rig->client);
}

static int exec(struct rig *rig, uint32_t handle)
{
    const struct acc_abi_nn_handle call = {.handle = handle};

    return acc_network_exec(&rig->set, &call, &rig->client);
}

static int deinit(struct rig *rig, uint32_t handle)
{
    const struct acc_abi_nn_handle call = {.handle = handle};

    return acc_network_deinit(&rig->set, &call);
}

static void run(struct rig *rig, uint32_t handle, double plus)
{
    uint16_t *a = at(rig, AT_FIRST), *b = at(rig, AT_SECOND);
    const uint16_t *y = at(rig, AT_RESULT);

    for (unsigned i = 0; i < VALUES; i++) {
        a[i] = test_half_from_double(i);
        b[i] = test_half_from_double(plus);
    }
    memset(at(rig, AT_RESULT), GARBAGE, ACC_TILE_BYTES);
    assert_int_equal(exec(rig, handle), 0);
    for (unsigned i = 0; i < VALUES; i++) {
        assert_int_equal(y[i], test_half_from_double(i + plus));
        assert_int_equal(a[i], test_half_from_double(i));
    }
    assert_int_equal(((const uint8_t *)at(rig, AT_RESULT))[2 * VALUES], GARBAGE);
}

static void test_both_headers(void **state)
{
    struct rig *rig = *state;

    for (unsigned i = 0; i < 2; i++) {
        const struct acc_abi_anec record =
            i ? load(rig, ACC_TILE_DST, ACC_TILE_SRC) : load(rig, ACC_TILE_SRC, ACC_TILE_DST);
        uint32_t handle;

        assert_int_equal(init(rig, &record, &handle), 0);
        assert_int_equal(handle, 1);
        assert_int_equal(exec(rig, handle), -EINVAL);
        assert_int_equal(sync_network(rig, handle), 0);
        run(rig, handle, 3);
        run(rig, handle, 4);
        assert_int_equal(deinit(rig, handle), 0);
        assert_int_equal(exec(rig, handle), -EINVAL);
    }
    assert_int_equal(rig->reports, 0);
}

/* Intermediate tiles are the driver's: no pointer is asked for. */
static void test_intermediate(void **state)
{
    struct rig *rig = *state;
    struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    uint32_t handle;

    record.tiles[2] = record.tiles[3] = 2;
    record.types[2] = record.types[3] = ACC_TILE_ITM;
    assert_int_equal(init(rig, &record, &handle), 0);
    assert_int_equal(sync_network(rig, handle), 0);
    run(rig, handle, 5);
}

/* A page is shared from its first byte on, so a pointer into it means its beginning. */
static void test_pointer_into_page(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    struct acc_abi_nn_sync call;
    uint32_t handle;

    assert_int_equal(init(rig, &record, &handle), 0);
    call = sync_of(handle);
    call.pointers[RESULT] += MIDDLE;
    call.fifo += MIDDLE;
    assert_int_equal(acc_network_sync(&rig->set, &call, &rig->client), 0);
    run(rig, handle, 6);
}

/* Pinned pages are shared: what the engine does not write stays as it is, also where two tiles are one. */
static void test_shared_pages(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    uint16_t *a = at(rig, AT_FIRST), *b = at(rig, AT_SECOND);
    struct acc_abi_nn_sync call;
    uint32_t handle;

    assert_int_equal(init(rig, &record, &handle), 0);
    call = sync_of(handle);
    call.pointers[RESULT] = call.pointers[FIRST];
    assert_int_equal(acc_network_sync(&rig->set, &call, &rig->client), 0);
    for (unsigned i = 0; i < VALUES; i++) {
        a[i] = test_half_from_double(i);
        b[i] = test_half_from_double(2);
    }
    for (unsigned times = 1; times <= 2; times++) {
        assert_int_equal(exec(rig, handle), 0);
        for (unsigned i = 0; i < VALUES; i++)
            assert_int_equal(a[i], test_half_from_double(i + 2 * times));
    }
}

static void test_handles(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    uint32_t handle;

    for (unsigned i = 1; i <= ACC_NETWORKS_MAX; i++) {
        assert_int_equal(init(rig, &record, &handle), 0);
        assert_int_equal(handle, i);
    }
    assert_int_equal(init(rig, &record, &handle), -ENOSPC);
    assert_int_equal(deinit(rig, 9), 0);
    assert_int_equal(deinit(rig, 5), 0);
    assert_int_equal(deinit(rig, 5), -EINVAL);
    assert_int_equal(init(rig, &record, &handle), 0);
    assert_int_equal(handle, 5);
    assert_int_equal(init(rig, &record, &handle), 0);
    assert_int_equal(handle, 9);
    assert_int_equal(sync_network(rig, 5), 0);
    assert_int_equal(sync_network(rig, 200), 0);
    run(rig, 200, 7);
    run(rig, 5, 8);
}

/* Where the next network's buffers would be: the same as before when nothing was left behind. */
static uint32_t next_address(struct rig *rig)
{
    struct base_error error;
    uint32_t iova;
    int file = base_file_memory("test", ACC_TILE_BYTES);

    assert_true(file >= 0);
    assert_int_equal(acc_device_map(rig->device, file, 0, ACC_TILE_BYTES, &iova, &error), 0);
    acc_device_unmap(rig->device, iova);
    close(file);
    return iova;
}

static void test_too_large(void **state)
{
    struct rig *rig = *state;
    struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    const uint32_t before = next_address(rig);
    struct acc_abi_nn_sync call;
    uint32_t handle;
    int status;

    for (unsigned i = 7; i < ACC_TILES; i++) {
        record.tiles[i] = 0xffff;
        record.types[i] = ACC_TILE_ITM;
    }
    assert_int_equal(init(rig, &record, &handle), 0);
    status = sync_network(rig, handle);
    assert_true(status == -ENOSPC || status == -ENOMEM);
    for (unsigned i = 8; i < ACC_TILES; i++)
        record.tiles[i] = record.types[i] = 0;
    assert_int_equal(init(rig, &record, &handle), 0);
    call = sync_of(handle);
    call.pointers[FIRST] = 16;
    assert_int_equal(acc_network_sync(&rig->set, &call, &rig->client), -EFAULT);
    assert_int_equal(next_address(rig), before);
}

static void test_without_memory(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    const uint32_t before = next_address(rig);
    uint32_t handle;
    unsigned long failed = 0;

    for (unsigned n = 1; n < FAILURES; n++) {
        int status;

        base_alloc_fail_nth(n);
        status = init(rig, &record, &handle);
        if (!status)
            status = sync_network(rig, handle);
        base_alloc_fail_nth(0);
        if (!status)
            break;
        assert_int_equal(status, -ENOMEM);
        acc_network_end_all(&rig->set);
        assert_int_equal(next_address(rig), before);
        failed++;
    }
    assert_true(failed > 1 && failed < FAILURES - 1);
    run(rig, handle, 9);
}

static void test_hang(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    uint32_t handle;

    assert_int_equal(init(rig, &record, &handle), 0);
    assert_int_equal(sync_network(rig, handle), 0);
    memset(at(rig, AT_FIFO), 0xff, record.td_size);
    assert_int_equal(exec(rig, handle), -ETIMEDOUT);
    assert_int_equal(rig->reports, 1);
    load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    run(rig, handle, 10);
    assert_int_equal(rig->reports, 1);
}

static void test_many_requests(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec record = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    uint32_t handle;
    unsigned long acquired;

    assert_int_equal(init(rig, &record, &handle), 0);
    assert_int_equal(sync_network(rig, handle), 0);
    run(rig, handle, 0);
    acquired = base_alloc_count();
    for (unsigned i = 0; i < MANY; i++)
        run(rig, handle, i);
    assert_int_equal(base_alloc_count(), acquired);
}

static void random_record(struct test_rng *rng, struct acc_abi_anec *record)
{
    uint32_t *words = (uint32_t *)record;

    for (unsigned i = 0; i < 3; i++)
        if (test_rng_bool(rng))
            words[test_rng_u32(rng) % (sizeof(*record) / 4)] =
                test_rng_bool(rng) ? test_rng_u32(rng) : test_rng_u32(rng) % 6;
}

/* Any order of calls with any values: an answer, and the network that is right still works. */
static void test_random_calls(void **state)
{
    struct rig *rig = *state;
    const struct acc_abi_anec good = load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    struct test_rng rng;
    uint32_t handle;

    test_rng_init(&rng, 15);
    for (unsigned i = 0; i < RANDOM; i++) {
        const struct acc_abi_nn_handle call = {.handle = test_rng_u32(&rng) % 4,
                                               .pad = test_rng_u32(&rng) % 16 == 0};
        struct acc_abi_nn_sync sync_call = sync_of(test_rng_u32(&rng) % 4);
        struct acc_abi_anec record = good;

        switch (test_rng_u32(&rng) % 5) {
        case 0:
            random_record(&rng, &record);
            init(rig, &record, &handle);
            break;
        case 1:
            if (test_rng_bool(&rng))
                sync_call.pointers[test_rng_u32(&rng) % ACC_TILES] = test_rng_u64(&rng);
            acc_network_sync(&rig->set, &sync_call, &rig->client);
            break;
        case 2: acc_network_unsync(&rig->set, &call); break;
        case 3: acc_network_deinit(&rig->set, &call); break;
        default: acc_network_exec(&rig->set, &call, &rig->client);
        }
    }
    acc_network_end_all(&rig->set);
    load(rig, ACC_TILE_SRC, ACC_TILE_DST);
    assert_int_equal(init(rig, &good, &handle), 0);
    assert_int_equal(sync_network(rig, handle), 0);
    run(rig, handle, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_both_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_intermediate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pointer_into_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_handles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hang, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_calls, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
