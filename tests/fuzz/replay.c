/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: every seed file as it is, then a
 * number of deterministic mutations of them.
 *
 *     replay_<noun> SEEDS [MUTATIONS [CASE]]
 *
 * Each case is made from the run's seed (ANEMONE_TEST_SEED) and its own number alone, so the
 * parent process can make the one that killed its child again, and save it; a given CASE runs
 * alone, in the process itself, for a debugger.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_SEED   UINT64_C(0x414e454d4f4e45)
#define DEFAULT_CASES  2000
#define SIZE_LIMIT     ((size_t)4 << 20)
#define CASE_SECONDS   60 /* no answer for this long is a hang */
#define MUTATIONS_MOST 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct blob {
    char *name;
    uint8_t *bytes;
    size_t size;
};

struct corpus {
    struct blob *seeds;
    size_t count;
    uint64_t seed;
};

_Noreturn static void die(const char *what, const char *which)
{
    printf("Bail out! replay: %s: %s\n", what, which);
    exit(1);
}

static void *allocate(size_t size)
{
    void *bytes = malloc(size > 0 ? size : 1);

    if (bytes == NULL)
        die("out of memory", "test input");
    return bytes;
}

/* xorshift64*: never seeded with zero */
static uint64_t next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* in [0, bound); 0 for a bound of 0 */
static size_t below(uint64_t *state, size_t bound)
{
    return bound > 0 ? (size_t)((next(state) >> 16) % bound) : 0;
}

