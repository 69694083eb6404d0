/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles on disk. The manifest is JSON in one fixed form, so that it is read by comparison. */
#include "compiler/store/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/store/files.h"

#define MAIN               "main.e5"
#define WEIGHTS            "weights.bin"
#define MANIFEST           "manifest.json"
#define SIGNATURE          "signature"
#define MAIN_BYTES_MAX     (64u << 20)
#define MANIFEST_BYTES_MAX (64u << 20)
#define BLOB_LINE          128u
#define MANIFEST_HEAD      1024u

/* The manifest's pieces, in their order; values are between them. */
#define FORM_VERSION     "{\n  \"format_version\": "
#define FORM_KEY         ",\n  \"key\": \""
#define FORM_MODEL       "\",\n  \"model\": \""
#define FORM_MAIN        "\",\n  \"" MAIN "\": {\"bytes\": "
#define FORM_WEIGHTS     "\"},\n  \"" WEIGHTS "\": {\"bytes\": "
#define FORM_HASH        ", \"sha256\": \""
#define FORM_BLOBS       "\"},\n  \"blobs\": ["
#define FORM_BLOB        "\n    {\"offset\": "
#define FORM_BLOB_BYTES  ", \"bytes\": "
#define FORM_BLOB_END    "\"}"
#define FORM_SIGNED      "],\n  \"" SIGNATURE "\": {\"ed25519\": \""
#define FORM_SELF        "],\n  \"sha256\": \""
#define FORM_SELF_SIGNED "\"},\n  \"sha256\": \""
#define FORM_END         "\"\n}\n"

enum { HASH_DIGITS = 2 * CC_HASH_BYTES };

void cc_hex(const uint8_t *bytes, size_t count, char *text)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digit[bytes[i] >> 4];
        text[2 * i + 1] = digit[bytes[i] & 15];
    }
    text[2 * count] = '\0';
}

static void hash_text(const void *bytes, size_t size, char text[HASH_DIGITS + 1])
{
    uint8_t hash[CC_HASH_BYTES];

    crypto_hash_sha256(hash, bytes, size);
    cc_hex(hash, sizeof(hash), text);
}

/* Writing. */

/* The end of the manifest: who signed the bundle, and the manifest's own hash. */
static void write_end(char *text, size_t at, size_t capacity, const struct cc_bundle *b)
{
    char key[HASH_DIGITS + 1] = "", hash[HASH_DIGITS + 1];

    if (b->is_signed)
        cc_hex(b->signature.key, BASE_KEY_BYTES, key);
    at += (size_t)snprintf(text + at, capacity - at, "%s%s%s", b->is_signed ? FORM_SIGNED : "", key,
                           b->is_signed ? FORM_SELF_SIGNED : FORM_SELF);
    hash_text(text, at, hash);
    snprintf(text + at, capacity - at, "%s" FORM_END, hash);
}

/* Characters that are themselves in JSON, in a terminal and in a list. */
static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("._-+@ ", c));
}

/* The last part of a path, cut, with other characters replaced. */
static void model_name(const char *path, char name[CC_MODEL_NAME_BYTES])
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    size_t length = 0;

    for (path = slash ? slash + 1 : path; path && *path && length + 1 < CC_MODEL_NAME_BYTES; path++)
        name[length++] = *path;
    name[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (!is_plain(name[i]))
            name[i] = '_';
}

static int manifest(const struct cc_program *p, const char *key, struct cc_bundle *b,
                    struct base_error *error)
{
    char **text = &b->manifest;
    size_t capacity = MANIFEST_HEAD + (size_t)p->blobs * BLOB_LINE, at;
    char main_hash[HASH_DIGITS + 1], weights_hash[HASH_DIGITS + 1], hash[HASH_DIGITS + 1];

    *text = base_alloc(capacity);
    if (!*text)
        return base_fail(error, ENOMEM, "There is no memory for the manifest.");
    cc_hex(b->hashes.part[0], BASE_HASH_BYTES, main_hash);
    cc_hex(b->hashes.part[1], BASE_HASH_BYTES, weights_hash);
    model_name(p->model, b->model);
    at = (size_t)snprintf(*text, capacity,
                          FORM_VERSION "%u" FORM_KEY "%s%s%s" FORM_MAIN "%zu" FORM_HASH "%s" FORM_WEIGHTS
                                       "%u" FORM_HASH "%s" FORM_BLOBS,
                          PR_E5_FORMAT_VERSION, key, b->model[0] ? FORM_MODEL : "", b->model, b->main_bytes,
                          main_hash, p->constant_bytes, weights_hash);
    for (uint32_t i = 0; i < p->blobs; i++) {
        cc_hex(p->blob[i].hash, CC_HASH_BYTES, hash);
        at += (size_t)snprintf(*text + at, capacity - at,
                               "%s" FORM_BLOB "%u" FORM_BLOB_BYTES "%u" FORM_HASH "%s" FORM_BLOB_END,
                               i ? "," : "", p->blob[i].offset, p->blob[i].bytes, hash);
    }
    write_end(*text, at, capacity, b);
    return 0;
}

