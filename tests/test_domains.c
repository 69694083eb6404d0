/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power domains as a kernel sees them, through machine.h alone: names and addresses of the public device
 * trees, the sequences of Linux's power-manager driver, what each domain takes with it and what it leaves.
 */
#include "support.h"

#include "bare.h"
#include "programs.h"

#define TARGET     0xfu
#define ACTUAL     0xf0u
#define FLAGS      0x300u
#define DISABLE    0x400u
#define PARENT_OFF 0x800u
#define AUTO       0x10000000u
#define RESET      0x80000000u

#define TTBR 0x200u
#define PRTY 0x10u
#define MARK 0x80012345u

enum { ENGINE = 1, DART0 = 2, DART1 = 4, DART2 = 8, ALL = 15 };

/*
 * The device trees' list, parents first. `takes`: what is without power when the domain is off; `owns`: what
 * its reset bit resets.
 */
static const struct row {
    const char *name;
    uint64_t address;
    unsigned takes, owns;
} t6000_rows[] =
    {
        {"afr", 0x28e0801e8, ALL, 0},
        {"ane_sys", 0x28e080268, ALL, DART0},
        {"ane_sys_cpu", 0x28e0802c8, ENGINE | DART1 | DART2, ENGINE | DART1 | DART2},
        {"ane_set0", 0x28e08c000, ENGINE, ENGINE},
        {"ane_base", 0x28e08c008, ENGINE, ENGINE},
        {"ane_set1", 0x28e08c010, ENGINE, ENGINE},
        {"ane_set2", 0x28e08c018, ENGINE, ENGINE},
        {"ane_set3", 0x28e08c020, ENGINE, ENGINE},
        {"ane_set4", 0x28e08c028, ENGINE, ENGINE},
        {"ane_set5", 0x28e08c030, ENGINE, ENGINE},
},
  t8103_rows[] = {
      {"ane_sys", 0x23b700470, ALL, DART0 | DART1 | DART2},
      {"ane_sys_cpu", 0x23b70c000, ENGINE, ENGINE},
      {"ane_base", 0x23b70c008, ENGINE, ENGINE},
      {"ane_set1", 0x23b70c010, ENGINE, ENGINE},
      {"ane_set2", 0x23b70c018, ENGINE, ENGINE},
      {"ane_set3", 0x23b70c020, ENGINE, ENGINE},
      {"ane_set4", 0x23b70c028, ENGINE, ENGINE},
      {"ane_set5", 0x23b70c030, ENGINE, ENGINE},
};

static const struct tree {
    const struct row *row;
    unsigned rows;
    uint64_t engine;
} tree[] = {
    [ANE_CHIP_T6000] = {t6000_rows, sizeof(t6000_rows) / sizeof(t6000_rows[0]), 0x285c04000},
    [ANE_CHIP_T8103] = {t8103_rows, sizeof(t8103_rows) / sizeof(t8103_rows[0]), 0x26bc04000},
};

struct subject {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_request request;
    struct bare_buffer buffer;
};

static void make(struct subject *s, uint32_t chip)
{
    struct ane_machine_config config = {.size = sizeof(config), .chip = chip};
    struct test_program program;

    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    bare_start(&s->bare, s->machine, 4000);
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    s->request = bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
    s->buffer = bare_buffer(&s->bare, 64);
    s->request.bar[4] = s->request.bar[5] = s->buffer.iova;
}

static uint32_t get(const struct subject *s, uint64_t address)
{
    return ane_machine_read32(s->machine, address);
}

static void put(const struct subject *s, uint64_t address, uint32_t value)
{
    ane_machine_write32(s->machine, address, value);
}

/*
 * A read, a change of the bits of a mask, a write: with the flags in the mask, none of them is written as 1.
 */
static void change(const struct subject *s, uint64_t address, uint32_t mask, uint32_t bits)
{
    put(s, address, (get(s, address) & ~mask) | bits);
}

/* Switches a domain as Linux does; false when it does not reach the state. */
static bool reaches(const struct subject *s, uint64_t address, uint32_t state)
{
    bool there;

    change(s, address, AUTO | FLAGS | TARGET, state);
    there = (get(s, address) & ACTUAL) >> 4 == state;
    if (state == TARGET)
        change(s, address, FLAGS, AUTO);
    return there;
}

