// SPDX-License-Identifier: Apache-2.0
// The NAND model for page_channel.sv: whole operations on a die's cells, with the faults, torn pages and power cuts of
// the pin-level model and without its bus.
//
// A page holds data, fields and parity as docs/interfaces.md and docs/ecc.md have them. Wrong bits are corrected
// (page_code.h) before the page is sent, so nothing comes on `fix`; the rest is as the controller does it: CRC for a
// chunk that cannot be corrected or a wrong checksum, BLANK with at most 8 zeroes in each chunk, of READ_OOB the last
// chunk only. A dead die and data that are wrong in some timing mode are not for these presets.
#include <algorithm>
#include <array>
#include <cstring>

#include "nand_die.h"
#include "otx_facts.h"
#include "page_code.h"

namespace otx {
namespace {

constexpr size_t data_bytes = OTX_BLOCK;

struct Under {  // what a die is doing
    int op = 0;
    uint32_t row = 0;
    uint8_t kind = 0;
    uint32_t generation = 0, lpn = 0;
    uint64_t sequence = 0;
    int corrected = 0;  // most wrong bits of a chunk
    std::vector<uint8_t> page;
};

std::array<Under, 64> under, kept_under;
std::array<uint32_t, 64> features, kept_features;
bool looked = false;
int clock_ps = 10'000;

const std::array<uint32_t, 256> crc_table = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320 : c >> 1;
        table[i] = c;
    }
    return table;
}();

uint32_t crc32(uint32_t sum, const uint8_t *bytes, size_t n) {
    sum = ~sum;
    for (size_t i = 0; i < n; i++) sum = crc_table[(sum ^ bytes[i]) & 0xFF] ^ sum >> 8;
    return ~sum;
}

void put(uint8_t *to, int bytes, uint64_t value) {
    for (int i = 0; i < bytes; i++) to[i] = uint8_t(value >> 8 * i);
}

uint64_t get(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | from[i];
    return value;
}

uint32_t page_sum(const uint8_t *page) {
    return crc32(crc32(0, page, data_bytes), page + data_bytes + FTL_OOB_KIND, FTL_OOB_CRC - FTL_OOB_KIND);
}

int clocks(long long ns) { return int((ns * 1000 + clock_ps - 1) / clock_ps); }

// Corrects what was read; its status.
int judge(Under &u) {
    uint8_t *page = u.page.data();
    const int first = u.op == HAL_READ_OOB ? page_chunks - 1 : 0;
    bool erased = true;
    for (int chunk = first; chunk < page_chunks && erased; chunk++)
        erased = page_zeroes(page, chunk, page_code_t) <= page_code_t;
    if (erased) return FTL_PAGE_BLANK;
    for (int chunk = first; chunk < page_chunks; chunk++) {
        const int wrong = page_correct(page, chunk);
        if (wrong < 0) return FTL_PAGE_CRC;
        u.corrected = std::max(u.corrected, wrong);
    }
    return u.op == HAL_READ_OOB || get(page + data_bytes + FTL_OOB_CRC, 4) == page_sum(page) ? FTL_PAGE_OK
                                                                                             : FTL_PAGE_CRC;
}

// The fields of the completion are those of the page.
void take_fields(Under &u) {
    const uint8_t *spare = u.page.data() + data_bytes;
    u.kind = spare[FTL_OOB_KIND];
    u.generation = uint32_t(get(spare + FTL_OOB_GENERATION, 4)), u.lpn = uint32_t(get(spare + FTL_OOB_LPN, 4)),
    u.sequence = get(spare + FTL_OOB_SEQUENCE, 6);
}

}  // namespace

Die &page_die(int number);

}  // namespace otx

using namespace otx;

