/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the service that does one deed (deeds.h). tests/test_entitlements_served.sh runs it under two
 * names for each key: the policy knows a program by its path.
 *
 *     entitled --keys            the numbers of the keys that have a deed
 *     entitled --slot            the number of the key of kind SLOT, whose deed is to be there
 *     entitled --policy FOLDER   a policy for FOLDER/granted-N and FOLDER/missing-N
 *     .../granted-N              ends with 0 when the deed of key N succeeds
 *     .../granted-N hold         that of kind SLOT: keeps its session until it has read a character
 *     .../missing-N              ends with 0 when it is refused as its row says, with the lines to add
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "deeds.h"

static unsigned key;
static bool granted, held;

static const struct deeds_row *row_of(unsigned number)
{
    return deeds_kernel[number].run ? &deeds_kernel[number] : &deeds_broker[number];
}

static void print_block(const char *folder, const char *name, unsigned number, uint32_t entitlements)
{
    const char *list[PR_ENTITLEMENT_COUNT];
    unsigned count = deeds_list(entitlements, list);

    printf("match path %s/%s-%u\n  team TESTERS\n  deny %s\n", folder, name, number,
           deeds_key[PR_ENTITLEMENT_ALLOW]); /* which the default policy gives */
    for (unsigned i = 0; i < count; i++)
        printf("  allow %s\n", list[i]);
}

static int print_policy(const char *folder)
{
    for (unsigned i = 0; i < PR_ENTITLEMENT_COUNT; i++) {
        print_block(folder, "granted", i, row_of(i)->others | 1u << i);
        print_block(folder, "missing", i, row_of(i)->others);
    }
    return 0;
}

static int print_keys(void)
{
    for (unsigned i = 0; i < PR_ENTITLEMENT_COUNT; i++)
        if (row_of(i)->run)
            printf("%u %s\n", i, deeds_key[i]);
    return 0;
}

/* Either key admits to the broker; the sentence names the first. */
static const char *named_key(void)
{
    return deeds_key[key == PR_ENTITLEMENT_ACCESS ? PR_ENTITLEMENT_ALLOW : key];
}

static void check_refusal(const struct deeds_row *row, const struct deeds_outcome *outcome)
{
    char line[128];

    snprintf(line, sizeof(line), "\"allow %s\"", named_key());
    if ((uint32_t)outcome->status != row->missing ||
        strncmp(outcome->sentence, row->words, strlen(row->words)) != 0 ||
        !strstr(outcome->sentence, named_key()) || !strstr(outcome->sentence, "\"match uid ") ||
        !strstr(outcome->sentence, line))
        fail_msg("without %s: 0x%08x %s", deeds_key[key], (unsigned)outcome->status, outcome->sentence);
    print_message("0x%08x %s\n", (unsigned)outcome->status, outcome->sentence);
}

static void do_deed(void **state)
{
    const struct deeds_row *row = row_of(key);
    struct deeds_outcome outcome = {0};
    io_service_t service;

    (void)state;
    assert_non_null(ane_service_name());
    service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    assert_int_not_equal(service, 0);
    if (!row->run) {
        char word;

        if (held)
            assert_int_equal(read(0, &word, 1), 1);
        return;
    }
    row->run(service, 0, &outcome);
    if (!granted)
        check_refusal(row, &outcome);
    else if (outcome.status)
        fail_msg("with %s: 0x%08x %s", deeds_key[key], (unsigned)outcome.status, outcome.sentence);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(do_deed)};
    const char *name = strrchr(argv[0], '/');

    if (argc == 2 && !strcmp(argv[1], "--keys"))
        return print_keys();
    if (argc == 2 && !strcmp(argv[1], "--slot"))
        return printf("%u\n", PR_ENTITLEMENT_BLESSED) < 0;
    if (argc == 3 && !strcmp(argv[1], "--policy"))
        return print_policy(argv[2]);
    granted = name && !strncmp(name, "/granted-", 9);
    if (!granted && !(name && !strncmp(name, "/missing-", 9)))
        return 2;
    held = argc == 2 && !strcmp(argv[1], "hold");
    key = (unsigned)atoi(name + 9);
    if (key >= PR_ENTITLEMENT_COUNT)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
