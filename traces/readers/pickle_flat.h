// FlatDicts: the fast way through the dicts that make up nearly all of a snapshot: flat ones, whose
// keys were stored before and whose values are numbers and strings. Such a dict is read all at
// once, without the stack. Any other dict is left untouched for the general way. Single-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "traces/readers/pickle_stack.h"
#include "traces/readers/pickle_values.h"

namespace tidemark {

// The indexes of strings of at most 8 bytes. They come by the million ("N/A" in each entry): a
// small table before the table of strings.
class ShortStrings {
  public:
    // `strings` must outlive this.
    explicit ShortStrings(StringTable& strings) : strings_(strings) {}

    // The index of the `length` <= 8 bytes at `bytes`; `word` holds them and whatever follows.
    std::uint32_t intern(const unsigned char* bytes, std::size_t length, std::uint64_t word);

  private:
    struct Entry {
        std::uint64_t text = 0;  // up to 8 bytes, zero-extended
        std::uint32_t length = 0xffffffffU;
        std::uint32_t index = 0;
    };

    StringTable& strings_;
    std::array<Entry, 256> entries_;
};

class FlatDicts {
  public:
    // All must outlive this.
    FlatDicts(PickleMemo& memo, ShortStrings& strings) : memo_(memo), strings_(strings) {}

    // Reads a dict from behind its EMPTY_DICT, at `at`, to SETITEMS; `end` is where the bytes in
    // memory end. Returns where the rest begins; null: the dict is not flat.
    const unsigned char* read(const unsigned char* at, const unsigned char* end);

    // Of the dict read last: its items as (key, value, key, value, ...).
    std::span<const Value> items() const { return {row_.data(), 2 * count_}; }

    // The same number for consecutive dicts that have the same keys in the same order; never 0.
    std::uint64_t shape() const { return shape_; }

    // Stores the dict read last, as `dict`, and its strings in the memo, as its pickler did.
    void memoize(Value dict);

    // Call this when an index of the memo gets another value: it may have been a key.
    void forget_keys() { keys_.fill({}); }

  private:
    static constexpr std::size_t kItemsMax = 16;

    // How a key was written: `mask` selects `bytes` from the 8 bytes at its start.
    struct Key {
        std::uint64_t bytes = 1;
        std::uint64_t mask = 0;
        std::size_t length = 0;
    };

    bool read_key(const unsigned char*& at, std::size_t item);
    bool read_value(const unsigned char*& at, Value& value);

    PickleMemo& memo_;
    ShortStrings& strings_;
    std::array<Key, kItemsMax + 1> keys_;   // of the last dict; one more is a sentinel
    std::array<Value, 2 * kItemsMax> row_;  // its items
    std::size_t count_ = 0;
    std::uint64_t shape_ = 0;
    bool memoized_ = false;                     // the dict is
    std::array<Value, kItemsMax> new_strings_;  // what the dict adds to the memo
    std::size_t new_string_count_ = 0;
};

}  // namespace tidemark
