/* SPDX-License-Identifier: Apache-2.0 */
#include "boot_report.h"

#include "console.h"
#include "hal.h"

static void put_count(uint32_t n, const char *one, const char *many) {
    console_number(n);
    console_text(n == 1 ? one : many);
}

static void put_id(uint64_t id) {
    for (uint32_t i = 0; i < 5; i++, id >>= 8) {
        uint32_t byte = (uint32_t)id & 0xffu;
        hal_putc(' ');
        hal_putc("0123456789abcdef"[byte >> 4]);
        hal_putc("0123456789abcdef"[byte & 15u]);
    }
}

static void put_mode(uint32_t mode) {
    if (mode == FTL_OWN_MODE) {
        console_text("its own times");
        return;
    }
    console_text("timing mode ");
    console_number(mode);
}

static void put_capabilities(uint32_t capabilities) {
    static const char *const names[] = {"set features",     "cache read",      "cache program", "multi-plane",
                                        "multi-plane read", "enhanced status", "read retry"};
    if (capabilities != 0) console_text("; lists ");
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (capabilities >> i & 1u) {
            console_text(names[i]);
            capabilities &= ~(1u << i);
            if (capabilities != 0) console_text(", ");
        }
}

static void put_sizes(const struct ftl_part *p) {
    console_text("pages of ");
    console_number(p->page_bytes);
    console_text(" + ");
    console_number(p->spare_bytes);
    console_text(" bytes, ");
    console_number(p->pages);
    console_text(" in a block, ");
    console_number(p->blocks);
    console_text(" blocks, ");
    put_count(p->luns, " LUN", " LUNs");
}

void boot_report_part(const struct ftl_report *r) {
    console_text("otx: nand ");
    console_text(r->part.name);
    console_text(", ");
    put_mode(r->mode);
    if (r->mode != r->wanted_mode) {
        console_text(" because the dies do not work with ");
        put_mode(r->wanted_mode);
    }
    put_capabilities(r->part.capabilities);
    if (r->part.onfi && r->part.copy == FTL_PARAM_COPIES) console_text("; parameter page by majority");
    else if (r->part.copy != 0) console_text("; first copy of the parameter page is wrong");
    console_text("\n");
}

static void put_place(uint32_t channel, uint32_t way) {
    console_text("die at channel ");
    console_number(channel);
    console_text(", way ");
    console_number(way);
}

static void put_die(const struct ftl_report *r) { put_place(r->channel, r->way); }

static void put_out(const struct ftl_report *r) {
    for (uint32_t die = 0; die < FTL_MAX_DIES; die++) {
        if (!ftl_dies_has(r->out, die)) continue;
        console_text("otx: made without the ");
        put_place(die / r->ways, die % r->ways);
        console_text(ftl_dies_has(r->absent, die) ? "\n" : ", which answers now and stays unused\n");
    }
}

/* What is not said by the line of the mount. */
static void put_lost(const struct ftl_lost *l) {
    if (l->log_pages != l->foreign) {
        console_text("otx: ");
        put_count(l->log_pages - l->foreign, " log page was begun and cannot be read\n",
                  " log pages were begun and cannot be read\n");
    }
    if (l->foreign != 0) {
        console_text("otx: ");
        put_count(l->foreign, " log page is of another drive and is left out\n",
                  " log pages are of another drive and are left out\n");
    }
    if (l->doubtful == 0) return;
    console_text("otx: ");
    put_count(l->doubtful, " block is", " blocks are");
    console_text(" doubtful, the version after the one that is there cannot be read:");
    for (uint32_t i = 0; i < l->doubtful && i < FTL_DOUBTFUL; i++) {
        console_text(" ");
        console_number(l->lpn[i]);
    }
    console_text(l->doubtful > FTL_DOUBTFUL ? " ...\n" : "\n");
}

static void put_prepared(uint32_t txids) {
    uint32_t n = 0;
    for (; txids != 0; txids &= txids - 1u) n++;
    if (n == 0) return;
    console_text("otx: ");
    put_count(n, " transaction is prepared\n", " transactions are prepared\n");
}

