// SPDX-License-Identifier: Apache-2.0
#include "nand_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "otx_facts.h"

namespace otx {
namespace {

struct Header {
    uint32_t magic[2];
    uint32_t version;
    uint32_t channels, ways, blocks, pages, page_bytes, spare_bytes;
};
constexpr uint32_t magic[2] = {OTX_IMAGE_MAGIC_LO, OTX_IMAGE_MAGIC_HI}, version = OTX_FORMAT_IMAGE;
static_assert(offsetof(Header, version) == OTX_IMAGE_VERSION && offsetof(Header, channels) == OTX_IMAGE_CHANNELS &&
              offsetof(Header, ways) == OTX_IMAGE_WAYS && offsetof(Header, blocks) == OTX_IMAGE_BLOCKS &&
              offsetof(Header, pages) == OTX_IMAGE_PAGES && offsetof(Header, page_bytes) == OTX_IMAGE_PAGE_BYTES &&
              offsetof(Header, spare_bytes) == OTX_IMAGE_SPARE_BYTES);
static_assert(sizeof(Block) == OTX_IMAGE_BLOCK_UNITS);

size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::string words(const Header &h) {
    auto n = [](uint32_t v) { return std::to_string(v); };
    return n(h.channels) + " channels x " + n(h.ways) + " ways x " + n(h.blocks) + " blocks x " + n(h.pages) +
           " pages of " + n(h.page_bytes) + "+" + n(h.spare_bytes) + " bytes";
}

}  // namespace

bool Store::open(const char *path, const otx_nand_geometry &geometry, std::string &message) {
    static_assert(header_bytes == OTX_IMAGE_UNITS);
    close();
    const otx_nand_geometry &g = geometry;
    if (!g.channels || !g.ways || !g.blocks || !g.pages || !g.page_bytes || g.spare_bytes < 20) {
        message = "geometry of the drive has a zero, or fewer than 20 spare bytes";
        return false;
    }
    const Header mine = [&] {
        Header h{};
        memcpy(h.magic, magic, sizeof magic);
        h.version = version;
        h.channels = g.channels, h.ways = g.ways, h.blocks = g.blocks, h.pages = g.pages, h.page_bytes = g.page_bytes,
        h.spare_bytes = g.spare_bytes;
        return h;
    }();
    const size_t all_blocks = size_t(g.channels) * g.ways * g.blocks, all_pages = all_blocks * g.pages;
    const size_t blocks_at = header_bytes + whole_pages(size_t(g.channels) * g.ways * sizeof(uint32_t)),
                 programs_at = blocks_at + whole_pages(all_blocks * sizeof(Block));
    const size_t good_reads_at = programs_at + whole_pages(all_pages),
                 cells_at = good_reads_at + whole_pages(all_pages);
    const size_t size = cells_at + whole_pages(all_pages * (g.page_bytes + g.spare_bytes));

    int file = -1;
    auto refuse = [&](const std::string &why) {
        if (file >= 0) ::close(file);
        message = std::string(path ? path : "memory") + ": " + why;
        return false;
    };
    void *base;
    if (path) {
        bool fresh = false;
        file = ::open(path, O_RDWR | O_CLOEXEC);
        if (file < 0 && errno == ENOENT) {
            file = ::open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
            fresh = true;
        }
        if (file < 0) return refuse(strerror(errno));
        if (flock(file, LOCK_EX | LOCK_NB)) return refuse("in use");
        struct stat st;
        if (fstat(file, &st)) return refuse(strerror(errno));
        if (!S_ISREG(st.st_mode)) return refuse("not a regular file");
        Header found{};
        auto length = [&](const char *what) {
            return refuse(std::string("image is ") + what + ": " + std::to_string(st.st_size) + " bytes, should be " +
                          std::to_string(size));
        };
        const ssize_t n = fresh ? 0 : pread(file, &found, sizeof found, 0);
        if (fresh) {
            if (ftruncate(file, off_t(size)) || pwrite(file, &mine, sizeof mine, 0) != ssize_t(sizeof mine)) {
                const std::string why = strerror(errno);
                unlink(path);
                return refuse(why);
            }
        } else if (n <= 0 || memcmp(found.magic, magic, std::min(size_t(n), sizeof magic))) {
            return refuse("not an image of a drive");
        } else if (n != ssize_t(sizeof found)) {
            return length("cut short");
        } else if (found.version != version) {
            return refuse("image has version " + std::to_string(found.version) + ", this program reads version " +
                          std::to_string(version));
        } else if (memcmp(&found, &mine, sizeof mine)) {
            return refuse("image has another geometry: " + words(found) + ", the drive has " + words(mine));
        } else if (size_t(st.st_size) != size) {
            return length(size_t(st.st_size) < size ? "cut short" : "too long");
        }
        base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    } else {
        base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (base == MAP_FAILED) return refuse(std::string("cannot be mapped: ") + strerror(errno));
    base_ = static_cast<uint8_t *>(base);
    file_ = file, size_ = size, geometry_ = g;
    blocks_at_ = blocks_at, programs_at_ = programs_at, good_reads_at_ = good_reads_at, cells_at_ = cells_at;
    return true;
}

void Store::close() {
    if (base_) munmap(base_, size_);
    if (file_ >= 0) ::close(file_);
    base_ = nullptr;
    file_ = -1;
}

}  // namespace otx
