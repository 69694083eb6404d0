/* SPDX-License-Identifier: Apache-2.0 */
/* The small helpers of base: arrays and whole files. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/tree.h"
#include "folder.h"
#include "treehash.h"

static void counts(void **state)
{
    struct {
        short row[7];
        char name[3];
    } a;

    (void)state;
    assert_int_equal(BASE_COUNT_OF(a.row), 7);
    assert_int_equal(BASE_COUNT_OF(a.name), 3);
}

static void zeros(void **state)
{
    uint8_t bytes[19] = {0};

    (void)state;
    assert_true(base_is_zero(bytes, sizeof(bytes)));
    assert_true(base_is_zero(NULL, 0));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = 0x80;
        assert_false(base_is_zero(bytes, sizeof(bytes)));
        assert_true(base_is_zero(bytes, i));
        bytes[i] = 0;
    }
}

static void whole_file(void **state)
{
    struct base_error error = {{0}};
    uint8_t *bytes;
    size_t size;

    (void)state;
    folder_write("text", "four", 4);
    assert_int_equal(base_file_read(folder_path("text"), 4, &bytes, &size, &error), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "four", 5); /* the NUL after it too */
    base_free(bytes);

    folder_write("empty", "", 0);
    assert_int_equal(base_file_read(folder_path("empty"), 0, &bytes, &size, &error), 0);
    assert_int_equal(size, 0);
    assert_int_equal(bytes[0], 0);
    base_free(bytes);
}

static void check_refused(const char *path, size_t most, int code, const char *part)
{
    struct base_error error = {{0}};
    uint8_t *bytes = (uint8_t *)&error;
    size_t size;

    assert_int_equal(base_file_read(path, most, &bytes, &size, &error), -code);
    assert_null(bytes);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, part));
}

static void refusals(void **state)
{
    (void)state;
    folder_write("text", "four", 4);
    check_refused(folder_path("text"), 3, EFBIG, "4 bytes; the limit is 3");
    check_refused(folder_path("absent"), 3, ENOENT, strerror(ENOENT));
    check_refused(folder_name(), 100, EINVAL, "not a file");
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    check_refused(folder_path("pipe"), 100, EINVAL, "not a file"); /* and it does not wait for a writer */
    base_alloc_fail_nth(1);
    check_refused(folder_path("text"), 4, ENOMEM, "no memory");
    base_alloc_fail_nth(0);
}

static void filling(void **state)
{
    FILE *file;
    char bytes[8];

    (void)state;
    folder_write("text", "four", 4);
    file = fopen(folder_path("text"), "r");
    assert_non_null(file);
    assert_int_equal(base_file_fill(fileno(file), bytes, 3), 0);
    assert_memory_equal(bytes, "fou", 3);
    assert_int_equal(base_file_fill(fileno(file), bytes, 2), -ENODATA);
    fclose(file);
}

/* What is not in memory is read; bytes at a place are read wherever the descriptor is. */
static void fetching(void **state)
{
    enum { SIZE = 600000 };
    uint8_t *bytes = base_alloc(SIZE), byte, four[4];
    struct iovec one = {&byte, 1};
    int file;

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7);
    folder_write("large", bytes, SIZE);
    file = open(folder_path("large"), O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && !fsync(file));
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    base_file_fetch(file, SIZE);
    for (off_t at = 0; at < SIZE; at += 4096)
        assert_int_equal(preadv2(file, &one, 1, at, RWF_NOWAIT), 1);
    base_file_fetch(file, SIZE + 1000000); /* shorter than expected */
    assert_int_equal(base_file_fill_at(file, four, 4, SIZE - 4), 0);
    assert_memory_equal(four, bytes + SIZE - 4, 4);
    assert_int_equal(base_file_fill_at(file, four, 4, SIZE - 3), -ENODATA);
    close(file);
    base_free(bytes);
}

/* Against libsodium's own; whole blocks and pieces of any size. */
static void hashes(void **state)
{
    uint8_t bytes[1000], digest[BASE_HASH_BYTES], expected[BASE_HASH_BYTES];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    test_rng_bytes(&rng, bytes, sizeof(bytes));
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        struct base_hash hash;
        size_t at = 0;

        crypto_hash_sha256(expected, bytes, size);
        base_hash_of(bytes, size, digest);
        assert_memory_equal(digest, expected, sizeof(digest));
        base_hash_begin(&hash);
        while (at < size) {
            size_t part = (size_t)test_rng_range(&rng, 0, 300);

            part = part < size - at ? part : size - at;
            base_hash_add(&hash, bytes + at, part);
            at += part;
        }
        base_hash_end(&hash, digest);
        assert_memory_equal(digest, expected, sizeof(digest));
    }
}

/* Two ranges at once, also shorter than a block and not at its multiple. */
static void hashes_of_two(void **state)
{
    uint8_t bytes[2][1000], digest[2][BASE_HASH_BYTES], expected[BASE_HASH_BYTES];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    test_rng_bytes(&rng, bytes, sizeof(bytes));
    for (size_t size = 0; size <= sizeof(bytes[0]); size++) {
        base_hash_of_two(bytes[0], bytes[1], size, digest[0], digest[1]);
        for (unsigned i = 0; i < 2; i++) {
            crypto_hash_sha256(expected, bytes[i], size);
            assert_memory_equal(digest[i], expected, sizeof(expected));
        }
    }
}

