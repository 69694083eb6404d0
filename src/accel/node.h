/* SPDX-License-Identifier: Apache-2.0 */
/* The paths that a program sees: two nodes and their folders, by name and by what stat says of them. */
#ifndef ACCEL_NODE_H
#define ACCEL_NODE_H

#include <sys/stat.h>

enum acc_node {
    ACC_NODE_NONE,   /* not one of ours: the kernel goes on with the call */
    ACC_NODE_ACCEL,  /* /dev/accel/accel0 */
    ACC_NODE_RENDER, /* /dev/dri/renderD129 */
    ACC_NODE_FOLDER, /* /dev/accel, which this host may not have */
};

/* The node at an absolute path; repeated slashes and "/./" do not matter. Symbolic links are not followed. */
enum acc_node acc_node_at(const char *path);
/* What stat answers: a character device with the kernel's numbers, mode 0666, or a folder. */
void acc_node_stat(enum acc_node node, struct stat *stat);

#endif
