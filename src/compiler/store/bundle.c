/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles on disk. The manifest is JSON in one fixed form, so that it is read by comparison. */
#include "compiler/store/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/tree.h"
#include "compiler/store/composite.h"
#include "compiler/store/files.h"
#include "compiler/store/manifest.h"

#define MAIN           "main.e5"
#define WEIGHTS        "weights.bin"
#define MAIN_BYTES_MAX (64u << 20)
#define BLOB_LINE      160u

/* The manifest's pieces, in their order; values are between them. */
#define FORM_MAIN       "\",\n  \"" MAIN "\": {\"bytes\": "
#define FORM_WEIGHTS    "\"},\n  \"" WEIGHTS "\": {\"bytes\": "
#define FORM_BLOBS      "\"},\n  \"blobs\": ["
#define FORM_BLOB       "\n    {\"offset\": "
#define FORM_BLOB_BYTES ", \"bytes\": "
#define FORM_BLOB_END   "\"}"

/* Writing. */

static int manifest(const struct cc_program *p, const char *key, struct cc_bundle *b,
                    struct base_error *error)
{
    char **text = &b->manifest;
    size_t capacity = CC_MANIFEST_HEAD + (size_t)p->blobs * BLOB_LINE, at;
    char main_hash[CC_HASH_DIGITS + 1], weights_hash[CC_HASH_DIGITS + 1], hash[CC_HASH_DIGITS + 1];

    *text = base_alloc(capacity);
    if (!*text)
        return base_fail(error, ENOMEM, "There is no memory for the manifest.");
    cc_hex(b->hashes.part[0], BASE_HASH_BYTES, main_hash);
    cc_hex(b->hashes.part[1], BASE_HASH_BYTES, weights_hash);
    cc_manifest_model(p->model, b->model);
    at = cc_manifest_write_head(*text, capacity, key, b->model);
    at += (size_t)snprintf(*text + at, capacity - at,
                           FORM_MAIN "%zu" CC_FORM_TREE "%s" FORM_WEIGHTS "%u" CC_FORM_TREE "%s" FORM_BLOBS,
                           b->main_bytes, main_hash, p->constant_bytes, weights_hash);
    for (uint32_t i = 0; i < p->blobs; i++) {
        cc_hex(p->blob[i].hash, CC_HASH_BYTES, hash);
        at += (size_t)snprintf(*text + at, capacity - at,
                               "%s" FORM_BLOB "%u" FORM_BLOB_BYTES "%u" CC_FORM_TREE "%s" FORM_BLOB_END,
                               i ? "," : "", p->blob[i].offset, p->blob[i].bytes, hash);
    }
    cc_manifest_write_end(*text, at, capacity, b);
    return 0;
}

static int write_file(const char *folder, const char *name, const void *bytes, size_t size,
                      struct base_error *error)
{
    char path[CC_PATH_BYTES];
    int status = cc_path_join(path, folder, name, error);

    return status ? status : cc_file_write(path, bytes, size, error);
}

static int write_weights(const char *folder, const struct cc_bundle *bundle, struct base_error *error)
{
    char path[CC_PATH_BYTES];
    int status = cc_path_join(path, folder, WEIGHTS, error), file;

    if (!status)
        status = cc_file_create(path, &file, error);
    return status ? status : cc_file_finish(path, file, cc_bundle_put_weights(bundle, file, 0), error);
}

/*
 * Runs the reader and the expander of the driver: an error here is one of the compiler. Records of a bundle
 * that only goes to the driver are left to it.
 */
static int check_main(const uint8_t *bytes, size_t size, uint64_t weights, bool records, struct pr_e5 *e5,
                      struct base_error *error)
{
    struct pr_problem problem = {0};
    uint32_t words;

    if (!pr_e5_read(bytes, size, e5, &problem) || (records && !pr_e5_expand(e5, NULL, 0, &words, &problem)))
        return base_fail(error, EBADMSG, "%s", problem.text);
    if (e5->constant_bytes != weights)
        return base_fail(error, EBADMSG,
                         "main.e5 needs %u bytes of constants and weights.bin has %" PRIu64 ".",
                         e5->constant_bytes, weights);
    return 0;
}

/* The program's constants, of which large models have no room for a second copy. */
static uint8_t *take_constants(struct cc_program *program)
{
    uint8_t *constants = program->constant ? program->constant : base_alloc(0);

    program->constant = NULL;
    return constants;
}

static int fill(struct cc_program *program, const char *key, bool sign, struct cc_bundle *b,
                struct base_error *error)
{
    int status = cc_bundle_main(program, &b->main, &b->main_bytes, error);
    struct pr_e5 *e5;

