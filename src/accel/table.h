/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open files of one device, found by what stat says of a descriptor. A file is held while a call uses it,
 * so that another thread cannot close it meanwhile.
 */
#ifndef ACCEL_TABLE_H
#define ACCEL_TABLE_H

#include "accel/file.h"

struct acc_table;

int acc_table_create(struct acc_device *device, struct acc_table **table, struct base_error *error);
void acc_table_destroy(struct acc_table *table);

/*
 * An open of a node: a new file, and a descriptor for the program, which the caller closes once it is handed
 * over. Files that no process can reach any more are closed first. Or a negative errno with a sentence.
 */
int acc_table_open(struct acc_table *table, struct base_error *error);
/* The file of a descriptor, held until acc_table_put; NULL when it is not one of these. */
struct acc_file *acc_table_get(struct acc_table *table, dev_t device, ino_t inode);
void acc_table_put(struct acc_table *table, struct acc_file *file);
struct acc_device *acc_table_device(const struct acc_table *table);
/* How many are open, and how many buffers they have. For tests. */
unsigned acc_table_files(struct acc_table *table);

#endif
