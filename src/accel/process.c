/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of files is made under the lock and never changes afterwards, except in a forked child, which
 * forgets it: locks of the parent's threads may be held in it for ever, so the child never looks inside.
 */
#include "accel/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "accel/repeat.h"
#include "accel/table.h"
#include "protocol/board.h"

#define TEXT_MAX     640
#define LINK_MAX     64
#define PROBE_BYTES  8u               /* of a signal set, as the kernel has it */
#define SHORT_BYTES  4096u            /* the smallest page: so many bytes are in two at most */
#define NO_OPERATION (-1)             /* of rt_sigprocmask */
#define MEMORY_FILE  "/memfd:anemone" /* how the kernel names descriptors of files */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* while the device is made */
static _Atomic(struct acc_table *) table;                /* NULL: there is none yet */
static atomic_bool inherited;                            /* a parent of this process has one */
static struct acc_repeat repeat = ACC_REPEAT_INIT;       /* never ended: the process ends at any time */
static atomic_bool complained;                           /* about a descriptor of the parent's */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line in one write, so that lines of several threads do not mix. */
static void say(const char *format, ...)
{
    char text[TEXT_MAX];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(text, sizeof(text) - 1, format, list);
    va_end(list);
    if (length < 0)
        return;
    if ((size_t)length > sizeof(text) - 2)
        length = sizeof(text) - 2;
    text[length++] = '\n';
    (void)!write(STDERR_FILENO, text, (size_t)length);
}

static bool take_chip(struct ane_machine_config *config)
{
    const char *name = getenv("ANEMONE_ACCEL_CHIP");
    const struct pr_board *board = name && name[0] ? pr_board_find(name) : &pr_board_table[ANE_CHIP_T8103];

    if (!board) {
        say("anemone: ANEMONE_ACCEL_CHIP is \"%s\"; t8103 and t6000 are known.", name);
        return false;
    }
    config->chip = (uint32_t)(board - pr_board_table);
    return true;
}

static bool take_lenient(struct ane_machine_config *config)
{
    const char *word = getenv("ANEMONE_ACCEL_LENIENT");

    if (!word || !word[0] || !strcmp(word, "0"))
        return true;
    config->lenient = 1;
    if (!strcmp(word, "1"))
        return true;
    say("anemone: ANEMONE_ACCEL_LENIENT is \"%s\"; it is 0 or 1.", word);
    return false;
}

static bool take_numerics(struct ane_machine_config *config)
{
    const char *name = getenv("ANEMONE_NUMERICS");
    int policy = name && name[0] ? ane_numerics_named(name) : ANE_NUMERICS_M1;

    if (policy < 0) {
        say("anemone: ANEMONE_NUMERICS is \"%s\"; %s are known.", name, ANE_NUMERICS_NAMES);
        return false;
    }
    config->numerics = (uint32_t)policy;
    return true;
}

static bool take_winograd(struct ane_machine_config *config)
{
    const char *name = getenv("ANEMONE_WINOGRAD");
    int setting = name && name[0] ? ane_winograd_named(name) : ANE_WINOGRAD_ON;

    if (setting < 0) {
        say("anemone: ANEMONE_WINOGRAD is \"%s\"; %s are known.", name, ANE_WINOGRAD_NAMES);
        return false;
    }
    config->winograd = (uint32_t)setting;
    return true;
}

static bool take_threads(struct ane_machine_config *config)
{
    const char *word = getenv("ANEMONE_THREADS");
    unsigned long count;
    char *rest;

    if (!word || !word[0])
        return true;
    count = strtoul(word, &rest, 10);
    if (*rest || word[0] < '0' || word[0] > '9' || count < 1 || count > ANE_THREADS_MAX) {
        say("anemone: ANEMONE_THREADS is \"%s\"; it is a number from 1 to %u.", word, ANE_THREADS_MAX);
        return false;
    }
    config->threads = (uint32_t)count;
    return true;
}

/* The machine's own trace variable, ANEMONE_TRACE, is read where machines are made. */
static struct acc_table *make_table(void)
{
    struct ane_machine_config machine = {.size = sizeof(machine)};
    const struct acc_device_config config = {
        .machine = &machine, .report = acc_repeat_report, .report_context = &repeat};
    struct acc_device *device;
    struct acc_table *made;
    struct base_error error;

    if (!take_chip(&machine) || !take_lenient(&machine) || !take_numerics(&machine) ||
        !take_winograd(&machine) || !take_threads(&machine))
        return NULL;
    if (acc_device_create(&config, &device, &error)) {
        say("anemone: %s", error.text);
        return NULL;
    }
    if (acc_table_create(device, &made, &error)) {
        say("anemone: %s", error.text);
        acc_device_destroy(device);
        return NULL;
    }
    return made;
}

/* It exists to the end of the process, whose threads may use it until then. */
static struct acc_table *table_of_process(void)
{
    struct acc_table *found = atomic_load(&table);

