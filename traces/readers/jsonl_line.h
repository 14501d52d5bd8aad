// JsonlLine: one line of a JSONL trace as the values of the keys that Tidemark knows, not yet
// validated. Almost all lines are flat objects of whole numbers and plain ASCII strings: those are
// parsed by hand. Every other line goes through a real JSON parser. Both give the same values.
// Memory is bounded by the line, whatever its nesting. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

// Keys of an event line. `device_free`, `kind`, `pending` and `preamble` are Tidemark's own
// additions, which other programs may ignore (writers/jsonl.cpp says what they mean).
enum class JsonlKey : std::uint8_t {
    t,
    op,
    id,
    bytes,
    stream,
    mode,
    kernel,
    address,
    align,
    device,
    device_free,
    event,
    kind,
    name,
    pending,
    pool,
    preamble,
    stack,
    tag,
    task,
    tier,
    to,
};

constexpr std::size_t kJsonlKeys = 22;

std::string_view to_text(JsonlKey key);

struct JsonlValue {
    enum class Type : std::uint8_t { absent, number, text, boolean, list, other };

    Type type = Type::absent;  // null counts as absent; a list is in JsonlLine::stack
    std::uint64_t number = 0;  // number; 0 or 1 for a boolean
    std::string_view text;     // text
};

class JsonlLine {
  public:
    // Reads `line`; false if it is not one JSON object. `line` must outlive the values. `careful`
    // skips the fast way: for tests.
    bool parse(std::string_view line, bool careful = false);

    const JsonlValue& operator[](JsonlKey key) const {
        return values_[static_cast<std::size_t>(key)];
    }

    // The strings of key `stack`, if its value is a list of strings.
    const std::vector<std::string_view>& stack() const { return stack_; }

    // After a failed parse: the byte, counted from 1, where the line stops being JSON.
    std::size_t error_column() const { return error_column_; }

  private:
    class Handler;

    bool parse_flat(const char* at, const char* end);
    bool parse_any(std::string_view line);
    void clear();

    std::array<JsonlValue, kJsonlKeys> values_;
    std::vector<std::string_view> stack_;
    // what values_ points to when it isn't part of the line itself
    std::deque<std::string> strings_;
    std::size_t error_column_ = 0;
};

}  // namespace tidemark
