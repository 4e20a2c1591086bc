// SPDX-License-Identifier: Apache-2.0
// Implements traffic.h. A mood (how many commands are under way, which kinds, which txids, how long) lasts some
// commands; a flavour says which moods come.
#include "traffic.h"

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <map>

#include "../nand_hash.h"
#include "../nand_model.h"
#include "otx_geometry.h"
#include "recorder.h"

namespace otx {
namespace {

enum Kind {
    write,
    fua,
    trim,
    zeroes,
    tx_write,
    tx_trim,
    begin,
    commit,
    write_commit,
    relaxed,
    write_relaxed,
    abort_tx,
    flush,
    read,
    tx_read,
    recover,
    query,
    wrong,
    prepare,
    barrier,
    kinds
};
enum { all, transactions, lazy, plain, many_trims, long_writes, rewriting, opening, moods };

using Mix = uint8_t[kinds];
constexpr Mix mixes[moods] = {
    // write fua trim zero txw txt beg com wcom rel wrel abo flu read txr rec qry wrong pre bar
    {10, 5, 6, 5, 14, 6, 4, 14, 6, 8, 4, 10, 4, 8, 5, 1, 1, 2, 5, 3},   // all
    {2, 1, 1, 2, 24, 8, 6, 26, 8, 6, 3, 14, 2, 6, 8, 1, 1, 1, 8, 2},    // transactions
    {2, 1, 1, 2, 20, 5, 4, 6, 2, 28, 10, 5, 1, 6, 4, 0, 0, 0, 3, 4},    // lazy: RELAXED commits
    {18, 16, 10, 10, 3, 1, 1, 4, 1, 2, 1, 2, 12, 8, 1, 0, 0, 0, 1, 8},  // plain
    {1, 0, 60, 10, 1, 8, 0, 2, 0, 2, 0, 1, 0, 2, 0, 0, 0, 0, 0, 1},     // many_trims
    {60, 4, 2, 2, 10, 0, 0, 3, 3, 3, 0, 1, 1, 6, 0, 0, 0, 0, 1, 4},     // long_writes
    {2, 0, 0, 0, 60, 30, 1, 2, 1, 1, 0, 1, 1, 2, 4, 0, 0, 0, 0, 0},     // rewriting: one transaction, the same blocks
    // opening: every txid in turn, twice, and none is ended
    {0, 0, 0, 0, 8, 20, 30, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0},
};
// Of 16: which mood is the next one.
constexpr uint8_t next_moods[OTX_FLAVOURS][16] = {
    {0, 0, 0, 0, 7, 1, 1, 1, 2, 2, 3, 3, 3, 4, 5, 6}, {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 4, 5, 5},
    {1, 1, 1, 1, 1, 1, 1, 1, 7, 7, 7, 0, 6, 6, 2, 2}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 1, 1, 3, 6},
    {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 1, 2, 3}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0, 1, 3, 2},
    {6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 1, 1, 0, 2},
};
constexpr uint32_t depths[] = {1, 3, 6, 12, 24, 32, OTX_COMMANDS};
constexpr uint64_t longest_pause = 4'000;
constexpr uint32_t streams = 3;

struct Busy {
    bool used = false, promise = false, ends = false;
    uint64_t id = 0;
    otx_cmd cmd{};
};

struct Tx {
    bool open = false;
    uint32_t entries = 0;
    std::map<uint32_t, bool> blocks;  // lba: whether it is a TRIM
};

class Traffic {
  public:
    void start(uint64_t seed, uint32_t flavour, uint32_t first, uint32_t blocks, const char *fields) {
        if (!begun_) recorder.head(otx_lbas(), fields);
        begun_ = true;
        draws_ = Draws(seed, {flavour, first, blocks});
        flavour_ = flavour, first_ = first, blocks_ = std::min(blocks, otx_lbas() - first);
        forget();
        left_ = 0, pause_until_ = 0;
    }

