// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace otx {

int64_t stamp_of(const uint8_t *block) {
  uint64_t stamp;
  memcpy(&stamp, block, 8);
  return memcmp(block, block + 8, OTX_BLOCK - 8) || stamp >> 62 ? -1 : int64_t(stamp);
}

void fill_block(uint8_t *block, uint64_t stamp) {
  for (int i = 0; i < OTX_BLOCK; i += 8) memcpy(block + i, &stamp, 8);
}

const char *op_name(uint8_t opcode) {
  switch (opcode) {
    case 0x00: return "FLUSH";
    case 0x01: return "WRITE";
    case 0x02: return "READ";
    case 0x08: return "WRITE_ZEROES";
    case 0x09: return "TRIM";
    case 0x80: return "BEGIN";
    case 0x84: return "COMMIT";
    case 0x88: return "ABORT";
    case 0x94: return "RECOVER";
    default: return "QUERY";
  }
}

const char *status_name(uint8_t status) {
  static const char *const names[] = {"SUCCESS", "INVALID_OPCODE", "INVALID_FIELD", "LBA_RANGE", "TX_INVALID", "TX_BUSY", "TX_FULL", "TX_CONFLICT", "MEDIA_ERROR", "WRITE_FAULT", "CAPACITY", "READ_ONLY", "ABORTED", "NOT_READY"};
  return status < sizeof names / sizeof names[0] ? names[status] : "NONE";
}

const char *Recorder::name(uint32_t number) {
  static const char *const names[] = {
    "commands", "of 1 block", "of 2 to 8 blocks", "of 9 to 31 blocks", "of 32 blocks", "with all 32 tags busy", "plain WRITE", "WRITE FUA", "WRITE in a transaction", "TRIM", "WRITE ZEROES", "TRIM or WRITE ZEROES in a transaction",
    "BEGIN", "implied open", "COMMIT", "COMMIT RELAXED", "WRITE COMMIT", "ABORT", "FLUSH", "RECOVER", "QUERY", "READ", "READ with txid", "READ of 32 blocks", "bad input", "refused",
    "commit of TRIMs alone", "commit of TRIMs and WRITEs", "commit beside an overlapping open one", "commit of nothing", "32 txids open at once", "CAPACITY", "TX_FULL", "TX_BUSY", "TX_INVALID", "MEDIA_ERROR", "READ_ONLY", "torn block read",
    "transaction with a longer list than a recovery keeps"};
  static_assert(sizeof names / sizeof names[0] == kinds);
  return number < kinds ? names[number] : nullptr;
}

void Recorder::add(const char *format, ...) {
  char text[300];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  lines_ += text;
}

void Recorder::head(uint32_t lbas, const char *fields) {
  add("{\"history\":1,\"lbas\":%u", lbas);
  if (*fields) lines_ += ',', lines_ += fields;
  lines_ += "}\n";
}

void Recorder::submit(uint64_t id, const otx_cmd &cmd, uint64_t stamp) {
  const bool ranged = cmd.opcode == 0x01 || cmd.opcode == 0x02 || cmd.opcode == 0x08 || cmd.opcode == 0x09;
  add("{\"e\":\"submit\",\"id\":%llu,\"op\":\"%s\"", (unsigned long long)id, op_name(cmd.opcode));
  if (ranged) add(",\"lba\":%u,\"n\":%u", cmd.lba, cmd.count);
  if (cmd.has_tx) add(",\"tx\":%u", cmd.txid);
  if (cmd.fua) add(",\"fua\":1");
  if (cmd.commit) add(",\"commit\":1");
  if (cmd.relaxed) add(",\"relaxed\":1");
  if (cmd.arg) add(",\"arg\":%u", cmd.arg);
  if (cmd.opcode == 0x01) {
    for (uint32_t i = 0; i < cmd.count; i++) add("%s%llu", i ? "," : ",\"data\":[", (unsigned long long)(stamp + i));
    add(cmd.count ? "]" : ",\"data\":[]");
  }
  add(",\"t\":%llu}\n", (unsigned long long)otx_clock());
}

void Recorder::done(uint64_t id, const otx_cmd &cmd, const otx_cpl &cpl, const uint8_t *data) {
  add("{\"e\":\"done\",\"id\":%llu,\"status\":\"%s\"", (unsigned long long)id, status_name(cpl.status));
  if (cmd.opcode == 0x98) add(",\"result\":%u", cpl.result);
  const bool shows = cmd.opcode == 0x02 && cmd.count <= OTX_MAX_BLOCKS && (cpl.status == 0 || cpl.status == 8);
  for (uint32_t i = 0; shows && i < cmd.count; i++) {
    lines_ += i ? "," : ",\"data\":[";
    if (!(cpl.blocks >> i & 1)) {
      lines_ += "null";
      continue;
    }
    const int64_t stamp = stamp_of(data + size_t(OTX_BLOCK) * i);
    see(torn_blocks, stamp < 0);
    add("%lld", (long long)stamp);
  }
  add("%s,\"t\":%llu}\n", shows && cmd.count ? "]" : "", (unsigned long long)cpl.clock);
}

void Recorder::event(const char *kind, const char *fields) {
  add("{\"e\":\"%s\"", kind);
  if (*fields) lines_ += ',', lines_ += fields;
  lines_ += "}\n";
}

const char *Recorder::take(size_t *length) {
  taken_.swap(lines_);
  lines_.clear();
  *length = taken_.size();
  return taken_.c_str();
}

}  // namespace otx
