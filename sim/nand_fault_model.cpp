// SPDX-License-Identifier: Apache-2.0
#include "nand_fault_model.h"

#include <algorithm>

#include "nand_hash.h"

namespace otx {
namespace {

enum What : uint64_t {  // what is drawn
    is_bad = 1,
    mark_page,
    mark_byte,
    bad_erase,
    bad_program,
    weak_erase,
    weak_program,
    weak_block,
    flips,
    stuck_page,
    stuck_content,
    has_stuck_bits,
    stuck_bit,
    damaged,
    has_drifted
};

constexpr uint64_t one_in(int n) { return uint64_t(1) << (64 - n); }  // probability 2^-n

enum Outcome { fails_keeps_mark, fails_loses_mark, appears_to_work };

}  // namespace

void damage(Store &s, uint32_t die, uint32_t row, uint64_t seed) {
    Draws draws(seed, {damaged, die, row});
    const int n = 3 + int(draws.below(3));
    draws.flip(s.cells(die, row), s.row_bytes(), one_in(n), s.geometry().page_bytes);
}

std::string Faults::wrong(const otx_nand_geometry &g) const {
    const otx_nand_faults &f = set;
    if (f.places > OTX_NAND_PLACES)
        return std::to_string(f.places) + " places, at most " + std::to_string(OTX_NAND_PLACES);
    if (f.mark > OTX_NAND_MARK_EITHER || f.dead_kind > OTX_NAND_DEAD_BUSY || f.cut_program > OTX_NAND_CUT_ANY ||
        f.cut_erase > OTX_NAND_CUT_ERASE_ANY)
        return "there is no such kind of mark, dead die or cut";
    if (f.nop > 100) return "a page is programmed at most 100 times between erases";
    for (uint32_t i = 0; i < f.places; i++) {
        const otx_nand_place &p = f.place[i];
        const std::string name = "place " + std::to_string(i);
        if (p.kind < OTX_NAND_BAD_BLOCK || p.kind > OTX_NAND_DRIFTED) return name + " has no kind of fault";
        if (p.kind == OTX_NAND_BAD_BLOCK && p.block == 0) return name + ": block 0 of a die is never bad";
        if (g.pages && (p.die >= g.channels * g.ways || p.block >= g.blocks || p.page >= g.pages))
            return name + " is not in the drive";
    }
    return "";
}

const otx_nand_place *Faults::placed(uint32_t kind, uint32_t die, uint32_t block, uint32_t page) const {
    const bool whole = kind == OTX_NAND_BAD_BLOCK || kind == OTX_NAND_ERASE_FAILS;
    const otx_nand_place *end = set.place + set.places;
    const otx_nand_place *p = std::find_if(set.place, end, [&](const otx_nand_place &p) {
        return p.kind == kind && p.die == die && p.block == block && (whole || p.page == page);
    });
    return p == end ? nullptr : p;
}

// ---- blocks that are bad from the factory

bool Faults::bad(uint32_t die, uint32_t block) const {
    return on && block != 0 &&
           (placed(OTX_NAND_BAD_BLOCK, die, block, 0) || Draws(set.seed, {is_bad, die, block}).ppm(set.bad_ppm));
}

void Faults::mark_blocks(Store &s) const {
    const otx_nand_geometry &g = s.geometry();
    for (uint32_t die = 0; die < s.dies(); die++) {
        for (uint32_t block = 1; block < g.blocks; block++) {
            const Block &b = s.block(die, block);
            if (!bad(die, block) || b.erases || b.next) continue;
            Draws where(set.seed, {mark_page, die, block});
            const uint32_t kind = set.mark == OTX_NAND_MARK_EITHER ? uint32_t(where.below(2)) : set.mark;
            const uint32_t page = kind == OTX_NAND_MARK_LAST ? g.pages - 1 : std::min(kind, g.pages - 1);
            // cells are inverted: not FFh
            s.cells(die, block * g.pages + page)[g.page_bytes] =
                uint8_t(1 + Draws(set.seed, {mark_byte, die, block}).below(255));
        }
    }
}

bool Faults::dead(Store &s, uint32_t die) const {
    return on && die < 64 && (set.dead_dies >> die & 1) && s.operations(die) >= set.dead_after;
}

// ---- erase

bool Faults::erase_fails(Store &s, uint32_t die, uint32_t block) {
    const otx_nand_place *p = placed(OTX_NAND_ERASE_FAILS, die, block, 0);
    const uint32_t erases = s.block(die, block).erases;
    const bool from_factory = bad(die, block) && Draws(set.seed, {bad_erase, die, block}).below(3) != appears_to_work;
    const bool worn = (p && erases >= p->n) || (erases >= set.erase_fail_after &&
                                                Draws(set.seed, {weak_erase, die, block}).ppm(set.erase_fail_ppm));
    seen[OTX_NAND_SEEN_ERASE_FAILS] += from_factory || worn;
    return from_factory || worn;
}

void Faults::erase_failed(Store &s, uint32_t die, uint32_t block) {
    if (!bad(die, block) || Draws(set.seed, {bad_erase, die, block}).below(3) != fails_loses_mark) return;
    for (uint32_t page = 0; page < s.geometry().pages; page++)
        s.cells(die, block * s.geometry().pages + page)[s.geometry().page_bytes] = 0;
}

// ---- program

void Faults::program_begins(Store &s, uint32_t die, uint32_t row) {
    const uint32_t pages = s.geometry().pages, first = row / pages * pages;
    Block &b = s.block(die, row / pages);
    if (b.next == Block::unfinished && set.unfinished_allowed) {
        b.next = 0, b.weak = 1, b.reads = 0;
        for (uint32_t r = first; r < first + pages; r++) {
            const uint8_t *cells = s.cells(die, r);
            s.programs(die, r) = !std::all_of(cells, cells + s.row_bytes(), [](uint8_t c) { return c == 0; });
        }
    }
    if (b.next == 0) b.began = s.operations(die);
}

bool Faults::program_fails(Store &s, uint32_t die, uint32_t row) {
    const uint32_t pages = s.geometry().pages, block = row / pages, erases = s.block(die, block).erases;
    const otx_nand_place *p = placed(OTX_NAND_PROGRAM_FAILS, die, block, row % pages);
    bool fails = (p && erases >= p->n) || (erases >= set.program_fail_after &&
                                           Draws(set.seed, {weak_program, die, row}).ppm(set.program_fail_ppm));
    if (bad(die, block))
        fails |= Draws(set.seed, {bad_erase, die, block}).below(3) != appears_to_work ||
                 Draws(set.seed, {bad_program, die, row}).below(2);
    seen[OTX_NAND_SEEN_PROGRAM_FAILS] += fails;
    return fails;
}

void Faults::programmed(Store &s, uint32_t die, uint32_t row) {
    const uint32_t block = row / s.geometry().pages;
    const Block &b = s.block(die, block);
    if (!b.weak && !bad(die, block)) return;
    seen[OTX_NAND_SEEN_WEAK_PROGRAMS]++;
    Draws draws(set.seed, {weak_block, die, row, b.erases, s.programs(die, row)});
    const int n = 5 + int(draws.below(4));  // one bit in 32 to one in 256
    draws.flip(s.cells(die, row), s.row_bytes(), one_in(n), s.geometry().page_bytes);
}

// ---- read

uint64_t Faults::flip_probability(Store &s, uint32_t die, const Block &b, bool drifted) const {
    using wide = unsigned __int128;
    const wide age = b.next == 0 ? 0 : s.operations(die) - b.began;
    const wide rate = wide(set.ber) + wide(set.ber_erase) * b.erases + wide(set.ber_read) * b.reads +
                      wide(set.ber_age) * age + (drifted ? set.ber_drift : 0);
    const wide most = 500'000'000'000u, whole = 2 * most;
    return uint64_t((std::min(rate, most) << 64) / whole);
}

bool Faults::written(Store &s, uint32_t die, uint32_t row) const {
    return s.programs(die, row) && s.block(die, row / s.geometry().pages).next != Block::unfinished;
}

bool Faults::stuck(Store &s, uint32_t die, uint32_t row) const {
    const uint32_t pages = s.geometry().pages, erases = s.block(die, row / pages).erases;
    if (!written(s, die, row)) return false;
    const otx_nand_place *p = placed(OTX_NAND_STUCK_PAGE, die, row / pages, row % pages);
    return (p && p->n == erases) || Draws(set.seed, {stuck_page, die, row, erases}).ppm(set.stuck_page_ppm);
}

uint32_t Faults::own_level(Store &s, uint32_t die, uint32_t row, uint32_t levels) const {
    const uint32_t pages = s.geometry().pages, erases = s.block(die, row / pages).erases;
    if (const otx_nand_place *p = placed(OTX_NAND_DRIFTED, die, row / pages, row % pages)) return p->n;
    Draws draws(set.seed, {has_drifted, die, row, erases});
    return draws.ppm(set.drift_ppm) ? 1 + uint32_t(draws.below(std::max(levels, 1u))) : 0;
}

void Faults::stick_bits(Store &s, uint32_t die, uint32_t row, std::vector<uint8_t> &page) const {
    const otx_nand_place *p = placed(OTX_NAND_STUCK_BITS, die, row / s.geometry().pages, row % s.geometry().pages);
    const uint32_t count = p                                                                     ? p->n
                           : Draws(set.seed, {has_stuck_bits, die, row}).ppm(set.stuck_bits_ppm) ? set.stuck_bits
                                                                                                 : 0;
    Draws draws(set.seed, {stuck_bit, die, row});
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bit = draws.below(page.size() * 8), one = draws.below(2);
        uint8_t &byte = page[bit / 8];
        if (bit / 8 != s.geometry().page_bytes) byte = uint8_t((byte & ~(1u << bit % 8)) | one << bit % 8);
    }
}

