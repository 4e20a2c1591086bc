/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware takes the lanes in turn, and while two pages are under way it has no choice. So the lanes of a page are
 * guessed to be those of the page one turn before, and its places the next ones there; of the two copies one is read:
 * in the lane that has less to read, or the second one, whose header names both, when there is one lane.
 * A wrong guess costs time only: what was read is known by what it says itself, and when a page was read in no lane the
 * next place of each is. */
#include "ftl_log.h"
#include "ftl_log_scan.h"

#include <stddef.h>

#define EACH 2u   /* reads under way in a lane: its die works while the last one is taken */
#define LOOK 8u   /* pages that are guessed */
#define PLACES 8u /* of a lane, read and not passed yet */
#define AHEAD (PLACES * FTL_MAX_LANES)
#define NO_PAGE 0xffffffffu

struct place {
    uint32_t ppn, read, number; /* number: of the page that is there; NO_PAGE: none, or it is still read */
};

struct ahead {
    struct place place[FTL_MAX_LANES][PLACES];
    uint32_t places[FTL_MAX_LANES], flying[FTL_MAX_LANES];
    /* Pages before this one have their places, and the lanes go on there; `like`: the page one turn before. */
    bool guesses;
    uint32_t guessed, like;
    struct ftl_lane at[FTL_MAX_LANES];
    uint32_t put, got; /* reads, in order, and where they are: */
    struct {
        uint32_t lane, ppn;
    } order[AHEAD];
};

static struct place *place_of(struct ahead *a, uint32_t l, uint32_t ppn) {
    for (uint32_t i = 0; i < a->places[l]; i++)
        if (a->place[l][i].ppn == ppn) return &a->place[l][i];
    return NULL;
}

static void start(struct ftl *f, struct ftl_log *log, struct ahead *a, uint32_t l, uint32_t ppn) {
    struct place *p = &a->place[l][a->places[l]++];
    *p = (struct place){.ppn = ppn, .read = log->reads++, .number = NO_PAGE};
    struct hal_nand_op o = {.op = HAL_READ, .ppn = ppn, .frame = ftl_log_frame_of(f, p->read)};
    a->order[a->put % AHEAD].lane = l;
    a->order[a->put++ % AHEAD].ppn = ppn;
    a->flying[l]++;
    ftl_io_put(&f->io, &o);
}

/* Takes one read that has ended; returns its lane. */
static uint32_t arrive(struct ftl *f, struct ahead *a) {
    struct hal_nand_done d;
    uint32_t l = a->order[a->got % AHEAD].lane;
    struct place *p = place_of(a, l, a->order[a->got++ % AHEAD].ppn);
    ftl_io_get(&f->io, &d);
    a->flying[l]--;
    if (p != NULL && ftl_log_is_ours(f, &d)) p->number = d.lpn; /* NULL: its lane has passed it */
    return l;
}

/* After so many pages the lanes have had their turn: two for each page. */
static uint32_t turn(const struct ftl *f) {
    uint32_t lanes = f->old_root.lanes;
    return lanes % FTL_LOG_COPIES == 0 ? lanes / FTL_LOG_COPIES : lanes;
}
_Static_assert(FTL_MAX_LANES <= FTL_LOG_TURN, "the lanes of the pages of one turn are kept");

/* Begins to guess behind the last page that was taken. */
static bool guess_anew(const struct ftl *f, const struct ftl_log *log, const struct ftl_log_scan *s, struct ahead *a) {
    a->guesses = s->known >= turn(f);
    if (!a->guesses) return false;
    a->guessed = log->pages;
    a->like = log->pages - turn(f);
    for (uint32_t l = 0; l < f->old_root.lanes; l++) a->at[l] = s->lanes[l];
    return true;
}

/* Starts reads of pages whose places are guessed, in lanes that have room. */
static void guess(struct ftl *f, struct ftl_log *log, const struct ftl_log_scan *s, struct ahead *a) {
    if (a->put - a->got == EACH * f->old_root.lanes || (!a->guesses && !guess_anew(f, log, s, a))) return;
    while (a->guessed < log->pages + LOOK) {
        const uint32_t *pair = s->pair[a->like % FTL_LOG_TURN];
        uint32_t ppn[FTL_LOG_COPIES], c = pair[0] == pair[1] || a->flying[pair[1]] < a->flying[pair[0]], l = pair[c];
        if (a->flying[l] == EACH || a->places[l] >= PLACES - 1) return;
        if (!ftl_lane_step(f, &a->at[pair[0]], &ppn[0]) || !ftl_lane_step(f, &a->at[pair[1]], &ppn[1])) {
            a->guesses = false; /* the next block is not known yet */
            return;
        }
        if (++a->like == log->pages) a->like -= turn(f);
        a->guessed++;
        if (place_of(a, pair[0], ppn[0]) == NULL && place_of(a, pair[1], ppn[1]) == NULL) start(f, log, a, l, ppn[c]);
    }
}

