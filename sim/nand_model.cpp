// SPDX-License-Identifier: Apache-2.0
#include "nand_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "nand_die.h"
#include "nand_hash.h"

namespace otx {
namespace {

constexpr otx_nand_geometry k9f8g08 = {1, 1, 4096, 64, 4096, 128};
constexpr otx_nand_times k9f8g08_times = {12, 10, 25, 12,  10, 25,  20,  12, 5,      20,      5,         12,
                                          5,  12, 5,  100, 60, 100, 100, 20, 25'000, 200'000, 1'500'000, 5'000};

Drive drive{{}, k9f8g08_times, {}, {0xEC, 0xD3, 0x10, 0xA6, 0x64}, {}, {}, 1, {}, {}};
std::vector<std::unique_ptr<Die>> dies;
std::vector<std::string> violations;
bool fatal = true;
bool chosen_cut = false;  // otx_nand_next_cut
uint32_t cut_program, cut_erase;

// The bus times of ONFI 4.0 SDR timing modes 0 to 5, in the order of otx_nand_times.
constexpr int mode_times[6][20] = {
    {50, 30, 100, 50, 30, 100, 40, 50, 20, 70, 20, 50, 20, 40, 20, 400, 120, 200, 200, 40},
    {25, 15, 45, 25, 15, 50, 30, 25, 10, 35, 10, 25, 10, 20, 10, 400, 80, 100, 100, 20},
    {17, 15, 35, 17, 15, 35, 25, 15, 10, 25, 10, 15, 10, 15, 5, 400, 80, 100, 100, 20},
    {15, 10, 30, 15, 10, 30, 20, 10, 5, 25, 5, 10, 5, 10, 5, 400, 80, 100, 100, 20},
    {12, 10, 25, 12, 10, 25, 20, 10, 5, 20, 5, 10, 5, 10, 5, 400, 80, 100, 100, 20},
    {10, 7, 20, 10, 7, 20, 16, 10, 5, 15, 5, 10, 5, 7, 5, 400, 80, 100, 100, 20},
};

void take_times(const otx_nand_times &times) {
    drive.times = times;
    for (int m = 0; m < 6; m++) drive.modes[m] = times, memcpy(&drive.modes[m], mode_times[m], sizeof mode_times[m]);
}

Die &die_of(int number) {
    if (!drive.store.is_open()) {
        char message[200];
        if (otx_nand_store_open(nullptr, &k9f8g08, message, sizeof message)) rule_broken(message), exit(70);
    }
    if (number < 0 || size_t(number) >= dies.size()) {
        fatal = true;
        rule_broken("there is no die " + std::to_string(number) + ", the drive has " + std::to_string(dies.size()));
    }
    return *dies[size_t(number)];
}

uint32_t checked_row(uint32_t die, uint32_t row) {
    die_of(int(die));
    if (row >= drive.store.rows()) {
        fatal = true;
        rule_broken("a test names row " + std::to_string(row) + ", a die has " + std::to_string(drive.store.rows()));
    }
    return row;
}

}  // namespace

Die &page_die(int number) { return die_of(number); }
const Drive &page_drive() { return drive; }

uint64_t Drive::random() { return mixed(seed += 0x9E3779B97F4A7C15u); }

void rule_broken(const std::string &text) {
    violations.push_back(text);
    if (!fatal) return;
    fflush(stdout);
    fprintf(stderr, "NAND rule broken: %s\n", text.c_str());
    fflush(stderr);
    exit(70);
}

// ONFI 4.0 section 5.7: three copies of 256 bytes, CRC-16 in the last two.  What a copy says is what the die is, but
// for `wrong`.
std::vector<uint8_t> onfi_parameter_page(const Drive &drive, uint32_t die) {
    const otx_nand_geometry &g = drive.store.geometry();
    const otx_nand_times &t = drive.times;
    const otx_nand_part_faults &wrong = drive.wrong;
    std::vector<uint8_t> p(256, 0);
    auto put = [&](size_t at, size_t bytes, uint64_t value) {
        for (size_t i = 0; i < bytes; i++) p[at + i] = uint8_t(value >> 8 * i);
    };
    auto text = [&](size_t at, size_t bytes, const char *words) {
        memset(&p[at], ' ', bytes), memcpy(&p[at], words, strlen(words));
    };
    text(0, 4, "ONFI");
    put(4, 2, 0x0002);                           // revision 1.0
    put(6, 2, drive.planes() > 1 ? 0x0008 : 0);  // multi-plane programs and erases
    // SET and GET FEATURES, cache programs and reads, 78h
    put(8, 2,
        (drive.part.features ? 0x0004 : 0) | (drive.part.cache ? 0x0003 : 0) |
            (drive.part.status_enhanced ? 0x0008 : 0));
    text(32, 12, "OPENTXSSD");
    text(44, 20, "NAND MODEL");
    put(64, 1, drive.part.retries ? 0x2C : drive.id[0]);  // the vendor whose block has read retry
    put(80, 4, wrong.page_bytes ? wrong.page_bytes : g.page_bytes);
    put(84, 2, wrong.spare_bytes ? wrong.spare_bytes : g.spare_bytes);
    put(92, 4, wrong.pages ? wrong.pages : g.pages);
    put(96, 4, wrong.odd_die == die + 1 ? 2 * g.blocks : g.blocks);
    put(100, 1, 1);     // dies in this chip
    put(101, 1, 0x23);  // column address cycles 2, row 3
    put(102, 1, 1);     // bits in a cell
    put(103, 2, g.blocks / 50);
    put(105, 2, 0x0501);  // 1 * 10^5 cycles
    put(107, 1, 1);
    put(110, 1, drive.faults.nop());  // programs of a page
    put(112, 1, 1);                   // bits to correct
    put(113, 1, drive.planes() / 2);  // plane address bits
    // blocks of the planes need not be alike; no cache programs of several planes
    put(114, 1, drive.planes() > 1 ? 2 : 0);
    put(129, 2, drive.part.modes);
    put(133, 2, uint64_t(t.t_prog) / 1000);
    put(135, 2, uint64_t(t.t_bers) / 1000);
    put(137, 2, uint64_t(t.t_r) / 1000);
    put(139, 2, 100);
    // the vendor's block, its revision; levels of read retry
    if (drive.part.retries) put(164, 2, 1), put(180, 1, drive.part.retries + 1);
    uint16_t crc = 0x4F4E;
    for (size_t i = 0; i < 254; i++) {
        crc = uint16_t(crc ^ p[i] << 8);
        for (int bit = 0; bit < 8; bit++) crc = uint16_t(crc & 0x8000 ? crc << 1 ^ 0x8005 : crc << 1);
    }
    put(254, 2, crc);
    std::vector<uint8_t> all;
    for (int copy = 0; copy < 3; copy++) all.insert(all.end(), p.begin(), p.end());
    for (uint32_t copy = 0; copy < 3; copy++) {
        if (!(wrong.copies >> copy & 1)) continue;
        // A third of the page is each copy's own; in it every eighth byte or so has a wrong bit, one of them in the
        // first fields.
        const uint32_t at = wrong.same_place ? 80 : 80 + 56 * copy;
        for (uint32_t n = 0; n < 8; n++) {
            const uint64_t r = mixed(drive.seed + (wrong.same_place ? 0 : copy) * 64 + n);
            all[copy * 256 + at + (n ? r % 56 : 0)] ^= uint8_t(1 << (n ? r >> 32 & 7 : 2));
        }
    }
    if (wrong.blank_page) std::fill(all.begin(), all.end(), uint8_t(0xFF));
    return all;
}

}  // namespace otx

using namespace otx;

extern "C" {

int otx_nand_store_open(const char *path, const otx_nand_geometry *geometry, char *message, size_t size) {
    std::string why;
    dies.clear();
    violations.clear();
    memset(drive.counts, 0, sizeof drive.counts);
    memset(drive.faults.seen, 0, sizeof drive.faults.seen);
    chosen_cut = false;
    if (drive.faults.on && !(why = drive.faults.wrong(*geometry)).empty()) {
        drive.store.close();
        snprintf(message, size, "faults: %s", why.c_str());
        return -1;
    }
    if (!drive.store.open(path && *path ? path : nullptr, *geometry, why)) {
        snprintf(message, size, "%s", why.c_str());
        return -1;
    }
    if (drive.faults.on) drive.faults.mark_blocks(drive.store);
    for (uint32_t i = 0; i < drive.store.dies(); i++) dies.push_back(std::make_unique<Die>(drive, i));
    return 0;
}

void otx_nand_store_close(void) {
    dies.clear();
    drive.store.close();
}

void otx_nand_set_times(const otx_nand_times *times) { take_times(*times); }
void otx_nand_set_id(const uint8_t id[5]) { memcpy(drive.id, id, 5); }
void otx_nand_set_unused(uint32_t bytes) { drive.unused = bytes; }
void otx_nand_set_part(const otx_nand_part *part) {
    drive.part = part ? *part : otx_nand_part{};
    if (const uint32_t planes = drive.planes(); planes & (planes - 1) || planes > 4) {
        fatal = true;
        rule_broken("a test makes a part of " + std::to_string(planes) + " planes");
    }
    if (drive.part.retries > 7) {
        fatal = true;
        rule_broken("a test makes a part of " + std::to_string(drive.part.retries) + " read retry levels");
    }
    take_times(drive.times);
}
void otx_nand_set_part_faults(const otx_nand_part_faults *faults) {
    drive.wrong = faults ? *faults : otx_nand_part_faults{};
}
int otx_nand_mode(uint32_t die) { return die < dies.size() ? dies[die]->mode() : -1; }
void otx_nand_set_seed(uint64_t seed) { drive.seed = mixed(seed); }

void otx_nand_power_cut(uint64_t seed) {
    for (size_t i = 0; i < dies.size(); i++) {
        if (chosen_cut) dies[i]->tear(cut_program, cut_erase, mixed(seed * 64 + i));
        else dies[i]->finish_some(mixed(seed * 64 + i));
        dies[i] = std::make_unique<Die>(drive, uint32_t(i));
    }
    chosen_cut = false;
}

int otx_nand_set_faults(const otx_nand_faults *faults, char *message, size_t size) {
    Faults next;
    next.on = faults != nullptr;
    if (faults) next.set = *faults;
    const std::string why = next.wrong(drive.store.is_open() ? drive.store.geometry() : otx_nand_geometry{});
    if (!why.empty()) {
        snprintf(message, size, "faults: %s", why.c_str());
        return -1;
    }
    memcpy(next.seen, drive.faults.seen, sizeof next.seen);
    drive.faults = next;
    if (!drive.store.is_open() || !faults) return 0;
    drive.faults.mark_blocks(drive.store);
    for (auto &die : dies) die->die_if_dead();
    return 0;
}

void otx_nand_next_cut(uint32_t program, uint32_t erase) {
    if (!drive.faults.on || program > OTX_NAND_CUT_ANY || erase > OTX_NAND_CUT_ERASE_ANY) {
        fatal = true;
        rule_broken("a test chooses a power cut " +
                    std::string(drive.faults.on ? "that there is not" : "while faults are off"));
    }
    chosen_cut = true, cut_program = program, cut_erase = erase;
}

void otx_nand_fade(void) {
    for (uint32_t die = 0; die < drive.store.dies(); die++)
        for (uint32_t row = 0; row < drive.store.rows(); row++)
            drive.store.good_reads(die, row) = drive.store.good_reads(die, row) != 0;
}

int otx_nand_is_bad(uint32_t die, uint32_t block) { return drive.faults.bad(die, block); }
uint64_t otx_nand_faults_seen(int kind) {
    return kind >= 0 && kind < OTX_NAND_SEEN_KINDS ? drive.faults.seen[kind] : 0;
}

void otx_nand_set_fatal(int on) { fatal = on != 0; }
int otx_nand_violations(void) { return int(violations.size()); }
const char *otx_nand_violation(int number) {
    return number >= 0 && size_t(number) < violations.size() ? violations[size_t(number)].c_str() : "";
}

void otx_nand_fail(uint32_t die, int what, uint32_t n) {
    if (what >= 0 && what <= 2) die_of(int(die)).fail(what, n);
}

void otx_nand_flip(uint32_t die, uint32_t row, uint32_t bit) {
    drive.store.cells(die, checked_row(die, row))[bit / 8 % drive.store.row_bytes()] ^= uint8_t(1 << bit % 8);
}

void otx_nand_mark_bad(uint32_t die, uint32_t block) {
    for (uint32_t page = 0; page < 2; page++) {
        const uint32_t row = checked_row(die, block * drive.store.geometry().pages + page);
        drive.store.cells(die, row)[drive.store.geometry().page_bytes] = 0xFF;
    }
}

void otx_nand_peek(uint32_t die, uint32_t row, uint8_t *bytes) {
    const uint8_t *cells = drive.store.cells(die, checked_row(die, row));
    for (size_t i = 0; i < drive.store.row_bytes(); i++) bytes[i] = uint8_t(~cells[i]);
}

uint32_t otx_nand_programs(uint32_t die, uint32_t row) { return drive.store.programs(die, checked_row(die, row)); }
uint32_t otx_nand_erases(uint32_t die, uint32_t block) {
    return drive.store.block(die, checked_row(die, block * drive.store.geometry().pages) / drive.store.geometry().pages)
        .erases;
}
uint64_t otx_nand_count(int what) { return what >= 0 && what < counters ? drive.counts[what] : 0; }
int otx_nand_under_way(uint32_t die) { return die < dies.size() ? dies[die]->under_way() : -1; }

int otx_nand_pins(int die, long long now_ps, int clk_ps, int pins, long long *wake_ps) {
    return die_of(die).pins(now_ps, clk_ps, pins, *wake_ps);
}
}