static void read_seed(struct blob *blob, const char *folder, const char *name)
{
    char path[4096];
    FILE *file;
    long end;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
        die("cannot read", path);
    rewind(file);
    blob->size = (size_t)end;
    blob->bytes = allocate(blob->size);
    blob->name = strdup(name);
    if (fread(blob->bytes, 1, blob->size, file) != blob->size || blob->name == NULL)
        die("cannot read", path);
    fclose(file);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_corpus(struct corpus *corpus, const char *folder)
{
    const char *seed = getenv("ANEMONE_TEST_SEED");
    struct dirent **entries;
    int count = scandir(folder, &entries, visible, alphasort);

    if (count <= 0)
        die("no seeds in", folder);
    corpus->seed = seed != NULL ? strtoull(seed, NULL, 0) : DEFAULT_SEED;
    corpus->count = (size_t)count;
    corpus->seeds = allocate(corpus->count * sizeof(*corpus->seeds));
    for (size_t i = 0; i < corpus->count; i++) {
        read_seed(&corpus->seeds[i], folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void free_corpus(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++) {
        free(corpus->seeds[i].name);
        free(corpus->seeds[i].bytes);
    }
    free(corpus->seeds);
}

static void flip_bit(struct blob *blob, uint64_t *state)
{
    if (blob->size > 0)
        blob->bytes[below(state, blob->size)] ^= (uint8_t)(1u << below(state, 8));
}

static void set_byte(struct blob *blob, uint64_t *state)
{
    if (blob->size > 0)
        blob->bytes[below(state, blob->size)] = (uint8_t)(next(state) >> 56);
}

static void truncate_blob(struct blob *blob, uint64_t *state)
{
    blob->size = below(state, blob->size + 1);
}

/* Mostly at a multiple of four, where a format keeps its words. */
static void set_word(struct blob *blob, uint64_t *state)
{
    static const uint32_t words[] = {
        0,          1,          2,          3,          4,          7,          8,          15,
        16,         31,         32,         63,         64,         127,        128,        255,
        256,        511,        512,        4095,       4096,       16383,      16384,      32767,
        32768,      65535,      65536,      0x00ffffff, 0x01000000, 0x7ffffffe, 0x7fffffff, 0x80000000,
        0x80000001, 0xe0000000, 0xfffffff0, 0xfffffffc, 0xfffffffe, 0xffffffff,
    };
    uint32_t word = words[below(state, sizeof(words) / sizeof(words[0]))];
    size_t at;

    if (blob->size < sizeof(word))
        return;
    at = below(state, blob->size - sizeof(word) + 1);
    if (below(state, 8) != 0)
        at &= ~(size_t)3;
    memcpy(blob->bytes + at, &word, sizeof(word));
}

static void add_to_word(struct blob *blob, uint64_t *state)
{
    uint32_t word;
    size_t at;

    if (blob->size < sizeof(word))
        return;
    at = below(state, blob->size - sizeof(word) + 1) & ~(size_t)3;
    memcpy(&word, blob->bytes + at, sizeof(word));
    word += (uint32_t)below(state, 65) - 32;
    memcpy(blob->bytes + at, &word, sizeof(word));
}

/* Puts a piece of any seed over a place of the blob, or in between, which makes it longer. */
static void splice(struct blob *blob, uint64_t *state, const struct corpus *corpus)
{
    const struct blob *from = &corpus->seeds[below(state, corpus->count)];
    size_t start = below(state, from->size + 1);
    size_t length = below(state, from->size - start + 1);
    size_t at = below(state, blob->size + 1);
    bool over = below(state, 2) == 0;
    size_t rest = blob->size - at;
    uint8_t *bytes;

    if (over)
        rest = length < rest ? rest - length : 0;
    if (at + length + rest > SIZE_LIMIT)
        return;
    bytes = allocate(at + length + rest);
    memcpy(bytes, blob->bytes, at);
    memcpy(bytes + at, from->bytes + start, length);
    memcpy(bytes + at + length, blob->bytes + blob->size - rest, rest);
    free(blob->bytes);
    blob->bytes = bytes;
    blob->size = at + length + rest;
}

static void mutate(struct blob *blob, uint64_t *state, const struct corpus *corpus)
{
    switch (below(state, 12)) {
    case 0: truncate_blob(blob, state); break;
    case 1: splice(blob, state, corpus); break;
    case 2: set_byte(blob, state); break;
    case 3:
    case 4: add_to_word(blob, state); break;
    case 5:
    case 6:
    case 7:
    case 8: set_word(blob, state); break;
    default: flip_bit(blob, state); break;
    }
}

/*
 * The first cases are the seeds themselves. The bytes fill their
 * allocation, so that a sanitizer sees the end.
 */
static struct blob make_case(const struct corpus *corpus, uint64_t number)
{
    uint64_t state = (corpus->seed ^ number * UINT64_C(0x9e3779b97f4a7c15)) | 1;
    const struct blob *from;
    struct blob blob;
    uint8_t *exact;
    size_t steps = 0;

    for (int i = 0; i < 8; i++)
        next(&state);
    if (number < corpus->count) {
        from = &corpus->seeds[number];
    } else {
        from = &corpus->seeds[below(&state, corpus->count)];
        steps = 1 + below(&state, MUTATIONS_MOST);
    }
    blob = (struct blob){.name = from->name, .bytes = allocate(from->size), .size = from->size};
    memcpy(blob.bytes, from->bytes, from->size);
    while (steps-- > 0)
        mutate(&blob, &state, corpus);

    exact = allocate(blob.size);
    memcpy(exact, blob.bytes, blob.size);
    free(blob.bytes);
    blob.bytes = exact;
    return blob;
}

static void run_case(const struct corpus *corpus, uint64_t number)
{
    struct blob blob = make_case(corpus, number);

    alarm(CASE_SECONDS);
    LLVMFuzzerTestOneInput(blob.bytes, blob.size);
    free(blob.bytes);
}

static void report(const struct corpus *corpus, const char *noun, uint64_t number, int status)
{
    struct blob blob = make_case(corpus, number);
    char path[256];
    FILE *file;

    printf("not ok 1 - %s\n", noun);
    if (WIFSIGNALED(status))
        printf("# case %" PRIu64 " (from %s) died of signal %d", number, blob.name, WTERMSIG(status));
    else
        printf("# case %" PRIu64 " (from %s) exited with status %d", number, blob.name, WEXITSTATUS(status));
    printf("; again: ANEMONE_TEST_SEED=%" PRIu64 "\n", corpus->seed);
    snprintf(path, sizeof(path), "crash-%s", noun);
    file = fopen(path, "wb");
    if (file != NULL) {
        if (fwrite(blob.bytes, 1, blob.size, file) == blob.size)
            printf("# its %zu bytes are in %s\n", blob.size, path);
        fclose(file);
    }
    free(blob.bytes);
}

/* Runs every case in a child; the number of the one under way is in memory shared with it. */
static bool run_all(const struct corpus *corpus, const char *noun, uint64_t cases)
{
    volatile uint64_t *current =
        mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool passed = false;
    int status = 0;
    pid_t child;

    if (current == MAP_FAILED)
        die("cannot map", "a shared page");
    fflush(stdout);
    child = fork();
    if (child < 0)
        die("cannot fork", noun);
    if (child == 0) {
        for (*current = 0; *current < cases; ++*current)
            run_case(corpus, *current);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child)
        die("lost its child", noun);
    passed = WIFEXITED(status) && WEXITSTATUS(status) == 0 && *current == cases;
    if (passed)
        printf("ok 1 - %s: %zu seeds, %" PRIu64 " mutations\n", noun, corpus->count, cases - corpus->count);
    else
        report(corpus, noun, *current, status);
    munmap((void *)current, sizeof(*current));
    return passed;
}

int main(int argc, char **argv)
{
    const char *noun = strrchr(argv[0], '/');
    struct corpus corpus;
    bool passed = true;

    noun = noun != NULL ? noun + 1 : argv[0];
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s SEEDS [MUTATIONS [CASE]]\n", noun);
        return 2;
    }
    puts("1..1");
    read_corpus(&corpus, argv[1]);
    if (argc == 4)
        run_case(&corpus, strtoull(argv[3], NULL, 0));
    else
        passed =
            run_all(&corpus, noun, corpus.count + (argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_CASES));
    free_corpus(&corpus);
    return passed ? 0 : 1;
}
