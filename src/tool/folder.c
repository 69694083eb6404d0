/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of programs. Rows are in the order of the names, so that two runs can be compared. A link to a
 * file is followed, a link to a folder is not, so a walk ends. Of a file only the head is read until it shows
 * a form.
 */
#include "tool/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "protocol/dump.h"
#include "tool/descriptor.h"
#include "tool/firmware.h"
#include "tool/judge.h"
#include "tool/sentence.h"
#include "tool/tool.h"

#define HEAD_BYTES 0x10000u /* shows every form: a first descriptor has at most 2 KiB */
#define NAME_WIDTH 48

enum state {
    JUDGED,  /* a program, and it was checked */
    BROKEN,  /* it has the form of a program, and cannot be read as one */
    SKIPPED, /* no program */
    UNREAD,  /* the file could not be read, so it is not known what it is */
};

struct row {
    char *name; /* from the folder on */
    enum state state;
    enum tool_form form;
    uint32_t descriptors;
    struct tool_verdict verdict;
    char text[TOOL_SENTENCE_BYTES]; /* why not, or the task */
};

struct walk {
    const struct tool_folder *how;
    struct row row; /* of the file at hand */
    struct json json;
    unsigned files, programs, bad, skipped, unread;
    bool failed; /* there was no memory */
};

struct names {
    char **name;
    size_t count, capacity;
};

bool tool_folder_is(const char *path)
{
    struct stat status;

    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        base_free(names->name[i]);
    base_free(names->name);
}

static bool names_add(struct names *names, const char *name)
{
    char **grown;

    if (names->count == names->capacity) {
        grown = base_realloc(names->name, (names->capacity * 2 + 16) * sizeof(char *));
        if (!grown)
            return false;
        names->name = grown;
        names->capacity = names->capacity * 2 + 16;
    }
    names->name[names->count] = base_strdup(name);
    return names->name[names->count] && ++names->count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted. Returns 0 or an errno value. */
static int names_read(DIR *folder, struct names *names)
{
    struct dirent *entry;

    for (errno = 0; (entry = readdir(folder)); errno = 0)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !names_add(names, entry->d_name))
            return ENOMEM;
    if (errno)
        return errno;
    if (names->count)
        qsort(names->name, names->count, sizeof(char *), compare_names);
    return 0;
}

static void row_end(struct row *row, enum state state, const char *why)
{
    row->state = state;
    snprintf(row->text, sizeof(row->text), "%s", why);
}

