/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a driver hands in or gets as a file: which files are refused, banks of one file share a
 * descriptor, the engine reads and writes through a bank, and another process writes DRAM's file.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"
#include "folder.h"
#include "programs.h"

#define DESCRIPTORS "/proc/self/fd"

static struct ane_machine *make(uint32_t chip)
{
    struct ane_machine_config config = {.size = sizeof(config), .chip = chip, .dram_bytes = 64u << 20};
    struct ane_machine *machine;

    assert_int_equal(ane_machine_create(&config, &machine), 0);
    return machine;
}

static int memory_file(uint64_t bytes, int seals)
{
    int file = memfd_create("bank", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)bytes), 0);
    assert_int_equal(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
}

static void files_that_may_not_be_a_bank_are_refused(void **state)
{
    struct ane_machine *machine = make(ANE_CHIP_T8103);
    int good = memory_file(4 * BARE_PAGE, F_SEAL_SHRINK), loose = memory_file(4 * BARE_PAGE, 0);
    int sealed = memory_file(4 * BARE_PAGE, F_SEAL_SHRINK | F_SEAL_WRITE);
    int later = memory_file(4 * BARE_PAGE, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), plain, reading;
    char path[64];
    uint64_t address = 77, other;

    (void)state;
    folder_write("plain", path, sizeof(path));
    plain = open(folder_path("plain"), O_RDWR | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", good);
    reading = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(plain >= 0 && reading >= 0 && null >= 0);
    {
        const struct {
            int file;
            uint64_t offset, bytes;
            const char *says;
        } cases[] = {
            {-1, 0, BARE_PAGE, "not a memory file"},
            {null, 0, BARE_PAGE, "not a memory file"},
            {plain, 0, BARE_PAGE, "not a memory file"},
            {reading, 0, BARE_PAGE, "open for writing"},
            {loose, 0, BARE_PAGE, "F_SEAL_SHRINK"},
            {sealed, 0, BARE_PAGE, "against writing"},
            {later, 0, BARE_PAGE, "against writing"},
            {good, 0, 0, "at least one page"},
            {good, 1, BARE_PAGE, "multiples"},
            {good, 0, BARE_PAGE - 1, "multiples"},
            {good, 0, 5 * BARE_PAGE, "which has 0x10000 bytes"},
            {good, 5 * BARE_PAGE, BARE_PAGE, "which has 0x10000 bytes"},
            {good, UINT64_MAX - BARE_PAGE + 1, BARE_PAGE, "which has 0x10000 bytes"},
            {good, BARE_PAGE, UINT64_MAX - BARE_PAGE + 1, "which has 0x10000 bytes"},
        };
        unsigned before = folder_count(DESCRIPTORS);

        for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            print_message("# row %u\n", i);
            assert_int_equal(
                ane_machine_bank_add(machine, cases[i].file, cases[i].offset, cases[i].bytes, &address),
                -EINVAL);
            assert_non_null(strstr(ane_machine_error(), cases[i].says));
            assert_int_equal(address, 77);
        }
        assert_int_equal(ane_machine_bank_add(machine, good, 0, BARE_PAGE, NULL), -EINVAL);
        assert_int_equal(ane_machine_bank_add(machine, good, BARE_PAGE, 2 * BARE_PAGE, &address), 0);
        assert_int_equal(ane_machine_bank_add(machine, good, 0, 2 * BARE_PAGE, &other), -EINVAL);
        assert_non_null(strstr(ane_machine_error(), "Another bank"));
        assert_int_equal(ane_machine_bank_add(machine, good, 2 * BARE_PAGE, BARE_PAGE, &other), -EINVAL);
        assert_int_equal(ane_machine_bank_add(machine, good, 3 * BARE_PAGE, BARE_PAGE, &other), 0);
        assert_int_equal(ane_machine_bank_remove(machine, other), 0);
        assert_int_equal(ane_machine_bank_remove(machine, address), 0);
        assert_int_equal(ane_machine_bank_remove(machine, 0x1234000), -EINVAL);
        assert_int_equal(folder_count(DESCRIPTORS), before);
    }
    close(good);
    close(loose);
    close(sealed);
    close(later);
    close(null);
    close(plain);
    close(reading);
    ane_machine_destroy(machine);
}