static int write_file(const char *folder, const char *name, const void *bytes, size_t size,
                      struct base_error *error)
{
    char path[CC_PATH_BYTES];
    int status = cc_path_join(path, folder, name, error);

    return status ? status : cc_file_write(path, bytes, size, error);
}

/* Runs the reader and the expander of the driver: an error here is one of the compiler. */
static int check_main(const uint8_t *bytes, size_t size, uint64_t weights, struct pr_e5 *e5,
                      struct base_error *error)
{
    struct pr_problem problem = {0};
    uint32_t words;

    if (!pr_e5_read(bytes, size, e5, &problem) || !pr_e5_expand(e5, NULL, 0, &words, &problem))
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
    status = check_main(b->main, b->main_bytes, b->weights_bytes, e5, error);
    base_free(e5);
    if (status)
        return status;
    base_signing_hash(b->main, b->main_bytes, b->hashes.part[0]);
    base_signing_hash(b->weights, b->weights_bytes, b->hashes.part[1]);
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
    hash_text(text, sizeof(text), key);
}

int cc_bundle_rekey(struct cc_bundle *bundle, char key[CC_KEY_BYTES], struct base_error *error)
{
    const char *end = strstr(bundle->manifest, bundle->is_signed ? FORM_SIGNED : FORM_SELF);
    char *place = strstr(bundle->manifest, FORM_KEY), *text;
    size_t kept, capacity;

    if (!place || !end)
        return base_fail(error, EBADMSG, "The manifest of the bundle has no key or no end.");
    kept = (size_t)(end - bundle->manifest);
    capacity = kept + MANIFEST_HEAD;
    text = base_alloc(capacity);
    if (!text)
        return base_fail(error, ENOMEM, "There is no memory for the manifest.");
    contents_key(&bundle->hashes, key);
    memcpy(place + strlen(FORM_KEY), key, HASH_DIGITS);
    memcpy(text, bundle->manifest, kept);
    bundle->is_signed = false;
    write_end(text, kept, capacity, bundle);
    base_free(bundle->manifest);
    bundle->manifest = text;
    return 0;
}

int cc_bundle_save(const char *folder, const struct cc_bundle *bundle, struct base_error *error)
{
    int status = write_file(folder, MAIN, bundle->main, bundle->main_bytes, error);

    if (!status)
        status = write_file(folder, WEIGHTS, bundle->weights, bundle->weights_bytes, error);
    if (!status)
        status = write_file(folder, MANIFEST, bundle->manifest, strlen(bundle->manifest), error);
    if (!status && bundle->is_signed)
        status = write_file(folder, SIGNATURE, &bundle->signature, sizeof(bundle->signature), error);
    return status;
}

/* Reading. */

struct cursor {
    const char *at, *begin;
    bool wrong;
};

static void expect(struct cursor *c, const char *form)
{
    size_t length = strlen(form);

    if (c->wrong || strncmp(c->at, form, length) != 0)
        c->wrong = true;
    else
        c->at += length;
}

static bool next_is(const struct cursor *c, const char *form)
{
    return !c->wrong && strncmp(c->at, form, strlen(form)) == 0;
}

static uint64_t number(struct cursor *c)
{
    const char *first = c->at;
    uint64_t value = 0;

    while (!c->wrong && *c->at >= '0' && *c->at <= '9') {
        value = 10 * value + (uint64_t)(*c->at++ - '0');
        if (value > UINT32_MAX || (first[0] == '0' && c->at - first > 1))
            c->wrong = true;
    }
    c->wrong |= c->at == first;
    return value;
}

static void digits(struct cursor *c, char text[HASH_DIGITS + 1])
{
    for (unsigned i = 0; i < HASH_DIGITS && !c->wrong; i++, c->at++) {
        c->wrong = !((*c->at >= '0' && *c->at <= '9') || (*c->at >= 'a' && *c->at <= 'f'));
        text[i] = *c->at;
    }
    text[HASH_DIGITS] = '\0';
}

struct contents {
    char key[CC_KEY_BYTES];
    char model[CC_MODEL_NAME_BYTES];
    uint64_t main_bytes, weights_bytes;
    char main_hash[HASH_DIGITS + 1], weights_hash[HASH_DIGITS + 1];
    bool is_signed;
    char signer[HASH_DIGITS + 1];
};

