/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled models that clients have used lately, by user and identifier: memory files. What is dropped here
 * can be had again from the compile service, as long as the partition has it. A model that was taken lives
 * until it is given back.
 */
#ifndef BROKER_MODEL_H
#define BROKER_MODEL_H

#include "broker/state.h"

/* The model of that user, for brk_model_give; NULL: it is not here. */
struct brk_model *brk_model_take(struct brk_models *models, uint32_t uid, const char *model);
/* A new one in the place of an earlier one, taken. The files become the model's. NULL: no memory. */
struct brk_model *brk_model_add(struct brk_models *models, uint32_t uid, const struct pr_broker_model *about,
                                const int file[2]);
void brk_model_give(struct brk_models *models, struct brk_model *model);
/* No longer found: those of the user, or with `all` of every user; with a model "" all of them. */
void brk_model_purge(struct brk_models *models, uint32_t uid, bool all, const char *model);
/* At the end, when none is taken. */
void brk_model_drop_all(struct brk_models *models);
/* Whether the text has the form of an identifier. */
bool brk_model_is_key(const char *text);

#endif