    int run(uint64_t clocks, int until, uint32_t arg) {
        const uint64_t end = otx_clock() + clocks, sent = sent_, kept = kept_, walks = walks_;
        const std::vector<int> before = until == OTX_UNTIL_CHANGE ? under_way() : std::vector<int>{};
        for (;;) {
            fill();
            const bool there = (until == OTX_UNTIL_SENT && sent_ > sent) || (until == OTX_UNTIL_KEPT && kept_ > kept) ||
                               (until == OTX_UNTIL_WALK && walks_ > walks) || (until == OTX_UNTIL_TORN && torn(arg)) ||
                               (until == OTX_UNTIL_CHANGE && under_way() != before);
            if (there) return 1;
            if (otx_clock() >= end) return 0;
            if (stuck()) return -1;
            uint64_t most = end - otx_clock();
            if (!busy_ && pause_until_ > otx_clock()) most = std::min(most, pause_until_ - otx_clock());
            if (until == OTX_UNTIL_TORN) most = std::min<uint64_t>(most, 4);
            if (until == OTX_UNTIL_CHANGE) most = std::min<uint64_t>(most, 1);
            otx_step(std::min<uint64_t>(most, OTX_TRAFFIC_STUCK));
            collect();
        }
    }

    int finish(uint32_t commands) {
        while (commands && !stuck()) {
            while (commands && busy_ < OTX_COMMANDS) {
                if (!left_) new_mood();
                pause_until_ = 0;
                const uint64_t before = id_;
                one();
                commands -= id_ != before;
            }
            otx_step(OTX_TRAFFIC_STUCK), collect();
        }
        return drain();
    }

    int drain() {
        last_ = otx_clock();
        while (busy_ && !stuck()) otx_step(OTX_TRAFFIC_STUCK), collect();
        return busy_ ? -1 : 0;
    }

    int read_back(uint32_t first, uint32_t n, uint32_t times) {
        const uint32_t end = std::min(first + n, otx_lbas());
        for (uint32_t again = 0; again < times; again++) {
            for (uint32_t lba = first; lba < end; lba += OTX_MAX_BLOCKS) {
                while (busy_ == OTX_COMMANDS && !stuck()) otx_step(OTX_TRAFFIC_STUCK), collect();
                if (busy_ == OTX_COMMANDS) return -1;
                otx_cmd cmd = command(OTX_OP_READ, lba, std::min<uint32_t>(OTX_MAX_BLOCKS, end - lba));
                submit(cmd);
            }
        }
        return drain();
    }

    int64_t ask(uint32_t what, int txid) {
        otx_cmd cmd = command(OTX_OP_QUERY, 0, 0);
        cmd.arg = what;
        if (txid >= 0) cmd.has_tx = 1, cmd.txid = uint8_t(txid);
        submit(cmd);
        return drain() || last_status_ ? -1 : int64_t(last_result_);
    }

    // All that was under way is gone.
    void forget() {
        for (Busy &b : tags_) b.used = false;
        for (Tx &t : txs_) t = Tx{};
        busy_ = 0;
        last_ = otx_clock();
    }

    Recorder recorder;

  private:
    bool stuck() const { return busy_ && otx_clock() - last_ >= OTX_TRAFFIC_STUCK; }

    uint32_t below(uint32_t n) { return uint32_t(draws_.below(n)); }

    static otx_cmd command(uint8_t opcode, uint32_t lba, uint32_t count) {
        otx_cmd cmd{};
        cmd.opcode = opcode, cmd.lba = lba, cmd.count = uint16_t(count);
        return cmd;
    }

    void new_mood() {
        mood_ = next_moods[flavour_][below(16)];
        left_ = mood_ == opening ? 2 * OTX_TXIDS + below(8)
                                 : 5 + below(mood_ == many_trims || mood_ == rewriting ? 120 : 28);
        depth_ = depths[below(sizeof depths / sizeof depths[0])];
        if (mood_ == opening) depth_ = OTX_COMMANDS;
        txids_ = below(3) == 0 ? uint32_t(OTX_TXIDS) : 1 + below(5);
        txid_base_ = mood_ == rewriting && below(2) ? txid_base_ : below(OTX_TXIDS);
        if (mood_ == rewriting) txids_ = 1;
        spread_ = below(3) ? blocks_ : 1 + below(std::min<uint32_t>(blocks_, 8));
        place_ = below(blocks_ - spread_ + 1);
        barriers_ = below(2) ? 0 : 1 + below(6);
        orderless_ = below(4);
        if (below(6) == 0) pause_until_ = otx_clock() + 1 + below(longest_pause);
    }

    void fill() {
        while (busy_ < (left_ ? depth_ : uint32_t(OTX_COMMANDS))) {
            if (!left_) {
                new_mood();
                continue;
            }
            // nothing new until all is answered and the pause is over
            if (pause_until_ > otx_clock() || (busy_ && pause_until_)) return;
            pause_until_ = 0;
            one();
        }
    }

