/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_checkpoint.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erase.h"
#include "ftl_map.h"
#include "ftl_map_blocks.h"
#include "ftl_root.h"
#include "ftl_wear.h"

/* The first `n` of the blocks are free, but for those that failed. */
static void release(struct ftl *f, struct ftl_holders *h, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) ftl_blocks_release(f, h->block[i]);
    h->n -= n;
    for (uint32_t i = 0; i < h->n; i++) h->block[i] = h->block[i + n];
}

/* No transaction that is open, or ends and is not merged yet, has an entry before this one. */
static uint64_t oldest_entry(void) {
    uint64_t low = hal_log_head(), first;
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        if (hal_tx_first(t, &first) && first < low) low = first;
    return low;
}

/* Which transactions are open: each that ends in the log from `ends` on has its first entry at `low` or later. One that
 * is not seen open here has ended before `ends`, or begins at `low` or later. */
static void look(struct ftl_checkpoint *c) {
    c->low = oldest_entry();
    c->ends = hal_log_head();
}

/* Notes a place every so many pages, the first one that begins behind the last look; when the list is full every second
 * one goes. */
static void note_place(const struct ftl *f, struct ftl_checkpoint *c, const struct hal_log_place *now) {
    uint32_t last = c->places == 0 ? f->old_root.log_page : c->place[c->places - 1].at.page;
    if (c->every == 0) c->every = 1;
    if (now->page - last < c->every) return;
    if (c->ends == 0 || now->first < c->ends) {
        if (c->ends == 0) look(c);
        return;
    }
    uint64_t low = c->low;
    c->ends = 0;
    if (c->places == FTL_PLACES) {
        c->places = FTL_PLACES / 2;
        c->every *= 2;
        for (uint32_t i = 0; i < c->places; i++) c->place[i] = c->place[2 * i + 1];
        return;
    }
    c->place[c->places].at = *now;
    c->place[c->places++].low = low;
}

/* Whether one of the first n places is a later start than that of the last checkpoint; with `again` that one, too. */
static bool is_later(const struct ftl *f, const struct ftl_checkpoint *c, uint32_t n, bool again) {
    return n > 0 && c->place[n - 1].at.first + again > f->old_root.map_first;
}

/* False: there is no later start than that of the last checkpoint. With `again` that one serves, too. */
static bool choose_start(const struct ftl *f, struct ftl_checkpoint *c, bool again) {
    const struct ftl_root *r = &f->old_root;
    uint32_t n = c->places;
    while (n > 0 && c->place[n - 1].at.first > c->durable) n--;
    /* a COMMIT may be durable and not visible: a host does not take the completion of the one before it */
    uint64_t oldest = is_later(f, c, n, again) ? oldest_entry() : 0;
    while (n > 0 && c->place[n - 1].at.first > oldest) n--;
    if (is_later(f, c, n, again)) {
        c->start = c->place[n - 1];
        while (n > 0 && c->place[n - 1].at.first > c->start.low) n--;
    } else {
        if (!again) return false;
        c->start.at.page = c->last;
        c->start.at.first = r->map_first;
        n = 0;
    }
    if (n > 0) c->begin = c->place[n - 1];
    else {
        c->begin.at.page = r->log_page;
        c->begin.at.first = r->log_first;
        for (uint32_t l = 0; l < r->lanes; l++) {
            c->begin.at.lane[l].block = r->lane_block[l];
            c->begin.at.lane[l].page = r->lane_page[l];
        }
    }
    return true;
}

static void give_up(struct ftl *f, struct ftl_checkpoint *c) {
    ftl_map_blocks_end(f, false, false);
    c->whole = true; /* it has taken bits of pages that it has not written */
    c->state = FTL_CHECKPOINT_NONE;
}

/* The block after this one in a lane, plus one; 0: it is not known. */
static uint32_t after(const struct ftl_holders *h, uint32_t block_id) {
    for (uint32_t i = 0; i + 1 < h->n; i++)
        if (h->block[i] == block_id) return h->block[i + 1] + 1;
    return 0;
}

