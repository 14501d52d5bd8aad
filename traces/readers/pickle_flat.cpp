// Dicts that are read all at once.
#include "traces/readers/pickle_flat.h"

#include <string_view>

#include "traces/readers/pickle_bytes.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark {
namespace {

constexpr std::ptrdiff_t kItemBytesMax = 5 + 12;  // a key (LONG_BINGET), the longest value
constexpr std::ptrdiff_t kReadAhead = 8;          // bytes are loaded eight at a time

// The memo index of a BINGET or LONG_BINGET at `at`, which is moved behind it.
std::size_t take_index(const unsigned char*& at) {
    const bool is_long = *at == opcode::kLongBinget;
    const std::size_t index = is_long ? load_as<std::uint32_t>(at + 1) : at[1];
    at += is_long ? 5 : 2;
    return index;
}

}  // namespace

std::uint32_t ShortStrings::intern(const unsigned char* bytes, std::size_t length,
                                   std::uint64_t word) {
    const std::uint64_t key = length == 8 ? word : word & ((std::uint64_t{1} << (8 * length)) - 1);
    Entry& known = entries_[((key + length) * 0x9e3779b97f4a7c15U) >> 56U];
    if (known.text != key || known.length != length) [[unlikely]] {
        const std::string_view text(reinterpret_cast<const char*>(bytes), length);
        known = {key, static_cast<std::uint32_t>(length), strings_.intern(text)};
    }
    return known.index;
}

const unsigned char* FlatDicts::read(const unsigned char* at, const unsigned char* end) {
    if (end - at < 2 + static_cast<std::ptrdiff_t>(kItemsMax) * kItemBytesMax + kReadAhead)
        return nullptr;
    memoized_ = *at == opcode::kMemoize;
    at += memoized_ ? 1 : 0;
    if (*at++ != opcode::kMark)
        return nullptr;

    // Dicts come in long rows with the same keys, so the keys of the previous dict are compared as
    // bytes.
    new_string_count_ = 0;
    std::size_t count = 0;
    bool same_keys = true;
    for (;; ++count) {
        const Key& known = keys_[count];
        if ((load_as<std::uint64_t>(at) & known.mask) == known.bytes) [[likely]] {
            at += known.length;
        } else if (*at == opcode::kSetitems) {
            break;
        } else {
            same_keys = false;
            count_ = 0;
            if (count == kItemsMax || !read_key(at, count))
                return nullptr;
        }
        if (!read_value(at, row_[2 * count + 1]))
            return nullptr;
    }
    if (!same_keys || count != count_) {
        count_ = count;
        ++shape_;
    }
    return count == 0 ? nullptr : at + 1;
}

// The key at `at`, which is moved behind it, becomes key number `item` of the row.
bool FlatDicts::read_key(const unsigned char*& at, std::size_t item) {
    if (*at != opcode::kLongBinget && *at != opcode::kBinget)
        return false;
    const unsigned char* const begin = at;
    Value key;
    if (!memo_.find(take_index(at), key) || !key.is(Value::Kind::string))
        return false;
    const auto length = static_cast<std::size_t>(at - begin);
    const std::uint64_t mask = (std::uint64_t{1} << (8 * length)) - 1;
    keys_[item] = {load_as<std::uint64_t>(begin) & mask, mask, length};
    row_[2 * item] = key;
    return true;
}

// One value at `at`, which is moved behind it. False: it is not one of the usual kinds.
inline bool FlatDicts::read_value(const unsigned char*& at, Value& value) {
    if (*at == opcode::kLong1) {
        const unsigned length = at[1];
        if (length == 0 || length > 7)
            return false;
        const unsigned unused = 64 - 8 * length;
        const std::uint64_t low = load_as<std::uint64_t>(at + 2) << unused;
        value = Value::integer(static_cast<std::int64_t>(low) >> unused);
        at += 2 + length;
        return true;
    }
    if (*at == opcode::kLongBinget || *at == opcode::kBinget)
        return memo_.find(take_index(at), value);
    switch (*at) {
        case opcode::kBinint1:
            value = Value::integer(at[1]);
            at += 2;
            return true;
        case opcode::kBinint2:
            value = Value::integer(load_as<std::uint16_t>(at + 1));
            at += 3;
            return true;
        case opcode::kBinint:
            value = Value::integer(static_cast<std::int32_t>(load_as<std::uint32_t>(at + 1)));
            at += 5;
            return true;
        case opcode::kShortBinunicode: {
            const unsigned length = at[1];
            if (length > 8 || at[2 + length] != opcode::kMemoize)
                return false;
            const std::uint64_t word = load_as<std::uint64_t>(at + 2);
            value = {Value::Kind::string, strings_.intern(at + 2, length, word)};
            new_strings_[new_string_count_++] = value;
            at += 3 + length;
            return true;
        }
        case opcode::kNewTrue:
        case opcode::kNewFalse:
            value = {Value::Kind::boolean, *at == opcode::kNewTrue ? 1U : 0U};
            at += 1;
            return true;
        default:
            return false;
    }
}

void FlatDicts::memoize(Value dict) {
    if (memoized_)
        memo_.push(dict);
    for (std::size_t i = 0; i < new_string_count_; ++i)
        memo_.push(new_strings_[i]);
}

}  // namespace tidemark
