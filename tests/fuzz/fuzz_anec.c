/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an .anec file: read, judged, and made into an image that says the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "program/anec.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ports(const struct pr_hwx *a, const struct pr_hwx *b)
{
    require(a->port_count == b->port_count);
    for (uint32_t i = 0; i < a->port_count; i++) {
        const struct pr_hwx_port *p = &a->port[i], *q = &b->port[i];

        require(p->bar < PR_TQ_BARS && a->bar[p->bar] == p->vmaddr && b->bar[q->bar] == q->vmaddr);
        require(p->bar == q->bar && p->bytes == q->bytes && p->direction == q->direction && p->shaped &&
                q->shaped);
        require(p->n == q->n && p->c == q->c && p->h == q->h && p->w == q->w && p->d == q->d);
        require(strcmp(p->name, q->name) == 0 && p->batch_stride == q->batch_stride);
    }
}

static void check_image(const uint8_t *data, const struct pr_hwx *hwx)
{
    size_t size = pr_anec_write_image(data, hwx, NULL, 0);
    uint8_t *image = malloc(size);
    static struct pr_hwx back;

    require(image && size && pr_anec_write_image(data, hwx, image, size) == size);
    require(pr_hwx_read(image, size, &back, NULL));
    require(back.text.size == hwx->text.size && back.constant.size == hwx->constant.size);
    require(back.td_count == hwx->td_count && back.first_td_words == hwx->first_td_words);
    require(back.intermediate_bytes == hwx->intermediate_bytes);
    check_ports(hwx, &back);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_problem problem;
    static struct pr_check_program program;
    static struct pr_hwx hwx;

    pr_program_read(data, size, &hwx, &problem);
    if (!pr_anec_read(data, size, &hwx, &problem)) {
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
        return 0;
    }
    require_inside(hwx.text.offset, hwx.text.size, size);
    require_inside(hwx.constant.offset, hwx.constant.size, size);
    pr_check_program_of(&program, data, &hwx);
    judge(&program);
    check_image(data, &hwx);
    return 0;
}
