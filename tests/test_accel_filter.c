/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of `anemone accel`, run by an interpreter of its own for the few instructions that it has: which
 * system calls come to the listener, and which pass.
 */
#include "accel/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#if defined(__x86_64__)
#define OWN   AUDIT_ARCH_X86_64
#define OTHER AUDIT_ARCH_I386
#else
#define OWN   AUDIT_ARCH_AARCH64
#define OTHER AUDIT_ARCH_ARM
#endif

static uint32_t run(const struct sock_filter *code, unsigned count, const struct seccomp_data *data)
{
    uint32_t accumulator = 0;

    for (unsigned at = 0; at < count; at++) {
        const struct sock_filter *step = &code[at];
        uint32_t k = step->k;

        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(k % 4 == 0 && k + 4 <= sizeof(*data));
            memcpy(&accumulator, (const char *)data + k, sizeof(accumulator));
            break;
        case BPF_ALU | BPF_AND | BPF_K: accumulator &= k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: at += accumulator == k ? step->jt : step->jf; break;
        case BPF_JMP | BPF_JSET | BPF_K: at += accumulator & k ? step->jt : step->jf; break;
        case BPF_RET | BPF_K: return k;
        default: fail_msg("instruction %u is 0x%x", at, step->code);
        }
    }
    fail_msg("the filter has no end");
    return 0;
}

static const struct row {
    const char *what;
    int call;
    uint64_t args[6];
    bool comes;
} rows[] = {
    {"openat", SYS_openat, {0}, true},
    {"openat2", SYS_openat2, {0}, true},
    {"newfstatat", SYS_newfstatat, {0, 0, 0, AT_SYMLINK_NOFOLLOW}, true},
    {"newfstatat of a descriptor", SYS_newfstatat, {0, 0, 0, AT_EMPTY_PATH}, false},
    {"statx", SYS_statx, {0, 0, AT_NO_AUTOMOUNT}, true},
    {"statx of a descriptor", SYS_statx, {0, 0, AT_EMPTY_PATH | AT_NO_AUTOMOUNT}, false},
    {"faccessat", SYS_faccessat, {0, 0, 0, AT_EMPTY_PATH}, true},
    {"faccessat2", SYS_faccessat2, {0}, true},
    {"faccessat2 of a descriptor", SYS_faccessat2, {0, 0, 0, AT_EMPTY_PATH}, false},
    {"readlinkat", SYS_readlinkat, {0}, true},
    {"ioctl of DRM", SYS_ioctl, {3, 0xc0186441}, true},
    {"ioctl of DRM, sign-extended", SYS_ioctl, {3, 0xffffffffc0406400}, true},
    {"ioctl of a terminal", SYS_ioctl, {3, 0x5401}, false},
    {"ioctl with the type's byte elsewhere", SYS_ioctl, {3, 0x00640064}, false},
    {"read", SYS_read, {0}, false},
    {"write", SYS_write, {0}, false},
    {"mmap", SYS_mmap, {0}, false},
    {"close", SYS_close, {0}, false},
    {"execve", SYS_execve, {0}, false},
    {"sendmsg", SYS_sendmsg, {0}, false},
    {"recvfrom", SYS_recvfrom, {0}, false},
    {"exit_group", SYS_exit_group, {0}, false},
#ifdef SYS_open
    {"open", SYS_open, {0}, true},
    {"stat", SYS_stat, {0}, true},
    {"lstat", SYS_lstat, {0}, true},
    {"access", SYS_access, {0}, true},
    {"readlink", SYS_readlink, {0}, true},
#endif
};

static void calls(void **state)
{
    struct sock_filter code[ACC_FILTER_MAX];
    unsigned count = acc_filter_write(code);

    (void)state;
    if (!count)
        skip();
    assert_true(count <= ACC_FILTER_MAX);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seccomp_data data = {.nr = rows[i].call, .arch = OWN};
        uint32_t action;

        memcpy(data.args, rows[i].args, sizeof(data.args));
        action = run(code, count, &data);
        if (action != (rows[i].comes ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW))
            fail_msg("%s: 0x%x", rows[i].what, action);
        data.arch = OTHER;
        assert_int_equal(run(code, count, &data), SECCOMP_RET_ALLOW);
#ifdef __x86_64__
        data.arch = OWN;
        data.nr |= 0x40000000; /* the numbers of x32 */
        assert_int_equal(run(code, count, &data), SECCOMP_RET_ALLOW);
#endif
    }
}

/* What the filter lets pass has no row, and what it does not has one. */
static void rows_of_calls(void **state)
{
    (void)state;
    assert_int_equal(acc_filter_call(SYS_openat)->path, 1);
    assert_int_equal(acc_filter_call(SYS_statx)->more, 4);
    assert_int_equal(acc_filter_call(SYS_ioctl)->kind, ACC_CALL_IOCTL);
    assert_null(acc_filter_call(SYS_read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),
        cmocka_unit_test(rows_of_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
