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

void say_mounted(const struct ftl_report *r) {
    if (r->formatted) say("otx: formatted\n");
    say("otx: mounted generation ");
    say_number(r->generation);
    say(": ");
    say_count(r->log_pages, " log page, ", " log pages, ");
    say_count(r->entries, " entry, ", " entries, ");
    say_number(r->dropped);
    say(" dropped, ");
    say_count(r->blocks_free, " block free, ready\n", " blocks free, ready\n");
}

void say_error(enum ftl_error error, const struct ftl_report *r) {
    say("otx: not ready: ");
    switch (error) {
    case FTL_ERR_CONFIG:
        say("this firmware has no room for such a geometry");
        break;
    case FTL_ERR_DIE:
        say("die ");
        say_number(r->die);
        say(" does not answer with the ID of the part");
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
    case FTL_ERR_NO_BLOCK:
        say("no free block for map and log");
        break;
    case FTL_ERR_PROGRAM:
        say("map or root cannot be written");
        break;
    case FTL_OK:
        break;
    }
    say("\n");
}
