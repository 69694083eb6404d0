/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of bundles, a folder per key. An entry is built under another name and renamed into place, so
 * that a key either does not exist or is complete. Several processes may use one cache; a folder that a
 * process works in is locked (flock), which distinguishes it from the leftovers of a process that ended. A
 * reader removes a broken entry, and it is compiled again. The time of use of an entry is that of its folder.
 */
#ifndef COMPILER_STORE_CACHE_H
#define COMPILER_STORE_CACHE_H

#include "compiler/store/bundle.h"
#include "compiler/store/files.h"

/*
 * SHA-256 of the sources of compiler, program and protocol in hexadecimal, computed by the build: other
 * sources may compile another program.
 */
extern const char cc_fingerprint[];

/*
 * SHA-256 over operations, shapes, attributes, port names, constants, and the compiler's version and
 * fingerprint.
 */
void cc_cache_key(const struct cc_graph *graph, char key[CC_KEY_BYTES]);
/* The key of the same graph, lowered with an option that changes its program. */
void cc_cache_key_option(const char *option, char key[CC_KEY_BYTES]);
/* Of the composite of a graph, which is not to be found without allow_fallback: replaces the graph's key. */
void cc_cache_key_fallback(char key[CC_KEY_BYTES]);
/*
 * 1: found, complete and marked as used. 0: absent, or broken and removed. Negative: cannot be read or
 * removed. `is_signed`: the entry has to be, with the user's key; else it must not be.
 */
int cc_cache_find(const char *cache, const char *key, bool is_signed, struct cc_bundle *bundle,
                  struct base_error *error);
/* Writes the bundle as an entry. When another process was faster its entry stays. */
int cc_cache_add(const char *cache, const char *key, const struct cc_bundle *bundle,
                 struct base_error *error);

#endif
