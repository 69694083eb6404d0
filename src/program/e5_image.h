/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program image of a bundle's function. The driver loads a bundle in this form, and a file of it (.hwx)
 * is the same program.
 */
#ifndef PROGRAM_E5_IMAGE_H
#define PROGRAM_E5_IMAGE_H

#include "program/e5.h"
#include "program/hwx_write.h"

struct pr_e5_image {
    struct pr_hwx_port port[PR_E5_PORT_BUFFERS];
    struct pr_hwx_program program; /* for pr_hwx_write; its pointers are the caller's bytes and `port` */
};

/* The memory that an image needs beside the weights: of the descriptors and of the scalars. */
struct pr_e5_parts {
    size_t text_bytes, scalars_bytes;
    void *text, *scalars;
};

/* Fills the two sizes. */
void pr_e5_image_measure(const struct pr_e5 *e5, struct pr_e5_parts *parts);
/*
 * After that, with memory for both parts: checks every record; false with a problem. `weights` are the
 * function's e5->constant_bytes. The image is not to be moved afterwards.
 */
bool pr_e5_image_make(const struct pr_e5 *e5, const void *weights, const struct pr_e5_parts *parts,
                      struct pr_e5_image *image, struct pr_problem *problem);

#endif
