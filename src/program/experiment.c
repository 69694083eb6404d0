/* SPDX-License-Identifier: Apache-2.0 */
/* The experiments as a table. Offsets are those of a full descriptor; a test compares them. */
#include "program/experiment.h"

#include "base/array.h"

/* What KernelDMASrc holds when a task reads no kernel: the policy of each stream, and its size. */
enum { IDLE_HINT = 2, IDLE_BYTES = 1 };

const struct pr_experiment pr_experiment_table[] = {
#define PR_EXPERIMENT(series, name, offset, reg, element, value, did, y0, y1) \
    {PR_SERIES_##series, name, offset, PR_REG_##reg, element, value, PR_DID_##did, {y0, y1}},
#include "program/experiments.def"
};
const unsigned pr_experiment_count = BASE_COUNT_OF(pr_experiment_table);

static const struct {
    enum pr_td_reg reg;
    uint32_t value;
    bool planar;
} observed[] = {
#define PR_OBSERVED(reg, value, planar, source) {PR_REG_##reg, value, planar},
#include "program/experiments.def"
};

const char *pr_experiment_series_name(enum pr_experiment_series series)
{
    static const char *const name[] = {
#define X(id, name, text) [PR_SERIES_##id] = name,
        PR_EXPERIMENT_SERIES(X)
#undef X
    };

    return name[series];
}

const char *pr_experiment_series_text(enum pr_experiment_series series)
{
    static const char *const text[] = {
#define X(id, name, text) [PR_SERIES_##id] = text,
        PR_EXPERIMENT_SERIES(X)
#undef X
    };

    return text[series];
}

uint32_t pr_experiment_address(const struct pr_experiment *experiment)
{
    return pr_reg_table[experiment->reg].address + 4 * experiment->element;
}

static void put_idle_kernel(struct pr_image *image)
{
    for (uint32_t i = 0; i < pr_reg_table[PR_REG_COEFF_CFG].count; i++) {
        pr_image_put_at(image, PR_F_COEFF_HINT, i, IDLE_HINT);
        pr_image_put_at(image, PR_F_COEFF_BYTES, i, IDLE_BYTES);
    }
    for (uint32_t i = 0; i < pr_reg_table[PR_REG_EXTRA_CFG].count; i++)
        pr_image_put_at(image, PR_F_EXTRA_HINT, i, IDLE_HINT);
}

void pr_experiment_descriptor(uint8_t words[4 * PR_TD_WORDS_FULL])
{
    struct pr_td_head head = {0};
    struct pr_image image = {0};

    put_idle_kernel(&image);
#define PR_EXPERIMENT_HEADER(at, value) head.word[at] = value;
#define PR_EXPERIMENT_BASE(reg, element, value) \
    image.word[pr_reg_table[PR_REG_##reg].first + (element)] = value;
#include "program/experiments.def"
    pr_td_write(&head, &image, words);
}

static bool seen(uint32_t address, uint32_t value, bool hang)
{
    for (unsigned i = 0; i < pr_experiment_count; i++) {
        const struct pr_experiment *row = &pr_experiment_table[i];

        if (row->value == value && pr_experiment_address(row) == address &&
            row->did == (hang ? PR_DID_HANG : PR_DID_SAME))
            return true;
    }
    return false;
}

bool pr_experiment_explains(uint32_t address, uint32_t value, bool planar)
{
    for (unsigned i = 0; i < BASE_COUNT_OF(observed); i++)
        if (observed[i].planar == planar && observed[i].value == value &&
            pr_reg_table[observed[i].reg].address == address)
            return true;
    return !planar && seen(address, value, false);
}

bool pr_experiment_hangs(uint32_t address, uint32_t value, bool planar)
{
    return !planar && seen(address, value, true);
}