static void begin(struct ftl *f, struct ftl_checkpoint *c) {
    uint32_t *w = hal_frame(FTL_FRAME_NEW_ROOT(f)) + FTL_ROOT_DIRECTORY;
    c->state = FTL_CHECKPOINT_MAP;
    c->page = c->taken = c->wear = c->copy = 0;
    c->here = c->composed = false;
    uint32_t pages = ftl_map_changed(f) + (f->geometry.map_pages >> FTL_MAP_TURN_BITS) + 1 + f->geometry.directories;
    c->whole = ftl_map_blocks_begin(f, pages, ftl_erases_pages(&f->geometry), c->whole);
    c->root = f->old_root;
    c->root.frame = FTL_FRAME_NEW_ROOT(f);
    c->root.sequence++;
    c->turn = (uint32_t)c->root.sequence * 2654435761u >> (32 - FTL_MAP_TURN_BITS);
    c->root.map_sequence = c->root.sequence;
    c->root.map_generation = c->root.generation;
    c->root.lost = (struct ftl_lost){0}; /* the log has gone on since */
    c->root.directories = f->geometry.directories;
    c->root.log_page = c->begin.at.page;
    c->root.log_first = c->begin.at.first;
    c->root.map_first = c->start.at.first;
    c->root.off = 0;
    /* all that a mount brought back have ended before the start */
    if (c->root.log_first != 0) c->root.prepared[0] = c->root.prepared[1] = 0;
    for (uint32_t l = 0; l < c->root.lanes; l++) {
        c->root.lane_block[l] = c->begin.at.lane[l].block;
        c->root.lane_page[l] = c->begin.at.lane[l].page;
        c->root.lane_next[l] = after(&f->log[l], c->begin.at.lane[l].block);
    }
    for (uint32_t d = c->whole ? 0 : f->old_root.directories; d < FTL_MAX_DIRECTORIES; d++)
        w[d] = w[d + FTL_ROOT_COPY] = FTL_NO_PPN;
    if (c->whole) ftl_wear_none(hal_frame(FTL_FRAME_NEW_ROOT(f)));
}

/* What the map of the checkpoint says of a block. */
static uint32_t word_of(uint32_t lpn) {
    uint32_t word = hal_map()[lpn];
    if (FTL_WORD_KIND(word) == FTL_WORD_KIND_VER) word = hal_lookup(lpn);
    return FTL_WORD_KIND(word) == FTL_WORD_KIND_NAND ? word : FTL_WORD_NONE;
}

/* Makes the words of a map page. False: all of it is NONE. */
static bool compose(const struct ftl *f, uint32_t page) {
    uint32_t *to = hal_frame(FTL_FRAME_MAP(f)), first = page * FTL_PAGE_WORDS, any = 0;
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) {
        to[i] = first + i < f->geometry.lbas ? word_of(first + i) : FTL_WORD_NONE;
        any |= to[i];
    }
    return any != 0;
}

/* Erases a block for that copy of the map. When so many pages have changed meanwhile that there would be too many
 * blocks, all of the map is written instead: what is kept free for the next checkpoint stays enough. */
static void open_block(struct ftl *f, struct ftl_checkpoint *c, uint32_t copy) {
    if (!c->whole && ftl_map_blocks_full(f)) {
        give_up(f, c);
        return;
    }
    uint32_t channel = copy == 0 ? 0 : f->geometry.channels - 1,
             block = f->blocks.total > FTL_RESCUE_BLOCKS ? ftl_blocks_take_near(f, channel) : FTL_NO_BLOCK;
    if (block == FTL_NO_BLOCK && c->urgent) block = ftl_blocks_borrow(f);
    if (block == FTL_NO_BLOCK) {
        give_up(f, c);
        return;
    }
    if (!ftl_erase_one(f, block)) {
        (void)ftl_bbt_mark(f, block);
        return;
    }
    if (!ftl_map_blocks_open(f, block)) {
        ftl_blocks_release(f, block);
        give_up(f, c);
        return;
    }
    f->map.to[copy] = ftl_first_ppn(&f->geometry, block);
    f->map.left[copy] = f->geometry.pages;
}

