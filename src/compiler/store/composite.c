/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites on disk. What is read is checked twice: every byte against its hash, and then the whole as if
 * the hashes were not there: each segment by its own reader, and the wires between them.
 */
#include "compiler/store/composite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "compiler/graph/graph.h"
#include "compiler/host.h"
#include "compiler/store/files.h"
#include "compiler/store/manifest.h"

#define FORM_INPUTS   "\",\n  \"inputs\": ["
#define FORM_OUTPUTS  "],\n  \"outputs\": ["
#define FORM_SEGMENTS "],\n  \"segments\": ["
#define FORM_ENGINE   "\n    {\"engine\": \""
#define FORM_HOST     "\n    {\"host\": \""
#define FORM_PORTS    "\", \"ports\": ["
#define FORM_BYTES    "], \"bytes\": "
#define FORM_PART_END "\"}"

#define PORTS_MAX       PR_E5_PORTS_MAX /* of a segment, and of the model */
#define PART_BYTES      256u            /* of a segment in the manifest, without its wires */
#define WIRE_BYTES      12u
#define GRAPH_BYTES_MAX CC_TENSOR_BYTES_MAX

static void part_name(uint32_t number, bool host, char name[32])
{
    snprintf(name, 32, "%u.%s", number, host ? "graph" : "bundle");
}

void cc_composite_release(struct cc_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->parts; i++) {
        struct cc_part *part = &bundle->part[i];

        if (part->program)
            cc_bundle_release(part->program);
        base_free(part->program);
        base_free(part->graph);
        base_free(part->wire);
    }
    base_free(bundle->part);
    base_free(bundle->wire);
}

/* Wires. */

struct shape {
    bool made;
    uint32_t type, rank, dim[CC_HOST_RANK_MAX];
};

struct check {
    const struct cc_bundle *bundle;
    uint32_t wires;
    struct shape *wire;
    struct pr_e5 *e5; /* room for one */
    struct base_error *error;
};

static int wrong(struct check *c, uint32_t number, const char *what)
{
    return base_fail(c->error, EBADMSG, "Segment %u of the bundle: %s.", number, what);
}

/* A port of segment `number`: an input has been made before with this shape, an output is made here. */
static int check_port(struct check *c, uint32_t number, bool input, uint32_t wire, const struct shape *shape)
{
    struct shape *there;

    if (wire >= c->wires)
        return wrong(c, number, "a wire has a number beyond all ports");
    there = &c->wire[wire];
    if (!input && there->made)
        return wrong(c, number, "it writes a wire that is written already");
    if (input && !there->made)
        return wrong(c, number, "it reads a wire that is not written before");
    /* The first port that reads an input of the model decides its shape. */
    if (input && there->rank != UINT32_MAX &&
        (there->type != shape->type || there->rank != shape->rank ||
         memcmp(there->dim, shape->dim, shape->rank * sizeof(shape->dim[0])) != 0))
        return wrong(c, number, "it reads a wire of another type or shape");
    *there = *shape;
    there->made = true;
    return 0;
}

static int check_program(struct check *c, uint32_t number, const struct cc_part *part)
{
    struct pr_problem problem = {0};
    uint32_t at = 0;
    int status = 0;

    if (!pr_e5_read(part->program->main, part->program->main_bytes, c->e5, &problem))
        return base_fail(c->error, EBADMSG, "Segment %u of the bundle: %s", number, problem.text);
    if (c->e5->ports != part->ports)
        return wrong(c, number, "the manifest states another number of ports");
    for (int outputs = 0; outputs < 2; outputs++)
        for (uint32_t i = 0; i < c->e5->ports && !status; i++) {
            const struct pr_e5_port *p = &c->e5->port[i];
            struct shape shape = {.type = p->type, .rank = p->rank};

            if ((p->direction == PR_HWX_OUTPUT) != outputs)
                continue;
            memcpy(shape.dim, p->dim, sizeof(shape.dim));
            status = check_port(c, number, !outputs, part->wire[at++], &shape);
        }
    return status;
}

