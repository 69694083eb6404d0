/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every right that the kernel's version has is handled, so all are denied but those that a rule grants: what
 * a later version adds to our list is denied there too, once it is a row here.
 */
#include "service/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444 /* the same on every architecture */
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif
#define ASK_VERSION  1u
#define RULE_BENEATH 1u

/* X(id, bit, first version, granted to read, granted to write) */
#define FILE_RIGHTS(X)         \
    X(EXECUTE, 0, 1, 0, 0)     \
    X(WRITE_FILE, 1, 1, 0, 1)  \
    X(READ_FILE, 2, 1, 1, 1)   \
    X(READ_DIR, 3, 1, 1, 1)    \
    X(REMOVE_DIR, 4, 1, 0, 1)  \
    X(REMOVE_FILE, 5, 1, 0, 1) \
    X(MAKE_CHAR, 6, 1, 0, 0)   \
    X(MAKE_DIR, 7, 1, 0, 1)    \
    X(MAKE_REG, 8, 1, 0, 1)    \
    X(MAKE_SOCK, 9, 1, 0, 0)   \
    X(MAKE_FIFO, 10, 1, 0, 0)  \
    X(MAKE_BLOCK, 11, 1, 0, 0) \
    X(MAKE_SYM, 12, 1, 0, 0)   \
    X(REFER, 13, 2, 0, 1)      \
    X(TRUNCATE, 14, 3, 0, 1)   \
    X(IOCTL_DEV, 15, 5, 0, 0)

static const struct {
    unsigned bit;
    int version;
    unsigned read, write;
} file_right[] = {
#define X(id, bit, version, read, write) {bit, version, read, write},
    FILE_RIGHTS(X)
#undef X
};

#define NETWORK_VERSION 4
#define NETWORK_RIGHTS  3u /* bind and connect of TCP */
#define SCOPE_VERSION   6
#define SCOPES          3u /* abstract Unix sockets and signals stay within the sandbox */

struct ruleset {
    uint64_t files, network, scoped;
};
struct beneath {
    uint64_t rights;
    int32_t folder;
} __attribute__((packed));

int svc_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

    return version > 0 ? (int)version : 0;
}

static size_t describe(int version, struct ruleset *set, uint64_t *read, uint64_t *write)
{
    *set = (struct ruleset){0};
    *read = *write = 0;
    for (size_t i = 0; i < BASE_COUNT_OF(file_right); i++) {
        uint64_t right = file_right[i].version <= version ? 1ull << file_right[i].bit : 0;

        set->files |= right;
        *read |= file_right[i].read ? right : 0;
        *write |= file_right[i].write ? right : 0;
    }
    if (version < NETWORK_VERSION)
        return sizeof(set->files);
    set->network = NETWORK_RIGHTS;
    if (version < SCOPE_VERSION)
        return sizeof(set->files) + sizeof(set->network);
    set->scoped = SCOPES;
    return sizeof(*set);
}

static int grant(int rules, int folder, uint64_t rights)
{
    struct beneath rule = {.rights = rights, .folder = folder};

    return folder < 0 ? 0 : (int)syscall(SYS_landlock_add_rule, rules, RULE_BENEATH, &rule, 0);
}

int svc_landlock_enter(int read, int write)
{
    int version = svc_landlock_version(), rules, status = 0;
    uint64_t may_read, may_write;
    struct ruleset set;
    size_t size;

    if (version <= 0)
        return -ENOSYS;
    size = describe(version, &set, &may_read, &may_write);
    rules = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (rules < 0)
        return -errno;
    if (grant(rules, read, may_read) || grant(rules, write, may_write) ||
        syscall(SYS_landlock_restrict_self, rules, 0))
        status = -errno;
    close(rules);
    return status;
}
