/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task manager's registers and those of its eight queues. Sources: engine facts, sections 2.2 to 2.4
 * (offsets as public drivers use them); seeds Table 29.7, whose offsets +0x24000 and +0x25000 are the bases
 * of these two maps; CHOSEN: ours, where no source names what the model needs.
 */
#ifndef PROTOCOL_TM_REGS_H
#define PROTOCOL_TM_REGS_H

#include "protocol/bits.h"

#define PR_TQ_COUNT  8u
#define PR_TQ_STRIDE 0x148u
#define PR_TQ_BARS   32u

/*
 * Access: R, W, RW as the name says; POP: a word of the oldest event, which leaves its line when the last is
 * read.
 */
enum pr_access { PR_ACCESS_R, PR_ACCESS_W, PR_ACCESS_RW, PR_ACCESS_POP };

/* X(id, name, offset from the task manager's base, access, source) */
#define PR_TM_REGISTERS(X)                                            \
    X(REQ_ADDR, "REQ_ADDR", 0x00, RW, "engine facts 2.2, Table 29.7") \
    X(REQ_INFO, "REQ_INFO", 0x04, RW, "engine facts 2.2, Table 29.7") \
    X(REQ_PUSH, "REQ_PUSH", 0x08, W, "engine facts 2.2, Table 29.7")  \
    X(TQ_EN, "TQ_EN", 0x0c, RW, "engine facts 2.2")                   \
    X(ABORT, "ABORT", 0x10, W, "CHOSEN")                              \
    X(IRQ0_COUNT, "IRQ0_COUNT", 0x14, R, "engine facts 2.2")          \
    X(IRQ0_INFO, "IRQ0_INFO", 0x18, POP, "engine facts 2.2")          \
    X(IRQ0_UNK1, "IRQ0_UNK1", 0x1c, POP, "engine facts 2.2")          \
    X(IRQ0_TIME, "IRQ0_TIME", 0x20, POP, "engine facts 2.2")          \
    X(IRQ0_UNK2, "IRQ0_UNK2", 0x24, POP, "engine facts 2.2")          \
    X(IRQ1_COUNT, "IRQ1_COUNT", 0x28, R, "engine facts 2.2")          \
    X(IRQ1_INFO, "IRQ1_INFO", 0x2c, POP, "engine facts 2.2")          \
    X(IRQ1_UNK1, "IRQ1_UNK1", 0x30, POP, "engine facts 2.2")          \
    X(IRQ1_TIME, "IRQ1_TIME", 0x34, POP, "engine facts 2.2")          \
    X(IRQ1_UNK2, "IRQ1_UNK2", 0x38, POP, "engine facts 2.2")          \
    X(COMMITTED, "COMMITTED", 0x44, R, "engine facts 2.2")            \
    X(STATUS, "STATUS", 0x54, R, "engine facts 2.2")                  \
    X(ERROR1, "ERROR1", 0x58, RW, "engine facts 2.2")                 \
    X(ERROR2, "ERROR2", 0x5c, R, "engine facts 2.2")                  \
    X(ERROR3, "ERROR3", 0x60, R, "engine facts 2.2")                  \
    X(IRQ_EN1, "IRQ_EN1", 0x68, RW, "engine facts 2.2")               \
    X(IRQ_ACK, "IRQ_ACK", 0x6c, RW, "engine facts 2.2")               \
    X(IRQ_EN2, "IRQ_EN2", 0x70, RW, "engine facts 2.2")

/* X(id, name, offset from the queue's base, count, access, source); an array's registers are 4 bytes apart */
#define PR_TQ_REGISTERS(X)                                                           \
    X(STATUS, "STATUS", 0x000, 1, RW, "engine facts 2.3, Table 29.7")                \
    X(VACANCY_STATUS, "VACANCY_STATUS", 0x00c, 1, R, "engine facts 2.3, Table 29.7") \
    X(PRTY, "PRTY", 0x010, 1, RW, "engine facts 2.3")                                \
    X(VACANT, "VACANT", 0x014, 1, R, "engine facts 2.3")                             \
    X(INFO, "INFO", 0x01c, 1, R, "engine facts 2.3")                                 \
    X(BAR1, "BAR1", 0x020, 32, RW, "engine facts 2.3")                               \
    X(NID1, "NID1", 0x0a0, 1, RW, "engine facts 2.3, Table 29.7")                    \
    X(SIZE2, "SIZE2", 0x0a4, 1, RW, "engine facts 2.3")                              \
    X(ADDR2, "ADDR2", 0x0a8, 1, RW, "engine facts 2.3")                              \
    X(BAR2, "BAR2", 0x0ac, 32, RW, "engine facts 2.3")                               \
    X(NID2, "NID2", 0x12c, 1, RW, "engine facts 2.3")                                \
    X(SIZE1, "SIZE1", 0x130, 1, RW, "engine facts 2.3")                              \
    X(ADDR1, "ADDR1", 0x134, 1, RW, "engine facts 2.3")                              \
    X(STREAM, "STREAM", 0x138, 1, RW, "CHOSEN")

enum pr_tm_reg {
#define X(id, name, offset, access, source) PR_TM_##id = offset,
    PR_TM_REGISTERS(X)
#undef X
};

enum pr_tq_reg {
#define X(id, name, offset, count, access, source) PR_TQ_##id = offset,
    PR_TQ_REGISTERS(X)
#undef X
};

