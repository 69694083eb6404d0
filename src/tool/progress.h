/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar on stderr while this thread compiles; only where stderr is a terminal. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

void tool_progress_begin(void);
/* Takes the bar away. Before anything is printed, and on every way out. */
void tool_progress_end(void);

#endif
