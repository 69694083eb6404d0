/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a firmware container: read, and whatever is accepted points inside them and keeps its limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/container.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(const uint8_t *bytes, size_t size, const void *part, uint64_t length)
{
    const uint8_t *p = part;

    require(p >= bytes && p <= bytes + size && length <= (uint64_t)(bytes + size - p));
}

static bool known(const struct pr_container *c, uint32_t index)
{
    for (uint32_t i = 0; i < c->generic->buffers; i++)
        if (c->buffer[i].index == index)
            return true;
    return false;
}

static void check(const uint8_t *bytes, size_t size, const struct pr_container *c)
{
    inside(bytes, size, c->generic, sizeof(*c->generic));
    inside(bytes, size, c->buffer, (uint64_t)c->generic->buffers * sizeof(*c->buffer));
    inside(bytes, size, c->operation, (uint64_t)c->operations * sizeof(*c->operation));
    inside(bytes, size, c->procedure, (uint64_t)c->procedures * sizeof(*c->procedure));
    inside(bytes, size, c->record, (uint64_t)c->records * sizeof(*c->record));
    if (c->custom_bars)
        inside(bytes, size, c->custom_bar, (uint64_t)c->custom_bars * sizeof(*c->custom_bar));
    for (uint32_t i = 0; i < c->custom_bars; i++)
        require(c->custom_bar[i].operation < c->operations && c->custom_bar[i].bar < PR_TQ_BARS);
    for (uint32_t i = 0; i < c->records; i++)
        require(c->record[i].operation < c->operations && c->record[i].bar < PR_TQ_BARS);
    for (unsigned i = 0; i < PR_SECTION_COUNT; i++)
        if (c->section[i])
            require(c->section[i]->address + c->section[i]->address_bytes <= PR_SECTION_LIMIT);
    for (uint32_t i = 0; i < c->operations; i++) {
        require(c->operation[i].bars <= PR_TQ_BARS);
        for (uint32_t b = 0; b < c->operation[i].bars; b++)
            require(c->operation[i].bar[b].bar < PR_TQ_BARS && known(c, c->operation[i].bar[b].buffer));
    }
    for (uint32_t i = 0; i < c->procedures; i++)
        require(c->procedure[i].operation < c->operations &&
                c->procedure[i].text_offset + 4ull * c->procedure[i].first_words <=
                    c->section[PR_SECTION_TEXT]->address_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_container container;
    struct pr_problem problem;
    uint8_t *copy = malloc(size ? size : 1);

    require(copy != NULL);
    memcpy(copy, data, size);
    /* A mutated size word would stop nearly every case at the first header. */
    if (size >= sizeof(struct pr_container_package))
        ((struct pr_container_package *)(void *)copy)->bytes = (uint32_t)size;
    if (pr_container_read(copy, size, &container, &problem))
        check(copy, size, &container);
    else
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
    free(copy);
    return 0;
}
