/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library for LD_PRELOAD: the C library's calls that name a node, and ioctl. Each function here takes the
 * place of one of them and passes on what is not about a node, at the cost of looking at the path, or at one
 * byte of the request. A descriptor of a node is a memory file, so mmap, dup and close are not among them.
 * Only absolute paths are looked at. docs/linux.md says what does not pass here: static programs, and system
 * calls that a program makes without the C library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "accel/abi.h"
#include "accel/node.h"
#include "accel/process.h"

/* A function of the C library's name, whatever its headers make of that name. */
#define INTERPOSED(name) __asm__(#name) __attribute__((visibility("default")))

/* The function that a call is passed on to: the C library's, or another preloaded library's. NULL: none. */
typedef void (*any_fn)(void);

static any_fn next(_Atomic(any_fn) *known, const char *name)
{
    any_fn found = atomic_load_explicit(known, memory_order_relaxed);

    if (!found) {
        *(void **)&found = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, found, memory_order_relaxed);
    }
    return found;
}

/* The kernel answers NULL. */
static enum acc_node node_at(const char *path)
{
    return path && path[0] == '/' ? acc_node_at(path) : ACC_NODE_NONE;
}

static bool is_device(const char *path)
{
    enum acc_node node = node_at(path);

    return node == ACC_NODE_ACCEL || node == ACC_NODE_RENDER;
}

/* Opens. */

typedef int (*open_fn)(const char *path, int flags, ...);
typedef int (*openat_fn)(int folder, const char *path, int flags, ...);
typedef int (*checked_open_fn)(const char *path, int flags);
typedef int (*checked_openat_fn)(int folder, const char *path, int flags);
typedef int (*creat_fn)(const char *path, mode_t mode);

/* Whether open has one more argument. */
static bool has_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define TAKE_MODE(mode, flags)             \
    do {                                   \
        if (has_mode(flags)) {             \
            va_list list;                  \
                                           \
            va_start(list, flags);         \
            (mode) = va_arg(list, mode_t); \
            va_end(list);                  \
        }                                  \
    } while (0)

