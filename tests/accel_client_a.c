/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of generation A, written after the published ioctl structs: it includes nothing of the tree.
 *
 *   accel_client_a DESCRIPTOR MODE [COUNT]
 *
 * DESCRIPTOR is a file with one task descriptor that adds [8, 1, 32] halves, channels 64 bytes apart: source
 * 1 in tile 6, source 2 in tile 5, the result in tile 4. Prints one sentence about what is wrong and exits
 * with 1, or exits with 0.
 *
 *   run      one network, COUNT requests with other numbers each time
 *   swapped  the same with the tile types of the later header, which numbers the result 3
 *   two      two networks at once, and their handles
 *   errors   what is refused, and with which errno
 *   hang     a descriptor that the engine does not run gives ETIMEDOUT, and the next request is right
 *   fork     a child opens the node itself and runs; the parent runs before and after
 *   inherit  a child makes a request with the parent's file; COUNT is the errno it gets, 0 when it is right
 *   threads  eight threads, each with a file of its own
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODE      "/dev/dri/renderD129"
#define TILE      0x4000u
#define TILES     32
#define FIFO_STEP 0x400u /* the second descriptor of the fifo's page */
#define FIFO_NID  0x40u
#define FIFO_MORE 0x20u
#define NID_MASK  0x0f00ffffu
#define VALUES    256u
#define THREADS   8

/* Tile types; the later header swaps the last two. */
enum { NONE, CMD, ITM, SRC, DST };
enum { RESULT = 4, SECOND = 5, FIRST = 6 };

struct anec {
    uint64_t size, tsk_size, krn_size;
    uint32_t td_count, td_size;
    uint32_t tiles[TILES], types[TILES];
};
struct nn_init {
    uint32_t handle, pad;
    uint64_t anec;
};
struct nn_handle {
    uint32_t handle, pad;
};
struct nn_sync {
    uint32_t handle, pad;
    uint64_t tiles[TILES], fifo;
};
struct nn_chain {
    uint32_t handle, next, chain[TILES];
};
#define NN_INIT   _IOWR('d', 0x41, struct nn_init)
#define NN_DEINIT _IOWR('d', 0x42, struct nn_handle)
#define NN_SYNC   _IOWR('d', 0x43, struct nn_sync)
#define NN_UNSYNC _IOWR('d', 0x44, struct nn_handle)
#define NN_EXEC   _IOWR('d', 0x45, struct nn_handle)
#define NN_CHAIN  _IOWR('d', 0x50, struct nn_chain)

static uint8_t descriptor[TILE];
static uint32_t descriptor_bytes;