/* A mapping of 16 KiB of such a file is 2 MiB long, and would hide the banks that are next to it. */
static void a_file_of_huge_pages_is_refused(void **state)
{
    struct ane_machine *machine = make(ANE_CHIP_T8103);
    int file = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    uint64_t address;

    (void)state;
    if (file >= 0) {
        assert_int_equal(ftruncate(file, 2 << 20), 0);
        assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        assert_int_equal(ane_machine_bank_add(machine, file, 0, BARE_PAGE, &address), -EINVAL);
        assert_non_null(strstr(ane_machine_error(), "huge pages"));
        close(file);
    }
    ane_machine_destroy(machine);
    if (file < 0) {
        print_message("this kernel has no files of huge pages\n");
        skip();
    }
}

/* With this limit no descriptor is left. */
static rlim_t first_free_descriptor(void)
{
    int file = dup(STDIN_FILENO);

    assert_true(file >= 0);
    close(file);
    return (rlim_t)file;
}

/* A thousand banks of one file need one descriptor, and those of other files one each. */
static void banks_of_one_file_share_a_descriptor(void **state)
{
    struct ane_machine *machine = make(ANE_CHIP_T6000);
    int file = memory_file(1000 * BARE_PAGE, F_SEAL_SHRINK), other;
    unsigned before = folder_count(DESCRIPTORS);
    static uint64_t address[1000];
    struct rlimit old, low;
    uint64_t more;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = before + 16;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(ane_machine_bank_add(machine, file, (uint64_t)i * BARE_PAGE, BARE_PAGE, &address[i]),
                         0);
    assert_int_equal(folder_count(DESCRIPTORS), before + 1);
    close(file);
    for (unsigned i = 0; i < 1000; i++)
        memcpy(ane_machine_dram(machine, address[i], 4), &i, 4);
    /* Removing all but one keeps the file; the rest can be used. */
    for (unsigned i = 0; i < 999; i++)
        assert_int_equal(ane_machine_bank_remove(machine, address[i]), 0);
    assert_null(ane_machine_dram(machine, address[0], 4));
    assert_int_equal(ane_machine_bank_remove(machine, address[0]), -EINVAL);
    assert_int_equal(folder_count(DESCRIPTORS), before); /* the caller's is closed */
    assert_int_equal(*(uint32_t *)ane_machine_dram(machine, address[999], 4), 999);
    other = memory_file(BARE_PAGE, F_SEAL_SHRINK);
    assert_int_equal(ane_machine_bank_add(machine, other, 0, BARE_PAGE, &more), 0);
    assert_int_equal(folder_count(DESCRIPTORS), before + 2);
    /* No descriptor left: refused, and nothing is kept. */
    assert_int_equal(ane_machine_bank_remove(machine, more), 0);
    low.rlim_cur = first_free_descriptor();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(ane_machine_bank_add(machine, other, 0, BARE_PAGE, &more), -EMFILE);
    assert_int_equal(ane_machine_dram_file(machine), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    close(other);
    assert_int_equal(folder_count(DESCRIPTORS), before);
    ane_machine_destroy(machine); /* with a bank */
}

static void there_is_a_limit_of_banks(void **state)
{
    struct ane_machine *machine = make(ANE_CHIP_T6000);
    int file = memory_file((ANE_BANKS_MAX + 1ull) * BARE_PAGE, F_SEAL_SHRINK);
    const uint64_t end = (uint64_t)ANE_BANKS_MAX * BARE_PAGE;
    uint64_t address, last = 0;

    (void)state;
    for (uint64_t at = 0; at < end; at += BARE_PAGE)
        assert_int_equal(ane_machine_bank_add(machine, file, at, BARE_PAGE, &last), 0);
    assert_int_equal(ane_machine_bank_add(machine, file, end, BARE_PAGE, &address), -ENOSPC);
    assert_int_equal(ane_machine_bank_remove(machine, last), 0);
    assert_int_equal(ane_machine_bank_add(machine, file, end, BARE_PAGE, &address), 0);
    close(file);
    ane_machine_destroy(machine);
}

/* relu from the second page of a file to its first, both seen through a mapping of the file alone. */
static void the_engine_reads_and_writes_through_a_bank(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        struct ane_machine *machine = make(chip);
        int file = memory_file(3 * BARE_PAGE, F_SEAL_SHRINK);
        uint16_t *seen = mmap(NULL, 3 * BARE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        struct test_program program;
        struct bare_request request;
        uint64_t address;
        struct bare bare;

        assert_true(seen != MAP_FAILED);
        bare_start(&bare, machine, 400);
        assert_int_equal(ane_machine_bank_add(machine, file, BARE_PAGE, 2 * BARE_PAGE, &address), 0);
        assert_true(address >= bare.map.dram + bare.map.dram_bytes);
        close(file);
        test_assemble(&program, "%s", test_text_relu);
        td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
        request = bare_load(&bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
        request.bar[4] = 0x40000000;
        request.bar[5] = 0x40000000 + BARE_PAGE;
        bare_map(&bare, request.bar[4], address);
        bare_map(&bare, request.bar[5], address + BARE_PAGE);
        bare_invalidate(&bare);
        for (unsigned i = 0; i < 8; i++)
            seen[2 * BARE_PAGE / 2 + i] = test_half_from_double(i - 4.0);
        assert_true(bare_run(&bare, &request));
        for (unsigned i = 0; i < 8; i++) {
            assert_int_equal(seen[i], 0); /* the page before the bank */
            assert_int_equal(seen[BARE_PAGE / 2 + i], test_half_from_double(i < 4 ? 0 : i - 4.0));
        }
        /* Unmapped and removed: the file keeps its bytes, and the address is nothing. */
        bare_map(&bare, request.bar[4], 0);
        bare_map(&bare, request.bar[5], 0);
        bare_invalidate(&bare);
        assert_int_equal(ane_machine_bank_remove(machine, address), 0);
        assert_null(ane_machine_dram(machine, address, 1));
        assert_int_equal(seen[BARE_PAGE / 2 + 7], test_half_from_double(3));
        ane_machine_destroy(machine);
        munmap(seen, 3 * BARE_PAGE);
    }
}

/* A page table that still names a removed bank faults; it does not reach other memory. */
static void a_removed_bank_is_nothing_to_the_engine(void **state)
{
    struct ane_machine *machine = make(ANE_CHIP_T8103);
    int file = memory_file(BARE_PAGE, F_SEAL_SHRINK);
    struct test_program program;
    struct bare_request request;
    struct bare bare;
    uint64_t address;

    (void)state;
    bare_start(&bare, machine, 400);
    assert_int_equal(ane_machine_bank_add(machine, file, 0, BARE_PAGE, &address), 0);
    close(file);
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    request = bare_load(&bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
    request.bar[4] = request.bar[5] = 0x40000000;
    bare_map(&bare, 0x40000000, address);
    assert_true(bare_run(&bare, &request));
    bare_invalidate(&bare);
    assert_int_equal(ane_machine_bank_remove(machine, address), 0);
    bare_push(&bare, &request);
    assert_int_equal(ane_machine_run(machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(ane_machine_counter(machine, "dart.faults"), 1);
    ane_machine_destroy(machine);
}

static void another_process_writes_the_file_of_dram(void **state)
{
    struct ane_machine *machine = make(ANE_CHIP_T8103);
    unsigned before = folder_count(DESCRIPTORS);
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *firmware;
    struct bare bare;
    struct bare_request request;
    struct bare_buffer buffer;
    struct test_program program;
    uint16_t got;
    pid_t child;
    off_t at;
    int file = ane_machine_dram_file(machine), status;

    (void)state;
    assert_true(file > 2);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    assert_int_equal(folder_count(DESCRIPTORS), before + 1);
    assert_int_equal(ftruncate(file, BARE_PAGE), -1); /* its size cannot change */
    assert_int_equal(ftruncate(file, 128 << 20), -1);
    bare_start(&bare, machine, 400);
    buffer = bare_buffer(&bare, 64);
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    request = bare_load(&bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
    request.bar[4] = request.bar[5] = buffer.iova;
    at = (off_t)(bare_physical(&bare, buffer.iova) - bare.map.dram);
    child = fork();
    if (!child) {
        const uint16_t nine = test_half_from_double(9);

        _exit(pwrite(file, &nine, 2, at) == 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(bare_run(&bare, &request));
    bare_get(&bare, buffer.iova, &got, 2);
    assert_int_equal(got, test_half_from_double(9));
    close(file);
    ane_machine_destroy(machine);
    assert_int_equal(ane_machine_create(&config, &firmware), 0);
    assert_int_equal(ane_machine_dram_file(firmware), -ENOTSUP);
    ane_machine_destroy(firmware);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_may_not_be_a_bank_are_refused),
        cmocka_unit_test(a_file_of_huge_pages_is_refused),
        cmocka_unit_test(banks_of_one_file_share_a_descriptor),
        cmocka_unit_test(there_is_a_limit_of_banks),
        cmocka_unit_test(the_engine_reads_and_writes_through_a_bank),
        cmocka_unit_test(a_removed_bank_is_nothing_to_the_engine),
        cmocka_unit_test(another_process_writes_the_file_of_dram),
    };

    return cmocka_run_group_tests_name("bank", tests, NULL, NULL);
}
