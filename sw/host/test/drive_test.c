// SPDX-License-Identifier: Apache-2.0
// libotx against a drive: drive_test SOCKET. The drive is new, and left with what the last test wrote.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "otx.h"

static const char *socket_path;
static struct otx_drive *drive;
static uint8_t data[OTX_MAX_BLOCKS * OTX_BLOCK], back[sizeof data];

static void fill(uint8_t *to, uint32_t blocks, uint8_t letter) { memset(to, letter, blocks * (size_t)OTX_BLOCK); }

// What a block holds, for whoever has `options`.
static int letter(uint32_t lba, const struct otx_options *options) {
    if (otx_read(drive, lba, 1, back, options, NULL)) return -1;
    for (int i = 1; i < OTX_BLOCK; i++)
        if (back[i] != back[0]) return -2;
    return back[0];
}

static int put(uint32_t lba, uint8_t what, const struct otx_options *options) {
    fill(data, 1, what);
    return otx_write(drive, lba, 1, data, options);
}

static uint32_t state(int txid) {
    uint32_t result = 0;
    return otx_query(drive, OTX_QUERY_TX, txid, &result) ? 99 : result & 7;
}

static void what_is_written_is_read(void) {
    uint32_t delivered = 0;
    for (uint32_t b = 0; b < OTX_MAX_BLOCKS; b++) fill(data + b * OTX_BLOCK, 1, (uint8_t)(b + 1));
    CHECK(!otx_write(drive, 10, OTX_MAX_BLOCKS, data, NULL) && !otx_flush(drive));
    CHECK(!otx_read(drive, 10, OTX_MAX_BLOCKS, back, NULL, &delivered));
    CHECK(delivered == 0xffffffff && !memcmp(back, data, sizeof data));
    CHECK(!otx_trim(drive, 11, 2, NULL) && !otx_write_zeroes(drive, 13, 1, &(struct otx_options){.fua = true}));
    CHECK(letter(10, NULL) == 1 && letter(11, NULL) == 0 && letter(12, NULL) == 0 && letter(13, NULL) == 0);
    CHECK(letter(14, NULL) == 5);
}

static void a_transaction_is_nobodys_until_its_commit(void) {
    const struct otx_options three = {.in_tx = true, .txid = 3}, last = {.in_tx = true, .txid = 3, .commit = true};
    CHECK(!put(1, 'a', NULL) && !otx_begin(drive, 3) && otx_begin(drive, 3) == OTX_STATUS_TX_BUSY);
    CHECK(!put(1, 'b', &three) && letter(1, NULL) == 'a' && letter(1, &three) == 'b' && state(3) == OTX_TX_OPEN);
    CHECK(!otx_commit(drive, 3, false) && letter(1, NULL) == 'b');
    CHECK(!put(1, 'c', &three) && !otx_abort(drive, 3) && letter(1, NULL) == 'b');
    CHECK(!put(1, 'd', &last) && letter(1, NULL) == 'd' && otx_commit(drive, 3, true) == OTX_STATUS_TX_INVALID);
    CHECK(!put(1, 'e', &three) && !otx_prepare(drive, 3) && state(3) == OTX_TX_PREPARED);
    CHECK(!otx_recover(drive) && state(3) == OTX_TX_PREPARED && !otx_commit(drive, 3, false) && letter(1, NULL) == 'e');
    CHECK(!put(1, 'f', &three) && !otx_recover(drive) && letter(1, NULL) == 'e');
}