    if (status)
        return status;
    e5 = base_alloc(sizeof(*e5));
    b->weights = take_constants(program);
    b->weights_bytes = program->constant_bytes;
    if (!e5 || !b->weights) {
        base_free(e5);
        return base_fail(error, ENOMEM, "There is no memory for a bundle.");
    }
    status = check_main(b->main, b->main_bytes, b->weights_bytes, true, e5, error);
    base_free(e5);
    if (status)
        return status;
    base_tree_of(b->main, b->main_bytes, b->hashes.part[0]);
    base_tree_of(b->weights, b->weights_bytes, b->hashes.part[1]);
    if (sign)
        base_signing_sign(&b->hashes, &b->signature, NULL);
    b->is_signed = sign;
    return manifest(program, key, b, error);
}

int cc_bundle_of(struct cc_program *program, const char *key, bool sign, struct cc_bundle *bundle,
                 struct base_error *error)
{
    int status;

    memset(bundle, 0, sizeof(*bundle));
    status = fill(program, key, sign, bundle, error);
    if (status)
        cc_bundle_release(bundle);
    return status;
}

/* Apart from any graph's key, which is a hash of longer input that begins otherwise. */
static void contents_key(const struct base_hashes *hashes, char key[CC_KEY_BYTES])
{
    static const char subject[16] = "anemone bundle1";
    uint8_t text[sizeof(subject) + sizeof(*hashes)];

    memcpy(text, subject, sizeof(subject));
    memcpy(text + sizeof(subject), hashes, sizeof(*hashes));
    cc_hash_text(text, sizeof(text), key);
}

int cc_bundle_rekey(struct cc_bundle *bundle, char key[CC_KEY_BYTES], struct base_error *error)
{
    const char *end = strstr(bundle->manifest, bundle->is_signed ? CC_FORM_SIGNED : CC_FORM_SELF);
    char *place = strstr(bundle->manifest, CC_FORM_KEY), *text;
    size_t kept, capacity;

    if (!place || !end)
        return base_fail(error, EBADMSG, "The manifest of the bundle has no key or no end.");
    kept = (size_t)(end - bundle->manifest);
    capacity = kept + CC_MANIFEST_HEAD;
    text = base_alloc(capacity);
    if (!text)
        return base_fail(error, ENOMEM, "There is no memory for the manifest.");
    contents_key(&bundle->hashes, key);
    memcpy(place + strlen(CC_FORM_KEY), key, CC_HASH_DIGITS);
    memcpy(text, bundle->manifest, kept);
    bundle->is_signed = false;
    cc_manifest_write_end(text, kept, capacity, bundle);
    base_free(bundle->manifest);
    bundle->manifest = text;
    return 0;
}

int cc_bundle_save(const char *folder, const struct cc_bundle *bundle, struct base_error *error)
{
    int status = bundle->parts ? cc_composite_save(folder, bundle, error)
                               : write_file(folder, MAIN, bundle->main, bundle->main_bytes, error);

    if (!status && !bundle->parts)
        status = write_weights(folder, bundle, error);
    if (!status)
        status = write_file(folder, CC_MANIFEST, bundle->manifest, strlen(bundle->manifest), error);
    if (!status && bundle->is_signed)
        status = write_file(folder, CC_SIGNATURE, &bundle->signature, sizeof(bundle->signature), error);
    return status;
}

/* Reading. */

struct contents {
    char key[CC_KEY_BYTES];
    char model[CC_MODEL_NAME_BYTES];
    uint64_t main_bytes, weights_bytes;
    char main_hash[CC_HASH_DIGITS + 1], weights_hash[CC_HASH_DIGITS + 1];
    char signer[CC_HASH_DIGITS + 1];
};

static void read_blobs(struct cc_cursor *c, uint64_t weights)
{
    char hash[CC_HASH_DIGITS + 1];
    uint64_t end = 0;

    while (cc_cursor_is(c, end ? "," FORM_BLOB : FORM_BLOB)) {
        cc_cursor_expect(c, end ? "," FORM_BLOB : FORM_BLOB);
        c->wrong |= cc_cursor_number(c) != end;
        cc_cursor_expect(c, FORM_BLOB_BYTES);
        end += cc_cursor_number(c);
        cc_cursor_expect(c, CC_FORM_TREE);
        cc_cursor_digits(c, hash);
        cc_cursor_expect(c, FORM_BLOB_END);
    }
    c->wrong |= end != weights;
}

