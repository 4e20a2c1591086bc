/* SPDX-License-Identifier: Apache-2.0 */
/* The map in table memory and its image on flash. */
#ifndef FTL_MAP_H
#define FTL_MAP_H

#include "ftl.h"

/* Fills the map from the directories of f->old_root (frame old_root.frame), NONE elsewhere. The hardware moves the
 * pages and counts what they name (hal_map_start); every block that is named becomes BUSY. A page is taken from its
 * second copy when the first one cannot be read, and then f->map_must_move is set and the page counts as changed: the
 * next map stands twice again. Counts the pages of each block of the map (ftl_map_blocks.h).
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

/* During the replay: sets a word, and its page counts as changed. */
static inline void ftl_map_set(uint32_t lpn, uint32_t word) {
    hal_map()[lpn] = word;
    hal_map_touch(lpn / FTL_PAGE_WORDS);
}

/* Pages that count as changed. */
uint32_t ftl_map_changed(const struct ftl *f);

/* Reads directory d of a root into a frame, from the first copy that can be read; `ppns`: where the root names the
 * first one. The number of that copy, FTL_MAP_COPIES: none can be. Nothing is in flight. */
uint32_t ftl_map_directory(struct ftl *f, uint32_t d, const uint32_t *ppns, uint32_t frame);

/* After a replay whose map is not stored: no word of the log's kind is left. */
void ftl_map_plain(const struct ftl *f);

/* The hardware counts anew what the map names, and words of the log's kind become plain. Writes the map pages that
 * changed, or whose blocks leave (ftl_map_blocks.h), but for empty ones, their directories, and the wear pages into
 * erased blocks of any die, each page but the wear pages twice; with f->map_whole all. Fills in root->directories and
 * the directory PPNs in frame root->frame, which has those of f->old_root. Then the prepared transactions
 * (ftl_prepared.h). The blocks of the map become LIVE, those that the map names by ftl_collect_count(): until then they
 * are BUSY. Two open blocks are left for the next checkpoint. No page counts as changed then. FTL_ERR_MEMORY: table
 * memory has failed. */
FTL_MUST_CHECK enum ftl_error ftl_map_store(struct ftl *f, struct ftl_root *root);

#endif
