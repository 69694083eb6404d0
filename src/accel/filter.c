/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row is a comparison with the call's number and what follows when it is equal. A row ends in returns,
 * so that the accumulator has the number again at the next one.
 */
#include "accel/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "accel/abi.h"
#include "base/array.h"

/* Linux 5.19: a call that was received is interrupted by fatal signals only. Older headers lack it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0u
#endif

/* The low half of an argument, which is where flags and requests are. */
#define ARGUMENT(n)      ((uint32_t)(offsetof(struct seccomp_data, args) + 8u * (unsigned)(n)))
#define REQUEST_ARGUMENT 1
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half of an argument comes first");

static const struct acc_call calls[] = {
#define X(name, kind, folder, path, more, at) {SYS_##name, ACC_CALL_##kind, folder, path, more, at},
    ACC_CALLS(X)
#undef X
};

#define LONGEST_ROW 6u
_Static_assert(5u + LONGEST_ROW * BASE_COUNT_OF(calls) <= ACC_FILTER_MAX, "the filter has room for all rows");

const struct acc_call *acc_filter_call(uint32_t number)
{
    for (size_t i = 0; i < BASE_COUNT_OF(calls); i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

struct code {
    struct sock_filter *at;
    unsigned count;
};

static void step(struct code *code, uint16_t operation, uint8_t yes, uint8_t no, uint32_t value)
{
    code->at[code->count++] = (struct sock_filter){operation, yes, no, value};
}

static void load(struct code *code, uint32_t offset)
{
    step(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

/* Goes on when equal, else skips. */
static void unless_equal_skip(struct code *code, uint32_t value, uint8_t skip)
{
    step(code, BPF_JMP | BPF_JEQ | BPF_K, 0, skip, value);
}

static void end(struct code *code, uint32_t action)
{
    step(code, BPF_RET | BPF_K, 0, 0, action);
}

static void write_row(struct code *code, const struct acc_call *call)
{
    if (call->kind == ACC_CALL_IOCTL) {
        unless_equal_skip(code, call->number, 5);
        load(code, ARGUMENT(REQUEST_ARGUMENT));
        step(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, _IOC_TYPEMASK << _IOC_TYPESHIFT);
        unless_equal_skip(code, ACC_IOCTL_TYPE << _IOC_TYPESHIFT, 1);
        end(code, SECCOMP_RET_USER_NOTIF);
        end(code, SECCOMP_RET_ALLOW);
    } else if (call->at >= 0) {
        unless_equal_skip(code, call->number, 4);
        load(code, ARGUMENT(call->at));
        step(code, BPF_JMP | BPF_JSET | BPF_K, 1, 0, AT_EMPTY_PATH);
        end(code, SECCOMP_RET_USER_NOTIF);
        end(code, SECCOMP_RET_ALLOW);
    } else {
        unless_equal_skip(code, call->number, 1);
        end(code, SECCOMP_RET_USER_NOTIF);
    }
}

unsigned acc_filter_write(struct sock_filter filter[ACC_FILTER_MAX])
{
    struct code code = {filter, 0};

    if (!OWN_ARCHITECTURE)
        return 0;
    load(&code, offsetof(struct seccomp_data, arch));
    step(&code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OWN_ARCHITECTURE);
    end(&code, SECCOMP_RET_ALLOW);
    load(&code, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < BASE_COUNT_OF(calls); i++)
        write_row(&code, &calls[i]);
    end(&code, SECCOMP_RET_ALLOW);
    return code.count;
}

static int install(const struct sock_fprog *program, unsigned long flags)
{
    long listener =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, program);

    return listener < 0 ? -errno : (int)listener;
}

int acc_filter_install(void)
{
    struct sock_filter filter[ACC_FILTER_MAX];
    struct sock_fprog program = {.len = (unsigned short)acc_filter_write(filter), .filter = filter};
    int listener;

    if (!program.len)
        return -ENOSYS;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    listener = install(&program, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    return listener == -EINVAL ? install(&program, 0) : listener;
}