/* Reads on from `*size` to `wanted` or the end of the file. False when reading failed. */
static bool read_to(int file, uint8_t *bytes, size_t wanted, size_t *size)
{
    while (*size < wanted) {
        ssize_t got = read(file, bytes + *size, wanted - *size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        *size += (size_t)got;
    }
    return true;
}

/* What a file is that has none of the forms. */
static const char *why_not(const uint8_t *head, size_t size)
{
    if (size == 0)
        return "it is empty";
    if (pr_dump_begins(head, size))
        return "it is a dump of the firmware";
    if (tool_firmware_is(head, size))
        return "it is a firmware image";
    return "it is not a program";
}

static void show_nothing(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    (void)context;
    (void)finding;
    (void)problem;
}

/* The task of the first descriptor, or why there is none. */
static void describe_task(const struct tool_program *program, struct row *row)
{
    static struct tool_descriptors d; /* too large for a stack; the command has one thread */
    const struct pr_chain_link first = {.words = program->hwx.first_td_words};
    struct pr_text text;

    if (!program->hwx.td_count || 4ull * first.words > program->hwx.text.size)
        return;
    tool_descriptors_begin(&d, program);
    tool_descriptors_take(&d, &first);
    pr_text_init(&text, row->text, sizeof(row->text));
    if (d.decoded)
        tool_task_sentence(&d.task, &text);
    else
        pr_text_put(&text, "not decoded");
}

/* The bytes are freed. */
static void judge_bytes(struct walk *w, uint8_t *bytes, size_t size)
{
    static struct tool_program program;
    struct row *row = &w->row;
    struct pr_problem problem;

    if (!tool_program_parse(bytes, size, &w->how->asked, &program, &problem)) {
        row->form = program.form;
        row->verdict.problems = 1;
        row->verdict.worst = PR_OUTCOME_UNKNOWN;
        row_end(row, BROKEN, problem.text);
        base_free(bytes);
        return;
    }
    row->form = program.form;
    row->descriptors = program.hwx.td_count;
    row->verdict = tool_judge(&program, w->how->lenient, show_nothing, NULL);
    row_end(row, JUDGED, "");
    if (w->how->tasks)
        describe_task(&program, row);
    base_free(program.bytes);
}

static void judge_file(struct walk *w, int file, uint64_t bytes_there)
{
    struct row *row = &w->row;
    size_t size = 0, head = bytes_there < HEAD_BYTES ? (size_t)bytes_there : HEAD_BYTES;
    uint8_t *bytes, *grown;

    if (bytes_there > TOOL_PROGRAM_BYTES_MAX) {
        row_end(row, SKIPPED, "it is larger than 512 MiB");
        return;
    }
    bytes = base_alloc(head ? head : 1);
    if (!bytes || !read_to(file, bytes, head, &size))
        goto fail;
    if (!w->how->asked.raw && tool_form_of(bytes, size) == TOOL_FORM_UNKNOWN) {
        row_end(row, SKIPPED, why_not(bytes, size));
        base_free(bytes);
        return;
    }
    if (bytes_there > head) {
        grown = base_realloc(bytes, (size_t)bytes_there);
        if (!grown)
            goto fail;
        bytes = grown;
        if (!read_to(file, bytes, (size_t)bytes_there, &size))
            goto fail;
    }
    judge_bytes(w, bytes, size);
    return;
fail:
    row_end(row, UNREAD, strerror(errno ? errno : ENOMEM));
    base_free(bytes);
}

/*
 * A name that is neither a folder nor a link to one. It is opened only after it is known to be a regular
 * file, because to open a pipe has an effect on who waits at its other end.
 */
static void judge_name(struct walk *w, int folder, const char *name)
{
    struct stat status;
    int file;

    errno = 0;
    if (fstatat(folder, name, &status, 0)) {
        row_end(&w->row, UNREAD, strerror(errno));
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        row_end(&w->row, SKIPPED, "it is a link to a folder");
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        row_end(&w->row, SKIPPED, "it is not a regular file");
        return;
    }
    file = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status)) {
        row_end(&w->row, UNREAD, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        row_end(&w->row, SKIPPED, "it is not a regular file");
    } else {
        judge_file(w, file, (uint64_t)status.st_size);
    }
    if (file >= 0)
        close(file);
}

/*
 * A name or a text on a line of its own, whatever bytes it has: what a terminal may take for a command (see
 * base/printable.h) is printed as its number. Returns how many columns it took.
 */
static unsigned print_text(const char *text)
{
    unsigned char before = 0;
    unsigned columns = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool control = c < ' ' || c == 0x7f || (c >= 0x80 && c <= 0x9f && (before < 0x80 || before == 0xc2));

        columns += control ? (unsigned)printf("\\x%02x", c) : (unsigned)(putchar(c) != EOF);
        before = c;
    }
    return columns;
}

static const char *outcome_of(const struct row *row)
{
    return row->state == JUDGED ? tool_outcome_word(row->verdict.worst) : "cannot be read";
}

static void print_row(const struct row *row)
{
    unsigned columns = print_text(row->name);

    printf("%*s", columns < NAME_WIDTH ? (int)(NAME_WIDTH - columns) : 0, "");
    if (row->state == SKIPPED || row->state == UNREAD)
        printf("  %-8s %11s  %8s  %7s  %s: ", "-", "-", "-", "-",
               row->state == SKIPPED ? "skipped" : "not read");
    else
        printf("  %-8s %11u  %8u  %7u  %s%s", tool_form_name(row->form), row->descriptors,
               row->verdict.problems, row->verdict.remarks, outcome_of(row), row->text[0] ? ": " : "");
    print_text(row->text);
    putchar('\n');
}

