/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a descriptor stream without a container: found or refused with a sentence, and what is found
 * is inside the bytes and can be judged. The first two bytes are the caller's size and count.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "program/raw.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try(const uint8_t *data, size_t size, uint32_t words, uint32_t count)
{
    static struct pr_check_program program;
    struct pr_problem problem, note;
    struct pr_raw raw, again;

    if (!pr_raw_find(data, size, words, count, &raw, &problem)) {
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
        return;
    }
    require(raw.first_words >= PR_TD_HEADER_WORDS && raw.first_words <= PR_TD_WORDS_MAX);
    require(raw.descriptors && raw.end <= size && raw.behind <= size && raw.behind >= raw.end);
    require(!count || raw.descriptors <= count);
    pr_raw_explain(&raw, &note);
    require(note.text[0] != '\0');
    pr_raw_explain_rest(&raw, size, &note);
    pr_raw_explain_next(&raw, &note);
    /* the size that was found gives the same stream when it is said */
    require(pr_raw_find(data, size, raw.first_words, count, &again, NULL));
    require(again.descriptors == raw.descriptors && again.end == raw.end && again.next == raw.next);
    program.text = data;
    program.text_bytes = size;
    program.first_words = raw.first_words;
    program.count = raw.descriptors;
    program.buffers.bar[PR_HWX_BAR_CONST].role = PR_ROLE_CONSTANT; /* as the command takes what is behind */
    program.buffers.bar[PR_HWX_BAR_CONST].bytes = size - raw.behind;
    program.buffers.constants = data + raw.behind;
    judge(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size < 2)
        return 0;
    copy = malloc(size - 2 ? size - 2 : 1); /* its own block, so that a read past the end is seen */
    require(copy != NULL);
    memcpy(copy, data + 2, size - 2);
    try(copy, size - 2, 0, data[1]);
    try(copy, size - 2, data[0] * 2u, data[1]);
    free(copy);
    return 0;
}
