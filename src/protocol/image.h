/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's image: an executable (Mach-O) in a wrapper (Image4). That it is an unencrypted preload
 * Mach-O in Image4 with payload tag anef is the seeds' (ch. 29). The words of the Mach-O are those of
 * Apple's XNU (EXTERNAL_HEADERS/mach-o/loader.h, osfmk/mach/machine.h, osfmk/mach/arm/thread_status.h).
 * Names and nesting of the Image4 parts are as Apple's own files have them; the manifest is reduced to the
 * payload's digest (CHOSEN).
 */
#ifndef PROTOCOL_IMAGE_H
#define PROTOCOL_IMAGE_H

#include "protocol/bits.h"
#include "protocol/board.h"

/* Image4 is DER. Identifier octets of the types that occur in it. */
enum {
    PR_DER_INTEGER = 0x02,
    PR_DER_OCTETS = 0x04,
    PR_DER_IA5 = 0x16,
    PR_DER_SEQUENCE = 0x30,
    PR_DER_MANIFEST = 0xa0, /* context-specific 0, constructed */
};

/*
 * SEQUENCE { "IMG4", SEQUENCE { "IM4P", tag, description, OCTETS payload },
 *            [0] { SEQUENCE { "IM4M", INTEGER 0, SEQUENCE { "DGST", OCTETS SHA-256 of the payload } } } }
 */
#define PR_IMG4_MAGIC        "IMG4"
#define PR_IMG4_PAYLOAD      "IM4P"
#define PR_IMG4_MANIFEST     "IM4M"
#define PR_IMG4_DIGEST       "DGST"
#define PR_IMG4_VERSION      0u
#define PR_IMG4_DIGEST_BYTES 32u
#define PR_IMG4_TAG_BYTES    4u
#define PR_IMAGE_TAG         "anef"
#define PR_IMAGE_TEXT_MAX    96u /* of the description (CHOSEN) */

#define PR_MACHO_MAGIC           0xfeedfacfu
#define PR_MACHO_CPU_ARM64       0x0100000cu
#define PR_MACHO_PRELOAD         5u
#define PR_MACHO_NO_UNDEFINED    1u
#define PR_MACHO_SEGMENT         0x19u
#define PR_MACHO_THREAD          0x05u
#define PR_MACHO_UUID            0x1bu
#define PR_MACHO_FLAVOUR         6u
#define PR_MACHO_PROTECT_EXECUTE 4u
#define PR_MACHO_NAME_BYTES      16u
#define PR_MACHO_UUID_BYTES      16u

struct pr_macho_header {
    uint32_t magic, cpu, cpu_subtype, type, commands, command_bytes, flags, reserved;
};
struct pr_macho_command {
    uint32_t command, bytes;
};
struct pr_macho_segment {
    uint32_t command, bytes;
    char name[PR_MACHO_NAME_BYTES];
    uint64_t address, memory_bytes, offset, file_bytes;
    uint32_t protect_most, protect, sections, flags;
};
struct pr_macho_thread {
    uint32_t command, bytes, flavour, words;
    uint64_t x[29], fp, lr, sp, pc;
    uint32_t cpsr, flags;
};
struct pr_macho_uuid {
    uint32_t command, bytes;
    uint8_t uuid[PR_MACHO_UUID_BYTES];
};
#define PR_MACHO_THREAD_WORDS 68u
_Static_assert(sizeof(struct pr_macho_header) == 32 && sizeof(struct pr_macho_segment) == 72 &&
                   sizeof(struct pr_macho_thread) == 16 + 4 * PR_MACHO_THREAD_WORDS &&
                   sizeof(struct pr_macho_uuid) == 24,
               "sizes of the Mach-O's structs");

/*
 * The image is in a run of DRAM, in front of the firmware's carve-out. The reset vector names the entry by
 * its physical address; the controller's processor sees run and carve-out from PR_IMAGE_BASE on, on every
 * board, and addresses in the Mach-O are those of the processor. The vector has no bits for less than a
 * page, so the entry is at a multiple of one. All of this is CHOSEN.
 */
#define PR_IMAGE_BASE         0x10000000u
#define PR_IMAGE_RUN_BYTES    0x100000u
#define PR_IMAGE_FILE_MAX     0x200000u
#define PR_IMAGE_SEGMENTS_MAX 8u
_Static_assert(PR_IMAGE_RUN_BYTES % PR_PAGE_BYTES == 0, "whole pages");

/* An image that was built without a cross compiler has these bytes for code (CHOSEN). */
#define PR_IMAGE_NO_CODE       "anemone: no code"
#define PR_IMAGE_NO_CODE_BYTES 16u
_Static_assert(sizeof(PR_IMAGE_NO_CODE) == PR_IMAGE_NO_CODE_BYTES + 1, "the marker has 16 bytes");

#endif
