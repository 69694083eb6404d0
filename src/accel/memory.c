/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every description of the file is made by opening it through /proc, our own too: the kernel does not count
 * the one that memfd_create makes among those open for writing. So a write lease on our own is granted
 * exactly while no other is open, for reading or writing; a mapping holds the description it was made from.
 * The engine's banks hold copies of our own.
 */
#include "accel/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static int open_again(int file)
{
    char path[32];
    int again;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    again = base_file_above_standard(open(path, O_RDWR | O_CLOEXEC));
    return again < 0 ? -errno : again;
}

int acc_memory_open(struct acc_memory *memory, struct base_error *error)
{
    int first, status;

    *memory = (struct acc_memory){.next = ACC_MEMORY_FIRST};
    memory->freed = base_alloc_array(ACC_MEMORY_FREED_PARTS, sizeof(*memory->freed));
    if (!memory->freed)
        return base_fail(error, ENOMEM, "No memory for the list of freed buffers.");
    first = base_file_memory("anemone-accel", ACC_MEMORY_BYTES);
    if (first < 0) {
        status = base_fail(error, -first, "A memory file for buffers cannot be made: %s.", strerror(-first));
        goto free_list;
    }
    memory->file = open_again(first);
    close(first);
    if (memory->file < 0) {
        status = base_fail(error, -memory->file, "The memory file cannot be opened through /proc: %s.",
                           strerror(-memory->file));
        goto free_list;
    }
    return 0;
free_list:
    base_free(memory->freed);
    return status;
}

void acc_memory_close(struct acc_memory *memory)
{
    close(memory->file);
    base_free(memory->freed);
}

int acc_memory_take(struct acc_memory *memory, uint64_t bytes, uint64_t *offset)
{
    if (bytes > ACC_MEMORY_BYTES - memory->next)
        return -ENOSPC;
    *offset = memory->next;
    memory->next += bytes;
    return 0;
}

void acc_memory_untake(struct acc_memory *memory, uint64_t bytes)
{
    memory->next -= bytes;
}

static void punch_oldest(struct acc_memory *memory)
{
    const struct acc_memory_part *oldest = &memory->freed[memory->freed_first];

    /* A failure leaves bytes that nothing uses: no harm but for their memory. */
    (void)fallocate(memory->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)oldest->offset,
                    (off_t)oldest->bytes);
    memory->freed_bytes -= oldest->bytes;
    memory->freed_first = (memory->freed_first + 1) % ACC_MEMORY_FREED_PARTS;
    memory->freed_count--;
}

void acc_memory_give(struct acc_memory *memory, uint64_t offset, uint64_t bytes)
{
    if (memory->freed_count == ACC_MEMORY_FREED_PARTS)
        punch_oldest(memory);
    memory->freed[(memory->freed_first + memory->freed_count++) % ACC_MEMORY_FREED_PARTS] =
        (struct acc_memory_part){offset, bytes};
    memory->freed_bytes += bytes;
    while (memory->freed_bytes > ACC_MEMORY_FREED)
        punch_oldest(memory);
}

/* At its end, so that a read of the node is over at once and does not go through all of the file. */
int acc_memory_descriptor(const struct acc_memory *memory)
{
    int file = open_again(memory->file);

    if (file >= 0)
        (void)lseek(file, 0, SEEK_END);
    return file;
}

bool acc_memory_alone(const struct acc_memory *memory)
{
    if (fcntl(memory->file, F_SETLEASE, F_WRLCK))
        return false;
    fcntl(memory->file, F_SETLEASE, F_UNLCK);
    return true;
}
