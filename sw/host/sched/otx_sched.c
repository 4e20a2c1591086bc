// SPDX-License-Identifier: Apache-2.0
#include "otx_sched.h"

void otx_sched_init(struct otx_sched *sched, struct otx_sched_entry *entries, size_t room,
                    const struct otx_sched_discipline *discipline) {
    *sched = (struct otx_sched){.discipline = discipline, .entries = entries, .room = room};
}

static bool is_wrong(const struct otx_sched_request *r) {
    return r->count == 0 || r->count > OTX_SCHED_MAX_BLOCKS || r->lba > UINT32_MAX - r->count ||
           (!r->write && (r->ordered || r->barrier));
}

enum otx_sched_result otx_sched_put(struct otx_sched *sched, const struct otx_sched_request *request) {
    struct otx_sched_request r = *request;
    if (is_wrong(&r)) return OTX_SCHED_WRONG;
    r.ordered |= r.barrier;
    if (sched->closed && (r.ordered || sched->block_all)) return OTX_SCHED_BLOCKED;
    if (sched->count == sched->room) return OTX_SCHED_FULL;
    sched->closed |= r.barrier;
    r.barrier = false;
    sched->ordered += r.ordered;
    sched->entries[sched->count++] = (struct otx_sched_entry){r, sched->turn++, 0};
    return OTX_SCHED_TAKEN;
}

static bool share_a_block(const struct otx_sched_request *a, const struct otx_sched_request *b) {
    return a->lba < b->lba + b->count && b->lba < a->lba + a->count;
}

bool otx_sched_may_go(const struct otx_sched *sched, size_t index) {
    const struct otx_sched_request *r = &sched->entries[index].request;
    for (size_t i = 0; i < index; i++) {
        const struct otx_sched_request *older = &sched->entries[i].request;
        if ((r->write || older->write) && share_a_block(r, older)) return false;
    }
    return true;
}

// Takes the entry at `index` out, to the front or the back of what leaves.
static void take(struct otx_sched *sched, size_t index, struct otx_sched_dispatch *d) {
    struct otx_sched_request r = sched->entries[index].request;
    size_t at = d->parts && r.lba < d->lba ? 0 : d->parts;
    for (size_t i = d->parts; i > at; i--) d->cookies[i] = d->cookies[i - 1];
    d->cookies[at] = r.cookie;
    if (at == 0) d->lba = r.lba;
    d->count += r.count;
    d->write = r.write;
    d->ordered |= r.ordered;
    d->parts++;
    sched->ordered -= r.ordered;
    for (size_t i = 0; i < index; i++) sched->entries[i].passed++;
    sched->count--;
    for (size_t i = index; i < sched->count; i++) sched->entries[i] = sched->entries[i + 1];
}

static bool fits(const struct otx_sched_dispatch *d, const struct otx_sched_request *r) {
    bool beside = r->lba == d->lba + d->count || r->lba + r->count == d->lba;
    return beside && r->write == d->write && d->count + r->count <= OTX_SCHED_MAX_BLOCKS;
}

// Whether it may leave although older ones stay.
static bool may_pass(const struct otx_sched *sched, size_t index) {
    for (size_t i = 0; sched->patience && i < index; i++)
        if (sched->entries[i].passed >= sched->patience) return false;
    return otx_sched_may_go(sched, index);
}

static void merge(struct otx_sched *sched, struct otx_sched_dispatch *d) {
    for (size_t i = 0; i < sched->count;) {
        if (fits(d, &sched->entries[i].request) && may_pass(sched, i)) {
            take(sched, i, d);
            i = 0;
        } else {
            i++;
        }
    }
}

bool otx_sched_get(struct otx_sched *sched, struct otx_sched_dispatch *dispatch) {
    if (sched->count == 0) return false;
    size_t first = sched->discipline->pick(sched);
    if (!may_pass(sched, first)) first = 0;
    *dispatch = (struct otx_sched_dispatch){0};
    take(sched, first, dispatch);
    if (sched->discipline->merge) merge(sched, dispatch);
    sched->head = dispatch->lba + dispatch->count;
    if (sched->closed && sched->ordered == 0 && dispatch->ordered) {
        dispatch->barrier = true;
        sched->closed = false;
    }
    return true;
}

static size_t oldest(const struct otx_sched *sched) {
    (void)sched;
    return 0;
}

// The lowest at the head or above it, else the lowest of all.
static size_t upwards(const struct otx_sched *sched) {
    size_t best = 0;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < sched->count; i++) {
        uint32_t way = sched->entries[i].request.lba - sched->head;  // around the end
        if (i == 0 || (way < least && otx_sched_may_go(sched, i))) {
            least = way;
            best = i;
        }
    }
    return best;
}

const struct otx_sched_discipline otx_sched_fifo = {oldest, false};
const struct otx_sched_discipline otx_sched_elevator = {upwards, true};
