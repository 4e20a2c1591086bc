// SPDX-License-Identifier: Apache-2.0
// Implements otx_sim.h: one Verilated otx_sim_top, its host port's streams and its clock. See there for the contract.
//
// A clock is: inputs, evaluate with clk low, look at the streams, evaluate with clk high. Beats that pass at an edge
// are decided before it, from valid and ready.
#include "otx_sim.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "Votx_sim_top.h"
#include "nand_model.h"
#include "otx_geometry.h"
#include "verilated.h"
#ifdef OTX_TRACE
#include "verilated_fst_c.h"
#endif
#ifdef OTX_SNAPSHOT
#include <sys/mman.h>
#include <unistd.h>

#include "nand_drive.h"
#include "verilated_save.h"
#endif

extern "C" {
void otx_mem_close_all();
void otx_mem_keep();
void otx_mem_restore();
void otx_cpu_keep();
void otx_cpu_restore();
bool otx_page_looked();
void otx_page_forget();
void otx_page_keep();
void otx_page_restore();
}

namespace {

constexpr int beats = OTX_BLOCK / 8;
constexpr int reset_clocks = 8;

struct Slot {  // of a tag
    bool used = false;
    uint8_t *data = nullptr;
    uint32_t blocks = 0;
    uint32_t beats = UINT32_MAX;  // of a WRITE, that still come
    bool late = false;            // those that are missing come after its completion
};

bool is_tag(unsigned tag) { return tag < OTX_COMMANDS; }

struct Request {  // of a block of a WRITE
    uint8_t tag, block;
    uint16_t number;
    int beat;
    bool ended, forgotten;  // its command has completed: what comes for it is late; no more beats come
};

std::vector<uint8_t> firmware;
std::unique_ptr<VerilatedContext> context;
bool powered;  // not after a power cut, where `top` may stay to be started again
std::unique_ptr<Votx_sim_top> top;
#ifdef OTX_TRACE
std::unique_ptr<VerilatedFstC> recorder;
#endif
[[maybe_unused]] bool paused;
uint64_t now;
Slot slots[OTX_COMMANDS];
std::deque<otx_cmd> commands;
std::list<Request> requests;
const Request *offered;  // the one whose beat is at the port
int read_beat;
std::deque<otx_cpl> completions;
std::string uart;

void dump([[maybe_unused]] uint64_t half) {
#ifdef OTX_TRACE
    if (recorder && !paused) recorder->dump(now * OTX_CLOCK_PS + half * (OTX_CLOCK_PS / 2));
#endif
}

void put_command() {
    top->cmd_valid = !commands.empty();
    if (commands.empty()) return;
    const otx_cmd &c = commands.front();
    top->cmd_opcode = c.opcode;
    top->cmd_lba = c.lba;
    top->cmd_count = c.count;
    top->cmd_txid = c.txid;
    top->cmd_has_tx = c.has_tx;
    top->cmd_fua = c.fua;
    top->cmd_commit = c.commit;
    top->cmd_relaxed = c.relaxed;
    top->cmd_barrier = c.barrier;
    top->cmd_orderless = c.orderless;
    top->cmd_order = c.order;
    top->cmd_priority = c.priority;
    top->cmd_stream = c.stream;
    top->cmd_tag = c.tag;
    top->cmd_arg = c.arg;
}

// A beat of the oldest request whose host has not stopped; what is offered stays until it has passed.
void put_write_beat() {
    if (!offered) {
        const auto goes = [](const Request &r) { return r.ended || slots[r.tag].beats; };
        const auto it = std::find_if(requests.begin(), requests.end(), goes);
        if (it != requests.end()) {
            offered = &*it;
            uint64_t word = ~uint64_t(0);
            const uint8_t *data = slots[it->tag].data;
            if (data && !it->ended) std::memcpy(&word, data + OTX_BLOCK * it->block + 8 * it->beat, 8);
            top->wdata_request = it->number;
            top->wdata_data = word;
            top->wdata_last = it->beat == beats - 1;
        }
    }
    top->wdata_valid = offered != nullptr;
}

void write_beat_passed() {
    const auto it = std::find_if(requests.begin(), requests.end(), [](const Request &r) { return &r == offered; });
    offered = nullptr;
    if (!it->ended && slots[it->tag].beats != UINT32_MAX) slots[it->tag].beats--;
    if (++it->beat == beats || it->forgotten) requests.erase(it);
}

// The command has completed: a host forgets what it still wanted, or sends it late.
void end_requests(uint8_t tag, bool late) {
    for (Request &r : requests)
        if (r.tag == tag) r.ended = true, r.forgotten = !late;
    requests.remove_if([](const Request &r) { return r.forgotten && &r != offered; });
}

void take_read_beat() {
    Slot &slot = slots[top->rdata_tag];
    if (slot.data) {
        uint64_t word = top->rdata_data;
        std::memcpy(slot.data + OTX_BLOCK * top->rdata_block + 8 * read_beat, &word, 8);
    }
    if (top->rdata_last != (read_beat == beats - 1)) {
        std::fprintf(stderr, "host port: last is wrong at beat %d of a block\n", read_beat + 1);
        std::exit(70);
    }
    if (top->rdata_last) slot.blocks |= 1u << top->rdata_block;
    read_beat = top->rdata_last ? 0 : read_beat + 1;
}

void take_completion() {
    Slot &slot = slots[top->cpl_tag];
    if (!slot.used) {
        std::fprintf(stderr, "host port: completion of tag %d, which has no command under way\n", top->cpl_tag);
        std::exit(70);
    }
    completions.push_back({uint8_t(top->cpl_tag), uint8_t(top->cpl_status), top->cpl_result, slot.blocks, now});
    end_requests(uint8_t(top->cpl_tag), slot.late);
    slot = Slot{};
}

void one_clock() {
    put_command();
    put_write_beat();
    top->clk = 0;
    top->eval();
    dump(0);
    const bool cmd = top->cmd_valid && top->cmd_ready, wdata = top->wdata_valid && top->wdata_ready;
    if (top->rdata_valid) take_read_beat();
    if (top->cpl_valid) take_completion();
    if (top->uart_valid) uart += char(top->uart_data);
    const bool request = top->wdata_req_valid;
    const Request wanted{
        uint8_t(top->wdata_req_tag), uint8_t(top->wdata_req_block), uint16_t(top->wdata_req_request), 0, false, false};
    top->clk = 1;
    top->eval();
    dump(1);
    now++;
    if (cmd) commands.pop_front();
    if (wdata) write_beat_passed();
    if (request) requests.push_back(wanted);
}

// Every boot is the same until the firmware looks at the first cell, so with OTX_SNAPSHOT only the first two are
// simulated up to there: the first tells which clock that is, the second is kept.
#ifdef OTX_SNAPSHOT
uint64_t first_look;  // the last clock before it, 0: not known
int kept = -1;        // file in memory
std::string kept_name() { return "/proc/self/fd/" + std::to_string(kept); }

void keep() {
    kept = memfd_create("otx", MFD_CLOEXEC);
    VerilatedSave file;
    file.open(kept_name());
    file << *top;
    file.close();
    otx_mem_keep();
    otx_cpu_keep();
    otx_page_keep();
}

// The drive is at the clock before the first look; false: that is not kept.
bool restore() {
    if (kept < 0) return false;
    VerilatedRestore file;
    file.open(kept_name());
    file >> *top;
    file.close();
    otx_mem_restore();
    otx_cpu_restore();
    otx_page_restore();
    now = first_look;
    return true;
}

// What is kept is of one firmware and one part, and of memories that are there.
void forget_kept() {
    if (kept >= 0) ::close(kept);
    kept = -1, first_look = 0;
    otx_page_forget();
}

bool another_part() {
    static otx_nand_part part;
    static otx_nand_part_faults wrong;
    const otx::Drive &nand = otx::page_drive();
    if (!std::memcmp(&part, &nand.part, sizeof part) && !std::memcmp(&wrong, &nand.wrong, sizeof wrong)) return false;
    part = nand.part, wrong = nand.wrong;
    return true;
}

void boot_clock() {
    one_clock();
    if (!first_look && otx_page_looked()) first_look = now - 2;
    if (kept < 0 && now == first_look) keep();
}
#else
constexpr int kept = -1;
bool restore() { return false; }
void forget_kept() {}
bool another_part() { return false; }
void boot_clock() { one_clock(); }
#endif

void stop() {
    otx_trace(nullptr);
    top.reset();
    context.reset();
    otx_mem_close_all();
}

void forget() {
    for (Slot &s : slots) s = Slot{};
    commands.clear();
    requests.clear();
    completions.clear();
    uart.clear();
    offered = nullptr;
    read_beat = 0;
    now = 0;
}

std::string beside_library() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&otx_open), &info)) return "otx.bin";
    std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/') + 1) + "otx.bin";
}

