// What an unpickler works on: the stack with its marks, and the memo. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "traces/io/growing_array.h"
#include "traces/readers/pickle_values.h"

namespace tidemark {

// Values, and the marks that group those above them. Values below the last mark are out of reach,
// except the one that the mark's group will be put into. Memory: 8 bytes a value.
class PickleStack {
  public:
    static constexpr std::size_t kMarksMax = 64;  // a snapshot nests 6 deep; each level is a mark

    std::size_t size() const { return values_.size(); }

    // How many values are above the last mark.
    std::size_t within_reach() const { return values_.size() - floor(); }

    // `i` < size(); 0 is the bottom.
    Value operator[](std::size_t i) const { return values_[i]; }

    // `depth` < size(); 0 is the top.
    Value top(std::size_t depth = 0) const { return values_[values_.size() - 1 - depth]; }

    // The values from `begin` on; valid until the next push.
    std::span<const Value> from(std::size_t begin) const {
        return values_.view(begin, values_.size() - begin);
    }

    void push(Value value) { values_.push_back(value); }

    // Drops the values from `count` on; `count` <= size().
    void truncate(std::size_t count) { values_.truncate(count); }

    // Sets a mark on top. False if there are kMarksMax already.
    bool mark() {
        if (marks_.size() >= kMarksMax)
            return false;
        marks_.push_back(values_.size());
        return true;
    }

    // Removes the last mark and returns its position, where the values of its group begin. False if
    // there is none.
    bool pop_mark(std::size_t& begin) {
        if (marks_.empty()) [[unlikely]]
            return false;
        begin = floor();
        marks_.truncate(marks_.size() - 1);
        return true;
    }

    // As pop_mark(); also false if no value below the group, to put the group into, is within
    // reach.
    bool pop_group(std::size_t& begin) { return pop_mark(begin) && begin > floor(); }

    // Removes the top value or, like Python if there is none within reach, the mark. False if there
    // is neither.
    bool pop() {
        std::size_t begin = 0;
        if (within_reach() == 0)
            return pop_mark(begin);
        values_.truncate(values_.size() - 1);
        return true;
    }

  private:
    std::size_t floor() const { return marks_.empty() ? 0 : marks_[marks_.size() - 1]; }

    GrowingArray<Value> values_;
    GrowingArray<std::size_t> marks_;  // sizes of the stack, never decreasing
};

// The values that a pickle stores, to be referred to by index. Memory: 4 bytes an index.
class PickleMemo {
  public:
    // `lists` packs the values and must outlive the memo.
    explicit PickleMemo(ListStore& lists) : lists_(lists) {}

    // One more than the largest index that was stored.
    std::size_t size() const { return entries_.size(); }

    // Stores under the next index.
    void push(Value value) { entries_.push_back(lists_.pack(value)); }

    // Stores under any index; skipped indexes are never stored.
    void set(std::size_t index, Value value) {
        if (index >= entries_.size())
            entries_.resize(index + 1, 0);
        entries_[index] = lists_.pack(value);
    }

    // The value that was stored under `index`; false if there is none.
    bool find(std::uint64_t index, Value& value) const {
        if (index >= entries_.size() || entries_[index] == 0) [[unlikely]]
            return false;
        value = lists_.unpack(entries_[index]);
        return true;
    }

  private:
    ListStore& lists_;
    GrowingArray<std::uint32_t> entries_;  // packed values; 0 = never stored
};

}  // namespace tidemark
