/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the FTL: one object, no heap. What each part means and who changes it is in that part's header. */
#ifndef FTL_H
#define FTL_H

#include "ftl_error.h"
#include "ftl_format.h"
#include "ftl_geometry.h"
#include "ftl_io.h"
#include "ftl_part.h"

/* Which blocks are taken (ftl_blocks.h). */
struct ftl_blocks {
    uint32_t words;                /* 32-bit words of a die in a set */
    uint32_t frames;               /* frames of a set: pages of the bad-block table */
    uint32_t cursor[FTL_MAX_DIES]; /* word at which the search in a die goes on */
    uint32_t free[FTL_MAX_DIES];   /* free blocks per die and in all; counted by ftl_blocks_settle */
    uint32_t total;
    uint32_t borrowed; /* of the mount reserve */
    uint64_t marked;   /* log entry at which free blocks were marked, for those that are unnamed */
    bool unnamed_missing;
    bool settled;
    uint32_t closed; /* blocks that were closed: the clock of ages (ftl_age.h), its unit is 2^unit of them */
    uint32_t unit;
    uint32_t last_busy, last_live; /* block last put in, to make the same one again cheap */
};

/* Erases of the blocks that are neither bad nor kept for roots and table (ftl_wear.h). */
struct ftl_wear {
    bool loaded;
    uint32_t lost;                        /* wear pages that could not be read */
    uint32_t least, most, mean, walks;    /* of the last walk that ended; how many did */
    uint32_t die, block, seen, low, high; /* the walk that is under way: where, and what it has seen; */
    uint32_t first;                       /* erases of its first block, and the sum of what the others have more */
    int32_t sum;
};

/* What the drive has done since it was formatted (ftl_health.h). */
struct ftl_health {
    uint64_t host, nand, moved;                              /* pages */
    uint32_t data_seen, log_seen, programs_seen, moved_seen; /* counters of this session, as far as they are in it */
    uint32_t word;                                           /* the next one to be said */
    uint32_t bad, spare;                                     /* bad blocks; good ones beyond the need */
    uint64_t table; /* version of the bad-block table that they are of; 0: none */
    uint32_t cuts;  /* mounts that followed no orderly power-down */
};

#define FTL_TABLE_BLOCKS 3u /* blocks kept for each of the two copies of the bad-block table */

/* Where the bad-block table and its copies stand (ftl_bbt.h). */
struct ftl_bbt {
    uint64_t version; /* of what BAD holds; 0: nothing is known yet */
    uint64_t seen;    /* highest version met on NAND, also in pages that are not whole */
    struct ftl_bbt_copy {
        uint64_t version; /* the newest whole one on NAND; 0: none */
        uint32_t holder;  /* which of its blocks has that; FTL_TABLE_BLOCKS: none */
        uint32_t at;      /* the block of this session, with `page` for the next version; FTL_TABLE_BLOCKS: none */
        uint32_t page, part;
        uint64_t writing; /* version of the pages before `part` */
        bool lost;
    } copy[2];
};

/* Blocks that hold something until a checkpoint (ftl_checkpoint.h), in order. When there are more, the oldest is
 * forgotten, and not given back before the next mount. */
#define FTL_HOLDERS 320u
struct ftl_holders {
    uint32_t block[FTL_HOLDERS];
    uint32_t n;
};

/* Adds one that is not there. */
static inline void ftl_holders_put(struct ftl_holders *h, uint32_t block_id) {
    for (uint32_t i = h->n; i-- > 0;)
        if (h->block[i] == block_id) return;
    if (h->n == FTL_HOLDERS) {
        h->n--;
        for (uint32_t i = 0; i < h->n; i++) h->block[i] = h->block[i + 1];
    }
    h->block[h->n++] = block_id;
}

/* Blocks with pages of the map (ftl_map_blocks.h). */
#define FTL_MAP_BLOCKS (2u * FTL_HOLDERS)
struct ftl_map_blocks {
    struct ftl_map_block {
        uint32_t id : 24, pinned : 1, leaves : 1;
        uint16_t live, next;
    } at[FTL_MAP_BLOCKS];
    uint32_t n, pinned, leaving;
    uint32_t last; /* found last: pages that follow in a directory are in the same block or in the next one */
    uint32_t to[FTL_MAP_COPIES], left[FTL_MAP_COPIES]; /* of each copy: its next page, pages left in its block */
};

/* Prepared transactions that a mount has found (ftl_prepared.h): their txids, one bit each; how long their lists are.
 */
struct ftl_prepared {
    uint32_t txids, items[FTL_TXIDS];
};

