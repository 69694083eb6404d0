/* SPDX-License-Identifier: Apache-2.0 */
/* A task in one plain sentence, without its full stop. */
#ifndef TOOL_SENTENCE_H
#define TOOL_SENTENCE_H

#include "program/task.h"
#include "protocol/text.h"

#define TOOL_SENTENCE_BYTES 640u

/*
 * "NE 3x3 convolution, stride 1, pad 1: 64x16x16 from buffer 5 -> 64x16x16 to buffer 4, 16 engines x 4 lanes,
 * bias, ReLU"
 */
void tool_task_sentence(const struct pr_task *task, struct pr_text *text);

#endif
