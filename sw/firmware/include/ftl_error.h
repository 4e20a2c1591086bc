/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which the firmware can fail to bring the drive up. None of them leads to an erase of anything that may
 * hold data. */
#ifndef FTL_ERROR_H
#define FTL_ERROR_H

enum ftl_error {
    FTL_OK = 0,
    FTL_ERR_CONFIG,   /* the geometry asks for more than this firmware has room for */
    FTL_ERR_DIE,      /* a die does not answer */
    FTL_ERR_LOST,     /* a die that the drive was made with does not answer */
    FTL_ERR_PART,     /* a die of an unknown part */
    FTL_ERR_PARAM,    /* its parameter page is unreadable */
    FTL_ERR_PARTS,    /* dies of different parts */
    FTL_ERR_FIT,      /* a part that the drive is not built for */
    FTL_ERR_SPARE,    /* a part with too few spare bytes for the parity of this drive */
    FTL_ERR_MODE,     /* a die does not come back from a timing mode */
    FTL_ERR_NO_ROOT,  /* the drive is not blank and has no whole root */
    FTL_ERR_VERSION,  /* the root is of another format */
    FTL_ERR_GEOMETRY, /* the root is of a drive of another geometry */
    FTL_ERR_MAP,      /* a directory or map page that the root names cannot be read */
    FTL_ERR_MEMORY,   /* table memory, or a frame, answers with errors */
    FTL_ERR_LOG,      /* a whole log page says something that cannot be */
    FTL_ERR_GAP,      /* a log page that was complete cannot be read, and pages behind it can */
    FTL_ERR_FADED,    /* a log page can be read once and not again: never the result of a mount */
    FTL_ERR_NO_BLOCK, /* no free block for map or log */
    FTL_ERR_PROGRAM,  /* map or directory could not be programmed, in many blocks */
    FTL_ERR_ANCHOR,   /* no anchor is left that can be erased and take a new root; the old root still counts */
    FTL_ERR_BLOCKS,   /* a drive to be formatted has too few good blocks for this capacity */
};

/* On the results that nobody may ignore. */
#define FTL_MUST_CHECK __attribute__((warn_unused_result))

#endif
