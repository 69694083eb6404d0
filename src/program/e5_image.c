/* SPDX-License-Identifier: Apache-2.0 */
#include "program/e5_image.h"

void pr_e5_image_measure(const struct pr_e5 *e5, struct pr_e5_parts *parts)
{
    *parts = (struct pr_e5_parts){.text_bytes = pr_e5_text_bytes(e5),
                                  .scalars_bytes = (size_t)e5->records * PR_E5_SCALARS_BYTES};
}

bool pr_e5_image_make(const struct pr_e5 *e5, const void *weights, const struct pr_e5_parts *parts,
                      struct pr_e5_image *image, struct pr_problem *problem)
{
    uint32_t words;

    if (!pr_e5_expand(e5, parts->text, parts->text_bytes, &words, problem))
        return false;
    pr_e5_scalars(e5, parts->scalars);
    image->program = (struct pr_hwx_program){.text = parts->text,
                                             .text_bytes = (uint32_t)parts->text_bytes,
                                             .constant = e5->constant_bytes ? weights : NULL,
                                             .constant_bytes = e5->constant_bytes,
                                             .literal = parts->scalars,
                                             .literal_bytes = (uint32_t)parts->scalars_bytes,
                                             .td_count = e5->records,
                                             .first_td_words = words,
                                             .intermediate_bytes = e5->intermediate_bytes,
                                             .port_count = pr_e5_image_ports(e5, image->port),
                                             .port = image->port};
    return true;
}