static void read_blobs(struct cursor *c, uint64_t weights)
{
    char hash[HASH_DIGITS + 1];
    uint64_t end = 0;

    while (next_is(c, end ? "," FORM_BLOB : FORM_BLOB)) {
        expect(c, end ? "," FORM_BLOB : FORM_BLOB);
        c->wrong |= number(c) != end;
        expect(c, FORM_BLOB_BYTES);
        end += number(c);
        expect(c, FORM_HASH);
        digits(c, hash);
        expect(c, FORM_BLOB_END);
    }
    c->wrong |= end != weights;
}

/* As far as the name of the model, which need not be there. */
static void read_head(struct cursor *c, struct contents *m)
{
    size_t length = 0;

    expect(c, FORM_VERSION);
    c->wrong |= number(c) != PR_E5_FORMAT_VERSION;
    expect(c, FORM_KEY);
    digits(c, m->key);
    m->model[0] = '\0';
    if (!next_is(c, FORM_MODEL))
        return;
    expect(c, FORM_MODEL);
    while (length + 1 < sizeof(m->model) && is_plain(*c->at))
        m->model[length++] = *c->at++;
    m->model[length] = '\0';
    c->wrong |= !length;
}

static bool read_manifest(const char *text, size_t size, struct contents *m)
{
    struct cursor c = {.at = text, .begin = text};
    char self[HASH_DIGITS + 1] = "", wanted[HASH_DIGITS + 1];

    read_head(&c, m);
    expect(&c, FORM_MAIN);
    m->main_bytes = number(&c);
    expect(&c, FORM_HASH);
    digits(&c, m->main_hash);
    expect(&c, FORM_WEIGHTS);
    m->weights_bytes = number(&c);
    expect(&c, FORM_HASH);
    digits(&c, m->weights_hash);
    expect(&c, FORM_BLOBS);
    read_blobs(&c, m->weights_bytes);
    m->is_signed = next_is(&c, FORM_SIGNED);
    if (m->is_signed) {
        expect(&c, FORM_SIGNED);
        digits(&c, m->signer);
    }
    expect(&c, m->is_signed ? FORM_SELF_SIGNED : FORM_SELF);
    if (!c.wrong)
        hash_text(text, (size_t)(c.at - text), self);
    digits(&c, wanted);
    expect(&c, FORM_END);
    return !c.wrong && c.at == text + size && strcmp(self, wanted) == 0;
}

static int read_part(const char *folder, const char *name, uint64_t bytes, const char *hash, uint8_t **to,
                     size_t *size, uint8_t binary[BASE_HASH_BYTES], struct base_error *error)
{
    char path[CC_PATH_BYTES], found[HASH_DIGITS + 1];
    int status = cc_path_join(path, folder, name, error);

    if (!status)
        status = cc_file_read(path, bytes, to, size, error);
    if (status)
        return status;
    base_signing_hash(*to, *size, binary);
    cc_hex(binary, BASE_HASH_BYTES, found);
    if (*size != bytes || strcmp(found, hash) != 0)
        return base_fail(error, EBADMSG,
                         "%s: its %zu bytes are not those the manifest states (%" PRIu64
                         " bytes, SHA-256 %s).",
                         path, *size, bytes, hash);
    return 0;
}

static int read_text(const char *folder, char **text, struct contents *m, struct base_error *error)
{
    char path[CC_PATH_BYTES];
    uint8_t *bytes;
    size_t size;
    int status = cc_path_join(path, folder, MANIFEST, error);

    if (!status)
        status = cc_file_read(path, MANIFEST_BYTES_MAX, &bytes, &size, error);
    if (status)
        return status;
    *text = (char *)bytes;
    if (!read_manifest(*text, size, m))
        return base_fail(error, EBADMSG,
                         "%s: not a manifest of format version %u, or changed since it was written.", path,
                         PR_E5_FORMAT_VERSION);
    if (m->main_bytes > MAIN_BYTES_MAX || m->weights_bytes > PR_E5_BYTES_MAX)
        return base_fail(error, EFBIG, "%s: the files it names are too large.", path);
    return 0;
}

/* The signature that the manifest names: of that key, and right. The driver decides which key is trusted. */
static int read_signature(const char *folder, const char *signer, struct cc_bundle *b,
                          struct base_error *error)
{
    char path[CC_PATH_BYTES], key[HASH_DIGITS + 1];
    uint8_t *bytes = NULL;
    size_t size = 0;
    int status = cc_path_join(path, folder, SIGNATURE, error);

