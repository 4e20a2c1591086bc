/* SPDX-License-Identifier: Apache-2.0 */
/* The map in table memory and its image on flash. */
#ifndef FTL_MAP_H
#define FTL_MAP_H

#include "ftl.h"

/* Fills the map from the directories of f->old_root (frame old_root.frame), NONE elsewhere; every block that is named
 * becomes BUSY.
 * FTL_ERR_MAP: a page cannot be read or is not the one that the root means. */
FTL_MUST_CHECK enum ftl_error ftl_map_load(struct ftl *f);

/* Writes all map pages that are not empty, then the directories, into erased blocks of any die, as pages of
 * root->map_sequence; fills in root->directories and the directory PPNs in frame root->frame. LIVE becomes anchors,
 * data blocks of the map and the new pages' blocks. */
FTL_MUST_CHECK enum ftl_error ftl_map_store(struct ftl *f, struct ftl_root *root);

#endif
