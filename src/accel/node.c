/* SPDX-License-Identifier: Apache-2.0 */
/* Paths are compared component by component. */
#include "accel/node.h"

#include <stdbool.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "accel/abi.h"

/* What stat says of all nodes (chosen, except for type, mode and number). */
#define BLOCK_BYTES 4096
#define FIRST_INODE 1000

static const struct {
    const char *path;
    mode_t mode;
    unsigned major, minor;
} nodes[] = {
    [ACC_NODE_ACCEL] = {ACC_PATH_ACCEL, S_IFCHR | 0666, ACC_MAJOR_ACCEL, ACC_MINOR_ACCEL},
    [ACC_NODE_RENDER] = {ACC_PATH_RENDER, S_IFCHR | 0666, ACC_MAJOR_RENDER, ACC_MINOR_RENDER},
    [ACC_NODE_FOLDER] = {"/dev/accel", S_IFDIR | 0755, 0, 0},
};

/* The next component of a path, without slashes and "."; its length, 0 at the end. */
static size_t component(const char **at)
{
    size_t length;

    do {
        *at += strspn(*at, "/");
        length = strcspn(*at, "/");
        if (length != 1 || **at != '.')
            return length;
        *at += length;
    } while (true);
}

static bool same(const char *path, const char *node)
{
    size_t length, wanted;

    do {
        length = component(&path);
        wanted = component(&node);
        if (length != wanted || memcmp(path, node, length) != 0)
            return false;
        path += length;
        node += wanted;
    } while (length);
    return true;
}

enum acc_node acc_node_at(const char *path)
{
    const size_t length = strlen(path);

    if (path[0] != '/')
        return ACC_NODE_NONE;
    for (unsigned i = ACC_NODE_ACCEL; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (same(path, nodes[i].path))
            /* a slash or "/." at the end asks for a folder */
            return S_ISDIR(nodes[i].mode) || (path[length - 1] != '/' && path[length - 1] != '.')
                       ? (enum acc_node)i
                       : ACC_NODE_NONE;
    return ACC_NODE_NONE;
}

void acc_node_stat(enum acc_node node, struct stat *stat)
{
    memset(stat, 0, sizeof(*stat));
    if (node == ACC_NODE_NONE)
        return;
    stat->st_mode = nodes[node].mode;
    stat->st_rdev = makedev(nodes[node].major, nodes[node].minor);
    stat->st_ino = FIRST_INODE + node;
    stat->st_nlink = S_ISDIR(nodes[node].mode) ? 2 : 1;
    stat->st_blksize = BLOCK_BYTES;
}
