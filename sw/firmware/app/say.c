/* SPDX-License-Identifier: Apache-2.0 */
#include "say.h"

void say(const char *text) {
    for (; *text != 0; text++) hal_putc(*text);
}

void say_number(uint32_t n) {
    char digits[16];
    uint32_t used = 0, place = 0;
    do {
        if (place != 0 && place % 3 == 0) digits[used++] = ',';
        digits[used++] = (char)('0' + n % 10);
        n /= 10;
        place++;
    } while (n != 0);
    while (used > 0) hal_putc(digits[--used]);
}

static void say_count(uint32_t n, const char *one, const char *many) {
    say_number(n);
    say(n == 1 ? one : many);
}

static void say_id(uint64_t id) {
    for (uint32_t i = 0; i < 5; i++, id >>= 8) {
        uint32_t byte = (uint32_t)id & 0xffu;
        hal_putc(' ');
        hal_putc("0123456789abcdef"[byte >> 4]);
        hal_putc("0123456789abcdef"[byte & 15u]);
    }
}

static void say_mode(uint32_t mode) {
    if (mode == FTL_OWN_MODE) {
        say("its own times");
        return;
    }
    say("timing mode ");
    say_number(mode);
}

static void say_can(uint32_t can) {
    static const char *const words[] = {"set features", "cache read", "cache program", "multi-plane", "multi-plane read", "enhanced status", "read retry"};
    if (can != 0) say("; lists ");
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (can >> i & 1u) {
            say(words[i]);
            can &= ~(1u << i);
            if (can != 0) say(", ");
        }
}

static void say_sizes(const struct ftl_part *p) {
    say("pages of ");
    say_number(p->page_bytes);
    say(" + ");
    say_number(p->spare_bytes);
    say(" bytes, ");
    say_number(p->pages);
    say(" in a block, ");
    say_number(p->blocks);
    say(" blocks, ");
    say_count(p->luns, " LUN", " LUNs");
}

void say_part(const struct ftl_report *r) {
    say("otx: nand ");
    say(r->part.name);
    say(", ");
    say_mode(r->mode);
    if (r->mode != r->wanted_mode) {
        say(" because the dies do not work with ");
        say_mode(r->wanted_mode);
    }
    say_can(r->part.can);
    if (r->part.onfi && r->part.copy == FTL_PARAM_COPIES) say("; parameter page by majority");
    else if (r->part.copy != 0) say("; first copy of the parameter page is wrong");
    say("\n");
}

static void say_place(uint32_t channel, uint32_t way) {
    say("die at channel ");
    say_number(channel);
    say(", way ");
    say_number(way);
}

static void say_die(const struct ftl_report *r) { say_place(r->channel, r->way); }

static void say_out(const struct ftl_report *r) {
    for (uint32_t die = 0; die < FTL_MAX_DIES; die++) {
        if (!ftl_dies_has(r->out, die)) continue;
        say("otx: made without the ");
        say_place(die / r->ways, die % r->ways);
        say(ftl_dies_has(r->absent, die) ? "\n" : ", which answers now and stays unused\n");
    }
}

/* What is not said by the line of the mount. */
static void say_lost(const struct ftl_lost *l) {
    if (l->log_pages != 0) {
        say("otx: ");
        say_count(l->log_pages, " log page was begun and cannot be read\n", " log pages were begun and cannot be read\n");
    }
    if (l->doubtful == 0) return;
    say("otx: ");
    say_count(l->doubtful, " block is", " blocks are");
    say(" doubtful, the version after the one that is there cannot be read:");
    for (uint32_t i = 0; i < l->doubtful && i < FTL_DOUBTFUL; i++) {
        say(" ");
        say_number(l->lpn[i]);
    }
    say(l->doubtful > FTL_DOUBTFUL ? " ...\n" : "\n");
}

void say_mounted(const struct ftl_report *r) {
    if (r->formatted) say("otx: formatted\n");
    say_out(r);
    if (r->blocks_bad != 0) {
        say("otx: ");
        say_count(r->blocks_bad, " block is bad\n", " blocks are bad\n");
    }
    say_lost(&r->lost);
    say("otx: mounted generation ");
    say_number(r->generation);
    say(": ");
    say_count(r->log_pages, " log page, ", " log pages, ");
    say_count(r->entries, " entry, ", " entries, ");
    say_number(r->lost.dropped);
    say(" dropped, ");
    say_count(r->blocks_free, " block free, ready\n", " blocks free, ready\n");
}

void say_error(enum ftl_error error, const struct ftl_report *r) {
    if (r->readable) say_lost(&r->lost);
    say(r->readable ? "otx: read-only: " : "otx: not ready: ");
    switch (error) {
    case FTL_ERR_CONFIG:
        say("this firmware has no room for such a geometry");
        break;
    case FTL_ERR_DIE:
        say_die(r);
        say(" does not answer");
        break;
    case FTL_ERR_LOST:
        say_die(r);
        say(" does not answer, and the drive was made with it; nothing was changed");
        break;
    case FTL_ERR_PART:
        say_die(r);
        say(": unknown part, ID");
        say_id(r->part.id);
        break;
    case FTL_ERR_PARAM:
        say_die(r);
        say(": its parameter page is unreadable");
        break;
    case FTL_ERR_PARTS:
        say_die(r);
        say(" is another part than die 0");
        break;
    case FTL_ERR_FIT:
        say("the drive is built for another part than ");
        say(r->part.name);
        say(": ");
        say_sizes(&r->part);
        break;
    case FTL_ERR_SPARE:
        say(r->part.name);
        say(" has ");
        say_number(r->part.spare_bytes);
        say(" spare bytes in a page, the drive needs ");
        say_number(r->needed);
        break;
    case FTL_ERR_MODE:
        say_die(r);
        say(" does not come back from a timing mode");
        break;
    case FTL_ERR_NO_ROOT:
        say("no valid root, and the drive is not blank; nothing was changed");
        break;
    case FTL_ERR_VERSION:
        say("the root is of another format; nothing was changed");
        break;
    case FTL_ERR_GEOMETRY:
        say("the root is of a drive of another geometry; nothing was changed");
        break;
    case FTL_ERR_MAP:
        say("a map page that the root names cannot be read; nothing was changed");
        break;
    case FTL_ERR_LOG:
        say("a log page contradicts itself; nothing was changed");
        break;
    case FTL_ERR_GAP:
        say("a log page that was complete cannot be read, and what is behind it is left out; nothing was changed");
        break;
    case FTL_ERR_FADED:
    case FTL_ERR_NO_BLOCK:
        say("no free block for map and log");
        break;
    case FTL_ERR_PROGRAM:
        say("the map cannot be written: too many programs fail");
        break;
    case FTL_ERR_ANCHOR:
        say("no block for a new root is left that can be erased and written; the old root still counts");
        break;
    case FTL_ERR_BLOCKS:
        say_number(r->good_blocks);
        say(" good blocks are too few for this capacity, ");
        say_number(r->needed);
        say(" are needed; nothing was changed");
        break;
    case FTL_OK:
        break;
    }
    say("\n");
}