/* A register of each block that can be written. */
static uint64_t mark_at(const struct subject *s, unsigned block)
{
    return block ? s->bare.map.dart[block - 1] + TTBR : s->bare.map.task_queues + PRTY;
}

static void write_marks(const struct subject *s)
{
    put(s, mark_at(s, 0), 7);
    for (unsigned block = 1; block < 4; block++)
        put(s, mark_at(s, block), MARK);
}

/* The blocks whose registers have lost what was written; none has anything in between. */
static unsigned lost_marks(const struct subject *s)
{
    unsigned lost = 0;

    for (unsigned block = 0; block < 4; block++) {
        uint32_t value = get(s, mark_at(s, block));

        assert_true(value == 0 || value == (block ? MARK : 7));
        lost |= value ? 0 : 1u << block;
    }
    return lost;
}

static void the_map_has_the_published_domains(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        struct subject s;

        make(&s, chip);
        assert_int_equal(s.bare.map.domains, tree[chip].rows);
        for (unsigned i = 0; i < tree[chip].rows; i++) {
            const struct row *row = &tree[chip].row[i];
            unsigned found = 0;

            for (unsigned j = 0; j < s.bare.map.domains; j++)
                if (!strcmp(s.bare.map.domain[j].name, row->name)) {
                    found++;
                    assert_true(s.bare.map.domain[j].address == row->address);
                }
            assert_int_equal(found, 1);
            assert_int_equal(get(&s, row->address), TARGET | ACTUAL);
        }
        assert_true(s.bare.map.engine == tree[chip].engine);
        assert_int_equal(s.bare.map.engine_bytes, 0x24000);
        assert_true(s.bare.map.task_manager == s.bare.map.engine + 0x20000);
        assert_int_equal(s.bare.map.dart_bytes, 0x4000);
        ane_machine_destroy(s.machine);
    }
}

/* First and last word of each; the clock is what the first versions of the Linux driver read. */
static void every_window_answers(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        const struct ane_machine_map *map;
        struct subject s;

        make(&s, chip);
        map = &s.bare.map;
        const struct {
            uint64_t base, bytes;
        } window[] = {
            {map->engine, map->engine_bytes},      {map->task_manager, 0x1000},
            {map->task_queues, 8 * 0x148},         {map->dart[0], map->dart_bytes},
            {map->dart[1], map->dart_bytes},       {map->dart[2], map->dart_bytes},
            {map->dapf, map->dart_bytes},          {map->pmu, 7 * 8},
            {map->container + 0xe028, 4},          {map->container + 0x1170000, 8},
            {map->container + 0x1c00000, 0x24000},
        };

        for (unsigned i = 0; i < sizeof(window) / sizeof(window[0]); i++) {
            (void)get(&s, window[i].base);
            (void)get(&s, window[i].base + window[i].bytes - 4);
        }
        for (unsigned i = 0; i < map->domains; i++)
            (void)get(&s, map->domain[i].address);
        assert_int_equal(ane_machine_counter(s.machine, "bus.unanswered"), 0);
        ane_machine_destroy(s.machine);
    }
}

/* 24 ticks a microsecond (command facts 6), low word first. */
static void a_bare_machine_has_a_clock(void **state)
{
    struct subject s;
    uint64_t clock;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    clock = s.bare.map.container + 0x1170000;
    bare_push(&s.bare, &s.request);
    (void)ane_machine_run(s.machine, 1000000);
    assert_true(get(&s, clock) > 0);
    assert_int_equal(get(&s, clock), ane_machine_now(s.machine) * 24 / 1000);
    assert_int_equal(get(&s, clock + 4), 0);
    put(&s, clock, 5);
    assert_int_equal(get(&s, clock), ane_machine_now(s.machine) * 24 / 1000);
    ane_machine_destroy(s.machine);
}

