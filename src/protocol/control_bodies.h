/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of control commands that no source describes (CHOSEN, each of them), beside those of message.h. What
 * a source says of a value is named at it. A reply is written over the body.
 */
#ifndef PROTOCOL_CONTROL_BODIES_H
#define PROTOCOL_CONTROL_BODIES_H

#include "protocol/container.h"
#include "protocol/message.h"

/* PLATFORM_INFO: what the controller runs on. */
struct pr_body_platform {
    uint32_t chip_revision; /* of the register CHIP_REVISION */
    uint32_t engines, timebase_hz, page_bytes;
};

/* FW_RUN_MODE: one word. In diagnostic mode broken rules and refused commands are reported as DBG_EVENT. */
enum pr_run_mode { PR_RUN_NORMAL = 0, PR_RUN_DIAGNOSTIC = 1, PR_RUN_MODES };

/*
 * RPC_ENABLE: bits PR_RPC_LINES and PR_RPC_CALLS. SET_SNE_RPC_CHECK_CMD: 0 or 1. Bits of the state in
 * pr_body_config_ext.
 */
#define PR_RPC_LINES 1u /* log lines are sent on TERMINAL; after a boot, yes */
#define PR_RPC_CHECK 2u /* each command of BUF_H2T is logged; after a boot, no */
#define PR_RPC_CALLS 4u /* PR_RPC_DEBUG calls are made; after a boot, no */

/* CONFIG_GET_EXT: CONFIG_GET, and what the host has set since the boot. */
struct pr_body_config_ext {
    uint32_t timebase_hz, engines;
    uint32_t protocol_version, ring_version;
    uint32_t run_mode; /* enum pr_run_mode */
    uint32_t dsid;     /* PR_NO_ID before DSID_SET */
    uint32_t rpc;      /* PR_RPC_* */
    uint32_t profiling;
};

/* BOOT: how the controller booted. */
struct pr_body_boot {
    uint32_t mode;     /* PR_BOOT_COLD or PR_BOOT_WARM */
    uint32_t restarts; /* since power came */
};

/*
 * TIMEPROFILE_START has no body; TIMEPROFILE_STOP answers with the time and the finished calls in between.
 * TIMEPROFILE_SHOW with the body of command facts 2 (a u32 of 1, a u64 at +8) shows the profile so far and
 * does not end it. With struct pr_body_time it is the synchronisation of clocks.
 */
struct pr_body_profile {
    uint64_t span_ns, calls;
};
struct pr_body_profile_show {
    uint32_t one, zero;
    uint64_t span_ns, calls; /* in the reply */
};
_Static_assert(sizeof(struct pr_body_profile_show) == 0x18, "0x20 bytes with the 8-byte header of the facts");

/* BACK_CHANNEL_RPC on IO: struct pr_exe_rpc without its head. Of a payload the reply has the checksum. */
struct pr_body_rpc {
    uint32_t magic, length;
    uint32_t slot, status;
    uint64_t address, value; /* value in the reply: FNV-1a of the payload, as DEBUG_COMMAND_DATA_CHECK */
};

/*
 * DEBUG_COMMAND_DATA_CHECK: the magic number and the bound on the length are command facts 2; the places and
 * the checksum, the 32-bit FNV-1a of the data, are not.
 */
struct pr_body_data_check {
    uint32_t magic, bytes; /* bytes: of the data */
    uint32_t checksum;     /* in the reply */
    uint32_t zero;
    uint8_t data[];
};
#define PR_DATA_CHECK_MAGIC     0x55aa55aau
#define PR_DATA_CHECK_BYTES_MAX 0x800000u
#define PR_FNV_BASIS            0x811c9dc5u
#define PR_FNV_PRIME            0x01000193u
_Static_assert(sizeof(struct pr_body_data_check) == 16, "the data starts at 16");

/* PROGRAM_INTERFACE_VERSION_CHECK: one word, major << 16 | minor; the reply is the firmware's own. */
#define PR_PROGRAM_INTERFACE_VERSION (PR_CONTAINER_VERSION << 16)

/*
 * REG_FILE_LOAD: rows of registers at an offset of the engine container. The allow list has one register,
 * PRTY of a task queue. The H13 tunables have 488 bytes (command facts 2), which is 61 rows.
 */
#define PR_REG_FILE_ROWS   61u
#define PR_TQ_PRIORITY_MIN 1u /* the smallest and the largest value of Table 29.6's weights */
#define PR_TQ_PRIORITY_MAX 31u
struct pr_body_reg_file {
    uint32_t count, zero;
    struct {
        uint32_t reg, value;
    } row[PR_REG_FILE_ROWS];
};

/*
 * The buffers of BUF_T2H. CH_BUFFER_POOL_CONFIG_GET and _SET: how many are in use; a set has the first two
 * words, and the host must have none of them. CH_BUFFER_RECYCLE_MODE_SET chooses who frees a buffer;
 * CH_BUFFER_RECYCLE_START begins the automatic mode and CH_BUFFER_RECYCLE_STOP ends it: in between, a report
 * that finds no free buffer overwrites the oldest that the host has.
 */
struct pr_body_pool {
    uint32_t channel; /* PR_CHANNEL_BUF_T2H */
    uint32_t buffers; /* 1 to PR_LOAD_BUFFERS */
    uint32_t bytes;   /* of a buffer */
    uint32_t held;    /* the host has so many */
};
struct pr_body_recycle_mode {
    uint32_t channel;
    uint32_t mode; /* enum pr_recycle_mode */
};
enum pr_recycle_mode { PR_RECYCLE_BY_RETURN = 0, PR_RECYCLE_AUTOMATIC = 1, PR_RECYCLE_MODES };

/*
 * REQUEST_PROGRAM_ID, RETURN_PROGRAM_ID, REQUEST_PROCESS_ID, RETURN_PROCESS_ID have no body: the ids are
 * those of the header. A reserved id stays reserved until it is returned, also while a program or process
 * has it.
 */

#endif
