/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most calls are about other paths, and cost the program a round trip each; so a path is looked at no further
 * than is needed to tell that it is not a node. Paths are not resolved: a symbolic link to a node is the
 * kernel's, which does not have it.
 */
#include "accel/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "accel/filter.h"

/* Linux 5.14; older headers lack it. */
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1ul << 1)
#endif

/* Last parts of the nodes' paths, and of their folder's: what a path must have in it to be one. */
#define TEXT_ACCEL  "accel"
#define TEXT_RENDER "renderD129"
#define REPORT_HEAD 80u /* room for what comes before a sentence */

union response {
    struct seccomp_notif_resp is;
    char spare[sizeof(struct seccomp_notif_resp) + ACC_ANSWER_SPARE];
};

bool acc_answer_fits(void)
{
    struct seccomp_notif_sizes sizes;

    return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) ||
           (sizes.seccomp_notif <= sizeof(union acc_notice) &&
            sizes.seccomp_notif_resp <= sizeof(union response));
}

static int argument_int(const struct seccomp_notif *call, int number)
{
    return (int)call->data.args[number];
}

/* The node that the call's path names. */
static enum acc_node node_of(const struct acc_target *target, const struct acc_call *row,
                             const struct seccomp_notif *call)
{
    int folder = row->folder < 0 ? AT_FDCWD : argument_int(call, row->folder);
    char path[PATH_MAX];

    if (acc_target_string(target, call->data.args[row->path], path, sizeof(path)))
        return ACC_NODE_NONE;
    if (!strstr(path, TEXT_ACCEL) && !strstr(path, TEXT_RENDER))
        return ACC_NODE_NONE;
    if (acc_target_absolute(target, folder, path, sizeof(path)) || !acc_target_waits(target))
        return ACC_NODE_NONE;
    return acc_node_at(path);
}

static void prepare_value(struct acc_answer *answer, long value)
{
    answer->kind = ACC_ANSWER_VALUE;
    answer->value = value;
}

/* As the kernel opens a character device that exists. The folder is left to the kernel: it may have one. */
static void prepare_open(struct acc_answer *answer, enum acc_node node, uint64_t flags)
{
    if (node == ACC_NODE_FOLDER)
        return;
    if (flags & O_DIRECTORY) {
        prepare_value(answer, -ENOTDIR);
    } else if ((flags & O_CREAT) && (flags & O_EXCL)) {
        prepare_value(answer, -EEXIST);
    } else {
        answer->kind = ACC_ANSWER_OPEN;
        answer->open_flags = (uint32_t)(flags & O_CLOEXEC);
        answer->waits = true;
    }
}

static void prepare_open2(struct acc_answer *answer, enum acc_node node, uint64_t address)
{
    struct open_how how = {0};

    if (acc_target_read(&answer->target, address, &how, sizeof(how)))
        prepare_value(answer, -EFAULT);
    else
        prepare_open(answer, node, how.flags);
}

static void prepare_stat(struct acc_answer *answer, enum acc_node node, uint64_t address)
{
    struct stat stat;

    acc_node_stat(node, &stat);
    prepare_value(answer, acc_target_write(&answer->target, address, &stat, sizeof(stat)));
}

static struct statx_timestamp timestamp(const struct timespec *time)
{
    return (struct statx_timestamp){.tv_sec = time->tv_sec, .tv_nsec = (uint32_t)time->tv_nsec};
}

static void prepare_statx(struct acc_answer *answer, enum acc_node node, uint64_t address)
{
    struct statx full;
    struct stat stat;

    acc_node_stat(node, &stat);
    memset(&full, 0, sizeof(full));
    full.stx_mask = STATX_BASIC_STATS;
    full.stx_blksize = (uint32_t)stat.st_blksize;
    full.stx_nlink = (uint32_t)stat.st_nlink;
    full.stx_uid = stat.st_uid;
    full.stx_gid = stat.st_gid;
    full.stx_mode = (uint16_t)stat.st_mode;
    full.stx_ino = stat.st_ino;
    full.stx_size = (uint64_t)stat.st_size;
    full.stx_blocks = (uint64_t)stat.st_blocks;
    full.stx_atime = timestamp(&stat.st_atim);
    full.stx_ctime = timestamp(&stat.st_ctim);
    full.stx_mtime = timestamp(&stat.st_mtim);
    full.stx_rdev_major = major(stat.st_rdev);
    full.stx_rdev_minor = minor(stat.st_rdev);
    full.stx_dev_major = major(stat.st_dev);
    full.stx_dev_minor = minor(stat.st_dev);
    prepare_value(answer, acc_target_write(&answer->target, address, &full, sizeof(full)));
}