static void a_domain_takes_what_it_powers(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++)
        for (unsigned i = 0; i < tree[chip].rows; i++) {
            const struct row *row = &tree[chip].row[i];
            struct subject s;

            make(&s, chip);
            write_marks(&s);
            assert_int_equal(lost_marks(&s), 0);
            put(&s, row->address, 0x300);
            assert_int_equal(get(&s, row->address) & (TARGET | ACTUAL), 0);
            if (lost_marks(&s) != row->takes)
                fail_msg("%s off: 0x%x is without power, not 0x%x", row->name, lost_marks(&s), row->takes);
            write_marks(&s); /* nothing takes it */
            put(&s, row->address, 0xf);
            assert_int_equal(get(&s, row->address) & (TARGET | ACTUAL), TARGET | ACTUAL);
            if (lost_marks(&s) != row->takes)
                fail_msg("%s on again: 0x%x was lost, not 0x%x", row->name, lost_marks(&s), row->takes);
            write_marks(&s);
            assert_int_equal(lost_marks(&s), 0);
            ane_machine_destroy(s.machine);
        }
}

/* A child keeps its own word; its state is 0 while the parent is off. */
static void a_child_shows_that_its_parent_is_off(void **state)
{
    struct subject s;
    const uint64_t parent = 0x28e0802c8, child = 0x28e08c000, grandchild = 0x28e08c028;

    (void)state;
    make(&s, ANE_CHIP_T6000);
    assert_true(reaches(&s, parent, 0));
    assert_int_equal(get(&s, child), PARENT_OFF | TARGET);
    assert_int_equal(get(&s, grandchild), PARENT_OFF | TARGET);
    assert_false(reaches(&s, child, TARGET));
    assert_true(reaches(&s, parent, TARGET));
    assert_int_equal(get(&s, child), AUTO | TARGET | ACTUAL);
    assert_int_equal(get(&s, grandchild), TARGET | ACTUAL);
    ane_machine_destroy(s.machine);
}

static void assert_reset(const struct subject *s, uint64_t address)
{
    change(s, address, FLAGS | DISABLE, DISABLE);
    change(s, address, FLAGS | RESET, RESET);
}

static void deassert_reset(const struct subject *s, uint64_t address)
{
    change(s, address, FLAGS | RESET, 0);
    change(s, address, FLAGS | DISABLE, 0);
}

static void the_reset_bit_resets_a_domain(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++)
        for (unsigned i = 0; i < tree[chip].rows; i++) {
            const struct row *row = &tree[chip].row[i];
            struct subject s;

            make(&s, chip);
            write_marks(&s);
            change(&s, row->address, FLAGS | DISABLE, DISABLE);
            assert_int_equal(lost_marks(&s), 0);
            assert_reset(&s, row->address);
            assert_int_equal(get(&s, row->address), RESET | DISABLE | TARGET | ACTUAL);
            if (lost_marks(&s) != row->owns)
                fail_msg("%s under reset: 0x%x reads 0, not 0x%x", row->name, lost_marks(&s), row->owns);
            write_marks(&s);
            deassert_reset(&s, row->address);
            assert_int_equal(get(&s, row->address), TARGET | ACTUAL);
            if (lost_marks(&s) != row->owns)
                fail_msg("%s after reset: 0x%x was lost, not 0x%x", row->name, lost_marks(&s), row->owns);
            ane_machine_destroy(s.machine);
        }
}

/* Resets need power: the bit waits for it. */
static void a_reset_without_power_holds_until_it_is_cleared(void **state)
{
    struct subject s;
    const uint64_t base = 0x23b70c008;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    put(&s, base, 0x300);
    put(&s, base, RESET);
    put(&s, base, RESET | TARGET);
    write_marks(&s);
    assert_int_equal(lost_marks(&s), ENGINE);
    put(&s, base, TARGET);
    write_marks(&s);
    assert_int_equal(lost_marks(&s), 0);
    ane_machine_destroy(s.machine);
}

static uint64_t address_of(const struct subject *s, const char *name)
{
    for (unsigned i = 0; i < s->bare.map.domains; i++)
        if (!strcmp(s->bare.map.domain[i].name, name))
            return s->bare.map.domain[i].address;
    fail_msg("no domain %s", name);
    return 0;
}

static void expect_relu(struct subject *s)
{
    const uint16_t in[8] = {0xbc00, 0x3c00}; /* -1, 1 */
    uint16_t out[8];

    bare_put(&s->bare, s->buffer.iova, in, sizeof(in));
    assert_true(bare_run(&s->bare, &s->request));
    bare_get(&s->bare, s->buffer.iova, out, sizeof(out));
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 0x3c00);
}

