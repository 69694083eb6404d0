/* SPDX-License-Identifier: Apache-2.0 */
/* Reads DER: definite, shortest lengths and one identifier octet, which is all that Image4 needs. */
#ifndef IMAGE_DER_H
#define IMAGE_DER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What is left to read; `start` is the file's beginning, for places in sentences. */
struct img_der {
    const uint8_t *start, *at, *end;
};

/* The next element, which has that identifier; `what` names it. -EINVAL with a sentence. */
int img_der_take(struct img_der *in, uint8_t identifier, const char *what, struct img_der *content,
                 struct base_error *error);
/* The next element is that word. */
int img_der_word(struct img_der *in, const char *word, struct base_error *error);
/* -EINVAL unless everything has been read. */
int img_der_end(const struct img_der *in, const char *what, struct base_error *error);

#endif