int load_firmware(const std::string &path, char *message, size_t size) {
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t> found(std::istreambuf_iterator<char>(file), {});
    if (found != firmware) forget_kept();
    firmware = std::move(found);
    if (!firmware.empty()) return 0;
    std::snprintf(message, size, "no firmware in %s", path.c_str());
    return -1;
}

void configure_nand() {
    const otx_nand_times times = {OTX_T_WP_NS,  OTX_T_WH_NS,  OTX_T_WC_NS,  OTX_T_RP_NS,   OTX_T_REH_NS,  OTX_T_RC_NS,
                                  OTX_T_REA_NS, OTX_T_CLS_NS, OTX_T_CLH_NS, OTX_T_CS_NS,   OTX_T_CH_NS,   OTX_T_ALS_NS,
                                  OTX_T_ALH_NS, OTX_T_DS_NS,  OTX_T_DH_NS,  OTX_T_ADL_NS,  OTX_T_WHR_NS,  OTX_T_RHW_NS,
                                  OTX_T_WB_NS,  OTX_T_RR_NS,  OTX_T_R_NS,   OTX_T_PROG_NS, OTX_T_BERS_NS, OTX_T_RST_NS};
    otx_nand_set_times(&times);
    const char *hex = OTX_NAND_ID;
    uint8_t id[5];
    for (int i = 0; i < 5; i++) id[i] = uint8_t(std::stoi(std::string(hex + 2 * i, 2), nullptr, 16));
    otx_nand_set_id(id);
    otx_nand_set_unused(OTX_SPARE_BYTES - OTX_SPARE_USED);
    const otx_nand_part part = {OTX_NAND_ONFI, 1,          OTX_NAND_MODES, OTX_T_SUSP_NS,
                                OTX_CACHE_OPS, OTX_PLANES, OTX_PLANES > 1, OTX_READ_RETRIES};
    otx_nand_set_part(&part);
}

}  // namespace