/* Programs a frame into the next page of copy c->copy, or opens a block for it. True: that is done, and the PPN is
 * where `ppn` says. */
static bool program(struct ftl *f, struct ftl_checkpoint *c, uint32_t kind, uint32_t number, uint32_t frame,
                    uint32_t *ppn) {
    uint32_t copy = c->copy;
    if (f->map.left[copy] == 0) {
        open_block(f, c, copy);
        return false;
    }
    struct hal_nand_op o = {.op = HAL_PROGRAM,
                            .ppn = f->map.to[copy]++,
                            .frame = frame,
                            .kind = kind,
                            .lpn = number,
                            .sequence = kind == FTL_KIND_MAP ? c->position : c->root.map_sequence};
    struct hal_nand_done d;
    f->map.left[copy]--;
    ftl_io_one(&f->io, &o, &d);
    if (d.status == FTL_PAGE_OK) {
        *ppn = o.ppn;
        ftl_map_blocks_put(f, o.ppn);
        return true;
    }
    (void)ftl_bbt_mark(f, o.ppn >> f->geometry.page_bits);
    f->map.left[copy] = 0;
    return false;
}

/* The same for a page that stands twice, ppns[0] and ppns[apart], which have those of the old root at first. True: both
 * copies are done. */
static bool program_twice(struct ftl *f, struct ftl_checkpoint *c, uint32_t kind, uint32_t number, uint32_t frame,
                          uint32_t *ppns, uint32_t apart) {
    for (uint32_t i = 0; i < FTL_MAP_COPIES && c->copy == 0; i++) ftl_map_blocks_drop(f, ppns + i * apart);
    if (!program(f, c, kind, number, frame, ppns + c->copy * apart)) return false;
    c->copy = c->copy + 1 == FTL_MAP_COPIES ? 0 : c->copy + 1;
    return c->copy == 0;
}

/* Takes the directory of the next page as the old root has it. When neither copy can be read nobody knows which pages
 * it names, and all of the map is written. */
static void open_directory(struct ftl *f, struct ftl_checkpoint *c) {
    uint32_t frame = FTL_FRAME_NEW_DIRECTORY(f), d = c->page / FTL_DIRECTORY_PAGES,
             *root = hal_frame(FTL_FRAME_NEW_ROOT(f)) + FTL_ROOT_DIRECTORY + d;
    bool none = root[0] == FTL_NO_PPN, lost = !none && ftl_map_directory(f, d, root, frame) == FTL_MAP_COPIES;
    if (lost) {
        give_up(f, c);
        return;
    }
    for (uint32_t i = 0; i < FTL_PAGE_WORDS && none; i++) hal_frame(frame)[i] = FTL_NO_PPN;
    c->here = true;
    c->changed = ftl_map_blocks_leaves(f, root[0]) || ftl_map_blocks_leaves(f, root[FTL_ROOT_COPY]);
    c->stop = (d + 1) * FTL_DIRECTORY_PAGES;
    if (c->stop > f->geometry.map_pages) c->stop = f->geometry.map_pages;
}