void boot_report_mounted(const struct ftl_report *r) {
    if (r->formatted) console_text("otx: formatted\n");
    put_out(r);
    if (r->blocks_bad != 0) {
        console_text("otx: ");
        put_count(r->blocks_bad, " block is bad\n", " blocks are bad\n");
    }
    put_lost(&r->lost);
    put_prepared(r->prepared);
    console_text("otx: mounted generation ");
    console_number(r->generation);
    console_text(": ");
    put_count(r->log_pages, " log page, ", " log pages, ");
    put_count(r->entries, " entry, ", " entries, ");
    console_number(r->lost.dropped);
    console_text(" dropped, ");
    put_count(r->blocks_free, " block free, ready\n", " blocks free, ready\n");
    console_text("otx: ");
    console_number(r->clocks);
    console_text(" clocks: map loaded in ");
    console_number(r->load_clocks);
    console_text(", log replayed in ");
    console_number(r->replay_clocks);
    console_text("\n");
}

#define MIB(pages) ((uint32_t)((pages) >> 8))

void boot_report_health(const struct ftl_health *h, bool orderly) {
    if (h->cuts != 0) {
        console_text("otx: ");
        put_count(h->cuts, " power cut", " power cuts");
        console_text(orderly ? "\n" : ", the last one before this start\n");
    }
    if (h->host == 0) return;
    console_text("otx: hosts wrote ");
    console_number(MIB(h->host));
    console_text(" MiB, NAND took ");
    console_number(MIB(h->nand));
    console_text(" MiB; ");
    put_count(h->spare, " spare block\n", " spare blocks\n");
}

void boot_report_memory(void) {
    console_text("otx: table memory has erred; no checkpoints, and the log grows, until the next mount\n");
}

void boot_report_error(enum ftl_error error, const struct ftl_report *r) {
    if (r->readable) put_lost(&r->lost);
    console_text(r->readable ? "otx: read-only: " : "otx: not ready: ");
    switch (error) {
        case FTL_ERR_CONFIG: console_text("this firmware has no room for such a geometry"); break;
        case FTL_ERR_DIE:
            put_die(r);
            console_text(" does not answer");
            break;
        case FTL_ERR_LOST:
            put_die(r);
            console_text(" does not answer, and the drive was made with it; nothing was changed");
            break;
        case FTL_ERR_PART:
            put_die(r);
            console_text(": unknown part, ID");
            put_id(r->part.id);
            break;
        case FTL_ERR_PARAM:
            put_die(r);
            console_text(": its parameter page is unreadable");
            break;
        case FTL_ERR_PARTS:
            put_die(r);
            console_text(" is another part than die 0");
            break;
        case FTL_ERR_FIT:
            console_text("the drive is built for another part than ");
            console_text(r->part.name);
            console_text(": ");
            put_sizes(&r->part);
            break;
        case FTL_ERR_SPARE:
            console_text(r->part.name);
            console_text(" has ");
            console_number(r->part.spare_bytes);
            console_text(" spare bytes in a page, the drive needs ");
            console_number(r->needed);
            break;
        case FTL_ERR_MODE:
            put_die(r);
            console_text(" does not come back from a timing mode");
            break;
        case FTL_ERR_NO_ROOT: console_text("no valid root, and the drive is not blank; nothing was changed"); break;
        case FTL_ERR_VERSION: console_text("the root is of another format; nothing was changed"); break;
        case FTL_ERR_GEOMETRY: console_text("the root is of a drive of another geometry; nothing was changed"); break;
        case FTL_ERR_MAP: console_text("a map page that the root names cannot be read; nothing was changed"); break;
        case FTL_ERR_MEMORY: console_text("a memory answers with errors"); break;
        case FTL_ERR_LOG: console_text("a log page contradicts itself; nothing was changed"); break;
        case FTL_ERR_GAP:
            console_text(
                "a log page that was complete cannot be read, and what is behind it is left out; nothing was changed");
            break;
        case FTL_ERR_FADED:
        case FTL_ERR_NO_BLOCK: console_text("no free block for map and log"); break;
        case FTL_ERR_PROGRAM: console_text("the map cannot be written: too many programs fail"); break;
        case FTL_ERR_ANCHOR:
            console_text("no block for a new root is left that can be erased and written; the old root still counts");
            break;
        case FTL_ERR_BLOCKS:
            console_number(r->good_blocks);
            console_text(" good blocks are too few for this capacity, ");
            console_number(r->needed);
            console_text(" are needed; nothing was changed");
            break;
        case FTL_OK: break;
    }
    console_text("\n");
}
