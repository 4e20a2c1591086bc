/* SPDX-License-Identifier: Apache-2.0 */
/* The map in table memory and its image on flash. */
#ifndef FTL_MAP_H
#define FTL_MAP_H

#include "ftl.h"

/* Fills the map from the directories of f->old_root (frame old_root.frame), NONE elsewhere. The hardware moves the
 * pages and counts what they name (hal_map_start); every block that is named becomes BUSY. A page is taken from its
 * second copy when the first one cannot be read, and then f->map_must_move is set: the next map stands twice again.
 * FTL_ERR_MAP: neither copy of a page can be read or is the one that the root means. FTL_ERR_MEMORY: table memory has
 * failed. */
FTL_MUST_CHECK enum ftl_error ftl_map_load(struct ftl *f);

/* Position of a map page of f->old_root: entries from it on, counted from map_first, came after its words were read
 * from table memory. 0: a mount wrote the page. Kept in the upper half of the last txid's work area. */
static inline uint32_t *ftl_map_position(const struct ftl *f, uint32_t map_page) {
    return hal_tx_area(FTL_TXIDS - 1) + f->geometry.tx_slots * 2 + map_page;
}

/* During the replay: a word that the log has set, not the map. Its value is the PPN; FTL_NO_VALUE: NONE. */
#define FTL_NO_VALUE ((1u << OTX_WORD_VALUE_BITS) - 1u)
static inline uint32_t ftl_word_of_log(uint32_t word) {
    return FTL_WORD(FTL_WORD_KIND_BUF, word == FTL_WORD_NONE ? FTL_NO_VALUE : FTL_WORD_VALUE(word));
}
static inline uint32_t ftl_word_plain(uint32_t word) {
    if (FTL_WORD_KIND(word) != FTL_WORD_KIND_BUF) return word;
    return FTL_WORD_VALUE(word) == FTL_NO_VALUE ? FTL_WORD_NONE : FTL_WORD_NAND(FTL_WORD_VALUE(word));
}

/* After a replay whose map is not stored: no word of the log's kind is left. */
void ftl_map_plain(const struct ftl *f);

/* The hardware counts anew what the map names; then writes all map pages that are not empty, the directories and the
 * wear pages into erased blocks of any die, each page but the wear pages twice, as pages of root->map_sequence, words
 * of the log's kind become plain; fills in root->directories and the directory PPNs in frame root->frame. Then the
 * prepared transactions (ftl_prepared.h). The new pages' blocks become LIVE, those that the map names by
 * ftl_collect_count(): until then they are BUSY. FTL_ERR_MEMORY: table memory has failed. */
FTL_MUST_CHECK enum ftl_error ftl_map_store(struct ftl *f, struct ftl_root *root);

#endif