/* t6000: the engine uses DART 0 while that is under reset; the DART comes out as after any reset. */
static void a_dart_comes_out_of_reset_without_a_fault(void **state)
{
    struct subject s;
    uint64_t sys;

    (void)state;
    make(&s, ANE_CHIP_T6000);
    sys = address_of(&s, "ane_sys");
    put(&s, sys, RESET | TARGET);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, 1000), ANE_RUN_STUCK);
    put(&s, sys, TARGET);
    assert_int_equal(bare_dart(&s.bare, 0, 0x40), 0);
    assert_int_equal(ane_machine_dart_interrupt(s.machine), 0);
    ane_machine_destroy(s.machine);
}

/* Autosuspend of a driver: its own domains alone. The DARTs keep their page-table roots. */
static void the_darts_outlive_the_engine(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        struct subject s;
        uint32_t root[3];

        make(&s, chip);
        expect_relu(&s);
        for (unsigned i = 0; i < 3; i++)
            root[i] = get(&s, s.bare.map.dart[i] + TTBR);
        for (unsigned i = tree[chip].rows; i-- && strcmp(tree[chip].row[i].name, "ane_base");)
            assert_true(reaches(&s, tree[chip].row[i].address, 0));
        assert_true(reaches(&s, address_of(&s, "ane_base"), 0));
        assert_int_equal(get(&s, s.bare.map.task_manager + 0xc), 0);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(get(&s, s.bare.map.dart[i] + TTBR), root[i]);
        assert_true(reaches(&s, address_of(&s, "ane_base"), TARGET));
        for (unsigned i = 0; i < tree[chip].rows; i++)
            if (!strncmp(tree[chip].row[i].name, "ane_set", 7))
                assert_true(reaches(&s, tree[chip].row[i].address, TARGET));
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(get(&s, s.bare.map.dart[i] + TTBR), root[i]);
        bare_enable(&s.bare);
        expect_relu(&s);
        assert_int_equal(ane_machine_counter(s.machine, "dart.faults"), 0);
        ane_machine_destroy(s.machine);
    }
}

/* A system sleep: everything off, children first, and on again, parents first, as Linux's domains do. */
static void everything_off_and_on_again(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        struct subject s;

        make(&s, chip);
        expect_relu(&s);
        for (unsigned i = tree[chip].rows; i--;)
            assert_true(reaches(&s, tree[chip].row[i].address, 0));
        write_marks(&s);
        assert_int_equal(lost_marks(&s), ALL);
        for (unsigned i = 0; i < tree[chip].rows; i++) {
            assert_true(reaches(&s, tree[chip].row[i].address, TARGET));
            assert_int_equal(get(&s, tree[chip].row[i].address), AUTO | FLAGS | TARGET | ACTUAL);
        }
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(get(&s, s.bare.map.dart[i] + TTBR), 0);
        put(&s, s.bare.map.dart[0] + TTBR, (uint32_t)(s.bare.table >> 12) | 1u << 31);
        bare_enable(&s.bare);
        expect_relu(&s);
        assert_int_equal(ane_machine_counter(s.machine, "bus.unanswered"), 0);
        ane_machine_destroy(s.machine);
    }
}

/* The power manager's reset frees a queue in the middle of a request. */
static void a_reset_ends_what_runs(void **state)
{
    struct subject s;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    bare_push(&s.bare, &s.request);
    assert_false(get(&s, s.bare.map.task_manager + 0x54) & 1);
    assert_reset(&s, address_of(&s, "ane_base"));
    deassert_reset(&s, address_of(&s, "ane_base"));
    assert_true(get(&s, s.bare.map.task_manager + 0x54) & 1);
    assert_int_equal(ane_machine_run(s.machine, 1000000), 0);
    assert_int_equal(ane_machine_counter(s.machine, "engine.requests"), 0);
    bare_enable(&s.bare);
    expect_relu(&s);
    ane_machine_destroy(s.machine);
}