/* Writes it, if it has changed. True: that is done. Without a page there is none. */
static bool close_directory(struct ftl *f, struct ftl_checkpoint *c) {
    const uint32_t *ppns = hal_frame(FTL_FRAME_NEW_DIRECTORY(f));
    uint32_t d = (c->stop - 1) / FTL_DIRECTORY_PAGES, *root = hal_frame(FTL_FRAME_NEW_ROOT(f)) + FTL_ROOT_DIRECTORY + d;
    bool any = false;
    for (uint32_t i = 0; i < FTL_PAGE_WORDS && c->changed; i++) any = any || ppns[i] != FTL_NO_PPN;
    if (any) return program_twice(f, c, FTL_KIND_DIRECTORY, d, FTL_FRAME_NEW_DIRECTORY(f), root, FTL_ROOT_COPY);
    for (uint32_t i = 0; i < FTL_MAP_COPIES && c->changed; i++) ftl_map_blocks_drop(f, root + i * FTL_ROOT_COPY);
    return true;
}

/* Goes on to the next page of the directory that is to be written. False: there is none. */
static bool find_page(struct ftl *f, struct ftl_checkpoint *c, const uint32_t *ppns) {
    for (; c->page < c->stop; c->page++) {
        const uint32_t *own = ppns + c->page % FTL_DIRECTORY_PAGES * FTL_MAP_COPIES;
        if (c->taken <= c->page) { /* first the bits, then the words */
            c->bits = hal_map_changed(c->page / 32, true);
            c->taken = (c->page / 32 + 1) * 32;
        }
        bool turn = c->page % (1u << FTL_MAP_TURN_BITS) == c->turn && own[0] != FTL_NO_PPN;
        if (c->whole || turn || c->bits >> c->page % 32 & 1u || ftl_map_blocks_leaves(f, own[0]) ||
            ftl_map_blocks_leaves(f, own[1]))
            return true;
    }
    return false;
}

/* Wear pages, behind the map. */
static void wear_step(struct ftl *f, struct ftl_checkpoint *c) {
    uint32_t n = c->wear, *ppn = hal_frame(FTL_FRAME_NEW_ROOT(f)) + FTL_ROOT_WEAR + n;
    ftl_map_blocks_drop(f, ppn);
    ftl_wear_say_open(f, n);
    c->wear += program(f, c, FTL_KIND_WEAR, n, f->io.wear_frame + n, ppn);
    ftl_wear_plain(f, n);
}

static void map_step(struct ftl *f, struct ftl_checkpoint *c) {
    uint32_t *ppns = hal_frame(FTL_FRAME_NEW_DIRECTORY(f)),
             *own = ppns + c->page % FTL_DIRECTORY_PAGES * FTL_MAP_COPIES;
    if (!c->here && c->page == f->geometry.map_pages) {
        if (c->wear < ftl_erases_pages(&f->geometry)) {
            wear_step(f, c);
            return;
        }
        c->end = hal_log_fence(&c->beyond);
        c->noted = 0;
        c->settling = 0;
        c->state = FTL_CHECKPOINT_SETTLE;
        return;
    }
    if (!c->here) {
        open_directory(f, c);
        return;
    }
    if (!c->composed) {
        if (!find_page(f, c, ppns)) {
            c->here = !close_directory(f, c);
            return;
        }
        c->position = hal_log_head();
        if (hal_move_logged()) return; /* a move that is logged before that may not be in the map yet */
        own = ppns + c->page % FTL_DIRECTORY_PAGES * FTL_MAP_COPIES;
        c->changed = true;
        c->composed = compose(f, c->page);
        if (!c->composed) {
            for (uint32_t i = 0; i < FTL_MAP_COPIES; i++) ftl_map_blocks_drop(f, own + i);
            c->page++;
            return;
        }
    }
    if (!program_twice(f, c, FTL_KIND_MAP, c->page, FTL_FRAME_MAP(f), own, 1)) return;
    c->page++;
    c->composed = false;
}

/* The CHECKPOINT of the host has ended. */
static void answer(struct ftl_checkpoint *c, uint32_t failed) {
    c->answer = (c->ask & 0xffu) | failed;
    c->asked = false;
}

