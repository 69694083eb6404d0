/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: how long a client keeps its domain, between two of its requests, while another waits for one. */
#include "drvrig.h"

#include "driver/state.h"

#define HOLDERS 7u      /* as many as there are domains to lend */
#define LAST    HOLDERS /* the client that waits */

static struct drvrig rig;
static struct drv_client *many[HOLDERS + 1];
static uint64_t tokens[HOLDERS + 1];
static uint32_t surface[2];
static unsigned waits, hot; /* steps that the last client waited; in how many of them a holder sends */

static IOReturn send_as(unsigned i)
{
    struct ane_request_reply reply;
    struct ane_request request;

    drvrig_request(&request, tokens[i], 1, 1, surface);
    return drvrig_send(many[i], &request, &reply);
}

/* The first seven have a domain each, the first of them longest, and have completed one request in it. */
static int boot(void **state)
{
    struct base_error error;

    (void)state;
    drvrig_make(&rig, false);
    rig.platform.turns = true;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, &error), 0);
    assert_int_equal(drv_start(rig.driver, &error), 0);
    surface[0] = drvrig_surface(&rig, 64);
    surface[1] = drvrig_surface(&rig, 64);
    for (unsigned i = 0; i <= LAST; i++) {
        many[i] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        tokens[i] = drvrig_program(&rig, many[i], 1, 0, 0);
    }
    for (unsigned i = 0; i < HOLDERS; i++)
        assert_int_equal(send_as(i), kIOReturnSuccess);
    for (unsigned i = 0; i <= LAST; i++)
        assert_true((many[i]->domain != NULL) == (i < HOLDERS));
    waits = hot = 0;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= LAST; i++)
        drv_client_close(many[i]);
    drvrig_drop(&rig);
    return 0;
}

/* In a wait of the last client: the first holder, which is the one to be evicted, goes on. */
static void send_in_wait(struct drvrig *r)
{
    const uint64_t loans = r->driver->loans;

    if (!r->driver->domain_waiters)
        return;
    waits++;
    if (!hot)
        return;
    hot--;
    r->admit = NULL; /* its own waits are not those of the last client */
    assert_int_equal(send_as(0), kIOReturnSuccess);
    drvrig_work(r); /* nothing is left for this step */
    assert_int_equal(r->driver->loans, loans);
    r->admit = send_in_wait;
}

static void send_as_last(void)
{
    rig.admit = send_in_wait;
    assert_int_equal(send_as(LAST), kIOReturnSuccess);
    rig.admit = NULL;
    assert_non_null(many[LAST]->domain);
    assert_null(many[0]->domain);
}

static void a_client_keeps_its_domain_between_requests(void **state)
{
    uint64_t loans = rig.driver->loans;

    (void)state;
    hot = 3;
    send_as_last();
    assert_int_equal(waits, 4); /* the fourth step is one without a request */
    assert_int_equal(rig.driver->loans, loans + 1);
}

static void idle_clients_delay_another_for_one_step(void **state)
{
    (void)state;
    send_as_last();
    assert_int_equal(waits, 1);
}

static void a_wait_for_a_turn_is_bounded(void **state)
{
    (void)state;
    hot = 1000;
    send_as_last();
    assert_int_equal(waits, DRV_TURN_STEPS);
}

static void a_turn_ends_after_its_requests(void **state)
{
    (void)state;
    for (unsigned i = 1; i < DRV_TURN_REQUESTS; i++)
        assert_int_equal(send_as(0), kIOReturnSuccess);
    send_as_last();
    assert_int_equal(waits, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_keeps_its_domain_between_requests, boot, drop),
        cmocka_unit_test_setup_teardown(idle_clients_delay_another_for_one_step, boot, drop),
        cmocka_unit_test_setup_teardown(a_wait_for_a_turn_is_bounded, boot, drop),
        cmocka_unit_test_setup_teardown(a_turn_ends_after_its_requests, boot, drop),
    };

    return cmocka_run_group_tests_name("driver_turn", tests, NULL, NULL);
}
