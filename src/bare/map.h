/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity map of the image: 16 KiB pages, 36 bits of address, one level-2 table whose entries are
 * 32 MiB. Made once, before the MMU is on.
 */
#ifndef BARE_MAP_H
#define BARE_MAP_H

/*
 * The board's ranges, then the image's pages over them, without those below its stacks. Stops at a brk when a
 * range does not fit.
 */
void bare_map_make(void);
/* Translation and caches on. Code never becomes writable, and what is writable is never executed. */
void bare_map_enable(void);

#endif
