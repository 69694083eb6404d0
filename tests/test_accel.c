/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of generations B and C, in one process: results, what hangs, what faults, and that the next
 * request is right again.
 */
#include "accelrig.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "tdpatch.h"

static uint64_t counter(const struct accelrig *rig, const char *name)
{
    return ane_machine_counter(acc_device_machine(rig->device), name);
}

static const struct ane_machine_config boards[] = {
    {.size = sizeof(boards[0]), .chip = ANE_CHIP_T8103, .strict_tlb = 1},
    {.size = sizeof(boards[0]), .chip = ANE_CHIP_T6000, .strict_tlb = 1},
};
#define BOARDS (sizeof(boards) / sizeof(boards[0]))

static void adds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BOARDS; i++) {
        struct accelrig rig;
        struct accelrig_sum sum;

        accelrig_start(&rig, &boards[i]);
        accelrig_sum_make(&rig, &sum);
        for (unsigned seed = 0; seed < 10; seed++)
            accelrig_sum_check(&rig, &sum, seed);
        assert_int_equal(rig.reports, 0);
        assert_int_equal(counter(&rig, "dart.missing_invalidates"), 0);
        assert_int_equal(counter(&rig, "bus.unanswered"), 0);
        accelrig_sum_end(&rig, &sum);
        accelrig_stop(&rig);
    }
}

/* sum.hwx as Apple's compiler wrote it, loaded as libane loads it: text and constants in tile 0. */
static void compiled_program(void **state)
{
    const struct td_shape shape = {1, ACCELRIG_CHANNELS, 1, ACCELRIG_WIDTH};
    const char *path = test_program_path("sum.hwx");
    struct bare_program program;
    struct accelrig rig;
    struct accelrig_sum sum;
    uint8_t *file;
    size_t size;

    (void)state;
    if (!path) {
        print_message("sum.hwx is not here\n");
        skip();
    }
    file = test_file_read(path, &size);
    assert_true(file && bare_program_read(file, size, &program));
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    accelrig_buffer_end(&rig, &sum.text);
    sum.text = accelrig_buffer(&rig, program.blob_bytes + 1);
    memcpy(sum.text.map, program.bytes + program.text, program.blob_bytes);
    td_set_shape(sum.text.map, &shape);
    memcpy(sum.first.map, sum.text.map, 4 * program.first_words);
    sum.first.map[2] = 0x40;
    sum.call.handles[0] = sum.text.handle;
    sum.call.tsk_size = program.constants ? program.constants : program.text_bytes;
    sum.call.td_count = program.count;
    sum.call.td_size = 4 * program.first_words;
    accelrig_sum_check(&rig, &sum, 3);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
    free(file);
}

static void expect_words(const struct accelrig *rig, const char *const words[])
{
    for (unsigned i = 0; words[i]; i++)
        if (!strstr(rig->report, words[i]))
            fail_msg("\"%s\" is not in the report:\n%s", words[i], rig->report);
}

/* A word that no source explains is refused, and its queue never becomes idle. */
static void hang_on(const struct ane_machine_config *board)
{
    struct accelrig rig;
    struct accelrig_sum sum;
    uint32_t word;

    accelrig_start(&rig, board);
    accelrig_sum_make(&rig, &sum);
    word = accelrig_sum_word(&sum, TD_CFG);
    for (unsigned i = 1; i <= 3; i++) {
        char process[32];

        accelrig_sum_patch(&sum, TD_CFG, 0xffffffff);
        assert_int_equal(accelrig_ioctl(&rig, (uint32_t)ACC_IOCTL_SUBMIT, &sum.call), -ETIMEDOUT);
        assert_int_equal(rig.reports, i);
        snprintf(process, sizeof(process), "process %d:", rig.client.process);
        expect_words(&rig, (const char *const[]){process, "ETIMEDOUT", "descriptor  0 (from 0)",
                                                 "byte 0x0 of the btsp buffer (handle 2)", "byte 0x15c",
                                                 "Common.Cfg", "reason ", "on an M1 ", "what to do ", NULL});
        accelrig_sum_patch(&sum, TD_CFG, word);
        accelrig_sum_check(&rig, &sum, i);
    }
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

static void hang(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BOARDS; i++)
        hang_on(&boards[i]);
}

/* The source is a page behind the end of the last buffer that is mapped. */
static void fault_on(const struct ane_machine_config *board)
{
    struct accelrig rig;
    struct accelrig_sum sum;

    accelrig_start(&rig, board);
    accelrig_sum_make(&rig, &sum);
    for (unsigned i = 1; i <= 3; i++) {
        /* a is the third of five buffers of a page: its byte 0x10000 is a page behind the fifth's end */
        accelrig_sum_patch(&sum, TD_SRC_BASE, 4 * ACCELRIG_PAGE + 0x40);
        assert_int_equal(accelrig_ioctl(&rig, (uint32_t)ACC_IOCTL_SUBMIT, &sum.call), -ETIMEDOUT);
        assert_int_equal(rig.reports, i);
        expect_words(&rig, (const char *const[]){"DART 1 refused a read at device address 0x1c0", "no page",
                                                 "bytes past the end of tile 4 (handle 5)",
                                                 "0x14000 to 0x17fff", "on an M1 ", "what to do ", NULL});
        accelrig_sum_patch(&sum, TD_SRC_BASE, 0);
        accelrig_sum_check(&rig, &sum, i);
    }
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

static void fault(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BOARDS; i++)
        fault_on(&boards[i]);
}