    if (!status)
        status = cc_file_read(path, sizeof(b->signature), &bytes, &size, error);
    if (status)
        return status;
    if (size == sizeof(b->signature)) {
        memcpy(&b->signature, bytes, size);
        cc_hex(b->signature.key, BASE_KEY_BYTES, key);
        b->is_signed = strcmp(key, signer) == 0 && base_signing_verify(&b->hashes, &b->signature);
    }
    base_free(bytes);
    return b->is_signed
               ? 0
               : base_fail(error, EBADMSG,
                           "%s: not the signature of this bundle that the manifest speaks of.", path);
}

static int open_bundle(const char *folder, struct cc_bundle *b, char key[CC_KEY_BYTES],
                       struct base_error *error)
{
    struct contents m;
    struct pr_e5 *e5;
    int status = read_text(folder, &b->manifest, &m, error);

    if (!status)
        status = read_part(folder, MAIN, m.main_bytes, m.main_hash, &b->main, &b->main_bytes,
                           b->hashes.part[0], error);
    if (!status)
        status = read_part(folder, WEIGHTS, m.weights_bytes, m.weights_hash, &b->weights, &b->weights_bytes,
                           b->hashes.part[1], error);
    if (!status && m.is_signed)
        status = read_signature(folder, m.signer, b, error);
    if (status)
        return status;
    memcpy(key, m.key, CC_KEY_BYTES);
    memcpy(b->model, m.model, sizeof(b->model));
    e5 = base_alloc(sizeof(*e5));
    b->path = base_strdup(folder);
    status = e5 && b->path ? check_main(b->main, b->main_bytes, b->weights_bytes, e5, error)
                           : base_fail(error, ENOMEM, "%s: there is no memory to read it.", folder);
    base_free(e5);
    return status;
}

int cc_bundle_open(const char *folder, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                   struct base_error *error)
{
    int status;

    memset(bundle, 0, sizeof(*bundle));
    status = open_bundle(folder, bundle, key, error);
    if (status)
        cc_bundle_release(bundle);
    return status;
}

/* The beginning of the manifest is enough, and is not believed further than its characters. */
void cc_bundle_model(const char *folder, char model[CC_MODEL_NAME_BYTES])
{
    char path[CC_PATH_BYTES], text[MANIFEST_HEAD] = "";
    struct cursor c = {.at = text, .begin = text};
    struct contents m = {.model = ""};
    ssize_t size;
    int file;

    model[0] = '\0';
    if (cc_path_join(path, folder, MANIFEST, NULL))
        return;
    file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return;
    size = read(file, text, sizeof(text) - 1);
    close(file);
    if (size > 0)
        read_head(&c, &m);
    if (!c.wrong)
        memcpy(model, m.model, CC_MODEL_NAME_BYTES);
}

int cc_bundle_read(const char *path, struct cc_bundle *bundle, struct base_error *error)
{
    char key[CC_KEY_BYTES];

    return cc_bundle_open(path, bundle, key, error);
}

void cc_bundle_release(struct cc_bundle *bundle)
{
    base_free(bundle->path);
    base_free(bundle->manifest);
    base_free(bundle->main);
    base_free(bundle->weights);
    memset(bundle, 0, sizeof(*bundle));
}

int cc_bundle_measure(const struct cc_bundle *bundle, struct cc_report *report, struct base_error *error)
{
    struct pr_e5 *e5 = base_alloc(sizeof(*e5));
    struct pr_problem problem = {0};
    int status = 0;

    if (!e5)
        return base_fail(error, ENOMEM, "There is no memory to read main.e5.");
    if (pr_e5_read(bundle->main, bundle->main_bytes, e5, &problem)) {
        report->descriptors = e5->records;
        report->intermediate_bytes = e5->intermediate_bytes;
        report->weights_bytes = e5->constant_bytes;
    } else {
        status = base_fail(error, EBADMSG, "main.e5: %s", problem.text);
    }
    base_free(e5);
    return status;
}

/* Folders. */

static const char *const file_name[] = {MANIFEST, MAIN, WEIGHTS, SIGNATURE};
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
    status = check_names(folder, error);
    if (!status)
        status = cc_bundle_read(folder, &bundle, error);
    if (!status)
        cc_bundle_release(&bundle);
    return status;
}

int cc_bundle_delete(const char *folder)
{
    char path[CC_PATH_BYTES];

    for (unsigned i = 0; i < FILES; i++) {
        if (cc_path_join(path, folder, file_name[i], NULL))
            return -ENAMETOOLONG;
        if (unlink(path) && errno != ENOENT)
            return -errno;
    }
    return rmdir(folder) && errno != ENOENT ? -errno : 0;
}
