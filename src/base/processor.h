/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's processor can do. Any thread may ask at any time. */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>

/* How many processors the calling thread may use; at least 1. */
unsigned base_processor_count(void);

/* Whether it converts between fp16 and fp32 in AVX registers: never on a processor that is not an x86-64. */
bool base_processor_has_f16c(void);
/* Whether it has instructions for SHA-256: SHA on an x86-64, SHA2 on an AArch64. */
bool base_processor_has_sha256(void);

#endif
