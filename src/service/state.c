/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a key in a file the service and its broker would each have a key of their own in memory, and the
 * driver would refuse every program that the broker signs. So a service that cannot keep one does not start.
 */
#include "service/state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signing.h"
#include "service/partition.h"

_Static_assert(SVC_STATE_PATH >= PATH_MAX, "realpath() writes PATH_MAX bytes");

static int choose(const char *folder, char path[SVC_STATE_PATH], struct base_error *error)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length;

    if (folder)
        length = snprintf(path, SVC_STATE_PATH, "%s", folder);
    else if (xdg && xdg[0])
        length = snprintf(path, SVC_STATE_PATH, "%s/anemone", xdg);
    else if (geteuid() == 0)
        length = snprintf(path, SVC_STATE_PATH, "/var/lib/anemone");
    else if (home && home[0])
        length = snprintf(path, SVC_STATE_PATH, "%s/.local/state/anemone", home);
    else
        return base_fail(error, EINVAL,
                         "Neither XDG_STATE_HOME nor HOME is set; name a folder with --state DIR.");
    if (length < 1 || (size_t)length >= SVC_STATE_PATH)
        return base_fail(error, ENAMETOOLONG, "The path of the state folder is empty or too long.");
    return 0;
}

/* The folder and its cache. The children get the path, so it begins at the root. */
static int make(const char *chosen, char path[SVC_STATE_PATH], struct base_error *error)
{
    struct base_error why;
    int cache = svc_partition_open_all(chosen, true, &why);

    if (cache < 0)
        return base_fail(error, -cache,
                         "The state folder cannot be used: %.380s Name another with --state DIR.", why.text);
    close(cache);
    if (!realpath(chosen, path))
        return base_fail(error, errno, "The state folder %.200s cannot be used: %s.", chosen,
                         strerror(errno));
    return 0;
}

static int check_private(const char *path, mode_t forbidden, const char *repair, struct base_error *error)
{
    struct stat info;

    if (stat(path, &info))
        return base_fail(error, errno, "%.200s cannot be looked at: %s.", path, strerror(errno));
    if (info.st_uid != geteuid())
        return base_fail(error, EPERM,
                         "%.200s belongs to user %u, and user %u runs the service. Name another folder with "
                         "--state DIR.",
                         path, (unsigned)info.st_uid, (unsigned)geteuid());
    if (info.st_mode & forbidden)
        return base_fail(error, EPERM,
                         "%.200s is open to other users (mode %04o), who could have any image accepted as a "
                         "compiled one. %s",
                         path, (unsigned)info.st_mode & 07777u, repair);
    return 0;
}

static int take_key(const char *path, struct base_error *error)
{
    char name[SVC_STATE_PATH + sizeof("/service.key")];
    uint8_t key[BASE_KEY_BYTES];
    struct base_error why;

    snprintf(name, sizeof(name), "%s/service.key", path);
    if (setenv("ANEMONE_KEY", name, 1))
        return base_fail(error, ENOMEM, "No memory for the environment.");
    if (base_signing_key(key, &why))
        return base_fail(error, EIO,
                         "The service has no key to sign programs with. %.300s Remove that file, or name "
                         "another folder with --state DIR.",
                         why.text);
    return check_private(name, S_IRWXG | S_IRWXO, "Remove it; the service makes another.", error);
}

int svc_state_prepare(const char *folder, char path[SVC_STATE_PATH], struct base_error *error)
{
    char chosen[SVC_STATE_PATH];
    int status = choose(folder, chosen, error);

    if (!status)
        status = make(chosen, path, error);
    if (!status)
        status = check_private(path, S_IWGRP | S_IWOTH,
                               "Change it with chmod go-w, and remove its service.key.", error);
    return status ? status : take_key(path, error);
}
