// Interning of strings and call stacks. Indexes follow the order of first appearance, so they are
// the same on every machine; the hashes used here never reach a file.
#include "traces/model/tables.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::size_t kSlabFrames = 4096;

std::uint64_t hash_of(std::span<const Frame> frames) {
    std::uint64_t hash = 0x9e3779b97f4a7c15U + frames.size();
    const auto mix = [&hash](std::uint64_t value) {
        hash = (hash ^ value) * 0xbf58476d1ce4e5b9U;
        hash ^= hash >> 29U;
    };
    for (const Frame& frame : frames) {
        mix((std::uint64_t{frame.name} << 32U) | frame.file);
        mix(frame.line);
    }
    return hash;
}

}  // namespace

StringTable::StringTable(const StringTable& other) : strings_(other.strings_) {
    // The keys of `other.index_` are views into the strings of `other`.
    index_.reserve(strings_.size());
    for (std::uint32_t i = 0; i < size(); ++i)
        index_.emplace(strings_[i], i);
}

StringTable& StringTable::operator=(const StringTable& other) {
    if (this != &other)
        *this = StringTable(other);
    return *this;
}

std::uint32_t StringTable::intern(std::string_view text) {
    if (const auto found = index_.find(text); found != index_.end())
        return found->second;
    TM_CHECK(strings_.size() < std::numeric_limits<std::uint32_t>::max());
    const std::uint32_t index = size();
    strings_.push_back(std::string(text));
    index_.emplace(strings_[index], index);
    return index;
}

StackTable::StackTable(const StackTable& other) : StackTable() {
    for (std::uint32_t i = 1; i < other.size(); ++i)
        intern(other[i]);
}

StackTable& StackTable::operator=(const StackTable& other) {
    if (this != &other)
        *this = StackTable(other);
    return *this;
}

// A copy at the end of the last slab, or in a new one.
const Frame* StackTable::keep(std::span<const Frame> frames) {
    if (slab_size_ - slab_used_ < frames.size()) {
        slab_size_ = std::max(kSlabFrames, frames.size());
        slab_used_ = 0;
        slabs_.push_back(std::make_unique<Frame[]>(slab_size_));
    }
    if (slabs_.empty())
        return nullptr;
    Frame* const kept = slabs_.back().get() + slab_used_;
    std::ranges::copy(frames, kept);
    slab_used_ += frames.size();
    return kept;
}

std::uint32_t StackTable::intern(std::span<const Frame> frames) {
    const std::uint64_t hash = hash_of(frames);
    const auto [begin, end] = index_.equal_range(hash);
    for (auto candidate = begin; candidate != end; ++candidate) {
        if (std::ranges::equal((*this)[candidate->second], frames))
            return candidate->second;
    }
    TM_CHECK(stacks_.size() < std::numeric_limits<std::uint32_t>::max());
    const std::uint32_t index = size();
    stacks_.push_back({keep(frames), frames.size()});
    index_.emplace(hash, index);
    return index;
}

}  // namespace tidemark