static void new_root(struct ftl *f, struct ftl_checkpoint *c) {
    if (c->serves && c->off && hal_log_head() == c->end && !hal_log_dirty()) c->root.off = c->end + 1;
    if (ftl_root_write(f, &c->root) != FTL_OK) { /* the old root counts on */
        give_up(f, c);
        return;
    }
    ftl_root_leave_old(f);
    f->old_root = c->root;
    ftl_map_blocks_end(f, true, c->root.prepared[0] == 0);
    c->whole = false;
    for (uint32_t l = 0; l < c->root.lanes; l++) {
        uint32_t n = 0;
        while (n < f->log[l].n && f->log[l].block[n] != c->root.lane_block[l]) n++;
        if (n < f->log[l].n) release(f, &f->log[l], n);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->places; i++)
        if (c->place[i].at.page > c->root.log_page) c->place[kept++] = c->place[i];
    c->places = kept;
    c->last = c->start.at.page;
    c->every = 0;
    c->state = FTL_CHECKPOINT_NONE;
    c->done++;
    if (c->serves) answer(c, 0);
}

/* Asks for a durable watermark at `end`, if it needs that, also out of the log's reserve. False: no note more may be
 * taken there. */
static bool note(struct ftl_supply *s, struct ftl_checkpoint *c, uint64_t end, uint32_t beyond) {
    bool urgent = s->log_ended;
    if (c->noted >= end || hal_log_mark() + beyond < end) return true;
    if (urgent && s->urgent_notes == FTL_URGENT_NOTES) return false;
    if (!hal_log_note(urgent)) return true;
    s->urgent_notes += urgent;
    c->noted = hal_log_head();
    return true;
}

/* An erased block becomes mount reserve for one that was borrowed. False: none may be that now. */
static bool give_back(struct ftl *f, struct ftl_supply *s) {
    s->hold = true;
    if (!ftl_io_empty(&f->io)) return true;
    uint32_t block = ftl_blocks_take_unnamed(f, ~0ull);
    if (block == FTL_NO_BLOCK) return false;
    if (ftl_erase_one(f, block)) ftl_blocks_give_back(f, block);
    else (void)ftl_bbt_mark(f, block);
    return true;
}

/* Before a checkpoint writes the counts: blocks of the reserve that lag change places with others. False: that is done.
 */
static bool relieve(struct ftl *f, struct ftl_supply *s) {
    if (!ftl_wear_wants(f)) return false;
    s->hold = true;
    return !ftl_io_empty(&f->io) || ftl_wear_relieve(f);
}

/* Whether the host goes on though power was to go off: it has logged something, or for many rounds something has been
 * under way while there are fewer pages than a WRITE may wait for. */
static bool goes_on(struct ftl_checkpoint *c, uint64_t head) {
    c->waits = hal_busy() && hal_alloc_left() < OTX_MAX_BLOCKS ? c->waits + 1 : 0;
    return head != c->end || c->waits > FTL_WAIT_ROUNDS;
}

/* A CHECKPOINT of the host. */
static void take_ask(struct ftl *f, struct ftl_checkpoint *c, uint64_t head) {
    uint32_t ask = hal_asked();
    if (ask != c->ask) {
        c->ask = ask;
        c->asked = true;
        c->serves = false;
        c->off = ask >> 8 != 0;
        c->rounds = c->waits = 0;
        c->target = head;
        f->still = false;
    }
    if (c->asked && c->off) f->quiet = true;
    else if (f->quiet && goes_on(c, head)) f->quiet = false;
    if (c->asked) c->every = 1;
}

/* The log ends at `head`, and all of it is durable: a place there has all before it behind itself, but for transactions
 * that are open now. */
static void look_again(struct ftl_checkpoint *c, uint64_t head) {
    look(c);
    if (c->places != 0 && c->place[c->places - 1].at.first == head && c->ends == head)
        c->place[c->places - 1].low = c->low;
}

/* Whether the one that is asked for has its start, or will not get it. `clean`: the log ends at `head`, and all of it
 * is durable. */