/* Ranges that follow each other: more and fewer than are computed at once, and no whole blocks. */
static void hashes_of_many(void **state)
{
    enum { COUNT_MAX = 35, SIZE_MAX_HERE = 300 };
    static uint8_t bytes[COUNT_MAX * SIZE_MAX_HERE], digest[COUNT_MAX + 1][BASE_HASH_BYTES];
    uint8_t expected[BASE_HASH_BYTES];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 4);
    test_rng_bytes(&rng, bytes, sizeof(bytes));
    for (size_t size = 0; size <= SIZE_MAX_HERE; size += size % 64 < 2 || size % 64 > 61 ? 1 : 20)
        for (size_t count = 0; count <= COUNT_MAX; count++) {
            memset(digest, 0xee, sizeof(digest));
            base_hash_of_many(bytes, size, count, digest);
            for (size_t i = 0; i < count; i++) {
                crypto_hash_sha256(expected, bytes + i * size, size);
                assert_memory_equal(digest[i], expected, sizeof(expected));
            }
            assert_int_equal(digest[count][0], 0xee);
        }
}

/* Against the definition; in one piece, in pieces of any size, and from a file. */
static void trees(void **state)
{
    enum { MOST = 2400000 };
    static const size_t sizes[] = {0,      1,      65535,   65536,   65537,   131071,  131072,  131073,
                                   196608, 400000, 1048575, 1048576, 1048577, 1114112, 2097152, MOST};
    uint8_t *bytes = base_alloc(MOST), digest[BASE_HASH_BYTES], expected[BASE_HASH_BYTES];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 3);
    test_rng_bytes(&rng, bytes, MOST);
    for (unsigned i = 0; i < BASE_COUNT_OF(sizes); i++) {
        struct base_tree tree;
        size_t at = 0;
        int file;

        treehash_of(bytes, sizes[i], expected);
        base_tree_of(bytes, sizes[i], digest);
        assert_memory_equal(digest, expected, sizeof(digest));
        base_tree_begin(&tree);
        while (at < sizes[i]) {
            size_t part = (size_t)test_rng_range(&rng, 0, i % 2 ? 150000 : 1500000);

            part = part < sizes[i] - at ? part : sizes[i] - at;
            base_tree_add(&tree, bytes + at, part);
            at += part;
        }
        base_tree_end(&tree, digest);
        assert_memory_equal(digest, expected, sizeof(digest));
        file = base_file_memory("tree", sizes[i]);
        assert_int_equal(base_file_put_at(file, bytes, sizes[i], 0), 0);
        assert_int_equal(base_tree_of_file(file, sizes[i], digest), 0);
        assert_memory_equal(digest, expected, sizeof(digest));
        if (sizes[i])
            assert_int_equal(base_tree_of_file(file, sizes[i] - 1, digest), -EFBIG);
        close(file);
    }
    base_free(bytes);
}

/* FIPS 180-2, appendix B: "abc", and two blocks. */
static void known_hashes(void **state)
{
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    uint8_t digest[BASE_HASH_BYTES];

    (void)state;
    base_hash_of("abc", 3, digest);
    assert_memory_equal(digest, "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23", 16);
    base_hash_of(two, sizeof(two) - 1, digest);
    assert_memory_equal(digest, "\x24\x8d\x6a\x61\xd2\x06\x38\xb8\xe5\xc0\x26\x93\x0c\x3e\x60\x39", 16);
}

/* Of memory of either kind, at any place. */
static void clearing(void **state)
{
    enum { SIZE = 5 * 4096 };
    int file = base_file_memory("clear", SIZE);
    uint8_t *shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), *heap = base_alloc(SIZE);

    (void)state;
    assert_true(shared != MAP_FAILED && heap);
    for (unsigned k = 0; k < 2; k++) {
        uint8_t *memory = k ? heap : shared;

        memset(memory, 0xee, SIZE);
        base_clear(memory + 100, SIZE - 300);
        assert_true(base_is_zero(memory + 100, SIZE - 300));
        for (unsigned i = 0; i < 100; i++)
            assert_true(memory[i] == 0xee && memory[SIZE - 1 - i] == 0xee);
        assert_int_equal(memory[SIZE - 200], 0xee);
        base_clear(memory, 10);
        assert_int_equal(memory[10], 0xee);
    }
    munmap(shared, SIZE);
    close(file);
    base_free(heap);
}

/* Bytes beside the range stay, and so does the allocation. */
static void discarding(void **state)
{
    enum { SIZE = 1 << 20 };
    uint8_t *memory = base_alloc(SIZE);

    (void)state;
    assert_non_null(memory);
    memset(memory, 0xee, SIZE);
    base_discard(memory + 5000, SIZE - 10000);
    base_discard(memory + 1, 10); /* no whole page */
    for (unsigned i = 0; i < 5000; i++)
        assert_true(memory[i] == 0xee && memory[SIZE - 1 - i] == 0xee);
    memory[SIZE / 2] = 1;
    assert_int_equal(memory[SIZE / 2], 1);
    base_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),     cmocka_unit_test(zeros),         cmocka_unit_test(whole_file),
        cmocka_unit_test(refusals),   cmocka_unit_test(filling),       cmocka_unit_test(fetching),
        cmocka_unit_test(hashes),     cmocka_unit_test(hashes_of_two), cmocka_unit_test(hashes_of_many),
        cmocka_unit_test(trees),      cmocka_unit_test(known_hashes),  cmocka_unit_test(clearing),
        cmocka_unit_test(discarding),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