static int check_host(struct check *c, uint32_t number, const struct cc_part *part)
{
    struct base_error why = {{0}};
    struct cc_host *host;
    int status = cc_host_open(part->graph, part->graph_bytes, &host, &why);

    if (status)
        return base_fail(c->error, -status, "Segment %u of the bundle: %s", number, why.text);
    if (cc_host_inputs(host) + cc_host_outputs(host) != part->ports)
        status = wrong(c, number, "the manifest states another number of ports");
    for (uint32_t i = 0; i < part->ports && !status; i++) {
        struct cc_host_port port = cc_host_port(host, i);
        struct shape shape = {.type = port.type, .rank = port.rank};

        memcpy(shape.dim, port.dim, sizeof(shape.dim));
        status = check_port(c, number, i < cc_host_inputs(host), part->wire[i], &shape);
    }
    cc_host_close(host);
    return status;
}

static int check_wires(struct check *c)
{
    const struct cc_bundle *b = c->bundle;
    int status = 0;

    for (uint32_t i = 0; i < b->inputs; i++) {
        if (b->wire[i] >= c->wires || c->wire[b->wire[i]].made)
            return base_fail(c->error, EBADMSG, "Input %u of the bundle has no wire of its own.", i);
        c->wire[b->wire[i]] = (struct shape){.made = true, .rank = UINT32_MAX};
    }
    for (uint32_t i = 0; i < b->parts && !status; i++)
        status = b->part[i].program ? check_program(c, i, &b->part[i]) : check_host(c, i, &b->part[i]);
    for (uint32_t i = 0; i < b->inputs + b->outputs && !status; i++)
        if (b->wire[i] >= c->wires || !c->wire[b->wire[i]].made || c->wire[b->wire[i]].rank == UINT32_MAX)
            status = base_fail(c->error, EBADMSG, "Port %u of the bundle is of no segment.", i);
    return status;
}

static int check(const struct cc_bundle *bundle, struct base_error *error)
{
    struct check c = {.bundle = bundle, .error = error};
    int status;

    for (uint32_t i = 0; i < bundle->parts; i++)
        c.wires += bundle->part[i].ports;
    c.wire = base_alloc_array(c.wires ? c.wires : 1, sizeof(*c.wire));
    c.e5 = base_alloc(sizeof(*c.e5));
    status = c.wire && c.e5 ? check_wires(&c)
                            : base_fail(error, ENOMEM, "There is no memory to check the bundle.");
    base_free(c.wire);
    base_free(c.e5);
    return status;
}

/* Writing. */

static size_t write_wires(char *text, size_t capacity, const uint32_t *wire, uint32_t count)
{
    size_t at = 0;

    for (uint32_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, capacity - at, i ? ", %u" : "%u", wire[i]);
    return at;
}

static size_t write_part(char *text, size_t capacity, uint32_t number, const struct cc_part *part)
{
    char name[32], hash[CC_HASH_DIGITS + 1];
    bool host = !part->program;
    size_t at, bytes = host ? part->graph_bytes : strlen(part->program->manifest);

    cc_hash_text(host ? (const void *)part->graph : part->program->manifest, bytes, hash);
    part_name(number, host, name);
    at = (size_t)snprintf(text, capacity, "%s%s%s" FORM_PORTS, number ? "," : "",
                          host ? FORM_HOST : FORM_ENGINE, name);
    at += write_wires(text + at, capacity - at, part->wire, part->ports);
    return at + (size_t)snprintf(text + at, capacity - at, FORM_BYTES "%zu" CC_FORM_HASH "%s" FORM_PART_END,
                                 bytes, hash);
}

int cc_composite_finish(struct cc_bundle *b, const char *key, const char *model, bool sign,
                        struct base_error *error)
{
    size_t capacity = CC_MANIFEST_HEAD + ((size_t)b->inputs + b->outputs) * WIRE_BYTES, at;
    int status = check(b, error);