static bool read_manifest(const char *text, size_t size, struct contents *m)
{
    struct cc_cursor c = {.at = text};

    cc_manifest_read_head(&c, m->key, m->model);
    cc_cursor_expect(&c, FORM_MAIN);
    m->main_bytes = cc_cursor_number(&c);
    cc_cursor_expect(&c, CC_FORM_TREE);
    cc_cursor_digits(&c, m->main_hash);
    cc_cursor_expect(&c, FORM_WEIGHTS);
    m->weights_bytes = cc_cursor_number(&c);
    cc_cursor_expect(&c, CC_FORM_TREE);
    cc_cursor_digits(&c, m->weights_hash);
    cc_cursor_expect(&c, FORM_BLOBS);
    read_blobs(&c, m->weights_bytes);
    return cc_manifest_read_end(&c, text, size, m->signer);
}

static int read_part(const char *folder, const char *name, uint64_t bytes, const char *hash, uint8_t **to,
                     size_t *size, uint8_t binary[BASE_HASH_BYTES], struct base_error *error)
{
    char path[CC_PATH_BYTES], found[CC_HASH_DIGITS + 1];
    int status = cc_path_join(path, folder, name, error);

    if (!status)
        status = cc_file_read(path, bytes, to, size, error);
    if (status)
        return status;
    base_tree_of(*to, *size, binary);
    cc_hex(binary, BASE_HASH_BYTES, found);
    return *size == bytes && !strcmp(found, hash) ? 0
                                                  : cc_bundle_refuse_part(path, *size, bytes, hash, error);
}

static int read_text(const char *folder, char **text, struct contents *m, struct base_error *error)
{
    char path[CC_PATH_BYTES];
    uint8_t *bytes;
    size_t size;
    int status = cc_path_join(path, folder, CC_MANIFEST, error);

    if (!status)
        status = cc_file_read(path, CC_MANIFEST_BYTES_MAX, &bytes, &size, error);
    if (status)
        return status;
    *text = (char *)bytes;
    if (!read_manifest(*text, size, m))
        return base_fail(error, EBADMSG,
                         "%s: not a manifest of format version %u, or changed since it was written.", path,
                         CC_MANIFEST_VERSION);
    if (m->main_bytes > MAIN_BYTES_MAX || m->weights_bytes > PR_E5_BYTES_MAX)
        return base_fail(error, EFBIG, "%s: the files it names are too large.", path);
    return 0;
}

static int open_program(const char *folder, struct cc_bundle *b, char key[CC_KEY_BYTES], bool trusting,
                        struct base_error *error)
{
    char weights[CC_PATH_BYTES];
    struct contents m;
    struct pr_e5 *e5;
    int status = read_text(folder, &b->manifest, &m, error);

    if (!status)
        status = read_part(folder, MAIN, m.main_bytes, m.main_hash, &b->main, &b->main_bytes,
                           b->hashes.part[0], error);
    if (!status)
        status = cc_path_join(weights, folder, WEIGHTS, error);
    if (!status)
        status = (trusting && m.signer[0] ? cc_bundle_trust_weights : cc_bundle_hold_weights)(
            weights, b, m.weights_bytes, m.weights_hash, error);
    if (!status && m.signer[0])
        status = cc_signature_read(folder, m.signer, b, error);
    if (status)
        return status;
    memcpy(key, m.key, CC_KEY_BYTES);
    memcpy(b->model, m.model, sizeof(b->model));
    e5 = base_alloc(sizeof(*e5));
    b->path = base_strdup(folder);
    status = e5 && b->path ? check_main(b->main, b->main_bytes, b->weights_bytes, !trusting, e5, error)
                           : base_fail(error, ENOMEM, "%s: there is no memory to read it.", folder);
    base_free(e5);
    return status;
}

static int open_whole(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES], bool trusting,
                      struct base_error *error)
{
    int status;

    memset(bundle, 0, sizeof(*bundle));
    status = open_program(folder, bundle, key, trusting, error);
    if (status)
        cc_bundle_release(bundle);
    return status;
}

int cc_bundle_open_program(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                           struct base_error *error)
{
    return open_whole(folder, bundle, key, false, error);
}

int cc_bundle_open(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                   struct base_error *error)
{
    return cc_composite_is(folder) ? cc_composite_open(folder, bundle, key, error)
                                   : cc_bundle_open_program(folder, bundle, key, error);
}