#define CHECK(condition, ...)                                             \
    do {                                                                  \
        if (!(condition)) {                                               \
            fprintf(stderr, "accel_client_a:%d: ", __LINE__);             \
            fprintf(stderr, __VA_ARGS__);                                 \
            fprintf(stderr, " (errno %d, %s)\n", errno, strerror(errno)); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

struct network {
    int file;
    uint32_t handle;
    struct anec anec;
    uint8_t *tile[TILES], *fifo;
};

static void read_descriptor(const char *path)
{
    FILE *file = fopen(path, "rb");

    CHECK(file, "%s cannot be read", path);
    descriptor_bytes = (uint32_t)fread(descriptor, 1, sizeof(descriptor), file);
    CHECK(descriptor_bytes && descriptor_bytes <= FIFO_STEP, "%u bytes of descriptor", descriptor_bytes);
    fclose(file);
}

static int open_node(void)
{
    /* As that library opens it: the 1 of FD_CLOEXEC is among the flags, by mistake. */
    int file = open(NODE, O_RDWR | FD_CLOEXEC, 0600);

    CHECK(file >= 0, "%s cannot be opened", NODE);
    return file;
}

static uint8_t *pages(size_t bytes)
{
    void *memory = NULL;

    CHECK(!posix_memalign(&memory, TILE, bytes), "no memory");
    memset(memory, 0, bytes);
    return memory;
}

static void set_nid(uint8_t *td, uint32_t nid)
{
    uint32_t word;

    memcpy(&word, td, sizeof(word));
    word = (word & NID_MASK) | nid << 16;
    memcpy(td, &word, sizeof(word));
}

static void fill(struct network *n, int file, int is_swapped)
{
    const uint32_t start = (descriptor_bytes + 15) / 16 * 16;

    memset(n, 0, sizeof(*n));
    n->file = file;
    n->anec = (struct anec){.size = start + 16,
                            .tsk_size = descriptor_bytes,
                            .krn_size = 16,
                            .td_count = 1,
                            .td_size = descriptor_bytes,
                            .tiles = {[0] = 1, [RESULT] = 1, [SECOND] = 1, [FIRST] = 1}};
    n->anec.types[0] = CMD;
    n->anec.types[RESULT] = is_swapped ? SRC : DST;
    n->anec.types[SECOND] = n->anec.types[FIRST] = is_swapped ? DST : SRC;
    for (int i = 0; i < TILES; i++)
        if (n->anec.tiles[i])
            n->tile[i] = pages(n->anec.tiles[i] * TILE);
    n->fifo = pages(TILE);
    memcpy(n->tile[0], descriptor, descriptor_bytes);
    memcpy(n->fifo, descriptor, descriptor_bytes);
    memcpy(n->fifo + FIFO_STEP, descriptor, descriptor_bytes);
    set_nid(n->fifo, FIFO_NID);
    set_nid(n->fifo + FIFO_STEP, FIFO_NID + FIFO_MORE);
}

static int init(struct network *n)
{
    struct nn_init call = {.anec = (uintptr_t)&n->anec};
    int status = ioctl(n->file, NN_INIT, &call);

    n->handle = call.handle;
    return status;
}

static int sync_tiles(const struct network *n)
{
    struct nn_sync call = {.handle = n->handle, .fifo = (uintptr_t)n->fifo};

    for (int i = 0; i < TILES; i++)
        call.tiles[i] = (uintptr_t)n->tile[i];
    return ioctl(n->file, NN_SYNC, &call);
}

static int by_handle(const struct network *n, unsigned long request)
{
    struct nn_handle call = {.handle = n->handle};

    return ioctl(n->file, request, &call);
}

static void start(struct network *n, int file, int is_swapped)
{
    fill(n, file, is_swapped);
    CHECK(!init(n), "NN_INIT failed");
    CHECK(!sync_tiles(n), "NN_SYNC failed");
}

static void empty(struct network *n)
{
    for (int i = 0; i < TILES; i++)
        free(n->tile[i]);
    free(n->fifo);
}

static void stop(struct network *n)
{
    CHECK(!by_handle(n, NN_UNSYNC), "NN_UNSYNC failed");
    CHECK(!by_handle(n, NN_DEINIT), "NN_DEINIT failed");
    empty(n);
}

/* A whole number up to 2048 in half precision. */
static uint16_t half(unsigned value)
{
    unsigned exponent = 0;

    if (!value)
        return 0;
    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)((exponent + 15) << 10 | ((value << 10 >> exponent) & 0x3ff));
}

static void run_once(const struct network *n, unsigned round)
{
    uint16_t *a = (void *)n->tile[FIRST], *b = (void *)n->tile[SECOND];
    const uint16_t *y = (const void *)n->tile[RESULT];

    for (unsigned i = 0; i < VALUES; i++) {
        a[i] = half(i);
        b[i] = half(round % 1000);
    }
    memset(n->tile[RESULT], 0x5a, TILE);
    CHECK(!by_handle(n, NN_EXEC), "NN_EXEC failed in round %u", round);
    for (unsigned i = 0; i < VALUES; i++)
        CHECK(y[i] == half(i + round % 1000), "value %u of round %u is 0x%04x", i, round, y[i]);
    CHECK(n->tile[RESULT][2 * VALUES] == 0x5a, "a byte behind the result has changed");
    CHECK(a[1] == half(1) && b[0] == half(round % 1000), "a source has changed");
}

static void mode_run(unsigned count, int is_swapped)
{
    struct network n;
    int file = open_node();

    start(&n, file, is_swapped);
    for (unsigned i = 0; i < count; i++)
        run_once(&n, i);
    CHECK(!by_handle(&n, NN_UNSYNC), "NN_UNSYNC failed");
    CHECK(!sync_tiles(&n), "a second NN_SYNC failed");
    run_once(&n, 7);
    stop(&n);
    close(file);
}

static void mode_two(void)
{
    struct network a, b, c;
    int file = open_node();

    start(&a, file, 0);
    start(&b, file, 1);
    CHECK(a.handle == 1 && b.handle == 2, "handles %u and %u", a.handle, b.handle);
    for (unsigned i = 0; i < 4; i++) {
        run_once(&a, i);
        run_once(&b, 100 + i);
    }
    stop(&a);
    run_once(&b, 5);
    start(&c, file, 0);
    CHECK(c.handle == 1, "handle %u", c.handle);
    run_once(&c, 6);
    close(file); /* with two networks in it */
    empty(&b);
    empty(&c);
}

static void refused(int status, int code, const char *what)
{
    CHECK(status == -1 && errno == code, "%s gave %d", what, status);
}

static void refuse_record(int file, const char *what, void (*change)(struct anec *))
{
    struct network n;

    fill(&n, file, 0);
    change(&n.anec);
    refused(init(&n), EINVAL, what);
    empty(&n);
}

static void no_text(struct anec *r)
{
    r->tiles[0] = 0;
}
static void kernel_tile(struct anec *r)
{
    r->tiles[1] = 1;
    r->types[1] = SRC;
}
static void wrong_type(struct anec *r)
{
    r->types[FIRST] = 5;
}
static void type_alone(struct anec *r)
{
    r->types[9] = SRC;
}
static void large_tile(struct anec *r)
{
    r->tiles[FIRST] = 0x10000;
}
static void second_intermediate(struct anec *r)
{
    r->tiles[2] = 1;
    r->types[2] = ITM;
}
static void no_kernel(struct anec *r)
{
    r->krn_size = 0;
}
static void short_text(struct anec *r)
{
    r->tsk_size = r->td_size - 4;
}
static void many_descriptors(struct anec *r)
{
    r->td_count = 0xffff;
}

static void refuse_records(int file)
{
    struct nn_init call = {.anec = 16};

    refuse_record(file, "a record without text", no_text);
    refuse_record(file, "a record with a buffer 1", kernel_tile);
    refuse_record(file, "an unknown type", wrong_type);
    refuse_record(file, "a type without a tile", type_alone);
    refuse_record(file, "a tile of 1 GiB", large_tile);
    refuse_record(file, "a second intermediate tile without a first", second_intermediate);
    refuse_record(file, "a record without constants", no_kernel);
    refuse_record(file, "text shorter than a descriptor", short_text);
    refuse_record(file, "65,535 descriptors", many_descriptors);
    refused(ioctl(file, NN_INIT, &call), EFAULT, "a record that is not there");
    call.pad = 1;
    refused(ioctl(file, NN_INIT, &call), EINVAL, "a pad");
    refused(ioctl(file, NN_INIT, (void *)16), EFAULT, "an argument that is not there");
}

static void refuse_pointers(struct network *n)
{
    uint8_t *kept = n->tile[FIRST],
            *gap = mmap(NULL, 2 * TILE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(gap != MAP_FAILED && !mprotect(gap, TILE, PROT_NONE), "no memory");
    n->tile[FIRST] = NULL;
    refused(sync_tiles(n), EINVAL, "a tile without a pointer");
    n->tile[FIRST] = gap;
    refused(sync_tiles(n), EFAULT, "a tile whose pages are not there");
    refused(by_handle(n, NN_EXEC), EINVAL, "a request of a network that is not synced");
    n->tile[FIRST] = kept;
    CHECK(!sync_tiles(n), "NN_SYNC after errors failed");
    CHECK(!sync_tiles(n), "a second NN_SYNC failed");
    run_once(n, 9);
    munmap(gap, 2 * TILE);
}

static void mode_errors(void)
{
    struct nn_chain chain = {.handle = 1, .next = 1};
    struct nn_handle call = {.handle = 77};
    struct network n;
    int file = open_node();

    refuse_records(file);
    refused(ioctl(file, NN_EXEC, &call), EINVAL, "a handle that is none");
    refused(ioctl(file, NN_UNSYNC, &call), EINVAL, "a handle that is none");
    refused(ioctl(file, NN_DEINIT, &call), EINVAL, "a handle that is none");
    fill(&n, file, 0);
    CHECK(!init(&n), "NN_INIT failed");
    refuse_pointers(&n);
    call = (struct nn_handle){.handle = n.handle, .pad = 1};
    refused(ioctl(file, NN_EXEC, &call), EINVAL, "a pad");
    refused(ioctl(file, NN_CHAIN, &chain), EINVAL, "NN_CHAIN");
    CHECK(!by_handle(&n, NN_UNSYNC) && !by_handle(&n, NN_UNSYNC), "a second NN_UNSYNC failed");
    CHECK(!by_handle(&n, NN_DEINIT), "NN_DEINIT failed");
    refused(by_handle(&n, NN_DEINIT), EINVAL, "a second NN_DEINIT");
    close(file);
    empty(&n);
}

static void mode_hang(void)
{
    struct network n;
    int file = open_node();

    start(&n, file, 0);
    memset(n.fifo + 0x28, 0xff, descriptor_bytes - 0x28);
    refused(by_handle(&n, NN_EXEC), ETIMEDOUT, "a descriptor of ones");
    memcpy(n.fifo, descriptor, descriptor_bytes);
    set_nid(n.fifo, FIFO_NID);
    run_once(&n, 3);
    stop(&n);
    close(file);
}

static void mode_fork(void)
{
    struct network n;
    int file = open_node(), status;
    pid_t child;

    start(&n, file, 0);
    run_once(&n, 1);
    child = fork();
    if (child == 0) {
        mode_run(3, 0);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && !status, "the child failed");
    run_once(&n, 2);
    stop(&n);
    close(file);
}

static void mode_inherit(unsigned code)
{
    struct network n;
    int file = open_node(), status;
    pid_t child;

    start(&n, file, 0);
    run_once(&n, 1);
    child = fork();
    if (child == 0) {
        if (code)
            refused(by_handle(&n, NN_EXEC), (int)code, "a request with the parent's file");
        else
            run_once(&n, 2);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && !status, "the child failed");
    run_once(&n, 3);
    stop(&n);
    close(file);
}

static void *thread(void *context)
{
    (void)context;
    mode_run(50, 0);
    return NULL;
}

static void mode_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, thread, NULL), "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    unsigned count = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10;

    CHECK(argc > 2, "usage: accel_client_a DESCRIPTOR MODE [COUNT]");
    read_descriptor(argv[1]);
    if (!strcmp(mode, "run") || !strcmp(mode, "swapped"))
        mode_run(count, !strcmp(mode, "swapped"));
    else if (!strcmp(mode, "two"))
        mode_two();
    else if (!strcmp(mode, "errors"))
        mode_errors();
    else if (!strcmp(mode, "hang"))
        mode_hang();
    else if (!strcmp(mode, "fork"))
        mode_fork();
    else if (!strcmp(mode, "inherit"))
        mode_inherit(count);
    else if (!strcmp(mode, "threads"))
        mode_threads();
    else
        CHECK(0, "there is no mode %s", mode);
    return 0;
}
