// SPDX-License-Identifier: Apache-2.0
// The NAND model for page_channel.sv: whole operations on a die's cells, with the faults, torn pages and power cuts of the pin-level model and without its bus.
//
// A page holds data and fields as docs/interfaces.md has them; the parity bytes are FFh, but for a checksum of the last chunk and the fields in bytes 24-27, by which READ_OOB sees what the parity would.
// Nothing is corrected: any wrong bit that a checksum covers is CRC, so faults with bit errors (`ber`, stuck bits) are not for these presets. BLANK allows 8 zeroes in a chunk, as the controller does.
#include <algorithm>
#include <array>
#include <cstring>

#include "nand_die.h"

namespace otx {
namespace {

enum Op { reset, read_id, param, read, read_oob, verify, program, erase, status, read_mark, set_features, get_features };
enum Status { ok, fail, crc };
constexpr int blank = 3;
constexpr size_t data_bytes = 4096, chunk = 512, fields = 24, most_flips = 8;

struct Under {  // what a die is doing
  int op = 0;
  uint32_t row = 0;
  uint8_t kind = 0;
  uint32_t generation = 0, lpn = 0;
  uint64_t sequence = 0;
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

void put(uint8_t *to, int bytes, uint64_t value) { for (int i = 0; i < bytes; i++) to[i] = uint8_t(value >> 8 * i); }

uint64_t get(const uint8_t *from, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | from[i];
  return value;
}

uint32_t page_sum(const uint8_t *page) { return crc32(crc32(0, page, data_bytes), page + data_bytes + 1, 15); }
uint32_t last_sum(const uint8_t *page) { return crc32(0, page + data_bytes - chunk, chunk + fields); }

int clocks(long long ns) { return int((ns * 1000 + clock_ps - 1) / clock_ps); }

bool is_blank(const uint8_t *bytes, size_t n) {
  size_t zeroes = 0;
  for (size_t i = 0; i < n && zeroes <= most_flips; i++) zeroes += size_t(__builtin_popcount(uint8_t(~bytes[i])));
  return zeroes <= most_flips;
}

int judge(const Under &u) {
  const uint8_t *page = u.page.data(), *spare = page + data_bytes;
  bool all_blank = is_blank(page + data_bytes - chunk, chunk + fields);
  for (size_t at = 0; u.op != read_oob && at + chunk < data_bytes && all_blank; at += chunk) all_blank = is_blank(page + at, chunk);
  if (all_blank) return blank;
  const bool last = get(spare + 24, 4) == last_sum(page);
  return last && (u.op == read_oob || get(spare + 16, 4) == page_sum(page)) ? ok : crc;
}

// The fields of the completion are those of the page.
void take_fields(Under &u) {
  const uint8_t *spare = u.page.data() + data_bytes;
  u.kind = spare[1];
  u.generation = uint32_t(get(spare + 2, 4)), u.lpn = uint32_t(get(spare + 6, 4)), u.sequence = get(spare + 10, 6);
}

}  // namespace

Die &page_die(int number);
const Drive &page_drive();

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
void otx_page_keep() { kept_under = under, kept_features = features; }
void otx_page_restore() { under = kept_under, features = kept_features; }

// Takes a command; the clocks until its end (PROGRAM: until it wants its page).
int otx_page_begin(int die, int op, int row, int kind, int generation, int lpn, long long sequence) {
  Under &u = under[size_t(die)];
  u = {op, uint32_t(row), uint8_t(kind), uint32_t(generation), uint32_t(lpn), uint64_t(sequence), {}};
  const otx_nand_times &t = page_drive().times;
  looked |= op == read || op == read_oob || op == verify || op == program || op == erase || op == read_mark;
  switch (op) {
    case reset: return clocks(t.t_rst);
    case param: case read: case read_oob: case verify: case read_mark: return clocks(t.t_r);
    case set_features: case get_features: return clocks(1'000);
    case program: u.page.assign(page_drive().store.row_bytes(), 0xFF); return 0;
    case erase: page_die(die).page_begins(Jobs::What::Erase, u.row / page_drive().store.geometry().pages * page_drive().store.geometry().pages, {}); return clocks(t.t_bers);
    default: return 4;
  }
}

void otx_page_put(int die, int beat, long long data) { put(under[size_t(die)].page.data() + 8 * beat, 8, uint64_t(data)); }

// The page of a PROGRAM is there: the clocks until its end.
int otx_page_array(int die) {
  Under &u = under[size_t(die)];
  uint8_t *page = u.page.data(), *spare = page + data_bytes;
  spare[1] = u.kind;
  put(spare + 2, 4, u.generation), put(spare + 6, 4, u.lpn), put(spare + 10, 6, u.sequence);
  put(spare + 16, 4, page_sum(page)), put(spare + 24, 4, last_sum(page));
  page_die(die).page_begins(Jobs::What::Program, u.row, u.page);
  return clocks(page_drive().times.t_prog);
}

// The end of an operation: its status.
int otx_page_end(int die) {
  Under &u = under[size_t(die)];
  Die &d = page_die(die);
  switch (u.op) {
    case reset: features[size_t(die)] = 0; return ok;
    case read_id: u.sequence = u.kind == 0x20 ? (page_drive().part.onfi ? 0x49464E4F : 0) : get(page_drive().id, 5); return ok;
    case param:
      u.page = onfi_parameter_page(page_drive(), uint32_t(die));
      u.page.resize(data_bytes, 0);
      return ok;
    case read: case read_oob: case verify: {
      d.page_read(u.row, u.page);
      take_fields(u);
      return judge(u);
    }
    case program: case erase: return d.page_ends() ? fail : ok;
    case status: u.kind = 0xE0; return ok;
    case read_mark:
      d.page_read(u.row, u.page);
      u.kind = u.page[data_bytes];
      return ok;
    case set_features: features[size_t(die)] = u.lpn; return ok;
    case get_features: u.lpn = features[size_t(die)]; return ok;
    default: return ok;
  }
}

// Of the completion: kind, generation, lpn, sequence 31:0, sequence 47:32.
int otx_page_field(int die, int number) {
  const Under &u = under[size_t(die)];
  const uint64_t values[5] = {u.kind, u.generation, u.lpn, u.sequence & 0xFFFFFFFF, u.sequence >> 32};
  return int(values[number]);
}

long long otx_page_get(int die, int beat) {
  const Under &u = under[size_t(die)];
  return beat < 512 && u.page.size() >= size_t(8 * beat + 8) ? (long long)get(u.page.data() + 8 * beat, 8) : 0;
}
}
