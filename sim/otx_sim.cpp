// SPDX-License-Identifier: Apache-2.0
// Implements otx_sim.h: one Verilated otx_sim_top and its clock; what stands before the core is in front_port.cpp or
// front_nvme.cpp. See there for the contract.
//
// A clock is: inputs, evaluate with clk low, look at the streams, evaluate with clk high. Beats that pass at an edge
// are decided before it, from valid and ready.
#include "otx_sim.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "front.h"
#include "Votx_sim_top.h"
#include "nand_model.h"
#include "otx_geometry.h"
#include "rest.h"
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

constexpr int reset_clocks = 8;

std::vector<uint8_t> firmware;
std::unique_ptr<VerilatedContext> context;
bool powered;  // not after a power cut, where `top` may stay to be started again
std::unique_ptr<Votx_sim_top> top;
#ifdef OTX_TRACE
std::unique_ptr<VerilatedFstC> recorder;
#endif
[[maybe_unused]] bool paused;
uint64_t now;
std::string uart;

void dump([[maybe_unused]] uint64_t half) {
#ifdef OTX_TRACE
    if (recorder && !paused) recorder->dump(now * OTX_CLOCK_PS + half * (OTX_CLOCK_PS / 2));
#endif
}

void one_clock() {
    otx::front::put(*top);
    top->clk = 0;
    top->eval();
    dump(0);
    otx::front::look(*top, now);
    if (top->uart_valid) uart += char(top->uart_data);
    top->clk = 1;
    top->eval();
    dump(1);
    now++;
    otx::front::passed();
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
    otx::rest_forget();
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
    otx::front::forget();
    uart.clear();
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
    otx::rest_open(*top);
    top->reset = 1;
    for (int i = 0; i < reset_clocks; i++) one_clock();
    top->reset = 0;
    one_clock();  // reset passes a register in otx_sim_top
    otx::front::forget();
    uart.clear();
}

int otx_boot(uint64_t clocks) {
    if (another_part()) forget_kept(), otx_power_on();
    for (const uint64_t end = now + clocks; now < end && !top->enabled;) boot_clock();
    return top->enabled ? 0 : -1;
}

int otx_step(uint64_t clocks) {
    for (const uint64_t end = now + clocks; now < end && !otx::front::waiting();) one_clock();
    return otx::front::waiting();
}

int64_t otx_power_fail(uint64_t clocks) {
    int64_t saved = -1;
    otx::front::silence();
    top->power_fail = 1;
    for (uint64_t n = 0; n < clocks; n++) {
        one_clock();
        if (saved < 0 && top->dumped) saved = int64_t(n + 1);
    }
    top->power_fail = 0;
    otx::front::forget();
    return saved;
}

uint64_t otx_clock() { return now; }
int otx_busy() { return top->busy || otx::front::busy(); }
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

int otx_close(uint64_t clocks) {
    int result = 0;
    if (powered && top && top->enabled) result = otx::front::power_down(now + clocks, one_clock) ? 0 : -1;
    stop();
    forget_kept();
    forget();
    otx_nand_store_close();
    return result;
}
}
