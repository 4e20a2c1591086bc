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
#define OTX_NAME(name, number, words) \
    case number: return #name;
        OTX_OPCODES(OTX_NAME)
#undef OTX_NAME
        default: return "QUERY";
    }
}

const char *status_name(uint8_t status) {
    switch (status) {
#define OTX_NAME(name, number, words, error) \
    case number: return #name;
        OTX_STATUSES(OTX_NAME)
#undef OTX_NAME
        default: return "NONE";
    }
}

const char *Recorder::name(uint32_t number) {
    static const char *const names[] = {"commands",
                                        "of 1 block",
                                        "of 2 to 8 blocks",
                                        "of 9 to 31 blocks",
                                        "of 32 blocks",
                                        "with all 32 tags busy",
                                        "plain WRITE",
                                        "WRITE FUA",
                                        "WRITE in a transaction",
                                        "TRIM",
                                        "WRITE ZEROES",
                                        "TRIM or WRITE ZEROES in a transaction",
                                        "BEGIN",
                                        "implied open",
                                        "COMMIT",
                                        "COMMIT RELAXED",
                                        "WRITE COMMIT",
                                        "ABORT",
                                        "FLUSH",
                                        "RECOVER",
                                        "QUERY",
                                        "READ",
                                        "READ with txid",
                                        "READ of 32 blocks",
                                        "bad input",
                                        "refused",
                                        "commit of TRIMs alone",
                                        "commit of TRIMs and WRITEs",
                                        "commit beside an overlapping open one",
                                        "commit of nothing",
                                        "32 txids open at once",
                                        "CAPACITY",
                                        "TX_FULL",
                                        "TX_BUSY",
                                        "TX_INVALID",
                                        "MEDIA_ERROR",
                                        "READ_ONLY",
                                        "torn block read",
                                        "transaction with a longer list than a recovery keeps",
                                        "PREPARE",
                                        "BARRIER",
                                        "barrier flag",
                                        "orderless write",
                                        "RFLUSH"};
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
    const bool ranged = cmd.opcode == OTX_OP_WRITE || cmd.opcode == OTX_OP_READ || cmd.opcode == OTX_OP_WRITE_ZEROES ||
                        cmd.opcode == OTX_OP_TRIM || cmd.opcode == OTX_OP_RFLUSH;
    add("{\"e\":\"submit\",\"id\":%llu,\"op\":\"%s\"", (unsigned long long)id, op_name(cmd.opcode));
    if (ranged) add(",\"lba\":%u,\"n\":%u", cmd.lba, cmd.count);
    if (cmd.has_tx) add(",\"tx\":%u", cmd.txid);
    if (cmd.fua) add(",\"fua\":1");
    if (cmd.commit) add(",\"commit\":1");
    if (cmd.relaxed) add(",\"relaxed\":1");
    if (cmd.barrier) add(",\"barrier\":1");
    if (cmd.orderless) add(",\"orderless\":1");
    if (cmd.arg) add(",\"arg\":%u", cmd.arg);
    if (cmd.priority) add(",\"priority\":%u", cmd.priority);
    if (cmd.stream) add(",\"stream\":%u", cmd.stream);
    if (cmd.opcode == OTX_OP_WRITE) {
        for (uint32_t i = 0; i < cmd.count; i++)
            add("%s%llu", i ? "," : ",\"data\":[", (unsigned long long)(stamp + i));
        add(cmd.count ? "]" : ",\"data\":[]");
    }
    add(",\"t\":%llu}\n", (unsigned long long)otx_clock());
}

void Recorder::done(uint64_t id, const otx_cmd &cmd, const otx_cpl &cpl, const uint8_t *data) {
    add("{\"e\":\"done\",\"id\":%llu,\"status\":\"%s\"", (unsigned long long)id, status_name(cpl.status));
    if (cmd.opcode == OTX_OP_QUERY) add(",\"result\":%u", cpl.result);
    const bool shows = cmd.opcode == OTX_OP_READ && cmd.count <= OTX_MAX_BLOCKS &&
                       (cpl.status == OTX_STATUS_SUCCESS || cpl.status == OTX_STATUS_MEDIA_ERROR);
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
