/* SPDX-License-Identifier: Apache-2.0 */
/* The table of properties, and its bounds. */
#include "protocol/property.h"

#include "base/array.h"

const struct pr_property_row pr_property_table[PR_PROPERTY_COUNT] = {
#define X(id, number, meaning, allowed, most, words) {number, allowed, most, meaning, words},
    PR_PROPERTIES(X)
#undef X
};

enum pr_property pr_property_find(uint32_t number)
{
    unsigned i = 0;

    while (i < PR_PROPERTY_COUNT && pr_property_table[i].number != number)
        i++;
    return (enum pr_property)i;
}

const char *pr_property_class_name(uint32_t number)
{
    static const struct {
        uint32_t number;
        const char *name;
    } classes[] = {
#define X(number, name) {number, name},
        PR_PROPERTY_CLASSES(X)
#undef X
    };

    for (unsigned i = 0; i < BASE_COUNT_OF(classes); i++)
        if (number <= 0xffffu && classes[i].number == PR_PROPERTY_CLASS(number))
            return classes[i].name;
    return NULL;
}

bool pr_property_allows(enum pr_property property, uint32_t value)
{
    const struct pr_property_row *row = &pr_property_table[property];

    return value <= row->most && (!row->allowed || row->allowed >> value & 1);
}
