/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Banks of the caller's memory, and the file of DRAM. A bank's descriptor is a copy of the caller's. Banks of
 * one file share it; it is closed with the last of them, or after the machine's memory has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "machine/internal.h"

struct mach_bank {
    struct mach_bank *next;
    uint64_t address;
    uint64_t offset, bytes; /* in the file */
    dev_t device;
    ino_t inode;
    int file;
};

int ane_machine_dram_file(struct ane_machine *machine)
{
    int file;

    if (!mach_enter(machine))
        return -EPERM;
    if (machine->cpu) {
        file = base_fail(
            mach_error(), ENOTSUP,
            "The DRAM of a machine with firmware is not handed out: the firmware's memory is in it.");
    } else {
        file = fcntl(soc_memory_dram_file(machine->memory), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (file < 0)
            file = base_fail(mach_error(), errno, "DRAM's file cannot be duplicated: %s.", strerror(errno));
    }
    mach_leave(machine);
    return file;
}

/* A mapping of such a file has whole huge pages: it would cover what is next to a bank. */
static bool has_huge_pages(int file)
{
    struct statfs system;

    return !fstatfs(file, &system) && system.f_type == HUGETLBFS_MAGIC;
}

/* A page that the file no longer has would kill this process when the engine reads it. */
static int check_file(int file, uint64_t offset, uint64_t bytes, struct stat *stat, struct base_error *error)
{
    int seals = fcntl(file, F_GET_SEALS);

    if (fstat(file, stat) || seals < 0 || (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDWR)
        return base_fail(error, EINVAL, "Descriptor %d is not a memory file that is open for writing.", file);
    if (!(seals & F_SEAL_SHRINK))
        return base_fail(error, EINVAL,
                         "The bank's file can shrink; seal it with F_SEAL_SHRINK before it is handed in.");
    if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
        return base_fail(
            error, EINVAL,
            "The bank's file is sealed against writing, by F_SEAL_WRITE or F_SEAL_FUTURE_WRITE.");
    if (has_huge_pages(file))
        return base_fail(error, EINVAL,
                         "The bank's file has huge pages (MFD_HUGETLB); make one with ordinary pages.");
    if (!bytes || offset % PR_PAGE_BYTES || bytes % PR_PAGE_BYTES)
        return base_fail(error, EINVAL,
                         "A bank of 0x%" PRIx64 " bytes at offset 0x%" PRIx64
                         " was asked for; both are multiples of 0x%x, and a bank has at least one page.",
                         bytes, offset, PR_PAGE_BYTES);
    if (offset > (uint64_t)stat->st_size || bytes > (uint64_t)stat->st_size - offset)
        return base_fail(error, EINVAL,
                         "The bank ends at 0x%" PRIx64 " of its file, which has 0x%" PRIx64 " bytes.",
                         offset + bytes, (uint64_t)stat->st_size);
    return 0;
}

static unsigned count_banks(const struct ane_machine *m)
{
    unsigned count = 0;

    for (const struct mach_bank *bank = m->banks; bank; bank = bank->next)
        count++;
    return count;
}

/* A bank of the same file, or NULL. */
static const struct mach_bank *same_file(const struct ane_machine *m, dev_t device, ino_t inode)
{
    const struct mach_bank *bank = m->banks;

    while (bank && (bank->device != device || bank->inode != inode))
        bank = bank->next;
    return bank;
}

/* The engine knows pages by their physical address, so that one page of a file has one. */
static bool has_pages(const struct ane_machine *m, const struct stat *stat, uint64_t offset, uint64_t bytes)
{
    for (const struct mach_bank *bank = m->banks; bank; bank = bank->next)
        if (bank->device == stat->st_dev && bank->inode == stat->st_ino &&
            offset < bank->offset + bank->bytes && bank->offset < offset + bytes)
            return true;
    return false;
}

static int open_file(const struct ane_machine *m, const struct stat *stat, int file, struct base_error *error)
{
    const struct mach_bank *same = same_file(m, stat->st_dev, stat->st_ino);
    int own = same ? same->file : fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    return own < 0 ? base_fail(error, errno, "The bank's file cannot be duplicated: %s.", strerror(errno))
                   : own;
}

/* The bank is no longer in the list. */
static void close_file(const struct ane_machine *m, const struct mach_bank *bank)
{
    if (!same_file(m, bank->device, bank->inode))
        close(bank->file);
}

static int add(struct ane_machine *m, int file, uint64_t offset, uint64_t bytes, uint64_t *address,
               struct base_error *error)
{
    struct mach_bank *bank;
    struct stat stat;
    int status = check_file(file, offset, bytes, &stat, error);

    if (status)
        return status;
    if (has_pages(m, &stat, offset, bytes))
        return base_fail(error, EINVAL,
                         "Another bank has some of these pages of the file; map that bank a second time.");
    if (count_banks(m) >= ANE_BANKS_MAX)
        return base_fail(error, ENOSPC, "The machine has %u banks, the limit.", ANE_BANKS_MAX);
    bank = base_alloc(sizeof(*bank));
    if (!bank)
        return base_fail(error, ENOMEM, "No memory for a bank.");
    bank->offset = offset;
    bank->bytes = bytes;
    bank->device = stat.st_dev;
    bank->inode = stat.st_ino;
    bank->file = status = open_file(m, &stat, file, error);
    if (status < 0)
        goto free_bank;
    status = soc_memory_bank_place(m->memory, bank->file, offset, bytes, &bank->address, error);
    if (status)
        goto close_file;
    bank->next = m->banks;
    m->banks = bank;
    *address = bank->address;
    return 0;
close_file:
    close_file(m, bank);
free_bank:
    base_free(bank);
    return status;
}

int ane_machine_bank_add(struct ane_machine *machine, int file, uint64_t offset, uint64_t bytes,
                         uint64_t *address)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = address ? add(machine, file, offset, bytes, address, mach_error())
                     : base_fail(mach_error(), EINVAL, "Bank add: no place for the address was given.");
    mach_leave(machine);
    return status;
}

static int remove_bank(struct ane_machine *m, uint64_t address, struct base_error *error)
{
    struct mach_bank **link = &m->banks, *bank;
    int status;

    while (*link && (*link)->address != address)
        link = &(*link)->next;
    bank = *link;
    if (!bank)
        return base_fail(error, EINVAL, "No bank starts at 0x%" PRIx64 ".", address);
    status = soc_memory_bank_remove(m->memory, address, error);
    if (status)
        return status;
    *link = bank->next;
    close_file(m, bank);
    base_free(bank);
    return 0;
}

int ane_machine_bank_remove(struct ane_machine *machine, uint64_t address)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = remove_bank(machine, address, mach_error());
    mach_leave(machine);
    return status;
}

void mach_banks_close(struct ane_machine *m)
{
    while (m->banks) {
        struct mach_bank *bank = m->banks;

        m->banks = bank->next;
        close_file(m, bank);
        base_free(bank);
    }
}