    if (status)
        return status;
    for (uint32_t i = 0; i < b->parts; i++)
        capacity += PART_BYTES + (size_t)b->part[i].ports * WIRE_BYTES;
    b->manifest = base_alloc(capacity);
    if (!b->manifest)
        return base_fail(error, ENOMEM, "There is no memory for the manifest.");
    cc_manifest_model(model, b->model);
    at = cc_manifest_write_head(b->manifest, capacity, key, b->model);
    at += (size_t)snprintf(b->manifest + at, capacity - at, FORM_INPUTS);
    at += write_wires(b->manifest + at, capacity - at, b->wire, b->inputs);
    at += (size_t)snprintf(b->manifest + at, capacity - at, FORM_OUTPUTS);
    at += write_wires(b->manifest + at, capacity - at, b->wire + b->inputs, b->outputs);
    at += (size_t)snprintf(b->manifest + at, capacity - at, FORM_SEGMENTS);
    for (uint32_t i = 0; i < b->parts; i++)
        at += write_part(b->manifest + at, capacity - at, i, &b->part[i]);
    base_tree_of(b->manifest, at, b->hashes.part[0]);
    base_tree_of(NULL, 0, b->hashes.part[1]);
    b->is_signed = sign;
    if (sign)
        base_signing_sign(&b->hashes, &b->signature, NULL);
    cc_manifest_write_end(b->manifest, at, capacity, b);
    return 0;
}

static int save_part(const char *folder, uint32_t number, const struct cc_part *part,
                     struct base_error *error)
{
    char name[32], path[CC_PATH_BYTES];
    int status;

    part_name(number, !part->program, name);
    status = cc_path_join(path, folder, name, error);
    if (status || !part->program)
        return status ? status : cc_file_write(path, part->graph, part->graph_bytes, error);
    status = cc_folder_make(path, error);
    return status ? status : cc_bundle_save(path, part->program, error);
}

int cc_composite_save(const char *folder, const struct cc_bundle *bundle, struct base_error *error)
{
    int status = 0;

    for (uint32_t i = 0; i < bundle->parts && !status; i++)
        status = save_part(folder, i, &bundle->part[i], error);
    return status;
}

/* Reading. */

bool cc_composite_is(const char *folder)
{
    char path[CC_PATH_BYTES], text[CC_MANIFEST_HEAD] = "", key[CC_KEY_BYTES], model[CC_MODEL_NAME_BYTES];
    struct cc_cursor c = {.at = text};
    ssize_t size;
    int file;

    if (cc_path_join(path, folder, CC_MANIFEST, NULL))
        return false;
    file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return false;
    size = read(file, text, sizeof(text) - 1);
    close(file);
    if (size <= 0)
        return false;
    cc_manifest_read_head(&c, key, model);
    return cc_cursor_is(&c, FORM_INPUTS);
}

/* A list of at most PORTS_MAX numbers, behind *count of them. */
static int read_wires(struct cc_cursor *c, uint32_t **wire, uint32_t *count, struct base_error *error)
{
    uint32_t *more, added = 0;

    for (; !c->wrong && !cc_cursor_is(c, "]"); added++) {
        if (added)
            cc_cursor_expect(c, ", ");
        if (added == PORTS_MAX)
            c->wrong = true;
        more = base_realloc(*wire, (*count + 1) * sizeof(*more));
        if (!more)
            return base_fail(error, ENOMEM, "There is no memory to read the manifest.");
        *wire = more;
        more[(*count)++] = (uint32_t)cc_cursor_number(c);
    }
    return 0;
}

static int read_program(const char *path, uint64_t bytes, const char *hash, struct cc_part *part,
                        struct base_error *error)
{
    char key[CC_KEY_BYTES], found[CC_HASH_DIGITS + 1];
    int status;

