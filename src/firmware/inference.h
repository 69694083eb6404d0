/* SPDX-License-Identifier: Apache-2.0 */
/* Inference calls: one command that becomes several procedure calls (protocol/inference.h). */
#ifndef FIRMWARE_INFERENCE_H
#define FIRMWARE_INFERENCE_H

#include "firmware/state.h"

/*
 * INFERENCE_CALL. The server checks the body and has a built-in network loaded; the execution loop does the
 * rest.
 */
enum pr_status fw_inference_call(struct fw *fw, struct pr_command_header *header, void *body);
/* The execution loop's part: all calls of the command that the server holds are accepted, or none. */
enum pr_status fw_inference_expand(struct fw *fw);
/* PREMAP_BUFFER with PR_POOL_PROPERTY. */
enum pr_status fw_inference_premap(struct fw *fw, struct fw_rebase *rebase,
                                   const struct pr_body_premap *body);

#endif
