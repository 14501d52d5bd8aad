// Tables: the strings and call stacks of a trace, each stored once and identified by a dense index.
// Index 0 is always the empty string, the empty stack. One thread adds; any number of threads may
// read entries whose index they have got, while the table grows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/model/steady_array.h"

namespace tidemark {

class StringTable {
  public:
    StringTable() { intern({}); }

    StringTable(const StringTable& other);
    StringTable& operator=(const StringTable& other);
    StringTable(StringTable&&) = default;
    StringTable& operator=(StringTable&&) = default;

    // The index of `text`, added if new. Amortised O(length).
    std::uint32_t intern(std::string_view text);

    // `index` < size(). The view is valid as long as the table exists.
    std::string_view operator[](std::uint32_t index) const { return strings_[index]; }

    std::uint32_t size() const { return static_cast<std::uint32_t>(strings_.size()); }

  private:
    SteadyArray<std::string> strings_;  // views into it stay valid
    std::unordered_map<std::string_view, std::uint32_t> index_;
};

// A call site in a program. `name` and `file` are indexes into the trace's strings.
struct Frame {
    std::uint32_t name = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;

    friend bool operator==(const Frame&, const Frame&) = default;
};

class StackTable {
  public:
    StackTable() { intern({}); }

    StackTable(const StackTable& other);
    StackTable& operator=(const StackTable& other);
    StackTable(StackTable&&) = default;
    StackTable& operator=(StackTable&&) = default;

    // The index of this stack (innermost frame first), added if new. Amortised O(frames).
    std::uint32_t intern(std::span<const Frame> frames);

    std::span<const Frame> operator[](std::uint32_t index) const {
        const Stack& stack = stacks_[index];
        return {stack.frames, stack.count};
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(stacks_.size()); }

  private:
    // Of frames that never move.
    struct Stack {
        const Frame* frames = nullptr;
        std::size_t count = 0;
    };

    const Frame* keep(std::span<const Frame> frames);

    SteadyArray<Stack> stacks_;
    std::vector<std::unique_ptr<Frame[]>> slabs_;  // the last one has room
    std::size_t slab_size_ = 0;
    std::size_t slab_used_ = 0;
    std::unordered_multimap<std::uint64_t, std::uint32_t> index_;  // hash of frames -> stack
};

}  // namespace tidemark
