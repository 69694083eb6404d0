/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests are found as DRM's core finds them (lnx), by number and size. The program's struct is copied in
 * once; what the call changes in the copy is copied out, also after an error. The direction bits of the
 * program's own number say which of the two happen.
 */
#include "accel/file.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "accel/memory.h"
#include "accel/network.h"
#include "accel/space.h"
#include "base/alloc.h"

/* Handles of one file at once: the machine has no more banks. */
#define HANDLES_MAX   ANE_BANKS_MAX
#define HANDLES_FIRST 64u /* room to begin with */

struct buffer {
    uint64_t offset, bytes;
    uint32_t iova; /* 0: the handle is free */
};

struct acc_file {
    struct acc_device *device;
    pthread_mutex_t lock;
    struct acc_memory memory;
    dev_t stat_device;
    ino_t stat_inode;
    struct buffer *buffer; /* that of handle n is at n - 1 */
    uint32_t room;
    struct acc_network_set networks;
};

union arguments {
    struct acc_abi_version version;
    struct acc_abi_caps caps;
    struct acc_abi_bo_init bo_init;
    struct acc_abi_bo_free bo_free;
    struct acc_abi_submit submit;
    struct acc_abi_gem_close gem_close;
    struct acc_abi_nn_init nn_init;
    struct acc_abi_nn_handle nn_handle;
    struct acc_abi_nn_sync nn_sync;
};

int acc_file_open(struct acc_device *device, struct acc_file **file, struct base_error *error)
{
    struct acc_file *f = base_alloc(sizeof(*f));
    struct stat stat;
    int status;

    *file = NULL;
    if (!f)
        return base_fail(error, ENOMEM, "No memory for an open file.");
    f->device = device;
    f->networks.device = device;
    status = acc_memory_open(&f->memory, error);
    if (status)
        goto free_file;
    if (fstat(f->memory.file, &stat)) {
        status = base_fail(error, errno, "The memory file cannot be looked at: %s.", strerror(errno));
        goto close_memory;
    }
    f->stat_device = stat.st_dev;
    f->stat_inode = stat.st_ino;
    pthread_mutex_init(&f->lock, NULL);
    *file = f;
    return 0;
close_memory:
    acc_memory_close(&f->memory);
free_file:
    base_free(f);
    return status;
}

void acc_file_close(struct acc_file *file)
{
    if (!file)
        return;
    acc_network_end_all(&file->networks);
    for (uint32_t i = 0; i < file->room; i++)
        if (file->buffer[i].iova)
            acc_device_unmap(file->device, file->buffer[i].iova);
    acc_memory_close(&file->memory);
    pthread_mutex_destroy(&file->lock);
    base_free(file->buffer);
    base_free(file);
}

int acc_file_descriptor(const struct acc_file *file)
{
    return acc_memory_descriptor(&file->memory);
}

bool acc_file_is(const struct acc_file *file, dev_t device, ino_t inode)
{
    return file->stat_device == device && file->stat_inode == inode;
}

bool acc_file_unused(struct acc_file *file)
{
    return acc_memory_alone(&file->memory);
}

/* A string of the version: its whole length is said, and what the program has room for is written. */
static int copy_string(uint64_t *length, uint64_t address, const char *string,
                       const struct acc_client *client)
{
    const uint64_t whole = strlen(string), room = *length < whole ? *length : whole;

    *length = whole;
    return room && address ? client->write(client->context, address, string, room) : 0;
}

static int version(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    struct acc_abi_version *call = &arguments->version;
    int status;

    (void)file;
    call->major = ACC_DRIVER_MAJOR;
    call->minor = ACC_DRIVER_MINOR;
    call->patch = ACC_DRIVER_PATCH;
    status = copy_string(&call->name_length, call->name, ACC_DRIVER_NAME, client);
    if (!status)
        status = copy_string(&call->date_length, call->date, ACC_DRIVER_DATE, client);
    if (!status)
        status = copy_string(&call->description_length, call->description, ACC_DRIVER_DESCRIPTION, client);
    return status;
}