static void wrong_commands_have_the_status_of_the_drive(void) {
    uint32_t result;
    CHECK(otx_read(drive, otx_about(drive)->lbas, 1, back, NULL, NULL) == OTX_STATUS_LBA_RANGE);
    CHECK(otx_write(drive, 0, 0, data, NULL) == OTX_STATUS_INVALID_FIELD);
    CHECK(otx_write(drive, 0, 33, data, NULL) == OTX_STATUS_INVALID_FIELD);
    CHECK(otx_read(drive, 0, 65535, back, NULL, NULL) == OTX_STATUS_INVALID_FIELD);
    CHECK(otx_commit(drive, 200, false) == OTX_STATUS_TX_INVALID);
    CHECK(otx_query(drive, 31, -1, &result) == OTX_STATUS_INVALID_FIELD);
    struct otx_request unknown = {.opcode = 0xff};
    struct otx_answer a;
    CHECK(!otx_send(drive, &unknown) && !otx_take(drive, &a, -1) && a.status == OTX_STATUS_INVALID_OPCODE);
    CHECK(letter(14, NULL) == 5);
}

static void barriers_and_flushes_of_a_part(void) {
    CHECK(!otx_rflush(drive, 10, 4) && !otx_rflush_stream(drive, 7));
    CHECK(otx_rflush(drive, 10, 0) == OTX_STATUS_INVALID_FIELD);
    CHECK(!otx_barrier(drive));
}

static void queries_health_and_checkpoints(void) {
    uint32_t result;
    uint64_t health[OTX_HEALTH_NUMBERS], before;
    CHECK(!otx_query(drive, OTX_QUERY_CAPACITY, -1, &result) && result == otx_about(drive)->lbas);
    CHECK(!otx_health(drive, health) && health[OTX_HEALTH_STARTS] == 1);
    before = health[OTX_HEALTH_CHECKPOINTS];
    CHECK(!put(1, 'g', NULL) && !otx_checkpoint(drive, false) && !otx_flush(drive) && !otx_checkpoint(drive, true));
    CHECK(!otx_health(drive, health) && health[OTX_HEALTH_CHECKPOINTS] == before + 2);
    CHECK(health[OTX_HEALTH_NAND_PAGES] > health[OTX_HEALTH_HOST_PAGES] && health[OTX_HEALTH_HOST_PAGES] > 32);
}

// Random writes and reads, up to 32 at once, no two of one block under way; every read is what was written last.
static void many_at_once(void) {
    enum { blocks = 60, commands = 300 };
    static uint8_t place[OTX_UNDER_WAY][OTX_BLOCK];
    uint8_t now[blocks] = {0}, to[OTX_UNDER_WAY] = {0};
    int lba_of[OTX_UNDER_WAY], out_of_order = 0, most = 0, reads = 0;
    bool busy[blocks] = {false};
    uint64_t random = 12345, clock = 0;
    for (int i = 0; i < OTX_UNDER_WAY; i++) lba_of[i] = -1;
    CHECK(!otx_trim(drive, 0, 32, NULL) && !otx_trim(drive, 32, blocks - 32, NULL));
    for (int begun = 0, ended = 0, last = -1; ended < commands;) {
        int slot = 0;
        while (slot < OTX_UNDER_WAY && lba_of[slot] >= 0) slot++;
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t lba = (uint32_t)(random >> 33) % blocks;
        bool tries = begun < commands && slot < OTX_UNDER_WAY;
        if (tries && !busy[lba]) {
            bool write = random >> 60 & 1;
            to[slot] = write ? (uint8_t)(random >> 50) : now[lba];
            fill(place[slot], 1, write ? to[slot] : 0xee);
            struct otx_request r = {.opcode = write ? OTX_OP_WRITE : OTX_OP_READ,
                                    .lba = lba,
                                    .count = 1,
                                    .write = place[slot],
                                    .read = place[slot],
                                    .id = (uint64_t)begun << 8 | (uint64_t)slot};
            CHECK(!otx_send(drive, &r));
            lba_of[slot] = (int)lba, busy[lba] = true, now[lba] = to[slot], begun++, reads += !write;
            if (otx_under_way(drive) > most) most = otx_under_way(drive);
        }
        if (tries && random >> 61 & 3) continue;  // more come than go, until all places are full
        struct otx_answer a;
        CHECK(!otx_take(drive, &a, -1) && a.status == 0 && a.clock >= clock);
        clock = a.clock;
        slot = (int)(a.id & 0xff);
        CHECK(place[slot][0] == to[slot] && place[slot][OTX_BLOCK - 1] == to[slot]);
        busy[lba_of[slot]] = false, lba_of[slot] = -1, ended++;
        out_of_order += (int)(a.id >> 8) < last;
        last = (int)(a.id >> 8);
    }
    for (uint32_t lba = 0; lba < blocks; lba++) CHECK(letter(lba, NULL) == now[lba]);
    CHECK(out_of_order > 10 && most == OTX_UNDER_WAY && reads > 90);
}