static bool is_time(struct ftl *f, struct ftl_supply *s, struct ftl_checkpoint *c, uint64_t head, bool clean) {
    bool there = f->old_root.map_first >= c->target;
    if (clean) look_again(c, head);
    if (clean && c->off) {
        c->target = head;
        there = f->old_root.map_first == head;
    }
    c->rounds++;
    for (uint32_t i = 0; i < c->places; i++)
        if (c->place[i].at.first >= c->target && c->place[i].at.first <= c->durable) there = true;
    if (c->off) there = there && clean && f->still;
    if (!there && !clean && (c->rounds & (c->rounds - 1u)) == 0) { /* ever more seldom: else it is never clean */
        uint64_t mark = hal_log_mark();
        c->noted = 0;
        if (mark >= c->target) (void)note(s, c, mark, 0);
    }
    return there || c->rounds > FTL_ASK_ROUNDS;
}

/* One that is asked for is not possible. */
static void ask_in_vain(const struct ftl *f, struct ftl_checkpoint *c) {
    if (!c->off && f->old_root.map_first >= c->target) answer(c, 0); /* nothing was logged since the last one */
    else if (c->rounds > FTL_ASK_ROUNDS) answer(c, FTL_ASK_FAILED);
}

/* Whether it is time. */
static bool due(const struct ftl *f, const struct ftl_supply *s, const struct ftl_checkpoint *c, uint32_t page) {
    uint32_t pages = page - c->last;
    uint32_t block_each = f->geometry.lanes * f->geometry.pages / FTL_LOG_COPIES; /* pages in a block of each lane */
    return pages >= f->geometry.checkpoint_pages || (s->log_ended && pages != 0) ||
           (s->starving && pages >= block_each) || (ftl_supply_low(f) && pages >= 2 * block_each);
}

void ftl_checkpoint_step(struct ftl *f, struct ftl_supply *s, struct ftl_checkpoint *c) {
    struct hal_log_place now;
    uint64_t head = hal_log_head(), durable = hal_log_dirty() ? hal_log_durable_mark() : head;
    take_ask(f, c, head);
    if (!c->over && hal_memory_errors() != 0) {
        give_up(f, c);
        c->over = true;
    }
    s->no_checkpoint = c->over;
    if (c->over) {
        if (c->asked) answer(c, FTL_ASK_FAILED);
        return;
    }
    hal_log_place(&now);
    note_place(f, c, &now);
    if (c->state == FTL_CHECKPOINT_NONE) {
        uint32_t need = FTL_RESCUE_BLOCKS + ftl_checkpoint_blocks(&f->geometry);
        if (f->blocks.borrowed != 0 && f->blocks.total > need && give_back(f, s)) return;
        bool room = f->blocks.total + (s->log_ended ? FTL_BORROW - f->blocks.borrowed : 0) >= need,
             asked = c->asked && is_time(f, s, c, head, durable == head),
             possible = room && (asked || due(f, s, c, now.page)) && choose_start(f, c, asked && c->off);
        s->no_checkpoint = !possible;
        if (possible && !s->log_ended && relieve(f, s)) return;
        if (possible && !hal_move_logged()) {
            ftl_blocks_mark_free(f, head);
            begin(f, c);
            c->serves = asked;
            c->urgent = s->log_ended;
        }
        if (asked && !possible) ask_in_vain(f, c);
        c->durable = durable;
        return;
    }
    if (c->state == FTL_CHECKPOINT_SETTLE && durable < c->end) {
        /* what waited in the write buffer may have been complete only after the note: then another one */
        if (!s->log_ended && ++c->settling > FTL_SETTLE_ROUNDS) c->noted = c->settling = 0;
        s->no_checkpoint = !note(s, c, c->end, c->beyond);
        return;
    }
    if (!ftl_io_empty(&f->io)) {
        s->hold = true;
        return;
    }
    if (c->state == FTL_CHECKPOINT_MAP) map_step(f, c);
    else new_root(f, c);
}
