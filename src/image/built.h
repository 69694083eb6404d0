/* SPDX-License-Identifier: Apache-2.0 */
/* The image that the build made (scripts/firmware-image), as bytes in the library. */
#ifndef IMAGE_BUILT_H
#define IMAGE_BUILT_H

#include <stddef.h>

extern const unsigned char img_built[];
extern const size_t img_built_bytes;

#endif