// 32 reads of 12 blocks whose answers nobody takes, more than a socket holds, and writes behind them.
static void answers_that_are_not_taken_do_not_stop_the_drive(void) {
    static uint8_t place[OTX_UNDER_WAY][12 * OTX_BLOCK];
    struct otx_drive *other = NULL;
    for (uint64_t i = 0; i < OTX_UNDER_WAY; i++) {
        struct otx_request r = {.opcode = OTX_OP_READ, .lba = 10, .count = 12, .read = place[i], .id = i};
        CHECK(!otx_send(drive, &r));
    }
    CHECK(!otx_connect(socket_path, false, &other, NULL, 0));
    CHECK(!otx_write(other, 60, 1, data, NULL) && !otx_flush(other));
    otx_disconnect(other);
    for (int i = 0; i < 3; i++) CHECK(!otx_write(drive, 20, OTX_MAX_BLOCKS, data, NULL));
    struct otx_answer a;
    for (int i = 0; i < OTX_UNDER_WAY; i++) CHECK(!otx_take(drive, &a, -1) && a.status == 0);
    for (int i = 1; i < OTX_UNDER_WAY; i++) CHECK(!memcmp(place[0], place[i], sizeof place[0]));
}

static void a_connection_that_ends_aborts_what_it_opened_unless_it_keeps_it(void) {
    const struct otx_options five = {.in_tx = true, .txid = 5};
    for (int keep = 0; keep < 2; keep++) {
        struct otx_drive *other = NULL;
        CHECK(!otx_connect(socket_path, keep, &other, NULL, 0));
        CHECK(!put(50, 'x', NULL) && !otx_begin(other, 6) && !otx_prepare(other, 6));
        fill(data, 1, 'y');
        CHECK(!otx_write(other, 50, 1, data, &five));
        otx_disconnect(other);
        for (int i = 0; i < 1000 && state(5) == (keep ? OTX_TX_FREE : OTX_TX_OPEN); i++) continue;
        CHECK(state(5) == (keep ? OTX_TX_OPEN : OTX_TX_FREE) || (!keep && state(5) == OTX_TX_ABORTED));
        CHECK(state(6) == OTX_TX_PREPARED && !otx_abort(drive, 6) && letter(50, NULL) == 'x');
        if (keep) CHECK(!otx_commit(drive, 5, false) && letter(50, NULL) == 'y');
    }
}

static const struct check_test tests[] = {
    TEST(what_is_written_is_read),
    TEST(a_transaction_is_nobodys_until_its_commit),
    TEST(wrong_commands_have_the_status_of_the_drive),
    TEST(barriers_and_flushes_of_a_part),
    TEST(queries_health_and_checkpoints),
    TEST(many_at_once),
    TEST(answers_that_are_not_taken_do_not_stop_the_drive),
    TEST(a_connection_that_ends_aborts_what_it_opened_unless_it_keeps_it),
};

int main(int argc, char **argv) {
    char message[300];
    socket_path = argc > 1 ? argv[1] : "build/otx.cmd";
    if (otx_connect(socket_path, false, &drive, message, sizeof message)) {
        fprintf(stderr, "drive_test: %s\n", message);
        return 2;
    }
    int failed = check_run(tests, (int)(sizeof tests / sizeof *tests), argc > 2 ? argv[2] : NULL);
    otx_disconnect(drive);
    return failed;
}