    part->program = base_alloc(sizeof(*part->program));
    if (!part->program)
        return base_fail(error, ENOMEM, "%s: there is no memory to read it.", path);
    status = cc_bundle_open_program(path, part->program, key, error);
    if (status)
        return status;
    cc_hash_text(part->program->manifest, strlen(part->program->manifest), found);
    if (strlen(part->program->manifest) != bytes || strcmp(found, hash) != 0)
        return base_fail(error, EBADMSG, "%s: not the segment that the manifest states (SHA-256 %s).", path,
                         hash);
    return 0;
}

static int read_graph(const char *path, uint64_t bytes, const char *hash, struct cc_part *part,
                      struct base_error *error)
{
    char found[CC_HASH_DIGITS + 1];
    int status = cc_file_read(path, bytes, &part->graph, &part->graph_bytes, error);

    if (status)
        return status;
    cc_hash_text(part->graph, part->graph_bytes, found);
    if (part->graph_bytes != bytes || strcmp(found, hash) != 0)
        return base_fail(error, EBADMSG,
                         "%s: its %zu bytes are not those the manifest states (%" PRIu64
                         " bytes, SHA-256 %s).",
                         path, part->graph_bytes, bytes, hash);
    return 0;
}

static int read_part(struct cc_cursor *c, const char *folder, struct cc_bundle *b, struct base_error *error)
{
    char name[32], path[CC_PATH_BYTES], hash[CC_HASH_DIGITS + 1];
    struct cc_part *more = base_realloc(b->part, (b->parts + 1) * sizeof(*more)), *part;
    uint32_t number = b->parts;
    uint64_t bytes;
    bool host;
    int status;

    if (!more)
        return base_fail(error, ENOMEM, "There is no memory to read the manifest.");
    b->part = more;
    part = &more[b->parts++];
    *part = (struct cc_part){0};
    if (number)
        cc_cursor_expect(c, ",");
    host = cc_cursor_is(c, FORM_HOST);
    cc_cursor_expect(c, host ? FORM_HOST : FORM_ENGINE);
    part_name(number, host, name);
    cc_cursor_expect(c, name);
    cc_cursor_expect(c, FORM_PORTS);
    status = read_wires(c, &part->wire, &part->ports, error);
    cc_cursor_expect(c, FORM_BYTES);
    bytes = cc_cursor_number(c);
    cc_cursor_expect(c, CC_FORM_HASH);
    cc_cursor_digits(c, hash);
    cc_cursor_expect(c, FORM_PART_END);
    c->wrong |= bytes > GRAPH_BYTES_MAX || b->parts > CC_SEGMENTS_MAX;
    if (!status)
        status = cc_path_join(path, folder, name, error);
    if (status || c->wrong)
        return status;
    return host ? read_graph(path, bytes, hash, part, error) : read_program(path, bytes, hash, part, error);
}

static int read_ports(struct cc_cursor *c, struct cc_bundle *b, struct base_error *error)
{
    uint32_t count = 0;
    int status;

    cc_cursor_expect(c, FORM_INPUTS);
    status = read_wires(c, &b->wire, &count, error);
    b->inputs = count;
    cc_cursor_expect(c, FORM_OUTPUTS);
    if (!status)
        status = read_wires(c, &b->wire, &count, error);
    b->outputs = count - b->inputs;
    c->wrong |= !b->outputs || count > PORTS_MAX;
    cc_cursor_expect(c, FORM_SEGMENTS);
    return status;
}

static int read_all(const char *folder, const char *path, size_t size, struct cc_bundle *b,
                    char key[CC_KEY_BYTES], struct base_error *error)
{
    struct cc_cursor c = {.at = b->manifest};
    char signer[CC_HASH_DIGITS + 1];
    int status;

    cc_manifest_read_head(&c, key, b->model);
    status = read_ports(&c, b, error);
    while (!status && !c.wrong && !cc_cursor_is(&c, "]"))
        status = read_part(&c, folder, b, error);
    if (status)
        return status;
    if (!c.wrong) {
        base_tree_of(b->manifest, (size_t)(c.at - b->manifest), b->hashes.part[0]);
        base_tree_of(NULL, 0, b->hashes.part[1]);
    }
    if (!cc_manifest_read_end(&c, b->manifest, size, signer) || !b->parts)
        return base_fail(error, EBADMSG,
                         "%s: not a manifest of format version %u, or changed since it was written.", path,
                         CC_MANIFEST_VERSION);
    return signer[0] ? cc_signature_read(folder, signer, b, error) : 0;
}