/* The beginning of the manifest is enough, and is not believed further than its characters. */
void cc_bundle_model(const char *folder, char model[CC_MODEL_NAME_BYTES])
{
    char path[CC_PATH_BYTES], text[CC_MANIFEST_HEAD] = "";
    struct cc_cursor c = {.at = text};
    char key[CC_KEY_BYTES], found[CC_MODEL_NAME_BYTES] = "";
    ssize_t size;
    int file;

    model[0] = '\0';
    if (cc_path_join(path, folder, CC_MANIFEST, NULL))
        return;
    file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return;
    size = read(file, text, sizeof(text) - 1);
    close(file);
    if (size > 0)
        cc_manifest_read_head(&c, key, found);
    if (size > 0 && !c.wrong)
        memcpy(model, found, CC_MODEL_NAME_BYTES);
}

int cc_bundle_read(const char *path, struct cc_bundle *bundle, struct base_error *error)
{
    char key[CC_KEY_BYTES];

    return cc_bundle_open(path, bundle, key, error);
}

int cc_bundle_read_signed(const char *path, struct cc_bundle *bundle, struct base_error *error)
{
    char key[CC_KEY_BYTES];

    return cc_composite_is(path) ? cc_composite_open(path, bundle, key, error)
                                 : open_whole(path, bundle, key, true, error);
}

void cc_bundle_release(struct cc_bundle *bundle)
{
    base_free(bundle->path);
    base_free(bundle->manifest);
    base_free(bundle->main);
    base_free(bundle->weights);
    if (bundle->weights_file)
        close(bundle->weights_file);
    cc_composite_release(bundle);
    memset(bundle, 0, sizeof(*bundle));
}

int cc_bundle_measure(const struct cc_bundle *bundle, struct cc_report *report, struct base_error *error)
{
    struct pr_e5 *e5 = base_alloc(sizeof(*e5));
    struct pr_problem problem = {0};
    int status = 0;

    if (!e5)
        return base_fail(error, ENOMEM, "There is no memory to read main.e5.");
    if (bundle->parts) {
        status = cc_composite_measure(bundle, report, error);
    } else if (pr_e5_read(bundle->main, bundle->main_bytes, e5, &problem)) {
        report->descriptors += e5->records;
        report->intermediate_bytes += e5->intermediate_bytes;
        report->weights_bytes += e5->constant_bytes;
    } else {
        status = base_fail(error, EBADMSG, "main.e5: %s", problem.text);
    }
    base_free(e5);
    return status;
}

/* Folders. */

static const char *const file_name[] = {CC_MANIFEST, MAIN, WEIGHTS, CC_SIGNATURE};
enum { FILES = BASE_COUNT_OF(file_name) };

static bool is_file_of_bundle(const char *folder, const char *name)
{
    char path[CC_PATH_BYTES];
    struct stat info;

    for (unsigned i = 0; i < FILES; i++)
        if (strcmp(name, file_name[i]) == 0)
            return !cc_path_join(path, folder, name, NULL) && !lstat(path, &info) && S_ISREG(info.st_mode);
    return false;
}

/* Refuses any file that is not of a bundle. That none is missing is checked by the reader. */
static int check_names(const char *folder, struct base_error *error)
{
    DIR *open = opendir(folder);
    struct dirent *found;
    int status = 0;

    if (!open)
        return base_fail(error, errno, "%s: cannot be read: %s.", folder, strerror(errno));
    while (!status && (found = readdir(open))) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        if (!is_file_of_bundle(folder, found->d_name))
            status = base_fail(error, EBADMSG, "%s: it has %s, which is not a file of a bundle.", folder,
                               found->d_name);
    }
    closedir(open);
    return status;
}

int cc_bundle_check(const char *folder, struct base_error *error)
{
    struct cc_bundle bundle;
    struct stat info;
    int status;

    if (lstat(folder, &info))
        return base_fail(error, errno, "%s: cannot be opened: %s.", folder, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return base_fail(error, ENOTDIR, "%s: not a folder.", folder);
    status = cc_composite_is(folder) ? cc_composite_check_names(folder, error) : check_names(folder, error);
    if (!status)
        status = cc_bundle_read(folder, &bundle, error);
    if (!status)
        cc_bundle_release(&bundle);
    return status;
}

int cc_bundle_delete(const char *folder)
{
    char path[CC_PATH_BYTES];
    int status = cc_composite_is(folder) ? cc_composite_delete(folder) : 0;

    for (unsigned i = 0; i < FILES && !status; i++) {
        if (cc_path_join(path, folder, file_name[i], NULL))
            return -ENAMETOOLONG;
        if (unlink(path) && errno != ENOENT)
            return -errno;
    }
    if (status)
        return status;
    return rmdir(folder) && errno != ENOENT ? -errno : 0;
}
