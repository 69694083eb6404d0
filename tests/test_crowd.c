/* SPDX-License-Identifier: Apache-2.0 */
/* More clients than domains, and more programs than may be loaded at once: all get their own results. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "partyrig.h"
#include "tdpatch.h"

#define CROWD   20u
#define ROUNDS  6u
#define DOMAINS 7u

/* How often each domain was lent; place 0, the base domain's, is for numbers that do not fit. */
#define LOANS 64u
struct loans {
    unsigned of[LOANS], all;
};

static void count_loan(void *context, const char *line, size_t length)
{
    struct loans *loans = context;
    const char *at = strstr(line, "domain ");
    unsigned domain;

    (void)length;
    if (at && strstr(at, "lent to client") && sscanf(at, "domain %u lent", &domain) == 1) {
        loans->of[domain < LOANS ? domain : 0]++;
        loans->all++;
    }
}

/*
 * All at once in even rounds, one after the other in odd ones. The inputs are the numbers of client and
 * round, so that no two results are equal.
 */
static void crowd_round(struct partyrig *crowd, ane_port_t port, unsigned round)
{
    struct ane_port_message message;

    for (unsigned i = 0; i < CROWD; i++) {
        partyrig_fill(crowd[i].a, test_half_from_double(i + 1));
        partyrig_fill(crowd[i].b, test_half_from_double(32 * (round + 1)));
        partyrig_fill(crowd[i].y, PARTYRIG_NOT_WRITTEN);
    }
    for (unsigned i = 0; i < CROWD; i++)
        if (round % 2 == 0)
            assert_int_equal(partyrig_send(&crowd[i], &crowd[i].control, port), kIOReturnSuccess);
        else
            assert_int_equal(partyrig_run(&crowd[i], &crowd[i].control, crowd[i].token), kIOReturnSuccess);
    for (unsigned i = 0; round % 2 == 0 && i < CROWD; i++) {
        assert_int_equal(ane_port_receive(port, &message, UINT64_MAX), 0);
        assert_int_equal(message.result, kIOReturnSuccess);
    }
    for (unsigned i = 0; i < CROWD; i++)
        partyrig_expect("a client of many", crowd[i].y, test_half_from_double(i + 1 + 32 * (round + 1)));
}

static void many_clients(uint32_t scatter)
{
    struct loans loans = {.all = 0};
    struct ane_machine *machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED,
                                                                            .scatter = scatter,
                                                                            .trace = 1,
                                                                            .trace_fn = count_loan,
                                                                            .trace_context = &loans});
    struct partyrig crowd[CROWD];
    struct ane_program_prepare prepare;
    ane_port_t port;

    assert_int_equal(ane_port_create(&port), 0);
    for (unsigned i = 0; i < CROWD; i++) {
        partyrig_open(&crowd[i], ane_machine_service(machine), partyrig_task("TEAM", (uint8_t)(i + 1)));
        partyrig_load(&crowd[i], "of-many");
        partyrig_surfaces(&crowd[i], 0, 0);
        assert_int_equal(iorig_prepare(&crowd[i].control, crowd[i].token, &prepare), kIOReturnSuccess);
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        crowd_round(crowd, port, round);
    for (unsigned i = 0; i < LOANS; i++)
        assert_int_equal(loans.of[i] > 0, i >= 1 && i <= DOMAINS);
    assert_true(loans.all > CROWD);
    for (unsigned i = 0; i < CROWD; i++)
        partyrig_close(&crowd[i]);
    ane_port_release(port);
    ane_machine_destroy(machine);
}

static void twenty_clients_share_seven_domains(void **state)
{
    (void)state;
    many_clients(0);
}

static void twenty_clients_share_seven_domains_scattered(void **state)
{
    (void)state;
    many_clients(0x5eed);
}

/* Many programs: number n multiplies the sum of its inputs by n + 1. */

#define PROGRAMS 200u
#define LIVE     128u

static struct td_shape shape_of(uint32_t number)
{
    return (struct td_shape){1, 1 + number % 5, 1, 32 * (1 + number % 7)};
}

static size_t image_scaling(uint8_t *bytes, size_t capacity, uint32_t number)
{
    struct td_shape s = shape_of(number);
    float scale = (float)(number + 1);
    uint32_t word;

    memcpy(&word, &scale, 4);
    return iorig_image_patched(bytes, capacity, s.c, s.w, TD_PE_FINAL_SCALE, word);
}

static void expect_product(const struct partyrig *p, uint64_t token, uint32_t number)
{
    const struct td_shape s = shape_of(number);
    const uint16_t want = test_half_from_double(3 * (number + 1)), *y = ane_surface_base(p->y);

    partyrig_fill(p->y, PARTYRIG_NOT_WRITTEN);
    assert_int_equal(partyrig_run(p, &p->control, token), kIOReturnSuccess);
    for (size_t i = 0; i < PARTYRIG_BYTES / 2; i++)
        if (y[i] != (i < td_total(&s) / 2 ? want : PARTYRIG_NOT_WRITTEN))
            fail_msg("Program %u: element %zu is 0x%04x; the product is 0x%04x.", number, i, y[i], want);
}

static void programs_by_turns(void **state)
{
    static uint8_t image[1 << 16];
    struct ane_machine *machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    struct ane_program_prepare prepare;
    uint64_t token[PROGRAMS];
    struct test_rng rng;
    struct partyrig p;
    unsigned first = 0;

    (void)state;
    test_rng_init(&rng, 0x1501);
    partyrig_open(&p, ane_machine_service(machine), 0);
    partyrig_surfaces(&p, PARTYRIG_ONE, test_half_from_double(2));
    for (unsigned i = 0; i < PROGRAMS; i++) {
        if (i - first == LIVE)
            assert_int_equal(iorig_destroy(&p.control, token[first++]), kIOReturnSuccess);
        assert_int_equal(iorig_create(&p.control, image, image_scaling(image, sizeof(image), i), &token[i]),
                         kIOReturnSuccess);
        assert_int_equal(iorig_prepare(&p.control, token[i], &prepare), kIOReturnSuccess);
        expect_product(&p, token[i], i);
        for (unsigned k = 0; k < 2; k++) {
            unsigned again = (unsigned)test_rng_range(&rng, first, i);

            expect_product(&p, token[again], again);
        }
        if (first)
            assert_int_equal(partyrig_run(&p, &p.control, token[first - 1]), kIOReturnNotFound);
    }
    for (; first < PROGRAMS; first++) {
        expect_product(&p, token[first], first);
        assert_int_equal(iorig_destroy(&p.control, token[first]), kIOReturnSuccess);
    }
    partyrig_close(&p);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_clients_share_seven_domains),
        cmocka_unit_test(twenty_clients_share_seven_domains_scattered),
        cmocka_unit_test(programs_by_turns),
    };

    return cmocka_run_group_tests_name("crowd", tests, partyrig_compile, partyrig_forget);
}
