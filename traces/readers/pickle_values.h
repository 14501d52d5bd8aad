// What an unpickled value is: eight bytes that name a small number, a string, a list or a dict.
// Strings, lists and numbers that don't fit are in PickleObjects. The reader handles the items of
// dicts (DictHandler in pickle.h), so no tree of objects is ever built.
//
// Single-threaded. Memory: 4 bytes for each value kept in a list or in the memo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "traces/io/growing_array.h"
#include "traces/model/tables.h"

namespace tidemark {

class Value {
  public:
    enum class Kind : std::uint8_t {
        unset,     // a memo index that was never stored
        none,      //
        boolean,   // payload 0 or 1
        integer,   // payload: signed, 60 bits
        wide,      // payload: index of an integer that needs up to 64 bits
        real,      // payload: index of a float
        string,    // payload: index into PickleObjects::strings; byte strings too
        list,      // payload: index into PickleObjects::lists; tuples too
        dict,      // payload: number of the dict, counted from 0
        pair,      // a tuple of two numbers below 2^14: payload = first << 14 | second
        boxed,     // PackedValue only: payload = index of a Value that needs more than 32 bits
        callable,  // payload: which (pickle_objects.cpp); it is never called
        dtype,     // payload: NumPy's type of a number (pickle_objects.cpp)
        opaque,    // an object that doesn't matter
    };

    constexpr Value() = default;

    constexpr Value(Kind kind, std::uint64_t payload)
        : bits_((payload << 4U) | static_cast<std::uint64_t>(kind)) {}

    static constexpr Value from_bits(std::uint64_t bits) {
        Value value;
        value.bits_ = bits;
        return value;
    }

    // `number` must fit into 60 bits, signed.
    static constexpr Value integer(std::int64_t number) {
        return {Kind::integer, static_cast<std::uint64_t>(number)};
    }

    constexpr Kind kind() const { return static_cast<Kind>(bits_ & 15U); }

    constexpr bool is(Kind kind) const { return (bits_ & 15U) == static_cast<std::uint64_t>(kind); }

    constexpr std::uint64_t payload() const { return bits_ >> 4U; }

    constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(bits_ >> 4U); }

    // Kind::integer only.
    constexpr std::int64_t number() const { return static_cast<std::int64_t>(bits_) >> 4U; }

    constexpr std::uint64_t bits() const { return bits_; }

    friend constexpr bool operator==(const Value&, const Value&) = default;

  private:
    std::uint64_t bits_ = 0;
};

// An integer beyond Value's 60 bits. Those beyond 64 bits are replaced by the nearest that fits:
// none of our fields has them.
struct WideInteger {
    std::uint64_t magnitude = 0;
    bool negative = false;
};

// Lists that grow at their end, all in one array: a chain of pieces each. Appending repeatedly to
// the same list extends its last piece.
class ListStore {
  public:
    std::uint32_t create() {
        lists_.push_back({});
        return static_cast<std::uint32_t>(lists_.size() - 1);
    }

    // Amortised O(values).
    void append(std::uint32_t list, std::span<const Value> values);

    std::uint32_t size(std::uint32_t list) const { return lists_[list].count; }

    std::uint32_t count() const { return static_cast<std::uint32_t>(lists_.size()); }

    // False once a table has outgrown its 32-bit indexes; later values are lost.
    bool whole() const { return !overflown_; }

    // Calls visit(Value) for the first `most` elements in order; it may not append.
    template <class Visit>
    void for_each(std::uint32_t list, Visit visit, std::uint32_t most = 0xffffffffU) const {
        std::uint32_t left = lists_[list].count < most ? lists_[list].count : most;
        for (std::uint64_t piece = lists_[list].first; left != 0; piece = items_[piece]) {
            const std::uint32_t count = items_[piece + 1] < left ? items_[piece + 1] : left;
            for (std::uint32_t i = 0; i < count; ++i)
                visit(unpack(items_[piece + 2 + i]));
            left -= count;
        }
    }

    // A value in 32 bits, valid as long as this store exists. Small numbers and indexes are stored
    // as they are, others in a table.
    std::uint32_t pack(Value value) {
        if (value.bits() <= 0xffffffffU) [[likely]]
            return static_cast<std::uint32_t>(value.bits());
        return pack_boxed(value);
    }

    Value unpack(std::uint32_t packed) const {
        const Value value = Value::from_bits(packed);
        return value.is(Value::Kind::boxed) ? boxes_[value.index()] : value;
    }

  private:
    struct List {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::uint32_t count = 0;
    };

    std::uint32_t pack_boxed(Value value);

    GrowingArray<List> lists_;
    GrowingArray<std::uint32_t> items_;  // pieces: index of the next one, count, that many values
    GrowingArray<Value> boxes_;
    bool overflown_ = false;
};

// Everything that values refer to.
struct PickleObjects {
    StringTable strings;
    ListStore lists;
    GrowingArray<WideInteger> wides;
    GrowingArray<double> reals;
    std::uint32_t dict_count = 0;

    // Values of these, stored here.
    Value string(std::string_view text) { return {Value::Kind::string, strings.intern(text)}; }

    Value wide(WideInteger number) {
        wides.push_back(number);
        return {Value::Kind::wide, wides.size() - 1};
    }

    Value real(double number) {
        reals.push_back(number);
        return {Value::Kind::real, reals.size() - 1};
    }

    // The number of an integer or boolean in [0, 2^64), or of a text or float that contains one, as
    // in files that went through other tools. False for anything else.
    bool whole_number(Value value, std::uint64_t& number) const {
        if (value.is(Value::Kind::integer) && value.number() >= 0) [[likely]] {
            number = value.payload();
            return true;
        }
        return other_whole_number(value, number);
    }

    // Its text; "" if it isn't a string.
    std::string_view text(Value value) const {
        return value.is(Value::Kind::string) ? strings[value.index()] : std::string_view();
    }

  private:
    bool other_whole_number(Value value, std::uint64_t& number) const;
};

}  // namespace tidemark