    uint32_t count() {
        if (mood_ == opening) return 1;
        if (mood_ == long_writes || mood_ == many_trims)
            return below(2) ? uint32_t(OTX_MAX_BLOCKS) : 1 + below(OTX_MAX_BLOCKS);
        const uint32_t r = below(100);
        return r < 62   ? 1
               : r < 80 ? 2 + below(3)
               : r < 90 ? 5 + below(4)
               : r < 96 ? 9 + below(23)
                        : uint32_t(OTX_MAX_BLOCKS);
    }

    void one() {
        uint32_t sum = 0;
        for (uint8_t w : mixes[mood_]) sum += w;
        uint32_t at = below(sum), kind = 0;
        while (at >= mixes[mood_][kind]) at -= mixes[mood_][kind++];
        left_--;
        uint32_t n = count();
        if (n > spread_) n = n < blocks_ && below(2) ? n : spread_;
        n = std::min(n, blocks_);
        const uint32_t from = n > spread_ ? 0 : place_, width = n > spread_ ? blocks_ : spread_;
        const uint32_t lba = first_ + from + below(width - n + 1);
        const uint8_t txid = uint8_t((txid_base_ + (mood_ == opening ? left_ : below(txids_))) % OTX_TXIDS);
        otx_cmd cmd{};
        switch (kind) {
            case write:
            case fua: cmd = command(OTX_OP_WRITE, lba, n), cmd.fua = kind == fua; break;
            case trim: cmd = command(OTX_OP_TRIM, lba, n); break;
            case zeroes: cmd = command(OTX_OP_WRITE_ZEROES, lba, n); break;
            case tx_write: cmd = command(OTX_OP_WRITE, lba, n), cmd.has_tx = 1; break;
            case tx_trim: cmd = command(below(4) ? OTX_OP_TRIM : OTX_OP_WRITE_ZEROES, lba, n), cmd.has_tx = 1; break;
            case begin: cmd = command(OTX_OP_BEGIN, 0, 0), cmd.has_tx = 1; break;
            case commit:
            case relaxed: cmd = command(OTX_OP_COMMIT, 0, 0), cmd.has_tx = 1, cmd.relaxed = kind == relaxed; break;
            case write_commit:
            case write_relaxed:
                cmd = command(OTX_OP_WRITE, lba, n), cmd.has_tx = cmd.commit = 1, cmd.relaxed = kind == write_relaxed;
                break;
            case abort_tx: cmd = command(OTX_OP_ABORT, 0, 0), cmd.has_tx = 1; break;
            case flush:
                cmd = command(OTX_OP_FLUSH, 0, 0);
                if (below(2)) of_a_part(cmd, lba, n);
                break;
            case read: cmd = command(OTX_OP_READ, lba, n); break;
            case tx_read: cmd = command(OTX_OP_READ, lba, n), cmd.has_tx = 1; break;
            case recover: cmd = command(OTX_OP_RECOVER, 0, 0); break;
            case prepare: cmd = command(OTX_OP_PREPARE, 0, 0), cmd.has_tx = 1; break;
            case barrier: cmd = command(OTX_OP_BARRIER, 0, 0); break;
            case query: cmd = command(OTX_OP_QUERY, 0, 0), cmd.arg = below(2), cmd.has_tx = !cmd.arg; break;
            default: return submit_wrong(lba, n, txid);
        }
        if (cmd.has_tx) cmd.txid = txid;
        // a prepared transaction, which may be one of before a cut, takes no writes: most of what comes to it ends it
        if (cmd.has_tx && perhaps_[txid] && cmd.opcode != OTX_OP_READ && cmd.opcode != OTX_OP_QUERY && below(3)) {
            cmd = command(below(3) ? OTX_OP_COMMIT : OTX_OP_ABORT, 0, 0);
            cmd.has_tx = 1, cmd.txid = txid, cmd.relaxed = cmd.opcode == OTX_OP_COMMIT && !below(3);
        }
        const bool writes =
            cmd.opcode == OTX_OP_WRITE || cmd.opcode == OTX_OP_TRIM || cmd.opcode == OTX_OP_WRITE_ZEROES;
        if (writes || cmd.opcode == OTX_OP_COMMIT) cmd.barrier = barriers_ && !below(barriers_);
        if (writes && !cmd.has_tx) cmd.orderless = orderless_ > below(6);
        const bool closes = cmd.opcode == OTX_OP_COMMIT || cmd.opcode == OTX_OP_ABORT || cmd.opcode == OTX_OP_PREPARE;
        // most ends are those of an open one
        if (closes && !txs_[txid].open && !perhaps_[txid] && below(16)) return;
        submit(cmd);
    }