/* REQ_INFO; a queue's SIZE1 and SIZE2 have the size alone. */
#define PR_TM_INFO_SIZE_LO     16 /* words of the first descriptor - 1 */
#define PR_TM_INFO_SIZE_WIDTH  9
#define PR_TM_INFO_COUNT_LO    0 /* descriptors */
#define PR_TM_INFO_COUNT_WIDTH 16

/* REQ_PUSH: a priority parameter and the number of the queue, which the write starts. */
#define PR_TM_PUSH_PRIORITY_LO    0
#define PR_TM_PUSH_PRIORITY_WIDTH 8
#define PR_TM_PUSH_QUEUE_LO       8
#define PR_TM_PUSH_QUEUE_WIDTH    3

#define PR_TM_TQ_EN_ON    0x1000u /* OR-ed in by the driver */
#define PR_TM_STATUS_IDLE 0x1u
#define PR_TM_IRQ_EN1_ON  0x4000000u
#define PR_TM_IRQ_EN2_ON  0x6u
#define PR_TM_IRQ_ACK_0   0x2u
#define PR_TM_IRQ_ACK_1   0x4u

/* ABORT: the bit of a queue drops what it holds, stuck or running (CHOSEN). */
#define PR_TM_ABORT_QUEUE(queue) (1u << (queue))

/*
 * What the task manager reports of a request that did not end well (CHOSEN: no source has its codes). Coarse
 * on purpose: why a descriptor is refused is this model's finding, not the silicon's, and is in the machine's
 * own record. X(id, value, text)
 */
#define PR_TM_CODES(X)                               \
    X(FINE, 0, "no error")                           \
    X(DESCRIPTOR, 1, "a descriptor was refused")     \
    X(TRANSLATION, 2, "the DART refused an address") \
    X(PUSH, 3, "a push was lost")
/* Which transfer an address belongs to (CHOSEN). X(id, value, text) */
#define PR_TM_DMAS(X)               \
    X(NONE, 0, "no transfer")       \
    X(FETCH, 1, "descriptor fetch") \
    X(SOURCE1, 2, "source 1")       \
    X(SOURCE2, 3, "source 2")       \
    X(KERNEL, 4, "kernel")          \
    X(DESTINATION, 5, "destination")

enum pr_tm_code {
#define X(id, value, text) PR_TM_CODE_##id = value,
    PR_TM_CODES(X)
#undef X
};
enum pr_tm_dma {
#define X(id, value, text) PR_TM_DMA_##id = value,
    PR_TM_DMAS(X)
#undef X
};
const char *pr_tm_code_text(uint32_t code);
const char *pr_tm_dma_text(uint32_t dma);

/*
 * IRQ0_INFO and IRQ1_INFO of a completion: 0x05000000, the network, and the index of the last descriptor,
 * which is what the maintained Linux driver waits for (omarchy). A request that failed has bit 27 in
 * addition, and the index of the descriptor that it failed on (CHOSEN).
 */
#define PR_TM_EVENT_KIND_LO     24
#define PR_TM_EVENT_KIND_WIDTH  8
#define PR_TM_EVENT_COMPLETED   0x05u
#define PR_TM_EVENT_FAILED      0x0du
#define PR_TM_EVENT_NID_LO      16
#define PR_TM_EVENT_NID_WIDTH   8
#define PR_TM_EVENT_INDEX_LO    0
#define PR_TM_EVENT_INDEX_WIDTH 16
/* IRQ0_UNK1 and IRQ1_UNK1: the code, 0 when all is well, and the queue (CHOSEN). */
#define PR_TM_EVENT_CODE_LO     8
#define PR_TM_EVENT_CODE_WIDTH  8
#define PR_TM_EVENT_QUEUE_LO    0
#define PR_TM_EVENT_QUEUE_WIDTH 8

#define PR_TM_COMMITTED_NID_LO    16
#define PR_TM_COMMITTED_NID_WIDTH 8

/*
 * ERROR1 to ERROR3 hold this when there is no error. Their contents otherwise are unknown; here ERROR1 has
 * the code, the queue and the transfer, ERROR2 the descriptor's address, and ERROR3 the first address of the
 * transfer (CHOSEN).
 */
#define PR_TM_ERRORS             3u
#define PR_TM_ERROR_FINE         0x22222222u
#define PR_TM_ERROR1_CODE_LO     0
#define PR_TM_ERROR1_CODE_WIDTH  8
#define PR_TM_ERROR1_QUEUE_LO    8
#define PR_TM_ERROR1_QUEUE_WIDTH 8
#define PR_TM_ERROR1_DMA_LO      16
#define PR_TM_ERROR1_DMA_WIDTH   4

#define PR_TQ_STATUS_IN_USE 0x1u

/* NID1 and NID2: the network's number and a valid bit. INFO holds the number in its low half. */
#define PR_TQ_NID_VALID      0x1u
#define PR_TQ_NID_LO         8
#define PR_TQ_NID_WIDTH      8
#define PR_TQ_INFO_NID_LO    0
#define PR_TQ_INFO_NID_WIDTH 16

/* STREAM: the DART stream whose table translates the queue's traffic (CHOSEN). */
#define PR_TQ_STREAM_LO    0
#define PR_TQ_STREAM_WIDTH 4

/* What the driver writes to PRTY of queues 0 to 7 and to REQ_PUSH (engine facts 2.3, seeds ch. 29). */
extern const uint8_t pr_tq_priority[PR_TQ_COUNT];

/* The name of the register at an offset, an array's for all its elements; NULL where there is none. */
const char *pr_tm_reg_name(uint32_t offset);
const char *pr_tq_reg_name(uint32_t offset);

#endif
