/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of bundles, a folder per key. An entry is built under another name and renamed into place, so that a key either does not exist or is whole. Several processes may
 * use one cache; a folder that one of them works in is locked (flock), so that leftovers of a process that ended can be told from it. What a reader finds broken is removed and
 * made again. The time of use of an entry is that of its folder.
 */
#ifndef COMPILER_STORE_CACHE_H
#define COMPILER_STORE_CACHE_H

#include "compiler/store/bundle.h"
#include "compiler/store/files.h"

/* SHA-256 of the sources of compiler and protocol in hex, made when they are built: what other sources compiled may be another program. */
extern const char cc_fingerprint[];

/* SHA-256 over operations, shapes, attributes, port names, constants, and the compiler's version and fingerprint. */
void cc_cache_key(const struct cc_graph *graph, char key[CC_KEY_BYTES]);
/* 1: found, whole and marked as used. 0: not there, or broken and removed. Negative: it cannot be read, or not removed. */
int cc_cache_find(const char *cache, const char *key, struct cc_bundle *bundle, struct base_error *error);
/* Writes the bundle as an entry. When another process was faster its entry stays. */
int cc_cache_add(const char *cache, const char *key, const struct cc_bundle *bundle,
                 struct base_error *error);

#endif