static void json_row(struct json *json, const struct row *row, bool tasks)
{
    static const char *const states[] = {"checked", "broken", "skipped", "not read"};

    json_object(json, NULL);
    json_string(json, "file", row->name);
    json_string(json, "state", states[row->state]);
    if (row->state == JUDGED || row->state == BROKEN) {
        json_string(json, "form", tool_form_name(row->form));
        json_number(json, "descriptors", row->descriptors);
        json_number(json, "problems", row->verdict.problems);
        json_number(json, "remarks", row->verdict.remarks);
        json_string(json, "outcome", outcome_of(row));
    }
    if (row->state != JUDGED)
        json_string(json, "why", row->text);
    else if (tasks)
        json_string(json, "task", row->text);
    json_object_end(json);
}

static void finish_row(struct walk *w)
{
    struct row *row = &w->row;

    w->files++;
    w->programs += row->state == JUDGED || row->state == BROKEN;
    w->bad += row->verdict.problems != 0;
    w->skipped += row->state == SKIPPED;
    w->unread += row->state == UNREAD;
    if (w->how->as_json)
        json_row(&w->json, row, w->how->tasks);
    else
        print_row(row);
}

static void walk_folder(struct walk *w, int folder, const char *prefix, unsigned depth);

/* The name of an entry from the outermost folder on; NULL when there is no memory. */
static char *join(const char *prefix, const char *name)
{
    size_t length = strlen(prefix) + strlen(name) + 2;
    char *path = base_alloc(length);

    if (path)
        snprintf(path, length, "%s%s%s", prefix, prefix[0] ? "/" : "", name);
    return path;
}

static void walk_name(struct walk *w, int folder, const char *prefix, const char *name, unsigned depth)
{
    char *path = join(prefix, name);
    struct stat status;
    int below;

    if (!path) {
        w->failed = true;
        return;
    }
    memset(&w->row, 0, sizeof(w->row));
    w->row.name = path;
    w->row.verdict.worst = PR_OUTCOME_HARMLESS;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(status.st_mode)) {
        judge_name(w, folder, name);
        finish_row(w);
    } else if (w->how->recursive && depth < TOOL_FOLDER_DEPTH) {
        below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            walk_folder(w, below, path, depth + 1);
        } else {
            row_end(&w->row, UNREAD, strerror(errno));
            finish_row(w);
        }
    } else {
        row_end(&w->row, SKIPPED,
                w->how->recursive ? "folders this deep are not entered" : "--recursive enters folders");
        finish_row(w);
    }
    base_free(path);
}

/* Closes the folder. */
static void walk_folder(struct walk *w, int folder, const char *prefix, unsigned depth)
{
    DIR *open_folder = fdopendir(folder);
    struct names names = {0};
    int wrong = open_folder ? names_read(open_folder, &names) : errno;

    if (wrong) {
        tool_say("%s: %s.", prefix[0] ? prefix : "the folder", strerror(wrong));
        w->failed = true;
    }
    for (size_t i = 0; !wrong && i < names.count; i++)
        walk_name(w, folder, prefix, names.name[i], depth);
    names_free(&names);
    if (open_folder)
        closedir(open_folder);
    else
        close(folder);
}

static void finish_walk(struct walk *w, const char *path, bool good)
{
    if (!w->how->as_json) {
        printf("%s: %u files: %u programs, %u with problems; %u skipped, %u not read\n", path, w->files,
               w->programs, w->bad, w->skipped, w->unread);
        return;
    }
    json_array_end(&w->json);
    json_number(&w->json, "programs", w->programs);
    json_number(&w->json, "with_problems", w->bad);
    json_number(&w->json, "skipped", w->skipped);
    json_number(&w->json, "not_read", w->unread);
    json_bool(&w->json, "good", good);
    json_end(&w->json);
}

int tool_folder_check(const char *path, const struct tool_folder *how)
{
    static struct walk w; /* its row is large; the command has one thread */
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good;

    if (folder < 0) {
        tool_say("%s: %s.", path, strerror(errno));
        return TOOL_FAILURE;
    }
    w = (struct walk){.how = how};
    if (how->as_json) {
        json_begin(&w.json, stdout);
        json_array(&w.json, "files");
    } else {
        printf("%-*s  %-8s %11s  %8s  %7s  %s\n", NAME_WIDTH, "file", "form", "descriptors", "problems",
               "remarks", how->tasks ? "outcome and first task" : "outcome");
    }
    walk_folder(&w, folder, "", 0);
    good = !w.bad && !w.unread && !w.failed;
    finish_walk(&w, path, good);
    return good ? TOOL_OK : TOOL_FAILURE;
}