int cc_composite_open(const char *folder, struct cc_bundle *b, char key[CC_KEY_BYTES],
                      struct base_error *error)
{
    char path[CC_PATH_BYTES];
    struct base_error why = {{0}};
    uint8_t *text = NULL;
    size_t size = 0;
    int status = cc_path_join(path, folder, CC_MANIFEST, error);

    memset(b, 0, sizeof(*b));
    if (!status)
        status = cc_file_read(path, CC_MANIFEST_BYTES_MAX, &text, &size, error);
    b->manifest = (char *)text;
    if (!status)
        status = read_all(folder, path, size, b, key, error);
    if (!status && (status = check(b, &why)))
        base_fail(error, -status, "%s: %s", folder, why.text);
    if (!status && !(b->path = base_strdup(folder)))
        status = base_fail(error, ENOMEM, "%s: there is no memory to read it.", folder);
    if (status)
        cc_bundle_release(b);
    return status;
}

int cc_composite_measure(const struct cc_bundle *bundle, struct cc_report *report, struct base_error *error)
{
    int status = 0;

    report->engine_segments = report->host_segments = 0;
    for (uint32_t i = 0; i < bundle->parts && !status; i++) {
        if (bundle->part[i].program)
            status = cc_bundle_measure(bundle->part[i].program, report, error);
        report->engine_segments += bundle->part[i].program != NULL;
        report->host_segments += bundle->part[i].program == NULL;
    }
    return status;
}

/* Folders. */

/* "7.bundle" or "7.graph": the number of a segment, without zeros before it. */
static bool is_part(const char *name, bool *host)
{
    char wanted[32];

    for (uint32_t i = 0; i < 2 * CC_SEGMENTS_MAX; i++) {
        *host = i & 1;
        part_name(i / 2, *host, wanted);
        if (!strcmp(wanted, name))
            return true;
    }
    return false;
}

static int check_name(const char *folder, const char *name, struct base_error *error)
{
    char path[CC_PATH_BYTES];
    struct stat info;
    bool host = true, good;

    if (cc_path_join(path, folder, name, error))
        return -ENAMETOOLONG;
    good = strcmp(name, CC_MANIFEST) == 0 || strcmp(name, CC_SIGNATURE) == 0 || is_part(name, &host);
    good = good && !lstat(path, &info) && (host ? S_ISREG(info.st_mode) : S_ISDIR(info.st_mode));
    good = good && (host || !cc_composite_is(path));
    if (good && !host)
        return cc_bundle_check(path, error);
    return good ? 0
                : base_fail(error, EBADMSG, "%s: it has %s, which is not a file of a bundle.", folder, name);
}

int cc_composite_check_names(const char *folder, struct base_error *error)
{
    DIR *open = opendir(folder);
    struct dirent *found;
    int status = 0;

    if (!open)
        return base_fail(error, errno, "%s: cannot be read: %s.", folder, strerror(errno));
    while (!status && (found = readdir(open)))
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0)
            status = check_name(folder, found->d_name, error);
    closedir(open);
    return status;
}

int cc_composite_delete(const char *folder)
{
    char path[CC_PATH_BYTES], name[32];
    int status = 0;

    for (uint32_t i = 0; i < CC_SEGMENTS_MAX && !status; i++) {
        part_name(i, true, name);
        if (cc_path_join(path, folder, name, NULL))
            return -ENAMETOOLONG;
        if (unlink(path) && errno != ENOENT)
            return -errno;
        part_name(i, false, name);
        if (cc_path_join(path, folder, name, NULL))
            return -ENAMETOOLONG;
        status = access(path, F_OK) ? 0 : cc_bundle_delete(path);
    }
    return status;
}
