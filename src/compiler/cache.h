/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of bundles, a folder per key. An entry is built beside under a name of its own and renamed into place, so that a name either does not exist or is whole; several
 * processes may work on one cache. What a reader finds broken is removed and made again. Its time of use is the folder's.
 */
#ifndef COMPILER_CACHE_H
#define COMPILER_CACHE_H

#include "compiler/bundle.h"
#include "compiler/files.h"

/* SHA-256 of the sources of compiler and protocol in hex, made when they are built: what other sources compiled may be another program. */
extern const char cc_fingerprint[];

/* SHA-256 over operations, shapes, attributes, port names, constants, and the compiler's version and fingerprint. */
void cc_cache_key(const struct cc_graph *graph, char key[CC_KEY_BYTES]);
/* 1: found, whole and marked as used. 0: not there, or broken and removed. Negative: cannot tell. */
int cc_cache_find(const char *cache, const char *key, struct cc_bundle *bundle, struct base_error *error);
/* Writes the bundle as an entry and trims the cache. When another process was faster its entry stays. */
int cc_cache_add(const char *cache, const char *key, const struct cc_bundle *bundle,
                 struct base_error *error);

#endif
