// Tables: the strings and call stacks of a trace, each stored once and known by a dense index.
// Index 0 is always the empty string, the empty stack. Single-threaded while it grows; reading a
// finished table is safe from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

    // `index` < size(). The view lives as long as the table.
    std::string_view operator[](std::uint32_t index) const { return strings_[index]; }

    std::uint32_t size() const { return static_cast<std::uint32_t>(strings_.size()); }

  private:
    std::deque<std::string> strings_;  // a deque: views into it stay valid
    std::unordered_map<std::string_view, std::uint32_t> index_;
};

// A place in a program. `name` and `file` are indexes into the trace's strings.
struct Frame {
    std::uint32_t name = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;

    friend bool operator==(const Frame&, const Frame&) = default;
};

class StackTable {
  public:
    StackTable() { intern({}); }

    // The index of this stack (innermost frame first), added if new. Amortised O(frames).
    std::uint32_t intern(std::span<const Frame> frames);

    std::span<const Frame> operator[](std::uint32_t index) const {
        return {frames_.data() + begins_[index], begins_[index + 1] - begins_[index]};
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(begins_.size() - 1); }

  private:
    std::vector<Frame> frames_;
    std::vector<std::uint64_t> begins_{0};
    std::unordered_multimap<std::uint64_t, std::uint32_t> index_;  // hash of frames -> stack
};

}  // namespace tidemark
