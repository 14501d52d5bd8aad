// The address space behind the fake's devices.
#include "tests/backends/cuda/fake/fake_space.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark::fake {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAlignment = std::uint64_t{2} << 20;  // where an arena begins
constexpr std::uint64_t kHint = std::uint64_t{1} << 45;       // the same in each run, if it is free

void* as_pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

// Without memory the tests could say nothing.
[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::abort();
}

}  // namespace

void Space::cut(std::map<std::uint64_t, std::uint64_t>::iterator gap, std::uint64_t begin,
                std::uint64_t size) {
    const auto [gap_begin, gap_size] = *gap;
    gaps_.erase(gap);
    if (begin != gap_begin)
        gaps_.emplace(gap_begin, begin - gap_begin);
    if (begin + size != gap_begin + gap_size)
        gaps_.emplace(begin + size, gap_begin + gap_size - begin - size);
    taken_.emplace(begin, size);
}

std::optional<std::uint64_t> Space::take(std::uint64_t size, std::uint64_t alignment) {
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
        const std::uint64_t begin = (gap->first + alignment - 1) & ~(alignment - 1);
        const std::uint64_t lost = begin - gap->first;
        if (lost > gap->second || gap->second - lost < size)
            continue;
        cut(gap, begin, size);
        return begin;
    }
    return std::nullopt;
}

bool Space::take_at(std::uint64_t begin, std::uint64_t size) {
    auto gap = gaps_.upper_bound(begin);
    if (gap == gaps_.begin())
        return false;
    --gap;
    const std::uint64_t offset = begin - gap->first;
    if (offset > gap->second || gap->second - offset < size)
        return false;
    cut(gap, begin, size);
    return true;
}

std::uint64_t Space::give(std::uint64_t begin) {
    const auto found = taken_.find(begin);
    if (found == taken_.end())
        return 0;
    const std::uint64_t size = found->second;
    taken_.erase(found);
    auto gap = gaps_.emplace(begin, size).first;
    const auto next = std::next(gap);
    if (next != gaps_.end() && next->first == begin + size) {
        gap->second += next->second;
        gaps_.erase(next);
    }
    if (gap != gaps_.begin()) {
        const auto before = std::prev(gap);
        if (before->first + before->second == begin) {
            before->second += gap->second;
            gaps_.erase(gap);
        }
    }
    return size;
}

Backing& Backing::operator=(Backing&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(end_, other.end_);
    return *this;
}

Backing::~Backing() {
    if (file_ >= 0)
        close(file_);
}

Backing Backing::make(std::uint64_t size) {
    const int file = memfd_create("tidemark-fake-cuda", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
        give_up("the fake CUDA driver: memfd_create");
    return Backing(file);
}

std::uint64_t Backing::take(std::uint64_t size) {
    const std::uint64_t begin = end_;
    end_ += (size + kPage - 1) & ~(kPage - 1);
    return begin;
}

void Backing::drop(std::uint64_t offset, std::uint64_t size) {
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(size)) != 0)
        give_up("the fake CUDA driver: fallocate");
}

void Arena::begin(std::uint64_t size) {
    end();
    for (;; size /= 2) {
        void* const at = mmap(as_pointer(kHint), size + kAlignment, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) {
            begin_ = reinterpret_cast<std::uint64_t>(at);
            size_ = size + kAlignment;
            break;
        }
        if (size < kAlignment)
            give_up("the fake CUDA driver: mmap");
    }
    space_ = Space((begin_ + kAlignment - 1) & ~(kAlignment - 1), size);
}

void Arena::end() {
    if (size_ != 0)
        munmap(as_pointer(begin_), size_);
    size_ = 0;
}

bool Arena::back(std::uint64_t address, std::uint64_t size, const Backing& backing,
                 std::uint64_t offset) {
    const std::uint64_t whole = (size + kPage - 1) & ~(kPage - 1);
    return mmap(as_pointer(address), whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                backing.file(), static_cast<off_t>(offset)) != MAP_FAILED;
}

void Arena::unback(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t whole = (size + kPage - 1) & ~(kPage - 1);
    if (mmap(as_pointer(address), whole, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        give_up("the fake CUDA driver: mmap");
}

}  // namespace tidemark::fake
