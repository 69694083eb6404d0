/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every published version of generation A refuses is refused here; what some of them accept is accepted,
 * because nothing in a call says which version the program was written for (drv, before 4566c89). Where
 * versions contradict each other the last one holds: a second NN_SYNC of a synced network changes nothing.
 *
 * A network is synced while it has buffers. They are one run in its memory file: tiles by their number, then
 * the page with the first descriptor, which that driver calls the fifo. Each is mapped by itself.
 */
#include "accel/network.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* Limits of a record (drv, before 4566c89): tiles of one buffer, and descriptors of one request. */
#define TILES_MAX       0xffffu
#define TD_COUNT_MAX    0xfffeu
#define TD_SIZE_MAX     (ACC_TILE_BYTES / 2) /* the fifo's page has two descriptors */
#define INTERMEDIATE_A  3u                   /* the first intermediate buffer; the second needs it */
#define INTERMEDIATE_B  2u
#define FIFO            ACC_TILES /* its number, behind the tiles */
#define PIECE           4096u     /* compared and copied out as a whole: the smallest page */
#define KERNEL_START(s) (((s) + ACC_KERNEL_ALIGN - 1) / ACC_KERNEL_ALIGN * ACC_KERNEL_ALIGN)

_Static_assert(ACC_TILE_BYTES % PIECE == 0, "a tile is a number of pieces");
/* The largest run: the sum cannot overflow. */
_Static_assert(TILES_MAX < UINT64_MAX / ACC_TILE_BYTES / ACC_TILES - 1, "sizes are summed in 64 bits");

struct acc_network {
    struct acc_network *next;
    struct acc_abi_anec record;         /* a copy that was checked */
    uint64_t pointers[ACC_TILES], fifo; /* in the program's memory, as NN_SYNC gave them */
    uint8_t *memory;                    /* the buffers; NULL: it is not synced */
    uint8_t *given;                     /* tiles that may be written, as they were copied in */
    uint64_t bytes;
    uint32_t iova[ACC_TILES + 1]; /* of each; 0: it has none */
    uint32_t handle;
};

/* The record. */

static bool is_type(uint32_t type)
{
    return type == ACC_TILE_CMD || type == ACC_TILE_ITM || type == ACC_TILE_SRC || type == ACC_TILE_DST;
}

static bool are_tiles_good(const struct acc_abi_anec *record)
{
    if (!record->tiles[ACC_TILE_TEXT] || record->types[ACC_TILE_TEXT] != ACC_TILE_CMD ||
        record->tiles[ACC_TILE_KERNEL] || (record->tiles[INTERMEDIATE_B] && !record->tiles[INTERMEDIATE_A]))
        return false;
    for (unsigned i = 0; i < ACC_TILES; i++)
        if (record->tiles[i] > TILES_MAX ||
            (record->tiles[i] ? !is_type(record->types[i]) : record->types[i] != ACC_TILE_NONE))
            return false;
    return true;
}

static bool is_record_good(const struct acc_abi_anec *record)
{
    return record->krn_size && record->td_size && record->td_size <= TD_SIZE_MAX && record->td_count &&
           record->td_count <= TD_COUNT_MAX && record->tsk_size >= record->td_size &&
           record->size > record->tsk_size && record->size > record->krn_size && are_tiles_good(record);
}

/* Handles. */

/* The link to the network of that handle, or to where it would be. */
static struct acc_network **place_of(struct acc_network_set *set, uint32_t handle)
{
    struct acc_network **place = &set->first;

    while (*place && (*place)->handle < handle)
        place = &(*place)->next;
    return place;
}

static struct acc_network *find(struct acc_network_set *set, uint32_t handle)
{
    struct acc_network *network = *place_of(set, handle);

    return network && network->handle == handle ? network : NULL;
}

/* As DRM numbers: from 1, the lowest that is free. */
static int insert(struct acc_network_set *set, struct acc_network *network)
{
    struct acc_network **place = &set->first;
    uint32_t handle = 1;

    for (; *place && (*place)->handle == handle; place = &(*place)->next)
        handle++;
    if (handle > ACC_NETWORKS_MAX)
        return -ENOSPC;
    network->handle = handle;
    network->next = *place;
    *place = network;
    return 0;
}