/* The recovery of the first Linux drivers after a time-out: priority 0xf, and TQ_EN off and on (drv). */
static void recover_as_the_first_drivers(const struct subject *s)
{
    static const uint32_t priority[8] = {1, 2, 3, 4, 5, 6, 0x1e, 0x1f};

    put(s, s->bare.map.task_queues + 4 * 0x148 + PRTY, 0xf);
    put(s, s->bare.map.task_queues + 4 * 0x148 + PRTY, priority[4]);
    put(s, s->bare.map.task_manager + 0xc, 0x2000);
    put(s, s->bare.map.task_manager + 0xc, 0x3000);
    for (unsigned queue = 0; queue < 8; queue++) {
        put(s, s->bare.map.task_queues + queue * 0x148 + PRTY, priority[queue]);
        put(s, s->bare.map.task_queues + queue * 0x148, 0);
    }
}

/* The maintained fork's without its power cycle (omarchy): stop, write errors back, clear the queues. */
static void recover_as_the_fork(struct subject *s)
{
    const uint64_t manager = s->bare.map.task_manager;

    put(s, manager + 0xc, get(s, manager + 0xc) & ~0x3000u);
    for (uint32_t offset = 0x58; offset <= 0x60; offset += 4)
        put(s, manager + offset, get(s, manager + offset));
    for (unsigned queue = 0; queue < 8; queue++) {
        const uint64_t base = s->bare.map.task_queues + queue * 0x148;

        put(s, base, 0);
        put(s, base + 0xa0, get(s, base + 0xa0) & ~1u);
    }
    bare_enable(&s->bare);
}

/*
 * A queue that is stuck stays so (chosen: what the sequences do on an M1 is not known, and on a T6001 the
 * fork reports that its own does not help). The power manager's reset frees it.
 */
static void published_recoveries_do_not_free_a_stuck_queue(void **state)
{
    const uint32_t no_record = 0xffffffff;
    struct subject s;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    bare_put(&s.bare, s.request.first + 0x28, &no_record, sizeof(no_record));
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    recover_as_the_first_drivers(&s);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    recover_as_the_fork(&s);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_false(get(&s, s.bare.map.task_manager + 0x54) & 1);
    assert_reset(&s, address_of(&s, "ane_base"));
    deassert_reset(&s, address_of(&s, "ane_base"));
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_IDLE);
    assert_true(get(&s, s.bare.map.task_manager + 0x54) & 1);
    ane_machine_destroy(s.machine);
}

/* Its driver switches the engine's own words alone, and counts on empty TLBs when the power is back. */
static void with_firmware_the_darts_go_with_the_engine(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct subject s = {.bare.map.size = sizeof(s.bare.map)};

    (void)state;
    assert_int_equal(ane_machine_create(&config, &s.machine), 0);
    assert_int_equal(ane_machine_map(s.machine, &s.bare.map), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true(get(&s, s.bare.map.dart[i] + TTBR));
    put(&s, address_of(&s, "ane_set3"), 0x300);
    write_marks(&s);
    assert_int_equal(lost_marks(&s), ALL);
    put(&s, address_of(&s, "ane_set3"), 0xf);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(get(&s, s.bare.map.dart[i] + TTBR), 0);
    write_marks(&s);
    assert_int_equal(lost_marks(&s), 0);
    ane_machine_destroy(s.machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_map_has_the_published_domains),
        cmocka_unit_test(every_window_answers),
        cmocka_unit_test(a_bare_machine_has_a_clock),
        cmocka_unit_test(a_domain_takes_what_it_powers),
        cmocka_unit_test(a_child_shows_that_its_parent_is_off),
        cmocka_unit_test(the_reset_bit_resets_a_domain),
        cmocka_unit_test(a_reset_without_power_holds_until_it_is_cleared),
        cmocka_unit_test(a_dart_comes_out_of_reset_without_a_fault),
        cmocka_unit_test(the_darts_outlive_the_engine),
        cmocka_unit_test(everything_off_and_on_again),
        cmocka_unit_test(a_reset_ends_what_runs),
        cmocka_unit_test(published_recoveries_do_not_free_a_stuck_queue),
        cmocka_unit_test(with_firmware_the_darts_go_with_the_engine),
    };

    return cmocka_run_group_tests_name("domains", tests, NULL, NULL);
}
