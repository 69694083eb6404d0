/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/preload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"

#define PATH_ROOM 4096

/* Folders from the command's own; the build says how the installed ones are to each other. */
static const char *const places[] = {"", ANEMONE_LIBRARY_FOLDER "/"};

/* The folder of the command, with its slash; false after saying why. */
static bool own_folder(char folder[PATH_ROOM])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_ROOM - 1);
    char *slash;

    if (length < 0) {
        tool_say("/proc/self/exe cannot be read: %s.", strerror(errno));
        return false;
    }
    folder[length] = '\0';
    slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    return true;
}

bool tool_preload_path(char *path, size_t room)
{
    char folder[PATH_ROOM];

    if (!own_folder(folder))
        return false;
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int length =
            snprintf(path, room, "%s%s" TOOL_PRELOAD_NAME, places[i][0] == '/' ? "" : folder, places[i]);

        if (length >= 0 && (size_t)length < room && !access(path, R_OK))
            return true;
    }
    tool_say(TOOL_PRELOAD_NAME " is neither in %s nor in the folder for libraries, %s.", folder, places[1]);
    return false;
}
