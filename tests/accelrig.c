/* SPDX-License-Identifier: Apache-2.0 */
#include "accelrig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "programs.h"

#define NETWORK 0x40u /* in bits 16-23 of the first word, as libane writes it */

static int client_read(void *context, uint64_t address, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

    (void)context;
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

static int client_write(void *context, uint64_t address, const void *from, size_t bytes)
{
    struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {(void *)(uintptr_t)address, bytes};

    (void)context;
    return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

static void keep_report(void *context, const char *text)
{
    struct accelrig *rig = context;

    rig->reports++;
    snprintf(rig->report, sizeof(rig->report), "%s", text);
}

void accelrig_start(struct accelrig *rig, const struct ane_machine_config *config)
{
    const struct ane_machine_config usual = {.size = sizeof(usual), .chip = ANE_CHIP_T8103, .strict_tlb = 1};
    const struct acc_device_config device = {
        .machine = config ? config : &usual, .report = keep_report, .report_context = rig};
    struct base_error error;

    memset(rig, 0, sizeof(*rig));
    rig->client =
        (struct acc_client){.read = client_read, .write = client_write, .context = rig, .process = getpid()};
    if (acc_device_create(&device, &rig->device, &error) ||
        acc_table_create(rig->device, &rig->table, &error))
        fail_msg("%s", error.text);
    accelrig_open(rig);
}

void accelrig_open(struct accelrig *rig)
{
    struct stat stat;

    rig->descriptor = acc_table_open(rig->table, NULL);
    assert_true(rig->descriptor >= 0);
    assert_int_equal(fstat(rig->descriptor, &stat), 0);
    rig->file = acc_table_get(rig->table, stat.st_dev, stat.st_ino);
    assert_non_null(rig->file);
}

void accelrig_close(struct accelrig *rig)
{
    if (rig->descriptor >= 0)
        close(rig->descriptor);
    acc_table_put(rig->table, rig->file);
}

void accelrig_stop(struct accelrig *rig)
{
    accelrig_close(rig);
    acc_table_destroy(rig->table);
    acc_device_destroy(rig->device);
}

int accelrig_ioctl(struct accelrig *rig, uint32_t request, void *argument)
{
    return acc_file_ioctl(rig->file, request, (uintptr_t)argument, &rig->client);
}

struct accelrig_buffer accelrig_buffer(struct accelrig *rig, uint64_t bytes)
{
    struct acc_abi_bo_init call = {.size = bytes};
    void *map;

    assert_int_equal(accelrig_ioctl(rig, (uint32_t)ACC_IOCTL_BO_INIT, &call), 0);
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rig->descriptor, (off_t)call.offset);
    assert_true(map != MAP_FAILED);
    return (struct accelrig_buffer){call.handle, bytes, call.offset, map};
}

void accelrig_buffer_end(struct accelrig *rig, struct accelrig_buffer *buffer)
{
    struct acc_abi_bo_free call = {.handle = buffer->handle};

    assert_int_equal(munmap(buffer->map, buffer->bytes), 0);
    assert_int_equal(accelrig_ioctl(rig, (uint32_t)ACC_IOCTL_BO_FREE, &call), 0);
}

void accelrig_sum_make(struct accelrig *rig, struct accelrig_sum *sum)
{
    struct test_program program;
    const struct td_shape shape = {1, ACCELRIG_CHANNELS, 1, ACCELRIG_WIDTH};
    uint32_t word;

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &shape);
    sum->text = accelrig_buffer(rig, ACCELRIG_PAGE);
    sum->first = accelrig_buffer(rig, ACCELRIG_PAGE);
    sum->a = accelrig_buffer(rig, ACCELRIG_PAGE);
    sum->b = accelrig_buffer(rig, ACCELRIG_PAGE);
    sum->y = accelrig_buffer(rig, ACCELRIG_PAGE);
    memcpy(sum->text.map, program.bytes, program.size);
    memcpy(sum->first.map, program.bytes, program.size);
    memcpy(&word, program.bytes, 4);
    word = (word & 0xff00ffffu) | NETWORK << 16;
    memcpy(sum->first.map, &word, 4);
    sum->call = (struct acc_abi_submit){
        .tsk_size = program.size, .td_count = program.count, .td_size = 4 * program.first_words};
    sum->call.handles[0] = sum->text.handle;
    sum->call.handles[ACCELRIG_TILE_Y] = sum->y.handle;
    sum->call.handles[ACCELRIG_TILE_B] = sum->b.handle;
    sum->call.handles[ACCELRIG_TILE_A] = sum->a.handle;
    sum->call.btsp_handle = sum->first.handle;
}

void accelrig_sum_end(struct accelrig *rig, struct accelrig_sum *sum)
{
    accelrig_buffer_end(rig, &sum->text);
    accelrig_buffer_end(rig, &sum->first);
    accelrig_buffer_end(rig, &sum->a);
    accelrig_buffer_end(rig, &sum->b);
    accelrig_buffer_end(rig, &sum->y);
}

void accelrig_sum_check(struct accelrig *rig, struct accelrig_sum *sum, unsigned seed)
{
    uint16_t *a = (uint16_t *)(void *)sum->a.map, *b = (uint16_t *)(void *)sum->b.map;
    const uint16_t *y = (const uint16_t *)(const void *)sum->y.map;
    int status;

    for (unsigned i = 0; i < ACCELRIG_VALUES; i++) {
        a[i] = test_half_from_double(i + seed % 100);
        b[i] = test_half_from_double(2.0 * i + seed % 7);
    }
    memset(sum->y.map, 0xcc, 2 * ACCELRIG_VALUES);
    status = accelrig_ioctl(rig, (uint32_t)ACC_IOCTL_SUBMIT, &sum->call);
    if (status)
        fail_msg("submit: %s\n%s", strerror(-status), rig->report);
    for (unsigned i = 0; i < ACCELRIG_VALUES; i++)
        assert_true(test_half_to_double(y[i]) == 3.0 * i + seed % 100 + seed % 7);
}

void accelrig_sum_patch(struct accelrig_sum *sum, uint32_t offset, uint32_t value)
{
    memcpy(sum->text.map + offset, &value, 4);
    memcpy(sum->first.map + offset, &value, 4);
}

uint32_t accelrig_sum_word(const struct accelrig_sum *sum, uint32_t offset)
{
    uint32_t word;

    memcpy(&word, sum->first.map + offset, 4);
    return word;
}
