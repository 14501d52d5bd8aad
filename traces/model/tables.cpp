// Interning of strings and call stacks. Indexes follow the order of first appearance, so they are
// the same on every machine; the hashes used here never reach a file.
#include "traces/model/tables.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

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
    strings_.emplace_back(text);
    index_.emplace(strings_.back(), index);
    return index;
}

std::uint32_t StackTable::intern(std::span<const Frame> frames) {
    const std::uint64_t hash = hash_of(frames);
    const auto [begin, end] = index_.equal_range(hash);
    for (auto candidate = begin; candidate != end; ++candidate) {
        if (std::ranges::equal((*this)[candidate->second], frames))
            return candidate->second;
    }
    TM_CHECK(begins_.size() < std::numeric_limits<std::uint32_t>::max());
    const std::uint32_t index = size();
    frames_.insert(frames_.end(), frames.begin(), frames.end());
    begins_.push_back(frames_.size());
    index_.emplace(hash, index);
    return index;
}

}  // namespace tidemark
