/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What descriptors do with buffers. A descriptor that cannot be read still counts by its header, and its
 * registers are left out.
 */
#include "program/uses.h"

#include <string.h>

#include "base/array.h"
#include "program/chain.h"
#include "program/hwx.h"

enum { SOURCE_KEPT = 1, SOURCE_DMA = 2 }; /* SourceType and ResultType of what moves to or from memory */

/* A buffer that a descriptor's header selects, as a set of one; empty when the selector is not enabled. */
static uint32_t selected(const uint8_t *td, enum pr_td_header_field base, enum pr_td_header_field enable)
{
    const struct pr_field_info *b = &pr_header_table[base], *e = &pr_header_table[enable];

    if (!pr_bits_get(pr_le32(td + 4u * e->owner), e->lo, e->width))
        return 0;
    return 1u << pr_bits_get(pr_le32(td + 4u * b->owner), b->lo, b->width);
}

static const struct {
    enum pr_td_header_field base, enable;
} kernels[] = {
    {PR_H_KBASE0, PR_H_KBE0}, {PR_H_KBASE1, PR_H_KBE1}, {PR_H_KBASE2, PR_H_KBE2}, {PR_H_KBASE3, PR_H_KBE3}};

/* A kernel may come from a surface. */
static uint32_t selected_kernels(const uint8_t *td)
{
    uint32_t set = 0;

    for (unsigned i = 0; i < BASE_COUNT_OF(kernels); i++)
        set |= selected(td, kernels[i].base, kernels[i].enable);
    return set;
}

/* The descriptor takes every buffer of the set for elements of this code: those of MemFmt and KernelFmt. */
static void note_element(struct pr_uses *uses, uint32_t set, uint32_t code, uint32_t descriptor)
{
    static const uint32_t elements[4] = {PR_HWX_ELEMENT_UINT8, PR_HWX_ELEMENT_INT8, PR_HWX_ELEMENT_FLOAT16};
    uint32_t element = elements[code & 3];

    for (uint32_t bar = 0; element && bar < PR_TQ_BARS; bar++) {
        struct pr_buffer_use *use = &uses->buffer[bar];

        if (!(set >> bar & 1))
            continue;
        if (!use->element) {
            use->element = element;
            use->descriptor = descriptor;
        } else if (use->element != element && !use->other) {
            use->other = element;
            use->other_descriptor = descriptor;
        }
    }
}

static bool by_dma(const struct pr_image *image, enum pr_td_field type, enum pr_td_field enable)
{
    uint32_t kind = pr_image_get(image, type);

    return (kind == SOURCE_KEPT || kind == SOURCE_DMA) && pr_image_get(image, enable);
}

static void trace_elements(struct pr_uses *uses, const uint8_t *td, const struct pr_image *image,
                           uint32_t descriptor)
{
    if (by_dma(image, PR_F_SOURCE_TYPE, PR_F_SRC_EN))
        note_element(uses, selected(td, PR_H_RBASE0, PR_H_RBE0), pr_image_get(image, PR_F_SRC_MEM_FMT),
                     descriptor);
    if (pr_image_get(image, PR_F_SOURCE2_BY_DMA))
        note_element(uses, selected(td, PR_H_RBASE1, PR_H_RBE1), pr_image_get(image, PR_F_SRC2_MEM_FMT),
                     descriptor);
    if (pr_image_get(image, PR_F_KERNEL_AT_RUNTIME))
        note_element(uses, selected_kernels(td), pr_image_get(image, PR_F_KERNEL_FMT), descriptor);
    if (by_dma(image, PR_F_RESULT_TYPE, PR_F_DST_EN)) {
        uint32_t set = selected(td, PR_H_WBASE, PR_H_WBE);

        uses->stored |= set;
        note_element(uses, set, pr_image_get(image, PR_F_DST_MEM_FMT), descriptor);
    }
}

void pr_uses_trace(const void *text, size_t size, uint32_t first_words, uint32_t count, struct pr_uses *uses)
{
    struct pr_image image = {{0}};
    struct pr_chain_link link;
    struct pr_chain chain;
    struct pr_td td;
    enum pr_chain_step step;

    memset(uses, 0, sizeof(*uses));
    pr_chain_begin(&chain, text, size, first_words, count);
    while ((step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END) {
        const uint8_t *bytes = (const uint8_t *)text + link.offset;

        if (step != PR_CHAIN_LINK || link.words < PR_TD_HEADER_WORDS)
            continue;
        uses->written |= selected(bytes, PR_H_WBASE, PR_H_WBE);
        uses->read |= selected(bytes, PR_H_RBASE0, PR_H_RBE0) | selected(bytes, PR_H_RBASE1, PR_H_RBE1) |
                      selected_kernels(bytes);
        if (!pr_td_read(bytes, link.words, &td, NULL))
            continue;
        pr_td_apply(&td, &image);
        trace_elements(uses, bytes, &image, link.index);
    }
}

bool pr_uses_element(const struct pr_uses *uses, uint32_t bar, uint32_t *element, struct pr_problem *problem)
{
    const struct pr_buffer_use *use = &uses->buffer[bar];

    *element = use->element ? use->element : PR_HWX_ELEMENT_FLOAT16;
    return !use->other ||
           pr_problem_set(problem, PR_PROBLEM_INCONSISTENT,
                          "Descriptor %u takes the surface in buffer %u for %s, and descriptor %u for %s.",
                          use->descriptor, bar, pr_hwx_element_name(use->element), use->other_descriptor,
                          pr_hwx_element_name(use->other));
}
