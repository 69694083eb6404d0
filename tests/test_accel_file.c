/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is around a request: the errors of each call, handles, sizes, offsets, buffers that outlive BO_FREE
 * and close, files that no process has any more, the nodes' paths, and programs that ask for everything.
 */
#include "accelrig.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "accel/memory.h"
#include "accel/node.h"
#include "accel/space.h"
#include "base/alloc.h"

#define BO_INIT   ((uint32_t)ACC_IOCTL_BO_INIT)
#define BO_FREE   ((uint32_t)ACC_IOCTL_BO_FREE)
#define SUBMIT    ((uint32_t)ACC_IOCTL_SUBMIT)
#define VERSION   ((uint32_t)ACC_IOCTL_VERSION)
#define GEM_CLOSE ((uint32_t)ACC_IOCTL_GEM_CLOSE)

static int bo_init(struct accelrig *rig, uint64_t size)
{
    struct acc_abi_bo_init call = {.size = size};
    int status = accelrig_ioctl(rig, BO_INIT, &call);

    return status ? status : (int)call.handle;
}

static int bo_free(struct accelrig *rig, uint32_t handle)
{
    struct acc_abi_bo_free call = {.handle = handle};

    return accelrig_ioctl(rig, BO_FREE, &call);
}

/* The request numbers as the published headers make them (lnx, section 2). */
static void numbers(void **state)
{
    (void)state;
    assert_int_equal(VERSION, 0xc0406400);
    assert_int_equal(GEM_CLOSE, 0x40086409);
    assert_int_equal(BO_INIT, 0xc0186441);
    assert_int_equal(BO_FREE, 0xc0086442);
    assert_int_equal(SUBMIT, 0xc0986443);
}

static void unknown(void **state)
{
    static const uint32_t requests[] = {
        0xc0186440, 0xc0206441, 0xc0906443, 0xc0086450, 0xc0106446, 0xc010640c, 0x00006401, 0xc0186499,
    };
    struct accelrig rig;
    uint64_t argument[32] = {0};

    (void)state;
    accelrig_start(&rig, NULL);
    for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        assert_int_equal(accelrig_ioctl(&rig, requests[i], argument), -EINVAL);
    assert_int_equal(accelrig_ioctl(&rig, 0, argument), -ENOTTY);
    accelrig_stop(&rig);
}

static void version_strings(void **state)
{
    char name[16], date[16], description[64];
    struct acc_abi_version call;
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    /* lengths alone, as libdrm asks first */
    memset(&call, 0, sizeof(call));
    call.major = 7;
    assert_int_equal(accelrig_ioctl(&rig, VERSION, &call), 0);
    assert_int_equal(call.major, 1);
    assert_int_equal(call.name_length, 3);
    assert_int_equal(call.date_length, 8);
    assert_int_equal(call.description_length, 26);
    /* room for two bytes of the name, more than enough for the rest; no NUL is written */
    memset(name, 'x', sizeof(name));
    memset(date, 'x', sizeof(date));
    memset(description, 'x', sizeof(description));
    call = (struct acc_abi_version){.name_length = 2,
                                    .name = (uintptr_t)name,
                                    .date_length = sizeof(date),
                                    .date = (uintptr_t)date,
                                    .description_length = sizeof(description),
                                    .description = (uintptr_t)description};
    assert_int_equal(accelrig_ioctl(&rig, VERSION, &call), 0);
    assert_int_equal(call.name_length, 3);
    assert_memory_equal(name, "anxx", 4);
    assert_memory_equal(date, "20230103xx", 10);
    assert_memory_equal(description, "Apple Neural Engine driverxx", 28);
    call = (struct acc_abi_version){.name_length = 3, .name = 8};
    assert_int_equal(accelrig_ioctl(&rig, VERSION, &call), -EFAULT);
    accelrig_stop(&rig);
}

/* The numbers are those of the fork's public header; the family of the M1 is H13. */
static void capabilities(void **state)
{
    const uint32_t want[8] = {0, 32, 1, 13, 0, 0, 0, 0};
    uint32_t call[8] = {0, 9, 9, 9, 9, 9, 9, 0};
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    assert_int_equal(accelrig_ioctl(&rig, 0xc0206440u, call), 0);
    assert_memory_equal(call, want, sizeof(want));
    call[0] = 1;
    assert_int_equal(accelrig_ioctl(&rig, 0xc0206440u, call), -EINVAL);
    accelrig_stop(&rig);
}