/* What a recovery could not bring back. */
struct ftl_lost {
    uint32_t dropped;   /* commands that the log has and the map has not */
    uint32_t log_pages; /* begun, and not readable, or of another drive */
    uint32_t foreign;   /* those of another drive; no root has it */
    /* blocks named by the log whose page was begun and cannot be read: a program that was cut, or an acknowledged
     * version that went bad */
    uint32_t doubtful;
    uint32_t lpn[FTL_DOUBTFUL]; /* of the first ones */
};

/* What a root says. A drive that never had one: all zero. */
struct ftl_root {
    uint32_t version; /* of the page it was read from */
    uint64_t sequence, map_sequence;
    uint32_t generation, map_generation, drive_id, directories, lanes;
    struct ftl_lost lost;
    uint32_t log_page;  /* the first page of the log that counts, and where each lane has its first one from there on */
    uint64_t log_first; /* index of its first entry */
    /* index from which on entries change the map; those before are in it, and read for transactions that end later */
    uint64_t map_first;
    /* lane_next: its block after that one, plus one; 0: a page there names it */
    uint32_t lane_block[FTL_MAX_LANES], lane_page[FTL_MAX_LANES], lane_next[FTL_MAX_LANES];
    uint32_t prepared[2];    /* first page of prepared transactions, in both copies, plus one; 0: there are none */
    uint64_t out;            /* dies that the drive was made without, one bit each */
    uint64_t off;            /* index of the log's end at an orderly power-down, plus one; 0: there was none */
    uint32_t anchors, whole; /* where its copies are, one bit each; those that can be read */
    uint32_t frame;          /* where its page is, for the directory PPNs; valid until the next read into that frame */
};

/* What a mount found, for the report. */
struct ftl_report {
    bool formatted;
    bool orderly;  /* it followed an orderly power-down */
    bool readable; /* of a mount that failed: all can be read */
    uint32_t generation, log_pages, entries, blocks_free, blocks_bad;
    uint32_t clocks; /* that it took; of these the load of the map, and the log: reading, checking, applying it */
    uint32_t load_clocks, replay_clocks;
    uint32_t prepared; /* txids that are PREPARED, one bit each */
    struct ftl_lost lost;
    uint32_t die, channel, way; /* of an error of a die */
    uint64_t absent, out;       /* dies that do not answer; that the drive was made without */
    uint32_t ways;              /* of a channel */
    struct ftl_part part;
    uint32_t mode, wanted_mode;   /* timing mode, and the one that was tried first */
    uint32_t needed, good_blocks; /* with FTL_ERR_BLOCKS; `needed` also with FTL_ERR_SPARE: spare bytes of a page */
};

struct ftl {
    struct ftl_geometry geometry;
    struct ftl_io io;
    struct ftl_blocks blocks;
    struct ftl_wear wear;
    struct ftl_health health;
    struct ftl_bbt bbt;
    struct ftl_root old_root;
    struct ftl_report report;
    uint32_t anchors_erased; /* bit per anchor: erased in this power-on and not written since */
    /* of the map some pages are to be written although the log is empty: they are in unwanted blocks, or one copy
     * cannot be read; all of them; bit per directory: this one is */
    bool map_must_move, map_whole;
    uint32_t directory_must[FTL_MAX_DIRECTORIES / 32];
    uint32_t lane_block[FTL_MAX_LANES][2]; /* the first two log blocks of each lane of the new generation */
    struct ftl_holders log[FTL_MAX_LANES]; /* blocks of each lane's log, from the root's first page on, in order */
    struct ftl_map_blocks map;
    struct ftl_prepared prepared;
    uint32_t moves; /* pages that move at once, at most: so many frames are theirs */
    bool quiet;     /* power goes off (ftl_checkpoint.h): no page begins to move, no page is looked at; */
    bool still;     /* and none moves, and the bad-block table is written */
};

/* Frames, while the drive is not enabled: all but the firmware's own are free for mounting. They are used as:
 * the root, one directory, the pages of the log or of the map in flight (the pool). */
#define FTL_FRAME_ROOT 0u
#define FTL_FRAME_DIRECTORY 1u
#define FTL_FRAME_POOL 2u
/* The last frames are the firmware's at any time: for a checkpoint its root, a directory and a page of the map; for
 * pages that move (ftl_moves.h) f->moves frames, FTL_FRAME_MOVE is the last of these. */
#define FTL_MOVES_LEAST 8u
#define FTL_WORK_FRAMES (3u + FTL_MOVES_LEAST)
#define FTL_FRAME_NEW_ROOT(f) ((f)->geometry.frames - 1u)
#define FTL_FRAME_NEW_DIRECTORY(f) ((f)->geometry.frames - 2u)
#define FTL_FRAME_MAP(f) ((f)->geometry.frames - 3u)
#define FTL_FRAME_MOVE(f) ((f)->geometry.frames - 4u)

static inline uint32_t ftl_pool_frames(const struct ftl *f) {
    return f->geometry.frames - f->geometry.firmware_frames - FTL_FRAME_POOL;
}

#endif