    // An RFLUSH instead of a FLUSH: of blocks or of a stream.
    void of_a_part(otx_cmd &cmd, uint32_t lba, uint32_t n) {
        cmd.opcode = OTX_OP_RFLUSH, cmd.arg = below(2);
        if (cmd.arg) cmd.stream = uint16_t(below(streams + 1));
        else cmd.lba = lba, cmd.count = uint16_t(below(4) ? n : otx_lbas() - lba < 65535 ? otx_lbas() - lba : 65535);
    }

    // Bad input: changes nothing and gets its own status.
    void submit_wrong(uint32_t lba, uint32_t n, uint8_t txid) {
        otx_cmd cmd = command(below(2) ? OTX_OP_READ : OTX_OP_TRIM, lba, n);
        switch (below(4)) {
            case 0: cmd.count = 0; break;
            case 1: cmd.lba = otx_lbas() - n + 1 + below(3); break;
            case 2: cmd.has_tx = 1, cmd.txid = uint8_t(OTX_TXIDS + below(256 - OTX_TXIDS)); break;
            default: cmd = command(OTX_OP_BEGIN, 0, 0), cmd.has_tx = 1, cmd.txid = txid; break;
        }
        recorder.see(Recorder::bad_input);
        submit(cmd);
    }

    void submit(otx_cmd cmd) {
        uint32_t tag = 0;
        while (tags_[tag].used) tag++;
        cmd.tag = uint8_t(tag);
        if (cmd.opcode == OTX_OP_WRITE) cmd.stream = uint16_t(cmd.lba % streams);
        cmd.priority = (uint32_t(id_) * 2654435761u) >> 30;  // any class: what is judged does not depend on it
        std::vector<uint8_t> &data = data_[tag];
        data.resize(size_t(OTX_BLOCK) * std::clamp<uint32_t>(cmd.count, 1, OTX_MAX_BLOCKS));
        const uint64_t stamp = stamp_ + 1;
        if (cmd.opcode == OTX_OP_WRITE) {
            for (uint32_t i = 0; i < cmd.count; i++) fill_block(&data[size_t(OTX_BLOCK) * i], stamp + i);
            stamp_ += cmd.count;
        }
        Busy &b = tags_[tag];
        b = {true,
             cmd.opcode == OTX_OP_FLUSH || cmd.opcode == OTX_OP_RFLUSH || cmd.opcode == OTX_OP_PREPARE || cmd.fua ||
                 ((cmd.opcode == OTX_OP_COMMIT || cmd.commit) && !cmd.relaxed),
             false, ++id_, cmd};
        b.ends = note(cmd);
        busy_++;
        sent_ += b.promise;
        recorder.submit(b.id, cmd, stamp);
        if (busy_ == 1) last_ = otx_clock();
        otx_submit(&cmd, data.data());
    }