/* Bad pointers, and the directions that a program's own number asks for. */
static void copies(void **state)
{
    struct acc_abi_bo_init call = {.size = 1};
    struct acc_abi_bo_free end = {.handle = 1};
    struct acc_abi_version version;
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    assert_int_equal(accelrig_ioctl(&rig, BO_INIT, NULL), -EFAULT);
    assert_int_equal(accelrig_ioctl(&rig, SUBMIT, (void *)8), -EFAULT);
    assert_int_equal(accelrig_ioctl(&rig, BO_INIT, &call), 0);
    /* as DRM's core does: a number without _IOC_READ is found, and nothing is copied out */
    end.pad = 0;
    assert_int_equal(accelrig_ioctl(&rig, BO_FREE & ~(_IOC_READ << _IOC_DIRSHIFT), &end), 0);
    assert_int_equal(accelrig_ioctl(&rig, BO_FREE & ~(_IOC_READ << _IOC_DIRSHIFT), &end), -EINVAL);
    /* without _IOC_WRITE nothing is copied in, and the answer overwrites what is there */
    memset(&version, 7, sizeof(version));
    assert_int_equal(accelrig_ioctl(&rig, VERSION & ~(_IOC_WRITE << _IOC_DIRSHIFT), &version), 0);
    assert_int_equal(version.major, 1);
    assert_int_equal(version.name_length, 3);
    accelrig_stop(&rig);
}

static void sizes(void **state)
{
    static const struct {
        uint64_t size;
        int status;
    } rows[] = {
        {1, 1},
        {0x4000, 2},
        {0x4001, 3},
        {0, -ENOSPC},
        {UINT64_MAX, -ENOSPC}, /* rounded up to 0 */
        {UINT64_MAX - 0x4000, -EINVAL},
        {1ull << 63, -EINVAL},
        {(1ull << 63) - 0x4000, -ENOSPC},
        {1ull << 32, -ENOSPC},
        {0xe0000000, -ENOSPC},
        {1ull << 30, 4},
    };
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (bo_init(&rig, rows[i].size) != rows[i].status)
            fail_msg("size 0x%llx", (unsigned long long)rows[i].size);
    accelrig_stop(&rig);
}

static void handles(void **state)
{
    struct acc_abi_bo_init call = {.size = 1, .pad = 1};
    struct acc_abi_bo_free end = {.handle = 1, .pad = 1};
    struct acc_abi_gem_close closing = {.handle = 2, .pad = 9};
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    assert_int_equal(accelrig_ioctl(&rig, BO_INIT, &call), -EINVAL);
    for (int i = 1; i <= 5; i++)
        assert_int_equal(bo_init(&rig, 0x4000), i);
    assert_int_equal(accelrig_ioctl(&rig, BO_FREE, &end), -EINVAL);
    assert_int_equal(bo_free(&rig, 0), -EINVAL);
    assert_int_equal(bo_free(&rig, 6), -EINVAL);
    assert_int_equal(bo_free(&rig, UINT32_MAX), -EINVAL);
    assert_int_equal(bo_free(&rig, 4), 0);
    assert_int_equal(bo_free(&rig, 4), -EINVAL);
    assert_int_equal(accelrig_ioctl(&rig, GEM_CLOSE, &closing), 0);
    assert_int_equal(accelrig_ioctl(&rig, GEM_CLOSE, &closing), -EINVAL);
    assert_int_equal(bo_init(&rig, 0x4000), 2);
    assert_int_equal(bo_init(&rig, 0x4000), 4);
    assert_int_equal(bo_init(&rig, 0x4000), 6);
    accelrig_stop(&rig);
}

/* Each check of SUBMIT by itself: one field of a request that runs is changed. */
static void submit_errors(void **state)
{
#define FIELD(name) offsetof(struct acc_abi_submit, name)
#define HANDLE(n)   (offsetof(struct acc_abi_submit, handles) + 4 * (n))
    static const struct {
        size_t at;
        uint32_t value;
    } rows[] = {
        {FIELD(pad), 1},          {FIELD(tsk_size), 0},     {FIELD(tsk_size), ACCELRIG_PAGE},
        {FIELD(tsk_size) + 4, 1}, {FIELD(td_count), 0},     {FIELD(td_size), 0},
        {HANDLE(0), 0},           {HANDLE(0), 99},          {HANDLE(1), 1},
        {HANDLE(2), 99},          {HANDLE(4), 99},          {HANDLE(31), UINT32_MAX},
        {FIELD(btsp_handle), 0},  {FIELD(btsp_handle), 99},
    };
    struct accelrig rig;
    struct accelrig_sum sum;

    (void)state;
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct acc_abi_submit call = sum.call;

        memcpy((uint8_t *)&call + rows[i].at, &rows[i].value, 4);
        if (accelrig_ioctl(&rig, SUBMIT, &call) != -EINVAL)
            fail_msg("row %u", i);
    }
    /* the driver's own comparison: one byte less than the buffer is enough */
    sum.call.tsk_size = ACCELRIG_PAGE - 1;
    accelrig_sum_check(&rig, &sum, 5);
    assert_int_equal(rig.reports, 0);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