    if (found)
        return found;
    pthread_mutex_lock(&lock);
    found = atomic_load(&table);
    if (!found) {
        found = make_table();
        atomic_store(&table, found);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Other threads of the parent are not in the child, and what they have locked stays locked. */
static void in_child(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

    if (atomic_load(&table))
        atomic_store(&inherited, true);
    atomic_store(&table, NULL);
    atomic_store(&complained, false);
    lock = unlocked;
    repeat = (struct acc_repeat)ACC_REPEAT_INIT;
}

static __attribute__((constructor)) void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* The program's memory. */

typedef ssize_t (*copy_fn)(pid_t process, const struct iovec *local, unsigned long locals,
                           const struct iovec *remote, unsigned long remotes, unsigned long flags);

/* 0, -EFAULT, or 1 when the kernel does not copy for this process. */
static int copy(copy_fn fn, pid_t process, uint64_t address, void *own, size_t bytes)
{
    while (bytes) {
        struct iovec local = {.iov_base = own, .iov_len = bytes};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};
        ssize_t done = fn(process, &local, 1, &remote, 1, 0);

        if (done < 0 && (errno == EPERM || errno == ENOSYS))
            return 1;
        if (done <= 0)
            return -EFAULT;
        own = (uint8_t *)own + done;
        address += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return 0;
}

/* Whether 8 bytes can be read: a call that looks at them before it finds that there is no such operation. */
static bool is_readable(uint64_t address)
{
    return syscall(SYS_rt_sigprocmask, NO_OPERATION, (uintptr_t)address, NULL, PROBE_BYTES) == -1 &&
           errno == EINVAL;
}

/*
 * A short copy without the kernel's help, which costs several times as much as the two probes: they are in
 * all the pages that it may touch. False when that is not so, or a sandbox answers otherwise.
 */
static bool copy_short(uint64_t address, void *to, size_t bytes)
{
    if (bytes < PROBE_BYTES || bytes > SHORT_BYTES || !is_readable(address) ||
        !is_readable(address + bytes - PROBE_BYTES))
        return false;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

/* The context is the number of this process. Where a sandbox refuses such copies, a bad pointer ends it. */
static int client_read(void *context, uint64_t address, void *to, size_t bytes)
{
    int status = copy_short(address, to, bytes)
                     ? 0
                     : copy(process_vm_readv, *(const pid_t *)context, address, to, bytes);

    if (status <= 0)
        return status;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return 0;
}

static int client_write(void *context, uint64_t address, const void *from, size_t bytes)
{
    int status = copy(process_vm_writev, *(const pid_t *)context, address, (void *)(uintptr_t)from, bytes);

    if (status <= 0)
        return status;
    memcpy((void *)(uintptr_t)address, from, bytes);
    return 0;
}

/* Calls about nodes. */

/* What a call of the program finds unchanged afterwards. */
struct entry {
    int error, cancel;
};

static struct entry begin(void)
{
    struct entry entry = {.error = errno};

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &entry.cancel);
    return entry;
}

/* The result of a system call from a value or a negative errno. */
static int end(struct entry entry, int status)
{
    int ignored;

    pthread_setcancelstate(entry.cancel, &ignored);
    errno = status < 0 ? -status : entry.error;
    return status < 0 ? -1 : status;
}

static int open_descriptor(int flags)
{
    struct acc_table *files;
    struct base_error error;
    int descriptor;

    if (flags & O_DIRECTORY)
        return -ENOTDIR;
    if ((flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    files = table_of_process();
    if (!files)
        return -ENODEV;
    descriptor = acc_table_open(files, &error);
    if (descriptor < 0)
        say("anemone: %s", error.text);
    else if (!(flags & O_CLOEXEC))
        fcntl(descriptor, F_SETFD, 0);
    return descriptor;
}

int acc_process_open(int flags)
{
    struct entry entry = begin();

    return end(entry, open_descriptor(flags));
}

static bool is_from_parent(int descriptor)
{
    char path[LINK_MAX], target[LINK_MAX] = "";

    if (!atomic_load(&inherited))
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    return readlink(path, target, sizeof(target) - 1) > 0 &&
           !strncmp(target, MEMORY_FILE, sizeof(MEMORY_FILE) - 1);
}

static int refuse_inherited(void)
{
    if (!atomic_exchange(&complained, true))
        say("anemone: process %d has inherited a descriptor of a node from its parent, whose machine is in "
            "another process. Open the node in this process, or use `anemone accel`, which serves both.",
            (int)getpid());
    return -ENODEV;
}

/* As the kernel answers it: 0 or a negative errno. */
static bool serve(int descriptor, uint32_t request, uint64_t argument, int *status)
{
    pid_t process = getpid();
    const struct acc_client client = {
        .read = client_read, .write = client_write, .context = &process, .process = process};
    struct acc_table *files = atomic_load(&table);
    struct acc_file *file;
    struct stat about;

    if (fstat(descriptor, &about))
        return false;
    file = files ? acc_table_get(files, about.st_dev, about.st_ino) : NULL;
    if (file) {
        *status = acc_file_ioctl(file, request, argument, &client);
        acc_table_put(files, file);
        return true;
    }
    if (!is_from_parent(descriptor))
        return false;
    *status = refuse_inherited();
    return true;
}

bool acc_process_ioctl(int descriptor, uint32_t request, uint64_t argument, int *result)
{
    struct entry entry;
    int status = 0;
    bool served;

    if (!atomic_load(&table) && !atomic_load(&inherited))
        return false;
    entry = begin();
    served = serve(descriptor, request, argument, &status);
    *result = end(entry, status);
    return served;
}
