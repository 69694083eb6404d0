/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sequence of ioctls on a node, with any bytes: an errno, never a crash; and a request of another file is
 * right afterwards.
 *
 * Input: records of a byte that says what, a byte with a length, and so many bytes. What: the number of a
 * call of `requests`, whose struct begins with these bytes; PATCH, which writes them into the descriptor of a
 * good request, at an offset that is their first two; or CHANGED, a good request whose struct is changed by
 * them in the same way.
 */
#include <string.h>
#include <sys/mman.h>

#include "../accelrig.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATCH = 12, CHANGED = 13, WHATS = 14 };

static const uint32_t requests[PATCH] = {
    0xc0186441, 0xc0086442, 0xc0986443, 0xc0406400, /* BO_INIT, BO_FREE, SUBMIT, VERSION */
    0x40086409, 0xc0106441, 0xc1106443, 0xc0086444, /* GEM_CLOSE, NN_INIT, NN_SYNC, NN_UNSYNC */
    0xc0086445, 0xc0086450, 0xc0206441, 0x00006443, /* NN_EXEC, three that no generation has */
};

static struct accelrig good;
static struct accelrig_sum good_sum;

static void make(void)
{
    /* small requests only: a large one is as good as any, and slow */
    const struct ane_machine_config config = {
        .size = sizeof(config), .chip = ANE_CHIP_T8103, .max_work = 1 << 16, .strict_tlb = 1};

    accelrig_start(&good, &config);
    accelrig_sum_make(&good, &good_sum);
}

/* Bytes over a struct, at an offset in front of them. */
static void change(void *target, size_t room, const uint8_t *bytes, size_t count)
{
    size_t at;

    if (count < 2)
        return;
    at = (bytes[0] | (size_t)bytes[1] << 8) % room;
    count = count - 2 < room - at ? count - 2 : room - at;
    memcpy((uint8_t *)target + at, bytes + 2, count);
}

static void step(struct accelrig *rig, struct accelrig_sum *sum, unsigned what, const uint8_t *bytes,
                 size_t count)
{
    struct acc_abi_submit call = sum->call;
    uint8_t argument[320] = {0};

    if (what == PATCH) {
        change(sum->first.map, 0x300, bytes, count);
        change(sum->text.map, 0x300, bytes, count);
    } else if (what == CHANGED) {
        change(&call, sizeof(call), bytes, count);
        accelrig_ioctl(rig, requests[2], &call);
    } else {
        memcpy(argument, bytes, count < sizeof(argument) ? count : sizeof(argument));
        accelrig_ioctl(rig, requests[what], argument);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accelrig rig;
    struct accelrig_sum sum;

    if (!good.device)
        make();
    rig = good;
    accelrig_open(&rig);
    accelrig_sum_make(&rig, &sum);
    while (size >= 2) {
        const unsigned what = data[0] % WHATS;
        const size_t count = data[1] < size - 2 ? data[1] : size - 2;

        step(&rig, &sum, what, data + 2, count);
        data += 2 + count;
        size -= 2 + count;
    }
    munmap(sum.text.map, sum.text.bytes);
    munmap(sum.first.map, sum.first.bytes);
    munmap(sum.a.map, sum.a.bytes);
    munmap(sum.b.map, sum.b.bytes);
    munmap(sum.y.map, sum.y.bytes);
    accelrig_close(&rig);
    /* a descriptor of the input may have written anywhere: the good request is made anew */
    accelrig_sum_end(&good, &good_sum);
    accelrig_sum_make(&good, &good_sum);
    accelrig_sum_check(&good, &good_sum, 3);
    require(acc_table_files(good.table) <= 2);
    return 0;
}