/* A program that has freed its buffer and closed its descriptor still reads and writes what it maps. */
static void outlives(void **state)
{
    struct accelrig rig;
    struct accelrig_sum sum;
    uint16_t *y;

    (void)state;
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    accelrig_sum_check(&rig, &sum, 9);
    y = (uint16_t *)(void *)sum.y.map;
    assert_int_equal(bo_free(&rig, sum.y.handle), 0);
    assert_true(test_half_to_double(y[1]) == 3 + 9 + 2);
    /* another buffer has the device address, not the bytes */
    assert_int_equal(bo_init(&rig, ACCELRIG_PAGE), sum.y.handle);
    assert_true(test_half_to_double(y[1]) == 3 + 9 + 2);
    close(rig.descriptor);
    rig.descriptor = -1;
    accelrig_stop(&rig);
    assert_true(test_half_to_double(y[1]) == 3 + 9 + 2);
    y[1] = 7;
    assert_int_equal(y[1], 7);
    munmap(y, ACCELRIG_PAGE);
}

/* The limit of what freed buffers keep: the oldest lose their bytes, never those that are in use. */
static void freed_limit(void **state)
{
    const uint64_t bytes = ACC_MEMORY_FREED / 4;
    struct accelrig_buffer used, part[6];
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    used = accelrig_buffer(&rig, ACCELRIG_PAGE);
    used.map[0] = 1;
    for (unsigned i = 0; i < 6; i++) {
        part[i] = accelrig_buffer(&rig, bytes);
        assert_int_equal(part[i].map[0], 0);
        part[i].map[0] = (uint8_t)(2 + i);
        assert_int_equal(bo_free(&rig, part[i].handle), 0);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(part[i].map[0], i < 2 ? 0 : 2 + i);
        if (i)
            assert_true(part[i].offset >= part[i - 1].offset + bytes);
        munmap(part[i].map, bytes);
    }
    assert_int_equal(used.map[0], 1);
    accelrig_buffer_end(&rig, &used);
    accelrig_stop(&rig);
}