static void prepare_path(struct acc_answer *answer, const struct acc_call *row,
                         const struct seccomp_notif *call)
{
    enum acc_node node = node_of(&answer->target, row, call);
    uint64_t more = row->more < 0 ? 0 : call->data.args[row->more];

    if (node == ACC_NODE_NONE)
        return;
    switch (row->kind) {
    case ACC_CALL_OPEN: prepare_open(answer, node, (uint32_t)more); break;
    case ACC_CALL_OPEN2: prepare_open2(answer, node, more); break;
    case ACC_CALL_STAT: prepare_stat(answer, node, more); break;
    case ACC_CALL_STATX: prepare_statx(answer, node, more); break;
    case ACC_CALL_ACCESS:
        prepare_value(answer, (more & X_OK) && node != ACC_NODE_FOLDER ? -EACCES : 0);
        break;
    case ACC_CALL_READLINK: prepare_value(answer, -EINVAL); break;
    case ACC_CALL_IOCTL: break;
    }
}

static void prepare_ioctl(struct acc_answer *answer, const struct seccomp_notif *call)
{
    dev_t device;
    ino_t inode;

    if (acc_target_descriptor(&answer->target, argument_int(call, 0), &device, &inode))
        return;
    answer->file = acc_table_get(answer->table, device, inode);
    if (!answer->file)
        return;
    answer->kind = ACC_ANSWER_IOCTL;
    answer->request = (uint32_t)call->data.args[1];
    answer->argument = call->data.args[2];
    answer->waits = true; /* each may find the file busy with another thread's request */
}

void acc_answer_prepare(struct acc_answer *answer, struct acc_table *table, int listener,
                        const struct seccomp_notif *call)
{
    const struct acc_call *row = acc_filter_call((uint32_t)call->data.nr);

    *answer = (struct acc_answer){
        .table = table, .target = {.thread = (pid_t)call->pid, .listener = listener, .id = call->id}};
    if (row && row->kind == ACC_CALL_IOCTL)
        prepare_ioctl(answer, call);
    else if (row)
        prepare_path(answer, row, call);
}

/* Not sent to a program that has ended. */
static void send_response(const struct acc_answer *answer, long value, uint32_t flags)
{
    union response response;

    memset(&response, 0, sizeof(response));
    response.is.id = answer->target.id;
    response.is.val = value < 0 ? 0 : value;
    response.is.error = value < 0 ? (int)value : 0;
    response.is.flags = flags;
    (void)ioctl(answer->target.listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void work_ioctl(struct acc_answer *answer)
{
    struct acc_client client = {.read = acc_target_read,
                                .write = acc_target_write,
                                .context = &answer->target,
                                .process = answer->target.thread};

    answer->value = acc_file_ioctl(answer->file, answer->request, answer->argument, &client);
    acc_table_put(answer->table, answer->file);
}

static void work_open(struct acc_answer *answer)
{
    struct base_error error;
    char text[sizeof(error.text) + REPORT_HEAD];

    answer->value = acc_table_open(answer->table, &error);
    if (answer->value >= 0)
        return;
    snprintf(text, sizeof(text), "anemone accel: process %d: a node cannot be opened: %s\n",
             answer->target.thread, error.text);
    acc_device_report(acc_table_device(answer->table), text);
}

void acc_answer_work(struct acc_answer *answer)
{
    if (answer->kind == ACC_ANSWER_OPEN)
        work_open(answer);
    else if (answer->kind == ACC_ANSWER_IOCTL)
        work_ioctl(answer);
}

/* The program gets a descriptor and the call its number, in one step where the kernel can do that. */
static void send_descriptor(struct acc_answer *answer)
{
    struct seccomp_notif_addfd add = {.id = answer->target.id,
                                      .flags = SECCOMP_ADDFD_FLAG_SEND,
                                      .srcfd = (uint32_t)answer->value,
                                      .newfd_flags = answer->open_flags};
    int number = ioctl(answer->target.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

    if (number < 0 && errno == EINVAL) {
        add.flags = 0;
        number = ioctl(answer->target.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
        send_response(answer, number < 0 ? -errno : number, 0);
    } else if (number < 0) {
        send_response(answer, -errno, 0);
    }
    close((int)answer->value);
}

void acc_answer_send(struct acc_answer *answer)
{
    if (answer->kind == ACC_ANSWER_PASS)
        send_response(answer, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    else if (answer->kind == ACC_ANSWER_OPEN && answer->value >= 0)
        send_descriptor(answer);
    else
        send_response(answer, answer->value, 0);
}
