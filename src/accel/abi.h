/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ioctls of the engine's Linux driver, in the generations that programs were written for (drv, from
 * df44182 on). All are of type 'd'. Numbers 0x41 to 0x45 mean different things in different generations; the
 * size, which is part of a request's number, distinguishes them, so one node serves all; BO_FREE and
 * NN_DEINIT, which have one number and size, end whatever has the handle.
 *
 *   A  user pointers: /dev/dri/renderD129, no mmap. The driver copies between the program's memory and its
 *      own buffers.
 *   B  buffers: the same node. BO_INIT gives a handle and an offset to map.
 *   C  the same calls on /dev/accel/accel0.
 */
#ifndef ACCEL_ABI_H
#define ACCEL_ABI_H

#include <linux/ioctl.h>
#include <stddef.h>
#include <stdint.h>

#define ACC_PATH_ACCEL  "/dev/accel/accel0"
#define ACC_PATH_RENDER "/dev/dri/renderD129"
/* Character devices as the kernel numbers them: accel nodes have major 261, DRM nodes 226. */
#define ACC_MAJOR_ACCEL  261u
#define ACC_MINOR_ACCEL  0u
#define ACC_MAJOR_RENDER 226u
#define ACC_MINOR_RENDER 129u

#define ACC_TILES        32u     /* buffers of one request */
#define ACC_TILE_BYTES   0x4000u /* unit of a tile count, and the page */
#define ACC_TILE_TEXT    0u      /* text and constants */
#define ACC_TILE_KERNEL  1u      /* no handle: it begins inside tile 0 */
#define ACC_KERNEL_ALIGN 16u     /* constants begin at tsk_size rounded up to this */

/* What DRM_IOCTL_VERSION answers: libane looks for the name; the maintained fork's needs major 1, too. */
#define ACC_DRIVER_NAME        "ane"
#define ACC_DRIVER_DATE        "20230103"
#define ACC_DRIVER_DESCRIPTION "Apple Neural Engine driver"
#define ACC_DRIVER_MAJOR       1
#define ACC_DRIVER_MINOR       0
#define ACC_DRIVER_PATCH       0

struct acc_abi_version {
    int32_t major, minor, patch;
    uint32_t pad;
    uint64_t name_length, name, date_length, date, description_length, description; /* lengths, pointers */
};

/* Generations B and C. */
struct acc_abi_bo_init {
    uint32_t handle, pad;
    uint64_t size, offset;
};
struct acc_abi_bo_free {
    uint32_t handle, pad;
};
struct acc_abi_submit {
    uint64_t tsk_size;
    uint32_t td_count, td_size; /* td_size in bytes */
    uint32_t handles[ACC_TILES];
    uint32_t btsp_handle, pad;
};
/* What the fork's driver for the kernel's own tree adds to C. */
struct acc_abi_caps {
    uint32_t flags; /* 0 */
    uint32_t size;  /* bytes that the driver filled */
    uint32_t abi_version, chip_family;
    uint32_t section_size, bind_size, exec_io_size; /* 0: of requests that drivers of later chips have */
    uint32_t pad;
};
#define ACC_CHIP_FAMILY 13u /* H13 */
/* DRM's own. */
struct acc_abi_gem_close {
    uint32_t handle, pad;
};

/* Generation A. */
struct acc_abi_nn_init {
    uint32_t handle, pad;
    uint64_t anec; /* pointer to an acc_abi_anec */
};
struct acc_abi_nn_handle { /* NN_DEINIT, NN_UNSYNC, NN_EXEC */
    uint32_t handle, pad;
};
struct acc_abi_nn_sync {
    uint32_t handle, pad;
    uint64_t pointers[ACC_TILES];
    uint64_t fifo;
};
struct acc_abi_anec {
    uint64_t size, tsk_size, krn_size;
    uint32_t td_count, td_size;
    uint32_t tiles[ACC_TILES];
    uint32_t types[ACC_TILES]; /* enum acc_tile_type */
};
enum acc_tile_type {
    ACC_TILE_NONE = 0,
    ACC_TILE_CMD = 1,
    ACC_TILE_ITM = 2,
    ACC_TILE_SRC = 3, /* 0f4692b swaps SRC and DST: both are copied in, and both out, see network.h */
    ACC_TILE_DST = 4,
};

/* X(id, generation, number, struct): requests are _IOWR('d', number, struct). */
#define ACC_IOCTLS(X)                        \
    X(VERSION, DRM, 0x00, acc_abi_version)   \
    X(GET_CAPS, C, 0x40, acc_abi_caps)       \
    X(BO_INIT, BC, 0x41, acc_abi_bo_init)    \
    X(BO_FREE, BC, 0x42, acc_abi_bo_free)    \
    X(SUBMIT, BC, 0x43, acc_abi_submit)      \
    X(NN_INIT, A, 0x41, acc_abi_nn_init)     \
    X(NN_DEINIT, A, 0x42, acc_abi_nn_handle) \
    X(NN_SYNC, A, 0x43, acc_abi_nn_sync)     \
    X(NN_UNSYNC, A, 0x44, acc_abi_nn_handle) \
    X(NN_EXEC, A, 0x45, acc_abi_nn_handle)

#define ACC_IOCTL_TYPE 'd'
/* GEM_CLOSE is the one that only takes: _IOW. */
#define ACC_IOCTL_GEM_CLOSE _IOW(ACC_IOCTL_TYPE, 0x09, struct acc_abi_gem_close)
enum {
#define X(id, generation, number, type) ACC_IOCTL_##id = (int)_IOWR(ACC_IOCTL_TYPE, number, struct type),
    ACC_IOCTLS(X)
#undef X
};

_Static_assert(sizeof(struct acc_abi_version) == 64, "as DRM has it");
_Static_assert(sizeof(struct acc_abi_bo_init) == 24 && sizeof(struct acc_abi_bo_free) == 8 &&
                   sizeof(struct acc_abi_submit) == 152 && sizeof(struct acc_abi_nn_init) == 16 &&
                   sizeof(struct acc_abi_nn_sync) == 272 && sizeof(struct acc_abi_anec) == 288 &&
                   sizeof(struct acc_abi_caps) == 32,
               "sizes of the published structs");

#endif