extern "C" {

int otx_firmware_word(int index) {
    uint32_t word = 0;
    const size_t at = size_t(index) * 4;
    if (at < firmware.size()) std::memcpy(&word, &firmware[at], std::min<size_t>(4, firmware.size() - at));
    return int(word);
}

int otx_open(const char *image, const char *path, char *message, size_t size) {
    if (load_firmware(path ? path : beside_library(), message, size)) return -1;
    const otx_nand_geometry g = OTX_NAND_GEOMETRY;
    if (otx_nand_store_open(image, &g, message, size)) return -1;
    configure_nand();
    otx_power_on();
    return 0;
}

void otx_power_on() {
    powered = true;
    otx_trace(nullptr);
    forget();
    if (another_part()) forget_kept();
    if (top && restore()) return;
    stop();
    context = std::make_unique<VerilatedContext>();
    context->threads(1);  // no pool: its threads would be missing after fork()
    context->traceEverOn(true);
    top = std::make_unique<Votx_sim_top>(context.get());
    top->reset = 1;
    for (int i = 0; i < reset_clocks; i++) one_clock();
    top->reset = 0;
    one_clock();  // reset passes a register in otx_sim_top
    completions.clear();
    uart.clear();
}

int otx_boot(uint64_t clocks) {
    if (another_part()) forget_kept(), otx_power_on();
    for (const uint64_t end = now + clocks; now < end && !top->enabled;) boot_clock();
    return top->enabled ? 0 : -1;
}

int otx_submit(const otx_cmd *cmd, void *data) {
    if (!is_tag(cmd->tag) || slots[cmd->tag].used) return -1;
    slots[cmd->tag] = Slot{};
    slots[cmd->tag].used = true, slots[cmd->tag].data = static_cast<uint8_t *>(data);
    commands.push_back(*cmd);
    return 0;
}

void otx_stop_data(uint8_t tag, uint32_t count, int late) {
    if (!is_tag(tag) || !slots[tag].used) return;
    slots[tag].beats = count, slots[tag].late = late != 0;
}

int otx_step(uint64_t clocks) {
    for (const uint64_t end = now + clocks; now < end && completions.empty();) one_clock();
    return int(completions.size());
}

int otx_poll(otx_cpl *cpl) {
    if (completions.empty()) return 0;
    *cpl = completions.front();
    completions.pop_front();
    return 1;
}

int64_t otx_power_fail(uint64_t clocks) {
    int64_t saved = -1;
    commands.clear();
    top->power_fail = 1;
    for (uint64_t n = 0; n < clocks; n++) {
        one_clock();
        if (saved < 0 && top->dumped) saved = int64_t(n + 1);
    }
    top->power_fail = 0;
    completions.clear();
    return saved;
}

uint64_t otx_clock() { return now; }
int otx_busy() {
    return top->busy || !commands.empty() ||
           std::any_of(slots, slots + OTX_COMMANDS, [](const Slot &s) { return s.used; });
}
int otx_enabled() { return top->enabled; }
int otx_fault() { return top->fault; }
const char *otx_uart() { return uart.c_str(); }
uint32_t otx_lbas() { return OTX_LBAS; }
uint32_t otx_commands() { return OTX_COMMANDS; }
uint32_t otx_tx_entries() { return OTX_TX_ENTRIES; }
uint32_t otx_clock_ps() { return OTX_CLOCK_PS; }
const char *otx_preset() { return OTX_PRESET; }

int otx_trace([[maybe_unused]] const char *path) {
#ifdef OTX_TRACE
    if (recorder) recorder->close();
    recorder.reset();
    paused = false;
    if (!path) return 0;
    if (!top) return -1;  // power is off
    recorder = std::make_unique<VerilatedFstC>();
    top->trace(recorder.get(), 99);
    recorder->open(path);
    if (recorder->isOpen()) return 0;
    recorder.reset();
    return -1;
#else
    return path ? -1 : 0;
#endif
}

void otx_trace_pause(int pause) { paused = pause != 0; }

void otx_power_cut(uint64_t seed) {
    powered = false;
    otx_nand_power_cut(seed);
    otx_trace(nullptr);
    forget();
    if (kept < 0) stop();
}

// One command with nothing else under way; its result, -1 if it has not ended or is refused.
static int64_t ask(uint8_t opcode, uint32_t arg, uint64_t end) {
    otx_cmd cmd = {};
    cmd.opcode = opcode;
    cmd.arg = arg;
    completions.clear();
    if (otx_submit(&cmd, nullptr)) return -1;
    while (now < end && completions.empty()) one_clock();
    return completions.empty() || completions.front().status ? -1 : int64_t(completions.front().result);
}

// What is open is aborted, and a checkpoint is made, so that the next start has nothing to replay.
static void power_down(uint64_t end) {
    constexpr uint64_t every = 5000;  // clocks between two questions
    ask(OTX_OP_RECOVER, 0, end);
    ask(OTX_OP_FLUSH, 0, end);
    const int64_t number = ask(OTX_OP_CHECKPOINT, 1, end);
    while (number >= 0 && now + every < end) {
        for (uint64_t next = now + every; now < next;) one_clock();
        if ((ask(OTX_OP_QUERY, OTX_QUERY_HEALTH + FTL_HEALTH_ASKED_CHECKPOINT, end) & 0xff) == number) break;
    }
    while (now < end && otx_busy()) one_clock();
}

int otx_close(uint64_t clocks) {
    int result = 0;
    if (powered && top && top->enabled) {
        const uint64_t end = now + clocks;
        const auto idle = [] { return !otx_busy(); };
        while (now < end && slots[0].used) one_clock();
        otx_cmd flush = {};
        flush.opcode = OTX_OP_FLUSH;
        if (!otx_submit(&flush, nullptr))
            while (now < end && !idle()) one_clock();
        if (now < end && idle()) power_down(end);
        result = idle() ? 0 : -1;
    }
    stop();
    forget_kept();
    forget();
    otx_nand_store_close();
    return result;
}
}
