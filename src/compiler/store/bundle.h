/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: NAME.bundle/{main.e5, weights.bin, manifest.json, signature}, or a composite (composite.h). Calls
 * take both unless they say otherwise.
 */
#ifndef COMPILER_STORE_BUNDLE_H
#define COMPILER_STORE_BUNDLE_H

#include "compiler/compile.h"
#include "compiler/lower/lower.h"

#define CC_KEY_BYTES 65u /* 64 hexadecimal digits and a NUL */

/* main.e5 of a program, for the caller to base_free. */
int cc_bundle_main(const struct cc_program *program, uint8_t **bytes, size_t *size, struct base_error *error);
/*
 * The bundle of a program under a key, in memory; `sign`: with the user's key. It takes the program's
 * constants over, also when it fails.
 */
int cc_bundle_of(struct cc_program *program, const char *key, bool sign, struct cc_bundle *bundle,
                 struct base_error *error);
/* Makes it a bundle that is not signed, under a key that follows from the bytes of its two parts. */
int cc_bundle_rekey(struct cc_bundle *bundle, char key[CC_KEY_BYTES], struct base_error *error);
/* The files into an existing folder that has none of them. */
int cc_bundle_save(const char *folder, const struct cc_bundle *bundle, struct base_error *error);
/* 0 when the path is a folder of files that are a whole bundle, and of nothing else. */
int cc_bundle_check(const char *folder, struct base_error *error);
/* Removes the files of a bundle and the folder. Any other file in it stays, and is an error. */
int cc_bundle_delete(const char *folder);
/*
 * weights.bin of a bundle, of which the manifest states the size and the hash: small ones are read, large
 * ones stay in their file.
 */
int cc_bundle_hold_weights(const char *path, struct cc_bundle *bundle, uint64_t bytes, const char *hash,
                           struct base_error *error);
/* The same without reading large ones: their hash is taken to be the stated one. */
int cc_bundle_trust_weights(const char *path, struct cc_bundle *bundle, uint64_t bytes, const char *hash,
                            struct base_error *error);
/* A file of a bundle is not what the manifest states. */
int cc_bundle_refuse_part(const char *path, uint64_t found, uint64_t stated, const char *hash,
                          struct base_error *error);
/* cc_bundle_read, and the key that the manifest states. */
int cc_bundle_open(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                   struct base_error *error);
/* The same of a program alone: a composite is refused. */
int cc_bundle_open_program(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                           struct base_error *error);
/* The name of the model that the manifest states; empty when there is none or it cannot be read. */
void cc_bundle_model(const char *folder, char model[CC_MODEL_NAME_BYTES]);
/* Adds how many descriptors there are, and how large it is; from main.e5. */
int cc_bundle_measure(const struct cc_bundle *bundle, struct cc_report *report, struct base_error *error);

void cc_hex(const uint8_t *bytes, size_t count, char *text);
/* The reverse, of digits that were checked. */
void cc_unhex(const char *text, uint8_t *bytes, size_t count);

#endif
