/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites: NAME.bundle/{0.bundle/, 1.graph, ..., manifest.json, signature}, a folder or a file per
 * segment. The manifest has the wires of every port and the SHA-256 of every segment; of one on the engine
 * that of its manifest, which has those of its files. The signature is that of the SHA-256 of the manifest as
 * far as the list of segments.
 */
#ifndef COMPILER_STORE_COMPOSITE_H
#define COMPILER_STORE_COMPOSITE_H

#include "compiler/store/bundle.h"

#define CC_SEGMENTS_MAX 256u /* chosen */

/* Of a bundle whose segments and wires are filled in; `model` is a path or NULL. */
int cc_composite_finish(struct cc_bundle *bundle, const char *key, const char *model, bool sign,
                        struct base_error *error);
/* Whether the folder has the manifest of a composite, by its beginning. */
bool cc_composite_is(const char *folder);
int cc_composite_open(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                      struct base_error *error);
/* The segments into a folder: all but the manifest and the signature. */
int cc_composite_save(const char *folder, const struct cc_bundle *bundle, struct base_error *error);
void cc_composite_release(struct cc_bundle *bundle);
int cc_composite_measure(const struct cc_bundle *bundle, struct cc_report *report, struct base_error *error);
/* Refuses any file that is not of a composite. */
int cc_composite_check_names(const char *folder, struct base_error *error);
/* Removes the segments. */
int cc_composite_delete(const char *folder);

#endif
