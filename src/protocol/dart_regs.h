/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DART's registers, page tables and leaf forms.
 * Sources: seeds Tables 28.1-28.4 and 28.10; engine facts section 5 (the Linux driver's layout) for what the
 * seeds leave open.
 */
#ifndef PROTOCOL_DART_REGS_H
#define PROTOCOL_DART_REGS_H

#include "protocol/bits.h"

#define PR_DART_APERTURE_BYTES 0xE0000000u /* 3.5 GiB */
#define PR_DART_PAGES          (PR_DART_APERTURE_BYTES / 0x4000u)
#define PR_DMA_GRANULE         16u /* Table 28.9: the data-movement quantum; where a buffer may begin */
#define PR_DART_STREAMS        16u
#define PR_DART_TTBRS          4u /* per stream */
#define PR_DART_WINDOW_BYTES   0x4000u

/* X(id, name, offset, count, stride, source) */
#define PR_DART_REGISTERS(X)                                             \
    X(PARAMS1, "PARAMS1", 0x00, 1, 4, "engine facts 5.1")                \
    X(PARAMS2, "PARAMS2", 0x04, 1, 4, "engine facts 5.1")                \
    X(STREAM_COMMAND, "STREAM_COMMAND", 0x20, 1, 4, "engine facts 5.1")  \
    X(STREAM_SELECT, "STREAM_SELECT", 0x34, 1, 4, "engine facts 5.1")    \
    X(ERROR, "ERROR", 0x40, 1, 4, "Table 28.3")                          \
    X(ERROR_ADDR_LO, "ERROR_ADDR_LO", 0x50, 1, 4, "Table 28.3")          \
    X(ERROR_ADDR_HI, "ERROR_ADDR_HI", 0x54, 1, 4, "Table 28.3")          \
    X(CONFIG, "CONFIG", 0x60, 1, 4, "engine facts 5.1")                  \
    X(UNKNOWN_68, "UNKNOWN_68", 0x68, 2, 4, "CHOSEN: plain storage")     \
    X(REMAP, "REMAP", 0x80, 4, 4, "engine facts 5.1")                    \
    X(DAPF_LOCK, "DAPF_LOCK", 0xf0, 1, 4, "CHOSEN: plain storage")       \
    X(DAPF_UNKNOWN, "DAPF_UNKNOWN", 0xf8, 1, 4, "CHOSEN: plain storage") \
    X(ENABLED_STREAMS, "ENABLED_STREAMS", 0xfc, 1, 4, "Table 28.3")      \
    X(TCR, "TCR", 0x100, 16, 4, "Table 28.3")                            \
    X(TTBR, "TTBR", 0x200, 64, 4, "Table 28.3")                          \
    X(TLB_CONTROL, "TLB_CONTROL", 0x1000, 1, 4, "Table 28.3")            \
    X(TLB_STATUS, "TLB_STATUS", 0x100c, 1, 4, "Table 28.10")             \
    X(TLB_ERROR0, "TLB_ERROR0", 0x1020, 1, 4, "Table 28.3")              \
    X(TLB_ERROR1, "TLB_ERROR1", 0x1028, 1, 4, "Table 28.3")

enum pr_dart_reg {
#define X(id, name, offset, count, stride, source) PR_DART_##id = offset,
    PR_DART_REGISTERS(X)
#undef X
};

#define PR_DART_PARAMS1_PAGE_SHIFT_LO 24 /* [27:24] page shift - 0 in units of the driver's reading */
#define PR_DART_PARAMS2_BYPASS        0x1u
#define PR_DART_COMMAND_INVALIDATE    (1u << 20)
#define PR_DART_COMMAND_BUSY          (1u << 2)
#define PR_DART_TCR_TRANSLATE         (1u << 7)
#define PR_DART_TCR_BYPASS            (1u << 8)
#define PR_DART_TCR_NO_WRITE          (1u << 16) /* CHOSEN: the seeds name the word, no bit */
#define PR_DART_TCR_NO_READ           (1u << 17) /* CHOSEN */
#define PR_DART_TTBR_VALID            (1u << 31)
#define PR_DART_TTBR_SHIFT            12
#define PR_DART_CONFIG_LOCK           (1u << 15)
#define PR_DART_CONFIG_RESET          0x80000025u /* the live config word of Table 28.2 */
/* Read-only pages are mapped read-write (text below Table 28.5; which of the three option bits is chosen). */
#define PR_DART_CONFIG_NO_READ_ONLY (1u << 5)

/* Streams: 0-2 on the base table; 13 and 15 bypass (Table 28.2); 3-9 carry domains 1-7 (chosen). */
#define PR_DART_BASE_STREAMS        0x0007u
#define PR_DART_BYPASS_STREAMS      0xa000u
#define PR_DART_DOMAIN_STREAM_FIRST 3u
#define PR_DART_DOMAINS             8u

/*
 * The controller's node in the device tree (Table 28.2): its name, and X(kind of value, key, value). The keys
 * are those of public device trees.
 */
#define PR_DART_NODE            "dart-ane0"
#define PR_DART_NODE_COMPATIBLE "dart,t6000"
#define PR_DART_NODE_STREAMS    0x0000a001u
#define PR_DART_NODE_OPTIONS    0x25u
#define PR_DART_NODE_PROPERTIES(X)                 \
    X(TEXT, "compatible", PR_DART_NODE_COMPATIBLE) \
    X(NUMBER, "page-size", 0x4000)                 \
    X(NUMBER, "sids", PR_DART_NODE_STREAMS)        \
    X(NUMBER, "bypass", PR_DART_BYPASS_STREAMS)    \
    X(NUMBER, "sid-count", PR_DART_STREAMS)        \
    X(NUMBER, "dart-options", PR_DART_NODE_OPTIONS)
/*
 * What the controller owns: a mapper nub for each domain, the base first; each owns one mapper. The isolation
 * contexts are what the secure exclave receives as capabilities of these names; this generation's firmware
 * has no exclave mode, so that they are names alone (ch. 28). X(domain, nub, capability)
 */
#define PR_DART_MAPPERS(X)                \
    X(0, "mapper-ane0", NULL)             \
    X(1, "mapper-ane0-iso1", "ANEIsoID1") \
    X(2, "mapper-ane0-iso2", "ANEIsoID2") \
    X(3, "mapper-ane0-iso3", "ANEIsoID3") \
    X(4, "mapper-ane0-iso4", "ANEIsoID4") \
    X(5, "mapper-ane0-iso5", "ANEIsoID5") \
    X(6, "mapper-ane0-iso6", "ANEIsoID6") \
    X(7, "mapper-ane0-iso7", "ANEIsoID7")
#define PR_DART_CAPABILITY_KEY "exclave-capability" /* the nub's property (CHOSEN) */

/* ERROR: flag 31, stream 27-24, then one bit per code. X(id, bit, text) */
#define PR_DART_ERROR_FLAG         (1u << 31)
#define PR_DART_ERROR_STREAM_LO    24
#define PR_DART_ERROR_STREAM_WIDTH 4
#define PR_DART_ERRORS(X)                                \
    X(NO_TTBR, 0, "no translation table base")           \
    X(NO_PMD, 1, "no second-level table")                \
    X(NO_PTE, 2, "no page")                              \
    X(WRITE_FAULT, 3, "page is not writable")            \
    X(READ_FAULT, 4, "page is not readable")             \
    X(PTE_READ_FAULT, 6, "page table is outside memory") \
    X(SUBPAGE_PROT, 7, "outside the sub-page range")     \
    X(WRITE, 10, "the access was a write")               \
    X(NO_DAPF_MATCH, 11, "no address filter matched")

enum pr_dart_error {
#define X(id, bit, text) PR_DART_ERROR_##id = 1 << (bit),
    PR_DART_ERRORS(X)
#undef X
};

/*
 * TLB_ERROR0 and TLB_ERROR1 (CHOSEN: their contents are not public). The first has the indices of the walk
 * that failed, as IODARTErrorInfo names them; the second the level at which it failed, and how many faults
 * came after the captured one.
 */
#define PR_DART_TLB_L3_LO       0
#define PR_DART_TLB_L2_LO       11
#define PR_DART_TLB_INDEX_WIDTH 11
#define PR_DART_TLB_TTBR_LO     22
#define PR_DART_TLB_TTBR_WIDTH  2
#define PR_DART_TLB_LEVEL_LO    0
#define PR_DART_TLB_LEVEL_WIDTH 2
#define PR_DART_TLB_MISSED_LO   16
#define PR_DART_TLB_MISSED_MAX  0xffffu
/* X(id, value, text) */
#define PR_DART_LEVELS(X)                     \
    X(STREAM, 0, "the stream: no walk began") \
    X(L2, 1, "the first table")               \
    X(L3, 2, "the second table")              \
    X(PAGE, 3, "the page that the walk arrived at")

enum pr_dart_level {
#define X(id, value, text) PR_DART_LEVEL_##id = value,
    PR_DART_LEVELS(X)
#undef X
};

/*
 * Two levels below the table base: 2048 entries of 8 bytes each. VA [37:36] TTBR, [35:25] first, [24:14]
 * second, [13:0] offset.
 */
#define PR_DART_TABLE_ENTRIES    2048u
#define PR_DART_L1_SHIFT         25
#define PR_DART_L2_SHIFT         14
#define PR_DART_TTBR_INDEX_SHIFT 36

static inline uint64_t pr_dart_ttbr_address(uint32_t ttbr)
{
    return (uint64_t)(ttbr & ~PR_DART_TTBR_VALID) << PR_DART_TTBR_SHIFT;
}

static inline uint32_t pr_dart_ttbr_make(uint64_t table)
{
    return (uint32_t)(table >> PR_DART_TTBR_SHIFT) | PR_DART_TTBR_VALID;
}

/* Page-table entry forms. */
enum pr_leaf_form { PR_LEAF_SEED, PR_LEAF_T8020, PR_LEAF_T6000, PR_LEAF_FORMS };

/* X(protection bit, leaf bit): the aux protection classes of Table 28.4, in the seed form only */
#define PR_LEAF_AUX_3 62
#define PR_LEAF_AUX_4 60
#define PR_LEAF_AUX_5 59
#define PR_LEAF_AUX(X)  \
    X(3, PR_LEAF_AUX_3) \
    X(4, PR_LEAF_AUX_4) \
    X(5, PR_LEAF_AUX_5)
#define PR_LEAF_SUB_END 0xfffu /* `sub_end` of a whole page */

struct pr_leaf {
    bool valid;
    bool no_read, no_write;      /* the seed form has no such bits */
    uint32_t aux;                /* protection bits 3 to 5 */
    uint64_t frame;              /* physical address of the page or next table */
    uint32_t sub_start, sub_end; /* sub-page range in 4-byte units: 0 and 0xfff mean the whole page */
};

const char *pr_leaf_form_name(enum pr_leaf_form form);
struct pr_leaf pr_leaf_decode(enum pr_leaf_form form, uint64_t word);
uint64_t pr_leaf_encode(enum pr_leaf_form form, const struct pr_leaf *leaf);

#endif
