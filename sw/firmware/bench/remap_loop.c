/* SPDX-License-Identifier: Apache-2.0 */
/* See remap_loop.h. REMAP is the name of this build of the loop. Entries and map do not overlap, so nothing keeps the
 * compiler from reading ahead. */
#include "remap_loop.h"

void REMAP(uint32_t *restrict map, const struct remap_entry *restrict entry, uint32_t count) {
    for (const struct remap_entry *end = entry + count; entry != end; entry++) map[entry->lpn] = entry->location;
}