/* A descriptor, a copy of it, a mapping, or one of them alone: only without any is the file unused. */
static void unused(void **state)
{
    struct acc_file *file;
    struct accelrig rig;
    int first, second;
    char path[32];
    void *map;

    (void)state;
    accelrig_start(&rig, NULL);
    assert_int_equal(acc_file_open(rig.device, &file, NULL), 0);
    assert_true(acc_file_unused(file));
    first = acc_file_descriptor(file);
    assert_true(first >= 0 && !acc_file_unused(file));
    assert_int_equal(fcntl(first, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    second = dup(first);
    close(first);
    assert_false(acc_file_unused(file));
    map = mmap(NULL, ACCELRIG_PAGE, PROT_READ, MAP_SHARED, second, ACC_MEMORY_FIRST);
    assert_true(map != MAP_FAILED);
    close(second);
    assert_false(acc_file_unused(file));
    munmap(map, ACCELRIG_PAGE);
    assert_true(acc_file_unused(file));
    /* opened again for reading alone, as a program may do through /proc */
    first = acc_file_descriptor(file);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", first);
    second = open(path, O_RDONLY);
    assert_true(second >= 0);
    close(first);
    assert_false(acc_file_unused(file));
    close(second);
    assert_true(acc_file_unused(file));
    acc_file_close(file);
    accelrig_stop(&rig);
}

/* An open closes the files that no process has: their buffers no longer take addresses or banks. */
static void table(void **state)
{
    struct accelrig rig;
    int kept;

    (void)state;
    accelrig_start(&rig, NULL);
    assert_int_equal(acc_table_files(rig.table), 1);
    kept = acc_table_open(rig.table, NULL);
    assert_true(kept >= 0);
    for (unsigned i = 0; i < 1000; i++) {
        int gone = acc_table_open(rig.table, NULL);

        assert_true(gone >= 0);
        close(gone);
        assert_int_equal(acc_table_files(rig.table), 3);
    }
    assert_null(acc_table_get(rig.table, 0, 0));
    /* held: not closed, although its descriptor is */
    close(rig.descriptor);
    rig.descriptor = acc_table_open(rig.table, NULL);
    assert_int_equal(bo_init(&rig, 1), 1);
    assert_int_equal(acc_table_files(rig.table), 3);
    close(kept);
    accelrig_stop(&rig);
}

/* All device addresses, then all buffers: an errno, and everything works once they are freed. */
static void exhausted(void **state)
{
    struct accelrig rig;
    struct accelrig_sum sum;
    unsigned count = 0;
    int status;

    (void)state;
    accelrig_start(&rig, NULL);
    while ((status = bo_init(&rig, 256 << 20)) > 0)
        count++;
    assert_int_equal(status, -ENOSPC);
    assert_int_equal(count, 13); /* 3.5 GiB less two pages */
    for (uint32_t i = 1; i <= count; i++)
        assert_int_equal(bo_free(&rig, i), 0);
    for (count = 0; (status = bo_init(&rig, 1)) > 0; count++)
        assert_int_equal(status, count + 1);
    assert_int_equal(status, -ENOSPC);
    assert_int_equal(count, ANE_BANKS_MAX);
    for (uint32_t i = 1; i <= count; i++)
        assert_int_equal(bo_free(&rig, i), 0);
    accelrig_sum_make(&rig, &sum);
    accelrig_sum_check(&rig, &sum, 1);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

/* Each allocation of an open and of BO_INIT fails in turn. */
static void no_memory(void **state)
{
    struct accelrig rig;
    struct accelrig_sum sum;

    (void)state;
    accelrig_start(&rig, NULL);
    for (unsigned long nth = 1;; nth++) {
        struct acc_file *file;
        int status;

        base_alloc_fail_nth(nth);
        status = acc_file_open(rig.device, &file, NULL);
        base_alloc_fail_nth(0);
        if (!status) {
            acc_file_close(file);
            assert_true(nth > 2);
            break;
        }
        assert_int_equal(status, -ENOMEM);
    }
    for (unsigned long nth = 1;; nth++) {
        int status;

        base_alloc_fail_nth(nth);
        status = bo_init(&rig, 1);
        base_alloc_fail_nth(0);
        if (status > 0) {
            assert_true(nth > 2);
            assert_int_equal(status, 1);
            break;
        }
        assert_int_equal(status, -ENOMEM);
    }
    assert_int_equal(bo_free(&rig, 1), 0);
    accelrig_sum_make(&rig, &sum);
    accelrig_sum_check(&rig, &sum, 1);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

/* Best fit from the low end; the first page and the last one are never given out. */
static void space(void **state)
{
    struct acc_space s = {0};
    struct acc_range whole = {.bytes = ACC_SPACE_END - ACC_SPACE_FIRST},
                     over = {.bytes = whole.bytes + 0x4000};
    struct acc_range r[5] = {
        {.bytes = 0x4000}, {.bytes = 0xc000}, {.bytes = 0x4000}, {.bytes = 0x8000}, {.bytes = 0x4000}};
    struct acc_range small = {.bytes = 0x4000}, middle = {.bytes = 0x8000};

    (void)state;
    assert_int_equal(acc_space_place(&s, &over), -ENOSPC);
    assert_int_equal(acc_space_place(&s, &whole), 0);
    assert_int_equal(whole.iova, 0x4000);
    assert_int_equal(acc_space_place(&s, &r[0]), -ENOSPC);
    assert_ptr_equal(acc_space_remove(&s, 0x4000), &whole);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(acc_space_place(&s, &r[i]), 0);
    assert_int_equal(r[1].iova, 0x8000);
    assert_int_equal(r[4].iova, 0x20000);
    assert_null(acc_space_remove(&s, 0xc000));
    assert_ptr_equal(acc_space_remove(&s, r[1].iova), &r[1]);
    assert_ptr_equal(acc_space_remove(&s, r[3].iova), &r[3]);
    assert_int_equal(acc_space_place(&s, &middle), 0);
    assert_int_equal(middle.iova, 0x18000); /* the hole of 0x8000, not that of 0xc000 before it */
    assert_int_equal(acc_space_place(&s, &small), 0);
    assert_int_equal(small.iova, 0x8000);
    assert_null(acc_space_before(&s, 0x3fff));
    assert_ptr_equal(acc_space_before(&s, 0x4000), &r[0]);
    assert_ptr_equal(acc_space_before(&s, 0x13fff), &small);
    assert_ptr_equal(acc_space_before(&s, UINT32_MAX), &r[4]);
}

static void nodes(void **state)
{
    static const struct {
        const char *path;
        enum acc_node node;
    } rows[] = {
        {"/dev/accel/accel0", ACC_NODE_ACCEL},
        {"//dev/./accel///accel0", ACC_NODE_ACCEL},
        {"/./dev/dri/renderD129", ACC_NODE_RENDER},
        {"/dev/accel", ACC_NODE_FOLDER},
        {"/dev/accel/", ACC_NODE_FOLDER},
        {"/dev/accel/.", ACC_NODE_FOLDER},
        {"/dev/accel/accel0/", ACC_NODE_NONE},
        {"/dev/accel/accel0/.", ACC_NODE_NONE},
        {"/dev/accel/accel1", ACC_NODE_NONE},
        {"/dev/accel/accel00", ACC_NODE_NONE},
        {"/dev/accel/accel", ACC_NODE_NONE},
        {"/dev/accel/..", ACC_NODE_NONE},
        {"/dev/dri/renderD128", ACC_NODE_NONE},
        {"/dev/dri", ACC_NODE_NONE},
        {"dev/accel/accel0", ACC_NODE_NONE},
        {"/", ACC_NODE_NONE},
        {"", ACC_NODE_NONE},
    };
    struct stat stat;

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (acc_node_at(rows[i].path) != rows[i].node)
            fail_msg("%s", rows[i].path);
    acc_node_stat(ACC_NODE_ACCEL, &stat);
    assert_true(S_ISCHR(stat.st_mode));
    assert_int_equal(stat.st_mode & 07777, 0666);
    assert_true(stat.st_rdev == makedev(261, 0));
    acc_node_stat(ACC_NODE_RENDER, &stat);
    assert_true(S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(226, 129));
    acc_node_stat(ACC_NODE_FOLDER, &stat);
    assert_true(S_ISDIR(stat.st_mode));
}

/* Random calls, most of them nearly right, on a device that must be as good afterwards. */
static void random_calls(void **state)
{
    static const uint32_t requests[] = {0xc0186441, 0xc0086442, 0xc0986443, 0xc0406400, 0x40086409,
                                        0xc0106441, 0xc1106443, 0xc0086444, 0xc0086445};
    struct test_rng rng;
    struct accelrig rig;
    struct accelrig_sum sum;

    (void)state;
    test_rng_init(&rng, 4);
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t request = requests[test_rng_range(&rng, 0, 8)], words[80] = {0};

        /* handles and counts are small numbers, sizes sometimes large; handles 1 to 5 are the sum's */
        for (unsigned w = 0; w < 80; w++)
            words[w] = test_rng_range(&rng, 0, 3) ? 0 : (uint32_t)test_rng_range(&rng, 0, 12);
        if (request == 0xc0186441)
            words[2] = test_rng_u32(&rng) >> test_rng_range(&rng, 0, 31);
        if (request == 0xc0986443 && test_rng_bool(&rng)) {
            memcpy(words, &sum.call, sizeof(sum.call));
            words[test_rng_range(&rng, 0, 37)] = (uint32_t)test_rng_range(&rng, 0, 12);
        }
        if ((request == 0xc0086442 || request == 0x40086409) && words[0] <= 5)
            words[0] += 6;
        accelrig_ioctl(&rig, request, words);
    }
    /* whatever they wrote into its buffers is written anew */
    for (uint32_t handle = 6; handle < 4000; handle++)
        bo_free(&rig, handle);
    accelrig_sum_end(&rig, &sum);
    accelrig_sum_make(&rig, &sum);
    accelrig_sum_check(&rig, &sum, 3);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),      cmocka_unit_test(unknown),       cmocka_unit_test(version_strings),
        cmocka_unit_test(capabilities), cmocka_unit_test(copies),        cmocka_unit_test(sizes),
        cmocka_unit_test(handles),      cmocka_unit_test(submit_errors), cmocka_unit_test(outlives),
        cmocka_unit_test(freed_limit),  cmocka_unit_test(unused),        cmocka_unit_test(table),
        cmocka_unit_test(exhausted),    cmocka_unit_test(no_memory),     cmocka_unit_test(space),
        cmocka_unit_test(nodes),        cmocka_unit_test(random_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