extern "C" {

// Dies are numbered as the channels are: the number at the end of the instance's name, none is 0.
int otx_page_die(const char *path, int clk_ps) {
    clock_ps = clk_ps;
    const char *end = path + strlen(path), *digits = end;
    while (digits > path && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    return digits == end ? 0 : atoi(digits);
}

// For otx_sim.cpp: whether any cell was looked at or changed yet; what the dies are doing, kept and brought back.
bool otx_page_looked() { return looked; }
void otx_page_forget() { looked = false; }
void otx_page_keep() { kept_under = under, kept_features = features; }
void otx_page_restore() { under = kept_under, features = kept_features; }

// Takes a command; the clocks until its end (PROGRAM: until it wants its page).
int otx_page_begin(int die, int op, int row, int kind, int generation, int lpn, long long sequence) {
    Under &u = under[size_t(die)];
    u = {op, uint32_t(row), uint8_t(kind), uint32_t(generation), uint32_t(lpn), uint64_t(sequence), 0, {}};
    const otx_nand_times &t = page_drive().times;
    looked |= op == HAL_READ || op == HAL_READ_OOB || op == HAL_VERIFY || op == HAL_PROGRAM || op == HAL_ERASE ||
              op == HAL_READ_MARK;
    switch (op) {
        case HAL_RESET: return clocks(t.t_rst);
        case HAL_PARAM:
        case HAL_READ:
        case HAL_READ_OOB:
        case HAL_VERIFY:
        case HAL_READ_MARK: return clocks(t.t_r);
        case HAL_SET_FEATURES:
        case HAL_GET_FEATURES: return clocks(1'000);
        case HAL_PROGRAM: u.page.assign(page_drive().store.row_bytes(), 0xFF); return 0;
        case HAL_ERASE:
            page_die(die).page_begins(Jobs::What::Erase,
                                      u.row / page_drive().store.geometry().pages * page_drive().store.geometry().pages,
                                      {});
            return clocks(t.t_bers);
        default: return 4;
    }
}

void otx_page_put(int die, int beat, long long data) {
    put(under[size_t(die)].page.data() + 8 * beat, 8, uint64_t(data));
}

// The page of a PROGRAM is there: the clocks until its end.
int otx_page_array(int die) {
    Under &u = under[size_t(die)];
    uint8_t *page = u.page.data(), *spare = page + data_bytes;
    spare[FTL_OOB_KIND] = u.kind;
    put(spare + FTL_OOB_GENERATION, 4, u.generation), put(spare + FTL_OOB_LPN, 4, u.lpn),
        put(spare + FTL_OOB_SEQUENCE, 6, u.sequence);
    put(spare + FTL_OOB_CRC, 4, page_sum(page));
    page_encode(page);
    page_die(die).page_begins(Jobs::What::Program, u.row, u.page);
    return clocks(page_drive().times.t_prog);
}

// The end of an operation: its status.
int otx_page_end(int die) {
    Under &u = under[size_t(die)];
    Die &d = page_die(die);
    switch (u.op) {
        case HAL_RESET: features[size_t(die)] = 0; return FTL_PAGE_OK;
        case HAL_READ_ID:
            u.sequence = u.kind == 0x20 ? (page_drive().part.onfi ? 0x49464E4F : 0) : get(page_drive().id, 5);
            return FTL_PAGE_OK;
        case HAL_PARAM:
            u.page = onfi_parameter_page(page_drive(), uint32_t(die));
            u.page.resize(data_bytes, 0);
            return FTL_PAGE_OK;
        case HAL_READ:
        case HAL_READ_OOB:
        case HAL_VERIFY: {
            d.page_read(u.row, u.page);
            const int status = judge(u);
            take_fields(u);
            return status;
        }
        case HAL_PROGRAM:
        case HAL_ERASE: return d.page_ends() ? FTL_PAGE_FAIL : FTL_PAGE_OK;
        case HAL_STATUS: u.kind = 0xE0; return FTL_PAGE_OK;
        case HAL_READ_MARK:
            d.page_read(u.row, u.page);
            u.kind = u.page[data_bytes];
            return FTL_PAGE_OK;
        case HAL_SET_FEATURES:
            if (!page_drive().wrong.refuses) features[size_t(die)] = u.lpn;
            return FTL_PAGE_OK;
        case HAL_GET_FEATURES: u.lpn = features[size_t(die)]; return FTL_PAGE_OK;
        default: return FTL_PAGE_OK;
    }
}

// Of the completion: kind, generation, lpn, sequence 31:0, sequence 47:32, corrected.
int otx_page_field(int die, int number) {
    const Under &u = under[size_t(die)];
    const uint64_t values[6] = {u.kind,           u.generation,         u.lpn, u.sequence & 0xFFFFFFFF,
                                u.sequence >> 32, uint64_t(u.corrected)};
    return int(values[number]);
}

long long otx_page_get(int die, int beat) {
    const Under &u = under[size_t(die)];
    return beat < OTX_BEATS && u.page.size() >= size_t(8 * beat + 8) ? (long long)get(u.page.data() + 8 * beat, 8) : 0;
}
}
