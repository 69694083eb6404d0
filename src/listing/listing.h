/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form of a descriptor stream. pr_listing_write makes it, pr_assemble (assemble.h) reads it; any
 * bytes survive the way there and back. One statement per line; spaces and tabs separate words; `#` begins a
 * comment. Numbers are decimal or 0x hexadecimal, at most 32 bits.
 *
 *   stream     = [ "listing" VERSION ] { descriptor | data | bytes | "chain" } [ "end" SIZE ]
 *   descriptor = "descriptor" [ INDEX ] [ "at" OFFSET ] [ "words" WORDS ]   a line, then its parts:
 *                { "header" WORDS | header } { write { register } }
 *   header     = [ "w" NUMBER [ VALUE ] ] { FIELD "=" VALUE }               a header word and its fields
 *   write      = "write" TARGET [ COUNT ]                                   a record of COUNT register words
 *   register   = NAME [ "[" FROM [ "-" TO ] "]" ] [ VALUE ] { FIELD "=" VALUE }
 *   data       = "data" OFFSET { WORD }                                     words outside descriptors
 *   bytes      = "bytes" OFFSET { BYTE }                                    the same in bytes
 *
 * Descriptors, data and bytes are in ascending order of their offsets and do not overlap; everything not
 * named is 0.
 * descriptor  INDEX is for the reader only. OFFSET is otherwise the next multiple of 0x100. WORDS is
 *             otherwise what the parts need; with more, zeros follow them.
 * header      WORDS is 10 or 11; otherwise 11 when TDE is set. Header statements come before the first write.
 *             The fields need no word number; with one they must belong to that word.
 * VALUE       as a word of its own it sets the whole word, before the fields. `+bits=` sets bits as a mask:
 *             the listing uses it for bits that no field covers.
 * write       TARGET is a register address, a block (`L2`), or a register (`L2.SourceCfg`). COUNT is
 *             otherwise the whole block, or 1.
 * register    FROM - TO are elements of an array, all of them set alike; without brackets it is the first.
 * chain       fills NextPointer, NextSize, LNID and EON of all descriptors of the stream, in the text's
 *             order.
 * end         the stream's size in bytes; otherwise it ends with its last descriptor, data or bytes.
 *
 * The listing shows non-zero words only, and no `chain`: the fields that chain are shown as they are.
 */
#ifndef LISTING_LISTING_H
#define LISTING_LISTING_H

#include "protocol/problem.h"
#include "program/td.h"

#define PR_LISTING_VERSION 1u
/* Bytes of a stream: 64 MiB; chosen, the largest known has 10,240 descriptors. */
#define PR_LISTING_BYTES_MAX 0x4000000u

/* One line, without a line end. */
typedef void (*pr_listing_line)(void *context, const char *line, size_t length);

/*
 * Lists a stream whose first descriptor declares `first_words` words. What the chain reaches, in ascending
 * order and with framing intact, is shown as descriptors; all other bytes as data. False when the stream
 * exceeds the limit.
 */
bool pr_listing_write(const void *bytes, size_t size, uint32_t first_words, pr_listing_line line,
                      void *context, struct pr_problem *problem);

#endif