#define OPEN(name)                                                             \
    int acc_preload_##name(const char *path, int flags, ...) INTERPOSED(name); \
    int acc_preload_##name(const char *path, int flags, ...)                   \
    {                                                                          \
        static _Atomic(any_fn) known;                                          \
        mode_t mode = 0;                                                       \
                                                                               \
        if (is_device(path))                                                   \
            return acc_process_open(flags);                                    \
        TAKE_MODE(mode, flags);                                                \
        return ((open_fn)next(&known, #name))(path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                       \
    int acc_preload_##name(int folder, const char *path, int flags, ...) INTERPOSED(name); \
    int acc_preload_##name(int folder, const char *path, int flags, ...)                   \
    {                                                                                      \
        static _Atomic(any_fn) known;                                                      \
        mode_t mode = 0;                                                                   \
                                                                                           \
        if (is_device(path))                                                               \
            return acc_process_open(flags);                                                \
        TAKE_MODE(mode, flags);                                                            \
        return ((openat_fn)next(&known, #name))(folder, path, flags, mode);                \
    }
OPENAT(openat)
OPENAT(openat64)

/* What _FORTIFY_SOURCE makes of a call without a mode. */
#define CHECKED_OPEN(name)                                                            \
    int acc_preload_##name(const char *path, int flags) INTERPOSED(name);             \
    int acc_preload_##name(const char *path, int flags)                               \
    {                                                                                 \
        static _Atomic(any_fn) known;                                                 \
                                                                                      \
        return is_device(path) ? acc_process_open(flags)                              \
                               : ((checked_open_fn)next(&known, #name))(path, flags); \
    }
CHECKED_OPEN(__open_2)
CHECKED_OPEN(__open64_2)

#define CHECKED_OPENAT(name)                                                                    \
    int acc_preload_##name(int folder, const char *path, int flags) INTERPOSED(name);           \
    int acc_preload_##name(int folder, const char *path, int flags)                             \
    {                                                                                           \
        static _Atomic(any_fn) known;                                                           \
                                                                                                \
        return is_device(path) ? acc_process_open(flags)                                        \
                               : ((checked_openat_fn)next(&known, #name))(folder, path, flags); \
    }
CHECKED_OPENAT(__openat_2)
CHECKED_OPENAT(__openat64_2)

#define CREAT(name)                                                             \
    int acc_preload_##name(const char *path, mode_t mode) INTERPOSED(name);     \
    int acc_preload_##name(const char *path, mode_t mode)                       \
    {                                                                           \
        static _Atomic(any_fn) known;                                           \
                                                                                \
        return is_device(path) ? acc_process_open(O_CREAT | O_WRONLY | O_TRUNC) \
                               : ((creat_fn)next(&known, #name))(path, mode);   \
    }
CREAT(creat)
CREAT(creat64)

/* Stats. */

typedef int (*stat_fn)(const char *path, struct stat *about);
typedef int (*statat_fn)(int folder, const char *path, struct stat *about, int flags);
typedef int (*statx_fn)(int folder, const char *path, int flags, unsigned mask, struct statx *about);

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout for both names");

static bool answer_stat(const char *path, struct stat *about)
{
    enum acc_node node = node_at(path);

    if (node == ACC_NODE_NONE)
        return false;
    acc_node_stat(node, about);
    return true;
}

/*
 * The kernel's call, whose struct is the same: for names that a new C library has for old programs only,
 * where dlsym does not find them.
 */
static int kernel_stat(int folder, const char *path, struct stat *about, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, about, flags);
}

#define STAT(name)                                                                         \
    int acc_preload_##name(const char *path, struct stat *about) INTERPOSED(name);         \
    int acc_preload_##name(const char *path, struct stat *about)                           \
    {                                                                                      \
        static _Atomic(any_fn) known;                                                      \
                                                                                           \
        return answer_stat(path, about) ? 0 : ((stat_fn)next(&known, #name))(path, about); \
    }
STAT(stat)
STAT(stat64)
STAT(lstat)
STAT(lstat64)

#define STATAT(name)                                                                                        \
    int acc_preload_##name(int folder, const char *path, struct stat *about, int flags) INTERPOSED(name);   \
    int acc_preload_##name(int folder, const char *path, struct stat *about, int flags)                     \
    {                                                                                                       \
        static _Atomic(any_fn) known;                                                                       \
                                                                                                            \
        return answer_stat(path, about) ? 0 : ((statat_fn)next(&known, #name))(folder, path, about, flags); \
    }
STATAT(fstatat)
STATAT(fstatat64)

/* What the headers of glibc before 2.33 make of these. */
#define OLD_STAT(name, flags)                                                                   \
    int acc_preload_##name(int version, const char *path, struct stat *about) INTERPOSED(name); \
    int acc_preload_##name(int version, const char *path, struct stat *about)                   \
    {                                                                                           \
        (void)version;                                                                          \
        return answer_stat(path, about) ? 0 : kernel_stat(AT_FDCWD, path, about, flags);        \
    }
OLD_STAT(__xstat, 0)
OLD_STAT(__xstat64, 0)
OLD_STAT(__lxstat, AT_SYMLINK_NOFOLLOW)
OLD_STAT(__lxstat64, AT_SYMLINK_NOFOLLOW)

#define OLD_STATAT(name)                                                                             \
    int acc_preload_##name(int version, int folder, const char *path, struct stat *about, int flags) \
        INTERPOSED(name);                                                                            \
    int acc_preload_##name(int version, int folder, const char *path, struct stat *about, int flags) \
    {                                                                                                \
        (void)version;                                                                               \
        return answer_stat(path, about) ? 0 : kernel_stat(folder, path, about, flags);               \
    }
OLD_STATAT(__fxstatat)
OLD_STATAT(__fxstatat64)

static void fill_statx(const struct stat *from, struct statx *to)
{
    *to = (struct statx){.stx_mask = STATX_BASIC_STATS,
                         .stx_blksize = (uint32_t)from->st_blksize,
                         .stx_nlink = (uint32_t)from->st_nlink,
                         .stx_uid = from->st_uid,
                         .stx_gid = from->st_gid,
                         .stx_mode = (uint16_t)from->st_mode,
                         .stx_ino = from->st_ino,
                         .stx_size = (uint64_t)from->st_size,
                         .stx_blocks = (uint64_t)from->st_blocks,
                         .stx_rdev_major = major(from->st_rdev),
                         .stx_rdev_minor = minor(from->st_rdev),
                         .stx_dev_major = major(from->st_dev),
                         .stx_dev_minor = minor(from->st_dev)};
}

int acc_preload_statx(int folder, const char *path, int flags, unsigned mask, struct statx *about)
    INTERPOSED(statx);
int acc_preload_statx(int folder, const char *path, int flags, unsigned mask, struct statx *about)
{
    static _Atomic(any_fn) known;
    struct stat plain;

    if (!answer_stat(path, &plain))
        return ((statx_fn)next(&known, "statx"))(folder, path, flags, mask, about);
    fill_statx(&plain, about);
    return 0;
}

/* Rights. */

typedef int (*access_fn)(const char *path, int mode);
typedef int (*accessat_fn)(int folder, const char *path, int mode, int flags);

/* Everyone may read and write a node; a device is not executable. */
static int answer_access(const char *path, int mode)
{
    if (!(mode & X_OK) || !is_device(path))
        return 0;
    errno = EACCES;
    return -1;
}

#define ACCESS(name)                                                                         \
    int acc_preload_##name(const char *path, int mode) INTERPOSED(name);                     \
    int acc_preload_##name(const char *path, int mode)                                       \
    {                                                                                        \
        static _Atomic(any_fn) known;                                                        \
                                                                                             \
        return node_at(path) == ACC_NODE_NONE ? ((access_fn)next(&known, #name))(path, mode) \
                                              : answer_access(path, mode);                   \
    }
ACCESS(access)
ACCESS(euidaccess)
ACCESS(eaccess)

int acc_preload_faccessat(int folder, const char *path, int mode, int flags) INTERPOSED(faccessat);
int acc_preload_faccessat(int folder, const char *path, int mode, int flags)
{
    static _Atomic(any_fn) known;

    return node_at(path) == ACC_NODE_NONE
               ? ((accessat_fn)next(&known, "faccessat"))(folder, path, mode, flags)
               : answer_access(path, mode);
}

/* ioctl. */

typedef int (*ioctl_fn)(int descriptor, unsigned long request, ...);

int acc_preload_ioctl(int descriptor, unsigned long request, ...) INTERPOSED(ioctl);
int acc_preload_ioctl(int descriptor, unsigned long request, ...)
{
    static _Atomic(any_fn) known;
    va_list list;
    void *argument;
    int result;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    if (_IOC_TYPE(request) == ACC_IOCTL_TYPE &&
        acc_process_ioctl(descriptor, (uint32_t)request, (uintptr_t)argument, &result))
        return result;
    return ((ioctl_fn)next(&known, "ioctl"))(descriptor, request, argument);
}