/* Buffers. */

static uint64_t tile_bytes(const struct acc_network *network, unsigned tile)
{
    return tile == FIFO ? ACC_TILE_BYTES : (uint64_t)network->record.tiles[tile] * ACC_TILE_BYTES;
}

static uint64_t all_bytes(const struct acc_network *network)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i <= FIFO; i++)
        bytes += tile_bytes(network, i);
    return bytes;
}

static bool is_in_program(const struct acc_network *network, unsigned tile)
{
    return network->record.tiles[tile] && network->record.types[tile] != ACC_TILE_ITM;
}

static void unmap_tiles(struct acc_network_set *set, struct acc_network *network)
{
    for (unsigned i = 0; i <= FIFO; i++) {
        if (network->iova[i])
            acc_device_unmap(set->device, network->iova[i]);
        network->iova[i] = 0;
    }
}

static int map_tiles(struct acc_network_set *set, struct acc_network *network, int file)
{
    uint64_t offset = 0, bytes;

    for (unsigned i = 0; i <= FIFO; i++, offset += bytes) {
        int status = 0;

        bytes = tile_bytes(network, i);
        if (bytes)
            status = acc_device_map(set->device, file, offset, bytes, &network->iova[i], NULL);
        if (status) {
            network->iova[i] = 0;
            unmap_tiles(set, network);
            return status;
        }
    }
    return 0;
}

static uint8_t *map_memory(uint64_t bytes, int flags, int file)
{
    uint8_t *memory = MAP_FAILED;

    if (base_alloc_allowed())
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_memory(struct acc_network *network)
{
    if (network->memory)
        munmap(network->memory, network->bytes);
    if (network->given)
        munmap(network->given, network->bytes);
    network->memory = network->given = NULL;
}

static int make_buffers(struct acc_network_set *set, struct acc_network *network)
{
    const uint64_t bytes = all_bytes(network);
    int status, file = base_file_memory("anemone-network", bytes);

    if (file < 0)
        return file;
    status = map_tiles(set, network, file);
    if (status)
        goto close_file;
    network->bytes = bytes;
    network->memory = map_memory(bytes, MAP_SHARED, file);
    network->given = map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!network->memory || !network->given) {
        unmap_memory(network);
        unmap_tiles(set, network);
        status = -ENOMEM;
    }
close_file:
    close(file);
    return status;
}

static void end_buffers(struct acc_network_set *set, struct acc_network *network)
{
    if (!network->memory)
        return;
    unmap_tiles(set, network);
    unmap_memory(network);
}