/* Starts a read of the next place of each lane, where there is none; false: nowhere. */
static bool next_places(struct ftl *f, struct ftl_log *log, const struct ftl_log_scan *s, struct ahead *a) {
    bool any = false;
    for (uint32_t l = 0; l < f->old_root.lanes; l++) {
        struct ftl_lane at = s->lanes[l];
        uint32_t ppn;
        if (!ftl_lane_step(f, &at, &ppn) || place_of(a, l, ppn) != NULL || a->places[l] == PLACES) continue;
        start(f, log, a, l, ppn);
        any = true;
    }
    return any;
}

/* Forgets places that a lane has passed, and what was read so long ago that its frame has come to its turn again. */
static void forget(const struct ftl *f, const struct ftl_log *log, const struct ftl_lane *lane, struct ahead *a,
                   uint32_t l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->places[l]; i++) {
        const struct place *p = &a->place[l][i];
        uint32_t block = p->ppn >> f->geometry.page_bits, page = p->ppn & (f->geometry.pages - 1u);
        bool passed = block == lane->block ? page < lane->page : block != lane->next;
        if (!passed && log->reads - p->read < ftl_pool_frames(f)) a->place[l][n++] = *p;
    }
    a->places[l] = n;
}

/* A lane passes copies of pages that are in the log. */
static void pass(struct ftl *f, struct ftl_log *log, struct ftl_log_scan *s, struct ahead *a, uint32_t l) {
    for (;;) {
        struct ftl_lane at = s->lanes[l];
        uint32_t ppn;
        const struct place *p = ftl_lane_step(f, &at, &ppn) ? place_of(a, l, ppn) : NULL;
        if (p == NULL || p->number >= log->pages) break;
        ftl_log_other_copy(f, log, p->number, ppn);
        s->lanes[l] = at;
    }
    forget(f, log, &s->lanes[l], a, l);
}

static struct place *find(struct ahead *a, uint32_t lanes, uint32_t number, uint32_t *l) {
    for (*l = 0; *l < lanes; ++*l)
        for (uint32_t i = 0; i < a->places[*l]; i++)
            if (a->place[*l][i].number == number) return &a->place[*l][i];
    return NULL;
}

/* Takes page log->pages. When it is not in the lanes that were guessed, the pages behind it are guessed anew. */
static enum ftl_error take(struct ftl *f, struct ftl_log *log, struct ftl_log_scan *s, struct ahead *a, uint32_t l,
                           const struct place *p) {
    uint32_t *like = s->pair[(log->pages - turn(f)) % FTL_LOG_TURN], *pair = s->pair[log->pages % FTL_LOG_TURN];
    uint32_t was[FTL_LOG_COPIES] = {like[0], like[1]}; /* with a turn of FTL_LOG_TURN they are the same words */
    enum ftl_error error = ftl_log_accept(f, log, s, l, p->ppn, p->read);
    bool same = (pair[0] == was[0] && pair[1] == was[1]) || (pair[0] == was[1] && pair[1] == was[0]);
    a->guesses = a->guesses && same;
    if (a->guesses && a->guessed < log->pages) a->guesses = false;
    for (uint32_t i = 0; i < FTL_LOG_COPIES; i++)
        if (pair[i] < f->old_root.lanes) pass(f, log, s, a, pair[i]);
    return error;
}

enum ftl_error ftl_log_ahead(struct ftl *f, struct ftl_log *log, struct ftl_log_scan *s) {
    struct ahead a = {0};
    enum ftl_error error = FTL_OK;
    while (log->pages < log->limit && error == FTL_OK) {
        uint32_t l;
        guess(f, log, s, &a);
        struct place *p = find(&a, f->old_root.lanes, log->pages, &l);
        if (p != NULL && !ftl_log_header_is_ours(f, log->pages, hal_frame(ftl_log_frame_of(f, p->read)))) {
            p->number = NO_PAGE;
        } else if (p != NULL) {
            error = take(f, log, s, &a, l, p);
        } else if (a.put != a.got) {
            pass(f, log, s, &a, arrive(f, &a));
        } else if (!next_places(f, log, s, &a)) {
            break;
        }
    }
    while (a.put != a.got) (void)arrive(f, &a);
    return error;
}
