// Counts of references and mappings.
#include "replay/inject/physical_memory.h"

#include <iterator>

namespace tidemark::inject {
namespace {

// The size of other processes' memory is not known.
constexpr std::uint64_t kForeignSpan = std::uint64_t{1} << 44U;
constexpr std::uint64_t kUnit = std::uint64_t{2} << 20U;

}  // namespace

std::uint64_t PhysicalMemory::add(const Piece& piece, std::uint64_t span) {
    const std::uint64_t base = next_base_;
    next_base_ += (span + kUnit - 1) / kUnit * kUnit;
    pieces_.emplace(base, piece);
    return base;
}

PhysicalPiece PhysicalMemory::create(cuda::CUmemHandle handle, std::uint64_t size,
                                     std::uint8_t device) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t base = add({.size = size, .device = device}, size);
    bases_[handle] = base;
    return {base, size, device};
}

Mapping PhysicalMemory::map(cuda::CUmemHandle handle, std::uint64_t address, std::uint64_t size,
                            std::uint64_t offset, std::uint8_t device) {
    const std::lock_guard lock(mutex_);
    auto found = bases_.find(handle);
    if (found == bases_.end())
        found =
            bases_.emplace(handle, add({.device = device, .foreign = true}, kForeignSpan)).first;
    const std::uint64_t base = found->second;
    Piece& piece = pieces_.at(base);
    ++piece.mappings;
    mappings_[address] = {size, base, offset};
    return {address, size, base + offset, piece.device};
}

std::vector<Mapping> PhysicalMemory::unmap(std::uint64_t address, std::uint64_t size,
                                           std::vector<PhysicalPiece>& ended) {
    const std::lock_guard lock(mutex_);
    std::vector<Mapping> mappings;
    auto each = mappings_.lower_bound(address);
    while (each != mappings_.end() && each->first < address + size) {
        const Target& target = each->second;
        Piece& piece = pieces_.at(target.base);
        mappings.push_back({each->first, target.size, target.base + target.offset, piece.device});
        --piece.mappings;
        if (const auto end = settle(target.base))
            ended.push_back(*end);
        each = mappings_.erase(each);
    }
    return mappings;
}

void PhysicalMemory::retain(cuda::CUmemHandle handle, std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto after = mappings_.upper_bound(address);
    if (after == mappings_.begin())
        return;
    const std::uint64_t base = std::prev(after)->second.base;
    ++pieces_.at(base).references;
    bases_[handle] = base;
}

std::uint64_t PhysicalMemory::begin_release(cuda::CUmemHandle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = bases_.find(handle);
    if (found == bases_.end())
        return 0;
    const std::uint64_t base = found->second;
    if (--pieces_.at(base).references == 0)
        bases_.erase(found);
    return base;
}

std::optional<PhysicalPiece> PhysicalMemory::end_release(std::uint64_t base) {
    const std::lock_guard lock(mutex_);
    return settle(base);
}

void PhysicalMemory::undo_release(cuda::CUmemHandle handle, std::uint64_t base) {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(base);
    if (found == pieces_.end())
        return;
    ++found->second.references;
    bases_[handle] = base;
}

// Ends the piece if nothing refers to it; returns it if it was counted here.
std::optional<PhysicalPiece> PhysicalMemory::settle(std::uint64_t base) {
    const auto found = pieces_.find(base);
    if (found == pieces_.end() || found->second.references != 0 || found->second.mappings != 0)
        return std::nullopt;
    const Piece piece = found->second;
    pieces_.erase(found);
    return piece.foreign ? std::nullopt
                         : std::optional(PhysicalPiece{base, piece.size, piece.device});
}

}  // namespace tidemark::inject