    // What is submitted, for the counts; whether it ends a transaction with entries.
    bool note(const otx_cmd &cmd) {
        Recorder &r = recorder;
        const bool ranged = cmd.count != 0, trims = cmd.opcode == OTX_OP_TRIM || cmd.opcode == OTX_OP_WRITE_ZEROES;
        const bool ends =
            (cmd.opcode == OTX_OP_COMMIT || cmd.opcode == OTX_OP_ABORT || cmd.commit) && cmd.txid < OTX_TXIDS;
        r.see(Recorder::commands);
        r.see(Recorder::of_1, cmd.count == 1), r.see(Recorder::of_2_to_8, cmd.count >= 2 && cmd.count <= 8),
            r.see(Recorder::of_9_to_31, cmd.count >= 9 && cmd.count <= 31), r.see(Recorder::of_32, cmd.count == 32);
        r.see(Recorder::all_tags, busy_ == OTX_COMMANDS - 1);
        r.see(Recorder::plain_writes, cmd.opcode == OTX_OP_WRITE && !cmd.has_tx), r.see(Recorder::fua_writes, cmd.fua),
            r.see(Recorder::tx_writes, cmd.opcode == OTX_OP_WRITE && cmd.has_tx);
        r.see(Recorder::trims, cmd.opcode == OTX_OP_TRIM && !cmd.has_tx),
            r.see(Recorder::zeroes, cmd.opcode == OTX_OP_WRITE_ZEROES && !cmd.has_tx),
            r.see(Recorder::tx_trims, trims && cmd.has_tx);
        r.see(Recorder::begins, cmd.opcode == OTX_OP_BEGIN), r.see(Recorder::aborts, cmd.opcode == OTX_OP_ABORT),
            r.see(Recorder::flushes, cmd.opcode == OTX_OP_FLUSH),
            r.see(Recorder::rflushes, cmd.opcode == OTX_OP_RFLUSH);
        r.see(Recorder::recovers, cmd.opcode == OTX_OP_RECOVER), r.see(Recorder::queries, cmd.opcode == OTX_OP_QUERY);
        r.see(Recorder::prepares, cmd.opcode == OTX_OP_PREPARE);
        r.see(Recorder::barriers, cmd.opcode == OTX_OP_BARRIER), r.see(Recorder::barrier_flags, cmd.barrier),
            r.see(Recorder::orderless, cmd.orderless);
        r.see(Recorder::commits, cmd.opcode == OTX_OP_COMMIT && !cmd.relaxed),
            r.see(Recorder::relaxed_commits, cmd.relaxed), r.see(Recorder::write_commits, cmd.commit);
        r.see(Recorder::reads, cmd.opcode == OTX_OP_READ),
            r.see(Recorder::tx_reads, cmd.opcode == OTX_OP_READ && cmd.has_tx),
            r.see(Recorder::reads_of_32, cmd.opcode == OTX_OP_READ && cmd.count == 32);
        if (cmd.opcode == OTX_OP_RECOVER)
            for (Tx &t : txs_) t = Tx{};
        if (!cmd.has_tx || cmd.txid >= OTX_TXIDS) return false;
        Tx &t = txs_[cmd.txid];
        if (cmd.opcode == OTX_OP_PREPARE) perhaps_[cmd.txid] = true;
        if (cmd.opcode == OTX_OP_BEGIN || (ranged && (cmd.opcode == OTX_OP_WRITE || trims))) {
            r.see(Recorder::implied_opens, !t.open && cmd.opcode != OTX_OP_BEGIN);
            t.open = true;
            for (uint32_t i = 0; i < cmd.count; i++) t.blocks[cmd.lba + i] = trims;
            r.see(Recorder::long_lists, t.entries <= OTX_TX_SLOTS && t.entries + cmd.count > OTX_TX_SLOTS);
            t.entries += cmd.count;
            const auto open = [](const Tx &x) { return x.open; };
            r.see(Recorder::all_txids, std::all_of(txs_, txs_ + OTX_TXIDS, open));
        }
        if (!ends) return false;
        const bool any = !t.blocks.empty(),
                   some_trims = std::any_of(t.blocks.begin(), t.blocks.end(), [](auto &b) { return b.second; }),
                   only = some_trims && std::all_of(t.blocks.begin(), t.blocks.end(), [](auto &b) { return b.second; });
        if (cmd.opcode != OTX_OP_ABORT) {
            r.see(Recorder::empty_commits, !any), r.see(Recorder::trim_only_commits, only),
                r.see(Recorder::mixed_commits, some_trims && !only);
            bool beside = false;
            for (const Tx &x : txs_)
                if (&x != &t && x.open && !beside)
                    beside =
                        std::any_of(x.blocks.begin(), x.blocks.end(), [&](auto &b) { return t.blocks.count(b.first); });
            r.see(Recorder::overlapping_commits, beside);
        }
        t = Tx{};
        return any;
    }

    void collect() {
        otx_cpl cpl;
        while (otx_poll(&cpl)) {
            Busy &b = tags_[cpl.tag];
            recorder.done(b.id, b.cmd, cpl, data_[cpl.tag].data());
            recorder.see(Recorder::refused, cpl.status),
                recorder.see(Recorder::capacity, cpl.status == OTX_STATUS_CAPACITY),
                recorder.see(Recorder::tx_full, cpl.status == OTX_STATUS_TX_FULL),
                recorder.see(Recorder::tx_busy, cpl.status == OTX_STATUS_TX_BUSY);
            recorder.see(Recorder::tx_invalid, cpl.status == OTX_STATUS_TX_INVALID),
                recorder.see(Recorder::media_errors, cpl.status == OTX_STATUS_MEDIA_ERROR),
                recorder.see(Recorder::read_only, cpl.status == OTX_STATUS_READ_ONLY);
            const bool ended = b.cmd.opcode == OTX_OP_COMMIT || b.cmd.opcode == OTX_OP_ABORT;
            const bool over = !cpl.status || cpl.status == OTX_STATUS_TX_INVALID;
            if (ended && over && b.cmd.txid < OTX_TXIDS) perhaps_[b.cmd.txid] = false;
            kept_ += b.promise && !cpl.status, walks_ += b.ends && !cpl.status;
            last_status_ = cpl.status, last_result_ = cpl.result;
            b.used = false;
            busy_--;
            last_ = otx_clock();
        }
    }

