/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program files of anecc and libane (.anec): a fixed header, then text and kernel. They are read into the
 * same struct as a program image. Sources: engine facts, sections 2.4, 3.7, 3.8 and 4.1.
 *
 *   header   0x6a8 bytes, packed, little-endian
 *     +0x000 u64 size, u32 td_size, u32 td_count, u64 tsk_size, u64 krn_size, u32 src_count, u32 dst_count
 *     +0x028 u32 tiles[32]: the size of each buffer in units of 16 KiB; 0 is an unused one
 *     +0x0a8 u64 nchw[32][6]: N, C, H, W, plane stride, row stride of each surface
 *   content  `size` bytes at 0x1000 (anecc; libane before e585747, omarchy) or at 0x800 (libane since, drv):
 *            where the first descriptor is
 *     text   tsk_size bytes: buffer 0
 *     kernel krn_size bytes, after the text rounded up to 16: buffer 1
 *
 * Buffer 3 is the intermediate. Surfaces begin at buffer 4: by convention destinations, then sources.
 * Files with the inputs first exist, so the descriptors decide: a buffer that any of them writes is a
 * destination, one that they only read is a source; one they never name is what the counts still lack,
 * destinations first. They decide about types too, which the header lacks: a surface holds what they take it
 * for, fp16 when none says.
 */
#ifndef PROGRAM_ANEC_H
#define PROGRAM_ANEC_H

#include "program/hwx.h"

#define PR_ANEC_HEADER_BYTES  0x6a8u
#define PR_ANEC_CONTENT       0x1000u
#define PR_ANEC_CONTENT_EARLY 0x800u
#define PR_ANEC_TILE          0x4000u
#define PR_ANEC_KERNEL_ALIGN  16u
#define PR_ANEC_FIRST_PORT    4u

/*
 * Reads an .anec file. Spans are places in it; addresses are made up, in the order of the buffers. Sources
 * are named x0, x1, ... and destinations y0, y1, ... by buffer. Any bytes give true, or false and a problem;
 * no byte outside the given ones is touched. Descriptors are judged only as far as their buffers are needed:
 * see chain.h.
 */
bool pr_anec_read(const void *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem);

/* A sentence for whoever runs the file elsewhere: which libraries read its content at the other place. */
void pr_anec_explain(const void *bytes, size_t size, const struct pr_hwx *hwx, struct pr_problem *note);

/* The image (.hwx) of an .anec that has been read, with the returns of pr_hwx_write. */
size_t pr_anec_write_image(const void *bytes, const struct pr_hwx *hwx, void *image, size_t capacity);

/* What a file is, by its first bytes; more than the head are not looked at, fewer may do. */
#define PR_PROGRAM_HEAD_BYTES 40u
enum pr_program_format { PR_PROGRAM_UNKNOWN, PR_PROGRAM_HWX, PR_PROGRAM_ANEC };
enum pr_program_format pr_program_format(const void *bytes, size_t size);

/* Reads a program file of either format. */
bool pr_program_read(const void *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem);

#endif