static int get_caps(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    struct acc_abi_caps *call = &arguments->caps;

    (void)file;
    (void)client;
    if (call->flags)
        return -EINVAL;
    *call = (struct acc_abi_caps){
        .size = sizeof(*call), .abi_version = ACC_DRIVER_MAJOR, .chip_family = ACC_CHIP_FAMILY};
    return 0;
}

static struct buffer *lookup(struct acc_file *file, uint32_t handle)
{
    if (!handle || handle > file->room || !file->buffer[handle - 1].iova)
        return NULL;
    return &file->buffer[handle - 1];
}

/* The lowest handle that is free. */
static int free_handle(struct acc_file *file, uint32_t *handle)
{
    uint32_t index = 0, room;
    struct buffer *more;

    while (index < file->room && file->buffer[index].iova)
        index++;
    if (index == HANDLES_MAX)
        return -ENOSPC;
    if (index == file->room) {
        room = file->room ? 2 * file->room : HANDLES_FIRST;
        room = room < HANDLES_MAX ? room : HANDLES_MAX;
        more = base_realloc(file->buffer, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        memset(more + file->room, 0, (room - file->room) * sizeof(*more));
        file->buffer = more;
        file->room = room;
    }
    *handle = index + 1;
    return 0;
}

/*
 * The kernel's errors for sizes (lnx): a file of pages has a signed size, and neither an empty buffer nor one
 * that is larger than the address space finds a place.
 */
static int round_size(uint64_t size, uint64_t *bytes)
{
    *bytes = (size + ACC_TILE_BYTES - 1) & ~(uint64_t)(ACC_TILE_BYTES - 1);
    if (*bytes > INT64_MAX)
        return -EINVAL;
    return *bytes && *bytes <= ACC_SPACE_END - ACC_SPACE_FIRST ? 0 : -ENOSPC;
}

static int bo_init(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    struct acc_abi_bo_init *call = &arguments->bo_init;
    struct buffer buffer;
    uint32_t handle;
    int status;

    (void)client;
    if (call->pad)
        return -EINVAL;
    status = round_size(call->size, &buffer.bytes);
    if (!status)
        status = free_handle(file, &handle);
    if (!status)
        status = acc_memory_take(&file->memory, buffer.bytes, &buffer.offset);
    if (status)
        return status;
    status = acc_device_map(file->device, file->memory.file, buffer.offset, buffer.bytes, &buffer.iova, NULL);
    if (status) {
        acc_memory_untake(&file->memory, buffer.bytes);
        return status;
    }
    file->buffer[handle - 1] = buffer;
    call->handle = handle;
    call->offset = buffer.offset;
    return 0;
}

static int end_buffer(struct acc_file *file, uint32_t handle)
{
    struct buffer *buffer = lookup(file, handle);

    if (!buffer)
        return -EINVAL;
    acc_device_unmap(file->device, buffer->iova);
    acc_memory_give(&file->memory, buffer->offset, buffer->bytes);
    *buffer = (struct buffer){0};
    return 0;
}

/*
 * NN_DEINIT is the same request: number, direction and size. A program has either buffers or networks in a
 * file; should it have both, the handle is a buffer's first.
 */
static int bo_free(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    (void)client;
    if (arguments->bo_free.pad)
        return -EINVAL;
    return lookup(file, arguments->bo_free.handle)
               ? end_buffer(file, arguments->bo_free.handle)
               : acc_network_deinit(&file->networks, &arguments->nn_handle);
}
_Static_assert((int)ACC_IOCTL_BO_FREE == (int)ACC_IOCTL_NN_DEINIT, "one function for both");

static int gem_close(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    (void)client;
    return end_buffer(file, arguments->gem_close.handle);
}

static int submit(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    const struct acc_abi_submit *call = &arguments->submit;
    struct acc_request request = {
        .td_count = call->td_count, .td_size = call->td_size, .process = client->process};
    const struct buffer *buffer;

    if (call->pad || !call->tsk_size || !call->td_count || !call->td_size || !call->handles[ACC_TILE_TEXT] ||
        call->handles[ACC_TILE_KERNEL] || !call->btsp_handle)
        return -EINVAL;
    for (unsigned tile = 0; tile < ACC_TILES; tile++) {
        if (!call->handles[tile])
            continue;
        buffer = lookup(file, call->handles[tile]);
        if (!buffer || (tile == ACC_TILE_TEXT && call->tsk_size >= buffer->bytes))
            return -EINVAL;
        request.bar[tile] = buffer->iova;
        request.handle[tile] = call->handles[tile];
    }
    request.bar[ACC_TILE_KERNEL] =
        request.bar[ACC_TILE_TEXT] +
        (uint32_t)((call->tsk_size + ACC_KERNEL_ALIGN - 1) / ACC_KERNEL_ALIGN * ACC_KERNEL_ALIGN);
    buffer = lookup(file, call->btsp_handle);
    if (!buffer)
        return -EINVAL;
    request.first = buffer->iova;
    request.first_handle = call->btsp_handle;
    return acc_device_submit(file->device, &request);
}

static int nn_init(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    return acc_network_init(&file->networks, &arguments->nn_init, client);
}

static int nn_sync(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    return acc_network_sync(&file->networks, &arguments->nn_sync, client);
}

static int nn_unsync(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    (void)client;
    return acc_network_unsync(&file->networks, &arguments->nn_handle);
}

static int nn_exec(struct acc_file *file, union arguments *arguments, const struct acc_client *client)
{
    return acc_network_exec(&file->networks, &arguments->nn_handle, client);
}

#define NUMBER(request) ((request) & ~((uint32_t)_IOC_DIRMASK << _IOC_DIRSHIFT))

static const struct {
    uint32_t request;
    int (*call)(struct acc_file *file, union arguments *arguments, const struct acc_client *client);
} calls[] = {
    {(uint32_t)ACC_IOCTL_VERSION, version}, {(uint32_t)ACC_IOCTL_GEM_CLOSE, gem_close},
    {(uint32_t)ACC_IOCTL_BO_INIT, bo_init}, {(uint32_t)ACC_IOCTL_BO_FREE, bo_free},
    {(uint32_t)ACC_IOCTL_SUBMIT, submit},   {(uint32_t)ACC_IOCTL_NN_INIT, nn_init},
    {(uint32_t)ACC_IOCTL_NN_SYNC, nn_sync}, {(uint32_t)ACC_IOCTL_NN_UNSYNC, nn_unsync},
    {(uint32_t)ACC_IOCTL_NN_EXEC, nn_exec}, {(uint32_t)ACC_IOCTL_GET_CAPS, get_caps},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

int acc_file_ioctl(struct acc_file *file, uint32_t request, uint64_t argument,
                   const struct acc_client *client)
{
    union arguments arguments = {0}, given;
    const size_t bytes = _IOC_SIZE(request);
    unsigned i = 0;
    uint32_t both;
    int status;

    if (_IOC_TYPE(request) != ACC_IOCTL_TYPE)
        return -ENOTTY;
    while (i < CALLS && NUMBER(calls[i].request) != NUMBER(request))
        i++;
    if (i == CALLS)
        return -EINVAL;
    both = _IOC_DIR(request) & _IOC_DIR(calls[i].request);
    if (both & _IOC_WRITE && client->read(client->context, argument, &arguments, bytes))
        return -EFAULT;
    given = arguments;
    pthread_mutex_lock(&file->lock);
    status = calls[i].call(file, &arguments, client);
    pthread_mutex_unlock(&file->lock);
    /* The kernel writes it in any case; that differs only in memory that the program cannot write. */
    if (both & _IOC_READ && (!(both & _IOC_WRITE) || memcmp(&given, &arguments, bytes) != 0) &&
        client->write(client->context, argument, &arguments, bytes))
        return -EFAULT;
    return status;
}
