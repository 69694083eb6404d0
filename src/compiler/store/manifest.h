/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: JSON in one fixed form, so that they are read by comparison. Shared by both kinds of bundles. */
#ifndef COMPILER_STORE_MANIFEST_H
#define COMPILER_STORE_MANIFEST_H

#include "compiler/store/bundle.h"

#define CC_MANIFEST           "manifest.json"
#define CC_MANIFEST_VERSION   5u /* from 5 on the hashes of a program's files are those of base/tree.h */
#define CC_SIGNATURE          "signature"
#define CC_MANIFEST_BYTES_MAX (64u << 20)
#define CC_MANIFEST_HEAD      1024u /* bytes of all but the lists */

/* The pieces that both kinds have, in their order; values are between them. */
#define CC_FORM_VERSION     "{\n  \"format_version\": "
#define CC_FORM_KEY         ",\n  \"key\": \""
#define CC_FORM_MODEL       "\",\n  \"model\": \""
#define CC_FORM_HASH        ", \"sha256\": \""
#define CC_FORM_TREE        ", \"sha256_tree\": \""
#define CC_FORM_SIGNED      "],\n  \"" CC_SIGNATURE "\": {\"ed25519\": \""
#define CC_FORM_SELF        "],\n  \"sha256\": \""
#define CC_FORM_SELF_SIGNED "\"},\n  \"sha256\": \""
#define CC_FORM_END         "\"\n}\n"

enum { CC_HASH_DIGITS = 2 * CC_HASH_BYTES };

/* SHA-256 in hexadecimal. */
void cc_hash_text(const void *bytes, size_t size, char text[CC_HASH_DIGITS + 1]);

/* Where a text is read. After the first difference nothing is read any more. */
struct cc_cursor {
    const char *at;
    bool wrong;
};
void cc_cursor_expect(struct cc_cursor *c, const char *form);
bool cc_cursor_is(const struct cc_cursor *c, const char *form);
/* At most UINT32_MAX, without zeros before it. */
uint64_t cc_cursor_number(struct cc_cursor *c);
void cc_cursor_digits(struct cc_cursor *c, char text[CC_HASH_DIGITS + 1]);

/* The last part of a path as the name of a model: cut, with other characters than plain ones replaced. */
void cc_manifest_model(const char *path, char name[CC_MODEL_NAME_BYTES]);
/* The beginning; returns its length. `model` may be empty. */
size_t cc_manifest_write_head(char *text, size_t capacity, const char *key, const char *model);
/* As far as the name of the model, which need not be there. */
void cc_manifest_read_head(struct cc_cursor *c, char key[CC_KEY_BYTES], char model[CC_MODEL_NAME_BYTES]);
/* The end, behind `at` bytes: who signed the bundle, and the manifest's own hash. */
void cc_manifest_write_end(char *text, size_t at, size_t capacity, const struct cc_bundle *bundle);
/* The same of a text of `size` bytes; `signer` is empty when it is not signed. False: not of this form. */
bool cc_manifest_read_end(struct cc_cursor *c, const char *text, size_t size,
                          char signer[CC_HASH_DIGITS + 1]);
/* Reads the signature that the manifest names: of that key, and right for bundle->hashes. */
int cc_signature_read(const char *folder, const char *signer, struct cc_bundle *bundle,
                      struct base_error *error);

#endif