/* Buffers are adjacent, so that a small overrun does not fault (drv): a's bytes run on into b. */
static void overrun(void **state)
{
    struct accelrig rig;
    struct accelrig_sum sum;
    uint16_t *b, *y;

    (void)state;
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    accelrig_sum_check(&rig, &sum, 0);
    accelrig_sum_patch(&sum, TD_SRC_BASE, ACCELRIG_PAGE);
    assert_int_equal(accelrig_ioctl(&rig, (uint32_t)ACC_IOCTL_SUBMIT, &sum.call), 0);
    b = (uint16_t *)(void *)sum.b.map;
    y = (uint16_t *)(void *)sum.y.map;
    for (unsigned i = 0; i < ACCELRIG_VALUES; i++)
        assert_true(test_half_to_double(y[i]) == 2 * test_half_to_double(b[i]));
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

/* The two mistakes that programs make most: an empty btsp buffer, and a tile without a handle. */
static void mistakes(void **state)
{
    struct accelrig rig;
    struct accelrig_sum sum;
    struct acc_abi_submit call;
    uint8_t first[TD_BYTES];

    (void)state;
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    memcpy(first, sum.first.map, TD_BYTES);
    memset(sum.first.map, 0, TD_BYTES);
    sum.first.map[2] = 0x40; /* libane writes the network's number */
    assert_int_equal(accelrig_ioctl(&rig, (uint32_t)ACC_IOCTL_SUBMIT, &sum.call), -ETIMEDOUT);
    expect_words(&rig, (const char *const[]){"The first descriptor is empty", "0x800", "0x1000", NULL});
    memcpy(sum.first.map, first, TD_BYTES);
    call = sum.call;
    call.handles[ACCELRIG_TILE_A] = 0;
    assert_int_equal(accelrig_ioctl(&rig, (uint32_t)ACC_IOCTL_SUBMIT, &call), -ETIMEDOUT);
    assert_null(strstr(rig.report, "The first descriptor is empty"));
    expect_words(&rig, (const char *const[]){"a tile without a handle has the base address 0", NULL});
    accelrig_sum_check(&rig, &sum, 1);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

static unsigned entries(const char *folder)
{
    DIR *at = opendir(folder);
    unsigned count = 0;

    assert_non_null(at);
    while (readdir(at))
        count++;
    closedir(at);
    return count;
}

static unsigned lines(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned count = 0;
    int c;

    assert_non_null(file);
    while ((c = getc(file)) != EOF)
        count += c == '\n';
    fclose(file);
    return count;
}

static void no_growth(void **state)
{
    struct accelrig rig;
    struct accelrig_sum sum;
    unsigned files, maps;
    uint64_t dram;

    (void)state;
    accelrig_start(&rig, NULL);
    accelrig_sum_make(&rig, &sum);
    for (unsigned i = 0; i < 100; i++)
        accelrig_sum_check(&rig, &sum, i);
    files = entries("/proc/self/fd");
    maps = lines("/proc/self/maps");
    dram = counter(&rig, "dram.used");
    for (unsigned i = 0; i < 10000; i++) {
        assert_int_equal(accelrig_ioctl(&rig, (uint32_t)ACC_IOCTL_SUBMIT, &sum.call), 0);
        if (i % 100 == 0) {
            /* other buffers come and go meanwhile */
            struct accelrig_buffer other = accelrig_buffer(&rig, 3 * ACCELRIG_PAGE);

            accelrig_sum_check(&rig, &sum, i);
            assert_int_equal(other.handle, 6);
            accelrig_buffer_end(&rig, &other);
        }
    }
    accelrig_sum_check(&rig, &sum, 1);
    assert_int_equal(entries("/proc/self/fd"), files);
    assert_true(lines("/proc/self/maps") <= maps + 2); /* the C library's heap may have grown */
    assert_int_equal(counter(&rig, "dram.used"), dram);
    assert_int_equal(counter(&rig, "dart.missing_invalidates"), 0);
    accelrig_sum_end(&rig, &sum);
    accelrig_stop(&rig);
}

/* One program of several: a file of its own, or the one that all share. */
struct worker {
    pthread_t thread;
    struct accelrig rig;
    unsigned number;
    bool hangs;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct accelrig_sum sum;

    accelrig_sum_make(&worker->rig, &sum);
    for (unsigned i = 0; i < 30; i++) {
        struct accelrig_buffer other = accelrig_buffer(&worker->rig, (1 + i % 5) * ACCELRIG_PAGE);

        if (worker->hangs) {
            struct acc_abi_submit call = sum.call;

            call.td_size = 4; /* a descriptor of one word */
            assert_int_equal(accelrig_ioctl(&worker->rig, (uint32_t)ACC_IOCTL_SUBMIT, &call), -ETIMEDOUT);
        }
        accelrig_sum_check(&worker->rig, &sum, i + worker->number);
        accelrig_buffer_end(&worker->rig, &other);
    }
    accelrig_sum_end(&worker->rig, &sum);
    return NULL;
}

static void threads(void **state)
{
    struct worker worker[5] = {0};
    struct accelrig rig;

    (void)state;
    accelrig_start(&rig, NULL);
    for (unsigned i = 0; i < 5; i++) {
        worker[i].rig = rig;
        worker[i].number = i;
        worker[i].hangs = i == 4;
        if (i >= 2)
            accelrig_open(&worker[i].rig);
    }
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
    for (unsigned i = 2; i < 5; i++)
        accelrig_close(&worker[i].rig);
    assert_int_equal(rig.reports, 30);
    accelrig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds),      cmocka_unit_test(compiled_program), cmocka_unit_test(hang),
        cmocka_unit_test(fault),     cmocka_unit_test(mistakes),         cmocka_unit_test(overrun),
        cmocka_unit_test(no_growth), cmocka_unit_test(threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
