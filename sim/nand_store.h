// SPDX-License-Identifier: Apache-2.0
// The cells of all dies of a drive in one image file.
//
// The file is mapped, so what was written survives the end of the process at any instant, SIGKILL included. It is
// sparse: cells are stored inverted, so that a hole reads as an erased page. Beside the pages it holds, per block, the
// erase count and the lowest page that may be programmed next, and per page how often it was programmed since its block
// was erased; and, counted only while faults are on (nand_faults.h), what they cannot derive: operations of a die,
// reads and first program of a block, whether it is weak, how often a fading page still reads well.
// The file is locked while it is open. Not made for several threads.

#ifndef OTX_NAND_STORE_H
#define OTX_NAND_STORE_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "nand_model.h"

namespace otx {

struct Block {
    uint32_t erases;  // finished and unfinished
    uint32_t next;    // lowest page that may be programmed; `unfinished`: its erase was not
    uint32_t reads;   // since the erase
    uint32_t began;   // operations of the die before the first program since the erase
    uint32_t weak;    // 1: programmed after an unfinished erase

    static constexpr uint32_t unfinished = UINT32_MAX;
};

class Store {
  public:
    ~Store() { close(); }

    // Maps the image at `path`, creating it if there is none; a null path: memory only. False, with one line in
    // `message` and the file untouched, if it is in use, not an image, cut short or too long, or of another geometry.
    bool open(const char *path, const otx_nand_geometry &geometry, std::string &message);
    void close();
    bool is_open() const { return base_ != nullptr; }

    const otx_nand_geometry &geometry() const { return geometry_; }
    uint32_t dies() const { return geometry_.channels * geometry_.ways; }
    uint32_t rows() const { return geometry_.blocks * geometry_.pages; }
    size_t row_bytes() const { return geometry_.page_bytes + geometry_.spare_bytes; }

    // inverted
    uint8_t *cells(uint32_t die, uint32_t row) {
        return base_ + cells_at_ + (size_t(die) * rows() + row) * row_bytes();
    }
    uint8_t &programs(uint32_t die, uint32_t row) { return base_[programs_at_ + size_t(die) * rows() + row]; }
    // of a fading page, and the first bad one; 0: it stays
    uint8_t &good_reads(uint32_t die, uint32_t row) { return base_[good_reads_at_ + size_t(die) * rows() + row]; }
    uint32_t &operations(uint32_t die) { return reinterpret_cast<uint32_t *>(base_ + header_bytes)[die]; }
    Block &block(uint32_t die, uint32_t block) {
        return reinterpret_cast<Block *>(base_ + blocks_at_)[size_t(die) * geometry_.blocks + block];
    }

  private:
    static constexpr size_t header_bytes = 4096;

    otx_nand_geometry geometry_{};
    uint8_t *base_ = nullptr;
    size_t size_ = 0, blocks_at_ = 0, programs_at_ = 0, good_reads_at_ = 0, cells_at_ = 0;
    int file_ = -1;
};

}  // namespace otx

#endif