/* A pinned page is shared from its first byte on, wherever in it the pointer is. */
static uint64_t page_of(uint64_t pointer)
{
    return pointer & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* The engine does not write descriptors or constants. */
static bool is_written(const struct acc_network *network, unsigned tile)
{
    return is_in_program(network, tile) && network->record.types[tile] != ACC_TILE_CMD;
}

static int copy_in(const struct acc_network *network, const struct acc_client *client)
{
    uint64_t offset = 0, bytes;

    for (unsigned i = 0; i < ACC_TILES; i++, offset += bytes) {
        bytes = tile_bytes(network, i);
        if (is_in_program(network, i) &&
            client->read(client->context, page_of(network->pointers[i]), network->memory + offset, bytes))
            return -EFAULT;
        if (is_written(network, i))
            memcpy(network->given + offset, network->memory + offset, bytes);
    }
    return client->read(client->context, page_of(network->fifo), network->memory + offset,
                        tile_bytes(network, FIFO))
               ? -EFAULT
               : 0;
}

/*
 * Where the engine has written, and no more: another tile, or another thread of the program, may have written
 * to the same pages, which the driver shared. `from` and `before` are the tile after and before the request.
 */
static int copy_changes(const struct acc_client *client, uint64_t to, const uint8_t *from,
                        const uint8_t *before, uint64_t bytes)
{
    uint64_t at = 0, end;

    while (at < bytes) {
        while (at < bytes && !memcmp(from + at, before + at, PIECE))
            at += PIECE;
        for (end = at; end < bytes && memcmp(from + end, before + end, PIECE) != 0;)
            end += PIECE;
        if (client->write(client->context, to + at, from + at, end - at))
            return -EFAULT;
        at = end;
    }
    return 0;
}

static int copy_out(const struct acc_network *network, const struct acc_client *client)
{
    uint64_t offset = 0, bytes;

    for (unsigned i = 0; i < ACC_TILES; i++, offset += bytes) {
        bytes = tile_bytes(network, i);
        if (is_written(network, i) && copy_changes(client, page_of(network->pointers[i]),
                                                   network->memory + offset, network->given + offset, bytes))
            return -EFAULT;
    }
    return 0;
}

/* Calls. */

int acc_network_init(struct acc_network_set *set, struct acc_abi_nn_init *call,
                     const struct acc_client *client)
{
    struct acc_network *network;
    int status;

    if (call->pad)
        return -EINVAL;
    network = base_alloc(sizeof(*network));
    if (!network)
        return -ENOMEM;
    status = client->read(client->context, call->anec, &network->record, sizeof(network->record));
    if (!status)
        status = is_record_good(&network->record) ? insert(set, network) : -EINVAL;
    if (status)
        base_free(network);
    else
        call->handle = network->handle;
    return status;
}

int acc_network_deinit(struct acc_network_set *set, const struct acc_abi_nn_handle *call)
{
    struct acc_network *network = find(set, call->handle);

    if (call->pad || !network)
        return -EINVAL;
    end_buffers(set, network);
    *place_of(set, call->handle) = network->next;
    base_free(network);
    return 0;
}

static bool are_pointers_good(const struct acc_network *network, const struct acc_abi_nn_sync *call)
{
    for (unsigned i = 0; i < ACC_TILES; i++)
        if (is_in_program(network, i) && !call->pointers[i])
            return false;
    return call->fifo != 0;
}

/* Reads every tile once, as pinning its pages would find out whether the program has them. */
int acc_network_sync(struct acc_network_set *set, const struct acc_abi_nn_sync *call,
                     const struct acc_client *client)
{
    struct acc_network *network = find(set, call->handle);
    int status;

    if (call->pad || !network)
        return -EINVAL;
    if (network->memory)
        return 0;
    if (!are_pointers_good(network, call))
        return -EINVAL;
    memcpy(network->pointers, call->pointers, sizeof(network->pointers));
    network->fifo = call->fifo;
    status = make_buffers(set, network);
    if (status)
        return status;
    status = copy_in(network, client);
    if (status)
        end_buffers(set, network);
    return status;
}

int acc_network_unsync(struct acc_network_set *set, const struct acc_abi_nn_handle *call)
{
    struct acc_network *network = find(set, call->handle);

    if (call->pad || !network)
        return -EINVAL;
    end_buffers(set, network);
    return 0;
}

static void fill_request(const struct acc_network *network, int process, struct acc_request *request)
{
    *request = (struct acc_request){.first = network->iova[FIFO],
                                    .td_count = network->record.td_count,
                                    .td_size = network->record.td_size,
                                    .process = process};
    memcpy(request->bar, network->iova, sizeof(request->bar));
    request->bar[ACC_TILE_KERNEL] =
        (uint32_t)(request->bar[ACC_TILE_TEXT] + KERNEL_START(network->record.tsk_size));
}

/* A request that does not end has written what it has written: the program's pages show it. */
int acc_network_exec(struct acc_network_set *set, const struct acc_abi_nn_handle *call,
                     const struct acc_client *client)
{
    struct acc_network *network = find(set, call->handle);
    struct acc_request request;
    int status, copied;

    if (call->pad || !network || !network->memory)
        return -EINVAL;
    status = copy_in(network, client);
    if (status)
        return status;
    fill_request(network, client->process, &request);
    status = acc_device_submit(set->device, &request);
    copied = copy_out(network, client);
    return status ? status : copied;
}

void acc_network_end_all(struct acc_network_set *set)
{
    while (set->first) {
        struct acc_network *network = set->first;

        set->first = network->next;
        end_buffers(set, network);
        base_free(network);
    }
}