    // What each die programs or erases.
    static std::vector<int> under_way() {
        std::vector<int> dies;
        for (uint32_t die = 0; otx_nand_under_way(die) >= 0; die++) dies.push_back(otx_nand_under_way(die));
        return dies;
    }

    static bool torn(uint32_t arg) {
        uint32_t dies = 0;
        for (int what : under_way()) dies += what && arg >> (what == 256 ? 15 : what) & 1;
        return dies >= std::max(1u, arg >> 16);
    }

  public:
    static int boot(uint64_t clocks, uint32_t arg, uint32_t times) {
        const uint64_t end = otx_clock() + clocks;
        if (arg == OTX_BOOT_CHANGE) {
            for (std::vector<int> before = under_way(); otx_clock() < end;) {
                if (under_way() != before) {
                    if (!--times) return 1;
                    before = under_way();
                }
                if (!otx_boot(1)) return 0;
            }
            return -1;
        }
        for (bool before = false; otx_clock() < end;) {
            if (arg) {
                const bool now = torn(arg);
                if (now && !before && !--times) return 1;
                before = now;
            }
            if (!otx_boot(std::min<uint64_t>(end - otx_clock(), arg ? 16 : UINT64_MAX))) return 0;
        }
        return -1;
    }

  private:
    bool begun_ = false;
    Draws draws_{0, {}};
    uint32_t flavour_ = 0, first_ = 0, blocks_ = 1;
    uint32_t mood_ = 0, left_ = 0, depth_ = 1, txids_ = 1, txid_base_ = 0, spread_ = 1, place_ = 0;
    uint32_t barriers_ = 0, orderless_ = 0;  // of so many commands one has the flag; of six writes so many
    uint64_t pause_until_ = 0, stamp_ = 0, id_ = 0, sent_ = 0, kept_ = 0, walks_ = 0, last_ = 0;
    uint32_t busy_ = 0, last_status_ = 0, last_result_ = 0;
    Busy tags_[OTX_COMMANDS];
    Tx txs_[OTX_TXIDS];
    std::bitset<OTX_TXIDS> perhaps_;  // its PREPARE was sent, and no end of it was answered
    std::vector<uint8_t> data_[OTX_COMMANDS];
};

Traffic traffic;

}  // namespace
}  // namespace otx

using otx::traffic;

extern "C" {

void otx_traffic_begin(uint64_t seed, uint32_t flavour, uint32_t first, uint32_t blocks, const char *fields) {
    traffic.start(seed, flavour % OTX_FLAVOURS, first, blocks, fields);
}
int otx_traffic_run(uint64_t clocks, int until, uint32_t arg) { return traffic.run(clocks, until, arg); }
int otx_traffic_finish(uint32_t commands) { return traffic.finish(commands); }
int otx_traffic_read(uint32_t first, uint32_t n, uint32_t times) { return traffic.read_back(first, n, times); }
int64_t otx_traffic_query(uint32_t what, int txid) { return traffic.ask(what, txid); }

void otx_traffic_cut(uint64_t seed, int in_recovery, int64_t energy) {
    char fields[80];
    snprintf(fields, sizeof fields, "\"t\":%llu%s%s", (unsigned long long)otx_clock(),
             in_recovery ? ",\"in\":\"recovery\"" : "", energy < 0 ? "" : ",\"plp\":true");
    traffic.recorder.event("cut", fields);
    if (energy >= 0) otx_power_fail(uint64_t(energy));
    otx_power_cut(seed);
    otx_power_on();
    traffic.forget();
}

void otx_traffic_off(uint64_t seed) {
    traffic.recorder.event("off", "");
    otx_power_cut(seed);
    otx_power_on();
    traffic.forget();
}

void otx_traffic_up(const char *fields) {
    traffic.recorder.event("up", fields);
    traffic.forget();
}

int otx_traffic_boot(uint64_t clocks, uint32_t arg, uint32_t times) { return traffic.boot(clocks, arg, times); }
const char *otx_traffic_take(size_t *length) { return traffic.recorder.take(length); }
const char *otx_traffic_counter_name(uint32_t number) { return otx::Recorder::name(number); }
uint64_t otx_traffic_counter(uint32_t number) { return traffic.recorder.count(number); }
}
