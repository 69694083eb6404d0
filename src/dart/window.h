/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host windows: 3.5 GiB of reserved host addresses per domain, in which scattered pages are shown in the
 * order of their device addresses. The number of host mappings over all windows stays within the budget:
 * least recently used chunks are dropped for new ones. The device sees none of this, so none of it is traced.
 */
#ifndef DART_WINDOW_H
#define DART_WINDOW_H

#include "dart/domain.h"

/*
 * Shows the pages first..last, whose entries are present. False when the host or the budget does not
 * allow it.
 */
bool dart_window_map(struct dart_domain *domain, uint32_t first, uint32_t last);
/* Pages first..last are in use: the youngest, and pinned while grants are bracketed. */
void dart_window_touch(struct dart_domain *domain, uint32_t first, uint32_t last);
/* Hides all pages; the addresses stay reserved. The caller clears the entries. */
void dart_window_clear(struct dart_domain *domain);
/* Gives the addresses back. */
void dart_window_release(struct dart_domain *domain);

#endif