void Faults::read(Store &s, uint32_t die, uint32_t row, std::vector<uint8_t> &page, uint32_t level, uint32_t levels) {
    Block &b = s.block(die, row / s.geometry().pages);
    b.reads++;
    uint8_t &left = s.good_reads(die, row);
    if (left && --left == 0) {
        damage(s, die, row, mixed(set.seed) + b.erases);
        seen[OTX_NAND_SEEN_FADED]++;
        for (size_t i = 0; i < page.size(); i++) page[i] = uint8_t(~s.cells(die, row)[i]);
    }
    if (stuck(s, die, row)) {
        Draws draws(set.seed, {stuck_content, die, row, b.erases});
        for (uint8_t &byte : page) byte = uint8_t(draws.next() >> 40);
        seen[OTX_NAND_SEEN_STUCK_READS]++;
        return;
    }
    const bool drifted = written(s, die, row) && own_level(s, die, row, levels) != level;
    seen[OTX_NAND_SEEN_DRIFTED] += drifted;
    if (const uint64_t p = flip_probability(s, die, b, drifted))
        seen[OTX_NAND_SEEN_FLIPS] +=
            Draws(set.seed, {flips, die, row, b.erases, b.reads}).flip(page.data(), page.size(), p);
    stick_bits(s, die, row, page);
}

}  // namespace otx
